#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The metrics in gp-bpf-metrics.7, between two markers, are those of `gp-bpf schema --metrics`: fails with the difference where
# they are not. --write puts them there.
set -u
cd "$(dirname "$0")/../.." || exit 1
gp_bpf=${GP_BPF:-build/plain/gp-bpf}
page=man/gp-bpf-metrics.7
begin='.\" Metrics begin: tests/tools/metrics_table.sh --write makes what follows.'
end='.\" Metrics end.'

table() {
	"$gp_bpf" schema --metrics | awk -F '\t' '
		function put(text,   words, n, i, line) {
			n = split(text, words, " ")
			line = words[1]
			for (i = 2; i <= n; i++)
				if (words[i - 1] !~ /[a-z)]\.$/ && length(line) + length(words[i]) < 110)
					line = line " " words[i]
				else {
					print line
					line = words[i]
				}
			print line
		}
		NF != 5 { bad = 1 }
		NR == 1 { print ".Bl -tag -compact -width Ds -offset indent" }
		{
			print ".It Li " $1
			put($2 ($4 == "" ? "" : " (" $4 ")") ": " $5)
		}
		END {
			if (NR)
				print ".El"
			exit bad || !NR
		}'
}

new=$(mktemp) || exit 1
trap 'rm -f "$new"' EXIT
if [ "$(grep -cxF "$begin" "$page")" != 1 ] || [ "$(grep -cxF "$end" "$page")" != 1 ]; then
	echo "$page: the two markers of the metrics are not there"
	exit 1
fi
{
	sed "/^\\.\\\\\" Metrics begin:/q" "$page"
	table || exit 1
	sed -n "/^\\.\\\\\" Metrics end\\./,\$p" "$page"
} >"$new" || {
	echo "$gp_bpf schema --metrics gives no table"
	exit 1
}
if [ "${1:-}" = --write ]; then
	cat "$new" >"$page"
elif ! diff -u "$page" "$new"; then
	echo "$page: its metrics are not those of $gp_bpf: tests/tools/metrics_table.sh --write makes them"
	exit 1
fi
