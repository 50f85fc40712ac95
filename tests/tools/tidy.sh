#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh [--quick] FILE...: clang-tidy, by .clang-tidy. A file that passed is not checked again before something changes of what it
# consists of: its text and all that it includes (comments too, as some silence a finding), the options, .clang-tidy, clang-tidy. The
# cache has an empty file for each, named by the hash of these: ~/.cache/gp-bpf/tidy; what was not asked for in 30 days is removed.
#   --quick  without the static analyzer (clang-analyzer-*), and without the cache
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

flags=(-std=gnu17 -I. -isystem build/plain -D_GNU_SOURCE '-DGP_VERSION="0"' '-DGP_PREFIX="/usr"')
if [ "${1:-}" = --quick ]; then
	shift
	exec clang-tidy --quiet --checks='-clang-analyzer-*' --warnings-as-errors='*' "$@" -- "${flags[@]}"
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/tidy
rules=$({ clang-tidy --version && cat .clang-tidy "$0"; } | sha256sum) || exit
mkdir -p "$cache"
find "$cache" -type f -mtime +30 -delete
status=0
for file; do
	key=$({ echo "$rules"; clang -E -CC -dD "${flags[@]}" "$file" 2>/dev/null; } | sha256sum) || key=
	key=${key%% *}
	if [ -n "$key" ] && [ -e "$cache/$key" ]; then
		touch "$cache/$key"
	elif ! clang-tidy --quiet --warnings-as-errors='*' "$file" -- "${flags[@]}"; then
		status=1
	elif [ -n "$key" ]; then
		: >"$cache/$key"
	fi
done
exit $status
