"""Cells of every kind: what certify accepts, verify reads as certify does."""

import bz2
import datetime as dt
import gzip
import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unswayed.cli import main

ROWS = 48
OPTIONS = ("--label", "y", "--budget", "2", "--missing", "impute", "--quiet")


def repeated(cells, n_rows=ROWS):
    """Take cells in an order that repeats no pattern of another column."""
    order = np.random.default_rng(len(cells)).permutation(n_rows)
    return [cells[at % len(cells)] for at in order]


def csv_text(columns, newline="\n"):
    quoted = ('"{}"'.format(name.replace('"', '""')) for name in columns)
    rows = (
        ",".join('"{}"'.format(cell.replace('"', '""')) for cell in row)
        for row in zip(*columns.values(), strict=True)
    )
    return newline.join([",".join(quoted), *rows, ""])


@pytest.fixture
def agree(tmp_path, monkeypatch, capsys):
    """Certify, verify, and see to it that every claim is proven."""
    monkeypatch.chdir(tmp_path)

    def run(train, *options, command="certify"):
        made = main([command, train, *OPTIONS, *options, "--certificates", "c.json"])
        assert made == 0, capsys.readouterr().err
        test = options[options.index("--test") :][:2] if "--test" in options else ()
        code = main(["verify", "c.json", "--train", train, *test, "--json"])
        out, err = capsys.readouterr()
        assert code == 0, out + err
        return json.loads(out)

    return run


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Certify in vain, and give back the one line that says why."""
    monkeypatch.chdir(tmp_path)

    def run(train, *options):
        assert main(["certify", train, *OPTIONS, *options, "--certificates", "c.json"]) == 2
        return capsys.readouterr().err

    return run


LABELS = {
    "texts": ["no", "yes"],
    "texts that Python takes for numbers": ["1_0", "9"],
    "more of them": ["٣", "1_2"],
    "hexadecimal numbers": ["0x10", "0x9"],
    "hexadecimal numbers with a sign bit": ["0xffffffffffffffff", "0x1"],
    "numbers of one digit and two": ["9", "10"],
    "numbers with zeros before them": ["007", "010"],
    "numbers with a plus": ["+5", "10"],
    "numbers and spaces": [" 5", "5", "6 "],
    "integers that are one double": ["9007199254740992", "9007199254740993"],
    "doubles": ["9007199254740993", "9223372036854775808"],
    "truth values": ["true", "FALSE", "True"],
    "truth values and numbers": ["true", "0"],
    "zeros of both signs": ["-0.0", "0", "1.5"],
    "composed and decomposed": ["é", "e\u0301"],
    "quotes": ['a "b"', "c, d\r\ne"],
}


@pytest.mark.parametrize("kind", LABELS)
def test_classes_are_what_certify_takes_them_for(tmp_path, agree, kind):
    columns = {"x": repeated(["1", "2.5", "4"]), "y": repeated(LABELS[kind])}
    (tmp_path / "a.csv").write_text(csv_text(columns), newline="")
    assert agree("a.csv")["proven"] == 5


CELLS = {
    "doubles beyond integers": ["9007199254740993", "9007199254740992", "1.5"],
    "numbers beyond 64 bits": ["9223372036854775808", "9007199254740993", "9007199254740992"],
    "hexadecimal numbers": ["0x10", "0X1f", "0xfffffffffffffff0", "3"],
    "missing numbers": ["1.5", "NAN", "-nan(ind)", "nan(ind)", "NaN", "", "2"],
    "missing texts": ["a", "NAN", "Nan", "", "NA", "N/A"],
    "hexadecimal texts": ["0x10", "1.5"],
    "numbers with signs": ["+5", "-0", "0", "-.5", "5."],
    "texts": ["I", "ı", "İ", "i", "\u2028", " a", "a ", "None", "x\ny", "😀", "0"],
    "truth values and missing ones": ["true", "False", "", "1"],
    "dates and other texts": ["2020-01-01", "unknown"],
}


@pytest.mark.parametrize("as_category", [False, True])
@pytest.mark.parametrize("kind", CELLS)
def test_cells_are_what_certify_takes_them_for(tmp_path, agree, kind, as_category):
    columns = {"x": repeated(CELLS[kind]), "y": repeated(["no", "yes", "no"])}
    (tmp_path / "a.csv").write_text(csv_text(columns), newline="")
    agree("a.csv", *(("--categorical", "x") if as_category else ()))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_empty_lines_marks_and_line_ends_make_no_difference(tmp_path, agree, newline):
    columns = {"x": repeated(["1", "2.5", "a\r\n\r\nb"]), "y": repeated(["no", "yes"])}
    text = csv_text(columns, newline).replace(newline, newline * 2, 3)
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + (newline * 2 + text).encode())
    agree("a.csv")


def test_a_file_may_be_compressed_by_gzip_and_by_nothing_else(tmp_path, agree, refused):
    # The text stands where types that were read off the first block do not expect it.
    cells = ["1"] * 20_000 + ["text", "other"]
    columns = {"x": cells, "y": repeated(["no" * 40, "yes" * 40], len(cells))}
    content = csv_text(columns).encode()
    assert len(content) > 2**20  # a block
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"x,y\n1,2,3\n"))
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "a.csv.bz2").write_bytes(bz2.compress(content))
    agree("a.csv.gz", "--holdout", "3")
    assert "line 2: 3 cells where the header has 2" in refused("b.csv.gz")
    assert "Empty CSV file" in refused("c.csv.gz")
    assert "use gzip" in refused("a.csv.bz2")


def test_texts_of_a_test_file_stay_texts(tmp_path, agree):
    """Alone they would be numbers or truth values, and no category of the training file."""
    cells = ["007", "A1", "0x10", "1e3", "True", "2020-01-01 00:00"]
    columns = {"x": repeated(cells), "y": repeated(["no", "yes", "no"])}
    (tmp_path / "a.csv").write_text(csv_text(columns))
    for cell in cells:
        (tmp_path / "b.csv").write_text(f"x\n{cell}\n{cell}\n")
        assert agree("a.csv", "--test", "b.csv")["proven"] == 2
    coded = {name: pa.array(cells).dictionary_encode() for name, cells in columns.items()}
    pq.write_table(pa.table(coded), tmp_path / "a.parquet")
    assert agree("a.parquet", "--test", "b.csv")["proven"] == 2


@pytest.mark.parametrize(
    ("known", "new", "words"),
    [
        (["a", "b"], [1, 2], "held string in the training file but int64 values here"),
        ([1, 2], ["1", "2"], "held int64 in the training file but string values here"),
        ([True, False], [1, 5], "held bool in the training file but int64 values here"),
    ],
)
def test_a_text_is_no_number_and_a_number_is_not_true(tmp_path, refused, known, new, words):
    table = pa.table({"x": repeated(known), "y": repeated(["no", "yes", "no"])})
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": new}), tmp_path / "b.parquet")
    assert words in refused("a.parquet", "--test", "b.parquet", "--categorical", "x")


large = [Decimal(2**53), Decimal(2**53 + 1), Decimal(5)]
ARRAYS = {
    "decimals": pa.array([Decimal("1.10"), Decimal("2.25"), None]),
    "decimals that are one double": pa.array(large),
    "half floats": pa.array(np.array([0.1, 0.2, np.nan], dtype=np.float16)),
    "views": pa.array(["a", "b", None], pa.string_view()),
    "large unsigned integers": pa.array([2**64 - 1, 2**64 - 2, 1], pa.uint64()),
    "codes for decimals": pa.array([Decimal("1.10"), Decimal("2.25"), None]).dictionary_encode(),
}


@pytest.mark.parametrize("as_category", [False, True])
@pytest.mark.parametrize("kind", ARRAYS)
def test_arrow_types_are_what_certify_takes_them_for(tmp_path, agree, kind, as_category):
    values = pa.concat_arrays([ARRAYS[kind]] * (ROWS // 3))
    table = pa.table({"x": values, "y": repeated(["no", "yes", "no", "no"])})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=7)
    agree("a.parquet", *(("--categorical", "x") if as_category else ()))


@pytest.mark.parametrize(
    "values",
    [
        pa.array([Decimal("1.1"), Decimal("2.2")]),
        pa.array(np.array([0.1, 0.2], dtype=np.float16)),
        pa.array([0.1, 0.2], pa.float32()),
        pa.array([True, False]),
        pa.array(["a", "b"]).dictionary_encode(),
    ],
    ids=lambda values: str(values.type),
)
def test_arrow_labels_are_what_certify_takes_them_for(tmp_path, agree, values):
    table = pa.table({"y": pa.concat_arrays([values] * (ROWS // 2)), "x": repeated([1, 2, 4])})
    pq.write_table(table, tmp_path / "a.parquet")
    agree("a.parquet")


def test_a_date_is_no_label(tmp_path, refused):
    days = [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]
    pq.write_table(pa.table({"x": repeated([1, 2]), "y": repeated(days)}), tmp_path / "a.parquet")
    assert "label 'y' holds date32[day] values" in refused("a.parquet")


def test_a_column_without_values_is_left_out(tmp_path, agree):
    columns = {"x": repeated(["NAN", ""]), "z": repeated(["1", "2"]), "y": repeated(["no", "yes"])}
    (tmp_path / "a.csv").write_text(csv_text(columns))
    assert "features: 1, from 1 column" in agree("a.csv", "--categorical", "x")["question"]


def test_alpha_is_not_chosen_by_rows_that_tell_nothing(tmp_path, refused):
    columns = {"x": repeated(["1", "2", "4"], 8), "y": repeated(["1", "2", "3"], 8)}
    (tmp_path / "a.csv").write_text(csv_text(columns))
    options = ("--shift", "1", "--radius", "1", "--alpha", "auto")
    too_few = "rows are too few to spare them; pass a number as --alpha"
    assert too_few in refused("a.csv", *options)
    (tmp_path / "b.csv").write_text("x,y\n1,2\n")
    assert too_few in refused("b.csv", "--test", "a.csv", *options)


@pytest.mark.parametrize("values", [pa.nulls(ROWS), pa.array([{"a": 1}] * ROWS)])
def test_groups_may_be_of_any_type(tmp_path, agree, values):
    table = pa.table({"g": values, "x": repeated([1, 2, 4]), "y": repeated(["no", "yes"])})
    pq.write_table(table, tmp_path / "a.parquet")
    agree("a.parquet", "--groups", "g", "--ignore", "g")
