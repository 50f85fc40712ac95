# SPDX-License-Identifier: Apache-2.0
"""sentence-transformers: bags of words, trained on pairs by its own trainer."""
import tempfile

import truth
import datasets
import sentence_transformers as st
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss
from sentence_transformers.models import BoW, Dense

words = [f"w{n}" for n in range(40)]
model = st.SentenceTransformer(modules=[BoW(vocab=words), Dense(40, 16)], device="cpu")
rows = datasets.Dataset.from_list([{"sentence1": f"{words[n % 40]} {words[(n + 1) % 40]}", "sentence2": words[n % 40],
                                    "score": float(n % 2)} for n in range(200)])
with tempfile.TemporaryDirectory() as folder:
    args = st.SentenceTransformerTrainingArguments(folder, num_train_epochs=1, per_device_train_batch_size=4, report_to=[],
                                                   disable_tqdm=True, save_strategy="no", use_cpu=True)
    trainer = st.SentenceTransformerTrainer(model, args, train_dataset=rows, loss=CosineSimilarityLoss(model))
    trainer.train()
truth.steps(trainer.state.global_step)
