"""Label audits: confirm answers by checking labels that are drawn, without any budget.

The claim about a number is that true labels do not take it across its margin. Labels are drawn
without replacement, label i with probability p_i among those that are left. If the claim is false,
true labels move the number by more than its margin, so that what the labels that are left do to it
is at least m, the margin less what is known; what the drawn label does, divided by its p_i, is an
estimate of it without bias, and at most b = max rise_i / p_i. So a capital that is multiplied by
1 + λ(m - estimate) at every draw, with 0 <= λ <= 1/(b - m) fixed before, does not grow on average:
it reaches 1/risk with a probability of at most `risk`, whenever one looks and however many errors
are found. The mean of such capitals for several λ is one, too. Everything is rounded such that
the capital is never too large.
"""

import copy
import math
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unswayed._core.rounding import UNIT, ordinary_arithmetic
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.evidence import audit_file
from unswayed.evidence.answers import Answered, Audited
from unswayed.evidence.audit_file import Batch, Findings
from unswayed.evidence.capital import (
    FRACTIONS,
    LAST_BITS,
    Capital,
    Moved,
    Together,
    as_risk,
    as_seed,
    as_together,
)
from unswayed.exceptions import InputError
from unswayed.results.notebook import SHOWN, table
from unswayed.results.reviews import ExpectedChecks
from unswayed.words import as_text, counted, number_end, percent

_WHOLE = 2**52  # probabilities are whole numbers over about this
_STEP = 25  # draws at a time in simulated audits
_HOPELESS = 3.0  # times what a new row needs: rows that need more are not drawn for more


class LabelAudit:
    """Answers that are confirmed by checking labels, without any budget.

    Made by `label_audit` of a fitted model. Draw labels, let people find out what is true of them,
    and record that: answers count in the order of the draws, so that one that is missing holds up
    those behind it. A file that was saved once keeps every draw and answer from then on.

    Parameters
    ----------
    audited : Audited
        What it is about; `label_audit` makes it.
    risk, together, seed, about : float, str, int and dict
        As for `label_audit`.

    Examples
    --------
    A hundred labels; none of those that are drawn turns out to be wrong.

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> labels = np.array(["no", "yes"] * 50)
    >>> model = CertifiedClassifier(LinearRegression(), bias=LabelBias.flips(budget=1))
    >>> audit = model.fit([[0], [1]] * 50, labels).label_audit([[0], [1]], together="all")
    >>> while not audit.confirmed.all():
    ...     rows = audit.draw(5)
    ...     audit.record(rows, labels[rows])
    >>> audit
    <LabelAudit: 2 of 2 rows confirmed after 15 labels, 0 of them wrong>
    >>> print(audit.claim)
    true labels give the same answer for all 2 rows; a false claim is confirmed with a chance of \
at most 5.0 %, over the random draw of the labels to check

    Its file only grows. Copies that several people answered are merged.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "audit.json"
    >>> audit.save(path)
    >>> again = LabelAudit.load(path, model, [[0], [1]])
    >>> again.merge(path)
    >>> again.expected(checks=[10]).counts.tolist()
    [[2]]
    """

    def __init__(
        self,
        audited: Audited,
        *,
        risk: float,
        together: Together,
        seed: int,
        about: dict[str, Any] | None = None,
    ) -> None:
        self.risk, self.together, self.seed = as_risk(risk), as_together(together), as_seed(seed)
        self.about, self._audited = about or {}, audited
        self._effects, self.claims, self._group = audited.effects, audited.claims, audited.group
        self._targets = audited.targets
        effects, claims = self._effects, self.claims
        self._batches: list[Batch] = []
        self._answers: dict[int, Any] = {}
        self._moved: dict[int, Moved] = {}
        self._counted = 0
        total = np.zeros(len(claims))
        counts = np.bincount(effects.kind[effects.kind >= 0], minlength=effects.n_kinds)
        for here, rise in effects.rises(claims, np.arange(len(claims))):
            total[here] = (rise @ counts) * (1.0 + (effects.n_kinds + 8) * 2 * UNIT)
        self._usable = np.isfinite(total)
        certain = total <= claims.distance
        self._capital = Capital(audited, self.risk, self.together, certain)
        self.file = audit_file.AuditFile(self._header(certain))

    def _header(self, certain: BoolArray) -> dict[str, Any]:
        claims, moves, classes = self.claims, self._effects.moves, self._audited.classes
        return {
            "together": self.together,
            "risk": self.risk,
            "seed": self.seed,
            "question": self._audited.question,
            "about": self.about,
            "names": self.names,
            "classes": None if classes is None else classes.tolist(),
            "positive": self._audited.positive,
            "labels": audit_file.packed(self._targets),
            "lower": audit_file.packed(moves.lower),
            "upper": audit_file.packed(moves.upper),
            "rows": audit_file.packed(self._group.astype(np.int64)),
            "number": audit_file.packed(claims.number.astype(np.int64)),
            "way": audit_file.packed(claims.way),
            "margin": audit_file.packed(claims.distance),
            "certain": audit_file.packed(certain.astype(np.int64)),
            "fractions": FRACTIONS.tolist(),
        } | self._several_header()

    def _several_header(self) -> dict[str, Any]:
        several, duel = self._audited.several, self.claims.duel
        if several is None:
            return {}
        pair = several.winner * several.changes.n_classes + several.rival
        return {
            "allowed": audit_file.packed(several.changes.allowed.astype(np.int64)),
            "duel": audit_file.packed(pair[duel].astype(np.int64)),
            "doubtful": audit_file.packed(self._audited.doubtful.astype(np.int64)),
        }

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of coefficients or sums, where these are audited instead of rows."""
        return self._audited.names

    # --- what was found -------------------------------------------------------------------

    @property
    def drawn(self) -> IntArray:
        """Training rows whose labels were drawn, in that order, (t,)."""
        return np.array([row for batch in self._batches for row in batch.labels], dtype=np.intp)

    @property
    def waiting(self) -> IntArray:
        """Training rows that were drawn and have no answer yet, in the order of the draws."""
        drawn = self.drawn
        return drawn[[row not in self._answers for row in drawn.tolist()]]

    @property
    def answers(self) -> dict[int, Any]:
        """What was recorded of labels, by training row."""
        return dict(self._answers)

    @property
    def n_counted(self) -> int:
        """How many draws count: those before the first one that has no answer yet."""
        return self._counted

    @property
    def wrong(self) -> IntArray:
        """Training rows whose labels turned out to be wrong, or cannot be told, ascending."""
        return np.array(sorted(self._moved), dtype=np.intp)

    @property
    def e_values(self) -> FloatArray:
        """How much evidence there is for each row, (n,): at least 1/risk confirms it alone."""
        return self._capital.of_numbers[self._group]

    @property
    def reached(self) -> BoolArray:
        """Which rows have the evidence they need, (n,); a list of "all" needs it for every row."""
        return self._capital.reached[self._group]

    @property
    def confirmed(self) -> BoolArray:
        """Which rows are confirmed, (n,), in the sense of `claim`."""
        reached = self.reached
        return np.full(len(reached), reached.all()) if self.together == "all" else reached

    @property
    def refuted(self) -> BoolArray:
        """Which rows change if only the labels are corrected that were found wrong so far, (n,)."""
        found = np.zeros(len(self._capital.count), dtype=bool)
        np.logical_or.at(found, self.claims.number, self._capital.known > self.claims.beyond)
        return found[self._group]

    @property
    def claim(self) -> str:
        """What is proven by now, in words."""
        what, rows = "true labels give the same answer", counted(len(self._group), "row")
        if self.together != "all" and not self.confirmed.any():
            return f"nothing yet: none of {rows} has enough evidence"
        many, risk = counted(int(self.confirmed.sum()), "row"), percent(self.risk)
        draw = "over the random draw of the labels to check"
        false = f"a false claim is confirmed with a chance of at most {risk}, {draw}"
        if self.together == "all":
            if self.confirmed.all():
                return f"{what} for all {rows}; {false}"
            return f"nothing yet: {int(self.reached.sum()):,} of {rows} have enough evidence, and \
the list is confirmed when all have"
        if self.together == "each":
            return f"{what} for {many} of {len(self._group):,}; for each of them by itself, {false}"
        return f"{what} for {many} of {len(self._group):,}, except for a share of at most \
{risk} of them, on average {draw}"

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {int(self.confirmed.sum()):,} of "
            f"{counted(len(self._group), 'row')} confirmed after "
            f"{counted(self._counted, 'label')}, {len(self._moved):,} of them wrong>"
        )

    def _repr_html_(self) -> str:
        found, confirmed, names = self.e_values, self.confirmed, self.names
        at = np.argsort(found, kind="stable")[:SHOWN]
        named = at.tolist() if names is None else [as_text(names[each]) for each in at]
        columns = {
            "row" if names is None else "name": named,
            "evidence (e-value)": [number_end(each, -1, 3) for each in found[at].tolist()],
            "confirmed": ["yes" if each else "no" for each in confirmed[at]],
        }
        return table(self.claim, columns, total=len(found))

    # --- draws ----------------------------------------------------------------------------

    @ordinary_arithmetic()
    def draw(self, n: int, *, aim: float | None = None) -> IntArray:
        """Draw labels to check, with probabilities that suit the rows that are still open.

        No label is drawn twice. Fewer than `n` are drawn, or none, if no others matter.

        Parameters
        ----------
        n : int
            How many labels.
        aim : float, optional
            The share of all rows that checks should confirm soonest, from 0 to 1; by default the
            share that brings most confirmed rows per check, or all rows if the list is confirmed as
            a whole. The risk is the same for every aim.

        Returns
        -------
        (n,) array of int
            Training rows, in the order in which their answers count.
        """
        if isinstance(n, bool | np.bool_) or not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"n must be a number of labels to draw, 1 or more; got {n!r}")
        if aim is not None and not 0 < aim <= 1:
            raise InputError(f"aim must be a share of the rows, above 0 and up to 1; got {aim!r}")
        batch = self._next(int(n), 1.0 if self.together == "all" else aim)
        if not len(batch.labels):
            return np.zeros(0, dtype=np.intp)
        self.file.append(batch.line())
        self._batches.append(batch)
        return np.array(batch.labels, dtype=np.intp)

    def _next(self, n: int, aim: float | None) -> Batch:
        """Choose probabilities and draw."""
        kind, claims, capital = self._effects.kind, self.claims, self._capital
        free = kind >= 0
        free[self.drawn] = False
        left = np.bincount(kind[free], minlength=self._effects.n_kinds).astype(np.float64)
        open_ = np.flatnonzero(~capital.settled & (capital.margin > 0) & self._usable)
        most = np.full(len(claims), np.inf)
        weights = self._weights(open_, left, aim) if left.any() else left
        total = float(weights @ left)
        if not total > 0:
            return Batch(np.zeros(len(kind), dtype=np.int64), most, [])
        whole = np.maximum(np.ceil(weights / total * _WHOLE), weights > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            for here, rise in self._effects.rises(claims, open_):
                share = np.where((rise > 0) & (left > 0), rise / whole, 0.0)
                most[open_[here]] = share.max(axis=1, initial=0.0) * (1.0 + LAST_BITS)
        chances = np.where(free, whole[kind], 0.0).astype(np.int64)
        return Batch.drawn(chances, most, n, (self.seed, len(self._batches)))

    def _weights(self, open_: IntArray, left: FloatArray, aim: float | None) -> FloatArray:
        """Return how much a label of each kind matters to the rows that are worth checking for.

        With probabilities in proportion to the largest of need · rise / margin over some claims, no
        others confirm the slowest of these sooner; the sum is about how many draws that takes.
        """
        capital, found = self._capital, np.zeros(self._effects.n_kinds)
        level = math.log((2 if self.together == "discoveries" else 1) / self.risk)
        with np.errstate(divide="ignore"):
            need = level - np.log(np.maximum(capital.e_values[open_], 1e-300))
        urgency = np.clip(need, 0.1, _HOPELESS * level) / capital.margin[open_]
        if aim != 1.0:
            chosen = self._worth(open_, urgency, left, aim)
            open_, urgency = open_[chosen], urgency[chosen]
        for here, rise in self._effects.rises(self.claims, open_):
            np.maximum(found, (rise * urgency[here, None]).max(axis=0, initial=0.0), out=found)
        return found

    def _worth(
        self, open_: IntArray, urgency: FloatArray, left: FloatArray, aim: float | None
    ) -> IntArray:
        """Return the claims to check for: the easiest, as many as pay, or as were aimed at."""
        rises, claims, own = self._effects.rises, self.claims, np.zeros(len(open_))
        for here, rise in rises(claims, open_):
            own[here] = (rise @ left) * urgency[here]
        order = np.argsort(own, kind="stable")
        per_number = np.bincount(claims.number, minlength=len(self._capital.count))
        rows = (self._capital.count / np.maximum(per_number, 1))[claims.number]
        gained = np.cumsum(rows[open_][order])
        if aim is not None:
            wanted = aim * len(self._group) - float(self._capital.reached[self._group].sum())
            return order[: int(np.searchsorted(gained, wanted - 1e-9)) + 1]
        cost, running = np.zeros(len(order)), np.zeros((1, len(left)))
        for here, rise in rises(claims, open_[order]):
            scaled = np.vstack((running, rise * urgency[order[here], None]))
            scaled = np.maximum.accumulate(scaled, axis=0)
            cost[here], running = scaled[1:] @ left, scaled[-1:]
        return order[: int(np.argmax(gained / cost)) + 1] if len(order) else order

    # --- answers --------------------------------------------------------------------------

    @ordinary_arithmetic()
    def record(self, indices: ArrayLike, labels: Any) -> None:
        """Record what is true of labels that were drawn.

        All of it is recorded, or nothing if something is wrong with it.

        Parameters
        ----------
        indices : (q,) array-like of int
            Training rows that were drawn, in any order.
        labels : (q,) array-like
            Their true labels, classes or numbers as at `fit`; ``"?"`` where nobody can tell,
            which counts as the label that would do most harm to each row.

        Raises
        ------
        InputError
            If a label was not drawn, has another answer already, is none of the classes, or lies
            outside of the interval that the bias gives it.
        """
        rows, answers = np.atleast_1d(np.asarray(indices)), _listed(labels)
        if (
            rows.ndim != 1
            or len(rows) != len(answers)
            or (len(rows) and rows.dtype.kind not in "iu")
        ):
            raise InputError(
                f"indices and labels must be training rows and as many true labels, got "
                f"{len(rows)} of kind {rows.dtype} and {len(answers)}"
            )
        found = Findings()
        for row, answer in zip(rows.tolist(), answers, strict=True):
            read = self._read(row, answer)
            if row in found.answers and found.answers[row] != read.known:
                raise audit_file.twice(row, found.answers[row], read.known)
            self._put(found, row, read)
        self._take(found)

    def _put(self, found: Findings, row: int, read: Answered) -> None:
        found.answers[row] = read.known
        if read.wrong:
            found.moved[row] = self._effects.moved(self.claims, row, read.low, read.high)

    def _read(self, row: int, answer: Any) -> Answered:
        """Return what an answer says; raise if its label was not drawn, or it says nothing."""
        if row not in self._drawn_rows:
            raise InputError(
                f"the label of training row {row} was not drawn, so that its answer proves nothing "
                "here: record answers for what draw() returned"
            )
        return self._audited.read(row, answer)

    @property
    def _drawn_rows(self) -> set[int]:
        return {row for batch in self._batches for row in batch.labels}

    def _take(self, found: Findings) -> None:
        """Take answers that were read, write them, and count what can be counted."""
        for row, answer in found.answers.items():
            if row in self._answers and self._answers[row] != answer:
                raise audit_file.twice(row, self._answers[row], answer)
        new = found.without(self._answers)
        if not new.answers:
            return
        self.file.append(new.line())
        self._answers |= new.answers
        self._moved |= new.moved
        self._count()

    def _count(self) -> None:
        """Count draws, in their order, up to the first that has no answer."""
        at = 0
        for batch in self._batches:
            total = int(batch.chances.sum())
            for row in batch.labels:
                if at >= self._counted:
                    if row not in self._answers:
                        return
                    chance = int(batch.chances[row])
                    moved, seen = self._moved.get(row), self._audited.number(self._answers[row])
                    self._capital.bet(batch.most, chance, total, moved, seen)
                    self._counted += 1
                total -= int(batch.chances[row])
                at += 1

    # --- what to expect -------------------------------------------------------------------

    @ordinary_arithmetic()
    def expected(
        self,
        wrong: float = 0.0,
        *,
        checks: ArrayLike | None = None,
        runs: int | None = None,
        aim: float | None = None,
        seed: int = 0,
    ) -> ExpectedChecks:
        """Estimate how many rows further draws confirm, by simulated audits from here on.

        Parameters
        ----------
        wrong : float
            How likely every label is to be wrong, from 0 to 1.
        checks : array of int, optional
            After how many further draws to count; by default after 50, 100, 200 and 400.
        runs : int, optional
            How many audits to simulate; by default 1 if no label is wrong, and else 5.
        aim : float, optional
            As for `draw`.
        seed : int
            Seed of the simulation.

        Returns
        -------
        ExpectedChecks
            Confirmed rows after each number of draws. For a list that is confirmed as a whole, rows
            that have enough evidence.
        """
        places = np.unique(np.asarray((50, 100, 200, 400) if checks is None else checks))
        if places.ndim != 1 or places.dtype.kind not in "iu" or places[0] < 0:
            raise InputError(f"checks must be numbers of draws, 0 or more; got {checks!r}")
        if not 0 <= wrong <= 1:
            raise InputError(f"wrong must be a share of the labels, from 0 to 1; got {wrong!r}")
        many = runs or (5 if wrong else 1)
        counts = [self._simulated(wrong, places, aim, seed + run) for run in range(many)]
        rows = len(self._group)
        return ExpectedChecks(places, np.array(counts), float(wrong), rows, "confirmed")

    def _simulated(self, wrong: float, checks: IntArray, aim: float | None, seed: int) -> list[int]:
        """Return how many rows have enough evidence after further draws, in one simulated audit."""
        rng = np.random.default_rng(seed)
        other = copy.copy(self)
        other._capital, other.file = copy.deepcopy(self._capital), audit_file.AuditFile({})
        other._batches, other._answers = list(self._batches), dict(self._answers)
        other._moved, other.seed = dict(self._moved), seed + 1
        added = self._audited.simulated(wrong, rng)
        found, done = [], 0
        for place in checks.tolist():
            while True:
                said = Findings()
                for row in other.waiting.tolist():
                    self._put(said, row, self._audited.simulated_answer(row, added[row]))
                other._take(said)
                if done >= place or not len(other.draw(min(_STEP, place - done), aim=aim)):
                    break
                done += len(other.waiting)
            found.append(int(other.reached.sum()))
        return found

    # --- files ----------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the audit to a file, which every later draw and answer is added to at once.

        The file is lines of JSON and only grows, so that a crash loses nothing that was recorded.

        Parameters
        ----------
        path : path
            The file, usually named ``.json``.
        """
        self.file.save(Path(path))

    @classmethod
    def load(
        cls, path: str | PathLike[str], model: Any, X: Any = None, **options: Any
    ) -> "LabelAudit":
        """Go on with an audit that was saved.

        Parameters
        ----------
        path : path
            The file; later draws and answers are added to it.
        model : CertifiedClassifier or CertifiedRegressor
            Fitted on the same rows and labels as the model that was audited.
        X : rows, optional
            The rows that were audited; None if coefficients were.
        **options : optional
            Other arguments that `label_audit` was called with: coefficients, sums, decision.

        Returns
        -------
        LabelAudit
            As it was when the file was written.
        """
        header, lines, length = audit_file.read(Path(path))
        settings = {name: header[name] for name in ("risk", "together", "seed")}
        audit: LabelAudit = model.label_audit(X, **settings, **options)
        audit_file.check_same(audit.file.header, header, Path(path))
        # As it was written there, to the last bit.
        audit.about, audit.file = header["about"], audit_file.AuditFile(header)
        audit.claims = audit_file.claims_of(header, audit.claims)
        audit._audited = replace(audit._audited, claims=audit.claims)
        certain = audit_file.unpacked(header["certain"], np.int64).astype(bool)
        audit._capital = Capital(audit._audited, audit.risk, audit.together, certain)
        audit._replay(header, lines, Path(path))
        audit.file.goes_on(Path(path), length)
        return audit

    def merge(self, path: str | PathLike[str]) -> None:
        """Add the answers of another copy of this audit's file, such as another person's.

        Parameters
        ----------
        path : path
            A file that began as a copy of this audit's.
        """
        header, lines, _ = audit_file.read(Path(path))
        self._replay(header, lines, Path(path))

    def _replay(self, header: dict[str, Any], lines: list[dict[str, Any]], path: Path) -> None:
        audit_file.check_same(self.file.header, header, path)
        read = [audit_file.parsed(line) for line in lines]
        drawn = [each for each in read if isinstance(each, Batch)]
        for mine, theirs in zip(self._batches, drawn, strict=False):
            if mine.labels != theirs.labels or (mine.chances != theirs.chances).any():
                raise InputError(
                    f"{path}: labels were drawn there and here after the files were copied, and "
                    "draws of two copies do not add up: draw in one, and copy that"
                )
        names = [row for batch in drawn for row in batch.labels]
        if len(set(names)) < len(names):
            raise InputError(
                f"{path}: a label was drawn twice, which an audit never does: two programs wrote "
                "to this file at once, or it was changed by hand; go on with an earlier copy"
            )
        found = Findings.all([each for each in read if isinstance(each, Findings)])
        for row, answer in found.answers.items():
            if self._answers.get(row, answer) != answer:
                raise audit_file.twice(row, self._answers[row], answer)
        for batch in drawn[len(self._batches) :]:
            self.file.append(batch.line())
            self._batches.append(batch)
        self._take(found)


def _listed(labels: Any) -> list[Any]:
    if isinstance(labels, str) or not hasattr(labels, "__len__"):
        return [labels]
    return list(labels)
