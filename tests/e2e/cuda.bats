#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# CUDA, on stand-ins with the real names and arguments (tests/fake/libcuda.c): each call is seen once and as it was
# made; a training on them has exact steps by its own clock, and its faults are told.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

@test "every call of CUDA and NCCL that has a row is seen, 23 for each name, with what it was called with" {
	start_job "$TOP/tests/workloads/calls.py" "$FAKE" "$T/expected"
	job_line loaded
	start_watch record --pid "$JOB" --quiet -o "$T/tape" --overhead-budget 0 --export "json:$T/out"
	job_go
	job_line called
	job_end
	watch_end
	run "$TOP/tests/tools/tape_calls.py" "$T/tape" "$T/expected"
	equal 0 "$status" "$output"
	equal 0 "$(count_lines loss "$T/out")" losses
	# Every row of the two files was called, but what is in libraries of its own (nvrtc, RCCL).
	equal "$("$GP_BPF" probes | sed -nE 's/^((cuda|nccl)\.[a-z_]+) .*/\1/p' | grep -v -e nvrtc -e _rccl | sort)" \
		"$(jq -r 'keys[]' "$T/expected" | sort)" "rows called"
}

# A training on the stand-ins, recorded: its own journal is in $T/journal.RANK, what was seen in $T/tape.
train() { # status options of cuda_train...
	local status=$1
	shift
	start_job "$FAKE/cuda_train" "journal=$T/journal" "$@"
	job_line loaded
	start_watch record --pid "$JOB" --quiet -o "$T/tape" --overhead-budget 0 --export "json:$T/out" "${WATCH_WITH[@]}"
	job_go
	job_end "$status"
	watch_end
	"$TOP/tests/tools/tape_calls.py" "$T/tape" >"$T/calls"
}
journal() { # rank word column
	awk -v word="$2" -v column="$3" '$1 == word { print $column }' "$T/journal.$1"
}
# Of one probe: what jq says of its line.
seen() { # probe filter
	jq -c "select(.probe == \"$1\") | $2" "$T/calls"
}

@test "a training: launches are counted, copies have their bytes, both ways of calling" {
	local how
	for how in plain twin; do
		train 0 steps=53 kernels=3 "$([ $how = twin ] && echo twin || echo every=10)"
		equal "$(journal 0 end 3)" "$(seen cuda.launch .counted)" launches
		equal $((53 * 4)) "$(seen cuda.launch .counted)" launches
		equal '[53,[16384]]' "$(seen cuda.copy_in_async '[.calls, (.arg | map(.[0]) | unique)]')" "batches"
		equal '[2,[16384]]' "$(seen cuda.copy_in '[.calls, (.arg | map(.[0]) | unique)]')" "data"
		equal '[6,[8]]' "$(seen cuda.copy_out '[.calls, (.arg | map(.[0]) | unique)]')" "losses, and the result"
		equal 53 "$(seen cuda.stream_sync .calls)" waits
		equal "" "$(seen cuda.alloc .)" "memory that could be had"
		rm "$T"/journal.* "$T/tape" "$T/watch.ready"
	done
}

@test "a training in graphs: what is captured, made fit and launched is one graph" {
	train 0 graph steps=53
	equal 53 "$(seen cuda.graph_launch .calls)" "graphs launched"
	# Written down once: three gradients; run in each step: the update.
	equal $((3 + 53)) "$(seen cuda.launch .counted)" launches
	equal '[1,0]' "$(seen cuda.capture_begin '[.calls, .arg[0][1]]')" "a capture begins"
	local graph
	graph=$(seen cuda.graph_instantiate '.arg[0][0]')
	[ "$graph" != 0 ]
	equal "[1,$graph]" "$(seen cuda.capture_end '[.calls, .arg[0][1]]')" "and ends"
	equal "[$graph]" "$(seen cuda.graph_launch '.arg | map(.[0]) | unique')" "the graph that is launched"
}

@test "out of memory is told, with the bytes that were asked for; memory that was had is not" {
	FAKE_CUDA='cuMemAlloc_v2:ret=2@5' train 3 alloc=68719476736 steps=53
	equal '[1,[2],68719476736]' "$(seen cuda.alloc '[.calls, .ret, .arg[0][0]]')" "allocations told"
	equal '["out_of_memory","CUDA_ERROR_OUT_OF_MEMORY",2]' "$(of_type health "$T/out" '[.kind, .name, .code]')" told
}

@test "an illegal address is told, once" {
	FAKE_CUDA='cuStreamSynchronize:ret=700@31' train 3 steps=53
	equal '[31,700,0]' "$(seen cuda.stream_sync '[.calls, .ret[-1], (.ret[:-1] | add)]')" waits
	equal '["device_error","CUDA_ERROR_ILLEGAL_ADDRESS",700]' "$(of_type health "$T/out" '[.kind, .name, .code]')" told
}

@test "what a call takes is in its record" {
	FAKE_CUDA='cuStreamSynchronize:latency=20ms@51;cuModuleLoadData:latency=100ms' train 0 steps=53
	equal '[3,50]' "$(seen cuda.stream_sync '[(.dur_ns | map(select(. >= 20e6)) | length), (.dur_ns | map(select(. < 20e6)) | length)]')"
	equal true "$(seen cuda.module_load '.dur_ns[0] >= 100e6')" "a module's load"
}

@test "a checkpoint of the process: suspended and resumed, by the process that is named" {
	train 0 checkpoint steps=53
	local probe pid
	for probe in checkpoint_lock checkpoint checkpoint_restore checkpoint_unlock; do
		pid=$(seen cuda.$probe '.pid[0]')
		equal "[1,$pid]" "$(seen cuda.$probe '[.calls, .arg[0][0]]')" "$probe"
	done
}

# Steps that end when a call returns: each, and at the time that the program noted.
steps_by() { # marker count
	WATCH_WITH=(--marker "$1")
	train 0 steps="$2" pace=2000
	sound "$T/out"
	equal "$2" "$(count_lines step "$T/out")" steps
	paste <(journal 0 step 3) <(of_type step "$T/out" .end_ns) |
		awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1000000) n++ } END { exit n > NR / 10 }'
}

@test "steps end with the wait that the user names" {
	steps_by sync 53
}

@test "steps end with the probe that the user names, by its id or its function" {
	steps_by cuda.stream_sync 53
	rm "$T"/journal.* "$T/watch.ready"
	steps_by cuStreamSynchronize 47
}

@test "launches, under CUDA 13 by their other name: once each" {
	start_job /usr/bin/python3 -c '
import ctypes as c, sys
runtime = c.CDLL(sys.argv[1] + "/libcudart.so.13")
class Dim(c.Structure): _fields_ = [("x", c.c_uint), ("y", c.c_uint), ("z", c.c_uint)]
print("loaded", flush=True); sys.stdin.readline()
one = Dim(1, 1, 1)
for name in ("cudaLaunchKernel", "__cudaLaunchKernel", "__cudaLaunchKernel_ptsz"):
    for _ in range(23):
        getattr(runtime, name)(None, one, one, None, c.c_size_t(0), None)' "$FAKE"
	job_line loaded
	start_watch record --pid "$JOB" --quiet -o "$T/tape"
	job_go
	job_end
	watch_end
	"$TOP/tests/tools/tape_calls.py" "$T/tape" >"$T/calls"
	equal 69 "$(seen cuda.launch .counted)" launches
}

@test "the probes sit where the kernel emulates" {
	"$GP_BPF" check --library "$FAKE/libcuda.so.1" >"$T/check"
	grep -q 'cuda.launch .*emulated' "$T/check"
	[ "$(grep -cE '^ *cuda\..* emulated ' "$T/check")" -ge 60 ]
	run ! grep -E '^ *cuda\..*(stepped|refused)' "$T/check"
}

# nvcc links the runtime into the program; only the driver is a library then.
@test "the runtime in the program: its return codes, where the program has symbols" {
	FAKE_CUDART="cudaDeviceSynchronize:ret=719" start_job "$FAKE/cuda_static" 23
	job_line loaded
	start_watch record --pid "$JOB" --quiet -o "$T/tape" --export "json:$T/out"
	job_go
	job_end
	watch_end
	"$TOP/tests/tools/tape_calls.py" "$T/tape" >"$T/calls"
	equal '[23,[719]]' "$(seen cuda.runtime_device_sync '[.calls, (.ret | unique)]')" "waits, as the runtime returns them"
	equal '[1,[0]]' "$(seen cuda.runtime_devices '[.calls, .ret]')" "its first call"
	equal 1 "$(seen cuda.init .calls)" "the driver's first call"
	equal '["device_error","CUDA_ERROR_LAUNCH_FAILED",719]' "$(of_type health "$T/out" '[.kind, .name, .code]')" reported
}

@test "the runtime in the program, stripped: check says what is not seen, and the driver is" {
	strip -o "$FAKE/cuda_stripped" "$FAKE/cuda_static"
	start_job "$FAKE/cuda_stripped" 23
	job_line loaded
	run -0 "$GP_BPF" check --pid "$JOB"
	grep -E "^  cuda.runtime_device_sync +absent +cuda_stripped: the program has no such symbol" <<<"$output"
	grep -E "^  cuda.context_sync +attached " <<<"$output"
	job_go
	job_end
}

@test "a program whose process maps the runtime as a library is not searched" {
	start_job /usr/bin/python3 -c '
import ctypes, sys
ctypes.CDLL(sys.argv[1] + "/libcudart.so.13")
print("loaded", flush=True); sys.stdin.readline()' "$FAKE"
	job_line loaded
	run -0 "$GP_BPF" check --pid "$JOB"
	grep -E "^  cuda.runtime_device_sync +attached .*libcudart.so.13" <<<"$output"
	run ! grep -E "python3" <<<"$(grep -E "^  cuda" <<<"$output")"
	job_go
	job_end
}
