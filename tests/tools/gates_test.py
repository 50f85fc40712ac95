#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gates_test.py: the gates of `make check` fail when they should: sizes.sh, circles.py, private_headers.sh,
prefixes.py, stages.sh, wire_layout.py, doc_names.py, runtimes.sh. TAP."""
from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

TOOLS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(TOOLS))


def write(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def gate(status: int, tool: str, *arguments: str, says: str = "") -> None:
    run = subprocess.run([os.path.join(TOOLS, tool), *arguments], capture_output=True, text=True, check=False)
    said = run.stdout + run.stderr
    assert run.returncode == status and says in said, f"{tool}: status {run.returncode}, not {status} with '{says}':\n{said}"


def function(lines: int) -> str:
    return "int f(void)\n{\n" + "\tg();\n" * (lines - 1) + "\treturn 0;\n}\n"


def sizes(folder: str, short: int, long: int) -> tuple[str, str]:
    subprocess.run(["git", "init", "-q", folder], check=True)
    for number in range(short + long):
        write(folder, f"loader/f{number}.c", function(46 if number < long else 45))
    subprocess.run(["git", "-C", folder, "add", "."], check=True)
    return "sizes.sh", folder


def test_sizes_one_long_function_in_ten_passes(folder: str) -> None:
    gate(0, *sizes(folder, 9, 1))


def test_sizes_two_long_functions_in_ten_fail(folder: str) -> None:
    gate(1, *sizes(folder, 8, 2), says="loader/f0.c:2: a function of 46 lines")


def test_sizes_a_function_of_101_lines_fails(folder: str) -> None:
    write(folder, "loader/long.c", function(101))
    gate(1, *sizes(folder, 20, 0), says="loader/long.c:2: a function of 101 lines")


def test_sizes_a_file_of_1001_lines_fails(folder: str) -> None:
    write(folder, "tests/long.py", "\n" * 1001)
    gate(1, *sizes(folder, 20, 0), says="tests/long.py: 1001 lines")


def circles(folder: str, allowed: str) -> list[str]:
    uses = {"a": "b", "b": "c", "c": "a", "d": "a"}
    for name, other in uses.items():
        source = write(folder, f"userspace/{name}.c", f"void {other}(void);\nvoid {name}(void);\nvoid {name}(void)\n{{\n\t{other}();\n}}\n")
        os.makedirs(os.path.join(folder, "build/userspace"), exist_ok=True)
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-c", source, "-o", os.path.join(folder, f"build/userspace/{name}.o")], check=True)
    return ["--sources", folder, "--objects", os.path.join(folder, "build"), "--exceptions", write(folder, "circles.list", allowed)]


ABC = "userspace/a.c userspace/b.c userspace/c.c"


def test_circles_one_that_is_listed_passes(folder: str) -> None:
    gate(0, "circles.py", *circles(folder, f"# comment\n{ABC}\n"))


def test_circles_one_that_is_not_listed_fails(folder: str) -> None:
    options = circles(folder, "")
    gate(1, "circles.py", *options, says=f"circle of 3 files: {ABC}\n    userspace/a.c needs userspace/b.c: b\n")


def test_circles_one_that_grew_fails(folder: str) -> None:
    gate(1, "circles.py", *circles(folder, "userspace/a.c userspace/b.c\n"), says=f"circle of 3 files: {ABC}")


def test_circles_a_line_that_no_longer_applies_fails(folder: str) -> None:
    options = circles(folder, f"{ABC}\nuserspace/a.c userspace/d.c\n")
    gate(1, "circles.py", *options, says="not a circle any more, remove or shorten: userspace/a.c userspace/d.c")


def test_circles_a_source_without_an_object_fails(folder: str) -> None:
    options = circles(folder, f"{ABC}\n")
    write(folder, "userspace/new.c", "")
    gate(1, "circles.py", *options, says="build them first")


def headers(folder: str, *names: str) -> tuple[str, str]:
    for part in ("bpf", "loader", "userspace"):
        os.makedirs(os.path.join(folder, part), exist_ok=True)
    for name in names:
        write(folder, name, "")
    return "private_headers.sh", folder


def prefixes(folder: str, *functions: str) -> tuple[str, str]:
    for number, text in enumerate(functions):
        write(folder, f"loader/probe/rows_{number}.c", text)
    return "prefixes.py", folder


def test_prefixes_of_file_folder_and_own_functions_pass(folder: str) -> None:
    own = "void slot_open(void)\n{\n}\nstatic bool slot_is(void)\n{\n}\n"
    gate(0, *prefixes(folder, "static int row_add(void)\n{\n}\nstatic int probe_add(int i,\n\t\tint j)\n{\n}\n" + own))


def test_prefixes_a_function_without_one_fails(folder: str) -> None:
    gate(1, *prefixes(folder, "static int row_add(void)\n{\n}\n\nstatic struct row *name_of(void)\n{\n}\n"), says="rows_0.c:5: name_of()")


def test_prefixes_alone_are_no_name(folder: str) -> None:
    gate(1, *prefixes(folder, "static void rows(void)\n{\n}\n"), says="rows_0.c:1: rows()")


def test_prefixes_a_name_of_two_files_fails(folder: str) -> None:
    gate(1, *prefixes(folder, *["static int row_add(void)\n{\n}\n"] * 2), says="rows_1.c:1: row_add() is a function of loader/probe/rows_0.c")


def stages(folder: str, *includes: tuple[str, str]) -> tuple[str, str]:
    for number, (including, included) in enumerate(includes):
        write(folder, included.strip('<>"'), "")
        write(folder, f"{including}/f{number}.c", f"/* a comment */\n#include <stdio.h>\n#include {included}\n")
    return "stages.sh", folder


def test_stages_includes_of_earlier_folders_pass(folder: str) -> None:
    gate(0, *stages(folder, ("userspace/watch", '"userspace/model/model.h"'), ("userspace/store", '"userspace/store/store.h"'), ("loader/elf", '"userspace/base/log.h"'),
                    ("userspace/watch", '"loader/loader.h"'), ("loader/elf", '"loader/loader.h"'), ("userspace/model", '"bpf/gp_abi.h"'), ("userspace", '"userspace/watch/watch.h"')))


def test_stages_an_include_of_a_later_folder_fails(folder: str) -> None:
    gate(1, *stages(folder, ("userspace/model", '"userspace/watch/watch.h"')), says="userspace/model/f0.c:3: userspace/model must not include userspace/watch/watch.h")


def test_stages_an_include_of_a_folder_beside_it_fails(folder: str) -> None:
    gate(1, *stages(folder, ("loader/elf", '"loader/attach/attach.h"')), says="loader/elf must not include loader/attach/attach.h")


def test_stages_an_include_of_what_is_private_fails(folder: str) -> None:
    gate(1, *stages(folder, ("userspace/watch", '"loader/elf/elf.h"')), says="loader/elf/elf.h is private")
    gate(1, *stages(folder, ("userspace/watch", "<bpf/libbpf.h>")), says="bpf/libbpf.h is private")
    os.unlink(os.path.join(folder, "bpf/libbpf.h"))
    gate(1, "stages.sh", folder, says="only loader/ may include bpf/libbpf.h")


def test_stages_an_include_that_is_not_named_from_the_top_fails(folder: str) -> None:
    write(folder, "loader/a.c", '#include "a.h"\n')
    gate(1, *stages(folder), says="loader/a.c:1: a.h is no file of this tree")


def test_private_headers_one_a_folder_passes(folder: str) -> None:
    gate(0, *headers(folder, "loader/a_private.h", "userspace/x/b_private.h"))


def test_private_headers_a_second_one_fails(folder: str) -> None:
    gate(1, *headers(folder, "loader/a_private.h", "loader/b_private.h"), says="loader/b_private.h: loader has another")


def test_private_headers_an_include_guard_that_does_not_fit_its_path_fails(folder: str) -> None:
    for path, guard in (("bpf/gp_a.h", "GP_A_H"), ("loader/elf/a.h", "LOADER_A_H"), ("userspace/model/job/a.h", "MODEL_A_H"), ("tests/unit/a.h", "TESTS_UNIT_A_H")):
        write(folder, path, f"/* a */\n#ifndef {guard}\n#define {guard}\n#endif\n")
    options = headers(folder)
    gate(0, *options)
    write(folder, "userspace/report/b.h", "#ifndef VIEW_B_H\n#define VIEW_B_H\n#endif\n")
    gate(1, *options, says="userspace/report/b.h:1: the include guard VIEW_B_H is to be REPORT_B_H")


def test_private_headers_an_include_guard_of_two_files_fails(folder: str) -> None:
    options = headers(folder)
    for path in ("userspace/model/job/a.h", "userspace/model/time/a.h"):
        write(folder, path, "#ifndef MODEL_A_H\n#define MODEL_A_H\n#endif\n")
    gate(1, *options, says="userspace/model/time/a.h:1: the include guard MODEL_A_H is that of userspace/model/job/a.h too")


def wire(folder: str, old: str, new: str) -> list[str]:
    shutil.copytree(os.path.join(ROOT, "bpf"), os.path.join(folder, "bpf"))
    path = os.path.join(folder, "bpf/gp_abi.h")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert old in text
    write(folder, "bpf/gp_abi.h", text.replace(old, new, 1))
    golden = shutil.copy(os.path.join(ROOT, "tests/golden/wire_layout.txt"), folder)
    return ["--tree", folder, "--golden", golden]


def test_wire_layout_two_fields_of_one_size_that_change_places_fail(folder: str) -> None:
    options = wire(folder, "\t__u64 dev, ino;", "\t__u64 ino, dev;")
    gate(1, "wire_layout.py", *options, says="+     0 ino: __u64")
    gate(0, "wire_layout.py", "--write", *options)
    gate(0, "wire_layout.py", *options)


def test_wire_layout_a_renumbered_kind_fails(folder: str) -> None:
    gate(1, "wire_layout.py", *wire(folder, "X(24, unwatched, struct gp_unwatched)", "X(25, unwatched, struct gp_unwatched)"), says="+    25 GP_KIND_unwatched")


def documents(folder: str, text: str) -> list[str]:
    subprocess.run(["git", "init", "-q", folder], check=True)
    write(folder, "loader/a.c", "int a_open(void)\n{\n\treturn A_MAX;\n}\n")
    write(folder, "loader/b.c", "")
    write(folder, "docs/page.md", text)
    return ["--tree", folder]


def test_doc_names_those_that_exist_pass(folder: str) -> None:
    gate(0, "doc_names.py", *documents(folder, "`loader/{a,b}.c`, `loader/`, `A_MAX`, `a_open()` (`loader/a.c`), [b](../loader/b.c#part)\n"))


def test_doc_names_a_file_that_is_gone_fails(folder: str) -> None:
    gate(1, "doc_names.py", *documents(folder, "`loader/{a,gone}.c`\n"), says="docs/page.md: no file loader/{a,gone}.c")


def test_doc_names_a_function_that_is_gone_or_elsewhere_fails(folder: str) -> None:
    options = documents(folder, "`a_close()`\n`a_open()`\n (`loader/b.c`)\n")
    gate(1, "doc_names.py", *options, says="no a_close()")
    gate(1, "doc_names.py", *options, says="a_open() is not in loader/b.c")


def test_doc_names_a_link_to_nothing_fails(folder: str) -> None:
    gate(1, "doc_names.py", *documents(folder, "[gone](gone.md)\n"), says="no file gone.md")


def test_doc_names_a_link_to_a_heading_that_is_gone_fails(folder: str) -> None:
    text = "# A page\n## Runs, `make` & more\n[a](#a-page) [runs](page.md#runs-make--more)\n"
    gate(0, "doc_names.py", *documents(folder, text))
    gate(1, "doc_names.py", *documents(folder, text + "[gone](#gone)\n"), says="docs/page.md: no heading #gone")
    gate(1, "doc_names.py", *documents(folder, text + "[gone](page.md#gone)\n"), says="no heading page.md#gone")
    gate(1, "doc_names.py", *documents(folder, "```\n# gone\n```\n[gone](#gone)\n"), says="no heading #gone")


def test_doc_names_the_readme_is_a_document(folder: str) -> None:
    write(folder, "README.md", "`loader/gone.c`\n")
    gate(1, "doc_names.py", *documents(folder, ""), says="README.md: no file loader/gone.c")


def test_doc_names_a_comment_that_names_a_file_which_is_gone_fails(folder: str) -> None:
    options = documents(folder, "")
    write(folder, "loader/x/c.h", "/* c.h - a comment (loader/a.c, x/c, x/c.h,\n * b.c; kernel/fork.c is the kernel's) */\nchar *s = \"gone.h\"; // zlib.h\n")
    gate(0, "doc_names.py", *options)
    for name in ("gone.h", "x/a.c", "x/gone", "loader/gone.bpf.c"):
        write(folder, "loader/x/d.c", f"int d;\n/* a comment\n * ({name}) */\n")
        gate(1, "doc_names.py", *options, says=f"loader/x/d.c:3: no file {name}")


def test_doc_names_a_comment_that_points_outside_the_tree_fails(folder: str) -> None:
    options = documents(folder, "")
    for text in ("design §9", "design\n * §4.1", "design, 6", "design, section 7", "recipe H"):
        write(folder, "loader/d.c", f"/* a rule ({text}) */\n")
        gate(1, "doc_names.py", *options, says="is not in the tree")


def runtimes(folder: str, code: str, exceptions: str = "") -> tuple[str, str]:
    write(folder, "probes/x.yaml", "# a runtime\nruntime: xrt\nlibraries: [libxrt.so*]\n")
    write(folder, "bpf/b.h", "")
    write(folder, "loader/a.c", code)
    write(folder, "userspace/m.c", "/* as in\n * \"xrt\" */\nchar *s = \"xrtic, XRT_RANK\";\n#include \"xrt.h\"\n")
    write(folder, "tests/tools/runtimes.list", exceptions)
    return "runtimes.sh", folder


def test_runtimes_c_that_names_none_passes(folder: str) -> None:
    gate(0, *runtimes(folder, "int a;\n"))


def test_runtimes_a_name_in_c_fails(folder: str) -> None:
    gate(1, *runtimes(folder, 'int a;\nbool b(void)\n{\n\treturn !strcmp(r, "xrt");\n}\n'), says="loader/a.c:4: names a runtime")
    gate(1, *runtimes(folder, 'char *a = "no ranges in this XRT: none";\n'), says="loader/a.c:1: names a runtime")


def test_runtimes_an_exception_passes_and_one_that_is_not_needed_fails(folder: str) -> None:
    gate(0, *runtimes(folder, 'char *a = "xrt";\n', "# files\nloader/a.c for a reason\n"))
    gate(1, *runtimes(folder, "int a;\n", "loader/a.c for a reason\n"), says="loader/a.c names no runtime")


def main() -> int:
    tests: list[tuple[str, Callable[[str], None]]] = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    failed = 0
    print(f"1..{len(tests)}")
    for number, (name, test) in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
                print(f"ok {number} {name[5:].replace('_', ' ')}")
            except AssertionError as error:
                failed += 1
                print(f"not ok {number} {name[5:].replace('_', ' ')}")
                print("\n".join(f"# {line}" for line in str(error).splitlines()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
