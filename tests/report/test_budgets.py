"""Results and pages of budgets that are no plain numbers of labels: words, in their unit."""

import itertools
import json
import math
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from tests.effort import examples, some
from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    Cost,
    LabelBias,
    RobustnessCurveDisplay,
    Sampled,
    Total,
    cross_certify,
    robustness_curve,
)
from unswayed.report.render import render_collective, render_comparison
from unswayed.words import in_unit, labels_between

FILES = Path(__file__).parents[1] / "golden" / "files"

RNG = np.random.default_rng(5)
X, TESTS = pd.DataFrame(RNG.normal(size=(60, 3)), columns=list("abc")), RNG.normal(size=(25, 3))
TESTS = pd.DataFrame(TESTS, columns=list("abc")).assign(
    group=["one", "two", "three", "one", "two"] * 5
)
NUMBERS = (X @ [1.0, -0.5, 0.25]).to_numpy() + RNG.normal(size=60)
CLASSES = np.where(NUMBERS > 0, "yes", "no")
LEFT = np.arange(60) < 25
SAMPLE = "95 % confidence that no more are: 0 of 40 labels checked at random were wrong"

FLIPS = {
    "clusters": LabelBias.flips(budget=2, clusters=np.arange(60) // 6),
    "cost": LabelBias.flips(budget=Cost(2.5, np.tile([0.5, 1.25], 30))),
    "limits": LabelBias.flips(budget=2, where=LEFT) + LabelBias.flips(budget=1, where=~LEFT),
    "sample": LabelBias.flips(budget=Sampled(checked=40, wrong=0, confidence=0.95)),
}
TOTAL = LabelBias.shifts(1.0, budget=Total(2.25))
KINDS = [*FLIPS, "total"]


def certified(kind):
    if kind == "total":
        model = CertifiedRegressor(Ridge(), bias=TOTAL, radius=0.1).fit(X, NUMBERS)
    else:
        model = CertifiedClassifier(Ridge(), bias=FLIPS[kind]).fit(X, CLASSES)
    return model.certify(TESTS[list("abc")])


@pytest.fixture(scope="module", params=KINDS)
def made(request, tmp_path_factory):
    """A kind of budget, its certificates, and their page."""
    certs, path = certified(request.param), tmp_path_factory.mktemp("page") / "page.html"
    certs.report(path, table=TESTS, groups=["group"])
    return request.param, certs, path.read_text(encoding="utf-8")


def plain(page):
    """The words of a page, without tags."""
    body = re.sub(r"(?s)<(script|style).*?</\1>", "", page)
    return " ".join(re.sub(r"<[^>]+>", "", body).replace("&#39;", "'").split())


def script(page):
    return json.loads(re.search(r'(?s)id="data">(.*?)</script>', page)[1])


ALLOWED = {
    "clusters": "even if up to 2 clusters of labels are wrong:",
    "cost": "even if labels that cost up to 2.5 together are wrong:",
    "limits": "even if up to 3 labels are wrong in all, each part within its limit:",
    "total": "even if labels are off by up to 2.25 in all:",
}
AXES = {
    "clusters": "clusters that may be wrong",
    "cost": "cost of the wrong labels",
    "limits": "wrong labels in all, each part within its limit",
    "total": "total change of labels, in the label's unit",
    "sample": "wrong labels",
}


def test_the_headline_says_what_may_be_wrong(made):
    kind, certs, page = made
    words = plain(page)
    assert f"{int(certs.robust.sum())} of 25 test rows" in words
    if kind == "sample":
        many = int(certs.budget)
        assert f"even if up to {many} of the 60 training labels (" in words
        assert f"are wrong ({SAMPLE}): one at a time" in words
    else:
        assert ALLOWED[kind] in words
        assert "of the 60 training labels (" not in words


def test_axes_and_sliders_are_in_the_unit(made):
    kind, certs, page = made
    data = script(page)
    for name, chart in data["charts"].items():
        if name.startswith("curve-"):
            assert chart["layer"][-1]["encoding"]["x"]["title"] == AXES[kind]
    assert data["unit"] == certs.unit
    assert data["main"] == certs.budget
    least = np.where(np.isfinite(certs.minimum_budget), certs.minimum_budget, -1)
    assert data["minimum_budget"] == least.tolist()
    assert data["top"] >= data["main"]
    step = "any" if kind in ("cost", "total") else "1"
    assert f'id="budget" min="0" max="{data["top"]}" step="{step}" value="{data["main"]}"' in page


def test_what_overturns_a_row_is_printed_so_that_it_does(made):
    kind, certs, page = made
    low, high = certs.minimum_budgets.low, certs.minimum_budgets.high
    for row in script(page)["rows"]["rows"]:
        at = row["row"]
        if math.isinf(low[at]):
            assert row["needs"] == "never"
            continue
        unit = {"clusters": "cluster", "cost": "a cost of", "total": "a total change of"}
        assert unit.get(kind, "label") in row["needs"]
        ends = [float(each.replace(",", "")) for each in re.findall(r"[\d.,]+", row["needs"])]
        assert ends[-1] >= high[at]
        assert ends[0] <= low[at] or len(ends) == 1


def test_assumptions_say_what_the_budget_is(made):
    kind, _, page = made
    words = plain(page).partition("What was assumed, and what this does not show")[2]
    said = {
        "clusters": "up to 2 of 10 clusters are wrong as a whole",
        "cost": "labels that cost up to 2.5 together are wrong",
        "limits": "up to 2 of 25 labels, and up to 1 of 35 labels are wrong",
        "total": "labels are off by up to 2.25 in all",
        "sample": "The sample. The number of wrong labels is not known. A checked sample bounds it"
        f": {SAMPLE}.",
    }
    assert said[kind] in words
    assert ("The budget." in words) == (kind != "sample")


def test_every_sentence_that_rests_on_a_sample_says_how_sure_it_is_once(made):
    kind, certs, page = made
    if kind != "sample":
        assert "confidence that no more are" not in page
        return
    assert repr(certs).count("95 % confidence that no more are") == 1
    for name, sentence in certs.summary().lines().items():
        assert sentence.count("95 % confidence that no more are") == (name != "at random")
    effects = re.search(r"coefficients keep their sign if [^.]*\.", plain(page))[0]
    assert effects.count(SAMPLE) == 1


def test_summaries_leave_out_what_is_not_known():
    every = {kind: certified(kind).summary() for kind in KINDS}
    for kind, found in every.items():
        assert ("at random" in found.lines()) == (kind == "sample")
        assert f"{found.robust} of 25" in found.lines()["one at a time"]
        assert found.to_dict()["one_at_a_time"]["robust"] == found.robust
    assert "if up to 2 of 10 clusters are wrong as a whole, each" in str(every["clusters"])
    assert "stay within 0.1 if labels are off by up to 2.25 in all, each" in str(every["total"])
    folds = cross_certify(
        CertifiedRegressor(Ridge(), bias=TOTAL, radius=0.1), X, NUMBERS, cv=3
    ).summary()
    assert [*folds.lines()] == ["one at a time"]
    assert folds.others() == {}
    assert folds.to_dict()["together"] is None


def test_a_page_of_folds_leaves_out_what_is_not_known(tmp_path):
    model = CertifiedRegressor(Ridge(), bias=TOTAL, radius=0.1)
    cross_certify(model, X, NUMBERS, cv=3).report(tmp_path / "page.html")
    words = plain((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "stay within 0.1 even if labels are off by up to 2.25 in all" in words
    assert "Together:" not in words
    assert "At random:" not in words


def test_frames_curves_and_witnesses_name_the_unit(made):
    kind, certs, _ = made
    columns = certs.to_dict()
    counts = kind in ("limits", "sample")
    assert ("unit" in columns) == (not counts)
    assert counts or set(columns["unit"]) == {certs.unit}
    axis = {"clusters": "clusters wrong", "cost": AXES["cost"], "total": AXES["total"]}
    display = RobustnessCurveDisplay.from_certificates(certs)
    assert display.unit == axis.get(kind, "labels wrong")
    curve = robustness_curve(certs.minimum_budget)
    assert curve(certs.budget) == pytest.approx(certs.robustness_rate)
    row = int(np.flatnonzero(certs.verdict == "not-robust")[0])
    found = certs.witness(row)
    assert (found.uses is None) == counts
    if not counts:
        assert f" ({found.uses}) move" in str(found)
    if kind == "clusters":
        many = len(set((found.indices // 6).tolist()))
        assert found.uses == f"{many} cluster{'' if many == 1 else 's'}"


def test_a_sum_of_flips_names_classes_in_its_witnesses():
    certs = certified("limits")
    for row in np.flatnonzero(certs.verdict == "not-robust"):
        found = certs.witness(int(row))
        labels = CLASSES.copy()
        assert set(found.labels) <= {"yes", "no"}
        assert (found.labels != labels[found.indices]).all()
        labels[found.indices] = found.labels
        again = Ridge().fit(X, labels == "yes").predict(TESTS[list("abc")])[row] > 0.5
        assert again != (certs.prediction[row] == "yes")


# --- one set of labels for all rows, against all sets -----------------------------------------


def sets_within(kind, n):
    """All sets of labels that a budget admits, as rows of a matrix of zeros and ones."""
    for wrong in itertools.product((False, True), repeat=n):
        at = np.flatnonzero(wrong)
        if kind == "clusters":
            fits = len(set((at // 2).tolist())) <= 2
        elif kind == "limits":
            fits = (at < 4).sum() <= 1 and (at >= 4).sum() <= 2
        else:
            fits = np.where(at % 2, 1.25, 0.5).sum() <= 2.5
        if fits:
            yield np.array(wrong)


@pytest.mark.parametrize("kind", ["clusters", "limits", "cost"])
@pytest.mark.parametrize("seed", range(some(2, 6)))
def test_together_is_between_the_bounds_of_a_summary(kind, seed):
    rng, n = np.random.default_rng(seed), 10
    train, rows = rng.normal(size=(n, 2)), rng.normal(size=(8, 2))
    y = (train[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    low = np.arange(n) < 4
    bias = {
        "clusters": LabelBias.flips(budget=2, clusters=np.arange(n) // 2),
        "limits": LabelBias.flips(budget=1, where=low) + LabelBias.flips(budget=2, where=~low),
        "cost": LabelBias.flips(budget=Cost(2.5, np.where(np.arange(n) % 2, 1.25, 0.5))),
    }[kind]
    found = CertifiedClassifier(Ridge(), bias=bias).fit(train, y).certify(rows).summary()
    labels = np.array([np.where(wrong, 1 - y, y) for wrong in sets_within(kind, n)])
    scores = Ridge().fit(train, labels.T).predict(rows) > 0.5  # one column for each set
    before = Ridge().fit(train, y).predict(rows) > 0.5
    most = int((scores != before[:, None]).sum(axis=0).max())
    assert found.at_least <= most <= found.at_most
    assert found.robust == int((scores == before[:, None]).all(axis=1).sum())


# --- amounts in words ---------------------------------------------------------------------------


@settings(max_examples=examples(200))
@given(
    st.floats(1e-9, 1e12), st.floats(0, 2), st.sampled_from(["total change", "cost"])
)  # fmt: skip
def test_sums_are_rounded_outwards(low, factor, unit):
    high = low * (1 + factor**9)
    text = labels_between(low, high, unit)
    ends = [Decimal(each) for each in re.findall(r"[\d.]+(?:e[+-]?\d+)?", text.replace(",", ""))]
    assert ends[-1] >= Decimal(high) or math.isclose(ends[-1], high, rel_tol=1e-15)
    assert len(ends) == 1 or ends[0] <= Decimal(repr(low))
    assert len(ends) == 2 or high - low <= 1e-6 * high
    assert f"{labels_between(low, math.inf, unit)}" == f"{in_unit(low, unit, -1)} or more"


def test_words_of_what_never_happens_and_of_what_nobody_knows():
    for unit in ("labels", "clusters", "total change", "cost"):
        assert labels_between(math.inf, math.inf, unit) == "never"
        assert labels_between(math.nan, math.nan, unit) == "unknown"


# --- pages about all rows at once, comparisons and audits: functions of a dict ------------------


def stored(case, **changes):
    """The facts of a stored page, with other facts in the place of some."""
    path = FILES / case / "page-facts.json"
    facts = json.loads(path.read_text(encoding="utf-8").replace('"(varies)"', "0.5"))
    facts["provenance"]["versions"] = {}
    return facts | changes


def test_a_page_about_all_rows_together_is_in_the_unit():
    facts = stored("together_command", unit="total change")
    facts["together"]["budgets"][0] |= {"labels": 12.5, "budget": "12.5"}
    page = render_collective(facts)
    assert "set of wrong labels if labels are off by up to 12.5 in all." in plain(page)
    assert f">{AXES['total']}</th>".replace("'", "&#39;") in page.replace("'", "&#39;")
    assert "The budget. What labels are off by is added up" in plain(page)
    clusters = plain(render_collective(stored("together_command", unit="clusters")))
    assert "set of wrong labels if up to 2 clusters of labels are wrong." in clusters


def test_a_page_about_metrics_says_how_sure_a_sample_is():
    words = plain(render_collective(stored("fairness", budget_source=SAMPLE)))
    assert f"; 1 wrong label ({SAMPLE}) can make that" in words
    assert f"A checked sample bounds it: {SAMPLE}." in words
    limited = plain(render_collective(stored("fairness", limited=True)))
    assert (
        "if up to 1 label is wrong in all, each part within its limit, that can become" in limited
    )


def test_each_side_of_a_comparison_has_its_own_unit():
    facts = stored("compare")
    facts["first"] |= {"unit": "clusters"}
    facts["second"] |= {"budget_source": SAMPLE}
    words = plain(render_comparison(facts))
    assert "keep their prediction if up to 3 clusters of labels are wrong: one at a time" in words
    assert f"keep their prediction if up to 3 labels (3) are wrong ({SAMPLE}): one" in words
    assert f"The budget is from a sample: {SAMPLE};" in words


def test_an_audit_lists_what_is_confirmed_first_and_what_is_overturned_last():
    facts = stored("audit_command")
    states = ["open", "overturned so far", "confirmed", "enough evidence"]
    for at, row in enumerate(facts["audit"]["listed"]):
        row |= {"state": states[at % 4], "e_value": float(at), "row": at}
    page = render_collective(facts)
    shown = re.findall(r'data-head="row">(\d+)<.*?data-head="state">([^<]*)<', page)
    named = [state for _, state in shown]
    assert [*dict.fromkeys(named)] == ["confirmed", "enough evidence", "open", "overturned so far"]
    assert len(shown) == len(facts["audit"]["listed"])
    rows = [int(row) for row, state in shown if state == "open"]
    assert rows == sorted(rows, reverse=True)
