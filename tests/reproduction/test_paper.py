"""The paper's figures on its own data, within the bar. Skipped where the data are not at hand."""

import numpy as np
import pytest

from reproduction import accuracy_losses, compas_race, states, table1
from reproduction.problems import ALPHAS, Data, mean_rates


def test_compas_is_within_a_point_of_table_1_in_every_cell(real_data):
    results = {name: table1.EXPERIMENT.pieces["COMPAS"](Data(real_data)) for name in table1.PAPER}
    record = table1.EXPERIMENT.report(results)
    (compas,) = (table for table in record.comparisons if table.rows == ["COMPAS"])
    assert compas.cells == 11
    assert compas.largest <= 1.0


def test_compas_is_within_a_point_of_the_appendix_but_for_one_cell(real_data):
    pieces = accuracy_losses.EXPERIMENT.pieces
    results = dict.fromkeys(pieces, pieces["COMPAS"](Data(real_data)))
    results |= {"COMPAS, other folds": {"steps": [0.0] * 4, "mean": 0.0, "spread": 0.0}}
    compas = accuracy_losses.EXPERIMENT.report(results).comparisons[-1]
    far = np.abs(np.array(compas.differences())) > 1.0 + 1e-9
    # Loss 1 at 2 %: 57.9 against 56.7; the page says why.
    assert np.argwhere(far).tolist() == [[3, 3]]
    assert compas.largest == pytest.approx(1.2)


def test_compas_by_race_is_within_two_points_in_every_cell(real_data):
    result = compas_race.EXPERIMENT.pieces["by race"](Data(real_data))
    both = {"by race": result, "balanced": result}
    rates, shares = compas_race.EXPERIMENT.report(both).comparisons
    assert rates.largest <= 2.0
    assert shares.largest <= 0.1 + 1e-9


def test_income_is_within_a_point_of_table_1_in_every_cell(real_data):
    rates = mean_rates(Data(real_data).problem("Income"), ALPHAS["Income"][0], table1.PERCENTS)
    assert np.abs(np.subtract(rates["all"], table1.PAPER["Income"])).max() <= 1.0


@pytest.mark.parametrize("state", ["OR", "LA"])
def test_states_have_the_papers_shares_of_white_and_black_people(real_data, state):
    race = Data(real_data).problem(f"Income {state}").race
    found = [100 * np.mean(race == name) for name in states.RACES]
    assert found == pytest.approx(states.PAPER[state][1:], abs=0.1)
