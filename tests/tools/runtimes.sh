#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# runtimes.sh [TREE]: no C names a runtime: what is special about one is in its probe file. Fails with one line for
# each string in the C of bpf/, loader/ and userspace/ with the name of a runtime in probes/ as a word, except in the files of
# tests/tools/runtimes.list, and for each of these that names none.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1

list=tests/tools/runtimes.list
exceptions=$([ ! -f "$list" ] || sed -n 's/^\([^# ]\{1,\}\) .*/\1/p' "$list")
names=$(sed -nE 's/^runtime: *([a-z0-9_]+) *$/\1/p' probes/*.yaml | paste -sd'|')
[ -n "$names" ] || { echo "probes: no runtime"; exit 1; }
found=$(grep -rniE --include='*.[ch]' "\"([^\"]*[^\"[:alnum:]_])?($names)([^\"[:alnum:]_][^\"]*)?\"" bpf loader userspace |
	grep -vE '^[^:]+:[0-9]+:[[:space:]]*(/?\*|//|#include)')
bad=0
while IFS=: read -r file line _; do
	[ -n "$file" ] || continue
	grep -qxF "$file" <<<"$exceptions" && continue
	echo "$file:$line: names a runtime; let a key of its probe file say what is special about it (probes/README.md)"
	bad=1
done <<<"$found"
while read -r file; do
	[ -n "$file" ] || continue
	grep -qF "$file:" <<<"$found" && continue
	echo "$list: $file names no runtime: remove the line"
	bad=1
done <<<"$exceptions"
exit $bad
