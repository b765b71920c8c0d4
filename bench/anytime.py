#!/usr/bin/env python3
"""Paper 000's experiment: pic, fitc and dtc in batch beside pic+, fitc+ and dtc+, with hyperparameters that are learned once,
for each model or by one for all, and shared by the two.  Needs nothing but Python.

    anytime.py ANYGP NAME train.csv.gz test.csv.gz --inducing M --blocks P [--seeds 5] [--steps T] [--sample S] [--learn-with pic] [--out DIR]

Prints a table; writes DIR/NAME.json (everything) and DIR/NAME.svg (RMSE against iterations and time, MNLP against time, PE against TE).
TE (PE) at iteration t is the time (RMSE) of the batch model over that of its anytime variant after t steps, both from the
moment when rows, blocks and inducing inputs are ready; scoring does not count.
"""
import argparse
import csv
import json
import math
import os
import statistics
import subprocess
import tempfile

from plot import Figure

MODELS = ["pic", "fitc", "dtc"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def numbers(path):
    with open(path) as f:
        return [{k: float(v) if v else math.nan for k, v in row.items()} for row in csv.DictReader(f)]


def learn(a, folder, model, iterations):
    """Hyperparameters of one model, by batch on all training rows."""
    path = os.path.join(folder, "learned.agp")
    run(a.anygp, "fit", a.train, "-o", path, "--valid", "0", "--model", model, "--kernel", "rbf", "--inducing", str(a.inducing),
        "--blocks", str(a.blocks), "--iters", str(iterations), "--seed", "0")
    info = json.loads(run(a.anygp, "info", path, "--json"))
    return info["kernel"], info["noise"]


def fit(a, folder, model, seed, kernel, noise, *more):
    path, trace = os.path.join(folder, "m.agp"), os.path.join(folder, "trace.csv")
    run(a.anygp, "fit", a.train, "-o", path, "--valid", "0", "--model", model, "--kernel", kernel, "--noise", str(noise), "--fix", "all",
        "--inducing", str(a.inducing), "--blocks", str(a.blocks), "--seed", str(seed), "--trace", trace, *more)
    return path, numbers(trace)


def linear(a, folder):
    """A linear model: the mean's coefficients and nothing else (a kernel of nearly no variance)."""
    path = os.path.join(folder, "linear.agp")
    run(a.anygp, "fit", a.train, "-o", path, "--valid", "0", "--model", "dtc", "--inducing", "1", "--mean", "linear", "--kernel",
        "rbf(variance=1e-9)", "--fix", "kernel")
    return json.loads(run(a.anygp, "eval", path, a.test, "--json"))


def mean(values):
    return statistics.fmean(values)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("anygp")
    p.add_argument("name")
    p.add_argument("train")
    p.add_argument("test")
    p.add_argument("--inducing", type=int, required=True)
    p.add_argument("--blocks", type=int, required=True)
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--steps", type=int, default=0, help="default: one epoch")
    p.add_argument("--sample", type=int, default=1, help="blocks per step")
    p.add_argument("--learn", type=int, default=30, help="iterations that learn the hyperparameters")
    p.add_argument("--learn-with", default=None, help="learn with this model for all; default: each for itself")
    p.add_argument("--out", default=".")
    a = p.parse_args()
    result = {"data": a.name, "inducing": a.inducing, "blocks": a.blocks, "sample": a.sample, "models": {}}
    with tempfile.TemporaryDirectory() as folder:
        result["linear"] = linear(a, folder)
        for model in MODELS:
            if not (a.learn_with and result["models"]):
                kernel, noise = learn(a, folder, a.learn_with or model, a.learn)
            batch, anytime = [], []
            for seed in range(a.seeds):
                path, trace = fit(a, folder, model, seed, kernel, noise)
                scores = json.loads(run(a.anygp, "eval", path, a.test, "--json"))
                batch.append({"rmse": scores["rmse"], "mnlp": scores["mnlp"],
                              "seconds": trace[-1]["seconds"] - trace[0]["seconds"]})
                steps = ["--iters", str(a.steps)] if a.steps else []
                _, trace = fit(a, folder, model + "+", seed, kernel, noise, "--valid", a.test, "--sample", str(a.sample), *steps)
                start = trace[0]["seconds"]
                anytime.append([{**row, "seconds": row["seconds"] - start} for row in trace[1:]])
            result["models"][model] = {"kernel": kernel, "noise": noise, "batch": batch, "anytime": anytime}
            report(result, model)
    with open(os.path.join(a.out, a.name + ".json"), "w") as f:
        json.dump(result, f)
    draw(result, os.path.join(a.out, a.name + ".svg"))


def curve(m):
    """Means over the seeds at each recorded iteration."""
    rows = []
    for at in zip(*m["anytime"]):
        rows.append({k: mean([r[k] for r in at]) for k in ("iteration", "seconds", "rmse", "mnlp")})
    return rows


def report(result, model):
    m = result["models"][model]
    rmse, mnlp, seconds = (mean([b[k] for b in m["batch"]]) for k in ("rmse", "mnlp", "seconds"))
    rows = curve(m)
    last = rows[-1]
    fast = [r for r in rows if seconds / r["seconds"] >= 25]
    print(f"{result['data']} {model}: batch rmse {rmse:.4f} mnlp {mnlp:.4f} in {seconds:.2f} s; + after {last['iteration']:.0f} "
          f"steps rmse {last['rmse']:.4f} ({100 * (last['rmse'] / rmse - 1):+.2f} %) mnlp {last['mnlp']:.4f}, "
          f"{1000 * last['seconds'] / last['iteration']:.2f} ms a step; linear rmse {result['linear']['rmse']:.4f}")
    if fast:
        r = fast[-1]
        print(f"    at TE {seconds / r['seconds']:.0f} (step {r['iteration']:.0f}): PE {rmse / r['rmse']:.4f}, rmse "
              f"{r['rmse']:.4f}", flush=True)


def draw(result, path):
    f = Figure(4, f"{result['data']}: {result['inducing']} inducing inputs, {result['blocks']} blocks")
    for k, model in enumerate(MODELS):
        m = result["models"][model]
        rows = curve(m)
        rmse, seconds = mean([b["rmse"] for b in m["batch"]]), mean([b["seconds"] for b in m["batch"]])
        f.line(0, [r["iteration"] for r in rows], [r["rmse"] for r in rows], k, model + "+")
        f.level(0, rmse, k, model)
        f.line(1, [r["seconds"] for r in rows], [r["rmse"] for r in rows], k, model + "+")
        f.point(1, seconds, rmse, k, model)
        f.line(2, [r["seconds"] for r in rows], [r["mnlp"] for r in rows], k, model + "+")
        f.point(2, seconds, mean([b["mnlp"] for b in m["batch"]]), k, model)
        f.line(3, [seconds / r["seconds"] for r in rows], [rmse / r["rmse"] for r in rows], k, model + "+")
    f.axes(0, "iterations", "RMSE on the test rows", logx=True)
    f.axes(1, "seconds", "RMSE", logx=True)
    f.axes(2, "seconds", "MNLP", logx=True)
    f.axes(3, "time efficiency TE", "predictive efficiency PE", logx=True)
    f.write(path)


if __name__ == "__main__":
    main()
