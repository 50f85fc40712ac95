# SPDX-License-Identifier: Apache-2.0
"""Keras on torch: fit with validation data."""
import os

os.environ["KERAS_BACKEND"] = "torch"
import truth
import keras
import numpy

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
x, y = numpy.random.rand(240, 8).astype("f"), numpy.random.rand(240, 1).astype("f")
model.fit(x, y, epochs=3, batch_size=8, validation_data=(x[:16], y[:16]), verbose=0)
truth.steps(int(model.optimizer.iterations.value))
