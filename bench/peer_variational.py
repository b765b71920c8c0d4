#!/usr/bin/env python3
"""GPyTorch's variational models, measured for family.py: one JSON line a result.

    peer_variational.py step      --inducing M [--second M2] [--dtype float64] [--repeats 10]
    peer_variational.py collapsed --inducing M --rows n
    peer_variational.py predict   INPUTS.npy --inducing M
    peer_variational.py train     TRAIN.npy TEST.npy --inducing M [--epochs 100] [--natural] [--dtype float32]

step: zero_grad, forward, backward and Adam's update of everything over 1024 random rows of 8 inputs, by the plain and by the
large-batch strategy; with --second orthogonally decoupled ones on top of each.  collapsed: the bound of SGPR and its gradient.  predict: mean
and variance of y, rows per second, by both strategies and several sizes of a batch.  train: scores on TEST after some of the epochs,
against the seconds of training alone; the last column is the target, and all columns are standardised by those of TRAIN.
Needs python3-torch, and gpytorch and linear_operator on PYTHONPATH.  The kernel is rbf with a length-scale per input unless told.
"""
import argparse
import json
import math
import os
import statistics
import sys
import time
import warnings

import numpy as np

try:
    import gpytorch
    import torch
except ImportError as missing:
    sys.exit(f"GPyTorch cannot be imported ({missing}): put gpytorch and linear_operator on PYTHONPATH")

warnings.filterwarnings("ignore")
INPUTS, BATCH = 8, 1024
STRATEGIES = {"plain": gpytorch.variational.VariationalStrategy, "largebatch": gpytorch.variational.LargeBatchVariationalStrategy}
KERNELS = {"rbf": lambda d: gpytorch.kernels.RBFKernel(ard_num_dims=d),
           "matern52": lambda d: gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=d)}


def say(**result):
    print(json.dumps(result), flush=True)


class Prior:
    """The mean and the kernel that all the models here have."""

    def set_prior(self, inputs, kernel):
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(KERNELS[kernel](inputs))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Svgp(Prior, gpytorch.models.ApproximateGP):
    """Z: the inducing inputs; second: those of the mean alone, or None."""

    def __init__(self, Z, second=None, strategy="plain", natural=False, kernel="rbf"):
        parts = gpytorch.variational
        form = parts.NaturalVariationalDistribution if natural else parts.CholeskyVariationalDistribution
        posterior = STRATEGIES[strategy](self, Z, form(len(Z)), learn_inducing_locations=True)
        if second is not None:
            posterior = parts.OrthogonallyDecoupledVariationalStrategy(posterior, second, parts.DeltaVariationalDistribution(len(second)))
        super().__init__(posterior)
        self.set_prior(Z.shape[1], kernel)


class Sgpr(Prior, gpytorch.models.ExactGP):
    def __init__(self, X, y, Z, likelihood):
        super().__init__(X, y, likelihood)
        self.set_prior(Z.shape[1], "rbf")
        self.covar_module = gpytorch.kernels.InducingPointKernel(self.covar_module, Z, likelihood)


def random_rows(n, dtype, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(n, INPUTS, generator=draw, dtype=dtype), torch.randn(n, generator=draw, dtype=dtype)


def timed(work, repeats, warm=2):
    took = []
    for _ in range(warm + repeats):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return dict(best=min(took[warm:]), median=statistics.median(took[warm:]))


# ------------------------------------------------------------------------------------------- steps

def optimisers(model, likelihood, n, natural, rate):
    if not natural:
        return [torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=rate)]
    return [gpytorch.optim.NGD(model.variational_parameters(), num_data=n, lr=0.1),
            torch.optim.Adam([*model.hyperparameters(), *likelihood.parameters()], lr=rate)]


def stepper(model, likelihood, n, natural=False, rate=0.01):
    """A function that does one step over a batch."""
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=n)
    both = optimisers(model, likelihood, n, natural, rate)
    model.train()
    likelihood.train()

    def step(x, y):
        for o in both:
            o.zero_grad()
        (-bound(model(x), y)).backward()
        for o in both:
            o.step()
    return step


def measure_step(a, dtype):
    X, y = random_rows(BATCH, dtype)
    for strategy in STRATEGIES:
        second = random_rows(a.second, dtype, 2)[0] if a.second else None
        model = Svgp(random_rows(a.inducing, dtype, 1)[0], second, strategy).to(dtype)
        likelihood = gpytorch.likelihoods.GaussianLikelihood().to(dtype)
        step = stepper(model, likelihood, 36000, rate=1e-4)
        say(strategy=strategy, dtype=a.dtype, **timed(lambda: step(X, y), a.repeats))


def measure_collapsed(a, dtype):
    X, y = random_rows(a.rows, dtype)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Sgpr(X, y, random_rows(a.inducing, dtype, 1)[0], likelihood).to(dtype)
    bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    model.train()

    def evaluate():
        model.zero_grad()
        (-bound(model(X), y)).backward()

    with gpytorch.settings.max_cholesky_size(10 ** 9):
        say(dtype=a.dtype, **timed(evaluate, a.repeats, warm=1))


# --------------------------------------------------------------------------- prediction and training

def predictions(model, likelihood, X, batch):
    """Mean and variance of y at the rows of X."""
    parts = []
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        for x in X.split(batch):
            q = likelihood(model(x))
            parts.append((q.mean, q.variance))
    return [torch.cat(p) for p in zip(*parts)]


def measure_predict(a, dtype):
    rows = np.load(a.files[0])
    X = torch.tensor((rows - rows.mean(0)) / np.maximum(rows.std(0), 1e-12), dtype=dtype)
    for strategy in STRATEGIES:
        model = Svgp(X[torch.randperm(len(X))[:a.inducing]].clone(), None, strategy).to(dtype)
        likelihood = gpytorch.likelihoods.GaussianLikelihood().to(dtype)
        stepper(model, likelihood, len(X))(X[:BATCH], X[:BATCH, 0])
        model.eval()
        likelihood.eval()
        for batch in (1024, 2048, 4096):
            predictions(model, likelihood, X[:batch], batch)
            took = timed(lambda: predictions(model, likelihood, X, batch), 2, warm=0)
            say(strategy=strategy, dtype=a.dtype, batch=batch, rows_a_second=len(X) / took["best"])


def read_standardised(train, test, dtype):
    train, test = np.load(train), np.load(test)
    centre, sd = train.mean(0), train.std(0)
    sd[sd == 0] = 1
    for rows in (train, test):
        z = torch.tensor((rows - centre) / sd, dtype=dtype)
        yield z[:, :-1].contiguous(), z[:, -1].contiguous()


def scores(model, likelihood, X, y):
    model.eval()
    likelihood.eval()
    mean, variance = (p.double() for p in predictions(model, likelihood, X, 1024))
    square = (y.double() - mean) ** 2
    model.train()
    likelihood.train()
    return dict(rmse=square.mean().sqrt().item(), mnlp=0.5 * (square / variance + (2 * math.pi * variance).log()).mean().item())


def train(a, dtype):
    (X, y), (X_test, y_test) = read_standardised(*a.files, dtype)
    model = Svgp(X[torch.randperm(len(X))[:a.inducing]].clone(), None, a.strategy, a.natural, a.kernel).to(dtype)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(dtype)
    step, seconds, report = stepper(model, likelihood, len(X), a.natural, a.rate), 0.0, 1
    for epoch in range(1, a.epochs + 1):
        began = time.perf_counter()
        for rows in torch.randperm(len(X)).split(BATCH):
            step(X[rows], y[rows])
        seconds += time.perf_counter() - began
        if epoch in (report, a.epochs):
            say(epoch=epoch, seconds=seconds, **scores(model, likelihood, X_test, y_test))
            report = max(report + 1, round(1.4 * report))


def main():
    commands = {"step": measure_step, "collapsed": measure_collapsed, "predict": measure_predict, "train": train}
    p = argparse.ArgumentParser()
    p.add_argument("command", choices=commands)
    p.add_argument("files", nargs="*")
    p.add_argument("--inducing", type=int, default=512)
    p.add_argument("--second", type=int, default=0, help="further inducing inputs, of the mean alone")
    p.add_argument("--rows", type=int, default=30000)
    p.add_argument("--repeats", type=int, default=10)
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--rate", type=float, default=0.01, help="Adam's")
    p.add_argument("--natural", action="store_true", help="natural gradients for q(u)")
    p.add_argument("--strategy", choices=STRATEGIES, default="plain", help="train: the other measurements take both")
    p.add_argument("--kernel", choices=KERNELS, default="rbf")
    p.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.manual_seed(a.seed)
    commands[a.command](a, getattr(torch, a.dtype))


if __name__ == "__main__":
    main()
