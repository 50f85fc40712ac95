#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Exports to disks that are full, or never answer: neither the watching nor the end waits for them, and what they
# cost is told.

# shellcheck disable=SC2030,SC2031,SC2034,SC2153,SC2154 # tests are subshells; durable.bash reads; bats sets stderr
load lib
load durable

setup() {
	e2e_setup
	need_probes
	DISK='' WATCHDOG='' NUMBER=0
}
teardown() {
	thaw
	e2e_teardown
	[ ! -d "$T/state" ] || rm -rf "$(pins "$T/state")"
	[ -z "$DISK" ] || until_true umount "$DISK"
}

# DISK: an ext4 file system of its own. What freezes it is undone, whatever becomes of the test.
small_disk() {
	need_program mkfs.ext4
	need_program fsfreeze
	truncate -s 16M "$T/image"
	mkfs.ext4 -q "$T/image"
	mkdir "$T/disk"
	mount -o loop "$T/image" "$T/disk" || cannot "no loop device can be mounted"
	DISK=$T/disk
}
freeze() {
	(sleep 60; fsfreeze -u "$DISK") </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- &
	WATCHDOG=$!
	fsfreeze -f "$DISK"
}
thaw() {
	[ -n "$WATCHDOG" ] || return 0
	fsfreeze -u "$DISK" || true
	kill "$WATCHDOG" 2>/dev/null || true
	WATCHDOG=''
}

@test "a disk that never answers: watched on, ended within its 5 s, and what it cost is told" {
	local from took where
	small_disk
	start_job "$TRAIN" load pause wait pace=2000 steps=50 pause steps=50 pause
	start_watch --pid "$JOB" --quiet --job jobname --export "json:$T/json" --export "json:$DISK/lines" \
		--export "csv:$DISK/tables" --export "trace:$DISK/trace.json" --export "tensorboard:$DISK/board,interval=1s"
	job_go
	job_line "steps 50"
	until_true have 50 "$T/json"
	until_true have 50 "$DISK/lines"
	until_true grep -q '^50,\|,50,' "$DISK/tables/steps.csv"
	until_true test -n "$(find "$DISK/board" -name 'events*')"
	freeze
	job_go
	job_line "steps 50"
	until_true have 100 "$T/json"
	from=$(date +%s%3N)
	kill -TERM "$WATCH"
	wait_exit "$WATCH" 60
	took=$(($(date +%s%3N) - from))
	echo "# the end took $took ms" >&3
	equal 1 "$STATUS" "$(cat "$T/watch.err")"
	[ "$took" -lt 8000 ]
	cat "$T/watch.err"
	for where in "export to $DISK/lines" "export to $DISK/tables/steps.csv" "export to $DISK/trace.json"; do
		equal 1 "$(grep -c "$where: [0-9]* lines were not written: its disk does not answer" "$T/watch.err")" "$where"
	done
	equal 1 "$(grep -c "tensorboard:$DISK/board: [0-9]* scalars were lost: the disk does not answer" "$T/watch.err")" "tensorboard"
	thaw
	job_go
	job_end
	# Whole lines, up to where it froze.
	jq -es 'length > 50' "$DISK/lines" >/dev/null
	run -0 "$TOP/tests/tools/trace.py" "$DISK/trace.json" "$DISK/lines"
}
have() { [ "$(count_lines step "$2")" -ge "$1" ]; }

@test "a disk that is full, and is not any more: JSON, tables and trace have every line, whole" {
	mkdir "$T/small"
	mount -t tmpfs -o size=128k none "$T/small" || cannot "no tmpfs can be mounted"
	DISK=$T/small
	start_job "$TRAIN" load pause wait pace=2000 steps=300 pause steps=23 pause
	start_watch --pid "$JOB" --quiet --job jobname --export "json:$T/json" --export "json:$DISK/lines" \
		--export "csv:$DISK/tables" --export "trace:$DISK/trace.json"
	job_go
	job_line "steps 300"
	until_true have 300 "$T/json"
	until_true grep -q "lines: No space left on device; up to 4 MB are kept" "$T/watch.err"
	jq -es 'length > 10' "$DISK/lines" >/dev/null # whole ones
	mount -o remount,size=4m "$DISK"
	until_true grep -q "lines: writing resumed" "$T/watch.err"
	job_go
	job_line "steps 23"
	job_go
	job_end
	watch_end
	cmp "$T/json" "$DISK/lines"
	run -0 "$TOP/tests/tools/csv_lines.py" "$DISK/tables" "$T/json"
	run -0 "$TOP/tests/tools/trace.py" "$DISK/trace.json" "$T/json"
	[[ $output == *" 0 faults" ]]
}

@test "killed and killed again while a disk is full: whoever finds room writes what was told, and all of it" {
	mkdir "$T/small"
	mount -t tmpfs -o size=64k none "$T/small" || cannot "no tmpfs can be mounted"
	DISK=$T/small
	start_job "$TRAIN" load pause wait pace=2000 steps=300 pause steps=23 pause steps=23 pause
	go_on --pid "$JOB"
	job_go
	job_line "steps 300"
	until_true have 300 "$T/out"
	until_true grep -q "lines: No space left on device; up to 4 MB are kept" "$T/1.err"
	kill_watch
	# What it saves when it begins counts all of that as told.
	go_on
	job_go
	job_line "steps 23"
	kill_watch
	mount -o remount,size=4m "$DISK"
	go_on
	job_go
	job_line "steps 23"
	job_go
	job_end
	watch_end
	goes_on "$T/out"
	cmp "$T/out" "$DISK/lines"
	run -0 "$TOP/tests/tools/csv_lines.py" "$DISK/tables" "$T/out"
	run -0 "$TOP/tests/tools/trace.py" "$DISK/trace.json" "$T/out"
	[[ $output == *" 0 faults" ]]
}
go_on() {
	start_durable --job jobname --export "json:$DISK/lines" --export "csv:$DISK/tables" --export "trace:$DISK/trace.json" "$@"
}
