"""Bad input to verify: one line, exit 2, bounded memory and time."""

import base64
import gzip
import json
import os
import zipfile
import zlib
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import Ridge

from tests.verify.measured import measured, one_line
from unswayed import CertifiedRegressor, LabelBias
from unswayed.cli import main


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    folder = tmp_path_factory.mktemp("valid")
    X, y = np.arange(24.0).reshape(12, 2) % 7, np.arange(12.0) % 5
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=2), radius=0.5).fit(X, y)
    model.certify(X[:3]).save(folder / "c.json", data=folder / "c.npz")
    return folder


def bomb(n_bytes):
    """Pack zeros, a mebibyte of them once: to pack a gigabyte takes seconds of every collection."""
    packer, block = zlib.compressobj(9, zlib.DEFLATED, -15), 2**20
    once = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = packer.compress(bytes(n_bytes % block)) + packer.flush()
    checksum = (n_bytes % 65521) << 16 | 1  # Adler-32 of zeros
    packed = b"\x78\xda" + once * (n_bytes // block) + rest + checksum.to_bytes(4, "big")
    return base64.b64encode(packed).decode()


def edited(**changes):
    def edit(text):
        return json.dumps(json.loads(text) | changes)

    return edit


def nested(key, **changes):
    def edit(text):
        document = json.loads(text)
        document[key] |= changes
        return json.dumps(document)

    return edit


def contrasts(features, weights):
    return {"task": "coefficients", "contrasts": [{"features": features, "weights": weights}]}


CASES = {
    "truncated": (lambda text: text[:-40], "not readable as JSON"),
    "empty": (lambda text: "", "not readable as JSON"),
    "not UTF-8": (lambda text: b"\xff\xfe\xfd" + text.encode(), "not readable as JSON"),
    "another schema number": (edited(schema=4), "has schema 4, and this is 3"),
    "a schema that is true": (edited(schema=True), "must be of type integer, not True"),
    "a list": (lambda text: "[]", "must be of type object"),
    "an unknown field": (edited(extra=1), "must not have a field 'extra'"),
    "a missing field": (
        lambda text: text.replace('"unswayed"', '"unsway"'), "the file must",
    ),
    "a field twice": (lambda text: text.replace('"row":0', '"row":0,"row":0'), "given twice"),
    "missing claims": (lambda text: text.replace('"row":1', '"row":2'), "one claim for each"),
    "a row too many": (lambda text: text.replace('"row":1', '"row":7'), "one claim for each"),
    "NaN": (lambda text: text.replace('"radius":0.5', '"radius":NaN'), "'NaN' has no place"),
    "infinity": (lambda text: text.replace('"radius":0.5', '"radius":1e999'), "has no place"),
    "a million digits": (
        lambda text: text.replace('"row":1', '"row":1' + "0" * 10**6), "has no place",
    ),
    "a million decimals": (
        lambda text: text.replace('"radius":0.5', '"radius":0.' + "1" * 10**6), "has no place",
    ),
    "deep nesting": (lambda text: "[" * 10**6, "recursion"),
    "deep nesting inside": (
        lambda text: text.replace('"row":1', '"row":' + '{"a":' * 10**5), "recursion",
    ),
    "millions of values": (lambda text: "[" + "[]," * 10**7 + "[]]", "more than"),
    "millions of fields": (
        lambda text: "{" + ",".join(f'"{i}":1' for i in range(28 * 10**5)) + "}", "too many fields",
    ),
    "a number of rows that would not fit": (nested("data", features=2**25), "are not read"),
    "four billion rows": (
        nested("data", train_rows=2**32 - 1, test_rows=2**32 - 1), "one claim for each",
    ),
    "other sizes": (nested("data", train_rows=13), "belongs to other data"),
    "a packed gigabyte": (nested("bias", lower=bomb(2**30)), "cannot be unpacked"),
    "a packed text that is none": (nested("bias", lower="?!"), "cannot be unpacked"),
    "a packed vector too short": (nested("bias", lower=bomb(88)), "12 finite numbers"),
    "an interval without zero": (nested("bias", lower=0.5), "lower <= 0 <= upper"),
    "coefficients of no model": (
        edited(question={"task": "coefficients"}, model={"kind": "smoother"}), "must have",
    ),
    "contrasts of features that there are not": (
        edited(question=contrasts([0, 9], [1, -1])), "ascending feature numbers below 2",
    ),
    "a contrast that counts a feature twice": (
        edited(question=contrasts([1, 1], [1, -1])), "ascending feature numbers below 2",
    ),
    "a contrast without weights for some": (
        edited(question=contrasts([0, 1], [1])), "one weight for each",
    ),
    "an intercept of a model that has none": (
        edited(
            question={"task": "coefficients", "contrasts": [
                {"features": [0], "weights": [1], "intercept": True}]},
            model={"kind": "ridge", "alpha": 1.0, "intercept": False},
        ),
        "an intercept that the model has not",
    ),
    "no contrasts at all": (
        edited(question={"task": "coefficients", "contrasts": []}), "has 0 items",
    ),
    "fewer contrasts than claims": (
        edited(question=contrasts([0], [1]), claims=[{"row": 0, "verdict": "undecided"}]),
        "one claim for each",
    ),
    "a control character": (edited(schema="\x1b[2J\ud800"), "\\x1b"),
}  # fmt: skip


def test_a_bomb_unpacks_to_zeros():
    for n_bytes in (0, 88, 2**20, 3 * 2**20 + 5):
        assert zlib.decompress(base64.b64decode(bomb(n_bytes))) == bytes(n_bytes)


LARGE = (
    "a million digits", "deep nesting", "deep nesting inside", "millions of values",
    "millions of fields",
    "four billion rows", "a packed gigabyte",
)  # fmt: skip


def damaged(valid, tmp_path, case):
    """Write a file as a case has it: what verify is asked, and what it should say."""
    change, words = CASES[case]
    content, path = change((valid / "c.json").read_text()), tmp_path / "c.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return (str(path), "--data", str(valid / "c.npz")), words


@pytest.mark.parametrize("case", [case for case in CASES if case not in LARGE])
def test_a_damaged_file_is_one_line_and_exit_2(valid, tmp_path, case, capsys):
    arguments, words = damaged(valid, tmp_path, case)
    assert words in one_line(main(["verify", *arguments]), *capsys.readouterr())


@pytest.mark.parametrize("case", LARGE)
def test_a_large_damaged_file_is_one_line_and_exit_2_and_takes_bounded_memory(
    valid, tmp_path, case
):
    arguments, words = damaged(valid, tmp_path, case)
    assert words in measured(tmp_path, *arguments)


def test_millions_of_rows_or_a_line_without_end_are_not_read(valid, tmp_path):
    with (tmp_path / "rows.csv").open("w") as file:
        file.write("a,b,y\n" + "".join(f"{i},{i}.5,3\n" for i in range(15 * 10**5)))
    with (tmp_path / "line.csv").open("wb") as file:
        file.truncate(2**30)
    certificate = (str(valid / "c.json"), "--label", "y", "--train")
    assert "rows.csv has more than 12 rows" in measured(tmp_path, *certificate, "rows.csv")
    assert "a row has more than 4,194,304 characters" in measured(
        tmp_path, *certificate, "line.csv"
    )


def test_long_texts_and_empty_lines_that_take_no_room_in_a_file_are_bounded(valid, tmp_path):
    texts = pa.table({"a": ["x" * 2**20] * 1000, "b": [1.0] * 1000, "y": [1.0] * 1000})
    pq.write_table(texts, tmp_path / "texts.parquet")
    with gzip.open(tmp_path / "lines.csv.gz", "wb") as file:
        file.writelines([b"\n" * 2**20] * 100)
    certificate = (str(valid / "c.json"), "--label", "y", "--train")
    assert "is not a number" in measured(tmp_path, *certificate, "texts.parquet")
    assert "16,777,216 lines" in measured(tmp_path, *certificate, "lines.csv.gz")


@pytest.mark.parametrize("option", ["", "--train", "--test", "--data"])
def test_a_pipe_a_device_or_a_folder_is_not_waited_for(valid, tmp_path, option, capsys):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        rest = (str(valid / "c.json"), option) if option else ()
        code = main(["verify", *rest, str(path)])
        assert f"{path} is not a file" in one_line(code, *capsys.readouterr())


@pytest.mark.parametrize("shape", ["((((", "(1000000000000, 2)", "(4611686018427387904, 4)"])
def test_an_array_that_lies_about_itself_is_one_line(valid, tmp_path, shape, capsys):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode()
    with zipfile.ZipFile(tmp_path / "c.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("train.npy", b"\x93NUMPY\x01\x00\x76\x00" + head + b"\n" + bytes(64))
    code = main(["verify", str(valid / "c.json"), "--data", str(tmp_path / "c.npz")])
    assert "is not the .npz file of save()" in one_line(code, *capsys.readouterr())


def test_a_gigabyte_is_not_read(valid, tmp_path):
    with (tmp_path / "c.json").open("wb") as file:
        file.truncate(2**30)
    assert "more than" in measured(tmp_path, "c.json", "--data", str(valid / "c.npz"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name the certificate file"),
        (("none.json",), "No such file"),
        (("c.json",), "name the data"),
        (("c.json", "--train", "none.csv"), "No such file"),
        (("c.json", "--train", "c.json"), "label column"),
        (("c.json", "--train", "c.npz", "--label", "y"), "is no table"),
        (("c.json", "--data", "c.npz", "--train", "numbers.csv"), "name the data"),
        (("c.json", "--data", "c.json"), ".npz"),
        (("c.json", "--train", "numbers.csv"), "label"),
        (("c.json", "--train", "numbers.csv", "--label", "y"), "belongs to other data"),
        (("c.json", "--train", "texts.csv", "--label", "y"), "'abc' is not a number"),
        (("c.json", "--train", "broken.parquet", "--label", "y"), "Parquet"),
        (("c.json", "--data", "pickle.npz"), ".npz"),
        (("c.json", "--data", "other.npz"), "must hold doubles"),
        (("c.json", "--data", "texts.npz"), "must hold doubles"),
        (("c.json", "--data", "part.npz"), "no item named 'train.npy'"),
        (("c.json", "--data", "locked.npz"), "encrypted"),
        (("c.json", "--train", "long.csv", "--label", "y"), "is not a number"),
        (("c.json", "--train", "empty.csv", "--label", "y"), "no label column 'y'"),
        (("c.json", "--train", "dates.parquet", "--label", "y"), "is not a number"),
        (("c.json", "--train", "lists.parquet", "--label", "y"), "is no table"),
    ],
)
def test_data_that_do_not_fit_are_one_line_and_exit_2(
    valid, tmp_path, arguments, words, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.json").write_text((valid / "c.json").read_text())
    (tmp_path / "numbers.csv").write_text("a,b,y\n1,2,3\n4,5,6\n")
    (tmp_path / "texts.csv").write_text("a,b,y\n1,abc,3\n4,5,6\n")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and then nonsense")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "long.csv").write_text("a,b,y\n" + f"1,{10**400},3\n" * 12)
    for name, cell in (("dates", date(2020, 1, 1)), ("lists", [1.0])):
        pq.write_table(
            pa.table({"a": [cell], "b": [1.0], "y": [1.0]}), tmp_path / f"{name}.parquet"
        )
    (tmp_path / "c.npz").write_bytes(content := (valid / "c.npz").read_bytes())
    at = content.index(b"PK\x01\x02") + 8
    (tmp_path / "locked.npz").write_bytes(content[:at] + b"\x01" + content[at + 1 :])
    with zipfile.ZipFile(tmp_path / "texts.npz", "w") as archive:
        archive.writestr("labels.npy", "no array at all")
    np.savez(tmp_path / "pickle.npz", labels=np.array([{}], dtype=object))
    np.savez(tmp_path / "other.npz", labels=np.arange(3))
    np.savez(tmp_path / "part.npz", labels=np.arange(12.0))
    code = main(["verify", *arguments])
    assert words in one_line(code, *capsys.readouterr())
