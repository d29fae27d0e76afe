"""What is proven is rounded outwards wherever a person reads it.

Every command of a battery is run twice, for people and as JSON. Each proven end in the JSON is
looked for in the line of text that is about it; what stands there may claim no more than the
double does.
"""

import html
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge, RidgeClassifier

from tests.commands import CLASSES, NUMBERS, people, unswayed_here
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias
from unswayed.results.groups import GroupRates
from unswayed.words import distance, number_end, percent, points, range_text, separated, share_end

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
HELD = ("--holdout", "30%")
TWO = ("--budget", "3%", "--budget", "7")
SHIFT = ("--shift", "1234.5", *TWO)
LOGISTIC = (*CLASSES, "--model", "logistic", "--C", "0.02", *TWO)
BATTERY = {
    "classes": ("certify", *CLASSES, *HELD, *TWO, "--groups", "gender,city"),
    "radius": ("certify", *NUMBERS, *HELD, *SHIFT, "--radius", "1234.5678"),
    "no radius": ("certify", *NUMBERS, *HELD, *SHIFT, "--groups", "city"),
    "relative": ("certify", *NUMBERS, *HELD, "--log", "--shift", "3%", *TWO),
    "logistic": ("certify", *LOGISTIC, *HELD, "--groups", "gender,city"),
    "folds": ("certify", *CLASSES, "--folds", "3", *TWO, "--groups", "gender"),
    "coefficients": ("coefficients", *NUMBERS, *SHIFT),
    "standardised": ("coefficients", *NUMBERS, *SHIFT, "--standardised"),
    "odds ratios": ("coefficients", *LOGISTIC),
    "fairness": ("fairness", *CLASSES, *HELD, *TWO, "--groups", "gender", "--time-limit", "0"),
    "means": ("fairness", *NUMBERS, *HELD, *SHIFT, "--groups", "city"),
    "together": ("together", *CLASSES, *HELD, *TWO, "--row-weights", "weight", "--time-limit", "0"),
    "review": ("review", "plan", *CLASSES, *HELD, "--budget", "3%", "--labels", "5"),
    "tradeoff": ("tradeoff", *CLASSES, *HELD, *TWO),
    "compare": ("compare", *CLASSES, *HELD, *TWO, "--against", "--alpha 100"),
}
PAGES = ("classes", "radius", "no radius", "logistic", "fairness", "means", "together", "review")


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """A function from the name of a command to what it prints, its JSON, and its page."""
    folder = tmp_path_factory.mktemp("ends")
    frame = people(400, seed=8)
    frame["weight"] = np.random.default_rng(2).uniform(0.5, 20, len(frame))
    frame.to_csv(folder / "people.csv", index=False)
    known = {}

    def run(*command):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "250")  # one line of a table, one line of text
            done = unswayed_here(*command, cwd=folder)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    def ask(name):
        if name not in known:
            verb, *options = BATTERY[name]
            command = [verb, *(options[:1] if verb == "review" else []), "people.csv"]
            command += options[1:] if verb == "review" else options
            if "--row-weights" not in options:
                command += ["--ignore", "weight"]
            page = ["--report", "page.html"] if name in PAGES else []
            text, facts = run(*command, *page), json.loads(run(*command, "--json"))
            found = (folder / "page.html").read_text(encoding="utf-8") if page else ""
            known[name] = text, facts, found
        return known[name]

    return ask


def numbers(text):
    return [float(each.replace(",", "")) for each in NUMBER.findall(text)]


def outside(line, value, way, *, near=2e-3):
    """Assert that a line holds a number for an end, and that it lies on the outer side of it."""
    if not math.isfinite(value):
        return
    found = min(numbers(line), key=lambda each: abs(each - value), default=math.nan)
    assert abs(found - value) <= near * max(abs(value), 0.05), (line, value)
    slack = 1e-12  # quotients of counts are doubles only nearly
    assert way * (found - value) >= -slack, f"{found} says more than {value}: {line}"


def tenth(text, value, way):
    """Assert the same of one number, which may be in per cent or points with one decimal."""
    if not text.endswith((" %", " points")):
        outside(text, value, way)
    elif math.isfinite(value):
        assert -1e-9 <= way * (numbers(text)[0] - 100 * value) <= 0.1 + 1e-9, (text, value)


def within(line, low, high, **options):
    outside(line, low, -1, **options)
    outside(line, high, 1, **options)


def line_of(text, *keys):
    """The first line that begins with the first key and has all of them."""
    found = [
        line
        for line in text.splitlines()
        if line.strip().startswith(keys[0]) and all(key in line for key in keys)
    ]
    assert found, (keys, text)
    return found[0]


def rows_of(page):
    """Rows of all tables of a page as lines, cells apart."""
    shown = page.split("<script", maxsplit=1)[0]
    rows = re.findall(r"<tr[ >].*?</tr>", shown, re.DOTALL)
    return [html.unescape(" ".join(re.sub(r"<[^>]+>", "  ", row).split())) for row in rows]


def charts_of(page):
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(data[1])


# --- the terminal -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["coefficients", "standardised", "odds ratios"])
def test_no_printed_range_of_a_coefficient_is_narrower_than_what_is_proven(said, name):
    text, facts, _ = said(name)
    parts = re.split("keeps? (?:its|their) sign", text)[1:]
    assert len(parts) == len(facts["budgets"]) == 2
    for each in [*facts["coefficients"], facts["intercept"]]:
        for part, found in zip(parts, each["budgets"], strict=True):
            line = line_of(part, each["name"]).removeprefix(each["name"])
            within(line, *ends(found))
            if "odds_ratio_low" in found and each is not facts["intercept"]:
                within(line, found["odds_ratio_low"], found["odds_ratio_high"])
        beside = line_of(text[text.index("standard error") :], each["name"])
        within(beside.rsplit("  ", maxsplit=1)[1], *ends(each))
    assert "e+" not in text


@pytest.mark.parametrize(("name", "factor"), [("no radius", 1), ("relative", 100)])
def test_no_prediction_moves_further_than_is_printed(said, name, factor):
    text, facts, _ = said(name)
    for each in facts["movement"]["budgets"]:
        for end, name in (("median", "half of"), ("p90", "90 % move"), ("largest", "all move")):
            outside(line_of(text, name), factor * each[end], 1)
    for each in [group for one in facts["movement"]["groups"] for group in one["groups"]]:
        outside(line_of(text, each["group"]), factor * each["largest"], 1)
    for each in facts["radius_grid"]:
        assert float(each["text"].rstrip("%")) == pytest.approx(factor * each["radius"], rel=1e-15)


def test_a_radius_is_printed_with_all_of_its_digits(said):
    assert "stay within 1,234.5678 of their prediction" in said("radius")[0]


@pytest.mark.parametrize("name", ["fairness", "means"])
def test_no_printed_range_of_a_metric_is_narrower_than_what_is_proven(said, name):
    text, facts, page = said(name)
    found = facts["fairness"]
    parts = text.split("\nif up to ")[1:]
    assert len(parts) == len(found["budgets"])
    for at, part in enumerate(parts):
        for column in found["columns"]:
            for line in column["metrics"]:
                within(proven(line_of(part, line["metric"]))[0], *ends(line["ranges"][at]))
            for rate in column["rates"]:
                for group in rate["groups"]:
                    printed = line_of(part, f"{rate['rate']}, {group['group']}")
                    within(proven(printed)[0], *ends(group["ranges"][at]))
    for line in [line for column in found["columns"] for line in column["metrics"]]:
        row = next(row for row in rows_of(page) if line["metric"] in row.replace(" ", ""))
        order = np.argsort([each["labels"] for each in found["budgets"]])
        for text, at in zip(proven(row), order, strict=True):
            low, high = ends(line["ranges"][at])
            unit = " points" if found["share"] else ""
            tenth(f"{text.split(' to ')[0]}{unit}", low, -1)
            tenth(f"{text.split(' to ')[1]}{unit}", high, 1)


def proven(line):
    """The ranges of a line, without those that are reached."""
    return re.findall(r"(?<!reached: )(?<![\d.,-])-?[\d.,]+ to -?[\d.,]+", line)


def ends(found):
    return found["low"], found["high"]


def test_no_printed_count_says_more_than_is_proven(said):
    text, facts, page = said("together")
    for each in facts["together"]["budgets"]:
        row = next(row for row in rows_of(page) if row.startswith(each["budget"]))
        shown = {
            "one set of labels overturns": ("at_most", 1),
            "overturned one at a time": ("one_at_a_time", 1),
            "some set overturns": ("at_least", -1),
        }
        for name, (key, way) in shown.items():
            for line in (line_of(text, name), row):
                outside(line, each[key], way)


def test_a_mean_of_proven_counts_is_rounded_down(said):
    text, facts, _ = said("review")
    review = facts["review"]
    for at in review["points"]:
        outside(line_of(text, str(at), "%"), review["random"][at], -1)


def test_rates_that_are_lower_bounds_and_gaps_that_are_ranges_are_rounded_outwards(said):
    text, facts, page = said("logistic")
    order = np.argsort([each["labels"] for each in facts["budgets"]])
    for grouping in facts["groups"]:
        part = text[text.index(f"\n{grouping['column']} ") :]
        for each in grouping["groups"]:
            shown = re.findall(r"([\d.]+) to ([\d.]+) %", line_of(part, each["group"]))
            rates = [(each["rates"][at], each["highest_rates"][at]) for at in order]
            left = [pair for pair in rates if pair[0] < pair[1]]
            for found, (low, high) in zip(shown, left, strict=True):
                assert 0 <= 100 * low - float(found[0]) + 1e-9 < 0.1
                assert 0 <= float(found[1]) - 100 * high + 1e-9 < 0.1
        ranges = [grouping["gap_ranges"][at] for at in order]
        open_gaps = [each for each in ranges if each[0] < each[1]]
        gaps = re.findall(r"([\d.]+) to ([\d.]+) pt", line_of(part, "gap"))
        for shown, (low, high) in zip(gaps, open_gaps, strict=True):
            assert 0 <= 100 * low - float(shown[0]) + 1e-9 < 0.1
            assert 0 <= float(shown[1]) - 100 * high + 1e-9 < 0.1
    assert any(re.search(r"[\d.]+ to [\d.]+ %", row) for row in rows_of(page))


@pytest.mark.parametrize("name", ["classes", "folds", "logistic", "tradeoff", "compare", "review"])
def test_only_all_are_100_percent_and_only_none_are_0(said, name):
    text, facts, _ = said(name)
    shares = {*every(facts, ("rate", "rates", "share", "selection_rate", "train_share", "quality"))}
    shares |= {*every(facts, ("majority_quality", "undecided", "qualities"))}
    if name == "review":
        shares |= {robust / facts["review"]["rows"] for robust in facts["review"]["robust_after"]}
    if name == "logistic":
        for each in facts["budgets"]:
            shares |= {each[what] / facts["test_rows"] for what in ("overturned", "undecided")}
    for printed, whole in (("100.0 %", 1.0), (" 0.0 %", 0.0)):
        assert printed not in text or whole in shares


def every(facts, names):
    """All numbers below some keys."""
    if isinstance(facts, dict):
        for key, value in facts.items():
            if key in names or key.startswith("robust at "):
                yield from leaves(value)
            yield from every(value, names)
    elif isinstance(facts, list):
        for value in facts:
            yield from every(value, names)


def leaves(value):
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, list):
            yield from leaves(each)
        elif isinstance(each, int | float):
            yield float(each)


# --- the page and its charts --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["classes", "radius", "no radius", "logistic"])
def test_the_table_of_coefficients_on_the_page_is_rounded_outwards(said, name):
    _, _, page = said(name)
    table = page[page.index('id="coefficient-table"') :].split("</table>")[0]
    rows = rows_of(table)[1:]
    drawn = data_of(charts_of(page)["charts"]["coefficients"])
    known = list({each["full"]: each for each in drawn if "least" in each}.values())
    assert known
    for each, row in zip(known, rows, strict=False):
        within(row, each["low"], each["high"])


@pytest.mark.parametrize("name", PAGES)
def test_charts_tell_proven_numbers_as_texts_that_were_rounded_outwards(said, name):
    _, _, page = said(name)
    pairs = 0
    for chart in charts_of(page)["charts"].values():
        for each in data_of(chart):
            for low, high, least, most in (
                ("low", "high", "least", "most"),
                ("low", "high", "low_text", "high_text"),
                ("sure", "end", "least", "most"),
            ):
                if (
                    each.get(low) is None
                    or least not in each
                    or each.get("what") == "one at a time"
                ):
                    continue
                tenth(each[least], each[low], -1)
                tenth(each[most], each[high], 1)
                pairs += 1
            if "share" in each and isinstance(each["share"], str):
                assert (each["share"] == "100.0 %") == (each["rate"] == 1)
                assert (each["share"] == "0.0 %") == (each["rate"] == 0)
        # Vega's own formats round to nearest: only whole numbers, axes and estimates have one.
        for tip in tooltips(chart):
            assert tip.get("format", ",d") in (",d", "~g") or "estimated" in str(chart), tip
    assert pairs or name == "review"


def data_of(spec):
    """All points that a chart draws."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            yield from value["values"] if key == "data" else data_of(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from data_of(value)


def tooltips(spec):
    if isinstance(spec, dict):
        found = spec.get("tooltip")
        yield from found if isinstance(found, list) else []
        for value in spec.values():
            yield from tooltips(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from tooltips(value)


def test_rows_of_the_page_stay_between_what_is_printed(said):
    _, _, page = said("no radius")
    rows = charts_of(page)["rows"]["rows"]
    assert rows
    for each in rows:
        outside(each["low_text"], each["low"], -1)
        outside(each["high_text"], each["high"], 1)
        outside(each["moves"], each["moved"], 1)
    shown = [row for row in rows_of(page) if row.startswith(f"{rows[0]['row']} ")]
    assert f"{rows[0]['low_text']} {rows[0]['high_text']} {rows[0]['moves']}" in shown[0]


def test_probabilities_of_the_page_are_rounded_outwards(said):
    _, _, page = said("logistic")
    ranges = [each["probability_range"] for each in charts_of(page)["rows"]["rows"]]
    assert all(0 <= low < high <= 1 for low, high in map(numbers, ranges))


# --- Python -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 3))
    y = 40_000 + X @ [3_000, -7_000, 10] + rng.normal(0, 2_000, 80)
    bias = LabelBias.shifts(1_234.5, budget=4)
    return X, CertifiedRegressor(Ridge(0.3), bias=bias, radius=900).fit(X, y)


def test_reprs_of_ranges_are_rounded_outwards(fitted):
    X, model = fitted
    found = model.certify_metric(X[:40], "mean_prediction", groups=["a", "b"] * 20)
    within(repr(found).rsplit("between ", maxsplit=1)[1], found.low, found.high)
    for group, line in zip("ab", repr(found.by_group).splitlines()[1:], strict=True):
        within(line, found.by_group[group].low, found.by_group[group].high)


def test_the_html_of_certificates_is_rounded_outwards(fitted):
    X, model = fitted
    for certs in (model.certify(X[:7]), model.certify_coefficients()):
        rows, weak = rows_of(certs._repr_html_())[1:], certs.weakest(12).rows
        for row, low, high in zip(rows, certs.low[weak], certs.high[weak], strict=True):
            within(" ".join(row.split()[-3:-1]), low, high)


def test_the_range_of_a_gap_is_rounded_outwards():
    rates = GroupRates(("a", "b"), np.array([1 / 3, 0.9996]), np.array([3, 2500]), np.array([1, 0]))
    low, high = rates.gap_range()
    lines = str(rates).splitlines()
    within(lines[-1], 100 * low, 100 * high, near=0.01)
    assert "99.96 %" in lines[1]


def test_a_weighted_count_is_rounded_outwards():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, "yes", "no")
    model = CertifiedClassifier(RidgeClassifier(3.0), bias=LabelBias.flips(budget=2))
    found = model.fit(X, y).certify_together(X[:30], weights=rng.uniform(1, 3, 30), time_limit=0)
    line = repr(found).split(": ")[-1]
    outside(line, found.at_most, 1)
    outside(line, found.at_most if found.proven else found.at_least, 1 if found.proven else -1)


# --- the functions ------------------------------------------------------------------------------

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, st.integers(1, 17))
def test_no_number_is_rounded_inwards(value, digits):
    low, high = (float(number_end(value, way, digits).replace(",", "")) for way in (-1, 1))
    assert low <= value <= high
    assert (low == 0) == (value == 0) == (high == 0)
    assert high - low <= 10.0 ** (2 - digits) * abs(value) or math.isinf(high - low)


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_no_share_is_rounded_inwards_and_none_to_all_or_nothing(count, more):
    rate = count / (count + more)
    for value, text in ((rate, percent(rate)), (1 - rate, percent(1 - rate))):
        shown = float(text.removesuffix(" %"))
        assert (shown == 0) == (value == 0)
        assert (shown == 100) == (value == 1)
    for shown in (float(percent(rate, -1).removesuffix(" %")), float(points(rate, way=-1))):
        assert shown <= 100 * rate + 1e-10
    for shown in (float(percent(rate, 1).removesuffix(" %")), float(points(rate, way=1))):
        assert shown >= 100 * rate - 1e-10
    assert float(share_end(rate, -1)) <= rate + 1e-12 <= float(share_end(rate, 1)) + 2e-12


@given(st.floats(0, 1e12))
def test_no_prediction_moves_further_than_its_distance(moved):
    assert float(distance(moved, relative=False).replace(",", "")) >= moved
    shown = float(distance(moved, relative=True).removesuffix(" %").replace(",", ""))
    assert shown >= 100 * moved * (1 - 1e-15)


def test_salaries_are_printed_as_people_write_them():
    assert range_text(-45_067.21, 45_067.21, digits=4) == "-45,068 to 45,068"
    assert number_end(1_234_567.89, digits=4) == "1,234,568"
    assert separated("45070.25") == "45,070.25"
    assert separated("007") == "007"


# --- witnesses ----------------------------------------------------------------------------------


def test_a_witness_is_printed_with_as_many_digits_as_show_that_it_overturns(folder):
    """A radius just below what the witness reaches: with six digits it would seem to be within."""
    asked = (
        "witness",
        "people.csv",
        *NUMBERS,
        "--shift",
        "1234.5",
        "--row",
        "7",
        "--test",
        "a.csv",
    )
    people(30, seed=9).to_csv(folder / "a.csv", index=False)
    facts = json.loads(unswayed_here(*asked, "--radius", "60", "--json", cwd=folder).stdout)
    radius = abs(facts["new_score"] - facts["score"]) * (1 - 1e-9)
    done = unswayed_here(*asked, "--radius", repr(radius), cwd=folder)
    before, after = (
        float(each.replace(",", "")) for each in re.findall(r"\(score ([\d.,]+)\)", done.stdout)
    )
    assert abs(after - before) > radius
