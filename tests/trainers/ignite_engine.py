# SPDX-License-Identifier: Apache-2.0
"""Ignite: a supervised trainer, and an evaluator after each epoch."""
import truth
import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer


def rows(count):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(count, 8), torch.randn(count, 1)), batch_size=4)


model, held_out = torch.nn.Linear(8, 1), rows(40)
trainer = create_supervised_trainer(model, torch.optim.Adam(model.parameters()), torch.nn.MSELoss())
evaluator = create_supervised_evaluator(model)
trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: evaluator.run(held_out))
trainer.run(rows(200), max_epochs=3)
truth.steps(trainer.state.iteration)
