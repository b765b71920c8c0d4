"""The library's table of models."""
from typing import Any, Dict, List

from ._library import lib

TEXTS = ("name", "summary", "expression", "likelihoods", "targets", "inducing", "rows", "learning", "cost")
FLAGS = ("learned", "anytime", "update", "joint", "mean", "weights")


def models() -> List[Dict[str, Any]]:
    """What the argument `model` takes besides 'auto': a list of dicts, as `anygp models --json` prints it.

    name, summary, expression (an example with options), likelihoods ('gaussian' or 'any'), targets ('one' or
    'several' in one fit), inducing ('none', 'one', 'sets', 'pair', 'optional'), rows ('all', 'blocks', 'parts'), learning
    ('passes', 'steps', 'none'), cost (of a pass or a step) and, True or False, learned (its inducing inputs),
    anytime, update, joint, mean and weights.

    >>> "vfe" in [model["name"] for model in models() if model["update"]]
    True
    """
    def field(i, name):
        return lib.anygp_model_field(i, name.encode()).decode()

    return [{name: field(i, name) for name in TEXTS} | {name: field(i, name) == "yes" for name in FLAGS}
            for i in range(lib.anygp_model_count())]
