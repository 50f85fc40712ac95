#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# PJRT: the functions of a plugin's table are found without their names, whatever compiler made it, and every call
# is counted. The plugins are stand-ins (tests/fake/pjrt_plugin.cc), the probes are ours.

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
@test "23 executions in, 23 out: by the code that fills the table (clang -O2)" { late clang-O2; }
@test "23 executions in, 23 out: by the code that fills the table (g++ -O0)" { late gxx-O0; }
@test "23 executions in, 23 out: by the memory of a running process (g++ -O2)" { late gxx-O2; }
@test "23 executions in, 23 out: by the memory of a running process (clang -O3 -flto)" { late clang-lto; }
@test "23 executions in, 23 out: API 0.28" { late v28; }
@test "23 executions in, 23 out: API 0.116" { late v116; }

@test "from the first instruction: the call that returns the table tells where its functions are" {
	start_job "$FAKE/pjrt_train" "$(plugin clang-lto)" load say=loaded pause open say=open pause steps=23 count
	job_line loaded
	start_watch --pid "$JOB" --json --log-level info
	grep -q 'found when a process next asks for its table' "$T/watch.err"
	job_go
	job_line open
	until_true grep -q "the table of process $JOB has them" "$T/watch.err"
	job_go
	job_line executions
	job_end
	watch_end
	equal $((1 + 2 * 23)) "$(records)" "records of GetPjrtApi and 23 executions"
}

@test "a second process on the same file shows what the first did not" {
	local first
	mkfifo "$T/first.in"
	exec 5<>"$T/first.in"
	background "$T/first.in" "$T/first.out" "$T/first.err" "$FAKE/pjrt_train" "$(plugin gxx-O2)" load say=loaded pause
	first=$LAST
	until_true grep loaded "$T/first.out"
	start_job "$FAKE/pjrt_train" "$(plugin gxx-O2)" load open say=open pause steps=23 count
	job_line open
	start_watch --pid "$first" --pid "$JOB" --json
	job_go
	job_line executions
	job_end
	echo go >&5
	exec 5>&-
	watch_end
	equal $((2 * 23)) "$(records)" "records of executions"
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
	run ! grep "the table of process" "$T/watch.err"
	equal $((1 + 3 * 2 + 24 * 2)) "$(records)" "records of GetPjrtApi, 3 compilations and 24 executions"
}

# What is wrong with a table is said, in the log and by check, and nothing of it is probed.
refused() { # how spoilt text
	start_job env FAKE_PJRT_TABLE="$2" "$FAKE/pjrt_train" "$(plugin "$1")" load api say=open pause
	job_line open
	run -0 "$GP_BPF" check --pid "$JOB"
	grep -E "execute +refused .*$3" <<<"$output"
	start_watch --pid "$JOB" --json
	grep -q "plugin.so: .*$3" "$T/watch.err"
	job_go
	job_end
	watch_end
}

@test "refused: a size that is not the version's" { refused clang-lto size "its size is not that of its version"; }
@test "refused: pointers to no functions" { refused clang-lto garbage "are not functions of this library"; }
@test "refused: version 0.56" { refused clang-lto minor:56 "version 0.56"; }
@test "refused: an unknown major version" { refused clang-lto major "major version is not 0"; }
@test "refused: two tables" { refused clang-lto two "more than one"; }
@test "refused: other functions of the plugin, which do not say that they are the ones" {
	refused clang-lto swap "does not name itself so"
}
# Who rewrites it may rest while it is read.
@test "refused: a table that is being rewritten" {
	start_job env FAKE_PJRT_TABLE=turning "$FAKE/pjrt_train" "$(plugin clang-lto)" load api say=open pause
	job_line open
	changing() { "$GP_BPF" check --pid "$JOB" | grep -E 'execute +refused .*changes while it is read'; }
	until_true changing
	job_go
	job_end
}
@test "refused: version 0.56, by its code" {
	run -0 "$GP_BPF" check --library "$(plugin v56)"
	grep -E 'execute +refused .*version 0.56' <<<"$output"
}
