#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""train.py TRUTH: a plain loop of real torch, with a log of its own steps (tests/workloads/journal.py). Says
"ready" when torch is loaded, trains from a line of standard input on until the next one, and prints its loss."""
import itertools
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../workloads"))
import journal  # noqa: E402
import torch  # noqa: E402
from models import batches, loss_of, network, train  # noqa: E402


def main():
    model = network(layers=1, hidden=64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    stop = threading.Event()
    print("ready", flush=True)
    sys.stdin.readline()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    log = journal.Log("torture", sys.argv[1], 0)
    source = batches(1 << 40)
    train(log, model, optimizer, itertools.takewhile(lambda _: not stop.is_set(), source))
    log.write()
    x, y = next(batches(1))
    print(f"loss {float(loss_of(model(x), y)):.3f}", flush=True)


if __name__ == "__main__":
    main()
