"""The question that verify prints: whatever changes what is proven changes what is said."""

import copy
import json
from itertools import islice

import numpy as np
import pandas as pd
import pytest

from tests.commands import CLASSES, NUMBERS, people
from tests.effort import some
from tests.verify.files import doubles, pack, rows_of, unproven
from tests.verify.proving import prove
from tests.verify.test_mathematics import sha256
from unswayed.cli import main
from unswayed.verify import CertificateError, verify

# --- files to alter -------------------------------------------------------------------------


class Asked:
    """A certificate file and what it is about; `ask` writes both and returns the question."""

    def __init__(self, folder, document):
        self.folder, self.document = folder, unproven(copy.deepcopy(document))

    def copy(self):
        raise NotImplementedError

    def finish(self):
        raise NotImplementedError

    def claim_nothing(self, n_claims):
        self.document["claims"] = [{"row": row, "verdict": "undecided"} for row in range(n_claims)]

    def ask(self):
        """The question, with hashes and claims put right as a forger would."""
        sources = self.finish()
        path = self.folder / "c.json"
        path.write_text(json.dumps(self.document))
        return verify(path, **sources).question


class Arrays(Asked):
    """Rows in an .npz file."""

    def __init__(self, folder, document, arrays):
        super().__init__(folder, document)
        self.arrays = {name: np.array(array) for name, array in arrays.items()}

    def copy(self):
        return Arrays(self.folder, self.document, self.arrays)

    def finish(self):
        about, arrays = self.document["data"], self.arrays
        coefficients = self.document["question"]["task"] == "coefficients"
        about["sha256"] = {n: sha256(a if a.ndim == 2 else a[:, None]) for n, a in arrays.items()}
        about["train_rows"] = len(arrays["labels"])
        about["features"] = arrays.get("train", arrays.get("test")).shape[1]
        asked = len(self.document["question"].get("contrasts", ())) or about["features"]
        about["test_rows"] = asked if coefficients else len(arrays["test"])
        self.claim_nothing(about["test_rows"])
        np.savez(self.folder / "c.npz", **arrays)
        return {"data": self.folder / "c.npz"}


class Files(Asked):
    """Rows in a table, and a recipe."""

    def __init__(self, folder, document, frames):
        super().__init__(folder, document)
        self.frames = dict(frames)

    def copy(self):
        return Files(self.folder, self.document, self.frames)

    def features(self, which, frame):
        recipe = self.document["recipe"]
        rows = frame.iloc[rows_of(recipe[which])]
        columns = []
        for each in recipe["features"]:
            cells = rows[each["column"]]
            if "equals" in each:
                same = cells.isna() if each["equals"] is None else cells == each["equals"]
                columns.append(same.to_numpy(float))
            else:
                cells = pd.to_numeric(cells, errors="coerce").fillna(each.get("missing", np.nan))
                columns.append(((cells - each["mean"]) / each["scale"]).to_numpy())
        return np.stack(columns, axis=1)

    def labels(self, frame):
        about, recipe = self.document["data"], self.document["recipe"]
        cells = frame.iloc[rows_of(recipe["train"])][recipe["label"]]
        if "classes" in about:
            code = dict(zip(*about["classes"].values(), strict=True))
            cells = cells.map(code)
        return cells.to_numpy(float)

    def finish(self):
        about, coefficients = self.document["data"], "test" not in self.document["data"]["sha256"]
        train = self.frames["train"]
        sources = {"train": self.folder / "train.csv"}
        train.to_csv(sources["train"], index=False)
        tests = train
        if self.document["recipe"]["test_file"] == "test":
            tests = self.frames["test"]
            sources["test"] = self.folder / "test.csv"
            tests.to_csv(sources["test"], index=False)
        rows = self.features("train", train)
        hashes = {"train": sha256(rows), "labels": sha256(self.labels(train)[:, None])}
        about["train_rows"], about["features"] = rows.shape
        asked = len(self.document["question"].get("contrasts", ()))
        about["test_rows"] = asked or rows.shape[1]
        if not coefficients:
            new = self.features("test", tests)
            hashes["test"], about["test_rows"] = sha256(new), len(new)
        about["sha256"] = hashes
        self.claim_nothing(about["test_rows"])
        return sources


def certified(folder, *arguments):
    assert main([*arguments, "--budget", "3", "--certificates", str(folder / "c.json"),
                 "--quiet"]) == 0  # fmt: skip
    return json.loads((folder / "c.json").read_text())


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Certificates of tables: held-out rows, another file, numbers with gaps, coefficients."""
    folder = tmp_path_factory.mktemp("tables")
    frame, new = people(60), people(8, seed=9)
    frame["education"] = frame["education"].astype(float)
    frame.loc[3, "education"] = np.nan
    frame.to_csv(folder / "train.csv", index=False)
    new.to_csv(folder / "test.csv", index=False)
    train, test = str(folder / "train.csv"), str(folder / "test.csv")
    frames = {"train": frame, "test": new}
    gaps = ("--missing", "impute")
    return {
        name: Files(folder, certified(folder, *arguments), frames)
        for name, arguments in {
            "held out": ("certify", train, *CLASSES, *gaps, "--holdout", "5"),
            "another file": ("certify", train, *CLASSES, *gaps, "--test", test),
            "numbers": ("certify", train, *NUMBERS, "--shift", "0:2000", "--radius", "350",
                        *gaps, "--holdout", "5"),
            "coefficients": ("coefficients", train, *CLASSES, *gaps),
        }.items()
    }  # fmt: skip


@pytest.fixture
def bases(cases, tables, tmp_path):
    """Honest files of every kind."""
    kinds = ("classification", "signed", "regression", "weighted", "coefficients", "contrasts",
             "intercept", "kernel", "smoother")  # fmt: skip
    found = {kind: Arrays(tmp_path, cases[kind].document, np.load(cases[kind].data))
             for kind in kinds}  # fmt: skip
    for name, table in tables.items():
        found[f"table: {name}"] = base = table.copy()
        base.folder = tmp_path
    return found


# --- what to alter --------------------------------------------------------------------------


def model_mutations(document):
    """Other weights, alphas, intercepts and kinds of models."""
    model, size = document["model"], document["data"]["train_rows"]
    if model["kind"] == "smoother":
        return
    other = {"kind": "ridge", "intercept": False}
    if model["kind"] == "ridge":
        other = {"kind": "kernel-ridge", "intercept": None}
    yield "kind", lambda d: d["model"].update(other)
    for alpha in (0, np.nextafter(model["alpha"], 9e9), 1e9, 1e-300, 1e300):
        if alpha != model["alpha"]:
            yield f"alpha {alpha}", lambda d, a=alpha: d["model"].update(alpha=float(a))
    if model["kind"] == "ridge":
        yield "intercept", lambda d: d["model"].update(intercept=not d["model"]["intercept"])
    rng = np.random.default_rng(0)
    first = np.zeros(size)
    first[0] = 1
    for what, weights in {
        "1e-9": 1e-9, "1e300": 1e300, "2": 2.0, "almost 1": 1 + 2**-52,
        "one row alone": pack(first.tolist(), "d"),
        "one row less": pack((1 - first).tolist(), "d"),
        "one row nearly less": pack((1 - first + 1e-300 * first).tolist(), "d"),
        "half of them small": pack((1.0 - 0.999999 * (np.arange(size) % 2)).tolist(), "d"),
        "random": pack(rng.random(size).tolist(), "d"),
        "small and random": pack((1e-9 * rng.random(size)).tolist(), "d"),
    }.items():  # fmt: skip
        yield f"weights {what}", lambda d, w=weights: d["model"].update(weights=w)


def bias_mutations(document):
    """Other intervals and budgets."""
    bias, size = document["bias"], document["data"]["train_rows"]
    lower, upper = (np.array(doubles(bias[end], size)) for end in ("lower", "upper"))
    for budget in (0, bias["budget"] + 1, bias["budget"] - 1, size):
        if budget != bias["budget"]:
            yield f"budget {budget}", lambda d, b=budget: d["bias"].update(budget=b)
    few, half, one = np.arange(size) < 2, np.arange(size) % 2 == 0, np.arange(size) == 1
    for what, factor in {
        "nothing": 0.0, "halves": 0.5, "doubled": 2.0, "tiny": 1e-300, "a bit less": 1 - 2**-53,
        "two alone": few * 1.0, "two and the rest tiny": np.where(few, 1.0, 1e-300),
        "half of them": half * 1.0, "half of them tiny": np.where(half, 1.0, 1e-9),
        "one less": 1.0 - one, "one tiny": np.where(one, 1e-300, 1.0),
        "all scales": 10.0 ** -np.arange(size),
    }.items():  # fmt: skip
        for ends in (("lower",), ("upper",), ("lower", "upper")):
            new = {"lower": lower, "upper": upper}
            if all(np.array_equal(new[end] * factor, new[end]) for end in ends):
                continue
            new |= {end: new[end] * factor for end in ends}
            packed = {end: pack(values.tolist(), "d") for end, values in new.items()}
            yield f"{' and '.join(ends)} {what}", lambda d, p=packed: d["bias"].update(p)


def question_mutations(document):
    """Other thresholds, radii and tasks."""
    rule = document["question"]
    for name in ("threshold", "radius"):
        for value in (np.nextafter(rule.get(name, 0), 9e9), 0, 1e9, 0.25, 1e-300):
            if name in rule and value != rule[name]:
                yield (
                    f"{name} {value}",
                    lambda d, n=name, v=value: d["question"].update({n: float(v)}),
                )
    other = {"task": "regression", "radius": 0.5}
    if rule["task"] == "regression":
        other = {"task": "classification", "threshold": rule["radius"]}
    if rule["task"] != "coefficients":
        yield "task", lambda d: d.update(question=other)
    for name, value in (("features", [0]), ("weights", [0.5]), ("weights", [5e-324])):
        if "contrasts" in rule and rule["contrasts"][1][name] != value:
            new = [*rule["contrasts"]]
            new[1] = {"features": [1], "weights": [1.0], name: value}
            yield (
                f"contrast with {name} {value}",
                lambda d, n=new: d["question"].update(contrasts=n),
            )
    if "contrasts" in rule:
        yield "fewer", lambda d: d["question"].update(contrasts=d["question"]["contrasts"][:-1])
        yield "no contrasts", lambda d: d["question"].pop("contrasts")
        if document["model"]["intercept"]:
            first = rule["contrasts"][0]
            other = first | {"intercept": not first.get("intercept", False)}
            yield (
                "intercept",
                lambda d: d["question"].update(contrasts=[other, *rule["contrasts"][1:]]),
            )
    yield "trusted", lambda d: d.update(trusted=["sample_weight"])


def class_mutations(document):
    """Other names for the classes, and other numbers."""
    if "classes" not in document["data"]:
        return
    low, high = document["data"]["classes"]["values"]
    for what, values in {"swapped": [high, low], "renamed": [low, high + "!"]}.items():
        yield f"classes {what}", lambda d, v=values: d["data"]["classes"].update(values=v)
    for numbers in ([0.0, 0.5], [-1.0, 2.0], [1.0, 0.0]):
        yield f"classes {numbers}", lambda d, n=numbers: d["data"]["classes"].update(numbers=n)


def recipe_mutations(document):
    """Other columns, means, scales, fillings, categories, labels and rows."""
    recipe = document.get("recipe")
    if recipe is None:
        return
    for at, feature in enumerate(recipe["features"]):
        changes = [{"equals": "nobody"}, {"equals": None}, {"column": "city", "equals": "Oslo"}]
        if "mean" in feature:
            step = np.nextafter(feature["scale"], 9e9)
            changes = [{"scale": 1e300}, {"scale": 1e-9}, {"scale": step}, {"mean": 1e300},
                       {"mean": 0.0}, {"missing": 1e6}, {"missing": 0.0},
                       {"scale": -feature["scale"]}, {"column": "salary"}, {"column": "hired"},
                       {"column": recipe["label"]}]  # fmt: skip
        for change in changes:
            yield (
                f"feature {at}: {change}",
                lambda d, i=at, c=change: d["recipe"]["features"][i].update(c),
            )
        yield f"feature {at} left out", lambda d, i=at: d["recipe"]["features"].pop(i)
    twice = recipe["features"][0]
    yield "a feature twice", lambda d: d["recipe"]["features"].append(twice)
    label = {"column": recipe["label"], "equals": "yes"}
    yield "the label as a feature", lambda d: d["recipe"]["features"].append(label)
    if document["question"]["task"] == "regression":
        yield "label", lambda d: d["recipe"].update(label="interview score")
    for which in ("train", "test"):
        rows = rows_of(recipe[which])
        if rows:
            yield f"{which} less", lambda d, w=which, r=rows: d["recipe"].update({w: r[:-1]})
    train, test = rows_of(recipe["train"]), rows_of(recipe["test"])
    if recipe["test_file"] == "train" and test:
        more = sorted({*train, test[0]})
        yield "trained on a test row", lambda d: d["recipe"].update(train=more)
        yield "tested on training rows", lambda d: d["recipe"].update(test=train[: len(test)])
        yield (
            "tested elsewhere",
            lambda d: d["recipe"].update(test_file="test", test=[*range(len(test))]),
        )


def array_mutations(arrays):
    """Other rows."""
    for name in arrays:
        yield f"{name}: one number", lambda a, n=name: a[n].flat.__setitem__(1, a[n].flat[1] + 1)
    if "train" in arrays and arrays["train"].shape[1] != len(arrays["labels"]):

        def shrink(a):
            a["train"][:, 0] *= 1e-300

        def copy_label(a):
            a["train"][:, 0] = a["labels"]

        def drop(a):
            a.update(train=a["train"][:-1], labels=a["labels"][:-1])

        yield "a column shrunk", shrink
        yield "a column that is the label", copy_label
        yield "a row less", drop


def mutated(base):
    """Every alteration of a file: what it is, and the altered file."""
    for make in (model_mutations, bias_mutations, question_mutations, class_mutations,
                 recipe_mutations):  # fmt: skip
        for what, change in make(base.document):
            other = base.copy()
            change(other.document)
            yield what, other
    if isinstance(base, Arrays):
        for what, change in array_mutations(base.arrays):
            other = base.copy()
            change(other.arrays)
            if what == "a row less":
                for end in ("lower", "upper"):
                    other.document["bias"][end] = -1.0 if end == "lower" else 1.0
                other.document["model"].pop("weights", None)
            yield what, other


# What a summary in words cannot tell apart, and a hash must.
ONLY_BY_HASH = ("one number",)


def in_words(question):
    """The question without its hashes."""
    return [
        line for line in question.splitlines() if not line.startswith(("sha256", "fingerprint"))
    ]


def test_whatever_changes_what_is_proven_changes_the_question(bases):
    altered, accepted, alike, every = 0, 0, [], some(10, 1)
    for kind, base in bases.items():
        honest = base.copy().ask()
        for what, other in islice(mutated(base), 0, None, every):
            altered += 1
            try:
                question = other.ask()
            except CertificateError:
                continue
            accepted += 1
            if what.endswith(ONLY_BY_HASH):
                assert question != honest
            elif in_words(question) == in_words(honest):
                alike.append((kind, what))
    assert not alike
    assert altered > 500 / every
    assert accepted > 400 / every


# --- single facts -----------------------------------------------------------------------------


def asked(base, **changes):
    other = base.copy()
    for key, change in changes.items():
        if isinstance(change, dict):
            other.document[key] |= change
        else:
            other.document[key] = change
    return other.ask()


def test_constant_weights_are_said_as_the_alpha_they_amount_to(bases):
    base = bases["classification"]
    assert "unweighted" in asked(base)
    assert "unweighted" in asked(base, model={"weights": 1.0})
    question = asked(base, model={"weights": 0.5})
    assert "unweighted" not in question
    assert "each row has weight 0.5, which is the same as alpha 2.0 without weights" in question
    tiny = asked(base, model={"weights": 1e-300, "alpha": 1e-290})
    assert "the same as alpha about 1E+10 without weights" in tiny


@pytest.mark.parametrize("jitter", [0.0, 1e-9])
def test_weights_of_one_value_per_class_are_said_to_be_so(bases, jitter):
    base = bases["classification"]
    labels = base.arrays["labels"]
    weights = np.where(labels == 1, 0.75, 1.5) * (1 + jitter * np.arange(len(labels)))
    question = asked(base, model={"weights": pack(weights.tolist(), "d")})
    assert "one value per class" in question
    assert "usually come from the labels" in question
    rng = np.random.default_rng(0)
    other = asked(base, model={"weights": pack(rng.permutation(weights).tolist(), "d")})
    assert "one value per class" not in other


def test_weights_that_follow_numbers_are_said_to_do_so(bases):
    base = bases["regression"]
    labels = base.arrays["labels"]
    for weights in (np.exp(labels), np.where(labels > 0, 1.0, 2.0), -labels + 10):
        assert "follow the labels" in asked(base, model={"weights": pack(weights.tolist(), "d")})
    rng = np.random.default_rng(0)
    question = asked(base, model={"weights": pack(rng.random(len(labels)).tolist(), "d")})
    assert "follow the labels" not in question


def test_intervals_of_several_scales_are_not_in_plain_words(bases):
    base = bases["regression"]
    size = base.document["data"]["train_rows"]
    ends = np.full(size, 1e-300)
    ends[:2] = 1
    bias = {"lower": pack((-ends).tolist(), "d"), "upper": pack(ends.tolist(), "d")}
    question = asked(base, bias=bias)
    assert "not in plain words" in question
    assert "2 labels by -1.0 to 1.0" in question
    assert f"{size - 2} labels by -1e-300 to 1e-300" in question
    assert "not in plain words" not in asked(base)


@pytest.mark.parametrize("name", ["hired", "Hired", "hired ", "ｈｉｒｅｄ"])
@pytest.mark.parametrize("how", [{"equals": "yes"}, {"equals": None}])
def test_a_recipe_may_not_read_the_label(tables, tmp_path, name, how):
    base = tables["held out"].copy()
    base.folder = tmp_path
    frame = base.frames["train"]
    base.frames["train"] = frame.assign(**{name: frame["hired"]})
    base.document["recipe"]["features"].append({"column": name, **how})
    with pytest.raises(CertificateError, match="label"):
        base.ask()


def test_a_column_that_says_what_the_label_says_is_named(tables, bases, tmp_path):
    base = tables["held out"].copy()
    base.folder = tmp_path
    frame = base.frames["train"]
    base.frames["train"] = frame.assign(outcome=np.where(frame["hired"] == "yes", "in", "out"))
    base.document["recipe"]["features"].append({"column": "outcome", "equals": "in"})
    assert "says in every training row what the label says" in base.ask()
    assert "says in every training row what the label says" not in asked(bases["classification"])


def test_a_category_beyond_those_that_are_listed_changes_the_words(tables, tmp_path):
    questions = set()
    for last in ("Oslo", "Rome"):
        base = tables["held out"].copy()
        base.folder = tmp_path
        for name in (*map(str, range(60)), last):
            base.document["recipe"]["features"].append({"column": "city", "equals": name})
        questions.add("\n".join(in_words(base.ask())))
    assert len(questions) == 2


def claims_of(base, **changes):
    """Write an honest file whose claims are changed; exit code of verify, and its report."""
    sources = base.copy().finish()
    document = copy.deepcopy(base.document | changes)
    path = base.folder / "c.json"
    prove(document, sources["data"], path)
    arguments = [part for name, source in sources.items() for part in (f"--{name}", str(source))]
    return main(["verify", str(path), *arguments]), verify(path, **sources)


def test_a_file_that_proves_nothing_has_its_own_exit_code(bases, capsys):
    base = bases["classification"]
    code, report = claims_of(base)
    assert code == 0
    assert report.robust + report.not_robust == report.proven == len(base.document["claims"])
    out = capsys.readouterr().out
    assert f"{report.robust} robust, {report.not_robust} not robust" in out
    nothing = [{"row": row, "verdict": "undecided"} for row in range(report.proven)]
    code, report = claims_of(base, claims=nothing)
    assert (code, report.proven, report.undecided) == (3, 0, len(nothing))
    assert "nothing is proven" in capsys.readouterr().out
    nothing[0]["low"] = 1e9
    assert claims_of(base, claims=nothing)[0] == 1


def test_a_file_without_claims_proves_nothing(bases):
    base = bases["classification"].copy()
    base.arrays["test"] = base.arrays["test"][:0]
    base.finish()
    assert claims_of(base)[0] == 3


def test_what_was_taken_on_trust_is_said_without_control_characters(bases):
    base = bases["weighted"]
    question = asked(base, trusted=["sample_weight", "\x1b[2J\u202e"])
    assert (
        "taken on trust by whoever wrote the file: 'sample_weight', '\\x1b[2J\\u202e'" in question
    )
    for wrong in ([], ["x" * 201], [1], "sample_weight", ["x"] * 51):
        with pytest.raises(CertificateError):
            asked(base, trusted=wrong)


def test_a_file_of_the_first_schema_is_to_be_written_again(bases):
    with pytest.raises(CertificateError, match=r"has schema 1, .* write it again"):
        asked(bases["classification"], schema=1)


def test_where_no_label_can_change_robust_means_nothing(bases):
    for bias in ({"budget": 0}, {"lower": 0.0, "upper": 0.0}):
        assert "holds trivially" in asked(bases["classification"], bias=bias)


def test_names_and_texts_of_a_file_cannot_forge_lines(tables, tmp_path):
    base = tables["held out"].copy()
    base.folder = tmp_path
    name = "x\nweights: none\r\x1b[1A"
    base.frames["train"] = base.frames["train"].rename(columns={"city": name})
    for feature in base.document["recipe"]["features"]:
        if feature["column"] == "city":
            feature["column"] = name
    question = base.ask()
    assert "\\n" in question
    assert not any(line.startswith("weights: none\\r") for line in question.splitlines())
    assert all(line.isprintable() for line in question.split("\n"))


def test_many_features_are_listed_up_to_a_number(bases):
    base = bases["regression"].copy()
    rng = np.random.default_rng(0)
    base.arrays["train"] = rng.normal(size=(12, 300)).round(1)
    base.arrays["test"] = rng.normal(size=(2, 300)).round(1)
    assert len(base.ask().splitlines()) < 100


def test_the_bases_are_read_as_the_program_reads_them(tables):
    """The oracle makes the same features: its hashes are those of the program."""
    for base in tables.values():
        before = copy.deepcopy(base.document["data"]["sha256"])
        other = base.copy()
        other.folder = base.folder
        other.finish()
        assert other.document["data"]["sha256"] == before
    assert isinstance(tables["held out"].frames["train"], pd.DataFrame)


def test_which_of_equally_many_labels_can_move_is_said_in_words(bases):
    base = bases["table: another file"]
    n_rows = base.document["data"]["train_rows"]
    gender = base.frames["train"]["gender"].to_numpy()
    positive = base.frames["train"]["hired"].to_numpy() == "yes"
    told = []
    for which in ("female", "male"):
        rows = np.flatnonzero((gender == which) & ~positive)[:5]
        upper = np.zeros(n_rows)
        upper[rows] = 1.0
        question = asked(base, bias={"lower": 0.0, "upper": pack(upper.tolist(), "d")})
        told.append(in_words(question))
        total = int(np.sum(gender == which))
        assert f"5 of the {total} with {which!r}" in question
    assert told[0] != told[1]
    assert "rows whose labels can move" not in asked(base)
