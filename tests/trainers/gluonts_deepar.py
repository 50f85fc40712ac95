# SPDX-License-Identifier: Apache-2.0
"""GluonTS: DeepAR on torch, which trains under Lightning."""
import tempfile

import truth
import lightning.pytorch
import numpy
from gluonts.dataset.pandas import PandasDataset
from gluonts.torch import DeepAREstimator
import pandas

index = pandas.period_range("2024-01-01", periods=120, freq="D")
data = PandasDataset({str(n): pandas.DataFrame({"target": numpy.random.rand(120)}, index=index) for n in range(4)})
folder = tempfile.TemporaryDirectory()
counted = truth.OptimizerSteps()
DeepAREstimator(prediction_length=8, freq="D", hidden_size=8, num_batches_per_epoch=40, batch_size=4,
                trainer_kwargs={"max_epochs": 2, "accelerator": "cpu", "enable_progress_bar": False, "logger": False,
                                "default_root_dir": folder.name}).train(data)
truth.steps(counted.count)
