"""The charts' script is kept in the cache folder, and made again where that does not help."""

import pytest
import vl_convert

from unswayed.report.library import chart_library


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and a script that is made at once."""
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: "draw('é')\r\n")
    return tmp_path / "unswayed"


def refuse():
    raise AssertionError("it was made again")


def test_the_script_is_made_once(cache, monkeypatch):
    made = chart_library()
    monkeypatch.setattr(vl_convert, "javascript_bundle", refuse)
    assert chart_library() == made == "draw('é')\r\n"


def test_another_version_makes_its_own(cache, monkeypatch):
    chart_library()
    monkeypatch.setattr("importlib.metadata.version", lambda name: "999.0")
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: "another")
    assert chart_library() == "another"


@pytest.mark.parametrize("content", [b"", b"draw('x')", b"// sha256 0\ndraw('x')", b"\xff\n"])
def test_a_file_that_is_not_as_it_was_written_is_made_again(cache, content):
    made = chart_library()
    (kept,) = cache.iterdir()
    kept.write_bytes(content)
    assert chart_library() == made


def test_a_folder_that_cannot_be_written_is_no_error(cache):
    cache.write_text("a file where the folder would be")
    assert chart_library() == "draw('é')\r\n"
