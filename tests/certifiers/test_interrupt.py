"""Ctrl-C stops long work at once and leaves no thread behind."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.commands import seconds_of_work

LONG_WORK = """
import time
import numpy as np
from sklearn.linear_model import Ridge
from unswayed import CertifiedClassifier, LabelBias

rng = np.random.default_rng(0)
X = rng.normal(size=(60_000, 20))
model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=0.1)).fit(X, X[:, 0] > 0)
tests = rng.normal(size=(100_000, 20))
print("ready", flush=True)
try:
    model.certify(tests)
    print("finished", flush=True)
except KeyboardInterrupt:
    print("interrupted", time.process_time(), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads processor times in Linux's way")
@pytest.mark.usefixtures("heard_signals")
def test_an_interrupt_ends_long_work_after_a_second_of_work_a_thread():
    with subprocess.Popen(
        [sys.executable, "-c", LONG_WORK], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        ready = seconds_of_work(process.pid)
        while seconds_of_work(process.pid) < ready + 0.7:  # of tens of seconds in all
            time.sleep(0.02)
        before = seconds_of_work(process.pid)
        process.send_signal(signal.SIGINT)
        said, after = process.stdout.readline().split()
        process.wait(timeout=300)
    assert said == "interrupted"
    assert float(after) - before < os.cpu_count()
