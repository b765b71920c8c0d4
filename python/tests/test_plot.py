"""The pictures show the numbers of the model; the example runs from CSV to picture."""
import pathlib
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest

from anygp import GPRegressor, plot

matplotlib.use("Agg")
EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "first_fit.py"


@pytest.fixture
def ax():
    from matplotlib.figure import Figure
    return Figure().subplots()


@pytest.fixture
def curve():
    x = np.linspace(0, 6, 40)
    return pd.DataFrame({"x": x}), np.sin(x)


def test_posterior_draws_the_mean_and_its_band(ax, curve):
    model = GPRegressor().fit(*curve)
    plot.posterior(model, *curve, ax=ax, points=50)
    grid, mean = ax.lines[1].get_data()
    np.testing.assert_array_equal(mean, model.predict(pd.DataFrame({"x": grid})))
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() < mean.min() and band.max() > mean.max()


def test_posterior_needs_one_input(ax, waves):
    with pytest.raises(ValueError, match="one input"):
        plot.posterior(GPRegressor(iters=2).fit(*waves), *waves, ax=ax)


def test_predicted_draws_every_row_and_counts_those_inside(ax, waves):
    model = GPRegressor().fit(*waves)
    plot.predicted(model, *waves, ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), waves[1])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.predict(waves[0]))
    assert ax.get_title().startswith("95 % intervals hold 9") or "100.0" in ax.get_title()


def test_trace_draws_the_objective(ax, waves):
    model = GPRegressor().fit(*waves)
    plot.trace(model, ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.info_["trace"]["objective"])


def test_example_goes_from_csv_to_picture(tmp_path, curve):
    curve[0].assign(y=curve[1]).to_csv(tmp_path / "data.csv", index=False)
    subprocess.run([sys.executable, EXAMPLE, "data.csv", "picture.png"], cwd=tmp_path, check=True, timeout=120,
                   env={"PYTHONPATH": ":".join(sys.path), "MPLBACKEND": "Agg", "HOME": str(tmp_path)})
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
