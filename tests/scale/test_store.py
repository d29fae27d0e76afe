"""Runs that are resumed: the same bits, nothing done twice, and no answer about other data."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import hypothesis.extra.numpy as npst
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scale.tasks import PATIENCE, WEIGHTS, Gated, Summing, Sums, held, saved, wait_for
from unswayed.exceptions import InputError
from unswayed.pieces.cluster import DaskPasses
from unswayed.pieces.passes import LocalPasses, OrderedSum, Passes
from unswayed.pieces.pieces import Batch, Piece, Stamp
from unswayed.pieces.store import Store, StoredPasses, digest, pack, storable, unpack

SOURCES = [Stamp("a.parquet", 100, 1.5, 10), Stamp("b.parquet", 200, 2.5)]
TASK = Summing(WEIGHTS)


class Interrupted(Exception):  # noqa: N818
    pass


@dataclass(frozen=True, slots=True, eq=False)
class Watched(Piece):
    """A piece that notes when it is read, and may be interrupted."""

    name: str
    piece: Piece
    read: list[str]
    breaks: bool = False

    def batches(self) -> Iterator[Batch]:
        if self.breaks:
            raise Interrupted
        self.read.append(self.name)
        yield from self.piece.batches()


def watched(pieces: int, read: list[str], breaks: int | None = None) -> list[Piece]:
    return [
        Watched(piece.name, piece, read, number == breaks)
        for number, piece in enumerate(held(pieces))
    ]


def names(first: int, stop: int) -> list[str]:
    return [f"partition {number}" for number in range(first, stop)]


def local(pieces: list[Piece]) -> Passes:
    return LocalPasses(pieces, threads=1)


# ---- sums


@given(st.integers(0, 70), st.integers(0, 70), st.integers(0, 4))
def test_a_sum_that_goes_on_from_runs_has_the_same_bits(first: int, more: int, level: int) -> None:
    values = list(np.random.default_rng(first).normal(size=first + more) * 1e3**level)
    whole: OrderedSum[Any] = OrderedSum(0.0)
    for value in values:
        whole.add(value)
    begun: OrderedSum[Any] = OrderedSum(0.0)
    for value in values[:first]:
        begun.add(value)
    assert len(begun) == first
    resumed = OrderedSum(0.0, begun.runs)
    for value in values[first:]:
        resumed.add(value)
    assert resumed.value() == whole.value()
    assert len(resumed) == len(values)
    size = 2**level
    grouped: OrderedSum[Any] = OrderedSum(0.0)
    for start in range(0, len(values), size):
        group: OrderedSum[Any] = OrderedSum(0.0)
        for value in values[start : start + size]:
            group.add(value)
        grouped.add(group.value())
    assert grouped.value() == whole.value()


# ---- finished and interrupted passes


def test_a_finished_pass_is_not_repeated(tmp_path: Path) -> None:
    read: list[str] = []
    first = StoredPasses(local(watched(7, read)), Store(tmp_path, SOURCES))
    found = first.run(TASK)
    assert (first.made, first.restored, read) == (1, 0, names(0, 7))
    second = StoredPasses(local(watched(7, read)), Store(tmp_path, SOURCES))
    again = second.run(TASK)
    assert again.bits == found.bits == LocalPasses(held(7)).run(TASK).bits
    assert type(again) is Sums
    assert (second.made, second.restored, read) == (1, 1, names(0, 7))
    assert not list(tmp_path.glob("*.begun"))


@pytest.mark.parametrize("pieces", [5, 16, 70])
@pytest.mark.parametrize("kind", [local, DaskPasses])
def test_an_interrupted_pass_goes_on_where_it_was(pieces: int, kind: Any, tmp_path: Path) -> None:
    expected = LocalPasses(held(pieces)).run(TASK).bits
    stop = pieces - 2
    read: list[str] = []
    with pytest.raises(Interrupted):
        StoredPasses(local(watched(pieces, read, stop)), Store(tmp_path, SOURCES)).run(TASK)
    assert read == names(0, stop)
    told: list[int] = []
    read.clear()
    resumed = kind(watched(pieces, read))
    resumed.progress = lambda _, done, __: told.append(done)
    assert StoredPasses(resumed, Store(tmp_path, SOURCES)).run(TASK).bits == expected
    step = max(1, pieces // 16)
    assert pieces - len(read) >= stop - 1 - step
    assert sorted(read) == sorted(names(pieces - len(read), pieces))
    assert told[1] == pieces - len(read)
    assert told[-1] == pieces


def test_interruptions_add_up(tmp_path: Path) -> None:
    read: list[str] = []
    for stop in (9, 20, 33):
        with pytest.raises(Interrupted):
            StoredPasses(local(watched(70, read, stop)), Store(tmp_path, SOURCES)).run(TASK)
    with pytest.raises(Interrupted):
        StoredPasses(DaskPasses(watched(70, read, 61)), Store(tmp_path, SOURCES)).run(TASK)
    found = StoredPasses(LocalPasses(watched(70, read)), Store(tmp_path, SOURCES)).run(TASK)
    assert found.bits == LocalPasses(held(70)).run(TASK).bits
    assert len(read) < 2 * 70


def test_passes_on_dask_are_stored_too(tmp_path: Path) -> None:
    expected = LocalPasses(held(70)).run(TASK)
    passes = StoredPasses(DaskPasses(held(70)), Store(tmp_path, SOURCES))
    assert passes.run(TASK).bits == expected.bits
    assert passes.run(TASK).bits == expected.bits
    assert passes.restored == 1


KILLED = """
import sys
from pathlib import Path
from tests.scale.tasks import WEIGHTS, Gated, SavedPiece
from unswayed.pieces.passes import LocalPasses
from unswayed.pieces.store import Store, StoredPasses

_, folder, *names = sys.argv
passes = LocalPasses([SavedPiece(name) for name in names], threads=1)
StoredPasses(passes, Store(Path(folder) / "store", [])).run(Gated(WEIGHTS, "", folder, (40,)))
"""


def test_a_killed_process_is_resumed_by_another(tmp_path: Path) -> None:
    pieces = saved(tmp_path, 70)
    command = [sys.executable, "-c", KILLED, str(tmp_path), *(piece.name for piece in pieces)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as process:
        wait_for(tmp_path / f"begun-40-{process.pid}")
        process.send_signal(signal.SIGKILL)
        assert process.wait(PATIENCE) == -signal.SIGKILL
    (tmp_path / "go").touch()
    task = Gated(WEIGHTS, "", str(tmp_path), (40,))
    found = StoredPasses(local(list(pieces)), Store(tmp_path / "store", [])).run(task)
    assert found.bits == LocalPasses(pieces).run(TASK).bits
    ours = [path.name.split("-")[1] for path in tmp_path.glob(f"begun-*-{os.getpid()}")]
    assert min(int(number) for number in ours) > 40 - 2 * 4


# ---- what must not be mixed up


def test_other_tasks_and_other_pieces_have_their_own_results(tmp_path: Path) -> None:
    store = Store(tmp_path, SOURCES)
    pieces = [piece.identity for piece in held(3)]
    other = Summing(np.nextafter(WEIGHTS, 1))
    keys = {
        store.key(TASK, pieces),
        store.key(other, pieces),
        store.key(Summing(WEIGHTS, "other"), pieces),
        store.key(Gated(WEIGHTS), pieces),
        store.key(TASK, pieces[:2]),
        Store(tmp_path / "new", SOURCES[:1]).key(TASK, pieces),
    }
    assert len(keys) == 6
    assert store.key(Summing(WEIGHTS.copy()), pieces) == store.key(TASK, pieces)
    passes = StoredPasses(local(held(3)), store)
    assert passes.run(TASK).bits != passes.run(other).bits
    assert passes.restored == 0


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ([SOURCES[0]], "b.parquet is gone since"),
        ([*SOURCES, Stamp("c.parquet")], "c.parquet is new since"),
        ([SOURCES[0]._replace(size=101), SOURCES[1]], "changed .from 100 to 101 bytes. since"),
        ([SOURCES[0]._replace(rows=11), SOURCES[1]], "changed .from 10 to 11 rows. since"),
        ([SOURCES[0], SOURCES[1]._replace(version=3.5)], "b.parquet has been written again since"),
        (SOURCES[::-1], "the order of the files has changed since"),
        ([], r"a.parquet is gone since .* \(and 1 more changes?\)"),
    ],
)
def test_changed_files_are_noticed(now: list[Stamp], message: str, tmp_path: Path) -> None:
    Store(tmp_path, SOURCES)
    with pytest.raises(InputError, match=message) as caught:
        Store(tmp_path, now)
    assert "another folder, or remove" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rows_that_were_not_known_are_no_change(tmp_path: Path) -> None:
    before = Store(tmp_path, SOURCES)
    after = Store(tmp_path, [SOURCES[0], SOURCES[1]._replace(rows=20)])
    assert before.key(TASK, []) == after.key(TASK, [])


def test_damaged_files_are_never_answers(tmp_path: Path) -> None:
    StoredPasses(local(held(7)), Store(tmp_path, SOURCES)).run(TASK)
    (file,) = tmp_path.glob("*.pass")
    whole = file.read_bytes()
    changed = bytearray(whole)
    changed[-100] ^= 1
    for damaged in (b"", whole[:-1], bytes(changed), b"else", whole + b"x"):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=r"\.pass is damaged, or .*; remove it") as caught:
            StoredPasses(local(held(7)), Store(tmp_path, SOURCES)).run(TASK)
        assert "\n" not in str(caught.value)
    file.write_bytes(whole)
    other = Store(tmp_path, SOURCES)
    file.rename(tmp_path / f"{other.key(Summing(2 * WEIGHTS), names(0, 7))}.pass")
    with pytest.raises(InputError, match="is damaged, or was written by another program"):
        StoredPasses(local(held(7)), other).run(Summing(2 * WEIGHTS))
    (tmp_path / "contents.json").write_text("{")
    with pytest.raises(InputError, match=r"contents\.json is damaged.*; remove the folder"):
        Store(tmp_path, SOURCES)


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match="is not empty, and no run was stored in it"):
        Store(tmp_path, SOURCES)
    with pytest.raises(InputError, match=r"thesis\.tex cannot be a folder"):
        Store(tmp_path / "thesis.tex", SOURCES)


# ---- packing


@storable
@dataclass(frozen=True)
class Leaf:
    value: Any
    other: Any = None


@storable
class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class Unknown:
    value: int = 3


@dataclass
class Cached:
    value: int
    ballast: ClassVar[Any] = None

    @cached_property
    def double(self) -> int:
        return 2 * self.value


DTYPES = st.one_of(
    npst.floating_dtypes(sizes=(32, 64)),
    npst.integer_dtypes(),
    npst.boolean_dtypes(),
    npst.unicode_string_dtypes(max_len=5),
    npst.datetime64_dtypes(max_period="ns", min_period="ns"),
)
ARROW = st.one_of(
    st.lists(st.none() | st.floats(allow_nan=False)).map(partial(pa.array, type=pa.float64())),
    st.lists(st.none() | st.text(max_size=3)).map(partial(pa.array, type=pa.string())),
    st.lists(st.text(max_size=2)).map(lambda v: pa.array(v, pa.string()).dictionary_encode()),
    st.lists(st.integers(-9, 9)).map(lambda v: pa.table({"a": pa.array(v, pa.int8()), "b": v})),
    st.lists(st.integers(-9, 9)).map(lambda v: pa.chunked_array([v, v], pa.int64())),
    st.sampled_from([pa.int8(), pa.schema([pa.field("a", pa.string(), nullable=False)])]),
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    npst.arrays(DTYPES, npst.array_shapes(min_dims=0, min_side=0, max_side=3)),
    DTYPES.flatmap(npst.from_dtype),
    ARROW,
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text() | st.integers(), inner, max_size=4),
        st.builds(Leaf, inner, inner),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=8,
)


def same(one: Any, two: Any) -> bool:
    """Whether two values are equal in type and in every bit."""
    if type(one) is not type(two):
        return False
    if isinstance(one, tuple | list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict):
        return list(one) == list(two) and all(map(same, one.values(), two.values()))
    if is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(two, f.name)) for f in fields(one))
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
    if isinstance(one, float):
        return repr(one) == repr(two)
    return bool(one.equals(two)) if hasattr(one, "equals") else bool(one == two)


@given(VALUES)
def test_what_is_packed_comes_back(value: Any) -> None:
    back = unpack(pack(value))
    assert same(back, value)
    assert digest(back) == digest(value)


@given(VALUES, VALUES)
def test_digests_tell_values_apart(one: Any, two: Any) -> None:
    assert same(one, two) == (digest(one) == digest(two))


def test_digests_are_those_of_other_processes() -> None:
    code = (
        "from tests.scale.tasks import *; from unswayed.pieces.store import digest; "
        "print(digest((Gated(WEIGHTS), {'a', 'b', 'c'}, np.sin, {'x': frozenset('ab')})))"
    )
    root = Path(__file__).parents[2]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=root,
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    expected = digest((Gated(WEIGHTS), {"a", "b", "c"}, np.sin, {"x": frozenset("ab")}))
    assert outputs == {f"{expected}\n".encode()}


def test_what_is_behind_an_object_counts() -> None:
    values: list[Any] = [
        partial(int, "3"),
        partial(int, "4"),
        Unknown.__init__,
        Unknown,
        Unknown(),
        Unknown(4),
        (3).__add__,
        (4).__add__,
        npt.NDArray,
    ]
    assert len({digest(value) for value in values}) == len(values)
    with pytest.raises(TypeError, match="cannot be told from others"):
        digest(lambda: 3)


def test_attributes_beyond_fields_count_and_caches_do_not() -> None:
    with_ballast = Cached(3)
    with_ballast.__dict__["ballast"] = np.ones(2)
    assert digest(with_ballast) != digest(Cached(3))
    with_cache = Cached(3)
    assert with_cache.double == 6
    assert digest(with_cache) == digest(Cached(3))


def test_only_what_is_declared_is_packed() -> None:
    for value in (Unknown(), [Unknown()], np.array([None]), {(1, 2): 3}, {1}, object()):
        with pytest.raises(TypeError, match="cannot be stored"):
            pack(value)
    with pytest.raises(TypeError, match="neither a dataclass nor a named tuple"):
        storable(int)
