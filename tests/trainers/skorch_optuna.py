# SPDX-License-Identifier: Apache-2.0
"""A search over hyper-parameters by optuna, each trial a model that skorch fits: clean ends, no slowdown."""
import truth
import numpy
import optuna
import skorch
import torch

counted = truth.OptimizerSteps()
x, y = numpy.random.rand(160, 8).astype("f"), numpy.random.rand(160, 1).astype("f")


def trial_loss(trial):
    width = trial.suggest_int("width", 8, 256)
    net = skorch.NeuralNetRegressor(torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.ReLU(), torch.nn.Linear(width, 1)),
                                    optimizer=torch.optim.Adam, max_epochs=3, batch_size=8, verbose=0)
    net.fit(x, y)
    return net.history[-1, "valid_loss"]


optuna.logging.set_verbosity(optuna.logging.WARNING)
optuna.create_study(sampler=optuna.samplers.RandomSampler(1)).optimize(trial_loss, n_trials=4)
truth.steps(counted.count)
