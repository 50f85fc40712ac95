# SPDX-License-Identifier: Apache-2.0
"""PPO: four epochs of four minibatches after each rollout."""
import truth
from stable_baselines3 import PPO

model = PPO("MlpPolicy", "CartPole-v1", n_steps=256, batch_size=64, n_epochs=4, device="cpu", seed=1)
model.learn(1024)
truth.steps(model._n_updates * 256 // 64)
