"""Predicts with a model that `anygp export MODEL -o model.json` wrote, in plain Python.  docs/export.md has the format.
Usage: python3 recipe.py model.json x1 x2 ...     prints mean and variance of f, in the units of the data"""
import json, math, sys

def leaf(p, x, z):
    d, kind, v = p["dims"], p["kind"], (p.get("variance") or p.get("scale") or [0])[0]
    if kind in ("constant", "scale"): return v
    if kind == "linear": return sum(w * x[j] * z[j] for j, w in zip(d, p["variance"]))
    if kind == "categorical": return v * math.exp(-sum(1 / l for j, l in zip(d, p["lengthscale"]) if x[j] != z[j]))
    r2 = sum(((x[j] - z[j]) / l) ** 2 for j, l in zip(d, p["lengthscale"]))
    a = math.sqrt({"matern12": 1, "matern32": 3, "matern52": 5}.get(kind, 0) * r2)
    shape = {"rbf": math.exp(-r2 / 2), "matern12": math.exp(-a), "matern32": (1 + a) * math.exp(-a),
             "matern52": (1 + a + a * a / 3) * math.exp(-a)}
    return v * shape[kind]                                       # others: see the table in docs/kernels.md

def kernel(parts, x, z):
    k = []
    for p in parts:
        pair = (k[p["left"]], k[p["right"]]) if "left" in p else None
        k.append(sum(pair) if p["kind"] == "sum" else pair[0] * pair[1] if pair else leaf(p, x, z))
    return k[-1]

def latents(t, row):
    x = [0.0] * sum(i["position"] is not None for i in t["inputs"])
    for cell, i in zip(row, t["inputs"]):
        if i["position"] is not None: x[i["position"]] = (cell - i["shift"]) / i["scale"]
    mean, var, vec = [0.0] * t["latents"], [0.0] * t["latents"], {v: [0.0] * n for v, n in t["vectors"].items()}
    for s in t["steps"]:
        A, c, at, n = t["arrays"].get(s.get("array")), s.get("latent"), s.get("at", 0), s.get("n", 0)
        v, part = vec.get(s.get("vector")), lambda: vec[s["vector"]][at:at + n]
        if s["op"] == "kernel": v[at:at + n] = [kernel(t["kernel"], x, A[i * len(x):(i + 1) * len(x)]) for i in range(n)]
        elif s["op"] == "basis": v[at:at + n] = [s["factor"] * (1 if j < 0 else x[j]) for j in t["basis"]]
        elif s["op"] == "copy": v[at:at + n] = vec[s["from"]][s["from_at"]:s["from_at"] + n]
        elif s["op"] == "solve":
            for i in range(n): v[at + i] = (v[at + i] - sum(A[i * (i + 1) // 2 + j] * v[at + j] for j in range(i))) / A[i * (i + 3) // 2]
        elif s["op"] == "take":
            u, m = vec[s["from"]], s["from_n"]
            for i in range(n): v[at + i] -= sum(A[i * m + j] * u[s["from_at"] + j] for j in range(m))
        elif s["op"] == "mean": mean[c] += sum(a * b for a, b in zip(A, part()))
        elif s["op"] == "prior": var[c] = kernel(t["kernel"], x, x)
        elif s["op"] == "square": var[c] += s["factor"] * sum(a * a for a in part())
        elif s["op"] == "floor": var[c] = max(var[c], 0)
        elif s["op"] == "same": var[c] = var[0]
        else: raise SystemExit("this reader does not know the step " + s["op"])
    return [t["shift"] + t["scale"] * mean[0]] + mean[1:], [t["scale"] ** 2 * max(var[0] * t["calibration"], 0)] + var[1:]

if __name__ == "__main__":
    model = json.load(open(sys.argv[1]))
    for target in model["targets"]:
        mean, variance = latents(target, [float(a) for a in sys.argv[2:]])
        print(repr(mean[0]), repr(variance[0]))
