"""Data frames: columns of text become the indices of their categories, as the library has them, and dates become days."""
import datetime
import re
import warnings

import numpy as np

_DAY = np.timedelta64(1, "D")
_EPOCH = np.datetime64("1970-01-01", "ns")
_LOOKS_LIKE_A_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T]|$)")


def is_frame(X):
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "iloc")


# -------------------------------------------------------------------------------------------------- dates


def _is_date_object(column):
    if column.dtype != object:
        return False
    first = next((cell for cell in column.head(1000) if isinstance(cell, (str, datetime.date, float, int))), None)
    return isinstance(first, datetime.date)


def is_date(column):
    """Dates and times, of any kind; not durations."""
    return hasattr(column.dtype, "freq") or getattr(column.dtype, "kind", "O") == "M" or _is_date_object(column)


def dates_of(days):
    """Days as dates: what _days made of them, in UTC."""
    return _EPOCH + np.round(np.asarray(days) * 86400e6).astype("timedelta64[us]")


def _days(column):
    """Dates and times as days since 1970-01-01 00:00 UTC, without a zone as if in UTC; durations as days; None for others."""
    if hasattr(column.dtype, "freq"):  # periods: their first moment
        column = column.dt.to_timestamp()
    kind = getattr(column.dtype, "kind", "O")
    if kind == "M" or _is_date_object(column):
        if getattr(column.dtype, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return (column.to_numpy(dtype="datetime64[ns]") - _EPOCH) / _DAY
    return column.to_numpy(dtype="timedelta64[ns]") / _DAY if kind == "m" else None


def _warn_of_dates(X, categories):
    """Texts that are dates would be as many categories."""
    names = [str(X.columns[j]) for j in categories
             if all(isinstance(cell, str) and _LOOKS_LIKE_A_DATE.match(cell) for cell in X.iloc[:, j].head(1000).dropna())]
    if names:
        warnings.warn(f"dates as text, in: {', '.join(names)}; every one of them counts as a category of its own. "
                      "pandas.to_datetime makes them dates, which are numbers here (days)", UserWarning, stacklevel=5)


# --------------------------------------------------------------------------------------------- categories


def _is_text(column):
    """Texts, or categories of anything; an object column of numbers is numbers."""
    if hasattr(column, "cat"):
        return True
    if not hasattr(column, "str"):
        return False
    return any(isinstance(cell, str) for cell in column.head(1000))


def _texts(column):
    """The cells as texts, and which of them are missing."""
    missing = column.isna().to_numpy()
    return np.where(missing, "", column.astype(object).astype(str).to_numpy()), missing


def _indices(column, known):
    """The place of each cell in `known`, which grows by the texts not seen yet, in their order; NaN is missing."""
    texts, missing = _texts(column)
    place = {text: i for i, text in enumerate(known)}
    for text in dict.fromkeys(texts[~missing]):
        place.setdefault(text, len(place))
    known[:] = place
    return np.where(missing, np.nan, [place.get(text, -1) for text in texts])


def learn(X):
    """The frame with numbers for texts and dates, and {column: categories}."""
    categories = {j: [] for j in range(X.shape[1]) if _is_text(X.iloc[:, j])}
    _warn_of_dates(X, categories)
    return _replaced(X, categories), categories


def apply(X, categories, grow=True):
    """The frame in the categories of the model; an unseen one counts as a new level, with one warning, or is refused."""
    if categories and X.shape[1] <= max(categories):
        return X
    wider = {j: list(levels) for j, levels in categories.items()}
    X = _replaced(X, wider)
    unseen = [str(X.columns[j]) for j, levels in categories.items() if len(wider[j]) > len(levels)]
    if unseen and not grow:
        raise ValueError(f"categories that the model has not seen, in: {', '.join(unseen)}; leave these rows out, or fit again "
                         "with all rows")
    if unseen:
        warnings.warn(f"categories that the model has not seen, in: {', '.join(unseen)}; each counts as a new one",
                      UserWarning, stacklevel=5)
    return X


def _replaced(X, categories):
    coded = {j: _indices(X.iloc[:, j], levels) for j, levels in categories.items()}
    days = {j: _days(X.iloc[:, j]) for j in range(X.shape[1]) if j not in coded}
    coded.update({j: numbers for j, numbers in days.items() if numbers is not None})
    if not coded:
        return X
    names = X.columns  # may repeat, so the new frame is made by number
    X = type(X)({j: coded.get(j, X.iloc[:, j]) for j in range(len(names))}, index=X.index)
    X.columns = names
    return X


# ------------------------------------------------------------------------------------------------ missing


def columns_with_missing(X):
    """For a sentence: ' in columns 0, 2' or ' in column age'."""
    holes = np.asarray(X.isna()) if is_frame(X) else np.isnan(np.asarray(X, float))
    places = np.flatnonzero(holes.any(axis=0))
    names = [str(X.columns[j]) if is_frame(X) else str(j) for j in places[:5]]
    return f" in column{'s' * (len(places) > 1)} {', '.join(names)}{', ...' if len(places) > 5 else ''}" if names else ""
