"""Logistic and Poisson regression as scikit-learn defines them, minimised in doubles and in balls.

The objective is Σ_i w_i·loss_i + penalty/2·‖coefficients‖², the intercept free. `GLM.minimise` does
all label vectors at once in doubles; `GLM.enclose` does one in 60 digits and proves its result by
interval Newton: a ball that holds the only minimiser. Nothing here knows the package.
"""

import itertools
from fractions import Fraction

import flint
import numpy as np
from flint import arb, arb_mat

BITS = 200  # 60 digits


class GLM:
    """Training rows, a link ("logit" or "log") and a penalty; labels and weights come later."""

    def __init__(self, rows, *, link, penalty, fit_intercept):
        ones = np.ones((len(rows), int(fit_intercept)))
        self.rows = np.hstack((np.asarray(rows, dtype=float), ones))
        self.link, self.penalty, self.fit_intercept = link, penalty, fit_intercept
        self.free = penalty == 0
        # Without a penalty parameters are told apart by independent columns only.
        width = self.rows.shape[1]
        self.columns = independent(self.rows) if self.free else list(range(width))
        self.design = self.rows[:, self.columns]
        with flint.ctx.workprec(BITS):
            plain = arb(penalty)
            self.ridge = [plain] * width
            if fit_intercept:
                self.ridge[-1] = arb(0)
            self.ridge = [self.ridge[j] for j in self.columns]
            self.balls = arb_mat([[arb(v) for v in row] for row in self.design.tolist()])

    # --- which labels have a minimiser ---------------------------------------------------

    def undefined(self, labels, weights):
        """Which label vectors have no minimiser, exactly: their loss falls along a ray for ever."""
        signs = self.rays(tuple(np.flatnonzero((weights > 0).any(axis=0))))
        found = np.zeros(len(labels), dtype=bool)
        for ray in signs:
            for way in (ray, -ray):
                if self.link == "logit":
                    pushed = np.where(labels > 0.5, way, -way)
                    fine = (pushed >= 0) | (weights == 0)
                else:
                    fine = (way == 0) | ((way < 0) & (labels == 0)) | (weights == 0)
                moves = ((way != 0) & (weights > 0)).any(axis=1)
                found |= fine.all(axis=1) & moves
        return found

    def rays(self, rows):
        """Signs of the rows' margins along every direction that may have no end."""
        if not self.free:
            return [np.ones(len(self.rows))] if self.fit_intercept else []
        table = [[Fraction(v) for v in row] for row in self.design.tolist()]
        kept = list({tuple(table[i]): None for i in rows})
        width, found = len(self.columns), {}
        for chosen in itertools.combinations(kept, width - 1):
            direction = null_vector([list(row) for row in chosen], width)
            if direction is None:
                continue
            margins = (sum(map(Fraction.__mul__, row, direction)) for row in table)
            found[tuple((m > 0) - (m < 0) for m in margins)] = None
        return [np.array(signs) for signs in found]

    def estimable(self, tests):
        """Which rows' scores do not depend on which of several minimisers is taken."""
        if not self.free:
            return np.ones(len(tests), dtype=bool)
        rank = len(self.columns)
        both = (np.vstack((self.rows, row)) for row in tests)
        return np.array([len(independent(each)) == rank for each in both])

    def padded(self, tests):
        """Rows with their constant."""
        return np.hstack((tests, np.ones((len(tests), int(self.fit_intercept)))))

    @property
    def units(self):
        """Directions whose scores are the coefficients."""
        width = self.rows.shape[1]
        return np.eye(width - int(self.fit_intercept), width)

    # --- all label vectors, in doubles ---------------------------------------------------

    def minimise(self, labels, weights, steps=200):
        """Parameters of each label vector (k, n), and the size of the last Newton step."""
        # An intercept that is free takes up any shift of the columns.
        shift = self.design.mean(axis=0) if self._shifts else np.zeros(self.design.shape[1])
        if self._shifts:
            shift[-1] = 0.0
        A = self.design - shift
        scale = np.abs(A).max(axis=0)
        scale = np.where(scale > 1e-12 * np.abs(shift), scale, np.abs(shift) + (shift == 0))
        A = A / scale
        ridge = np.array([float(r) for r in self.ridge]) / scale**2
        theta = np.zeros((len(labels), A.shape[1]))
        size = np.full(len(labels), np.inf)
        at = np.arange(len(labels))
        with np.errstate(all="ignore"):
            for _ in range(steps):
                y, w, t = labels[at], weights[at], theta[at]
                mean, slope = self._mean(t @ A.T)
                gradient = (w * (mean - y)) @ A + ridge * t
                hessian = np.einsum("ki,ij,il->kjl", w * slope, A, A)
                hessian[:, range(len(ridge)), range(len(ridge))] += ridge + 1e-300
                step = _solved(hessian, gradient)
                before = self._loss(t, A, y, w, ridge)
                part = np.ones(len(at))
                for _ in range(30):
                    worse = ~(
                        self._loss(t - part[:, None] * step, A, y, w, ridge)
                        <= before + 1e-12 * (1 + np.abs(before))
                    )
                    if not worse.any():
                        break
                    part[worse] /= 2
                theta[at] = t - part[:, None] * step
                size[at] = np.abs(step).max(axis=1, initial=0.0) / (
                    1e-3 + np.abs(t).max(axis=1, initial=0.0)
                )
                at = at[~(size[at] < 1e-13)]
                if not len(at):
                    break
        theta /= scale
        if self._shifts:
            theta[:, -1] -= theta @ shift
        return theta, size

    @property
    def _shifts(self):
        """Whether the last of the columns is that of the intercept."""
        return self.fit_intercept and self.columns[-1] == self.rows.shape[1] - 1

    def _mean(self, margins):
        if self.link == "logit":
            mean = 1 / (1 + np.exp(-margins))
            return mean, mean / (1 + np.exp(margins))
        mean = np.exp(margins)
        return mean, mean

    def _loss(self, theta, A, y, w, ridge):
        margins = theta @ A.T
        base = np.logaddexp(0, margins) if self.link == "logit" else np.exp(margins)
        return (w * (base - y * margins)).sum(axis=1) + (ridge * theta**2).sum(axis=1) / 2

    # --- one label vector, proven --------------------------------------------------------

    def enclose(self, labels, weights, start):
        """Balls around the parameters of one label vector; raises where none can be proven."""
        with flint.ctx.workprec(BITS):
            y, w = ([arb(v) for v in each.tolist()] for each in (labels, weights))
            theta = [arb(v) for v in np.nan_to_num(start).tolist()]
            last = np.inf
            for _ in range(300):
                step = self._step(theta, theta, y, w)
                theta, size = self._moved(theta, step, y, w)
                if size < 1e-20 and not size < last / 4:  # rounding rules: steps shrink no more
                    break
                last = size
            step = self._step(theta, theta, y, w)
            for spread in (1, 2**20, 2**40):
                radius = [
                    spread * (16 * s.abs_upper() + t.abs_upper() * arb(2) ** -150)
                    for s, t in zip(step, theta, strict=True)
                ]
                ball = [
                    t + arb(0, float(r) * 1.001 + 1e-300)
                    for t, r in zip(theta, radius, strict=True)
                ]
                step = self._step(theta, ball, y, w)
                proven = [t - s for t, s in zip(theta, step, strict=True)]
                if all(b.contains_interior(p) for b, p in zip(ball, proven, strict=True)):
                    return proven
        raise ArithmeticError("no minimiser could be enclosed")

    def score(self, row, theta):
        """Score of a test row with its constant, given balls of parameters."""
        with flint.ctx.workprec(BITS):
            return sum(
                (arb(float(row[j])) * t for j, t in zip(self.columns, theta, strict=True)), arb(0)
            )

    def _step(self, at, box, y, w):
        """Newton's step at a point, with the curvature of a box around it."""
        residual = [
            wi * (self._exactly(m)[0] - yi)
            for wi, yi, m in zip(
                w, y, (self.balls * arb_mat([[t] for t in at])).entries(), strict=True
            )
        ]
        slopes = [
            wi * self._exactly(m)[1]
            for wi, m in zip(w, (self.balls * arb_mat([[t] for t in box])).entries(), strict=True)
        ]
        turned = self.balls.transpose()
        gradient = (turned * arb_mat([[r] for r in residual])).entries()
        gradient = [g + r * t for g, r, t in zip(gradient, self.ridge, at, strict=True)]
        weighted = arb_mat(
            [[s * v for v in row] for s, row in zip(slopes, self.balls.tolist(), strict=True)]
        )
        hessian = turned * weighted
        for j, r in enumerate(self.ridge):
            hessian[j, j] += r
        return hessian.solve(arb_mat([[g] for g in gradient])).entries()

    def _moved(self, theta, step, y, w):
        """The next point, and the size of the step to it."""
        size = max((float(s.abs_upper()) for s in step), default=0.0)
        largest = max((float(t.abs_upper()) for t in theta), default=0.0)
        part, before = arb(1), None
        if size > 1e-6 * (1e-6 + largest):  # far away: never uphill
            before = self._exact_loss(theta, y, w)
        while True:
            new = [(t - part * s).mid() for t, s in zip(theta, step, strict=True)]
            if before is None or not self._exact_loss(new, y, w) > before:
                return new, size / (largest + 1e-30)
            part /= 2

    def _exactly(self, margin):
        if self.link == "logit":
            mean = 1 / (1 + (-margin).exp())
            return mean, mean / (1 + margin.exp())
        mean = margin.exp()
        return mean, mean

    def _exact_loss(self, theta, y, w):
        total = arb(0)
        for m, yi, wi in zip(
            (self.balls * arb_mat([[t] for t in theta])).entries(), y, w, strict=True
        ):
            logit = self.link == "logit"
            base = m.max(arb(0)) + (-abs(m)).exp().log1p() if logit else m.exp()
            total += wi * (base - yi * m)
        return total + sum((r * t * t for r, t in zip(self.ridge, theta, strict=True)), arb(0)) / 2


def _solved(matrices, vectors):
    try:
        return np.linalg.solve(matrices, vectors[..., None])[..., 0]
    except np.linalg.LinAlgError:
        found = [
            np.linalg.lstsq(m, v, rcond=None)[0] if np.isfinite(m).all() else 0 * v
            for m, v in zip(matrices, vectors, strict=True)
        ]
        return np.array(found)


# --- exact linear algebra -----------------------------------------------------------------


def reduced(table, width):
    """Row echelon form of fractions, and the columns of its pivots."""
    table, pivots = [row[:] for row in table], []
    for column in range(width):
        rank = len(pivots)
        best = next((i for i in range(rank, len(table)) if table[i][column]), None)
        if best is None:
            continue
        table[rank], table[best] = table[best], table[rank]
        pivot = table[rank][column]
        table[rank] = [v / pivot for v in table[rank]]
        for i, row in enumerate(table):
            if i != rank and row[column]:
                table[i] = [v - row[column] * u for v, u in zip(row, table[rank], strict=True)]
        pivots.append(column)
    return table, pivots


def independent(rows):
    """Columns of a matrix of doubles that span all of them."""
    table = [[Fraction(v) for v in row] for row in np.unique(rows, axis=0).tolist()]
    return reduced(table, rows.shape[1])[1]


def null_vector(table, width):
    """The direction that rows of rank width − 1 leave alone; None for another rank."""
    table, pivots = reduced(table, width)
    if len(pivots) != width - 1:
        return None
    (other,) = set(range(width)) - set(pivots)
    direction = [Fraction(0)] * width
    direction[other] = Fraction(1)
    for row, column in zip(table, pivots, strict=False):
        direction[column] = -row[other]
    return direction
