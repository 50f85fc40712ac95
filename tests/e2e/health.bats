#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Health of ranks that train on the stand-ins for CUDA and NCCL: who is slow and at what, who hangs and at which
# collective, which error ended a run; and what the kernel's log says.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

start_train() { # options of cuda_train...; WATCH_WITH: of gp-bpf
	start_job "$FAKE/cuda_train" "journal=$T/journal" "$@"
	job_line loaded
	start_watch --pid "$JOB" --quiet --overhead-budget 0 --marker sync --export "json:$T/out" "${WATCH_WITH[@]}"
	job_go
}
train() { # status options...
	local status=$1
	shift
	start_train "$@"
	job_end "$status"
	watch_end
}
health() { # kind filter
	jq -sc "[.[] | select(.type == \"health\" and .kind == \"$1\")] | $2" "$T/out"
}

@test "a rank that is slow on purpose: the others wait for it, and what it does meanwhile" {
	FAKE_CUDA_2='cuMemcpyHtoDAsync_v2:latency=15ms' train 0 ranks=3 steps=60 pace=2000
	equal '[false,true]' "$(health straggler 'map(.over)')" "told once, and when it ended"
	equal 1 "$(health straggler 'map(.pid) | unique | length')" "ranks that are slow"
	equal 2 "$(health straggler '.[0].rank')" "which one"
	equal true "$(health straggler '.[0] | .size > 10e6 and .size < 40e6')" "by how much"
	equal '"transfer"' "$(health straggler '.[0].phase')" "its phase"
}

@test "a rank becomes late: the steps of the others are slow because they wait for it" {
	WATCH_WITH=(--slow-after 5s)
	FAKE_CUDA_1='cuMemcpyHtoDAsync_v2:latency=30ms@400' train 0 ranks=2 steps=800 pace=20000
	equal 'true' "$(health fail_slow 'map(select(.rank == 0)) | .[0] | .why == "straggler" and
		(.evidence | test("; rank 1 comes [23][0-9.]+ ms late"))')" "why rank 0 is slow"
	equal 'true' "$(health fail_slow 'map(select(.rank == 1)) | all(.why != "straggler")')" "why rank 1 is slow"
}

@test "ranks that are alike: none is slow" {
	train 0 ranks=3 steps=60 pace=3000
	equal '[]' "$(health straggler .)" stragglers
}

@test "a rank that hangs: the others name the collective that they wait in, and who has not entered it" {
	WATCH_WITH=(--hang-after 4s)
	FAKE_CUDA_1='cuMemcpyHtoDAsync_v2:hang@31' start_train ranks=3 steps=53 pace=2000
	hang_told() {
		[ "$(health hang 'map(.pid) | unique | length')" = 3 ]
	}
	until_true hang_told
	local ranks
	mapfile -t ranks < <(pgrep -P "$JOB")
	kill -KILL "${ranks[@]}"
	exec 7>&-
	wait_exit "$JOB"
	wait_exit "$WATCH"
	equal 'ranks 0 and 2 wait in nccl.all_reduce #31; rank 1 has not entered it' \
		"$(health hang 'map(.evidence | split("; has ")[0] | split("; thread")[0]) | unique | .[0]' | tr -d '"')" evidence
}

@test "an illegal address: named, and the cause of the run's end" {
	FAKE_CUDA='cuStreamSynchronize:ret=700@31' train 3 steps=53
	equal '[["CUDA_ERROR_ILLEGAL_ADDRESS",700,"cuda.stream_sync",30]]' \
		"$(health device_error 'map([.name, .code, .origin, .step])')" error
	equal '["device_error","CUDA_ERROR_ILLEGAL_ADDRESS"]' \
		"$(jq -sc '[.[] | select(.type == "disruption")][0] | [.cause, .fault]' "$T/out")" disruption
}

@test "a peer that is gone: the error of the communicator is what ends the other" {
	FAKE_CUDA_1='cuStreamSynchronize:ret=719@31' train 3 ranks=2 steps=53
	equal '[["ncclRemoteError",6]]' "$(health communicator_error 'map([.name, .code])')" error
	equal '["device_error","CUDA_ERROR_LAUNCH_FAILED"]' \
		"$(jq -sc '[.[] | select(.type == "disruption")][0] | [.cause, .fault]' "$T/out")" "what came first"
}

@test "no memory left: how much was asked for" {
	FAKE_CUDA='cuMemAlloc_v2:ret=2@5' train 3 steps=53 alloc=1073741824
	equal '[["CUDA_ERROR_OUT_OF_MEMORY",2]]' "$(health out_of_memory 'map([.name, .code])')" error
	[[ $(health out_of_memory '.[0].evidence') == *"asked for 1073741824 bytes"* ]]
	equal '"out_of_memory"' "$(jq -sc '[.[] | select(.type == "disruption")][0].cause' "$T/out")" cause
}

@test "the kernel's log names a process: what it says is told, and the cause" {
	mkdir -p "$T/root/dev"
	ln -s /proc "$T/root/proc"
	ln -s /sys "$T/root/sys"
	echo '4,1,1,-;NVRM: Xid (PCI:0000:3b:00): 13, pid=1, name=old, before we came' >"$T/root/dev/kmsg"
	WATCH_WITH=(--root "$T/root")
	FAKE_CUDA='cuStreamSynchronize:ret=719@800' start_train steps=900 pace=10000
	until_true grep -q '"type":"step"' "$T/out"
	echo "4,2,2,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=$JOB, name=cuda_train, Ch 00000008, MMU Fault" >>"$T/root/dev/kmsg"
	until_true grep -q '"Xid 31"' "$T/out"
	# A device that is lost says so again and again: told are 32 a second, and how many were not.
	for _ in {1..90}; do echo "4,3,3,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."; done >"$T/lost"
	cat "$T/lost" >>"$T/root/dev/kmsg"
	job_end 3
	watch_end
	equal '["Xid 31"]' "$(health device_error 'map(.name) | .[0:1]')" "told first"
	equal '"kernel log"' "$(health device_error '.[0].origin')" origin
	equal 0 "$(health device_error 'map(select(.code == 13)) | length')" "what was before"
	equal 58 "$(jq -s '[.[] | select(.type == "loss" and .source == "rate_limited") | .count] | add' "$T/out")" "over the bound"
}
