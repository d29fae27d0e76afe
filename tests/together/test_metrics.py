"""Ranges of metrics, against every admissible label set there is."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from tests.effort import some
from tests.together.oracle import problems
from unswayed import InputError, RowSum
from unswayed.joint.metrics import names

CHUNK = 40
CHUNKS = 25

RATES = {
    "selection_rate": lambda said, true: said.mean(axis=1),
    "accuracy": lambda said, true: (said == true).mean(axis=1),
    "true_positive_rate": lambda said, true: said[:, true].mean(axis=1),
    "false_negative_rate": lambda said, true: (~said[:, true]).mean(axis=1),
    "false_positive_rate": lambda said, true: said[:, ~true].mean(axis=1),
    "true_negative_rate": lambda said, true: (~said[:, ~true]).mean(axis=1),
}
FAIR = {
    "demographic_parity": ["selection_rate"],
    "equal_opportunity": ["true_positive_rate"],
    "equalized_odds": ["true_positive_rate", "false_positive_rate"],
}


def truth(problem, name):
    """The metric for every admissible label set, in plain NumPy; NaN where it is undefined."""
    said, true = problem.predictions, problem.y_true == 1
    base, kind = name, None
    for ending in ("difference", "ratio", "group_min", "group_max"):
        if name.endswith(f"_{ending}"):
            base, kind = name.removesuffix(f"_{ending}"), ending
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for rate in FAIR.get(base, [base]):
            if kind is None:
                return RATES[rate](said, true)
            by_group = np.array(
                [
                    RATES[rate](said[:, problem.groups == group], true[problem.groups == group])
                    for group in np.unique(problem.groups)
                ]
            )
            low, high = by_group.min(axis=0), by_group.max(axis=0)
            found.append(
                {"difference": high - low, "ratio": low / high, "group_min": low,
                 "group_max": high}[kind]
            )  # fmt: skip
    found = np.array(found)
    return found.min(axis=0) if kind in ("ratio", "group_min") else found.max(axis=0)


def undefined_in_a_group(problem):
    true = [problem.y_true[problem.groups == group] for group in set(problem.groups)]
    return any(len(set(each)) < 2 for each in true)


def lies(problem, values, found, metric):
    """What is false of a range, given the metric's value for every label set."""
    low, high = values.min(), values.max()
    complaints = []
    if abs(found.value - values[0]) > 1e-9:
        complaints.append(f"value {found.value}, is {values[0]}")
    if found.low > low + 1e-12 or found.high < high - 1e-12:
        complaints.append(f"outer [{found.low}, {found.high}], true [{low}, {high}]")
    for end, witness, true, proven, worse in (
        (found.inner_low, found.witness_low, low, found.proven_low, -1),
        (found.inner_high, found.witness_high, high, found.proven_high, 1),
    ):
        if worse * (end - true) > 1e-9:
            complaints.append(f"inner {end} is beyond what there is, {true}")
        if proven and abs(end - true) > 1e-9:
            complaints.append(f"proven {end}, is {true}")
        reached = metric(problem.replayed(witness))
        if worse * (end - reached) > 1e-9:
            complaints.append(f"the witness reaches {reached}, not {end}")
    return [f"seed {problem.seed}: {each}" for each in complaints]


def of_one(problem, name, said):
    """The metric of one set of predictions."""
    object.__setattr__(copy := object.__new__(type(problem)), "__dict__", dict(problem.__dict__))
    copy.__dict__["predictions"] = said[None]
    return truth(copy, name)[0]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_ranges_hold_every_value_there_is_and_witnesses_reach_their_ends(chunk):
    every = names()
    complaints, proven, asked = [], 0, 0
    for at, problem in enumerate(problems(77_000_000 + 10_000 * chunk, some(12, CHUNK))):
        model = problem.fitted()
        for name in (
            every[(chunk * CHUNK + at) % len(every)],
            every[(7 * at + chunk) % len(every)],
        ):
            values = truth(problem, name)
            try:
                found = model.certify_metric(
                    problem.tests, name, groups=problem.groups, y_true=problem.y_true, time_limit=60
                )
            except InputError as error:
                found = str(error)
            if isinstance(found, str):
                alone = len(set(problem.groups)) < 2 and name not in RATES
                one_class = "and it has none" in found and undefined_in_a_group(problem)
                assert alone or one_class or np.isnan(values).any(), (problem.seed, name, found)
                continue
            assert np.isfinite(values).all(), (problem.seed, name)
            asked += 1
            proven += found.proven
            new = lies(problem, values, found, lambda said, p=problem, n=name: of_one(p, n, said))
            for group, one in found.by_group.parts if name in RATES else ():
                here = replace(
                    problem,
                    tests=problem.tests[problem.groups == group],
                    y_true=problem.y_true[problem.groups == group],
                    groups=problem.groups[problem.groups == group],
                )
                of_group = truth(here, name)
                new += lies(here, of_group, one, lambda said, p=here, n=name: of_one(p, n, said))
            complaints += [f"{name}: {each}" for each in new]
    assert not complaints, "\n".join(complaints[:10])
    assert asked > some(5, 15)
    assert proven > 0.9 * asked


def test_every_metric_by_name_is_asked_about():
    assert len(names()) == 36 - 6 + 6
    assert set(names()) >= {"demographic_parity_ratio", "equalized_odds_difference", "accuracy"}


def own(problem):
    """Metrics of one's own, and the same in plain NumPy."""
    rng = np.random.default_rng(problem.seed)
    terms = rng.integers(-3, 4, (2, len(problem.tests))) / 4
    thirds = rng.random((2, len(problem.tests))) / 3
    true = problem.y_true

    def chosen(said, ends):
        return np.where(said, ends[1], ends[0]).sum(axis=-1)

    yield RowSum((terms[0], terms[1])), lambda said: chosen(said, terms)
    yield (
        RowSum(lambda true, said: (said != true) * np.where(said == 1, 5.0, 1.0)),
        lambda said: ((said != true) * np.where(said, 5.0, 1.0)).sum(axis=-1),
    )
    yield (
        RowSum((thirds[0], thirds[1])) - 2 * RowSum((terms[0], terms[1])),
        lambda said: chosen(said, thirds) - 2 * chosen(said, terms),
    )
    yield (
        RowSum((terms[0], terms[1])) / RowSum((thirds[0] + 0.1, thirds[1] + 0.2)),
        lambda said: chosen(said, terms) / chosen(said, (thirds[0] + 0.1, thirds[1] + 0.2)),
    )
    wide = rng.choice([0.0, 0.1, -0.7, 1e-4, 3.0], (2, len(problem.tests)))
    dust = rng.random((2, len(problem.tests))) + 0.1
    # These share no unit that whole numbers of 64 bits could count in.
    yield (
        RowSum((wide[0], wide[1])) / RowSum((dust[0], dust[1])),
        lambda said: chosen(said, wide) / chosen(said, dust),
    )


@pytest.mark.parametrize("start", range(3))
def test_ranges_of_ones_own_metrics(start):
    complaints = []
    for problem in problems(5_000_000 + 10_000 * start, some(5, 15)):
        model = problem.fitted()
        for metric, plain in own(problem):
            found = model.certify_metric(
                problem.tests, metric, y_true=problem.y_true, time_limit=60
            )
            complaints += lies(problem, plain(problem.predictions), found, plain)
    assert not complaints, "\n".join(complaints[:10])
