"""Gaussian process classification with scikit-learn's interface."""
from __future__ import annotations

from typing import Dict, Optional

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from . import _frame, _output
from ._estimator import Estimator, PathLike, takes_rows
from ._rows import Training, packed
from ._settings import with_settings
from ._watch import Callback


def _is_text(classes):
    return classes.dtype.kind not in "biuf"


def _names_as(names, classes):
    """The library's names of classes, in the type of `classes`."""
    if _is_text(classes):
        return np.array(names, dtype=object)
    return np.array([float(name) for name in names])


@with_settings
class GPClassifier(ClassifierMixin, Estimator):
    """Gaussian process classification: two classes or many, numbers or texts.

    {parameters}

    Attributes
    ----------
    model_ : str
        The model that was fitted: the argument model, or what 'auto' chose.
    classes_ : array
        The classes, in the order of predict_proba's columns.
    kernel_ : str
        The kernel with its learned values, in the units of the data.
    likelihood_ : str
        The likelihood that was used.
    log_marginal_likelihood_value_ : float
        Bound on the log evidence.
    valid_ : dict
        Scores on the held-out rows; empty if there are none.
    trace_ : dict of arrays
        A row per report: iteration, seconds, objective, rmse (NaN: classes have none), mnlp (the logloss),
        mell (the mean of E[log p(y | f)]).
    n_iter_ : int
        Steps of the training.
    info_ : dict
        Everything that `anygp info --json` reports about the model.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only for inputs with names.

    Examples
    --------
    >>> import numpy as np
    >>> from anygp import GPClassifier
    >>> X = np.linspace(-2, 2, 40)[:, None]
    >>> model = GPClassifier(inducing=10, iters=50).fit(X, np.where(X[:, 0] < 0, "left", "right"))
    >>> model.classes_.tolist(), model.predict([[-1.0], [1.5]]).tolist()
    (['left', 'right'], ['left', 'right'])
    >>> model.predict_proba([[1.5]]).shape
    (1, 2)
    """

    _own_settings = {"likelihood": ("auto", "str", "bernoulli(logit|probit), softmax, robustmax or ordinal; auto is "
                                    "bernoulli for two classes and softmax for more"),
                     "class_weight": (None, "dict or 'balanced'", "weights of classes, {label: weight}, 1 for those not named; "
                                      "'balanced' gives every class the same sum of weights")}

    @property
    def likelihood_(self):
        """The likelihood that was used."""
        return self.info_["likelihood"]["name"]

    # ------------------------------------------------------------------------------------------------ fit

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: Optional[ArrayLike] = None,
            callback: Optional[Callback] = None) -> GPClassifier:
        """Train on X[n, d] and the labels y[n].

        sample_weight: a row of weight 2 counts as two equal rows, a row of weight 0 is left out. callback: called with a
        Progress at every step; if it returns True, training stops with the best model so far.
        """
        return self._fit(X, y, sample_weight, callback)

    def _fit(self, X, y, sample_weight, callback, **changed):
        target = getattr(y, "name", None)
        X, categories = _frame.learn(X) if _frame.is_frame(X) else (X, {})
        X, y = self._checked(X, y, categories=categories)
        check_classification_targets(y)
        weights = self._class_weights(y, self._weights(sample_weight, X))
        if weights is not None:  # as if they were not there: neither classes nor random choices know of them
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"the target has only one class, {self.classes_[0]!r}; a classifier needs at least two"
                             if len(self.classes_) else "no row has a weight, so there are no classes")
        settings = self._texts(likelihood=self._likelihood(), **changed)
        y, categories = self._coded(y, X.shape[1], categories)
        watch = self._learn(settings, Training(X, y, weights, None, self._names([target]), categories), callback)
        self._columns = self._places()
        watch.tell(self._model.status)
        return self

    @available_if(takes_rows)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: Optional[ArrayLike] = None,
                    sample_weight: Optional[ArrayLike] = None) -> GPClassifier:
        """Add rows to a fitted model, without those it has seen; the first call fits.

        The first call must have rows of every class; `classes`, if given, is compared with them. Kernel, scales and inducing
        inputs stay those of the first call. With model='auto' that call fits svgp. class_weight: a dict, since 'balanced'
        would need all rows at once.
        """
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all rows at once; partial_fit takes a dict of weights")
        if not hasattr(self, "_model"):
            self._check_classes(np.unique(y), classes)
            return self._fit(X, y, sample_weight, None, **({"model": "svgp"} if self.model == "auto" else {}))
        if _frame.is_frame(X):
            X = _frame.apply(X, self._categories, grow=False)
        X, y = self._checked(X, y, categories=self._categories, reset=False)
        weights = self._class_weights(y, self._weights(sample_weight, X))
        self._add(X, self._codes_in_model(y), weights)
        return self

    @staticmethod
    def _check_classes(seen, classes):
        absent = [] if classes is None else [label for label in np.unique(classes).tolist() if label not in seen]
        if absent:
            raise ValueError(f"the first call of partial_fit has no row of class {absent[0]!r}; it needs rows of every class")

    def _codes_in_model(self, y):
        """Labels as an update takes them: numbers as they are, texts by the index of the library's class."""
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the label {unknown[0]!r}, which the model does not know; its classes are "
                             f"{', '.join(map(str, self.classes_[:20]))}")
        if not _is_text(self.classes_):
            return y.astype(float)
        places = np.full(len(self.classes_), np.nan)
        places[self._columns] = np.arange(len(self._columns))
        return places[np.searchsorted(self.classes_, y)]

    def _class_weights(self, y, weights):
        """The weights of rows times those of their classes."""
        if self.class_weight is None:
            return weights
        mine = compute_sample_weight(self.class_weight, y)
        return packed(mine if weights is None else mine * weights)

    def _likelihood(self):
        if self.likelihood != "auto":
            return self.likelihood
        return "bernoulli" if len(self.classes_) == 2 else "softmax"

    def _coded(self, y, column, categories):
        """The labels as numbers, and the categories with those of the target where they are texts."""
        if not _is_text(self.classes_):
            return y.astype(float), categories
        codes = np.searchsorted(self.classes_, y)
        return codes.astype(float), {**categories, column: [str(label) for label in self.classes_]}

    def _places(self):
        """Of the library's classes among ours: rows held out may have been all there were of one."""
        own = self.classes_.astype(str).astype(object) if _is_text(self.classes_) else self.classes_.astype(float)
        places = {label: k for k, label in enumerate(own)}
        return [places[label] for label in _names_as(self._model.class_names, self.classes_)]

    # -------------------------------------------------------------------------------------------- predict

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most probable class of each row."""
        P = self._probabilities(X)
        labels = self.classes_[P.argmax(axis=1)]
        return _output.series(X, _output.target_names(self.info_)[0], labels) if self._as_pandas() else labels

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The probability of every class at each row: an array [n, classes], in the order of classes_."""
        P = self._probabilities(X)
        return _output.frame(X, self.classes_, P) if self._as_pandas() else P

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms of predict_proba."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def evaluate(self, X: ArrayLike, y: ArrayLike, sample_weight: Optional[ArrayLike] = None) -> Dict[str, float]:
        """The scores of `anygp eval` on these rows, by their names: accuracy, logloss, brier, ece, auc, recall_LABEL, ...
        (see docs/scores.md)."""
        self._fitted()
        if _frame.is_frame(X):
            X = _frame.apply(X, self._categories)
        X, y = self._checked(X, y, categories=self._categories, reset=False)
        return self._model.evaluate(X, self._codes_in_model(y), self._weights(sample_weight, X))[0]

    def _probabilities(self, X):
        found = self._fitted().probabilities(self._inputs(X))
        P = np.zeros((len(found), len(self.classes_)))
        P[:, self._columns] = found
        return P

    @classmethod
    def load(cls, path: PathLike) -> GPClassifier:
        """An estimator with the model and the settings of a model file written by the command line or by save()."""
        new = cls._load(path)
        if new._model.targets > 1:
            raise ValueError(f"{path} holds {new._model.targets} targets, and a GPClassifier has one; fit one model per target")
        names = new._model.class_names
        if not names:
            raise ValueError(f"{path} holds a model for numbers; use GPRegressor.load")
        texts = new.info_["data"]["target"]["class_text"]
        classes = np.array(names) if texts else np.array([float(name) for name in names])
        whole = not texts and (classes == np.round(classes)).all() and np.abs(classes).max() < 2**53
        new.classes_ = classes.astype(np.int64) if whole else classes
        new._columns = list(range(len(names)))
        return new
