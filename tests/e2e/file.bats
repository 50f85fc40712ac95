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

@test "the report tells what is secured" {
	python_debian
	mkdir "$T/new"
	run -0 --separate-stderr "$GP_BPF" run --json -- "$PY" "$TOP/tests/workloads/checkpoints.py" torch "$T/new"
	equal 60 "$(tail -1 <<<"$output" | jq '.ranks[] | select(.trainer) | .secured_step')"
	tail -1 <<<"$output" |
		jq -e '.ranks[] | select(.trainer) | .secured_ns > 0 and .secured_ns <= .buckets.GOODPUT' >/dev/null
}

@test "10 000 data files are no checkpoint that is read; how many were not looked at is told" {
	python_debian
	mkdir "$T/its/data"
	for i in {0..499}; do echo >"$T/its/data/$i.npy"; done
	run -0 "$GP_BPF" run --quiet --export "json:$T/out" -- "$PY" "$TOP/tests/workloads/checkpoints.py" torch "$T/its" \
		--data 10000
	sound "$T/out"
	equal "" "$(restores .file)"
	equal "20 40 60" "$(saves .step)"
	equal 60 "$(count_lines step "$T/out" '.flags | index("tainted") | not')" "steps that no loss taints"
	[ "$(of_type end "$T/out" .losses.file_limited)" -gt 1000 ]
}

@test "--feature file=off: torch's own, and the rest is estimated" {
	python_debian
	dies_and_goes_on torch --feature file=off
	equal "20 40 60" "$(saves .step)"
	equal 'null null' "$(restores '.saved_step, .match')"
}
