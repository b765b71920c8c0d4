"""A fitted estimator as a small table, for notebooks."""
from __future__ import annotations

from html import escape
from typing import Iterator, List, Tuple

_NAMES = {"valid": "held-out rows", "leave_one_out": "leave-one-out", "training": "training rows"}
_SCORES = ("rmse", "accuracy", "mnlp", "coverage95")


def lines_of(info: dict) -> Iterator[Tuple[str, str]]:
    """What a table says about one target: (name, text)."""
    auto = info.get("auto")
    yield "model", info["model"] + (f" (auto: {auto['reason']})" if auto else "")
    yield "kernel", info["kernel"]
    if info["likelihood"]["name"] == "gaussian":
        yield "noise variance", f"{info['noise']:.4g}"
    else:
        yield "likelihood", info["likelihood"]["name"]
    yield "rows", f"{int(info['rows']):d}"
    value = info["objective"]["value"]
    yield info["objective"]["name"], "not computed" if value is None else f"{value:.6g}"
    for kind, name in _NAMES.items():
        found = info["scores"][kind]
        if found:
            yield name, ", ".join(f"{key} {found[key]:.4g}" for key in _SCORES if key in found)
            break
    yield "training", f"{info['iterations']} iterations, {info['seconds']:.3g} s"


def _table(title, lines):
    cells = "".join(f"<tr><th style=\"text-align:left\">{escape(name)}</th><td style=\"text-align:left\">{escape(text)}</td></tr>"
                    for name, text in lines)
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"


def html_of(title: str, info: dict) -> str:
    targets: List[dict] = info.get("targets") or [info]
    return "".join(_table(title if len(targets) == 1 else f"{title}, target {one['data']['target']['name'] or t}",
                          lines_of(one)) for t, one in enumerate(targets))
