import os
import pathlib
import signal

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A shell starts what it runs in the background with Ctrl-C ignored, and Python then leaves it so; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def program():
    """The command line, from the same build as the library."""
    path = pathlib.Path(os.environ.get("ANYGP", ROOT / "build" / "release" / "anygp"))
    assert path.exists(), f"{path} is not built; run make"
    return str(path)


@pytest.fixture
def waves():
    """A smooth function of two inputs, with noise."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(60, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=60)
