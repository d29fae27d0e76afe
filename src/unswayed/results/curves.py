"""Robustness curves, and summaries of one label set for all rows and of random ones."""

import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unswayed._typing import FloatArray
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles
from unswayed.results.notebook import SHOWN, facts, table
from unswayed.words import counted, number_end, percent


@dataclass(frozen=True, slots=True, eq=False)
class RobustnessCurve:
    """Share of rows that keep their prediction, as a function of the budget.

    A step function: `rate` holds from each of `budgets` up to the next.

    Attributes
    ----------
    budgets : (k,) array
        Where the rate changes, ascending from 0, in the unit of the minimum budgets.
    rate : (k,) array
        Share of robust rows from there on.

    Examples
    --------
    >>> curve = robustness_curve([1, 3, 3, np.inf])
    >>> curve.budgets.tolist(), curve.rate.tolist()
    ([0.0, 1.0, 3.0], [1.0, 0.75, 0.25])
    >>> curve(2), curve(1000)
    (0.75, 0.25)
    """

    budgets: FloatArray
    rate: FloatArray

    def __call__(self, budget: float) -> float:
        """Return the rate at a budget."""
        if not budget >= 0:
            raise InputError(
                f"a budget is a number of labels, or an amount in the unit of the minimum budgets, "
                f"0 or more; got {budget!r}"
            )
        return float(self.rate[np.searchsorted(self.budgets, budget, side="right") - 1])

    def _repr_html_(self) -> str:
        at = np.unique(np.linspace(0, len(self.budgets) - 1, SHOWN).astype(np.intp))
        columns = {
            "budget": [number_end(each) for each in self.budgets[at].tolist()],
            "robust from there on": [percent(each) for each in self.rate[at].tolist()],
        }
        left = len(self.budgets) - len(at)
        between = [f"{counted(left, 'step')} between these left out"] if left else []
        return table("Robustness curve", columns, notes=between)


def robustness_curve(minimum_budget: ArrayLike) -> RobustnessCurve:
    """Return the rates at every budget where they change: ``rate(k) = mean(minimum_budget > k)``.

    Parameters
    ----------
    minimum_budget : (n,) array-like
        Least number of wrong labels that overturns each row, or the least of another budget, in
        its unit; inf where none does.

    Returns
    -------
    RobustnessCurve
        A function of the budget, with the steps it is made of.

    Raises
    ------
    InputError
        If there are no rows, or a minimum budget is NaN.

    Examples
    --------
    >>> robustness_curve([1, 3, 3, np.inf])(2)
    0.75
    """
    least = as_doubles(minimum_budget, "minimum_budget")
    if least.ndim != 1 or not least.size:
        raise InputError("minimum_budget must hold one number per row, for at least one row")
    if np.isnan(least).any():
        raise InputError(
            "minimum_budget holds NaN: rows that are undecided have no place on a curve; leave "
            "them out, and say so"
        )
    budgets = np.unique(np.concatenate(([0.0], least[np.isfinite(least)])))
    ranked = np.sort(least)
    rate = 1.0 - np.searchsorted(ranked, budgets, side="right") / len(ranked)
    return RobustnessCurve(budgets, rate)


# ----------------------------------------------------------------------------------------
# What a number of wrong labels does to predictions, in three numbers that are easily confused.


@dataclass(frozen=True, slots=True)
class RandomDraws:
    """What label sets drawn at random did: a simulation, and no proof of anything."""

    mean: float  # Share of the predictions that changed, on average
    largest: float  # and in the worst draw
    draws: int  # How many label sets were drawn


@dataclass(frozen=True, slots=True)
class Alone:
    """How many rows are robust at an amount, one at a time, and how many undecided."""

    labels: float  # or what else the budget counts
    robust: int
    undecided: int
    main: bool = True  # asked about, and not only passed by a slider


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a number of wrong labels can do to predictions, asked in three ways.

    *One at a time*: each row against its own worst labels. *Together*: one set of wrong labels
    against all rows. *At random*: sets of wrong labels that nobody chose.

    Attributes
    ----------
    labels : int or float
        How many labels are wrong; for a budget of another kind, how much, in its unit.
    rows : int
        How many predictions there are.
    robust : int
        Rows that keep their prediction whatever labels are wrong: a proof, row by row.
    undecided : int
        Rows that are neither proven robust nor overturned.
    at_most : int or None
        No set of wrong labels changes more predictions than this: a proof. None where nothing is
        known but what holds for rows one at a time.
    at_least : int or None
        Some set of wrong labels changes this many predictions; None if no set was searched for.
    random : RandomDraws or None
        None where nothing was drawn.
    keeps : str
        What a robust row does, as a phrase that follows "rows that".
    allowed : str, optional
        What may be wrong, as a phrase that follows "if", where that is not just a number of labels.
    source : str, optional
        How sure it is that no more are wrong, where a checked sample says so.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> found = model.certify([[1, 0], [0, 1]]).summary()
    >>> for name, sentence in found.lines().items():
    ...     print(name, sentence, sep=": ")
    one at a time: 50.0 % (1 of 2) keep their prediction whatever 1 label is wrong,
        each row against its own worst label
    together: no 1 wrong label changes more than 50.0 % of the predictions (1),
        and some change as many
    at random: 1 random wrong label changes 17.8 % on average, 50.0 % at most in 1,000 draws
        (simulated)
    >>> found.others()["together"]
    '1 changes'
    >>> found.to_dict()["together"]
    {'at_most': 1, 'at_least': 1, 'at_most_share': 0.5, 'at_least_share': 0.5}
    """

    labels: float
    rows: int
    robust: int
    undecided: int
    at_most: int | None
    at_least: int | None
    random: RandomDraws | None
    keeps: str = "keep their prediction"
    allowed: str | None = None
    source: str | None = None

    def lines(self) -> dict[str, str]:
        """Return a sentence for each of the three, by name; proven shares are rounded outwards.

        Returns
        -------
        dict of str to str
            "one at a time", "together" and "at random". The last two are left out where the budget
            is no number of labels and nothing is known.
        """
        found = {"one at a time": self._alone()}
        if self.at_most is not None:
            found["together"] = self._together(self.at_most)
        if self.random is not None or self.allowed is None:
            found["at random"] = self._random()
        return found

    def _percent(self, count: int, way: int) -> str:
        return percent(count / self.rows, way) if self.rows else "none"

    @property
    def _are(self) -> str:
        return f"{counted(int(self.labels), 'label')} {'is' if self.labels == 1 else 'are'} wrong"

    @property
    def _verb(self) -> str:
        return "change" if self.keeps.startswith("keep") else "move"

    @property
    def _far(self) -> str:
        return "" if self._verb == "change" else " too far"

    def _do(self, wrong: str) -> str:
        many = counted(int(self.labels), f"{wrong} label")
        return f"{many} {self._verb}{'s' * (self.labels == 1)}"

    def _alone(self) -> str:
        share, count = self._percent(self.robust, 0), f"{self.robust:,}"
        if self.undecided:
            most = self.robust + self.undecided
            share = f"{self._percent(self.robust, -1)} to {self._percent(most, 1)}"
            count = f"{count} to {most:,}"
        own, assumed = "labels", f"if {self.allowed}"
        if self.allowed is None:
            sure = "" if self.source is None else f" ({self.source})"
            own = "label" if self.labels == 1 else f"{int(self.labels):,} labels"
            assumed = f"whatever {self._are}{sure}"
        return (
            f"{share} ({count} of {self.rows:,}) {self.keeps} {assumed}, "
            f"each row against its own worst {own}"
        )

    def _together(self, at_most: int) -> str:
        most = f"{self._percent(at_most, 1)} of the predictions{self._far} ({at_most:,})"
        one = f"one such set of wrong labels {self._verb}s"
        do = self._do("wrong") if self.allowed is None else one
        words = f"no {do.removeprefix('one ')} more than {most}"
        if at_most == self.rows:
            words = f"it is not ruled out that {do} all predictions{self._far}"
        some = f"some {self._verb}" if self.allowed is None else f"one {self._verb}s"
        if self.at_least == at_most:
            words += f", and {some} as many"
        elif self.at_least is not None:
            least = self._percent(self.at_least, -1)
            words += f", and {some} {least} ({self.at_least:,})"
        if self.source is not None and self.allowed is None:
            words += f" ({_confidence(self.source)})"
        return words

    def _random(self) -> str:
        if self.random is None:
            return "not simulated"
        return (
            f"{self._do('random wrong')} {percent(self.random.mean)}{self._far} on average, "
            f"{percent(self.random.largest)} at most in {self.random.draws:,} draws (simulated)"
        )

    def others(self) -> dict[str, str]:
        """Return together and at random in few words, to stand beside counts of single rows.

        Returns
        -------
        dict of str to str
            "together" where it is known, and "at random" where something was drawn.
        """
        found = {}
        if self.at_most is not None:
            known = self.at_least not in (None, self.at_most)
            least = f"{self.at_least:,} to " if known else ""
            verb = self._verb + "s" * (self.at_most == 1)
            found["together"] = f"{least}{self.at_most:,} {verb}{self._far}"
        if self.random is not None:
            mean = f"{percent(self.random.mean)} {self._verb}{self._far}"
            found["at random"] = f"{mean} on average (simulated)"
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON or a frame of any library.

        Returns
        -------
        dict of str to value
            "one_at_a_time", "together" (None where it is not known), "at_random" (None where
            nothing was drawn) and "sentences".
        """
        together = {
            "at_most": self.at_most,
            "at_least": self.at_least,
            "at_most_share": self._share(self.at_most),
            "at_least_share": self._share(self.at_least),
        }
        return {
            "labels": self.labels,
            "rows": self.rows,
            "one_at_a_time": {
                "robust": self.robust,
                "undecided": self.undecided,
                "share": self._share(self.robust),
            },
            "together": None if self.at_most is None else together,
            "at_random": None if self.random is None else asdict(self.random),
            "sentences": self.lines(),
        }

    def _share(self, count: int | None) -> float | None:
        return None if count is None or not self.rows else count / self.rows

    def __str__(self) -> str:
        return "\n".join(f"{name}: {line}" for name, line in self.lines().items())

    def _repr_html_(self) -> str:
        return facts("What wrong labels do to these predictions", self.lines())


def _confidence(source: str) -> str:
    """Return how sure a sample is, without the sample."""
    return re.split("[:,]", source)[0]
