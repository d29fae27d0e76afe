"""Effects of columns: per unit of a number, or from the base level of a category."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from unswayed._core.kernels import few_blas_threads
from unswayed._typing import BoolArray, FloatArray, Matrix
from unswayed.exceptions import InputError
from unswayed.inputs import dense
from unswayed.margins.decisions import Sign
from unswayed.report.facts import (
    Caveat,
    caveat_dicts,
    certified,
    effect_facts,
    judged,
    measured,
    not_identified,
    odds_ratios,
    ranged,
)
from unswayed.report.page import sampling_in_words
from unswayed.results.certificates import CertificateSet, Verdict
from unswayed.study.opening import features_of
from unswayed.study.request import Budget
from unswayed.study.study import Study
from unswayed.words import as_text, listed, option, shorten, suggest

_ROWS = 4096  # factorised at a time
_NEARLY = 1e-10  # share of the largest eigenvalue: what depends to seven digits
_EXACTLY = 1e-12  # share of the largest singular value: what depends up to rounding
_MOST = 2000  # columns that are looked at where it is not needed for a verdict
_INVOLVED = 1e-9  # squared share of a coefficient that is free
INTERCEPT = "(intercept)"
_NAMED = 6  # columns that a caveat names


@dataclass(frozen=True, slots=True, eq=False)
class Dependencies:
    """Directions in which coefficients can move without changing any fitted value."""

    projector: FloatArray  # Onto these directions, in units of the columns' spread
    constant: BoolArray  # Columns that are the same in every row
    mean: FloatArray  # Of the columns: their mean, and the unit of their spread
    scale: FloatArray
    searched: bool = True  # False if there are too many columns to look for others

    @property
    def identified(self) -> BoolArray:
        """Which coefficients no such direction moves."""
        return np.asarray(np.diag(self.projector) <= _INVOLVED)

    def identifies(self, point: FloatArray) -> bool:
        """Return whether no such direction moves the prediction for a row."""
        away = (point - self.mean) / self.scale
        moved = self.projector @ away
        return bool(moved @ moved <= _INVOLVED * (away @ away))

    def groups(self) -> list[list[int]]:
        """Return columns that depend on one another; constant columns depend on none."""
        joined = np.abs(self.projector) > np.sqrt(_INVOLVED)
        count, group = connected_components(sparse.csr_array(joined), directed=False)
        free = ~self.identified & ~self.constant
        found = [np.flatnonzero((group == each) & free).tolist() for each in range(count)]
        return [each for each in found if len(each) > 1]


def dependencies(columns: Matrix, *, exactly: bool) -> Dependencies:
    """Find columns that depend on one another, up to a constant."""
    n_rows, width = columns.shape
    mean = np.asarray(columns.mean(axis=0)).ravel()
    low, high = (
        np.asarray(dense(end)).ravel() for end in (columns.min(axis=0), columns.max(axis=0))
    )
    constant = np.asarray(low == high)
    if width > _MOST and not exactly:
        free, unit = np.diag(constant.astype(float)), np.ones(width)
        return Dependencies(free, constant, mean, unit, searched=False)
    gram = np.asarray(dense(columns.T @ columns)) / n_rows - np.outer(mean, mean)
    spread = np.sqrt(np.maximum(np.diag(gram), 0.0))
    scale = np.where(constant | (spread == 0), 1.0, spread)
    gram = gram / np.outer(scale, scale)
    gram[constant, :] = gram[:, constant] = 0.0
    with few_blas_threads(width):
        values, vectors = np.linalg.eigh(gram)
    flat = values <= _NEARLY * values.max(initial=0.0)
    if exactly and flat.any():
        root = _triangle(columns, np.where(constant, low, mean), scale)
        _, singular, right = np.linalg.svd(root)
        found = np.zeros(width)
        found[: len(singular)] = singular
        vectors, flat = right.T, found <= _EXACTLY * found.max(initial=0.0)
    free = vectors[:, flat]
    return Dependencies(free @ free.T, constant, np.where(constant, low, mean), scale)


def _triangle(columns: Matrix, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the triangular factor of the centred and scaled columns."""
    root = np.empty((0, len(mean)))
    for start in range(0, columns.shape[0], _ROWS):
        block = (dense(columns[start : start + _ROWS]) - mean) / scale
        root = np.asarray(linalg.qr(np.vstack((root, block)), mode="r")[0])[: len(mean)]
    return root


# --- effects --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """Which effects are asked about, and in which units."""

    # Base levels as ``column=level``; the most frequent level of other categories
    bases: tuple[str, ...] = ()
    # Names of columns or coefficients, with ``*`` and ``?``; all if there are none
    patterns: tuple[str, ...] = ()
    standardised: bool = False  # Per standard deviation of a number instead of per unit


@dataclass(frozen=True, slots=True)
class _Effect:
    """A question about the model: a coefficient, or a level minus the base level."""

    column: str
    feature: int
    level: str | None = None
    base: str | None = None
    base_feature: int | None = None
    scale: float = field(default=1.0)  # of a number: a unit of its feature in units of the column

    @property
    def name(self) -> str:
        name = shorten(self.column)
        return name if self.level is None else f"{name} = {self.level}"

    def matches(self, pattern: str) -> bool:
        names = (self.column, self.name)
        return pattern in names or any(fnmatchcase(name, pattern) for name in names)


def effects_of(study: Study, asked: Asked) -> tuple[dict[str, Any], list[CertificateSet]]:
    """Return the effects of columns as facts, and the certificates of those that are identified."""
    return _Asking(study, asked).effects()


class _Asking:
    """The steps from a fitted model to the effects of its columns."""

    def __init__(self, study: Study, asked: Asked) -> None:
        self.study, self.asked = study, asked
        self.features = features_of(study)

    def effects(self) -> tuple[dict[str, Any], list[CertificateSet]]:
        bases = self._bases()
        every = self._every(bases)
        chosen, with_intercept = self._chosen(every)
        found = self._dependencies(every)
        # Least squares: the data say nothing. A penalty decides, but of a constant it says 0.
        free = ~found.identified if self.study.alpha == 0 else found.constant
        wanted = set(chosen)
        known = [effect for at, effect in enumerate(every) if effect in wanted and not free[at]]
        found_at = [self._certified(known, each) for each in self._budgets]
        place = {effect: at for at, effect in enumerate(known)}
        rows = [self._row(effect, found_at, place.get(effect)) for effect in chosen]
        parts = [certs for certs in found_at[:1] if certs is not None]
        intercept = None
        if with_intercept:
            at_zero = self._at_zero(bases)
            intercept = self._intercept_in_words(bases) | not_identified()
            if self.study.alpha or found.identifies(
                at_zero.ravel()[[effect.feature for effect in every]]
            ):
                found_zero = [self._certified_row(at_zero, each) for each in self._budgets]
                parts.append(found_zero[0])
                intercept |= certified(parts[-1], 0) | self._at_budgets(found_zero, 0, 1.0)
        facts = effect_facts(
            _in_order(rows),
            intercept=intercept,
            bases={column: level for column, (level, _) in bases.items()},
            meaning=self._meaning(),
            caveats=caveat_dicts(self._caveats(every, found)),
            budgets=[self._counted(rows, at) for at in range(len(self._budgets))],
            sampling=self._sampling(parts),
        )
        return facts, parts

    # --- which questions ------------------------------------------------------------------

    @cached_property
    def _levels(self) -> dict[str, list[tuple[str, int]]]:
        """Levels of each category as texts, with the numbers of their features."""
        numbered = [(each["column"], at) for at, each in enumerate(self.features) if _is(each)]
        return {
            column: [(as_text(self.features[at]["equals"]), at) for _, at in group]
            for column, group in groupby(numbered, key=lambda pair: pair[0])
        }

    def _bases(self) -> dict[str, tuple[str, int]]:
        """Return the base level of each category, and the number of its feature."""
        count = np.asarray(self.study.train.features.sum(axis=0)).ravel()
        bases = {
            column: max(levels, key=lambda level: count[level[1]])
            for column, levels in self._levels.items()
        }
        for text in self.asked.bases:
            column, level = self._split(text)
            names = [name for name, _ in self._levels[column]]
            same = [each for each in self._levels[column] if level in (each[0], each[0].strip())]
            if not same:
                raise InputError(
                    f"--base: column {shorten(column)!r} has no level {shorten(level)!r} in the "
                    f"training rows; {suggest(level, names, 'levels')}"
                )
            bases[column] = same[0]
        return bases

    def _split(self, text: str) -> tuple[str, str]:
        """Return column and level of ``column=level``; either may hold an equals sign."""
        parts = text.split("=")
        splits = [("=".join(parts[:at]), "=".join(parts[at:])) for at in range(1, len(parts))]
        pairs = [(column.strip(), level.strip()) for column, level in splits]
        for column, level in pairs:
            if column in self._levels:
                return column, level
        if not pairs:
            raise InputError(f"--base {text!r} is no base level; write COLUMN=LEVEL: sex=male")
        column = pairs[0][0]
        if any(each["column"] == column for each in self.features):
            raise InputError(
                f"--base: column {shorten(column)!r} holds numbers, which have no levels; if they "
                "are codes, name the column with --categorical"
            )
        hint = (
            suggest(column, list(self._levels), "categories") if self._levels else "there is none"
        )
        raise InputError(f"--base: there is no category {shorten(column)!r}; {hint}")

    def _every(self, bases: dict[str, tuple[str, int]]) -> list[_Effect]:
        """Return all effects in the order of the features, without those of base levels."""
        made = []
        for at, each in enumerate(self.features):
            column = each["column"]
            if not _is(each):
                made.append(_Effect(column, at, scale=each["scale"]))
            elif at != bases[column][1]:
                level = as_text(each["equals"])
                made.append(_Effect(column, at, level, *bases[column]))
        return made

    def _chosen(self, every: list[_Effect]) -> tuple[list[_Effect], bool]:
        """Return the effects that were asked about, and whether the intercept was."""
        patterns = self.asked.patterns
        if not patterns:
            return every, True
        chosen: set[_Effect] = set()
        intercept = False
        for pattern in patterns:
            found = {effect for effect in every if effect.matches(pattern)}
            also = pattern == "intercept" or fnmatchcase(INTERCEPT, pattern)
            if not found and not also:
                self._refuse(pattern, every)
            chosen, intercept = chosen | found, intercept or also
        return [effect for effect in every if effect in chosen], intercept

    def _refuse(self, pattern: str, every: list[_Effect]) -> None:
        for column, levels in self._levels.items():
            for level, _ in levels:
                if pattern == f"{shorten(column)} = {level}":
                    raise InputError(
                        f"--coefficients: {pattern!r} is the base level, which the others are "
                        f"compared with; take another one with --base '{column}=LEVEL'"
                    )
            if pattern == column:
                raise InputError(
                    f"--coefficients: {shorten(column)!r} has one level only, so it has no effect"
                )
        known = list(dict.fromkeys(effect.column for effect in every))
        raise InputError(
            f"--coefficients: no column or coefficient is called {shorten(pattern)!r}; "
            f"{suggest(pattern, [*known, INTERCEPT])}"
        )

    # --- answers --------------------------------------------------------------------------

    def _dependencies(self, every: list[_Effect]) -> Dependencies:
        """Return dependencies of columns beside the constant, where base levels are left out."""
        columns, weight = self.study.train.features, self.study.train.weights
        if weight is not None:
            columns = columns[np.flatnonzero(weight > 0)]
        return dependencies(
            columns[:, [effect.feature for effect in every]], exactly=self.study.alpha == 0
        )

    @property
    def _budgets(self) -> tuple[Budget, ...]:
        return self.study.request.budgets

    def _certified(self, effects: list[_Effect], budget: Budget) -> CertificateSet | None:
        """Certify effects, a level minus its base as one number."""
        if not effects:
            return None
        weights = sparse.lil_array((len(effects), len(self.features)))
        for at, effect in enumerate(effects):
            weights[at, effect.feature] = 1.0
            if effect.base_feature is not None:
                weights[at, effect.base_feature] = -1.0
        request = self.study.request
        certs: CertificateSet = self.study.model.certify_coefficients(
            contrasts=weights.tocsr(),
            budget=self.study.count(budget),
            resolve=request.resolve,
            effort=request.effort,
        )
        return certs

    def _row(
        self, effect: _Effect, found_at: list[CertificateSet | None], at: int | None
    ) -> dict[str, Any]:
        scale = 1.0 if self.asked.standardised else effect.scale
        per = "1 sd" if self.asked.standardised else "1"
        row = {
            "name": effect.name,
            "column": effect.column,
            "level": effect.level,
            "base": effect.base,
            "per": per if effect.level is None else None,
        }
        known = [certs for certs in found_at if certs is not None]
        if at is None or not known:
            return row | not_identified() | {"standard": None}
        found = certified(known[0], at, scale) | {"standard": measured(known[0], at)}
        return row | found | self._odds(found) | self._at_budgets(known, at, scale)

    def _odds(self, found: dict[str, Any]) -> dict[str, float]:
        return odds_ratios(found) if self.study.request.kind.log_odds else {}

    def _at_budgets(self, known: list[CertificateSet], at: int, scale: float) -> dict[str, Any]:
        """Return range and verdict of an effect at every budget, where there are several."""
        parts = []
        for certs in known if len(known) > 1 else ():
            found, standard = ranged(certs, at, scale), ranged(certs, at)
            parts.append(found | {"standard": standard} | self._odds(found) | judged(certs, at))
        return {"budgets": parts}

    def _counted(self, rows: list[dict[str, Any]], at: int) -> dict[str, Any]:
        """Return how many signs are proven to stay at a budget."""
        budget = self._budgets[at]
        labels = self.study.count(budget)
        several = [each["budgets"][at] if each.get("budgets") else each for each in rows]
        return {
            "budget": budget.text,
            "labels": labels,
            "labels_in_words": self.study.labels_in_words(labels),
            "kept": sum(each["keeps_sign"] for each in several),
            "undecided": sum(each["verdict"] == Verdict.UNDECIDED for each in several),
        }

    def _sampling(self, parts: list[CertificateSet]) -> str:
        reason = parts[0].standard_errors.reason if parts else "no coefficient is identified"
        return sampling_in_words(
            reason=reason,
            linear=not self.study.request.kind.log_odds,
            classes=bool(self.study.target.classes),
            penalised=self.study.alpha != 0,
        )

    def _at_zero(self, bases: dict[str, tuple[str, int]]) -> FloatArray:
        """Return the features of the row for which every effect is 0."""
        encoding = self.study.encoding
        row: FloatArray = np.zeros((1, encoding.n_features))
        for column in encoding.categories:
            row[0, bases[column.name][1]] = 1.0
        for column in encoding.numbers:
            zero = np.array([column.mean if self.asked.standardised else 0.0])
            row[0, column.start] = column.scaled(zero)[0]
        return row

    def _certified_row(self, row: FloatArray, budget: Budget) -> CertificateSet:
        """Certify the prediction of a row, and its sign."""
        return self.study.put(self.study.encoding.as_rows(row), budget, decision=Sign())

    def _intercept_in_words(self, bases: dict[str, tuple[str, int]]) -> dict[str, Any]:
        level = "at its mean" if self.asked.standardised else "0"
        said = "predicted logarithm" if self.study.target.log else "prediction"
        said = "predicted log-odds" if self.study.request.kind.log_odds else said
        parts = ["every category at its base level"] if bases else []
        numbers = any(not _is(each) for each in self.features)
        parts += [f"every number {level}"] if numbers else []
        return {"name": INTERCEPT, "meaning": f"the {said} for a row with {' and '.join(parts)}"}

    # --- words ----------------------------------------------------------------------------

    def _meaning(self) -> str:
        target = self.study.target
        if target.log:
            return (
                f"changes of the natural logarithm of {shorten(target.label)} (0.01 is about 1 %)"
            )
        if target.task == "regression":
            return f"changes of {shorten(target.label)}, in its own units"
        negative, positive = target.class_names
        if self.study.request.kind.log_odds:
            return (
                f"changes of the log-odds of {positive!r}; odds ratios are their exponentials, by "
                "which the odds are multiplied"
            )
        return f"changes of a score that is 0 for {negative!r} and 1 for {positive!r}"

    def _caveats(self, every: list[_Effect], found: Dependencies) -> list[Caveat]:
        caveats = []
        if not found.searched:
            text = (
                f"the {len(every):,} columns are too many to check whether some of them depend on "
                "one another"
            )
            caveats.append(Caveat("collinear-columns", text))
        what = "so the penalty, not the data, divides their effect among them"
        if self.study.alpha == 0:
            what = "so the data do not say what their coefficients are: they are not identified"
        for group in found.groups():
            names = listed([every[at].name for at in group], _NAMED)
            text = f"{names} depend on one another (each follows from the others), {what}"
            ignored = option("--ignore", [every[group[-1]].column])
            less = f"leave one of them out, such as {ignored}"
            caveats.append(Caveat("collinear-columns", text, less))
        flat = [every[at] for at in np.flatnonzero(found.constant)]
        if flat:
            columns = dict.fromkeys(each.column for each in flat)
            text = (
                f"{listed([each.name for each in flat], _NAMED)} "
                f"{'is' if len(flat) == 1 else 'are'} the same in every training row, so there is "
                "no effect to find"
            )
            less = f"leave it out with {option('--ignore', columns)}"
            caveats.append(Caveat("constant-column", text, less))
        return caveats


def _is(feature: dict[str, Any]) -> bool:
    """Return whether a feature says that a column equals a value."""
    return "equals" in feature


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return effects of one column together, columns and levels by their standardised size."""

    def size(row: dict[str, Any]) -> float:
        return -1.0 if row["standard"] is None else abs(row["standard"]["value"])

    largest: dict[str, float] = {}
    for row in rows:
        largest[row["column"]] = max(size(row), largest.get(row["column"], -1.0))
    first = {column: at for at, column in enumerate(largest)}
    return sorted(rows, key=lambda row: (-largest[row["column"]], first[row["column"]], -size(row)))
