# SPDX-License-Identifier: Apache-2.0
"""Lightning: a sanity check first, then an evaluation of one batch after each epoch."""
import truth
import lightning
import torch


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, _):
        return self.layer(batch[0]).square().mean()

    validation_step = training_step

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def rows(count):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(count, 8)), batch_size=4)


trainer = lightning.Trainer(max_epochs=4, accelerator="cpu", logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Module(), rows(120), rows(4))
truth.steps(trainer.global_step)
