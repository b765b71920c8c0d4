"""What the estimators share: settings, checks of arrays, fitting, files."""
import inspect
import numbers

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _frame
from ._model import Model, packed
from ._settings import parameters_of, texts_of

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before 1.6 it was a method

    def validate_data(estimator, X, *rest, **options):
        return estimator._validate_data(X, *rest, **options)


_FINITE = "ensure_all_finite" if "ensure_all_finite" in inspect.signature(check_array).parameters else "force_all_finite"
_SEED_MOST = np.iinfo(np.int32).max


def seed_of(random_state):
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(_SEED_MOST))


def of_fit(key, text):
    """A property that reads what the library reports about the fitted model."""
    def read(self):
        if not hasattr(self, "_model"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet.")
        return key(self._model.info)

    return property(read, doc=text)


def best_scores(scores):
    """The first kind there is; without any, nothing."""
    kind = next((kind for kind in ("valid", "leave_one_out", "training") if scores[kind]), None)
    return {"of": kind, **scores[kind]} if kind else {}


class Estimator(BaseEstimator):
    """Everything that does not depend on the kind of target."""

    kernel_ = of_fit(lambda info: info["kernel"], "Kernel with learned values, data units.")
    log_marginal_likelihood_value_ = of_fit(lambda info: info["objective"]["value"], "Log evidence or bound.")
    leave_one_out_ = of_fit(lambda info: info["scores"]["leave_one_out"], "Leave-one-out scores, data units.")
    valid_ = of_fit(lambda info: info["scores"]["valid"], "Scores on the rows held out, data units.")
    training_ = of_fit(lambda info: info["scores"]["training"],
                       "Scores on rows it was fitted on, data units, where there are no others.")
    scores_ = of_fit(lambda info: best_scores(info["scores"]),
                     "The scores the fit ended with: those of rows held out, leave-one-out, or of training rows; their kind "
                     "is under 'of': 'valid', 'leave_one_out' or 'training'.")
    trace_ = of_fit(lambda info: {name: np.array(values, float) for name, values in info["trace"].items()},
                    "A row per iteration of the optimiser.")
    n_iter_ = of_fit(lambda info: info["iterations"], "Iterations of the optimiser.")
    info_ = of_fit(lambda info: info, "All that the library says of the model.")

    # ------------------------------------------------------------------------------------------------ fit

    def _learn(self, settings, X, y, target, sample_weight, categories):
        """The model of checked arrays; returns the watch, whose tell() is still to be called."""
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            names = [*names, target if isinstance(target, str) and target not in names else None]
        self._model, watch = Model.fit(settings, X, packed(y), sample_weight, names, categories, self.verbose)
        self._categories = {j: levels for j, levels in categories.items() if j < X.shape[1]}
        return watch

    def _texts(self, **changed):
        """The settings as the library takes them."""
        seed = 0 if self.random_state is None else seed_of(self.random_state)
        return texts_of({**self.get_params(deep=False), **changed}, seed)

    def _weights(self, sample_weight, X):
        if sample_weight is None:
            return None
        return packed(_check_sample_weight(sample_weight, X, dtype=np.float64, only_non_negative=True))

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

    def log_marginal_likelihood(self):
        """Log evidence, or bound on it, at the learned hyperparameters; see log_marginal_likelihood_value_."""
        self._fitted()
        return self.log_marginal_likelihood_value_

    # ---------------------------------------------------------------------------------------------- files

    def save(self, path):
        """Write the model file, which `anygp predict` reads."""
        self._fitted().save(path)

    @classmethod
    def _load(cls, path):
        model = Model.load(path)
        if model.targets > 1:
            raise ValueError(f"{path} holds {model.targets} targets, and a {cls.__name__} has one; fit one model per target")
        inputs = model.info["data"]["inputs"]
        new = cls(**parameters_of(model.info["settings"]))
        new.n_features_in_ = model.inputs
        if inputs and all(column["name"] for column in inputs):
            new.feature_names_in_ = np.array([column["name"] for column in inputs], dtype=object)
        new._categories = {j: column["levels"] for j, column in enumerate(inputs) if column["text"]}
        new._model = model
        return new
