"""Points, improvements and draws beside their definitions; the example finds the minimum."""
import pathlib
import runpy

import numpy as np
import pytest

from anygp import GPRegressor, optimize

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "minimise.py"


@pytest.fixture
def model(waves):
    return GPRegressor(kernel="rbf(variance=1.3,lengthscale=0.7)", noise=0.04, fix="all", standardize="none").fit(*waves)


def test_halton_points_have_the_digits_in_reverse():
    points = optimize.halton(9, 3)
    np.testing.assert_allclose(points[:, 0], [1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8, 7 / 8, 1 / 16, 9 / 16])
    np.testing.assert_allclose(points[:5, 1], [1 / 3, 2 / 3, 1 / 9, 4 / 9, 7 / 9])
    np.testing.assert_allclose(points[:5, 2], [1 / 5, 2 / 5, 3 / 5, 4 / 5, 1 / 25])


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_points_fill_the_cube_evenly(seed):
    points = optimize.halton(1024, 4, seed)
    assert (points >= 0).all() and (points < 1).all()
    np.testing.assert_allclose(points.mean(axis=0), 0.5, atol=0.004)  # random ones: 0.009
    counts = np.histogramdd(points[:, :2], bins=(8, 9))[0]
    assert counts.min() >= 11 and counts.max() <= 18  # 14.2 on average; random ones: 5 to 25
    again = optimize.halton(1024, 4, seed)
    assert np.array_equal(points, again)


def test_digits_are_permuted_differently_by_each_seed():
    plain, one, two = (optimize.halton(64, 20, seed) for seed in (None, 1, 2))
    assert not np.allclose(one, two)
    assert abs(np.corrcoef(plain[:, 18], plain[:, 19])[0, 1]) > 0.5 > abs(np.corrcoef(one[:, 18], one[:, 19])[0, 1])
    with pytest.raises(ValueError, match="0 dimensions"):
        optimize.halton(3, 0)


def test_expected_improvement_is_its_integral(model):
    X = np.random.default_rng(7).uniform(-3, 3, size=(6, 2))
    mean, sd = model.predict(X, return_std=True, latent=True)
    z = np.linspace(-8, 8, 20001)
    weights = np.exp(-0.5 * z * z)
    f = mean[:, None] + sd[:, None] * z
    for best in (-1.0, 0.2):
        below = (np.maximum(best - f, 0) * weights).sum(axis=1) / weights.sum()
        above = (np.maximum(f - best, 0) * weights).sum(axis=1) / weights.sum()
        np.testing.assert_allclose(optimize.expected_improvement(model, X, best), below, atol=1e-6)
        np.testing.assert_allclose(optimize.expected_improvement(model, X, best, minimize=False), above, atol=1e-6)


def test_quasi_draws_have_the_posterior_s_moments(model):
    X = np.random.default_rng(7).uniform(-2, 2, size=(4, 2))
    mean, covariance = model.predict(X, return_cov=True, latent=True)
    draws = optimize.quasi_draws(model, X, 2048)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=2e-3)  # 20 times closer than independent ones
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.02 * covariance.max())


def test_the_improvement_of_a_batch_of_one_is_the_expected_one(model):
    X = np.array([[0.4, -1.0], [-0.8, -1.5]])
    one = optimize.expected_improvement(model, X, -1.0)
    assert optimize.batch_improvement(model, X[:1], -1.0, n_samples=4096) == pytest.approx(one[0], rel=0.02)
    both = optimize.batch_improvement(model, X, -1.0, n_samples=4096)
    assert 0.99 * one.max() < both < one.sum() * 1.01
    assert optimize.batch_improvement(model, X, 1.0, minimize=False) >= 0


def test_counts_have_no_improvement(waves):
    X, y = waves
    model = GPRegressor(likelihood="poisson", inducing=5, iters=2).fit(X, np.round(np.exp(y)))
    with pytest.raises(ValueError, match="one of the likelihoods gaussian"):
        optimize.expected_improvement(model, X, 1.0)


def test_the_example_finds_a_minimum(capsys):
    runpy.run_path(str(EXAMPLE))
    assert float(capsys.readouterr().out.split()[1]) < 0.6  # 0.3979 is the least, 54 the mean over the square
    assert len(EXAMPLE.read_text().splitlines()) <= 30
