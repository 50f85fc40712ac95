#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pjrt_texts.sh GP-BPF: what gp-bpf finds in real plugins of the user's cache (libraries.sh brings them): in one that is stripped
# as released, all that its version has; in a stripped copy of the others, each function where the symbol is. TAP.
set -u
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0

verdict() { # name, status
	n=$((n + 1))
	[ "$2" = 0 ] && echo "ok $n - $1" && return
	echo "not ok $n - $1"
	failed=1
}
path_of() { # package version
	"$(dirname "$0")/libraries.sh" --find | awk -F '\t' -v p="$1" -v v="$2" '$1 == p && $2 == v && $3 != "-" { print $3; exit }'
}
# "pjrt.execute 0xbff9a30" a line. Rows of one function are one site: the first client_* row has it in a copy.
sites() { "$program" check --library "$1" | sed -nE 's/^ *(pjrt\.[a-z_]+) +resolved .*\+(0x[0-9a-f]+)$/\1 \2/p' | sed 's/client_[a-z]*/client/' | sort; }

while read -r package version least; do
	path=$(path_of "$package" "$version")
	if [ -z "$path" ]; then
		n=$((n + 1))
		echo "ok $n - $package $version # skip not in the cache (make check-symbols)"
		continue
	fi
	sites "$path" >"$work/had"
	[ "$(wc -l <"$work/had")" -ge "$least" ]
	verdict "$package $version: $(wc -l <"$work/had") functions" $?
	mkdir -p "$work/copy"
	strip -o "$work/copy/$(basename "$path")" "$path" && sites "$work/copy/$(basename "$path")" | diff "$work/had" - | sed 's/^/# /'
	verdict "$package $version, stripped: the same" "${PIPESTATUS[1]}"
	rm -rf "$work/copy"
done <<-'LIST'
	libtpu 0.0.17 14
	xla-cpu-pjrt 0.0.1 14
	jax-cuda12-pjrt 0.4.38 14
	jax-cuda12-pjrt 0.12.0.1 15
LIST
echo "1..$n"
exit $failed
