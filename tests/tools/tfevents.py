#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tfevents.py [--reader] DIR: every scalar of the event files below DIR, a line of JSON each, in the order of the
files: run, tag, step, wall_time, value, display. Framing, lengths and both CRCs of every record are checked by hand,
and that every file begins with its version; what is wrong is told, and the status is 1. --reader: as TensorBoard's
own reader has them instead (tools/framework.sh tensorboard), without display."""
import glob
import json
import os
import re
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Each field of a message once: {number: value}."""
    at, out = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length, "a field ends outside of its message"
        else:
            raise AssertionError(f"field {number} is of kind {kind}")
        assert number not in out, f"field {number} twice"
        out[number] = value
    return out


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        assert len(data) - at >= 16, f"{len(data) - at} bytes of a record at {at}"
        length, = struct.unpack_from("<Q", data, at)
        assert length <= len(data) - at - 16, f"the record at {at} ends outside of the file"
        body = data[at + 12:at + 12 + length]
        assert struct.unpack_from("<I", data, at + 8)[0] == masked(data[at:at + 8]), f"CRC of the length at {at}"
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(body), f"CRC of the data at {at}"
        yield fields(body)
        at += 16 + length


def scalars(path):
    for i, event in enumerate(records(path)):
        if i == 0:
            assert event.get(3) == b"brain.Event:2", "no version in front"
            continue
        value = fields(fields(event[5])[1])
        label = fields(value[9])[2].decode() if 9 in value else None
        yield {"tag": value[1].decode(), "step": event.get(2, 0), "wall_time": event[1], "value": value[2],
               "display": label}


def files(top):
    return sorted(glob.glob(os.path.join(top, "**", "*tfevents*"), recursive=True))


def by_hand(top):
    for path in files(top):
        assert re.fullmatch(r"events\.out\.tfevents\.\d{10}\.[A-Za-z0-9._-]+", os.path.basename(path)), path
        try:
            for scalar in scalars(path):
                yield {"run": os.path.relpath(os.path.dirname(path), top)} | scalar
        except AssertionError as wrong:
            sys.exit(f"{path}: {wrong}")


def by_reader(top):
    from tensorboard.backend.event_processing import event_accumulator
    for folder in sorted({os.path.dirname(path) for path in files(top)}):
        events = event_accumulator.EventAccumulator(folder, size_guidance={event_accumulator.SCALARS: 0})
        events.Reload()
        for tag in events.Tags()["scalars"]:
            for e in events.Scalars(tag):
                yield {"run": os.path.relpath(folder, top), "tag": tag, "step": e.step, "wall_time": e.wall_time,
                       "value": e.value}


if __name__ == "__main__":
    for line in by_reader(sys.argv[2]) if sys.argv[1] == "--reader" else by_hand(sys.argv[1]):
        print(json.dumps(line))
