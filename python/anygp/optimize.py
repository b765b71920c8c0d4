"""Bayesian optimisation: evenly spread points, expected improvement, and quasi-Monte-Carlo draws. Needs NumPy alone.

>>> import numpy as np
>>> from anygp import GPRegressor, optimize
>>> def f(x):
...     return np.sin(3 * x) + x**2 - 0.7 * x
>>> X = optimize.halton(6, 1) * 3 - 1
>>> model = GPRegressor(kernel="rbf", noise=1e-6, fix="noise").fit(X, f(X[:, 0]))
>>> new = optimize.halton(200, 1, random_state=0) * 3 - 1
>>> gain = optimize.expected_improvement(model, new, best=f(X[:, 0]).min())
>>> gain.shape, bool((gain >= 0).all())
((200,), True)
"""
from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, Tuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ._regressor import GPRegressor

__all__ = ["batch_improvement", "expected_improvement", "halton", "normal_points", "quasi_draws"]

_erf = np.frompyfunc(math.erf, 1, 1)
_normal_quantile = np.frompyfunc(NormalDist().inv_cdf, 1, 1)
_REAL = ("gaussian", "laplace", "studentt")  # likelihoods whose f is in the units of y


# ------------------------------------------------------------------------------------------------- points


def _primes(count):
    found, k = [], 2
    while len(found) < count:
        if all(k % p for p in found if p * p <= k):
            found.append(k)
        k += 1
    return found


def _radical_inverse(index, base, rng):
    """The digits of each index in this base, behind the point in reverse; with rng every place has its own permutation of
    digits (Owen 2017), until the places no longer count."""
    value, scale, left = np.zeros(len(index)), 1.0, index.copy()
    while left.any() or (rng is not None and scale > 1e-17):
        left, digit = np.divmod(left, base)
        scale /= base
        value += scale * (digit if rng is None else rng.permutation(base)[digit])
    return np.minimum(value, 1 - 2.0**-53)


def halton(n: int, d: int, random_state: Any = None) -> np.ndarray:
    """n points in the unit cube [0, 1)^d that fill it more evenly than random ones: a Halton sequence.

    random_state=None gives the sequence itself, for few dimensions; with a seed its digits are permuted at random, which
    helps beyond ten dimensions and makes averages unbiased.

    >>> halton(4, 2)[:, 0].tolist()
    [0.5, 0.25, 0.75, 0.125]
    """
    if n < 0 or d < 1:
        raise ValueError(f"halton: {n} points in {d} dimensions do not exist")
    rng = None if random_state is None else check_random_state(random_state)
    index = np.arange(n, dtype=np.int64) + (rng is None)  # the first one of all would be 0, ..., 0
    return np.stack([_radical_inverse(index, base, rng) for base in _primes(d)], axis=1)


def normal_points(n: int, d: int, random_state: Any = 0) -> np.ndarray:
    """n points with independent standard normal coordinates, from halton()."""
    u = np.clip(halton(n, d, random_state), 1e-12, 1 - 1e-12)
    return _normal_quantile(u).astype(float)


# ----------------------------------------------------------------------------------------- improvement


def _check(model):
    name = model.info_["likelihood"]["name"]
    if name not in _REAL or model._model.targets > 1:
        raise ValueError(f"improvements need one target and one of the likelihoods {', '.join(_REAL)}; this model has "
                         f"{model._model.targets} and {name}")


def expected_improvement(model: GPRegressor, X: ArrayLike, best: float, minimize: bool = True) -> np.ndarray:
    """How far f at each row of X is expected to be better than `best`, where it is not better counting as 0.

    best: the lowest value so far, or the highest with minimize=False.
    """
    _check(model)
    mean, sd = model._arrays(X, "std", latent=True)
    gain = best - mean if minimize else mean - best
    z = np.divide(gain, sd, out=np.zeros_like(gain), where=sd > 0)
    below = 0.5 * (1 + _erf(z / math.sqrt(2)).astype(float))
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return np.where(sd > 0, np.maximum(gain * below + sd * density, 0), np.maximum(gain, 0))


def _roots(model, X) -> Tuple[np.ndarray, np.ndarray]:
    """Mean, and A with A A' the covariance of f, its columns by falling variance: the first coordinates of a Halton
    sequence are its best."""
    mean, covariance = model._arrays(X, "cov", latent=True)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(-values)
    return mean, vectors[:, order] * np.sqrt(np.maximum(values[order], 0))


def quasi_draws(model: GPRegressor, X: ArrayLike, n_samples: int = 256, random_state: Any = 0) -> np.ndarray:
    """Joint draws of f at the rows of X by quasi-Monte Carlo, an array [n, n_samples]: averages over them converge faster
    than over those of sample_y."""
    _check(model)
    mean, root = _roots(model, X)
    return mean[:, None] + root @ normal_points(n_samples, len(mean), random_state).T


def batch_improvement(model: GPRegressor, X: ArrayLike, best: float, minimize: bool = True, n_samples: int = 256,
                      random_state: Any = 0) -> float:
    """The expected improvement by the best of all rows of X, which are to be tried together."""
    f = quasi_draws(model, X, n_samples, random_state)
    gain = best - f.min(axis=0) if minimize else f.max(axis=0) - best
    return float(np.maximum(gain, 0).mean())
