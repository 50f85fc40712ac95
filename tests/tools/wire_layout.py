#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wire_layout.py [--write] [--tree DIR] [--golden FILE]: fails if a structure that BPF programs, user space and tapes
share has another layout than FILE says, field by field: two fields of one size that change places are a difference.

The structures and enumerations are those that the headers below define; their layout is what clang puts into BTF.
--write accepts the tree's layout. A layout that changes needs another GP_ABI_VERSION (bpf/gp_abi.h).
"""
from __future__ import annotations

import argparse
import difflib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = ("bpf/gp_abi.h", "bpf/gp_words.h", "bpf/gp_row.h", "bpf/gp_private.h")


def names_in(tree: str) -> list[str]:
    """"struct gp_rec", "enum gp_kind"... in the order of the headers."""
    names = []
    for header in HEADERS:
        with open(os.path.join(tree, header), encoding="utf-8") as file:
            names += re.findall(r"^((?:struct|enum) gp_\w+) \{", file.read(), re.M)
    return names


def btf_of(tree: str, names: list[str]) -> list[dict]:
    bpftool = shutil.which("/usr/sbin/bpftool") or "bpftool"
    with tempfile.TemporaryDirectory() as folder:
        source, output = os.path.join(folder, "wire.c"), os.path.join(folder, "wire.o")
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(f'#include "{header}"\n' for header in ("bpf/gp_abi.h", "bpf/gp_private.h"))
            file.writelines(f"{name} wire{number};\n" for number, name in enumerate(names))
        subprocess.run([os.environ.get("CLANG", "clang"), "-target", "bpf", "-g", "-O2", f"-I{tree}",
                        f"-I/usr/include/{platform.machine()}-linux-gnu", "-c", source, "-o", output], check=True)
        dump = subprocess.run([bpftool, "-j", "btf", "dump", "file", output], check=True, capture_output=True)
    return json.loads(dump.stdout)["types"]


def type_name(types: dict[int, dict], number: int) -> str:
    kind = types[number]
    if kind["kind"] == "ARRAY":
        dimensions = ""
        while kind["kind"] == "ARRAY":
            dimensions += f"[{kind['nr_elems']}]"
            number = kind["type_id"]
            kind = types[number]
        return type_name(types, number) + dimensions
    if kind["kind"] in ("STRUCT", "UNION", "ENUM"):
        return f"{kind['kind'].lower()} {kind['name']}"
    return kind["name"]


def layout(tree: str) -> list[str]:
    names = names_in(tree)
    types = {entry["id"]: entry for entry in btf_of(tree, names)}
    by_name = {f"{entry['kind'].lower()} {entry['name']}": entry for entry in types.values()}
    lines = []
    for name in names:
        entry = by_name[name]
        lines.append(f"{name}: {entry['size']} bytes\n")
        for member in entry.get("members", []):
            bits = f", {member['bitfield_size']} bits" if member.get("bitfield_size") else ""
            offset, bit = divmod(member["bits_offset"], 8)
            at = f"{offset}.{bit}" if bit else str(offset)
            lines.append(f"  {at:>4} {member['name']}: {type_name(types, member['type_id'])}{bits}\n")
        for value in entry.get("values", []):
            lines.append(f"  {value['val']:>4} {value['name']}\n")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--tree", default=ROOT)
    parser.add_argument("--golden", default=os.path.join(ROOT, "tests/golden/wire_layout.txt"))
    options = parser.parse_args()
    now = layout(options.tree)
    if options.write:
        with open(options.golden, "w", encoding="utf-8") as file:
            file.writelines(now)
        return 0
    with open(options.golden, encoding="utf-8") as file:
        golden = file.readlines()
    difference = list(difflib.unified_diff(golden, now, os.path.relpath(options.golden), "bpf/", n=2))
    sys.stdout.writelines(difference)
    if difference:
        print("The layout changed: raise GP_ABI_VERSION if a released gp-bpf wrote the old one, then accept it with "
              "tests/tools/wire_layout.py --write")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
