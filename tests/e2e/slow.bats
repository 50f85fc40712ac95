#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job whose steps become lastingly slower, and fast again: told once each, with the step at which it was so.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	# Steps of a machine that is busy with something else are slow indeed: the job does not wait for a CPU.
	FIRST=(chrt -f 10)
	"${FIRST[@]}" true 2>/dev/null || FIRST=(nice -n -20)
}
teardown() { e2e_teardown; }

health() { jq -c 'select(.type == "health")' "$T/$1"; }

@test "30 % slower from step 111 on, fast again from step 261 on" {
	run -0 --separate-stderr "$GP_BPF" record -o "$T/tape" --quiet --slow-after 5s --export "json:$T/out" --json -- \
		"${FIRST[@]}" "$TRAIN" load wait pace=30000 steps=110 pace=39000 steps=150 pace=30000 steps=60
	tail -1 <<<"$output" >"$T/report"
	steps_are 320 "$T/out"
	health out >"$T/health"
	run -0 jq -n '[inputs] | map(.kind) == ["fail_slow", "recovered"]
		and all(.[]; .onset_step >= 109 and .onset_step <= 113 and .phase == "backward" and .loop == 0)
		and .[0].ratio > 1.2 and .[0].ratio < 1.4 and (.[0].over | not) and .[0].end_step == null
		and .[1].over and .[1].end_step >= 259 and .[1].end_step <= 263
		and .[0].onset_ns == .[1].onset_ns and .[1].end_ns > .[1].onset_ns' "$T/health"
	equal true "$output" "$(cat "$T/health")"
	run -0 jq '.ranks[] | select(.trainer) | .loops[0].slow | .count == 1 and (.slow | not) and .phase == "backward"' \
		"$T/report"
	equal true "$output" "report"
	# The tape says the same.
	run -0 --separate-stderr "$GP_BPF" replay --quiet --export "json:$T/again" "$T/tape"
	health again >"$T/again.health"
	cmp "$T/health" "$T/again.health"
}

@test "regular steps with checkpoints and pauses between them: nothing to tell" {
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/out" --output "$T/cmd" -- \
		"${FIRST[@]}" "$TRAIN" load wait pace=30000 steps=70 save=a steps=50 pace=150000 steps=1 pace=30000 save=b steps=50
	equal "" "$(health out)"
}
