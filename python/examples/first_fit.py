"""From a CSV file to a picture: python3 first_fit.py [DATA.csv [PICTURE.png]]. The last column is the target."""
# %% The data: a file, or a noisy sine
import sys

import numpy as np
import pandas as pd

from anygp import GPRegressor, plot

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 200))
made_up = pd.DataFrame({"x": x, "y": np.sin(x) + 0.2 * rng.normal(size=200)})
table = pd.read_csv(sys.argv[1]) if len(sys.argv) > 1 else made_up
X, y = table.iloc[:, :-1], table.iloc[:, -1]

# %% The model: a minute at most
model = GPRegressor(kernel="matern52", time_budget=60).fit(X, y)
found = model.scores_  # leave-one-out, or of rows held out
print(f"{model.kernel_}\nrmse {found['rmse']:.4g} ({found['of'].replace('_', ' ')}), R2 {model.score(X, y):.4g}")

# %% The picture
draw = plot.posterior if X.shape[1] == 1 else plot.predicted
try:
    draw(model, X, y).figure.savefig(sys.argv[2] if len(sys.argv) > 2 else "first_fit.png")
except ImportError as why:
    print(why)
