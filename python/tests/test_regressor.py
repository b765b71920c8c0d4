"""Numbers of the estimator beside the textbook's formulas in NumPy, beside scikit-learn, and beside themselves."""
import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from anygp import GPRegressor

VARIANCE, LENGTH, NOISE = 1.3, 0.7, 0.04
FIXED = dict(kernel=f"rbf(variance={VARIANCE},lengthscale={LENGTH})", noise=NOISE, fix="all", standardize="none")


def rbf(A, B):
    return VARIANCE * np.exp(-0.5 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(2) / LENGTH ** 2)


@pytest.fixture
def fixed(waves):
    return GPRegressor(**FIXED).fit(*waves)


@pytest.fixture
def places():
    return np.random.default_rng(7).uniform(-2.5, 2.5, size=(9, 2))


def textbook(X, y, T):
    """Mean and covariance of f at T."""
    K = rbf(X, X) + NOISE * np.eye(len(X))
    A = np.linalg.solve(K, rbf(X, T))
    return A.T @ y, rbf(T, T) - rbf(T, X) @ A


def test_mean_and_covariance_are_the_textbook_s(waves, fixed, places):
    mean, covariance = textbook(*waves, places)
    np.testing.assert_allclose(fixed.predict(places), mean, atol=1e-10)
    np.testing.assert_allclose(fixed.predict(places, return_cov=True, latent=True)[1], covariance, atol=1e-10)
    np.testing.assert_allclose(fixed.predict(places, return_cov=True)[1], covariance + NOISE * np.eye(9), atol=1e-10)
    np.testing.assert_allclose(fixed.predict(places, return_std=True)[1] ** 2, np.diag(covariance) + NOISE, atol=1e-10)
    np.testing.assert_allclose(fixed.predict(places, return_std=True, latent=True)[1] ** 2, np.diag(covariance),
                               atol=1e-10)


def test_log_marginal_likelihood_is_a_normal_density(waves, fixed):
    X, y = waves
    K = rbf(X, X) + NOISE * np.eye(len(X))
    density = -0.5 * (y @ np.linalg.solve(K, y) + np.linalg.slogdet(K)[1] + len(y) * np.log(2 * np.pi))
    assert fixed.log_marginal_likelihood() == pytest.approx(density, rel=1e-10)
    assert fixed.log_marginal_likelihood() == fixed.log_marginal_likelihood_value_


def test_agrees_with_scikit_learn(waves, fixed, places):
    peer = GaussianProcessRegressor(ConstantKernel(VARIANCE) * RBF(LENGTH), alpha=NOISE, optimizer=None).fit(*waves)
    mean, sd = peer.predict(places, return_std=True)
    np.testing.assert_allclose(fixed.predict(places), mean, atol=1e-9)
    np.testing.assert_allclose(fixed.predict(places, return_std=True, latent=True)[1], sd, atol=1e-9)
    assert fixed.log_marginal_likelihood() == pytest.approx(peer.log_marginal_likelihood(), rel=1e-9)


def test_draws_have_the_posterior_s_moments(fixed, places):
    draws = fixed.sample_y(places, 20000, random_state=1)
    mean, covariance = fixed.predict(places, return_cov=True)
    assert draws.shape == (9, 20000)
    np.testing.assert_allclose(draws.mean(1), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.08)
    assert np.array_equal(draws, fixed.sample_y(places, 20000, random_state=1))
    assert not np.array_equal(draws, fixed.sample_y(places, 20000, random_state=2))


def test_experts_of_a_product_make_up_its_prediction(waves):
    X, y = waves
    poe = GPRegressor(model="poe", blocks=3).fit(X, y)
    mean, std = poe.predict(X, return_std=True, latent=True)
    each, sd, weight = poe.predict_parts(X, latent=True)
    assert each.shape == sd.shape == weight.shape == (len(X), 3)
    precision = (1 / sd**2).sum(axis=1)
    np.testing.assert_allclose(std**-2, precision, rtol=1e-8)
    np.testing.assert_allclose(mean, (each / sd**2).sum(axis=1) / precision, rtol=1e-8)


def test_weights_count_rows(waves):
    X, y = waves
    weights = np.random.default_rng(3).integers(0, 4, len(y))
    weighted = GPRegressor(**FIXED).fit(X, y, weights)
    repeated = GPRegressor(**FIXED).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)
    assert weighted.log_marginal_likelihood() == pytest.approx(repeated.log_marginal_likelihood(), rel=1e-9)


@pytest.mark.parametrize("change", [
    lambda X: X[::2], lambda X: np.asfortranarray(X), lambda X: X[:, ::-1], lambda X: X.tolist(),
    lambda X: np.hstack([X, X])[:, :2], lambda X: X[::-1], lambda X: X.astype(np.float32), lambda X: X.astype(">f8"),
    lambda X: np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(X.shape),
], ids=["every second row", "Fortran", "columns backwards", "lists", "columns of a wider array", "rows backwards",
        "float32", "big-endian", "not aligned"])
def test_every_layout_of_the_inputs_gives_the_same(fixed, places, change):
    given = change(places)
    plain = np.ascontiguousarray(given, np.float64)
    for call in (lambda X: fixed.predict(X), lambda X: fixed.predict(X, return_cov=True)[1],
                 lambda X: fixed.sample_y(X), lambda X: fixed.predict(X, return_std=True)[1]):
        np.testing.assert_array_equal(call(given), call(plain))
    y = np.arange(len(plain), dtype=float)
    np.testing.assert_array_equal(GPRegressor(**FIXED).fit(given, y).predict(plain),
                                  GPRegressor(**FIXED).fit(plain, y).predict(plain))


def test_the_short_way_has_the_sentences_of_the_long_one(fixed, places):
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fixed.predict(np.where(places > 2, np.nan, places))
    with pytest.raises(ValueError, match="Input X contains infinity"):
        fixed.predict(np.where(places > 2, np.inf, places))
    with pytest.raises(ValueError, match="X has 3 features, but GPRegressor is expecting 2"):
        fixed.predict(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="0 sample"):
        fixed.predict(np.zeros((0, 2)))


def test_missing_inputs_are_filled_with_the_mean_on_request(waves):
    X, y = waves
    holed = X.copy()
    holed[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        GPRegressor().fit(holed, y)
    filled = np.where(np.isnan(holed), np.nanmean(holed, axis=0), holed)
    model = GPRegressor(missing="mean", iters=20).fit(holed, y)
    np.testing.assert_allclose(model.predict(holed), model.predict(filled), rtol=1e-12)


# -------------------------------------------------------------------------------------------- data frames


@pytest.fixture
def frame():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"size": rng.uniform(0, 3, 80), "colour": rng.choice(["red", "green", "blue"], 80)})
    y = np.sin(X["size"]) + X["colour"].map({"red": 0, "green": 1, "blue": 2}) + 0.05 * rng.normal(size=80)
    return X, y.rename("price")


def test_text_columns_are_categories(frame):
    X, y = frame
    model = GPRegressor().fit(X, y)
    assert list(model.feature_names_in_) == ["size", "colour"]
    assert "categorical" in model.kernel_ and model.score(X, y) > 0.99
    assert model.info_["data"]["inputs"][1]["levels"] == list(dict.fromkeys(X["colour"]))
    assert model.info_["data"]["target"]["name"] == "price"
    as_category = X.astype({"colour": "category"})
    assert np.array_equal(model.predict(as_category), model.predict(X))
    assert np.array_equal(GPRegressor().fit(as_category, y).predict(X), model.predict(X))


def test_an_unseen_category_warns_once_and_reverts_towards_the_mean(frame):
    X, y = frame
    model = GPRegressor().fit(X, y)
    strange = X.head(4).assign(colour="violet")
    with pytest.warns(UserWarning, match="not seen, in: colour") as seen:
        sd = model.predict(strange, return_std=True)[1]
    assert len(seen) == 1 and sd.min() > 2 * model.predict(X.head(4), return_std=True)[1].max()


def test_columns_are_named_in_kernels_and_checked_by_name(frame):
    X, y = frame
    numbers = X[["size"]].assign(other=np.arange(80.0))
    model = GPRegressor(kernel="rbf(dims=[size])", iters=20).fit(numbers, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(numbers.rename(columns={"size": "width"}))
    with pytest.raises(ValueError, match="width"):
        GPRegressor(kernel="rbf(dims=[width])").fit(numbers, y)
