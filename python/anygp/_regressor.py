"""Gaussian process regression with scikit-learn's interface."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if

from . import _frame, _output
from ._estimator import Estimator, PathLike, of_fit, seed_of, takes_rows
from ._rows import Training, packed
from ._settings import with_settings
from ._watch import Callback

Arrays = Union[np.ndarray, Tuple[np.ndarray, ...]]


@with_settings
class GPRegressor(RegressorMixin, Estimator):
    """Gaussian process regression, also for data that is too large for the exact method.

    {parameters}

    Attributes
    ----------
    model_ : str
        The model that was fitted: the argument model, or what 'auto' chose; `info_["auto"]["reason"]` says why.
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
    If y has several columns, each of these attributes but info_ is a list with an entry for each. Text columns and pandas
    categoricals enter the default kernel as a categorical factor; dates count as days. Ctrl-C during fit keeps
    the best model so far and warns; a second one raises KeyboardInterrupt.

    Examples
    --------
    >>> import numpy as np
    >>> from anygp import GPRegressor
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = GPRegressor(kernel="rbf").fit(X, np.sin(X[:, 0]))
    >>> model.model_
    'exact'
    >>> mean, sd = model.predict([[1.5], [20.0]], return_std=True)
    >>> mean.round(2).tolist()[0], bool(sd[1] > 10 * sd[0])
    (1.0, True)
    """

    noise_ = of_fit(lambda info: info["noise"], "Learned noise variance, data units.")

    # ------------------------------------------------------------------------------------------------ fit

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: Optional[ArrayLike] = None, exposure: Optional[ArrayLike] = None,
            callback: Optional[Callback] = None) -> GPRegressor:
        """Train on X[n, d] and y[n], or y[n, targets].

        sample_weight: a row of weight 2 counts as two equal rows, a row of weight 0 is left out. exposure: for counts
        (poisson, negbin), how long or how often counting took place, above 0. callback: called with a Progress
        at every step; if it returns True, training stops with the best model so far.

        >>> import numpy as np
        >>> from anygp import GPRegressor
        >>> X = np.linspace(0, 6, 30)[:, None]
        >>> two = GPRegressor(iters=10).fit(X, np.c_[np.sin(X), np.cos(X)])
        >>> two.predict(X).shape
        (30, 2)
        """
        return self._fit(X, y, sample_weight, exposure, callback)

    def _fit(self, X, y, sample_weight, exposure, callback, **changed):
        settings = self._texts(**changed)
        given = y
        X, categories = _frame.learn(X) if _frame.is_frame(X) else (X, {})
        X, y = self._checked(X, y, categories=categories, y_numeric=True, multi_output=True)
        names = self._names(_target_names(given, y.reshape(len(y), -1).shape[1]))
        rows = Training(X, y, self._weights(sample_weight, X), _exposure(exposure, X), names, categories)
        watch = self._learn(settings, rows, callback)
        self._flat = y.ndim == 1
        watch.tell(self._model.status)
        return self

    @available_if(takes_rows)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: Optional[ArrayLike] = None,
                    exposure: Optional[ArrayLike] = None) -> GPRegressor:
        """Add rows to a fitted model, without those it has seen; the first call fits.

        Kernel, noise, scales and inducing inputs stay those of the first call. Not every model can take new rows (models()
        says which), and those that cannot have no partial_fit: with model='auto' the first call fits vfe, or svgp for other
        likelihoods than gaussian.

        >>> import numpy as np
        >>> from anygp import GPRegressor
        >>> X = np.linspace(0, 6, 60)[:, None]
        >>> model = GPRegressor(inducing=10, valid=0)
        >>> for start in range(0, 3):
        ...     model = model.partial_fit(X[start::3], np.sin(X[start::3, 0]))
        >>> model.model_, int(model.info_["rows"])
        ('vfe', 60)
        """
        if not hasattr(self, "_model"):
            changed = {"model": "vfe" if self.likelihood == "gaussian" else "svgp"} if self.model == "auto" else {}
            return self._fit(X, y, sample_weight, exposure, None, **changed)
        if _frame.is_frame(X):
            X = _frame.apply(X, self._categories, grow=False)
        X, y = self._checked(X, y, categories=self._categories, y_numeric=True, multi_output=True, reset=False)
        if y.reshape(len(y), -1).shape[1] != self._model.targets:
            raise ValueError(f"y has {y.reshape(len(y), -1).shape[1]} columns, and the model has {self._model.targets} targets")
        if exposure is None and self.info_["data"]["exposure"]:
            raise ValueError("the model was fitted with exposures; partial_fit needs them too")
        self._add(X, y, sample_weight, _exposure(exposure, X))
        return self

    def _more_tags(self):
        return {**super()._more_tags(), "multioutput": True}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    # -------------------------------------------------------------------------------------------- predict

    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False, latent: bool = False,
                return_quantiles: Optional[Sequence[float]] = None, exposure: Optional[ArrayLike] = None) -> Arrays:
        """Mean of y at each row of X; with return_std its standard deviation too, with return_cov the covariance of
        all rows, with return_quantiles=[0.05, 0.95] these quantiles, an array [n, 2].

        latent: of the function f, without the noise. exposure: for counts, one per row; without it 1. If y had several
        columns, arrays are [n, targets], [n, n, targets] and [n, targets, quantiles].

        >>> import numpy as np
        >>> from anygp import GPRegressor
        >>> X = np.linspace(0, 6, 30)[:, None]
        >>> model = GPRegressor(iters=10).fit(X, np.sin(X[:, 0]))
        >>> mean, quantiles = model.predict(X[:5], return_quantiles=[0.05, 0.5, 0.95])
        >>> quantiles.shape, np.allclose(quantiles[:, 1], mean)
        ((5, 3), True)
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        second = "cov" if return_cov else "std" if return_std else None
        levels = None if return_quantiles is None else np.atleast_1d(return_quantiles)
        found = self._arrays(X, second, latent, levels, exposure)
        if self._as_pandas():
            return _output.of_prediction(X, _output.target_names(self.info_), self._flat, found, second, levels)
        return found[0] if len(found) == 1 else tuple(found)

    def _arrays(self, X, second=None, latent=False, levels=None, exposure=None):
        """Mean; then, where it is asked for, second: 'std' or 'cov'; then quantiles at these levels."""
        model = self._fitted()
        if levels is None and exposure is None and second != "cov" and self._flat:
            mean, variance = self._marginals(X, second == "std", latent)
            return [mean, np.sqrt(variance)] if second else [mean]
        rows, exposure = self._inputs(X), _exposure(exposure, X)
        mean, spread = model.joint(rows, latent) if second == "cov" else model.predict_checked(rows, second == "std", latent, exposure)
        found = [self._own(mean)]
        if second == "cov":
            found.append(spread[:, :, 0] if self._flat else spread)
        elif second == "std":
            found.append(self._own(np.sqrt(spread)))
        if levels is not None:
            found.append(self._own(model.quantiles(rows, levels, latent, exposure)))
        return found

    def _own(self, array):
        """[n, targets, ...] in the shape of the y of the fit."""
        return array[:, 0] if self._flat else array

    def predict_interval(self, X: ArrayLike, coverage: float = 0.95, latent: bool = False,
                         exposure: Optional[ArrayLike] = None) -> Tuple[np.ndarray, np.ndarray]:
        """Lower and upper end of the central interval that holds y with probability `coverage`; latent: that holds f.

        >>> import numpy as np
        >>> from anygp import GPRegressor
        >>> X = np.linspace(0, 6, 30)[:, None]
        >>> lower, upper = GPRegressor(iters=10).fit(X, np.sin(X[:, 0])).predict_interval(X, 0.9)
        >>> bool((lower < upper).all())
        True
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage: {coverage!r} is not between 0 and 1; 0.95 is 95 %")
        levels = [(1 - coverage) / 2, (1 + coverage) / 2]
        found = self._fitted().quantiles(self._inputs(X), levels, latent, _exposure(exposure, X))
        ends = self._own(found[:, :, 0]), self._own(found[:, :, 1])
        if self._as_pandas():
            return _output.of_targets(X, _output.target_names(self.info_), ["lower", "upper"], ends)
        return ends

    def log_density(self, X: ArrayLike, y: ArrayLike, exposure: Optional[ArrayLike] = None) -> np.ndarray:
        """The logarithm of the predictive density of each y, for counts of its probability: an array of the shape of y.

        >>> import numpy as np
        >>> from anygp import GPRegressor
        >>> X = np.linspace(0, 6, 30)[:, None]
        >>> model = GPRegressor(iters=10).fit(X, np.sin(X[:, 0]))
        >>> near, far = model.log_density([[1.5], [1.5]], [1.0, 3.0])
        >>> bool(near > far)
        True
        """
        return self._own(self._densities(X, y, exposure)[0])

    def cdf(self, X: ArrayLike, y: ArrayLike, exposure: Optional[ArrayLike] = None) -> np.ndarray:
        """The probability that the model gives to values up to each y: an array of the shape of y. Where the model is right,
        these are spread evenly over 0 to 1, but for counts."""
        return self._own(self._densities(X, y, exposure)[1])

    def _densities(self, X, y, exposure):
        X, y = self._labelled(X, y)
        return self._model.densities(X, y.reshape(len(y), -1), _exposure(exposure, X))

    def evaluate(self, X: ArrayLike, y: ArrayLike, sample_weight: Optional[ArrayLike] = None,
                 exposure: Optional[ArrayLike] = None) -> Any:
        """The scores of `anygp eval` on these rows, by their names: rmse, mnlp, crps, coverage95, ... (see docs/scores.md); for
        several targets a list with a dict for each.

        >>> import numpy as np
        >>> from anygp import GPRegressor
        >>> X = np.linspace(0, 6, 30)[:, None]
        >>> sorted(GPRegressor(iters=10).fit(X, np.sin(X[:, 0])).evaluate(X, np.sin(X[:, 0])))[:3]
        ['bound', 'coverage50', 'coverage80']
        """
        X, y = self._labelled(X, y)
        found = self._model.evaluate(X, y, self._weights(sample_weight, X), _exposure(exposure, X))
        return found[0] if self._flat else found

    def _labelled(self, X, y):
        """Rows with their targets, as many as the model has."""
        self._fitted()
        if _frame.is_frame(X):
            X = _frame.apply(X, self._categories)
        X, y = self._checked(X, y, categories=self._categories, y_numeric=True, multi_output=True, reset=False)
        columns = y.reshape(len(y), -1).shape[1]
        if columns != self._model.targets:
            raise ValueError(f"y has {columns} columns, and the model has {self._model.targets} targets")
        return X, y

    def _marginals(self, X, variance, latent):
        """Of one target. An array that needs no conversion goes straight to the library, which checks every number anyway;
        everything else, and what it refuses, goes through scikit-learn's checks and messages."""
        model = self._fitted()
        if (type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64 and X.flags.c_contiguous and
                X.flags.aligned and X.shape[1] == self.n_features_in_ and len(X) and
                "feature_names_in_" not in self.__dict__):
            result = model.predict(X, variance, latent)
            if result is not None:
                return result
        mean, found = model.predict_checked(self._inputs(X), variance, latent)
        return mean[:, 0], found[:, 0] if variance else None

    def predict_parts(self, X: ArrayLike, latent: bool = False) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What each expert of a committee (poe, gpoe, bcm, rbcm, grbcm, npae) or a mixture (moe) says of the rows of X:
        mean, standard deviation and weight, three arrays [n, experts]. latent: of the function f, without the noise."""
        if self._fitted().targets > 1:
            raise ValueError("predict_parts is for one target; fit one model per target")
        return self._fitted().experts(self._inputs(X), latent)

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Any = 0, latent: bool = False) -> np.ndarray:
        """Joint draws of y at the rows of X: an array [n, n_samples], or [n, targets, n_samples] if y had several columns.

        >>> import numpy as np
        >>> from anygp import GPRegressor
        >>> X = np.linspace(0, 6, 30)[:, None]
        >>> GPRegressor(iters=10).fit(X, np.sin(X[:, 0])).sample_y(X[:4], 3).shape
        (4, 3)
        """
        return self._own(self._fitted().sample(self._inputs(X), n_samples, seed_of(random_state), latent))

    @classmethod
    def load(cls, path: PathLike) -> GPRegressor:
        """An estimator with the model and the settings of a model file written by the command line or by save()."""
        new = cls._load(path)
        if new._model.class_names:
            raise ValueError(f"{path} holds a model for classes; use GPClassifier.load")
        new._flat = new._model.targets == 1
        return new


def _target_names(y, targets) -> List[Any]:
    names = list(y.columns) if _frame.is_frame(y) else [getattr(y, "name", None)]
    return names if len(names) == targets else [None] * targets


def _exposure(exposure, X):
    """As doubles, one per row of X; the library checks their values."""
    if exposure is None:
        return None
    exposure = packed(check_array(exposure, ensure_2d=False, dtype=np.float64, input_name="exposure"))
    if exposure.shape != (len(X),):
        raise ValueError(f"exposure has the shape {exposure.shape}; it needs one number for each of {len(X)} rows")
    return exposure
