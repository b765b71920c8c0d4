"""Plots of fitted estimators. They need matplotlib, which nothing else here does.

Every function draws into `ax`, or into the current axes, and returns them. X may have texts and dates, as for fit. Of a model of
several targets `target` chooses one, by its name or number; without it the first is drawn. y may have all of them, or that one.
Counts that were fitted with exposures need those of X, `exposure`, wherever they are compared with y.
"""
from __future__ import annotations

from typing import Any, Optional, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _output
from ._classifier import GPClassifier
from ._columns import Columns
from ._regressor import GPRegressor, _exposure

_SD95 = 1.959963984540054  # half the width of a normal's central 95 % interval
Target = Optional[Union[int, str]]


def _axes(ax):
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot
    except ImportError as why:
        raise ImportError("plots need matplotlib; install it, e.g. with apt-get install python3-matplotlib") from why
    return matplotlib.pyplot.gca()


# ------------------------------------------------------------------------------------------------------ what is drawn


def _need(model, kind, others):
    """A picture for the other kind of estimator is refused, with those that there are."""
    if not isinstance(model, kind):
        raise ValueError(f"this picture is for a {kind.__name__}; for a {type(model).__name__} there are {others}")


def _need_numbers(model):
    _need(model, GPRegressor, "confusion, reliability, roc, probabilities, surface, effect, relevance and trace")


def _need_classes(model):
    _need(model, GPClassifier, "posterior, predicted, calibration, pit, residuals, surface, effect, relevance and trace")


def _number_of(model, target: Target) -> Tuple[int, str]:
    """The place of a target, and its name."""
    names = _output.target_names(model.info_)
    if target is None:
        return 0, names[0]
    if target in names:
        return names.index(target), target
    if not isinstance(target, (int, np.integer)) or not 0 <= target < len(names):
        raise ValueError(f"target: the model has no target {target!r}; it has {', '.join(names)}")
    return int(target), names[target]


def _info(model, t):
    return model.info_.get("targets", [model.info_])[t]


def _truth(y, t):
    """The column of target t, or all there is."""
    y = np.asarray(y, float)
    return y[:, t] if y.ndim == 2 and y.shape[1] > 1 else y.ravel()


def _exposed(model, exposure, X):
    if exposure is None and model.info_["data"]["exposure"]:
        raise ValueError("the model was fitted with exposures, which this picture needs too: exposure=...")
    return _exposure(exposure, X)


def _mean(model, rows, t, exposure=None):
    return model._model.predict_checked(rows, exposure=exposure)[0][:, t]


def _spread(model, rows, t, exposure=None):
    """Mean and standard deviation."""
    mean, variance = model._model.predict_checked(rows, True, exposure=exposure)
    return mean[:, t], np.sqrt(variance[:, t])


def _interval(model, rows, t, exposure=None):
    """The ends of the central 95 % interval."""
    return model._model.quantiles(rows, [0.025, 0.975], exposure=exposure)[:, t].T


def _shares(model, rows):
    """Probabilities of the classes at rows that are checked already."""
    P = np.zeros((len(rows), len(model.classes_)))
    P[:, model._columns] = model._model.probabilities(rows)
    return P


def _only_input(model, what):
    if model.n_features_in_ != 1:
        raise ValueError(f"{what} can be drawn for one input, but the model has {model.n_features_in_}")


# -------------------------------------------------------------------------------------------------- one or two inputs


def posterior(model: GPRegressor, X: ArrayLike, y: Optional[ArrayLike] = None, ax: Any = None, points: int = 400,
              target: Target = None) -> Any:
    """Mean and 95 % band of y over the range of the one input, with the data where y is given; of a text a bar for each category."""
    ax = _axes(ax)
    _need_numbers(model)
    _only_input(model, "the posterior")
    (t, name), columns = _number_of(model, target), Columns(model, X)
    stops = columns.stops(0, points, 0.1)
    mean, (low, high) = _mean(model, stops[:, None], t), _interval(model, stops[:, None], t)
    if y is not None:
        ax.plot(columns.shown(0, columns.rows[:, 0]), _truth(y, t), ".", color="black", markersize=3, label="data")
    _curve(ax, columns, 0, stops, mean, low, high, "mean", "95 % of y")
    ax.legend()
    if len(_output.target_names(model.info_)) > 1:
        ax.set(ylabel=name)
    return ax


def _curve(ax, columns, j, stops, mean, low, high, label=None, band=None):
    """A line with its band, or a mark with its bar for each category."""
    at = columns.shown(j, stops)
    if columns.is_text(j):
        sides = np.maximum([mean - low, high - mean], 0)
        return ax.errorbar(at, mean, yerr=sides, fmt="o", capsize=4, label=label).lines[0]
    line, = ax.plot(at, mean, label=label)
    ax.fill_between(at, low, high, alpha=0.25, label=band)
    return line


def surface(model: Union[GPRegressor, GPClassifier], X: ArrayLike, y: Optional[ArrayLike] = None, ax: Any = None, points: int = 60,
            show: str = "mean", target: Target = None) -> Any:
    """Two inputs: the mean of y over their range in colours, with the data; show='std' draws its standard deviation. For a
    classifier the probability of the most probable class, with lines between the classes."""
    ax = _axes(ax)
    if model.n_features_in_ != 2:
        raise ValueError(f"the surface can be drawn for two inputs, but the model has {model.n_features_in_}")
    if show not in ("mean", "std"):
        raise ValueError(f"show: {show!r} is not one of: mean, std")
    (t, name), columns = _number_of(model, target), Columns(model, X)
    texts = [columns.names[j] for j in (0, 1) if columns.is_text(j)]
    if texts:
        raise ValueError(f"the surface needs two numbers or dates, and {texts[0]} is text; effect draws it")
    stops = [columns.stops(j, points, 0.05) for j in (0, 1)]
    first, second = (columns.shown(j, stops[j]) for j in (0, 1))
    grid = np.stack([part.ravel() for part in np.meshgrid(*stops)], axis=1)
    classes = getattr(model, "classes_", None)
    if classes is None:
        Z, label = _spread(model, grid, t)[show == "std"], f"mean of {name}" if show == "mean" else f"standard deviation of {name}"
    else:
        P = _shares(model, grid)
        Z, label = P.max(axis=1), "probability of the most probable class"
        _borders(ax, first, second, P.argmax(axis=1).reshape(points, points), len(classes))
    picture = ax.pcolormesh(first, second, Z.reshape(points, points), shading="auto", cmap="viridis")
    ax.figure.colorbar(picture, ax=ax, label=label)
    _data(ax, [columns.shown(j, columns.rows[:, j]) for j in (0, 1)], y, classes)
    names = [str(name) for name in getattr(model, "feature_names_in_", ("first input", "second input"))]
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


def _borders(ax, first, second, most, classes):
    for k in range(classes - 1):  # around the classes up to k
        if (most <= k).any() and (most > k).any():
            ax.contour(first, second, (most <= k).astype(float), levels=[0.5], colors="white", linewidths=1)


def _data(ax, x, y, classes):
    """Rows as points, classes by their marks."""
    if y is None or classes is None:
        ax.plot(x[0], x[1], ".", color="black", markersize=3)
    else:
        for k, label in enumerate(classes):
            rows = np.asarray(y) == label
            ax.scatter(x[0][rows], x[1][rows], marker="os^Dv<>pPX"[k % 10], s=14, edgecolors="black", linewidths=0.4, label=str(label))
        _legend_above(ax, len(classes))


def _legend_above(ax, count):
    """Where it hides nothing."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=min(count, 6))


def probabilities(model: GPClassifier, X: ArrayLike, y: Optional[ArrayLike] = None, ax: Any = None, points: int = 400) -> Any:
    """One input: the probability of every class over its range; with y the rows of each class as marks above."""
    ax = _axes(ax)
    _need_classes(model)
    _only_input(model, "the probabilities")
    columns = Columns(model, X)
    stops = columns.stops(0, points, 0.05)
    P, at, x = _shares(model, stops[:, None]), columns.shown(0, stops), columns.shown(0, columns.rows[:, 0])
    for k, label in enumerate(model.classes_):
        line, = ax.plot(at, P[:, k], "o" if columns.is_text(0) else "-", label=str(label))
        if y is not None:
            rows = np.flatnonzero(np.asarray(y) == label)
            ax.plot([x[i] for i in rows], np.full(len(rows), 1.04 + 0.03 * k), "|", color=line.get_color(), markersize=6)
    ax.set(ylabel="probability")
    _legend_above(ax, len(model.classes_))
    return ax


# ------------------------------------------------------------------------------------------------------- every model


def trace(model: Union[GPRegressor, GPClassifier], ax: Any = None, target: Target = None) -> Any:
    """The objective against the seconds of training."""
    ax = _axes(ax)
    info = _info(model, _number_of(model, target)[0])
    ax.plot(np.array(info["trace"]["seconds"], float), np.array(info["trace"]["objective"], float), ".-")
    ax.set(xlabel="seconds", ylabel=info["objective"]["name"])
    return ax


def relevance(model: Union[GPRegressor, GPClassifier], ax: Any = None, target: Target = None) -> Any:
    """1 / length-scale of each input, in standard deviations of its column: along a long bar the function changes quickly."""
    ax = _axes(ax)
    found = _info(model, _number_of(model, target)[0]).get("relevance")
    if not found:
        raise ValueError("the kernel has no length-scales to compare")
    names = [entry["input"] or f"column {entry['number']}" for entry in found][::-1]
    ax.barh(range(len(found)), [1 / entry["scaled"] for entry in found][::-1])
    ax.set_yticks(range(len(found)), names)
    ax.set(xlabel="1 / length-scale (inputs of sd 1)")
    return ax


def effect(model: Union[GPRegressor, GPClassifier], X: ArrayLike, of: Union[int, str], ax: Any = None, points: int = 100,
           target: Target = None, average: int = 100) -> Any:
    """The mean of y and its 95 % band along column `of` of X, by its number or name; the other columns are at their medians or most
    frequent categories. Dashed: averaged over `average` rows of X, each with its own other columns (0: not drawn). For a
    classifier the probabilities of the classes."""
    ax = _axes(ax)
    (t, name), columns = _number_of(model, target), Columns(model, X)
    j = columns.number(of)
    stops = columns.stops(j, points)
    grid = np.tile(columns.typical(), (len(stops), 1))
    grid[:, j] = stops
    if isinstance(model, GPClassifier):
        at, P = columns.shown(j, stops), _shares(model, grid)
        marks = [ax.plot(at, P[:, k], "o" if columns.is_text(j) else "-", label=str(label))[0] for k, label in enumerate(model.classes_)]
        _averaged(ax, columns, j, stops, average, lambda rows: _shares(model, rows), marks)
        _legend_above(ax, len(model.classes_))
    else:
        marks = [_curve(ax, columns, j, stops, _mean(model, grid, t), *_interval(model, grid, t))]
        _averaged(ax, columns, j, stops, average, lambda rows: _mean(model, rows, t)[:, None], marks)
    ax.set(xlabel=columns.names[j], ylabel="probability" if isinstance(model, GPClassifier) else name)
    return ax


def _averaged(ax, columns, j, stops, count, predict, marks):
    """predict's columns at every stop, averaged over rows with their own other inputs, in the colours of the marks."""
    if not count:
        return
    rows = columns.rows[np.linspace(0, len(columns.rows) - 1, min(count, len(columns.rows))).astype(int)]
    means = []
    for stop in stops:
        rows[:, j] = stop
        means.append(predict(rows).mean(axis=0))
    for k, mark in enumerate(marks):
        ax.plot(columns.shown(j, stops), np.array(means)[:, k], "x" if columns.is_text(j) else "--", color=mark.get_color(),
                linewidth=1)


# ----------------------------------------------------------------------------------------------- against what was observed


def _compared(model, X, y, target, exposure):
    """What the pictures of numbers beside predictions begin with: rows, y, number of the target, exposure."""
    _need_numbers(model)
    t, rows = _number_of(model, target)[0], model._inputs(X)
    y = _truth(y, t)
    if len(y) != len(rows):
        raise ValueError(f"y has {len(y)} values and X {len(rows)} rows")
    return rows, y, t, _exposed(model, exposure, X)


def predicted(model: GPRegressor, X: ArrayLike, y: ArrayLike, ax: Any = None, target: Target = None,
              exposure: Optional[ArrayLike] = None) -> Any:
    """Predicted against observed, with 95 % intervals; the share of them that holds the observed value in the title."""
    ax = _axes(ax)
    rows, y, t, exposure = _compared(model, X, y, target, exposure)
    mean, (low, high) = _mean(model, rows, t, exposure), _interval(model, rows, t, exposure)
    ends = [min(y.min(), mean.min()), max(y.max(), mean.max())]
    ax.errorbar(y, mean, yerr=np.maximum([mean - low, high - mean], 0), fmt=".", markersize=3, linewidth=0.5, alpha=0.6)
    ax.plot(ends, ends, color="black", linewidth=0.8)
    ax.set(xlabel="observed", ylabel="predicted", title=f"95 % intervals hold {100 * np.mean((y >= low) & (y <= high)):.1f} %")
    return ax


_LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99])


def calibration(model: GPRegressor, X: ArrayLike, y: ArrayLike, ax: Any = None, target: Target = None,
                exposure: Optional[ArrayLike] = None) -> Any:
    """Do the intervals hold what they promise? The share of rows inside the central intervals of 50 to 99 %."""
    ax = _axes(ax)
    rows, y, t, exposure = _compared(model, X, y, target, exposure)
    levels = np.concatenate([(1 - _LEVELS) / 2, (1 + _LEVELS) / 2])
    low, high = np.split(model._model.quantiles(rows, levels, exposure=exposure)[:, t], 2, axis=1)
    seen = np.mean((y[:, None] >= low) & (y[:, None] <= high), axis=0)
    ax.plot([0.5, 1], [0.5, 1], color="black", linewidth=0.8)
    ax.plot(_LEVELS, seen, "o-")
    ax.set(xlabel="probability of the interval", ylabel="share of rows inside")
    return ax


def _up_to(model, rows, y, t, exposure):
    """P(y' <= y) of target t."""
    return model._model.densities(rows, np.repeat(y[:, None], model._model.targets, axis=1), exposure)[1][:, t]


def _is_count(model, t):
    return _info(model, t)["likelihood"]["name"] in ("poisson", "negbin")


def pit(model: GPRegressor, X: ArrayLike, y: ArrayLike, ax: Any = None, bins: int = 10, target: Target = None,
        exposure: Optional[ArrayLike] = None) -> Any:
    """Where in its predicted distribution each y lies: the share of rows between neighbouring quantiles. A flat picture is right, a
    hill is a model that is too cautious, a valley one that is too sure. The probability of a count is spread evenly over its part."""
    ax = _axes(ax)
    rows, y, t, exposure = _compared(model, X, y, target, exposure)
    up, edges = _up_to(model, rows, y, t, exposure), np.arange(bins + 1) / bins
    if _is_count(model, t):
        low = np.where(y > 0, _up_to(model, rows, np.maximum(y - 1, 0), t, exposure), 0)
        below = np.clip((edges[:, None] - low) / np.maximum(up - low, 1e-12), 0, 1)
        share = np.diff(below.mean(axis=1))
    else:
        share = np.histogram(up, edges)[0] / len(y)
    ax.bar((np.arange(bins) + 0.5) / bins, share, width=0.9 / bins)
    ax.axhline(1 / bins, color="black", linewidth=0.8)
    ax.set(xlabel="probability of a smaller y", ylabel="share of rows")
    return ax


def rootogram(model: GPRegressor, X: ArrayLike, y: ArrayLike, ax: Any = None, target: Target = None,
              exposure: Optional[ArrayLike] = None, bins: int = 30) -> Any:
    """Counts: how often each occurs (bars) and how often the model expects it (line), by square roots. A first bar above the line:
    more zeros than the model expects. Many different counts are drawn in at most `bins` steps."""
    ax = _axes(ax)
    rows, y, t, exposure = _compared(model, X, y, target, exposure)
    if not _is_count(model, t):
        raise ValueError("a rootogram is for counts (poisson, negbin); pit and calibration are for other numbers")
    width = max(1, int(np.ceil((y.max() + 2) / bins)))
    bins = min(bins, int(np.ceil((y.max() + 2) / width)))
    up = [_up_to(model, rows, np.full(len(y), (b + 1) * width - 1.0), t, exposure).sum() for b in range(bins)]
    expected, observed = np.diff(up, prepend=0), np.bincount((y // width).astype(int), minlength=bins)
    at = width * np.arange(bins)
    ax.bar(at, np.sqrt(observed), width=0.84 * width, label="rows that have it")
    ax.plot(at, np.sqrt(np.maximum(expected, 0)), ".-", color="C1", label="rows expected")
    ax.set(xlabel=_number_of(model, target)[1] + (f", in steps of {width}" if width > 1 else ""),
           ylabel="square root of the number of rows")
    ax.legend()
    return ax


def residuals(model: GPRegressor, X: ArrayLike, y: ArrayLike, ax: Any = None, of: Optional[Union[int, str]] = None,
              target: Target = None, exposure: Optional[ArrayLike] = None) -> Any:
    """Errors, in predicted standard deviations, against the prediction, or against column `of` of X, by its number or name."""
    ax = _axes(ax)
    rows, y, t, exposure = _compared(model, X, y, target, exposure)
    mean, sd = _spread(model, rows, t, exposure)
    across, label = mean, "predicted"
    if of is not None:
        columns = Columns(model, X)
        j = columns.number(of)
        across, label = columns.shown(j, columns.rows[:, j]), columns.names[j]
    ax.plot(across, (y - mean) / sd, ".", markersize=3)
    for height in (-_SD95, 0, _SD95):
        ax.axhline(height, color="black", linewidth=0.8, linestyle="-" if height == 0 else "--")
    ax.set(xlabel=label, ylabel="error / predicted sd")
    return ax


# ------------------------------------------------------------------------------------------------------------ classes


def reliability(model: GPClassifier, X: ArrayLike, y: ArrayLike, ax: Any = None, bins: int = 10) -> Any:
    """Are probabilities right? The share of rows of a class beside the probability it was given, for all classes, in bins of
    equal width; the size of a mark shows how many there are."""
    ax = _axes(ax)
    _need_classes(model)
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


def confusion(model: GPClassifier, X: ArrayLike, y: ArrayLike, ax: Any = None) -> Any:
    """How many rows of each class (down) were taken for which class (across)."""
    ax = _axes(ax)
    _need_classes(model)
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
    _need_classes(model)
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
