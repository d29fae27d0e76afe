"""The processor's floating-point settings: anything but IEEE 754's default is refused.

Another library may change them at any time, for one thread or for all that it starts later.
What is tried here is tried in a process of its own, where nothing else is computed.
"""

import json
import platform
import subprocess
import sys

import pytest

# Machine code that reads its argument into the control register, and returns.
MACHINE_CODE = {
    "x86_64": "0fae17c3",  # ldmxcsr [rdi]; ret
    "aarch64": "000040f900441bd5c0035fd6",  # ldr x0, [x0]; msr fpcr, x0; ret
}
DEFAULT = {"x86_64": 0x1F80, "aarch64": 0}
SETTINGS = {
    "flush to zero": {"x86_64": 0x9F80, "aarch64": 1 << 24},
    "subnormals are zero": {"x86_64": 0x1FC0, "aarch64": 1 << 24},
    "rounding down": {"x86_64": 0x3F80, "aarch64": 2 << 22},
    "rounding up": {"x86_64": 0x5F80, "aarch64": 1 << 22},
    "rounding towards zero": {"x86_64": 0x7F80, "aarch64": 3 << 22},
}

SCRIPT = """
import ctypes, json, mmap, sys, threading
import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from unswayed import ArithmeticModeError, CertifiedRegressor, LabelBias, prediction_range
from unswayed._core.kernels import run_blocks

machine_code, default, settings = json.loads(sys.argv[1])
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex(machine_code))
start = ctypes.addressof(ctypes.c_char.from_buffer(code))
read_register = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(start)

def set_to(value):
    read_register(ctypes.addressof(ctypes.c_uint64(value)))

def refusal(call):
    try:
        call()
    except ArithmeticModeError as error:
        return str(error)
    finally:
        set_to(default)
    return None

def in_a_thread(call):
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]

X = np.random.default_rng(0).normal(size=(30, 2))
y = X[:, 0].copy()
bias = LabelBias.shifts(1, budget=2)

def made(estimator=Ridge()):
    return CertifiedRegressor(estimator, bias=bias, radius=0.1)

model = made().fit(X, y)
certs = model.certify(X)
box, sandwich = model.parameter_box(), model.sandwich(max_anchors=2)
directions = model.fitted_.learner.directions(X)
sizes = model.fitted_.learner.direction_sizes(directions)
fragile = int(np.flatnonzero(~certs.robust)[0])
calls = {
    "fit": lambda: made().fit(X, y),
    "certify": lambda: model.certify(X),
    "certify, exact": lambda: model.certify(X, method="exact"),
    "certify, box": lambda: model.certify(X, method=box),
    "certify, sandwich": lambda: model.certify(X, method=sandwich),
    "certify without ranges": lambda: model.certify(X, ranges=False),
    "minimum_budget": lambda: model.minimum_budget(X),
    "minimum_budgets": lambda: model.minimum_budgets(X),
    "minimum_budgets of certificates": lambda: certs.minimum_budgets,
    "witness": lambda: certs.witness(fragile),
    "certify_coefficients": lambda: model.certify_coefficients(),
    "parameter_box": lambda: model.parameter_box(),
    "sandwich": lambda: model.sandwich(),
    "box.bounds": lambda: box.bounds(directions, sizes),
    "sandwich.bounds": lambda: sandwich.bounds(directions),
    "sandwich.add": lambda: sandwich.add(directions),
    "prediction_range": lambda: prediction_range([1.0], [1.0], bias),
}
facts = {}
for name, value in settings.items():
    facts[name] = {}
    for call, ask in calls.items():
        facts[name][call] = refusal(lambda: (set_to(value), ask()))

flush = settings["flush to zero"]
facts["another thread"] = in_a_thread(lambda: refusal(lambda: (set_to(flush), calls["certify"]())))
facts["this thread"] = refusal(calls["certify"])

def kernel(a, b):
    if changing:
        set_to(flush)
    return float(a @ b) + 1.0

changing = False
model = made(KernelRidge(kernel=kernel)).fit(X, y)
changing = True
facts["a kernel, certify"] = refusal(lambda: model.certify(X))
facts["a kernel, fit"] = refusal(lambda: made(KernelRidge(kernel=kernel)).fit(X, y))
facts["a worker"] = refusal(lambda: run_blocks(range(4), 1, lambda *_: set_to(flush)))
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def refusals():
    """What calls say under each of the settings; None where they go on."""
    machine = platform.machine()
    if machine not in MACHINE_CODE or sys.platform != "linux":
        pytest.skip("writes the control register by machine code")
    settings = {name: values[machine] for name, values in SETTINGS.items()}
    arguments = json.dumps([MACHINE_CODE[machine], DEFAULT[machine], settings])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_call_refuses(refusals, settings):
    assert [call for call, said in refusals[settings].items() if said is None] == []


def test_the_error_says_what_is_set_and_what_to_do(refusals):
    flushed = refusals["flush to zero"]["certify"]
    assert "flushed to zero" in flushed
    assert "switch it off" in flushed
    rounded = refusals["rounding up"]["certify"]
    assert "not rounded to the nearest" in rounded
    assert "FE_TONEAREST" in rounded


def test_a_thread_has_settings_of_its_own(refusals):
    assert refusals["another thread"] is not None
    assert refusals["this thread"] is None


@pytest.mark.parametrize("culprit", ["a kernel, certify", "a kernel, fit", "a worker"])
def test_settings_that_change_within_a_call_are_seen(refusals, culprit):
    assert refusals[culprit] is not None
