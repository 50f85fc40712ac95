# SPDX-License-Identifier: Apache-2.0
"""accelerate's accumulate() over four batches."""
import truth
import accelerate
import torch

accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=4)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
data = torch.utils.data.TensorDataset(torch.randn(960, 16), torch.randn(960, 1))
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.AdamW(model.parameters()), torch.utils.data.DataLoader(data, batch_size=4))
taken = 0
for x, y in loader:
    with accelerator.accumulate(model):
        accelerator.backward(torch.nn.functional.mse_loss(model(x), y))
        optimizer.step()
        optimizer.zero_grad()
        taken += accelerator.sync_gradients
truth.steps(taken)
