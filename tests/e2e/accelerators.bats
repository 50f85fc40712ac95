#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# HIP, AWS Neuron and Level Zero, on stand-ins with the functions of the real libraries (tests/fake), and a made-up
# runtime of which only its probe file knows (tests/fake/made): each row's calls arrive, as often as they were made
# and with what they were given; steps, waits and errors of a training.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

# Each probed function 23 times; what the program says of its calls is what the tape says of them.
calls_arrive() { # runtime options of gp-bpf...
	local runtime=$1
	shift
	start_job "$FAKE/${runtime}_train" calls 23
	job_line loaded
	start_watch record -o "$T/tape" --quiet --overhead-budget 0 --pid "$JOB" "$@"
	job_go
	cat <&8 >"$T/its"
	job_end
	watch_end
	"$TOP/tests/tools/tape_told.py" - <"$T/its" >"$T/made"
	"$TOP/tests/tools/tape_told.py" "$T/tape" >"$T/seen"
	diff "$T/made" "$T/seen"
	# No row of the runtime is left out.
	equal "$("$GP_BPF" probes "$@" | sed -nE "s/^($runtime\.[a-z_]+) .*/\1/p" | sort -u)" "$(cut -d' ' -f2 "$T/seen" | sort -u)" rows
}

# Memory is told where there is none: the 24th call has none.
@test "HIP: every call arrives with what it was given" {
	local none
	none=$(printf '%s:ret=2@24;' hipMalloc hipMalloc{Async,Managed,FromPoolAsync})
	FAKE_HIP=${none%;} calls_arrive hip
}

@test "Neuron: every call arrives with what it was given, a run of a program once" {
	FAKE_NRT='nrt_tensor_allocate:ret=4@24,ret=4@25' calls_arrive neuron
}

@test "Level Zero: every call arrives with what it was given" {
	FAKE_ZE="zeMemAllocDevice:ret=$((0x70000003))@24" calls_arrive level_zero
}

@test "RCCL: NCCL's rows are for a library of that name too" {
	local rows
	mkdir "$T/rccl"
	cp "$FAKE"/libcuda.so.1 "$FAKE"/libcudart.so.* "$T/rccl"
	cp "$FAKE/libnccl.so.2" "$T/rccl/librccl.so.1"
	ln -s librccl.so.1 "$T/rccl/libnccl.so.2"
	start_job "$TOP/tests/workloads/calls.py" "$T/rccl" "$T/expected"
	job_line loaded
	start_watch record -o "$T/tape" --quiet --overhead-budget 0 --pid "$JOB"
	job_go
	job_line called
	job_end
	watch_end
	run "$TOP/tests/tools/tape_calls.py" "$T/tape" "$T/expected"
	equal 0 "$status" "$output"
	rows=$("$TOP/tests/tools/tape_calls.py" "$T/tape" | grep -c '"probe": "nccl\.')
	[ "$rows" -ge 20 ] || { echo "$rows rows of NCCL" >&2; false; }
}

# A training under watch, with FAKE_* as the environment has it.
train() { # runtime steps status options of gp-bpf...
	local runtime=$1 steps=$2 expected=$3
	shift 3
	start_job "$FAKE/${runtime}_train" steps "$steps" "$T/truth"
	job_line loaded
	start_watch --pid "$JOB" --quiet --export "json:$T/out" "$@"
	job_go
	job_end "$expected"
	watch_end
	sound "$T/out"
}

exact() { # boundary
	run "$TOP/tests/tools/compare.py" --no-micro "$T/out" "$T/truth"
	echo "# $output" >&3
	equal 0 "$status" "compare.py: $output"
	equal "\"$1\"" "$(of_type step "$T/out" .boundary | sort -u)" boundary
}

@test "HIP: steps end with the wait that the user names" {
	FAKE_HIP='hipStreamSynchronize:latency=2ms' train hip 60 0 --marker sync
	exact sync
}

@test "Neuron: a step is a run of the program" {
	FAKE_NRT='nrt_execute:latency=2ms' train neuron 60 0 --marker execute
	exact execute
}

@test "Level Zero: steps end with the wait that the user names" {
	FAKE_ZE='zeCommandQueueSynchronize:latency=2ms' train level_zero 60 0 --marker sync
	exact sync
}

fault_is() { # kind name code
	equal "[\"$1\",\"$2\",$3]" "$(of_type health "$T/out" '[.kind, .name, .code]')" "what is told"
}

@test "HIP: a launch that failed, and memory that could not be had" {
	FAKE_HIP='hipStreamSynchronize:ret=719@31' train hip 60 3
	fault_is device_error hipErrorLaunchFailure 719
	rm "$T/watch.ready"
	FAKE_HIP='hipMalloc:ret=2' train hip 60 3
	fault_is out_of_memory hipErrorOutOfMemory 2
}

@test "Neuron: a core's memory error" {
	FAKE_NRT='nrt_execute:ret=1202@31' train neuron 60 3
	fault_is device_error NRT_EXEC_HW_ERR_NC_UE 1202
}

@test "Level Zero: a device that is lost" {
	FAKE_ZE="zeCommandQueueSynchronize:ret=$((0x70000001))@31" train level_zero 60 3
	fault_is device_error ZE_RESULT_ERROR_DEVICE_LOST $((0x70000001))
}

# ---- a runtime of a probe file alone

MADE=(--probes "$TOP/tests/fake/made")

@test "a runtime of a file alone: every call arrives with what it was given" {
	FAKE_MADE='madeAsyncError:ret=5@24' calls_arrive made "${MADE[@]}"
}

@test "a runtime of a file alone: a step is a run of the program, whose return is no failure" {
	FAKE_MADE='madeExecute:latency=2ms' train made 60 0 "${MADE[@]}" --marker execute
	exact execute
	equal 0 "$(count_lines health "$T/out")" "what is told"
}

@test "a runtime of a file alone: steps end with the wait that the user names" {
	FAKE_MADE='madeWait:latency=2ms' train made 60 0 "${MADE[@]}" --marker sync
	exact sync
}

@test "a runtime of a file alone: its codes name faults, and what ends a job" {
	local call code kind name
	while read -r call code kind name; do
		rm -f "$T/watch.ready"
		FAKE_MADE="$call:ret=$code@31" train made 60 3 "${MADE[@]}" --marker made.wait
		fault_is "$kind" "$name" $((code & 0xffffffff))
		equal "[\"$kind\",\"$name\"]" "$(of_type disruption "$T/out" '[.cause, .fault]' | sort -u)" "cause"
	done <<-END
		madeWait 719 device_error MADE_FAILED
		madeWait -5 communicator_error MADE_IO
		madeExecute $((0x80070057)) device_error MADE_INVALID
		madeAsyncError $((0x80070057)) device_error MADE_INVALID
		madeSum 1 out_of_memory MADE_FULL
	END
}
