#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for NCCL's RAS service: ras.py --port-file FILE --journal FILE [--says truth|others|garbage|endless|nothing]

It follows the protocol of NCCL 2.28.7 and later: each line is answered, the state of the job ends the connection. It says that rank 1 of two
lags; their pids are in FILE.pids, next to the journal (others: of processes that are not these). The journal has a line "asked" for each
connection, and the lines of each request.
"""

import argparse
import json
import os
import socket
import time

options = argparse.ArgumentParser()
options.add_argument("--port-file", required=True)
options.add_argument("--journal", required=True)
options.add_argument("--says", default="truth")
asked = options.parse_args()


def state():
    with open(asked.journal + ".pids", encoding="ascii") as f:
        pids = [int(pid) + (1000000 if asked.says == "others" else 0) for pid in f.read().split()]
    ranks = [{"rank": rank, "host": "127.0.0.1", "pid": pid, "status": {"init_state": 0},
              "collective_counts": {"AllReduce": 31 - rank}} for rank, pid in enumerate(pids)]
    return json.dumps({"nccl_version": "2.29.1", "communicators": [
        {"hash": "0x27a", "secondary_hash": "0x1:0x2", "size": 2, "ranks": ranks, "missing_ranks": []}]}, indent=2)


def note(line):
    with open(asked.journal, "a", encoding="ascii") as f:
        f.write(line)


def answer(connection):
    for line in connection.makefile("r", encoding="ascii"):
        note(line)
        if line.startswith("CLIENT PROTOCOL"):
            connection.sendall(b"SERVER PROTOCOL 2\n")
        elif line == "STATUS\n":
            connection.sendall(state().encode())
            return
        else:
            connection.sendall(b"OK\n")


server = socket.create_server(("127.0.0.1", 0))
with open(asked.port_file + ".new", "w", encoding="ascii") as port:
    port.write(str(server.getsockname()[1]))
os.rename(asked.port_file + ".new", asked.port_file)
while True:
    peer, _ = server.accept()
    note("asked\n")
    try:
        if asked.says == "garbage":
            peer.sendall(os.urandom(1 << 16))
        elif asked.says == "endless":
            while True:
                peer.sendall(b'{"communicators": [' * 4096)
        elif asked.says == "nothing":
            time.sleep(60)
        else:
            answer(peer)
    except OSError:
        pass
    peer.close()
