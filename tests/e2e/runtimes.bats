#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runtimes beside torch are data: OpenCL, which really executes here, and the real libraries of CUDA and NCCL,
# which answer that there is no device.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

# ---- OpenCL ----------------------------------------------------------------------------------------

need_opencl() {
	[ -x "$FAKE/opencl_train" ] || cannot "no OpenCL headers (make deps)"
	export POCL_CACHE_DIR=$BATS_FILE_TMPDIR/pocl
	run "$FAKE/opencl_train" 1 1 <<<go
	[ "$status" -ne 77 ] || cannot "no OpenCL device (make deps)"
	equal 0 "$status" "opencl_train: $output"
}

# A training loop of STEPS with 3 gradients and an update each, watched; its own counts are in OWN.
opencl_run() { # steps options of gp-bpf...
	local steps=$1
	shift
	start_job "$FAKE/opencl_train" "$steps" 3
	job_line loaded
	start_watch --pid "$JOB" --export "json:$T/out" "$@"
	job_go
	job_line '{'
	OWN=$LINE
	job_end
	watch_end
	sound "$T/out"
	equal $((steps * 4)) "$(jq .enqueued <<<"$OWN")" "enqueued, by its own count"
}

@test "OpenCL: every enqueued kernel is counted" {
	need_opencl
	opencl_run 53 --json --listen "unix:$T/socket"
	equal 0 "$(count_lines loss "$T/out")" losses
	# Counted calls are on the tape; hits of the report hold 53 clFinish and one blocking read too.
	equal $((53 * 4 + 53 + 1)) "$(jq '.ranks[0].hits' "$T/watch.out")" hits
}

@test "OpenCL: steps end with clFinish when the user says so" {
	need_opencl
	opencl_run 53 --quiet --marker sync
	# The blocking read at the end is a wait like the others.
	equal 54 "$(count_lines step "$T/out")" steps
	equal '["B","sync"]' "$(of_type step "$T/out" '[.tier, .boundary]' | sort -u)"
	# The time between the first wait and the last is in the steps.
	run -0 jq -n --argjson own "$(jq .finish_ns <<<"$OWN")" \
		'[inputs | select(.type == "step") | .duration_ns] | add >= $own * 0.5' "$T/out"
	equal true "$output" "the waits are inside the steps"
}

@test "OpenCL: without that, no steps are claimed" {
	need_opencl
	opencl_run 53 --quiet
	equal 0 "$(count_lines step "$T/out")" steps
}

@test "OpenCL: check shows the probes of a process" {
	need_opencl
	start_job "$FAKE/opencl_train" 1 1
	job_line loaded
	run -0 "$GP_BPF" check --pid "$JOB"
	local probe
	for probe in create_context build_program enqueue finish wait_events read_blocking; do
		grep -E "$probe +attached .*libOpenCL\.so" <<<"$output"
	done
	job_go
	job_end
}

# ---- the real libraries of CUDA and NCCL ----------------------------------------------------------

# Loads the libraries that the current torch brings along, by glob; calls each function given, which must
# return what stands behind it, N times. No device is needed for an error code.
caller='import ctypes, glob, sys, sysconfig
root, times = sysconfig.get_path("purelib"), 101
loaded = [ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for pattern in sys.argv[1].split(",")
          for path in glob.glob(root + "/" + pattern, recursive=True)]
if not loaded:
    sys.exit(77)
print("loaded", flush=True)
sys.stdin.readline()
place, out = ctypes.c_int(-1), set()
for name in sys.argv[2:]:
    function = next(getattr(library, name) for library in loaded if hasattr(library, name))
    out.add((name, *{function(ctypes.byref(place)) for _ in range(times)}))
print("returned", *sorted(" ".join(map(str, o)) for o in out), sep=";", flush=True)'

call_library() { # pattern of the library, under site-packages; functions...
	python_current
	start_job "$PY" -c "$caller" "$@"
	job_line loaded || { wait_exit "$JOB"; [ "$STATUS" -ne 77 ] || cannot "this torch brings no $1"; return 1; }
}

@test "CUDA: the runtime that torch maps is probed, and says that there is no device" {
	call_library 'nvidia/**/libcudart.so*' cudaDeviceSynchronize cudaGetDeviceCount
	run -0 "$GP_BPF" check --pid "$JOB"
	grep -E ' attached .*libcudart\.so' <<<"$output"
	start_watch --pid "$JOB" --json --export "json:$T/out"
	job_go
	job_line returned
	# cudaErrorNoDevice is 100, cudaErrorInsufficientDriver 35.
	[[ $LINE =~ cudaDeviceSynchronize\ (100|35) ]]
	job_end
	watch_end
	steps_are 0 "$T/out"
	[ "$(jq '.ranks[0].hits' "$T/watch.out")" -ge 101 ]
}

@test "NCCL: the library that torch maps is probed" {
	call_library 'nvidia/**/libnccl.so*' ncclGetVersion ncclGroupStart ncclGroupEnd
	run -0 "$GP_BPF" check --pid "$JOB"
	grep -E 'all_reduce +attached .*libnccl\.so' <<<"$output"
	grep -E 'comm_init_rank +attached .*libnccl\.so' <<<"$output"
	start_watch --pid "$JOB" --json --export "json:$T/out"
	job_go
	job_line returned
	[[ $LINE == *"ncclGetVersion 0"* ]]
	job_end
	watch_end
	steps_are 0 "$T/out"
}
