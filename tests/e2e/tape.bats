#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# record and replay.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() {
	e2e_setup_file
	[ -z "$NO_PROBES" ] || return 0
	local t=$BATS_FILE_TMPDIR
	# A rest: the last frame, which some tests take away, has not all of it.
	"$GP_BPF" record -o "$t/tape" --export "json:$t/live" -- \
		"$TRAIN" load wait steps=23 save=/srv/model.pt steps=7 rest=900 children=3 steps=11 >/dev/null 2>"$t/report"
}
setup() {
	e2e_setup
	need_probes
	RECORDED=$BATS_FILE_TMPDIR
	PUBLIC=''
}
teardown() {
	e2e_teardown
	[ -z "$PUBLIC" ] || rm -r "$PUBLIC"
}

same() { # expected actual
	cmp "$1" "$2" || { diff "$1" "$2" | head -10 >&2; return 1; }
}

# bats test_tags=kernels
@test "the recorded run was seen whole" {
	sound "$RECORDED/live"
	equal 63 "$(count_lines step "$RECORDED/live")" steps
}

# bats test_tags=kernels
@test "replay prints the same JSON lines, byte for byte" {
	run -0 "$GP_BPF" replay --quiet --export "json:$T/again" "$RECORDED/tape"
	equal "" "$output"
	same "$RECORDED/live" "$T/again"
	"$GP_BPF" replay --quiet --export json:- "$RECORDED/tape" >"$T/output"
	same "$RECORDED/live" "$T/output"
}

@test "replay prints the same report, byte for byte" {
	"$GP_BPF" replay "$RECORDED/tape" >"$T/report"
	[ -s "$T/report" ]
	same "$RECORDED/report" "$T/report"
}

@test "replay from a pipe" {
	# shellcheck disable=SC2002 # a pipe cannot be sought in
	cat "$RECORDED/tape" | "$GP_BPF" replay --quiet --export "json:$T/again" -
	same "$RECORDED/live" "$T/again"
}

@test "replay needs no privilege" {
	PUBLIC=$(mktemp -d)
	cp "$GP_BPF" "$RECORDED/tape" "$PUBLIC"
	chmod -R a+rX "$PUBLIC"
	setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all \
		"$PUBLIC/gp-bpf" replay --quiet --export json:- "$PUBLIC/tape" >"$T/again"
	same "$RECORDED/live" "$T/again"
}

@test "a torn tail is dropped, with a message" {
	local cut
	for cut in 1 7 8 24 31 33 101 1009; do
		cp "$RECORDED/tape" "$T/torn"
		truncate -s "-$cut" "$T/torn"
		run -0 --separate-stderr "$GP_BPF" replay --quiet --export "json:$T/again" "$T/torn"
		[[ $stderr == *torn* ]]
		# Steps that it tells are those of the whole tape; the last ones are told sooner, so with other numbers.
		of_type step "$RECORDED/live" | sed 's/"seq":[0-9]*,//' >"$T/whole.steps"
		of_type step "$T/again" | sed 's/"seq":[0-9]*,//' >"$T/again.steps"
		[ -s "$T/again.steps" ]
		equal "" "$(grep -vxFf "$T/whole.steps" "$T/again.steps")"
	done
}

@test "a damaged frame ends the reading, with a message" {
	local size
	size=$(stat -c %s "$RECORDED/tape")
	cp "$RECORDED/tape" "$T/bad"
	printf '\377\377\377\377\377\377\377\377' | dd of="$T/bad" bs=1 seek=$((size / 2)) conv=notrunc status=none
	run -0 --separate-stderr "$GP_BPF" replay --quiet --export "json:$T/again" "$T/bad"
	[[ $stderr == *"ignoring the rest"* ]]
}

@test "what is no tape is refused" {
	echo "no tape" >"$T/text"
	run -1 --separate-stderr "$GP_BPF" replay "$T/text"
	[[ $stderr == *"not a tape"* ]]
	equal "" "$output"
	: >"$T/empty"
	run -1 "$GP_BPF" replay "$T/empty"
	run -1 "$GP_BPF" replay "$T/missing"
	run -1 "$GP_BPF" replay "$T"
	cp "$RECORDED/tape" "$T/future"
	printf '\011' | dd of="$T/future" bs=1 seek=8 conv=notrunc status=none
	run -1 "$GP_BPF" replay "$T/future"
}

@test "record of a running process" {
	start_job "$TRAIN" load say=held pause steps=23
	job_line held
	start_watch record --quiet -o "$T/tape" --export "json:$T/live" --pid "$JOB"
	job_go
	job_end
	watch_end
	steps_are 23 "$T/live"
	"$GP_BPF" replay --quiet --export "json:$T/again" "$T/tape"
	same "$T/live" "$T/again"
}

@test "record passes the command's status and output through" {
	run -7 --separate-stderr "$GP_BPF" record --quiet -o "$T/tape" -- "$TRAIN" say=hello exit=7
	equal hello "$output"
}

@test "gp-bpf killed while it records: the tape holds what was drained" {
	start_job "$TRAIN" load say=held pause steps=23 say=again pause steps=23
	job_line held
	start_watch record --quiet -o "$T/tape" --export "json:$T/live" --pid "$JOB"
	job_go
	job_line again
	until_true taped 23 "$T/tape"
	kill -KILL "$WATCH"
	wait_exit "$WATCH"
	job_go
	job_end
	run -0 "$GP_BPF" replay --quiet --export "json:$T/again" "$T/tape"
	equal 23 "$(count_lines step "$T/again")" steps
}

taped() { # steps tape
	"$GP_BPF" replay --quiet --export "json:$T/peek" "$2" && [ "$(count_lines step "$T/peek")" -ge "$1" ]
}

@test "settings are on the tape" {
	"$GP_BPF" record --quiet -o "$T/tape" --marker zero_grad --multiply 7 --job night --export "json:$T/live" -- \
		"$TRAIN" load wait steps=70
	"$GP_BPF" replay --quiet --export "json:$T/again" "$T/tape"
	same "$T/live" "$T/again"
	equal 10 "$(count_lines step "$T/again")" steps
	equal '"night"' "$(of_type step "$T/again" .job | sort -u)" job
}

@test "real torch: replay equals the live run" {
	python_debian
	"$GP_BPF" record -o "$T/tape" --export "json:$T/live" -- "$PY" "$LOOP" plain --out "$T/truth" >/dev/null 2>"$T/report"
	"$GP_BPF" replay --export "json:$T/again" "$T/tape" >"$T/replayed"
	same "$T/live" "$T/again"
	same "$T/report" "$T/replayed"
}
