#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job over its runs: restarts, disruptions, and progress that is lost, against what the job itself wrote down.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib
load durable

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() {
	e2e_teardown
	drop_pins "$T/state"
}

# The report's only job, as JSON; NAME of it.
job() { jq -c ".jobs[0]$1" "$T/report"; }
falls() { job ".last_disruptions[0]$1"; }

noted() { [ "$(grep -c "\"what\": \"$1\"" "$T/journal.0" 2>/dev/null)" -ge "$2" ]; } # what, how often
fell() { noted fall "$1"; }
ended() { noted end "$1"; }
pid_of() { jq -s --argjson run "$1" 'map(select(.what == "begin").pid)[$run - 1]' "$T/journal.0"; }
trains() { # run
	noted begin "$1" && [ "$(jq -s --argjson pid "$(pid_of "$1")" 'map(select(.what == "step" and .pid == $pid)) | length' "$T/journal.0")" -ge 20 ]
}

# A group whose memory ends where one more gigabyte would begin.
memory_group() {
	local top=/sys/fs/cgroup group limit=memory.max
	if [ -e "$top/memory/memory.limit_in_bytes" ]; then # version 1
		top=$top/memory limit=memory.limit_in_bytes
	elif ! grep -qs memory "$top/cgroup.subtree_control"; then
		echo +memory >"$top/cgroup.subtree_control" || return 1
	fi
	group=$top/gp-bpf-test-$$
	mkdir "$group" && echo 1500M >"$group/$limit" || return 1
	echo "$group"
}

resumed_after_100() { # cause options of ledger_truth.py...
	truth_is "$@"
	equal '[137,101,true,"the file it read is the one that was saved"]' "$(falls '|[.step, .resumed_step, .over, .how]')"
	equal 160 "$(job .last_step)" "steps that count"
	equal '[101,1]' "$(jq -c 'select(.type == "step" and .step > 1 and .run_step == 1 and .rank != 1) | [.step, .run_step]' "$T/out")" "first step of the second run"
}

@test "an exit in step 137, the last checkpoint after 100: 37 steps are lost" {
	python_current
	watch_until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 160 50 exit=3@137 save=200 eval=300@60 eval=300@120
	resumed_after_100 exit
	equal null "$(falls .signal)"
}

# What cannot be seen of a loader: tests/workloads/kinds.tsv.
@test "Debian's torch: the same" {
	python_debian
	watch_until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 160 50 exit=3@137 save=200
	resumed_after_100 exit --data-unseen
}

@test "killed by itself: a crash; nothing was saved: all is lost" {
	python_current
	watch_until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 60 50 kill=11@40
	truth_is crashed
	equal "[11,40,1,true]" "$(falls '|[.signal, .step, .resumed_step, .over]')"
}

@test "two ranks under torchrun, one is killed: one disruption, both start again" {
	python_current
	"$GP_BPF" run --json --export "json:$T/out" -- "$PY" -m torch.distributed.run --standalone --nproc_per_node 2 --max_restarts 1 \
		--monitor_interval 0.2 "$RESTART" "$T/journal" "$T/ckpt" 160 50 kill=9@137:1 >"$T/report"
	equal 1 "$(jq '.jobs | length' "$T/report")" jobs
	resumed_after_100 killed --fell "$T/journal.1"
	equal 1 "$(falls .rank)" "the rank that fell first"
	equal 2 "$(count_lines disruption "$T/out")" "told when it began and when it was over"
}

# ---- gp-bpf itself is killed in between -----------------------------------------------------------------

report_of_store() {
	run -0 "$GP_BPF" report --store "$T/state/store.db"
	[[ $output == *"disruptions  2"* && $output == *"= elapsed"* ]] || { echo "$output" >&2; return 1; }
	"$GP_BPF" report --store "$T/state/store.db" --json >"$T/report"
	equal "null ended 0" "$(jq -r '"\(.since) \(.state) \(.buckets.UNOBSERVED)"' "$T/report")" "whole, over, all of it seen"
}
next_watch() { # number
	WATCH_NAME=$1 start_watch --durable --state-dir "$T/state" --quiet --export "json:$T/out" --pid "$JOB"
}

@test "killed, resumed and killed again, under a gp-bpf that was killed in between" {
	python_current
	{ echo 'read -r _'; until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 200 50 save=100 kill=9@137 kill=9@187; } >"$T/loop.sh"
	start_job bash "$T/loop.sh"
	next_watch first
	job_go
	until_true fell 1
	kill_watch
	next_watch second
	job_end
	watch_end
	report_of_store
	truth_is killed,killed
	equal "[[9,137,101],[9,187,151]]" "$(jq -c '[.disruptions[] | [.signal, .step, .resumed_step]]' "$T/report")" falls
	equal 4 "$(count_lines disruption "$T/out")" "told when they began and when they were over"
}

@test "gp-bpf is killed in a run that crashes, in the resumed one that is killed, and in the last one" {
	python_current
	{ echo 'read -r _'; until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 220 40 pace=25 kill=11@90 kill=9@170; } >"$T/loop.sh"
	start_job bash "$T/loop.sh"
	next_watch 0
	job_go
	for run in 1 2 3; do
		until_true trains "$run"
		kill_watch
		next_watch "$run"
	done
	job_end
	watch_end
	report_of_store
	truth_is crashed,killed
	equal "[[11,90,81],[9,170,161]]" "$(jq -c '[.disruptions[] | [.signal, .step, .resumed_step]]' "$T/report")" falls
}

@test "asked to end, it saves and ends in order; started again it has lost nothing" {
	python_current
	cat >"$T/loop.sh" <<-END
		$PY $RESTART $T/journal $T/ckpt 4000 5000 term
		$PY $RESTART $T/journal $T/ckpt 4000 5000 term
	END
	background /dev/null "$T/report" /dev/null "$GP_BPF" run --json --export "json:$T/out" -- bash "$T/loop.sh"
	for run in 1 2; do
		until_true trains "$run"
		kill -TERM "$(pid_of "$run")"
		until_true ended "$run"
	done
	wait_exit "$LAST"
	equal '[2,1,"ended"]' "$(job '|[.runs, .disruptions, .state]')"
	equal '[true,true,0]' "$(falls '|[.over, .graceful, .wasted_ns]')"
	equal "$(($(jq -s '[.[] | select(.what == "save")][0].step' "$T/journal.0") + 1))" "$(falls .resumed_step)"
}

@test "the kernel's OOM killer: told by its name" {
	python_current
	group=$(memory_group) || cannot "no memory cgroup can be made"
	{
		echo "echo \$\$ >$group/cgroup.procs"
		until_done "$PY" "$RESTART" "$T/journal" "$T/ckpt" 160 50 oom@137
	} >"$T/loop.sh"
	"$GP_BPF" run --json --export "json:$T/out" -- bash "$T/loop.sh" >"$T/report" || true
	rmdir "$group"
	resumed_after_100 oom
}
