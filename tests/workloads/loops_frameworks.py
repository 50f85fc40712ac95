# SPDX-License-Identifier: Apache-2.0
"""Trainers that own the loop: Lightning, Hugging Face, accelerate. Tiny models made here, nothing fetched."""
import torch

from journal import kind
from models import data, loss_of, network


@kind("lightning", steps=60)
def lightning(log):
    """Accumulates two batches and validates after every epoch of 20 batches."""
    import lightning as L

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = network()

        def training_step(self, batch, _):
            return loss_of(self.model(batch[0]), batch[1])

        def validation_step(self, batch, _):
            loss_of(self.model(batch[0]), batch[1])

        def on_before_backward(self, _):
            log.backward()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

        def optimizer_step(self, *args, **fields):
            super().optimizer_step(*args, **fields)
            log.step()

    loader = torch.utils.data.DataLoader(data(160), batch_size=8)
    held_out = torch.utils.data.DataLoader(data(32), batch_size=8)
    trainer = L.Trainer(max_steps=log.steps, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, accumulate_grad_batches=2,
                        num_sanity_val_steps=2)
    trainer.fit(Module(), loader, held_out)


@kind("hf_trainer", steps=40)
def hf_trainer(log):
    """transformers.Trainer on a tiny Bert: two accumulated batches, evaluation and checkpoints."""
    import transformers

    class Watcher(transformers.TrainerCallback):
        def on_substep_end(self, *_, **__):
            log.backward()

        def on_pre_optimizer_step(self, *_, **__):
            log.backward()

        def on_optimizer_step(self, *_, **__):
            log.step()

    model = transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64))
    rows = [{"input_ids": torch.randint(0, 100, (16,)), "labels": i % 2} for i in range(160)]
    arguments = transformers.TrainingArguments(
        output_dir=log.out + ".saved", max_steps=log.steps, per_device_train_batch_size=8, report_to=[],
        gradient_accumulation_steps=2, use_cpu=True, disable_tqdm=True, logging_steps=1000,
        eval_strategy="steps", eval_steps=15, save_strategy="steps", save_steps=20)
    transformers.Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:32],
                         callbacks=[Watcher()]).train()


@kind("accelerate_acc", steps=60)
def accelerate_acc(log):
    """accelerate's accumulate(): the optimizer is called for each batch, and steps in every fourth."""
    import accelerate
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=4)
    model = network()
    loader = torch.utils.data.DataLoader(data(160), batch_size=8)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3), loader)
    done = 0
    while done < log.steps:
        for x, y in loader:
            with accelerator.accumulate(model):
                log.backward()
                accelerator.backward(loss_of(model(x), y))
                optimizer.step()
                if accelerator.sync_gradients:
                    log.step()
                    done += 1
                optimizer.zero_grad()
            if done == log.steps:
                break
