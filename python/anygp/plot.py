"""Plots of a fitted GPRegressor. They need matplotlib, which nothing else here does.

Every function draws into `ax`, or into the current axes, and returns them.
"""
from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike

from ._regressor import GPRegressor

_SD95 = 1.959963984540054  # half the width of a normal's central 95 % interval


def _axes(ax):
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot
    except ImportError as why:
        raise ImportError("plots need matplotlib; install it, e.g. with apt-get install python3-matplotlib") from why
    return matplotlib.pyplot.gca()


def posterior(model: GPRegressor, X: ArrayLike, y: Optional[ArrayLike] = None, ax: Any = None, points: int = 400) -> Any:
    """Mean and 95 % band of y over the range of the one input, with the data where y is given."""
    ax = _axes(ax)
    if model.n_features_in_ != 1:
        raise ValueError(f"the posterior can be drawn for one input, but the model has {model.n_features_in_}")
    x = np.asarray(X, float).ravel()
    margin = 0.1 * (x.max() - x.min() or 1)
    grid = np.linspace(x.min() - margin, x.max() + margin, points)
    mean, sd = model._arrays(_like(X, grid), "std")
    if y is not None:
        ax.plot(x, np.asarray(y), ".", color="black", markersize=3, label="data")
    ax.plot(grid, mean, label="mean")
    ax.fill_between(grid, mean - _SD95 * sd, mean + _SD95 * sd, alpha=0.25, label="95 % of y")
    ax.legend()
    return ax


def _like(X, grid):
    """The grid as a frame where X is one, so that the names match."""
    grid = grid[:, None]
    return type(X)(grid, columns=X.columns) if hasattr(X, "columns") else grid


def predicted(model: GPRegressor, X: ArrayLike, y: ArrayLike, ax: Any = None) -> Any:
    """Predicted against observed, with 95 % intervals; the share of them that holds the observed value in the title."""
    ax = _axes(ax)
    y = np.asarray(y, float).ravel()
    mean, sd = model._arrays(X, "std")
    inside = np.mean(np.abs(y - mean) <= _SD95 * sd)
    ends = [min(y.min(), mean.min()), max(y.max(), mean.max())]
    ax.errorbar(y, mean, yerr=_SD95 * sd, fmt=".", markersize=3, linewidth=0.5, alpha=0.6)
    ax.plot(ends, ends, color="black", linewidth=0.8)
    ax.set(xlabel="observed", ylabel="predicted", title=f"95 % intervals hold {100 * inside:.1f} %")
    return ax


def trace(model: GPRegressor, ax: Any = None) -> Any:
    """The objective against the seconds of training."""
    ax = _axes(ax)
    ax.plot(model.trace_["seconds"], model.trace_["objective"], ".-")
    ax.set(xlabel="seconds", ylabel=model.info_["objective"]["name"])
    return ax
