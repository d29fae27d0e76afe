"""A question: rows put to a fitted model, equal ones once, and its answer in the user's terms."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unswayed._core.rounding import ordinary_arithmetic, wider
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.engines.anchors import (
    MAX_ANCHORS,
    ByBox,
    BySandwich,
    ParameterBox,
    Sandwich,
    check_budget,
)
from unswayed.engines.choice import Cascade, Trained
from unswayed.engines.classes import ByDuels, ClassCase, ClassEngine
from unswayed.engines.linear import Duel, LinearCase
from unswayed.engines.protocol import Case, Certifier, Engine, Terms, score_columns
from unswayed.engines.selection import ExactEngine
from unswayed.engines.votes import VotesCase
from unswayed.estimators.fitted import Fitted, LabelCode, need
from unswayed.exceptions import InputError
from unswayed.joint.classes import fragile_classes
from unswayed.joint.fragile import Fragile
from unswayed.joint.ranges import Sums
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget, Count
from unswayed.margins.decisions import Answer, Decision, Margins
from unswayed.models.learner import Scores
from unswayed.results.certificates import CertificateSet, MinimumBudgets
from unswayed.results.curves import Summary
from unswayed.results.groups import StandardErrors
from unswayed.results.rows import Witness

if TYPE_CHECKING:
    from unswayed.estimators.cases_proof import Proof
    from unswayed.estimators.certificate_file import CollectiveClaim

Section: TypeAlias = Callable[[], dict[str, Any]]  # of a certificate file, made on demand

_MOST_NUMBERS = 2**28  # of the influence rows that are held at once: 2 GB


def first_rows(group: IntArray) -> IntArray:
    """Return the first row of each kind of equal rows."""
    return np.unique(group, return_index=True)[1]


def check_size(n_fragile: int, n_entries: int) -> None:
    """Raise if the influence rows of all rows that can be overturned would fill the memory."""
    if n_fragile * n_entries > _MOST_NUMBERS:
        raise InputError(
            f"{n_fragile} of these rows can be overturned by themselves, and what {n_entries} "
            f"different training rows do to each would take over {8 * _MOST_NUMBERS >> 30} GB; ask "
            "about fewer rows, or a smaller budget"
        )


# --- Methods: who bounds the scores of rows --------------------------------------------------


METHODS = ("auto", "exact", "sandwich", "box")
Method: TypeAlias = str | ParameterBox | Sandwich | Certifier


def check_method(method: Method) -> None:
    """Raise unless `method` is the name of a method, or has the fingerprint that bounds carry."""
    known = isinstance(method, str) and method in METHODS
    if not known and (isinstance(method, type | str) or not hasattr(method, "fingerprint")):
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")


def certifier_of(
    fitted: Fitted, asked: Trained, decision: Decision, budget: Budget, method: Method
) -> Certifier | None:
    """Return the certifier that a method means; None for the engine itself."""
    coefficients = method in ("box", "sandwich") or isinstance(method, ParameterBox | Sandwich)
    if coefficients and asked is not fitted.model:
        raise InputError(
            "bounds on coefficients do not bound scores that are measured from the mean of the "
            "labels, as they are with threshold='balanced': use method='exact' or 'auto'"
        )
    if isinstance(asked.engine, ClassEngine):
        return _by_duels(asked.engine, budget, method)
    build: dict[str, Callable[[], Any]] = {
        "exact": lambda: None,
        "auto": lambda: asked.auto,
        "box": lambda: parameter_box(fitted, budget),
        "sandwich": lambda: sandwich(fitted, decision, budget, MAX_ANCHORS),
    }
    made: Any = build[method]() if isinstance(method, str) else method
    if made is None:
        return None
    if made.fingerprint != asked.engine.fingerprint:
        raise InputError(
            f"this {type(made).__name__} was built from another model or bias than this one; "
            "bounds prove nothing beyond what they were built from: build one from this model"
        )
    if not coefficients:
        found: Certifier = made
        return found
    check_budget(made, budget)
    if isinstance(made, Sandwich):
        return BySandwich(made)
    return ByBox(made, fitted.learner.with_coefficients())


def _by_duels(engine: ClassEngine, budget: Budget, method: Method) -> Certifier | None:
    """Return the certifier of several classes: bounds for every rival."""

    def box(case: LinearCase[ExactEngine]) -> Certifier:
        learner = case.engine.learner.with_coefficients()
        names = tuple(map(str, range(learner.n_parameters)))
        return ByBox(ParameterBox.build(case.engine, budget, case.terms.solution, names), learner)

    def anchors(case: LinearCase[ExactEngine]) -> Certifier:
        made = Sandwich(case.engine, budget, MAX_ANCHORS)
        return BySandwich(made.choose_anchors(case.terms.solution, case.decision))

    makers: dict[Any, Any] = {"box": box, "sandwich": anchors}
    makers["auto"] = lambda case: Cascade(case.engine)
    if method == "exact":
        return None
    if not isinstance(method, str):
        raise InputError(
            "bounds that were built before are about one score, and several classes have a lead "
            "over every rival; pass method='box', 'sandwich' or 'auto'"
        )
    return ByDuels(engine.fingerprint, makers[method])


def parameter_box(fitted: Fitted, budget: Budget) -> ParameterBox:
    """Build the box of all parameters a budget can lead to."""
    learner, names = fitted.parametric, fitted.names
    names += ("mean prediction",) * (learner.n_parameters - len(names))
    engine: Any = fitted.engine  # engines that offer bounds evaluate anchors
    return ParameterBox.build(engine, budget, fitted.model.solution, names)


def sandwich(fitted: Fitted, decision: Decision, budget: Budget, max_anchors: int) -> Sandwich:
    """Build anchors and boxes that bound the range of every row from both sides."""
    if "anchors" not in fitted.parametric.capabilities:
        raise InputError(
            "there are fewer training rows than features, so that exact certificates are "
            "cheaper than any bound: use method='exact'"
        )
    engine: Any = fitted.engine
    made = Sandwich(engine, budget, max_anchors)
    return made.choose_anchors(fitted.model.solution, decision)


# --- A question: rows put to a fitted model, equal ones once, and its answer in the user's terms


_QUICK = 2**24  # training rows, times rows in question, times parameters
_LEAST = 2**31  # the same, of minimum budgets: half a second


@dataclass(frozen=True, eq=False)
class Asked:
    """Rows put to a model, and where its training rows are among all labels."""

    question: "Question"
    place: IntArray
    known: FloatArray | None = None  # minimum budgets of the rows, where they were computed before

    @cached_property
    def least(self) -> FloatArray:
        """Minimum budgets of the distinct rows, 0 where nothing is known."""
        if self.known is None:
            found = self.question.case.least.low
        else:
            found = self.known[first_rows(self.question.group)]
        return np.nan_to_num(found, nan=0.0, posinf=np.inf)


class Source(ABC):
    """Rows put to one model, or each to the model of its fold: what certificates are made from."""

    origin: Any  # the user's rows: a frame of their library is given back

    @abstractmethod
    def witness(self, row: int, amount: float) -> Witness:
        """Return the smallest known set of `amount` label changes at most that overturns a row."""

    @abstractmethod
    def training_labels(self) -> NDArray[Any]:
        """Return all training labels, as the user writes them."""

    @abstractmethod
    def asked(self) -> list[Asked]:
        """Return the rows put to each model."""

    @abstractmethod
    def rivals(self) -> NDArray[np.object_] | None:
        """Return the class that the fewest labels make of each row; None of two classes."""

    @property
    def counted(self) -> bool:
        """Whether the budget is a number of labels, which a summary is about."""
        return all(each.question.engine.bias.budget.countable for each in self.asked())

    @property
    def quick(self) -> bool:
        """Whether a summary takes no time worth mentioning."""
        return all(each.question.is_small for each in self.asked())

    @property
    def least_is_quick(self) -> bool:
        """Whether minimum budgets take no time worth mentioning, so that printing may ask."""
        return all(each.question.has_quick_least for each in self.asked())

    def summary(self, certificates: CertificateSet, seed: int) -> Summary:
        """Return what wrong labels do to these rows one at a time, together and at random."""
        from unswayed.estimators.three_numbers import summary_of  # noqa: PLC0415  (a circle)

        return summary_of(self.asked(), certificates, seed=seed)

    def report(self, certificates: CertificateSet, path: Path, **shown: Any) -> None:
        """Write a page about certificates."""
        # The charts' libraries take a second: only those who want a page pay for them.
        try:
            from unswayed.estimators.report import write_report  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise ImportError(
                f"a report needs {error.name}, which is not installed: "
                'pip install "unswayed[report]"'
            ) from error
        write_report(self, certificates, path, **shown)


@dataclass(frozen=True, eq=False, kw_only=True)
class Question(Source):
    """Rows put to a fitted model, with all that it takes to answer even after another fit."""

    engine: Engine
    case: Case  # of the distinct rows
    decision: Decision
    targets: FloatArray  # training labels as numbers
    code: LabelCode
    group: IntArray  # the distinct row of each row
    origin: Any  # the user's rows
    trusted: tuple[str, ...] = ()  # what the caller vouched for
    seen: Any = None  # rows as the final estimator sees them
    estimator: Any = None  # fitted, the model behind it
    coefficients: Callable[[], tuple[CertificateSet, Sequence[str]] | None] = lambda: None

    @classmethod
    def of(cls, fitted: Fitted, trained: Trained, rows: Any, terms: Terms, **asked: Any) -> Self:
        """Put distinct rows to a fitted model."""
        return cls(
            engine=trained.engine,
            case=trained.engine.case(rows, terms),
            decision=terms.decision,
            targets=fitted.targets,
            code=fitted.labels.code,
            trusted=fitted.trusted,
            **asked,
        )

    @property
    def margins(self) -> Margins:
        """How far the score of each distinct row may move."""
        return self.case.margins

    @property
    def scores(self) -> Scores:
        """The scores of the distinct rows."""
        return self.case.scores

    @property
    def offsets(self) -> tuple[FloatArray, FloatArray]:
        """How far each training label may fall and rise."""
        return self.engine.bias.lower, self.engine.bias.upper

    @property
    def said(self) -> IntArray:
        """The number of the class of each row, where classes are predicted."""
        if isinstance(self.case, ClassCase | VotesCase):
            return self.case.winner[self.group]
        return self.decision.positive(self.scores.value)[self.group].astype(np.intp)

    def training_labels(self) -> NDArray[Any]:
        """Return training labels as the user writes them."""
        return self.code.decode(self.targets)

    @cached_property
    def count(self) -> IntArray:
        """How many rows each distinct row stands for."""
        return np.bincount(self.group, minlength=len(self.case.rows))

    # --- answers --------------------------------------------------------------------------

    def certificates(
        self,
        answer: Answer,
        budget: Budget,
        names: tuple[str, ...] | None = None,
        link: str | None = None,
    ) -> CertificateSet:
        """Return an answer as certificates, settled in rational arithmetic where that was asked."""
        columns = score_columns(self.scores, answer.bounds)
        self.case.settle(answer, budget, columns)
        prediction = self.case.predictions(columns["score"])
        return CertificateSet(
            **{name: values[self.group] for name, values in columns.items()},
            verdict=answer.verdict[self.group],
            budget=budget.amount,
            question=f"{self.decision} if {budget}",
            prediction=prediction[self.group],
            trusted=self.trusted,
            method=answer.method[self.group],
            names=names,
            source=self,
            link=link,
            unit=budget.unit,
            candidates=answer.candidates,
        )

    @ordinary_arithmetic()
    def minimum_budgets(self) -> MinimumBudgets:
        """Return the least number of wrong labels that overturns each row."""
        return self.case.least[self.group]

    @ordinary_arithmetic()
    def rivals(self) -> NDArray[np.object_] | None:
        """Return the class that the fewest labels make of each row, None where there is none."""
        classes = self.decision.classes
        if "rivals" not in self.engine.can or classes is None:
            return None
        case: Any = self.case  # of an engine with "rivals"
        found = np.append(classes.astype(object), [None])[case.rivals[self.group]]
        return np.asarray(found, dtype=object)

    def rule(self, budget: Budget) -> dict[str, Any]:
        """Return what must stay, as a certificate file states it."""
        if self.decision.task != "classes":
            return self.decision.document()
        if not isinstance(budget, Count):
            raise InputError(
                "certificate files about three or more classes take a number of labels as the "
                f"budget, and not one of kind {type(budget).__name__}; to_frame() has the verdicts"
            )
        learner: Any = self.engine.learner  # of several classes
        codes = [int(code) for code in learner.codes]
        return {"task": self.decision.task, "codes": codes, "to": self.engine.bias.classes.table()}

    def claim(self, row: int) -> int | None:
        """Return the prediction of a row as a certificate file states it."""
        at = int(self.group[row])
        if isinstance(self.case, ClassCase | VotesCase):
            return int(self.case.winner[at])
        # A double may round an exact score onto the threshold.
        exact = self.case.exact.get(at)
        return self.decision.claim(
            exact.score if exact is not None else Fraction(float(self.scores.value[at]))
        )

    @ordinary_arithmetic()
    def witness(self, row: int, amount: float) -> Witness:
        """Return the smallest known set of `amount` label changes at most that overturns a row."""
        budget = self.engine.bias.budget
        found = self.case.changes(int(self.group[row]), budget.sized(amount))
        used = None if budget.unit == "labels" else budget.used(found.rows, found.added)
        before = self.targets[found.rows] if found.before is None else found.before
        labels = self.code.decode(before + found.added)
        rival = None if found.rival is None else self.code.decode(np.array([found.rival]))[0]
        words = None if used is None else budget.in_words(used)
        return Witness(found.rows, labels, found.score, found.places, rival, words)

    def standard_errors(self) -> StandardErrors:
        """Return by how much chance in the sample moves the numbers that are asked about."""
        found = self.case.standard_errors()
        return replace(found, values=found.values[self.group])

    # --- all rows at once -----------------------------------------------------------------

    @property
    def duels(self) -> list[Duel]:
        """Cases of one score each, all of which a row has to keep: one for every rival class."""
        need(self.engine, "evidence", "what single labels do to all rows")
        case: Any = self.case  # of an engine with "evidence"
        found: list[Duel] = case.duels
        return found

    @cached_property
    def selection(self) -> LinearCase[ExactEngine]:
        """The case, in dense rows, where one set of labels can be put to all of its rows."""
        need(self.engine, "joint", "one set of labels for all rows")
        assert isinstance(self.case, LinearCase)  # noqa: S101  (what engines with "joint" make)
        engine = self.case.engine.full()
        if engine is self.case.engine:
            return self.case
        rows = replace(self.case.rows, learner=engine.learner)
        return LinearCase(engine, rows, self.case.scores, self.case.terms)

    def under(self, bias: ResolvedBias, targets: FloatArray | None = None) -> "Question":
        """Return the same question under another bias, and for other labels if they are given."""
        several = isinstance(self.case, ClassCase)
        case: Any = self.case if several else self.selection
        engine: Any = (ClassEngine if several else ExactEngine)(case.engine.learner, bias)
        terms = case.terms
        if targets is not None:
            terms = terms._replace(targets=targets, solution=engine.learner.solve(targets))
        return replace(
            self, engine=engine, case=engine.case(case.rows, terms), targets=terms.targets
        )

    def fragile(self, budget: Budget, ways: tuple[float, ...] = (1, -1)) -> Fragile:
        """Find the rows that can be overturned, and what labels do to them."""
        if isinstance(self.case, ClassCase):
            return fragile_classes(self.case, budget, check_size)
        case = self.selection
        bounds, margins = case.answer(budget).bounds, case.margins
        found: list[tuple[IntArray, float, FloatArray]] = []
        unknown = ~np.isfinite(margins.slack)
        for way, outer, margin in (
            (1.0, bounds.outer_up, margins.up),
            (-1.0, bounds.outer_down, margins.down),
        ):
            if way in ways:
                within = wider(outer, np.where(unknown, 0.0, margins.slack)) <= margin
                rows = np.flatnonzero(np.isfinite(margin) & (unknown | ~within))
                found.append((rows, way, margin[rows]))
        row = np.concatenate([rows for rows, _, _ in found])
        sign = np.concatenate([np.full(len(rows), way) for rows, way, _ in found])
        engine = case.engine
        check_size(len(row), len(engine.influence.entries))
        weights = case.rows.take(row)
        effects = engine.effects(weights, budget)
        forward = sign > 0
        values = weights.block(0, len(row)).values if len(row) else np.zeros((0, 0))
        return Fragile(
            row=row,
            way=sign,
            influence=effects.influence * sign[:, None],
            margin=np.concatenate([margin for _, _, margin in found]),
            error=wider(effects.error, margins.slack[row]),
            ahead=np.where(forward, effects.up, effects.down),
            back=np.where(forward, effects.down, effects.up),
            weights=values * sign[:, None],
            design=engine.influence.entry_rows,
            entries=engine.influence.entries,
            n_labels=len(engine.bias.lower),
            budget=budget,
            whole=engine.bias.whole,
        )

    def sums(self, budget: Budget, factors: FloatArray) -> Sums:
        """Return weighted sums of the scores, given how much each row counts in each."""
        case = self.selection
        merged = np.zeros((len(factors), len(case.rows)))
        for each, into in zip(factors, merged, strict=True):
            np.add.at(into, self.group, each)
        return Sums.of(case.engine, case.rows, case.scores, budget, merged)

    def exact_scores(self) -> list[Fraction]:
        """Return the scores of the distinct rows in rational arithmetic."""
        case = self.selection
        return [row.score for _, row in case.exactly(np.arange(len(case.rows)))]

    def claimed(
        self,
        budget: Budget,
        section: Section,
        cases: "Proof",
        closer: Callable[[], list[float]] | None = None,
    ) -> "CollectiveClaim":
        """Return what a certificate file about all rows would be written from."""
        from unswayed.estimators.certificate_file import CollectiveClaim  # noqa: PLC0415  (a circle)

        return CollectiveClaim(self, budget, section(), cases, closer)

    @property
    def n_effects(self) -> int:
        """How many effects label changes have on one row: of classes, on each of its rivals."""
        if isinstance(self.case, ClassCase):
            engine = self.case.engine
            return len(engine.shared.entries) * (engine.changes.n_classes - 1) ** 2
        return len(self.selection.engine.influence.entries)

    @property
    def is_small(self) -> bool:
        """Whether one set of labels for all rows is found in no time worth mentioning."""
        if "together" not in self.engine.can or not self.engine.bias.budget.countable:
            return False
        numbers = self.engine.learner.n_rows * len(self.group)
        if isinstance(self.case, ClassCase):
            numbers *= (self.case.engine.changes.n_classes - 1) ** 2
        return numbers * (1 + self.engine.width) <= _QUICK

    @property
    def has_quick_least(self) -> bool:
        """Whether one selection for each row says what its minimum budget is, and they are few."""
        engine, case = self.engine, self.case
        # Regions, passes, knapsacks of costs and rational numbers may take minutes.
        terms: Any = getattr(case, "terms", None) if "exact" in engine.can else None
        if terms is None or terms.resolve or engine.bias.budget.unit == "cost":
            return False
        numbers = engine.learner.n_rows * len(case.rows) * (1 + engine.width)
        rivals = 1 if self.code.classes is None else len(self.code.classes) - 1
        return numbers * rivals <= _LEAST

    def asked(self) -> list[Asked]:
        """Return the rows put to the model."""
        return [Asked(self, np.arange(self.engine.learner.n_rows))]

    def shown(self) -> Matrix | None:
        """Return the rows as the definition of the model sees them, if it sees any."""
        return self.case.rows.shown(self.group)

    # --- files and pages ------------------------------------------------------------------

    def save(self, certificates: CertificateSet, path: Path, data: Path | None) -> None:
        """Write a certificate file, and beside it, if wanted, the data that it is about."""
        need(self.engine, "files", "save")
        # The writer asks for all that is here, so that it is above this file.
        from unswayed.estimators.certificate_file import (  # noqa: PLC0415
            write_certificates,
            write_data,
        )

        if data is not None:
            write_data(self, data)
        write_certificates([certificates], path)

    def report(self, certificates: CertificateSet, path: Path, **shown: Any) -> None:
        """Write a page about certificates."""
        need(self.engine, "pages", "report")
        super().report(certificates, path, **shown)
