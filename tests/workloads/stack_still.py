# SPDX-License-Identifier: Apache-2.0
# Stands still in as many kinds of code as there are, one in each thread. What is read of it from outside is compared
# with what py-spy reads. Runs on Python 3.8 to 3.14.
import functools
import threading
import time

started = threading.Semaphore(0)


def wait():
    started.release() or time.sleep(600)  # one line: it may not have begun to sleep


class Größe:
    class Inner:
        def méthode(self, depth):
            if depth:
                return self.méthode(
                    depth - 1
                )
            return [x for x in map(lambda _: self.last(), [1])]

        @staticmethod
        def last():
            yield_from = generator()
            return next(yield_from)


def generator():
    def inner():
        for i in range(3):
            yield {
                k: wait()
                for k in (1, 2)
            }

    yield from inner()


def 名前(n):
    return n and 名前(n - 1) or wait()


async def coroutine():
    async def deeper():
        wait()

    await deeper()


def run(coro):
    try:
        coro.send(None)
    except StopIteration:
        pass


def with_finally():
    try:
        1 / 0
    except ZeroDivisionError:
        with open(__file__) as f:
            x = [
                1,
                wait(),
            ]
    finally:
        pass


class Sorted:
    def __lt__(self, other):
        wait()


def deep(n):
    if n == 0:
        wait()
    else:
        deep(n - 1)


def 文字𝔘():
    exec(compile("\n\n\nwait()", "añb/名𝔘.py", "exec"), {"wait": wait})


jobs = [
    lambda: Größe.Inner().méthode(3),
    lambda: 名前(5),
    lambda: run(coroutine()),
    with_finally,
    lambda: sorted([Sorted(), Sorted()]),
    functools.partial(deep, 60),
    文字𝔘,
]
for job in jobs:
    threading.Thread(target=job, daemon=True).start()
for job in jobs:
    started.acquire()
(lambda: print("up", flush=True) or time.sleep(600))()
