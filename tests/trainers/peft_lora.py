# SPDX-License-Identifier: Apache-2.0
"""LoRA adapters by peft, in a loop written by hand."""
import truth
import peft
import torch
import transformers

model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=1, n_head=2))
model = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=["c_attn"], task_type="CAUSAL_LM", fan_in_fan_out=True))
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-3)
taken = 0
for batch in torch.utils.data.DataLoader(torch.randint(0, 64, (320, 16)), batch_size=4, shuffle=True):
    model(input_ids=batch, labels=batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    taken += 1
truth.steps(taken)
