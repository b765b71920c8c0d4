"""A fitted model of the C library as a Python object: arrays in, arrays out, pickled as the bytes of its file."""
import ctypes
import json
import math
import os
import signal
import sys
import threading
import time
import warnings
import weakref

import numpy as np

from . import _library as c
from ._library import call, lib


def _rows(X):
    """The same array if the library can read it in place, otherwise a copy: doubles, row by row, any stride."""
    d = X.shape[1]
    inside = X.strides[1] == 8 or d <= 1
    between = X.strides[0] % 8 == 0 and X.strides[0] >= 8 * d or X.shape[0] == 1
    return X if X.dtype == np.float64 and X.flags.aligned and inside and between else packed(X)


def packed(array):
    """The array as doubles without gaps, at an address the library can use; itself where it is so already."""
    return np.require(array, np.float64, ["C_CONTIGUOUS", "ALIGNED"])


def _stride(X):
    return X.strides[0] // 8 if X.shape[0] > 1 else max(1, X.shape[1])


def _address(array):
    return None if array is None else array.__array_interface__["data"][0]


class _Watch:
    """The two callbacks of a fit, and Ctrl-C.

    No exception may leave a callback, so what happens in one is kept until the library has returned. The first Ctrl-C
    asks for the best model so far; a second one is raised as KeyboardInterrupt once that model is there.
    """

    def __init__(self, verbose):
        self.verbose = verbose
        self.interrupts = 0
        self.stopped_by = None  # an exception raised while reporting
        self.messages = []
        self.last = -math.inf
        self.former = None
        self.log = c.LogFunction(self._on_log)
        self.progress = c.ProgressFunction(self._on_progress)

    def __enter__(self):
        ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ours and threading.current_thread() is threading.main_thread():
            self.former = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *exception):
        if self.former is not None:
            signal.signal(signal.SIGINT, self.former)
        self.log = self.progress = None  # the callbacks hold this object

    def _on_signal(self, number, frame):
        self.interrupts += 1

    def _on_log(self, ctx, level, text):
        self.messages.append((level, text.decode(errors="replace")))

    def _on_progress(self, ctx, pointer):
        try:
            if self.verbose and (self.verbose > 1 or time.monotonic() - self.last > 1):
                self.last = time.monotonic()
                self._print(pointer.contents)
        except BaseException as why:
            self.stopped_by = why
        return bool(self.interrupts or self.stopped_by)

    def _print(self, p):
        run = f" (run {p.restart} of {p.restarts + 1})" if p.restarts else ""
        rmse = "" if math.isnan(p.rmse) else f"  rmse {p.rmse:.4g}"
        objective = "" if math.isnan(p.objective) else f"  objective {p.objective:.6g}"
        print(f"{p.stage.decode()}{run}: {p.iteration}/{p.iterations}{objective}{rmse}  {p.seconds:.1f} s", file=sys.stderr, flush=True)

    def tell(self, status):
        """Warnings, once each; notes to those who want them; interruptions that were meant as such."""
        for level, text in dict.fromkeys(self.messages):
            if level == c.WARNING:
                warnings.warn(text, UserWarning, stacklevel=3)
            elif self.verbose:
                print(text, file=sys.stderr)
        if self.stopped_by is not None:
            raise self.stopped_by
        if self.interrupts > 1:
            raise KeyboardInterrupt
        if status == c.INTERRUPTED:
            warnings.warn(lib.anygp_status_text(status).decode(), UserWarning, stacklevel=3)


_models = weakref.WeakSet()


def _new_locks():
    """In a forked child: whoever held a lock is not there to release it."""
    for model in list(_models):
        model._lock = threading.Lock()


os.register_at_fork(after_in_child=_new_locks)


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
    def fit(cls, settings, X, y, weights=None, names=None, categories=None, verbose=0):
        """settings: texts by name; categories: {column: names}, the column's cells being their indices; those of the target,
        which is the column behind the inputs, are its classes.

        Returns the model and the watch, whose tell() is still to be called."""
        handles = {"s": lib.anygp_settings_new(), "d": ctypes.c_void_p()}
        try:
            for name, text in settings.items():
                call("set", handles["s"], name.encode(), text.encode())
            X = _rows(X)
            call("data_new", *X.shape, _address(X), _stride(X), _address(y), _address(weights),
                 ctypes.byref(handles["d"]))
            _describe(handles["d"], names, categories or {})
            return cls._train(handles["s"], handles["d"], verbose)
        finally:
            lib.anygp_data_free(handles["d"])
            lib.anygp_settings_free(handles["s"])

    @classmethod
    def _train(cls, settings, data, verbose):
        handle = ctypes.c_void_p()
        with _Watch(verbose) as watch:
            lib.anygp_on_log(settings, watch.log, None)
            lib.anygp_on_progress(settings, watch.progress, None)
            status = call("fit", settings, data, ctypes.byref(handle))
        return cls(handle.value, status), watch

    # -------------------------------------------------------------------------------------------- predict

    def predict(self, X, variance=False, latent=False):
        """Mean, and variance or None, at each row; None if the library refuses a row. X: C-contiguous doubles."""
        n, d = X.shape
        mean = np.empty(n)
        var = np.empty(n) if variance else None
        with self._lock:
            status = lib.anygp_predict(self._handle, n, _address(X), d, c.LATENT if latent else 0,
                                       _address(mean), _address(var), None)
        return None if status >= c.ERROR_FIRST else (mean, var)

    def predict_checked(self, X, variance=False, latent=False):
        """The same for any array, and a refusal is raised."""
        X = _rows(X)
        mean = np.empty(len(X))
        var = np.empty(len(X)) if variance else None
        with self._lock:
            call("predict", self._handle, len(X), _address(X), _stride(X), c.LATENT if latent else 0, _address(mean),
                 _address(var))
        return mean, var

    def probabilities(self, X):
        """P[n, classes] of a target that is a class."""
        X = _rows(X)
        P = np.empty((len(X), len(self.class_names)), order="F")
        with self._lock:
            call("predict_proba", self._handle, 0, len(X), _address(X), _stride(X), _address(P))
        return P

    def joint(self, X, latent=False):
        X = _rows(X)
        mean, covariance = np.empty(len(X)), np.empty((len(X), len(X)))
        with self._lock:
            call("predict_joint", self._handle, 0, len(X), _address(X), _stride(X), c.LATENT if latent else 0,
                 _address(mean), _address(covariance))
        return mean, covariance

    def experts(self, X, latent=False):
        """Mean, standard deviation and weight by every expert: three arrays [n, experts]."""
        X = _rows(X)
        count = lib.anygp_experts(self._handle, 0)
        opinions = np.empty((len(X), 3 * max(count, 1)), order="F")
        with self._lock:
            call("predict_experts", self._handle, 0, len(X), _address(X), _stride(X), c.LATENT if latent else 0,
                 _address(opinions))
        return opinions[:, 0::3], opinions[:, 1::3], opinions[:, 2::3]

    def sample(self, X, count, seed, latent=False):
        """draws[n, count]"""
        X = _rows(X)
        draws = np.empty((len(X), count), order="F")
        with self._lock:
            call("sample", self._handle, 0, len(X), _address(X), _stride(X), c.LATENT if latent else 0, seed, count,
                 _address(draws))
        return draws

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


def _describe(data, names, categories):
    """Column names (of the inputs, and last of the target) and categories."""
    for j, name in enumerate(names or []):
        if name is not None:
            call("data_name", data, j, name.encode())
    for j, levels in categories.items():
        texts = (ctypes.c_char_p * max(1, len(levels)))(*(level.encode() for level in levels))
        call("data_categories", data, j, len(levels), texts)
