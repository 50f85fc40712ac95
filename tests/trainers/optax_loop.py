# SPDX-License-Identifier: Apache-2.0
"""Optax in a jitted update, with an evaluation program between epochs."""
import truth
import jax
import jax.numpy as jnp
import optax

transform = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
params = {"w": jnp.zeros((8, 1)), "b": jnp.zeros(1)}
state = transform.init(params)


def loss(p, x, y):
    return jnp.mean((x @ p["w"] + p["b"] - y) ** 2)


@jax.jit
def update(p, s, x, y):
    grads = jax.grad(loss)(p, x, y)
    changes, s = transform.update(grads, s, p)
    return optax.apply_updates(p, changes), s


evaluate = jax.jit(loss)
key = jax.random.key(0)
x, y = jax.random.normal(key, (16, 8)), jax.random.normal(key, (16, 1))
taken = 0
for epoch in range(4):
    for _ in range(50):
        params, state = update(params, state, x, y)
        taken += 1
    jax.block_until_ready(params)
    for _ in range(5):
        evaluate(params, x, y).block_until_ready()
truth.steps(taken)
