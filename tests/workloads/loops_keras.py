# SPDX-License-Identifier: Apache-2.0
"""Keras on TensorFlow: model.fit in its usual forms. A step ends where Keras says so to its callbacks."""
import os

import numpy as np

from journal import kind, now

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

BATCH, HELD_OUT = 32, 10


def make(hidden=256):
    import keras

    keras.utils.set_random_seed(0)
    return keras, keras.Sequential([keras.layers.Input((128,)), keras.layers.Dense(hidden, activation="relu"),
                                    keras.layers.Dense(10)])


def compiled(hidden=256, **options):
    keras, model = make(hidden)
    model.compile(keras.optimizers.Adam(), keras.losses.SparseCategoricalCrossentropy(from_logits=True), **options)
    return keras, model


def data(n):
    random = np.random.default_rng(0)
    return random.standard_normal((n * BATCH, 128), dtype=np.float32), random.integers(0, 10, n * BATCH)


def journal_of(keras, log, each=1):
    """The callback that writes the log: a step for each call of on_train_batch_end, which ends `each` batches."""

    class Journal(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            end = now()
            log.backward()
            for _ in range(each):
                log.update()
            log.step(end=end)

        def on_test_begin(self, logs=None):
            self.span = log.span("eval")
            self.span.__enter__()

        def on_test_end(self, logs=None):
            self.span.__exit__(None, None, None)

    return Journal()


EPOCHS = 3


def fit(log, keras, model, each=1, source=None, **options):
    x, y = data(log.steps // EPOCHS)
    feed = {"x": source} if source is not None else {"x": x, "y": y, "batch_size": BATCH}
    options.setdefault("callbacks", []).append(journal_of(keras, log, each))
    model.fit(**feed, epochs=EPOCHS, verbose=0, **options)


@kind("keras_fit", steps=300)
def plain(log):
    """3 epochs of 100 batches, each followed by a validation of 10."""
    keras, model = compiled()
    fit(log, keras, model, validation_data=data(HELD_OUT), validation_batch_size=BATCH)


@kind("keras_dataset", steps=300)
def dataset(log):
    """The batches come from tf.data."""
    import tensorflow as tf

    keras, model = compiled()
    source = tf.data.Dataset.from_tensor_slices(data(log.steps // EPOCHS)).shuffle(1000).batch(BATCH).prefetch(2)
    fit(log, keras, model, source=source)


@kind("keras_executions", steps=600)
def executions(log):
    """steps_per_execution=10: one execution, one call of the callback, ten batches. That is a step of the log."""
    keras, model = compiled(steps_per_execution=10)
    fit(log, keras, model, each=10)


@kind("keras_jit", steps=300)
def jit(log):
    """Compiled by XLA."""
    keras, model = compiled(jit_compile=True)
    fit(log, keras, model, validation_data=data(HELD_OUT), validation_batch_size=BATCH)


@kind("keras_eager", steps=60)
def eager(log):
    """run_eagerly: no function at all, only operators."""
    keras, model = compiled(run_eagerly=True)
    fit(log, keras, model)


@kind("keras_save", steps=300)
def save(log):
    """A .keras file after each epoch."""
    keras, model = compiled(hidden=2048)
    file = log.out + ".keras"

    class Saver(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            with log.span("checkpoint", op="save", file=file):
                self.model.save(file)

    fit(log, keras, model, callbacks=[Saver()])


@kind("keras_custom", steps=300)
def custom(log):
    """A train_step of the author's own."""
    import tensorflow as tf

    keras, _ = make()

    class Own(keras.Sequential):
        def train_step(self, batch):
            x, y = batch
            with tf.GradientTape() as tape:
                loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
            return {"loss": loss}

    model = Own([keras.layers.Input((128,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])
    model.compile(keras.optimizers.SGD(), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    fit(log, keras, model)


@kind("keras_predict", steps=300)
def predict(log):
    """Predictions alone."""
    _, model = compiled()
    model.predict(data(log.steps)[0], batch_size=BATCH, verbose=0)
