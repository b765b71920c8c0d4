"""A fitted model of the C library as a Python object: arrays in, arrays out, pickled as the bytes of its file."""
from __future__ import annotations

import ctypes
import json
import os
import threading
import weakref

import numpy as np

from . import _library as c
from ._library import call, lib
from ._rows import Training, address, describe, packed, readable, stride
from ._watch import Watch

_models = weakref.WeakSet()


def _new_locks():
    """In a forked child: whoever held a lock is not there to release it."""
    for model in list(_models):
        model._lock = threading.Lock()


os.register_at_fork(after_in_child=_new_locks)


class _Settings:
    """An anygp_settings, given back at the end of a with block."""

    def __init__(self, texts):
        self.handle = lib.anygp_settings_new()
        self.texts = texts

    def __enter__(self):
        try:
            for name, text in self.texts:
                call("set", self.handle, name.encode(), text.encode())
        except BaseException:
            self.__exit__()
            raise
        return self.handle

    def __exit__(self, *exception):
        lib.anygp_settings_free(self.handle)


class Model:
    """Owns an anygp_model. One thread at a time uses the handle; others wait without Python's lock."""

    def __init__(self, handle, status=c.OK):
        self._handle = handle
        self._lock = threading.Lock()
        self._info = None
        self.status = status
        _models.add(self)

    def __del__(self):
        handle, self._handle = getattr(self, "_handle", None), None
        if handle and lib is not None:
            lib.anygp_model_free(handle)

    def __reduce__(self):
        return Model.from_bytes, (self.to_bytes(),)

    # ------------------------------------------------------------------------------------------------ fit

    @classmethod
    def fit(cls, settings: dict, rows: Training, watch: Watch) -> Model:
        """settings: texts by name. The watch's tell() is still to be called."""
        X, y, names, places = rows.table()
        X = readable(X)
        with _Settings([*settings.items(), *places]) as s:
            data = ctypes.c_void_p()
            try:
                call("data_new", *X.shape, address(X), stride(X), address(y), address(rows.weights), ctypes.byref(data))
                describe(data, names, rows.categories)
                return cls._train(s, data, watch)
            finally:
                lib.anygp_data_free(data)

    @classmethod
    def _train(cls, settings, data, watch):
        handle = ctypes.c_void_p()
        with watch:
            lib.anygp_on_log(settings, watch.log, None)
            lib.anygp_on_progress(settings, watch.progress, None)
            status = call("fit", settings, data, ctypes.byref(handle))
        return cls(handle.value, status)

    def update(self, settings: dict, rows: Training, watch: Watch) -> None:
        """Adds rows; on failure the model is as it was."""
        X = readable(rows.X)
        Y = np.require(rows.y.reshape(len(X), -1), np.float64, ["F_CONTIGUOUS", "ALIGNED"])
        with _Settings(settings.items()) as s, self._lock:
            lib.anygp_on_log(s, watch.log, None)
            self._info = None
            call("update_exposed", self._handle, s, len(X), address(X), stride(X), address(Y), address(rows.weights),
                 address(rows.exposure))
        watch.release()

    # -------------------------------------------------------------------------------------------- predict

    def predict(self, X, variance=False, latent=False):
        """Mean, and variance or None, at each row, of one target; None if the library refuses a row. X: C-contiguous doubles."""
        n, d = X.shape
        mean = np.empty(n)
        var = np.empty(n) if variance else None
        with self._lock:
            status = lib.anygp_predict(self._handle, n, address(X), d, c.LATENT if latent else 0,
                                       address(mean), address(var), None)
        return None if status >= c.ERROR_FIRST else (mean, var)

    def _each(self, name, X, latent, arguments):
        """A call for every target; arguments: of a target, before and behind the flags."""
        X = readable(X)
        with self._lock:
            for t in range(self.targets):
                before, behind = arguments(t)
                call(name, self._handle, t, len(X), address(X), stride(X), *before, c.LATENT if latent else 0, *behind)

    def predict_checked(self, X, variance=False, latent=False, exposure=None):
        """Mean, and variance or None, for any array: [n, targets]; a refusal is raised."""
        mean = np.empty((len(X), self.targets), order="F")
        var = np.empty_like(mean) if variance else None
        self._each("predict_exposed", X, latent, lambda t: (
            [address(exposure)], [address(mean[:, t]), address(var[:, t]) if variance else None]))
        return mean, var

    def quantiles(self, X, levels, latent=False, exposure=None):
        """[n, targets, levels]"""
        levels = packed(levels)
        found = np.empty((len(X), self.targets, len(levels)))
        one = [np.empty((len(X), len(levels)), order="F") for _ in range(self.targets)]
        self._each("predict_quantiles", X, latent, lambda t: (
            [address(exposure)], [len(levels), address(levels), address(one[t])]))
        for t, array in enumerate(one):
            found[:, t] = array
        return found

    def densities(self, X, Y, exposure=None):
        """log p(y) and P(y' <= y) of Y[n, targets]: two arrays of its shape."""
        X, Y = readable(X), np.require(Y, np.float64, ["F_CONTIGUOUS", "ALIGNED"])
        logs, cdf = np.empty_like(Y), np.empty_like(Y)
        with self._lock:
            for t in range(self.targets):
                call("predict_density", self._handle, t, len(X), address(X), stride(X), address(exposure), address(Y[:, t]),
                     address(logs[:, t]), address(cdf[:, t]))
        return logs, cdf

    def evaluate(self, X, Y, weights=None, exposure=None):
        """Scores by their names, one dict for each target."""
        X, Y = readable(X), np.require(Y.reshape(len(X), -1), np.float64, ["F_CONTIGUOUS", "ALIGNED"])
        scores = ctypes.c_void_p()
        with self._lock:
            call("eval", self._handle, None, len(X), address(X), stride(X), address(Y), address(weights), address(exposure),
                 ctypes.byref(scores))
        try:
            return [{lib.anygp_scores_name(scores, t, i).decode(): lib.anygp_scores_value(scores, t, i)
                     for i in range(lib.anygp_scores_count(scores, t))} for t in range(self.targets)]
        finally:
            lib.anygp_scores_free(scores)

    def probabilities(self, X):
        """P[n, classes] of a target that is a class."""
        X = readable(X)
        P = np.empty((len(X), len(self.class_names)), order="F")
        with self._lock:
            call("predict_proba", self._handle, 0, len(X), address(X), stride(X), address(P))
        return P

    def joint(self, X, latent=False):
        """Mean [n, targets] and covariance [n, n, targets]."""
        mean = np.empty((len(X), self.targets), order="F")
        covariance = np.empty((len(X), len(X), self.targets), order="F")
        self._each("predict_joint", X, latent, lambda t: ([], [address(mean[:, t]), address(covariance[:, :, t])]))
        return mean, covariance

    def experts(self, X, latent=False):
        """Mean, standard deviation and weight by every expert: three arrays [n, experts], of the first target."""
        X = readable(X)
        count = lib.anygp_experts(self._handle, 0)
        opinions = np.empty((len(X), 3 * max(count, 1)), order="F")
        with self._lock:
            call("predict_experts", self._handle, 0, len(X), address(X), stride(X), c.LATENT if latent else 0,
                 address(opinions))
        return opinions[:, 0::3], opinions[:, 1::3], opinions[:, 2::3]

    def sample(self, X, count, seed, latent=False):
        """draws[n, targets, count]"""
        one = [np.empty((len(X), count), order="F") for _ in range(self.targets)]
        self._each("sample", X, latent, lambda t: ([], [seed + t, count, address(one[t])]))
        return np.stack(one, axis=1)

    # ---------------------------------------------------------------------------------------------- files

    def save(self, path):
        with self._lock:
            call("save", self._handle, os.fsencode(path))

    @classmethod
    def load(cls, path):
        handle = ctypes.c_void_p()
        call("load", os.fsencode(path), ctypes.byref(handle))
        return cls(handle.value)

    def to_bytes(self):
        bytes_, size = ctypes.c_void_p(), ctypes.c_size_t()
        with self._lock:
            call("save_bytes", self._handle, ctypes.byref(bytes_), ctypes.byref(size))
        try:
            return ctypes.string_at(bytes_, size.value)
        finally:
            lib.anygp_bytes_free(bytes_)

    @classmethod
    def from_bytes(cls, data):
        handle = ctypes.c_void_p()
        call("load_bytes", data, len(data), ctypes.byref(handle))
        return cls(handle.value)

    # ----------------------------------------------------------------------------------------------- info

    @property
    def info(self):
        """What `anygp info --json` shows."""
        if self._info is None:
            text = ctypes.c_void_p()
            with self._lock:
                call("info", self._handle, 1, ctypes.byref(text))
            try:
                self._info = json.loads(ctypes.string_at(text))
            finally:
                lib.anygp_text_free(text)
        return self._info

    @property
    def class_names(self):
        """The classes in their order, as texts; none of a target that is a number."""
        return [lib.anygp_class_name(self._handle, 0, k).decode() for k in range(lib.anygp_classes(self._handle, 0))]

    @property
    def inputs(self):
        return lib.anygp_model_inputs(self._handle)

    @property
    def targets(self):
        return lib.anygp_model_targets(self._handle)
