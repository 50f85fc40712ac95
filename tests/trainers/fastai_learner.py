# SPDX-License-Identifier: Apache-2.0
"""fastai's Learner: a one-cycle fit with a validation after each epoch."""
import truth
import torch
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.callback.progress import ProgressCallback
import fastai.callback.schedule  # noqa: F401, adds fit_one_cycle
from torch import nn


def rows(count):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(count, 8), torch.randn(count, 1)), batch_size=4)


learner = Learner(DataLoaders(rows(160), rows(20)), nn.Linear(8, 1), loss_func=nn.MSELoss())
learner.remove_cbs([ProgressCallback])
learner.fit_one_cycle(3)
truth.steps(3 * 160 // 4)
