"""Dates and missing values of data frames."""
import datetime

import numpy as np
import pandas as pd
import pytest

from anygp import GPRegressor
from anygp._settings import in_python

DAYS = pd.date_range("2024-01-01", periods=60, freq="36h")


def weather(when):
    return pd.DataFrame({"when": when, "height": np.tile([0.0, 1.0, 2.0], 20)})


@pytest.fixture
def warm():
    return np.sin(np.arange(60) / 9) + np.tile([0.0, 0.5, 1.0], 20)


@pytest.mark.parametrize("when", [
    DAYS, DAYS.tz_localize("UTC").tz_convert("Asia/Tokyo"), DAYS - pd.Timestamp("1970-01-01"), DAYS.to_pydatetime(),
], ids=["dates", "with a zone", "durations", "objects"])
def test_dates_are_days(warm, when):
    model = GPRegressor(iters=20).fit(weather(when), warm)
    column = model.info_["data"]["inputs"][0]
    assert not column["text"] and column["shift"] == pytest.approx(19723 + 1.5 * 29.5)
    numbers = weather(19723 + 1.5 * np.arange(60))
    np.testing.assert_allclose(model.predict(weather(when)), model.predict(numbers), rtol=1e-9)


def test_days_without_a_time_and_missing_dates(warm):
    dates = [day.date() for day in DAYS.floor("D")]
    model = GPRegressor(iters=5, missing="mean").fit(weather(dates), warm)
    assert model.predict(weather([None, *dates[1:]])).shape == (60,)
    periods = weather(DAYS.floor("D").to_period("D"))
    np.testing.assert_allclose(model.predict(periods), model.predict(weather(dates)))
    assert isinstance(dates[0], datetime.date)


def test_dates_as_text_are_pointed_out(warm):
    with pytest.warns(UserWarning, match="dates as text, in: when; .* pandas.to_datetime") as seen:
        GPRegressor(iters=1).fit(weather(DAYS.strftime("%Y-%m-%d %H:%M")), warm)
    assert seen[0].filename == __file__


def test_missing_values_are_named_with_what_to_do(waves):
    X, y = waves
    holed = np.where(X > 1.8, np.nan, X)
    with pytest.raises(ValueError, match=r"X contains NaN in columns 0, 1. GPRegressor\(missing=\"mean\"\) fills"):
        GPRegressor().fit(holed, y)
    frame = pd.DataFrame(X, columns=["age", "size"])
    model = GPRegressor(iters=1).fit(frame, y)
    with pytest.raises(ValueError, match="NaN in column size. GPRegressor"):
        model.predict(frame.assign(size=np.nan))


def test_sentences_of_the_library_name_arguments(waves):
    X, y = waves
    frame = pd.DataFrame({"kind": np.where(X[:, 0] > 0.5, "a", "b"), "size": X[:, 1]})
    frame.loc[3, "size"] = np.nan
    with pytest.raises(ValueError, match=r"row 4, column 'size'.* use missing=\"mean\"$"):
        GPRegressor(iters=1).fit(frame, y)
    assert in_python("give it more --time, or --precision mixed; see --nonsense") == \
        'give it more time_budget, or precision="mixed"; see --nonsense'


def test_set_params_names_the_nearest():
    with pytest.raises(ValueError, match="no argument 'kernl'; did you mean 'kernel'"):
        GPRegressor().set_params(kernl="rbf")
