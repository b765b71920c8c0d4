#!/usr/bin/env python3
"""Beside peers, in one run: scikit-learn's GaussianProcessRegressor, and GPyTorch's Cholesky if it can be imported.

    python3 bench/peers.py ANYGP TRAIN.csv[.gz]     (kin40k: 8 inputs, target last, one header line)

Prints, for the first 2000 rows: seconds and objective evaluations of a whole fit by scikit-learn and by anygp (both rbf
with a length-scale per input, noise learned, L-BFGS); for the first 5000 rows: seconds of one objective and gradient.
Same threads for all (OMP_NUM_THREADS).  Needs python3-numpy, python3-sklearn; python3-torch and gpytorch optional.
"""
import gzip, json, os, subprocess, sys, tempfile, time, warnings
import numpy as np

warnings.filterwarnings("ignore")


def load(path, n):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        data = np.loadtxt(f, delimiter=",", skiprows=1, max_rows=n)
    return (data - data.mean(0)) / data.std(0)


def sklearn_fit(data):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    d = data.shape[1] - 1
    kernel = ConstantKernel(1.0) * RBF(np.full(d, d ** 0.5)) + WhiteKernel(0.1)
    count = [0]

    class Counting(GaussianProcessRegressor):
        def log_marginal_likelihood(self, theta=None, eval_gradient=False, clone_kernel=True):
            count[0] += eval_gradient
            return super().log_marginal_likelihood(theta, eval_gradient, clone_kernel)

    began = time.perf_counter()
    g = Counting(kernel).fit(data[:, :-1], data[:, -1])
    seconds = time.perf_counter() - began
    return dict(seconds=round(seconds, 3), evaluations=count[0], log_evidence=round(g.log_marginal_likelihood_value_, 3))


def anygp_fit(program, data, extra=()):
    with tempfile.TemporaryDirectory() as tmp:
        np.save(tmp + "/train.npy", data)
        began = time.perf_counter()
        out = subprocess.run([program, "fit", tmp + "/train.npy", "-o", tmp + "/m.agp", "--model", "exact", "--kernel", "rbf",
                              "--prior", "none", "--json", "-q", *extra], check=True, capture_output=True).stdout
        seconds = time.perf_counter() - began
    info = json.loads(out)
    return dict(seconds=round(seconds, 3), evaluations=info["evaluations"], log_evidence=round(info["objective"]["value"], 3))


def gpytorch_step(data, repeats=3):
    import gpytorch, torch
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    X, y = torch.tensor(data[:, :-1].copy()), torch.tensor(data[:, -1].copy())

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(likelihood).double()
    model.train()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    best = float("inf")
    with gpytorch.settings.fast_computations(False, False, False), gpytorch.settings.max_cholesky_size(10 ** 9):
        for _ in range(repeats):
            began = time.perf_counter()
            model.zero_grad()
            (-objective(model(X), y)).backward()
            best = min(best, time.perf_counter() - began)
    return round(best, 3)


def main():
    program, path = sys.argv[1:3]
    data = load(path, 2000)
    ours = anygp_fit(program, data)
    theirs = sklearn_fit(data)
    each = theirs["seconds"] / theirs["evaluations"] / (ours["seconds"] / ours["evaluations"])
    print("fit, 2000 rows: anygp", ours, " scikit-learn", theirs)
    print(f"  scikit-learn / anygp: whole fit {theirs['seconds'] / ours['seconds']:.1f}, per evaluation {each:.1f}")
    bench = os.path.join(os.path.dirname(os.path.abspath(program)), "bench", "bench_exact")
    mine = subprocess.run([bench, "5000"], check=True, capture_output=True, text=True).stdout
    step = float(mine.split("objective and gradient ")[1].split(" s")[0])
    try:
        peer = gpytorch_step(load(path, 5000))
        print(f"objective and gradient, 5000 rows: anygp {step} s, GPyTorch (Cholesky) {peer} s, ratio {peer / step:.1f}")
    except ImportError as missing:
        print("GPyTorch is not installed:", missing)


if __name__ == "__main__":
    main()
