# SPDX-License-Identifier: Apache-2.0
"""MONAI's SupervisedTrainer on made volumes."""
import truth
import monai
import torch
from monai.engines import SupervisedTrainer

net = monai.networks.nets.UNet(spatial_dims=2, in_channels=1, out_channels=1, channels=(4, 8), strides=(2,))
rows = [{"image": torch.randn(1, 16, 16), "label": torch.rand(1, 16, 16).round()} for _ in range(80)]
trainer = SupervisedTrainer(
    device=torch.device("cpu"), max_epochs=3, train_data_loader=monai.data.DataLoader(rows, batch_size=4), network=net,
    optimizer=torch.optim.Adam(net.parameters()), loss_function=monai.losses.DiceLoss(sigmoid=True))
trainer.run()
truth.steps(trainer.state.iteration)
