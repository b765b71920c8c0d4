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


# ------------------------------------------------------------------------------- texts, dates, classes, several targets, counts


@pytest.fixture
def sales():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 50), unit="D"),
                          "kind": rng.choice(["red", "blue", "green"], 50, p=[0.5, 0.3, 0.2])})
    return frame, np.sin(frame["day"].dt.dayofyear / 60) + (frame["kind"] == "red") + 0.1 * rng.normal(size=50)


def test_effect_of_a_date_is_along_dates(ax, sales):
    frame, y = sales
    model = GPRegressor(iters=10).fit(frame, y)
    plot.effect(model, frame, of="day", ax=ax, points=5, average=0)
    line, = ax.lines
    days = pd.to_datetime(line.get_xdata(orig=True))
    assert days[0] == frame["day"].min() and days[-1] == frame["day"].max()
    usual = frame["kind"].mode()[0]
    np.testing.assert_allclose(line.get_ydata(), model.predict(pd.DataFrame({"day": days, "kind": usual})), rtol=1e-9)
    ax.figure.canvas.draw()


def test_effect_of_a_text_has_a_mark_for_each_category_and_the_average_over_rows(ax, sales):
    frame, y = sales
    model = GPRegressor(iters=10).fit(frame, y)
    plot.effect(model, frame, of=1, ax=ax)
    typical, average = ax.containers[0].lines[0], ax.lines[-1]
    assert sorted(typical.get_xdata(orig=True)) == ["blue", "green", "red"]
    for kind, at, mean in zip(typical.get_xdata(orig=True), typical.get_ydata(), average.get_ydata()):
        assert np.isclose(at, model.predict(pd.DataFrame({"day": [frame["day"].median()], "kind": [kind]}))[0])
        assert np.isclose(mean, model.predict(frame.assign(kind=kind)).mean())  # 50 rows are all of them
    ax.figure.canvas.draw()


def test_effect_of_a_classifier_is_its_probabilities(ax, sales):
    frame, y = sales
    model = GPClassifier(model="svgp", iters=20, inducing=10).fit(frame, np.where(y > 0.5, "high", "low"))
    plot.effect(model, frame, of="day", ax=ax, points=4)
    grid = pd.DataFrame({"day": ax.lines[0].get_xdata(orig=True), "kind": frame["kind"].mode()[0]})
    np.testing.assert_allclose([line.get_ydata() for line in ax.lines[:2]], model.predict_proba(grid).T, rtol=1e-9)
    average = [model.predict_proba(frame.assign(day=day)).mean(axis=0) for day in grid["day"]]
    np.testing.assert_allclose([line.get_ydata() for line in ax.lines[2:]], np.transpose(average), rtol=1e-9)
    assert ax.get_ylabel() == "probability"


def test_dates_and_texts_in_every_picture_of_numbers(sales):
    from matplotlib.figure import Figure
    frame, y = sales
    model = GPRegressor(iters=10).fit(frame, y)
    for draw in (plot.predicted, plot.calibration, plot.pit, lambda *rows, ax: plot.residuals(*rows, of="kind", ax=ax),
                 lambda *rows, ax: plot.residuals(*rows, of="day", ax=ax)):
        ax = Figure().subplots()
        draw(model, frame, y, ax=ax)
        ax.figure.canvas.draw()
    for column in "day", "kind":
        ax = Figure().subplots()
        alone = GPRegressor(iters=5).fit(frame[[column]], y)
        plot.posterior(alone, frame[[column]], y, ax=ax, points=30)
        ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.get_xticklabels()] == list(dict.fromkeys(frame["kind"]))
    with pytest.raises(ValueError, match="kind is text; effect draws it"):
        plot.surface(model, frame, ax=ax)
    with pytest.raises(ValueError, match="has no column 'size'; its columns are day, kind"):
        plot.effect(model, frame, of="size", ax=ax)


def test_classes_over_dates(sales):
    from matplotlib.figure import Figure
    frame, y = sales
    label = np.where(y > 0.5, "high", "low")
    twice = frame[["day"]].assign(size=np.arange(50.0))
    for X, draw in (frame[["day"]], plot.probabilities), (frame[["kind"]], plot.probabilities), (twice, plot.surface):
        ax = Figure().subplots()
        draw(GPClassifier(model="svgp", iters=10, inducing=8).fit(X, label), X, label, ax=ax, points=20)
        ax.figure.canvas.draw()


def test_a_target_is_chosen_by_name_or_number(ax, waves):
    y = waves[1]
    X = pd.DataFrame(waves[0], columns=["east", "north"])
    both = pd.DataFrame({"up": y, "down": -3 * y})
    model = GPRegressor(iters=5).fit(X, both)
    mean = model.predict(X)
    for target in 1, "down":
        ax.clear()
        plot.predicted(model, X, both, ax=ax, target=target)
        np.testing.assert_allclose(ax.lines[0].get_ydata(), mean[:, 1])
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), both["down"])
    ax.clear()
    plot.effect(model, X, of=0, ax=ax, target="down", average=0, points=3)
    at = pd.DataFrame({"east": ax.lines[0].get_xdata(), "north": X["north"].median()})
    np.testing.assert_allclose(ax.lines[0].get_ydata(), model.predict(at)[:, 1])
    assert ax.get_ylabel() == "down"
    ax.clear()
    plot.pit(model, X, both["down"], ax=ax, target="down", bins=4)
    cdf = model.cdf(X, both)[:, 1]
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], np.histogram(cdf, 4, (0, 1))[0] / len(y))
    for draw in plot.trace, plot.relevance:
        draw(model, ax=ax, target=1)
    for target in "sideways", 2:
        with pytest.raises(ValueError, match="it has up, down"):
            plot.trace(model, ax=ax, target=target)


@pytest.fixture
def counted():
    rng = np.random.default_rng(6)
    X, hours = rng.uniform(0, 3, (80, 1)), rng.uniform(1, 3, 80)
    y = rng.poisson(hours * np.exp(np.sin(X[:, 0])))
    return GPRegressor(likelihood="poisson", model="svgp", inducing=8, iters=50).fit(X, y, exposure=hours), X, y, hours


def test_rootogram_counts_what_is_and_what_is_expected(ax, counted):
    model, X, y, hours = counted
    plot.rootogram(model, X, y, exposure=hours, ax=ax)
    n = len(ax.patches)
    assert n == y.max() + 2
    np.testing.assert_allclose([bar.get_height()**2 for bar in ax.patches], np.bincount(y, minlength=n))
    p = np.exp([model.log_density(X, np.full(80, k), exposure=hours) for k in range(n)]).sum(axis=1)
    np.testing.assert_allclose(ax.lines[0].get_ydata()**2, p, atol=1e-6)
    ax.clear()
    plot.rootogram(model, X, y, exposure=hours, ax=ax, bins=4)
    width = int(np.ceil((y.max() + 2) / 4))
    steps = [p[k * width:(k + 1) * width].sum() for k in range(len(ax.patches))]
    np.testing.assert_allclose(ax.lines[0].get_ydata()[:-1]**2, steps[:-1], atol=1e-6)
    assert sum(bar.get_height()**2 for bar in ax.patches) == pytest.approx(80) and "steps of" in ax.get_xlabel()


def test_pit_of_counts_spreads_their_probability(ax, counted):
    model, X, y, hours = counted
    plot.pit(model, X, y, exposure=hours, ax=ax, bins=5)
    up = model.cdf(X, y, exposure=hours)
    p = np.exp(model.log_density(X, y, exposure=hours))
    share = np.zeros(5)
    for u, size in zip(up, p):  # each count by many points in its part
        share += np.histogram(u - size * (np.arange(4000) + 0.5) / 4000, 5, (0, 1))[0] / 4000
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], share / 80, atol=1e-3)


def test_what_a_picture_is_not_for_is_said(ax, counted, waves):
    model, X, y, hours = counted
    with pytest.raises(ValueError, match="exposure=..."):
        plot.predicted(model, X, y, ax=ax)
    with pytest.raises(ValueError, match="for counts"):
        plot.rootogram(GPRegressor(iters=2).fit(*waves), *waves, ax=ax)
    with pytest.raises(ValueError, match="for a GPClassifier; for a GPRegressor there are"):
        plot.roc(model, X, y, ax=ax)
    classes = GPClassifier(model="svgp", iters=5, inducing=5).fit(X, y > 2)
    with pytest.raises(ValueError, match="for a GPRegressor; for a GPClassifier there are confusion"):
        plot.calibration(classes, X, y, ax=ax)
