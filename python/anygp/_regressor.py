"""Gaussian process regression with scikit-learn's interface."""
import inspect
import numbers

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _frame
from ._model import Model, packed
from ._settings import parameters_of, texts_of, with_settings

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before 1.6 it was a method

    def validate_data(estimator, X, *rest, **options):
        return estimator._validate_data(X, *rest, **options)


_FINITE = "ensure_all_finite" if "ensure_all_finite" in inspect.signature(check_array).parameters else "force_all_finite"
_SEED_MOST = np.iinfo(np.int32).max


def _seed_of(random_state):
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(_SEED_MOST))


def _of_fit(key, text):
    """A property that reads what the library says of the fitted model."""
    def read(self):
        if not hasattr(self, "_model"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet.")
        return key(self._model.info)

    return property(read, doc=text)


@with_settings
class GPRegressor(RegressorMixin, BaseEstimator):
    """Gaussian process regression, for data too large for the exact method too.

    {parameters}

    Attributes
    ----------
    kernel_ : str
        The kernel with its learned values, in the data's units.
    noise_ : float
        The learned noise variance, in the data's units.
    log_marginal_likelihood_value_ : float
        Log evidence, or bound on it, of the targets as the model saw them (standardised unless told otherwise).
    leave_one_out_, valid_ : dict
        Scores in the data's units; empty where there are none.
    trace_ : dict of arrays
        A row per iteration: iteration, seconds, objective, rmse, mnlp.
    n_iter_ : int
        Iterations of the optimiser.
    info_ : dict
        All that `anygp info --json` says of the model.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only for inputs with names.

    Notes
    -----
    Columns of text or of pandas' categories enter the default kernel as a categorical factor. Ctrl-C during fit keeps
    the best model so far and warns; a second one is raised.
    """

    kernel_ = _of_fit(lambda info: info["kernel"], "Kernel with learned values, data units.")
    noise_ = _of_fit(lambda info: info["noise"], "Learned noise variance, data units.")
    log_marginal_likelihood_value_ = _of_fit(lambda info: info["objective"]["value"], "Log evidence or bound.")
    leave_one_out_ = _of_fit(lambda info: info["scores"]["leave_one_out"], "Leave-one-out scores, data units.")
    valid_ = _of_fit(lambda info: info["scores"]["valid"], "Scores on the rows held out, data units.")
    trace_ = _of_fit(lambda info: {name: np.array(values, float) for name, values in info["trace"].items()},
                     "A row per iteration of the optimiser.")
    n_iter_ = _of_fit(lambda info: info["iterations"], "Iterations of the optimiser.")
    info_ = _of_fit(lambda info: info, "All that the library says of the model.")

    # ------------------------------------------------------------------------------------------------ fit

    def fit(self, X, y, sample_weight=None):
        """Train on X[n, d] and y[n]; a row of weight 2 counts as two equal rows, one of weight 0 is absent."""
        settings = texts_of(self.get_params(deep=False), 0 if self.random_state is None else _seed_of(self.random_state))
        target = getattr(y, "name", None)
        X, categories = _frame.learn(X) if _frame.is_frame(X) else (X, {})
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, **self._finite(categories))
        if sample_weight is not None:
            sample_weight = packed(_check_sample_weight(sample_weight, X, dtype=np.float64, only_non_negative=True))
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            names = [*names, target if isinstance(target, str) and target not in names else None]
        self._model, watch = Model.fit(settings, X, packed(y), sample_weight, names, categories, self.verbose)
        self._categories = categories
        watch.tell(self._model.status)
        return self

    def _finite(self, categories):
        """Which missing values the library is asked about; it knows of categories that text may be missing too."""
        return {_FINITE: "allow-nan" if self.missing == "mean" or categories else True}

    def _more_tags(self):
        return {"allow_nan": self.missing == "mean"}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "mean"
        return tags

    # -------------------------------------------------------------------------------------------- predict

    def predict(self, X, return_std=False, return_cov=False, latent=False):
        """Mean of y at each row of X; with return_std its standard deviation too, with return_cov the covariance of
        all rows. latent: of the function f, without the noise."""
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        if return_cov:
            return self._fitted().joint(self._inputs(X), latent)
        mean, variance = self._marginals(X, return_std, latent)
        return (mean, np.sqrt(variance)) if return_std else mean

    def _marginals(self, X, variance, latent):
        """An array that needs no conversion goes straight to the library, which looks at every number anyway; all else,
        and what it refuses, takes the long way with scikit-learn's checks and sentences."""
        model = self._fitted()
        if (type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64 and X.flags.c_contiguous and
                X.flags.aligned and X.shape[1] == self.n_features_in_ and len(X) and
                "feature_names_in_" not in self.__dict__):
            result = model.predict(X, variance, latent)
            if result is not None:
                return result
        return model.predict_checked(self._inputs(X), variance, latent)

    def _fitted(self):
        try:
            return self._model
        except AttributeError:
            check_is_fitted(self)
            raise

    def _inputs(self, X):
        self._fitted()
        if _frame.is_frame(X):
            X = _frame.apply(X, self._categories)
        return validate_data(self, X, dtype=np.float64, reset=False, **self._finite(self._categories))

    def sample_y(self, X, n_samples=1, random_state=0, latent=False):
        """Joint draws of y at the rows of X: an array [n, n_samples]."""
        return self._fitted().sample(self._inputs(X), n_samples, _seed_of(random_state), latent)

    def log_marginal_likelihood(self):
        """Log evidence, or bound on it, at the learned hyperparameters; see log_marginal_likelihood_value_."""
        self._fitted()
        return self.log_marginal_likelihood_value_

    # ---------------------------------------------------------------------------------------------- files

    def save(self, path):
        """Write the model file, which `anygp predict` reads."""
        self._fitted().save(path)

    @classmethod
    def load(cls, path):
        """An estimator with the model, and the settings, of a model file of the command line or of save()."""
        model = Model.load(path)
        if model.targets > 1:
            raise ValueError(f"{path} holds {model.targets} targets, and a GPRegressor has one; fit one model a target")
        inputs = model.info["data"]["inputs"]
        new = cls(**parameters_of(model.info["settings"]))
        new.n_features_in_ = model.inputs
        if inputs and all(column["name"] for column in inputs):
            new.feature_names_in_ = np.array([column["name"] for column in inputs], dtype=object)
        new._categories = {j: column["levels"] for j, column in enumerate(inputs) if column["text"]}
        new._model = model
        return new
