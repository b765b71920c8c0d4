"""Scores and densities of arrays are those that predictions give by their formulas."""
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import brier_score_loss, log_loss, mean_squared_error, recall_score, roc_auc_score

from anygp import GPClassifier, GPRegressor


@pytest.fixture
def fitted(waves):
    return GPRegressor(iters=5).fit(*waves)


def test_densities_are_those_of_a_normal(fitted, waves):
    X, y = waves
    mean, sd = fitted.predict(X, return_std=True)
    np.testing.assert_allclose(fitted.log_density(X, y), stats.norm.logpdf(y, mean, sd), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fitted.cdf(X, y), stats.norm.cdf(y, mean, sd), rtol=1e-9)


def test_scores_are_their_formulas(fitted, waves):
    X, y = waves
    weight = np.arange(len(y)) % 3
    scores = fitted.evaluate(X, y, sample_weight=weight)
    assert np.isclose(scores["rmse"], mean_squared_error(y, fitted.predict(X), sample_weight=weight)**0.5)
    assert np.isclose(scores["mnlp"], -np.average(fitted.log_density(X, y), weights=weight))
    assert scores["n"] == weight.sum()


def test_several_targets_have_a_dict_each(waves):
    X, y = waves
    model = GPRegressor(iters=3).fit(X, np.c_[y, -2 * y])
    first, second = model.evaluate(X, np.c_[y, 0 * y])
    assert np.isclose(second["rmse"], np.sqrt(np.mean(model.predict(X)[:, 1]**2))) and first["rmse"] < second["rmse"]
    assert model.cdf(X, np.c_[y, y]).shape == (len(y), 2)
    with pytest.raises(ValueError, match="y has 1 columns, and the model has 2 targets"):
        model.evaluate(X, y)


def test_counts_have_probabilities_and_exposures():
    rng = np.random.default_rng(3)
    X, hours = rng.uniform(0, 3, (60, 1)), rng.uniform(1, 4, 60)
    y = rng.poisson(hours * np.exp(np.sin(X[:, 0])))
    model = GPRegressor(likelihood="poisson", model="svgp", inducing=8, iters=30).fit(X, y, exposure=hours)
    p = np.exp([model.log_density(X, np.full(60, k), exposure=hours) for k in range(60)])
    np.testing.assert_allclose(p.sum(axis=0), 1, atol=1e-6)
    np.testing.assert_allclose(np.arange(60) @ p, model.predict(X, exposure=hours), rtol=1e-4)
    np.testing.assert_allclose(model.cdf(X, np.full(60, 4), exposure=hours), p[:5].sum(axis=0), atol=1e-6)
    scores = model.evaluate(X, y, exposure=hours)
    assert np.isclose(scores["mnlp"], -np.mean(np.log(p[y, np.arange(60)])), atol=1e-6)
    with pytest.raises(ValueError, match="2.5"):
        model.log_density(X[:1], [2.5])


def test_scores_of_classes_agree_with_sklearn():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.normal(size=80), "kind": rng.choice(["a", "b"], 80)})
    y = np.where(frame["x"] + rng.normal(scale=0.7, size=80) > 0, "up", "down")
    model = GPClassifier(model="svgp", iters=20, inducing=10).fit(frame, y)
    scores, P = model.evaluate(frame, y), model.predict_proba(frame)
    assert np.isclose(scores["logloss"], log_loss(y, P)) and np.isclose(scores["accuracy"], model.score(frame, y))
    assert np.isclose(scores["brier"], brier_score_loss(y == "up", P[:, 1])) and np.isclose(scores["auc"], roc_auc_score(y, P[:, 1]))
    assert np.isclose(scores["recall_up"], recall_score(y, model.predict(frame), pos_label="up"))
    with pytest.raises(ValueError, match="'sideways'"):
        model.evaluate(frame, np.full(80, "sideways"))
