"""Training rows in files: every row once, in its type, and faults in one line that names them."""

import gzip
import os
import pickle

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unswayed.exceptions import InputError
from unswayed.pieces.passes import LocalPasses
from unswayed.pieces.pieces import BATCH
from unswayed.tables.delimited import CsvReader, Dialect
from unswayed.tables.encoding import SurveyTask
from unswayed.tables.many_files import fingerprint, open_files


def frame(n=10, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": rng.normal(size=n),
            "town": rng.choice(["Bonn", "Köln", 'say "hi", you'], n),
            "y": rng.integers(0, 2, n),
        }
    )


def read(pieces):
    """All rows of pieces as one frame, with the label."""
    tables = []
    for piece in pieces:
        for batch in piece.batches():
            assert 0 < len(batch) <= BATCH
            assert batch.rows.num_rows == len(batch.labels) == len(batch)
            tables.append(batch.rows.append_column("y", batch.labels))
    return pd.concat([table.to_pandas() for table in tables], ignore_index=True)


def same(found, expected):
    found = found[expected.columns].astype({"town": "str"})
    pd.testing.assert_frame_equal(found, expected.astype({"town": "str"}), check_dtype=False)


def survey(pieces, **options):
    return LocalPasses(pieces, threads=1).run(SurveyTask(**options))


def refusal(call):
    with pytest.raises(InputError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    return text


@given(
    n=st.integers(1, 40),
    group=st.integers(1, 15),
    most=st.integers(1, 30),
    seed=st.integers(0, 99),
)
def test_row_groups_become_pieces_that_hold_every_row_once(tmp_path_factory, n, group, most, seed):
    path = tmp_path_factory.mktemp("groups") / "a.parquet"
    rows = frame(n, seed)
    rows.to_parquet(path, row_group_size=group)
    pieces = open_files(path, label="y", most_rows=most)
    same(read(pieces), rows)
    assert [piece.rows for piece in pieces] == [
        sum(len(batch) for batch in piece.batches()) for piece in pieces
    ]
    assert all(piece.rows <= max(most, group) for piece in pieces)
    places = [
        piece.place(int(number))
        for piece in pieces
        for batch in piece.batches()
        for number in batch.numbers
    ]
    assert places == [(str(path), row + 1) for row in range(n)]


def test_batches_are_the_same_however_the_file_is_laid_out(tmp_path):
    rows = frame(BATCH + 5000)
    rows.to_parquet(tmp_path / "a.parquet", row_group_size=7000)
    rows.to_csv(tmp_path / "b.csv", index=False)
    for name in ("a.parquet", "b.csv"):
        (piece,) = open_files(tmp_path / name, label="y", reader=CsvReader(block=2**16))
        sizes = [len(batch) for batch in piece.batches()]
        assert sizes == [BATCH, 5000]
        same(read([piece]), rows)


def test_only_the_columns_that_are_used_are_read(tmp_path):
    frame().to_parquet(tmp_path / "a.parquet")
    (piece,) = open_files(tmp_path / "a.parquet", label="y", ignore=["pay"])
    assert next(piece.batches()).rows.column_names == ["age", "town"]
    (piece,) = open_files(tmp_path / "a.parquet", label="y", columns=["town", "age"])
    assert next(piece.batches()).rows.column_names == ["age", "town"]  # its order


def test_a_piece_travels_as_a_few_bytes(tmp_path):
    frame(1000).to_parquet(tmp_path / "a.parquet")
    (piece,) = open_files(tmp_path, label="y")
    packed = pickle.dumps(piece)
    assert len(packed) < 2000
    same(read([pickle.loads(packed)]), frame(1000))


def test_a_relative_path_is_read_from_another_folder(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    frame().to_parquet(tmp_path / "a.parquet")
    monkeypatch.chdir(tmp_path)
    pieces = open_files("a.parquet", label="y")
    monkeypatch.chdir(tmp_path / "other")
    same(read(pieces), frame())
    assert pieces[0].name == "a.parquet"


class TestWhere:
    """Folders, patterns, lists and storages."""

    @pytest.fixture
    def folder(self, tmp_path):
        (tmp_path / "sub").mkdir()
        frame(3, 1).to_parquet(tmp_path / "a.parquet")
        frame(4, 2).to_csv(tmp_path / "b.csv", index=False)
        frame(5, 3).to_parquet(tmp_path / "sub" / "c.pq")
        (tmp_path / "_SUCCESS").touch()
        (tmp_path / ".hidden.csv").touch()
        (tmp_path / "notes.txt").write_text("hello")
        return tmp_path

    def test_a_folder_with_all_below_it_but_hidden_files(self, folder):
        pieces = open_files(folder, label="y")
        assert [os.path.basename(piece.name) for piece in pieces] == ["a.parquet", "b.csv", "c.pq"]
        same(read(pieces), pd.concat([frame(3, 1), frame(4, 2), frame(5, 3)], ignore_index=True))

    def test_a_pattern(self, folder):
        assert len(open_files(f"{folder}/*.parquet", label="y")) == 1
        assert len(open_files(f"{folder}/**/*.p*", label="y")) == 2

    def test_a_list_in_its_order_and_each_file_once(self, folder):
        pieces = open_files([folder / "b.csv", f"{folder}/[ab].*"], label="y")
        assert [os.path.basename(piece.name) for piece in pieces] == ["b.csv", "a.parquet"]

    @pytest.mark.parametrize("source", ["*.parquet", "no.csv", "nothing/"])
    def test_nothing_there(self, tmp_path, source):
        (tmp_path / "nothing").mkdir()
        message = refusal(lambda: open_files(str(tmp_path / source), label="y"))
        assert source.rstrip("/") in message

    def test_an_empty_list(self):
        assert "no file is named" in refusal(lambda: open_files([], label="y"))

    def test_columns_in_names_of_folders_are_not_lost_silently(self, tmp_path):
        (tmp_path / "year=2020").mkdir()
        frame().to_parquet(tmp_path / "year=2020" / "a.parquet")
        assert "year=2020" in refusal(lambda: open_files(tmp_path, label="y"))
        assert len(open_files(f"{tmp_path}/*/*.parquet", label="y")) == 1

    def test_a_name_with_brackets_is_no_pattern(self, tmp_path):
        frame().to_parquet(tmp_path / "a[1].parquet")
        same(read(open_files(tmp_path / "a[1].parquet", label="y")), frame())


class TestElsewhere:
    """Paths that go through fsspec."""

    @pytest.fixture
    def memory(self):
        system = fsspec.filesystem("memory")
        system.pipe("/data/a.parquet", frame(3, 1).to_parquet())
        system.pipe("/data/b.csv", frame(4, 2).to_csv(index=False).encode())
        yield system
        system.rm("/data", recursive=True)

    @pytest.mark.parametrize("source", ["memory://data", "memory://data/*", "memory://data/**"])
    def test_folders_and_patterns(self, memory, source):
        pieces = open_files(source, label="y")
        assert [piece.name for piece in pieces] == [
            "memory:///data/a.parquet",
            "memory:///data/b.csv",
        ]
        same(
            read(pickle.loads(pickle.dumps(pieces))),
            pd.concat([frame(3, 1), frame(4, 2)], ignore_index=True),
        )

    def test_a_changed_file_is_noticed(self, memory):
        pieces = open_files("memory://data/a.parquet", label="y")
        memory.pipe("/data/a.parquet", frame(5, 1).to_parquet())
        message = refusal(lambda: read(pieces))
        assert "memory:///data/a.parquet has changed" in message

    @pytest.mark.parametrize(
        "source", ["memory://data/no.csv", "memory://no/*.csv", "what://x.csv"]
    )
    def test_nothing_there(self, memory, source):
        assert source.rsplit("/", 1)[1] in refusal(lambda: open_files(source, label="y"))

    def test_secrets_are_not_shown(self, memory):
        pieces = open_files("memory://data/a.parquet", label="y", options={"token": "secret"})
        assert "secret" not in repr(pieces)


class TestCsv:
    """CSV files as people write them."""

    def test_quotes_line_ends_in_cells_and_blank_lines(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text('x,t,y\n1,"a, ""b""\nc",0\n\n2,d,1\n', encoding="utf-8")
        found = read(open_files(path, label="y"))
        assert found["t"].tolist() == ['a, "b"\nc', "d"]

    def test_other_signs(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("1,5;?;0\n2,5;b;1\n", encoding="utf-8")
        form = CsvReader(Dialect(delimiter=";", header=False, decimal=",", missing=("?",)))
        (piece,) = open_files(path, label="column3", reader=form, missing="drop")
        batch = next(piece.batches())
        assert batch.rows.to_pylist() == [{"column1": 2.5, "column2": "b"}]
        assert batch.labels.to_pylist() == [1]
        assert batch.left_out == 1

    def test_packed(self, tmp_path):
        path = tmp_path / "a.csv.gz"
        path.write_bytes(gzip.compress(frame().to_csv(index=False).encode()))
        same(read(open_files(tmp_path, label="y")), frame())

    def test_codes_that_are_texts_keep_their_zeros(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("code,y\n007,0\n07,1\n", encoding="utf-8")
        pieces = open_files(path, label="y", reader=CsvReader(texts=("code",)))
        assert read(pieces)["code"].tolist() == ["007", "07"]

    def test_decimals_after_a_block_of_whole_numbers(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("x,y\n" + "1,0\n" * 500 + "1.5,1\n", encoding="utf-8")
        found = read(open_files(path, label="y", reader=CsvReader(block=256)))
        assert found["x"].iloc[-1] == 1.5

    @pytest.mark.parametrize("header", [True, False])
    def test_text_among_numbers_in_a_later_block(self, tmp_path, header):
        path = tmp_path / "a.csv"
        lines = ["t,x,y"] * header + ["a,1,0"] * 500 + ["", "a,n/k,0"]
        path.write_text("\n".join(lines), encoding="utf-8")
        names = {"label": "y"} if header else {"label": "column3"}
        form = CsvReader(Dialect(header=header), block=256)
        message = refusal(lambda: read(open_files(path, reader=form, **names)))
        assert message.startswith(f"{path}, row 501: column {'x' if header else 'column2'!r} has")
        assert "'n/k'" in message

    def test_a_row_of_another_length(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("x,y\n" + "1,0\n" * 500 + "1,0,3\n", encoding="utf-8")
        message = refusal(lambda: read(open_files(path, label="y", reader=CsvReader(block=256))))
        assert message.startswith(f"{path}, row 501: 3 cells where the others have 2")

    def test_a_quote_that_is_never_closed(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text('t,y\n"a,1\n' + "b,0\n" * 500, encoding="utf-8")
        message = refusal(lambda: read(open_files(path, label="y", reader=CsvReader(block=256))))
        assert str(path) in message
        assert "quote" in message

    @pytest.mark.parametrize("at", ["header", "first", "later"])
    def test_another_encoding(self, tmp_path, at):
        path = tmp_path / "a.csv"
        lines = [b"t,y", *[b"a,1"] * 500]
        lines[{"header": 0, "first": 1, "later": 400}[at]] = (
            b"\xe9,1" if at != "header" else b"\xe9,y"
        )
        path.write_bytes(b"\n".join(lines))
        message = refusal(lambda: read(open_files(path, label="y", reader=CsvReader(block=256))))
        assert message.startswith(str(path))
        assert "UTF-8" in message

    def test_utf16(self, tmp_path):
        (tmp_path / "a.csv").write_text("x,y\n1,2\n", encoding="utf-16")
        assert "UTF-8" in refusal(lambda: open_files(tmp_path, label="y"))


class TestEmpty:
    """Files without rows are no fault."""

    @pytest.mark.parametrize("text", ["", "age,pay,town,y", "age,pay,town,y\n"])
    def test_csv(self, tmp_path, text):
        (tmp_path / "a.csv").write_text(text, encoding="utf-8")
        frame().to_csv(tmp_path / "b.csv", index=False)
        pieces = open_files(tmp_path, label="y")
        assert not list(pieces[0].batches())
        same(read(pieces), frame())

    def test_parquet(self, tmp_path):
        frame().iloc[:0].to_parquet(tmp_path / "a.parquet")
        frame().to_parquet(tmp_path / "b.parquet")
        pieces = open_files(tmp_path, label="y")
        assert pieces[0].rows == 0
        assert not list(pieces[0].batches())
        same(read(pieces), frame())
        assert survey(pieces).n_rows == 10

    def test_nothing_but_empty_files(self, tmp_path):
        (tmp_path / "a.csv").touch()
        assert "a.csv is empty" in refusal(lambda: open_files(tmp_path, label="y"))
        (tmp_path / "a.csv").write_text("x,y\n", encoding="utf-8")
        assert survey(open_files(tmp_path, label="y")).n_rows == 0


class TestSchema:
    """One schema for all files."""

    def write(self, folder, **tables):
        for name, table in tables.items():
            pq.write_table(pa.table(table), folder / f"{name}.parquet")
        return folder

    def test_widths_and_dictionaries_are_unified(self, tmp_path):
        texts = pa.array(["u", "v"])
        self.write(
            tmp_path,
            a={"x": pa.array([1, 2], pa.int32()), "i": pa.array([1, 2], pa.int8()), "t": texts},
            b={
                "t": texts.dictionary_encode(),
                "x": pa.array([0.5, 1.5], pa.float32()),
                "i": pa.array([3, 4], pa.int64()),
            },
            c={
                "x": pa.array([7, 8], pa.decimal128(5, 2)),
                "i": pa.array([5, 6], pa.uint32()),
                "t": texts.cast(pa.large_string()),
            },
        )
        pieces = open_files(tmp_path, label="i")
        schemas = {str(batch.rows.schema) for piece in pieces for batch in piece.batches()}
        assert len(schemas) == 1
        batches = [batch for piece in pieces for batch in piece.batches()]
        assert [v for b in batches for v in b.rows["x"].to_pylist()] == [1, 2, 0.5, 1.5, 7, 8]
        assert [v for b in batches for v in b.labels.to_pylist()] == [1, 2, 3, 4, 5, 6]
        assert {b.labels.type for b in batches} == {pa.int64()}
        assert [v for b in batches for v in b.rows["t"].to_pylist()] == ["u", "v"] * 3

    def test_a_column_without_values_in_one_file(self, tmp_path):
        self.write(
            tmp_path, a={"t": pa.nulls(2), "y": [0, 1]}, b={"t": pa.array(["u", "v"]), "y": [0, 1]}
        )
        pieces = open_files(tmp_path, label="y", missing="drop")
        assert [len(batch) for piece in pieces for batch in piece.batches()] == [0, 2]
        assert survey(pieces).left_out == 2

    def test_another_kind(self, tmp_path):
        self.write(tmp_path, a={"x": [1, 2], "y": [0, 1]}, b={"x": ["1", "2"], "y": [0, 1]})
        message = refusal(lambda: open_files(tmp_path, label="y"))
        assert message.startswith(
            f"{tmp_path / 'b.parquet'}: column 'x' holds texts but numbers in"
        )
        assert str(tmp_path / "a.parquet") in message

    def test_another_kind_in_csv_names_the_row_that_makes_it_so(self, tmp_path):
        (tmp_path / "a.csv").write_text("x,y\n1,0\n2,1\n")
        (tmp_path / "b.csv").write_text("x,y\n1,0\n,0\n\nforty,1\n")
        message = refusal(lambda: open_files(tmp_path, label="y"))
        assert message.startswith(f"{tmp_path / 'b.csv'}: column 'x' holds texts but numbers in")
        assert f"({tmp_path / 'b.csv'}, row 3 has 'forty'); give both" in message
        (tmp_path / "c.csv").write_text("x,y\nfew,0\n1,1\n")
        files = [tmp_path / "c.csv", tmp_path / "a.csv"]
        message = refusal(lambda: open_files(files, label="y"))
        assert f"({tmp_path / 'c.csv'}, row 1 has 'few')" in message

    def test_a_missing_column(self, tmp_path):
        self.write(tmp_path, a={"x": [1], "z": [1], "y": [0]}, b={"x": [1], "y": [0]})
        message = refusal(lambda: open_files(tmp_path, label="y"))
        assert message.startswith(f"{tmp_path / 'b.parquet'} has no column 'z'")
        assert len(open_files(tmp_path, label="y", columns=["x"])) == 2

    def test_one_column_more(self, tmp_path):
        self.write(tmp_path, a={"x": [1], "y": [0]}, b={"x": [1], "z": [1], "y": [0]})
        message = refusal(lambda: open_files(tmp_path, label="y"))
        assert message.startswith(f"{tmp_path / 'b.parquet'} has a column 'z'")

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"label": "why"}, "label: "),
            ({"label": "y", "ignore": ["pya"]}, "did you mean 'pay'?"),
            ({"label": "y", "columns": ["pya"]}, "did you mean 'pay'?"),
        ],
    )
    def test_names_that_no_column_has(self, tmp_path, options, words):
        frame().to_parquet(tmp_path / "a.parquet")
        assert words in refusal(lambda: open_files(tmp_path, **options))

    def test_a_name_twice_gets_a_number_and_rows_are_counted_as_ever(self, tmp_path):
        (tmp_path / "a.csv").write_text("\n\nx,x,y\n1,2,3\n4,5,6\n", encoding="utf-8")
        (piece,) = open_files(tmp_path, label="y", columns=["x.1"])
        assert next(piece.batches()).rows.column("x.1").to_pylist() == [2.0, 5.0]
        broken = CsvReader(block=12)
        (tmp_path / "a.csv").write_text("x,x,y\n1,2,3\n4,5,6\n7,?,9\n", encoding="utf-8")
        (piece,) = open_files(tmp_path, label="y", reader=broken)
        assert "row 3: column 'x.1' has '?'" in refusal(lambda: list(piece.batches()))

    def test_dates_are_refused_unless_ignored(self, tmp_path):
        rows = frame().assign(day=pd.Timestamp("2020-01-01"))
        rows.to_parquet(tmp_path / "a.parquet")
        message = refusal(lambda: open_files(tmp_path, label="y"))
        assert "column 'day' holds timestamp" in message
        assert open_files(tmp_path, label="y", ignore=["day"])

    def test_a_column_that_is_empty_everywhere(self, tmp_path):
        self.write(tmp_path, a={"t": pa.nulls(2), "y": [0, 1]})
        assert "column 't' is empty" in refusal(lambda: open_files(tmp_path, label="y"))


class TestDamage:
    """Files that cannot be read, or are other ones than before."""

    def test_a_truncated_file(self, tmp_path):
        path = tmp_path / "a.parquet"
        frame(1000).to_parquet(path)
        path.write_bytes(path.read_bytes()[:-100])
        assert f"cannot read {path}" in refusal(lambda: open_files(tmp_path, label="y"))

    def test_an_empty_parquet_file(self, tmp_path):
        (tmp_path / "a.parquet").touch()
        assert "cannot read" in refusal(lambda: open_files(tmp_path, label="y"))

    def test_damage_between_header_and_footer(self, tmp_path):
        path = tmp_path / "a.parquet"
        frame(1000).to_parquet(path)
        content = bytearray(path.read_bytes())
        content[4:400] = b"\xff" * 396
        path.write_bytes(content)
        pieces = open_files(path, label="y")
        assert f"cannot read {path}" in refusal(lambda: read(pieces))

    @pytest.mark.parametrize("ending", ["parquet", "csv"])
    def test_a_file_that_is_removed_between_passes(self, tmp_path, ending):
        path = tmp_path / f"a.{ending}"
        frame().to_parquet(path) if ending == "parquet" else frame().to_csv(path, index=False)
        pieces = open_files(path, label="y")
        survey(pieces)
        path.unlink()
        assert str(path) in refusal(lambda: survey(pieces))

    @pytest.mark.parametrize("ending", ["parquet", "csv"])
    def test_a_file_that_is_written_again(self, tmp_path, ending):
        path = tmp_path / f"a.{ending}"
        write = "to_parquet" if ending == "parquet" else "to_csv"
        getattr(frame(10), write)(path, index=False)
        pieces = open_files(path, label="y")
        before = fingerprint(pieces)
        getattr(frame(11), write)(path, index=False)
        assert f"{path} has changed since it was opened" in refusal(lambda: read(pieces))
        assert fingerprint(open_files(path, label="y")) != before

    def test_a_file_of_the_same_size_from_another_time(self, tmp_path):
        path = tmp_path / "a.csv"
        frame().to_csv(path, index=False)
        pieces = open_files(path, label="y")
        os.utime(path, ns=(1, 1))
        assert "was written again" in refusal(lambda: read(pieces))

    def test_a_file_that_changes_while_it_is_read(self, tmp_path):
        path = tmp_path / "a.csv"
        frame(2 * BATCH + 1).to_csv(path, index=False)
        (piece,) = open_files(path, label="y")
        batches = piece.batches()
        next(batches)
        os.utime(path, ns=(1, 1))
        assert "has changed" in refusal(lambda: list(batches))

    def test_fingerprints_have_one_line_a_file(self, tmp_path):
        path = tmp_path / "a.parquet"
        frame(20).to_parquet(path, row_group_size=5)
        pieces = open_files(path, label="y", most_rows=5)
        assert len(pieces) == 4
        ((file, size, _, rows),) = fingerprint(pieces)
        assert (file, size, rows) == (str(path), path.stat().st_size, 20)


class TestMissing:
    """Cells without a value, or with infinity."""

    def write(self, folder, column, row, value, ending="parquet"):
        rows = frame(30).astype({"age": float, "y": float})
        rows[column] = rows[column].astype(object)
        rows.loc[row, column] = value
        if column != "town":
            rows[column] = rows[column].astype(float)
        path = folder / f"a.{ending}"
        if ending == "parquet":
            rows.to_parquet(path, row_group_size=7)
        else:
            rows.to_csv(path, index=False)
        return path, rows

    @pytest.mark.parametrize("ending", ["parquet", "csv"])
    @pytest.mark.parametrize(
        ("column", "value", "words"),
        [
            ("y", None, "the label is missing"),
            ("y", np.inf, "the label is infinite"),
            ("pay", None, "column 'pay' is missing"),
            ("pay", np.nan, "column 'pay' is missing"),
            ("pay", -np.inf, "column 'pay' is infinite"),
            ("town", None, "column 'town' is missing"),
        ],
    )
    def test_a_bad_cell_is_named_by_file_and_row(self, tmp_path, ending, column, value, words):
        path, _ = self.write(tmp_path, column, 23, value, ending)
        pieces = open_files(path, label="y", most_rows=10)
        assert refusal(lambda: survey(pieces)).startswith(f"{path}, row 24: {words};")

    def test_nan_that_is_not_null_is_missing_too(self, tmp_path):
        table = pa.table({"x": [1.0, float("nan"), 2.0], "y": [0, 1, 1]})
        pq.write_table(table, tmp_path / "a.parquet")
        assert "row 2: column 'x'" in refusal(lambda: survey(open_files(tmp_path, label="y")))
        kept = survey(open_files(tmp_path, label="y", missing="drop"))
        assert (kept.n_rows, kept.left_out) == (2, 1)

    @given(gone=st.sets(st.integers(0, 29)), most=st.integers(1, 30))
    def test_rows_left_out_are_counted_and_the_others_keep_their_numbers(
        self, tmp_path_factory, gone, most
    ):
        path = tmp_path_factory.mktemp("drop") / "a.parquet"
        rows = frame(30).astype({"pay": float})
        rows.loc[sorted(gone), "pay"] = np.nan
        rows.to_parquet(path, row_group_size=3)
        pieces = open_files(path, label="y", missing="drop", most_rows=most)
        places = [
            piece.place(int(number)).row - 1
            for piece in pieces
            for batch in piece.batches()
            for number in batch.numbers
        ]
        assert places == sorted(set(range(30)) - gone)
        assert sum(batch.left_out for piece in pieces for batch in piece.batches()) == len(gone)

    def test_a_batch_of_which_nothing_is_left(self, tmp_path):
        rows = frame(3 * BATCH)
        rows.loc[BATCH : 2 * BATCH - 1, "pay"] = np.nan
        rows.loc[0, "pay"] = np.nan
        rows.to_parquet(tmp_path / "a.parquet")
        (piece,) = open_files(tmp_path, label="y", missing="drop")
        found = [(len(batch), batch.left_out, batch.numbers[0]) for batch in piece.batches()]
        assert found == [(BATCH - 1, BATCH + 1, 1), (BATCH, 0, 2 * BATCH)]


def test_a_row_group_of_many_rows_is_never_held_whole(tmp_path):
    n = 20 * BATCH
    rng = np.random.default_rng(0)
    table = pa.table({**{f"x{at}": rng.normal(size=n) for at in range(4)}, "y": np.zeros(n)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=n)
    (piece,) = open_files(tmp_path, label="y")
    whole = table.nbytes
    del table
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in piece.batches()]
    assert len(held) == 20
    assert max(held) < whole / 2
