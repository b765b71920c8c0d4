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


# ---------------------------------------------------------------------------------------------- the pictures of a report

_LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99])


def calibration(model: GPRegressor, X: ArrayLike, y: ArrayLike, ax: Any = None) -> Any:
    """Do the intervals hold what they promise? The share of rows inside the central intervals of 50 to 99 %."""
    ax = _axes(ax)
    y = np.asarray(y, float).ravel()
    quantiles = np.asarray(model._arrays(X, levels=np.concatenate([(1 - _LEVELS) / 2, (1 + _LEVELS) / 2]))[-1])
    low, high = np.split(quantiles, 2, axis=1)
    seen = np.mean((y[:, None] >= low) & (y[:, None] <= high), axis=0)
    ax.plot([0.5, 1], [0.5, 1], color="black", linewidth=0.8)
    ax.plot(_LEVELS, seen, "o-")
    ax.set(xlabel="probability of the interval", ylabel="share of rows inside")
    return ax


def pit(model: GPRegressor, X: ArrayLike, y: ArrayLike, ax: Any = None, bins: int = 10) -> Any:
    """Where in its predicted distribution each y lies: the share of rows between neighbouring quantiles. A flat picture is right, a
    hill is a model that is too cautious, a valley one that is too sure."""
    ax = _axes(ax)
    y = np.asarray(y, float).ravel()
    inner = np.arange(1, bins) / bins
    quantiles = np.asarray(model._arrays(X, levels=inner)[-1])
    share = np.bincount((y[:, None] > quantiles).sum(axis=1), minlength=bins) / len(y)
    ax.bar((np.arange(bins) + 0.5) / bins, share, width=0.9 / bins)
    ax.axhline(1 / bins, color="black", linewidth=0.8)
    ax.set(xlabel="probability of a smaller y", ylabel="share of rows")
    return ax


def residuals(model: GPRegressor, X: ArrayLike, y: ArrayLike, ax: Any = None, of: Optional[int] = None) -> Any:
    """Errors, in predicted standard deviations, against the prediction, or against column `of` of X."""
    ax = _axes(ax)
    mean, sd = model._arrays(X, "std")
    across, label = mean, "predicted"
    if of is not None:
        across = X.iloc[:, of] if hasattr(X, "iloc") else np.asarray(X)[:, of]
        label = str(X.columns[of]) if hasattr(X, "columns") else f"column {of}"
    ax.plot(across, (np.asarray(y, float).ravel() - mean) / sd, ".", markersize=3)
    for height in (-_SD95, 0, _SD95):
        ax.axhline(height, color="black", linewidth=0.8, linestyle="-" if height == 0 else "--")
    ax.set(xlabel=label, ylabel="error / predicted sd")
    return ax


def relevance(model: Union[GPRegressor, GPClassifier], ax: Any = None) -> Any:
    """1 / length-scale of each input, in standard deviations of its column: along a long bar the function changes quickly."""
    ax = _axes(ax)
    found = model.info_.get("relevance")
    if not found:
        raise ValueError("the kernel has no length-scales to compare")
    names = [entry["input"] or f"column {entry['number']}" for entry in found][::-1]
    ax.barh(range(len(found)), [1 / entry["scaled"] for entry in found][::-1])
    ax.set_yticks(range(len(found)), names)
    ax.set(xlabel="1 / length-scale (inputs of sd 1)")
    return ax


def effect(model: GPRegressor, X: ArrayLike, of: int, ax: Any = None, points: int = 100) -> Any:
    """The mean of y and its 95 % band along column `of` of X, the other columns at their medians. All of them are numbers."""
    ax = _axes(ax)
    x = np.asarray(X, float)
    grid = np.tile(np.median(x, axis=0), (points, 1))
    grid[:, of] = np.linspace(x[:, of].min(), x[:, of].max(), points)
    mean, sd = model._arrays(_like(X, grid), "std")
    ax.plot(grid[:, of], mean)
    ax.fill_between(grid[:, of], mean - _SD95 * sd, mean + _SD95 * sd, alpha=0.25)
    ax.set(xlabel=str(X.columns[of]) if hasattr(X, "columns") else f"column {of}", ylabel="y")
    return ax


def confusion(model: GPClassifier, X: ArrayLike, y: ArrayLike, ax: Any = None) -> Any:
    """How many rows of each class (down) were taken for which class (across)."""
    ax = _axes(ax)
    taken, y = np.asarray(model._probabilities(X)).argmax(axis=1), np.asarray(y)
    counts = np.array([[np.sum((y == label) & (taken == k)) for k in range(len(model.classes_))] for label in model.classes_])
    ax.imshow(counts, cmap="Blues")
    for (i, k), count in np.ndenumerate(counts):
        ax.text(k, i, str(count), ha="center", va="center", color="white" if count > 0.6 * counts.max() else "black")
    names = [str(label) for label in model.classes_]
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="predicted", ylabel="true")
    return ax


def roc(model: GPClassifier, X: ArrayLike, y: ArrayLike, ax: Any = None) -> Any:
    """Rows of a class that are found against false alarms, as the threshold on its probability falls; the area in the legend."""
    ax = _axes(ax)
    P, y = np.asarray(model._probabilities(X)), np.asarray(y)
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.8)
    for k in range(1 if len(model.classes_) == 2 else 0, len(model.classes_)):
        order = np.argsort(-P[:, k], kind="stable")
        hit, last = (y == model.classes_[k])[order], np.append(np.diff(P[order, k]) != 0, True)  # equal ones are one step
        found, alarms = (np.append(0, np.cumsum(part)[last] / max(part.sum(), 1)) for part in (hit, ~hit))
        area = np.sum(np.diff(alarms) * (found[1:] + found[:-1]) / 2)
        ax.plot(alarms, found, label=f"{model.classes_[k]}: area {area:.3f}")
    ax.legend()
    ax.set(xlabel="false alarms, share of the other rows", ylabel="found, share of the class")
    return ax
