"""Certificate files: every claim of some rows, and the data it is about."""

import base64
import hashlib
import json
import math
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from unswayed import __version__
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.atomic import atomic_write
from unswayed.engines.protocol import Claimed
from unswayed.estimators.cases_proof import CasesProof, Proof
from unswayed.estimators.fitted import need
from unswayed.estimators.linear_proof import Asked, linear_proof
from unswayed.estimators.question import Question, first_rows
from unswayed.exceptions import InputError
from unswayed.inputs import dense
from unswayed.joint.fragile import Changes
from unswayed.joint.metrics import Form, Named, Quotient, Sample
from unswayed.joint.ranges import Ranges
from unswayed.joint.search import End
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import RATIONAL
from unswayed.results.certificates import CertificateSet, Verdict

Track: TypeAlias = Callable[[Iterable[Any], str, int], Iterable[Any]]

SCHEMA = 3
_ROOM = 2.0**-30  # of the larger end of a range: less than anybody reads
_LONGEST_LIST = 50  # longer lists of row numbers are packed
_BLOCK = 2**20  # numbers hashed at a time
_MOST_PROVEN = 2**23  # numbers that the checker reads
_MOST_BYTES = 2**31  # of features written beside a certificate file


def write_certificates(
    certificates: Sequence[CertificateSet],
    path: Path,
    *,
    recipe: dict[str, Any] | None = None,
    classes: Sequence[Any] | None = None,
    track: Track = lambda steps, what, total: steps,
) -> None:
    """Write a certificate file and its proof beside it, each whole or not at all."""
    questions = [_question(each) for each in certificates]
    if _is_of_parameters(questions[0]) and _kind(questions[0]) == "smoother":
        raise InputError(
            "a certificate file about this model holds the influence of the labels on predictions, "
            "which says nothing of coefficients; save certificates of rows, or of a Ridge"
        )
    budget = questions[0].engine.bias.budget.sized(certificates[0].budget)
    if budget.source is not None and str(budget) not in certificates[0].question:
        raise InputError(
            f"these certificates are about another sample than the model was fitted with, for "
            f"which {budget}: fit with that sample and certify again"
        )
    head = _head(questions, budget, recipe, classes)
    sizes = [len(each) for each in certificates]
    claims = list(chain.from_iterable(map(_claims, certificates, accumulate(sizes, initial=0))))
    settled = np.concatenate([each.method == RATIONAL for each in certificates])
    head |= _write_proof(questions, budget, claims, settled, head, path)
    with atomic_write(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
        file.write(_json(head)[:-1] + ',"claims":[')
        for at, claim in enumerate(track(claims, "writing certificates", sum(sizes))):
            file.write((",\n" if at else "\n") + _json(_plain(claim)))
        file.write("\n]}\n")


def _write_proof(
    questions: Sequence[Question],
    budget: Budget,
    claims: list[dict[str, Any]],
    settled: BoolArray,
    head: dict[str, Any],
    path: Path,
    more: dict[str, FloatArray] | None = None,
) -> dict[str, Any]:
    """Write what proves claims beside their file, and return what the file says of that."""
    first = questions[0]
    specification, bias = first.engine.learner.specification, first.engine.bias
    matrix = specification.matrix
    model = specification.document()
    rows = _subjects(questions, head, model)
    if (rows.size + math.prod(matrix.shape if matrix is not None else (0,))) > _MOST_PROVEN:
        return {}  # more than the checker reads
    number: dict[bytes, int] = {}
    subject = [number.setdefault(row.tobytes(), len(number)) for row in rows]
    distinct = first_rows(np.array(subject))
    if "exact" in first.engine.can:
        n_rows = len(bias.lower)
        within = min(budget.amount, n_rows) if budget.countable else budget.document(n_rows)
        asked = Asked(
            specification, None if matrix is None else _dense(matrix), first.targets, bias.lower,
            bias.upper, within, head["question"], rows[distinct],
            [claims[at] for at in distinct.tolist()], settled[distinct], bias.classes,
        )  # fmt: skip
        arrays, solutions = linear_proof(asked)
        arrays |= more or {}
    else:
        arrays, solutions = first.engine.proof(budget, _claimed(questions, distinct, claims)), {}
    for at, claim in zip(subject, claims, strict=True):
        if at in solutions:
            claim["solution"] = solutions[at]
    content = BytesIO()
    named: dict[str, Any] = dict(arrays)
    np.savez_compressed(content, **named)
    name = f"{path.stem}.proof.npz"
    with atomic_write(path.with_name(name)) as beside:
        beside.write_bytes(content.getvalue())
    return {
        "proof": {
            "file": name,
            "sha256": hashlib.sha256(content.getvalue()).hexdigest(),
            "arrays": [
                {"name": each, "shape": list(values.shape)} for each, values in arrays.items()
            ],
        }
    }


def _claimed(
    questions: Sequence[Question], distinct: IntArray, claims: list[dict[str, Any]]
) -> list[Claimed]:
    """Return the distinct rows of a file with their claims, question by question."""
    made, start = [], 0
    for question in questions:
        stop = start + len(question.group)
        numbers = np.flatnonzero((distinct >= start) & (distinct < stop))
        places = distinct[numbers]
        rows, said = question.group[places - start], [claims[at] for at in places.tolist()]
        made.append(Claimed(question.case, rows, numbers, said))
        start = stop
    return made


def _subjects(
    questions: Sequence[Question], head: dict[str, Any], model: dict[str, Any]
) -> FloatArray:
    """Return what claims are about as rows of features, a number for the intercept last."""
    shown = [matrix for each in questions if (matrix := _represented(each)) is not None]
    intercept = bool(model.get("intercept"))
    width = head["data"]["features"]
    if shown:
        rows = np.vstack([_dense(each) for each in shown]) + 0.0
        ends = np.ones((len(rows), int(intercept)))
        return np.hstack((rows, ends))
    contrasts = head["question"].get("contrasts")
    made = np.zeros((head["data"]["test_rows"], width + int(intercept)))
    if contrasts is None:
        made[:, :width] = np.eye(width)
        return made
    for row, contrast in zip(made, contrasts, strict=True):
        row[contrast["features"]] = contrast["weights"]
        if contrast.get("intercept"):
            row[-1] = 1.0
    return made


def write_data(question: Question, path: Path) -> None:
    """Write training and test rows as the model's specification sees them, and training labels."""
    parts = {"train": question.engine.learner.specification.matrix, "test": _represented(question)}
    arrays: dict[str, Any] = {n: _dense(part) for n, part in parts.items() if part is not None}
    with atomic_write(path) as beside, beside.open("wb") as file:
        np.savez_compressed(file, labels=question.targets, **arrays)


def pack_rows(rows: IntArray) -> list[int] | str:
    """Return row numbers for a certificate file: as a list if there are few, else packed.

    Packed are the differences of successive numbers, by zlib and base64.
    """
    if len(rows) <= _LONGEST_LIST:
        return [int(row) for row in rows]
    return _packed(np.diff(rows, prepend=-1).astype("<u4"))


def pack_doubles(values: FloatArray) -> float | str:
    """Return one number per row for a certificate file."""
    same = bool((values == values[0]).all())
    return float(values[0]) if same else _packed(values.astype("<f8"))


# --- the question ---------------------------------------------------------------------------


def _head(
    questions: Sequence[Question],
    budget: Budget,
    recipe: dict[str, Any] | None,
    classes: Sequence[Any] | None,
) -> dict[str, Any]:
    question = questions[0]
    specification, bias = question.engine.learner.specification, question.engine.bias
    model = specification.document()
    if specification.sample_weight is not None:
        model["weights"] = pack_doubles(specification.sample_weight)
    optional: dict[str, Any] = {"trusted": list(question.trusted)} if question.trusted else {}
    optional |= {} if recipe is None else {"recipe": recipe}
    return {
        "schema": SCHEMA,
        "unswayed": __version__,
        "question": question.rule(budget) | _contrasts(questions),
        "model": model,
        "bias": {
            "lower": pack_doubles(bias.lower),
            "upper": pack_doubles(bias.upper),
            "budget": _plain(budget.document(len(bias.lower))),
        },
        "data": _data(questions) | _classes(question, classes),
    } | optional


def _contrasts(questions: Sequence[Question]) -> dict[str, Any]:
    """Return the sums of coefficients that were asked about, if they were."""
    made = []
    for question in questions:
        if question.case.rows.sums is not None:
            made += _sums(question.case.rows.sums, {})
        elif _is_of_parameters(question) and (rows := question.shown()) is not None:
            model = question.engine.learner.specification.document()
            intercept = {"intercept": True} if model.get("intercept") else {}
            made += _sums(sparse.csr_array(rows), intercept)
    return {"contrasts": made} if made else {}


def _sums(weights: Matrix, intercept: dict[str, bool]) -> list[dict[str, Any]]:
    """Return how often each coefficient counts, and whether the intercept does."""
    weights.eliminate_zeros()
    weights.sort_indices()
    return [
        {"features": weights.indices[row].tolist(), "weights": weights.data[row].tolist()}
        | intercept
        for row in (slice(*ends) for ends in pairwise(weights.indptr.tolist()))
    ]


def _kind(question: Question) -> str:
    """Return the kind of the model, as a file names it."""
    return str(question.engine.learner.specification.kind)


def _is_of_parameters(question: Question) -> bool:
    """Return whether a sign is asked about: a row's prediction is then a sum of coefficients."""
    return question.decision.task == "coefficients"


def _question(certificates: CertificateSet) -> Question:
    if not isinstance(certificates.source, Question):
        raise InputError(
            "these certificates are without the model that made them, which a certificate file "
            "is about: write the file where they were made, or certify again"
        )
    return certificates.source


def _data(questions: Sequence[Question]) -> dict[str, Any]:
    question = questions[0]
    train, n_train = question.engine.learner.specification.matrix, len(question.targets)
    tests = [matrix for each in questions if (matrix := _represented(each)) is not None]
    width = n_train if train is None else int(train.shape[1])
    hashes = {"labels": _sha256([question.targets[:, None]])}
    hashes |= {} if train is None else {"train": _sha256([train])}
    hashes |= {"test": _sha256(tests)} if tests else {}
    sizes = {
        "train_rows": n_train,
        "features": width,
        "test_rows": sum(len(each.group) for each in questions),
    }
    return {**sizes, "sha256": hashes}


def _classes(question: Question, values: Sequence[Any] | None) -> dict[str, Any]:
    """Classes as a file holds them, and the numbers that stand for them."""
    if values is None:
        known = question.code.classes
        values = () if known is None else known.tolist()
    if not values or not all(isinstance(value, str | int | float | None) for value in values):
        return {}  # numbers, or things that no file of texts and numbers holds
    numbers = np.unique(question.targets).tolist()
    return {"classes": {"values": list(values), "numbers": numbers}}


def _represented(question: Question) -> Matrix | None:
    """Test rows as the definition of the model sees them; None for coefficients."""
    return None if _is_of_parameters(question) else question.shown()


def _dense(matrix: Matrix) -> FloatArray:
    if 8 * math.prod(matrix.shape) > _MOST_BYTES:
        raise InputError(
            f"features of {matrix.shape[0]} × {matrix.shape[1]} numbers are too many for a data "
            "file; certify fewer rows, or save without data="
        )
    return dense(matrix)


def _sha256(parts: list[Matrix]) -> str:
    """Of the shape as two 64-bit integers, then row by row of doubles; little-endian, -0 as 0."""
    width = parts[0].shape[1]
    digest = hashlib.sha256(struct.pack("<QQ", sum(part.shape[0] for part in parts), width))
    step = max(1, _BLOCK // max(1, width))
    for part in parts:
        for start in range(0, part.shape[0], step):
            block = dense(part[start : start + step])
            digest.update((block + 0.0).astype("<f8").tobytes())
    return digest.hexdigest()


# --- the claims -----------------------------------------------------------------------------


def _claims(certificates: CertificateSet, start: int) -> Iterator[dict[str, Any]]:
    question = _question(certificates)
    stated = question.case.stated(certificates, question.group)
    least = stated.least
    verdicts = certificates.verdict if stated.verdict is None else stated.verdict
    budget = question.engine.bias.budget
    witnesses: dict[int, dict[str, Any] | None] = {}  # of equal rows, once
    for row in range(len(certificates)):
        verdict = Verdict(verdicts[row])
        claim: dict[str, Any] = {"row": start + row, "verdict": str(verdict)}
        if verdict != Verdict.UNDECIDED and (decision := question.claim(row)) is not None:
            claim["decision"] = decision
        low, high = stated.low[row], stated.high[row]
        if "exact" in question.engine.can:
            low, high = _with_room(low, high)
        ends = (("low", low), ("high", high))
        claim |= {end: float(score) for end, score in ends if np.isfinite(score)}
        # No larger than is proven to be enough, whatever its own rounding hides.
        most, needed = math.inf, float(least.high[row]) * (1.0 if budget.summed else 1.0 + _ROOM)
        if verdict == Verdict.NOT_ROBUST:
            most = float(np.fmin(certificates.budget, needed))
        elif not budget.countable and needed < math.inf:
            most = needed
        group = int(question.group[row])
        if most < math.inf and group not in witnesses:
            witnesses[group] = _overturning(question, group, budget.sized(most))
        shown = witnesses.get(group) if most < math.inf else None
        if shown is not None:
            claim["witness" if verdict == Verdict.NOT_ROBUST else "enough"] = shown
        if stated.rival is not None and stated.rival[row] >= 0:
            claim["rival"] = int(stated.rival[row])
        if not np.isnan(least.low[row]):
            enough = float(least.high[row]) if budget.countable or shown is not None else math.inf
            claim["minimum_budget"] = _bounds(least.low[row], enough, budget, shown)
        yield claim


def _overturning(question: Question, group: int, within: Budget) -> dict[str, Any] | None:
    """Return labels within a budget that overturn a row; None if rounding hides them."""
    try:
        rows, added, *_ = question.case.stated_changes(group, within)
    except InputError:
        if within.countable:
            raise
        return None
    bias = question.engine.bias
    if bias.classes is not None:
        return {"rows": rows, "to": [int(each) for each in bias.classes.own[rows] + added]}
    made: dict[str, Any] = {"up": rows[added > 0], "down": rows[added < 0]}
    if within.summed:
        return made
    ends = np.concatenate((bias.upper[made["up"]], bias.lower[made["down"]]))
    shares = np.clip(np.concatenate((added[added > 0], added[added < 0])) / ends, 0.0, 1.0)
    # In doubles, parts of labels may add up to a hair more than the total.
    over = _total(np.abs(ends), shares) - Fraction(within.amount)
    if over > 0:
        at = int(np.argmin(shares))
        share = Fraction(shares[at]) - over / abs(Fraction(ends[at]))
        shares[at] = max(math.nextafter(float(share), 0.0), 0.0)
    return made | {"shares": shares, "size": _total(np.abs(ends), shares)}


def _total(ends: FloatArray, shares: FloatArray) -> Fraction:
    """Return the sum of changes of labels, exactly."""
    pairs = zip(ends.tolist(), shares.tolist(), strict=True)
    return sum((Fraction(end) * Fraction(share) for end, share in pairs), Fraction(0))


def _with_room(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a range a little further out, so that doubles suffice to prove them."""
    room = max((abs(end) for end in (low, high) if math.isfinite(end)), default=0.0) * _ROOM
    return math.nextafter(low - room, -math.inf), math.nextafter(high + room, math.inf)


def _bounds(low: float, high: float, budget: Budget, shown: dict[str, Any] | None) -> Any:
    """Minimum budget, or from and to what rounding leaves open; a total with room for doubles."""
    if not budget.summed:
        low = math.nextafter(low * (1.0 - _ROOM), 0.0) if low < math.inf else low
        high = high if shown is None else math.nextafter(float(shown["size"]), math.inf)
    whole = isinstance(budget.amount, int)
    number = int if whole else float
    ends = [number(end) if math.isfinite(end) else "never" for end in (low, high)]
    return ends[0] if low == high else ends


def _sides(rows: IntArray, added: FloatArray) -> dict[str, Any]:
    """Return the rows whose labels rise, and those whose labels fall."""
    return {"up": pack_rows(rows[added > 0]), "down": pack_rows(rows[added < 0])}


# --- numbers as text ------------------------------------------------------------------------


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _plain(value: Any) -> Any:
    """Return what a file says with arrays as it writes them: whole numbers are rows."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if name != "size"}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return pack_doubles(value) if value.dtype.kind == "f" else pack_rows(value)
    return value


def _packed(values: Any) -> str:
    return base64.b64encode(zlib.compress(values.tobytes(), 9)).decode()


# --- Claims about all rows together, as certificate files write them -----------------------


_LONGEST_NAME = 200  # characters of a metric or group
_LONGEST_NUMBER = 30  # digits that the checker reads
_MOST_ROWS, _MOST_GROUPS = 2**15, 100  # that it reads


@dataclass(frozen=True, eq=False)
class CollectiveClaim:
    """What a collective certificate was made from, so that a file can be written of it."""

    question: Question
    budget: Budget
    section: dict[str, Any]  # The claim as the file holds it
    cases: Proof
    # Returns two numbers that the value is between by rational arithmetic, where those of doubles
    # are too far apart
    closer: Callable[[], list[float]] | None = None

    def save(
        self,
        path: Path,
        data: Path | None,
        *,
        recipe: dict[str, Any] | None = None,
        classes: list[Any] | None = None,
    ) -> None:
        """Write a certificate file, and beside it, if wanted, the data that it is about."""
        need(self.question.engine, "files", "save")
        if self.question.decision.task == "classes":
            raise InputError("files about several classes prove single rows: save certify(X)")
        if self.question.decision.task not in ("classification", "regression"):
            raise InputError(
                "certificate files of many rows are about classes and numbers, and not about "
                f"{type(self.question.decision).__name__}; ask without decision="
            )
        n_rows, n_groups = len(self.question.group), len(self.section.get("groups", ()))
        if n_rows > _MOST_ROWS or n_groups > _MOST_GROUPS:
            raise InputError(
                f"a certificate file of many rows is about {_MOST_ROWS:,} of them and "
                f"{_MOST_GROUPS} groups at most, and here are {n_rows:,} rows and {n_groups} "
                "groups; ask about fewer at a time"
            )
        if not self.budget.countable:
            raise InputError(
                "certificate files of many rows take a number of labels as the budget, and not "
                f"one of kind {type(self.budget).__name__}; certify rows one at a time for that"
            )
        self._refuse_other_classes()
        section = self.section
        if self.closer is not None:
            section = section | {"value": self.closer()}
        if data is not None:
            write_data(self.question, data)
        head = _head([self.question], self.budget, recipe, classes)
        claims: list[dict[str, Any]] = [{} for _ in range(n_rows)]
        settled = ~np.isfinite(self.question.margins.slack)[self.question.group]
        proof = self.cases.arrays()
        head |= _write_proof([self.question], self.budget, claims, settled, head, path, proof)
        solutions = [{"row": row} | claim for row, claim in enumerate(claims) if claim]
        section = section | ({"solutions": solutions} if solutions else {})
        try:
            text = _json(head | {"claims": [], "collective": section}) + "\n"
        except ValueError:
            raise InputError(
                "the range is infinite, because doubles prove nothing about these rows: there is "
                "no claim to write"
            ) from None
        with atomic_write(path) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")

    def _refuse_other_classes(self) -> None:
        """Raise if rounding put a row on the other side of the threshold than its exact score."""
        decision, question = self.question.decision, self.question
        positive = decision.positive(question.scores.value)
        doubtful = np.flatnonzero(~np.isfinite(question.margins.slack))
        for at, row in question.selection.exactly(doubtful):
            if decision.claim(row.score) != positive[at]:
                number = int(np.flatnonzero(question.group == at)[0])
                raise InputError(
                    f"the score of row {number} is on the threshold, and rounding puts it on the "
                    "other side: what was counted is not true of the exact solution. Leave such "
                    "rows out, or move the threshold by a little"
                )


def witness_section(changes: Changes, overturned: IntArray | None = None) -> dict[str, Any]:
    """Return label changes for a certificate file."""
    made = _sides(changes.rows, changes.sign)
    up, down = changes.sign > 0, changes.sign < 0
    shares = np.concatenate((changes.share[up], changes.share[down]))
    if (shares != 1.0).any():
        made["shares"] = pack_doubles(shares)
    if overturned is not None:
        made["overturned"] = pack_rows(overturned)
    return made


def together_section(
    direction: str | None, among: BoolArray, weights: FloatArray | None
) -> dict[str, Any]:
    """Return what a count of overturned rows is about."""
    asked: dict[str, Any] = {"ask": "together"}
    if direction is not None:
        asked["direction"] = direction
    if not among.all():
        asked["where"] = pack_rows(np.flatnonzero(among))
    if weights is not None:
        asked["weights"] = pack_doubles(weights)
    return asked


# --- metrics --------------------------------------------------------------------------------


def named_section(name: str, sample: Sample) -> dict[str, Any]:
    """Return what a metric by its name is about."""
    asked: dict[str, Any] = {"ask": "metric", "metric": name}
    named = Named.read(name)
    if named.kind is not None:
        asked["groups"] = groups_section(sample.groups)
    if sample.actual is not None and named.needs_truth:
        asked["truth"] = pack_rows(np.flatnonzero(sample.actual))
    return asked


def groups_section(groups: tuple[tuple[Any, BoolArray], ...]) -> list[dict[str, Any]]:
    """Return groups of rows."""
    names = [str(name)[:_LONGEST_NAME] for name, _ in groups]
    if len(set(names)) < len(names):  # 1 and "1", or texts with the same beginning
        names = [f"{at}: {name}"[:_LONGEST_NAME] for at, name in enumerate(names)]
    return [
        {"name": name, "rows": pack_rows(np.flatnonzero(rows))}
        for name, (_, rows) in zip(names, groups, strict=True)
    ]


def own_section(name: str, parts: list[FloatArray]) -> dict[str, Any]:
    """Return what a metric of one's own is about."""
    terms = [{"negative": pack_doubles(low), "positive": pack_doubles(high)} for low, high in parts]
    return {"ask": "metric", "metric": name[:_LONGEST_NAME], "terms": terms}


def end_section(
    ranges: Ranges, form: Form, end: End, ends: tuple[float, float], cases: CasesProof, *, up: bool
) -> dict[str, Any]:
    """Return one end of the range of a metric; the trees that prove it are added to others."""
    made: dict[str, Any] = {
        "outer": ends[0],
        "inner": ends[1],
        "witness": witness_section(end.changes),
    }
    if isinstance(form, Quotient):
        assert end.at is not None  # noqa: S101  (quotients have it)
        if max(len(str(each)) for each in end.at.as_integer_ratio()) > _LONGEST_NUMBER:
            return made  # which nobody else can compute again
        made["at"] = list(end.at.as_integer_ratio())
        made["floor"] = cases.add(
            [ranges.goal([-each for each in family]) for family in form.families]
        )
    functions = form.bounded(end.at, up=up)
    every = not up if isinstance(form, Quotient) else up == (form.sign > 0)
    goals = [ranges.goal([each]) for each in functions] if every else [ranges.goal(functions)]
    return made | {"tree": cases.add(goals)}
