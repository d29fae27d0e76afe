"""The file of an audit: it loses nothing, belongs to one audit, and can be checked by itself."""

import base64
import json
import zlib

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from unswayed import CertifiedClassifier, CertifiedRegressor, InputError, LabelAudit, LabelBias
from unswayed.verify import CertificateError
from unswayed.verify.audit import verify_audit

RNG = np.random.default_rng(0)
X = RNG.choice([0.0, 1.0, 2.0], (200, 3))
Y = np.where(X.sum(axis=1) + RNG.normal(size=200) > 3, "yes", "no")
TESTS = np.unique(X, axis=0)


def fitted(labels=Y, alpha=1.0):
    return CertifiedClassifier(Ridge(alpha), bias=LabelBias.flips(budget=1)).fit(X, labels)


def truth(seed=0):
    return np.where(
        np.random.default_rng(seed).random(200) < 0.05, np.where(Y == "no", "yes", "no"), Y
    )


def audited(path, together="each", draws=4, many=15):
    audit = fitted().label_audit(TESTS, together=together, risk=0.2, seed=3)
    audit.save(path)
    for _ in range(draws):
        drawn = audit.draw(many)
        audit.record(drawn, truth()[drawn])
    return audit


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.json"


@pytest.mark.parametrize("together", ["each", "all", "discoveries"])
def test_a_saved_audit_goes_on_as_if_it_had_never_stopped(path, tmp_path, together):
    audit = audited(path, together)
    copy = tmp_path / "copy.json"
    copy.write_bytes(path.read_bytes())
    again = LabelAudit.load(copy, fitted(), TESTS)
    np.testing.assert_array_equal(again.e_values, audit.e_values)
    np.testing.assert_array_equal(again.confirmed, audit.confirmed)
    assert len(again.wrong)
    assert again.draw(10).tolist() == audit.draw(10).tolist()


@pytest.mark.parametrize("together", ["each", "all", "discoveries"])
def test_the_checker_finds_the_same_e_values_without_the_model(path, together):
    audit = audited(path, together)
    found = verify_audit(path)
    np.testing.assert_allclose(found.e_values, audit.e_values, rtol=1e-6)
    np.testing.assert_array_equal(found.confirmed, audit.confirmed)
    assert (found.counted, found.wrong) == (60, len(audit.wrong))
    assert audit.confirmed.any() or together == "all"


def test_the_checker_follows_numbers_two_margins_a_row_and_unknown_answers(path):
    y = X @ [1.0, 2.0, 3.0]
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(2, budget=1), radius=0.5).fit(X, y)
    audit = model.label_audit(TESTS, risk=1e-4)
    audit.save(path)
    drawn = audit.draw(40)
    audit.record(drawn, np.where(drawn % 9, y[drawn], y[drawn] - 0.125))
    last = audit.draw(2)
    audit.record(last, ["?", y[last[1]]])
    found = verify_audit(path)
    np.testing.assert_allclose(found.e_values, audit.e_values, rtol=1e-6)
    np.testing.assert_array_equal(found.confirmed, audit.confirmed)


def test_a_file_that_a_crash_cut_short_keeps_every_answer_recorded_before(path):
    audit = audited(path)
    before, whole = audit.e_values, path.read_bytes()
    drawn = audit.draw(5)
    audit.record(drawn, truth()[drawn])
    line = path.read_bytes()[len(whole) :]
    for cut in (1, len(line) // 3, line.index(b"\n") + 1, len(line) - 2):
        path.write_bytes(whole + line[:cut])
        again = LabelAudit.load(path, fitted(), TESTS)
        np.testing.assert_array_equal(again.e_values, before)
        waiting = again.waiting if len(again.waiting) else again.draw(5)
        again.record(waiting, truth()[waiting])
        np.testing.assert_array_equal(
            LabelAudit.load(path, fitted(), TESTS).e_values, audit.e_values
        )


def test_answers_of_two_people_merge_in_either_order(path, tmp_path):
    audit = audited(path)
    drawn = audit.draw(10)
    copies = [tmp_path / name for name in ("one.json", "two.json")]
    for copy, mine in zip(copies, (drawn[:5], drawn[5:]), strict=True):
        copy.write_bytes(path.read_bytes())
        LabelAudit.load(copy, fitted(), TESTS).record(mine, truth()[mine])
    one, two = (LabelAudit.load(copy, fitted(), TESTS) for copy in copies)
    one.merge(copies[1])
    two.merge(copies[0])
    audit.record(drawn, truth()[drawn])
    for each in (one, two, LabelAudit.load(copies[0], fitted(), TESTS)):
        np.testing.assert_array_equal(each.e_values, audit.e_values)


def test_a_label_answered_differently_by_two_people_is_an_error_and_nothing_is_lost(path, tmp_path):
    audit = audited(path)
    row = audit.draw(1)[0]
    other = tmp_path / "other.json"
    other.write_bytes(path.read_bytes())
    LabelAudit.load(other, fitted(), TESTS).record(row, "yes")
    audit.record(row, "no")
    before = path.read_bytes()
    with pytest.raises(InputError, match=f"row {row} has two answers, 'no' and 'yes'"):
        audit.merge(other)
    assert path.read_bytes() == before


def test_two_who_write_to_one_file_do_not_draw_the_same_labels_twice(path):
    audit = audited(path)
    other = LabelAudit.load(path, fitted(), TESTS)
    drawn = audit.draw(5)
    before = path.read_bytes()
    with pytest.raises(InputError, match="was changed since it was read"):
        other.draw(5)
    assert path.read_bytes() == before
    audit.record(drawn, truth()[drawn])
    assert not len(LabelAudit.load(path, fitted(), TESTS).waiting)


def test_a_file_with_a_label_drawn_or_answered_twice_is_refused(path):
    audit = audited(path)
    row = int(audit.draw(1)[0])
    audit.record(row, "no")
    *lines, drawn, said = path.read_bytes().split(b"\n")[:-1]
    for more, why in (
        ([drawn], "a label was drawn twice"),
        ([said.replace(b'"no"', b'"yes"')], f"row {row} has two answers, 'no' and 'yes'"),
    ):
        path.write_bytes(b"\n".join([*lines, drawn, said, *more, b""]))
        with pytest.raises(InputError, match=why):
            LabelAudit.load(path, fitted(), TESTS)


def test_draws_of_two_copies_do_not_add_up(path, tmp_path):
    audit = audited(path)
    other = tmp_path / "other.json"
    other.write_bytes(path.read_bytes())
    LabelAudit.load(other, fitted(), TESTS).draw(3)
    audit.draw(4)
    with pytest.raises(InputError, match="draw in one"):
        audit.merge(other)


@pytest.mark.parametrize(
    ("model", "rows", "said"),
    [
        (lambda: fitted(truth(1)), TESTS, "other training labels"),
        (lambda: fitted(alpha=1.5), TESTS, "another model"),
        (fitted, TESTS[:5], "other rows"),
    ],
)
def test_the_file_of_another_audit_is_refused_and_left_alone(path, model, rows, said):
    audited(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=said):
        LabelAudit.load(path, model(), rows)
    assert path.read_bytes() == before


def test_what_is_no_audit_is_refused(path):
    with pytest.raises(InputError, match="there is no file"):
        LabelAudit.load(path, fitted(), TESTS)
    for text in ("", "{}\n", "[1]\n", "hello\n"):
        path.write_text(text)
        with pytest.raises(InputError, match="no file of a label audit"):
            LabelAudit.load(path, fitted(), TESTS)
        with pytest.raises(CertificateError):
            verify_audit(path)


def forged(lines, change):
    made = [json.loads(line) for line in lines]
    change(made)
    return b"".join(json.dumps(line).encode() + b"\n" for line in made)


def wrong_counted_as_right(lines):
    line = next(line for line in lines if line.get("moved"))
    del line["moved"][next(iter(line["moved"]))]


def other_draws(lines):
    lines[1]["drawn"][0], lines[1]["drawn"][1] = lines[1]["drawn"][1], lines[1]["drawn"][0]


def another_seed(lines):
    lines[0]["seed"] += 1


def answered_twice(lines):
    label = next(iter(lines[2]["answers"]))
    lines.append({"answers": {label: "maybe"}, "moved": {}})


def a_larger_bet(lines):
    lines[0]["fractions"][-1] = 1.5


def drawn_once_more(lines):
    lines.append(lines[1])


def not_drawn(lines):
    drawn = {row for line in lines if "drawn" in line for row in line["drawn"]}
    row = next(row for row in range(200) if row not in drawn)
    lines.append({"answers": {str(row): Y[row]}, "moved": {}})


def chances_of_fewer_labels(lines):
    few = base64.b64encode(zlib.compress(np.ones(3, dtype=np.int64).tobytes())).decode()
    lines[1]["chances"] = few


@pytest.mark.parametrize(
    "change",
    [
        wrong_counted_as_right, other_draws, another_seed, answered_twice, a_larger_bet,
        drawn_once_more, not_drawn, chances_of_fewer_labels,
    ],
)  # fmt: skip
def test_the_checker_refuses_files_that_do_not_follow_from_themselves(path, change):
    audited(path)
    path.write_bytes(forged(path.read_bytes().splitlines(), change))
    with pytest.raises(CertificateError):
        verify_audit(path)
