"""Paths for other processors return the same bits too: emulated, where the tools are at hand.

Arm needs a cross compiler and an emulator (Debian: g++-aarch64-linux-gnu, qemu-user); no emulator
here knows AVX-512, whose eight lanes are run without its instructions instead.
"""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.strategies import influence_rows
from unswayed._core import kernels, selection_numpy
from unswayed._core.influence import merge_rows
from unswayed._core.tally import Lines, Tally, collect, tally

SOURCE = Path(__file__).with_name("other_paths.cpp")
KERNEL = Path(__file__).parents[2] / "src" / "unswayed" / "_core"
KINDS = ("smooth", "ties", "one value", "decimals", "wild", "spikes", "subnormal", "overflow")
EMULATOR = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
PATHS = {
    "eight_lanes": ("g++", []),
    "neon": ("aarch64-linux-gnu-g++", EMULATOR),
}


@pytest.fixture(scope="module", params=PATHS)
def answer(request, tmp_path_factory):
    """Return a function that runs a question through the path."""
    compiler, emulator = PATHS[request.param]
    for tool in (compiler, *emulator[:1]):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    program = tmp_path_factory.mktemp("paths") / "program"
    flags = ["-std=c++17", "-O2", "-ffp-contract=off", "-Wno-psabi", f"-I{KERNEL}"]
    subprocess.run([compiler, *flags, str(SOURCE), "-o", str(program)], check=True)

    def run(what, numbers):
        done = subprocess.run(
            [*emulator, str(program), request.param, what],
            input=numbers.tobytes(),
            capture_output=True,
            check=True,
        )
        return np.frombuffer(done.stdout)

    return run


def question(rng, kind, size, repeated):
    """Influence rows and entries, with training rows that stand several times if asked for."""
    z = influence_rows(rng, kind, 10, size)
    lower, upper = -0.1 * rng.integers(0, 3, size), 0.1 * rng.integers(0, 3, size)
    times = np.minimum(rng.zipf(1.5, size), 500) if repeated else np.ones(size, dtype=int)
    group = np.repeat(np.arange(size), times)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    entries = merge_rows(lower[group], upper[group], group, first)
    return np.ascontiguousarray(z[:, group[entries.rows]]), entries


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_another_processor_returns_the_same_bits(answer, kind, repeated):
    for size, share in ((30, 0.3), (1500, 0.01), (6000, 0.001), (6000, 0.2)):
        rng = np.random.default_rng(size)
        z, entries = question(rng, kind, size, repeated)
        budget = max(1, int(share * entries.n_labels))
        reached = selection_numpy.reach(z, entries, budget)
        margins = [np.where(rng.random(len(z)) < 0.5, each, 0.7 * each) for each in reached]
        numbers = (np.array([len(entries), len(z), budget], dtype=float), *entries.sides)
        got = answer("selection", np.concatenate([*numbers, z.ravel(), *margins]))
        crossed = selection_numpy.minimum_budget(z, entries, *margins)
        expected = np.concatenate([*reached, *(each.ravel() for each in crossed)])
        assert got[: len(expected)].tobytes() == expected.tobytes()
        rest = got[len(expected) :]
        for sign in (1.0, -1.0):
            reach, index, amount, length = selection_numpy.extremes(z, entries, budget, sign)
            n, cells = len(z), len(z) * len(entries)
            parts, rest = (
                np.split(rest[: 2 * (n + cells)], [n, 2 * n, 2 * n + cells]),
                rest[2 * (n + cells) :],
            )
            assert parts[0].tobytes() == reach.tobytes()
            assert parts[1].tolist() == length.tolist()
            for row, chosen in enumerate(length):
                for ours, twins in zip(parts[2:], (index, amount), strict=True):
                    here = ours.reshape(n, -1)[row, :chosen]
                    assert here.tolist() == twins[row, :chosen].tolist()


@pytest.mark.parametrize("offsets", ["equal", "any"])
@pytest.mark.parametrize("kind", KINDS)
def test_another_processor_tallies_the_same(answer, kind, offsets):
    for size in (30, 1500, 9001):
        rng = np.random.default_rng(size)
        z = influence_rows(rng, kind, 5, size)
        lower, upper = -np.ones(size), np.ones(size)
        if offsets == "any":
            lower, upper = -0.1 * rng.integers(0, 3, size), 0.1 * rng.integers(0, 3, size)
        lines = Lines(np.repeat(np.arange(5), 2), np.tile([1.0, -1.0], 5))
        asked = (z, lower, upper, lines)
        value = np.maximum(z * lower, z * upper)
        thresholds = np.sort(rng.choice(value.ravel(), (10, 20)), axis=1)
        floor, ceiling = thresholds[:, 0].copy(), thresholds[:, 10].copy()
        sizes = np.array([size, 5, 10, 20], dtype=float)
        numbers = (sizes, lower, upper, z, lines.row.astype(float), lines.sign)
        ends = (thresholds, floor, ceiling)
        got = answer("tally", np.concatenate([each.ravel() for each in (*numbers, *ends)]))
        count, high, low, length, index, values = np.split(
            got, np.cumsum([200, 200, 200, 10, 10 * size])
        )
        expected = Tally.blank(10, 20)
        tally(*asked, thresholds, expected)
        assert count.tolist() == expected.count.ravel().tolist()
        if kernels.compiled() is not None:  # the twin adds in another order
            assert high.tobytes() == expected.high.tobytes()
            assert low.tobytes() == expected.low.tobytes()
        chosen = collect(*asked, floor, ceiling)
        assert length.tolist() == np.bincount(chosen[0], minlength=10).tolist()
        taken = np.arange(size) < length[:, None]
        assert index.reshape(10, size)[taken].tolist() == chosen[1].tolist()
        assert values.reshape(10, size)[taken].tolist() == chosen[2].tolist()
