# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the tests of --durable share: instances of one state directory, and a job that trains when it is told.

# shellcheck disable=SC2034 # for those who load this
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
		drop_pins "$dir"
		umount -q "$dir" || true
	done
}

# Folder of the pins of a state directory: FNV-1a of its path, as loader/attach/pin.c names it.
pins() { # state directory
	local path h=$((0xcbf29ce484222325)) i code
	path=$(realpath "$1")
	for ((i = 0; i < ${#path}; i++)); do
		printf -v code '%d' "'${path:i:1}"
		h=$(((h ^ code) * 1099511628211))
	done
	printf '/sys/fs/bpf/gp-bpf/%016x' "$h"
}
# What a test's gp-bpf may have left pinned; the folder of all goes where no other test has one in it.
drop_pins() { # state directory
	[ ! -d "$1" ] || rm -rf "$(pins "$1")"
	rmdir /sys/fs/bpf/gp-bpf 2>/dev/null || true
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
