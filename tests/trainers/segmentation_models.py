# SPDX-License-Identifier: Apache-2.0
"""segmentation-models-pytorch: a U-Net with train and validation epochs."""
import truth
import segmentation_models_pytorch as smp
import torch

model = smp.Unet("mobilenet_v2", encoder_weights=None, in_channels=3, classes=1)
loss = smp.losses.DiceLoss("binary")
optimizer = torch.optim.Adam(model.parameters())


def rows(count):
    return torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.randn(count, 3, 32, 32), torch.rand(count, 1, 32, 32).round()), batch_size=4)


train, valid, taken = rows(60), rows(8), 0
for _ in range(2):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
        taken += 1
    model.eval()
    with torch.no_grad():
        for x, y in valid:
            loss(model(x), y)
truth.steps(taken)
