"""Undecided rows leave rates open: ranges, and intervals that cover both ends."""

import itertools

import numpy as np
import pytest

from tests.commands import CLASSES, people, unswayed_here
from unswayed.results.groups import GroupRates, gap_interval, group_rates, wilson

RATES = GroupRates(("a", "b"), np.array([0.0, 0.5]), np.array([40, 20]), np.array([37, 0]))


def test_an_interval_covers_those_of_both_counts():
    low, high = wilson(0, 40, most=37)
    assert (low, high) == (wilson(0, 40)[0], wilson(37, 40)[1])
    np.testing.assert_array_equal(RATES.intervals()[0], (low, high))
    np.testing.assert_array_equal(RATES.intervals()[1], wilson(10, 20))


def test_an_interval_of_a_gap_covers_it_however_undecided_rows_turn_out():
    kept, left, rows = np.array([3, 30, 14]), np.array([3, 2, 4]), np.array([20, 40, 30])
    low, high = gap_interval(kept, rows, most=kept + left)
    for more in itertools.product(*(range(each + 1) for each in left)):
        one = gap_interval(kept + np.array(more), rows)
        assert low <= one[0] <= one[1] <= high
    assert gap_interval(kept, rows) == gap_interval(kept, rows, most=kept)


def test_rates_of_groups_say_from_where_to_where():
    assert str(RATES).splitlines()[0].startswith("a     0.0 to 92.5 %  (40 rows, 37 undecided; 0.0")
    assert "0.0 to 50.0 points  (0.0 to " in str(RATES)
    assert RATES.to_dict()["highest"] == [0.925, 0.5]


def test_no_undecided_row_leaves_no_range():
    rates = group_rates(np.array([True, False, True]), ["a", "a", "b"])
    np.testing.assert_array_equal(rates.rate, rates.highest)
    assert " to " not in str(rates).splitlines()[0].split("(")[0]


@pytest.mark.parametrize("way", [(), ("--folds", "3")])
def test_terminal_and_page_show_a_range_of_rates(tmp_path, way):
    people(240).to_csv(tmp_path / "people.csv", index=False)
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--model", "logistic", "--C", "1", "--budget", "6"),
        *("--groups", "gender", "--report", "r.html", *way),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("robust share"))
    assert " to " in line.split("%")[0]
    page = (tmp_path / "r.html").read_text()
    headline = page.split('class="headline"')[1].split("</p>")[0]
    assert " to " in headline
    assert "≥" not in page.split("<script")[0]
