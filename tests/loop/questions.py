"""Small files of many kinds, and questions about them over all options of ``certify``."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

OTHERS = 50  # rows in files of their own
CITIES = ["Aachen", "Bergen", "Córdoba", "Derry"]
CLASSES = [("no", "yes"), (0, 1), (-1, 1), (False, True), (1.5, 2.5), ("-1", "x"), ("A", "a b")]
NUMBERS = {
    "age": lambda rng, n: rng.integers(18, 70, n),
    "pay per hour": lambda rng, n: rng.normal(20, 6, n).round(2),
    "height": lambda rng, n: 1e6 + rng.normal(0, 1, n).round(3),
    "claims": lambda rng, n: rng.exponential(2, n).round(3),
    "member": lambda rng, n: rng.integers(0, 2, n),
}


@dataclass
class Question:
    """A file, the other files it needs, and what is asked of them."""

    seed: int
    table: pd.DataFrame
    label: str
    classes: tuple | None  # None: labels are numbers
    offsets: tuple[float, float]  # how far a number may be off
    direction: str | None
    radius: float | None
    budget: str  # the main one
    only: np.ndarray  # rows of the table that --only selects
    shared: list[str] = field(default_factory=list)  # options that `witness` has as well
    own: list[str] = field(default_factory=list)  # options of `certify` alone
    files: dict[str, pd.DataFrame] = field(default_factory=dict)
    tie: float | None = 0.5  # score between the classes; None: it moves with the labels

    def __str__(self):
        return f"seed {self.seed}: certify train.csv {' '.join(map(repr, self.shared + self.own))}"


def ask(seed: int) -> Question:
    """Draw a question."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(45, 110)) + OTHERS
    features, ignored = _features(rng, n_rows)
    merit = _merit(rng, features)
    regression = rng.random() < 0.4
    label = str(rng.choice(["y", "hired already"]))
    classes = None if regression else CLASSES[rng.integers(len(CLASSES))]
    values = _labels(rng, merit, classes)
    shared = ["--label", label, "--seed", str(rng.integers(0, 50))]
    if ignored or rng.random() < 0.2:
        features["who"] = [f"p{at}" for at in range(n_rows)]
        shared += ["--ignore", ",".join([*ignored, "who"])]
    table = features.assign(**{label: values})
    if "code" in table and rng.random() < 0.6:
        shared += ["--categorical", "code"]
    shared += _missing(rng, table, [*ignored, "who"], label)
    table, others = table[:-OTHERS], table[-OTHERS:]
    question = Question(
        seed, table, label, classes, (0.0, 0.0), None, None, "1", np.ones(len(table), bool), shared
    )
    _ask_about_rows(rng, question, others)
    _ask_about_bias(rng, question, list(features))
    _ask_about_model(rng, question, others[12:])
    _ask_for_output(rng, question)
    return question


def ask_in_folds(seed: int) -> Question:
    """Draw a question about every row of a file, over all ways to a penalty and to folds."""
    question = ask(seed)
    rng = np.random.default_rng([seed, 2])
    others = question.table.sample(20, random_state=seed)
    logistic = question.classes is not None and rng.random() < 0.3
    _leave_out(question, "--test", "--unseen", "--holdout", "--alpha", "--give-up", "--validation")
    if logistic:
        _leave_out(question, "--method", "--resolve")
        question.shared += ["--model", "logistic"]
        question.tie = 0.0
    elif question.classes is not None and rng.random() < 0.25:
        question.shared += ["--threshold", "balanced"]
        question.tie = None
    beside = {}
    if rng.random() < 0.3:
        beside["weight"] = rng.integers(1, 4, len(question.table))
        question.shared += ["--weights", "weight"]
    if rng.random() < 0.3:
        beside["household"] = rng.integers(0, len(question.table) // 2, len(question.table))
        question.shared += ["--fold-by", "household"]
    question.table = question.table.assign(**beside)
    question.shared += ["--folds", str(rng.integers(2, 6))]
    others = others.assign(**dict.fromkeys(beside, 1))
    _ask_for_penalty(rng, question, "C" if logistic else "alpha", others)
    return question


def _leave_out(question, *options):
    for at in reversed(range(len(question.shared))):
        if question.shared[at] in options:
            del question.shared[at : at + 2]


def _ask_for_penalty(rng, question, option, others):
    """A number, the usual one, or one that rows choose: of another file, or (refused) set aside."""
    way = str(rng.choice(["number", "usual", "other rows", "set aside"], p=[0.35, 0.2, 0.35, 0.1]))
    if way == "number":
        question.shared += [f"--{option}", str(rng.choice(["0.01", "1", "10"]))]
    elif way != "usual":
        chosen = [f"--{option}", "auto"] if rng.random() < 0.6 else ["--give-up", "2"]
        question.shared += chosen
    if way == "other rows":
        question.files["validation.csv"] = others
        question.shared += ["--validation", "validation.csv"]


def _features(rng, n_rows):
    names = rng.permutation(list(NUMBERS))[: rng.integers(1, 4)]
    table = pd.DataFrame({name: NUMBERS[name](rng, n_rows) for name in names})
    if rng.random() < 0.6:
        table["city"] = rng.choice(CITIES, n_rows, p=[0.4, 0.3, 0.27, 0.03])
    if rng.random() < 0.4:
        table["code"] = rng.integers(1, 5, n_rows)
    if rng.random() < 0.3:
        table["sex"] = rng.choice(["female", "male"], n_rows)
    if rng.random() < 0.2:  # rows that are equal
        table = table.iloc[rng.integers(0, n_rows // 3, n_rows)].reset_index(drop=True)
    ignored = [names[0]] if len(table.columns) > 2 and rng.random() < 0.2 else []
    return table, ignored


def _merit(rng, features):
    numbers = features.select_dtypes("number")
    spread = numbers.std(ddof=0).replace(0, 1)
    merit = ((numbers - numbers.mean()) / spread).to_numpy() @ rng.normal(size=numbers.shape[1])
    if "city" in features:
        merit = merit + features["city"].map(dict(zip(CITIES, rng.normal(size=4), strict=True)))
    return np.asarray(merit) + rng.normal(0, rng.choice([0.1, 0.5, 1.5]), len(features))


def _labels(rng, merit, classes):
    if classes is not None:
        return [classes[int(each)] for each in merit > np.quantile(merit, rng.uniform(0.3, 0.7))]
    values = 100 + 20 * merit
    return values.round().astype(int) if rng.random() < 0.3 else values.round(3)


def _missing(rng, table, ignored, label):
    """Empty some cells and say what to do about them."""
    way = str(rng.choice(["refuse", "drop", "impute"], p=[0.5, 0.25, 0.25]))
    if way == "refuse":
        return []
    for name in table.columns:
        if name not in (*ignored, label) and rng.random() < 0.6:
            table[name] = table[name].astype(object)
            table.loc[rng.random(len(table)) < 0.06, name] = None
    if way == "drop" and rng.random() < 0.5:
        table[label] = table[label].astype(object)
        table.loc[rng.random(len(table)) < 0.04, label] = None
    return ["--missing", way]


def _ask_about_rows(rng, question, others):
    if rng.random() < 0.3:
        test = others[:12].reset_index(drop=True)
        if rng.random() < 0.4:
            test = test.drop(columns=question.label)
        if "city" in test and rng.random() < 0.3:
            test.loc[2, "city"] = "Esch"
        question.files["test.csv"] = test
        question.shared += ["--test", "test.csv", "--unseen", "ignore"]
    elif rng.random() < 0.7:
        question.shared += ["--holdout", str(rng.choice(["10%", "25%", "9", "15"]))]


def _ask_about_bias(rng, question, features):
    budgets = [str(each) for each in rng.permutation(["1", "2", "3", "5", "4%", "10%", "0"])]
    question.budget = budgets[0]
    for budget in budgets[: rng.integers(1, 4)]:
        question.shared += ["--budget", budget]
    if rng.random() < 0.3:
        question.direction = str(rng.choice(["up", "down"]))
        question.shared += ["--direction", question.direction]
    if question.classes is None:
        size = float(f"{20 * rng.uniform(0.05, 1.5):.3g}")
        low, high = [(-size, size), (0.0, size), (-size, size / 2)][rng.integers(3)]
        question.offsets = (low, high)
        shift = f"{size:g}" if -low == high else f"{low!r}:{high!r}"
        question.shared.append(f"--shift={shift}")  # it may begin with a minus
        question.radius = float(f"{20 * rng.uniform(0.01, 0.4):.3g}")
        question.shared += ["--radius", repr(question.radius)]
        if rng.random() < 0.5:
            question.shared += ["--task", "regression"]
    if rng.random() < 0.4:
        expression, question.only = _only(rng, question, features)
        question.shared += ["--only", expression]


def _only(rng, question, features):
    table, found = question.table, []
    for name in features:
        if name == "who":
            continue
        values = table[name]
        if name in ("city", "sex"):
            one = str(rng.choice(values.dropna().unique()))
            found.append((f"{name} == '{one}'", values == one))
            found.append((f"not {name} in ['{one}', 'x']", values.notna() & (values != one)))
        else:
            cut = float(values.dropna().astype(float).median())
            found.append((f"`{name}` <= {cut!r}", values.astype(float) <= cut))
            found.append((f"`{name}` * 2 > {cut!r} + {cut!r}", values.astype(float) > cut))
    if question.classes is not None:
        one = question.classes[rng.integers(2)]
        found.append((f"`{question.label}` == {one!r}", table[question.label] == one))
    (left, a), (right, b) = (found[at] for at in rng.integers(0, len(found), 2))
    if rng.random() < 0.5:
        return left, a.to_numpy(bool)
    if rng.random() < 0.5:
        return f"({left}) and ({right})", (a & b).to_numpy(bool)
    return f"({left}) or ({right})", (a | b).to_numpy(bool)


def _ask_about_model(rng, question, others):
    kind = rng.random()
    if kind < 0.5:
        loss = str(rng.choice(["0", "1.5", "5"]))
        question.shared += ["--alpha", "auto"] if kind < 0.3 else ["--give-up", loss]
        if rng.random() < 0.3:
            question.files["validation.csv"] = others
            question.shared += ["--validation", "validation.csv"]
    else:
        question.shared += ["--alpha", str(rng.choice(["0", "0.01", "1", "10", "1e3"]))]
    question.shared += ["--method", str(rng.choice(["auto", "exact", "box", "sandwich"]))]
    if rng.random() < 0.1:
        question.shared += ["--resolve", "exact"]


def _ask_for_output(rng, question):
    if rng.random() < 0.3:
        columns = [each for each in ("city", "sex", "code") if each in question.table]
        question.own += ["--groups", ",".join(columns)] if columns else []
    if rng.random() < 0.2:
        question.own += ["--fail-under", str(rng.choice(["1%", "99%"]))]
    if rng.random() < 0.02:
        question.own += ["--report", "report.html", "--with-tradeoff"]
