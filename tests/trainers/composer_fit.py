# SPDX-License-Identifier: Apache-2.0
"""MosaicML's Composer: accumulation of two microbatches and an evaluation each epoch."""
import truth
import composer
import torch


class Model(composer.models.ComposerModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def forward(self, batch):
        return self.layer(batch[0])

    def loss(self, outputs, batch):
        return torch.nn.functional.mse_loss(outputs, batch[1])


def rows(count):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(count, 8), torch.randn(count, 1)), batch_size=8)


model = Model()
trainer = composer.Trainer(model=model, train_dataloader=rows(320), optimizers=torch.optim.Adam(model.parameters()), max_duration="2ep",
                           device="cpu", device_train_microbatch_size=4, progress_bar=False)
trainer.fit()
truth.steps(trainer.state.timestamp.batch.value)
