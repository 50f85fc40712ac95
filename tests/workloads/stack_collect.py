# SPDX-License-Identifier: Apache-2.0
"""Half of the time the garbage collector runs, in collect(); in work() it never does."""

import gc
import time

gc.disable()
heap = [[i] for i in range(300000)]


def collect():
    begin = time.perf_counter()
    gc.collect()
    return time.perf_counter() - begin


def work(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


print("up", flush=True)
while True:
    work(collect())
