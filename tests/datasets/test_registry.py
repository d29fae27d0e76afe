"""Where files are looked for, and what is said when one is missing, cut or another one."""

import gzip
import sys

import pytest

from unswayed.datasets import DatasetError, load_compas, load_wages, registry

WAGES = (
    b"rownames,wage,education,experience,ethnicity,smsa,region,parttime\n"
    b"1,354.94,7,45,cauc,yes,northeast,no\n"
    b"2,123.46,12,1,afam,no,south,yes\n"
)


def test_the_argument_wins_over_the_environment(put, tmp_path_factory):
    put("wages", WAGES)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert len(load_wages().data) == 2
    with pytest.raises(DatasetError, match=r"there is no 'wages/cps1988.csv' in the data folder"):
        load_wages(data_home=elsewhere)


def test_a_folder_that_does_not_exist_is_named(folder):
    with pytest.raises(DatasetError, match="gone' does not exist; pass data_home="):
        load_wages(data_home=folder / "gone")


def test_a_truncated_file_is_refused(put):
    path = put("wages", WAGES)
    path.write_bytes(WAGES[:-20])
    with pytest.raises(DatasetError, match=r"not the file it should be: .* cut short"):
        load_wages()


def test_the_pinned_hash_is_checked_in_a_named_folder(folder):
    path = folder / registry.SOURCES["wages"].path
    path.parent.mkdir()
    path.write_bytes(WAGES)
    with pytest.raises(DatasetError, match=f"expected {registry.SOURCES['wages'].sha256}"):
        load_wages()


def test_a_truncated_gzip_file_is_refused(put):
    packed = gzip.compress(b"digits" * 100)
    put("mnist_test_labels", b"digits" * 100, packed=packed[:-9])
    with pytest.raises(DatasetError, match=r"cannot be unpacked .* fresh download"):
        registry.read("mnist_test_labels")


def test_an_extra_column_is_refused_by_name(put):
    lines = WAGES.decode().splitlines()
    put("wages", "\n".join([lines[0] + ",bonus", lines[1] + ",7"]).encode())
    with pytest.raises(DatasetError, match="has unknown bonus; the loader reads"):
        load_wages()


def test_a_renamed_column_is_refused_by_both_names(put):
    put("wages", WAGES.replace(b"education", b"schooling"))
    with pytest.raises(DatasetError, match="lacks education and has unknown schooling"):
        load_wages()


def test_offline_and_without_a_folder_the_error_says_what_to_do(monkeypatch, tmp_path):
    pooch = pytest.importorskip("pooch")

    def refuse(*_, **__):
        raise ConnectionError("no network")

    monkeypatch.delenv(registry.DATA_VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "retrieve", refuse)
    monkeypatch.setattr(registry, "cache_folder", lambda: tmp_path)
    with pytest.raises(DatasetError) as caught:
        load_compas()
    message = str(caught.value)
    assert "cannot download https://raw.githubusercontent.com/propublica" in message
    assert "save it as 'compas/compas-scores-two-years.csv'" in message
    assert "pass data_home= (or set UNSWAYED_DATA)" in message


def test_a_download_is_kept_and_not_fetched_again(monkeypatch, tmp_path, put):
    pooch = pytest.importorskip("pooch")
    content = put("wages", WAGES).read_bytes()
    fetched = []

    def retrieve(url, *, known_hash, fname, path):
        fetched.append(url)
        target = tmp_path / "cache" / "wages" / fname
        target.parent.mkdir(parents=True)
        target.write_bytes(content)
        return str(target)

    monkeypatch.delenv(registry.DATA_VARIABLE)
    monkeypatch.setattr(pooch, "retrieve", retrieve)
    monkeypatch.setattr(registry, "cache_folder", lambda: tmp_path / "cache")
    assert len(load_wages().data) == len(load_wages().data) == 2
    assert fetched == [registry.SOURCES["wages"].url]


def test_without_pandas_the_error_names_the_extra(put, monkeypatch):
    put("wages", WAGES)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"unswayed\[datasets\]"):
        load_wages()
