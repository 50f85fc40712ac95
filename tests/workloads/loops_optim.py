# SPDX-License-Identifier: Apache-2.0
"""The same loop with every implementation of the common optimizers, and optimizers that do more."""
import torch

from journal import kind
from models import backward, batches, loss_of, network, train, update

CLASSES = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD}


def implementation(name, how):
    """how: fused, foreach or loop (over the parameters)."""
    fields = {"fused": {"fused": True}, "foreach": {"foreach": True}, "loop": {"foreach": False}}[how]

    def run(log):
        model = network()
        optimizer = CLASSES[name](model.parameters(), lr=1e-3, **fields)
        train(log, model, optimizer, batches(log.steps))
    kind(f"{name}_{how}")(run)


for class_name in CLASSES:
    for implemented in ("fused", "foreach", "loop"):
        implementation(class_name, implemented)


@kind("lbfgs", steps=40)
def lbfgs(log):
    model = network()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    for x, y in batches(log.steps):
        def closure(x=x, y=y):
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            backward(log, loss)
            return loss
        optimizer.step(closure)
        log.step()


class Lookahead(torch.optim.Optimizer):
    """An optimizer around another: each step calls the inner one's, and now and then moves slow weights."""

    def __init__(self, inner, every=5, rate=0.5):
        self.inner, self.every, self.rate, self.count = inner, every, rate, 0
        super().__init__([p for g in inner.param_groups for p in g["params"]], {})
        self.slow = [p.detach().clone() for g in self.param_groups for p in g["params"]]

    @torch.no_grad()
    def step(self, closure=None):
        loss = self.inner.step(closure)
        self.count += 1
        if self.count % self.every == 0:
            for slow, p in zip(self.slow, (p for g in self.param_groups for p in g["params"])):
                slow += self.rate * (p - slow)
                p.copy_(slow)
        return loss


@kind("wrapping_optimizer", steps=100)
def wrapping_optimizer(log):
    model = network()
    optimizer = Lookahead(torch.optim.SGD(model.parameters(), lr=1e-3))
    train(log, model, optimizer, batches(log.steps))


class SAM(torch.optim.Optimizer):
    """Sharpness-aware minimisation (Foret et al. 2020): climb, backward again, update from there."""

    def __init__(self, params, lr=1e-3, radius=0.05):
        super().__init__(params, {"lr": lr})
        self.radius = radius
        self.inner = torch.optim.SGD(self.param_groups, lr=lr)
        self.param_groups = self.inner.param_groups

    @torch.no_grad()
    def first_step(self):
        params = [p for g in self.param_groups for p in g["params"]]
        norm = torch.stack([p.grad.norm() for p in params]).norm() + 1e-12
        for p in params:
            self.state[p]["climb"] = p.grad * (self.radius / norm)
            p.add_(self.state[p]["climb"])
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for p in (p for g in self.param_groups for p in g["params"]):
            p.sub_(self.state[p]["climb"])
        self.inner.step()
        self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        self.first_step()
        with torch.enable_grad():
            closure()
        self.second_step()


@kind("sam_closure", steps=100)
def sam_closure(log):
    model = network()
    optimizer = SAM(model.parameters())
    for x, y in batches(log.steps):
        def closure(x=x, y=y):
            backward(log, loss_of(model(x), y))
        closure()
        optimizer.step(closure)
        log.step()


@kind("sam_two", steps=100)
def sam_two(log):
    model = network()
    optimizer = SAM(model.parameters())
    for x, y in batches(log.steps):
        backward(log, loss_of(model(x), y))
        optimizer.first_step()
        backward(log, loss_of(model(x), y))
        optimizer.second_step()
        log.step()


def amp(log, fused):
    """Every tenth loss overflows: the scaler skips that update. A fused optimizer is called all the same, and skips
    in its kernel, where nobody outside sees it: to its author the step is skipped, to us it is a step."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **({"fused": True} if fused else {}))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    stepped = []
    optimizer.register_step_post_hook(lambda *_: stepped.append(True))
    for i, (x, y) in enumerate(batches(log.steps), 1):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(model(x), y)
        overflow = i % 10 == 0
        backward(log, scaler.scale(loss * float("inf") if overflow else loss))
        scaler.step(optimizer)
        done = bool(stepped)  # a scale that grew too far overflows as well
        stepped.clear()
        if done:
            log.step()
        scaler.update()
        if not done:
            log.step(skipped=True)


@kind("amp_skip", steps=120)
def amp_skip(log):
    amp(log, False)


@kind("amp_skip_fused", steps=120)
def amp_skip_fused(log):
    amp(log, True)


@kind("compile_model", steps=30)
def compile_model(log):
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train(log, torch.compile(model), optimizer, batches(log.steps))


@kind("compile_optimizer", steps=30)
def compile_optimizer(log):
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = torch.compile(lambda: optimizer.step(), fullgraph=False)  # pylint: disable=unnecessary-lambda
    for x, y in batches(log.steps):
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        step()
        log.step()
