"""scikit-learn's own checks, and its tools around our estimator."""
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from anygp import GPClassifier, GPRegressor


# One of the checks wants predictions that do not depend on the order of rows to 1e-7; steps that move the inducing inputs
# depend on it a little more.
CLASSIFIER = GPClassifier(inducing=10, iters=50, fix="inducing")


@pytest.mark.parametrize("estimator", [GPRegressor(), GPRegressor(model="sod", inducing=50, mean="constant"),
                                       GPRegressor(missing="mean"), CLASSIFIER], ids=repr)
def test_check_estimator_in_full(estimator):
    assert not estimator._get_tags()["_xfail_checks"] and not estimator._get_tags()["no_validation"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", SkipTestWarning)
        check_estimator(estimator)


def test_pipeline(waves):
    X, y = waves
    assert make_pipeline(StandardScaler(), GPRegressor()).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_grid_search_with_two_jobs_equals_one(waves, backend):
    X, y = waves
    grid = {"kernel": ["rbf", "linear"], "mean": ["zero", "linear"]}
    with joblib.parallel_backend(backend):
        two = GridSearchCV(GPRegressor(iters=30, n_jobs=1), grid, cv=3, n_jobs=2).fit(X, y)
    one = GridSearchCV(GPRegressor(iters=30, n_jobs=1), grid, cv=3).fit(X, y)
    assert two.best_params_ == one.best_params_ and two.best_params_["kernel"] == "rbf"
    np.testing.assert_allclose(two.cv_results_["mean_test_score"], one.cv_results_["mean_test_score"], rtol=1e-6)


def test_transformed_target(waves):
    X, y = waves
    model = TransformedTargetRegressor(GPRegressor(), func=np.log, inverse_func=np.exp).fit(X, np.exp(y))
    np.testing.assert_allclose(np.log(model.predict(X)), GPRegressor().fit(X, y).predict(X), rtol=1e-6, atol=1e-6)


def test_cross_val_score(waves):
    assert cross_val_score(GPRegressor(), *waves, cv=4).min() > 0.8


def test_clone_copies_parameters_and_no_model(waves):
    model = GPRegressor(kernel="rbf", random_state=3).fit(*waves)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    for use in (lambda: copy.predict(waves[0]), lambda: copy.kernel_, lambda: copy.log_marginal_likelihood()):
        with pytest.raises(NotFittedError):
            use()


def test_pickles_and_joblib_files_predict_the_same_bits(waves, tmp_path):
    X, y = waves
    model = GPRegressor().fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert copy.get_params() == model.get_params()
        for mine, other in zip(copy.predict(X, return_std=True), model.predict(X, return_std=True)):
            assert np.array_equal(mine, other)
