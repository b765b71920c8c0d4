#!/usr/bin/env python3
"""Time to accuracy of `--precision mixed` beside double: both runs of a seed at the same time, one thread each.

    precision.py ANYGP TRAIN TEST "OPTIONS OF FIT" [--seeds 0,1,2] [--ends]

For models that learn by passes: the seconds until the objective is within 0.001 nats per row of the lower of the two that they end with.
--ends, for models that learn by steps, whose objective is an estimate: the seconds of all steps.  Both with the search for a start; test
scores are those at the end.  Needs an otherwise idle machine with two processors.
"""
import argparse
import csv
import json
import os
import shlex
import statistics
import subprocess
import tempfile

PRECISIONS = ("double", "mixed")


def start(a, seed, precision, folder):
    files = {end: os.path.join(folder, precision + end) for end in (".agp", ".csv", ".json")}
    command = [a.anygp, "fit", a.train, "-o", files[".agp"], *shlex.split(a.options), "--seed", str(seed), "--threads", "1",
               "--valid", "0", "--trace", files[".csv"], "--json", "-q", "--precision", precision]
    with open(files[".json"], "w") as out:
        return files, subprocess.Popen(command, stdout=out)


def results(a, files, process):
    assert process.wait() == 0
    scores = json.loads(subprocess.run([a.anygp, "eval", files[".agp"], a.test, "--json"], check=True, capture_output=True).stdout)
    with open(files[".json"]) as f:
        info = json.load(f)
    with open(files[".csv"]) as f:
        trace = [(float(row["seconds"]), float(row["objective"])) for row in csv.DictReader(f) if row["objective"]]
    return {"info": info, "scores": scores, "trace": trace, "rows": info["objective"]["n"]}


def seconds_to(run, least):
    return next(seconds for seconds, objective in run["trace"] if objective >= least)


def pair(a, seed):
    with tempfile.TemporaryDirectory() as folder:
        began = [start(a, seed, p, folder) for p in PRECISIONS]
        runs = [results(a, *b) for b in began]
    if a.ends:
        took = [run["trace"][-1][0] for run in runs]
    else:
        least = min(max(objective for _, objective in run["trace"]) for run in runs) - 1e-3 * runs[0]["rows"]
        took = [seconds_to(run, least) for run in runs]
    return runs, took


def main():
    p = argparse.ArgumentParser()
    for name in ("anygp", "train", "test", "options"):
        p.add_argument(name)
    p.add_argument("--seeds", default="0,1,2")
    p.add_argument("--ends", action="store_true")
    a = p.parse_args()
    ratios = []
    for seed in a.seeds.split(","):
        runs, took = pair(a, seed)
        ratios.append(took[0] / took[1])
        cells = [f"{t:.1f} s; {r['scores']['rmse']:.5g} / {r['scores']['mnlp']:.4f}" for r, t in zip(runs, took)]
        said = runs[1]["info"]["precision"]
        print(f"| {seed} | {cells[0]} | {cells[1]} | {ratios[-1]:.2f} | {said['error']:.1g}{', left' if said['left'] else ''} |", flush=True)
    print(f"median {statistics.median(ratios):.2f}: {a.options}")


if __name__ == "__main__":
    main()
