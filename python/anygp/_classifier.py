"""Gaussian process classification with scikit-learn's interface."""
import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from . import _frame
from ._estimator import Estimator, validate_data
from ._settings import with_settings


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
    """

    _own_settings = {"likelihood": ("auto", "str", "bernoulli(logit|probit), softmax, robustmax or ordinal; auto is "
                                    "bernoulli for two classes and softmax for more")}

    @property
    def likelihood_(self):
        """The likelihood that was used."""
        return self.info_["likelihood"]["name"]

    # ------------------------------------------------------------------------------------------------ fit

    def fit(self, X, y, sample_weight=None):
        """Train on X[n, d] and the labels y[n]; a row of weight 2 counts as two equal rows, a row of weight 0 is left out."""
        target = getattr(y, "name", None)
        X, categories = _frame.learn(X) if _frame.is_frame(X) else (X, {})
        X, y = validate_data(self, X, y, dtype=np.float64, **self._finite(categories))
        check_classification_targets(y)
        weights = self._weights(sample_weight, X)
        if weights is not None:  # as if they were not there: neither classes nor random choices know of them
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"the target has only one class, {self.classes_[0]!r}; a classifier needs at least two"
                             if len(self.classes_) else "no row has a weight, so there are no classes")
        settings = self._texts(likelihood=self._likelihood())
        y, categories = self._coded(y, X.shape[1], categories)
        watch = self._learn(settings, X, y, target, weights, categories)
        self._columns = self._places()
        watch.tell(self._model.status)
        return self

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

    def predict(self, X):
        """The most probable class of each row."""
        P = self._probabilities(X)
        return self.classes_[P.argmax(axis=1)]

    def predict_proba(self, X):
        """The probability of every class at each row: an array [n, classes], in the order of classes_."""
        return self._probabilities(X)

    def predict_log_proba(self, X):
        """Logarithms of predict_proba."""
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities(X))

    def _probabilities(self, X):
        found = self._fitted().probabilities(self._inputs(X))
        P = np.zeros((len(found), len(self.classes_)))
        P[:, self._columns] = found
        return P

    @classmethod
    def load(cls, path):
        """An estimator with the model and the settings of a model file written by the command line or by save()."""
        new = cls._load(path)
        names = new._model.class_names
        if not names:
            raise ValueError(f"{path} holds a model for numbers; use GPRegressor.load")
        texts = new.info_["data"]["target"]["class_text"]
        classes = np.array(names) if texts else np.array([float(name) for name in names])
        whole = not texts and (classes == np.round(classes)).all() and np.abs(classes).max() < 2**53
        new.classes_ = classes.astype(np.int64) if whole else classes
        new._columns = list(range(len(names)))
        return new
