#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manual pages and the program must agree: every option that `gp-bpf COMMAND --help=all` shows is described in a page of
# man/, the pages describe none that does not exist, and gp-bpf.8 has every command. Formatting errors fail too, where man and
# mandoc are. Tables are the matter of man_tables.py and metrics_table.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
gp_bpf=${GP_BPF:-build/plain/gp-bpf}
pages=(man/*)
bad=0

complain() {
	echo "man: $*"
	bad=1
}

help_of() { # COMMAND: --pid is option and command at once, and wants its value
	if [ "$1" = --pid ]; then "$gp_bpf" --pid 1 --help=all; else "$gp_bpf" "$1" --help=all; fi
}

shown=$(for c in --pid run record node top replay account check probes schema detach jobs report mark exclude bundle completion; do
	help_of "$c" || echo "--help-of-$c-failed"
done | grep -oE '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,' | sort -u)
described=$(grep -hE '^\.It Fl' "${pages[@]}" | grep -oE 'Fl -[a-z][a-z-]*' | sed 's/^Fl -/--/' | sort -u)

while read -r option; do
	complain "$option is not described"
done < <(comm -23 <(echo "$shown") <(echo "$described"))
while read -r option; do
	complain "$option is described, but no command has it"
done < <(comm -13 <(echo "$shown") <(echo "$described"))
for c in run record node top replay account check probes schema detach jobs report mark exclude bundle completion; do
	grep -qE "^\.It Cm $c\$" man/gp-bpf.8 || complain "command $c is not described"
done

lines=$(wc -l <man/gp-bpf.8)
[ "$lines" -le 900 ] || complain "gp-bpf.8 has $lines lines, more than 900: explanations belong to docs/"

for page in "${pages[@]}"; do
	if command -v man >/dev/null; then
		out=$(man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
		[ -z "$out" ] || complain "$out"
	fi
	if command -v mandoc >/dev/null; then
		out=$(mandoc -T lint -W warning "$page" 2>&1)
		[ -z "$out" ] || complain "$out"
	fi
done
exit $bad
