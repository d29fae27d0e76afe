"""Reviews and audits: which labels to check first, what that is worth, what reviewers answer."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unswayed._typing import FloatArray, IntArray
from unswayed.atomic import atomic_write
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles, eager_frame, frame_like, is_missing
from unswayed.results.notebook import SHOWN, table
from unswayed.words import as_text, counted, percent

ANSWER = "checked_label"
"""The column for what a reviewer finds: the label as it should be, empty if nobody has looked."""


@dataclass(frozen=True, eq=False)
class ExpectedChecks:
    """How many rows simulated checks make robust, or confirm: an estimate, and no proof.

    Attributes
    ----------
    checks : (q,) array of int
        Numbers of checks after which rows are counted; for an audit, of further checks.
    counts : (draws, q) array of int
        For a review, rows proven robust for the refitted model of each draw; for an audit, rows
        confirmed in each simulated audit.
    error_rate : float
        The probability with which each checked label was taken to be wrong.
    n_rows : int
        How many rows are asked about.
    become : {"robust", "confirmed"}
        What the counted rows have become.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> plan = model.review_plan([[1, 0], [0, 1]], labels=2)
    >>> plan.expected_after(0.0)
    <ExpectedChecks: about 1.0, 1.0 and 2.0 of 2 rows robust after 0, 1 and 2 checks, 0.0 % wrong>
    >>> audit = model.fit([[0, 1], [1, 0]] * 50, ["no", "yes"] * 50).label_audit([[0, 1], [1, 0]])
    >>> audit.expected(checks=[0, 20])
    <ExpectedChecks: about 0.0 and 2.0 of 2 rows confirmed after 0 and 20 checks, 0.0 % wrong>
    """

    checks: IntArray
    counts: IntArray
    error_rate: float
    n_rows: int
    become: str

    @property
    def mean(self) -> FloatArray:
        """Mean over the draws, (q,)."""
        return np.asarray(self.counts.mean(axis=0))

    @property
    def spread(self) -> FloatArray:
        """Standard deviation over the draws, (q,)."""
        return np.asarray(self.counts.std(axis=0))

    def __repr__(self) -> str:
        def listed(texts: list[str]) -> str:
            return " and ".join([", ".join(texts[:-1]), texts[-1]]) if texts[1:] else texts[0]

        pairs = zip(self.mean, self.spread, strict=True)
        means = [f"{mean:.1f}" + (f" ± {spread:.1f}" if spread else "") for mean, spread in pairs]
        checks = [f"{each:,}" for each in self.checks.tolist()]
        return (
            f"<{type(self).__name__}: about {listed(means)} of {counted(self.n_rows, 'row')} "
            f"{self.become} after {listed(checks)} checks, {percent(self.error_rate)} wrong>"
        )

    def _repr_html_(self) -> str:
        columns = {
            "checks": self.checks[:SHOWN].tolist(),
            f"rows {self.become}": [f"{each:.1f}" for each in self.mean[:SHOWN]],
            "standard deviation": [f"{each:.1f}" for each in self.spread[:SHOWN]],
        }
        many = counted(self.n_rows, "row")
        caption = f"Simulated: {many}, {percent(self.error_rate)} of checked labels wrong"
        return table(caption, columns, total=len(self.checks), what="number of checks")


@dataclass(frozen=True, eq=False, kw_only=True)
class ReviewPlan:
    """Labels to check, in this order, and how many predictions are robust once they are checked.

    What is promised holds if the labels turn out to be right: they then are no longer among those
    that may be wrong. If a label is wrong and gets corrected, `model.reviewed` fits another model,
    which has certificates of its own.

    Attributes
    ----------
    order : (m,) array of int
        Training rows whose labels to check. Fewer than asked for if all rows are robust before,
        or if the next would cost too much.
    labels : (m,) array
        Their labels as they are.
    cost : (m,) array
        The cost of checking each.
    batch : (m,) array of int
        Which reviewer gets it, counted from 1.
    robust_after : (m + 1,) array of int
        How many of the rows are proven robust, at least, after 0, 1, 2, … of these were checked.
    n_rows : int
        How many rows were asked about.
    baselines : dict of str to array
        The same for other orders: see `baseline`.
    budget : float
        The most that was taken to be wrong at once, among the labels that are not checked.
    question : str
        What was asked, in words.
    trusted : tuple of str
        What the caller vouched for and nobody proved.
    like : frame, optional
        An empty frame of the library that `to_frame` uses.
    source : Simulation, optional
        The model that `expected_after` refits, kept as long as the plan is. It is not pickled.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> plan = model.review_plan([[1, 0], [0, 1]], labels=2)
    >>> plan.order.tolist(), plan.robust_after.tolist()
    ([3, 5], [1, 1, 2])
    >>> len(plan.baseline("random")), len(plan.to_frame()), list(plan.to_dict())[:3]
    (3, 2, ['order', 'batch', 'row'])
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> plan.to_csv(folder / "plan.csv")
    >>> print((folder / "plan.csv").read_text().splitlines()[0])
    order,batch,row,label,cost,total_cost,robust_after,checked_label
    """

    order: IntArray
    labels: NDArray[Any]
    cost: FloatArray
    batch: IntArray
    robust_after: IntArray
    n_rows: int
    baselines: Mapping[str, FloatArray]
    budget: float
    question: str
    trusted: tuple[str, ...] = ()
    like: Any = field(default=None, repr=False)
    source: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.order)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"source": None}

    def expected_after(
        self,
        error_rate: float | None = None,
        *,
        checks: ArrayLike | None = None,
        draws: int = 20,
        random_state: Any = 0,
    ) -> ExpectedChecks:
        """Estimate how many rows will be robust, if some checked labels turn out to be wrong.

        Which of them are wrong is drawn, each by itself; these are corrected, to the other class or
        to a number drawn evenly from their interval, and the model is fitted again. The rows that
        are proven robust for that model are then counted. It is a simulation: it says what is usual
        at this error rate. Unlike `robust_after`, it promises nothing.

        Parameters
        ----------
        error_rate : float, optional
            How likely each label is to be wrong, from 0 to 1; by default the budget's share of
            the labels that may be wrong.
        checks : array of int, optional
            After how many checks to count; by default at five places, from none to all.
        draws : int
            How often to draw.
        random_state : int, Generator or None
            As for `numpy.random.default_rng`.

        Returns
        -------
        ExpectedChecks
            Mean and spread over the draws, after each number of checks.
        """
        if self.source is None:
            raise InputError(
                "this plan carries no model to refit: ask the plan that review_plan() returned, "
                "before it was pickled"
            )
        rate = (
            self.source.usual_rate if error_rate is None else as_doubles(error_rate, "error_rate")
        )
        if np.ndim(rate) or not 0 <= rate <= 1:
            raise InputError(f"error_rate must be a share from 0 to 1, got {error_rate!r}")
        if not isinstance(draws, int | np.integer) or isinstance(draws, bool) or draws < 1:
            raise InputError(f"draws must be an int, 1 or more, got {draws!r}")
        places = np.linspace(0, len(self), 5).round() if checks is None else np.asarray(checks)
        whole = places.ndim == 1 and len(places) and np.array_equal(places, places.astype(np.intp))
        if not whole or places.min() < 0 or places.max() > len(self):
            raise InputError(
                f"checks must be numbers of checks from 0 to {len(self)}, got {checks!r}"
            )
        at = np.unique(places.astype(np.intp))
        rng = np.random.default_rng(random_state)
        counts = [self.source.robust(self.order, at, float(rate), rng) for _ in range(draws)]
        return ExpectedChecks(at, np.array(counts), float(rate), self.n_rows, "robust")

    @property
    def rate_after(self) -> FloatArray:
        """Share of the rows that are proven robust after 0, 1, 2, … checks, (m + 1,)."""
        return np.asarray(self.robust_after / self.n_rows)

    @property
    def total_cost(self) -> FloatArray:
        """Cost of the first 1, 2, … checks, (m,)."""
        return np.cumsum(self.cost)

    def baseline(self, kind: str) -> FloatArray:
        """Return how many rows are proven robust after each number of checks, in another order.

        Parameters
        ----------
        kind : {"random", "witness"}
            "random": the mean of ten random orders of the labels that may be wrong. "witness":
            labels that are in most witnesses, the smallest sets that overturn a row, come first.

        Returns
        -------
        (m + 1,) array
            After 0, 1, 2, … checks, like `robust_after`.
        """
        if kind not in self.baselines:
            raise InputError(
                f"there is no baseline {kind!r}; pass one of {', '.join(map(repr, self.baselines))}"
            )
        return self.baselines[kind]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as columns by name, one entry per label.

        Returns
        -------
        dict of str to array or list
            One entry per label in each.
        """
        return {
            "order": np.arange(1, len(self) + 1),
            "batch": self.batch,
            "row": self.order,
            "label": self.labels.tolist(),
            "cost": self.cost,
            "total_cost": self.total_cost,
            "robust_after": self.robust_after[1:],
        }

    def to_frame(self) -> Any:
        """Return a frame of the library the training rows came in, one row per label.

        For arrays, the library is the first of pandas, polars and pyarrow that is installed.

        Returns
        -------
        frame
            One line per label.
        """
        return frame_like(self.like, self.to_dict())

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a file to hand to reviewers.

        It has an empty column ``checked_label``, for the label as it should be; what is left empty
        was not checked. `model.reviewed` reads it back.

        Parameters
        ----------
        path : path
            The file, usually named ``.csv``.
        """
        columns = {name: np.asarray(column).tolist() for name, column in self.to_dict().items()}
        with (
            atomic_write(Path(path)) as beside,
            beside.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*columns, ANSWER])
            writer.writerows([*line, ""] for line in zip(*columns.values(), strict=True))

    def __repr__(self) -> str:
        many = f"{len(self)} label{'' if len(self) == 1 else 's'}"
        rows = f"{self.n_rows} row{'' if self.n_rows == 1 else 's'}"
        return (
            f"<{type(self).__name__}: {many} to check, {rows}, {self.question}: "
            f"{self.robust_after[0]} robust before, {self.robust_after[-1]} after>"
        )

    def _repr_html_(self) -> str:
        first, last = self.robust_after[[0, -1]]
        caption = (
            f"{first} of {counted(self.n_rows, 'row')} proven robust before, at least {last} after "
            f"{counted(len(self), 'check')}, if these labels are right: {self.question}"
        )
        columns = {
            "check": list(range(1, len(self) + 1))[:SHOWN],
            "training row": self.order[:SHOWN].tolist(),
            "label": [as_text(each) for each in self.labels[:SHOWN].tolist()],
            "cost": self.cost[:SHOWN].tolist(),
            "rows robust then": self.robust_after[1:][:SHOWN].tolist(),
        }
        return table(caption, columns, total=len(self), what="check")


@dataclass(frozen=True, eq=False)
class Reviewed:
    """The outcome of a review: corrected labels, and a model that was fitted on them.

    Attributes
    ----------
    model : CertifiedClassifier or CertifiedRegressor
        Fitted on the corrected labels; those that were checked can no longer be wrong.
    labels : (n,) array
        The corrected labels, for another round.
    checked : (m,) array of int
        Training rows whose labels were checked, ascending.
    corrected : (k,) array of int
        The checked rows whose labels were wrong, ascending.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> labels = ["yes", "yes", "yes", "no", "yes", "no"]
    >>> model.reviewed(X, labels, {3: "no", 4: "no"})
    <Reviewed: 2 labels checked, 1 of them corrected>
    """

    model: Any
    labels: NDArray[Any]
    checked: IntArray
    corrected: IntArray

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self.checked)} labels checked, "
            f"{len(self.corrected)} of them corrected>"
        )

    def _repr_html_(self) -> str:
        at = self.corrected[:SHOWN]
        columns = {"training row": at.tolist(), "corrected label": self.labels[at].tolist()}
        caption = (
            f"{len(self.corrected)} of {counted(len(self.checked), 'checked label')} corrected"
        )
        return table(caption, columns, total=len(self.corrected))


def read_answers(answers: Any, n_rows: int, first: int = 0) -> dict[int, Any]:
    """Return what reviewers say, by row."""
    found: dict[int, Any] = {}
    for row, label in _pairs(answers):
        at = as_row(row, n_rows, first)
        if is_missing(label) or (isinstance(label, str) and not label.strip()):
            continue
        if at in found and found[at] != label:
            raise InputError(
                f"row {at} has two answers, {found[at]!r} and {label!r}; settle which is right"
            )
        found[at] = label
    return found


def _pairs(answers: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(answers, Mapping):
        yield from answers.items()
        return
    wanted = (
        f"answers must be a mapping of training rows to labels, or a frame or CSV file with the "
        f"columns 'row' and {ANSWER!r}, as ReviewPlan.to_csv writes it"
    )
    if isinstance(answers, str | PathLike):
        names, lines = read_lines(Path(answers))
        if not {"row", ANSWER} <= set(names):
            raise InputError(f"{wanted}; {Path(answers).name} has the columns {names}")
        yield from ((line["row"], line[ANSWER]) for line in lines)
        return
    try:
        frame = eager_frame(answers)
    except TypeError:
        frame = None
    if frame is None or not {"row", ANSWER} <= set(frame.columns):
        raise InputError(f"{wanted}; got {type(answers).__name__}")
    yield from zip(frame["row"].to_list(), frame[ANSWER].to_list(), strict=True)


def read_lines(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Return the header and the lines of a CSV file, as spreadsheets write it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not in UTF-8; save it as 'CSV UTF-8'") from None
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)  # where commas are decimal, it is a semicolon
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    return list(reader.fieldnames or ()), list(reader)


def as_row(row: Any, n_rows: int, first: int = 0) -> int:
    """Return the number of a row; raise if there is none of that number."""
    try:
        at = int(float(row))  # spreadsheets write 3 as 3.0
        whole = at == float(row) and not isinstance(row, bool | np.bool_)
    except (TypeError, ValueError, OverflowError):
        whole, at = False, -1
    if not whole or not first <= at < first + n_rows:
        which = "as in ReviewPlan.order" if first == 0 else "below the header of their file"
        raise InputError(
            f"{row!r} is no training row: they are numbered from {first} to "
            f"{first + n_rows - 1}, {which}"
        )
    return at
