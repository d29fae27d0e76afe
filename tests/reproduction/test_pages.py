"""The Markdown writer on a frozen record: the page must say what the JSON says."""

import json
from pathlib import Path

from reproduction.experiment import Comparison, Record
from reproduction.pages import claims_page, compared, experiment_page, page, table, verdict

HERE = Path(__file__).parent


def frozen():
    return Record.from_dict(json.loads((HERE / "frozen.json").read_text()))


def test_a_record_survives_json():
    record = frozen()
    assert Record.from_dict(json.loads(json.dumps(record.to_dict()))) == record


def written():
    """The summary of a frozen record, its own page and its claims."""
    record = frozen()
    return "\n".join(
        (
            page([record], folder="reproduction", command="unswayed reproduce"),
            experiment_page(record, "images/reproduction"),
            claims_page([record]),
        )
    )


def test_the_pages_of_a_frozen_record_are_the_frozen_pages():
    assert written() == (HERE / "frozen.md").read_text()


def test_differences_are_between_figures_as_printed():
    comparison = Comparison("t", ["a"], ["x", "y"], [[81.4, 3.5]], [[81.449, 3.56]], bar=0.0)
    assert comparison.differences() == [[0.0, 0.1]]
    assert comparison.outside == 1


def test_a_cell_on_the_bar_is_within_it():
    comparison = Comparison("t", ["a"], ["x"], [[50.0]], [[51.0]], bar=1.0)
    assert verdict(comparison) == "within the bar"


def test_a_cell_the_paper_lacks_is_not_counted():
    comparison = Comparison("t", ["a"], ["x", "y"], [[None, 1.0]], [[7.0, 1.2]], bar=1.0)
    assert comparison.cells == 1
    assert "| a | paper | – | 1.0 |" in compared(comparison)


def test_cells_outside_are_counted_in_the_verdict():
    comparison = Comparison("t", ["a"], ["x", "y"], [[1.0, 9.0]], [[3.5, 9.0]], bar=2.0)
    assert verdict(comparison) == "**1 of 2 cells outside**"
    assert "| difference | +2.5 | 0.0 |" in compared(comparison)


def test_numbers_stand_to_the_right():
    assert table(["a", "b"], [["x", 1.25]]).splitlines()[1] == "| --- | ---: |"
