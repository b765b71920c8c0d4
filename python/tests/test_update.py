"""partial_fit: rows that come later give what a fit to all of them gives."""
import numpy as np
import pandas as pd
import pytest

from anygp import GPClassifier, GPRegressor

KEPT = dict(kernel="rbf(variance=1.3,lengthscale=0.9)", noise=0.02, fix="all", standardize="none", valid=0)


def test_rows_in_parts_equal_rows_at_once(waves, tmp_path):
    X, y = waves
    np.savetxt(tmp_path / "z.csv", X[:15], delimiter=",")
    at_once = GPRegressor(model="vfe", inducing_from=str(tmp_path / "z.csv"), **KEPT).fit(X, y)
    parts = GPRegressor(inducing_from=str(tmp_path / "z.csv"), **KEPT)
    for rows in (slice(0, 30), slice(30, 31), slice(31, 60)):
        assert parts.partial_fit(X[rows], y[rows]) is parts
    assert parts.model_ == "vfe" and parts.info_["rows"] == 60
    for mine, other in zip(parts.predict(X, return_std=True), at_once.predict(X, return_std=True)):
        np.testing.assert_allclose(mine, other, rtol=1e-7)
    assert parts.log_marginal_likelihood() == pytest.approx(at_once.log_marginal_likelihood(), rel=1e-9)


def test_weights_and_several_targets_are_updated(waves):
    X, y = waves
    Y = np.c_[y, -y]
    model = GPRegressor(model="vfe", inducing=10, iters=5).fit(X, Y)
    model.partial_fit(X[:3], Y[:3] + 5, sample_weight=[1000, 1000, 1000])
    np.testing.assert_allclose(model.predict(X[:3]), Y[:3] + 5, atol=1.5)
    with pytest.raises(ValueError, match="y has 1 columns, and the model has 2 targets"):
        model.partial_fit(X, y)


def test_models_that_cannot_be_updated_say_so(waves):
    model = GPRegressor(model="sod", inducing=10, iters=2).fit(*waves)
    before = model.predict(waves[0])
    with pytest.raises(AttributeError) as refusal:
        model.partial_fit(*waves)
    why = refusal.value.__cause__ or refusal.value  # since scikit-learn 1.3 ours is the cause of its own
    assert "sod cannot take new rows; fit again" in str(why)
    assert not hasattr(GPRegressor(model="sod"), "partial_fit") and hasattr(GPRegressor(model="fitc+"), "partial_fit")
    assert np.array_equal(model.predict(waves[0]), before)


def test_unseen_categories_are_refused():
    X = pd.DataFrame({"size": np.arange(20.0), "colour": ["red", "blue"] * 10})
    model = GPRegressor(inducing=10, iters=3).partial_fit(X, X["size"])
    model.partial_fit(X, X["size"])
    with pytest.raises(ValueError, match="has not seen, in: colour; leave these rows out"):
        model.partial_fit(X.assign(colour="violet"), X["size"])


@pytest.mark.parametrize("labels", [("left", "right"), (-1, 4)], ids=str)
def test_classes_are_updated(labels):
    X = np.linspace(-2, 2, 60)[:, None]
    y = np.where(X[:, 0] < 0, *labels)
    model = GPClassifier(inducing=8, iters=30).partial_fit(X[::2], y[::2], classes=labels)
    assert model.model_ == "svgp"
    before = model.predict_proba([[0.5]])[0, 0]
    model.partial_fit([[0.5]] * 5, [labels[0]] * 5)
    assert model.predict_proba([[0.5]])[0, 0] > before
    with pytest.raises(ValueError, match="does not know"):
        model.partial_fit([[0.5]], ["middle" if isinstance(labels[0], str) else 9])


def test_the_first_rows_need_every_class():
    X = np.linspace(-2, 2, 20)[:, None]
    with pytest.raises(ValueError, match="no row of class 2; it needs rows of every class"):
        GPClassifier().partial_fit(X, X[:, 0] > 0, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="needs all rows at once"):
        GPClassifier(class_weight="balanced").partial_fit(X, X[:, 0] > 0)
