# SPDX-License-Identifier: Apache-2.0
"""Real training loops of many kinds, each with its own log of what it did (truth.py).

loop.py KIND --out TRUTH.jsonl [--steps N] [--wait-at N --start-file F --go-file G]
loop.py KIND,KIND... --folder FOLDER: each in a child of its own, so that torch is imported once;
        the logs are FOLDER/KIND.jsonl; a kind that fails says so and makes the exit status 1
loop.py --list

--wait-at N: before step N the loop writes its pid into the FIFO F, then goes on when somebody writes to G."""
import argparse
import os
import sys
import traceback

import torch

import common
import kinds_distributed  # noqa: F401 (each registers its kinds)
import kinds_framework  # noqa: F401
import kinds_launch  # noqa: F401
import kinds_optimizer  # noqa: F401
import kinds_plain  # noqa: F401
import kinds_several  # noqa: F401
from truth import Truth


class Options:
    def __init__(self, steps, folder, wait_at=None, start_file=None, go_file=None):
        self.steps, self.folder = steps, folder
        self.wait_at, self.start_file, self.go_file = wait_at, start_file, go_file

    def wait(self, step):
        if step != self.wait_at:
            return
        with open(self.start_file, "w", encoding="ascii") as f:
            f.write(f"{os.getpid()}\n")
        with open(self.go_file, encoding="ascii") as f:
            f.read()


def prepare():
    torch.manual_seed(0)
    torch.set_num_threads(1)


def run(name, path, arguments):
    function, steps = common.KINDS[name]
    truth = Truth(path, name, torch.__version__)
    prepare()
    function(truth, Options(arguments.steps or steps, os.path.dirname(os.path.abspath(path)), arguments.wait_at,
                            arguments.start_file, arguments.go_file))
    truth.write()


def run_in_child(name, arguments):
    """0, or the child's exit status."""
    folder = os.path.join(arguments.folder, name)
    os.makedirs(folder, exist_ok=True)
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    status = 1
    try:
        run(name, os.path.join(folder, name + ".jsonl"), arguments)
        status = 0
    except SystemExit as e:
        status = int(bool(e.code))
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--folder")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--wait-at", type=int)
    parser.add_argument("--start-file")
    parser.add_argument("--go-file")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(common.KINDS))
        return
    kinds = (arguments.kind or "").split(",")
    unknown = [k for k in kinds if k not in common.KINDS]
    if unknown:
        sys.exit(f"loop.py: no such kind: {', '.join(unknown)}; see loop.py --list")
    if not arguments.folder:
        run(kinds[0], arguments.out or parser.error("--out or --folder is needed"), arguments)
        return
    failed = [k for k in kinds if run_in_child(k, arguments)]
    if failed:
        sys.exit(f"loop.py: these failed by themselves: {', '.join(failed)}")


if __name__ == "__main__":
    main()
