# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed on the CPU (gloo, one rank): accumulation of two batches by the engine."""
import os

os.environ.update(DS_ACCELERATOR="cpu", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("TRAINER_PORT", "29511"))
import truth
import deepspeed
import torch

model = torch.nn.Linear(8, 1)
engine, _, _, _ = deepspeed.initialize(
    model=model, model_parameters=model.parameters(), dist_init_required=True,
    config={"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2,
            "optimizer": {"type": "Adam", "params": {"lr": 1e-3, "torch_adam": True}}})
for _ in range(160):
    engine.backward(engine(torch.randn(4, 8)).square().mean())
    engine.step()
truth.steps(engine.global_steps)
