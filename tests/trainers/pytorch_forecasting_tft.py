# SPDX-License-Identifier: Apache-2.0
"""pytorch-forecasting: a temporal fusion transformer under Lightning, validated by one batch each epoch."""
import truth
import lightning
import numpy
import pandas
from pytorch_forecasting import TemporalFusionTransformer, TimeSeriesDataSet

table = pandas.DataFrame({"t": numpy.tile(numpy.arange(60), 6), "g": numpy.repeat([str(n) for n in range(6)], 60),
                          "y": numpy.random.rand(360)})
train = TimeSeriesDataSet(table[table.t < 50], time_idx="t", target="y", group_ids=["g"], max_encoder_length=12, max_prediction_length=4,
                          time_varying_unknown_reals=["y"])
valid = TimeSeriesDataSet.from_dataset(train, table, predict=True, stop_randomization=True)
model = TemporalFusionTransformer.from_dataset(train, hidden_size=4, attention_head_size=1, hidden_continuous_size=2, learning_rate=1e-3)
trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, limit_train_batches=30)
trainer.fit(model, train.to_dataloader(train=True, batch_size=8, num_workers=0),
            valid.to_dataloader(train=False, batch_size=64, num_workers=0))
truth.steps(trainer.global_step)
