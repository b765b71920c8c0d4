#!/usr/bin/python3
"""A random forest on tables with a header, the target last: rough_maps.py TRAIN TEST [TREES]

Prints rmse, mnlp, the share of test rows in 95 % intervals and processor seconds.  A forest has no density of its own; it is given a normal one
with variance a + b v, where v is the variance between its trees at x, and a and b make the density of the rows outside the bags largest;
and one whose variance is the mean square of the errors there."""
import resource
import sys

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.ensemble._forest import _generate_sample_indices


def out_of_bag(forest, x):
    """Mean, variance and number of the trees that did not see each row."""
    count, total, square = np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x))
    for tree in forest.estimators_:
        out = np.ones(len(x), bool)
        out[_generate_sample_indices(tree.random_state, len(x), len(x))] = False
        f = tree.tree_.predict(x[out].astype(np.float32)).ravel()
        count[out] += 1
        total[out] += f
        square[out] += f * f
    mean = total / np.maximum(count, 1)
    return mean, np.maximum(square / np.maximum(count, 1) - mean**2, 0), count


def negative_log_density(error, variance):
    return 0.5 * np.log(2 * np.pi * variance) + 0.5 * error**2 / variance


def best_variance(error, v):
    """(a, b) with the largest normal density of the errors, by a grid over b and the mean square of what is left."""
    scale = np.mean(error**2)
    grid = [(a * scale, b) for a in np.geomspace(1e-3, 2, 30) for b in np.r_[0, np.geomspace(0.05, 5, 30)]]
    return min(grid, key=lambda ab: np.mean(negative_log_density(error, ab[0] + ab[1] * v)))


def main():
    train, test = (np.loadtxt(name, delimiter=",", skiprows=1) for name in sys.argv[1:3])
    trees = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    began = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    forest = RandomForestRegressor(n_estimators=trees, n_jobs=1, random_state=0).fit(train[:, :-1], train[:, -1])
    seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - began
    mean, v, count = out_of_bag(forest, train[:, :-1])
    some = np.random.default_rng(0).permutation(np.flatnonzero(count > 1))[:20000]
    a, b = best_variance(train[some, -1] - mean[some], v[some])
    each = np.array([tree.tree_.predict(test[:, :-1].astype(np.float32)).ravel() for tree in forest.estimators_])
    error, variance = test[:, -1] - each.mean(0), a + b * each.var(0)
    constant = np.mean((train[some, -1] - mean[some]) ** 2)
    print(f"rmse {np.sqrt(np.mean(error**2)):.4g}  mnlp {np.mean(negative_log_density(error, variance)):.3f} "
          f"({np.mean(negative_log_density(error, constant)):.3f} with a constant variance)  95 % cover {100 * np.mean(np.abs(error) < 1.96 * np.sqrt(variance)):.1f}  fit {seconds:.0f} s")


main()
