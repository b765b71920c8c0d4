"""anygp: Gaussian processes on large data, with scikit-learn's interface."""
from ._library import __version__
from . import plot
from ._classifier import GPClassifier
from ._models import models
from ._regressor import GPRegressor

__all__ = ["GPClassifier", "GPRegressor", "models", "plot", "__version__"]
