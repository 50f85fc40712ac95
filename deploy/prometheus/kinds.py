#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rules.yaml and alerts.yaml as the kinds of the Prometheus Operator and of Google Cloud Managed Service for Prometheus.

kinds.py           writes prometheus_rule.yaml and gmp_rules.yaml beside this file
kinds.py --check   fails with the difference where they are not what it would write
"""
from __future__ import annotations

import difflib
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
SOURCES = ("rules.yaml", "alerts.yaml")
KINDS = {
    "prometheus_rule.yaml": ("monitoring.coreos.com/v1", "PrometheusRule"),
    "gmp_rules.yaml": ("monitoring.googleapis.com/v1", "Rules"),
}


def groups() -> str:
    """The groups of all sources, without their comments at the top, deeper by a level."""
    out = []
    for name in SOURCES:
        text = (HERE / name).read_text()
        before, after = text.split("\ngroups:\n")
        if any(line and not line.startswith("#") for line in before.splitlines()):
            raise SystemExit(f"{name}: it has something before its groups")
        out += ["  " + line if line else "" for line in after.rstrip("\n").splitlines()]
        out.append("")
    return "\n".join(out).rstrip("\n")


def kind(api: str, name: str) -> str:
    return f"""# Made by kinds.py of rules.yaml and alerts.yaml: change those.
apiVersion: {api}
kind: {name}
metadata:
  name: gp-bpf
  namespace: gp-bpf
  labels:
    app.kubernetes.io/name: gp-bpf
spec:
  groups:
{groups()}
"""


def main() -> int:
    differs = False
    for file, (api, name) in KINDS.items():
        path, made = HERE / file, kind(api, name)
        if sys.argv[1:] != ["--check"]:
            path.write_text(made)
            continue
        there = path.read_text() if path.exists() else ""
        for line in difflib.unified_diff(there.splitlines(), made.splitlines(), file, "made by kinds.py", lineterm=""):
            print(line)
            differs = True
    return differs


if __name__ == "__main__":
    sys.exit(main())
