"""What certification returns: verdicts, ranges, witnesses, and their summary."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.inputs import frame_like, row_labels
from unswayed.results.candidates import Candidates
from unswayed.results.curves import Summary
from unswayed.results.groups import CONFIDENCE, GroupRates, StandardErrors, group_rates
from unswayed.results.notebook import ReportPage
from unswayed.results.rows import (
    Certificate,
    CertificateRows,
    Witness,
    budgets_table,
    probability_ranges,
    selected,
    set_table,
)
from unswayed.results.saved import Saved


class Verdict(StrEnum):
    """What is proven of a prediction; UNDECIDED when nothing is.

    Examples
    --------
    >>> from unswayed import Verdict
    >>> Verdict.NOT_ROBUST == "not-robust", [str(verdict) for verdict in Verdict]
    (True, ['robust', 'not-robust', 'undecided'])
    """

    ROBUST = "robust"
    NOT_ROBUST = "not-robust"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, eq=False)
class MinimumBudgets:
    """Least number of labels that overturns each row: at least `low`, at most `high`.

    They are in the unit of the budget: numbers of labels, or clusters, totals or costs. Sums, which
    are no whole numbers, are known up to rounding: `low` is rounded down, `high` up.

    For models that are linear in their labels, the two differ only where rounding leaves the number
    open. For other models, `low` is one more than the number that is proven safe, and `high` is a
    number that was found to overturn the row; it is infinite if none was found. Both are NaN where
    nothing is known.
    """

    low: FloatArray
    high: FloatArray

    @property
    def proven(self) -> BoolArray:
        """True where `low` equals `high`."""
        return np.asarray(self.low == self.high)

    def __getitem__(self, rows: IntArray | slice) -> "MinimumBudgets":
        return MinimumBudgets(self.low[rows], self.high[rows])

    def weakest_first(self) -> IntArray:
        """Return rows by `low`, then by `high`; rows of which nothing is known count as 0."""
        low = np.nan_to_num(self.low, nan=0.0, posinf=np.inf)
        return np.lexsort((np.nan_to_num(self.high, nan=np.inf, posinf=np.inf), low))

    def _repr_html_(self) -> str:
        return budgets_table(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class CertificateSet(Saved):
    """Certificates of a set of test rows (or of coefficients), one entry each.

    Minimum budgets and witnesses are computed on demand by the fitted model behind them (`source`),
    which is kept as long as they are. It is not pickled: certificates that were pickled keep their
    minimum budgets, which are computed before, but have no witnesses.

    Attributes
    ----------
    prediction : array
        The class, number or sign that the model predicts; that of the exact solution where it is
        known.
    score : array
        What the model says: its prediction, or its score before the threshold.
    low, high : arrays
        The range of that score over every label vector the bias allows, widened by a bound on
        its rounding error: tight where `method` is "exact" or "rational", else outer bounds.
    inner_low, inner_high : arrays
        Scores that are reached: the range is at least this wide. As `low` and `high`, but for
        rounding, where the range is exact.
    error : array
        How much of that is rounding: a proven bound. Infinite where doubles prove nothing.
    verdict : array of Verdict
        UNDECIDED where the bounds, or rounding, leave it open.
    budget : int or float
        The most that was taken to be wrong at once, in `unit`: a number of labels, unless the bias
        has a budget of another kind.
    unit : str
        What `budget` and `minimum_budget` count: "labels", "clusters", "total change" (in the unit
        of the labels) or "cost".
    question : str
        What was asked, in words.
    method : array of str
        How each verdict was reached: "exact", "auto", "cutting-plane", "anchor", "box", "rational";
        "region" and "attack" for models that are not linear in their labels, "votes" for votes over
        partitions, "candidates" and "replay" for searches.
    names : tuple of str, optional
        Names of the coefficients, if these are certificates of coefficients.
    trusted : tuple of str
        What the caller vouched for and nobody proved: "sample_weight", or steps of a pipeline
        that were fitted elsewhere.
    link : str, optional
        What scores are, where they are no predictions themselves: "logistic" for log-odds, "log"
        for logarithms of expected counts, "votes" for shares of votes.
    candidates : Candidates, optional
        If a search such as RidgeCV was fitted: the models that it chooses from, and those that
        are not ruled out if labels are wrong.
    source : Source, optional
        The model behind them: it answers for minimum budgets and witnesses.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> certs = model.certify([[1, 0], [0, 1]])
    >>> certs
    <CertificateSet: 2 rows, same class if up to 1 label is wrong:
      one at a time: 1 robust, 1 not-robust
      together: 1 changes
      at random: 17.8 % change on average (simulated)>
    >>> certs.robust.tolist(), certs.minimum_budget.tolist()
    ([True, False], [2.0, 1.0])
    >>> certs.high.round(3).tolist()
    [1.0, 0.667]

    One of them, and those that the fewest wrong labels overturn:

    >>> certs[1].prediction, certs.weakest(1).rows.tolist()
    ('no', [1])

    Certificates of coefficients also have standard errors and confidence intervals, which are no
    proofs:

    >>> effects = model.certify_coefficients()
    >>> low, high = effects.confidence_interval()
    >>> effects.standard_error.round(3).tolist(), high.round(3).tolist()
    ([0.236, 0.236], [1.654, 0.988])

    As rates of groups, as columns, as a frame, as a page, and as a file that others can check:

    >>> print(certs.by_group(["a", "b"])["a"])
    1.0
    >>> certs.to_dict()["verdict"], len(certs.to_frame())
    (['robust', 'not-robust'], 2)
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> page = certs.report(folder / "report.html")
    >>> certs.save(folder / "c.json", data=folder / "c.npz")
    >>> sorted(path.name for path in folder.iterdir())
    ['c.json', 'c.npz', 'c.proof.npz', 'report.html']
    """

    score: FloatArray
    low: FloatArray
    high: FloatArray
    inner_low: FloatArray
    inner_high: FloatArray
    error: FloatArray
    verdict: NDArray[np.object_]
    budget: float
    question: str
    method: NDArray[np.str_]
    prediction: NDArray[Any]
    names: tuple[str, ...] | None = None
    trusted: tuple[str, ...] = ()
    link: str | None = None
    unit: str = "labels"
    candidates: Candidates | None = None
    source: Any = None  # of `unswayed.estimators.question`
    _WITHOUT_MODEL: ClassVar[str] = (
        "these certificates carry no model to ask; make them with certify() of the fitted "
        "model (one that was pickled leaves its model behind)"
    )

    def __len__(self) -> int:
        return len(self.score)

    @property
    def robust(self) -> BoolArray:
        """True where the verdict is ROBUST."""
        return np.asarray(self.verdict == Verdict.ROBUST, dtype=bool)

    @property
    def robustness_rate(self) -> float:
        """Share of the rows that are proven robust: a lower bound where rows are undecided."""
        return float(self.robust.mean())

    @property
    def highest_rate(self) -> float:
        """Share of the rows that nothing was found to overturn: no larger share is robust."""
        return float(np.mean(self.verdict != Verdict.NOT_ROBUST))

    @property
    def probability_low(self) -> FloatArray:
        """Lower ends of the probabilities of the second class: of `low`, rounded down."""
        return self._probabilities()[1]

    @property
    def probability_high(self) -> FloatArray:
        """Upper ends of the probabilities of the second class: of `high`, rounded up."""
        return self._probabilities()[2]

    def _probabilities(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        if self.link != "logistic":
            raise InputError(
                "these scores are no log-odds, so that they say nothing about probabilities; "
                "certificates of a LogisticRegression do"
            )
        return probability_ranges(self.score, self.low, self.high)

    @property
    def method_counts(self) -> dict[str, int]:
        """How many rows were decided by each method."""
        methods, counts = np.unique(self.method, return_counts=True)
        return {str(m): int(n) for m, n in zip(methods, counts, strict=True)}

    @cached_property
    def minimum_budgets(self) -> MinimumBudgets:
        """Proven bounds on the least amount of wrong labels, in `unit`, that overturns each row."""
        found: MinimumBudgets = self._model().minimum_budgets()
        return found

    @property
    def minimum_budget(self) -> FloatArray:
        """Least number of wrong labels that overturns each row; inf if none does.

        It is in the unit of the budget (`unit`): clusters, a total change or a cost, where the
        budget is one. In a sum of biases, each with a limit of its own, it counts labels in all,
        and inf means that none within these limits do.

        A smaller budget is proven not to overturn the row. Where `minimum_budget_proven` is False,
        it is open whether this one does; `minimum_budgets.high` does, unless it is infinite. NaN
        where nothing is known.
        """
        return self.minimum_budgets.low

    @property
    def minimum_budget_proven(self) -> BoolArray:
        """True where the minimum budget is proven to be exactly that."""
        return self.minimum_budgets.proven

    @cached_property
    def standard_errors(self) -> StandardErrors:
        """Standard errors of coefficients, and why there are none where there are none."""
        found: StandardErrors = self._model().standard_errors()
        return found

    @property
    def standard_error(self) -> FloatArray:
        """Standard errors of coefficients; NaN where they are not computed.

        They are about chance in the sample, and nothing about them is proven: they assume that the
        labels are right and independent, of equal variance around the model, or for logistic and
        Poisson regression of the variance that it gives them. With a penalty, they are about the
        penalised coefficient, not about what it would be without one.
        """
        return self.standard_errors.values

    def confidence_interval(self, confidence: float = CONFIDENCE) -> tuple[FloatArray, FloatArray]:
        """Return confidence intervals of coefficients, by Student's t or the normal distribution.

        A confidence interval allows for chance in the sample and takes every label to be right. The
        range from `low` to `high` does the opposite: it allows for wrong labels, and not for chance
        in the sample.

        Parameters
        ----------
        confidence : float
            Above 0 and below 1.

        Returns
        -------
        low : (n,) array
            NaN where there is no standard error.
        high : (n,) array
            The other ends.
        """
        return self.standard_errors.intervals(self.score, confidence=confidence)

    def by_group(self, groups: ArrayLike) -> GroupRates:
        """Return robustness rate and count per group, in sorted order of the groups.

        A rate is the share of rows that are proven robust. Undecided rows are counted separately,
        so the true rate may be higher.

        Parameters
        ----------
        groups : array-like of shape (n_rows,)
            The group of each test row. Missing values form a group of their own.

        Returns
        -------
        GroupRates
            Rates, counts, and the gap between groups.
        """
        undecided = np.asarray(self.verdict == Verdict.UNDECIDED, dtype=bool)
        return group_rates(self.robust, groups, undecided)

    def summary(self, *, seed: int = 0) -> Summary:
        """Return what the budget's wrong labels do to these predictions, in three numbers.

        Rows *one at a time*, each against its own worst labels, which is what verdicts and
        `robustness_rate` are about; all rows *together* against one set of wrong labels; and labels
        that are wrong *at random*, which is simulated. It takes a second or two. If the budget is
        not a number of labels, nothing is simulated, and *together* is answered for few rows only:
        `certify_together` answers it for more.

        Parameters
        ----------
        seed : int
            Seed of the random draws.

        Returns
        -------
        Summary
            It prints one line for each.
        """
        if self.names is not None:
            raise InputError(
                "a summary is about predictions, and these are certificates of coefficients; ask "
                "those of certify(X)"
            )
        if seed not in self._summaries:
            self._summaries[seed] = self._model().summary(self, seed)
        return self._summaries[seed]

    @cached_property
    def _summaries(self) -> dict[int, Summary]:
        return {}

    @cached_property
    def index(self) -> NDArray[Any]:
        """Labels in the index of the rows' pandas frame, or row numbers; names of coefficients."""
        if self.names is not None:
            return np.array(self.names, dtype=object)
        return row_labels(None if self.source is None else self.source.origin, len(self))

    @overload
    def __getitem__(self, which: int) -> Certificate: ...
    @overload
    def __getitem__(self, which: slice | ArrayLike) -> CertificateRows: ...
    def __getitem__(self, which: Any) -> Certificate | CertificateRows:
        found = selected(which, len(self))
        return Certificate(self, found) if isinstance(found, int) else CertificateRows(self, found)

    def __iter__(self) -> Iterator[Certificate]:
        return (Certificate(self, row) for row in range(len(self)))

    def weakest(self, n: int = 10) -> CertificateRows:
        """Return the rows that the fewest wrong labels overturn, the weakest first.

        Rows are ordered by `minimum_budgets.low`, then by `minimum_budgets.high`, then by row
        number. Where nothing is known, `low` counts as 0. Minimum budgets are computed for this.

        Parameters
        ----------
        n : int
            How many, at most.

        Returns
        -------
        CertificateRows
            Notebooks show it as a table; its `rows` are their numbers.
        """
        if operator.index(n) < 0:
            raise InputError(f"n must be a number of rows, 0 or more; got {n!r}")
        return CertificateRows(self, self.minimum_budgets.weakest_first()[: operator.index(n)])

    def plot(self, **options: Any) -> Any:
        """Draw the share of robust rows over the budget; for coefficients, draw their ranges.

        Needs the extra `plots`.

        Parameters
        ----------
        **options
            As for `RobustnessCurveDisplay.from_certificates`, such as ``groups`` and ``ax``; for
            coefficients, as for `RangeDisplay.from_certificates`.

        Returns
        -------
        RobustnessCurveDisplay or RangeDisplay
            With `ax_` and `figure_`.
        """
        # By their public names: what draws results stands above them.
        from unswayed import RangeDisplay, RobustnessCurveDisplay  # noqa: PLC0415

        display = RobustnessCurveDisplay if self.names is None else RangeDisplay
        return display.from_certificates(self, **options)

    def witness(self, row: int) -> Witness | None:
        """Return the smallest set of label changes that overturns a row.

        If rounding leaves open whether fewer labels would do (`minimum_budget_proven` is False), it
        has as many labels as are proven to be enough; after ``resolve="exact"`` it is always the
        smallest.

        Parameters
        ----------
        row : int
            Negative numbers count from the end.

        Returns
        -------
        Witness or None
            None unless the verdict is NOT_ROBUST.

        Raises
        ------
        InputError
            If there is no such row, or the certificates were pickled.
        """
        row = operator.index(row)
        if not -len(self) <= row < len(self):
            raise InputError(f"row {row} is out of range: there are {len(self)} certificates")
        row %= len(self)
        overturned = self.verdict[row] == Verdict.NOT_ROBUST
        found: Witness | None = self._model().witness(row, self.budget) if overturned else None
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the certificates as columns by name, minimum budgets included.

        Returns
        -------
        dict of str to array or list
            One entry per certificate in each. Logistic regression adds ranges of probabilities.
            Logistic and Poisson regression and votes add ``enough``: how many labels were found to
            be enough to overturn a row. Budgets that are not numbers of labels add their ``unit``.
            Coefficients add ``standard_error`` and the ends of 95 % confidence intervals, which are
            NaN where they are not computed.
        """
        columns: dict[str, Any] = {} if self.names is None else {"name": list(self.names)}
        extra: dict[str, Any] = {}
        if self.names is not None:
            low, high = self.confidence_interval()
            extra |= {"standard_error": self.standard_error}
            extra |= {"confidence_low": low, "confidence_high": high}
        if self.link == "logistic":
            extra |= {"probability_low": self.probability_low}
            extra |= {"probability_high": self.probability_high}
        if self.unit != "labels":
            extra |= {"unit": [self.unit] * len(self)}
        if self.link is not None:
            extra |= {"enough": self.minimum_budgets.high}
        common = {
            "prediction": self.prediction,
            "score": self.score,
            "low": self.low,
            "high": self.high,
            "error": self.error,
            "verdict": [str(verdict) for verdict in self.verdict],
            "minimum_budget": self.minimum_budget,
            "minimum_budget_proven": self.minimum_budget_proven,
            "method": self.method.tolist(),
        }
        return columns | common | extra

    def to_frame(self) -> Any:
        """Return a frame of the library the test rows came in.

        For arrays, and for certificates that were pickled, the library is the first of pandas,
        polars and pyarrow that is installed.

        Returns
        -------
        frame
            One line per certificate.
        """
        return frame_like(None if self.source is None else self.source.origin, self.to_dict())

    def _write(self, path: Path, data: Path | None) -> None:
        self._model().save(self, path, data)

    def report(
        self,
        path: str | PathLike[str] = "unswayed-report.html",
        *,
        table: Any = None,
        groups: Sequence[str] = (),
        y_true: Any = None,
    ) -> ReportPage:
        """Write a page with charts for people: one HTML file that needs no network.

        Needs the extra `report`.

        Parameters
        ----------
        path : path
            The file, named ``.html``.
        table : frame, optional
            The certified rows as people know them: its columns are shown beside the rows. By
            default the rows that were certified, if they came in a frame.
        groups : sequence of str
            Columns of the table to compare groups by.
        y_true : array-like, optional
            The labels of the certified rows, as they were passed to `fit`. With them the page says
            how often the model is right, and shows class balance and confusion table. Certificates
            of `cross_certify` have them already.

        Returns
        -------
        ReportPage
            Its path: notebooks show it as a link, and `open` shows the page.
        """
        if self.names is not None:
            raise InputError(
                "a report is about rows, and these are certificates of coefficients; report those "
                "of certify(X), which has the coefficients on its page too"
            )
        self._model().report(self, Path(path), table=table, groups=groups, y_true=y_true)
        return ReportPage(Path(path).absolute())

    def __copy__(self) -> "CertificateSet":
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __getstate__(self) -> dict[str, Any]:
        if self.source is not None:
            _ = self.minimum_budgets, self.index
            _ = None if self.names is None else self.standard_errors
        return super().__getstate__()

    def _counts(self) -> dict[Verdict, int]:
        return {verdict: int(np.sum(self.verdict == verdict)) for verdict in Verdict}

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {verdict}" for verdict, n in self._counts().items() if n)
        asked = f"{type(self).__name__}: {self._counted()}, {self._asked()}:"
        others = "".join(f"\n  {each}" for each in self._others())
        return f"<{asked}\n  one at a time: {counts}{others}>" if others else f"<{asked} {counts}>"

    def _counted(self) -> str:
        """Return how many certificates there are, and of what."""
        what = "row" if self.names is None else "coefficient"
        return f"{len(self)} {what}{'' if len(self) == 1 else 's'}"

    def _others(self) -> list[str]:
        """Return what is said beside the verdicts, where it is known or takes no time."""
        last = [] if self.candidates is None else [f"candidates: {self.candidates}"]
        if self.names is not None or not len(self):
            return last
        if not self._summaries and (self.source is None or not self.source.counted):
            return last
        if not self._summaries and not self.source.quick:
            return ["together, at random: summary() says", *last]
        found = next(iter(self._summaries.values()), None) or self.summary()
        return [*(f"{name}: {words}" for name, words in found.others().items()), *last]

    def _known_budgets(self) -> MinimumBudgets | None:
        """Return minimum budgets if they are known already, or take no time worth mentioning."""
        quick = self.source is not None and self.source.least_is_quick
        return self.minimum_budgets if quick or "minimum_budgets" in self.__dict__ else None

    def _asked(self) -> str:
        """Return the question, and what its answer takes on trust."""
        named = ", ".join(map(repr, self.trusted))
        return f"{self.question}, taking {named} on trust" if named else self.question

    def _repr_html_(self) -> str:
        return set_table(self)


ALMOST_ALL = 0.98
FEW_ROWS = 10  # fewer are of one class by chance
