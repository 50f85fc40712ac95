#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Python stacks, read from outside, of every CPython that can be had here: as py-spy sees them.

# shellcheck disable=SC2030,SC2031,SC2154 # tests are subshells; e2e_setup sets T, JOB, STARTED
load lib

setup_file() {
	[ -n "${BUILT:-}" ] || make -s -C "$TOP" fakes >&2
	[ -n "${ALL:-}" ] || export FIND=--find # nothing is downloaded
	"$TOP/tests/tools/pythons.sh" ${FIND:+"$FIND"} >"$BATS_FILE_TMPDIR/pythons"
	local minor
	for minor in {8..14}; do
		grep -q "^3\.$minor	" "$BATS_FILE_TMPDIR/pythons" || echo "# not tested: no Python 3.$minor on this machine" >&3
	done
}
setup() {
	e2e_setup
	DUMP=$TOP/build/plain/tests/fake/python_dump
}
teardown() { e2e_teardown; }
teardown_file() { :; } # no JSON lines

need_py_spy() {
	PY_SPY=$("$TOP/tests/tools/pythons.sh" ${FIND:+"$FIND"} py-spy) || cannot "no py-spy (make check ALL=1 installs it)"
	[ "$EUID" -eq 0 ] || cannot "reading the memory of others needs root"
}

# Starts a program of tests/workloads with one of the Pythons.
start_python() { # root program script
	local at=$T/$3
	if [ "$1" != / ]; then
		at=/tmp/$3
		set -- "$1" chroot "$1" "$2" "$3"
	else
		set -- / env "$2" "$3"
	fi
	cp "$TOP/tests/workloads/${*: -1}" "${1%/}$at"
	start_job "${@:2:$#-2}" "$at"
	job_line up
}
# Runs a function for each of the Pythons.
each_python() { # function
	local version root program n=0
	while IFS=$'\t' read -r version root program; do
		echo "Python $version: $program in $root"
		"$1" "$root" "$program" </dev/null
		kill "$JOB"
		wait_exit "$JOB"
		n=$((n + 1))
	done <"$BATS_FILE_TMPDIR/pythons"
	[ "$n" -gt 0 ] || cannot "no Python from 3.8 on"
}

same_as_py_spy() { # root program
	start_python "$1" "$2" stack_still.py
	"$DUMP" "$JOB" >"$T/ours"
	"$PY_SPY" dump --json --pid "$JOB" >"$T/theirs"
	"$TOP/tests/tools/python_stacks.py" same "$T/ours" "$T/theirs"
}
@test "the stacks of a process that stands still are those of py-spy dump" {
	need_py_spy
	each_python same_as_py_spy
}

only_what_exists() { # root program
	start_python "$1" "$2" stack_busy.py
	"$DUMP" "$JOB" 2000 200 >"$T/ours"
	"$TOP/tests/tools/python_stacks.py" exist "$T/ours" "$TOP/tests/workloads/stack_busy.py"
}
@test "2,000 stacks of a process that runs are stacks that it can have" {
	each_python only_what_exists
}

collects_where_it_does() { # root program
	start_python "$1" "$2" stack_collect.py
	"$DUMP" "$JOB" 300 1000 >"$T/ours"
	jq -se 'map(.threads[0] | select(.torn | not) | {collects, name: .frames[0].name})
		| map(select(.collects)) as $c | length > 200
		and ($c | length) >= 0.3 * length and ($c | length) <= 0.7 * length and all($c[]; .name == "collect")' \
		"$T/ours"
}
@test "the garbage collector is seen while it runs, and only then" {
	each_python collects_where_it_does
}

@test "a process in a namespace of its own: threads have our numbers" {
	local root program tids
	[ "$EUID" -eq 0 ] || cannot "namespaces need root"
	IFS=$'\t' read -r _ root program <"$BATS_FILE_TMPDIR/pythons"
	cp "$TOP/tests/workloads/stack_still.py" "$T"
	start_job unshare --pid --fork --kill-child "$program" "$T/stack_still.py"
	job_line up
	JOB=$(tr -d ' ' <"/proc/$JOB/task/$JOB/children")
	"$DUMP" "$JOB" >"$T/ours"
	tids=$(jq '.threads[].tid' "$T/ours" | sort)
	[ "$tids" = "$(cd "/proc/$JOB/task" && printf '%s\n' * | sort)" ]
	[ "$(jq ".threads[] | select(.tid == $JOB).frames[-1].name" "$T/ours")" = '"<module>"' ]
}

# The bytes of the symbol's name, in a copy of an interpreter that has it: statically linked.
without_symbol() { # interpreter copy
	grep -q '_PyRuntime' "$1" || return
	LC_ALL=C sed 's/\x00_PyRuntime\x00/\x00_PyRuntimX\x00/' "$1" >"$2"
	chmod +x "$2"
}
@test "an interpreter without the symbol _PyRuntime: found by its _Py_DebugOffsets, or refused" {
	local version root program n=0
	while IFS=$'\t' read -r version root program; do
		[ "$root" != / ] || [[ $program == /usr/bin/* ]] || continue
		without_symbol "${root%/}$program" "$T/python$version"
		program=$T/python$version
		if [ "$root" != / ]; then
			mv "$program" "$root/tmp/"
			program=/tmp/python$version
		fi
		start_python "$root" "$program" stack_still.py </dev/null
		run --separate-stderr "$DUMP" "$JOB"
		kill "$JOB"
		if [ "${version#3.}" -ge 13 ]; then
			[ "$status" -eq 0 ]
			[ "$(jq '.threads | length' <<<"$output")" = 8 ]
		else
			[ "$status" -ne 0 ]
			[[ $stderr == *"a CPython without the symbol _PyRuntime"* ]]
		fi
		n=$((n + 1))
	done <"$BATS_FILE_TMPDIR/pythons"
	[ "$n" -gt 0 ] || cannot "no statically linked Python"
}

@test "no Python, and no process" {
	run ! --separate-stderr "$DUMP" "$BASHPID"
	[[ $stderr == "python_dump: no CPython in process "* ]]
	run ! --separate-stderr "$DUMP" 2147483647
	[[ $stderr == *"No such process" ]]
}
