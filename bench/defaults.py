#!/usr/bin/python3
"""What a plain `anygp fit` gives, beside scikit-learn's usual models with their defaults: defaults.py ANYGP DATA_DIRECTORY [NAME...]

Prints one row of a Markdown table per data set: rmse (accuracy for classes) of each, the share of test rows in anygp's 95 % intervals,
the seconds that anygp promised before the fit, and those that the fit and gradient boosting took.  --json FILE keeps the numbers.
The data directory has NAME/train.csv.gz and NAME/test.csv.gz, target last.  ANYGP_OPTIONS adds options to the fit.
"""
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
from sklearn.ensemble import (ExtraTreesClassifier, ExtraTreesRegressor, HistGradientBoostingClassifier,
                              HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor)
from sklearn.linear_model import LinearRegression, LogisticRegression

NAMES = ["co2", "energy", "concrete", "elevators", "kin40k", "protein", "coads_slp", "sound", "heaton_simulated", "flights", "etopo5", "banana"]
CLASSES = {"banana"}
FOREST_ROWS = 300_000  # above it forests of the default size take most of an hour


def table(path):
    with gzip.open(path, "rt") as file:
        data = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
    return data[:, :-1], data[:, -1]


def seconds_of(fit):
    start = time.perf_counter()
    fit()
    return time.perf_counter() - start


def peers(name, train, test):
    """{model: (score, seconds)} on the test rows."""
    if name in CLASSES:
        models = {"linear": LogisticRegression(), "boosting": HistGradientBoostingClassifier(random_state=0),
                  "forest": RandomForestClassifier(random_state=0, n_jobs=-1), "extra trees": ExtraTreesClassifier(random_state=0, n_jobs=-1)}
    else:
        models = {"linear": LinearRegression(), "boosting": HistGradientBoostingRegressor(random_state=0),
                  "forest": RandomForestRegressor(random_state=0, n_jobs=-1), "extra trees": ExtraTreesRegressor(random_state=0, n_jobs=-1)}
    scores = {}
    for title, model in models.items():
        if title in ("forest", "extra trees") and len(train[1]) > FOREST_ROWS:
            continue
        seconds = seconds_of(lambda m=model: m.fit(*train))
        answer = model.predict(test[0])
        score = np.mean(answer == test[1]) if name in CLASSES else np.sqrt(np.mean((answer - test[1]) ** 2))
        scores[title] = (float(score), seconds)
    return scores


def ours(program, name, folder):
    """What the program promised, took and reached."""
    options = os.environ.get("ANYGP_OPTIONS", "").split()
    if name in CLASSES:
        options += ["--likelihood", "bernoulli"]
    with tempfile.TemporaryDirectory() as work:
        model = os.path.join(work, "m.agp")
        said = []

        def fit():
            run = subprocess.run([program, "fit", f"{folder}/{name}/train.csv.gz", "-o", model, *options], capture_output=True, text=True, check=True)
            said.append(run.stderr)
        seconds = seconds_of(fit)
        scores = json.loads(subprocess.run([program, "eval", model, f"{folder}/{name}/test.csv.gz", "--json"], capture_output=True, text=True, check=True).stdout)
    about = re.search(r"auto: (\S+).*about ([0-9.]+) s", said[0])
    promise = about and float(about.group(2))
    return {"seconds": seconds, "promised": promise, "model": about and about.group(1).rstrip(","), "scores": scores}


def number(scores, *keys):
    """The first of these names, wherever it stands in the JSON of `eval`."""
    if isinstance(scores, dict):
        for key in keys:
            if isinstance(scores.get(key), (int, float)):
                return scores[key]
        scores = list(scores.values())
    if isinstance(scores, list):
        for part in scores:
            found = number(part, *keys)
            if found is not None:
                return found
    return None


def main():
    arguments = sys.argv[1:]
    keep = arguments.pop(arguments.index("--json") + 1) if "--json" in arguments else None
    arguments = [a for a in arguments if a != "--json"]
    if len(arguments) < 2:
        sys.exit(__doc__)
    program, folder, *names = arguments
    print("| data | anygp chose | anygp | linear | boosting | forest | extra trees | 95 % intervals cover | promised, took | boosting took |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    every = {}
    for name in names or NAMES:
        result = ours(program, name, folder)
        others = peers(name, table(f"{folder}/{name}/train.csv.gz"), table(f"{folder}/{name}/test.csv.gz"))
        score = number(result["scores"], "accuracy") if name in CLASSES else number(result["scores"], "rmse")
        covered = number(result["scores"], "coverage95", "coverage")
        other = {t: f"{others[t][0]:.4g}" if t in others else "" for t in ("linear", "boosting", "forest", "extra trees")}
        promise = "" if result["promised"] is None else f"{result['promised']:.3g} s, "
        print(f"| {name} | {result['model']} | {score:.4g} | " + " | ".join(other.values()) +
              f" | {'' if covered is None else f'{100 * covered:.1f} %' if covered <= 1 else f'{covered:.1f} %'} | {promise}{result['seconds']:.3g} s | {others['boosting'][1]:.2g} s |", flush=True)
        every[name] = {"ours": result, "others": others}
        if keep:
            with open(keep, "w") as file:
                json.dump(every, file, indent=1)


if __name__ == "__main__":
    main()
