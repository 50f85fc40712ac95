#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Where a training's time went, against what it wrote down itself: batches that come late, evaluations, checkpoints,
# a process that is stopped. Each bucket within 1 % of the run or 50 ms. Falls and restarts: job.bats.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets output and status
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() {
	[ -z "${STOPPED:-}" ] || kill -CONT "$STOPPED" 2>/dev/null || true
	e2e_teardown
}

late_batches() { jq -n -c '[inputs | select(.type == "step" and .phases.data > 2e8) | .step]' "$T/out"; }

@test "those who judge fail on every false record" {
	run -0 "$TOP/tests/workloads/compare_test.py"
	run -0 "$TOP/tests/workloads/ledger_truth_test.py"
}

@test "batches that come late, evaluations and checkpoints of known length" {
	python_current
	watch_until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 200 80 data=400@21 data=300@77 data=500@140 eval=600@50 eval=300@120 save=400
	truth_is ""
	equal "[21,77,140]" "$(late_batches)" "steps that waited for their batch"
	equal "2" "$(count_lines range "$T/out" '.bucket == "CUSTOM_BADPUT_EVENTS.EVAL"')" evaluations
	equal "[80,160]" "$(jq -n -c '[inputs | select(.type == "checkpoint") | .step]' "$T/out")" checkpoints
}

@test "batches of two workers that come late: what training waits for them" {
	python_current
	watch_until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 120 1000 workers=2 data=600@41 data=500@90
	truth_is ""
	equal "[41,90]" "$(late_batches)" "steps that waited for their batch"
}

@test "stopped for 40 s: a hang of a stopped process, from its first instant to its last" {
	[ -n "${ALL:-}" ] || skip "takes 40 s: make check ALL=1"
	python_current
	until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 600 1000 pace=10 >"$T/loop.sh"
	background /dev/null "$T/report" /dev/null "$GP_BPF" run --json --output "$T/cmd" --export "json:$T/out" -- bash "$T/loop.sh"
	WATCH=$LAST
	trains() { [ "$(grep -c '"step"' "$T/journal.0")" -ge 100 ]; }
	until_true trains
	STOPPED=$(jq -s '.[0].pid' "$T/journal.0")
	kill -STOP "$STOPPED"
	sleep 40
	kill -CONT "$STOPPED"
	STOPPED=
	wait_exit "$WATCH"
	equal 0 "$STATUS" "$(tail -5 "$T/cmd")"
	truth_is ""
	run -0 jq -n -c '[inputs | select(.type == "health" and .kind == "hang") | [.why, .over]]' "$T/out"
	equal '[["stopped",false],["stopped",true]]' "$output" "what is told of it"
	equal 1 "$(count_lines step "$T/out" '.flags | index("hung")')" "steps that hung"
	equal 600 "$(count_lines step "$T/out")" steps
}
