"""Callbacks, warm starts, tables for notebooks, hints and examples of the documentation."""
import doctest
import inspect
import math
import pathlib
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import anygp
from anygp import GPClassifier, GPRegressor, optimize, plot
from anygp import _classifier, _models, _regressor


def test_a_callback_sees_every_step_and_can_stop(waves, recwarn):
    seen = []
    GPRegressor(iters=5).fit(*waves, callback=seen.append)
    steps = [p.iteration for p in seen if p.stage == "learning" and not math.isnan(p.objective)]
    assert isinstance(seen[0], anygp.Progress) and steps[-1] == 5 and steps == sorted(steps)
    model = GPRegressor(iters=50).fit(*waves, callback=lambda p: p.stage == "learning" and p.iteration >= 2)
    assert model.n_iter_ < 10 and model.info_["status"] == "interrupted" and not recwarn.list
    assert np.isfinite(model.predict(waves[0])).all()


def test_an_exception_of_a_callback_is_raised(waves):
    def fails(progress):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        GPRegressor(iters=50).fit(*waves, callback=fails)


def test_callbacks_of_classifiers(waves):
    X, y = waves
    seen = []
    GPClassifier(inducing=5, iters=3).fit(X, y > 0, callback=seen.append)
    assert seen and {p.iterations for p in seen if p.stage == "learning"} == {3}


def test_warm_start_begins_where_the_last_fit_ended(waves):
    X, y = waves
    model = GPRegressor(warm_start=True, kernel="rbf").fit(X, y)
    first, value, kernel = model.trace_["objective"][0], model.log_marginal_likelihood(), model.kernel_
    assert value > first + 1
    model.fit(X, y)
    assert model.log_marginal_likelihood() > value - 0.01 and model.n_iter_ <= 5
    assert GPRegressor(kernel="rbf").fit(X, y).kernel_ == kernel
    assert "linear" in model.set_params(kernel="linear").fit(X, y).kernel_
    assert model.fit(X[:, :1], y).n_features_in_ == 1
    assert clone(model).set_params(kernel="rbf").fit(X, y).kernel_ == kernel
    assert pickle.loads(pickle.dumps(model)).fit(X, y).n_features_in_ == 2


def test_warm_start_is_for_one_target(waves):
    X, y = waves
    model = GPRegressor(warm_start=True, iters=2).fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="warm_start is for one target"):
        model.fit(X, np.c_[y, y])


def test_a_notebook_shows_the_fit(waves):
    X, y = waves
    model = GPRegressor(iters=3)
    assert "exact" not in model._repr_mimebundle_()["text/html"]
    text = model.fit(X, y)._repr_mimebundle_()["text/html"]
    assert text == model._repr_html_() and "<th" in text and "auto: exact" in text and "leave-one-out" in text
    assert model.kernel_ in text and "rmse" in text
    several = GPRegressor(iters=3).fit(X, np.c_[y, y])._repr_html_()
    assert several.count("<table") == 2 and "target 1" in several
    assert "bernoulli" in GPClassifier(inducing=5, iters=3).fit(X, y > 0)._repr_html_()


@pytest.mark.parametrize("module", [_regressor, _classifier, _models, optimize], ids=lambda module: module.__name__)
def test_examples_of_the_documentation_are_right(module):
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert found.attempted >= 1 and found.failed == 0


def _public():
    for thing in (GPRegressor, GPClassifier):
        for name, value in inspect.getmembers(thing):
            value = getattr(value, "__func__", value)
            if inspect.isfunction(value) and not name.startswith("_") and value.__module__.startswith("anygp"):
                yield f"{thing.__name__}.{name}", value
    for module in (optimize, plot):
        for name, value in inspect.getmembers(module, inspect.isfunction):
            if not name.startswith("_") and value.__module__ == module.__name__:
                yield f"{module.__name__}.{name}", value
    yield "models", anygp.models


@pytest.mark.parametrize("name, function", list(_public()), ids=lambda value: value if isinstance(value, str) else "")
def test_public_functions_have_hints_and_documentation(name, function):
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.name not in ("self", "cls") and p.kind is not p.VAR_KEYWORD]
    assert signature.return_annotation is not inspect.Signature.empty and inspect.getdoc(function)
    assert all(p.annotation is not inspect.Parameter.empty for p in own)


def test_the_package_says_that_it_has_hints():
    assert (pathlib.Path(anygp.__file__).parent / "py.typed").exists()
