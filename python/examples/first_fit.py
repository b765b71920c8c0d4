"""From a CSV file to a picture: python3 first_fit.py [DATA.csv [PICTURE.png]]. The last column is the target."""
import sys

import numpy as np
import pandas as pd

from anygp import GPRegressor, plot

if len(sys.argv) > 1:
    table = pd.read_csv(sys.argv[1])
else:
    x = np.sort(np.random.default_rng(0).uniform(0, 10, 200))
    table = pd.DataFrame({"x": x, "y": np.sin(x) + 0.2 * np.random.default_rng(1).normal(size=200)})
X, y = table.iloc[:, :-1], table.iloc[:, -1]

model = GPRegressor(kernel="matern52", time_budget=60).fit(X, y)
print(f"{model.kernel_}\nleave-one-out rmse {model.leave_one_out_['rmse']:.4g}, R2 {model.score(X, y):.4g}")

draw = plot.posterior if X.shape[1] == 1 else plot.predicted
try:
    draw(model, X, y).figure.savefig(sys.argv[2] if len(sys.argv) > 2 else "first_fit.png")
except ImportError as why:
    print(why)
