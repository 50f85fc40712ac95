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
	# Counted calls are on the tape; hits of the report hold 53 clFinish too, and one blocking read, a wait and a copy.
	equal $((53 * 4 + 53 + 2)) "$(jq '.ranks[0].hits' "$T/watch.out")" hits
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

@test "OpenCL: copies have their bytes, waits what they waited for" {
	need_opencl
	start_job "$FAKE/opencl_train" 50 1 0 "$T/truth" 10
	job_line loaded
	start_watch record -o "$T/tape" --quiet --overhead-budget 0 --pid "$JOB"
	job_go
	job_line '{'
	job_end
	watch_end
	"$TOP/tests/tools/tape_calls.py" "$T/tape" >"$T/calls"
	# Five checkpoints, each a blocking read, and one at the end.
	equal "$(jq .reads <<<"$LINE")" 6 reads
	equal '[6,[8]]' "$(jq -c 'select(.probe == "opencl.read") | [.calls, (.arg | map(.[0]) | unique)]' "$T/calls")" reads
	equal '[6,[8],[0]]' "$(jq -c 'select(.probe == "opencl.read_blocking")
		| [.calls, (.arg | map(.[1]) | unique), (.ret | unique)]' "$T/calls")" "blocking reads"
	equal '[50,1,[0]]' "$(jq -c 'select(.probe == "opencl.finish")
		| [.calls, (.arg | map(.[0]) | unique | length), (.ret | unique)]' "$T/calls")" waits
	equal 100 "$(jq 'select(.probe == "opencl.enqueue").counted' "$T/calls")" enqueued
}

@test "OpenCL: the probe that the user names ends each step, where the job itself says it does" {
	need_opencl
	start_job "$FAKE/opencl_train" 53 3 0 "$T/truth" 10
	job_line loaded
	start_watch --pid "$JOB" --quiet --export "json:$T/out" --marker clFinish
	job_go
	job_end
	watch_end
	sound "$T/out"
	run "$TOP/tests/tools/compare.py" --no-micro "$T/out" "$T/truth"
	equal 0 "$status" "compare.py: $output"
	equal '["opencl.finish","probe","step",1]' \
		"$(of_type rank "$T/out" '[.marker, .boundary, .unit, .confidence]' | tail -1)"
	[[ $(of_type rank "$T/out" .reason | tail -1) == *"every hit of opencl.finish is a step"* ]]
}

@test "OpenCL: without that, no steps are claimed: cycles are told, and how to name what ends a step" {
	need_opencl
	opencl_run 300 --json
	equal 0 "$(count_lines step "$T/out")" steps
	equal '["opencl.finish","cycle",301]' "$(of_type rank "$T/out" '[.marker, .unit, .steps]' | tail -1)"
	[[ $(of_type rank "$T/out" .reason | tail -1) == *"--marker opencl.finish"* ]]
	equal 0 "$(jq '[.ranks[] | select(.trainer)] | length' "$T/watch.out")" "goodput that is claimed"
	[[ $(jq .nothing_found "$T/watch.out") == *"waits for its device again and again"* ]]
}

opencl_attached() {
	curl -sf --unix-socket "$T/socket" http://x/metrics | grep -q '^gpbpf_probe_attached{probe="opencl.finish".*} 1$'
}

@test "OpenCL: 60000 fast waits under run are cycles with a period, and the report says so" {
	need_opencl
	# The library is mapped when "loaded" is printed, and attached to some milliseconds later.
	{ until_true opencl_attached && yes ''; } | "$GP_BPF" run --listen "unix:$T/socket" --export "json:$T/out" -- \
		"$FAKE/opencl_train" 60000 1 >"$T/job.out" 2>"$T/report"
	equal '["opencl.finish","cycle",60001]' "$(of_type rank "$T/out" '[.marker, .unit, .steps]' | tail -1)"
	equal 0 "$(count_lines step "$T/out")" steps
	grep -F 'name what ends a step with --marker opencl.finish' "$T/report"
	grep -E '60001 cycles of opencl.finish, one each [0-9.]+ (µs|ms)' "$T/report"
}

@test "OpenCL: check shows the probes of a process" {
	need_opencl
	start_job "$FAKE/opencl_train" 1 1
	job_line loaded
	run -0 "$GP_BPF" check --pid "$JOB"
	local probe
	for probe in create_context create_queue build_program enqueue finish wait_events read_blocking write_blocking \
		map_blocking map_shared_blocking read write; do
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

# Every version at hand of a package, each by itself: all calls once, with what they were called with and returned.
real_calls() { # package...
	local package version path found=()
	while IFS=$'\t' read -r package version path _; do
		[[ " $* " == *" $package "* && -f $path ]] && found+=("$package $version $path")
	done < <("$TOP/tests/tools/libraries.sh" --find 2>/dev/null)
	if [ ${#found[@]} -eq 0 ]; then
		[ -n "${ALL:-}" ] || skip "no library of $* (make check ALL=1 brings them)"
		cannot "no library of $*"
	fi
	for path in "${found[@]}"; do
		start_job "$TOP/tests/workloads/calls_real.py" "${path##* }" "$T/expected"
		job_line loaded
		rm -f "$T"/watch.ready
		start_watch record --pid "$JOB" --quiet -o "$T/tape" --overhead-budget 0 --export "json:$T/out"
		job_go
		job_line called
		job_end
		watch_end
		run "$TOP/tests/tools/tape_calls.py" "$T/tape" "$T/expected"
		equal 0 "$status" "$path: $output"
		equal 0 "$(count_lines loss "$T/out")" "$path: losses"
		echo "# ${path% *}: $(jq -r 'length' "$T/expected") functions, 23 calls each" >&3
		rm -f "$T"/tape
	done
}

@test "CUDA: what the real runtimes return is told, 35 where there is no driver" {
	real_calls nvidia-cuda-runtime nvidia-cuda-runtime-cu12
	jq -e 'all(.[]; all(.ret[]; . == 35 or . == 100))' "$T/expected"
}

@test "NCCL: ranks, world size, id, bytes and peers as the real libraries were given them" {
	real_calls nvidia-nccl nvidia-nccl-cu12 nvidia-nccl-cu13
}
