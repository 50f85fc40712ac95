#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dashboards, rules and alerts name only what exists: metrics, their labels and values, as `gp-bpf schema --metrics`, the rules and
the tables of the man page have them; their PromQL is right (promtool). TAP.

dashboards.py [--queries FILE JOB]   --queries: prints each query of a Grafana dashboard, for that job, on a line
"""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Iterator

TOP = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = TOP / "deploy"
PREFIX = "custom.googleapis.com/gp_bpf/"
TARGET = {"job", "instance"}  # what a scrape adds
OTHERS = {"up": set(), "ALERTS": {"alertname", "alertstate", "severity"}, "vector": set()}
MODIFIER = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)")
SELECTOR = re.compile(r"(?<![\w:])([a-zA-Z_:][\w:]*)\s*(\{[^{}]*\})?(?!\s*\()(?![\w:])")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
WORDS = {"and", "or", "unless", "bool", "on", "ignoring", "group_left", "group_right"}
VARIABLES = {"$__rate_interval": "5m", "$__interval": "1m", "$__range": "1h"}


def own_metrics() -> dict[str, set[str]]:
    gp_bpf = os.environ.get("GP_BPF", TOP / "build/plain/gp-bpf")
    out: dict[str, set[str]] = {}
    for line in subprocess.run([gp_bpf, "schema", "--metrics"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        name, kind, _, labels, _ = line.split("\t")
        has = set(filter(None, labels.split(", ")))
        if kind == "histogram":
            out[name + "_bucket"] = has
        if kind in ("histogram", "summary"):
            out[name + "_sum"] = out[name + "_count"] = has - {"le", "quantile"}
        if kind != "histogram":
            out[name] = has
        if "rank" in has and kind != "info":
            has.add("pid")  # in the place of a rank that is not known
    return out


def values() -> dict[str, set[str]]:
    """Values of labels whose values are ours."""
    def read(path: str) -> str:
        return (TOP / path).read_text()

    buckets = set(re.findall(r'X\(\w+, "([A-Z_.]+)"', read("userspace/model/time/ledger.h")))
    known = {"bucket": buckets, "window": {"1h", "24h", "7d"}, "percentile": {"50", "95", "99"}, "over": {"steps", "observed"},
             "part": {"marker", "other"}, "op": {"save", "restore"},
             "state": set(re.findall(r'STATE_\w+\] = "(\w+)"', read("userspace/model/step/step_state.c")))
             | {"running", "down", "over", "ended"},
             "cause": set(re.findall(r"\b[a-z]+(?:_[a-z]+)*\b", read("bpf/gp_words.h") + read("man/gp-bpf-json.5") + read("man/gp-bpf-metrics.7")))}
    if not len(buckets) > 15 or "locked" not in known["state"]:
        raise SystemExit("the values of labels are no longer where they were")
    return known


def rules() -> Iterator[tuple[str, str, str]]:
    """(record or alert, name, expression) of each rule, in order."""
    for file in ("rules.yaml", "alerts.yaml"):
        text = re.sub(r"^ *#.*\n", "", (DEPLOY / "prometheus" / file).read_text(), flags=re.M)
        for kind, name, body in re.findall(r"^  - (record|alert): (\S+)\n((?:    .*\n|\n)+)", text, flags=re.M):
            found = re.match(r"    expr: (?:\|\n((?:      .*\n)+)|(.*)\n)", body)
            assert found, name
            yield kind, name, " ".join((found[1] or found[2]).split())


class Checker:
    def __init__(self) -> None:
        self.metrics = own_metrics()
        self.values = values()
        for kind, name, expr in rules():
            if kind == "record":
                self.metrics[name] = self.labels_of(expr)

    def plain(self, expr: str) -> str:
        for name, value in VARIABLES.items():
            expr = expr.replace(name, value)
        return expr

    def selectors(self, expr: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
        expr = re.sub(r"\[[^\]]*\]|\boffset\s+\w+", "", self.plain(expr))
        expr = MODIFIER.sub(lambda m: "" if m[1] in ("by", "without") else f" {m[1]} ", expr)
        for name, inner in SELECTOR.findall(expr):
            if name not in WORDS:
                yield name, MATCHER.findall(inner)

    def labels_of(self, expr: str) -> set[str]:
        """Labels that a recorded series may have."""
        by = {x for word, inner in MODIFIER.findall(expr) if word == "by" for x in re.findall(r"\w+", inner)}
        used = list(self.selectors(expr))
        if not by or re.search(r"group_right|^topk", expr):
            return by.union(*(self.metrics.get(name, set()) for name, _ in used))
        return by.union(*(self.metrics.get(name, set()) for name, _ in used if ":" in name))

    def problems(self, expr: str) -> list[str]:
        out = []
        reach: set[str] = set(TARGET) | {"exported_" + x for x in ("namespace", "pod", "container")}
        for name, matchers in self.selectors(expr):
            if name not in self.metrics and name not in OTHERS:
                out.append(f"no metric {name}")
                continue
            has = self.metrics.get(name, OTHERS.get(name, set())) | TARGET
            reach |= has
            for label, how, value in matchers:
                if label not in has:
                    out.append(f"{name} has no label {label}")
                elif label in self.values and "$" not in value:
                    for one in value.split("|") if "~" in how else [value]:
                        if not any(re.fullmatch(one, v) for v in self.values[label]):
                            out.append(f'{name} has no {label}="{one}"')
        for _, inner in MODIFIER.findall(expr):
            out += [f"no label {x} in {expr}" for x in re.findall(r"\w+", inner) if x not in reach]
        return out


def grafana(page: dict[str, Any]) -> Iterator[str]:
    for panel in page["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"]
    for note in page["annotations"]["list"]:
        yield note["expr"]


def grafana_form(page: dict[str, Any]) -> list[str]:
    out = []
    names = {v["name"] for v in page["templating"]["list"]}
    if page["schemaVersion"] < 38 or "id" in page:
        out.append("not the form of Grafana 10, or with the number of a dashboard of somebody's")
    if "datasource" not in names:
        out.append("no variable of the data source")
    ids = [p["id"] for p in page["panels"]]
    if len(set(ids)) != len(ids):
        out.append("two panels of one number")
    for p in page["panels"]:
        if p["type"] == "row":
            continue
        where = p["title"]
        if p["datasource"]["uid"] != "${datasource}" or any(t["datasource"]["uid"] != "${datasource}" for t in p["targets"]):
            out.append(f"{where}: a data source by its number")
        if not p["fieldConfig"]["defaults"].get("unit"):
            out.append(f"{where}: no unit")
        for t in p["targets"]:
            used = set(re.findall(r"\$\{?(\w+)", t["expr"])) - {v[1:] for v in VARIABLES}
            out += [f"{where}: no variable {u}" for u in used - names]
    spots = [(g["x"] + dx, g["y"] + dy) for p in page["panels"] for g in [p["gridPos"]] for dx in range(g["w"]) for dy in range(g["h"])]
    if len(set(spots)) != len(spots) or any(x >= 24 for x, _ in spots):
        out.append("panels lie on each other, or outside")
    return out


def cloud_types() -> dict[str, tuple[set[str], str]]:
    """Type: its labels, and its kind and value, as the man page has them."""
    text = (TOP / "man/gp-bpf-metrics.7").read_text()
    found = re.findall(r"^\.It Li ((?:job|rank)/\w+) Pq (.*)\n(?:[^.\n].*\n)*?((?:Gauge|Cumulative), .*)\.\n", text, flags=re.M)
    return {name: (set(labels.split(" , ")), kind) for name, labels, kind in found}


ALIGNERS = {"Gauge, number": {"MEAN", "MAX", "MIN", "NEXT_OLDER"}, "Gauge, integer": {"MEAN", "MAX", "MIN", "NEXT_OLDER"},
            "Gauge, true": {"COUNT_TRUE", "FRACTION_TRUE", "NEXT_OLDER"}, "Cumulative, number": {"RATE", "DELTA"},
            "Cumulative, integer": {"RATE", "DELTA"}, "Cumulative, distribution": {"DELTA"}}


def cloud_problems(page: dict[str, Any]) -> list[str]:
    types, out = cloud_types(), []
    if not types:
        out.append("no types in the man page")

    def walk(node: Any) -> Iterator[dict[str, Any]]:
        if isinstance(node, dict):
            if "filter" in node:
                yield node
            for child in node.values():
                yield from walk(child)
        elif isinstance(node, list):
            for child in node:
                yield from walk(child)

    for query in walk(page):
        name = re.fullmatch(f'metric.type="{PREFIX}([^"]+)"((?: metric.label.\\w+="\\w+")*)', query["filter"])
        if not name or name[1] not in types or set(re.findall(r"label\.(\w+)", name[2])) - types[name[1]][0]:
            out.append(f"no type in {query['filter']}")
            continue
        labels, kind = types[name[1]]
        aggregation = query["aggregation"]
        out += [f"{name[1]} has no label {g}" for g in aggregation["groupByFields"] if g.split(".")[-1] not in labels]
        may = next(v for k, v in ALIGNERS.items() if kind.startswith(k))
        if aggregation["perSeriesAligner"].removeprefix("ALIGN_") not in may:
            out.append(f"{name[1]} ({kind}) cannot be aligned by {aggregation['perSeriesAligner']}")
    for tile in page["mosaicLayout"]["tiles"]:
        if tile.get("xPos", 0) + tile["width"] > page["mosaicLayout"]["columns"]:
            out.append(f"{tile['widget']['title']}: outside")
    return out


def promql(exprs: list[str]) -> list[str]:
    if not shutil.which("promtool"):
        return []
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump({"groups": [{"name": "g", "rules": [{"record": f"q:{i}", "expr": e} for i, e in enumerate(exprs)]}]}, file)
        file.flush()
        done = subprocess.run(["promtool", "check", "rules", "--lint=none", file.name], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    return done.stdout.splitlines() if done.returncode else []


count = failed = 0


def tap(what: str, problems: list[str]) -> None:
    global count, failed
    count += 1
    failed += bool(problems)
    print(f"{'not ok' if problems else 'ok'} {count} - {what}")
    for problem in problems[:20]:
        print(f"# {problem}")


def main() -> int:
    check = Checker()
    if sys.argv[1:2] == ["--queries"]:
        for expr in grafana(json.loads(pathlib.Path(sys.argv[2]).read_text())):
            print(check.plain(expr).replace("$job_id", sys.argv[3]))
        return 0
    tap("rules and alerts use what exists", [f"{name}: {p}" for _, name, expr in rules() for p in check.problems(expr)])
    for name in ("job", "fleet"):
        page = json.loads((DEPLOY / "grafana" / f"{name}.json").read_text())
        exprs = list(grafana(page))
        tap(f"Grafana, {name}: form", grafana_form(page))
        tap(f"Grafana, {name}: metrics, labels and values exist", [p for e in exprs for p in check.problems(e)])
        tap(f"Grafana, {name}: PromQL", promql([check.plain(e) for e in exprs]))
        tap(f"Cloud Monitoring, {name}: types, labels and aligners",
            cloud_problems(json.loads((DEPLOY / "cloud-monitoring" / f"{name}.json").read_text())))
    shown = {name for file in (DEPLOY / "grafana").glob("*.json") for e in grafana(json.loads(file.read_text())) for name, _ in check.selectors(e)}
    causes = {"gpbpf_rank_cause_seconds_total", "gpbpf_rank_long_step_seconds_total"}
    tap("Grafana: lost time is shown by cause", sorted(causes - shown))
    tap("Cloud Monitoring: lost time is shown by cause",
        [] if f"{PREFIX}rank/cause_time" in (DEPLOY / "cloud-monitoring/job.json").read_text() else ["rank/cause_time is not shown"])
    for wrong in ("gpbpf_step_total", 'gpbpf_steps_total{jobs="x"}', 'gpbpf_job_time_seconds{bucket=~"GOODPUT|OTHERS"}',
                  "sum by (node_name) (gpbpf_steps_total)", 'gpbpf_rank_state{state="lost"}', "gpbpf:job_goodput:ratio2h",
                  "gpbpf:job_goodput:ratio1h{rank=\"0\"}"):
        tap(f"what does not exist is found: {wrong}", [] if check.problems(wrong) else ["it was not"])
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
