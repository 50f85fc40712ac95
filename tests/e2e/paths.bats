#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Paths that others can change: symbolic links that another user made, FIFOs that no process reads or writes, disks that do not
# answer.

# shellcheck disable=SC2030,SC2031,SC2034,SC2153,SC2154 # tests are subshells; durable.bash reads; bats sets stderr
load lib
load durable

one_line() { # text; standard error is one line of it
	equal 1 "$(wc -l <<<"$stderr")" "$stderr"
	[[ $stderr == *"$1"* ]] || { echo "not said: $1; but: $stderr" >&2; return 1; }
}
# Not longer than it takes a user to notice: what blocks is killed by timeout with status 137.
soon() { timeout -s KILL 15 "$@"; }
have() { [ "$(count_lines step "$T/out")" -ge "$1" ]; }

@test "links that another user made are not followed, by any output" {
	local d what
	d=$(mktemp -d /tmp/gp-bpf-paths.XXXXXX)
	chmod 755 "$d"
	install -d -o nobody "$d/theirs" "$d/theirs/tables"
	install -d "$d/ours"
	echo precious >"$d/victim"
	ln -s "$d/victim" "$d/theirs/file"
	ln -s "$d/victim" "$d/theirs/tables/steps.csv"
	ln -s "$d/ours" "$d/theirs/folder"
	chown -h nobody "$d"/theirs/file "$d"/theirs/tables/steps.csv "$d"/theirs/folder
	for what in "--export json:$d/theirs/file" "--export json:$d/theirs/folder/x" "--export trace:$d/theirs/file" \
		"--export csv:$d/theirs/tables" "--export csv:$d/theirs/folder/new" "--html $d/theirs/file" \
		"--export tensorboard:$d/theirs/folder/board" "--listen unix:$d/theirs/folder/socket" \
		"--store $d/theirs/folder/store.db" "--output $d/theirs/file"; do
		# shellcheck disable=SC2086 # an option and its value
		run --separate-stderr soon "$GP_BPF" run --quiet --store none $what -- touch "$d/started"
		[ "$status" -ne 0 ] || { echo "$what was done" >&2; return 1; }
		one_line "symbolic link"
	done
	run -1 --separate-stderr soon "$GP_BPF" record --quiet -o "$d/theirs/file" -- touch "$d/started"
	one_line "symbolic link"
	run -1 --separate-stderr soon "$GP_BPF" --pid $$ --quiet --durable --state-dir "$d/theirs/folder"
	one_line "symbolic link"
	equal precious "$(cat "$d/victim")"
	equal '' "$(ls "$d/ours")"
	[ ! -e "$d/started" ]
	# A link of our own, and their folder itself, are fine.
	ln -s "$d/ours" "$d/short"
	"$GP_BPF" run --quiet --store none --export "json:$d/short/lines" --export "trace:$d/theirs/trace" -- true
	[ -s "$d/ours/lines" ]
	[ -s "$d/theirs/trace" ]
	rm -r "$d"
}

@test "a FIFO that no process reads keeps nobody waiting" {
	local what
	mkfifo "$T/fifo"
	for what in "-o $T/fifo" "--store $T/fifo" "--listen unix:$T/fifo" "--export csv:$T/fifo" "--export tensorboard:$T/fifo"; do
		# shellcheck disable=SC2086 # an option and its value
		run --separate-stderr soon "$GP_BPF" run --quiet --store none $what -- true
		[ "$status" -ne 0 ] && [ "$status" -ne 137 ] || { echo "$what: status $status" >&2; return 1; }
		one_line "$T/fifo"
	done
	run -1 --separate-stderr soon "$GP_BPF" record --quiet -o "$T/fifo" -- true
	one_line "no process reads from it"
	run -0 --separate-stderr soon "$GP_BPF" run --quiet --store none --html "$T/fifo" -- "$TRAIN" load wait pace=500 steps=50
	one_line "no process reads from it"
	run -0 --separate-stderr soon "$GP_BPF" run --quiet --store none --export "json:$T/fifo" -- true
	[[ $stderr == *"no process reads this FIFO yet"*"lines were not written: no process reads from it"* ]]
}

@test "--durable: an export whose file became a FIFO that no process reads; its reader, when it comes, has all lines" {
	start_job "$TRAIN" load pause steps=50 pause steps=50 pause
	start_durable --pid "$JOB" --job jobname
	job_go
	job_line "steps 50"
	until_true have 50
	kill_watch
	mv "$T/out" "$T/before"
	mkfifo "$T/out"
	start_durable
	said "no process reads this FIFO yet"
	job_go
	job_line "steps 50"
	cat "$T/out" >"$T/after" &
	STARTED+=($!)
	until_true test -s "$T/after"
	kill -TERM "$WATCH"
	wait_exit "$WATCH" 20
	equal 0 "$STATUS" "$(cat "$T/2.err")"
	equal 1 "$(jq -s '[.[] | select(.type == "end")] | length' "$T/after")" end
	job_go
	job_end
}

@test "standard error and a descriptor for readiness that nothing reads: watched and ended all the same" {
	start_job "$TRAIN" load say=held pause wait pace=2000 steps=50 pause
	job_line held
	mkfifo "$T/full"
	exec 6<>"$T/full"
	python3 -c 'import fcntl, os
fcntl.fcntl(6, fcntl.F_SETFL, os.O_NONBLOCK)
try:
    while True: os.write(6, b"x" * 4096)
except BlockingIOError: pass
fcntl.fcntl(6, fcntl.F_SETFL, 0)'
	"$GP_BPF" --pid "$JOB" --store none --export "json:$T/out" --ready-fd 9 </dev/null >/dev/null 2>"$T/full" 9>"$T/full" 3>&- 4>&- &
	WATCH=$!
	STARTED+=("$WATCH")
	job_go
	until_true have 50
	kill -TERM "$WATCH"
	head -c 1000000 <&6 >/dev/null & # the report
	STARTED+=($!)
	wait_exit "$WATCH" 20
	exec 6>&-
	job_go
	job_end
}

@test "a FIFO that no process writes to, in place of what is read" {
	mkfifo "$T/fifo"
	run -2 --separate-stderr soon "$GP_BPF" run --store none --config "$T/fifo" -- true
	one_line "no process writes to this pipe"
	run -0 --separate-stderr soon "$GP_BPF" run --quiet --store none --config <(printf 'version: 1\n') -- true
	mkdir "$T/probes"
	mkfifo "$T/probes/a.yaml"
	run -2 --separate-stderr soon "$GP_BPF" probes --probes "$T/probes"
	one_line "a.yaml"
	run -1 --separate-stderr soon "$GP_BPF" jobs --store "$T/fifo"
	one_line "$T/fifo"
	run -1 --separate-stderr soon "$GP_BPF" check --library "$T/fifo"
	run -2 --separate-stderr soon "$GP_BPF" run --store none --listen 127.0.0.1:0 --web-config "$T/fifo" -- true
	one_line "not a regular file"
	run -2 --separate-stderr soon "$GP_BPF" run --store none --on "hang=@$T/fifo" -- true
	one_line "$T/fifo"
	# What is read as it comes waits for its writer, says so, and ends when it is told to.
	local command pid
	for command in account replay; do
		background /dev/null "$T/$command.out" "$T/$command.err" "$GP_BPF" "$command" "$T/fifo"
		pid=$LAST
		until_true grep -q "$T/fifo: waiting for a process that writes to this FIFO" "$T/$command.err"
		kill -TERM "$pid"
		wait_exit "$pid" 10
	done
}

@test "JSON lines of a bounded size: the newest are there, each once; what was removed is told and counted" {
	local first last
	"$GP_BPF" run --quiet --store none --export "json:$T/lines,size=1M,keep=1" -- "$TRAIN" load wait pace=50 steps=10000 2>"$T/err"
	[ ! -e "$T/lines.2" ]
	[ "$(stat -c %s "$T/lines")" -le 1048576 ]
	[ "$(stat -c %s "$T/lines.1")" -le 1048576 ]
	read -r first last < <(cat "$T/lines.1" "$T/lines" | jq -rs '"\(.[0].seq) \(.[-1].seq)"')
	equal "$((last - first + 1))" "$(cat "$T/lines.1" "$T/lines" | jq -s 'unique_by(.seq) | length')" "$first to $last"
	grep -q "$T/lines: the file has reached its size limit; with 1 older file kept" "$T/err"
	grep -q "$T/lines: $((first - 1)) lines were removed with the oldest files" "$T/err"
}

@test "a store that another process locks: the end does not wait for it, and says what is lost" {
	local from
	"$GP_BPF" run --quiet --store "$T/store.db" -- true
	background /dev/null "$T/locker.out" "$T/locker.err" python3 -c '
import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(600)' "$T/store.db"
	until_true grep -q locked "$T/locker.out"
	from=$(date +%s%3N)
	run -0 --separate-stderr "$GP_BPF" run --quiet --store "$T/store.db" -- "$TRAIN" load wait pace=500 steps=50
	echo "# $(($(date +%s%3N) - from)) ms" >&3
	[ $(($(date +%s%3N) - from)) -lt 6000 ]
	[[ $stderr == *"$T/store.db: cannot write: locked by another process (fuser -v FILE shows which); unwritten data is lost"* ]]
}

@test "a store whose version is gone: one line says which file, what it is, what to do" {
	local words
	"$GP_BPF" run --quiet --store "$T/store.db" -- true
	python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("PRAGMA user_version = 0")' "$T/store.db"
	for words in "run --quiet --store $T/store.db -- true" "jobs --store $T/store.db" "report --store $T/store.db"; do
		# shellcheck disable=SC2086 # words
		run -1 --separate-stderr "$GP_BPF" $words
		one_line "store $T/store.db: its tables do not match its version"
	done
}
