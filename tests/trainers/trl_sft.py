# SPDX-License-Identifier: Apache-2.0
"""trl's SFTTrainer on token rows."""
import tempfile

import truth
import datasets
import tokenizers
import transformers
import trl

words = [f"w{n}" for n in range(60)]
vocabulary = {w: n for n, w in enumerate(["<pad>", "<eos>", "<unk>", *words])}
raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
    vocab_size=len(vocabulary), n_positions=64, n_embd=32, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1))
rows = datasets.Dataset.from_list([{"text": " ".join(words[(n + k) % 60] for k in range(12))} for n in range(128)])
with tempfile.TemporaryDirectory() as folder:
    args = trl.SFTConfig(folder, max_steps=50, per_device_train_batch_size=4, report_to=[], disable_tqdm=True, use_cpu=True,
                         bf16=False, save_strategy="no", max_length=32, gradient_checkpointing=False)
    trainer = trl.SFTTrainer(model=model, args=args, train_dataset=rows, processing_class=tokenizer)
    trainer.train()
truth.steps(trainer.state.global_step)
