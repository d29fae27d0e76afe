"""The salary story: seeded, realistic, and with the gap it says it has."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from unswayed import CertifiedClassifier, InputError, LabelBias
from unswayed.datasets import make_hiring_story, make_salary_story

FEATURES = ["education", "experience", "interview"]


def test_the_same_seed_tells_the_same_story():
    first, again = make_salary_story(), make_salary_story()
    other = make_salary_story(random_state=1)
    assert first.data.equals(again.data)
    assert (first.salary == again.salary).all()
    assert not first.data.equals(other.data)


def test_salaries_are_between_35_and_120_thousand():
    story = make_salary_story(5000)
    assert story.salary.min() >= 35_000
    assert story.salary.max() <= 120_000
    assert 55_000 < story.salary.mean() < 70_000


def test_women_are_paid_about_three_per_cent_less_for_equal_merit():
    story = make_salary_story(20_000)
    men = (story.data["gender"] == "male").to_numpy()
    fair = LinearRegression().fit(story.data.loc[men, FEATURES], story.salary[men])
    women = story.data.loc[~men, FEATURES]
    ratio = story.salary[~men].mean() / fair.predict(women).mean()
    assert ratio == pytest.approx(0.97, abs=0.004)


def test_women_are_hired_less_often():
    story = make_salary_story(5000)
    women = (story.data["gender"] == "female").to_numpy()
    hired = story.target == "hired"
    assert hired[women].mean() < hired[~women].mean() - 0.05


def test_some_hiring_decisions_are_robust_and_some_are_not():
    story = make_salary_story()
    X = story.data[FEATURES]
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=0.03)).fit(X, story.target)
    assert 0.5 < model.certify(X).robustness_rate < 0.95


def test_hired_is_the_positive_class():
    story = make_salary_story()
    assert np.unique(story.target).tolist() == ["declined", "hired"]


def test_an_empty_company_is_refused():
    with pytest.raises(InputError, match="n_samples must be 1 or more"):
        make_salary_story(0)


def test_the_hiring_story_is_made_of_the_same_people_without_pandas():
    story, people = make_hiring_story(), make_salary_story(1200)
    every = np.sort(np.concatenate([story.rows, story.rows_new]))
    np.testing.assert_array_equal(every, np.arange(1, 1201))
    np.testing.assert_array_equal(story.y, people.target[story.rows - 1])
    np.testing.assert_array_equal(story.y_new, people.target[story.rows_new - 1])
    for women, rows in (story.women, story.rows), (story.women_new, story.rows_new):
        np.testing.assert_array_equal(women, people.data["gender"][rows - 1] == "female")
    assert len(story.X) == 900
    np.testing.assert_allclose(story.X[:, 2:].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(story.X[:, 2:].std(axis=0), 1)
