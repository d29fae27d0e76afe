"""Certificates one by one: witnesses, `certs[27]`, the weakest rows, tables of them."""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import FloatArray, IntArray
from unswayed.results.notebook import SHOWN, facts, table
from unswayed.words import (
    amount_end,
    as_text,
    counted,
    labels_between,
    number_end,
    share_range,
)

if TYPE_CHECKING:
    from unswayed.results.certificates import CertificateSet, MinimumBudgets, Verdict

_CHOSEN = 60  # lines that are shown of rows that somebody chose
_OPEN = (
    "Minimum budgets are not computed for printing, because this may take minutes: ask for "
    "minimum_budget once, and tables show them from then on"
)


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """Label changes that overturn one prediction: the proof that it is not robust.

    Attributes
    ----------
    indices : (k,) array of int
        Training rows, ascending.
    labels : (k,) array
        Their new labels, as the user writes labels.
    score : float
        What the model that is trained on them says.
    places : tuple, optional
        File (or partition) and row of each, where training rows are in files.
    rival : optional
        With three or more classes, the one that draws level with the predicted one, or passes it.
    uses : str, optional
        What they take up of the budget, such as "2 clusters", where it is no number of labels.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> witness = model.certify([[0, 1]]).witness(0)
    >>> print(witness)
    1 label change moves the score to 0.666667
    >>> witness.indices.tolist(), witness.labels.tolist()
    ([3], ['yes'])
    """

    indices: IntArray  # training rows, ascending
    labels: NDArray[Any]  # their new labels, as the user writes labels
    score: float  # what the refitted model then says
    places: tuple[Any, ...] | None = None  # file and row of each, where they are in files
    rival: Any = None  # of several classes, the one that draws level or passes
    uses: str | None = None  # of the budget, where it is no number of labels

    def __len__(self) -> int:
        return len(self.indices)

    def __str__(self) -> str:
        changes = "1 label change" if len(self) == 1 else f"{len(self)} label changes"
        changes += "" if self.uses is None else f" ({self.uses})"
        return f"{changes} move{'s' * (len(self) == 1)} the score to {number_end(self.score)}"

    def _repr_html_(self) -> str:
        return changes_table(str(self), self.indices, self.labels, self.places)


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """What is proven about one row, or one coefficient: ``certs[27]``.

    Attributes
    ----------
    certificates : CertificateSet
        The set that it belongs to.
    row : int
        Its row number in that set, from 0.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> bias = LabelBias.flips(budget=1, direction="up")
    >>> model = CertifiedClassifier(LinearRegression(fit_intercept=False), bias=bias).fit(
    ...     X, ["yes", "yes", "yes", "no", "yes", "no"]
    ... )
    >>> certs = model.certify([[1, 0], [0, 1]])
    >>> certs[1]
    <Certificate: row 1, not-robust: same class if up to 1 label is wrong
      prediction no, score 0.333333, with wrong labels 0.333333 to 0.666667
      minimum budget: 1 label>
    >>> certs[1].verdict, certs[1].minimum_budget, certs[1].index
    (<Verdict.NOT_ROBUST: 'not-robust'>, 1.0, 1)
    >>> print(certs[1].witness())
    1 label change moves the score to 0.666667
    """

    certificates: "CertificateSet"
    row: int

    @property
    def index(self) -> Any:
        """Label of the row in the index of its pandas frame, else its number, or its name."""
        return self.certificates.index[[self.row]].tolist()[0]

    @property
    def prediction(self) -> Any:
        """Class, number or sign that the model says."""
        return self.certificates.prediction[[self.row]].tolist()[0]

    @property
    def score(self) -> float:
        """What the model says: its prediction, or its score before the threshold."""
        return float(self.certificates.score[self.row])

    @property
    def low(self) -> float:
        """Lower end of the range of the score over all label vectors that the bias allows."""
        return float(self.certificates.low[self.row])

    @property
    def high(self) -> float:
        """Upper end of that range."""
        return float(self.certificates.high[self.row])

    @property
    def verdict(self) -> "Verdict":
        """Whether the prediction is proven robust, proven not to be, or neither."""
        found: Verdict = self.certificates.verdict[self.row]
        return found

    @property
    def robust(self) -> bool:
        """Whether the prediction is proven robust."""
        return bool(self.certificates.robust[self.row])

    @property
    def method(self) -> str:
        """How the verdict was reached."""
        return str(self.certificates.method[self.row])

    @property
    def minimum_budget(self) -> float:
        """Least number of wrong labels that overturns the row, as `CertificateSet` has it.

        It is computed for all rows at once, when it is asked for first.
        """
        return float(self.certificates.minimum_budget[self.row])

    def witness(self) -> Witness | None:
        """Return the smallest set of label changes that overturns the row.

        Returns
        -------
        Witness or None
            As `CertificateSet.witness` returns it: None unless the verdict is NOT_ROBUST.
        """
        return self.certificates.witness(self.row)

    def _facts(self) -> dict[str, str]:
        """Return what is said of the row, in words."""
        certs, row = self.certificates, self.row
        found = {
            "prediction": as_text(self.prediction),
            "verdict": str(self.verdict),
            "score": number_end(self.score),
            "range": f"{number_end(self.low, -1)} to {number_end(self.high, 1)}",
        }
        known = certs._known_budgets()
        if known is not None:
            ends = float(known.low[row]), float(known.high[row])
            found["minimum budget"] = labels_between(*ends, certs.unit)
        return found

    def _named(self) -> str:
        """Return which of the certificates it is."""
        if self.certificates.names is not None:
            return f"coefficient {as_text(self.index)}"
        own = as_text(self.index)
        return f"row {self.row}" + ("" if own == str(self.row) else f" (index {own})")

    def __repr__(self) -> str:
        found = self._facts()
        least = found.get("minimum budget")
        more = "" if least is None else f"\n  minimum budget: {least}"
        return (
            f"<{type(self).__name__}: {self._named()}, {self.verdict}: "
            f"{self.certificates._asked()}\n  prediction {found['prediction']}, score "
            f"{found['score']}, with wrong labels {found['range']}{more}>"
        )

    def _repr_html_(self) -> str:
        certs, found = self.certificates, self._facts()
        notes = [] if "minimum budget" in found or certs.source is None else [_OPEN]
        return facts(f"{self._named()}: {certs._asked()}", found, notes=notes)


@dataclass(frozen=True, slots=True, eq=False)
class CertificateRows:
    """Some of the certificates of a set, in an order of their own: ``certs.weakest(10)``.

    Attributes
    ----------
    certificates : CertificateSet
        The set that they were selected from.
    rows : (m,) array of int
        Their row numbers in that set, from 0.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> certs = model.certify([[1, 0], [0, 1]])
    >>> weak = certs.weakest(2)
    >>> weak
    <CertificateRows: 2 of 2 rows, same class if up to 1 label is wrong>
    >>> weak.rows.tolist(), weak.index.tolist()
    ([1, 0], [1, 0])
    >>> [one.minimum_budget for one in weak], weak[0].row
    ([1.0, 2.0], 1)

    Slices, masks and lists of row numbers select others:

    >>> certs[certs.robust].rows.tolist(), certs[:1].rows.tolist(), certs[[1, 0]].rows.tolist()
    ([0], [0], [1, 0])
    """

    certificates: "CertificateSet"
    rows: IntArray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def index(self) -> Any:
        """Labels of these rows in the index of their pandas frame, else their numbers, or names."""
        return self.certificates.index[self.rows]

    def __getitem__(self, which: Any) -> "Certificate | CertificateRows":
        found = selected(which, len(self))
        if isinstance(found, int):
            return Certificate(self.certificates, int(self.rows[found]))
        return CertificateRows(self.certificates, self.rows[found])

    def __iter__(self) -> Iterator[Certificate]:
        return (Certificate(self.certificates, row) for row in self.rows.tolist())

    def __repr__(self) -> str:
        certs = self.certificates
        many = f"{len(self):,} of {certs._counted()}"
        return f"<{type(self).__name__}: {many}, {certs._asked()}>"

    def _repr_html_(self) -> str:
        certs = self.certificates
        caption = f"{len(self):,} of {certs._counted()}: {certs._asked()}"
        return rows_table(certs, caption, self.rows, most=_CHOSEN)


def changes_table(
    caption: str, rows: IntArray, labels: NDArray[Any], places: tuple[Any, ...] | None = None
) -> str:
    """Return the table of training rows and their new labels."""
    columns: dict[str, list[Any]] = {"training row": rows[:SHOWN].tolist()}
    if places is not None:
        columns["file and row"] = [as_text(str(each)) for each in places[:SHOWN]]
    columns["new label"] = [as_text(each) for each in np.asarray(labels)[:SHOWN].tolist()]
    return table(caption, columns, total=len(rows))


def selected(which: Any, n_rows: int) -> int | IntArray:
    """Return the row that a number means, or the rows of a slice, a mask or a list of numbers."""
    if isinstance(which, slice):
        return np.arange(n_rows)[which]
    found = np.asarray(which)
    if found.ndim == 1 and not found.size and not isinstance(which, str):
        found = found.astype(np.intp)
    if found.dtype == bool and found.ndim == 1:
        if len(found) != n_rows:
            raise IndexError(
                f"the mask has length {len(found):,} but there are {n_rows:,} certificates; pass "
                "True or False for each of them"
            )
        return np.flatnonzero(found)
    if found.dtype.kind not in "iu" or found.ndim > 1:
        raise TypeError(
            f"certificates are selected by row number, counted from 0, and not by {which!r}; pass "
            "a number, a slice, a mask or a list of numbers (of labels of a pandas index: "
            "certs[X_test.index.get_loc(label)])"
        )
    for row in np.atleast_1d(found).tolist():
        if not -n_rows <= row < n_rows:
            raise IndexError(
                f"row {row} is out of range: there are {n_rows:,} certificates, numbered from 0 "
                f"to {n_rows - 1:,}; negative numbers count from the end"
            )
    at = np.asarray(found % n_rows if n_rows else found, dtype=np.intp)
    return operator.index(at[()]) if at.ndim == 0 else at


def set_table(certs: "CertificateSet") -> str:
    """Return the table of all certificates, the weakest first."""
    share = share_range(certs.robustness_rate, certs.highest_rate) if len(certs) else "none"
    undecided = int(np.sum(certs.verdict == "undecided"))
    left = f", {undecided:,} undecided" if undecided else ""
    caption = f"{share} of {certs._counted()} proven robust{left}: {certs._asked()}"
    known = certs._known_budgets()
    order = known.weakest_first() if known is not None else _by_verdict(certs)
    return rows_table(certs, caption, order, notes=certs._others())


def _by_verdict(certs: "CertificateSet") -> IntArray:
    """Return rows that are overturned before those that are undecided, and robust ones last."""
    rank = np.where(certs.robust, 2, np.where(certs.verdict == "undecided", 1, 0))
    return np.argsort(rank, kind="stable")


def rows_table(
    certs: "CertificateSet",
    caption: str,
    rows: IntArray,
    *,
    most: int = SHOWN,
    notes: list[str] | None = None,
) -> str:
    """Return the table of some certificates in this order, without minimum budgets if slow."""
    at, known, columns = rows[:most], certs._known_budgets(), dict[str, list[Any]]()
    if certs.names is None:
        columns["row"] = at.tolist()
        if not np.array_equal(certs.index, np.arange(len(certs))):
            columns["index"] = [as_text(each) for each in certs.index[at].tolist()]
    else:
        columns["name"] = [as_text(certs.names[each]) for each in at]
    said, value = ("prediction", "score") if certs.names is None else ("sign", "value")
    columns[said] = [as_text(each) for each in certs.prediction[at].tolist()]
    if known is not None:
        ends = zip(known.low[at].tolist(), known.high[at].tolist(), strict=True)
        columns["minimum budget"] = [labels_between(*each, certs.unit) for each in ends]
    columns[value] = [number_end(each) for each in certs.score[at].tolist()]
    columns["low"] = [number_end(each, -1) for each in certs.low[at].tolist()]
    columns["high"] = [number_end(each, 1) for each in certs.high[at].tolist()]
    columns["verdict"] = [str(each) for each in certs.verdict[at]]
    below = [*(notes or []), *([_OPEN] if known is None and certs.source is not None else [])]
    what = "row" if certs.names is None else "coefficient"
    return table(caption, columns, total=len(rows), what=what, notes=below)


def budgets_table(budgets: "MinimumBudgets") -> str:
    """Return the table of minimum budgets, the smallest first."""
    at, many = budgets.weakest_first()[:SHOWN], len(budgets.low)
    columns: dict[str, list[Any]] = {"row": at.tolist()}
    columns["at least"] = [amount_end(each, -1) for each in budgets.low[at]]
    columns["at most"] = [amount_end(each, 1) for each in budgets.high[at]]
    return table(f"Minimum budgets of {counted(many, 'row')}", columns, total=many)


def probability_ranges(
    score: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log-odds and their ranges as probabilities, ranges rounded outwards.

    >>> probability_ranges(np.zeros(1), np.array([-np.inf]), np.array([np.inf]))
    (array([0.5]), array([0.]), array([1.]))
    """
    with np.errstate(over="ignore"):
        value, least, most = (1.0 / (1.0 + np.exp(-ends)) for ends in (score, low, high))
    # exp is wrong by a few units in the last place, and may overflow.
    lost = 2.0**-44
    return value, least * (1.0 - lost), np.clip(most * (1.0 + lost), 1e-300, 1.0)
