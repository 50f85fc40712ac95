# SPDX-License-Identifier: Apache-2.0
"""transformers.Trainer: accumulation of two batches, an evaluation and a checkpoint every 20 steps."""
import tempfile

import truth
import torch
import transformers

model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=1, n_head=2))
rows = []
for _ in range(128):
    ids = torch.randint(0, 64, (16,))
    rows.append({"input_ids": ids, "labels": ids})
with tempfile.TemporaryDirectory() as folder:
    args = transformers.TrainingArguments(
        folder, max_steps=60, per_device_train_batch_size=4, gradient_accumulation_steps=2, eval_strategy="steps",
        eval_steps=20, save_steps=20, report_to=[], disable_tqdm=True, use_cpu=True)
    trainer = transformers.Trainer(model, args, train_dataset=rows, eval_dataset=rows[:16])
    trainer.train()
truth.steps(trainer.state.global_step)
