#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzz targets of $FUZZ_O, each $SECONDS_EACH seconds, two at a time, and prints one table, or TAP.
#   ONLY=name runs one. Inputs that it finds stay in build/fuzz/corpus, those that break in build/fuzz/broken;
#   those kept for good are in tests/fuzz/seeds/NAME.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${FUZZ_O:?}" "${SECONDS_EACH:=60}" "${ONLY:=}" "${TAP:=}"
export FUZZ_O SECONDS_EACH
work=build/fuzz

one() { # name
	local name=$1 dict=() dirs=("$work/corpus/$1") d
	mkdir -p "${dirs[0]}"
	for d in "tests/fuzz/seeds/$name" "$work/seeds/$name"; do
		[ ! -d "$d" ] || dirs+=("$d")
	done
	[ ! -f "tests/fuzz/$name.dict" ] || dict=("-dict=tests/fuzz/$name.dict")
	# Memory and time of one input are bounded: what takes more is a bug.
	ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		"$FUZZ_O/tests/fuzz/$name" -entropic=0 -max_total_time="$SECONDS_EACH" -timeout=5 -rss_limit_mb=1024 \
		-malloc_limit_mb=256 -max_len=16384 -print_final_stats=1 "${dict[@]}" \
		-artifact_prefix="$work/broken/$name-" "${dirs[@]}" >"$work/log/$name" 2>&1
	echo $? >"$work/log/$name.status"
}
if [ "${1:-}" = --one ]; then
	one "$2"
	exit 0
fi

mkdir -p "$work/log" "$work/broken"
tests/fuzz/seeds.sh "$work/seeds" || exit 1

names=()
for source in tests/fuzz/*.c; do
	name=$(basename "$source" .c)
	[ -n "$ONLY" ] && [ "$ONLY" != "$name" ] || names+=("$name")
done
[ "${#names[@]}" -gt 0 ] || { echo "no such target: $ONLY; there are: $(basename -a -s .c tests/fuzz/*.c | xargs)" >&2; exit 2; }
printf '%s\n' "${names[@]}" | xargs -P 2 -n 1 tests/fuzz/run.sh --one

failed=0 n=0
[ -n "$TAP" ] || printf '%-14s %12s %8s %8s\n' target runs corpus broken
for name in "${names[@]}"; do
	n=$((n + 1))
	log=$work/log/$name
	runs=$(sed -nE 's/^stat::number_of_executed_units: *//p' "$log")
	corpus=$(find "$work/corpus/$name" -type f | wc -l)
	broken=$(grep -c "Test unit written to" "$log")
	ok=
	[ "$(cat "$log.status")" -eq 0 ] || { ok="not " failed=1; }
	if [ -n "$TAP" ]; then
		echo "${ok}ok $n - $name: ${runs:-0} runs"
	else
		printf '%-14s %12s %8s %8s\n' "$name" "${runs:-0}" "$corpus" "$broken"
	fi
	[ -z "$ok" ] || grep -E "ERROR|runtime error|does not hold|^    #[0-9] |SUMMARY|Test unit written" "$log" |
		head -30 | sed 's/^/# /'
done
exit $failed
