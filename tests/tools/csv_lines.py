#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""csv_lines.py DIR LINES: tables of --export csv against the JSON lines of the same run: the same rows, field by
field. Exits with 1 and a line for each fault."""
import csv
import json
import os
import sys

PHASES = ["data", "forward", "backward", "update", "zero_grad", "sync", "collective", "transfer", "compile", "host"]
TYPES = {"steps": "step", "checkpoints": "checkpoint", "disruptions": "disruption"}


def cell(value):
    if value is None or value in ({}, []):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return " ".join(value)
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, float):
        return f"{value:.9g}"
    text = "".join(c if c.isprintable() else "?" for c in str(value))
    return "'" + text if isinstance(value, str) and text[:1] in tuple("=+-@ ") else text


def main():
    with open(sys.argv[2], encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    faults, rows = [], 0
    for table, kind in TYPES.items():
        path = os.path.join(sys.argv[1], f"{table}.csv")
        with open(path, encoding="utf-8", newline="") as f:
            text = f.read()
        if text.count("\n") != text.count("\r\n") or not text.endswith("\r\n"):
            faults.append(f"{path}: a line does not end with CR LF")
        found = list(csv.DictReader(text.splitlines(keepends=True), strict=True))
        told = [r for r in lines if r["type"] == kind]
        if len(found) != len(told):
            faults.append(f"{path}: {len(found)} rows, {len(told)} lines")
        for row, r in zip(found, told):
            rows += 1
            flat = dict(r)
            for phase in PHASES if kind == "step" else []:
                flat[f"{phase}_ns"] = r["phases"].get(phase)
            for column, value in row.items():
                if value != cell(flat.get(column)):
                    faults.append(f"{path}: {column}: {value!r}, not {cell(flat.get(column))!r}: {r}")
            missing = set(flat) - set(row) - {"type", "phases"}
            if missing:
                faults.append(f"{path}: no column for {sorted(missing)}")
    for text in faults[:20]:
        print(text)
    print(f"{rows} rows, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
