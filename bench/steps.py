#!/usr/bin/env python3
"""Time of an anytime step against the number of rows, from files that stay on disk, and resident memory.

    steps.py ANYGP [--rows 10000,100000,1000000,10000000] [--model fitc+] [--inducing 512] [--steps 300] [--folder DIR]

Each file is made by `anygp simulate` (8 inputs) once; blocks have 1000 rows; hyperparameters are fixed and the printed
schedule is used, so that every step does the same work.  The time of a step is that between the rows of the trace.
"""
import argparse
import csv
import os
import statistics
import subprocess
import tempfile


def measure(a, path, rows, folder):
    trace, model = os.path.join(folder, "trace.csv"), os.path.join(folder, "m.agp")
    command = [a.anygp, "fit", path, "-q", "-o", model, "--valid", "0", "--model", a.model, "--inducing", str(a.inducing), "--blocks",
               str(rows // 1000), "--iters", str(a.steps), "--fix", "all", "--kernel", "rbf(variance=1,lengthscale=0.5)",
               "--noise", "0.01", "--rho", "1", "--tau", "1", "--kappa", "1", "--memory", a.memory, "--threads", a.threads, "--trace", trace]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit("failed: " + " ".join(command))
    with open(trace) as f:
        at = [(int(r["iteration"]), float(r["seconds"])) for r in csv.DictReader(f)]
    pace = [(s2 - s1) / (t2 - t1) for (t1, s1), (t2, s2) in zip(at, at[1:]) if t1 >= 20]
    return statistics.median(pace), usage.ru_maxrss / 1024


def main():
    p = argparse.ArgumentParser()
    p.add_argument("anygp")
    p.add_argument("--rows", default="10000,100000,1000000,10000000")
    p.add_argument("--model", default="fitc+")
    p.add_argument("--inducing", type=int, default=512)
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--memory", default="200M")
    p.add_argument("--threads", default="1", help="one by default: waking a second one takes a time that varies more than what is measured")
    p.add_argument("--folder", default=None)
    p.add_argument("--repeats", type=int, default=3)
    a = p.parse_args()
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        files = []
        for rows in map(int, a.rows.split(",")):
            path = os.path.join(folder, f"{rows}.npy")
            subprocess.run([a.anygp, "simulate", "--rows", str(rows), "--inputs", "8", "--features", "50", "--seed", "1",
                            "-o", path], check=True)
            files.append((rows, path))
        best = {}
        for _ in range(a.repeats):  # in turn, so that a busy moment hits all sizes alike
            for rows, path in files:
                seconds, memory = measure(a, path, rows, folder)
                best[rows] = (min(seconds, best.get(rows, (seconds, 0))[0]), memory)
        for rows, (seconds, memory) in best.items():
            print(f"{rows:>10} rows: {1000 * seconds:.3f} ms a step, peak resident memory {memory:.0f} MB")
        times = [s for s, _ in best.values()]
        print(f"largest over smallest {max(times) / min(times):.3f}")


if __name__ == "__main__":
    main()
