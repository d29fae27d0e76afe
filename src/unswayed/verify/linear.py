"""Models that are linear in their labels: what labels do to a score, in doubles.

A score is s = Σ z_i y_i with an influence z that depends on features alone. Nothing is solved for
here, and nothing is sorted: the file carries an approximate solution, and a residual proves how
good it is, however it was found; and it carries thresholds, each of which proves a selection. Bad
ones leave claims unproven; they never prove a false one.

**Ridge.** Let φ be a row of features, with a 1 for the intercept, s_i the weight of training row i,
and K = Σ s_i φ_i φ_iᵀ + Λ + Σ ν νᵀ. Λ is the penalty; ν are the directions that no training row
sees (`_check_unseen`). Then z_i = s_i φ_i·w with K w = φ(x). For any vector w̃ and ρ = φ(x) - K w̃,
every change δ of the labels moves the score by

    Σ s_i (φ_i·w̃) δ_i   up to   ε √(Σ s_i δ_i²),   ε² = ρᵀK⁻¹ρ,

by the inequality of Cauchy and Schwarz in the norm of K⁻¹, because Σ s_i φ_i φ_iᵀ ≼ K. For the same
reason a part Σ s_i φ_i e_i of ρ, which errors e_i of the products φ_i·w̃ make, adds no more than
√(Σ s_i e_i²) to ε.

With a penalty alpha > 0, ε² <= Σ_j (ρ_j - μ_j ρ_b)² / alpha + ρ_b² / Σs, where b is the intercept
and μ the weighted mean of the rows: subtract from ρ the multiple of K's last column that makes its
last entry 0. The inverse of K, less the intercept, is at most that of alpha times the identity.

Without one, ε² <= ‖ρ‖² ‖P‖ / (1 - d) for every symmetric P with ‖I - K P‖ <= d < 1, norms being
the largest sums of a row: the eigenvalues of K P are those of K^½ P K^½, real, and within d of 1.

**Kernel ridge** has M z = k for M = Kᵀ + alpha S⁻¹ over the rows of positive weight. For any z̃ and
ρ = k - M z̃, |z_i - z̃_i| <= ‖P‖ max|ρ| / (1 - d) if ‖I - P M‖ <= d < 1. Ridge with alpha 0 and more
features than rows is the same for M = ΦΦᵀ, with one more unknown if there is an intercept, for
then the influence sums up to 1. Of a **smoother**, z itself is given.
"""

import math
from dataclasses import dataclass

import numpy as np

from unswayed.verify.budget import Moves
from unswayed.verify.data import Given, distinct
from unswayed.verify.doubles import (
    ROOT_OF_TINY,
    SAFETY,
    TINY,
    UNIT,
    FloatArray,
    IntArray,
    UnprovenError,
    exponents,
    gamma,
    gamma_of_parts,
    groups_of_parts,
    inverse_size,
    is_ordinary,
    lowest,
    norm,
    parts,
    scaled,
    sum_of_parts,
    whole,
)
from unswayed.verify.facts import COLUMNS, DOWN, UNKNOWN, UP, Asked, Ends, Facts, ends_of
from unswayed.verify.rational import is_unseen

_LITTLE = 2.0**-300
_MOST_UNKNOWNS = 2**11  # of an inverse: memory is promised for a dozen matrices of that size


@dataclass(frozen=True, slots=True)
class Influence:
    """What each label does to some scores, and these scores, one row for each.

    Any change δ of the labels moves score j by Σ_i z_ji δ_i, up to
    ``drift[j]·Σ sizes_i |δ_i| + spread[j]·√(Σ weights_i δ_i²)``.
    """

    z: FloatArray
    drift: FloatArray
    spread: FloatArray
    sizes: FloatArray
    weights: FloatArray
    score: FloatArray
    doubt: FloatArray  # of the score

    def centred(self, given: Given) -> "Influence":
        """Return the same for scores that are measured from the weighted mean of the labels."""
        mean, off, per_weight = given.mean_label()
        share = given.weights * per_weight  # off by less than 4 units, and so is what is left of z
        most = np.abs(self.z / np.where(self.sizes > 0, self.sizes, 1)).max(axis=1, initial=0.0)
        drift = (self.drift + 8 * UNIT * (1 + most)) * SAFETY + TINY
        doubt = self.doubt + off + 2 * UNIT * (np.abs(self.score) + abs(mean))
        z, sizes, score = self.z - share, self.sizes + share, self.score - mean
        doubt = doubt * SAFETY + TINY
        return Influence(z, drift, self.spread, sizes, self.weights, score, doubt)


class Ridge:
    """Least squares with or without a penalty; hints are w̃ for features less a shift of the file.

    Columns and weights are multiplied by powers of two, which changes units and rounds nothing.
    """

    def __init__(self, given: Given, proof: dict[str, FloatArray]) -> None:
        self._intercept = given.intercept
        self.n_unknowns = given.train.shape[1] + int(given.intercept)
        self._power = int(exponents(given.weights.max())) // 2 * 2  # its root is a power of two
        self._weights = scaled(given.weights, -self._power)
        self._total = float(self._weights.sum())
        self._shift = proof.get("shift", np.zeros(given.train.shape[1]))
        train = self._shifted(given)
        self._units = self._column_units(train[given.weights > 0], given)
        self._rows = np.empty((len(train), self.n_unknowns))
        for part in groups_of_parts(len(train)):
            ones = np.ones((len(train[part]), int(given.intercept)))
            self._rows[part] = scaled(np.column_stack((train[part], ones)), -self._units)
        self._columns = np.sqrt(self._weights @ self._rows**2) * SAFETY + ROOT_OF_TINY  # norms
        self._size = float(norm(self._columns))
        self._sizes = self._weights * norm(self._rows, axis=1) + _LITTLE  # for what underflows
        self._lost, self._lost_rows = gamma(self.n_unknowns + 4), gamma_of_parts(len(train))
        self.learn(given)
        self._unseen = self._check_unseen(given, proof.get("unseen"))
        penalty = np.full(self.n_unknowns, given.alpha)
        penalty[given.train.shape[1] :] = 0.0
        self._penalty = scaled(penalty, -2 * self._units - self._power)
        self._inverse = self._inverse_size(proof["inverse"]) if "inverse" in proof else math.inf

    def learn(self, given: Given) -> None:
        """Take labels of the same rows."""
        # With an intercept influence sums up to 1, or to 0: labels may be measured from anywhere.
        self._middle = float(given.labels.mean()) if given.intercept else 0.0
        labels = given.labels - self._middle
        self._label_size = float(norm(np.sqrt(self._weights) * labels)) * SAFETY
        self._moment = self._sums(self._weights * labels)

    def _shifted(self, given: Given) -> FloatArray:
        """Return training rows less the shift of the file, which changes the intercept only."""
        if not self._shift.any():
            return given.train
        if not given.intercept or self._shift.shape != given.train.shape[1:]:
            raise UnprovenError("only with an intercept features can be shifted")
        moved = given.train - self._shift
        back = moved - given.train
        rest = (given.train - (moved - back)) - (self._shift + back)  # what rounding took away
        if rest.any():  # NaN counts as something
            raise UnprovenError("shifting features rounds them")
        return moved

    def _column_units(self, rows: FloatArray, given: Given) -> IntArray:
        """Return exponents that columns are divided by, so that their entries are about 1."""
        largest = exponents(np.abs(rows).max(axis=0, initial=0.0))
        squares = self._weights[given.weights > 0] @ np.ldexp(rows, -largest) ** 2
        found = largest + exponents(np.sqrt(squares / self._total))
        return np.append(found, 0) if given.intercept else found

    def _sums(self, factors: FloatArray) -> FloatArray:
        """Return Σ_i f_i φ_i, part by part, for one row of factors or several."""
        made = np.zeros((*factors.shape[:-1], self.n_unknowns))
        for group in groups_of_parts(len(self._rows)):
            made += sum(factors[..., part] @ self._rows[part] for part in parts(group))
        return made

    def _check_unseen(self, given: Given, directions: FloatArray | None) -> FloatArray:
        """Return directions ν, in units of the columns, along which no score of a row changes.

        Without a penalty the coefficients c of least norm have ν·c = 0 if X·ν is constant (0
        without an intercept), and still minimise the squares if (ν·c)² is added to them.
        """
        none = np.zeros((0, self.n_unknowns))
        if directions is None or given.alpha or directions.shape[1:] != given.train.shape[1:]:
            return none
        if not all(is_unseen(given, whole(each, lowest(each))) for each in directions):
            return none
        zeros = np.zeros((len(directions), int(given.intercept)))
        return scaled(np.column_stack((directions, zeros)), -self._units - self._power // 2)

    def _inverse_size(self, given: FloatArray) -> float:
        """Return a bound on the norm of K⁻¹ from an approximate inverse."""
        if given.shape != (self.n_unknowns, self.n_unknowns):
            return math.inf
        inverse = np.ldexp(given, self._units[:, None] + self._units + self._power)
        matrix = self._sums(self._rows.T * self._weights)
        matrix[np.diag_indices_from(matrix)] += self._penalty
        matrix += self._unseen.T @ self._unseen
        sizes = self._columns + np.sqrt(self._penalty) + np.abs(self._unseen).sum(axis=0)
        doubt = self._lost_rows * sizes * (sizes @ np.abs(inverse).sum(axis=1))
        symmetric = np.array_equal(inverse, inverse.T)
        return inverse_size(matrix, inverse, doubt, inverse) if symmetric else math.inf

    def influence(self, subjects: FloatArray, hints: FloatArray) -> Influence:
        """Return the influence on scores, given w̃ for each."""
        ends = subjects[:, -1] if self._intercept else np.zeros(len(subjects))
        if self._shift.any():
            subjects = subjects - np.append(self._shift, 0.0) * subjects[:, -1:]
        subjects = np.ldexp(subjects, -self._units)
        hints = np.ldexp(hints, self._units + self._power)
        size = norm(hints, axis=1)
        z = hints @ self._rows.T
        energy = np.sqrt(np.einsum("ij,ij,j->i", z, z, self._weights)) * SAFETY + ROOT_OF_TINY
        z *= self._weights
        terms = [subjects, -self._sums(z), -hints * self._penalty]
        terms.append(-(hints @ self._unseen.T) @ self._unseen)
        unseen = np.abs(hints) @ np.abs(self._unseen.T) @ np.abs(self._unseen)
        # Sums over rows are off by this, by Cauchy and Schwarz once more.
        residual = np.abs(sum(terms)) + (self._lost_rows * energy)[:, None] * self._columns
        residual += 8 * UNIT * sum(map(np.abs, terms)) + self._lost * unseen
        by_products = self._lost * self._size * size
        spread = (self._spread(residual * SAFETY + TINY) + by_products) * SAFETY + TINY
        score, middle = hints @ self._moment, self._middle * ends
        moment = self._lost * norm(self._moment) + self._lost_rows * self._size * self._label_size
        doubt = size * moment + (spread + UNIT * energy) * self._label_size
        doubt += 2 * UNIT * (np.abs(score) + np.abs(middle))
        drift = self._lost * size * SAFETY + _LITTLE**2
        doubt = doubt * SAFETY + TINY
        return Influence(z, drift, spread, self._sizes, self._weights, score + middle, doubt)

    def _spread(self, residual: FloatArray) -> FloatArray:
        """Return bounds on √(ρᵀK⁻¹ρ), given bounds on the entries of ρ."""
        by_inverse = norm(residual, axis=1) * np.sqrt(self._inverse)
        width = self.n_unknowns - int(self._intercept)
        rest, last = residual[:, :width], residual[:, width:].sum(axis=1)
        # A mean is at most the norm of its column over the root of the total weight.
        rest = rest + self._columns[:width] * (last / np.sqrt(self._total))[:, None]
        moved = norm(rest / np.sqrt(self._penalty[:width]), axis=1)
        by_penalty = np.hypot(moved, last / np.sqrt(self._total))
        return np.asarray(np.fmin(by_inverse, by_penalty))


class _WithLabels:
    """What is given, with labels that may be others."""

    def learn(self, given: Given) -> None:
        """Take labels of the same rows."""
        self._given = given


class Dual(_WithLabels):
    """Kernel ridge, or ridge with alpha 0; hints are z̃, of equal rows their sum.

    With an intercept they have one number more, the unknown that its equation brings.
    """

    def __init__(self, given: Given, proof: dict[str, FloatArray]) -> None:
        self.learn(given)
        self._used = np.flatnonzero(given.weights)
        weights, rows = given.weights[self._used], given.train[self._used]
        self._lost = gamma(max(given.train.shape[1], len(weights)) + 8)
        self._is_kernel = given.kind == "kernel-ridge"
        if self._is_kernel:
            self._kind, self._share = np.arange(len(weights)), np.array(1.0)
            penalty = np.diag(given.alpha / weights)
            matrix, doubt = rows[:, self._used].T + penalty, 2 * UNIT * penalty
        else:
            if given.alpha:
                raise UnprovenError("only without a penalty the dual of ridge is that of a kernel")
            first, kind, _ = distinct(rows)
            order = np.argsort(first)  # kinds in the order in which they appear
            self._kind = np.argsort(order)[kind]
            self._share = weights / np.bincount(self._kind, weights)[self._kind]
            self._power = int(exponents(np.abs(rows).max(initial=0.0)))
            self._rows = scaled(rows[first[order]], -self._power)
            self._norms = norm(self._rows, axis=1)
            matrix = self._rows @ self._rows.T
            doubt = self._lost * self._norms[:, None] * self._norms
        self._size = len(matrix)
        if not 0 < self._size <= _MOST_UNKNOWNS:
            raise UnprovenError("there are too many training rows")
        if given.intercept:
            matrix, doubt = np.pad(matrix, (0, 1), constant_values=1.0), np.pad(doubt, (0, 1))
            matrix[-1, -1] = 0.0
        self.n_unknowns, self._matrix = len(matrix), matrix
        self._doubt = doubt + UNIT * np.abs(np.diag(np.diag(matrix)))
        self.inverse, inverse = math.inf, proof.get("inverse", matrix[:0])
        if inverse.shape == matrix.shape:
            doubt = np.abs(inverse) @ self._doubt.sum(axis=1)
            self.inverse = inverse_size(inverse, matrix, doubt, inverse)

    def influence(self, subjects: FloatArray, hints: FloatArray) -> Influence:
        """Return the influence on scores, given z̃ for each."""
        given, size = self._given, self._size
        if self._is_kernel:
            right, lost = subjects[:, self._used], np.array(0.0)
        else:
            rows = scaled(subjects[:, : given.train.shape[1]], -self._power)
            right = rows @ self._rows.T
            lost = self._lost * norm(rows, axis=1)[:, None] * self._norms
        residual = np.abs(right - hints @ self._matrix[:size].T) + lost
        sizes = np.abs(hints) @ (self._doubt + self._lost * np.abs(self._matrix))[:size].T
        residual = (residual + sizes + UNIT * np.abs(right)).max(axis=1) + TINY
        if given.intercept:
            missed = np.abs(subjects[:, -1] - hints[:, :size].sum(axis=1))
            residual = np.maximum(residual, missed + self._lost * np.abs(hints).sum(axis=1))
        z = np.zeros((len(hints), len(given.labels)))
        z[:, self._used] = hints[:, self._kind] * self._share
        error = self.inverse * residual + self._lost * np.abs(hints).max(axis=1)
        sizes = (given.weights > 0).astype(float)
        return _given_influence(z, error * SAFETY + TINY, sizes, given)


class Smoother(_WithLabels):
    """Scores that are sums of labels, each times a number that is given."""

    n_unknowns = 0

    def __init__(self, given: Given, proof: dict[str, FloatArray]) -> None:
        self.learn(given)

    def influence(self, subjects: FloatArray, hints: FloatArray) -> Influence:
        """Return the influence on scores, which needs no hints."""
        none = np.zeros(len(subjects))
        return _given_influence(subjects, none, np.ones(subjects.shape[1]), self._given)


def _given_influence(
    z: FloatArray, drift: FloatArray, sizes: FloatArray, given: Given
) -> Influence:
    """Return influence of which each entry has a bound of its own."""
    terms, none = z * given.labels, np.zeros_like(drift)
    doubt = gamma_of_parts(len(given.labels)) * np.abs(terms).sum(axis=1)
    doubt = (doubt + drift * float(sizes @ np.abs(given.labels))) * SAFETY + TINY
    return Influence(z, drift, none, sizes, given.weights, sum_of_parts(terms), doubt)


Model = Ridge | Dual | Smoother


def linear_model(given: Given, proof: dict[str, FloatArray], hints: FloatArray) -> Model | None:
    """Return the model of a certificate; None if doubles, or its hints, prove nothing."""
    kind: type[Model] = Dual if "dual" in proof else Ridge
    kind = Smoother if given.kind == "smoother" else kind
    try:
        with np.errstate(all="ignore"):
            model = kind(given, proof)
    except UnprovenError:
        return None
    return model if is_ordinary() and hints.shape[1] == model.n_unknowns else None


# --- selections -----------------------------------------------------------------------------


def facts(given: Given, found: Influence, asked: Asked) -> list[Facts]:
    """Return what is known of each score."""
    shifts = [_shift(given, found, at, moves) for at, moves in enumerate(asked.moves)]
    reaches = _reaches(given, found, asked).tolist()
    low = np.nextafter(found.score - found.doubt, -np.inf).tolist()
    high = np.nextafter(found.score + found.doubt, np.inf).tolist()
    if not is_ordinary():
        return [Facts(UNKNOWN, dict.fromkeys(COLUMNS, UNKNOWN))] * len(low)
    made = []
    for *score, reach, shift in zip(low, high, reaches, shifts, strict=True):
        known = {of: ends_of(*ends) for of, ends in zip(COLUMNS, reach, strict=True)}
        made.append(Facts(ends_of(*score), known, shift))
    return made


def _reaches(given: Given, found: Influence, asked: Asked) -> FloatArray:
    """Return bounds on how far labels move each score, as `COLUMNS`."""
    movable = (given.lower < 0) | (given.upper > 0)
    here = slice(None) if movable.all() else np.flatnonzero(movable)
    ends, z = np.stack((given.lower[here], given.upper[here])), found.z[:, here]
    moved, made = z * ends[:, None], np.empty((len(z), len(COLUMNS), 2))
    turned = {UP: moved, DOWN: -moved}
    budget, prices = given.budget, np.split(asked.thresholds, len(COLUMNS), axis=1)
    for at, (way, which) in enumerate(COLUMNS):
        amount = asked.labels[:, which]
        doubt = doubt_of(given, found, budget.labels(amount))
        at_least, at_most = budget.reach(turned[way], here, ends, amount, prices[at])
        for row, each in enumerate(asked.cases):
            effects = np.maximum(way * found.z[row] * given.lower, way * found.z[row] * given.upper)
            if at in each and np.isfinite(effects).all():
                bound = budget.in_cases(effects.tolist(), asked.amounts[row][which], each[at])
                at_most[row] = np.fmin(at_most[row], bound)
        made[:, at, 0] = np.fmax(at_least - doubt, 0.0)  # no label need move
        made[:, at, 1] = np.nextafter(at_most + doubt, np.inf)
    return made


def doubt_of(given: Given, found: Influence, count: FloatArray) -> FloatArray:
    """Return how far so many labels move each score otherwise than by their effects, at most."""
    far = np.maximum(-given.lower, given.upper)
    moved, squares = found.sizes * far, found.weights * far * far
    drift = np.minimum(count * moved.max(initial=0.0), moved.sum()) + TINY
    spread = np.sqrt(np.minimum(count * squares.max(initial=0.0), squares.sum()))
    doubt = found.drift * drift + found.spread * (spread + ROOT_OF_TINY)
    return np.asarray(doubt * SAFETY + TINY)


def _shift(given: Given, found: Influence, at: int, moves: Moves | None) -> Ends:
    """Return bounds on how far labels that are named move a score."""
    if moves is None:
        return UNKNOWN
    steps = np.zeros(len(given.labels))
    for row, end, share in moves.steps(given.lower, given.upper):
        steps[row] = end * share
    places = np.flatnonzero(steps)
    moved, terms = steps[places], found.z[at, places] * steps[places]
    far = math.sqrt(float(found.weights[places] @ moved**2)) + ROOT_OF_TINY
    doubt = found.drift[at] * (float(found.sizes[places] @ np.abs(moved)) + TINY)
    doubt += found.spread[at] * far + 4 * UNIT * float(np.abs(terms).sum())
    doubt = float(doubt) * SAFETY + (len(terms) + 1) * TINY
    if not np.isfinite(terms).all() or not math.isfinite(doubt):
        return UNKNOWN
    low, high = (math.fsum(terms) + sign * doubt for sign in (-1, 1))
    return ends_of(math.nextafter(low, -math.inf), math.nextafter(high, math.inf))
