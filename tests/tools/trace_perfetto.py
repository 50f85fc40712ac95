#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trace_perfetto.py TRACE LINES: a trace (--export trace) converted into Perfetto's own types (PyPI's perfetto: run with the
Python of tests/tools/framework.sh perfetto), written, read again, and held against the JSON lines of the same run: the
slices of each track lie in each other, steps, checkpoints and disruptions are where the lines have them, and phases lie in
steps. Exits with 1 and a line for each fault."""
import json
import sys
from collections import defaultdict

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

SEQUENCE = 1
faults = []


class Converter:
    def __init__(self):
        self.trace, self.uuids = pb.Trace(), {}

    def packet(self, ns=None):
        p = self.trace.packet.add(trusted_packet_sequence_id=SEQUENCE)
        if ns is not None:
            p.timestamp, p.timestamp_clock_id = ns, pb.BUILTIN_CLOCK_MONOTONIC
        return p

    def track(self, *key, parent=None):
        """Its uuid, described on first use by who is given the descriptor."""
        if key in self.uuids:
            return self.uuids[key], None
        self.uuids[key] = len(self.uuids) + 1
        d = self.packet().track_descriptor
        d.uuid = self.uuids[key]
        if parent:
            d.parent_uuid = parent
        return self.uuids[key], d

    def process(self, pid, name=None):
        uuid, d = self.track("process", pid)
        if d:
            d.process.pid = pid
            d.process.process_name = name or ""
        return uuid

    def lane(self, pid, tid, name=""):
        uuid, d = self.track("lane", pid, tid, parent=self.process(pid))
        if d:
            d.thread.pid, d.thread.tid, d.thread.thread_name = pid, tid, name
        return uuid

    def event(self, e, kind, uuid, ns):
        t = self.packet(ns).track_event
        t.type, t.track_uuid = kind, uuid
        if kind == pb.TrackEvent.TYPE_SLICE_END:
            return t
        t.name = e["name"]
        if "cat" in e:
            t.categories.append(e["cat"])
        for key, value in e.get("args", {}).items():
            note = t.debug_annotations.add(name=key)
            if isinstance(value, bool):
                note.bool_value = value
            elif isinstance(value, int):
                note.int_value = value
            elif isinstance(value, float):
                note.double_value = value
            elif isinstance(value, str):
                note.string_value = value
            elif value is not None:
                note.legacy_json_value = json.dumps(value)
        return t

    def counter(self, e, ns):
        for key, value in e["args"].items():
            uuid, d = self.track("counter", e["pid"], e["name"], key, parent=self.process(e["pid"]))
            if d:
                d.name, d.counter.unit_name = e["name"], key
            t = self.packet(ns).track_event
            t.type, t.track_uuid, t.double_counter_value = pb.TrackEvent.TYPE_COUNTER, uuid, value

    def add(self, e):
        ns, ph = round(e["ts"] * 1000), e["ph"]
        if ph == "M" and e["name"] == "process_name":
            self.process(e["pid"], e["args"]["name"])
        elif ph == "M" and e["name"] == "thread_name":
            self.lane(e["pid"], e["tid"], e["args"]["name"])
        elif ph == "X":
            lane = self.lane(e["pid"], e["tid"])
            self.event(e, pb.TrackEvent.TYPE_SLICE_BEGIN, lane, ns)
            self.event(e, pb.TrackEvent.TYPE_SLICE_END, lane, ns + round(e["dur"] * 1000))
        elif ph in "be":
            uuid, d = self.track("async", e["pid"], e["cat"], e["id"], parent=self.process(e["pid"]))
            if d:
                d.name = e["name"]
            self.event(e, pb.TrackEvent.TYPE_SLICE_BEGIN if ph == "b" else pb.TrackEvent.TYPE_SLICE_END, uuid, ns)
        elif ph == "i":
            self.event(e, pb.TrackEvent.TYPE_INSTANT, self.process(e["pid"]), ns)
        elif ph == "C":
            self.counter(e, ns)
        elif ph != "M":
            faults.append(f"no type of Perfetto's: {e}")


def slices_of(trace):
    """(category, begin, end) of each slice, those of a track in each other; and instants."""
    tracks, found, described, parents = defaultdict(list), [], set(), set()
    for p in trace.packet:
        if p.HasField("track_descriptor"):
            described.add(p.track_descriptor.uuid)
            parents.add(p.track_descriptor.parent_uuid)
        elif p.track_event.type != pb.TrackEvent.TYPE_COUNTER:
            tracks[p.track_event.track_uuid].append(p)
    if not parents <= described | {0} or not set(tracks) <= described:
        faults.append("events, or tracks, of tracks that nobody described")
    for uuid, packets in tracks.items():
        stack = []
        # At one instant in the order of the file: what ended is there before what begins.
        packets = [p for _, p in sorted(enumerate(packets), key=lambda x: (x[1].timestamp, x[0]))]
        for p in packets:
            event = p.track_event
            if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
                stack.append(p)
            elif event.type == pb.TrackEvent.TYPE_INSTANT:
                found.append((event.categories[0], p.timestamp, None))
            elif not stack:
                faults.append(f"track {uuid}: an end without its begin at {p.timestamp}")
            else:
                begin = stack.pop()
                found.append((begin.track_event.categories[0], begin.timestamp, p.timestamp))
        if stack:
            faults.append(f"track {uuid}: {len(stack)} begins without an end")
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        events = json.load(f)
    with open(sys.argv[2], encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    converter = Converter()
    for e in events:
        try:
            converter.add(e)
        except (TypeError, ValueError) as wrong:
            faults.append(f"does not fit Perfetto's types: {wrong}: {e}")
    data = converter.trace.SerializeToString()
    trace = pb.Trace.FromString(data)
    found = slices_of(trace)
    for kind in ("step", "checkpoint"):
        told = sorted((r["start_ns"], r["end_ns"]) for r in lines if r["type"] == kind and r["end_ns"] is not None)
        drawn = sorted((begin, end) for cat, begin, end in found if cat == kind and end is not None)
        if told != drawn:
            faults.append(f"{len(drawn)} {kind}s, {len(told)} told")
    steps = [(begin, end) for cat, begin, end in found if cat == "step"]
    phases = [(begin, end) for cat, begin, end in found if cat in ("phase", "blocked")]
    for begin, end in phases:
        if not any(b <= begin and end <= e for b, e in steps):
            faults.append(f"a phase in no step: {begin} to {end}")
    if not phases and any(r["type"] == "step" and any(r["phases"].values()) for r in lines):
        faults.append("no phase is drawn")
    falls = sum(r["type"] == "disruption" for r in lines)
    if sum(cat == "disruption" for cat, _, _ in found) != falls:
        faults.append(f"{falls} disruptions are told, and not drawn")
    for text in faults[:20]:
        print(text)
    print(f"{len(trace.packet)} packets, {len(data)} bytes, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
