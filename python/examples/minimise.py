"""Bayesian optimisation: the minimum of a function that is slow to compute, in 30 evaluations.

    python3 minimise.py
"""
import numpy as np

from anygp import GPRegressor, optimize


def branin(x):
    """A test function with minima of 0.397887."""
    a, b = x
    return (b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10


low, high = np.array([-5.0, 0.0]), np.array([10.0, 15.0])
X = low + (high - low) * optimize.halton(8, 2)  # where to begin: spread evenly
y = np.array([branin(x) for x in X])

model = GPRegressor(kernel="matern52", warm_start=True, n_jobs=1)
for step in range(22):
    model.fit(X, y)
    places = low + (high - low) * optimize.halton(2000, 2, random_state=step)
    gain = optimize.expected_improvement(model, places, best=y.min())
    new = places[np.argmax(gain)]
    X, y = np.vstack([X, new]), np.append(y, branin(new))

print(f"minimum {y.min():.4f} at {X[np.argmin(y)].round(3)}")
