"""The charts' script is kept in the cache folder, and made again where that does not help."""

import hashlib
import importlib.metadata
import os
import stat

import pytest
import vl_convert

from unswayed.report import render as library
from unswayed.report.render import chart_library

SCRIPT = "draw('é')\r\n"
VERSION = importlib.metadata.version("vl-convert-python")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and a script that is made at once and known by its hash."""
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: SCRIPT)
    known = hashlib.sha256(SCRIPT.encode()).hexdigest()
    monkeypatch.setattr(library, "_HASHES", {VERSION: known})
    return tmp_path / "unswayed"


def refuse():
    raise AssertionError("it was made again")


def test_the_script_is_made_once(cache, monkeypatch):
    made = chart_library()
    monkeypatch.setattr(vl_convert, "javascript_bundle", refuse)
    assert chart_library() == made == SCRIPT


def test_the_hash_of_the_installed_version_is_that_of_its_script():
    if VERSION not in library._HASHES:
        pytest.skip(f"no hash of version {VERSION} is known")
    script = vl_convert.javascript_bundle()
    assert hashlib.sha256(script.encode()).hexdigest() == library._HASHES[VERSION]


def test_a_version_without_a_known_hash_keeps_nothing(cache, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: "999.0")
    cache.mkdir()
    (cache / "charts-999.0.js").write_text("steal()")
    assert chart_library() == SCRIPT
    assert (cache / "charts-999.0.js").read_text() == "steal()"


def test_a_script_that_is_not_as_expected_is_not_kept(cache, monkeypatch):
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: "another")
    assert chart_library() == "another"
    assert not cache.exists()


def with_own_hash(script):
    """A file as versions before 0.3 trusted it."""
    return f"// sha256 {hashlib.sha256(script).hexdigest()}\n".encode() + script


@pytest.mark.parametrize("content", [b"", b"steal()", with_own_hash(b"steal()"), b"\xff\n"])
def test_a_file_that_is_not_as_it_was_written_is_made_again(cache, content):
    made = chart_library()
    (kept,) = cache.iterdir()
    kept.write_bytes(content)
    assert chart_library() == made
    assert kept.read_bytes() == made.encode()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
def test_a_file_of_someone_else_or_a_link_is_made_again(cache, monkeypatch, tmp_path):
    chart_library()
    (kept,) = cache.iterdir()
    kept.rename(tmp_path / "elsewhere.js")
    kept.symlink_to(tmp_path / "elsewhere.js")
    made = []
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: made.append(1) or SCRIPT)
    assert chart_library() == SCRIPT
    assert made == [1]
    assert not kept.is_symlink()
    (tmp_path / "elsewhere.js").write_text("not touched")
    kept.unlink()
    kept.symlink_to(tmp_path / "elsewhere.js")
    assert chart_library() == SCRIPT
    assert (tmp_path / "elsewhere.js").read_text() == "not touched"
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    assert chart_library() == SCRIPT
    assert made == [1, 1, 1]


@pytest.mark.skipif(os.name != "posix", reason="folders have no modes here")
def test_nobody_else_may_look_into_the_folder(cache):
    chart_library()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_written_is_no_error(cache):
    cache.write_text("a file where the folder would be")
    assert chart_library() == SCRIPT
