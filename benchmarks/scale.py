"""Large data: files that do not fit into memory, two workers, few different rows among many.

``make bench-scale`` makes the files (in build/scale, four gigabytes, once), measures, and prints
each figure beside its bar. It takes half an hour on two cores, and is no part of ``make bench``.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import Ridge

from benchmarks import history
from benchmarks.problems import PROJECT
from benchmarks.timing import Line, at_least, at_most, note
from unswayed import CertifiedClassifier, LabelBias
from unswayed._core.kernels import one_blas_thread, thread_count
from unswayed.engines.passes.engine import StreamedEngine
from unswayed.engines.selection import ExactEngine
from unswayed.estimators.fit_in_pieces import FeatureRule, FitInPieces
from unswayed.pieces.passes import LocalPasses
from unswayed.pieces.pieces import HeldPiece
from unswayed.tables.many_files import open_files

FOLDER = PROJECT / "build" / "scale"
LEVELS = (2, 2, 3, 3, 4, 4, 5, 5, 6, 8)  # categories of the ten columns that are not numbers
BUDGET = 0.01
TESTS = 1000
PER_FILE = 1_000_000


# --- files ------------------------------------------------------------------------------------


def mixed(seed: int, n_rows: int) -> pa.Table:
    """Ten columns of numbers, ten of categories, and a label that depends on some of them."""
    rng = np.random.default_rng([1, seed])
    numbers = rng.normal(size=(10, n_rows)) * np.logspace(0, 3, 10)[:, None]
    codes = [rng.integers(0, k, size=n_rows, dtype=np.int8) for k in LEVELS]
    score = numbers[0] + numbers[9] / 1000 + 0.5 * (codes[0] - codes[9] / 4) - 0.2
    label = (score + rng.normal(size=n_rows) > 0).astype(np.int8)
    columns = {f"n{at}": pa.array(column) for at, column in enumerate(numbers)}
    for at, (code, levels) in enumerate(zip(codes, LEVELS, strict=True)):
        names = pa.array([f"level {level}" for level in range(levels)])
        columns[f"c{at}"] = pa.DictionaryArray.from_arrays(code, names)
    return pa.table(columns | {"label": label})


def repeated(seed: int, n_rows: int, kinds: pa.Table) -> pa.Table:
    """Rows drawn from a table of different ones."""
    rng = np.random.default_rng([2, seed])
    return kinds.take(pa.array(rng.integers(0, len(kinds), size=n_rows)))


def different(n_rows: int) -> pa.Table:
    """A table of so many different rows of categories; each has its label."""
    rng = np.random.default_rng(3)
    levels = (12, 12, 10, 8, 6, 5)
    place = rng.choice(int(np.prod(levels)), size=n_rows, replace=False)
    columns = {}
    for at, count in enumerate(levels):
        place, code = np.divmod(place, count)
        names = pa.array([f"level {level}" for level in range(count)])
        columns[f"c{at}"] = pa.DictionaryArray.from_arrays(code.astype(np.int8), names)
    label = (rng.random(n_rows) < 0.3 + 0.02 * code).astype(np.int8)
    return pa.table(columns | {"label": label})


def written(name: str, n_rows: int, make) -> Path:
    """A folder of Parquet files of a million rows each, made once."""
    folder = FOLDER / f"{name}-{n_rows}"
    folder.mkdir(parents=True, exist_ok=True)
    for at, start in enumerate(range(0, n_rows, PER_FILE)):
        path = folder / f"part-{at:04}.parquet"
        if not path.exists():
            part = path.with_suffix(".part")
            pq.write_table(make(at, min(PER_FILE, n_rows - start)), part, row_group_size=2**17)
            part.rename(path)
    return folder


def tests() -> pa.Table:
    """Rows to certify, of no training file."""
    return mixed(10**6, TESTS).drop_columns(["label"])


# --- what is measured, each in a process of its own -------------------------------------------


def _fit(pieces, passes, bias=None):
    model = CertifiedClassifier(Ridge(alpha=1.0), bias=bias or LabelBias.flips(budget=BUDGET))
    columns = FeatureRule(standardise=True, categories_first=True)
    fit = FitInPieces(model, passes, columns)
    model.fitted_ = fit.fitted(None, named=True)
    return model


def _peak() -> float:
    """Megabytes of memory that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def streamed(folder: str) -> dict:
    """Certify the test rows against a folder."""
    pieces = open_files(folder, label="label")
    passes = LocalPasses(pieces)
    started = time.perf_counter()
    model = _fit(pieces, passes)
    fitted, made = time.perf_counter() - started, passes.made
    certs = model.certify(tests())
    return {
        "fit": fitted,
        "fit passes": made,
        "certify": time.perf_counter() - started - fitted,
        "passes": passes.made,
        "peak": _peak(),
        "robust": float(certs.robust.mean()),
        "undecided": int((certs.verdict == "undecided").sum()),
    }


def bare(folder: str, passes: int) -> dict:
    """Read the same files, encode them, and multiply them by the test rows: nothing else."""
    pieces = open_files(folder, label="label")
    model = _fit(pieces[:1], LocalPasses(pieces[:1]))
    encoding, weights = model.fitted_.encoding, np.random.default_rng(0).normal(size=(TESTS, 52))
    weights = np.ascontiguousarray(weights[:, : encoding.n_features])

    def product(batch) -> None:
        rows = encoding.features(batch.rows)
        tile = np.empty((64, 4096))
        for at in range(0, len(rows), 4096):
            part = rows[at : at + 4096].T
            for start in range(0, TESTS, 64):
                some = weights[start : start + 64]
                np.matmul(some, part, out=tile[: len(some), : part.shape[1]])

    started = time.perf_counter()
    for _ in range(passes):
        with one_blas_thread, ThreadPoolExecutor(thread_count()) as pool:
            waiting = []
            for piece in pieces:
                for batch in piece.batches():
                    waiting.append(pool.submit(product, batch))
                    if len(waiting) > thread_count():
                        waiting.pop(0).result()
            for each in waiting:
                each.result()
    return {"seconds": time.perf_counter() - started, "peak": _peak()}


def sampled(folder: str) -> dict:
    """Verdicts of a million rows as the whole data set, streamed and in memory."""
    first = sorted(Path(folder).glob("*.parquet"))[0]
    pieces = open_files(str(first), label="label")
    streams = _fit(pieces, LocalPasses(pieces))
    found = streams.certify(tests())
    table, encoding = pq.read_table(first), streams.fitted_.encoding
    features = encoding.features(table.drop_columns(["label"]))
    model = CertifiedClassifier(Ridge(alpha=1.0), bias=LabelBias.flips(budget=BUDGET))
    model.fit(features, table.column("label").to_numpy())
    assert type(model.fitted_.engine) is ExactEngine
    known = model.certify(encoding.features(tests()))
    gap = np.maximum(np.abs(found.low - known.low), np.abs(found.high - known.high))
    return {
        "equal": bool((found.verdict == known.verdict).all()),
        "gap": float((gap / (found.error + known.error)).max()),
    }


def merged(folder: str) -> dict:
    """Certify against rows few of which are different."""
    pieces = open_files(folder, label="label")
    passes = LocalPasses(pieces)
    started = time.perf_counter()
    model = _fit(pieces, passes)
    fitted = time.perf_counter() - started
    rows = different(50_000).drop_columns(["label"])[:TESTS]
    certs = model.certify(rows)
    return {
        "fit": fitted,
        "certify": time.perf_counter() - started - fitted,
        "passes": passes.made,
        "peak": _peak(),
        "robust": float(certs.robust.mean()),
    }


def workers(folder: str, count: int) -> dict:
    """Count effects in one pass on so many dask workers."""
    from distributed import Client, LocalCluster  # noqa: PLC0415

    from unswayed.pieces.cluster import DaskPasses  # noqa: PLC0415

    pieces = open_files(folder, label="label", most_rows=2**17)
    with (
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        passes = DaskPasses(pieces, client)
        model = _fit(pieces, passes)
        engine = model.fitted_.engine
        assert isinstance(engine, StreamedEngine)
        started, made = time.perf_counter(), passes.made
        certs = model.certify(tests())
        seconds = (time.perf_counter() - started) / (passes.made - made)
        peaks = client.run(_peak)
    return {
        "seconds": seconds,
        "low": certs.low.tolist(),
        "error": certs.error.tolist(),
        "verdict": [str(each) for each in certs.verdict],
        "peak": max(peaks.values()),
    }


def pieces_of(folder: str, count: int) -> dict:
    """Certify against the same rows in so many pieces."""
    table = pa.concat_tables([pq.read_table(path) for path in sorted(Path(folder).glob("*"))])
    ends = np.linspace(0, len(table), count + 1).astype(int)
    rows, labels = table.drop_columns(["label"]), table.column("label")
    pieces = [
        HeldPiece(f"piece {at}", rows[a:b], labels[a:b]) for at, (a, b) in enumerate(pairwise(ends))
    ]
    certs = _fit(pieces, LocalPasses(pieces)).certify(tests())
    return {
        "low": certs.low.tolist(),
        "error": certs.error.tolist(),
        "verdict": [str(each) for each in certs.verdict],
    }


MEASURED = {each.__name__: each for each in (streamed, bare, sampled, merged, workers, pieces_of)}


def measured(name: str, *arguments: object) -> dict:
    """Measure something in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "--only", name, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROJECT)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def _same(runs: list[dict]) -> tuple[bool, float]:
    """Whether runs have the same verdicts, and how far ranges differ, in units of their errors."""
    first, worst = runs[0], 0.0
    for run in runs[1:]:
        gap = np.abs(np.subtract(run["low"], first["low"]))
        worst = max(worst, float((gap / np.add(run["error"], first["error"])).max()))
    return all(run["verdict"] == first["verdict"] for run in runs), worst


def large(n_rows: int):
    """Files beyond memory, against bare products, and against the engine in memory."""
    folder = written("mixed", n_rows, mixed)
    found = measured("streamed", folder)
    seconds = found["fit"] + found["certify"]
    what = f"{n_rows / 1e6:g} M rows × 20, {TESTS} tests"
    yield note(f"{what}: passes", found["passes"])
    yield note(f"{what}: seconds", seconds, "s")
    yield note(f"{what}: rows robust at {BUDGET:.0%}", 100 * found["robust"], "%")
    yield at_most(f"{what}: undecided rows", found["undecided"], 0, "rows")
    yield at_most(f"{what}: peak memory", found["peak"], 2048, "MB")
    millions = n_rows / 1e6 / thread_count()  # rows of a core
    looking = found["fit"] / found["fit passes"] / millions
    counting = found["certify"] / (found["passes"] - found["fit passes"]) / millions
    yield note("a pass that looks or sums up, per core and 1 M rows", looking, "s")
    yield note(f"a pass that counts for {TESTS} tests, the same", counting, "s")
    base = measured("bare", folder, found["passes"])
    yield note(f"{what}: as many bare products", base["seconds"], "s")
    yield at_most(f"{what}: time / bare products", seconds / base["seconds"], 3)


def cluster(n_rows: int):
    """The same verdicts in memory, on dask workers and in other pieces; how workers share work."""
    folder = written("mixed", n_rows, mixed)
    again = measured("sampled", folder)
    yield at_least("1 M rows: verdicts as in memory", float(again["equal"]), 1, "")
    yield at_most("1 M rows: ranges differ by, of their errors", again["gap"], 1, "")
    runs = {count: measured("workers", folder, count) for count in (1, 2, 4)}
    yield at_least("two dask workers / one", runs[1]["seconds"] / runs[2]["seconds"], 1.6)
    yield at_most("dask worker: peak memory", max(run["peak"] for run in runs.values()), 2048, "MB")
    cut = [measured("pieces_of", folder, count) for count in (7, 70)]
    same, gap = _same([*runs.values(), *cut])
    yield at_least("1, 2, 4 workers, 7, 70 pieces: same verdicts", float(same), 1, "")
    yield at_most("… their ranges differ by, of their errors", gap, 1, "")


def few_different(n_rows: int):
    """Many rows, few of them different."""
    kinds = different(50_000)
    folder = written("repeated", n_rows, lambda seed, count: repeated(seed, count, kinds))
    found = measured("merged", folder)
    what = f"{n_rows / 1e6:g} M rows, 50,000 different"
    yield at_most(f"{what}: passes", found["passes"], 1, "")
    yield note(f"{what}: that pass", found["fit"], "s")
    per_core = found["fit"] / (n_rows / 1e6 / thread_count())
    yield note(f"{what}: that pass, per core and 1 M rows", per_core, "s")
    yield at_most(f"{what}: then certify {TESTS} rows", found["certify"], 10, "s")
    yield at_most(f"{what}: peak memory", found["peak"], 2048, "MB")


PARTS = {"large": (large, 20e6), "cluster": (cluster, 4e6), "few": (few_different, 100e6)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="by default all")
    parser.add_argument("--share", type=float, default=1.0, help="of the rows, to try it out")
    parser.add_argument("--only", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        name, folder, *rest = given.only
        print(json.dumps(MEASURED[name](folder, *map(int, rest))))
        return 0
    print(f"{history.processor()}, kernel: {history.kernel_name()}, {thread_count()} threads")
    found: list[Line] = []
    for name in given.part or PARTS:
        measure, n_rows = PARTS[name]
        for line in measure(int(given.share * n_rows)):
            print(line, flush=True)
            found.append(line)
    if given.share == 1:
        print(f"kept in {history.keep(found)}")
    missed = sum(not line.ok for line in found)
    print(f"{missed} bars missed" if missed else "every bar is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
