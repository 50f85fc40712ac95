# SPDX-License-Identifier: Apache-2.0
"""Flax NNX with optax, and Orbax's asynchronous checkpoints."""
import tempfile

import truth
import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp
from flax import nnx

model = nnx.Linear(8, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)


@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
    optimizer.update(model, grads)
    return loss


key = jax.random.key(0)
x, y = jax.random.normal(key, (16, 8)), jax.random.normal(key, (16, 1))
STEPS = 200
with tempfile.TemporaryDirectory() as folder, ocp.CheckpointManager(folder + "/ck") as manager:
    for n in range(1, STEPS + 1):
        train_step(model, optimizer, x, y)
        if n % 80 == 0:
            manager.save(n, args=ocp.args.StandardSave(nnx.state(model).to_pure_dict()))
    manager.wait_until_finished()
truth.steps(STEPS)
