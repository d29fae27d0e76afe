"""A name is suggested for another only where it may have been meant."""

import pytest

from unswayed.words import suggest

MEANT = """
salry salary | gendr gender | genedr gender | egnder gender | incom income | lable label
Race race | race_ race | rce race | aeg age | ages age | sexe sex | hire hired | label labels
interview_score interview-score | maritalstatus marital_status | occuptaion occupation
educ education | race race_ethnicity | score interview-score | charged_of charged_off
setossa setosa | versicolour versicolor | defualt default | gendar gender
"""
NOT_MEANT = """
race insurance | race rate | race trace | race grade | age wage | age agency | age ago | sex text
sex six | label table | label labor_hours | hired fired | income outcome | target garage
gender tender | id idle | y x | y year | class glass | churn church | salary savings
default fault | status state | price prime | outcome occupation
"""


def pairs(text):
    return [tuple(pair.split()) for line in text.split("\n") for pair in line.split("|") if pair]


@pytest.mark.parametrize(("typed", "known"), pairs(MEANT))
def test_a_slip_of_the_keyboard_or_a_part_of_a_name_is_understood(typed, known):
    assert suggest(typed, ["zzz", known, "q"]) == f"did you mean {known!r}?"


@pytest.mark.parametrize(("typed", "known"), pairs(NOT_MEANT))
def test_another_word_is_not_suggested(typed, known):
    assert suggest(typed, [known, "q"]) == f"the columns are {known!r}, 'q'"


def test_the_nearest_of_several_names_is_suggested():
    assert suggest("race", ["race_ethnicity", "Race"]) == "did you mean 'Race'?"
    assert suggest("anything", []) == "the columns are "
