# SPDX-License-Identifier: Apache-2.0
"""SpeechBrain's Brain.fit with a validation after each epoch."""
import truth
import speechbrain
import torch


class Regression(speechbrain.core.Brain):
    def compute_forward(self, batch, stage):
        return self.modules.model(batch[0])

    def compute_objectives(self, predictions, batch, stage):
        return torch.nn.functional.mse_loss(predictions, batch[1])


def rows(count):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(count, 8), torch.randn(count, 1)), batch_size=4)


brain = Regression({"model": torch.nn.Linear(8, 1)}, lambda p: torch.optim.Adam(p), run_opts={"device": "cpu", "noprogressbar": True})
brain.fit(range(3), rows(120), rows(20), progressbar=False)
truth.steps(brain.optimizer_step)
