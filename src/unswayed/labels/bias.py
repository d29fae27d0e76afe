"""LabelBias: which labels may be wrong, by how much, and how many at once (paper, section 3)."""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from reprlib import repr as shown
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.exceptions import BiasError
from unswayed.inputs import as_doubles, refuse_masked, take_rows
from unswayed.labels.amounts import Total
from unswayed.labels.budgets import (
    Budget,
    Count,
    Movable,
    Stated,
    Statement,
    as_budget,
    as_written,
    budget_of_rows,
)
from unswayed.labels.classes import ClassChanges, allowed_changes, flip_offsets, joined_changes
from unswayed.labels.costs import Cost
from unswayed.labels.groups import Clusters, cluster_count, numbered
from unswayed.labels.offsets import as_range, check_index, cut, share_of
from unswayed.labels.samples import joined

Where: TypeAlias = ArrayLike | Callable[[Any, Any], ArrayLike] | None
Direction: TypeAlias = Literal["up", "down"] | None
_NOT_COUNTS = (Budget, Cost, Total)
Clip: TypeAlias = tuple[float | None, float | None] | None


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedBias:
    """A bias model on given labels, ``{y + d : lower <= d <= upper, d within the budget}``.

    The ends of the intervals alone decide what one prediction can become. What many can become
    together may depend on points between them, unless labels are `whole`: moved to an end or not at
    all.
    """

    lower: FloatArray  # <= 0
    upper: FloatArray  # >= 0
    budget: Budget
    whole: bool = False
    classes: ClassChanges | None = None  # where labels are numbers of three or more classes

    def __post_init__(self) -> None:
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            raise BiasError(
                "an interval has an end that is NaN or infinite; every label needs finite "
                "lower and upper offsets (0 and 0 if it cannot be wrong)"
            )
        for row in np.flatnonzero(self.lower > self.upper)[:1]:
            raise BiasError(
                f"lower is above upper at row {row} ({self.lower[row]:g} > {self.upper[row]:g}); "
                "offsets are relative to the label, lower <= 0 <= upper"
            )
        for row in np.flatnonzero((self.lower > 0) | (self.upper < 0))[:1]:
            raise BiasError(
                f"the interval [{self.lower[row]:g}, {self.upper[row]:g}] at row {row} does not "
                "contain 0, so the given label itself would be ruled out; offsets are relative "
                "to the label, lower <= 0 <= upper"
            )

    @property
    def movable(self) -> BoolArray:
        """Which labels may be wrong."""
        return np.asarray((self.lower != 0) | (self.upper != 0))


@dataclass(frozen=True, slots=True, eq=False)
class LabelBias:
    """Which labels may be wrong, by how much, and how many at once.

    Make one with `flips`, `shifts` or `intervals`. It is resolved against the training labels
    when a model is fitted.

    Attributes
    ----------
    kind : {"flips", "shifts", "intervals", "sum"}
        Which of these made it; "sum" if it is several biases, added up.
    budget : int, float, Budget or Sampled
        How many at once; for a sum, how many in all, or None.
    lower, upper : arrays, optional
        Ends of the intervals, relative to the labels; None for flips, where labels decide.
    where : (n,) array of bool or callable, optional
        The training rows that may be wrong.
    direction : {"up", "down"}, optional
        The only way in which they may be.
    relative : bool
        Whether ends are shares of each label's absolute value.
    clip : (low, high), optional
        The range that no label can leave.
    clusters : (n,) array-like, optional
        The cluster of each training row, where whole clusters are wrong.
    terms : tuple of LabelBias
        The biases that a sum is made of.
    to : dict, optional
        Maps a class to the classes that its labels may really be.

    Examples
    --------
    The paper's first example: women may be underpaid by up to 2000.

    >>> women = [True, False, True]
    >>> bias = LabelBias.shifts((0, 2000), budget=1, where=women)
    >>> resolved = bias.resolve([50_000, 60_000, 55_000])
    >>> resolved.lower.tolist(), resolved.upper.tolist()
    ([0.0, 0.0, 0.0], [2000.0, 0.0, 2000.0])

    Its second: negative labels of women may be wrong.

    >>> bias = LabelBias.flips(budget=1, where=women, direction="up")
    >>> resolved = bias.resolve([0, 0, 1])
    >>> resolved.lower.tolist(), resolved.upper.tolist()
    ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    """

    kind: Literal["flips", "shifts", "intervals", "sum"]
    budget: Stated | None
    lower: FloatArray | None = None  # None for flips: the labels decide
    upper: FloatArray | None = None
    where: Where = None
    direction: Direction = None
    relative: bool = False  # lower and upper are shares of each label's absolute value
    clip: tuple[float, float] | None = None  # the range that no label can leave
    clusters: Any = None
    terms: "tuple[LabelBias, ...]" = ()
    to: Any = None

    def __post_init__(self) -> None:
        if self.clusters is not None:
            cluster_count(self.budget)
        elif not isinstance(self.budget, Budget | Statement) and (self.budget or not self.terms):
            as_written(self.budget)
        if self.direction not in (None, "up", "down"):
            raise BiasError(f"direction must be 'up', 'down' or None, got {self.direction!r}")
        if self.lower is not None and self.upper is not None and self.kind != "flips":
            # At birth, not at fit: the traceback then points at the line that wrote it.
            lower, upper = np.broadcast_arrays(self.lower, self.upper)
            ResolvedBias(lower, upper, Count(0))

    @classmethod
    def flips(
        cls,
        *,
        budget: Stated,
        where: Where = None,
        direction: Direction = None,
        clusters: ArrayLike | None = None,
        to: Mapping[Any, Any] | None = None,
    ) -> "LabelBias":
        """Return a bias of labels that are classes, each of which may be another one.

        Parameters
        ----------
        budget : int, float, Total, Cost, Sampled or Budget
            How many at once: a count, or a share of the training rows in (0, 1). With `clusters`,
            how many clusters.
        where : (n,) array of bool, or callable of (X, y) that returns one, optional
            The training rows that may be wrong; by default all.
        direction : {"up", "down"}, optional
            For two classes. "up": only negative labels may be wrong; "down": only positive ones.
        clusters : (n,) array-like, optional
            Whose label each is: an annotator, a day, a site. All labels of a cluster may then be
            wrong at once, and the budget counts clusters.
        to : dict, optional
            Maps a class to the classes that its labels may really be; labels of other classes are
            right. By default, any label may be any other class.

        Returns
        -------
        LabelBias

        Raises
        ------
        BiasError
            If the budget is no count or share, or the direction another word.

        Examples
        --------
        >>> LabelBias.flips(budget=0.01, direction="up")
        LabelBias.flips(budget=0.01, direction='up')
        >>> LabelBias.flips(budget=9, to={"hired": ["declined"]})
        LabelBias.flips(budget=9, to={'hired': ['declined']})
        """
        rest: dict[str, Any] = {"where": where, "direction": direction, "clusters": clusters}
        return cls("flips", budget, to=to, **rest)

    @classmethod
    def shifts(
        cls,
        amount: float | tuple[float, float],
        *,
        budget: Stated,
        where: Where = None,
        direction: Direction = None,
        relative: bool = False,
        clip: Clip = None,
        clusters: ArrayLike | None = None,
    ) -> "LabelBias":
        """Return a bias in which every label may be off by the same amount, or the same share.

        Parameters
        ----------
        amount : float or pair
            ±amount, or (lower, upper) with lower <= 0 <= upper.
        budget : int, float, Total, Cost, Sampled or Budget
            How many at once: a count, or a share of the training rows in (0, 1). With `clusters`,
            how many clusters.
        where : (n,) array of bool, or callable of (X, y) that returns one, optional
            The training rows that may be wrong; by default all.
        direction : {"up", "down"}, optional
            "up" leaves only the upward half of the interval, "down" the downward one.
        relative : bool
            Whether the amount is a share of each label's absolute value: 0.05 is 5 %. The offsets
            that follow are rounded outwards.
        clip : (low, high), optional
            A range that no label can leave, such as (0, None): offsets end where a label would.
        clusters : (n,) array-like, optional
            As for `flips`.

        Returns
        -------
        LabelBias

        Raises
        ------
        BiasError
            If the amount is negative, no number or pair, or 0 does not lie in it.

        Examples
        --------
        >>> bias = LabelBias.shifts(150, budget=1, clip=(0, None))
        >>> bias.resolve([100, 400]).lower.tolist()
        [-100.0, -150.0]
        """
        wanted = (
            f"shifts takes a number or a pair (lower, upper), got {shown(amount)}; "
            "for one interval per label use LabelBias.intervals"
        )
        ends = as_doubles(amount, wanted, BiasError)
        if amount is None or ends.shape not in ((), (2,)):
            raise BiasError(wanted)
        if not ends.shape and ends < 0:
            raise BiasError(f"shifts({amount!r}): the amount must not be negative")
        lower, upper = (ends[:1], ends[1:]) if ends.shape else (-ends[None], ends[None])
        within = None if clip is None else as_range(clip)
        return cls("shifts", budget, lower, upper, where, direction, relative, within, clusters)

    @classmethod
    def intervals(
        cls,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        budget: Stated,
        where: Where = None,
        direction: Direction = None,
        clusters: ArrayLike | None = None,
    ) -> "LabelBias":
        """Return a bias with one interval of offsets per label.

        Parameters
        ----------
        lower, upper : (n,) array-like, or float
            Ends of the intervals, relative to the labels, lower <= 0 <= upper; a number is for all.
        budget : int, float, Total, Cost, Sampled or Budget
            How many at once: a count, or a share of the training rows in (0, 1). With `clusters`,
            how many clusters.
        where : (n,) array of bool, or callable of (X, y) that returns one, optional
            The training rows that may be wrong; by default all.
        direction : {"up", "down"}, optional
            "up" leaves only the upward half of each interval, "down" the downward one.
        clusters : (n,) array-like, optional
            As for `flips`.

        Returns
        -------
        LabelBias

        Raises
        ------
        BiasError
            If ends differ in number, or 0 lies outside of an interval.

        Examples
        --------
        The paper's example of a bias set: y = (3, 4), either label off by at most 1.

        >>> LabelBias.intervals([-1, -1], [1, 1], budget=1)
        LabelBias.intervals(<2 labels>, budget=1)
        """
        ends = [
            np.atleast_1d(as_doubles(end, f"{name}: interval ends", BiasError))
            for name, end in (("lower", lower), ("upper", upper))
        ]
        if any(end.ndim > 1 for end in ends):
            raise BiasError("interval ends must be one-dimensional, one per label")
        if len({end.size for end in ends} - {1}) > 1:
            raise BiasError(f"lower has {ends[0].size} entries but upper has {ends[1].size}")
        return cls("intervals", budget, ends[0], ends[1], where, direction, clusters=clusters)

    def __add__(self, other: "LabelBias") -> "LabelBias":
        if not isinstance(other, LabelBias):
            return NotImplemented
        terms: list[LabelBias] = []
        for each in (self, other):
            if each.kind == "sum" and each.budget is not None:
                raise BiasError("a sum that is capped has no further terms; add first, then cap")
            terms += each.terms or [each]
        odd = [t for t in terms if t.clusters is not None or isinstance(t.budget, _NOT_COUNTS)]
        if odd:
            raise BiasError(
                "terms of a sum have counts of labels, shares or samples as their budgets; "
                f"{odd[0]!r} has a budget of another kind"
            )
        return LabelBias("sum", None, terms=tuple(terms))

    def __radd__(self, other: Any) -> "LabelBias":
        return self if other == 0 else NotImplemented  # so that sum([...]) works

    def capped(self, budget: float) -> "LabelBias":
        """Return the same sum of biases with a limit on all wrong labels together.

        Parameters
        ----------
        budget : int or float
            A count of labels, or a share of the training rows in (0, 1).

        Returns
        -------
        LabelBias
            A sum that takes no further terms.

        Raises
        ------
        BiasError
            If this is no sum of biases, or the limit is no count or share.

        Examples
        --------
        >>> women = [True, True, False, False]
        >>> men = [not each for each in women]
        >>> bias = LabelBias.flips(budget=2, where=women) + LabelBias.flips(budget=1, where=men)
        >>> print(bias.capped(2).resolve([0, 1, 0, 1]).budget)
        up to 2 of 2 labels, and up to 1 of 2 labels are wrong, at most 2 in all
        """
        if self.kind != "sum":
            raise BiasError("capped is for a sum of biases; this is one: change its budget instead")
        return replace(self, budget=budget)

    def resolve(
        self,
        y: ArrayLike,
        *,
        X: Any = None,
        labels: Any = None,
        flip_between: tuple[float, float] | None = None,
        classes: Any = None,
    ) -> ResolvedBias:
        """Return the offsets of the labels `y`, and the budget.

        Parameters
        ----------
        y : (n,) array-like of numbers
            The training labels.
        X, labels : optional
            What a callable `where` is given: the features, and the labels as the user has them.
        flip_between : (negative, positive), optional
            The numbers that stand for the two classes; by default read off `y`.
        classes : array, optional
            The classes as the user writes them, where labels are classes. With three or more, `y`
            holds their numbers.

        Returns
        -------
        ResolvedBias
            With `lower`, `upper` and `budget`.
        """
        y = np.asarray(y, dtype=np.float64)
        if self.kind == "sum":
            options: dict[str, Any] = {"X": X, "labels": labels, "flip_between": flip_between}
            options["classes"] = classes
            return self._added([each.resolve(y, **options) for each in self.terms], len(y))
        n_rows = len(y)
        lower, upper, changes = self._ends(y, flip_between, classes)
        mask = self._mask(n_rows, X, y if labels is None else labels)
        population = int(mask.sum())
        if isinstance(self.budget, Statement):
            mask = mask & ~self.budget._never_wrong(n_rows)
        lower[~mask], upper[~mask] = 0.0, 0.0
        # Adding 0.0 turns -0.0 into 0.0: equal offsets must have equal bits.
        lower, upper, whole = lower + 0.0, upper + 0.0, self.kind == "flips"
        if self.clusters is not None:
            budget: Budget = Clusters(cluster_count(self.budget), numbered(self.clusters, n_rows))
        else:
            assert self.budget is not None  # noqa: S101  (only sums have none)
            budget = as_budget(self.budget, n_rows, Movable(lower, upper, whole, population))
        return ResolvedBias(lower, upper, budget, whole, changes and changes.only(mask))

    def _ends(
        self, y: FloatArray, flip_between: tuple[float, float] | None, classes: Any
    ) -> tuple[FloatArray, FloatArray, ClassChanges | None]:
        """Return how far labels may fall and rise, whichever rows the bias is about."""
        n_rows = len(y)
        allowed = self._allowed(classes)
        changes = None
        if allowed is not None and len(allowed) > 2:
            changes = ClassChanges(y.astype(np.intp), allowed[y.astype(np.intp)])
            lower, upper = changes.ends()
        elif self.kind == "flips":
            lower, upper = flip_offsets(y, flip_between, allowed)
        else:
            assert self.lower is not None and self.upper is not None  # noqa: S101, PT018
            for name, end in (("lower", self.lower), ("upper", self.upper)):
                if self.kind == "intervals" and end.size not in (1, n_rows):
                    raise BiasError(f"{name} has {end.size} entries for {n_rows} training rows")
            lower = np.broadcast_to(self.lower, n_rows).copy()
            upper = np.broadcast_to(self.upper, n_rows).copy()
        if self.relative:
            lower, upper = -share_of(-lower, y), share_of(upper, y)
        if self.clip is not None:
            lower, upper = cut(lower, upper, y, self.clip)
        if self.direction == "up":
            lower[:] = 0.0
        elif self.direction == "down":
            upper[:] = 0.0
        return lower, upper, changes

    def _allowed(self, classes: Any) -> BoolArray | None:
        """Return which classes labels may be; None for any of two, and for numbers."""
        several = classes is not None and len(classes) > 2
        if self.to is None and not several:
            return None
        if classes is None:
            raise BiasError(
                "to is for labels that are classes, and these are numbers; use LabelBias.shifts"
            )
        if self.kind != "flips" or (several and self.direction is not None):
            given = f"direction={self.direction!r}" if self.kind == "flips" else self.kind
            raise BiasError(
                f"{given} is for numbers and for two classes, and there are {len(classes)}; say "
                "what labels may really be with LabelBias.flips(budget=..., to={'a': ['b']})"
            )
        return allowed_changes(self.to, classes)

    def _added(self, terms: list[ResolvedBias], n_rows: int) -> ResolvedBias:
        """Return what several biases allow together, each within its own budget."""
        lower, upper = np.sum([(term.lower, term.upper) for term in terms], axis=0)
        cap = None if self.budget is None else as_budget(self.budget, n_rows).most_labels
        budget = joined(
            [(np.flatnonzero((each.lower < 0) | (each.upper > 0)), each.budget) for each in terms],
            cap,
        )
        changes = [term.classes for term in terms if term.classes is not None]
        several = joined_changes(changes) if changes else None
        return ResolvedBias(lower, upper, budget, all(term.whole for term in terms), several)

    def _mask(self, n_rows: int, X: Any, labels: Any) -> BoolArray:
        if self.where is None:
            return np.ones(n_rows, dtype=bool)
        where = self.where
        if callable(where):
            where = where(deepcopy(X), deepcopy(labels))  # the caller's own stay as they are
        refuse_masked(where, "where", BiasError)
        check_index(where, X)
        mask = np.asarray(where)
        if mask.dtype == object and all(isinstance(flag, bool | np.bool_) for flag in mask.flat):
            mask = mask.astype(bool)
        if mask.dtype != np.bool_:
            raise BiasError(
                f"where must be a boolean mask over the training rows, got dtype {mask.dtype}; "
                "row numbers can be turned into one with np.isin(np.arange(n), rows)"
            )
        if mask.shape != (n_rows,):
            raise BiasError(
                f"where has shape {mask.shape} but there are {n_rows} training rows; "
                "the mask needs exactly one flag per training row"
            )
        return mask

    def __repr__(self) -> str:
        if self.kind == "sum":
            added = " + ".join(map(repr, self.terms))
            return added if self.budget is None else f"({added}).capped({self.budget!r})"
        if self.kind == "flips" or self.lower is None or self.upper is None:
            first = ""
        elif self.kind == "intervals":
            first = f"<{max(self.lower.size, self.upper.size)} labels>, "
        elif self.lower[0] == -self.upper[0]:
            first = f"{self.upper[0]:g}, "
        else:
            first = f"({self.lower[0]:g}, {self.upper[0]:g}), "
        where = ""
        if callable(self.where):
            where = f", where={getattr(self.where, '__name__', 'callable')}"
        elif self.where is not None:
            mask = np.asarray(self.where)
            where = f", where=<{np.count_nonzero(mask)} of {mask.size} rows>"
        direction = f", direction={self.direction!r}" if self.direction else ""
        direction += ", relative=True" if self.relative else ""
        clip = f", clip=({self.clip[0]:g}, {self.clip[1]:g})" if self.clip else ""
        clusters = "" if self.clusters is None else f", clusters=<{np.size(self.clusters)} rows>"
        to = "" if self.to is None else f", to={self.to!r}"
        rest = f"{where}{direction}{clip}{clusters}{to}"
        return f"LabelBias.{self.kind}({first}budget={self.budget!r}{rest})"


# --- A bias for labels that were not checked, or for some of the training rows -------------


@dataclass(frozen=True, eq=False)
class _StillOpen:
    """A mask that is computed from rows and labels, without labels that were checked."""

    where: Any
    checked: BoolArray

    def __call__(self, X: Any, y: Any) -> BoolArray:
        return np.asarray(self.where(X, y)).astype(bool) & ~self.checked


def bias_without(bias: LabelBias, rows: Iterable[int], n_labels: int) -> LabelBias:
    """Return the same bias for labels that were not checked."""
    if bias.kind == "sum":
        rows = list(rows)
        return replace(bias, terms=tuple(bias_without(each, rows, n_labels) for each in bias.terms))
    checked = np.zeros(n_labels, dtype=bool)
    checked[list(rows)] = True
    if callable(bias.where):
        return replace(bias, where=_StillOpen(bias.where, checked))
    where = ~checked if bias.where is None else np.asarray(bias.where).astype(bool) & ~checked
    return replace(bias, where=where)


def bias_of_rows(bias: LabelBias, rows: IntArray, n_rows: int) -> LabelBias:
    """Return the same bias for some of the training rows."""
    if bias.kind == "sum":
        return replace(bias, terms=tuple(bias_of_rows(each, rows, n_rows) for each in bias.terms))
    ends: dict[str, Any] = {
        name: end if end is None or end.size == 1 else _entries(end, rows, n_rows, name)
        for name, end in (("lower", bias.lower), ("upper", bias.upper))
        if bias.kind == "intervals"
    }
    where, clusters = (
        each if each is None or callable(each) else _entries(each, rows, n_rows, name)
        for name, each in (("where", bias.where), ("clusters", bias.clusters))
    )
    budget = budget_of_rows(bias.budget, rows, n_rows)
    return replace(bias, budget=budget, where=where, clusters=clusters, **ends)


def _entries(values: Any, rows: IntArray, n_rows: int, name: str) -> Any:
    refuse_masked(values, name, BiasError)
    if np.shape(values) != (n_rows,):
        raise BiasError(
            f"{name} has shape {np.shape(values)} but there are {n_rows} rows; it needs exactly "
            "one entry per row"
        )
    return take_rows(values, rows)


# --- Functionals: numbers that depend on the labels, one per row; their type chooses the engine


class Functional:
    """Numbers that depend on the labels. Subclass it for a kind of your own."""


@dataclass(frozen=True, slots=True, eq=False)
class Linear(Functional):
    """Numbers that are linear in the labels: influence · labels."""

    influence: Matrix  # (m, n), dense or CSR: one row per number, one column per label
    targets: FloatArray  # the n labels, as numbers
    lower: FloatArray  # how far each label may fall, <= 0
    upper: FloatArray  # and rise, >= 0


class InGradient(Functional):
    """Products of directions with parameters that make a gradient 0 which is linear in the labels.

    Logistic and Poisson regression are of this kind.
    """
