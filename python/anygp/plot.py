"""Plots of fitted estimators. They need matplotlib, which nothing else here does.

Every function draws into `ax`, or into the current axes, and returns them.
"""
from __future__ import annotations

from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from ._classifier import GPClassifier
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
    mean, sd = model._arrays(_like(X, grid[:, None]), "std")
    if y is not None:
        ax.plot(x, np.asarray(y), ".", color="black", markersize=3, label="data")
    ax.plot(grid, mean, label="mean")
    ax.fill_between(grid, mean - _SD95 * sd, mean + _SD95 * sd, alpha=0.25, label="95 % of y")
    ax.legend()
    return ax


def _like(X, grid):
    """The grid as a frame where X is one, so that the names match."""
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


def surface(model: Union[GPRegressor, GPClassifier], X: ArrayLike, y: Optional[ArrayLike] = None, ax: Any = None, points: int = 60,
            show: str = "mean") -> Any:
    """Two inputs: the mean of y over their range in colours, with the data; show='std' draws its standard deviation. For a
    classifier the probability of the most probable class, with lines between the classes."""
    ax = _axes(ax)
    if model.n_features_in_ != 2:
        raise ValueError(f"the surface can be drawn for two inputs, but the model has {model.n_features_in_}")
    if show not in ("mean", "std"):
        raise ValueError(f"show: {show!r} is not one of: mean, std")
    x = np.asarray(X, float)
    first, second = (_range(x[:, j], points) for j in (0, 1))
    grid = _like(X, np.stack([part.ravel() for part in np.meshgrid(first, second)], axis=1))
    classes = getattr(model, "classes_", None)
    if classes is None:
        Z, label = model._arrays(grid, "std")[show == "std"], "mean of y" if show == "mean" else "standard deviation of y"
    else:
        P = model._probabilities(grid)
        Z, label = P.max(axis=1), "probability of the most probable class"
        _borders(ax, first, second, P.argmax(axis=1).reshape(points, points), len(classes))
    picture = ax.pcolormesh(first, second, Z.reshape(points, points), shading="auto", cmap="viridis")
    ax.figure.colorbar(picture, ax=ax, label=label)
    _data(ax, x, y, classes)
    names = [str(name) for name in getattr(model, "feature_names_in_", ("first input", "second input"))]
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


def _range(x, points):
    margin = 0.05 * (x.max() - x.min() or 1)
    return np.linspace(x.min() - margin, x.max() + margin, points)


def _borders(ax, first, second, most, classes):
    for k in range(classes - 1):  # around the classes up to k
        if (most <= k).any() and (most > k).any():
            ax.contour(first, second, (most <= k).astype(float), levels=[0.5], colors="white", linewidths=1)


def _data(ax, x, y, classes):
    """Rows as points, classes by their marks."""
    if y is None or classes is None:
        ax.plot(x[:, 0], x[:, 1], ".", color="black", markersize=3)
    else:
        for k, label in enumerate(classes):
            rows = np.asarray(y) == label
            ax.scatter(x[rows, 0], x[rows, 1], marker="os^Dv<>pPX"[k % 10], s=14, edgecolors="black", linewidths=0.4, label=str(label))
        _legend_above(ax, len(classes))


def _legend_above(ax, count):
    """Where it hides nothing."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=min(count, 6))


def probabilities(model: GPClassifier, X: ArrayLike, y: Optional[ArrayLike] = None, ax: Any = None, points: int = 400) -> Any:
    """One input: the probability of every class over its range; with y the rows of each class as marks above."""
    ax = _axes(ax)
    if model.n_features_in_ != 1:
        raise ValueError(f"the probabilities can be drawn for one input, but the model has {model.n_features_in_}")
    x = np.asarray(X, float).ravel()
    grid = _range(x, points)
    P = model._probabilities(_like(X, grid[:, None]))
    for k, label in enumerate(model.classes_):
        line, = ax.plot(grid, P[:, k], label=str(label))
        if y is not None:
            rows = np.asarray(y) == label
            ax.plot(x[rows], np.full(rows.sum(), 1.04 + 0.03 * k), "|", color=line.get_color(), markersize=6)
    ax.set(ylabel="probability")
    _legend_above(ax, len(model.classes_))
    return ax


def reliability(model: GPClassifier, X: ArrayLike, y: ArrayLike, ax: Any = None, bins: int = 10) -> Any:
    """Are probabilities right? The share of rows of a class beside the probability it was given, for all classes, in bins of
    equal width; the size of a mark shows how many there are."""
    ax = _axes(ax)
    P = model._probabilities(X).ravel()
    hit = (np.asarray(y)[:, None] == model.classes_).ravel()
    place = np.minimum((P * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    used = count > 0
    given, seen = (np.bincount(place, weights=w, minlength=bins)[used] / count[used] for w in (P, hit))
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.8)
    ax.plot(given, seen, color="C0")
    ax.scatter(given, seen, s=10 + 90 * count[used] / count.max(), color="C0")
    ax.set(xlabel="probability given", ylabel="share seen")
    return ax
