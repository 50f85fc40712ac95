# SPDX-License-Identifier: Apache-2.0
"""Soft actor-critic: actor, critic and temperature have an Adam each, and each step moves all three."""
import truth
from stable_baselines3 import SAC

model = SAC("MlpPolicy", "Pendulum-v1", learning_starts=100, policy_kwargs={"net_arch": [32, 32]}, device="cpu", seed=1)
model.learn(700)
truth.steps(model._n_updates)
