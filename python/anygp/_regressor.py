"""Gaussian process regression with scikit-learn's interface."""
import numpy as np
from sklearn.base import RegressorMixin

from . import _frame
from ._estimator import Estimator, of_fit, seed_of, validate_data
from ._settings import with_settings


@with_settings
class GPRegressor(RegressorMixin, Estimator):
    """Gaussian process regression, also for data that is too large for the exact method.

    {parameters}

    Attributes
    ----------
    kernel_ : str
        The kernel with its learned values, in the units of the data.
    noise_ : float
        The learned noise variance, in the units of the data.
    log_marginal_likelihood_value_ : float
        Log evidence, or bound on it, for the standardised targets (unless standardize says otherwise).
    leave_one_out_, valid_ : dict
        Scores in the units of the data; empty if there are none.
    trace_ : dict of arrays
        A row per iteration: iteration, seconds, objective, rmse, mnlp, mell.
    n_iter_ : int
        Iterations of the optimiser.
    info_ : dict
        Everything that `anygp info --json` reports about the model.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only for inputs with names.

    Notes
    -----
    Text columns and pandas categoricals enter the default kernel as a categorical factor. Ctrl-C during fit keeps
    the best model so far and warns; a second one raises KeyboardInterrupt.
    """

    noise_ = of_fit(lambda info: info["noise"], "Learned noise variance, data units.")

    # ------------------------------------------------------------------------------------------------ fit

    def fit(self, X, y, sample_weight=None):
        """Train on X[n, d] and y[n]; a row of weight 2 counts as two equal rows, a row of weight 0 is left out."""
        settings = self._texts()
        target = getattr(y, "name", None)
        X, categories = _frame.learn(X) if _frame.is_frame(X) else (X, {})
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, **self._finite(categories))
        watch = self._learn(settings, X, y, target, self._weights(sample_weight, X), categories)
        watch.tell(self._model.status)
        return self

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
        """An array that needs no conversion goes straight to the library, which checks every number anyway; everything else,
        and what it refuses, goes through scikit-learn's checks and messages."""
        model = self._fitted()
        if (type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64 and X.flags.c_contiguous and
                X.flags.aligned and X.shape[1] == self.n_features_in_ and len(X) and
                "feature_names_in_" not in self.__dict__):
            result = model.predict(X, variance, latent)
            if result is not None:
                return result
        return model.predict_checked(self._inputs(X), variance, latent)

    def predict_parts(self, X, latent=False):
        """What each expert of a committee (poe, gpoe, bcm, rbcm, grbcm, npae) or a mixture (moe) says of the rows of X:
        mean, standard deviation and weight, three arrays [n, experts]. latent: of the function f, without the noise."""
        return self._fitted().experts(self._inputs(X), latent)

    def sample_y(self, X, n_samples=1, random_state=0, latent=False):
        """Joint draws of y at the rows of X: an array [n, n_samples]."""
        return self._fitted().sample(self._inputs(X), n_samples, seed_of(random_state), latent)

    @classmethod
    def load(cls, path):
        """An estimator with the model and the settings of a model file written by the command line or by save()."""
        new = cls._load(path)
        if new._model.class_names:
            raise ValueError(f"{path} holds a model for classes; use GPClassifier.load")
        return new
