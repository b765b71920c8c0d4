"""What the estimators share: settings, checks of arrays, fitting, files."""
from __future__ import annotations

import inspect
import numbers
import os
import re
from typing import Any, Dict, Optional, Union

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _frame, _output
from ._model import Model
from ._models import models
from ._report import html_of
from ._rows import Training, packed
from ._settings import nearest_of, parameters_of, texts_of, threads_of
from ._watch import Callback, Watch

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before 1.6 it was a method

    def validate_data(estimator, X, *rest, **options):
        return estimator._validate_data(X, *rest, **options)


PathLike = Union[str, os.PathLike]
_FINITE = "ensure_all_finite" if "ensure_all_finite" in inspect.signature(check_array).parameters else "force_all_finite"
_SEED_MOST = np.iinfo(np.int32).max


def seed_of(random_state) -> int:
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(_SEED_MOST))


def of_fit(key, text):
    """A property that reads what the library reports about the fitted model; with several targets a list, one for each."""
    def read(self):
        if not hasattr(self, "_model"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet.")
        info = self._model.info
        return [key(one) for one in info["targets"]] if "targets" in info else key(info)

    return property(read, doc=text)


_TAKES_ROWS = {model["name"] for model in models() if model["update"]}


def takes_rows(self) -> bool:
    """Whether there is a partial_fit; otherwise an AttributeError says why not."""
    fitted = hasattr(self, "_model")
    name = re.match(r"[\w-]*", self._model.info["model"] if fitted else self.model)[0]
    if name in _TAKES_ROWS or (name == "auto" and not fitted):
        return True
    raise AttributeError(f"a model of the kind {name} cannot take new rows; fit again with all of them, or use another, such as "
                         "model=\"vfe\"; anygp.models() says which can be updated")


def best_scores(scores):
    """The first kind there is; without any, nothing."""
    kind = next((kind for kind in ("valid", "leave_one_out", "training") if scores[kind]), None)
    return {"of": kind, **scores[kind]} if kind else {}


def _objective(info):
    value = info["objective"]["value"]
    return np.nan if value is None else value


class Estimator(BaseEstimator):
    """Everything that does not depend on the kind of target."""

    model_ = of_fit(lambda info: info["model"], "The model that was fitted: what `model` says, or what 'auto' chose.")
    kernel_ = of_fit(lambda info: info["kernel"], "Kernel with learned values, data units.")
    log_marginal_likelihood_value_ = of_fit(_objective, "Log evidence or bound; NaN if the fit ended before it had one.")
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

    @property
    def info_(self) -> Dict[str, Any]:
        """All that the library says of the model."""
        if not hasattr(self, "_model"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet.")
        return self._model.info

    def set_params(self, **params: Any) -> Estimator:
        """Set arguments by name, as the constructor takes them."""
        known = self.get_params(deep=False)
        for name in params:
            if name.split("__")[0] not in known:
                raise ValueError(f"{type(self).__name__} has no argument '{name}'{nearest_of(name, known)}")
        return super().set_params(**params)

    # ------------------------------------------------------------------------------------------- outputs

    def set_output(self, *, predict: Optional[str] = None) -> Estimator:
        """predict='pandas': predictions are pandas objects with the index of X; 'default': arrays.

        A mean alone is a Series, or a DataFrame with a column for each of several targets; with standard deviations or
        quantiles the columns are mean, std, q0.05, ..., for several targets with the target's name before them. An interval
        has the columns lower and upper, probabilities have the classes. Draws remain arrays.
        """
        if predict is not None and predict not in _output.CHOICES:
            raise ValueError(f"predict: {predict!r} is not one of: {', '.join(_output.CHOICES)}")
        if predict is not None:
            self._sklearn_output_config = {**getattr(self, "_sklearn_output_config", {}), "predict": predict}
        return self

    def _as_pandas(self):
        return getattr(self, "_sklearn_output_config", {}).get("predict") == "pandas"

    # ------------------------------------------------------------------------------------------ notebooks

    def _repr_html_inner(self):
        if not hasattr(self, "_model"):
            return super()._repr_html_inner()
        return html_of(type(self).__name__, self._model.info)

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        return {**bundle, "text/html": self._repr_html_inner()} if hasattr(self, "_model") else bundle

    # ------------------------------------------------------------------------------------------------ fit

    def _learn(self, settings: Dict[str, str], rows: Training, callback: Optional[Callback]) -> Watch:
        """The model of checked rows; returns the watch, whose tell() is still to be called."""
        watch = Watch(self.verbose, callback)
        categories = {j: levels for j, levels in rows.categories.items() if j < rows.X.shape[1]}
        self._model = Model.fit({**settings, **self._start(rows, categories)}, rows, watch)
        self._categories = categories
        self._asked = self._start_arguments()
        return watch

    def _start_arguments(self):
        return [self.kernel, self.noise, self.fix]

    def _start(self, rows, categories):
        """With warm_start: kernel and noise of the fit before, as settings, where they still fit."""
        if not self.warm_start or getattr(self, "_asked", None) != self._start_arguments():
            return {}
        info = self._model.info
        if "targets" in info or rows.targets > 1:
            raise ValueError("warm_start is for one target: several have a kernel each")
        if self._model.inputs != rows.X.shape[1] or self._categories != categories:
            return {}
        gaussian = info["likelihood"]["name"] == "gaussian"
        return {"kernel": info["kernel"], **({"noise": repr(info["noise"])} if gaussian else {})}

    def _names(self, targets):
        """Of inputs and targets; None where the inputs have none."""
        inputs = getattr(self, "feature_names_in_", None)
        if inputs is None:
            return None
        return [*inputs, *(name if isinstance(name, str) and name not in inputs else None for name in targets)]

    def _add(self, X, y, sample_weight, exposure=None) -> None:
        """New rows for the fitted model; y as the library has it."""
        watch = Watch(self.verbose)
        rows = Training(X, y, self._weights(sample_weight, X), exposure)
        self._model.update({"threads": str(threads_of(self.n_jobs))}, rows, watch)
        watch.tell(self._model.status)

    def _texts(self, **changed) -> Dict[str, str]:
        """The settings as the library takes them."""
        seed = 0 if self.random_state is None else seed_of(self.random_state)
        return texts_of({**self.get_params(deep=False), **changed}, seed)

    def _weights(self, sample_weight, X):
        if sample_weight is None:
            return None
        return packed(_check_sample_weight(sample_weight, X, dtype=np.float64, only_non_negative=True))

    def _checked(self, X, *y, categories, **options):
        """scikit-learn's checks. Which missing values the library is asked about: it knows of categories that text may be
        missing too."""
        finite = "allow-nan" if self.missing == "mean" or categories else True
        try:
            return validate_data(self, X, *y, dtype=np.float64, **{_FINITE: finite}, **options)
        except ValueError as why:
            if not str(why).startswith("Input X contains NaN"):
                raise
            raise ValueError(f"Input X contains NaN{_frame.columns_with_missing(X)}. {type(self).__name__}(missing=\"mean\") fills "
                             "in the mean of the column; otherwise leave these rows out, or fill them before.") from None

    def _more_tags(self):
        return {"allow_nan": self.missing == "mean"}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "mean"
        return tags

    # -------------------------------------------------------------------------------------------- predict

    def _fitted(self) -> Model:
        try:
            return self._model
        except AttributeError:
            check_is_fitted(self)
            raise

    def _inputs(self, X):
        self._fitted()
        if _frame.is_frame(X):
            X = _frame.apply(X, self._categories)
        return self._checked(X, categories=self._categories, reset=False)

    def log_marginal_likelihood(self) -> float:
        """Log evidence, or bound on it, at the learned hyperparameters; see log_marginal_likelihood_value_."""
        self._fitted()
        return self.log_marginal_likelihood_value_

    # ---------------------------------------------------------------------------------------------- files

    def save(self, path: PathLike) -> None:
        """Write the model file, which `anygp predict` reads."""
        self._fitted().save(path)

    @classmethod
    def _load(cls, path):
        model = Model.load(path)
        inputs = model.info["data"]["inputs"]
        new = cls(**parameters_of(model.info["settings"]))
        new.n_features_in_ = model.inputs
        if inputs and all(column["name"] for column in inputs):
            new.feature_names_in_ = np.array([column["name"] for column in inputs], dtype=object)
        new._categories = {j: column["levels"] for j, column in enumerate(inputs) if column["text"]}
        new._model = model
        return new
