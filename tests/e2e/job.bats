#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job over its runs: restarts, disruptions, and progress that is lost, against what the job itself wrote down.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib

RESTART=$BATS_TEST_DIRNAME/../workloads/restart.py

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

# The report's only job, as JSON; NAME of it.
job() { jq -c ".jobs[0]$1" "$T/report"; }
falls() { job ".last_disruptions[0]$1"; }

# Watches a shell that runs the command until it ends with 0.
until_done() { # command...
	printf 'until' >"$T/loop.sh"
	printf ' %q' "$@" >>"$T/loop.sh"
	printf '; do sleep 0.3; done\n' >>"$T/loop.sh"
	"$GP_BPF" run --json --export "json:$T/out" -- bash "$T/loop.sh" >"$T/report"
	equal 0 "$(jq '([.jobs[0].buckets[]] | add) - .jobs[0].elapsed_ns' "$T/report")" "what the job's buckets leave over"
}

# Progress after the checkpoint that the second run read, by the job's own clock.
lost_ns() { # checkpointed step, last step of the first run
	jq -n --argjson from "$1" --argjson to "$2" 'reduce inputs as $l ({}; if $l.what == "step" and .pid == null then .pid = $l.pid else . end
		| if $l.what == "step" and $l.pid == .pid and $l.step == $from then .from = $l.ns else . end
		| if $l.what == "step" and $l.pid == .pid and $l.step == $to then .to = $l.ns else . end) | .to - .from' "$T/journal.0"
}
within() { # measured ns, true ns, allowed ns, what
	(($1 - $2 <= $3 && $2 - $1 <= $3)) || { echo "$4: $1 ns, truly $2 ns" >&2; return 1; }
}

resumed_after_100() { # cause
	equal 2 "$(job .runs)" runs
	equal 1 "$(job .disruptions)" disruptions
	equal "\"$1\"" "$(falls .cause)"
	equal "[137,101,true]" "$(falls '|[.step, .resumed_step, .over]')"
	equal '[false,"the file it read is the one that was saved"]' "$(falls '|[.estimated, .how]')"
	equal 160 "$(job .last_step)" "steps that count"
	equal 197 "$(job .steps)" "steps that were made"
	within "$(falls .wasted_ns)" "$(lost_ns 100 137)" 50000000 "lost progress"
	equal "$(falls .wasted_ns)" "$(job '.buckets.WASTED_PROGRESS_FROM_DISRUPTION')"
	equal '[101,1]' "$(jq -c 'select(.type == "step" and .step > 1 and .run_step == 1 and .rank != 1) | [.step, .run_step]' "$T/out")" "first step of the second run"
}

@test "an exit in step 137, the last checkpoint after 100: 37 steps are lost" {
	python_current
	until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 160 50 exit=3@137
	resumed_after_100 exit
	equal null "$(falls .signal)"
}

@test "Debian's torch: the same" {
	python_debian
	until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 160 50 exit=3@137
	resumed_after_100 exit
}

@test "killed by itself: a crash; nothing was saved: all is lost" {
	python_current
	until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 60 50 kill=11@40
	equal '"crashed"' "$(falls .cause)"
	equal "[11,40,1,true]" "$(falls '|[.signal, .step, .resumed_step, .over]')"
	equal 60 "$(job .last_step)" "steps that count"
	within "$(falls .wasted_ns)" "$(($(lost_ns 1 40) * 40 / 39))" 100000000 "lost progress"
}

@test "two ranks under torchrun, one is killed: one disruption, both start again" {
	python_current
	"$GP_BPF" run --json --export "json:$T/out" -- "$PY" -m torch.distributed.run --standalone --nproc-per-node 2 --max-restarts 1 \
		--monitor-interval 0.2 "$RESTART" "$T/journal" "$T/ckpt" 160 50 kill=9@137:1 >"$T/report"
	equal 1 "$(jq '.jobs | length' "$T/report")" jobs
	resumed_after_100 killed
	equal 1 "$(falls .rank)" "the rank that fell first"
	equal 2 "$(count_lines disruption "$T/out")" "told when it began and when it was over"
}
