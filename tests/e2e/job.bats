#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job over its runs: restarts, disruptions, and progress that is lost, against what the job itself wrote down.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib
load durable

RESTART=$BATS_TEST_DIRNAME/../workloads/restart.py

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() {
	e2e_teardown
	rm -rf "$(pins "$T/state")"
}

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
# The same of a run by its number: 1, 2...
run_ns() { # run, checkpointed step, last step
	jq -n --argjson run "$1" --argjson from "$2" --argjson to "$3" '[inputs] | (map(select(.what == "begin").pid)[$run - 1]) as $pid
		| map(select(.pid == $pid and .what == "step")) | (map(select(.step == $to).ns)[0]) - (map(select(.step == $from).ns)[0])' "$T/journal.0"
}
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

# ---- gp-bpf itself is killed in between -----------------------------------------------------------------

@test "killed, resumed and killed again, under a gp-bpf that was killed in between" {
	python_current
	cat >"$T/loop.sh" <<-END
		read -r _
		until $PY $RESTART $T/journal $T/ckpt 200 50 kill=9@137 exit=3@187; do sleep 0.5; done
	END
	start_job bash "$T/loop.sh"
	start_watch --durable --state-dir "$T/state" --quiet --export "json:$T/out" --pid "$JOB"
	job_go
	until_true fell 1
	kill -KILL "$WATCH"
	wait "$WATCH" || true
	WATCH_NAME=second start_watch --durable --state-dir "$T/state" --quiet --export "json:$T/out" --json --pid "$JOB"
	job_end
	watch_end
	cp "$T/second.out" "$T/report"
	equal '[3,2,"ended",200]' "$(job '|[.runs, .disruptions, .state, .last_step]')"
	equal '["killed",137,101,true,false]' "$(falls '|[.cause, .step, .resumed_step, .over, .estimated]')"
	equal '["exit",187,151,true,false]' "$(job '.last_disruptions[1]|[.cause, .step, .resumed_step, .over, .estimated]')"
	equal 0 "$(jq '([.jobs[0].buckets[]] | add) - .jobs[0].elapsed_ns' "$T/report")" "what the job's buckets leave over"
	equal 4 "$(count_lines disruption "$T/out")" "told when they began and when they were over"
	equal 0 "$(job '.buckets.UNOBSERVED')" "time nobody saw"
	within "$(job '.last_disruptions[0].wasted_ns')" "$(run_ns 1 100 137)" 50000000 "lost at first"
	within "$(job '.last_disruptions[1].wasted_ns')" "$(run_ns 2 150 187)" 50000000 "lost then"
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
	cat >"$T/loop.sh" <<-END
		echo \$\$ >$group/cgroup.procs
		until $PY $RESTART $T/journal $T/ckpt 160 50 oom@137; do sleep 0.3; done
	END
	"$GP_BPF" run --json --export "json:$T/out" -- bash "$T/loop.sh" >"$T/report" || true
	rmdir "$group"
	resumed_after_100 oom
}
