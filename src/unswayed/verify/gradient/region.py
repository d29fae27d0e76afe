"""Regions: boxes of margins that no admissible labels lead out of, and bounds inside them.

**Inside a box** (`Box.reach`). Let θ̂ miss the equations of the labels as they are by ρ, and let Δ
lead from θ̂ to the solution for other labels. Their equations differ by H̄Δ = Σ p_j a_j - ρ, with
the pushes p_j of changed labels and H̄ = Σ W_i s_i a_i a_iᵀ + Λ, s_i the secant of row i between
both margins. In a box of margins these are between known bounds, so that N ≼ H̄⁻¹ ≼ P for two
matrices that are known, and for all x

    |xᵀ H̄⁻¹ a - xᵀ (P + N)/2 a| <= √(xᵀ (P - N)/2 x · aᵀ (P - N)/2 a).

So the effect of every label on xᵀΔ is known up to an error of its own, and xᵀΔ is at most the sum
of the largest effects, and what ρ adds.

**Selection** (`Box.largest`). Of some numbers v >= 0 let k at most be chosen, m of those inside a
set and o of the others at most. For all t', t'' >= t >= 0 they sum up to

    k t + m (t' - t) + o (t'' - t) + Σ_inside max(v - t', 0) + Σ_outside max(v - t'', 0)   at most:

a number that is chosen is t' + (v - t') at most, or t'' + (v - t''), and t' = t + (t' - t).

**Closer** (`Remainder`). For any numbers τ_i, any vector v and K = Σ τ_i a_i a_iᵀ + Λ, the same
equations give, where row i's margin moves by m_i,

    xᵀΔ = Σ_j p_j (v·a_j) + Σ_i (v·a_i) (τ_i - c_i) m_i - vᵀρ + (x - Kv)ᵀΔ,   c_i = W_i s_i,

and times Δ itself they give Σ_j p_j m_j - Σ_i c_i m_i² - ρᵀΔ = ΔᵀΛΔ >= 0. Added to the first with a
price μ >= 0, xᵀΔ is at most

    Σ_j p_j (v·a_j + μ m_j) + Σ_i [(v·a_i)(τ_i - c_i) m_i - μ c_i m_i²] - vᵀρ - μρᵀΔ + (x - Kv)ᵀΔ.

The first sum is a selection, each m_j at an end of its box. A term of the second is at most the top
of a parabola on each of a few parts of the box, for one end of the range of c_i there. With
e² = ΔᵀH̄Δ, the second equation bounds e by √(ρᵀH̄⁻¹ρ) + √(Σ p_j m_j), and |zᵀΔ| by e √(zᵀH̄⁻¹z) for
every z: this is for rounding and for ρ.

**Inclusion** (`Region`). If what follows inside a box for the margin of every training row, by
either bound, is strictly less than the box allows, no admissible labels lead out of it: labels that
change little by little, after ρ has been taken back little by little, move the solution
continuously, and it would have to cross the border. Pushes are then shares of those above, which no
bound minds.

**Cases** (`covered`). A box may be about those labels only of which `least` to `most` are inside a
set of rows: m = most, o = k - least. What holds in cases that leave out no number holds.

The file has it all: boxes, bounds on W_i s_i, P and N up to their defects, thresholds t' and t''
(t is the smaller one), τ as the secants to given parameters, v, μ, and which bound is for what.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from unswayed.verify.document import CertificateError
from unswayed.verify.doubles import SAFETY, TINY, UNIT, FloatArray, IntArray, UnprovenError, gamma
from unswayed.verify.gradient.equations import Gram, Inverse, Point, Problem, forms, norms, score
from unswayed.verify.gradient.functions import MEAN

# Ends of the parts of each side of a box, as shares of it: two grids that a file may name.
PARTS = (0.0, 0.4, 1.0), (0.0, 0.06, 0.125, 0.18, 0.25, 0.37, 0.5, 0.62, 0.75, 0.87, 1.0)
# Of the table of bounds. Plan 0 is a selection, 1 and 2 are remainders on either grid with slopes
# at the centre, 3 and 4 with the first slopes of the file, and so on. Rows are the distinct
# training rows, then the subjects of claims. The last two are thresholds.
COLUMNS = ("box", "row", "sign", "labels", "plan", "price", "inside", "outside")
_MOST_BOXES = 2**10
_BLOCK, _CLOSE_BLOCK = 2**21, 2**18  # effects at a time: those of remainders stay in the cache
_FEW = 2**16  # secants that are bounded at a time
_LEAST = 1e-100  # a price of 0 makes lines of parabolas, whose tops are at the ends

Part = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


class Limits(NamedTuple):
    """How many labels may change: in all, within some of the pushes, and among the others."""

    labels: int
    within: IntArray  # Pushes
    most_inside: int
    most_outside: int


class Box:
    """Bounds that hold as long as no margin of a training row leaves a box."""

    def __init__(
        self, problem: Problem, centre: Point, ends: FloatArray, inverses: FloatArray,
        limits: Limits,
    ) -> None:  # fmt: skip
        self.problem, self.centre, self.limits = problem, centre, limits
        self.down, self.up, low, high = ends
        self.low, self.high = self._curvatures(-self.down, self.up)
        if not ((low <= self.low) & (high >= self.high)).all():
            raise UnprovenError("curvatures of the file are not those of its region")
        width = len(problem.power)
        flat = Inverse(problem, low, inverses[:width])
        steep = Inverse(problem, high, inverses[width:])
        self.above = flat.above
        self._middle, self._half = (self.above + steep.below) / 2, (self.above - steep.below) / 2
        self._size = np.abs(self.above) + np.abs(steep.below)
        self.residual = flat.residual(centre)
        rows, signs, amounts, counts = problem.pushes
        self.amounts = amounts * self._factor()[rows] * (1.0 + 4 * UNIT)
        # What labels spend at most if margins are at the ends of the box: see `Remainder`.
        self.spent = self.amounts * np.where(signs > 0, self.up[rows], self.down[rows])
        most = limits.labels * self.spent.max(initial=0.0)
        self.energy = float(min(most, self.spent @ counts)) * SAFETY
        self.length = (self.residual + np.sqrt(self.energy)) * SAFETY
        self._parts: dict[int, list[Part]] = {}

    def _curvatures(self, least: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds on W_i s_i where margins move by `least` to `most`."""
        centre, labels = self.centre, self.centre.labels
        margins, error = (
            np.broadcast_to(each, least.shape).ravel() for each in (centre.margins, centre.error)
        )
        found = self.problem.link.slopes(margins, least.ravel(), most.ravel(), error)
        low, high = (each.reshape(least.shape) for each in found)
        lost = labels.doubt + 4 * UNIT
        return labels.weight * low * (1.0 - lost), labels.weight * high * (1.0 + lost)

    def _factor(self) -> FloatArray:
        """Return what class weights multiply the push of a flipped label by, at most.

        A flip takes its own row's loss from one class to the other: it adds the second weight
        times (1 - mean) and the first times the mean, at the margin that it leads to.
        """
        first, second = self.problem.class_weights
        if first == second == 1.0:
            return np.ones(len(self.down))
        ends = np.stack((-self.down - self.centre.error, self.up + self.centre.error))
        mean = self.problem.link.mean(self.centre.margins + ends)
        found = (first * mean + second * (1.0 - mean)) * (1.0 + 4 * MEAN)
        return np.asarray(found.max(axis=0) + 4 * MEAN * (first + second))

    def parts(self, grid: int) -> list[Part]:
        """Return parts of the box, with the ends of W_i s_i that matter for rising effects first.

        (v·a)(τ - c) m - μ c m² falls with c where (v·a) m > 0. Where that is below 0, the term is
        above 0 only if |v·a| > μ|m|, and then rises with c.
        """
        if grid not in self._parts:
            ends = [
                np.sort(np.outer((side * first, side * last), end), axis=0)
                for side, end in ((-1.0, self.down), (1.0, self.up))
                for first, last in pairwise(PARTS[grid])
            ]
            found: list[Part] = []
            step = max(1, _FEW // max(1, len(self.down)))
            for at in range(0, len(ends), step):
                least, most = np.stack(ends[at : at + step], axis=1)
                low, high = self._curvatures(least, most)
                low, high = np.maximum(low, self.low), np.minimum(high, self.high)
                found += zip(least, most, low, high, strict=True)
            self._parts[grid] = [
                part if (part[1] > 0).any() else (*part[:2], part[3], part[2]) for part in found
            ]
        return self._parts[grid]

    def largest(self, effects: FloatArray, labels: int, marks: FloatArray) -> FloatArray:
        """Return upper bounds on the sums of the largest effects, one of each push."""
        if not effects.shape[1] or not labels:
            return np.zeros(len(effects))
        limits, least = self.limits, marks.min(axis=1)
        over = effects - marks[:, 1:]
        if len(limits.within):
            over[:, limits.within] = effects[:, limits.within] - marks[:, :1]
        np.maximum(over, 0.0, out=over)
        total = over @ self.problem.pushes.counts + labels * least
        rooms = min(labels, limits.most_inside), min(labels, limits.most_outside)
        total += (marks - least[:, None]) @ np.array(rooms, dtype=np.float64)
        total = total * (1.0 + gamma(effects.shape[1] + 8)) + TINY
        return np.where(least >= 0, total, np.inf)

    @cached_property
    def _sides(self) -> tuple[FloatArray, FloatArray]:
        """The rows of labels that rise, and of those that fall: with factors of errors beside."""
        design, pushes = self.problem.design, self.problem.pushes
        spread = forms(design, self._half, self._size)
        whole = np.column_stack((design, spread, norms(design)))
        whole = whole[pushes.rows] * self.amounts[:, None]
        return whole[pushes.signs > 0], whole[pushes.signs < 0]

    def reach(self, directions: FloatArray, labels: int, marks: FloatArray) -> FloatArray:
        """Return how far so many labels can raise scores at most, seen from the centre."""
        width = directions.shape[1]
        middle = directions @ self._middle
        spread = forms(directions, self._half, self._size)
        # What rounding does to the middle, to that product and to products with it.
        rounding = gamma(2 * width + 12) * norms(np.abs(directions) @ self._size)
        rounding += gamma(width + 8) * norms(middle)
        left = np.column_stack((middle, spread * (1.0 + 1e-9), rounding * SAFETY))
        rise, fall = self._sides
        effects = np.empty((len(left), len(rise) + len(fall)))
        np.matmul(left, rise.T, out=effects[:, : len(rise)])
        left[:, :-2] *= -1.0
        np.matmul(left, fall.T, out=effects[:, len(rise) :])
        extra = forms(directions, self.above, np.abs(self.above)) * self.residual * SAFETY
        return (self.largest(effects, labels, marks) + extra) * (1.0 + 4 * UNIT)


class Remainder:
    """Bounds inside a box for one choice of slopes τ."""

    def __init__(self, box: Box, slopes: FloatArray, gram: Gram, grid: int) -> None:
        self._box, self._slopes, self._gram, self._parts = box, slopes, gram, box.parts(grid)
        # What rounding is relative to: per unit of |v·a_i|, and per unit of the price.
        widest = np.maximum(box.down, box.up)
        apart = np.maximum(np.abs(slopes - box.low), np.abs(box.high - slopes))
        self._linear = apart * widest
        self._square = float(box.high @ (widest * widest)) * SAFETY

    def reach(
        self, directions: FloatArray, solved: FloatArray, price: FloatArray, labels: int,
        marks: FloatArray,
    ) -> FloatArray:  # fmt: skip
        """Return how far so many labels can raise scores at most, seen from the centre."""
        box, pushes = self._box, self._box.problem.pushes
        effects = solved @ box.problem.design.T
        error = gamma(solved.shape[1] + 8) * norms(solved)[:, None] * box.problem.sizes
        error = error * SAFETY + TINY
        fixed = self._fixed(directions, solved) + error @ self._linear
        spent = (effects[:, pushes.rows] * pushes.signs + error[:, pushes.rows]) * box.amounts
        spent += price[:, None] * box.spent
        best = np.zeros_like(effects)  # a margin that does not move
        cost = np.maximum(price, _LEAST)[:, None]
        helpful = effects > 0
        for first, last, helping, hindering in self._parts:
            bend = np.where(helpful, helping, hindering)
            slope = (self._slopes - bend) * effects
            bend *= cost
            top = np.clip(slope / (2.0 * bend + 1e-200), first, last)
            slope -= bend * top
            slope *= top
            np.maximum(best, slope, out=best)
        sizes = (np.abs(effects) + error) @ self._linear + price * self._square
        lost = (len(self._slopes) + 64) * UNIT * sizes
        lost += price * (box.residual * box.length + 8 * UNIT * box.energy)
        total = box.largest(spent, labels, marks) + best.sum(axis=1)
        found = (total + (lost + fixed) * SAFETY) * (1.0 + 8 * UNIT)
        return np.where(price >= 0, found, np.inf)

    def _fixed(self, directions: FloatArray, solved: FloatArray) -> FloatArray:
        """Return bounds on (x - Kv)ᵀΔ - vᵀρ."""
        box, gram, rho = self._box, self._gram, self._box.centre
        left, size = np.abs(solved), np.abs(box.above)
        missed = directions - solved @ gram.matrix
        lost = gamma(solved.shape[1] + 3) * (np.abs(directions) + left @ np.abs(gram.matrix))
        lost += gram.doubt * gram.sizes * (left @ gram.sizes)[:, None]
        away = forms(missed, box.above, size) + forms(lost * SAFETY, size, size)
        own = np.abs(solved @ rho.missed) + left @ rho.doubt * SAFETY
        own += gamma(solved.shape[1] + 2) * (left @ np.abs(rho.missed))
        return np.asarray((away * box.length + own) * SAFETY)


class Bound(NamedTuple):
    """How far labels raise, or lower, the score of a subject at most."""

    labels: int
    least: int  # Where so many to so many of them are inside the set of the file
    most: int
    far: float  # The score itself, at most or at least
    close: bool  # Whether that took a remainder


def covered(bounds: list[Bound], sign: int, last: int) -> float:
    """Return what holds whatever number of labels is inside; infinite if nothing does."""
    numbers = {0, *(each.least for each in bounds), *(each.most + 1 for each in bounds)}
    worst = -np.inf
    for inside in (each for each in numbers if each <= last):
        here = (sign * each.far for each in bounds if each.least <= inside <= each.most)
        worst = max(worst, min(here, default=np.inf))
    return sign * worst


class Region:
    """The boxes of a file, and what is proven in those that hold."""

    def __init__(
        self, problem: Problem, centre: Point, here: Inverse, proof: dict[str, FloatArray],
        subjects: FloatArray, labels: int,
    ) -> None:  # fmt: skip
        self._problem, self._centre, self._here = problem, centre, here
        self.labels = labels
        size, width = len(problem.first), len(problem.power)
        self._boxes = sized(proof, "boxes", (None, size))
        count = len(self._boxes) // 4
        self.why = "" if count else "the file has no region"
        self._inverses = sized(proof, "inverses", (2 * count * width, width))
        self._cases = whole(sized(proof, "cases", (count, 2)), 0, labels)
        self._own = problem.scaled(sized(proof, "own", (None, width)))
        self._inside = sized(proof, "inside", (size,)) > 0
        self._table = sized(proof, "bounds", (None, len(COLUMNS)))
        tops = count - 1, size + len(subjects) - 1, 1, labels, len(self._own) + 2
        for at, top in enumerate(tops):
            whole(self._table[:, at], -1 if COLUMNS[at] == "sign" else 0, top)
        if len(self._boxes) != 4 * count or count > _MOST_BOXES or (self._boxes < 0).any():
            raise CertificateError("boxes of the proof must have ends and curvatures of 0 or more")
        self._directions = np.vstack((problem.design, subjects))
        self.n_bounds = int((self._table[:, 1] >= size).sum())  # On subjects
        self.n_inside = int(problem.pushes.counts[self._inside[problem.pushes.rows]].sum())

    def bounds(self) -> Iterator[tuple[int, int, Bound]]:
        """Yield what is proven of subjects: which of them, the sign, and the bound."""
        size = len(self._problem.first)
        for number in range(len(self._cases)):
            table = self._table[self._table[:, 0] == number]
            try:
                found = self._bounded(number, table)
                self._check(number, table, found)
            except UnprovenError as error:
                self.why = str(error)
                continue
            rows, signs = table[:, 1].astype(np.int64), table[:, 2]
            value, lost = score(self._directions[rows], self._centre.parameters)
            far = np.nextafter(found + lost, np.inf)
            far = np.nextafter(value + signs * far, signs * np.inf)
            far = np.where(self._directions[rows].any(axis=1), far, 0.0)
            least, most = self._cases[number].tolist()
            for at in np.flatnonzero(rows >= size).tolist():
                labels, plan = int(table[at, 3]), table[at, 4]
                made = Bound(labels, least, most, float(far[at]), bool(plan))
                yield int(rows[at]) - size, int(signs[at]), made

    def _check(self, number: int, table: FloatArray, found: FloatArray) -> None:
        """Raise unless the bounds on margins of training rows are strictly inside their box."""
        rows, ends = table[:, 1].astype(np.int64), np.full((2, len(self._directions)), np.inf)
        for end, sign in enumerate((-1, 1)):
            which = (table[:, 2] == sign) & (table[:, 3] == self.labels)
            np.fmin.at(ends[end], rows[which], found[which])
        box = self._boxes[4 * number : 4 * number + 2]
        # Rows of zeros have margin 0 whatever the parameters are.
        inside = (ends[:, : box.shape[1]] < box).all(axis=0) | ~self._problem.design.any(axis=1)
        outside = np.flatnonzero(~inside)
        if len(outside):
            raise UnprovenError(
                f"labels may lead out of the region of the file, of {len(outside):,} distinct "
                f"training rows, the first of which is {self._problem.first[outside].min()}"
            )

    def _bounded(self, number: int, table: FloatArray) -> FloatArray:
        """Return the bounds of a table, all of them in one box."""
        width, (least, most) = len(self._problem.power), self._cases[number].tolist()
        within = np.flatnonzero(self._inside[self._problem.pushes.rows])
        box = Box(
            self._problem, self._centre, self._boxes[4 * number : 4 * number + 4],
            self._inverses[2 * number * width : 2 * (number + 1) * width],
            Limits(self.labels, within, most, self.labels - least),
        )  # fmt: skip
        found = np.full(len(table), np.inf)
        for labels, plan in np.unique(table[:, 3:5], axis=0).astype(np.int64).tolist():
            which = np.flatnonzero((table[:, 3] == labels) & (table[:, 4] == plan))
            rest = self._remainder(box, plan - 1) if plan else None
            effects = _CLOSE_BLOCK if plan else _BLOCK
            step = max(1, effects // max(1, len(box.down), len(box.amounts)))
            for start in range(0, len(which), step):
                at = which[start : start + step]
                rows, marks = table[at, 1].astype(np.int64), table[at, 6:]
                directions = self._directions[rows] * table[at, 2, None]
                if rest is None:
                    found[at] = box.reach(directions, labels, marks)
                else:
                    solved = self._solved(directions, plan - 1)
                    found[at] = rest.reach(directions, solved, table[at, 5], labels, marks)
        return np.where(np.isnan(found), np.inf, found)

    def _solved(self, directions: FloatArray, plan: int) -> FloatArray:
        """Return v of each direction."""
        if plan < 2:
            return directions @ self._here.matrix
        return np.broadcast_to(self._own[plan - plan % 2 - 1], directions.shape)

    def _remainder(self, box: Box, plan: int) -> Remainder:
        """Return bounds inside a box, for the slopes and the grid of a plan."""
        if plan < 2:
            return Remainder(box, self._here.curvature, self._here.gram, plan)
        problem, margins = self._problem, self._centre.margins
        moved = problem.design @ self._own[plan - plan % 2 - 2]
        slopes = self._centre.labels.weight * problem.link.secant(margins, moved)
        return Remainder(box, slopes, problem.gram(slopes), plan % 2)


def sized(proof: dict[str, FloatArray], name: str, shape: tuple[int | None, ...]) -> FloatArray:
    """Return an array of the proof, zeros if there is none; raise unless it has this shape."""
    found = proof.get(name, np.zeros([length or 0 for length in shape]))
    fits = zip(found.shape, shape, strict=False)
    if found.ndim != len(shape) or any(top not in (None, length) for length, top in fits):
        raise CertificateError(f"{name!r} of the proof is {found.shape}, not {shape}")
    return found


def whole(numbers: FloatArray, low: int, high: int) -> IntArray:
    """Return numbers of the proof as integers; raise unless they are within two."""
    found = np.rint(numbers)
    if not ((found == numbers) & (found >= low) & (found <= high)).all():
        raise CertificateError(f"numbers of the proof must be whole, and {low} to {high}")
    return found.astype(np.int64)
