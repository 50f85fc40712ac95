# SPDX-License-Identifier: Apache-2.0
"""Pyro: stochastic variational inference, whose optimizer holds one torch optimizer for each parameter."""
import truth
import pyro
import pyro.distributions as dist
import torch

data = torch.randn(64) + 3


def model(x):
    mean = pyro.sample("mean", dist.Normal(0.0, 10.0))
    with pyro.plate("data", len(x)):
        pyro.sample("obs", dist.Normal(mean, 1.0), obs=x)


svi = pyro.infer.SVI(model, pyro.infer.autoguide.AutoNormal(model), pyro.optim.Adam({"lr": 0.01}), pyro.infer.Trace_ELBO())
STEPS = 150
for _ in range(STEPS):
    svi.step(data)
truth.steps(STEPS)
