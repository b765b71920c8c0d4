"""Predicts with every FOLDER/*.json by examples/recipe.py and compares with what FOLDER/*.txt says: rows x, mean and variance of f.
Usage: python3 read_recipes.py EXAMPLES FOLDER"""
import glob, json, math, sys

sys.path.insert(0, sys.argv[1])
import recipe

bad = 0
for path in sorted(glob.glob(sys.argv[2] + "/*.json")):
    target = json.load(open(path))["targets"][0]
    for line in open(path[:-4] + "txt"):
        *x, mean, variance = map(float, line.split())
        (m, *_), (v, *_) = recipe.latents(target, x)
        if not abs(m - mean) <= 1e-12 * (abs(mean) + 1) or not abs(v - variance) <= 1e-12 * (variance + 1e-3 * abs(mean) + 1e-3):
            print(target["model"], "JSON:", m, "is not", mean, "or", v, "is not", variance)
            bad = 1
sys.exit(bad)
