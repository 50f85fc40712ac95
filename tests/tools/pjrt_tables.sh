#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pjrt_tables.sh PROGRAM: runs tests/symbols/pjrt_table on real plugins of the user's cache (libraries.sh brings them), on
# one that is stripped as released and on stripped copies. TAP.
set -u
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$(uname -m)" = x86_64 ] || { echo "ok 1 - tables # skip code is read on x86-64 only"; exit 0; }
n=0 failed=0

one() { # name path
	local said word=ok
	n=$((n + 1))
	said=$(TF_CPP_MIN_LOG_LEVEL=3 "$program" "$2" 2>&1) || word="not ok" failed=1
	echo "$word $n - $1"
	echo "${said//$'\n'/$'\n'# }" | sed '1s/^/# /'
}

path_of() { # package version
	"$(dirname "$0")/libraries.sh" --find | awk -F '\t' -v p="$1" -v v="$2" '$1 == p && $2 == v && $3 != "-" { print $3; exit }'
}

while read -r package version copy; do
	path=$(path_of "$package" "$version")
	if [ -z "$path" ]; then
		n=$((n + 1))
		echo "ok $n - $package $version # skip not in the cache (make check-symbols)"
		continue
	fi
	one "$package $version" "$path"
	[ -n "$copy" ] || continue
	if strip -o "$work/$(basename "$path")" "$path"; then
		one "$package $version, stripped" "$work/$(basename "$path")"
	else
		n=$((n + 1)) failed=1
		echo "not ok $n - $package $version cannot be stripped"
	fi
	rm -f "$work"/*
done <<-'LIST'
	libtpu 0.0.17
	xla-cpu-pjrt 0.0.1 stripped
	jax-cuda12-pjrt 0.4.38 stripped
LIST
echo "1..$n"
exit $failed
