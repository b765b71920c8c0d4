"""The pictures show the numbers of the model; the example runs from CSV to picture."""
import pathlib
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest

from anygp import GPClassifier, GPRegressor, plot

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


def test_surface_draws_two_inputs(ax, waves):
    X, y = waves
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = GPRegressor(iters=5).fit(frame, y)
    plot.surface(model, frame, y, ax=ax, points=20)
    mesh = ax.collections[0]
    grid = np.meshgrid(*(np.linspace(x.min() - 0.05 * np.ptp(x), x.max() + 0.05 * np.ptp(x), 20) for x in X.T))
    expected = model.predict(pd.DataFrame({"east": grid[0].ravel(), "north": grid[1].ravel()}))
    np.testing.assert_allclose(np.asarray(mesh.get_array()).ravel(), expected)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), X[:, 0])
    assert ax.get_xlabel() == "east" and ax.get_ylabel() == "north"
    with pytest.raises(ValueError, match="two inputs"):
        plot.surface(GPRegressor(iters=1).fit(X[:, :1], y), X[:, :1], ax=ax)


def test_classifiers_are_drawn(waves):
    from matplotlib.figure import Figure

    X, y = waves
    labels = np.select([y < -0.5, y < 0.5], ["low", "middle"], "high")
    one, two, three = Figure().subplots(1, 3)
    model = GPClassifier(inducing=10, iters=10).fit(X, labels)
    plot.surface(model, X, labels, ax=one, points=20)
    np.testing.assert_array_less(np.asarray(one.collections[-4].get_array()), 1 + 1e-12)
    assert [text.get_text() for text in one.get_legend().get_texts()] == ["high", "low", "middle"]
    plot.reliability(model, X, labels, ax=two, bins=5)
    given, seen = two.lines[1].get_data()
    assert (0 <= seen).all() and (seen <= 1).all() and (np.diff(given) > 0).all()
    narrow = GPClassifier(inducing=10, iters=10).fit(X[:, 1:], labels)
    plot.probabilities(narrow, X[:, 1:], labels, ax=three, points=30)
    curves = np.stack([three.lines[k].get_ydata() for k in (0, 2, 4)])
    np.testing.assert_allclose(curves.sum(axis=0), 1)


def test_example_goes_from_csv_to_picture(tmp_path, curve):
    curve[0].assign(y=curve[1]).to_csv(tmp_path / "data.csv", index=False)
    subprocess.run([sys.executable, EXAMPLE, "data.csv", "picture.png"], cwd=tmp_path, check=True, timeout=120,
                   env={"PYTHONPATH": ":".join(sys.path), "MPLBACKEND": "Agg", "HOME": str(tmp_path)})
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_calibration_counts_the_rows_inside(ax, waves):
    model = GPRegressor(iters=10).fit(*waves)
    plot.calibration(model, *waves, ax=ax)
    levels, seen = ax.lines[1].get_data()
    mean, sd = model.predict(waves[0], return_std=True)
    z = np.abs(waves[1] - mean) / sd
    assert np.isclose(levels[5], 0.95) and np.isclose(seen[5], np.mean(z <= 1.959964))


def test_pit_has_every_row_once(ax, waves):
    model = GPRegressor(iters=10).fit(*waves)
    plot.pit(model, *waves, ax=ax, bins=4)
    heights = [bar.get_height() for bar in ax.patches]
    mean, sd = model.predict(waves[0], return_std=True)
    z = (waves[1] - mean) / sd
    np.testing.assert_allclose(heights, np.histogram(z, [-np.inf, -0.6744898, 0, 0.6744898, np.inf])[0] / len(z))


def test_residuals_are_in_standard_deviations(ax, waves):
    model = GPRegressor(iters=10).fit(*waves)
    plot.residuals(model, *waves, ax=ax, of=1)
    mean, sd = model.predict(waves[0], return_std=True)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), waves[0][:, 1])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), (waves[1] - mean) / sd)


def test_relevance_is_the_inverse_of_the_length_scales(ax, waves):
    frame = pd.DataFrame(waves[0], columns=["east", "north"])
    model = GPRegressor(iters=10).fit(frame, waves[1])
    plot.relevance(model, ax=ax)
    bars = {t.get_text(): bar.get_width() for t, bar in zip(ax.get_yticklabels(), ax.patches)}
    assert bars == {entry["input"]: 1 / entry["scaled"] for entry in model.info_["relevance"]} and set(bars) == {"east", "north"}


def test_effect_holds_the_other_inputs_at_their_medians(ax, waves):
    X, y = waves
    model = GPRegressor(iters=10).fit(X, y)
    plot.effect(model, X, of=0, ax=ax, points=7)
    x, mean = ax.lines[0].get_data()
    np.testing.assert_allclose(mean, model.predict(np.column_stack([x, np.full(7, np.median(X[:, 1]))])))


def test_confusion_and_roc_agree_with_sklearn(ax):
    from sklearn.metrics import confusion_matrix, roc_auc_score
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 1))
    y = np.where(X[:, 0] + rng.normal(scale=0.7, size=80) > 0, "up", "down")
    model = GPClassifier(iters=20, inducing=10).fit(X, y)
    plot.confusion(model, X, y, ax=ax)
    np.testing.assert_array_equal(ax.images[0].get_array(), confusion_matrix(y, model.predict(X)))
    ax.clear()
    plot.roc(model, X, y, ax=ax)
    assert ax.lines[1].get_label() == f"up: area {roc_auc_score(y == 'up', model.predict_proba(X)[:, 1]):.3f}"
