# SPDX-License-Identifier: Apache-2.0
"""A training loop on command, as loop.py, in JAX on XLA's plugin for the CPU. jax_loop.py STEP_MS: finds a model whose
step takes about that long on this machine, prints "ready", then for each line "N" runs N steps and prints
"steps N SECONDS CPU_SECONDS"."""
import importlib.util
import os
import sys
import time

import numpy as np

PLUGIN = importlib.util.find_spec("xla_plugins.xla_cpu_pjrt").submodule_search_locations[0]
os.environ.update({"PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu_plugin:{PLUGIN}/xla_cpu_pjrt.so",
                   "JAX_PLATFORMS": "cpu_plugin", "TF_CPP_MIN_LOG_LEVEL": "3", "ENABLE_PJRT_COMPATIBILITY": "1"})

import jax  # noqa: E402 # pylint: disable=wrong-import-position
import optax  # noqa: E402 # pylint: disable=wrong-import-position


def make(width):
    random = np.random.default_rng(0)
    params = {"a": random.standard_normal((64, width), dtype=np.float32) * 0.05,
              "b": random.standard_normal((width, 10), dtype=np.float32) * 0.05}
    optimizer = optax.adam(1e-3)
    state = optimizer.init(params)
    x, y = random.standard_normal((32, 64), dtype=np.float32), random.integers(0, 10, 32)

    def loss(params, x, y):
        logits = jax.nn.relu(x @ params["a"]) @ params["b"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    @jax.jit
    def train_step(params, state, x, y):
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    held = [params, state]

    def step():
        held[0], held[1], value = train_step(held[0], held[1], x, y)
        value.block_until_ready()

    return step


def seconds(step, n):
    """On the clock, and of CPU time, which other programs do not lengthen."""
    start, cpu = time.monotonic(), time.process_time()
    for _ in range(n):
        step()
    return time.monotonic() - start, time.process_time() - cpu


def fitting(wanted_s):
    width = 64
    while True:
        step = make(width)
        seconds(step, 20)
        if seconds(step, 50)[0] / 50 >= wanted_s * 0.95 or width >= 65536:
            return step
        width = int(width * 1.5)


def main():
    step = fitting(float(sys.argv[1]) / 1e3)
    print("ready", flush=True)
    for line in sys.stdin:
        n = int(line)
        wall, cpu = seconds(step, n)
        print(f"steps {n} {wall:.9f} {cpu:.9f}", flush=True)


main()
