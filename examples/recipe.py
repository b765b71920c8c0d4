"""Predicts with a model that `anygp export MODEL -o model.json` wrote, in plain Python.  docs/export.md has the format.
Usage: python3 recipe.py model.json x1 x2 ...     prints mean and variance of f, in the units of the data"""
import json, math, sys

# ------------------------------------------------------------------------------------------- kernels

def wendland(q, D, r):
    j = D // 2 + q + 1
    if r >= 1: return 0.0
    p = [1, (j + 1) * r + 1, ((j * j + 4 * j + 3) * r * r + (3 * j + 6) * r + 3) / 3,
         ((j ** 3 + 9 * j * j + 23 * j + 15) * r ** 3 + (6 * j * j + 36 * j + 45) * r * r + (15 * j + 45) * r + 15) / 15][q]
    return (1 - r) ** (j + q) * p

def arccosine(p, x, z):
    b, w, order = p["bias"][0], p["weight"], p.get("order", 0)
    xx = math.sqrt(b + sum(v * x[j] ** 2 for j, v in zip(p["dims"], w)))
    zz = math.sqrt(b + sum(v * z[j] ** 2 for j, v in zip(p["dims"], w)))
    parts = [(math.sqrt(b) / xx, math.sqrt(b) / zz)]
    parts += [(math.sqrt(v) * x[j] / xx, math.sqrt(v) * z[j] / zz) for j, v in zip(p["dims"], w)]
    t = 2 * math.atan2(math.sqrt(sum((u - v) ** 2 for u, v in parts)), math.sqrt(sum((u + v) ** 2 for u, v in parts)))
    c, s = math.cos(t), math.sin(t)
    angle = [math.pi - t, s + (math.pi - t) * c, 3 * s * c + (math.pi - t) * (1 + 2 * c * c)][order]
    return p["variance"][0] / math.pi * (xx * zz) ** order * angle

def leaf(p, x, z):
    d, kind, v = p["dims"], p["kind"], (p.get("variance") or p.get("scale") or [0])[0]
    turn = lambda u: math.cos(2 * math.pi * math.remainder(u, 1))
    if kind == "white": return 0.0                                # of two different rows
    if kind in ("constant", "scale"): return v
    if kind == "linear": return sum(w * x[j] * z[j] for j, w in zip(d, p["variance"]))
    if kind == "polynomial": return v * (p["offset"][0] + sum(w * x[j] * z[j] for j, w in zip(d, p["weight"]))) ** p["order"]
    if kind == "arccosine": return arccosine(p, x, z)
    if kind == "categorical": return v * math.exp(-sum(1 / l for j, l in zip(d, p["lengthscale"]) if x[j] != z[j]))
    if kind == "cosine": return v * math.prod(turn((x[j] - z[j]) / l) for j, l in zip(d, p["period"]))
    if kind == "periodic":
        return v * math.exp(-2 * sum((math.sin(math.pi * math.remainder((x[j] - z[j]) / t, 1)) / l) ** 2
                                     for j, t, l in zip(d, p["period"], p["lengthscale"])))
    if kind == "sm":
        each = [[(x[j] - z[j], p["lengthscale"][q * len(d) + i], p["frequency"][q * len(d) + i]) for i, j in enumerate(d)]
                for q in range(p["order"])]
        return sum(w * math.prod(math.exp(-(u / l) ** 2 / 2) * turn(f * u) for u, l, f in row) for w, row in zip(p["weight"], each))
    r2 = sum(((x[j] - z[j]) / l) ** 2 for j, l in zip(d, p["lengthscale"]))
    if kind == "rbf": return v * math.exp(-r2 / 2)
    if kind == "rq": return v * math.exp(-p["alpha"][0] * math.log1p(r2 / (2 * p["alpha"][0])))
    if kind.startswith("wendland"): return v * wendland(int(kind[-1]), len(d), math.sqrt(r2))
    a = math.sqrt({"matern12": 1, "matern32": 3, "matern52": 5}[kind] * r2)
    return v * {"matern12": 1, "matern32": 1 + a, "matern52": 1 + a + a * a / 3}[kind] * math.exp(-a)

def kernel(parts, x, z, end=None):
    k = []
    for p in parts[:end]:
        pair = (k[p["left"]], k[p["right"]]) if "left" in p else None
        k.append(sum(pair) if p["kind"] == "sum" else pair[0] * pair[1] if pair else leaf(p, x, z))
    return k[-1]

def left_term(parts): return parts[-1]["left"] + 1 if parts[-1]["kind"] == "sum" else len(parts)

def scaled(parts, x, z, widths):
    p, e = next(p for p in parts if p["kind"] == "rbf"), 0.0
    for j, l in zip(p["dims"], p["lengthscale"]):
        c, u = math.exp(widths[j]), (z[j] - x[j]) / l
        e += u * u / (1 + c * c) - 0.5 * math.log(2 * c / (1 + c * c))
    scale = math.prod(q["scale"][0] for q in parts if q["kind"] == "scale")
    return scale * p["variance"][0] * math.exp(-e)

# ------------------------------------------------------------------------------------ linear algebra

def dot(a, b): return sum(u * v for u, v in zip(a, b))

def solve(n, L, v):
    for i in range(n): v[i] = (v[i] - dot(L[i * (i + 1) // 2:], v[:i])) / L[i * (i + 3) // 2]
    return v

def back(n, L, v):
    for i in reversed(range(n)):
        v[i] /= L[i * (i + 3) // 2]
        for j in range(i): v[j] -= L[i * (i + 1) // 2 + j] * v[i]
    return v

def factor(n, v):
    for i in range(n):
        for j in range(i + 1):
            row, col = i * (i + 1) // 2, j * (j + 1) // 2
            s = v[row + j] - dot(v[row:row + j], v[col:col + j])
            v[row + j] = math.sqrt(s) if i == j else s / v[col + j]
    return v

# ---------------------------------------------------------------------- parts, neighbours and experts

def route(tree, cols, x):
    node = lambda r: tree[r * cols:(r + 1) * cols]
    apart = lambda r: sum((a - b) ** 2 for a, b in zip(x, node(r)[2:]))
    at = min(range(1, int(tree[1]) + 1), key=apart) if tree[0] != 1 else 1
    while node(at)[0] > 0:
        here, first = node(at), int(node(at)[0])
        is_first = x[int(here[2])] <= here[3] if tree[0] == 1 else apart(first) <= apart(first + 1)
        at = first if is_first else first + 1
    return int(node(at)[1])

def design(k, z, noise, x, rows, start, close):
    t, s = [k(z[i], z[i]) + noise[i] for i in close], [k(z[i], x) for i in close]
    least, V, chosen = [1e-12 * k(z[i], z[i]) for i in close], [], []
    while len(chosen) < rows:
        fit = [i for i in range(len(close)) if i not in chosen and t[i] > least[i]]
        if not fit: break
        p = fit[0] if len(chosen) < start else max(fit, key=lambda i: s[i] ** 2 / t[i])
        root = math.sqrt(t[p])
        own = s[p] / root
        V.append([(k(z[c], z[close[p]]) - sum(v[i] * v[p] for v in V)) / root for i, c in enumerate(close)])
        for i, v in enumerate(V[-1]): t[i], s[i] = t[i] - v * v, s[i] - v * own
        chosen.append(p)
    return [close[i] for i in chosen]

def weigh_experts(K, k, v0):
    scale = [1 / math.sqrt(row[i]) if row[i] > max(0, 1e-200 * v0) else 0.0 for i, row in enumerate(K)]
    n, lam, L = len(k), [0.0] * len(k), None
    if not any(scale): return lam
    for power in range(-12, 0):
        try:
            L = factor(n, [scale[i] * scale[j] * K[i][j] if i != j else 1 + 10.0 ** power for i in range(n) for j in range(i + 1)])
            break
        except ValueError: pass
    z = [a * b for a, b in zip(scale, k)]
    for _ in range(2):
        z = back(n, L, solve(n, L, z))
        lam = [a + b * c for a, b, c in zip(lam, scale, z)]
        z = [scale[i] * (k[i] - dot(K[i], lam)) for i in range(n)]
    return lam

def weigh_groups(K, k, v0):
    size = math.ceil(math.sqrt(len(k)))
    groups = [range(a, min(a + size, len(k))) for a in range(0, len(k), size)]
    lam = [w for g in groups for w in weigh_experts([[K[i][j] for j in g] for i in g], [k[i] for i in g], v0)]
    K2 = [[sum(lam[i] * lam[j] * K[i][j] for i in g for j in h) for h in groups] for g in groups]
    top = weigh_experts(K2, [sum(lam[i] * k[i] for i in g) for g in groups], v0)
    return [w * top[i // size] for i, w in enumerate(lam)]

# ---------------------------------------------------------------------------------------- the steps

class Run:
    def __init__(self, t, x):
        self.t, self.x, self.part, self.list = t, x, -1, []
        self.mean, self.var = [0.0] * t["slots"], [0.0] * t["slots"]
        self.vec = {v: [0.0] * n for v, n in t["vectors"].items()}
        self.weight = [1 / t["components"]] * t["components"]

    def at(self, s, name):                                       # the numbers of a place, to the end of its array or vector
        values = self.vec[s[name]] if s[name] in self.vec else self.t["arrays"][s[name]]
        return values[s.get(name + "_at", 0):]

    def put(self, s, values, row=0):
        first = s.get("to_at", 0) + row * len(values)
        self.vec[s["to"]][first:first + len(values)] = values

    def step(self, s):
        if s.get("part", self.part) == self.part: getattr(self, s["op"])(s, self.count(s.get("n", 0)))

    def count(self, n): return len(self.list) if n < 0 else n
    def kern(self, s): return lambda x, z: kernel(self.t["kernels"][s.get("kernel", 0)], x, z)
    def rows_of(self, A, n, w): return [A[i * w:(i + 1) * w] for i in range(n)]

    def each_row(self, s, n, function):                          # of one row x, or of as many as a step works on
        x, w = self.vec[s["input"]] if "input" in s else self.x, s.get("width", 0)
        if "rows" not in s: return self.put(s, function(x[:w]))
        for r in range(self.count(s["rows"])): self.put(s, function(x[r * w:(r + 1) * w]), r)

    def kernel(self, s, n):
        z, k = self.rows_of(self.at(s, "array"), n, s["width"]), self.kern(s)
        self.each_row(s, n, lambda x: [k(x, c) for c in z])
    def left(self, s, n):
        z, parts = self.rows_of(self.at(s, "array"), n, s["width"]), self.t["kernels"][s.get("kernel", 0)]
        self.each_row(s, n, lambda x: [kernel(parts, x, c, left_term(parts)) for c in z])
    def scaled(self, s, n):
        z, c = (self.rows_of(self.at(s, name), n, s["width"]) for name in ("array", "other"))
        parts = self.t["kernels"][s.get("kernel", 0)]
        z, c = list(z), list(c)
        self.each_row(s, n, lambda x: [scaled(parts, x, a, b) for a, b in zip(z, c)])
    def waves(self, s, n):
        z, w = self.rows_of(self.at(s, "array"), n // 2, s["width"]), self.at(s, "other")
        self.each_row(s, n, lambda x: [f(dot(a, x)) * b for f in (math.cos, math.sin) for a, b in zip(z, w)])
    def basis(self, s, n): self.each_row(s, n, lambda x: [s["factor"] * (1 if j < 0 else x[j]) for j in self.t["basis"]])
    def frame(self, s, n):
        self.put(s, [(x - a) / b for x, a, b in zip(self.x, self.at(s, "array"), self.at(s, "other")) if b > 0])
    def copy(self, s, n): self.put(s, self.at(s, "from")[:n])
    def solve(self, s, n):
        L, v = self.at(s, "array"), self.at(s, "to")
        for r in range(self.count(s.get("rows", 1))): self.put(s, solve(n, L, v[r * n:(r + 1) * n]), r)
    def back(self, s, n): self.put(s, back(n, self.at(s, "array"), self.at(s, "to")[:n]))
    def root(self, s, n):
        R, v = self.at(s, "array"), self.at(s, "to")[:n]
        self.put(s, [sum(R[i * (i + 1) // 2 + j] * v[i] for i in range(j, n)) for j in range(n)])
    def product(self, s, n):
        m = self.count(s["from_n"])
        return [dot(a, self.at(s, "from")) for a in self.rows_of(self.at(s, "array"), n, m)]
    def times(self, s, n): self.put(s, self.product(s, n))
    def take(self, s, n): self.put(s, [a - b for a, b in zip(self.at(s, "to"), self.product(s, n))])
    def mix(self, s, n):
        A, u = self.rows_of(self.at(s, "array"), self.count(s["from_n"]), n), self.at(s, "from")
        self.put(s, [v - sum(a[i] * b for a, b in zip(A, u)) for i, v in enumerate(self.at(s, "to")[:n])])
    def weigh(self, s, n): self.put(s, [a * b for a, b in zip(self.at(s, "to")[:n], self.at(s, "array"))])

    def add_mean(self, s, more): self.mean[s.get("slot", 0)] += more
    def add_var(self, s, more): self.var[s.get("slot", 0)] += more
    def set_var(self, s, value): self.var[s.get("slot", 0)] = value
    def of(self, s): return self.var[s.get("of", 0)]
    def shift(self, s, n): self.add_mean(s, s["factor"])
    def clear(self, s, n): self.mean[s.get("slot", 0)] = self.var[s.get("slot", 0)] = 0.0
    def prior(self, s, n):
        x = self.vec[s["input"]][:s["width"]] if "input" in s else self.x
        self.set_var(s, self.kern(s)(x, x))
    def square(self, s, n): self.add_var(s, s["factor"] * dot(self.at(s, "from")[:n], self.at(s, "array" if "array" in s else "from")))
    def floor(self, s, n): self.set_var(s, max(self.var[s.get("slot", 0)], s["factor"] * self.of(s) if s["factor"] else 0))
    def same(self, s, n): self.set_var(s, self.of(s))
    def noise(self, s, n): pass                                  # of y, not of f

    def route(self, s, n):
        self.part = route(self.at(s, "array"), s["from_n"], self.x)
        if "other" in s: self.part = int(self.at(s, "other")[self.part])
    def near(self, s, n):
        z, k = self.rows_of(self.at(s, "array"), s["from_n"], s["width"]), self.kern(s)
        def correlation(i):
            a = k(z[i], z[i]) * k(self.x, self.x)
            return round(max(0, 1 - abs(k(z[i], self.x)) / math.sqrt(a) if a > 0 else 1) * 2 ** 36)
        w = self.at(s, "other") if "other" in s else []
        euclid = lambda i: sum((a * u - a * v) ** 2 for a, u, v in zip(w, z[i], self.x))
        self.list = sorted(range(len(z)), key=euclid if w else correlation)[:n]
    def around(self, s, n):
        z, w = self.rows_of(self.at(s, "array"), s["from_n"], s["width"]), self.at(s, "other")
        apart = lambda a, b: sum((c * u - c * v) ** 2 for c, u, v in zip(w, a, b))
        gaps, k, x = self.at(s, "from"), len(self.list), self.x
        first, last = (apart(z[self.list[i]], x) for i in (0, -1))
        length = next((int(gaps[g + 1]) * k for g in range(0, len(gaps), 2) if first > gaps[g] ** 2 * last), k)
        length = min(length, n)
        if length <= k: return
        cell = 2.0 ** (math.frexp(math.sqrt(first) / 2)[1] - 1)
        mid = [(math.floor(c * v / cell) + 0.5) * cell if c else 0 for c, v in zip(w, x)]
        side, by = {}, sorted((sum((c * u - m) ** 2 for c, u, m in zip(w, r, mid)), i) for i, r in enumerate(z))
        for d, i in by: side.setdefault(tuple(c * u >= m for c, u, m in zip(w, z[i], mid) if c), []).append((d, i))
        near, found = sorted(c for rows in side.values() for c in rows[:length // 2]), []
        wide = lambda d, i: all(apart(z[i], z[j]) > s["factor"] ** 2 * d for j in found)
        for d, i in near:
            if len(found) < length and (len(found) < length // 4 or wide(d, i)): found.append(i)
        self.list = (found + [i for d, i in near if i not in set(found)])[:length]
    def design(self, s, n):
        z = self.rows_of(self.at(s, "array"), max(self.list) + 1, s["width"])
        self.list = design(self.kern(s), z, self.at(s, "other"), self.x, n, s["from_n"], self.list)
    def gather(self, s, n):
        A, w = self.at(s, "array"), s["from_n"]
        self.put(s, [v for i in self.list for v in A[i * w:(i + 1) * w]])
    def gram(self, s, n):
        z, k = self.rows_of(self.at(s, "array"), n, s["width"]), self.kern(s)
        more = self.at(s, "other") if "other" in s else [s["factor"]] * n
        self.put(s, [k(z[i], z[j]) + (more[i] if i == j else 0) for i in range(n) for j in range(i + 1)])
    def less(self, s, n):
        F, G = self.rows_of(self.at(s, "array"), n, s["from_n"]), self.at(s, "to")
        self.put(s, [G[i * (i + 1) // 2 + j] - dot(F[i], F[j]) for i in range(n) for j in range(i + 1)])
    def factor(self, s, n): self.put(s, factor(n, self.at(s, "to")[:n * (n + 1) // 2]))

    def open(self, s, n): self.put(s, [0.0, 1 / (self.of(s) + s["factor"]) if "prior" in s["rule"] else 0.0, 0.0, 0.0])
    def join(self, s, n):
        c, rule, sums = s.get("slot", 0), s["rule"], self.at(s, "to")
        v0, v, m = self.of(s) + s["factor"], self.var[c] + s["factor"], self.mean[c]
        b = 0.5 * (math.log(v0) - math.log(v)) if "entropy" in rule else 1
        if "entropy" in rule and "prior" not in rule: b = max(b, 1e-16)
        more = b * (1 / v - (1 / v0 if "prior" in rule else 0))
        self.put(s, [sums[0] + b, sums[1] + more, sums[2] + b * m / v, sums[3] + more * s["plus"]])
    def agree(self, s, n):
        w, p, m, noise = self.at(s, "from")[:4]
        extra = noise / p if "own" in s["rule"] and p > 0 else s["factor"]
        self.mean[s.get("slot", 0)] = self.mean[s.get("of", 0)] + m / p
        self.set_var(s, (w if "normalised" in s["rule"] else 1) / p)
        if "observed" in s["rule"]: self.set_var(s, max(self.var[s.get("slot", 0)] - extra, 0))
    def nested(self, s, n):
        Q, first, k = s["from_n"], s["of"] + 1, self.kern(s)
        start, u = [int(a) for a in self.at(s, "other")], self.at(s, "from")
        z = self.rows_of(self.at(s, "array"), start[-1], s["width"])
        def both(a, b): return k(a, b) + s["factor"] * sum(1 if j < 0 else a[j] * b[j] for j in self.t["basis"])
        K, kA = [[0.0] * Q for _ in range(Q)], self.var[first:first + Q]
        for i in range(Q):
            for j in range(i):
                K[i][j] = K[j][i] = sum(u[a] * u[b] * both(z[a], z[b]) for a in range(start[i], start[i + 1]) for b in range(start[j], start[j + 1]))
            K[i][i] = kA[i]
        lam = (weigh_groups if "levels" in s["rule"] else weigh_experts)(K, kA, self.of(s))
        self.mean[s.get("slot", 0)] = dot(lam, self.mean[first:])
        self.set_var(s, max(self.of(s) - 2 * dot(lam, kA) + sum(a * dot(row, lam) for a, row in zip(lam, K)), 0))

    def pass_on(self, s, n):
        x, c = self.vec[s["input"]] if "input" in s else self.x, s.get("slot", 0)
        self.put(s, [x[i] + a * (self.mean[c + i] + math.sqrt(max(self.var[c + i], 0) + s["factor"]) * e)
                     for i, a, e in zip(range(n), self.at(s, "array"), self.at(s, "other"))])
    def gate(self, s, n):
        first = s["of"]
        by = 1 / math.sqrt(1 + s["factor"] * self.var[first])
        most = max(m * by for m in self.mean[first:first + n])
        e = [math.exp(m * by - most) for m in self.mean[first:first + n]]
        self.weight = [v / sum(e) for v in e]
    def augment(self, s, n):
        k, v = self.kern(s)(self.x, self.x), self.at(s, "from")[:n]
        self.add_var(s, s["factor"] * k * k / (dot(v, v) + s["factor"] * k))

setattr(Run, "pass", Run.pass_on)
Run.mean_step = lambda self, s, n: self.add_mean(s, s["factor"] * dot(self.at(s, "array"), self.at(s, "from")[:n]))

def latents(t, row):
    x = [0.0] * sum(i["position"] is not None for i in t["inputs"])
    for cell, i in zip(row, t["inputs"]):
        if i["position"] is not None: x[i["position"]] = (cell - i["shift"]) / i["scale"]
    run = Run(t, x)
    for s in t["steps"]: run.step(dict(s, op="mean_step") if s["op"] == "mean" else s)
    C, S, mean, variance = t["latents"], t["components"], [], []
    for c in range(C):                                           # of mixtures: the moments of all components together
        m, v = run.mean[c:S * C:C], [max(a * t["calibration"], 0) for a in run.var[c:S * C:C]]
        mean.append(dot(run.weight, m))
        variance.append(dot(run.weight, [a + (b - mean[c]) ** 2 for a, b in zip(v, m)]))
    return [t["shift"] + t["scale"] * mean[0]] + mean[1:], [t["scale"] ** 2 * variance[0]] + variance[1:]

if __name__ == "__main__":
    model = json.load(open(sys.argv[1]))
    for target in model["targets"]:
        mean, variance = latents(target, [float(a) for a in sys.argv[2:]])
        print(repr(mean[0]), repr(variance[0]))
