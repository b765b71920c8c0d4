"""What Python costs, and what scikit-learn's GaussianProcessRegressor does in the same time, in one run.

    python3 bench_python.py                                only the cost of a call
    python3 bench_python.py TRAIN.csv TEST.csv [SECONDS]   also fits beside scikit-learn, which gets SECONDS (60) a fit

The last column of the tables is the target. The cost is the least over many short runs, so a neighbour's work does not
show; fits are measured once.
"""
import sys
import time
import timeit

import numpy as np
from anygp import GPRegressor, _library
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel


def microseconds(call, number=50, repeat=400):
    return 1e6 * min(timeit.repeat(call, number=number, repeat=repeat)) / number


def one_row():
    """predict(), validation included, above the bare call of the C function through ctypes, which itself costs under 1 us."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 8))
    model = GPRegressor(iters=2, n_jobs=1).fit(X, X[:, 0])
    row, mean, variance = X[:1].copy(), np.empty(1), np.empty(1)
    arguments = (model._model._handle, 1, row.ctypes.data, 8, 0, mean.ctypes.data)
    for name, options, result in (("predict(row)", {}, None),
                                  ("predict(row, return_std=True)", {"return_std": True}, variance.ctypes.data)):
        ours = microseconds(lambda: model.predict(row, **options))
        bare = microseconds(lambda: _library.lib.anygp_predict(*arguments, result, None))
        print(f"{name:30} {ours:6.1f} us, {ours - bare:5.1f} us above the C call ({bare:.1f} us)")


def timed(call):
    began = time.perf_counter()
    return call(), time.perf_counter() - began


def peer(d):
    return GaussianProcessRegressor(ConstantKernel() * Matern(np.ones(d), nu=2.5) + WhiteKernel(0.1, (1e-8, 10)),
                                    normalize_y=True, random_state=0)


def report(name, model, X, y, T, target):
    _, fit = timed(lambda: model.fit(X, y))
    (mean, sd), predict = timed(lambda: model.predict(T, return_std=True))
    rmse = np.sqrt(np.mean((mean - target) ** 2))
    inside = np.mean(np.abs(mean - target) < 1.96 * sd)
    print(f"{name:24} {len(X):6d} {fit:9.2f} {predict:9.2f} {rmse:8.4f} {100 * inside:6.1f}", flush=True)
    return fit


def beside_scikit_learn(train, test, budget):
    """scikit-learn's n grows by half until the next fit, at n^3, would take longer than the budget."""
    X, y, T, target = train[:, :-1], train[:, -1], test[:, :-1], test[:, -1]
    print(f"{'':24} {'n':>6} {'fit, s':>9} {'predict':>9} {'rmse':>8} {'in 95%':>6}   ({len(T)} rows predicted)")
    n = 200
    while True:
        theirs = report("scikit-learn", peer(X.shape[1]), X[:n], y[:n], T, target)
        if theirs * 1.5 ** 3 > budget or 1.5 * n > len(X):
            break
        n = int(1.5 * n)
    ours = report("anygp, as many rows", GPRegressor(), X[:n], y[:n], T, target)
    report("anygp, the same seconds", GPRegressor(model="sod", inducing=min(4000, len(X)), time_budget=max(1.0, theirs)),
           X, y, T, target)
    print(f"fit of {n} rows: {theirs / ours:.1f} times as fast as scikit-learn")


if __name__ == "__main__":
    one_row()
    if len(sys.argv) > 2:
        import pandas as pd
        train, test = (pd.read_csv(path).to_numpy(float) for path in sys.argv[1:3])
        beside_scikit_learn(train, test, float(sys.argv[3]) if len(sys.argv) > 3 else 60.0)
