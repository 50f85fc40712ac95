#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What gp-bpf may cost a job: names that users choose are bounded.

# shellcheck disable=SC2030,SC2031,SC2154 # tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

@test "a name in an inner loop silences neither steps nor rare names" {
	python_for current hot_name
	"$GP_BPF" record --quiet -o "$T/tape" --export "json:$T/out" -- \
		"$PY" "$LOOP" hot_name --out "$T/truth" >"$T/its" 2>&1
	steps_are 40 "$T/out"
	"$TOP/tests/tools/tape_names.py" "$T/tape" >"$T/names"
	equal 40 "$(grep -c '^rare_range_' "$T/names")" "rare names"
	local hot lost seconds
	hot=$(grep -c '^inner_loop$' "$T/names")
	lost=$(jq -n '[inputs | select(.type == "loss" and .source == "rate_limited") | .count] | add' "$T/out")
	equal $((200000 + 39 * 500)) $((hot + lost)) "sent and told as not sent"
	seconds=$(jq -n '[inputs.mono_ns] | (max - min) / 1e9 | ceil' "$T/out")
	[ "$hot" -le $((101 * (seconds + 1))) ] || { echo "$hot in $seconds s" >&2; false; }
	equal "rate_limited" "$(of_type loss "$T/out" .source | tr -d '"' | sort -u)" "losses"
}
