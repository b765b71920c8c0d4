"""The library's settings table as arguments of an estimator: names, defaults and documentation have one source."""
import difflib
import inspect
import os
import re
import textwrap
from typing import NamedTuple

import numpy as np

from ._library import lib

# Names scikit-learn has for the same thing.
RENAMED = {"seed": "random_state", "threads": "n_jobs", "time": "time_budget",
           "transform": "target_transform"}  # scikit-learn takes `transform` for a method
# Settings about files; in Python the data are arrays, whose columns the caller chooses and converts, the trace is an attribute,
# and save() says where the model goes.
OF_FILES = {"target", "weights", "exposure", "inputs", "drop", "categories", "dates", "decimal", "skip", "comment", "na", "header", "trace",
            "checkpoint", "resume", "report"}
# The classifier turns these into weights of rows, which a dict of classes may give too.
OF_CLASSES = {"class-weight"}
# What is given with the data.
OF_FIT = {"weights": "sample_weight", "sample_weight": "sample_weight", "exposure": "exposure", "callback": "callback"}
# What these three take is scikit-learn's convention, not the table's.
HELP = {
    "random_state": "seed of every random choice; None is seed 0, so that fits are repeatable",
    "n_jobs": "threads; None takes OMP_NUM_THREADS if it is set, else all processors; -1 is all processors",
    "time_budget": "seconds, or a text such as '5m'; training stops then with the best model so far",
}
OWN = {"verbose": (0, "int", "1: progress and notes on stderr once a second; 2: every iteration"),
       "warm_start": (False, "bool", "start a further fit from the kernel and the noise that the last one learned, unless the "
                      "arguments kernel, noise or fix have changed since, or the columns of X")}
PYTHON_TYPE = {"integer": int, "real": float, "flag": lambda text: text == "yes"}
TYPE_NAME = {"text": "str", "choice": "str", "flag": "bool", "integer": "int", "real": "float",
             "seconds": "float or str", "bytes": "int or str", "sizes": "int or str",
             "counts": "int, list or str"}


class Setting(NamedTuple):
    name: str
    type: str
    default: str
    lower: str
    upper: str
    choices: str
    argument: str
    commands: str
    help: str


def table():
    """Every setting of the library."""
    def field(i, name):
        return (lib.anygp_setting_field(i, name.encode()) or b"").decode()

    return [Setting(*(field(i, name) for name in Setting._fields)) for i in range(lib.anygp_setting_count())]


def parameter_of(name):
    """The argument for a setting: inducing-from is inducing_from."""
    return RENAMED.get(name, name.replace("-", "_"))


FIT = {parameter_of(s.name): s for s in table() if "f" in s.commands.lower() and s.name not in OF_FILES | OF_CLASSES}


def in_python(sentence):
    """A sentence of the library with the options of the command line as arguments: --missing mean is missing="mean"."""
    def argument(found):
        name, rest, value = found.groups()
        if parameter_of(name) not in FIT:
            return found.group()
        if value and value in FIT[parameter_of(name)].choices.split():
            return f'{parameter_of(name)}="{value}"'
        return parameter_of(name) + (rest or "")

    return re.sub(r"--([a-z][a-z-]*[a-z])( (\w+))?", argument, sentence)


def from_text(setting, text):
    """A setting's text as a Python value; nothing is None."""
    return PYTHON_TYPE.get(setting.type, str)(text) if text else None


def to_text(value):
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return ",".join(to_text(each) for each in value)
    return str(value)


def default_of(parameter):
    """The table's, but None for those that scikit-learn wants so."""
    return None if parameter in RENAMED.values() else from_text(FIT[parameter], FIT[parameter].default)


def defaults(own=OWN):
    return {**{name: default_of(name) for name in FIT}, **{name: mine[0] for name, mine in own.items()}}


def threads_of(n_jobs):
    """As scikit-learn counts: -1 is all processors, -2 all but one; 0 of the library is all."""
    if n_jobs is None:
        given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
        return int(given) if given.isdigit() and int(given) > 0 else 0
    if n_jobs == 0:
        raise ValueError("n_jobs: 0 has no meaning; use None or a number of threads")
    return n_jobs if n_jobs > 0 else max(1, len(os.sched_getaffinity(0)) + 1 + n_jobs)


def texts_of(parameters, seed):
    """What to give to anygp_set, by the names in the library: the settings that differ from their defaults, since the
    library gives a note for settings that have no effect."""
    values = {FIT[name].name: value for name, value in parameters.items()
              if name in FIT and value is not None and value != default_of(name)}
    values["threads"] = threads_of(parameters["n_jobs"])
    values["seed"] = seed
    return {name: to_text(value) for name, value in values.items() if to_text(value) != ""}


def parameters_of(texts):
    """The other way round, for a model that was loaded."""
    found = {name: from_text(s, texts[s.name]) for name, s in FIT.items() if s.name in texts}
    if found.get("n_jobs") == 0:
        found["n_jobs"] = None
    return found


def _paragraph(name, kind, default, text):
    head = f"{name} : {kind}, default={default!r}"
    return head + "\n" + textwrap.fill(text, 100, initial_indent="    ", subsequent_indent="    ")


def documentation(own=OWN):
    """A numpydoc section."""
    parts = []
    for name, setting in FIT.items():
        if name in own:
            continue
        kind = ("{" + ", ".join(repr(c) for c in setting.choices.split()) + "}") if setting.choices else \
            {"random_state": "int or RandomState"}.get(name, TYPE_NAME.get(setting.type, "str"))
        parts.append(_paragraph(name, kind, default_of(name), HELP.get(name, setting.help)))
    parts += [_paragraph(name, kind, default, text) for name, (default, kind, text) in own.items()]
    return "Parameters\n----------\n" + "\n".join(parts)


def nearest_of(name, known):
    """The end of a sentence about an argument that does not exist."""
    if name in OF_FIT:
        return f"; it is the argument {OF_FIT[name]} of fit"
    near = parameter_of((lib.anygp_setting_nearest(name.replace("_", "-").encode()) or b"").decode())
    if near not in known:
        near = next(iter(difflib.get_close_matches(name, known, 1, 0.75)), None)
    return f"; did you mean '{near}'?" if near else ""


def with_settings(cls):
    """Gives a class its __init__, signature and documentation from the table, and from what it has of its own."""
    own = {**OWN, **getattr(cls, "_own_settings", {})}
    known = defaults(own)

    def __init__(self, **given):
        for name in given:
            if name not in known:
                raise TypeError(f"{cls.__name__} has no argument '{name}'{nearest_of(name, known)}")
        for name, default in known.items():
            setattr(self, name, given.get(name, default))

    keyword = inspect.Parameter.KEYWORD_ONLY
    __init__.__signature__ = inspect.Signature(
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)] +
        [inspect.Parameter(name, keyword, default=default) for name, default in known.items()])
    __init__.__qualname__ = cls.__qualname__ + ".__init__"
    cls.__init__ = __init__
    cls.__doc__ = inspect.cleandoc(cls.__doc__).replace("{parameters}", documentation(own))
    return cls
