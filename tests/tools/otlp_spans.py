#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spans that a stand-in Collector (tests/servers/otlp.py) got, against their vocabulary, their tree, and the JSON lines
of the same run; its metrics against the lines. Prints what it saw, and one line for each fault.

  otlp_spans.py JOURNAL LINES [SAMPLE]"""
from __future__ import annotations

import json
import sys
from typing import Any

SPANS = {
    "application", "distributed_code_initialization", "data_loader_initialization", "checkpoint_load",
    "model_initialization", "optimizer_initialization", "training_loop", "training_single_iteration", "data_loading",
    "model_forward", "zero_grad", "model_backward", "optimizer_update", "validation_loop", "validation_single_iteration",
    "testing_loop", "TESTING_SINGLE_ITERATION", "checkpoint_save_sync", "checkpoint_save_async",
    "checkpoint_save_finalization",
}
EVENTS = {
    "span_start", "span_stop", "error", "one_logger_initialization", "update_training_telemetry_config",
    "training_metrics_update", "save_checkpoint_success", "sync_checkpoint_metrics_update", "validation_metrics_update",
    "testing_metrics_update",
}
ATTRIBUTES = {  # of the vocabulary, and of OpenTelemetry; ours begin with "gpbpf."
    "rank", "world_size", "node_name", "session_tag", "perf_tag", "process.pid", "global_batch_size", "flops_per_sample",
    "train_iterations_start", "current_iteration", "num_iterations", "interval", "avg_iteration_time_sec",
    "min_iteration_time_sec", "max_iteration_time_sec", "total_iteration_time_sec", "avg_forward_time_sec",
    "avg_backward_time_sec", "avg_dataloader_time_sec", "avg_tflops", "train_tokens", "avg_tokens_per_second",
    "avg_batch_size", "total_flops", "num_train_samples", "first_logged_train_iterations_finish_timestamp_sec",
    "last_logged_train_iterations_finish_timestamp_sec", "checkpoint_strategy", "checkpoint_size", "checkpoint_directory",
    "first_successful_save_checkpoint_timestamp_sec", "latest_successful_save_checkpoint_timestamp_sec",
    "save_checkpoint_success_count", "error_message", "save_checkpoint_attempt_count", "save_checkpoint_sync_time_max_sec",
    "save_checkpoint_sync_time_min_sec", "save_checkpoint_sync_time_total_sec", "training_start_timestamp_sec",
    "productive_train_iterations", "productive_train_iterations_sec", "productive_train_samples", "productive_train_tflops",
    "train_samples_start", "completed_floating_point_operations_overall",
}
faults: list[str] = []


def fault(text: str) -> None:
    faults.append(text)


def plain(value: dict[str, Any]) -> Any:
    kind, v = next(iter(value.items()))
    if kind == "arrayValue":
        return [plain(i) for i in v["values"]]
    return int(v) if kind == "intValue" else v


def attributes(o: dict[str, Any]) -> dict[str, Any]:
    return {a["key"]: plain(a["value"]) for a in o.get("attributes", [])}


def length(s: dict[str, Any]) -> int:
    return int(s["endTimeUnixNano"]) - int(s["startTimeUnixNano"])


def check_names(s: dict[str, Any]) -> None:
    if s["name"] not in SPANS:
        fault(f"a span {s['name']} is none of the vocabulary")
    names = [e["name"] for e in s["events"]]
    if not set(names) <= EVENTS or names[0] != "span_start" or names[-1] != "span_stop":
        fault(f"events of {s['name']}: {names}")
    for o in [s, *s["events"]]:
        for key in attributes(o):
            if key not in ATTRIBUTES and not key.startswith("gpbpf."):
                fault(f"an attribute {key} of {o['name']}")


def check_place(s: dict[str, Any], by_id: dict[str, dict[str, Any]]) -> None:
    parent = by_id.get(s.get("parentSpanId", ""))
    if (s["name"] == "application") != ("parentSpanId" not in s):
        fault(f"{s['name']} and its parent")
    elif "parentSpanId" not in s:
        return
    elif parent is None:
        fault(f"{s['name']} has a parent that is not there")
    elif parent["traceId"] != s["traceId"]:
        fault(f"{s['name']} is of another trace than its parent")
    elif not (
        int(parent["startTimeUnixNano"]) <= int(s["startTimeUnixNano"])
        and int(s["endTimeUnixNano"]) <= int(parent["endTimeUnixNano"])
    ):
        fault(f"{s['name']} does not lie within {parent['name']}")


def check_step(s: dict[str, Any], o: dict[str, Any]) -> None:
    a = attributes(s)
    phases = {k[12:-3]: v for k, v in a.items() if k.startswith("gpbpf.phase.")}
    if length(s) != o["duration_ns"]:
        fault(f"step {o['step']} took {length(s)}, in the lines {o['duration_ns']}")
    if phases != o["phases"] or a.get("gpbpf.flags", []) != o["flags"]:
        fault(f"step {o['step']}: {phases} {a.get('gpbpf.flags')}, in the lines {o['phases']} {o['flags']}")


def check_steps(spans: list[dict[str, Any]], steps: list[dict[str, Any]], sample: int) -> None:
    told: dict[tuple[int, int, int], dict[str, Any]] = {}
    left: dict[tuple[int, int], int] = {}
    for s in spans:
        if s["name"] == "training_single_iteration":
            a = attributes(s)
            told[(a["process.pid"], a.get("gpbpf.loop", 0), a["current_iteration"])] = s
    for o in steps:
        span, loop = told.pop((o["pid"], o["loop"], o["step"]), None), (o["pid"], o["loop"])
        if span:
            left[loop] = 0
            check_step(span, o)
            continue
        left[loop] = left.get(loop, 0) + 1
        if set(o["flags"]) - {"ambiguous"} or left[loop] >= sample:
            fault(f"step {o['step']} {o['flags']} is not there, the {left[loop]}th in a row")
    if told:
        fault(f"steps that no line has: {sorted(told)}")


def check_loops(spans: list[dict[str, Any]], steps: list[dict[str, Any]]) -> None:
    for s in spans:
        if s["name"] != "training_loop":
            continue
        a = attributes(s)
        own = [o for o in steps if (o["pid"], o["loop"]) == (a["process.pid"], a.get("gpbpf.loop", 0))]
        total = sum(attributes(e).get("num_iterations", 0) for e in s["events"])
        if not total == a["gpbpf.steps"] == len(own):
            fault(f"a loop of {a['gpbpf.steps']} steps, {total} in its updates, {len(own)} in the lines")


def check_saves(spans: list[dict[str, Any]], lines: list[dict[str, Any]]) -> None:
    name = {"sync": "checkpoint_save_sync", "async": "checkpoint_save_finalization", None: "checkpoint_load"}
    theirs = sorted((name[o["mode"]], o["duration_ns"]) for o in lines if o["type"] == "checkpoint" and o["end_ns"])
    ours = sorted(
        (s["name"], length(s))
        for s in spans
        if s["name"].startswith("checkpoint_") and "gpbpf.range" not in attributes(s)
        and attributes(s).get("gpbpf.end_seen", True)
    )
    if theirs != ours:
        fault(f"checkpoints {ours}, in the lines {theirs}")


def same(where: str, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    for key, value in theirs.items():
        if key not in ours or abs(ours[key] - value) > 1e-6:
            fault(f"{where}: {key} is {ours.get(key)}, in the lines {value}")


def event_of(spans: list[dict[str, Any]], name: str, key: str, value: Any) -> dict[str, Any]:
    """Attributes of the one event of that name with that value; empty where there is none."""
    found = [a for s in spans for e in s["events"] if e["name"] == name for a in [attributes(e)] if a.get(key) == value]
    return found[0] if len(found) == 1 else {}


def check_productive(spans: list[dict[str, Any]], lines: list[dict[str, Any]]) -> None:
    """Each save that ended says what it covers, and what all saves took that a step waited for; only where a range of the
    job's own tells of it, too, its span is the range's."""
    for pid in {o["pid"] for o in lines if o["type"] == "checkpoint"}:
        mine = [s for s in spans if attributes(s)["process.pid"] == pid]
        if any("gpbpf.range" in attributes(s) for s in mine if s["name"].startswith("checkpoint_save")):
            continue
        saves = [o for o in lines if o["type"] == "checkpoint" and o["op"] == "save" and o["pid"] == pid]
        steps = [o for o in lines if o["type"] == "step" and o["pid"] == pid and not o["loop"]]
        sync = [attributes(e) for s in mine for e in s["events"] if e["name"] == "sync_checkpoint_metrics_update"]
        sync.sort(key=lambda a: a["save_checkpoint_sync_time_total_sec"])
        took: list[float] = []
        for n, o in enumerate((o for o in saves if o["end_ns"]), 1):
            a = event_of(mine, "save_checkpoint_success", "save_checkpoint_success_count", n)
            if o["step"]:
                done = [i["duration_ns"] for i in steps if i["step"] <= o["step"]]
                same(f"save {n} of {pid}", {"current_iteration": o["step"], "productive_train_iterations": o["step"]}, a)
                if steps and steps[0]["run_step"] == 1:
                    same(f"save {n} of {pid}", {"productive_train_iterations_sec": sum(done) / 1e9}, a)
            if o["mode"] == "sync":
                took.append(o["duration_ns"] / 1e9)
                total = {"max": max(took), "min": min(took), "total": sum(took)}
                a = sync[len(took) - 1] if len(took) <= len(sync) else {}
                same(f"save {n} of {pid}", {f"save_checkpoint_sync_time_{k}_sec": v for k, v in total.items()}, a)
        counts = [attributes(s).get("save_checkpoint_attempt_count") for s in mine if s["name"].startswith("checkpoint_save")]
        if sorted(counts) != list(range(1, len(saves) + 1)):
            fault(f"attempts of {pid}: {counts} of {len(saves)} saves")


def check_evaluations(spans: list[dict[str, Any]], lines: list[dict[str, Any]]) -> None:
    for o in lines:
        if o["type"] != "range" or o["name"] != "evaluation":
            continue
        before = [i["step"] for i in lines if i["type"] == "step" and i["pid"] == o["pid"] and not i["loop"]
                  and i["end_ns"] <= o["start_ns"]]
        mine = [s for s in spans if s["name"] == "validation_loop" and attributes(s)["process.pid"] == o["pid"]]
        if before and not event_of(mine, "validation_metrics_update", "current_iteration", before[-1]):
            fault(f"the evaluation after step {before[-1]} of {o['pid']} is not told as one")


def points_of(bodies: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    last: dict[str, tuple[str, dict[str, Any]]] = {}
    starts: dict[str, set[str]] = {}
    for body in bodies:
        for metric in body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
            for kind in ("gauge", "sum", "histogram"):
                for p in metric.get(kind, {}).get("dataPoints", []):
                    who = f"{metric['name']} {json.dumps(p.get('attributes'), sort_keys=True)}"
                    last[who] = (metric["name"], p)
                    if kind != "gauge":
                        starts.setdefault(who, set()).add(p.get("startTimeUnixNano", "none"))
    for who, at in starts.items():
        if len(at) != 1 or "none" in at:
            fault(f"{who}: its start is {at}")
    return list(last.values())


def check_metrics(bodies: list[Any], lines: list[dict[str, Any]]) -> None:
    points = points_of(bodies)
    for o in lines:
        if o["type"] != "ledger" or not o["final"]:
            continue
        mine = [(name, attributes(p), p) for name, p in points if attributes(p).get("process.pid") == o["pid"]]
        time = {a["gpbpf.bucket"]: p["asDouble"] for name, a, p in mine if name == "gpbpf.rank.time"}
        for name, ns in o["buckets"].items():
            if abs(time.get(name, 0) - ns / 1e9) > 1e-9:
                fault(f"{name} of {o['pid']} is {time.get(name)}, in the lines {ns / 1e9}")
        count = sum(int(p["asInt"]) for name, _, p in mine if name == "gpbpf.steps")
        steps = sum(1 for i in lines if i["type"] == "step" and i["pid"] == o["pid"])
        if count != steps:
            fault(f"{count} steps of {o['pid']}, in the lines {steps}")


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as f:
        requests = [json.loads(line) for line in f]
    with open(sys.argv[2], encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    steps = [o for o in lines if o["type"] == "step"]
    for r in requests:
        if r["error"]:
            fault(f"request {r['n']}: {r['error']}")
    taken = [r for r in requests if r["status"] == 200 and r["fault"] in (None, "partial", "warn")]
    spans = [
        s for r in taken if r["path"] == "/v1/traces" for s in r["body"]["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]
    by_id = {s["spanId"]: s for s in spans}
    if len(by_id) != len(spans):
        fault(f"{len(spans)} spans have {len(by_id)} identifiers")
    for s in spans:
        check_names(s)
        check_place(s, by_id)
    check_steps(spans, steps, int(sys.argv[3]) if len(sys.argv) > 3 else 100)
    check_loops(spans, steps)
    check_saves(spans, lines)
    check_productive(spans, lines)
    check_evaluations(spans, lines)
    check_metrics([r["body"] for r in taken if r["path"] == "/v1/metrics"], lines)
    for text in faults[:20]:
        print(text)
    print(f"{len(spans)} spans of {len({s['traceId'] for s in spans})} traces, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
