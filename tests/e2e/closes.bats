#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A file system whose close(2) and read(2) fail, as those of network disks may (tests/fake/brokenfs.c).

# shellcheck disable=SC2030,SC2031,SC2153,SC2154 # tests are subshells; bats sets stderr
load lib
load durable

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	[ -e /dev/fuse ] || cannot "no /dev/fuse"
	mkdir "$T/fs"
	background /dev/null "$T/fs.out" "$T/fs.err" "$FAKE/brokenfs" "$T/fs"
	until_true grep -q ready "$T/fs.out"
}
teardown() {
	umount -l "$T/fs"
	e2e_teardown
	drop_pins "$T/state"
}

@test "a checkpoint whose close fails is none" {
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/out" -- \
		"$TRAIN" load wait steps=23 "file=$T/fs/whole.pt" steps=7 "file=$T/fs/torn.pt" steps=7
	equal "steps 23|closed 0|steps 7|closed 28|steps 7" "${output//$'\n'/|}"
	steps_are 37 "$T/out"
	equal '"whole.pt"' "$(of_type checkpoint "$T/out" '.file | split("/") | last')" checkpoints
}

@test "a rotation whose close fails is reported, and costs no line" {
	run --separate-stderr "$GP_BPF" run --quiet --export "json:$T/fs/torn.jsonl,size=1M,keep=9" -- \
		"$TRAIN" load wait steps=6000
	[[ $stderr == *"export to $T/fs/torn.jsonl: No space left on device"* ]]
	[ -e "$T/fs/torn.jsonl.1" ]
	cat "$T"/fs/torn.jsonl{.4,.3,.2,.1,} >"$T/lines" 2>/dev/null || true # those there are, oldest first
	equal 6000 "$(grep -c '"type":"step"' "$T/lines")" steps
	equal "" "$(jq .seq "$T/lines" | awk '$1 != NR')" "numbers missing"
}

@test "a file that cannot be read is not emptied by a restart" {
	start_job "$TRAIN" load say=up pause
	job_line up
	start_watch --pid "$JOB" --durable --state-dir "$T/state" --quiet --export "json:$T/fs/unread.jsonl"
	until_true test -s "$T/fs/unread.jsonl"
	kill -KILL "$WATCH"
	wait_exit "$WATCH"
	local before
	before=$(stat -c %s "$T/fs/unread.jsonl")
	run -1 --separate-stderr "$GP_BPF" --pid "$JOB" --durable --state-dir "$T/state" --quiet \
		--export "json:$T/fs/unread.jsonl"
	[[ $stderr == *"export to $T/fs/unread.jsonl: cannot read the last line, to continue after it: Input/output error"* ]]
	equal "$before" "$(stat -c %s "$T/fs/unread.jsonl")" bytes
	job_go
	job_end
}
