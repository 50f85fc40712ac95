#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""man_tables.py [--write]: the reference tables of the manual pages, made of the program's own tables.

Options are those of `gp-bpf COMMAND --help=all`, configuration keys those of option_row.c and `gp-bpf node --print-config`, keys of
JSON lines those of `gp-bpf schema`. Each table stands between two markers. Without --write: prints the difference and fails where a
page has another table than the program. GP_BPF names the program. Metrics are the matter of metrics_table.sh.
"""
from __future__ import annotations

import difflib
import functools
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GP_BPF = os.environ.get("GP_BPF", "build/plain/gp-bpf")
COMMANDS = ("--pid", "run", "record", "node", "top", "replay", "account", "check", "probes", "schema", "detach", "jobs", "report", "mark",
            "exclude", "bundle", "completion")
WATCHING = {"--pid", "run", "record", "node"}
COMMON_KEYS = ("type", "seq", "time", "mono_ns", "job", "rank", "pid", "loop")
HELP_LEFT = 28
CLOUD = "Cloud Monitoring: "  # how the help of its options begins


@functools.cache
def output_of(*words: str) -> str:
    return subprocess.run([GP_BPF, *words], check=True, capture_output=True, text=True, cwd=ROOT).stdout


@dataclass
class Option:
    name: str
    letter: str
    arg: str
    group: str
    help: dict[str, list[str]] = field(default_factory=dict)  # text: commands


def options_of(command: str) -> list[Option]:
    """The options that the help of a command lists, in its order."""
    words = [command, "1"] if command == "--pid" else [command]
    found: list[Option] = []
    group = ""
    for line in output_of(*words, "--help=all").split("\n"):
        head = re.match(r"  (?:-(\w), |    )--([a-z][a-z-]*)(\[[^\]]*\])?(?: (\S.*?))?(?:  +(\S.*)|)$", line)
        if head and not line.startswith(" " * HELP_LEFT):
            arg = head[3] or head[4] or ""
            found.append(Option(head[2], head[1] or "", arg, group, {head[5] or "": [command]}))
        elif line.startswith(" " * HELP_LEFT) and found:
            text = next(iter(found[-1].help))
            found[-1].help = {(text + " " + line.strip()).strip(): [command]}
        elif re.fullmatch(r"[a-z ]+:", line):
            group = line[:-1]
    return found


def keys() -> dict[str, str]:
    """Option: its key in a configuration file."""
    with open(os.path.join(ROOT, "userspace/option/option_row.c"), encoding="utf-8") as file:
        rows = re.split(r'\n\t\{"', file.read())
    found = {}
    for row in rows:
        name = re.match(r'([a-z][a-z-]*)", (?:NULL|")', row)
        key = re.search(r'CMD_[A-Z_ |\n\t()~]*,\s*"([a-z_.]+)"\s*,', row)
        if name and key:
            found[name[1]] = key[1]
    return found


def sentence(text: str) -> str:
    """A help text as sentence; words that are names stay as they are."""
    first = text.split(" ")[0]
    if re.fullmatch(r"[a-z]+,?", first):
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "?")) else text + "."


def escaped(text: str) -> str:
    return re.sub(r"(?<![\w-])--(?=[a-z])", r"\\-\\-", text.replace("\\", "\\e").replace("µ", "\\(mc"))


def lines_of(text: str) -> list[str]:
    """Text of a page in lines none of which troff takes for a request."""
    lines = []
    for one in re.split(r"(?<=[.?]) (?=[A-Z])", escaped(text)):
        lines += textwrap.wrap(one, 118, break_long_words=False, break_on_hyphens=False)
    return ["\\&" + line if line[0] in ".'" else line for line in lines]


def quoted(text: str) -> str:
    return '"' + escaped(text).replace('"', "\\(dq") + '"'


def heading(option: Option) -> str:
    head = ".It " + (f"Fl {option.letter} , " if option.letter else "") + f"Fl -{option.name}"
    if option.arg.startswith("["):
        return head + f" Ns Oo = Ns Cm {option.arg[2:-1]} Oc"
    return head + (f" Ar {quoted(option.arg)}" if option.arg else "")


def command_names(commands: list[str]) -> str:
    """Commands in words; those that watch have a word of their own."""
    if WATCHING <= set(commands):
        return ", ".join(["watching commands", *(name for name in commands if name not in WATCHING)])
    return ", ".join(commands)


def of_cloud_monitoring(option: Option) -> bool:
    return any(text.startswith(CLOUD) for text in option.help)


def option_table(chosen: Callable[[str], bool], cloud: bool, with_commands: bool) -> list[str]:
    """Options of the chosen commands: those of Cloud Monitoring, or all others."""
    merged: dict[str, dict[str, Option]] = {}
    for command in COMMANDS:
        if not chosen(command):
            continue
        for option in options_of(command):
            if of_cloud_monitoring(option) != cloud:
                continue
            if cloud:
                option.group = ""
                option.help = {text.removeprefix(CLOUD): commands for text, commands in option.help.items()}
            seen = merged.setdefault(option.group, {}).setdefault(option.name, option)
            if seen is not option:
                text = next(iter(option.help))
                seen.help.setdefault(text, []).append(command)
    key_of = keys()
    order = ["what to watch", "output", "job", "accounting", "service", "advanced"]
    lines = []
    everywhere = {"help", "version"}
    for group in sorted(merged, key=lambda name: order.index(name) if name in order else len(order)):
        lines += ([f".Ss {group.capitalize()}"] if group else []) + [".Bl -tag -width Ds"]
        for option in sorted(merged[group].values(), key=lambda one: one.name):
            lines.append(heading(option))
            for nth, (text, commands) in enumerate(option.help.items()):
                notes = [command_names(commands)] if with_commands and option.name not in everywhere else []
                if with_commands and option.name in key_of and not nth:
                    notes.append(f"key: {key_of[option.name]}")
                lines += lines_of(sentence(text).removesuffix(".") + (f" [{'; '.join(notes)}]" if notes else "") + ".")
        lines.append(".El")
    return lines


def config_table() -> list[str]:
    shown: dict[str, str] = {}
    above = ""
    for line in output_of("node", "--print-config").split("\n"):
        entry = re.match(r"#( *)([a-z_]+):(?: (.*?))?(?:  # (.*))?$", line)
        if not entry:
            continue
        if not entry[1] and not entry[3]:
            above = entry[2] + "."
            continue
        shown[(above if entry[1] else "") + entry[2]] = (entry[3] or "") if entry[4] == "default" else ""
    lines = [".Bl -tag -compact -width Ds"]
    arg_of: dict[str, str] = {}
    for command in COMMANDS:
        for option in options_of(command):
            arg_of.setdefault(option.name, option.arg)
    for name, key in sorted(keys().items(), key=lambda pair: pair[1]):
        lines.append(f".It Li {key}" + (f" Ar {quoted(arg_of.get(name, ''))}" if arg_of.get(name) else ""))
        lines.append(f".Fl -{name}" + (" ." if not shown.get(key) else ""))
        if shown.get(key):
            lines.append(f"(default {escaped(shown[key])}).")
    return [*lines, ".El"]


def kind_of(schema: dict, value: dict) -> str:
    """The type of a key's value in words."""
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[1]
        words = {"ns": "nanoseconds", "ns_or_null": "nanoseconds or null", "count": "integer", "count_or_null": "integer or null",
                 "text": "text", "text_or_null": "text or null"}
        if name in words:
            return words[name]
        return kind_of(schema, schema["$defs"][name])
    if "const" in value:
        return f"always {json.dumps(value['const'])}"
    if "enum" in value:
        return ", ".join("null" if one is None else str(one) for one in value["enum"])
    kind = value.get("type", "any")
    kinds = [kind] if isinstance(kind, str) else list(kind)
    plain = {"string": "text", "boolean": "true or false", "array": "list"}
    text = " or ".join(plain.get(one, one) for one in kinds)
    if "array" in kinds and "items" in value:
        text += " of " + kind_of(schema, value["items"])
    if isinstance(value.get("additionalProperties"), dict):
        text += " of " + kind_of(schema, value["additionalProperties"])
    return text


def described(schema: dict, value: dict) -> str:
    text = value.get("description", "")
    if not text and "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[1]
        text = schema["$defs"][name].get("description", "")
    return text


def key_rows(schema: dict, properties: dict, above: str = "") -> list[str]:
    lines = []
    for name, value in properties.items():
        if not above and name in COMMON_KEYS:
            continue
        lines.append(f".It Li {above}{name}")
        text = described(schema, value)
        lines += lines_of(kind_of(schema, value) + (f": {text}" if text else "") + ".")
        if isinstance(value.get("properties"), dict):
            lines += key_rows(schema, value["properties"], f"{above}{name}.")
    return lines


def json_table() -> list[str]:
    schema = json.loads(output_of("schema"))
    lines = []
    for one in schema["oneOf"]:
        name = one["$ref"].rsplit("/", 1)[1]
        row = schema["$defs"][name]
        lines.append(f".Ss {name}")
        if row.get("description"):
            lines += lines_of(sentence(row["description"]))
        rows = key_rows(schema, row.get("properties", {}))
        if rows:
            lines += [".Bl -tag -compact -width Ds", *rows, ".El"]
    return lines


TABLES: tuple[tuple[str, str, Callable[[], list[str]]], ...] = (
    ("man/gp-bpf.8", "Options", lambda: option_table(lambda command: command != "account", False, True)),
    ("man/gp-bpf-metrics.7", "Options", lambda: option_table(lambda command: True, True, True)),
    ("man/gp-bpf-account.1", "Options", lambda: option_table(lambda command: command == "account", False, False)),
    ("man/gp-bpf.conf.5", "Keys", config_table),
    ("man/gp-bpf-json.5", "Lines", json_table),
)


def main() -> int:
    bad = 0
    for page, name, table in TABLES:
        path = os.path.join(ROOT, page)
        with open(path, encoding="utf-8") as file:
            old = file.read()
        begin = f'.\\" {name} begin: tests/tools/man_tables.py --write makes what follows.\n'
        end = f'.\\" {name} end.\n'
        if old.count(begin) != 1 or old.count(end) != 1:
            print(f"{page}: the two markers of the table {name} are missing")
            bad = 1
            continue
        head, rest = old.split(begin)
        new = head + begin + "\n".join(table()) + "\n" + end + rest.split(end)[1]
        if new == old:
            continue
        if sys.argv[1:] == ["--write"]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
            continue
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), page, "the program"))
        print(f"{page}: its table {name} is not that of {GP_BPF}: tests/tools/man_tables.py --write makes it")
        bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
