"""The floating-point stage: it never says what is false, and says which claims it settled."""

import json
import platform
import subprocess
import sys

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge

from tests.core.test_arithmetic import DEFAULT, MACHINE_CODE, SETTINGS
from tests.effort import some
from tests.verify.exact import below
from tests.verify.files import truths
from tests.verify.nasty import compare
from tests.verify.proving import prove
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, LinearSmoother
from unswayed.verify import verify


@pytest.mark.parametrize("first", range(0, 1200, 100))
def test_bounds_never_disagree_with_exact_integers(first):
    answered = models = 0
    for seed in range(first, first + 100):
        counts = compare(seed)
        answered, models = answered + counts["known"], models + counts["models"]
    assert models > 200
    assert answered > 8000


def saved(certs, folder):
    certs.save(folder / "c.json", data=folder / "c.npz")
    return folder / "c.json", folder / "c.npz"


def rows(seed=0, n_rows=60, width=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, width))
    return X, X[:, 0] + rng.normal(size=n_rows) > 0, rng.normal(size=(20, width))


def categories(seed=0):
    """Two categories as columns of 0 and 1 that depend on each other, and a number."""
    rng = np.random.default_rng(seed)
    blocks = [np.eye(size)[rng.integers(0, size, 90)] for size in (3, 4)]
    X = np.hstack((*blocks, rng.normal(size=(90, 1))))
    return X[:70], X[:70, 0] + rng.normal(size=70) > 0.4, X[70:]


FLIPS = LabelBias.flips(budget=3)
MODELS = {
    "ridge": lambda X, y, T: CertifiedClassifier(Ridge(), bias=FLIPS).fit(X, y).certify(T),
    "no intercept": lambda X, y, T: CertifiedClassifier(Ridge(fit_intercept=False), bias=FLIPS)
    .fit(X, y).certify(T),
    "balanced": lambda X, y, T: CertifiedClassifier(Ridge(), bias=FLIPS, threshold="balanced")
    .fit(X, y).certify(T),
    "weighted": lambda X, y, T: CertifiedClassifier(Ridge(), bias=FLIPS)
    .fit(X, y, sample_weight=1 + np.arange(len(X)) % 3 / 7).certify(T),
    "large means": lambda X, y, T: CertifiedClassifier(Ridge(), bias=FLIPS)
    .fit(X + 2000, y).certify(T + 2000),
    "scales": lambda X, y, T: CertifiedClassifier(Ridge(alpha=1e-3), bias=FLIPS)
    .fit(X * [1e-4, 1, 1e3, 1e5], y).certify(T * [1e-4, 1, 1e3, 1e5]),
    "fewer rows than features": lambda X, y, T: CertifiedClassifier(Ridge(), bias=FLIPS)
    .fit(X[:3], y[:3]).certify(T),
    "regression": lambda X, y, T: CertifiedRegressor(
        LinearRegression(), bias=LabelBias.shifts(0.3, budget=4), radius=0.1)
    .fit(X, X.sum(axis=1) + y).certify(T),
    "coefficients": lambda X, y, T: CertifiedClassifier(Ridge(), bias=FLIPS)
    .fit(X, y).certify_coefficients(),
    "contrasts": lambda X, y, T: CertifiedClassifier(Ridge(), bias=FLIPS)
    .fit(X, y).certify_coefficients(contrasts=[[1, -1, 0, 0], [0.5, 0.5, 0.1, -3]]),
    "kernel": lambda X, y, T: CertifiedClassifier(KernelRidge(kernel="rbf"), bias=FLIPS)
    .fit(X, y).certify(T),
    "smoother": lambda X, y, T: CertifiedClassifier(LinearSmoother(), bias=FLIPS)
    .fit(np.eye(len(X)), y).certify(np.random.default_rng(1).normal(size=(20, len(X)))),
}  # fmt: skip


@pytest.mark.parametrize("kind", MODELS)
def test_ordinary_claims_of_every_kind_are_settled_by_bounds(tmp_path, kind):
    X, y, tests = rows()
    y[:3] = True, False, True
    path, data = saved(MODELS[kind](X, y, tests), tmp_path)
    report = verify(path, data=data)
    assert report.rejected == {}
    assert report.exact_rows == ()
    assert report.by_bounds == report.proven + report.undecided > 0
    assert report.by_exact_arithmetic == 0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1e-3, 1.0])
def test_categories_that_depend_on_each_other_are_settled_by_bounds(tmp_path, intercept, alpha):
    X, y, tests = categories()
    estimator = Ridge(alpha=alpha, fit_intercept=intercept)
    if not alpha:
        estimator = LinearRegression(fit_intercept=intercept)
    certs = CertifiedClassifier(estimator, bias=FLIPS).fit(X, y).certify(tests)
    path, data = saved(certs, tmp_path)
    report = verify(path, data=data)
    assert (report.rejected, report.not_reproven) == ({}, {})
    # A penalty of next to nothing makes equations that are regular by next to nothing.
    assert report.by_exact_arithmetic == (0 if alpha != 1e-12 else report.proven)


def test_what_bounds_leave_open_is_settled_exactly_and_said_to_be(tmp_path):
    X, y, tests = rows()
    path, data = saved(CertifiedClassifier(Ridge(), bias=FLIPS).fit(X, y).certify(tests), tmp_path)
    document = json.loads(path.read_text())
    exact = verify(path, data=data, floating_point=False)
    assert exact.exact_rows == tuple(range(20))
    assert (exact.by_bounds, exact.by_exact_arithmetic) == (0, 20)
    first = some(17, 5)
    facts = truths(document, data)
    for claim in document["claims"][first:]:  # a range as tight as doubles allow
        claim["low"] = below(facts[claim["row"]][2])
    prove(document, data, path)
    report = verify(path, data=data)
    assert (report.rejected, report.not_reproven) == ({}, {})
    assert (report.by_bounds, report.by_exact_arithmetic) == (first, 20 - first)
    assert report.exact_rows == tuple(range(first, 20))


def test_without_the_solution_in_fractions_such_claims_are_open_and_not_false(tmp_path):
    X, y, tests = rows()
    path, data = saved(CertifiedClassifier(Ridge(), bias=FLIPS).fit(X, y).certify(tests), tmp_path)
    document = json.loads(path.read_text())
    facts = truths(document, data)
    for claim in document["claims"]:
        claim["low"] = below(facts[claim["row"]][2])
    prove(document, data, path, exactly=False)
    report = verify(path, data=data)
    assert report.rejected == {}
    assert report.not_reproven.keys() <= set(range(20))
    assert all("its low end" in reason for reason in report.not_reproven.values())


SCRIPT = """
import ctypes, json, mmap, sys
from unswayed.verify import verify

machine_code, default, settings = json.loads(sys.argv[1])
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex(machine_code))
start = ctypes.addressof(ctypes.c_char.from_buffer(code))
read_register = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(start)
found = {}
for name, setting in settings.items():
    read_register(ctypes.addressof(ctypes.c_uint64(setting)))
    report = verify("c.json", data="c.npz")
    read_register(ctypes.addressof(ctypes.c_uint64(default)))
    found[name] = [report.by_bounds, report.by_exact_arithmetic]
print(json.dumps(found))
"""


def test_in_another_rounding_mode_all_claims_are_proven_exactly(tmp_path):
    machine = platform.machine()
    if machine not in MACHINE_CODE:
        pytest.skip("no machine code for this processor")
    X, y, tests = rows()
    saved(CertifiedClassifier(Ridge(), bias=FLIPS).fit(X, y).certify(tests), tmp_path)
    settings = {name: each[machine] for name, each in SETTINGS.items()}
    arguments = json.dumps([MACHINE_CODE[machine], DEFAULT[machine], settings])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, arguments],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: [0, 20] for name in settings}
