#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gp-bpf --durable: ended in every way there is, and gone on from. What was seen is told once; what was not is
# told as not observed.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib

BPF_PY=$BATS_TEST_DIRNAME/../torture/bpf.py

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	NUMBER=0
}
teardown() {
	local dir
	e2e_teardown
	for dir in "$T"/state*; do
		[ ! -d "$dir" ] || rm -rf "$(pins "$dir")"
		umount -q "$dir" || true
	done
}

# ---- what the tests share --------------------------------------------------------------------------

# Folder of the pins of a state directory: FNV-1a of its path, as loader/pin.c names it.
pins() { # state directory
	local path h=$((0xcbf29ce484222325)) i code
	path=$(realpath "$1")
	for ((i = 0; i < ${#path}; i++)); do
		printf -v code '%d' "'${path:i:1}"
		h=$(((h ^ code) * 1099511628211))
	done
	printf '/sys/fs/bpf/gp-bpf/%016x' "$h"
}

# One more gp-bpf of $T/state; what it says goes to $T/N.err.
start_durable() { # options...
	NUMBER=$((NUMBER + 1))
	WATCH_NAME=$NUMBER start_watch --durable --state-dir "$T/state" --quiet --export "json:$T/out" "$@"
}
kill_watch() {
	kill -KILL "$WATCH"
	wait "$WATCH" || true
}
said() { # text; the last one said it
	grep -qF -- "$1" "$T/$NUMBER.err" || { echo "not said: $1; but: $(cat "$T/$NUMBER.err")" >&2; return 1; }
}
nothing_said() { [ ! -s "$T/$NUMBER.err" ] || { cat "$T/$NUMBER.err" >&2; return 1; }; }

# Trains that many steps at the next line, and rests.
train_job() { # number of turns of 23 steps
	local turns=() i
	for ((i = 0; i < $1; i++)); do turns+=(pause steps=23); done
	start_job "$TRAIN" load say=held "${turns[@]}" pause
	job_line held
}
train() {
	job_go
	job_line "steps 23"
}
last_turn() {
	job_go
	job_end
}

# Lines of a file that several wrote are numbered on, and ledgers closed; so are its steps.
lines_go_on() { # file
	equal "" "$(jq -r .seq "$1" | awk '$1 != NR' | head -1)" "number of a line out of order"
	equal 0 "$(count_lines ledger "$1" '([.buckets[]] | add) != .elapsed_ns')" "open ledgers"
}
goes_on() { # file
	lines_go_on "$1"
	equal "" "$(of_type step "$1" .step | awk '$1 != NR' | head -1)" "number of a step out of order"
}
unobserved() { count_lines range "$T/out" '.bucket == "UNOBSERVED"'; }
# What is in no file yet is told at the next tick.
steps_told() { [ "$(count_lines step "$T/out")" -ge "$1" ]; }

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
	[[ $stderr == *"which process?"* ]]
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
	said "counts as not observed"
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
	[[ $stderr == *"process $first watches with $T/state already"* ]]
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
	start_durable --takeover
	wait_exit "$first"
	equal 0 "$STATUS" "status of the first"
	nothing_said
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

# ---- what cannot be gone on from ------------------------------------------------------------------------

@test "other probes than before: detached, said, not observed" {
	cp -r "$TOP/probes" "$T/probes"
	train_job 3
	start_durable --probes "$T/probes" --pid "$JOB"
	train
	until_true steps_told 22
	kill_watch
	cat >"$T/probes/more.yaml" <<-'END'
		runtime: more
		libraries: [libtorch_cpu.so]
		probes:
		  - {id: sync, symbol: fakeSync, group: confirm, role: none, why: a test}
	END
	train
	start_durable --probes "$T/probes" --pid "$JOB"
	said "its probes were others"
	said "counts as not observed"
	train
	last_turn
	watch_end
	goes_on "$T/out"
	equal 46 "$(count_lines step "$T/out")" "steps, those before and after"
	equal 1 "$(unobserved)" "spans not observed"
}

# Whatever is wrong with the state: what is attached is of use, what was told is not.
begins_anew() { # what is said
	train
	start_durable --pid "$JOB"
	said "$1"
	said "beginning anew"
	train
	last_turn
	watch_end
	goes_on "$T/out"
	equal 1 "$(count_lines start "$T/out")" starts
	[ "$(count_lines step "$T/out")" -ge 23 ]
}

@test "a state that is damaged" {
	train_job 3
	start_durable --pid "$JOB"
	train
	kill_watch
	printf '\377' | dd of="$T/state/state" bs=1 seek=200 conv=notrunc status=none
	begins_anew "it is damaged"
}

@test "a state that is cut off" {
	train_job 3
	start_durable --pid "$JOB"
	train
	kill_watch
	truncate -s -7 "$T/state/state"
	begins_anew "it is damaged"
}

@test "a tape that is torn: what is whole of it counts, the rest is not observed" {
	local tape
	train_job 3
	start_durable --pid "$JOB"
	train
	until_true steps_told 22
	kill_watch
	tape=$(find "$T/state" -name 'tape-*' -size +1k | sort | tail -1)
	truncate -s $(($(stat -c %s "$tape") / 2)) "$tape"
	train
	start_durable --pid "$JOB"
	said "torn"
	said "counts as not observed"
	train
	last_turn
	watch_end
	lines_go_on "$T/out"
	equal 1 "$(unobserved)" "spans not observed"
	[ "$(count_lines step "$T/out")" -ge 46 ]
}

@test "a state of another boot" {
	train_job 3
	start_durable --pid "$JOB"
	train
	kill_watch
	uuidgen >"$T/boot_id" 2>/dev/null || echo 01234567-89ab-cdef-0123-456789abcdef >"$T/boot_id"
	cat >"$T/other_boot" <<-END
		#!/bin/sh
		exec unshare -m sh -c 'mount --bind $T/boot_id /proc/sys/kernel/random/boot_id && exec $GP_BPF "\$@"' sh "\$@"
	END
	chmod +x "$T/other_boot"
	GP_BPF=$T/other_boot begins_anew "it is of another boot"
}

@test "a state directory that others may write to is refused" {
	mkdir -m 0777 "$T/state"
	run -1 --separate-stderr "$GP_BPF" --durable --state-dir "$T/state" --pid $$
	[[ $stderr == *"must be ours, and writable for nobody else"* ]]
	[ ! -e "$(pins "$T/state")" ]
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
	until_true said "the state is whole again"
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
	until_true said "counts as not observed"
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
	said "counts as not observed"
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
	equal "nothing was left attached" "$output"
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
	said "counts as not observed"
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
