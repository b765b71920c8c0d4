"""Predictions as pandas objects, for those who have asked for them by set_output."""
from __future__ import annotations

from typing import List, Optional, Sequence

import numpy as np

from . import _frame

CHOICES = ("default", "pandas")


def _pandas():
    try:
        import pandas
    except ImportError as why:
        raise ImportError("set_output(predict=\"pandas\") needs pandas; install it, e.g. with apt-get install python3-pandas") from why
    return pandas


def _index(X):
    return X.index if _frame.is_frame(X) else None


def target_names(info: dict) -> List[str]:
    """As the fit had them; y, or y_1, y_2, ... without names."""
    targets = info.get("targets") or [info]
    default = ["y"] if len(targets) == 1 else [f"y_{t + 1}" for t in range(len(targets))]
    return [one["data"]["target"]["name"] or name for one, name in zip(targets, default)]


def frame(X, names: Sequence, columns: np.ndarray):
    """columns: [n, names]"""
    return _pandas().DataFrame(columns, columns=list(names), index=_index(X))


def series(X, name: str, values: np.ndarray):
    return _pandas().Series(values, name=name, index=_index(X))


def of_targets(X, targets: List[str], kinds: Sequence[str], arrays: Sequence[np.ndarray]):
    """A column for every kind and target: kinds alone for one target, otherwise target_kind; arrays: [n] or [n, targets]."""
    arrays = [array.reshape(len(array), -1) for array in arrays]
    if len(targets) == 1:
        return frame(X, kinds, np.hstack(arrays))
    names = [f"{target}_{kind}" for target in targets for kind in kinds]
    return frame(X, names, np.stack(arrays, axis=2).reshape(len(arrays[0]), -1))


def of_prediction(X, targets: List[str], flat: bool, found: Sequence[np.ndarray], second: Optional[str], levels):
    """What predict returns: found are the mean, then [n, n] covariances or standard deviations, then quantiles."""
    found, pandas = list(found), _pandas()
    mean = found.pop(0)
    alone = series(X, targets[0], mean) if flat else frame(X, targets, mean)
    if second is None and levels is None:
        return alone
    if second == "cov":
        covariance = found.pop(0)
        index = _index(X)
        square = pandas.DataFrame(covariance, index=index, columns=index) if flat else covariance
        rest = [] if levels is None else [_quantiles(X, targets, levels, found[0])]
        return (alone, square, *rest)
    kinds, arrays = ["mean"], [mean]
    if second == "std":
        kinds, arrays = [*kinds, "std"], [*arrays, found.pop(0)]
    if levels is not None:
        kinds, arrays = kinds + _labels(levels), arrays + [found[0][..., k] for k in range(len(levels))]
    return of_targets(X, targets, kinds, arrays)


def _labels(levels):
    return [f"q{level:g}" for level in levels]


def _quantiles(X, targets, levels, array):
    return of_targets(X, targets, _labels(levels), [array[..., k] for k in range(len(levels))])
