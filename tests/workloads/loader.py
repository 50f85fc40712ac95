# SPDX-License-Identifier: Apache-2.0
"""loader.py KIND WORKERS FILE: trains on the CPU with a DataLoader, until standard input ends.

Batches are made at once; as soon as FILE exists,

  cpu      by 40 ms of computing
  sleep    by sleeping 40 ms
  slow     by 60 ms of computing in worker 0, and at once in the others
  network  by asking a server that answers after 40 ms
  lossy    likewise, and a fifth of the packets that a worker receives are lost

WORKERS 0: in the training process. Prints "ready" before the first step.
"""
import ctypes
import os
import pathlib
import select
import socket
import struct
import subprocess
import sys
import time

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

KIND, WORKERS, GO = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])


def compute(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def lose(client: socket.socket) -> None:
    """Attaches a filter (SO_ATTACH_FILTER) that drops one of five packets, chosen by the kernel's random numbers."""
    filter_ = b"".join(struct.pack("HBBI", *line) for line in (
        (0x20, 0, 0, 0xfffff038), (0x35, 1, 0, 2**32 // 5), (0x06, 0, 0, 0), (0x06, 0, 0, 2**32 - 1)))
    code = ctypes.create_string_buffer(filter_)
    client.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HP", 4, ctypes.addressof(code)))


SERVER = """
import socket, sys, threading, time
def answer(client):
    while client.recv(1):
        time.sleep(0.04)
        client.send(b"x")
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    threading.Thread(target=answer, args=[server.accept()[0]], daemon=True).start()
"""


class Samples(IterableDataset):
    def __init__(self, port: int) -> None:
        self.port = port

    def __iter__(self):
        info, client = get_worker_info(), None
        while True:
            if not GO.exists():
                pass
            elif KIND == "cpu":
                compute(0.04)
            elif KIND == "sleep":
                time.sleep(0.04)
            elif KIND == "slow" and info.id == 0:
                compute(0.06)
            elif KIND in ("network", "lossy"):
                if not client:
                    client = socket.create_connection(("127.0.0.1", self.port))
                    if KIND == "lossy":
                        lose(client)
                client.send(b"?")
                client.recv(1)
            yield torch.zeros(8)


server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
port = int(server.stdout.readline())
torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
print("ready", flush=True)
for batch in DataLoader(Samples(port), batch_size=1, num_workers=WORKERS):
    optimizer.zero_grad()
    model(batch).sum().backward()
    time.sleep(0.01)
    optimizer.step()
    if select.select([sys.stdin], [], [], 0)[0]:
        break
server.kill()
os._exit(0)
