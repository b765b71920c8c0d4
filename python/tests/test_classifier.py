"""GPClassifier: labels in, labels and probabilities out."""
import pickle
import subprocess

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anygp import GPClassifier, GPRegressor

FEW = dict(kernel="rbf(variance=4,lengthscale=1)", inducing=20, iters=60)


@pytest.fixture
def circle():
    """Rows in the plane, and whether they lie in a circle."""
    X = np.random.default_rng(2).uniform(-2, 2, size=(200, 2))
    return X, (X ** 2).sum(axis=1) < 1.6


@pytest.fixture
def regions(circle):
    X, _ = circle
    return X, np.where(X[:, 0] < -0.5, 7, np.where(X[:, 1] > 0, 10, -1))


@pytest.mark.parametrize("labels", [(False, True), (0, 1), (-3, 12), ("in", "out"), ("Ärger", "日")], ids=str)
def test_labels_come_back_as_they_were(circle, labels):
    X, inside = circle
    y = np.where(inside, *reversed(labels))
    model = GPClassifier(**FEW).fit(X, y)
    assert model.likelihood_ == "bernoulli" and model.classes_.tolist() == sorted(labels)
    found = model.predict(X)
    assert found.dtype == y.dtype and (found == y).mean() > 0.9
    P = model.predict_proba(X)
    assert P.shape == (200, 2) and np.array_equal(model.classes_[P.argmax(axis=1)], found)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(P))


def test_more_classes_than_two_are_softmax(regions):
    X, y = regions
    model = GPClassifier(**FEW).fit(X, y)
    assert model.likelihood_ == "softmax" and model.classes_.tolist() == [-1, 7, 10]
    assert model.score(X, y) > 0.9 and model.predict_proba(X).shape == (200, 3)


def test_the_likelihood_can_be_chosen(circle):
    X, y = circle
    logit, probit = (GPClassifier(likelihood=f"bernoulli({link})", **FEW).fit(X, y) for link in ("logit", "probit"))
    assert not np.array_equal(logit.predict_proba(X), probit.predict_proba(X))
    with pytest.raises(ValueError, match="did you mean 'softmax'"):
        GPClassifier(likelihood="sofmax").fit(X, y)
    with pytest.raises(ValueError, match="gaussian"):
        GPClassifier(model="exact").fit(X, y)


def test_one_class_is_refused(circle):
    X, y = circle
    with pytest.raises(ValueError, match="only one class"):
        GPClassifier().fit(X, np.ones(200))
    with pytest.raises(ValueError, match="only one class"):
        GPClassifier().fit(X, y, sample_weight=y.astype(float))
    with pytest.raises(ValueError, match="Unknown label type"):
        GPClassifier().fit(X, X[:, 0])


def test_rows_without_weight_are_absent(circle):
    X, y = circle
    texts = np.where(y, "in", "out")
    third = np.r_[texts, ["third"] * 20]
    weight = np.r_[np.ones(200), np.zeros(20)]
    model = GPClassifier(**FEW).fit(np.r_[X, X[:20]], third, sample_weight=weight)
    assert model.classes_.tolist() == ["in", "out"] and model.likelihood_ == "bernoulli"


def test_probabilities_stand_in_the_columns_of_their_classes(circle):
    X, y = circle
    model = GPClassifier(**FEW).fit(X, np.where(y, "in", "out"))
    P = model.predict_proba(X)
    model._columns = model._columns[::-1]  # as if the library had the classes in another order
    assert np.array_equal(model.predict_proba(X), P[:, ::-1])


def test_saved_loaded_and_pickled_models_predict_the_same(circle, tmp_path):
    X, y = circle
    for labels in (np.where(y, "in", "out"), np.where(y, 3, 4)):
        model = GPClassifier(**FEW).fit(X, labels)
        model.save(tmp_path / "m.agp")
        for copy in (GPClassifier.load(tmp_path / "m.agp"), pickle.loads(pickle.dumps(model))):
            assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
            assert np.array_equal(copy.predict(X), model.predict(X))
            assert copy.classes_.tolist() == model.classes_.tolist()
        with pytest.raises(ValueError, match="GPClassifier.load"):
            GPRegressor.load(tmp_path / "m.agp")
    GPRegressor(iters=1).fit(X, X[:, 0]).save(tmp_path / "r.agp")
    with pytest.raises(ValueError, match="GPRegressor.load"):
        GPClassifier.load(tmp_path / "r.agp")


def test_the_command_line_reads_the_model(circle, tmp_path, program):
    X, y = circle
    model = GPClassifier(**FEW).fit(X, np.where(y, "in", "out"))
    model.save(tmp_path / "m.agp")
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", fmt="%.17g")
    text = subprocess.run([program, "predict", tmp_path / "m.agp", tmp_path / "x.csv"], check=True, capture_output=True, text=True).stdout
    rows = [line.split(",") for line in text.splitlines()]
    assert rows[0] == ["label"] + ["p_" + str(c) for c in model.classes_] and [row[0] for row in rows[1:]] == model.predict(X).tolist()
    assert np.array_equal(np.array([row[1:] for row in rows[1:]], float), model.predict_proba(X))


def test_scikit_learn_s_tools(circle):
    X, y = circle
    assert cross_val_score(make_pipeline(StandardScaler(), GPClassifier(**FEW)), X, y, cv=3).min() > 0.8
    copy = clone(GPClassifier(kernel="rbf"))
    assert copy.kernel == "rbf" and copy.likelihood == "auto"
    with pytest.raises(NotFittedError):
        copy.predict(X)


def test_held_out_rows_are_scored(circle):
    X, y = circle
    model = GPClassifier(valid="0.25", **FEW).fit(X, y)
    assert model.valid_["accuracy"] > 0.8 and model.valid_["mnlp"] == model.valid_["logloss"]
    assert "rmse" not in model.valid_ and 0 < log_loss(y, model.predict_proba(X)) < 0.5
    assert np.isnan(model.trace_["rmse"]).all()


def test_regression_with_another_likelihood(circle):
    X, _ = circle
    rate = np.exp(np.sin(2 * X[:, 0]))
    y = np.random.default_rng(1).poisson(rate)
    model = GPRegressor(likelihood="poisson", **FEW).fit(X, y)
    mean, sd = model.predict(X, return_std=True)
    assert np.corrcoef(mean, rate)[0, 1] > 0.8 and (sd ** 2 > mean).all()
    assert np.array_equal(model.sample_y(X[:5], 50), np.floor(model.sample_y(X[:5], 50)))
    with pytest.raises(ValueError, match="joint covariance"):
        model.predict(X[:3], return_cov=True)


def test_weights_of_classes_are_weights_of_rows(circle):
    X, y = circle
    texts = np.where(y, "in", "out")
    weighted = GPClassifier(class_weight={"in": 3}, **FEW).fit(X, texts)
    rows = GPClassifier(**FEW).fit(X, texts, sample_weight=np.where(y, 3.0, 1.0))
    assert np.array_equal(weighted.predict_proba(X), rows.predict_proba(X))
    both = GPClassifier(class_weight={"in": 3}, **FEW).fit(X, texts, sample_weight=np.where(y, 1 / 3, 1.0))
    np.testing.assert_allclose(both.predict_proba(X), GPClassifier(**FEW).fit(X, texts, np.ones(200)).predict_proba(X), rtol=1e-6)


def test_balanced_classes_have_equal_sums(circle):
    X, _ = circle
    y = np.random.default_rng(0).random(200) < 0.1  # nothing to learn but how many there are
    plain, balanced = (GPClassifier(class_weight=w, **FEW).fit(X, y).predict_proba(X)[:, 1].mean() for w in (None, "balanced"))
    assert plain < 0.2 and 0.4 < balanced < 0.6
    with pytest.raises(ValueError, match="class_weight"):
        GPClassifier(class_weight="even").fit(X, y)
