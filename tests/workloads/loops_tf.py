# SPDX-License-Identifier: Apache-2.0
"""TensorFlow without Keras' fit: loops of tf.function and of operators, written by their author."""
import os

import numpy as np

from journal import kind

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

WIDTH, CLASSES, BATCH = 128, 10, 32


def batches(n, seed=0):
    random = np.random.default_rng(seed)
    held = [(random.standard_normal((BATCH, WIDTH), dtype=np.float32), random.integers(0, CLASSES, BATCH))
            for _ in range(8)]
    return (held[i % len(held)] for i in range(n))


class Model:
    def __init__(self, hidden=256):
        import tensorflow as tf

        self.tf = tf
        tf.random.set_seed(0)
        self.weights = [tf.Variable(tf.random.normal(shape, stddev=0.05), name=name)
                        for name, shape in (("w1", (WIDTH, hidden)), ("w2", (hidden, CLASSES)))]

    def loss(self, x, y):
        logits = self.tf.nn.relu(x @ self.weights[0]) @ self.weights[1]
        return self.tf.reduce_mean(self.tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

    def gradients(self, x, y):
        with self.tf.GradientTape() as tape:
            loss = self.loss(x, y)
        return loss, tape.gradient(loss, self.weights)

    def train_step(self, x, y):
        loss, gradients = self.gradients(x, y)
        for w, g in zip(self.weights, gradients):
            w.assign_sub(1e-3 * g)
        return loss


def train(log, model, step, source):
    for x, y in source:
        log.backward()
        step(model.tf.constant(x), model.tf.constant(y)).numpy()
        log.step()


@kind("tf_function", steps=200)
def function(log):
    model = Model()
    train(log, model, model.tf.function(model.train_step), batches(log.steps))


@kind("tf_checkpoint", steps=200)
def checkpoint(log):
    """Every 50 steps 4 batches are evaluated and a tf.train.Checkpoint is written; the last one is read back."""
    model = Model(hidden=2048)
    tf = model.tf
    step, judge = tf.function(model.train_step), tf.function(model.loss, jit_compile=True)
    for x, y in batches(1):
        judge(tf.constant(x), tf.constant(y))  # compiles
    saver = tf.train.Checkpoint(**{f"w{i}": w for i, w in enumerate(model.weights)})
    for n, batch in enumerate(batches(log.steps), 1):
        train(log, model, step, [batch])
        if n % 50 == 0:
            with log.span("eval"):
                for x, y in batches(4, seed=1):
                    judge(tf.constant(x), tf.constant(y)).numpy()
            with log.span("checkpoint", op="save", file=log.out + ".tf"):
                file = saver.write(log.out + ".tf")
    with log.span("checkpoint", op="restore", file=log.out + ".tf"):
        saver.read(file).assert_consumed()


@kind("tf_accumulate", steps=80)
def accumulate(log):
    """Four batches a step: gradients are summed by one function, applied by another."""
    model = Model()
    tf = model.tf
    sums = [tf.Variable(tf.zeros_like(w)) for w in model.weights]

    @tf.function
    def add(x, y):
        for s, g in zip(sums, model.gradients(x, y)[1]):
            s.assign_add(g)

    @tf.function
    def apply_update():
        for w, s in zip(model.weights, sums):
            w.assign_sub(1e-3 * s)
            s.assign(tf.zeros_like(s))

    source = batches(4 * log.steps)
    for _ in range(log.steps):
        for _ in range(4):
            log.backward()
            x, y = next(source)
            add(tf.constant(x), tf.constant(y))
        apply_update()
        log.step()


@kind("tf_inner_loop", steps=60)
def inner_loop(log):
    """A loop over five batches inside the function: one execution, which is what the log calls a step."""
    model = Model()
    tf = model.tf

    @tf.function
    def train_steps(xs, ys):
        loss = 0.0
        for i in tf.range(5):
            loss = model.train_step(xs[i], ys[i])
        return loss

    source = batches(5 * log.steps)
    for _ in range(log.steps):
        xs, ys = (np.stack(parts) for parts in zip(*(next(source) for _ in range(5))))
        for _ in range(5):
            log.update()
        log.backward()
        train_steps(tf.constant(xs), tf.constant(ys)).numpy()
        log.step()


@kind("tf_tape", steps=100)
def tape(log):
    """No function: operators alone, one after the other."""
    model = Model()
    train(log, model, model.train_step, batches(log.steps))


@kind("tf_inference", steps=200)
def inference(log):
    model = Model()
    predict = model.tf.function(model.loss)
    for x, y in batches(log.steps):
        predict(model.tf.constant(x), model.tf.constant(y)).numpy()
