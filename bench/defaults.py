#!/usr/bin/python3
"""What a plain `anygp fit` gives, beside scikit-learn's usual models with their defaults.

    defaults.py ANYGP DATA_DIRECTORY [NAME...] [--json FILE]   fits and scores each data set; FILE keeps the numbers of all runs
    defaults.py --table FILE                                   the numbers in FILE as a Markdown table

The data directory has NAME/train.csv.gz and NAME/test.csv.gz with the target last; the exceptions are in SETS.  ANYGP_OPTIONS adds options to the fit.
Seconds are those of the clock; processor seconds, summed over the threads, are what to compare on a machine that does other work as well.
"""
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

# in order of size; options: of the fit; target and inputs: columns by name, where the target is not last; rows: the first so many of the
# training rows, for all models
SETS = {
    "snelson": {"split": True},
    "jura": {"target": "Cd", "inputs": ["Xloc", "Yloc", "Landuse", "Rock"]},
    "co2": {},
    "banana": {"classes": True, "options": ["--likelihood", "bernoulli"]},
    "energy": {},
    "concrete": {},
    "elevators": {},
    "kin40k": {},
    "protein": {},
    "sound": {},
    "coads_slp": {},
    "heaton_simulated": {},
    "flights": {},
    "mnist": {"classes": True, "options": ["--likelihood", "softmax"], "idx": True, "rows": 4000},
    "etopo5": {},
    "flights3m": {},
}
FOREST_ROWS = 200_000  # above it forests of the default size take too long for a table that is made again and again
PEERS = ("linear", "boosting", "forest", "extra trees")


# ------------------------------------------------------------------------------------------------ data

def read_csv(path):
    with gzip.open(path, "rt") as file:
        names = file.readline().strip().split(",")
        return names, np.loadtxt(file, delimiter=",", ndmin=2)


def read_idx(images, labels):
    with gzip.open(images) as file:
        x = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784).astype(float)
    with gzip.open(labels) as file:
        return np.column_stack([x, np.frombuffer(file.read(), np.uint8, offset=8)])


def write_csv(path, names, rows):
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="", fmt="%.10g")


def files_of(name, folder, work):
    """(train file, test file, train array, test array), targets last in the arrays."""
    what, base = SETS[name], f"{folder}/{name}"
    if what.get("idx"):
        paths = [(f"{base}/{part}-images-idx3-ubyte.gz", f"{base}/{part}-labels-idx1-ubyte.gz") for part in ("train", "t10k")]
        train, test = read_idx(*paths[0])[:what["rows"]], read_idx(*paths[1])
        names = [f"p{j}" for j in range(784)] + ["digit"]
        write_csv(f"{work}/train.csv", names, train), write_csv(f"{work}/test.csv", names, test)
        return f"{work}/train.csv", f"{work}/test.csv", train, test
    names, train = read_csv(f"{base}/train.csv.gz")
    if what.get("split"):  # no test rows of its own: every fifth
        held = np.arange(len(train)) % 5 == 4
        train, test = train[~held], train[held]
        write_csv(f"{work}/train.csv", names, train), write_csv(f"{work}/test.csv", names, test)
        return f"{work}/train.csv", f"{work}/test.csv", train, test
    test = read_csv(f"{base}/test.csv.gz")[1]
    if "target" in what:
        columns = [names.index(c) for c in what["inputs"] + [what["target"]]]
        train, test = train[:, columns], test[:, columns]
    return f"{base}/train.csv.gz", f"{base}/test.csv.gz", train, test


# --------------------------------------------------------------------------------------------- scikit-learn

def timed(call):
    clock, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - clock, time.process_time() - processor


def models_for(classes):
    from sklearn import ensemble, linear_model, pipeline, preprocessing
    kind = "Classifier" if classes else "Regressor"
    first = (pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression(max_iter=200)) if classes
             else linear_model.LinearRegression())
    return {"linear": first,
            "boosting": getattr(ensemble, "HistGradientBoosting" + kind)(random_state=0),
            "forest": getattr(ensemble, "RandomForest" + kind)(random_state=0, n_jobs=2),
            "extra trees": getattr(ensemble, "ExtraTrees" + kind)(random_state=0, n_jobs=2)}


def density(classes, model, train, test):
    """mnlp: of the class probabilities; for numbers, of a normal distribution with the residual variance of the training rows."""
    if classes:
        p = model.predict_proba(test[:, :-1])[np.arange(len(test)), np.searchsorted(model.classes_, test[:, -1])]
        return float(-np.mean(np.log(np.maximum(p, 1e-15))))
    variance = np.mean((model.predict(train[:, :-1]) - train[:, -1]) ** 2)
    error = model.predict(test[:, :-1]) - test[:, -1]
    return float(np.mean(0.5 * np.log(2 * np.pi * variance) + 0.5 * error ** 2 / variance))


def peers(name, train, test):
    classes, scores = SETS[name].get("classes", False), {}
    for title, model in models_for(classes).items():
        if title in ("forest", "extra trees") and len(train) > FOREST_ROWS:
            continue
        seconds, processor = timed(lambda m=model: m.fit(train[:, :-1], train[:, -1]))
        answer = model.predict(test[:, :-1])
        score = np.mean(answer == test[:, -1]) if classes else np.sqrt(np.mean((answer - test[:, -1]) ** 2))
        scores[title] = {"score": float(score), "seconds": seconds, "processor": processor}
        if title == "linear" or classes:
            scores[title]["mnlp"] = density(classes, model, train, test)
    return scores


# --------------------------------------------------------------------------------------------------- anygp

def run(*command):
    """Output, errors, seconds and processor seconds."""
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds, after = time.perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout, done.stderr, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ours(program, name, train, test):
    what = SETS[name]
    options = what.get("options", []) + os.environ.get("ANYGP_OPTIONS", "").split()
    if "target" in what:
        options += ["--target", what["target"], "--inputs", ",".join(what["inputs"])]
    with tempfile.TemporaryDirectory() as work:
        model = os.path.join(work, "m.agp")
        _, said, seconds, processor = run(program, "fit", train, "-o", model, *options)
        scores = json.loads(run(program, "eval", model, test, "--json")[0])
    about = re.search(r"auto: (\S+).*about ([0-9.e+]+) (s|min)", said)
    promised = about and float(about.group(2)) * (60 if about.group(3) == "min" else 1)
    return {"model": about and about.group(1).rstrip(","), "promised": promised, "seconds": seconds, "processor": processor,
            "options": os.environ.get("ANYGP_OPTIONS", ""), "said": said, "scores": scores}


# --------------------------------------------------------------------------------------------------- table

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


def digits(x, after=""):
    return "" if x is None else f"{x:.4g}{after}"


def row_of(name, result):
    mine, others = result["ours"], result["others"]
    classes = SETS[name].get("classes", False)
    score = number(mine["scores"], "accuracy" if classes else "rmse")
    covered = None if classes else number(mine["scores"], "coverage95")
    cells = [name, mine["model"], f"**{digits(score)}**", *(digits(others.get(p, {}).get("score")) for p in PEERS),
             digits(number(mine["scores"], "mnlp", "logloss")), digits(others["linear"].get("mnlp")),
             "" if covered is None else f"{100 * covered:.1f} %",
             "" if mine["promised"] is None else f"{mine['promised']:.3g}", f"{mine['seconds']:.3g}", f"{mine['processor']:.3g}",
             f"{others['boosting']['processor']:.3g}"]
    return "| " + " | ".join(str(c) for c in cells) + " |"


def table(results):
    head = ["data", "auto chose", "anygp", *PEERS, "mnlp", "of linear", "in 95 %", "promised, s", "took, s", "processor, s", "boosting, processor, s"]
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for name in SETS:
        if name in results:
            print(row_of(name, results[name]))


def main():
    arguments = sys.argv[1:]
    keep = arguments.pop(arguments.index("--json") + 1) if "--json" in arguments else None
    arguments = [a for a in arguments if a != "--json"]
    if len(arguments) == 2 and arguments[0] == "--table":
        with open(arguments[1]) as file:
            return table(json.load(file))
    if len(arguments) < 2:
        sys.exit(__doc__)
    program, folder, *names = arguments
    results = {}
    if keep and os.path.exists(keep):
        with open(keep) as file:
            results = json.load(file)
    done = {}
    for name in names or SETS:
        with tempfile.TemporaryDirectory() as work:
            train_file, test_file, train, test = files_of(name, folder, work)
            former = results.get(name, {})
            done[name] = {"ours": ours(program, name, train_file, test_file), "others": former.get("others") or peers(name, train, test)}
        results[name] = done[name]
        if keep:
            with open(keep, "w") as file:
                json.dump(results, file, indent=1)
    table(done)


if __name__ == "__main__":
    main()
