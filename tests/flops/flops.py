#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""flops.py [--only ROW]... [--write FILE] [--keep FOLDER]

The truth table of operations: public models that train on the CPU, the floating-point operations of a step that gp-bpf
measures, and those that PyTorch's FlopCounterMode counts in a second run with the same seed. Prints a table (Markdown).
Needs root, a built gp-bpf (GP_BPF) and "tests/tools/framework.sh models"; each row takes about 20 s. Status 1: a row
is wrong.

--only ROW   only this row (repeatable), such as "gpt2" or "gpt2 bf16"
--write FILE replaces the part of a document between <!-- flops --> and <!-- /flops -->
--keep FOLDER keeps tapes there
"""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
GP_BPF = os.environ.get("GP_BPF", str(TOP / "build/plain/gp-bpf"))
TRAIN_S = 8


class Failed(Exception):
    """A run did not go as planned, so it says nothing about gp-bpf."""


class Row:
    """bound: the row of probes/torch.yaml that a lower bound has to name; empty: the figure has to be exact. more: operations
    that the variant has, and the model that is counted for it has not."""

    def __init__(self, model, variant="eager", bound="", more=0):
        self.more = more
        self.model, self.variant, self.bound = model, variant, bound and f"torch.op_{bound}"
        self.id = f"{model}:{variant}"
        self.name = model if variant == "eager" else f"{model} {variant}"


EXACT = {
    "eager": ["resnet50", "resnext50", "gpt2", "llama", "bert", "t5", "mixtral", "vit_b_16", "convnext", "mixer", "UNet2D", "GCN", "LSTM",
              "autoencoder", "DCGAN", "r3d_18", "mobilenet_v3", "efficientnet_b0", "shufflenet_v2", "swin_t", "deeplabv3", "gemma2",
              "deberta", "bloom", "deepseek_v3", "clip", "segformer", "UNet2DCondition", "AutoencoderKL", "DiT", "GAT", "GraphSAGE",
              "nn.Transformer", "NeRF", "DLRM", "GRU", "LSTM, two directions", "WGAN-GP", "PINN", "mamba", "whisper", "wav2vec2"],
    "bf16": ["gpt2", "resnet50", "llama", "UNet2D", "autoencoder"],
    "checkpoint": ["llama", "UNet2D", "deit_tiny", "gpt2"],
    "accumulation": ["llama"],
    "channels_last": ["resnet50"],
    "script": ["resnet50", "autoencoder"],
    "DDP": ["gpt2", "resnet50"],
    "FSDP": ["gpt2"],
}
BOUND = [
    Row("gpt2", "compile", "torch_compile"), Row("NeRF", "compile", "torch_compile"), Row("gpt2", "FSDP2", "custom_kernel"),
    Row("GCN, sparse matrix", bound="sparse_addmm")]
ROWS = [
    *[Row(model, variant) for variant, names in EXACT.items() for model in names],
    Row("NeRF", "script", more=2 * 4096 * 128 * 60),  # a gradient of the input, as torch.profiler shows
    *BOUND]


class Result:
    """What gp-bpf reports of a row (figure, source, uncounted), and what is true. Numbers are operations of a step."""

    def __init__(self, row):
        self.row, self.failed = row, ""
        self.figure, self.source, self.uncounted, self.counted, self.true = None, None, None, 0, 0

    def text(self):
        if self.failed:
            return f"failed: {self.failed}"
        if not self.row.bound and self.source == "measured" and self.figure == self.true:
            return "exact"
        if self.row.bound and self.source == "lower_bound" and self.uncounted == self.row.bound and 0 < self.figure <= self.true:
            return "bound named right"
        return "**wrong**"

    def good(self):
        return self.text() in ("exact", "bound named right")


class Trainer:
    """train.py: one program that starts the processes of all rows, as its imports take long."""

    def __init__(self, python, folder):
        self.errors = folder / "train.err"
        with open(self.errors, "w", encoding="utf-8") as err:
            self.process = subprocess.Popen([python, "-u", HERE / "train.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
                                            text=True)
        self.answer("ready")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self, word):
        """Waits for a line that begins with this word; returns its numbers."""
        for line in self.process.stdout:
            if line.split()[:1] == [word]:
                return [int(n) for n in line.split()[1:]]
            if line.startswith("status"):
                break
        raise Failed("the model: " + "".join(self.errors.read_text(encoding="utf-8").strip().splitlines()[-1:])[:200])

    def count(self, row):
        """FlopCounterMode's count, and the true one."""
        self.ask(f"{row.id} 0")
        counts = self.answer("operations")
        self.answer("status")
        return counts

    def train(self, row, tape):
        """Trains under gp-bpf."""
        self.ask(f"{row.id} {TRAIN_S}")
        pids = self.answer("pids")
        read, write = os.pipe()
        argv = [GP_BPF, "record", "--quiet", "-o", tape, "--ready-fd", str(write), *[x for p in pids for x in ("--pid", str(p))]]
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL, pass_fds=[write]) as watch:
            os.close(write)
            with os.fdopen(read) as ready:
                ready.read(1)
            self.ask("begin")
            status = self.answer("status")
        if watch.returncode or status != [0]:
            raise Failed(f"status {watch.returncode} of gp-bpf, {status[0]} of the model")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()


def run_row(row, trainer, tape, result):
    result.counted, result.true = trainer.count(row)
    result.true += row.more
    trainer.train(row, tape)
    report = json.loads(subprocess.run([GP_BPF, "replay", "--json", tape], stdout=subprocess.PIPE, check=True).stdout)
    program = report["jobs"][0]["program"] if report["jobs"] else {}
    result.figure, result.source, result.uncounted = (program.get(f"flops_{key}") for key in ("per_step", "source", "uncounted"))


def tried(row, trainer, tape):
    result = Result(row)
    try:
        run_row(row, trainer, tape, result)
    except (Failed, subprocess.SubprocessError, OSError, ValueError) as e:
        result.failed = str(e)
    return result


# ---- the table -----------------------------------------------------------------------------------------

HEAD = ("model", "variant", "gp-bpf", "source", "FlopCounterMode", "true, if otherwise", "difference", "result")


def cells_of(r):
    if r.failed:
        return [r.row.model, r.row.variant, *["-"] * 5, r.text()]
    source = f"{r.source or 'none'}{f': {r.uncounted}' if r.uncounted else ''}"
    difference = f"{100 * (r.figure - r.true) / r.true:+.1f} %" if r.figure and r.figure != r.true else "0" if r.figure else "-"
    return [r.row.model, r.row.variant, f"{r.figure:,}" if r.figure else "-", source, f"{r.counted:,}",
            f"{r.true:,}" if r.true != r.counted else "", difference, r.text()]


def line_of(cells):
    return f"| {' | '.join(cells)} |"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), platform.machine())
    return f"{model}, {os.cpu_count()} CPUs, Linux {platform.release()}"


def versions(python):
    names = ("torch", "torchvision", "transformers", "diffusers", "timm", "torch_geometric")
    code = f"import importlib.metadata as m; print(', '.join(f'{{n}} {{m.version(n)}}' for n in {names}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def sums_of(results):
    texts = [r.text() for r in results]
    return [f"- exact: {texts.count('exact')} of {len(texts)}; bound named right: {texts.count('bound named right')}; "
            f"wrong or failed: {sum(not r.good() for r in results)} (bar: none)"]


def write_part(path, text):
    """Replaces the part of a document between its marks."""
    document = pathlib.Path(path).read_text(encoding="utf-8")
    new, count = re.subn(r"(<!-- flops -->\n).*?(<!-- /flops -->)", lambda m: m[1] + "\n" + text + "\n" + m[2], document, flags=re.S)
    if count != 1:
        raise SystemExit(f"{path} has no part between <!-- flops --> and <!-- /flops -->")
    pathlib.Path(path).write_text(new, encoding="utf-8")


def wanted(options):
    for name in options.only or []:
        if name not in [r.name for r in ROWS]:
            raise SystemExit(f"no row {name}; rows: " + "; ".join(r.name for r in ROWS))
    return [r for r in ROWS if not options.only or r.name in options.only]


def options_of(argv):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--only", action="append")
    parser.add_argument("--write")
    parser.add_argument("--keep")
    return parser.parse_args(argv)


def main(argv):
    options = options_of(argv)
    rows = wanted(options)
    if os.geteuid() or not os.access(GP_BPF, os.X_OK):
        raise SystemExit("needs root and a built gp-bpf: make; sudo make flops")
    python = subprocess.run([TOP / "tests/tools/framework.sh", "models"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    head = f"`make flops`; {machine()}; {versions(python)}."
    table, results = [line_of(HEAD), line_of(["---"] * len(HEAD))], []
    print("\n".join([head, "", *table]), flush=True)
    with tempfile.TemporaryDirectory(prefix="flops") as own:
        top = pathlib.Path(options.keep or own)
        top.mkdir(exist_ok=True)
        with Trainer(python, top) as trainer, contextlib.suppress(KeyboardInterrupt):  # what was done until then is written
            for number, row in enumerate(rows):
                results.append(tried(row, trainer, top / f"{number}-{re.sub(r'[^a-z0-9]+', '-', row.name.lower())}.tape"))
                table.append(line_of(cells_of(results[-1])))
                print(table[-1], flush=True)
    lines = sums_of(results)
    print("\n" + "\n".join(lines))
    if options.write:
        write_part(options.write, "\n".join([head, "", *table, "", *lines, ""]))
    return 0 if all(r.good() for r in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
