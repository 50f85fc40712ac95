#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# PJRT: the functions of a plugin's table are found without symbols, whatever compiler made it, and every call is
# counted. The plugins are stand-ins (tests/fake/pjrt_plugin.cc), the probes are ours.

# shellcheck disable=SC2030,SC2031,SC2154 # tests are subshells; bats sets status
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

plugin() { echo "$FAKE/pjrt/pjrt_c_api_$1_plugin.so"; }
# An execution is told twice: by Execute, and by the OnReady that asks for its end.
records() { jq "[.ranks[].hits] | add" "$T/watch.out"; }

# A process that has its table already; what it does from then on is counted to the last call.
late() { # how
	start_job "$FAKE/pjrt_train" "$(plugin "$1")" load open eval=10:1 say=open pause steps=21 count
	job_line open
	start_watch --pid "$JOB" --json --export "json:$T/out"
	job_go
	job_line executions
	equal "executions 24 completions 24 compilations 3 failures 0" "$LINE" # one before we came, 21, two of evaluation
	job_end
	watch_end
	equal 0 "$(count_lines loss "$T/out")" losses
	equal $((2 * 23)) "$(records)" "records of executions"
}

@test "23 executions in, 23 out: by name" { late named; }
@test "23 executions in, 23 out: by their texts (clang -O2)" { late clang-O2; }
@test "23 executions in, 23 out: by their texts (g++ -O0)" { late gxx-O0; }
@test "23 executions in, 23 out: by their texts (g++ -O2)" { late gxx-O2; }
@test "23 executions in, 23 out: by their texts (clang -O3 -flto)" { late clang-lto; }
@test "23 executions in, 23 out: API 0.28" { late v28; }
@test "23 executions in, 23 out: API 0.116" { late v116; }

@test "from the first instruction on" {
	start_job "$FAKE/pjrt_train" "$(plugin clang-lto)" load say=loaded pause open say=open steps=23 count
	job_line loaded
	start_watch --pid "$JOB" --json
	job_go
	job_line open
	job_line executions
	job_end
	watch_end
	equal $((3 * 2 + 24 * 2)) "$(records)" "records of 3 compilations and 24 executions"
}

# A copy with 16 MiB of code more, which is zeros, behind a header that nobody needs.
large() { # from to
	python3 - "$1" "$2" <<-'PY'
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		data += bytes(-len(data) % 4096)
		at, = struct.unpack_from("<Q", data, 32)
		count, = struct.unpack_from("<H", data, 56)
		heads = {struct.unpack_from("<I", data, at + 56 * i)[0]: at + 56 * i for i in range(count)}
		at = heads.get(4) or heads[0x6474e551]  # PT_NOTE, PT_GNU_STACK
		struct.pack_into("<IIQQQQQQ", data, at, 1, 5, len(data), 1 << 32, 1 << 32, 16 << 20, 16 << 20, 4096)
		with open(sys.argv[2], "wb") as f:
		    f.write(data)
		    f.truncate(len(data) + (16 << 20))
	PY
}

@test "a disk so slow that the first look at the file ends: the second one goes on" {
	! ldd "$GP_BPF" | grep -q asan || skip "a build that lets nothing be loaded before it"
	large "$(plugin clang-O2)" "$T/pjrt_c_api_large_plugin.so"
	start_job "$FAKE/pjrt_train" "$T/pjrt_c_api_large_plugin.so" load say=loaded pause open steps=23 count
	job_line loaded
	export LD_PRELOAD=$FAKE/libslow.so SLOW_READS=7
	start_watch --pid "$JOB" --json --log-level info
	unset LD_PRELOAD
	job_go
	job_line executions
	job_end
	watch_end
	equal $((3 * 2 + 24 * 2)) "$(records)" "records of 3 compilations and 24 executions"
}

@test "a library in which no function has the text: said, and nothing is probed" {
	cp "$FAKE/libslow.so" "$T/pjrt_c_api_other_plugin.so"
	strip "$T/pjrt_c_api_other_plugin.so"
	run -0 "$GP_BPF" check --library "$T/pjrt_c_api_other_plugin.so"
	grep -E 'execute +absent .*no function that names itself by the texts' <<<"$output"
}
