"""The processor's floating-point settings: anything but IEEE 754's default is refused.

Another library may change them at any time, for one thread or for all that it starts later.
Every test runs in a process of its own, so that nothing else is computed under such settings.
"""

import platform
import subprocess
import sys
import textwrap

import pytest

# Machine code that writes its argument into the control register, and returns.
MACHINE_CODE = {
    "x86_64": "0fae17c3",  # ldmxcsr [rdi]; ret
    "aarch64": "000040f900441bd5c0035fd6",  # ldr x0, [x0]; msr fpcr, x0; ret
}
SETTINGS = {
    "flush to zero": {"x86_64": 0x9F80, "aarch64": 1 << 24},
    "subnormals are zero": {"x86_64": 0x1FC0, "aarch64": 1 << 24},
    "rounding down": {"x86_64": 0x3F80, "aarch64": 2 << 22},
    "rounding up": {"x86_64": 0x5F80, "aarch64": 1 << 22},
    "rounding towards zero": {"x86_64": 0x7F80, "aarch64": 3 << 22},
}

SET_UP = """
import ctypes, mmap, threading
import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from unswayed import CertifiedRegressor, LabelBias, UnswayedError, prediction_range
from unswayed._core.parallel import run_blocks

code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex({code!r}))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
write_register = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)

def change_settings():
    write_register(ctypes.addressof(ctypes.c_uint64({settings})))

def is_refused(call):
    try:
        call()
    except UnswayedError:
        return True
    return False

X = np.random.default_rng(0).normal(size=(30, 2))
y = X[:, 0].copy()
bias = LabelBias.shifts(1, budget=2)

def made(estimator=Ridge()):
    return CertifiedRegressor(estimator, bias=bias, radius=0.1)

model = made().fit(X, y)
"""

pytestmark = [
    pytest.mark.skipif(
        platform.machine() not in MACHINE_CODE or sys.platform != "linux",
        reason="writes the control register by machine code",
    ),
    pytest.mark.xfail(strict=True, reason="nobody looks at the settings"),
]


def run(script, settings="flush to zero"):
    """What a script prints, in a process of its own."""
    machine = platform.machine()
    start = SET_UP.format(code=MACHINE_CODE[machine], settings=SETTINGS[settings][machine])
    done = subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_call_refuses(settings):
    script = """
        certs = model.certify(X)
        box, sandwich = model.parameter_box(), model.sandwich(max_anchors=2)
        directions = model.model_.learner.directions(X)
        sizes = model.model_.learner.direction_sizes(directions)
        fragile = int(np.flatnonzero(~certs.robust)[0])
        calls = {
            "fit": lambda: made().fit(X, y),
            "certify": lambda: model.certify(X),
            "certify, exact": lambda: model.certify(X, method="exact"),
            "certify, box": lambda: model.certify(X, method=box),
            "certify, sandwich": lambda: model.certify(X, method=sandwich),
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
        change_settings()
        print(*[name for name, call in calls.items() if not is_refused(call)], sep=", ")
    """
    assert run(script, settings) == ""


def test_a_thread_of_its_own_settings_is_refused_and_others_are_not():
    script = """
        def ask():
            change_settings()
            print(is_refused(lambda: model.certify(X)))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        print(is_refused(lambda: model.certify(X)))
    """
    assert run(script).split() == ["True", "False"]


def test_settings_that_a_kernel_changes_while_it_is_computed_are_seen():
    script = """
        def kernel(a, b):
            if changing:
                change_settings()
            return float(a @ b) + 1.0

        changing = False
        model = made(KernelRidge(kernel=kernel)).fit(X, y)
        changing = True
        print(is_refused(lambda: model.certify(X)))
    """
    assert run(script) == "True"


def test_settings_of_a_worker_are_seen():
    script = """
        def work(start, stop, buffer):
            change_settings()

        print(is_refused(lambda: run_blocks(range(0, 4), 1, work)))
    """
    assert run(script) == "True"


def test_the_error_says_what_is_set_and_what_to_do():
    script = """
        change_settings()
        try:
            model.certify(X)
        except UnswayedError as error:
            print(error)
    """
    message = run(script)
    assert "flushed to zero" in message
    assert "-ffast-math" in message
    message = run(script, "rounding up")
    assert "rounded to the nearest" in message
