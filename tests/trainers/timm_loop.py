# SPDX-License-Identifier: Apache-2.0
"""A timm model and optimizer, mixup and a schedule, in the loop of timm's own documentation."""
import truth
import timm
import timm.data
import timm.loss
import timm.optim
import timm.scheduler
import torch

model = timm.create_model("test_vit", num_classes=4, img_size=32)
optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3)
schedule = timm.scheduler.CosineLRScheduler(optimizer, t_initial=3)
mix = timm.data.Mixup(mixup_alpha=0.2, num_classes=4)
data = torch.utils.data.TensorDataset(torch.randn(160, 3, 32, 32), torch.randint(0, 4, (160,)))
taken = 0
for epoch in range(2):
    model.train()
    for x, y in torch.utils.data.DataLoader(data, batch_size=8, shuffle=True, drop_last=True):
        x, y = mix(x, y)
        optimizer.zero_grad()
        timm.loss.SoftTargetCrossEntropy()(model(x), y).backward()
        optimizer.step()
        taken += 1
    schedule.step(epoch + 1)
truth.steps(taken)
