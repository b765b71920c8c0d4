"""Ctrl-C, threads, forks, and memory over many fits."""
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from anygp import GPRegressor


class Presses:
    """A stderr on which every line of progress is a Ctrl-C, `count` of them."""

    def __init__(self, count):
        self.left = count

    def write(self, text):
        while self.left:
            self.left -= 1
            signal.raise_signal(signal.SIGINT)

    def flush(self):
        pass


@pytest.fixture
def hard():
    X = np.random.default_rng(0).normal(size=(150, 4))
    return X, np.sin(X).sum(1)


def test_ctrl_c_keeps_the_best_model(hard, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Presses(1))
    with pytest.warns(UserWarning, match="best model so far"):
        model = GPRegressor(verbose=2, restarts=500).fit(*hard)
    assert np.isfinite(model.predict(hard[0])).all() and "interrupt" in model.info_["status"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_is_raised_and_the_model_is_kept(hard, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Presses(2))
    model = GPRegressor(verbose=2, restarts=500)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*hard)
    assert np.isfinite(model.predict(hard[0])).all()


def test_a_failing_report_stops_the_fit_and_is_raised(hard, monkeypatch):
    class Broken:
        def write(self, text):
            raise BrokenPipeError("nobody reads this")

    monkeypatch.setattr(sys, "stderr", Broken())
    with pytest.raises(BrokenPipeError):
        GPRegressor(verbose=2, restarts=500).fit(*hard)


def test_threads_share_an_estimator_and_fit_their_own(hard):
    X, y = hard
    shared = GPRegressor(iters=5, n_jobs=1).fit(X, y)
    expected, found = shared.predict(X), []

    def work():
        for _ in range(20):
            found.append(shared.predict(X))
            found.append(GPRegressor(iters=5, n_jobs=1).fit(X, y).predict(X))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 160
    np.testing.assert_allclose(found, np.tile(expected, (160, 1)), rtol=1e-6, atol=1e-8)


def test_a_forked_child_goes_on_with_one_thread():
    X = np.random.default_rng(1).normal(size=(900, 3))
    model = GPRegressor(iters=2, n_jobs=2).fit(X, X[:, 0])  # wakes the pool that the child will not have
    expected = model.predict(X)
    stop, holds = threading.Event(), threading.Event()

    def hold():
        with model._model._lock:
            holds.set()
            stop.wait()

    other = threading.Thread(target=hold)
    other.start()
    holds.wait()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        same = np.allclose(model.predict(X), expected, atol=1e-8)
        again = np.allclose(GPRegressor(iters=2, n_jobs=2).fit(X, X[:, 0]).predict(X), expected, atol=1e-6)
        os._exit(0 if same and again else 3)
    status = os.waitpid(child, 0)[1]
    stop.set()
    other.join()
    assert status == 0


LEAK = """
import numpy as np
from anygp import GPRegressor

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

X, y = np.arange(10.0).reshape(5, 2), np.array([0, 1, 4, 2, 3.0])
def cycles(count):
    for _ in range(count):
        model = GPRegressor(iters=2, n_jobs=1).fit(X, y)
        model.predict(X, return_std=True)
        del model
    return resident()

before, after = cycles(2000), cycles(8000)
print(after - before)
"""


def test_ten_thousand_fits_leave_memory_flat():
    grown = subprocess.run([sys.executable, "-c", LEAK], capture_output=True, text=True, check=True,
                           env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}).stdout
    assert int(grown) < 1 << 20


def test_failures_leave_memory_flat_too(waves):
    def cycles(count):
        for _ in range(count):
            with pytest.raises(ValueError):
                GPRegressor(kernel="rbf(dims=[9])").fit(*waves)
        return int(open("/proc/self/statm").read().split()[1]) * 4096

    before = cycles(300)
    assert cycles(700) - before < 1 << 20
