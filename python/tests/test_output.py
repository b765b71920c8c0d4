"""set_output: predictions as pandas objects hold the numbers of the arrays."""
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from anygp import GPClassifier, GPRegressor, optimize


@pytest.fixture
def frame(waves):
    X, y = waves
    return pd.DataFrame(X, columns=["a", "b"], index=range(100, 160)), pd.Series(y, name="level", index=range(100, 160))


def test_one_target(frame):
    X, y = frame
    model = GPRegressor(iters=3).fit(X, y)
    mean, sd, q = model.predict(X, return_std=True, return_quantiles=[0.05, 0.5])
    _, covariance = model.predict(X, return_cov=True)
    ends = model.predict_interval(X)
    assert model.set_output(predict="pandas") is model
    pd.testing.assert_series_equal(model.predict(X), pd.Series(mean, index=X.index, name="level"))
    wide = model.predict(X, return_std=True, return_quantiles=[0.05, 0.5])
    assert wide.columns.tolist() == ["mean", "std", "q0.05", "q0.5"] and wide.index.equals(X.index)
    assert np.array_equal(wide.to_numpy(), np.c_[mean, sd, q])
    both = model.predict(X, return_cov=True)
    assert np.array_equal(both[1].to_numpy(), covariance) and both[1].columns.equals(X.index)
    assert np.array_equal(model.predict_interval(X)[["lower", "upper"]].to_numpy(), np.c_[ends])
    assert model.score(X, y) > 0.5 and optimize.expected_improvement(model, X, -1.0).shape == (60,)
    assert isinstance(model.set_output(predict="default").predict(X), np.ndarray)


def test_several_targets(frame):
    X, y = frame
    model = GPRegressor(iters=3).fit(X, pd.DataFrame({"up": y, "down": -y}))
    mean, sd = model.predict(X, return_std=True)
    model.set_output(predict="pandas")
    assert model.predict(X).columns.tolist() == ["up", "down"]
    found = model.predict(X, return_std=True)
    assert found.columns.tolist() == ["up_mean", "up_std", "down_mean", "down_std"]
    assert np.array_equal(found[["up_mean", "down_mean"]], mean) and np.array_equal(found[["up_std", "down_std"]], sd)
    without_names = GPRegressor(iters=1).fit(X.to_numpy(), np.c_[y, y]).set_output(predict="pandas").predict(X.to_numpy())
    assert without_names.columns.tolist() == ["y_1", "y_2"]


def test_classes(frame):
    X, y = frame
    model = GPClassifier(inducing=5, iters=3).fit(X, np.where(y > 0, "high", "low")).set_output(predict="pandas")
    P = model.predict_proba(X)
    assert P.columns.tolist() == ["high", "low"] and model.predict(X).index.equals(X.index)
    assert (P.idxmax(axis=1) == model.predict(X)).all() and model.score(X, np.where(y > 0, "high", "low")) > 0.5


def test_wrong_words_are_refused():
    with pytest.raises(ValueError, match="not one of: default, pandas"):
        GPRegressor().set_output(predict="polars")
    assert clone(GPRegressor()).set_output().get_params()["model"] == "auto"
