"""Certificate files about all rows together: what is saved is proven again, and no more."""

import json
import math
import pickle
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from tests.effort import some
from tests.together.oracle import problems
from tests.verify.collective import forged_proof, rows, truth_of, untrue
from tests.verify.files import pack
from unswayed import CertifiedClassifier, CertifiedRegressor, InputError, LabelBias, RowSum
from unswayed.cli import main
from unswayed.joint.metrics import names
from unswayed.margins.decisions import Sign
from unswayed.verify import CertificateError, schema_text, verify
from unswayed.verify.collective.asked import is_reserved

KINDS = (
    "together", "cases", "labels", "up", "weighted", "balanced", "numbers", "rate", "accuracy",
    "difference", "odds", "ratio", "own", "quotient", "mean", "gap",
)  # fmt: skip


def statuses(report):
    return {each.part: each.status for each in report.collective}


def test_there_is_a_case_of_every_kind(collective):
    assert tuple(collective) == KINDS
    with np.load(collective["cases"].data.parent / "cases.proof.npz") as proof:
        assert len(proof["leaves"]) > 1
    with np.load(collective["labels"].data.parent / "labels.proof.npz") as proof:
        assert proof["splits"][:, 1].any()
        assert len(proof["prices"])


@pytest.mark.parametrize("floating_point", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_file_is_valid_and_proven_and_true(collective, kind, floating_point):
    case = collective[kind]
    jsonschema.Draft202012Validator(json.loads(schema_text())).validate(case.document)
    false, report = untrue(case.document, case.data, floating_point=floating_point)
    assert not false
    assert not report.rejected
    # In fractions nothing is proven of what certain labels add.
    assert report.undecided == (kind == "labels" and not floating_point)
    assert bool(report.exact_rows) == (not floating_point)


@pytest.mark.parametrize("kind", ["cases", "labels"])
def test_without_its_tree_a_bound_is_open_and_not_false(collective, kind):
    case = collective[kind]
    document = json.loads(json.dumps(case.document))
    del document["collective"]["tree"]
    at_least, at_most = untrue(document, case.data)[1].collective
    assert at_least.status == "proven"
    assert at_most.status == "not re-proven"
    assert at_most.text.startswith("not re-proven; what was proven is at most ")
    assert at_most.reproven > at_most.claimed >= at_least.claimed


def test_bounds_of_multipliers_are_those_of_the_engine_and_hold(tmp_path):
    """The checker computes them by other means, from the multipliers alone."""
    path, data = tmp_path / "c.json", tmp_path / "c.npz"
    by_multipliers = 0
    for problem in problems(41_000_000, 40):
        found = problem.fitted().certify_together(problem.tests, time_limit=0)
        found.save(path, data=data)
        report = verify(path, data=data)
        at_least, at_most = report.collective
        assert statuses(report) == {"at least": "proven", "at most": "proven"}, problem
        assert at_most.reproven == found.at_most
        assert at_least.claimed <= problem.overturned.sum(axis=1).max() <= at_most.reproven
        by_multipliers += found.bounds["fragile rows"] > found.at_most
    assert by_multipliers > 2


@pytest.mark.parametrize("metric", ["accuracy_difference", "selection_rate_ratio"])
def test_ranges_of_metrics_are_proven_again(tmp_path, metric):
    path, data = tmp_path / "c.json", tmp_path / "c.npz"
    count = 0
    for problem in problems(42_000_000, some(12, 25)):
        try:
            found = problem.fitted().certify_metric(
                problem.tests, metric, groups=problem.groups, y_true=problem.y_true, time_limit=0
            )
        except InputError:  # a single group, or a denominator of 0
            continue
        found.save(path, data=data)
        assert set(statuses(verify(path, data=data)).values()) == {"proven"}, problem
        count += 1
    assert count >= some(3, 5)


# --- altered claims -------------------------------------------------------------------------


def altered(case, *path, to):
    made = json.loads(json.dumps(case.document))
    target = made["collective"]
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = to(target[path[-1]])
    return made


@pytest.mark.parametrize("kind", ["together", "up", "balanced", "numbers"])
def test_one_less_at_most_is_not_proven_and_one_more_at_least_is_rejected(collective, kind):
    case = collective[kind]
    _, report = untrue(altered(case, "at_most", to=lambda number: number - 1), case.data)
    assert statuses(report)["at most"] in ("rejected", "not re-proven")
    _, report = untrue(altered(case, "at_least", to=lambda number: number + 1), case.data)
    assert statuses(report)["at least"] == "rejected"


def test_less_than_is_reached_is_rejected(collective):
    case = collective["cases"]
    claim = case.document["collective"]
    document = altered(case, "at_most", to=lambda _: claim["at_least"] - 1)
    _, report = untrue(document, case.data)
    assert statuses(report)["at most"] == "rejected"


@pytest.mark.parametrize("kind", ["difference", "ratio", "own", "quotient", "mean", "gap", "odds"])
def test_narrower_ranges_are_not_proven(collective, kind):
    case = collective[kind]
    room = 1e-8 if kind in ("mean", "gap") else 1e-9
    for end, step in (("low", room), ("high", -room)):
        document = altered(case, end, "outer", to=lambda x: x + step)  # noqa: B023
        assert statuses(untrue(document, case.data)[1])[end] != "proven"
        document = altered(case, end, "inner", to=lambda x: x - step)  # noqa: B023
        assert statuses(untrue(document, case.data)[1])[f"{end} reached"] == "rejected"


def with_value(case, low, high, **options):
    """What comes of a value between two numbers."""
    path = case.data.parent / "altered.json"
    path.write_text(json.dumps(altered(case, "value", to=lambda _: [low, high])))
    return verify(path, data=case.data, **options).collective[0]


@pytest.mark.parametrize("kind", ["mean", "gap"])
def test_both_ends_of_a_value_are_returned_and_printed_outwards(collective, kind, capsys, tmp_path):
    case = collective[kind]
    low, high = case.document["collective"]["value"]
    code, said = run(capsys, case.document, case.data)
    assert code == 0
    line = next(line for line in said.out.splitlines() if line.startswith("value"))
    _, _, first, _, second, *_ = line.replace(":", "").split()
    assert Fraction(first) <= Fraction(low) < Fraction(high) <= Fraction(second)
    _, said = run(capsys, case.document, case.data, "--json")
    found = json.loads(said.out)["collective"][0]
    truth = truth_of(case.document, case.data)
    now = truth.metric(case.document["collective"], truth.scores)
    assert found["claimed"] == [low, high]
    assert Fraction(found["reproven"][0]) <= now <= Fraction(found["reproven"][1])


@pytest.mark.parametrize("floating_point", [True, False])
@pytest.mark.parametrize("kind", ["mean", "gap"])
def test_a_value_between_numbers_further_apart_than_rounding_explains_is_rejected(
    collective, kind, floating_point
):
    case, options = collective[kind], {"floating_point": floating_point}
    low, high = case.document["collective"]["value"]
    for ends in ((low, 1e300), (-1e300, 1e300), (low, high + 1), (low - 1e-3, high)):
        found = with_value(case, *ends, **options)
        assert found.status == "rejected"
        assert "further apart than rounding explains; it is between" in found.text
    assert with_value(case, high, low, **options).status == "rejected"
    widest, refused = high, high + 1.0
    while math.nextafter(widest, refused) < refused:
        middle = (widest + refused) / 2
        if with_value(case, low, middle, **options).status == "proven":
            widest = middle
        else:
            refused = middle
    labels = np.load(case.data)["labels"]
    assert 0 < widest - low <= 1e-5 * (abs(high) + np.abs(labels).max())
    assert "further apart" in with_value(case, low, refused, **options).text


def test_no_value_is_between_numbers_that_are_none(collective, tmp_path):
    case = collective["mean"]
    for bad in (math.nan, math.inf):
        path = tmp_path / "c.json"
        path.write_text(json.dumps(altered(case, "value", to=lambda value: [value[0], bad])))  # noqa: B023
        with pytest.raises(CertificateError):
            verify(path, data=case.data)


@pytest.mark.filterwarnings("ignore::unswayed.exceptions.SolverPrecisionWarning")
@pytest.mark.parametrize("metric", ["mean_prediction", "mean_prediction_difference"])
def test_a_value_that_doubles_leave_open_is_saved_by_exact_arithmetic(tmp_path, metric):
    X, T, y, rng = rows(5, n=20)
    X[:, 1] = X[:, 0] + 1e-5 * rng.normal(size=len(X))
    model = CertifiedRegressor(
        Ridge(alpha=1e-9), bias=LabelBias.shifts((-0.5, 1.0), budget=1), radius=0.25
    ).fit(X, X @ [1.0, 0.5] + y)
    found = model.certify_metric(T, metric, groups=np.arange(len(T)) % 2)
    wide = np.diff(found.source.section["value"])[0]
    assert wide > 1e-3
    path, data = tmp_path / "c.json", tmp_path / "c.npz"
    found.save(path, data=data)
    claim = json.loads(path.read_text())
    assert np.diff(claim["collective"]["value"])[0] < 1e-4 * wide
    false, report = untrue(claim, data)
    assert not false
    assert not report.rejected


def test_a_row_that_the_witness_does_not_overturn_is_rejected(collective):
    case = collective["together"]
    listed = case.document["collective"]["witness"]["overturned"]
    for row in set(range(14)) - set(listed):
        document = altered(case, "witness", "overturned", to=lambda rows: sorted([*rows, row]))  # noqa: B023
        assert "does not overturn" in untrue(document, case.data)[1].rejected[0]
    fewer = altered(case, "witness", "overturned", to=lambda rows: rows[1:])
    assert "overturns" in untrue(fewer, case.data)[1].rejected[0]


@pytest.mark.parametrize("kind", ["together", "weighted", "numbers", "balanced", "labels"])
def test_other_multipliers_only_weaken_a_bound(collective, kind):
    case, rng = collective[kind], np.random.default_rng(3)
    truth = truth_of(case.document, case.data)
    claim = case.document["collective"]
    most = max(truth.count(claim, scores) for scores in truth.label_sets)
    weaker = 0

    def change(arrays):
        # Everything is said to exclude everything, and every event has a multiplier.
        leaves, events = len(arrays["leaves"]), len(arrays["events"])
        some = [(leaf, at, rng.normal()) for leaf in range(leaves) for at in range(events)]
        arrays["links"] = np.array(some, dtype=float)
        members = [
            (at, each) for at in range(4) for each in range(2 * events) if rng.random() < 0.4
        ]
        arrays["cliques"] = np.array(members, dtype=float)
        cuts = [
            (leaf, at, rng.choice([0.3, 1.0, 9.0])) for leaf in range(leaves) for at in range(4)
        ]
        arrays["cuts"] = np.array(cuts, dtype=float)
        arrays["leaves"] = rng.random(leaves)

    for _ in range(20):
        document = forged_proof(case.document, case.data, change)
        _, report = untrue(document, case.data, truth)
        assert report.collective[1].reproven >= most
        weaker += report.collective[1].status == "not re-proven"
    assert weaker


# --- words, exit codes, errors --------------------------------------------------------------


def run(capsys, document, data, *more):
    path = Path(data).parent / "altered.json"  # beside its proof
    path.write_text(json.dumps(document))
    code = main(["verify", str(path), "--data", str(data), *more])
    return code, capsys.readouterr()


def test_exit_codes_say_whether_all_of_it_is_proven(collective, capsys, tmp_path):
    case = collective["together"]
    code, said = run(capsys, case.document, case.data)
    assert code == 0
    assert "asked: how many of 14 rows one set of wrong labels overturns" in said.out
    assert "2 parts of the claim proven, 0 rejected, 0 not re-proven" in said.out
    code, said = run(capsys, altered(case, "at_most", to=lambda x: x - 1), case.data)
    assert code == 3
    assert "not re-proven; what was proven is at most" in said.out
    code, said = run(capsys, altered(case, "at_most", to=lambda x: 0), case.data)
    assert code == 1
    assert "REJECTED, 6.0 is reached" in said.out


def question_of(document, data):
    path = Path(data).parent / "altered.json"
    path.write_text(json.dumps(document))
    return verify(path, data=data).question


def test_numbers_of_rows_that_no_plain_words_sum_up_are_listed(collective, tmp_path):
    weights = [0.5, 1e6, *[2.0] * 12]
    case = collective["weighted"]
    question = question_of(altered(case, "weights", to=lambda _: pack(weights, "d")), case.data)
    assert (
        "  rows count by weights: not in plain words:\n"
        "    12 rows 2.0\n"
        "    1 row 1000000.0\n"
        "    1 row 0.5\n"
        "    in the order of the rows: 0.5, 1000000.0, 2.0, 2.0" in question
    )
    own = collective["own"]
    question = question_of(
        altered(own, "terms", 0, "positive", to=lambda _: pack(weights, "d")), own.data
    )
    assert "terms of rows predicted positive: not in plain words:\n    12 rows 2.0" in question


def test_of_a_long_list_the_rest_has_a_hash(tmp_path):
    X, T, y, rng = rows(3)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, y)
    weights = rng.random(len(T) * 3).round(3)
    words = []
    for _ in range(2):
        found = model.certify_together(np.vstack([T] * 3), weights=weights, time_limit=0)
        found.save(tmp_path / "c.json", data=tmp_path / "c.npz")
        words.append(verify(tmp_path / "c.json", data=tmp_path / "c.npz").question)
        assert "and 22 more (sha256 " in words[-1]
        weights[[-1, -2]] = weights[[-2, -1]]  # the same numbers, of other rows
    assert words[0] != words[1]


RESERVED = (
    "selection_rate", "accuracy_score", "equalized_odds_difference", "demographic_parity",
    "mean_prediction", "mean_prediction_difference", "true_positive_rate_group_min",
    "Selection rate", " ACCURACY ", "false-positive rate",
)  # fmt: skip


@pytest.mark.parametrize("name", RESERVED)
def test_no_sum_of_ones_own_has_the_name_of_a_standard_metric(collective, name, tmp_path):
    for kind in ("own", "quotient"):
        document = altered(collective[kind], "metric", to=lambda _: name)
        with pytest.raises(CertificateError, match="name of a standard metric"):
            question_of(document, collective[kind].data)
    with pytest.raises(InputError, match="pass the name itself, as text"):
        RowSum(lambda actual, said: said, name=name)


def test_a_function_with_the_name_of_a_standard_metric_is_refused():
    X, T, y, _ = rows(3)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, y)

    def accuracy(actual, said):
        return said * 1.0

    renamed = RowSum(accuracy, name="my accuracy")
    assert model.certify_metric(T, renamed, time_limit=0).metric == "my accuracy"
    renamed.name = "accuracy"
    for metric in (accuracy, renamed):
        with pytest.raises(InputError, match="'accuracy' is the name of a standard metric"):
            model.certify_metric(T, metric)


def test_every_standard_metric_has_a_reserved_name():
    for name in (*names(), "mean_prediction", "mean_prediction_difference"):
        assert is_reserved(name)
        with pytest.raises(InputError, match="standard metric"):
            RowSum(([0], [1]), name=name)
    assert not is_reserved("sum of rows")
    assert not is_reserved("sum of rows / sum of rows")


def test_json_has_every_part(collective, capsys, tmp_path):
    case = collective["difference"]
    code, said = run(capsys, case.document, case.data, "--json")
    assert code == 0
    found = json.loads(said.out)
    assert [each["part"] for each in found["collective"]] == [
        "value", "low reached", "low", "high reached", "high",
    ]  # fmt: skip
    assert found["proven"] == 5


ALTERED = {
    "where": ("up", lambda claim: claim.update(where=claim["where"][:-1])),
    "direction": ("up", lambda claim: claim.update(direction="down")),
    "weights": ("weighted", lambda claim: claim.update(weights=0.5)),
    "groups": ("difference", lambda claim: claim["groups"][0].update(name="x")),
    "members": ("gap", lambda claim: claim.update(groups=swapped(claim["groups"]))),
    "truth": ("odds", lambda claim: claim.update(truth=claim["truth"][1:])),
    "metric": ("difference", lambda claim: claim.update(metric="selection_rate_ratio")),
    "terms": ("own", lambda claim: claim["terms"][0].update(negative=1.0)),
}


def swapped(groups):
    first, second, *others = (each["rows"] for each in groups)
    made = sorted([*first[1:], second[0]]), sorted([*second[1:], first[0]]), *others
    return [each | {"rows": members} for each, members in zip(groups, made, strict=True)]


@pytest.mark.parametrize("what", ALTERED)
def test_whatever_changes_what_was_asked_changes_the_question(collective, what):
    kind, change = ALTERED[what]
    case = collective[kind]
    document = json.loads(json.dumps(case.document))
    change(document["collective"])
    before, after = (untrue_question(each, case.data) for each in (case.document, document))
    assert before != after


def untrue_question(document, data):
    path = data.parent / "altered.json"
    path.write_text(json.dumps(document))
    return verify(path, data=data).question


def test_what_has_no_model_behind_it_cannot_be_saved(tmp_path):
    X, T, y, _ = rows(3)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, y)
    found = model.certify_together(T, time_limit=0)
    again = pickle.loads(pickle.dumps(found))
    assert again.at_most == found.at_most
    with pytest.raises(InputError, match="carries no model"):
        again.save(tmp_path / "c.json")
    metric = model.certify_metric(T, "selection_rate", groups=T[:, 0] > 0, time_limit=0)
    with pytest.raises(InputError, match="by_group"):
        metric.by_group[True].save(tmp_path / "c.json")
    with pytest.raises(InputError, match="cannot hold both"):
        metric.save(tmp_path / "c.json", data=tmp_path / "c.json")
    signs = model.certify_together(T, time_limit=0, decision=Sign())
    with pytest.raises(InputError, match="not about Sign"):
        signs.save(tmp_path / "c.json")
    many = model.certify_metric(
        np.vstack([T] * 8), "selection_rate_group_max", groups=np.arange(112), budget=0
    )
    with pytest.raises(InputError, match="112 groups"):
        many.save(tmp_path / "c.json")
    assert not list(tmp_path.iterdir())


def test_groups_that_look_alike_are_told_apart(tmp_path):
    X, T, y, _ = rows(3)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, y)
    groups = np.array([1, "1"] * 7, dtype=object)
    found = model.certify_metric(T, "selection_rate_group_max", groups=groups, time_limit=0)
    found.save(tmp_path / "c.json", data=tmp_path / "c.npz")
    assert "0: 1" in verify(tmp_path / "c.json", data=tmp_path / "c.npz").question


@pytest.mark.parametrize("scale", [1.0, 3.0, 7.0])
def test_a_score_on_the_threshold_is_counted_as_the_exact_one_or_refused(tmp_path, scale):
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.25, 0.5], [0.75, 0.5]]) / scale
    model = CertifiedClassifier(Ridge(alpha=0.1), bias=LabelBias.flips(budget=1))
    found = model.fit(X, [0, 1, 0, 1, 0, 1]).certify_together(X.mean(axis=0)[None], time_limit=0)
    path, data = tmp_path / "c.json", tmp_path / "c.npz"
    score = found.source.question.scores.value[0]
    if score > 0.5:  # the mean of the labels is 0.5, up to the rounding of the mean row
        with suppress(InputError):
            found.save(path, data=data)
    else:
        found.save(path, data=data)
    assert not path.exists() or not verify(path, data=data).rejected
