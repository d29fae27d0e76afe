"""The exact engine: against the paper's loop, bare product, NumPy twin; memory, import time."""

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.paper_loop import PaperLoop
from benchmarks.problems import Problem, gaussian, income
from benchmarks.timing import Line, at_least, at_most, in_fresh_process, interleaved, note
from unswayed import CertifiedClassifier
from unswayed._core.kernels import block_starts, kernel_names, run_blocks, using_kernel

_PEAK = """
from benchmarks.problems import income
from benchmarks.timing import peak_megabytes
import json
problem = income()
model = problem.fit()
work = lambda: (model.minimum_budget(problem.tests), model.certify(problem.tests))
print(json.dumps(peak_megabytes(work)))
"""
_IMPORT = """
import json, time
started = time.perf_counter()
import {module}
print(json.dumps(time.perf_counter() - started))
"""


def bare_product(model: CertifiedClassifier, tests: np.ndarray) -> Callable[[], None]:
    """The blocked product over the distinct training rows alone, with the engine's threads."""
    weights = model.fitted_.learner.weights(tests).values
    design = model.fitted_.engine.influence._design
    width = design.shape[1]
    return lambda: run_blocks(
        block_starts(len(weights), 8 * width),
        width,
        lambda start, stop, out: np.matmul(weights[start:stop], design, out=out[: stop - start]),
    )


def _against_product(
    problem: Problem, model: CertifiedClassifier, most_products: float
) -> Iterator[Line]:
    tests = problem.tests
    best = interleaved(
        {
            "minimum_budget": lambda: model.minimum_budget(tests),
            "certify": lambda: model.certify(tests),
            "auto": lambda: model.certify(tests, method="auto"),
            "product": bare_product(model, tests),
        },
        rounds=15,
    )
    rows = f"{problem.name}, {len(tests):,} rows"
    bare = best["product"]
    yield note(f"{rows}: minimum_budget", 1e6 * best["minimum_budget"] / len(tests), "µs/row")
    yield at_most(
        f"{rows}: minimum_budget / bare product", best["minimum_budget"] / bare, most_products
    )
    yield at_most(
        f"{rows}: certify at 1 % / minimum_budget", best["certify"] / best["minimum_budget"], 1.0
    )
    yield note(f"{rows}: certify at 1 % / bare product", best["certify"] / bare, "×")
    yield note(f"{rows}: certify at 1 % by auto / bare product", best["auto"] / bare, "×")


def _against_paper(problem: Problem, model: CertifiedClassifier) -> Iterator[Line]:
    loop = PaperLoop(problem.X, problem.y, problem.alpha)
    some = problem.tests[:40]
    by_loop = [loop.minimum_budget(test) for test in some]
    differing = int(np.sum(model.minimum_budget(some) != by_loop))
    yield at_most("Income: rows of 40 where the paper's loop disagrees", differing, 0, "rows")
    best = interleaved(
        {
            "loop": lambda: [loop.minimum_budget(test) for test in some],
            "ours": lambda: model.minimum_budget(problem.tests),
        },
        rounds=3,
    )
    ratio = (best["loop"] / len(some)) / (best["ours"] / len(problem.tests))
    yield at_least("Income: minimum_budget, times faster than the paper's loop", ratio, 1000)


def _with_kernel(name: str, work: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        with using_kernel(name):
            work()

    return run


def _against_twin(problem: Problem, model: CertifiedClassifier) -> Iterator[Line]:
    """How much longer a machine without a compiler takes."""
    works = {
        "minimum_budget": lambda: model.minimum_budget(problem.tests),
        "certify": lambda: model.certify(problem.tests),
    }
    kernels = {"compiled": kernel_names()[0], "twin": "numpy"}
    best = interleaved(
        {
            f"{kernel} {name}": _with_kernel(kernels[kernel], work)
            for name, work in works.items()
            for kernel in kernels
        },
        rounds=7,
    )
    ratio = {name: best[f"twin {name}"] / best[f"compiled {name}"] for name in works}
    line = "NumPy twin / compiled, {} on Income"
    yield at_most(line.format("minimum_budget"), ratio["minimum_budget"], 8)
    yield note(line.format("certify at 1 %"), ratio["certify"], "×")


def lines() -> Iterator[Line]:
    problem = income()
    model = problem.fit()
    yield from _against_paper(problem, model)
    yield from _against_product(problem, model, most_products=0.8)
    yield from _against_twin(problem, model)
    no_ties = gaussian()
    yield from _against_product(no_ties, no_ties.fit(), most_products=1.6)
    yield at_most("Income, 10,000 rows: peak memory", in_fresh_process(_PEAK), 300, "MB")
    seconds = [
        [in_fresh_process(_IMPORT.format(module=module)) for module in ("unswayed", "numpy")]
        for _ in range(7)
    ]
    ours, numpys = np.min(seconds, axis=0)
    yield at_most("import unswayed / import numpy", ours / numpys, 3)
