"""The C library: where it is, the types of its functions, its statuses as exceptions.

ctypes.CDLL releases Python's lock during every call.
"""
import contextlib
import ctypes
import os
import pathlib
from ctypes import POINTER, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p


class Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", c_char * 508)]


class Progress(ctypes.Structure):
    _fields_ = [("stage", c_char_p), ("iteration", c_int64), ("iterations", c_int64), ("restart", c_int64),
                ("restarts", c_int64), ("objective", c_double), ("seconds", c_double), ("time_limit", c_double),
                ("rmse", c_double), ("mnlp", c_double), ("coverage", c_double)]


LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
ProgressFunction = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(Progress))

OK, TIME_LIMIT, INTERRUPTED = 0, 1, 2
ERROR_FIRST = 100  # from here on there is no result
ERR_ARGUMENT, ERR_DATA = 100, 101
WARNING = 1
LATENT = 1

# name: (result, arguments); the last argument of a call that returns Status is the error, which `call` adds.
Status = c_int
_FUNCTIONS = {
    "version": (c_char_p, []),
    "status_text": (c_char_p, [c_int]),
    "settings_new": (c_void_p, []),
    "settings_free": (None, [c_void_p]),
    "set": (Status, [c_void_p, c_char_p, c_char_p]),
    "setting_count": (c_int64, []),
    "setting_field": (c_char_p, [c_int64, c_char_p]),
    "setting_nearest": (c_char_p, [c_char_p]),
    "model_count": (c_int64, []),
    "model_field": (c_char_p, [c_int64, c_char_p]),
    "on_log": (None, [c_void_p, LogFunction, c_void_p]),
    "on_progress": (None, [c_void_p, ProgressFunction, c_void_p]),
    "data_new": (Status, [c_int64, c_int64, c_void_p, c_int64, c_void_p, c_void_p, POINTER(c_void_p)]),
    "data_name": (Status, [c_void_p, c_int64, c_char_p]),
    "data_categories": (Status, [c_void_p, c_int64, c_int64, POINTER(c_char_p)]),
    "data_free": (None, [c_void_p]),
    "fit": (Status, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "model_free": (None, [c_void_p]),
    "model_inputs": (c_int64, [c_void_p]),
    "model_targets": (c_int64, [c_void_p]),
    "predict": (Status, [c_void_p, c_int64, c_void_p, c_int64, c_uint, c_void_p, c_void_p]),
    "predict_exposed": (Status, [c_void_p, c_int64, c_int64, c_void_p, c_int64, c_void_p, c_uint, c_void_p, c_void_p]),
    "predict_quantiles": (Status, [c_void_p, c_int64, c_int64, c_void_p, c_int64, c_void_p, c_uint, c_int64, c_void_p,
                                   c_void_p]),
    "predict_density": (Status, [c_void_p, c_int64, c_int64, c_void_p, c_int64, c_void_p, c_void_p, c_void_p, c_void_p]),
    "eval": (Status, [c_void_p, c_void_p, c_int64, c_void_p, c_int64, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)]),
    "scores_count": (c_int64, [c_void_p, c_int64]),
    "scores_name": (c_char_p, [c_void_p, c_int64, c_int64]),
    "scores_value": (c_double, [c_void_p, c_int64, c_int64]),
    "scores_free": (None, [c_void_p]),
    "predict_proba": (Status, [c_void_p, c_int64, c_int64, c_void_p, c_int64, c_void_p]),
    "classes": (c_int64, [c_void_p, c_int64]),
    "class_name": (c_char_p, [c_void_p, c_int64, c_int64]),
    "experts": (c_int64, [c_void_p, c_int64]),
    "predict_experts": (Status, [c_void_p, c_int64, c_int64, c_void_p, c_int64, c_uint, c_void_p]),
    "predict_joint": (Status, [c_void_p, c_int64, c_int64, c_void_p, c_int64, c_uint, c_void_p, c_void_p]),
    "sample": (Status, [c_void_p, c_int64, c_int64, c_void_p, c_int64, c_uint, c_uint64, c_int64, c_void_p]),
    "update_exposed": (Status, [c_void_p, c_void_p, c_int64, c_void_p, c_int64, c_void_p, c_void_p, c_void_p]),
    "save": (Status, [c_void_p, c_char_p]),
    "load": (Status, [c_char_p, POINTER(c_void_p)]),
    "save_bytes": (Status, [c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "load_bytes": (Status, [c_char_p, c_size_t, POINTER(c_void_p)]),
    "bytes_free": (None, [c_void_p]),
    "info": (Status, [c_void_p, c_int, POINTER(c_void_p)]),
    "text_free": (None, [c_void_p]),
}


def _candidates():
    """Places to look, in order."""
    given = os.environ.get("ANYGP_LIBRARY")
    if given:
        return [given]
    here = pathlib.Path(__file__).resolve().parent
    near = [here / "libanygp.so", here.parents[1] / "build" / "release" / "libanygp.so"]
    return [str(path) for path in near if path.exists()] + ["libanygp.so.0", "libanygp.so"]


@contextlib.contextmanager
def _sleeping_waits():
    """OpenMP's threads spin while they wait unless its environment, read once as it is loaded, says otherwise: on a
    busy machine, that makes a run several times longer."""
    given = "OMP_WAIT_POLICY" in os.environ
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        yield
    finally:
        if not given:
            del os.environ["OMP_WAIT_POLICY"]


def _load():
    complaints = []
    for path in _candidates():
        try:
            with _sleeping_waits():
                return ctypes.CDLL(path)
        except OSError as why:
            complaints.append(str(why))
    raise ImportError("the library libanygp.so cannot be loaded; build it with `make`, or name it in the environment "
                      "variable ANYGP_LIBRARY. Tried: " + "; ".join(complaints))


def _declare(library):
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, "anygp_" + name)
        function.restype = result
        function.argtypes = arguments + [POINTER(Error)] if result is Status else arguments


lib = _load()
_declare(lib)
__version__ = lib.anygp_version().decode()


def exception_of(error):
    """Wrong arguments give a ValueError, other failures a RuntimeError."""
    from ._settings import in_python  # which needs the library
    kind = ValueError if error.status in (ERR_ARGUMENT, ERR_DATA) else RuntimeError
    return kind(in_python(error.text.decode(errors="replace")))


def call(name, *arguments):
    """Calls anygp_NAME; returns its status if that is a result, otherwise raises an exception with the library's message."""
    error = Error()
    status = getattr(lib, "anygp_" + name)(*arguments, ctypes.byref(error))
    if status >= ERROR_FIRST:
        error.status = status
        raise exception_of(error)
    return status
