# SPDX-License-Identifier: Apache-2.0
"""JAX: loops of one program a step, of several, of one for many; evaluating, saving, and none at all.
A step ends where the program knows its result to be there, or, where it does not ask, where the call came back.
updates of a step: the optimizer's, where one execution makes several."""
import os
import threading
import time

import numpy as np

from journal import kind

WIDTH, CLASSES, BATCH = 128, 10, 32


def load(devices=1):
    """jax and optax, loaded no sooner than a kind runs: flags of XLA are read once."""
    if devices > 1:
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    import jax
    import optax

    return jax, optax


def batches(n, batch=BATCH, seed=0):
    random = np.random.default_rng(seed)
    held = [(random.standard_normal((batch, WIDTH), dtype=np.float32), random.integers(0, CLASSES, batch))
            for _ in range(8)]
    return (held[i % len(held)] for i in range(n))


class Model:
    """A network of two layers and its optimizer, with what is made of them: the loss and the programs of a step."""

    def __init__(self, hidden=256, every=0):
        self.jax, self.optax = jax, optax = load()
        random = np.random.default_rng(1)
        self.params = {name: random.standard_normal(shape, dtype=np.float32) * 0.05
                       for name, shape in (("w1", (WIDTH, hidden)), ("b1", (hidden,)),
                                           ("w2", (hidden, CLASSES)), ("b2", (CLASSES,)))}
        self.optimizer = optax.adam(1e-3)
        if every:
            self.optimizer = optax.MultiSteps(self.optimizer, every)
        self.state = self.optimizer.init(self.params)

        def loss(params, x, y, key=None):
            hidden = jax.nn.relu(x @ params["w1"] + params["b1"])
            if key is not None:
                hidden = hidden * jax.random.bernoulli(key, 0.9, hidden.shape)
            logits = hidden @ params["w2"] + params["b2"]
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        def train_step(params, state, x, y, key=None):
            value, gradients = jax.value_and_grad(loss)(params, x, y, key)
            updates, state = self.optimizer.update(gradients, state, params)
            return optax.apply_updates(params, updates), state, value

        def eval_step(params, x, y):
            return loss(params, x, y)

        self.loss, self.train_step, self.eval_step = loss, train_step, eval_step


def train(log, model, source, step=None, wait=True, loop=0):
    """The plain loop. wait: each step's result is waited for."""
    step = step or model.jax.jit(model.train_step)
    for x, y in source:
        log.backward(loop)
        model.params, model.state, value = step(model.params, model.state, x, y)
        if wait:
            value.block_until_ready()
        log.step(loop)
    return step


@kind("jax_plain", steps=300)
def plain(log):
    train(log, Model(), batches(log.steps))


@kind("jax_late", steps=400, hold=100)
def late(log):
    """With --go: stands still after step 100 until somebody has attached."""
    train(log, Model(), batches(log.steps))


@kind("jax_paced", steps=1000)
def paced(log):
    """20 ms a step and a little; done early once the log's name with .stop is there."""

    def source():
        for batch in batches(log.steps):
            time.sleep(0.02)
            if os.path.exists(log.out + ".stop"):
                return
            yield batch

    train(log, Model(), source())


@kind("jax_ahead", steps=300)
def ahead(log):
    """The host does not wait for a step, but looks at the loss after each tenth."""
    model = Model()
    step = model.jax.jit(model.train_step)
    for i, (x, y) in enumerate(batches(log.steps), 1):
        log.backward()
        model.params, model.state, value = step(model.params, model.state, x, y)
        if i % 10 == 0:
            float(value)
        log.step()


@kind("jax_donate", steps=300)
def donate(log):
    """The weights and the optimizer's state are given away to the step, which returns new ones in their place."""
    model = Model()
    train(log, model, batches(log.steps), step=model.jax.jit(model.train_step, donate_argnums=(0, 1)))


@kind("jax_fast", steps=3000)
def fast(log):
    model = Model(hidden=8)
    train(log, model, batches(log.steps, batch=4))


@kind("jax_slow", steps=40)
def slow(log):
    """About 100 ms a step."""
    model = Model(hidden=8192)
    train(log, model, batches(log.steps, batch=256))


@kind("jax_rng", steps=300)
def rng(log):
    """A key is split between two steps, by programs of their own, which run as often as the step's."""
    model = Model()
    jax, step = model.jax, model.jax.jit(model.train_step)
    key = jax.random.key(0)
    for x, y in batches(log.steps):
        log.backward()
        key, one = jax.random.split(key)
        model.params, model.state, value = step(model.params, model.state, x, y, one)
        value.block_until_ready()
        log.step()


@kind("jax_accumulate", steps=100)
def accumulate(log):
    """Four batches a step: gradients are summed by one program, applied by another."""
    model = Model()
    jax, optax = model.jax, model.optax

    @jax.jit
    def add(params, sums, x, y):
        return jax.tree.map(lambda s, g: s + g, sums, jax.grad(model.loss)(params, x, y))

    @jax.jit
    def apply_update(params, state, sums):
        updates, state = model.optimizer.update(jax.tree.map(lambda s: s / 4, sums), state, params)
        return optax.apply_updates(params, updates), state

    zero, source = jax.tree.map(np.zeros_like, model.params), batches(4 * log.steps)
    for _ in range(log.steps):
        sums = zero
        for _ in range(4):
            log.backward()
            sums = add(model.params, sums, *next(source))
        model.params, model.state = apply_update(model.params, model.state, sums)
        jax.block_until_ready(model.params)
        log.step()


@kind("jax_two_programs", steps=200)
def two_programs(log):
    """Gradients by one program, the update by another."""
    model = Model()
    jax = model.jax
    gradients_of = jax.jit(jax.value_and_grad(model.loss))

    @jax.jit
    def update(params, state, gradients):
        updates, state = model.optimizer.update(gradients, state, params)
        return model.optax.apply_updates(params, updates), state

    for x, y in batches(log.steps):
        log.backward()
        _, gradients = gradients_of(model.params, x, y)
        model.params, model.state = update(model.params, model.state, gradients)
        jax.block_until_ready(model.params)
        log.step()


@kind("jax_eager_update", steps=150)
def eager_update(log):
    """Gradients by a program, the update written out of any: a handful of small programs for each weight."""
    model = Model()
    jax = model.jax
    gradients_of = jax.jit(jax.grad(model.loss))
    for x, y in batches(log.steps):
        log.backward()
        gradients = gradients_of(model.params, x, y)
        model.params = jax.tree.map(lambda p, g: p - 1e-3 * g, model.params, gradients)
        jax.block_until_ready(model.params)
        log.step()


@kind("jax_gan", steps=200)
def gan(log):
    """Two networks, each with a program of its own, on one batch."""
    models = Model(), Model(hidden=192)
    jax = models[0].jax

    def train_critic(*args):
        return models[0].train_step(*args)

    def train_maker(*args):
        return models[1].train_step(*args)

    steps = jax.jit(train_critic), jax.jit(train_maker)
    for x, y in batches(log.steps):
        for model, step in zip(models, steps):
            log.backward()
            model.params, model.state, value = step(model.params, model.state, x, y)
            log.update()
        value.block_until_ready()
        log.step()


@kind("jax_multisteps", steps=200)
def multisteps(log):
    """optax.MultiSteps: one program, whose fourth call updates the weights. Each call is a step here."""
    train(log, Model(every=4), batches(log.steps))


@kind("jax_scan", steps=60)
def scan(log):
    """Five updates in one execution, which is what the log calls a step."""
    model = Model()
    jax = model.jax

    @jax.jit
    def train_steps(params, state, xs, ys):
        def body(carry, batch):
            params, state, value = model.train_step(*carry, *batch)
            return (params, state), value

        return jax.lax.scan(body, (params, state), (xs, ys))

    source = batches(5 * log.steps)
    for _ in range(log.steps):
        xs, ys = (np.stack(parts) for parts in zip(*(next(source) for _ in range(5))))
        for _ in range(5):
            log.update()
        log.backward()
        (model.params, model.state), values = train_steps(model.params, model.state, xs, ys)
        values.block_until_ready()
        log.step()


def evaluate(model, step, rounds=4):
    for x, y in batches(rounds, seed=2):
        float(step(model.params, x, y))


@kind("jax_eval", steps=300)
def evaluation(log):
    """Every 50 steps 4 batches are evaluated."""
    model = Model()
    step, judge = model.jax.jit(model.train_step), model.jax.jit(model.eval_step)
    evaluate(model, judge, 1)  # compiles
    for n, batch in enumerate(batches(log.steps), 1):
        train(log, model, [batch], step)
        if n % 50 == 0:
            with log.span("eval"):
                evaluate(model, judge)


@kind("jax_eval_long", steps=240)
def evaluation_long(log):
    """Every 40 steps 60 batches are evaluated: more executions than training has."""
    model = Model()
    step, judge = model.jax.jit(model.train_step), model.jax.jit(model.eval_step)
    evaluate(model, judge, 1)  # compiles
    for n, batch in enumerate(batches(log.steps), 1):
        train(log, model, [batch], step)
        if n % 40 == 0:
            with log.span("eval"):
                evaluate(model, judge, 60)


@kind("jax_recompile", steps=300)
def recompile(log):
    """From step 200 on batches are half as large: another executable of the same name."""
    model = Model()
    step = train(log, model, batches(2 * log.steps // 3))
    train(log, model, batches(log.steps // 3, batch=BATCH // 2), step)


@kind("jax_uneven", steps=220)
def uneven(log):
    """The last batch of each epoch of 22 is smaller, so two executables of one name take turns."""
    model = Model()
    step = model.jax.jit(model.train_step)
    for n, (x, y) in enumerate(batches(log.steps), 1):
        last = n % 22 == 0
        train(log, model, [(x[:8], y[:8]) if last else (x, y)], step)


def save(model, file):
    model.jax.block_until_ready(model.params)
    np.savez(file, **{name: np.asarray(p) for name, p in model.params.items()})


@kind("jax_ckpt", steps=200)
def checkpoint(log):
    """Saved by numpy every 50 steps, read back at the end."""
    model, file = Model(hidden=4096), log.out + ".npz"
    step = model.jax.jit(model.train_step)
    for n, batch in enumerate(batches(log.steps), 1):
        train(log, model, [batch], step)
        if n % 50 == 0:
            with log.span("checkpoint", op="save", file=file):
                save(model, file)
    with log.span("checkpoint", op="restore", file=file):
        model.params = dict(np.load(file))


@kind("jax_orbax", steps=200)
def orbax(log):
    """Saved by Orbax every 50 steps, each save waited for."""
    import orbax.checkpoint as ocp

    model, folder = Model(hidden=1024), os.path.abspath(log.out + ".orbax")
    step = model.jax.jit(model.train_step)
    with ocp.StandardCheckpointer() as saver:
        for n, batch in enumerate(batches(log.steps), 1):
            train(log, model, [batch], step)
            if n % 50 == 0:
                with log.span("checkpoint", op="save", file=folder):
                    saver.save(f"{folder}/{n}", {"params": model.params})
                    saver.wait_until_finished()


@kind("jax_orbax_async", steps=200)
def orbax_async(log):
    """The same, each save waited for by the one after it."""
    import orbax.checkpoint as ocp

    model, folder = Model(hidden=1024), os.path.abspath(log.out + ".orbax")
    step = model.jax.jit(model.train_step)
    with ocp.CheckpointManager(folder) as saver:
        for n, batch in enumerate(batches(log.steps), 1):
            train(log, model, [batch], step)
            if n % 50 == 0:
                saver.save(n, args=ocp.args.StandardSave({"params": model.params}))


@kind("jax_two_loops", steps=300)
def two_loops(log):
    """One after the other in one process: another model."""
    for hidden in 256, 384:
        train(log, Model(hidden), batches(log.steps // 2))


@kind("jax_two_threads", steps=300)
def two_threads(log):
    """Two models in two threads at once."""
    models = Model(), Model(384)

    def train_other(*args):
        return models[1].train_step(*args)

    steps = models[0].jax.jit(models[0].train_step), models[1].jax.jit(train_other)
    threads = [threading.Thread(target=train, args=(log, model, batches(log.steps // 2), step, True, i))
               for i, (model, step) in enumerate(zip(models, steps))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


@kind("jax_sharded", steps=200)
def sharded(log):
    """The batch is split over 4 devices."""
    load(4)
    model = Model()
    jax = model.jax
    mesh = jax.make_mesh((4,), ("data",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    model.params, model.state = jax.device_put((model.params, model.state), whole)
    step = jax.jit(model.train_step)
    for x, y in batches(log.steps):
        train(log, model, [jax.device_put((x, y), rows)], step)


@kind("jax_inference", steps=300)
def inference(log):
    """Predictions alone, by weights that are on the device."""
    model = Model()
    predict, params = model.jax.jit(model.eval_step), model.jax.device_put(model.params)
    for x, y in batches(log.steps):
        float(predict(params, x, y))


@kind("jax_inference_late", steps=300)
def inference_late(log):
    """Predictions that run before they are watched."""
    model = Model()
    predict, params = model.jax.jit(model.eval_step), model.jax.device_put(model.params)
    for x, y in batches(20):
        float(predict(params, x, y))
    if log.go:
        log.wait()
    for x, y in batches(log.steps):
        float(predict(params, x, y))


@kind("jax_inference_host", steps=300)
def inference_host(log):
    """The same by weights that the host holds: each call copies them anew, to where its result was before."""
    model = Model()
    predict = model.jax.jit(model.eval_step)
    for x, y in batches(log.steps):
        float(predict(model.params, x, y))


@kind("jax_inference_closed", steps=300)
def inference_closed(log):
    """The weights are constants of the program, the batch is all that it is given."""
    model = Model()
    predict = model.jax.jit(lambda x, y: model.loss(model.params, x, y))
    for x, y in batches(log.steps):
        float(predict(x, y))


@kind("jax_generate", steps=300)
def generate(log):
    """No training, and yet what comes out of a run goes into the next: a cache, as language models have one."""
    model = Model()
    jax, params = model.jax, model.jax.device_put(model.params)

    @jax.jit
    def decode(cache, params, x):
        hidden = jax.nn.relu(x @ params["w1"] + params["b1"] + cache)
        return hidden * 0.5, (hidden @ params["w2"]).argmax(axis=-1)

    cache = np.zeros((BATCH, 256), np.float32)
    for x, _ in batches(log.steps):
        cache, token = decode(cache, params, x)
        np.asarray(token)


@kind("jax_loss_first", steps=300)
def loss_first(log):
    """The step returns its loss before the weights."""
    model = Model()
    jax = model.jax

    @jax.jit
    def train_step(params, state, x, y):
        params, state, value = model.train_step(params, state, x, y)
        return value, params, state

    for x, y in batches(log.steps):
        log.backward()
        value, model.params, model.state = train_step(model.params, model.state, x, y)
        value.block_until_ready()
        log.step()


# ---- names that say nothing, or something else ---------------------------------------------------------


@kind("jax_unnamed_scan", steps=60)
def unnamed_scan(log):
    """Five updates in one execution of a program that has no name."""
    model = Model()
    jax = model.jax

    def body(carry, batch):
        params, state, value = model.train_step(*carry, *batch)
        return (params, state), value

    go, source = jax.jit(lambda *carry: jax.lax.scan(body, carry[:2], carry[2:])), batches(5 * log.steps)
    for _ in range(log.steps):
        xs, ys = (np.stack(parts) for parts in zip(*(next(source) for _ in range(5))))
        for _ in range(5):
            log.update()
        log.backward()
        (model.params, model.state), values = go(model.params, model.state, xs, ys)
        values.block_until_ready()
        log.step()


@kind("jax_unnamed_pmap", steps=100)
def unnamed_pmap(log):
    """Each of 2 devices has a copy of the weights, by a function whose name says nothing."""
    load(2)
    model = Model()
    jax = model.jax

    def go(params, x, y):
        gradients = jax.lax.pmean(jax.grad(model.loss)(params, x, y), "device")
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients)

    step = jax.pmap(go, axis_name="device")
    params = jax.tree.map(lambda p: np.stack([p, p]), model.params)
    for x, y in batches(log.steps):
        log.backward()
        params = step(params, x.reshape(2, -1, WIDTH), y.reshape(2, -1))
        jax.block_until_ready(params)
        log.step()


@kind("jax_train_and_eval", steps=150)
def train_and_eval(log):
    """Each execution trains on one batch and evaluates on another."""
    model = Model()

    def train_and_eval(params, state, x, y):
        params, state, _ = model.train_step(params, state, x, y)
        return params, state, model.loss(params, x + 1, y)

    train(log, model, batches(log.steps), step=model.jax.jit(train_and_eval))


@kind("jax_simulation", steps=150)
def simulation(log):
    """A state that is handed on, by a program that is called a step, and computes no gradient."""
    model = Model()
    jax = model.jax

    @jax.jit
    def sim_step(state, x, y):
        return jax.tree.map(lambda s: s * 0.999 + x.mean() * 1e-3, state)

    state = jax.device_put(model.params)
    for x, y in batches(log.steps):
        state = jax.block_until_ready(sim_step(state, x, y))


@kind("jax_saliency", steps=150)
def saliency(log):
    """Gradients by the input: the weights stay as they are."""
    model = Model()
    jax = model.jax

    @jax.jit
    def saliency_step(params, x, y):
        return jax.grad(model.loss, argnums=1)(params, x, y)

    params = jax.device_put(model.params)
    for x, y in batches(log.steps):
        jax.block_until_ready(saliency_step(params, x, y))


@kind("jax_state_out", steps=150)
def state_out(log):
    """Predictions by a program that takes all of a model's state, and returns it (as nnx.jit does)."""
    model = Model()
    jax = model.jax

    @jax.jit
    def forward_step(params, count, x, y):
        return params, count + 1, model.loss(params, x, y)

    params, count = jax.device_put((model.params, np.float32(0)))
    for x, y in batches(log.steps):
        params, count, value = forward_step(params, count, x, y)
        float(value)
