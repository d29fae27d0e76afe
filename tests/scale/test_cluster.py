"""Passes on dask: real processes, real signals; whatever happens, the same bits or one line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from tests.effort import some
from tests.scale.tasks import (
    PATIENCE,
    WEIGHTS,
    Deadly,
    Failing,
    Gated,
    Heavy,
    Summing,
    Sums,
    held,
    saved,
    values,
    wait_for,
)
from unswayed.exceptions import InputError
from unswayed.pieces.cluster import DaskPasses
from unswayed.pieces.passes import LocalPasses
from unswayed.pieces.pieces import HeldPiece, is_lazy, pieces_of

TASK = Summing(WEIGHTS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            worker_dashboard_address="127.0.0.1:0",
        ) as started,
    ):
        yield started


@pytest.fixture(scope="module")
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster, set_as_default=False) as connected:
        yield connected


def scaled(cluster: LocalCluster, client: Client, workers: int) -> None:
    cluster.scale(workers)
    until(lambda: len(client.scheduler_info()["workers"]) == workers)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def in_background(passes: DaskPasses, task: Summing) -> "Future[Sums]":
    pool = ThreadPoolExecutor(1)
    future = pool.submit(passes.run, task)
    pool.shutdown(wait=False)
    return future


def begun(folder: Path) -> dict[int, int]:
    """Processes by the piece that they have begun."""
    found = [path.name.split("-") for path in folder.glob("begun-*")]
    return {int(number): int(process) for _, number, process in found}


def frame() -> Any:
    rows = np.vstack(values(20))
    table = pd.DataFrame(rows, columns=["a", "b"]).assign(y=rows[:, 0] > 0, unused="x")
    return dd.from_pandas(table, npartitions=5, sort=False)


# ---- on threads


@pytest.mark.parametrize("pieces", [1, 2, 7, 8, 9, 70, 129])
def test_threads_of_dask_return_the_bits_of_local_passes(pieces: int) -> None:
    expected = LocalPasses(held(pieces)).run(TASK)
    assert expected.pieces == tuple(range(pieces))
    assert DaskPasses(held(pieces)).run(TASK).bits == expected.bits
    assert LocalPasses(held(pieces), threads=1).run(TASK).bits == expected.bits


def test_no_pieces_are_nothing() -> None:
    assert DaskPasses([]).run(TASK).bits == TASK.nothing().bits == LocalPasses([]).run(TASK).bits


@pytest.mark.parametrize("kind", [LocalPasses, DaskPasses])
def test_progress_counts_pieces_of_numbered_passes(kind: type) -> None:
    told: list[tuple[str, int, int]] = []
    passes = kind(held(7), progress=lambda *what: told.append(what))
    passes.run(TASK)
    passes.run(TASK)
    expected = [(f"pass {number}: summing", done, 7) for number in (1, 2) for done in range(8)]
    assert told == expected
    assert passes.made == 2


def test_a_partition_that_cannot_be_computed_is_an_input_error_on_threads() -> None:
    rows = dd.from_map(_read, range(3), meta=pd.DataFrame({"a": [1.0]}))
    with pytest.raises(InputError, match=r"^a partition cannot be computed: OSError: no disk$"):
        DaskPasses(pieces_of(rows, rows["a"])).run(Summing(WEIGHTS[:, :1]))


def test_a_bug_in_a_task_is_not_hidden() -> None:
    with pytest.raises(LookupError, match="a bug"):
        DaskPasses(held(3)).run(Failing(WEIGHTS))
    table = frame()
    with pytest.raises(LookupError, match="a bug"):
        DaskPasses(pieces_of(table[["a", "b"]], table["y"])).run(Failing(WEIGHTS))


def _read(number: int) -> pd.DataFrame:
    if number == 2:
        raise OSError("no disk")
    return pd.DataFrame({"a": np.arange(float(number))})


# ---- pieces of collections


def test_a_frame_gives_one_piece_per_partition() -> None:
    table = frame()
    pieces = pieces_of(table[["a", "b"]], table["y"])
    assert [piece.name for piece in pieces] == [f"partition {i}" for i in range(5)]
    parts = [HeldPiece(piece.name, *piece.pair.compute()) for piece in pieces]
    assert [list(part.rows.columns) for part in parts] == [["a", "b"]] * 5
    expected = LocalPasses(parts).run(TASK)
    assert DaskPasses(pieces).run(TASK).bits == expected.bits
    assert LocalPasses(pieces).run(TASK).bits == expected.bits


def test_labels_may_be_a_frame_of_one_column() -> None:
    table = frame()
    pieces = pieces_of(table[["a", "b"]], table[["y"]])
    expected = DaskPasses(pieces_of(table[["a", "b"]], table["y"])).run(TASK)
    assert DaskPasses(pieces).run(TASK).bits == expected.bits


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_are_read_once_and_unmerged(kind: str, tmp_path: Path) -> None:
    parts = [frame().get_partition(number).compute() for number in range(5)]
    for number, part in enumerate(parts):
        if kind == "parquet":
            part.to_parquet(tmp_path / f"{number}.parquet")
        else:
            part.to_csv(tmp_path / f"{number}.csv", index=False)
    read = dd.read_parquet if kind == "parquet" else dd.read_csv
    table = read(f"{tmp_path}/*.{kind}")
    pieces = pieces_of(table[["a", "b"]], table["y"])
    held = [
        HeldPiece(f"partition {i}", part[["a", "b"]], part["y"]) for i, part in enumerate(parts)
    ]
    assert [piece.name for piece in pieces] == [piece.name for piece in held]
    assert DaskPasses(pieces).run(TASK).bits == LocalPasses(held).run(TASK).bits
    reading = [key for key in dict(pieces[0].pair.dask) if "read" in str(key)]
    assert len(reading) == 5
    assert pieces[0].identity != pieces[1].identity
    again = pieces_of(table[["a", "b"]], table["y"])
    assert [piece.identity for piece in again] == [piece.identity for piece in pieces]


def test_columns_that_are_not_used_are_not_read(tmp_path: Path) -> None:
    frame().compute().to_parquet(tmp_path / "0.parquet")
    table = dd.read_parquet(tmp_path / "0.parquet")
    (piece,) = pieces_of(table[["a", "b"]], table["y"])
    parts = [node for key, node in dict(piece.pair.dask).items() if "read" in str(key)]
    assert len(parts) == 1
    assert list(parts[0]().columns) == ["a", "b", "y"]


def test_arrays_in_chunks_of_columns_are_put_together() -> None:
    rows = np.vstack(values(20))
    X = da.from_array(rows, chunks=(1000, 1))
    y = da.from_array(rows[:, 0] > 0, chunks=1000)
    cuts = [rows[start : start + 1000] for start in range(0, len(rows), 1000)]
    expected = LocalPasses([HeldPiece("", cut, cut[:, 0] > 0) for cut in cuts]).run(TASK)
    assert DaskPasses(pieces_of(X, y)).run(TASK).bits == expected.bits
    other = da.from_array(rows[:, 0] > 0, chunks=500)
    assert DaskPasses(pieces_of(X, other)).run(TASK).bits == expected.bits


def test_arrays_of_unknown_length_are_compared_where_they_are_computed() -> None:
    table = frame()
    X, y = table[["a", "b"]].to_dask_array(), table["y"].to_dask_array()
    expected = DaskPasses(pieces_of(table[["a", "b"]], table["y"])).run(TASK)
    assert DaskPasses(pieces_of(X, y)).run(TASK).bits == expected.bits
    with pytest.raises(InputError, match=r"partition \d has [\d,]+ rows but [\d,]+ labels"):
        DaskPasses(pieces_of(X, y[y])).run(TASK)


def test_what_cannot_be_taken_apart_is_refused() -> None:
    table = frame()
    X, y = table[["a", "b"]], table["y"]
    for wrong, labels, message in (
        (X, y.repartition(npartitions=2), "X has 5 partitions but y has 2"),
        (X, np.zeros(3), "y is in memory"),
        (np.zeros((3, 2)), y, "X is in memory"),
        (da.zeros((2, 2, 2)), y, "two dimensions"),
        (X, X, "one dimension"),
        (dask.bag.from_sequence([1, 2]), y, "type Bag, which has no rows"),
    ):
        with pytest.raises(InputError, match=message):
            pieces_of(wrong, labels)


def test_lazy_is_what_dask_computes() -> None:
    assert is_lazy(frame())
    assert is_lazy(da.zeros(3))
    assert not is_lazy(np.zeros(3))
    assert not is_lazy(pd.DataFrame())
    code = (
        "import sys, unswayed.pieces.cluster; from unswayed.pieces.pieces import is_lazy; "
        "assert not is_lazy([]); "
        "sys.exit('dask' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- on a cluster


def test_any_number_of_workers_returns_the_same_bits(cluster: Any, client: Client) -> None:
    expected = {pieces: LocalPasses(held(pieces)).run(TASK).bits for pieces in (7, 70)}
    for workers in (1, 2, 4)[: some(2, 3)]:
        scaled(cluster, client, workers)
        for pieces, bits in expected.items():
            assert DaskPasses(held(pieces), client).run(TASK).bits == bits


def test_partitions_are_done_by_workers(client: Client) -> None:
    table = frame()
    pieces = pieces_of(table[["a", "b"]], table["y"])
    expected = DaskPasses(pieces).run(TASK)
    told: list[int] = []
    passes = DaskPasses(pieces, client, progress=lambda _, done, __: told.append(done))
    assert passes.run(TASK).bits == expected.bits
    assert told == list(range(6))
    rows, labels = client.persist([table[["a", "b"]], table["y"]])
    assert DaskPasses(pieces_of(rows, labels), client).run(TASK).bits == expected.bits


def test_a_large_task_is_not_sent_with_every_piece(client: Client, tmp_path: Path) -> None:
    task = Heavy(tmp_path)
    assert task.ballast.nbytes > 10**7  # of more than that, dask would warn
    assert DaskPasses(held(70), client).run(task).bits == LocalPasses(held(70)).run(TASK).bits
    received = Counter(path.name.split("-")[0] for path in tmp_path.iterdir())
    # Once by each, and again where dask has dropped a copy that was not in use yet: how often
    # that is depends on how busy the machine is.
    assert sum(received[str(process)] for process in client.run(os.getpid).values()) < 70 / 2


def test_a_killed_worker_changes_nothing(cluster: Any, client: Client, tmp_path: Path) -> None:
    scaled(cluster, client, 2)
    pieces = held(7)
    running = in_background(DaskPasses(pieces, client), Gated(WEIGHTS, "", str(tmp_path), (2,)))
    until(lambda: 2 in begun(tmp_path))
    os.kill(begun(tmp_path)[2], signal.SIGKILL)
    (tmp_path / "go").touch()
    assert running.result(PATIENCE).bits == LocalPasses(pieces).run(TASK).bits
    assert len(list(tmp_path.glob("begun-2-*"))) == 2  # it was begun again
    scaled(cluster, client, 2)


def test_a_worker_that_joins_late_gets_its_share(
    cluster: Any, client: Client, tmp_path: Path
) -> None:
    scaled(cluster, client, 1)
    pieces = held(7)
    running = in_background(DaskPasses(pieces, client), Gated(WEIGHTS, "", str(tmp_path), (0,)))
    until(lambda: 0 in begun(tmp_path))
    assert len(set(begun(tmp_path).values())) == 1
    cluster.scale(2)
    until(lambda: len(set(begun(tmp_path).values())) == 2)
    (tmp_path / "go").touch()
    assert running.result(PATIENCE).bits == LocalPasses(pieces).run(TASK).bits


def test_a_piece_that_cannot_be_read_ends_the_pass(client: Client, tmp_path: Path) -> None:
    pieces = saved(tmp_path, 9)
    Path(pieces[4].name).write_bytes(b"no array")
    with pytest.raises(InputError, match=r"part-4\.npy cannot be read") as caught:
        DaskPasses(pieces, client).run(TASK)
    assert "\n" not in str(caught.value)
    until(lambda: not client.processing() or not any(client.processing().values()))
    Path(pieces[4].name).unlink()
    assert DaskPasses(pieces[:4], client).run(TASK).bits == LocalPasses(pieces[:4]).run(TASK).bits


def test_a_partition_that_cannot_be_computed_is_named(client: Client) -> None:
    rows = dd.from_map(_read, range(3), meta=pd.DataFrame({"a": [1.0]}))
    with pytest.raises(InputError, match=r"^partition 2 cannot be computed: OSError: no disk$"):
        DaskPasses(pieces_of(rows, rows["a"]), client).run(Summing(WEIGHTS[:, :1]))


def test_a_piece_that_kills_workers_is_named(client: Client) -> None:
    table = frame()
    pieces = pieces_of(table[["a", "b"]], table["y"])
    # The deadly one is partition 1, but dask may report one that waited behind it.
    named = r"^partition \d+, or another on the same workers: one worker after the other died"
    with pytest.raises(InputError, match=named):
        DaskPasses(pieces, client).run(Deadly(WEIGHTS))


# ---- a scheduler of its own


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    file = tmp_path / "scheduler.json"
    with started("scheduler", "--port", "0", "--scheduler-file", str(file)) as process:
        wait_for(file)
        until(lambda: file.read_text().endswith("}"))
        description = json.loads(file.read_text())
        description["process"] = process.pid
        file.write_text(json.dumps(description))
        yield description["address"]


class started:  # noqa: N801
    """A command of dask's, ended by whoever began it."""

    def __init__(self, *command: str) -> None:
        # Without a dashboard there is a server of metrics still, and it gets a port of its own.
        here = ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dask", *command, *here], stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> "subprocess.Popen[bytes]":
        return self._process

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)


def worker(address: str, *options: str) -> started:
    return started("worker", address, "--no-nanny", "--nthreads", "1", *options)


ABSENT = """
import sys
class Absent:
    def find_spec(self, name, *_):
        if name == "unswayed":
            raise ModuleNotFoundError("No module named 'unswayed'", name=name)
sys.meta_path.insert(0, Absent())
"""


def test_clusters_that_are_not_as_they_should_be(address: str, tmp_path: Path) -> None:
    with closing(DaskPasses(held(7), address, timeout=PATIENCE)) as passes:
        passes.timeout = 0.1  # to connect may take longer
        with pytest.raises(InputError, match=r"has no workers, and none came within 0\.1 seconds"):
            passes.run(TASK)
    preload = tmp_path / "preload.py"
    for code, message in (
        ("import unswayed\nunswayed.__version__ = '0.0.1'\n", "has unswayed 0.0.1, but this"),
        (ABSENT, "has no unswayed, but this"),
    ):
        preload.write_text(code)
        with (
            worker(address, "--preload", str(preload)),
            closing(DaskPasses(held(7), address, timeout=PATIENCE)) as passes,
            pytest.raises(InputError, match=message),
        ):
            passes.run(TASK)
    with worker(address) as good, closing(DaskPasses(held(7), address, timeout=PATIENCE)) as passes:
        until(lambda: len(passes.client.scheduler_info()["workers"]) == 1)
        assert passes.run(TASK).bits == LocalPasses(held(7)).run(TASK).bits
        gate = tmp_path / "gate"
        gate.mkdir()
        running = in_background(passes, Gated(WEIGHTS, "", str(gate), (2,)))
        until(lambda: 2 in begun(gate))
        scheduler = json.loads((tmp_path / "scheduler.json").read_text())["process"]
        os.kill(scheduler, signal.SIGKILL)
        with pytest.raises(InputError, match=r"connection to the scheduler at .* was lost"):
            running.result(PATIENCE)
        good.kill()


def test_a_cluster_that_loses_all_workers_is_not_waited_for_forever(
    address: str, tmp_path: Path
) -> None:
    with worker(address) as only, closing(DaskPasses(held(7), address, timeout=PATIENCE)) as passes:
        running = in_background(passes, Gated(WEIGHTS, "", str(tmp_path), (2,)))
        until(lambda: 2 in begun(tmp_path))
        passes.timeout = 0.1
        only.kill()
        with pytest.raises(InputError, match=r"all workers of the scheduler at .* are gone"):
            running.result(PATIENCE)


def test_no_scheduler_is_one_line() -> None:
    with pytest.raises(InputError, match=r"no scheduler answers at tcp://127\.0\.0\.1:1 "):
        DaskPasses(held(1), "tcp://127.0.0.1:1", timeout=0.5)
