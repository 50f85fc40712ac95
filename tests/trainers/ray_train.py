# SPDX-License-Identifier: Apache-2.0
"""Ray Train: two workers under DDP; a clean finish."""
import truth
import ray
import ray.train
import ray.train.torch

STEPS = 80


def loop():
    import torch

    model = ray.train.torch.prepare_model(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()


ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)
trainer = ray.train.torch.TorchTrainer(loop, scaling_config=ray.train.ScalingConfig(num_workers=2))
trainer.fit()
ray.shutdown()
truth.steps(STEPS)
