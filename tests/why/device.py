# SPDX-License-Identifier: Apache-2.0
"""The row of a device that throttles: a stand-in for CUDA that becomes slower, and one for NVML that says why."""
import subprocess
import time

from groups import Skip
from runs import FAKE, GP_BPF, LAST_CPU, Run, until

USUAL_MS, SLOW_MS = 50, 100
USUAL, SLOW, AFTER = 300, 200, 200  # steps

TRAIN = """
mount --bind "$0" /dev || exit
exec 8<>/dev/nvidia0
exec "$@"
"""


class DeviceRun(Run):
    """A run of tests/fake/cuda_train.c, whose only log are the latencies that it is told to have."""

    def __init__(self, folder, _python=None):
        if "device_throttled" not in subprocess.run([GP_BPF, "schema"], capture_output=True, text=True, check=False).stdout:
            raise Skip("this gp-bpf does not read clocks of devices")
        if not (FAKE / "nvml/libnvidia-ml.so.1").exists():
            raise Skip("no stand-in for NVML (make fakes)")
        super().__init__(folder, None)
        self.dev, self.figures = folder / "dev", folder / "nvml"

    def set_figures(self, **figures):
        figures = {"devices": 1, "max": 1980, "power": 300000, "busy": 90, "errors": 0} | figures
        new = self.figures.with_suffix(".new")
        new.write_text("".join(f"{key} {value}\n" for key, value in figures.items()), encoding="utf-8")
        new.rename(self.figures)

    def steps(self):
        with open(self.folder / "lines", encoding="utf-8") as f:
            return sum('"type":"step"' in line for line in f)

    def train(self):
        """Returns the usual step and the injected loss of a step, both in ms."""
        self.dev.mkdir()
        for name in ("nvidia0", "null"):
            (self.dev / name).touch()
        self.set_figures(clock=1980, reasons=4, celsius=60)
        environment = self.environment | {"FAKE_NVML": str(self.figures), "LD_LIBRARY_PATH": str(FAKE / "nvml")}
        calls = f"latency={USUAL_MS}ms,latency={SLOW_MS}ms@{USUAL},latency={USUAL_MS}ms@{USUAL + SLOW}"
        with open(self.folder / "job0.out", "w", encoding="utf-8") as out:
            job = subprocess.Popen(
                ["unshare", "-m", *self.place(str(LAST_CPU)), "sh", "-c", TRAIN, self.dev, FAKE / "cuda_train",
                 f"steps={USUAL + SLOW + AFTER}", "pace=1000", "every=1000000"], stdin=subprocess.PIPE, stdout=out,
                stderr=subprocess.STDOUT, env=self.environment | {"FAKE_CUDA": f"cuStreamSynchronize:{calls}"})
        self.jobs.append(job)
        until("a loaded job", lambda: "loaded" in (self.folder / "job0.out").read_text(encoding="utf-8"))
        self.options += ["--marker", "sync"]
        self.start_watch(["--pid", str(job.pid)], environment)
        job.stdin.write(b"go\n")
        job.stdin.flush()
        until("usual steps", lambda: self.steps() >= USUAL - 10)
        self.set_figures(clock=990, reasons="0x28", celsius=87)
        until("slow steps", lambda: self.steps() >= USUAL + SLOW - 5)
        self.set_figures(clock=1980, reasons=4, celsius=60)
        time.sleep(AFTER * (USUAL_MS + 1) / 1000)
        job.stdin.close()
        job.wait(20)
        self.watch.wait(20)
        return USUAL_MS + 1, SLOW_MS - USUAL_MS
