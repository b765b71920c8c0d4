"""Data frames: columns of text become the indices of their categories, as the library has them."""
import warnings

import numpy as np


def is_frame(X):
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "iloc")


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
    """The frame with numbers for texts, and {column: categories}."""
    categories = {j: [] for j in range(X.shape[1]) if _is_text(X.iloc[:, j])}
    return _replaced(X, categories), categories


def apply(X, categories):
    """The frame in the categories of the model; an unseen one counts as a new level, with one warning."""
    if not categories or X.shape[1] <= max(categories):
        return X
    wider = {j: list(levels) for j, levels in categories.items()}
    X = _replaced(X, wider)
    unseen = [str(X.columns[j]) for j, levels in categories.items() if len(wider[j]) > len(levels)]
    if unseen:
        warnings.warn(f"categories that the model has not seen, in: {', '.join(unseen)}; each counts as a new one",
                      UserWarning, stacklevel=5)
    return X


def _replaced(X, categories):
    if not categories:
        return X
    coded = {j: _indices(X.iloc[:, j], levels) for j, levels in categories.items()}
    names = X.columns  # may repeat, so the new frame is made by number
    X = type(X)({j: coded.get(j, X.iloc[:, j]) for j in range(len(names))}, index=X.index)
    X.columns = names
    return X
