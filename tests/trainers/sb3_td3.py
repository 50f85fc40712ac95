# SPDX-License-Identifier: Apache-2.0
"""TD3: the critic moves at each step, the actor at every second."""
import truth
from stable_baselines3 import TD3

model = TD3("MlpPolicy", "Pendulum-v1", learning_starts=100, train_freq=1, gradient_steps=1,
            policy_kwargs={"net_arch": [32, 32]}, device="cpu", seed=1)
model.learn(700)
truth.steps(model._n_updates)
