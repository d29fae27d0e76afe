"""A model that is fitted anew while others ask it: every answer belongs to one of the fits."""

import threading

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unswayed import CertifiedClassifier, CertifiedRegressor, InputError, LabelBias

RNG = np.random.default_rng(5)
FIRST, SECOND = (RNG.normal(size=(60, 3)) * scale for scale in (1.0, 3.0))
TESTS = RNG.normal(size=(40, 3))
YES_NO = [np.where(rows[:, 0] > 0, "yes", "no") for rows in (FIRST, SECOND)]
NUMBERS = [FIRST @ [1.0, 2.0, 3.0], SECOND @ [3.0, -2.0, 1.0]]


def classifier(estimator):
    return CertifiedClassifier(estimator, bias=LabelBias.flips(budget=4))


def regressor(estimator):
    return CertifiedRegressor(estimator, bias=LabelBias.shifts(1, budget=4), radius=0.4)


MODELS = {
    "ridge": (classifier(Ridge()), YES_NO),
    "kernel": (classifier(KernelRidge(kernel="rbf")), YES_NO),
    "pipeline": (classifier(make_pipeline(StandardScaler(), Ridge())), YES_NO),
    "regression": (regressor(Ridge()), NUMBERS),
}


def answers(model):
    """Everything a caller can ask, as bytes that tell one fit from another."""
    certs = model.certify(TESTS)
    bounds = certs.low.tobytes() + certs.high.tobytes() + certs.minimum_budget.tobytes()
    found = [model.predict(TESTS).tobytes(), bounds, model.minimum_budget(TESTS).tobytes()]
    if "Kernel" not in type(model.estimator).__name__:
        found += [model.certify_coefficients().low.tobytes(), model.parameter_box().low.tobytes()]
    return found


@pytest.mark.parametrize("name", MODELS)
def test_every_answer_belongs_to_one_fit_while_the_model_is_fitted_anew(name):
    model, labels = MODELS[name]
    known = [set(), set()]
    for at, rows in enumerate((FIRST, SECOND)):
        known[at] = {bytes(each) for each in answers(model.fit(rows, labels[at]))}
    stop, strange, n_asked = threading.Event(), [], [0]

    def ask():
        while not stop.is_set():
            try:
                found = answers(model)
            except Exception as error:
                strange.append(repr(error))
                return
            n_asked[0] += 1
            strange.extend(len(each) for each in found if bytes(each) not in known[0] | known[1])

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(24):
        model.fit((FIRST, SECOND)[turn % 2], labels[turn % 2])
    stop.set()
    for thread in threads:
        thread.join()
    assert n_asked[0]
    assert not strange, f"{len(strange)} answers belong to no fit: {strange[:3]}"


def test_one_call_uses_the_fit_it_started_with():
    """Between two steps of one certify, here while its pipeline transforms, another fit lands."""
    model = classifier(make_pipeline(StandardScaler(), Ridge()))
    expected = model.fit(FIRST, YES_NO[0]).certify(TESTS)
    scaler = model.estimator_[0]
    transform = scaler.transform

    def interrupted(rows, **more):
        scaler.transform = transform
        model.fit(SECOND[:, :2], YES_NO[1])
        return transform(rows, **more)

    scaler.transform = interrupted
    certs = model.certify(TESTS)
    np.testing.assert_array_equal(certs.low, expected.low)
    np.testing.assert_array_equal(certs.minimum_budget, expected.minimum_budget)
    assert model.n_features_in_ == 2


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = classifier(Ridge()).fit(FIRST, YES_NO[0])
    before = model.certify(TESTS)
    with pytest.raises(InputError):
        model.fit(SECOND[:, :2], np.full(60, "yes"))
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.certify(TESTS).low, before.low)


def test_what_a_fit_left_cannot_be_changed():
    model = classifier(Ridge()).fit(FIRST, YES_NO[0])
    with pytest.raises(AttributeError):
        model.fitted_.targets = np.zeros(60)
    with pytest.raises(ValueError, match="read-only"):
        model.fitted_.targets[0] = 1.0
