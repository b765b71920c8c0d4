#!/usr/bin/env python3
"""The variational family beside GPyTorch (peer_variational.py), in one run; prints rows for the tables of RESULTS.md.

    family.py steps     BUILD [--inducing 256,512,1024,2048]      a step of svgp, solve and odvgp, and the peer's
    family.py collapsed BUILD [--rows 30000] [--large 1000000]    vfe's bound and gradient, and the peer's; memory of a fit
    family.py predict   ANYGP TRAIN TEST [--inducing 1024]        rows per second of mean and variance, and the peer's
    family.py race      ANYGP TRAIN TEST --data NAME "OPTIONS"... [--epochs 100] [--ngd 30] [--times 1,2,5,10,20,40]
    family.py accuracy  ANYGP TRAIN TEST "OPTIONS"... [--seeds 0,1,2]
    family.py svdgp     BUILD                                     a step of svdgp against the size of the mean's basis
    family.py mnist     ANYGP IMAGES TEST ["OPTIONS"] [--kernel NAME] [--seeds 0,1,2]   softmax over the digits

BUILD is the folder of the release build, OPTIONS what `anygp fit` takes, in one word: "--model svgp --inducing 512".
race: a tenth of the training rows is held out.  Each of our models is fitted to the others once for each limit of --times; of the
fits whose scores on the rows held out are better than the peer's final ones by --margin, the quickest is chosen, and only then is
it compared on TEST.  Our seconds are those of the whole program, its files included; the peer's are those of its training loop.
Needs numpy; the peer PYTHONPATH as peer_variational.py has it.  Threads: OMP_NUM_THREADS, 2 if not set.
Each row ends with the processors that others kept busy meanwhile, and the load average: above a few tenths, measure again.
"""
import argparse
import gzip
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from plot import COLOURS, Figure

HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = os.environ.setdefault("OMP_NUM_THREADS", "2")


# ------------------------------------------------------------------------------------------- tools

class Run:
    """A program that has ended: its output, the seconds it took and its peak of memory in MB."""

    def __init__(self, *command):
        began = time.perf_counter()
        child = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True)
        self.text = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit("failed: " + " ".join(map(str, command)))
        self.seconds, self.memory = time.perf_counter() - began, usage.ru_maxrss / 1024


class Neighbours:
    """Processors that were busy with the work of others since the last look."""

    def __init__(self):
        self.look()

    def look(self):
        with open("/proc/stat") as f:
            ticks = [int(t) for t in f.readline().split()[1:9]]
        busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
        now, own = time.monotonic(), sum(os.times()[:4])
        before, self.last = getattr(self, "last", (busy, now, own)), (busy, now, own)
        elapsed = now - before[1]
        others = max(0.0, (busy - before[0] - own + before[2]) / elapsed) if elapsed > 0.1 else 0.0
        return f"others {others:.1f}, load {os.getloadavg()[0]:.1f}"


NEIGHBOURS = Neighbours()


def row(*cells, quiet=None):
    print("| " + " | ".join([*cells, NEIGHBOURS.look() if quiet is None else quiet]) + " |", flush=True)


def head(*cells):
    NEIGHBOURS.look()
    print("| " + " | ".join([*cells, "quiet?"]) + " |\n" + "| --- " * (len(cells) + 1) + "|")


def peer(*arguments):
    text = Run(sys.executable, os.path.join(HERE, "peer_variational.py"), *arguments).text
    return [json.loads(line) for line in text.splitlines()]


def fit(a, train, path, options, *more):
    """What `anygp fit --json` says, and the seconds and memory of the whole program."""
    done = Run(a.anygp, "fit", train, "-o", path, "--valid", "0", *shlex.split(options), *more, "--json", "-q")
    info = json.loads(done.text)
    return {"bound": info["objective"]["value"], "status": info["status"], "wall": done.seconds, "memory": done.memory}


def scores(a, path, data):
    return json.loads(Run(a.anygp, "eval", path, data, "--json").text)


def load(path):
    if path.endswith(".npy"):
        return np.load(path)
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        return np.loadtxt(f, delimiter=",", skiprows=1)


def clock(seconds):
    return f"{1000 * seconds:.3g} ms" if seconds < 0.9995 else f"{seconds:.2f} s"


def exponent(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


# --------------------------------------------------------------------------------------- measurements

STEP = re.compile(r"(\w+) ([\d+]+) +([\d.]+) s a step, median ([\d.]+) s(?:, +(\d+) % of dgemm's (\d+))?")
WANTED = {256: 2.5, 512: 2.5, 1024: 3, 2048: 3}


def own_steps(a, which):
    """{"svgp 512": (best, median, share of dgemm's rate in %, that rate)}, and the lines of ratios; which: M, or "sets"."""
    text = Run(os.path.join(a.build, "bench", "bench_svgp"), "gaussian", THREADS, which).text
    found = (STEP.match(line) for line in text.splitlines())
    return ({f"{m[1]} {m[2]}": (float(m[3]), float(m[4]), m[5], m[6]) for m in found if m},
            [line.strip() for line in text.splitlines() if "times svgp" in line])


def in_turns(a, which, name, *size):
    """Ours and the peer's in turns, --rounds times, since the machine's pace changes: of each round the ratio of medians, to the
    quicker of the peer's strategies; what ours said of the rounds."""
    ratios, times, said = [], [], []
    for _ in range(a.rounds):
        ours, lines = own_steps(a, which)
        theirs = min(peer("step", *size), key=lambda r: r["median"])
        ratios.append(theirs["median"] / ours[name][1])
        times.append(f"{clock(theirs['median'])} / {clock(ours[name][1])}")
        said.append((ours[name], lines))
    text = f"median **{statistics.median(ratios):.2f}** of {', '.join(f'{r:.2f} ({t})' for r, t in zip(ratios, times))}"
    return text, said


def steps(a):
    head("what", "command", "result", "wanted")
    for M in (int(M) for M in a.inducing.split(",")):
        repeats = 20 if M < 1024 else 10 if M < 2048 else 6
        text, said = in_turns(a, M, f"svgp {M}", "--inducing", M, "--repeats", repeats)
        row(f"svgp step, M = {M}, float64, batch 1024, d = 8: GPyTorch over anygp", "`family.py steps`", text, f"at least {WANTED.get(M, 3)}")
        row(f"svgp step, M = {M}: (6 M^2 B + M^3) / time as a share of dgemm's rate", "`bench_svgp`",
            ", ".join(f"{s[2]} % of {s[3]} GFLOP/s" for s, _ in said), "at least 50 %" if M >= 512 else "", quiet="as above")
    if a.sets:
        text, said = in_turns(a, "sets", "odvgp 1024+1024", "--inducing", 1024, "--second", 1024)
        for i, model, wanted in (0, "solve", "at most 4, 0.85"), (1, "odvgp", "at most 1.4"):
            row(f"{model} 1024+1024, a step, in turns with svgp", "`bench_svgp`", "; ".join(lines[i] for _, lines in said), wanted)
        row("odvgp 1024+1024, a step: GPyTorch over anygp", "`family.py steps`", text, "at least 4")


def collapsed(a):
    head("what", "command", "result", "wanted")
    text = Run(os.path.join(a.build, "bench", "bench_sparse"), a.rows, a.inducing, THREADS).text
    kept, free = (float(s) for s in re.findall(r"^vfe +rbf .*with gradient ([\d.]+) s", text, re.M))
    theirs = peer("collapsed", "--inducing", a.inducing, "--rows", a.rows, "--repeats", 5)[0]
    row(f"vfe, bound and gradient, M = {a.inducing}, n = {a.rows}: GPyTorch's SGPR (Cholesky, float64) over anygp", "`family.py collapsed`",
        f"{theirs['best'] / kept:.1f} ({theirs['best']:.2f} s / {kept:.3f} s); {theirs['best'] / free:.1f} with no products kept", "at least 4")
    a.anygp = os.path.join(a.build, "anygp")
    for n in (a.large // 10, a.large):
        with tempfile.TemporaryDirectory(dir=a.folder) as folder:
            data = os.path.join(folder, "rows.npy")
            Run(a.anygp, "simulate", "--rows", n, "--inputs", 8, "--features", 50, "--seed", 1, "-o", data)
            got = fit(a, data, os.path.join(folder, "m.agp"), f"--model vfe --inducing {a.inducing} --iters 2 --memory {a.memory}")
        row(f"`anygp fit --model vfe --inducing {a.inducing} --memory {a.memory} --iters 2`, n = {n}", "`family.py collapsed`",
            f"peak of memory {got['memory']:.0f} MB, {got['wall']:.0f} s", "no growth with n")


def predict(a):
    head("what", "command", "result", "wanted")
    test = load(a.test)
    many = np.tile(test, (-(-a.rows // len(test)), 1))[:a.rows]
    with tempfile.TemporaryDirectory() as folder:
        model, data, inputs = (os.path.join(folder, f) for f in ("m.agp", "rows.npy", "inputs.npy"))
        np.save(data, many)
        np.save(inputs, many[:, :-1])
        fit(a, a.train, model, f"--model svgp --kernel rbf --inducing {a.inducing} --iters {a.iters}")
        took = min(Run(a.anygp, "predict", model, data, "-o", os.path.join(folder, "out.npy")).seconds for _ in range(3))
        theirs = [r for dtype in ("float64", "float32") for r in peer("predict", inputs, "--inducing", a.inducing, "--dtype", dtype)]
    ours, quiet = len(many) / took, NEIGHBOURS.look()
    kinds = {(r["dtype"], r["strategy"]): r for r in sorted(theirs, key=lambda r: r["rows_a_second"])}  # the best batch stays
    for (dtype, strategy), r in kinds.items():
        row(f"mean and variance, svgp, M = {a.inducing}, {len(many)} rows: anygp (file to file, float64) over GPyTorch ({dtype}, {strategy}, "
            f"batch {r['batch']})", "`family.py predict`", f"{ours / r['rows_a_second']:.2f} ({ours:.0f} / {r['rows_a_second']:.0f} rows per second)",
            "at least 3" if dtype == "float64" else "", quiet=quiet)


def accuracy(a):
    head("options", "rmse", "mnlp", "bound", "seconds")
    for options in a.options:
        every = []
        for seed in a.seeds.split(","):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m.agp")
                got = fit(a, a.train, path, options, "--seed", seed)
                every.append({**got, **scores(a, path, a.test)})
        cells = [summary(every, "rmse", ".4f"), summary(every, "mnlp", ".4f"), summary(every, "bound", ".1f"), summary(every, "wall", ".1f")]
        row(f"`{options}`", *cells)


def summary(every, key, form):
    values = [e[key] for e in every if e.get(key) is not None]
    if not values:
        return ""
    each = ", ".join(format(v, form) for v in values)
    return f"**{statistics.fmean(values):{form}}** ({each})"


def svdgp(a):
    head("what", "command", "result", "wanted")
    text = Run(os.path.join(a.build, "bench", "bench_svdgp"), "steps").text
    at = [(2.0 ** int(k), float(s), float(c), float(m)) for k, s, c, m in
          re.findall(r"M_alpha 2\^(\d+)  a step takes ([\d.]+) s, ([\d.]+) s of processors; peak of memory (\d+) MB", text)]
    size, seconds, processors, memory = zip(*at)
    row("svdgp, time of a step against M_alpha = 2^12 .. 2^17, M_beta = 128, 1024 rows: exponent", "`bench_svdgp steps`",
        f"{exponent(size, seconds):.2f}; of processors' time {exponent(size, processors):.2f} ({', '.join(f'{s:.3f}' for s in seconds)} s)", "at most 1.1")
    each = (memory[-1] - memory[0]) / (size[-1] - size[0]) * 1024
    row("the same, peak of memory: exponent", "`bench_svdgp steps`",
        f"{exponent(size, memory):.2f} ({', '.join(f'{m:.0f}' for m in memory)} MB; {each:.1f} kB a basis function)", "at most 1.1", quiet="as above")


def windows(size, starts, side=28):
    """A sum of rbf of square windows; an image is side x side pixels, its columns are numbered by rows."""
    parts = (f"rbf(iso,dims=[{','.join(str(side * (r + i) + c + j) for i in range(size) for j in range(size))}])"
             for r in starts for c in starts)
    return f"({'+'.join(parts)})"


KERNELS = {"rbf of all pixels": "rbf(iso)"}
for size, starts in (8, (4, 10, 16)), (12, (2, 8, 14)), (14, (0, 7, 14)):
    KERNELS[f"nine windows of {size} x {size}"] = windows(size, starts)
    KERNELS[f"rbf of all pixels times nine windows of {size} x {size}"] = "rbf(iso)*" + windows(size, starts)


def idx_part(source, folder, name, first, end):
    """Images first .. end - 1 of an IDX file and their labels, as a pair of files of its own; the images' path."""
    for kind, head_size, size in ("images-idx3", 16, 784), ("labels-idx1", 8, 1):
        with gzip.open(source.replace("images-idx3", kind)) as f:
            data = f.read()
        with open(os.path.join(folder, f"{name}-{kind}-ubyte"), "wb") as f:
            f.write(data[:4] + (end - first).to_bytes(4, "big") + data[8:head_size] + data[head_size + first * size:head_size + end * size])
    return os.path.join(folder, f"{name}-images-idx3-ubyte")


def mnist(a):
    """IMAGES is a .gz with its labels beside it.  The kernel is chosen by the mnlp of small models on the last 10000 training images; TEST is looked at once a seed."""
    fixed = "--model svgp --likelihood softmax --standardize none "
    kernel = a.kernel
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.agp")
        if not kernel:
            rest, held = idx_part(a.train, folder, "rest", 0, 50000), idx_part(a.train, folder, "held", 50000, 60000)
            small, found = fixed + "--inducing 300 --iters 300", {}
            head("kernel", "`" + small + "`: accuracy, mnlp on 10000 training images held out", "seconds")
            for name in KERNELS:
                got = fit(a, rest, path, small, "--kernel", KERNELS[name])
                s = scores(a, path, held)
                found[name] = s["mnlp"]
                row(name, f"{100 * s['accuracy']:.2f} %, {s['mnlp']:.4f}", f"{got['wall']:.0f}")
            kernel = min(found, key=found.get)
            print()
        options = fixed + "--inducing 1000 " + " ".join(a.options)
        head("what", "command", "result", "wanted")
        for seed in filter(None, a.seeds.split(",")):
            got = fit(a, a.train, path, options, "--kernel", KERNELS[kernel], "--seed", seed)
            s = scores(a, path, a.test)
            row(f"mnist, {kernel}, seed {seed}: `{options.strip()}`", "`family.py mnist`",
                f"accuracy {100 * s['accuracy']:.2f} %, mnlp {s['mnlp']:.4f}, {got['wall']:.0f} s, {got['memory']:.0f} MB", "at least 98 %")


# --------------------------------------------------------------------------------------------- race

def split(a, folder):
    """The training rows, those to fit, those held out and the test rows, as files; and the target's sd."""
    train, test = load(a.train), load(a.test)
    order = np.random.default_rng(0).permutation(len(train))
    held = len(train) // 10
    parts = {"train": train, "fit": train[order[held:]], "valid": train[order[:held]], "test": test}
    for name, rows in parts.items():
        parts[name] = os.path.join(folder, name + ".npy")
        np.save(parts[name], rows)
    return parts, train[:, -1].std()


def standardised(s, sd):
    return {"rmse": s["rmse"] / sd, "mnlp": s["mnlp"] - math.log(sd)}


def label(options):
    words = shlex.split(options)
    return " ".join(words[words.index(o) + 1] for o in ("--model", "--inducing") if o in words)


def our_curve(a, files, sd, options, folder):
    """A fit for each limit of time, until one ends before its limit."""
    curve, path = [], os.path.join(folder, "m.agp")
    limits = [] if "--time" in shlex.split(options) else a.times.split(",")
    for limit in limits or [None]:
        got = fit(a, files["fit"], path, options, *(["--time", limit] if limit else []))
        at = {"options": options + (f" --time {limit}" if limit else ""), "seconds": got["wall"],
              "valid": standardised(scores(a, path, files["valid"]), sd), **standardised(scores(a, path, files["test"]), sd)}
        curve.append(at)
        row(f"`{at['options']}`", f"{at['seconds']:.2f}", f"{at['valid']['rmse']:.4f} / {at['valid']['mnlp']:.4f}", f"{at['rmse']:.4f} / {at['mnlp']:.4f}")
        if got["status"] != "time limit":
            break
    return curve


def peer_curve(a, files, name, *more):
    curve = peer("train", files["train"], files["test"], "--inducing", a.inducing, "--dtype", a.dtype, "--kernel", a.kernel, *more)
    for at in curve:
        print(f"| GPyTorch, {name}, epoch {at['epoch']} | {at['seconds']:.2f} | | {at['rmse']:.4f} / {at['mnlp']:.4f} | |")
    row(f"GPyTorch, {name}, the whole", f"{curve[-1]['seconds']:.2f}", "", f"{curve[-1]['rmse']:.4f} / {curve[-1]['mnlp']:.4f}")
    return curve


def choose(fits, goal, margin):
    """By the rows held out alone: the quickest that is as good as the goal, or the best of all where none is."""
    good = [f for f in fits if f["valid"]["rmse"] <= goal["rmse"] * (1 - margin) and f["valid"]["mnlp"] <= goal["mnlp"] - margin]
    return min(good, key=lambda f: f["seconds"]) if good else min(fits, key=lambda f: f["valid"]["mnlp"])


def race(a):
    whole = Neighbours()
    with tempfile.TemporaryDirectory() as folder:
        files, sd = split(a, folder)
        head("what", "seconds", "rmse / mnlp on rows held out", "on the test rows")
        peers = []
        if a.epochs:
            peers.append(("Adam", peer_curve(a, files, "Adam", "--epochs", a.epochs), "at least 10"))
        if a.ngd:
            peers.append(("NGD", peer_curve(a, files, "NGD", "--epochs", a.ngd, "--natural"), "at least 5"))
        ours = [our_curve(a, files, sd, options, folder) for options in a.options]
    fits, quiet = [f for curve in ours for f in curve], whole.look()
    print()
    head("what", "command", "result", "wanted")
    for name, curve, wanted in peers:
        verdict(a, name, curve[-1], choose(fits, curve[-1], a.margin), wanted, quiet)
    draw(a, peers, ours)


def verdict(a, name, goal, chosen, wanted, quiet):
    reached = chosen["rmse"] <= goal["rmse"] and chosen["mnlp"] <= goal["mnlp"]
    row(f"{a.data}: seconds to GPyTorch's {goal['rmse']:.4f} / {goal['mnlp']:.4f} ({name}, {goal['epoch']} epochs, {a.kernel}): GPyTorch over anygp", "`family.py race`",
        f"{'' if reached else 'NOT REACHED: '}{goal['seconds'] / chosen['seconds']:.1f} ({goal['seconds']:.1f} s / {chosen['seconds']:.2f} s, "
        f"{chosen['rmse']:.4f} / {chosen['mnlp']:.4f} by `{chosen['options']}`)", wanted, quiet=quiet)


def draw(a, peers, ours):
    f = Figure(2, f"{a.data}: time to accuracy beside GPyTorch's SVGP (M = {a.inducing}, batch 1024)")
    curves = [("peer, " + name, curve) for name, curve, _ in peers] + [(label(c[0]["options"]), c) for c in ours]
    for panel, score in enumerate(("rmse", "mnlp")):
        for k, (name, curve) in enumerate(curves):
            colour, x, y = k % len(COLOURS), [p["seconds"] for p in curve], [p[score] for p in curve]
            f.line(panel, x, y, colour, name)
            f.point(panel, x[-1], y[-1], colour, name)
        for k, (name, curve, _) in enumerate(peers):
            f.level(panel, curve[-1][score], k, name)
        f.axes(panel, "seconds", f"{score.upper()} on the test rows, y of sd 1", logx=True)
    f.write(os.path.join(a.out, f"race_{a.data}.svg"))


# --------------------------------------------------------------------------------------------- main

def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)

    def command(run, *places, options=None):
        c = commands.add_parser(run.__name__)
        c.set_defaults(run=run)
        for place in places:
            c.add_argument(place)
        if options:
            c.add_argument("options", nargs=options)
        return c

    c = command(steps, "build")
    c.add_argument("--inducing", default="256,512,1024,2048")
    c.add_argument("--rounds", type=int, default=3, help="of ours and the peer's in turns")
    c.add_argument("--no-sets", dest="sets", action="store_false", help="leave solve and odvgp out")
    c = command(collapsed, "build")
    c.add_argument("--inducing", type=int, default=512)
    c.add_argument("--rows", type=int, default=30000)
    c.add_argument("--large", type=int, default=1000000, help="rows of the fit whose memory is measured")
    c.add_argument("--memory", default="200M")
    c.add_argument("--folder", help="where its rows go")
    c = command(predict, "anygp", "train", "test")
    c.add_argument("--inducing", type=int, default=1024)
    c.add_argument("--rows", type=int, default=40000, help="the test rows, repeated")
    c.add_argument("--iters", type=int, default=5)
    c = command(accuracy, "anygp", "train", "test", options="+")
    c.add_argument("--seeds", default="0,1,2")
    command(svdgp, "build")
    c = command(mnist, "anygp", "train", "test", options="*")
    c.add_argument("--kernel", choices=KERNELS, help="a name of the table of kernels; none: the best of them on rows held out")
    c.add_argument("--seeds", default="0,1,2")
    c = command(race, "anygp", "train", "test", options="+")
    c.add_argument("--data", required=True, help="name of the data, for the table and the plot")
    c.add_argument("--inducing", type=int, default=512, help="the peer's")
    c.add_argument("--epochs", type=int, default=100, help="the peer's, by Adam; 0: none")
    c.add_argument("--ngd", type=int, default=30, help="the peer's, by natural gradients; 0: none")
    c.add_argument("--dtype", default="float32", help="the peer's")
    c.add_argument("--kernel", default="rbf", help="the peer's: rbf or matern52; ours is in OPTIONS")
    c.add_argument("--times", default="1,2,5,10,20,40", help="limits of time for our models")
    c.add_argument("--margin", type=float, default=0.02, help="by how much validation must be better than the goal")
    c.add_argument("--out", default=os.path.join(HERE, "plots"))
    return p.parse_args()


if __name__ == "__main__":
    chosen = arguments()
    chosen.run(chosen)
