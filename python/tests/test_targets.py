"""Several targets, exposures, quantiles and intervals."""
import pickle

import numpy as np
import pandas as pd
import pytest

from anygp import GPRegressor

QUICK = dict(iters=20)


@pytest.fixture
def pair(waves):
    X, y = waves
    return X, np.c_[y, 3 - 2 * X[:, 0]]


@pytest.fixture
def visits():
    """Counts over different times, at a rate that x decides."""
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 3, size=(150, 1))
    hours = rng.uniform(0.5, 20, size=150)
    return X, rng.poisson(hours * np.exp(np.sin(2 * X[:, 0]))), hours


def test_several_targets_are_those_of_separate_fits(pair):
    X, Y = pair
    both = GPRegressor(**QUICK).fit(X, Y)
    each = [GPRegressor(**QUICK).fit(X, Y[:, t]) for t in range(2)]
    for options in ({}, {"return_std": True}, {"return_std": True, "latent": True}, {"return_quantiles": [0.1, 0.9]}):
        mine, others = both.predict(X, **options), [model.predict(X, **options) for model in each]
        for k in range(len(options) and len(mine)):
            np.testing.assert_allclose(mine[k], np.stack([other[k] for other in others], axis=1), rtol=1e-10)
    np.testing.assert_allclose(both.predict(X), np.c_[each[0].predict(X), each[1].predict(X)], rtol=1e-10)
    np.testing.assert_allclose(both.predict(X[:4], return_cov=True)[1][:, :, 1], each[1].predict(X[:4], return_cov=True)[1])
    assert both.kernel_ == [model.kernel_ for model in each] and both.model_ == ["exact", "exact"]
    assert both.sample_y(X[:5], 3).shape == (5, 2, 3) and both.score(X, Y) > 0.95
    assert np.array_equal(both.sample_y(X[:5], 3)[:, 0], each[0].sample_y(X[:5], 3))


def test_a_column_stays_a_column(waves):
    X, y = waves
    flat, column = GPRegressor(**QUICK).fit(X, y), GPRegressor(**QUICK).fit(X, y[:, None])
    assert column.predict(X).shape == (60, 1) and np.array_equal(column.predict(X)[:, 0], flat.predict(X))
    assert column.predict(X, return_cov=True)[1].shape == (60, 60, 1)


def test_several_targets_are_saved_loaded_and_pickled(pair, tmp_path):
    X, Y = pair
    frame, targets = pd.DataFrame(X, columns=["2", "3"]), pd.DataFrame(Y, columns=["up", "2"])
    model = GPRegressor(**QUICK).fit(frame, targets)
    np.testing.assert_allclose(model.predict(frame), GPRegressor(**QUICK).fit(X, Y).predict(X), rtol=1e-10)
    model.save(tmp_path / "m.agp")
    for copy in (GPRegressor.load(tmp_path / "m.agp"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(copy.predict(frame), model.predict(frame))
    assert [one["data"]["target"]["name"] for one in model.info_["targets"]] == ["up", "y"]


def test_exposure_is_the_time_of_counting(visits):
    X, counts, hours = visits
    model = GPRegressor(likelihood="poisson", inducing=15, iters=100).fit(X, counts, exposure=hours)
    rate = np.exp(np.sin(2 * X[:, 0]))
    np.testing.assert_allclose(model.predict(X), rate, rtol=0.5)
    np.testing.assert_allclose(model.predict(X, exposure=hours), hours * model.predict(X), rtol=1e-8)
    lower, upper = model.predict_interval(X, 0.9, exposure=hours)
    assert 0.8 < np.mean((lower <= counts) & (counts <= upper)) <= 1 and (lower == np.floor(lower)).all()
    before = model.predict(X[:1])
    model.partial_fit(X[:1], [1000], exposure=[10])
    assert model.predict(X[:1]) > 1.2 * before
    with pytest.raises(ValueError, match="fitted with exposures"):
        model.partial_fit(X, counts)


def test_exposures_of_a_frame_have_a_column_of_their_own(visits):
    X, counts, hours = visits
    frame = pd.DataFrame({"exposure": X[:, 0]})
    fitted = GPRegressor(likelihood="poisson", inducing=15, iters=30).fit(frame, counts, exposure=hours)
    plain = GPRegressor(likelihood="poisson", inducing=15, iters=30).fit(X, counts, exposure=hours)
    np.testing.assert_allclose(fitted.predict(frame), plain.predict(X), rtol=1e-10)
    assert fitted.info_["data"]["exposure"]["name"] == "exposure_2"


def test_wrong_exposures_are_refused(visits, waves):
    X, counts, hours = visits
    with pytest.raises(ValueError, match="exposure has the shape"):
        GPRegressor(likelihood="poisson").fit(X, counts, exposure=hours[:7])
    with pytest.raises(ValueError, match="not above 0"):
        GPRegressor(likelihood="poisson").fit(X, counts, exposure=-hours)
    with pytest.raises(ValueError, match="exposure"):
        GPRegressor().fit(X, counts, exposure=hours)
    model = GPRegressor(iters=1).fit(*waves)
    with pytest.raises(ValueError, match="exposure is for counts"):
        model.predict(waves[0], exposure=np.ones(60))
    with pytest.raises(TypeError, match="it is the argument exposure of fit"):
        GPRegressor(exposure="hours")


def test_quantiles_and_intervals(waves):
    X, y = waves
    model = GPRegressor(**QUICK).fit(X, y)
    mean, sd, q = model.predict(X, return_std=True, return_quantiles=[0.025, 0.5, 0.975])
    assert q.shape == (60, 3)
    np.testing.assert_allclose(q, mean[:, None] + sd[:, None] * [[-1.959963984540054, 0, 1.959963984540054]], rtol=1e-10)
    lower, upper = model.predict_interval(X)
    np.testing.assert_allclose(np.c_[lower, upper], q[:, [0, 2]], rtol=1e-10)
    inner = model.predict_interval(X, 0.5, latent=True)
    assert (inner[0] > lower).all() and (inner[1] < upper).all()
    covariance, median = model.predict(X[:3], return_cov=True, return_quantiles=0.5)[1:]
    assert covariance.shape == (3, 3) and median.shape == (3, 1)
    for wrong in (0, 1, 95):
        with pytest.raises(ValueError, match="between 0 and 1"):
            model.predict_interval(X, wrong)
    with pytest.raises(ValueError, match="not between 0 and 1"):
        model.predict(X, return_quantiles=[0.5, 1.5])


def test_heavy_tails_have_wider_outer_quantiles(waves):
    X, y = waves
    model = GPRegressor(likelihood="studentt(df=3)", inducing=10, iters=20).fit(X, y)
    q = model.predict(X[:5], return_quantiles=[0.25, 0.5, 0.75, 0.995])[1]
    half, far = q[:, 2] - q[:, 1], q[:, 3] - q[:, 1]
    assert (far > 1.1 * half * 2.5758 / 0.6745).all()  # those of a normal
