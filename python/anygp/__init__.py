"""anygp: Gaussian processes on large data, with scikit-learn's interface."""
from ._library import __version__
from . import optimize, plot
from ._classifier import GPClassifier
from ._models import models
from ._regressor import GPRegressor
from ._watch import Progress

__all__ = ["GPClassifier", "GPRegressor", "Progress", "models", "optimize", "plot", "__version__"]
