#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Checkpoints by their files: real trainings that are killed, and go on from what they wrote.

# shellcheck disable=SC2030,SC2031,SC2153,SC2154 # tests are subshells; bats sets output, stderr and status
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	mkdir "$T/its"
}
teardown() { e2e_teardown; }

# Killed after step 50, then to its end: what it wrote and read is told as it says itself.
dies_and_goes_on() { # how options of gp-bpf...
	local how=$1
	shift
	cat >"$T/twice.sh" <<-EOF
		"$PY" "$TOP/tests/workloads/checkpoints.py" $how "$T/its" --die 50 >"$T/first"
		"$PY" "$TOP/tests/workloads/checkpoints.py" $how "$T/its" >"$T/second"
	EOF
	run -0 "$GP_BPF" run --quiet --export "json:$T/out" "$@" -- bash "$T/twice.sh"
	equal "saved 20 saved 40" "$(paste -sd' ' "$T/first")"
	equal "resumed 40 saved 60" "$(paste -sd' ' "$T/second")"
	sound "$T/out"
}
saves() { of_type checkpoint "$T/out" 'select(.op == "save") | '"$1" | paste -sd' '; }
restores() { of_type checkpoint "$T/out" 'select(.op == "restore") | '"$1" | paste -sd' '; }
size_of() { find "$T/its/$1" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }'; }

# One checkpoint each, whoever shows it; named and as large as it is in the end.
told_well() { # name of the one of step, with %
	equal "20 40 60" "$(saves .step)" "steps of saves"
	equal "\"${1//%/20}\" \"${1//%/40}\" \"${1//%/60}\"" "$(saves '.file | split("/")[-1]')" "names"
	equal "$(size_of "${1//%/20}") $(size_of "${1//%/40}") $(size_of "${1//%/60}")" "$(saves .bytes)" "bytes"
	equal '40 "inode" 1' "$(restores '.saved_step, .match, .confidence')" "what the restart reads"
}

@test "torch.save, current torch" {
	python_current
	dies_and_goes_on torch
	told_well state_%.ckpt
	equal '"sync" "sync" "sync"' "$(saves .mode)"
}

@test "torch.save, Debian's torch" {
	python_debian
	dies_and_goes_on torch
	told_well state_%.ckpt
}

@test "torch.distributed.checkpoint: a folder is one checkpoint" {
	python_current
	dies_and_goes_on distributed
	told_well state_%
}

@test "numpy, which no marker shows" {
	python_debian
	dies_and_goes_on numpy
	told_well state_%.npz
}

@test "bytes under a name that says nothing, known again by what a restart reads" {
	python_debian
	dies_and_goes_on raw
	equal "" "$(saves .step)" "not told: it could be anything"
	equal '40 "inode" 1' "$(restores '.saved_step, .match, .confidence')"
}

@test "written by another process: no step waits" {
	python_debian
	dies_and_goes_on helper
	equal "20 40 60" "$(saves .step)"
	equal '"async" "async" "async"' "$(saves .mode)"
	equal '40 "inode" 1' "$(restores '.saved_step, .match, .confidence')"
}

@test "a thread that is made for it: what was copied is saved" {
	python_debian
	dies_and_goes_on thread
	told_well state_%.ckpt
	equal '"async" "async" "async"' "$(saves .mode)"
	equal "false false false" "$(saves .estimated)"
	equal 10 "$(of_type disruption "$T/out" 'select(.over) | .step + 1 - .resumed_step')" "steps that are lost"
}

@test "a thread that waits while training goes on: the name tells the step, which is deduced" {
	python_current
	dies_and_goes_on waits
	equal "20 40 60" "$(saves .step)"
	equal "true true" "$(saves '.estimated' | cut -d' ' -f1,2)"
	equal '40 "inode" true' "$(restores '.saved_step, .match, .estimated')"
	equal true "$(of_type disruption "$T/out" 'select(.over) | .estimated')"
}

@test "torch.distributed.checkpoint's async_save: the step when it was called" {
	python_current
	dies_and_goes_on async
	equal "20 40 60" "$(saves .step)"
	equal '"async" "async"' "$(saves .mode | cut -d' ' -f1,2)"
	equal '40 "inode"' "$(restores '.saved_step, .match')"
}

@test "torch.distributed.checkpoint's save begins before its first file" {
	python_current
	blocked_by_saves dcp 10 10
	equal '"sync" "sync" "sync"' "$(saves .mode)"
}

@test "what async_save blocks the training for is save time, in no step" {
	python_current
	blocked_by_saves dcp_async 20 10
	equal '"async" "async" "async"' "$(saves .mode)"
	equal "21 41 61" "$(of_type step "$T/out" 'select(.flags | index("estimated")) | .step' | paste -sd' ')" "steps that begin after one"
}

@test "a copy of the process writes" {
	python_debian
	dies_and_goes_on forked
	equal "20 40 60" "$(saves .step)"
	equal '"async" "async" "async"' "$(saves .mode)"
	equal '40 "inode"' "$(restores '.saved_step, .match')"
}

@test "begun again from nothing beside lists of folders, weights and data: nothing is restored" {
	python_debian
	mkdir -p "$T/site-packages"
	echo >"$T/site-packages/lists.pth"
	"$PY" -c "import torch; torch.save({'w': torch.zeros(9)}, '$T/weights.pth')"
	cat >"$T/anew.sh" <<-EOF
		"$PY" "$TOP/tests/workloads/checkpoints.py" torch "$T/its" --die 50 --read "$T/weights.pth" --read "$T/site-packages/lists.pth"
		"$PY" "$TOP/tests/workloads/checkpoints.py" torch "$T/new" --read "$T/weights.pth" --read "$T/site-packages/lists.pth"
	EOF
	mkdir "$T/new"
	run -0 "$GP_BPF" run --quiet --export "json:$T/out" -- bash "$T/anew.sh"
	sound "$T/out"
	equal "" "$(restores .file)"
	equal '1 "no checkpoint was read: from the beginning"' "$(of_type disruption "$T/out" 'select(.over) | .resumed_step, .how' | paste -sd' ')"
}

@test "the report tells what is secured" {
	python_debian
	mkdir "$T/new"
	run -0 --separate-stderr "$GP_BPF" run --json -- "$PY" "$TOP/tests/workloads/checkpoints.py" torch "$T/new"
	equal 60 "$(tail -1 <<<"$output" | jq '.ranks[] | select(.trainer) | .secured_step')"
	tail -1 <<<"$output" |
		jq -e '.ranks[] | select(.trainer) | .secured_ns > 0 and .secured_ns <= .buckets.GOODPUT' >/dev/null
}

@test "10 000 data files are neither a checkpoint that is read nor a loss" {
	python_debian
	mkdir "$T/its/data"
	for i in {0..499}; do echo >"$T/its/data/$i.npy"; done
	run -0 "$GP_BPF" run --quiet --export "json:$T/out" -- "$PY" "$TOP/tests/workloads/checkpoints.py" torch "$T/its" \
		--data 10000
	sound "$T/out"
	equal "" "$(restores .file)"
	equal "20 40 60" "$(saves .step)"
	equal 60 "$(count_lines step "$T/out" '.flags | index("tainted") | not')" "steps that no loss taints"
	equal null "$(of_type end "$T/out" .losses.file_limited)" "files over their bound"
}

@test "--feature file=off: torch's own, and the rest is estimated" {
	python_debian
	dies_and_goes_on torch --feature file=off
	equal "20 40 60" "$(saves .step)"
	equal 'null null' "$(restores '.saved_step, .match')"
}
