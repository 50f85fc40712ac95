# SPDX-License-Identifier: Apache-2.0
"""Loops with several optimizers of one class, each with its own backward, that fetch from no loader as a rule:
reinforcement learning, phases, meta-learning. The author's step is what each says; updates are logged beside it."""
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from journal import kind
from models import backward

STATE, ACTION, BATCH = 8, 2, 32


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs))


class Agent:
    """Actor, twin critics and temperature, each with an Adam of its own."""

    def __init__(self, log):
        self.log = log
        self.actor, self.critic = mlp(STATE, ACTION), nn.ModuleList(mlp(STATE + ACTION, 1) for _ in range(2))
        self.temperature = torch.zeros(1, requires_grad=True)
        self.optimizers = {name: torch.optim.Adam(what, lr=1e-3) for name, what in (
            ("actor", self.actor.parameters()), ("critic", self.critic.parameters()), ("temperature", [self.temperature]))}

    def update(self, name, loss):
        self.optimizers[name].zero_grad()
        backward(self.log, loss)
        self.optimizers[name].step()
        self.log.update()

    def value(self, state, action):
        return torch.cat([q(torch.cat([state, action], 1)) for q in self.critic], 1)

    def critic_update(self, state):
        self.update("critic", (self.value(state, torch.randn(BATCH, ACTION)) - 1).square().mean())

    def actor_update(self, state):
        self.update("actor", -self.value(state, self.actor(state)).min(1).values.mean())

    def temperature_update(self):
        self.update("temperature", -(self.temperature * 0.5).mean())

    def act(self, steps=1):
        """What the environment needs between gradient steps."""
        state = torch.randn(1, STATE)
        with torch.no_grad():
            for _ in range(steps):
                state = torch.cat([self.actor(state).tanh(), state[:, ACTION:]], 1)


def replay():
    return torch.randn(BATCH, STATE)


class Replay(IterableDataset):
    def __iter__(self):
        while True:
            yield torch.randn(STATE)


def train(log, each, source=replay, every=1):
    """`each`(agent, i, state): one of the author's steps, several of them after each part in the environment."""
    agent = Agent(log)
    for i in range(log.steps):
        if i % every == 0:
            agent.act(every)
        each(agent, i, source())
        log.step()


def sac(agent, _, state):
    agent.temperature_update()
    agent.critic_update(state)
    agent.actor_update(state)


def sac_fixed(agent, _, state):
    agent.critic_update(state)
    agent.actor_update(state)


def delayed(every):
    def each(agent, i, state):
        agent.critic_update(state)
        if (i + 1) % every == 0:
            agent.actor_update(state)
    return each


def three_rates(agent, i, state):
    agent.critic_update(state)
    if i % 2 == 1:
        agent.actor_update(state)
    if i % 3 == 2:
        agent.temperature_update()


def compensated(agent, i, state):
    """The actor at every second step, twice then."""
    agent.critic_update(state)
    for _ in range(2 * (i % 2)):
        agent.actor_update(state)
        agent.temperature_update()


def loader():
    source = iter(DataLoader(Replay(), batch_size=BATCH))
    return lambda: next(source)


kind("rl_sac", steps=120)(lambda log: train(log, sac))
kind("rl_sac_fixed", steps=120)(lambda log: train(log, sac_fixed))
kind("rl_sac_many", steps=120)(lambda log: train(log, sac, every=4))
kind("rl_sac_loader", steps=120)(lambda log: train(log, sac, loader()))
kind("rl_td3", steps=120)(lambda log: train(log, delayed(2)))
kind("rl_td3_loader", steps=120)(lambda log: train(log, delayed(2), loader()))
kind("rl_three_rates", steps=120)(lambda log: train(log, three_rates))
kind("rl_compensated", steps=120)(lambda log: train(log, compensated))


@kind("rl_agents", steps=60)
def agents(log):
    """Three agents, each with an actor and a critic: one step updates all."""
    every = [Agent(log) for _ in range(3)]
    for _ in range(log.steps):
        for agent in every:
            sac_fixed(agent, 0, replay())
        log.step()


@kind("rl_ppo", steps=120)
def ppo(log):
    """A rollout, then minibatches, each with an update of the actor's and one of the critic's."""
    agent = Agent(log)
    for i in range(log.steps):
        if i % 12 == 0:
            agent.act(50)
        agent.actor_update(replay())
        agent.critic_update(replay())
        log.step()


@kind("rl_phases", steps=15)
def phases(log):
    """Four updates of the actor, then four of the critic: what of it a step is, only the author knows."""
    agent = Agent(log)
    for _ in range(log.steps):
        agent.act(20)
        for update in (agent.actor_update, agent.critic_update):
            for _ in range(4):
                update(replay())
        log.step()


@kind("meta", steps=30)
def meta(log):
    """First-order meta-learning (Reptile): of each of four tasks a copy is trained for three updates, then the
    weights move towards the copies."""
    model = mlp(STATE, 1)
    for _ in range(log.steps):
        weights = []
        for _ in range(4):
            weights.append(adapt(log, model))
        with torch.no_grad():
            for p, *copies in zip(model.parameters(), *weights):
                p += 0.1 * (torch.stack(copies).mean(0) - p)
        log.step()


def adapt(log, model):
    task, state = copy.deepcopy(model), replay()
    optimizer = torch.optim.SGD(task.parameters(), lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        backward(log, task(state).square().mean())
        optimizer.step()
        log.update()
    return [p.detach() for p in task.parameters()]
