#!/usr/bin/env python3
"""GPyTorch's conjugate gradients beside bench_iterative: seconds and error of one objective with its gradient, on the same rows.

    build/release/bench/bench_iterative N 0 dense rows.bin       # prints the log evidence by Cholesky
    python3 bench/peer_iterative.py rows.bin EXACT [probes]      # EXACT: that log evidence

float64 and float32; settings as GPyTorch has them (10 probes, preconditioner of rank 15, tolerance 1 while training), then with a tolerance of 0.01
and a preconditioner of rank 100.  OMP_NUM_THREADS (2).  Needs python3-torch and gpytorch.
"""
import os, sys, time, warnings
import numpy as np, torch, gpytorch

warnings.filterwarnings("ignore")
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
data = np.fromfile(sys.argv[1]).reshape(-1, 9)
exact = float(sys.argv[2])
probes = int(sys.argv[3]) if len(sys.argv) > 3 else 10
n = len(data)


def model(dtype):
    X, y = (torch.tensor(a.copy(), dtype=dtype) for a in (data[:, :8], data[:, 8]))

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    m = Exact(likelihood).to(dtype)
    m.covar_module.base_kernel.lengthscale, m.covar_module.outputscale, likelihood.noise = 3.0, 1.0, 0.1
    m.train(), likelihood.train()
    return m, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, m), X, y


for dtype in (torch.float64, torch.float32):
    for tolerance, rank in ((1.0, 15), (0.01, 100)):
        m, mll, X, y = model(dtype)
        best, values = float("inf"), []
        with gpytorch.settings.max_cholesky_size(0), gpytorch.settings.cg_tolerance(tolerance), gpytorch.settings.max_preconditioner_size(rank), \
                gpytorch.settings.num_trace_samples(probes), gpytorch.settings.max_cg_iterations(1000):
            for r in range(2):
                torch.manual_seed(r)
                m.zero_grad()
                began = time.perf_counter()
                loss = -mll(m(X), y)
                loss.backward()
                best = min(best, time.perf_counter() - began)
                values.append(-loss.item() * n)
        off = [v - exact for v in values]
        print("gpytorch %s, tolerance %g, rank %d, %d probes: n = %d, %.2f s, off by %s nats" %
              (str(dtype)[6:], tolerance, rank, probes, n, best, ", ".join("%.1f" % o for o in off)), flush=True)
