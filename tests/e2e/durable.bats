#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gp-bpf --durable: ended in every way there is, and gone on from. What was seen is told once; what was not is
# told as not observed.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib
load durable

# ---- killed and started again ------------------------------------------------------------------------

@test "kill -9: what happened while nobody was there is not missed" {
	train_job 3
	start_durable --pid "$JOB"
	train
	kill_watch
	train
	start_durable --pid "$JOB"
	nothing_said
	train
	last_turn
	watch_end
	steps_are 69 "$T/out"
	goes_on "$T/out"
	equal 0 "$(unobserved)" "spans not observed"
	[ ! -e "$(pins "$T/state")" ]
}

@test "kill -9: traces, tables and event files are gone on with" {
	train_job 3
	start_durable --pid "$JOB" --export "trace:$T/trace.json" --export "csv:$T/tables" --export "tensorboard:$T/board"
	train
	kill_watch
	train
	start_durable --pid "$JOB" --export "trace:$T/trace.json" --export "csv:$T/tables" --export "tensorboard:$T/board"
	train
	last_turn
	watch_end
	steps_are 69 "$T/out"
	python3 -m json.tool "$T/trace.json" >"$T/pretty"
	"$TOP/tests/tools/trace.py" "$T/trace.json" "$T/out"
	"$TOP/tests/tools/csv_lines.py" "$T/tables" "$T/out"
	"$TOP/tests/tools/tfevents.py" "$T/board" >"$T/scalars"
	equal "$(seq 0 68)" "$(jq 'select(.tag == "performance/step_time_seconds") | .step' "$T/scalars" | sort -n)" "steps in event files"
}

@test "the job ends while nobody is there" {
	train_job 2
	start_durable --pid "$JOB"
	train
	kill_watch
	train
	last_turn
	start_durable --pid "$JOB"
	watch_end
	steps_are 46 "$T/out"
	equal '"targets_gone"' "$(of_type end "$T/out" .reason)"
	equal '"ended"' "$(of_type rank "$T/out" .state | tail -1)"
}

@test "whom to watch is known to a successor; a newcomer has to be told" {
	train_job 2
	run -2 --separate-stderr "$GP_BPF" --durable --state-dir "$T/state" --quiet
	[[ $stderr == *"the saved state has no process to watch; name one: "* ]]
	start_durable --pid "$JOB"
	train
	kill_watch
	start_durable
	train
	last_turn
	watch_end
	steps_are 46 "$T/out"
}

@test "killed while it starts, and a start that is killed" {
	local i
	train_job 2
	start_durable --pid "$JOB"
	train
	kill_watch
	for i in $(seq 10); do
		background /dev/null /dev/null "$T/early.err" "$GP_BPF" --durable --state-dir "$T/state" --quiet \
			--export "json:$T/out" --pid "$JOB"
		until_true grep -q gp-bpf "/proc/$LAST/comm"
		sleep "0.0$i"
		kill -KILL "$LAST"
		wait "$LAST" || true
	done
	start_durable --pid "$JOB"
	train
	last_turn
	watch_end
	steps_are 46 "$T/out"
	goes_on "$T/out"
	[ "$(find "$T/state" -type f | wc -l)" -le 5 ] # state, lock, symbols of two libraries, one segment
}

# ---- ended in order ------------------------------------------------------------------------------------

@test "SIGTERM detaches; a later start tells the time between as not observed, and numbers on" {
	train_job 3
	start_durable --pid "$JOB"
	"$BPF_PY" ids "$WATCH" >"$T/ids"
	train
	kill -TERM "$WATCH"
	watch_end
	[ ! -e "$(pins "$T/state")" ]
	until_true "$BPF_PY" gone <"$T/ids"
	equal 23 "$(count_lines step "$T/out")" "steps told at the end"
	train
	start_durable --pid "$JOB"
	said "counts as unobserved"
	train
	last_turn
	watch_end
	goes_on "$T/out"
	equal 46 "$(count_lines step "$T/out")" steps
	equal 1 "$(unobserved)" "spans not observed"
	equal '["user","targets_gone"]' "$(of_type end "$T/out" .reason | jq -sc .)"
}

@test "after a detach a start without --pid goes on with those that still run" {
	train_job 2
	start_durable --pid "$JOB"
	train
	kill -TERM "$WATCH"
	watch_end
	start_durable
	train
	last_turn
	watch_end
	goes_on "$T/out"
	equal 46 "$(count_lines step "$T/out")" steps
	equal '["user","targets_gone"]' "$(of_type end "$T/out" .reason | jq -sc .)"
}

@test "a job that ended leaves its lines where the next one's go" {
	train_job 1
	start_durable --pid "$JOB"
	train
	last_turn
	watch_end
	cp "$T/out" "$T/first"
	train_job 1
	start_durable --pid "$JOB"
	train
	last_turn
	watch_end
	equal "$(cat "$T/first")" "$(head -n "$(wc -l <"$T/first")" "$T/out")" "lines of the first job"
	equal 46 "$(count_lines step "$T/out")" steps
	equal 2 "$(count_lines start "$T/out")" starts
}

@test "SIGTERM with --handover: the next one goes on" {
	train_job 3
	start_durable --handover --pid "$JOB"
	train
	kill -TERM "$WATCH"
	watch_end
	[ -e "$(pins "$T/state")/map-gp_meta" ]
	train
	start_durable --pid "$JOB"
	nothing_said
	train
	last_turn
	watch_end
	steps_are 69 "$T/out"
	equal 0 "$(unobserved)" "spans not observed"
}

@test "a second one on the same state says so and ends; the first goes on" {
	local first
	train_job 2
	start_durable --pid "$JOB"
	first=$WATCH
	train
	run -1 --separate-stderr "$GP_BPF" --durable --state-dir "$T/state" --pid "$JOB"
	[[ $stderr == *"process $first already uses $T/state"* ]]
	train
	last_turn
	watch_end
	steps_are 46 "$T/out"
}

@test "a second one on the same pins, its state directory made anew: said, and the first goes on" {
	train_job 2
	start_durable --pid "$JOB"
	train
	rm -r "$T/state"
	run -1 --separate-stderr timeout -s KILL "$READY_S" "$GP_BPF" --durable --state-dir "$T/state" --pid "$JOB"
	[[ $stderr == *"another gp-bpf still uses $(pins "$T/state")"* ]] || { echo "$stderr" >&2; return 1; }
	train
	last_turn
	watch_end
	steps_are 46 "$T/out"
}

@test "--takeover: the one that watches hands over" {
	local first
	train_job 3
	start_durable --pid "$JOB"
	first=$WATCH
	train
	start_durable --takeover --log-level debug
	wait_exit "$first"
	equal 0 "$STATUS" "status of the first"
	said "using the programs that were loaded before the predecessor ended" # and not while nobody reads the rings
	run ! grep -e '^gp-bpf: warning' -e '^gp-bpf: error' "$T/$NUMBER.err"
	train
	train
	last_turn
	watch_end
	steps_are 69 "$T/out"
	equal 0 "$(unobserved)" "spans not observed"
}

@test "--takeover: one that does not answer is killed" {
	local first
	train_job 2
	start_durable --pid "$JOB"
	first=$WATCH
	train
	kill -STOP "$first"
	start_durable --takeover
	said "did not hand over; killing it"
	wait_exit "$first"
	equal 137 "$STATUS" "status of the first"
	train
	last_turn
	watch_end
	steps_are 46 "$T/out"
}

@test "--handover and --takeover need --durable" {
	run -2 --separate-stderr "$GP_BPF" --handover --pid $$
	[[ $stderr == *"--handover needs --durable"* ]]
	run -2 --separate-stderr "$GP_BPF" --takeover --pid $$
	[[ $stderr == *"--takeover needs --durable"* ]]
}

# ---- room ------------------------------------------------------------------------------------------------

@test "no room for the tape: said, counted, the job is unharmed; whole again when there is room" {
	mkdir "$T/state"
	mount -t tmpfs -o size=1m,mode=0700 tmpfs "$T/state"
	start_job "$TRAIN" load say=held pause until say=full pause until say=whole pause steps=23 pause
	job_line held
	start_durable --pid "$JOB"
	job_go
	dd if=/dev/zero of="$T/state/ballast" bs=4k status=none || true # until it is full
	until_true said "the tape cannot be written: No space left on device"
	job_go
	job_line full
	rm "$T/state/ballast"
	job_go
	until_true said "the state was saved; a restart loses nothing from now on"
	job_go
	job_line whole
	kill_watch
	train
	start_durable --pid "$JOB"
	nothing_said
	last_turn
	watch_end
	sound "$T/out"
	goes_on "$T/out"
	[ "$(count_lines loss "$T/out" '.source == "tape"')" -gt 0 ]
	equal 0 "$(unobserved)" "spans not observed"
}

@test "a state directory on a disk that is read-only" {
	mkdir "$T/state"
	mount -t tmpfs -o ro,mode=0700 tmpfs "$T/state"
	run -1 --separate-stderr "$GP_BPF" --durable --state-dir "$T/state" --pid $$
	[[ $stderr == *"Read-only file system"* ]]
	[ ! -e "$(pins "$T/state")" ]
}

# ---- left behind ------------------------------------------------------------------------------------------

@test "nobody reads for a minute: the kernel side is silent, and the time is not observed" {
	train_job 4
	start_durable --pid "$JOB"
	train
	until_true steps_told 22
	kill -STOP "$WATCH"
	"$BPF_PY" silence "$(pins "$T/state")"
	train
	train
	kill -CONT "$WATCH"
	until_true said "counts as unobserved"
	train
	last_turn
	watch_end
	goes_on "$T/out"
	equal 1 "$(unobserved)" "spans not observed"
	# The first to hit finds that nobody reads, and is the last that is told.
	[ "$(count_lines step "$T/out")" -le 47 ]
	[ "$(count_lines step "$T/out")" -ge 45 ]
}

@test "killed, and left alone for a minute" {
	train_job 3
	start_durable --pid "$JOB"
	train
	kill_watch
	"$BPF_PY" silence "$(pins "$T/state")"
	train
	start_durable --pid "$JOB"
	said "counts as unobserved"
	train
	last_turn
	watch_end
	goes_on "$T/out"
	equal 1 "$(unobserved)" "spans not observed"
	[ "$(count_lines step "$T/out")" -le 47 ]
}

# In a namespace with a BPF file system of its own: detach is for all that is left on a machine.
@test "detach: not what somebody watches with; what is left goes" {
	local inside
	background /dev/null /dev/null "$T/ns.err" unshare -m sh -c 'mount -t bpf bpf /sys/fs/bpf && exec sleep 1000'
	inside="nsenter -m -t $LAST"
	until_true grep -q sleep "/proc/$LAST/comm"
	cat >"$T/inside" <<-END
		#!/bin/sh
		exec $inside $GP_BPF "\$@"
	END
	chmod +x "$T/inside"
	train_job 3
	run -0 "$T/inside" detach
	equal "nothing to detach" "$output"
	GP_BPF=$T/inside start_durable --pid "$JOB"
	"$BPF_PY" ids "$WATCH" >"$T/ids"
	train
	run -1 --separate-stderr "$T/inside" detach
	[[ $stderr == *"process $WATCH watches with it (state in $T/state)"* ]]
	kill_watch
	run ! "$BPF_PY" gone <"$T/ids"
	run -0 "$T/inside" detach
	[[ $output == *"(state in $T/state): detached" ]]
	until_true "$BPF_PY" gone <"$T/ids"
	train
	GP_BPF=$T/inside start_durable --pid "$JOB"
	said "counts as unobserved"
	train
	last_turn
	watch_end
	goes_on "$T/out"
	equal 46 "$(count_lines step "$T/out")" steps
}

# ---- beside each other -----------------------------------------------------------------------------------

@test "two with states of their own, and one without, at one job" {
	local first second third
	train_job 3
	start_durable --pid "$JOB"
	first=$WATCH
	WATCH_NAME=other start_watch --durable --state-dir "$T/state.other" --quiet --export "json:$T/other" --pid "$JOB"
	second=$WATCH
	WATCH_NAME=third start_watch --quiet --export "json:$T/third" --pid "$JOB"
	third=$WATCH
	train
	WATCH=$first
	kill_watch
	train
	start_durable --pid "$JOB"
	train
	last_turn
	watch_end
	WATCH=$second watch_end
	WATCH=$third watch_end
	steps_are 69 "$T/out"
	steps_are 69 "$T/other"
	steps_are 69 "$T/third"
	run -0 jq -n --slurpfile third "$T/third" '[[inputs | select(.type == "step").end_ns],
		[$third[] | select(.type == "step").end_ns]] | transpose | map(.[0] - .[1] | fabs) | max < 1e6' "$T/out"
	equal true "$output" "steps at the same time"
}
