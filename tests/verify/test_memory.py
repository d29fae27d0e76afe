"""Crafted files: whatever verify is given, it stays below the memory that the docs promise."""

import base64
import gzip
import hashlib
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.verify.measured import MOST, measured, run_measured
from tests.verify.proving import prove, write
from unswayed.estimators.certificate_file import SCHEMA
from unswayed.verify import verify


def sha256(matrix):
    """As the docs define it, without a second copy of large arrays."""
    digest = hashlib.sha256(struct.pack("<QQ", *matrix.shape))
    for start in range(0, len(matrix), 2**20):
        digest.update((matrix[start : start + 2**20] + 0.0).astype("<f8").tobytes())
    return digest.hexdigest()


def packed(values):
    return base64.b64encode(zlib.compress(np.asarray(values).tobytes())).decode()


def undecided(n_rows):
    return [{"row": row, "verdict": "undecided"} for row in range(n_rows)]


def make_document(labels, train=None, test=None, **changes):
    """A valid certificate that claims nothing about these arrays."""
    n_rows, n_tests = len(labels), 0 if test is None else len(test)
    arrays = {"labels": labels[:, None], "train": train, "test": test}
    width = n_rows if train is None else train.shape[1]
    return {
        "schema": SCHEMA, "unswayed": "", "question": {"task": "regression", "radius": 1.0},
        "model": {"kind": "ridge", "alpha": 1.0, "intercept": True},
        "bias": {"lower": -1.0, "upper": 1.0, "budget": 1},
        "data": {
            "train_rows": n_rows, "features": width, "test_rows": n_tests,
            "sha256": {name: sha256(a) for name, a in arrays.items() if a is not None},
        },
        "claims": undecided(n_tests),
    } | changes  # fmt: skip


def save(folder, document, **arrays):
    (folder / "c.json").write_text(json.dumps(document))
    if arrays:
        np.savez_compressed(folder / "c.npz", **arrays)
    return folder / "c.json"


@pytest.fixture
def small(tmp_path):
    """A small valid certificate of columns a and b, and its rows as a table."""
    X, y = np.arange(24.0).reshape(12, 2) % 7, np.arange(12.0) % 5
    save(tmp_path, make_document(y, X, X[:3]), labels=y, train=X, test=X[:3])
    return tmp_path


def header(shape, descr="'<f8'"):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117)
    return b"\x93NUMPY\x01\x00\x76\x00" + text.encode() + b"\n"


# --- arrays ---------------------------------------------------------------------------------


def test_an_array_of_forty_million_empty_rows_is_not_built(small):
    with zipfile.ZipFile(small / "c.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, shape in (("train", "(40000000, 0)"), ("labels", "(12,)"), ("test", "(3, 2)")):
            archive.writestr(f"{name}.npy", header(shape) + bytes(96))
    assert (small / "c.npz").stat().st_size < 1000
    assert "belongs to other data" in measured(small, "c.json", "--data", "c.npz")


def test_an_archive_with_a_million_members_is_not_listed(small):
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                        0, 0, 0, 0, 0, 0)  # fmt: skip
    size = 10**6 * (len(entry) + 1)
    zip64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 10**6, 10**6, size, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, size, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, size, 0, 0)
    (small / "c.npz").write_bytes((entry + b"a") * 10**6 + zip64 + locator + end)
    assert "is not the .npz file" in measured(small, "c.json", "--data", "c.npz")


def test_a_member_that_unpacks_without_end_is_not_unpacked(small):
    with zipfile.ZipFile(small / "c.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("labels.npy", header("(12,)") + bytes(2**30))
    assert "goes on after its end" in measured(small, "c.json", "--data", "c.npz")
    content = (small / "c.npz").read_bytes()  # now the directory says that it is small
    true, said = (struct.pack("<L", 128 + size) for size in (2**30, 96))
    (small / "c.npz").write_bytes(content.replace(true, said))
    assert "Bad CRC" in measured(small, "c.json", "--data", "c.npz")


def test_millions_of_labels_without_a_feature_are_refused(tmp_path):
    y, X = np.zeros(15 * 10**6), np.zeros((15 * 10**6, 0))
    save(tmp_path, make_document(y, X, X[:1]), labels=y, train=X, test=X[:1])
    assert "are not read" in measured(tmp_path, "c.json", "--data", "c.npz")


# --- tables ---------------------------------------------------------------------------------

TRAIN = ("c.json", "--label", "y", "--train")


def test_long_cells_of_a_packed_table_are_not_kept(small):
    rows = [gzip.compress(b"%d" % row * (8 * 2**20 - 8) + b",1,2\n") for row in range(10)]
    (small / "a.csv.gz").write_bytes(gzip.compress(b"a,b,y\n") + b"".join(rows * 30))
    assert (small / "a.csv.gz").stat().st_size < 3 * 10**6
    assert "a.csv.gz" in measured(small, *TRAIN, "a.csv.gz")


def test_a_row_of_many_long_cells_over_many_lines_is_not_read(small):
    cell = gzip.compress(b'"' + (b"x" * 2**20 + b"\n") * 6 + b'",')
    (small / "a.csv.gz").write_bytes(gzip.compress(b"a,b,y\n") + cell * 400)
    assert "a row has more than" in measured(small, *TRAIN, "a.csv.gz")


def test_a_text_of_half_a_gigabyte_in_a_parquet_file_is_not_read(small):
    columns = {"a": pa.array(["x" * 2**29]), "b": [1.0], "y": [1.0]}
    pq.write_table(
        pa.table(columns), small / "a.parquet", compression="zstd", use_dictionary=False,
        write_statistics=False,
    )  # fmt: skip
    assert (small / "a.parquet").stat().st_size < 10**6
    assert "a.parquet" in measured(small, *TRAIN, "a.parquet")


def overlong(number, size):
    """A thrift integer written in more bytes than it takes."""
    groups = [(2 * number >> 7 * at) & 127 for at in range(size)]
    return bytes(group | 128 for group in groups[:-1]) + bytes(groups[-1:])


def varint(number):
    return overlong(number, max(1, -(-(2 * number).bit_length() // 7)))


def test_a_parquet_footer_that_lies_about_sizes_is_not_believed(small):
    columns = {"a": pa.array(["x" * 2**29]), "b": [1.0], "y": [1.0]}
    path = small / "a.parquet"
    pq.write_table(pa.table(columns), path, compression="zstd", write_statistics=False)
    true = pq.ParquetFile(path).metadata.row_group(0)
    content = path.read_bytes()
    start = len(content) - 8 - struct.unpack("<L", content[-8:-4])[0]
    footer = content[start:]
    for size in (true.column(0).total_uncompressed_size, true.total_byte_size):
        assert varint(size) in footer
        footer = footer.replace(varint(size), overlong(100, len(varint(size))))
    path.write_bytes(content[:start] + footer)
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size == 100
    assert "a.parquet" in measured(small, *TRAIN, "a.parquet")


def test_one_long_text_for_many_rows_is_not_repeated(small):
    texts = pa.DictionaryArray.from_arrays(np.zeros(1000, np.int32), ["x" * (24 * 2**20)])
    table = pa.table({"a": texts, "b": [1.0] * 1000, "y": [1.0] * 1000})
    pq.write_table(table, small / "a.parquet", compression="zstd", dictionary_pagesize_limit=2**30)
    assert "a.parquet" in measured(small, *TRAIN, "a.parquet")


def test_texts_that_repeat_the_text_before_them_are_not_unrolled(small):
    texts = pa.array(["x" * (4 * 2**20) + str(row) for row in range(64)])
    table = pa.table({"a": texts, "b": [1.0] * 64, "y": [1.0] * 64})
    pq.write_table(
        table, small / "a.parquet", use_dictionary=False,
        column_encoding={"a": "DELTA_BYTE_ARRAY"}, compression="zstd",
    )  # fmt: skip
    assert "a.parquet" in measured(small, *TRAIN, "a.parquet")


def test_a_cell_that_is_a_list_of_a_hundred_million_zeros_is_not_read(small):
    zeros = pa.array(np.zeros(10**8))
    lists = pa.ListArray.from_arrays(pa.array([0, 10**8], pa.int32()), zeros)
    pq.write_table(pa.table({"a": lists, "b": [1.0], "y": [1.0]}), small / "a.parquet")
    assert "a.parquet" in measured(small, *TRAIN, "a.parquet")


def test_a_parquet_footer_of_many_columns_is_not_read(small):
    arrays = [pa.array([], pa.null())] * 60_000
    names = [f"column {at}" for at in range(60_000)]
    table = pa.Table.from_arrays(arrays, names=names)
    pq.write_table(table, small / "a.parquet")
    assert "a.parquet" in measured(small, *TRAIN, "a.parquet")


def test_a_parquet_footer_of_many_small_structures_takes_bounded_memory(small):
    """As long as a footer may be, and of the shortest descriptions of columns there are."""
    chunk, n_chunks, n_groups = b"\x26\x00\x00", 10_000, 34
    columns = b"\x19\xfc" + varint(n_chunks // 2) + chunk * n_chunks
    group = columns + b"\x16\x00\x16\x00\x00"
    root = b"\x48\x01r\x15\x02\x00"
    leaf = b"\x15\x0a\x38\x01a\x00"
    footer = b"\x15\x02\x19\x2c" + root + leaf + b"\x16\x00\x19\xfc" + varint(n_groups // 2)
    footer += group * n_groups + b"\x00"
    size = struct.pack("<L", len(footer))
    assert 10**6 < len(footer) < 2**20
    (small / "a.parquet").write_bytes(b"PAR1" + footer + size + b"PAR1")
    assert "a.parquet" in measured(small, *TRAIN, "a.parquet")


def test_a_page_that_lies_about_its_size_is_not_read(small):
    """Without compression, what counts is how long it is and not how long it says it will be."""
    path = small / "a.parquet"
    columns = {"a": pa.array(["x" * 2**29]), "b": [1.0], "y": [1.0]}
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(pa.table(columns), path, **options)
    with path.open("r+b") as file:
        start = file.read(100)
        size = varint(2**29 + 4 + 6)  # of the text, its length, and the levels
        assert start.count(size) == 2  # after decompression, and before
        file.seek(start.index(size))
        file.write(overlong(100, len(size)))
    assert "a.parquet" in measured(small, *TRAIN, "a.parquet")


def test_a_table_of_other_columns_is_read_past_them(small):
    """What no feature needs may be large: only its own columns count."""
    frame = {
        "a": np.arange(12.0) * 2 % 7, "b": (np.arange(12.0) * 2 + 1) % 7, "y": np.arange(12.0) % 5,
        "story": ["x" * 3 * 2**20] * 12,
    }  # fmt: skip
    document = json.loads((small / "c.json").read_text())
    features = [{"column": name, "mean": 0.0, "scale": 1.0} for name in ("a", "b")]
    document["recipe"] = {"label": "y", "features": features, "train": [*range(12)],
                          "test": [0, 1, 2], "test_file": "train"}  # fmt: skip
    save(small, document)
    pq.write_table(pa.table(frame), small / "a.parquet", use_dictionary=False)
    assert verify(small / "c.json", train=small / "a.parquet").undecided == 3


# --- certificates ---------------------------------------------------------------------------


def long_text(last):
    return '{"unswayed":"' + "a" * (60 * 2**20) + last + '"}'


JSON = {
    "a long text of wide characters": lambda: long_text("\U0001f600"),
    "a long text with one escape": lambda: long_text("\\ud83d\\ude00"),
    "millions of claims": lambda: '{"claims":[' + '{"row":1},' * (14 * 10**5) + "1]}",
    "millions of empty lists": lambda: "[" + "[[[]]]," * (7 * 10**5) + "1]",
    "millions of texts": lambda: "[" + ",".join(f'"a{at}"' for at in range(29 * 10**5)) + "]",
}


@pytest.mark.parametrize("case", JSON)
def test_a_certificate_of_the_largest_size_takes_bounded_memory(small, case):
    (small / "c.json").write_text(JSON[case]())
    measured(small, "c.json", "--data", "c.npz")


def test_as_many_claims_as_are_read_take_bounded_memory(tmp_path):
    n_tests = 900_000
    y, X, tests = np.arange(4.0), np.arange(8.0).reshape(4, 2), np.zeros((n_tests, 2))
    tests[:, 0] = np.arange(n_tests) % 20_000
    save(tmp_path, make_document(y, X, tests), labels=y, train=X, test=tests)
    code, out, err, size = run_measured(tmp_path, "c.json", "--data", "c.npz")
    assert size < MOST
    assert code in (2, 3), (out, err)


def test_a_recipe_of_as_many_features_as_are_read_takes_bounded_memory(tmp_path):
    width = 400_000
    labels, rows = np.array([0.0, 1.0, 0.0]), np.zeros((3, width))
    rows[:, 5] = 1
    document = make_document(labels, rows, rows[:1])
    features = [{"column": "a", "equals": str(at)} for at in range(width)]
    document["recipe"] = {"label": "y", "features": features, "train": [0, 1, 2], "test": [0],
                          "test_file": "train"}  # fmt: skip
    save(tmp_path, document)
    (tmp_path / "a.csv").write_text("a,y\n5,0\n5,1\n5,0\n")
    code, out, err, size = run_measured(tmp_path, "c.json", "--train", "a.csv")
    assert size < MOST
    assert code in (2, 3), (out, err)


def test_witnesses_of_all_labels_take_bounded_memory(tmp_path):
    n_rows = 4 * 10**5
    y, X = np.zeros(n_rows), np.zeros((n_rows, 1))
    every = packed(np.ones(n_rows, "<u4"))
    claim = {"row": 0, "verdict": "not-robust", "witness": {"up": every, "down": every}}
    document = make_document(
        y, X, X[:1], claims=[claim], bias={"lower": -1.0, "upper": 1.0, "budget": 2 * n_rows}
    )
    save(tmp_path, document, labels=y, train=X, test=X[:1])
    code, out, err, size = run_measured(tmp_path, "c.json", "--data", "c.npz")
    assert size < MOST
    assert code in (1, 2), (out, err)


# --- arithmetic -----------------------------------------------------------------------------


def wild(rng, *shape):
    """Doubles from all over their range: as exact numbers they have two thousand digits."""
    return rng.normal(size=shape) * 2.0 ** rng.integers(-1000, 1000, shape)


def test_features_whose_exact_numbers_would_fill_the_memory_are_not_made(tmp_path):
    rng = np.random.default_rng(0)
    X, y = wild(rng, 5000, 250), rng.normal(size=5000)
    check_bounded(tmp_path, X, y, {"kind": "ridge", "alpha": 1.0, "intercept": True})


@pytest.mark.parametrize(("alpha", "shape"), [(0.0, (8, 60_000)), (1.0, (100, 90))])
def test_equations_whose_solution_would_fill_the_memory_are_not_solved(tmp_path, alpha, shape):
    rng = np.random.default_rng(1)
    X, y = wild(rng, *shape), rng.normal(size=shape[0])
    check_bounded(tmp_path, X, y, {"kind": "ridge", "alpha": alpha, "intercept": False})


def check_bounded(folder, X, y, model):
    """Claims with hints that prove nothing are open, in bounded memory."""
    claims = [{"row": row, "verdict": "undecided", "low": 0.5} for row in range(2)]
    document = make_document(y, X, X[:2], model=model, claims=claims)
    save(folder, document, labels=y, train=X, test=X[:2])
    hints = wild(np.random.default_rng(7), 2, X.shape[1] + int(model["intercept"]))
    write(document, {"weights": hints, "thresholds": np.ones((2, 6))}, folder / "c.json")
    code, out, err, size = run_measured(folder, "c.json", "--data", "c.npz")
    assert size < MOST
    assert code == 3, (out, err)


def test_a_kernel_whose_exact_inverse_would_fill_the_memory_takes_bounded_memory(tmp_path):
    rng = np.random.default_rng(2)
    K, y = wild(rng, 150, 150), rng.normal(size=150)
    model = {"kind": "kernel-ridge", "alpha": 1.0}
    save(tmp_path, make_document(y, K, K[:2], model=model), labels=y, train=K, test=K[:2])
    proven(tmp_path)
    code, out, err, size = run_measured(tmp_path, "c.json", "--data", "c.npz")
    assert size < MOST
    assert code == 3, (out, err)


def proven(folder):
    """Add what proves the claims, as far as doubles do."""
    path = folder / "c.json"
    prove(json.loads(path.read_text()), folder / "c.npz", path, exactly=False)


def smooth_kernel(rng, n_rows):
    rows = rng.normal(size=(n_rows, 50))
    return rows @ rows.T / 50


def test_the_largest_kernel_that_bounds_are_had_for_takes_bounded_memory(tmp_path):
    rng = np.random.default_rng(4)
    K, y = smooth_kernel(rng, 2048), rng.normal(size=2048)
    model = {"kind": "kernel-ridge", "alpha": 1.0}
    document = make_document(y, K, K[:9], model=model)
    save(tmp_path, document, labels=y, train=K, test=K[:9])
    proven(tmp_path)
    code, out, err, size = run_measured(tmp_path, "c.json", "--data", "c.npz")
    assert size < MOST
    assert code == 3, (out, err)


@pytest.mark.parametrize("shape", [(2100, 2040), (2000, 3000), (70_000, 110), (1_600_000, 1)])
def test_as_many_features_as_bounds_are_had_for_take_bounded_memory(tmp_path, shape):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    tests = X[: min(300, 2**25 // len(X))]
    save(tmp_path, make_document(y, X, tests), labels=y, train=X, test=tests)
    proven(tmp_path)
    code, out, err, size = run_measured(tmp_path, "c.json", "--data", "c.npz")
    assert size < MOST
    assert code == 3, (out, err)


def test_intervals_of_their_own_for_many_rows_take_bounded_memory(tmp_path):
    rng = np.random.default_rng(3)
    n_rows = 5 * 10**5
    y, X = rng.normal(size=n_rows), rng.normal(size=(n_rows, 1))
    bias = {"lower": packed(-rng.random(n_rows)), "upper": packed(abs(wild(rng, n_rows))),
            "budget": 1}  # fmt: skip
    model = {
        "kind": "ridge",
        "alpha": 1.0,
        "intercept": True,
        "weights": packed(rng.random(n_rows)),
    }
    document = make_document(y, X, X[:1], bias=bias, model=model)
    save(tmp_path, document, labels=y, train=X, test=X[:1])
    code, out, err, size = run_measured(tmp_path, "c.json", "--data", "c.npz")
    assert size < MOST
    assert code in (2, 3), (out, err)


# --- files that do not end --------------------------------------------------------------------


ASK = """
import sys
from unswayed.verify import CertificateError, verify
certificate, option, path = sys.argv[1:]
try:
    verify(certificate, **({option: path} if option else {}))
except CertificateError as error:
    print(error)
"""


@pytest.mark.parametrize("option", ["", "train", "data"])
def test_verify_in_python_waits_for_no_pipe(small, option):
    os.mkfifo(small / "pipe")
    certificate = "c.json" if option else "pipe"
    done = subprocess.run(
        [sys.executable, "-c", ASK, certificate, option, "pipe"],
        cwd=small, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert done.stdout == "pipe is not a file\n"


@pytest.mark.parametrize("place", ["label", "column", "equals"])
def test_a_name_of_millions_of_characters_takes_bounded_memory(tmp_path, place):
    """Some characters become eighteen when names are compared."""
    labels, rows = np.array([0.0, 1.0, 0.0]), np.zeros((3, 1))
    document = make_document(labels, rows, rows[:1])
    named = {"label": "y", "column": "a", "equals": "5"} | {place: "\ufdfa" * 5_000_000}
    document["recipe"] = {
        "label": named["label"],
        "features": [{"column": named["column"], "equals": named["equals"]}],
        "train": [0, 1, 2], "test": [0], "test_file": "train",
    }  # fmt: skip
    save(tmp_path, document)
    (tmp_path / "a.csv").write_text("a,y\n5,0\n5,1\n5,0\n")
    code, out, err, size = run_measured(tmp_path, "c.json", "--train", "a.csv")
    assert size < MOST
    assert code == 2, (out, err)


def test_a_recipe_of_very_many_columns_takes_bounded_memory(tmp_path):
    width = 300_000
    labels, rows = np.array([0.0, 1.0, 0.0]), np.zeros((3, width))
    document = make_document(labels, rows, rows[:1])
    features = [{"column": f"c{at}", "equals": "1"} for at in range(width)]
    document["recipe"] = {"label": "y", "features": features, "train": [0, 1, 2], "test": [0],
                          "test_file": "train"}  # fmt: skip
    save(tmp_path, document)
    (tmp_path / "a.csv").write_text("y\n0\n1\n0\n")
    code, out, err, size = run_measured(tmp_path, "c.json", "--train", "a.csv")
    assert size < MOST
    assert code == 2, (out, err)
    assert "columns" in err
