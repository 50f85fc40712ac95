#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manual page and the program must agree: every option that `gp-bpf COMMAND --help=all` shows is described
# in gp-bpf.8, and the page describes none that does not exist. Formatting errors fail too, where man is. Metrics are
# the matter of metrics_table.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
gp_bpf=${GP_BPF:-build/plain/gp-bpf}
page=man/gp-bpf.8
bad=0

complain() {
	echo "$page: $*"
	bad=1
}

help_of() { # COMMAND: --pid is option and command at once, and wants its value
	if [ "$1" = --pid ]; then "$gp_bpf" --pid 1 --help=all; else "$gp_bpf" "$1" --help=all; fi
}

shown=$(for c in --pid run record node top replay account check probes schema detach jobs report mark exclude bundle completion; do
	help_of "$c" || echo "--help-of-$c-failed"
done | grep -oE '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,' | sort -u)
described=$(grep -E '^\.It Fl' "$page" | grep -oE 'Fl -[a-z][a-z-]*' | sed 's/^Fl -/--/' | sort -u)

while read -r option; do
	complain "$option is not described"
done < <(comm -23 <(echo "$shown") <(echo "$described"))
while read -r option; do
	complain "$option is described, but no command has it"
done < <(comm -13 <(echo "$shown") <(echo "$described"))
for c in run record node top replay account check probes schema detach jobs report mark exclude bundle completion; do
	grep -qE "^\.It Cm $c\$" "$page" || complain "command $c is not described"
done

if command -v man >/dev/null; then
	out=$(man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
	[ -z "$out" ] || complain "$out"
fi
if command -v mandoc >/dev/null; then
	out=$(mandoc -T lint -W warning "$page" 2>&1)
	[ -z "$out" ] || complain "$out"
fi
exit $bad
