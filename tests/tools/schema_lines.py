#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schema_lines.py GP_BPF DIR...: every record of every file of JSON lines below DIR against `gp-bpf schema`, which must
list every field that is told. Files are known by how they begin. A record is reduced to what a schema can ask for (names,
types, signs, words that the schema enumerates), and each such shape is validated once; of the steps of a file beyond
STEPS every 100th is read. Needs python3-jsonschema. Exits with 1 and a line for each that is not as the schema says."""
import json
import os
import re
import subprocess
import sys

STEPS = 5000
BEGINNING = re.compile(rb'\{"type":"[a-z]+","seq":\d+,"time":')


def words_of(schema, into):
    """All strings that it enumerates."""
    if isinstance(schema, dict):
        into.update(v for v in [*schema.get("enum", []), schema.get("const")] if isinstance(v, str))
        schema = schema.values()
    elif not isinstance(schema, list):
        return
    for part in schema:
        words_of(part, into)


def strict(schema):
    """A field that is not listed is a fault."""
    for each in schema["$defs"].values():
        if "properties" in each:
            each.setdefault("additionalProperties", False)


def shape(value, words):
    if isinstance(value, dict):
        return tuple((k, shape(v, words)) for k, v in value.items())
    if isinstance(value, list):
        return frozenset(shape(v, words) for v in value)
    if isinstance(value, str):
        return value if value in words else str
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return type(value), value < 0, value > 1 if isinstance(value, float) else value == 0
    return value


def files(folders):
    for folder in folders:
        for path, _, names in os.walk(folder):
            for name in names:
                full = os.path.join(path, name)
                if os.path.islink(full) or not os.path.isfile(full):
                    continue
                with open(full, "rb") as f:
                    if BEGINNING.match(f.read(80)):
                        yield full


def records(path):
    """Whole lines; a count of those that were not read comes last."""
    steps = left = 0
    with open(path, "rb") as f:
        for line in f:
            if not line.endswith(b"\n"):
                break  # of one that was killed
            if line.startswith(b'{"type":"step"'):
                steps += 1
                if steps > STEPS and steps % 100:
                    left += 1
                    continue
            yield line
    yield left


def main():
    import jsonschema
    schema = json.loads(subprocess.run([sys.argv[1], "schema"], check=True, stdout=subprocess.PIPE).stdout)
    words, seen, faults, count, unread, found = set(), set(), 0, 0, 0, 0
    strict(schema)
    words_of(schema, words)
    kinds = {name: jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
             for name, d in schema["$defs"].items() if "properties" in d}
    for path in files(sys.argv[2:]):
        found += 1
        for line in records(path):
            if isinstance(line, int):
                unread += line
                continue
            count += 1
            try:
                record = json.loads(line)
                kind = kinds[record["type"]]
                record.pop("hook", None)  # what --on adds
            except (ValueError, KeyError, TypeError) as e:
                print(f"{path}: no record ({e!r}): {line[:200]!r}")
                faults += 1
                continue
            key = shape(record, words)
            if key in seen:
                continue
            seen.add(key)
            for error in kind.iter_errors(record):
                print(f"{path}: {'.'.join(map(str, error.absolute_path)) or record['type']}: {error.message[:200]}: {line[:300]!r}")
                faults += 1
    print(f"{count} records of {found} files, {len(seen)} shapes, {unread} steps not read, {faults} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
