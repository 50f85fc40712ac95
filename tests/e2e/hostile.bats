#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Processes that make it hard, each beside an honest trainer: the trainer is counted exactly, gp-bpf answers and
# ends when told to, nothing hostile is shown as it is, and what could not be done is told.

# shellcheck disable=SC2030,SC2031,SC2153,SC2154 # tests are subshells; lib.bash sets STATUS; bats sets status
load lib
load stuck

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() {
	exec 5<&- 6>&- 4>&-
	e2e_teardown
	unmount_stuck
}

# HOSTILE: a process of tests/fake/hostile.c that waits for hostile_go.
start_hostile() { # what ...
	mkfifo "$T/hostile.in" "$T/hostile.out"
	background "$T/hostile.in" "$T/hostile.out" "$T/hostile.err" "$FAKE/hostile" "$@"
	HOSTILE=$LAST
	exec 6>"$T/hostile.in" 5<"$T/hostile.out"
	hostile_line ready
}
hostile_line() { # word
	while read -r -t "$READY_S" -u 5 LINE; do
		[ "$LINE" = "$1" ] && return 0
	done
	echo "the hostile one did not say '$1': $(cat "$T/hostile.err")" >&2
	return 1
}
hostile_go() { echo go >&6; }

# An honest trainer that takes 101 steps when told, and 23 more.
start_honest() {
	start_job "$TRAIN" load say=held pause wait steps=101 say=half pause steps=23 say=over pause
	job_line held
}
# Its first steps, while the other is at work.
honest_half() {
	job_go
	job_line half
}
# The rest; gp-bpf ends when it is told, and everything adds up.
honest_exact() { # file
	job_go
	job_line over
	until_true has_steps 124 "$1"
	kill -TERM "$WATCH"
	watch_end
	sound "$1"
	equal 124 "$(count_lines step "$1" ".pid == $JOB")" "steps of the honest trainer"
	equal 0 "$(count_lines loss "$1" '.source == "ring_call"')" "losses of calls"
	job_end
}
has_steps() { [ "$(count_lines step "$2")" -ge "$1" ]; }

# No byte of a text drives a terminal or breaks a line.
harmless() { # files
	! LC_ALL=C grep -lP '[\x00-\x08\x0b-\x1f\x7f]' "$@" && iconv -f UTF-8 -t UTF-8 "$@" >/dev/null
}

descriptors() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
resident_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

@test "a file system that never answers: opens, reads, sizes" {
	local what
	for what in read open stat; do
		mount_stuck "$T/$what" libtorch_cpu.so "$what"
	done
	start_mapper "$T"/{read,open,stat}/libtorch_cpu.so
	start_honest
	start_watch --pid "$MAPPER" --pid "$JOB" --quiet --export "json:$T/out"
	honest_half
	until_true has_steps 101 "$T/out"
	equal 3 "$(grep -c 'libtorch_cpu.so: cannot be probed: does not answer reads' "$T/watch.err")" "lines about it"
	honest_exact "$T/out" # the file systems hang all the while
}

@test "a file system that never answers, under what is opened at the start" {
	local dead=$T/open/libtorch_cpu.so number=0 what pids=() i
	mount_stuck "$T/open" libtorch_cpu.so open
	: <"$dead" # the first open is answered
	for what in "run --export json:$dead" "run --export trace:$dead" "run --html $dead" "run --store $dead" "record --output $dead"; do
		# shellcheck disable=SC2086 # words
		background /dev/null "$T/dead.out" "$T/dead.$((++number))" timeout -s KILL 60 "$GP_BPF" $what --quiet -- touch "$T/started"
		pids+=("$LAST")
	done
	for ((i = 0; i < ${#pids[@]}; i++)); do
		wait_exit "${pids[i]}" 60
		cat "$T/dead.$((i + 1))"
		equal 1 "$STATUS" "status of $i"
		grep -q "$dead: its disk.*does not answer" "$T/dead.$((i + 1))"
	done
	[ ! -e "$T/started" ]
}

locked() { # pid
	! timeout -s KILL 1 cat "/proc/$1/cmdline" >/dev/null 2>&1
}

@test "a process that keeps its own address space locked" {
	mount_stuck "$T/lock" libtorch_cpu.so lock
	start_hostile lock 1000000000 "$T/lock/libtorch_cpu.so"
	start_honest
	hostile_go
	until_true locked "$HOSTILE"
	start_watch --pid "$HOSTILE" --pid "$JOB" --quiet --export "json:$T/out"
	honest_half
	until_true has_steps 101 "$T/out"
	run -1 timeout -s KILL "$READY_S" "$GP_BPF" check --pid "$HOSTILE"
	[[ $output == *"its address space is locked"* ]]
	equal 1 "$(grep -c "process $HOSTILE: its libraries cannot be found yet: its address space is locked" "$T/watch.err")" "lines about it"
	honest_exact "$T/out" # it is locked all the while
	locked "$HOSTILE"
}

@test "a file system in user space is one like others" {
	mount_stuck "$T/cached" libtorch_cpu.so cached "$FAKE/libtorch_cpu.so"
	mkdir "$T/both"
	ln -s "$T/cached/libtorch_cpu.so" "$FAKE/libtorch_python.so" "$T/both"
	start_job "$TRAIN" load="$T/both" say=held pause wait steps=101 say=half pause steps=23 say=over pause
	job_line held
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	honest_half
	honest_exact "$T/out"
}

# There the kernel would read the page while no process can fork.
@test "a file system that keeps nothing in memory gets no probes" {
	mount_stuck "$T/direct" libtorch_cpu.so direct "$FAKE/libtorch_cpu.so"
	start_mapper "$T/direct/libtorch_cpu.so"
	start_honest
	start_watch --pid "$MAPPER" --pid "$JOB" --quiet --export "json:$T/out"
	grep -q "on the whole machine: 7 probes" "$T/watch.err"
	honest_half
	honest_exact "$T/out"
}

@test "libraries that lie about themselves, are sparse, are cut short" {
	mkdir "$T/lies" "$T/cut"
	python3 "$TOP/tests/fake/bad_elf.py" "$FAKE/libtorch_cpu.so" "$T/lies"
	cp "$FAKE/libtorch_cpu.so" "$T/cut/"
	rm -r "$T/lies/empty" # cannot be mapped
	start_mapper "$T"/lies/*/libtorch_cpu.so "$T/cut/libtorch_cpu.so"
	truncate -s 100 "$T/cut/libtorch_cpu.so"
	start_honest
	start_watch --pid "$MAPPER" --pid "$JOB" --quiet --export "json:$T/out"
	honest_half
	honest_exact "$T/out"
	equal 4 "$(grep -c "cannot be probed" "$T/watch.err")" "lines about it"
	# However far apart their names are, three million functions are read, a piece of the file at a time.
	equal 0 "$(grep -c "takes more reads than" "$T/watch.err")" "lines about scattered names"
}

@test "a process that maps seventy libraries" {
	local i
	for i in {1..70}; do
		mkdir "$T/$i"
		cp "$FAKE/libtorch_cpu.so" "$T/$i/"
	done
	start_mapper "$T"/*/libtorch_cpu.so
	ulimit -Sn 128
	start_honest
	start_watch --pid "$MAPPER" --pid "$JOB" --quiet --export "json:$T/out"
	grep -q "maps too many libraries" "$T/watch.err"
	honest_half
	honest_exact "$T/out"
	equal 0 "$(grep -c "cannot be probed" "$T/watch.err")" "libraries that cannot be probed"
}

@test "a device under a library's name" {
	mknod "$T/libtorch_cpu.so" c 1 5 || cannot "no devices here"
	start_mapper "$T/libtorch_cpu.so" || cannot "devices cannot be mapped here: $(cat "$T/mapper.err")"
	start_honest
	start_watch --pid "$MAPPER" --pid "$JOB" --quiet --export "json:$T/out"
	honest_half
	honest_exact "$T/out"
}

# Without map_files the path counts, and the path is the job's to change.
@test "a path that names another file by now" {
	local without=(setpriv '--bounding-set=-sys_admin,-checkpoint_restore' --inh-caps=-all) kind
	"${without[@]}" "$GP_BPF" check >/dev/null 2>&1 || cannot "gp-bpf cannot work here without CAP_SYS_ADMIN"
	for kind in link fifo device other; do
		mkdir "$T/$kind"
		cp "$FAKE/libtorch_cpu.so" "$T/$kind/"
	done
	start_mapper "$T"/{link,fifo,device,other}/libtorch_cpu.so
	rm "$T/link/libtorch_cpu.so"
	ln -s "$FAKE/libtorch_cpu.so" "$T/link/libtorch_cpu.so"
	mkfifo "$T/fifo/it"
	mknod "$T/device/it" c 1 5 || cp "$FAKE/libtorch_cpu.so" "$T/device/it"
	cp "$FAKE/libtorch_cpu.so" "$T/other/it"
	for kind in fifo device other; do
		mount --bind "$T/$kind/it" "$T/$kind/libtorch_cpu.so"
		STUCK+=("$T/$kind/libtorch_cpu.so")
	done
	start_honest
	local real=$GP_BPF
	printf '#!/bin/sh\nexec %s %s "$@"\n' "${without[*]}" "$real" >"$T/gp-bpf"
	chmod +x "$T/gp-bpf"
	GP_BPF=$T/gp-bpf
	# setpriv sees to it that the program beside its probe files is run
	start_watch --pid "$MAPPER" --pid "$JOB" --log-level info --export "json:$T/out"
	grep -q "opening mapped files by path" "$T/watch.err" || { cat "$T/watch.err" >&2; return 1; }
	honest_half
	honest_exact "$T/out"
	cat "$T/watch.err" >&2
	[ "$(grep -c "cannot be probed: Invalid argument" "$T/watch.err")" -ge 1 ]
	grep -q "too often gone or replaced" "$T/watch.err"
	equal 1 "$(grep -c "cannot be probed: the file was deleted" "$T/watch.err")" "lines about the one that was deleted"
}

@test "names that drive a terminal, break a line, are no UTF-8" {
	local evil=$'\e[2J\e]0;x\a\n"\\\xff\xc2\x9b31m' dir name
	mkdir "$T/evil"
	dir=$T/evil
	name=$dir/$'\e[2J\a"\\\xff'
	cp "$FAKE/train" "$name"
	cp "$FAKE/libtorch_cpu.so" "$dir/libtorch_cpu.so"
	cp "$FAKE/libtorch_python.so" "$dir/libtorch_python.so"
	cp "$FAKE/libtorch_cpu.so" "$dir/libtorch_cpu.so.$evil"
	start_mapper "$dir/libtorch_cpu.so.$evil"
	start_job env TORCHELASTIC_RUN_ID="$evil" RANK="$evil" "$name" load say=held pause wait \
		range="$evil" steps=23 "save=/srv/$evil.pt" steps=7 range="$evil" say=over pause "say=$evil"
	job_line held
	start_watch --pid "$JOB" --pid "$MAPPER" --log-level debug --export "json:$T/out" --listen "unix:$T/http"
	job_go
	job_line over
	until_true has_steps 30 "$T/out"
	curl -s --unix-socket "$T/http" http://x/metrics >"$T/metrics"
	grep -q '^gpbpf_' "$T/metrics"
	kill -TERM "$WATCH"
	watch_end
	exec 7>&-
	wait_exit "$JOB"
	sound "$T/out"
	equal 30 "$(count_lines step "$T/out")" steps
	harmless "$T/out" "$T/metrics" "$T/watch.out" "$T/watch.err"
	equal "$(jq -s length "$T/out")" "$(wc -l <"$T/out")" "lines of JSON"
	[ ! -x "$(command -v promtool)" ] || promtool check metrics <"$T/metrics"
}

@test "an environment of a megabyte" {
	local big=() i
	for i in {1..8}; do
		big+=("BIG$i=$(head -c 125000 /dev/zero | tr '\0' x)")
	done
	start_job env -i RANK=3 WORLD_SIZE=8 "${big[@]}" RANK2=7 "$TRAIN" load say=held pause wait steps=23
	job_line held
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	job_go
	job_end
	watch_end
	steps_are 23 "$T/out"
	equal 3 "$(of_type step "$T/out" .rank | sort -u)" rank
}

@test "arguments and environment that change while they are read" {
	start_hostile rewrite 3000000
	hostile_go
	start_honest
	for _ in {1..5}; do
		"$GP_BPF" --pid "$HOSTILE" --for 100ms --export "json:$T/each" >"$T/each.out" 2>"$T/each.err"
		harmless "$T/each" "$T/each.out" "$T/each.err"
		equal "$(jq -s length "$T/each")" "$(wc -l <"$T/each")" "lines of JSON"
	done
	start_watch --pid "$HOSTILE" --pid "$JOB" --quiet --export "json:$T/out"
	honest_half
	honest_exact "$T/out"
}

@test "10000 children that map a library and end" {
	local before programs
	start_hostile bomb 10000 "$FAKE/libtorch_cpu.so"
	start_honest
	start_watch --pid "$HOSTILE" --pid "$JOB" --quiet --export "json:$T/out"
	same_for_a_while() { before=$(descriptors "$WATCH"); sleep 0.5; [ "$before" = "$(descriptors "$WATCH")" ]; }
	# Two more than before: helper processes that start with the first training. An examination of the training that the children slow
	# down loads its programs once, and keeps them: 4 programs, 7 maps and their types. Its links are gone after it.
	loaded() { find "/proc/$1/fd" -mindepth 1 -lname 'anon_inode:*b[pt]f*' ! -lname '*bpf_link*' | wc -l; }
	no_more() {
		[ $(($(descriptors "$WATCH") - $(loaded "$WATCH"))) -le $((before - programs + 2)) ] && [ "$(loaded "$WATCH")" -le $((programs + 12)) ]
	}
	until_true same_for_a_while # what the start needed is closed, or on a busy machine nearly all of it
	programs=$(loaded "$WATCH")
	hostile_go
	honest_half
	hostile_line 'done'
	until_true has_steps 101 "$T/out"
	until_true no_more || { echo "descriptors of gp-bpf: $before before, $(descriptors "$WATCH") after" >&2; return 1; }
	[ "$(resident_kb "$WATCH")" -lt 131072 ] || { echo "resident: $(resident_kb "$WATCH") KiB" >&2; return 1; }
	honest_exact "$T/out"
}

@test "children that are not waited for" {
	start_hostile orphans 2000
	start_honest
	start_watch --pid "$HOSTILE" --pid "$JOB" --quiet --export "json:$T/out"
	hostile_go
	honest_half
	hostile_line 'done'
	honest_exact "$T/out"
}

@test "a signal that is handled, as fast as possible" {
	start_hostile signals 300000
	start_honest
	start_watch --pid "$HOSTILE" --pid "$JOB" --quiet --export "json:$T/out"
	hostile_go
	honest_half
	hostile_line 'done'
	honest_exact "$T/out"
	equal 0 "$(count_lines loss "$T/out" '.source == "ring_life"')" "losses of process life"
	[ "$(count_lines loss "$T/out" '.source == "rate_limited"')" -gt 0 ]
}

@test "files mapped executable as fast as possible" {
	cp "$FAKE/libtorch_cpu.so" "$T/libtorch_cpu.so"
	start_hostile maps 300000 "$T/libtorch_cpu.so"
	start_honest
	start_watch --pid "$HOSTILE" --pid "$JOB" --quiet --export "json:$T/out"
	hostile_go
	honest_half
	hostile_line 'done'
	honest_exact "$T/out"
	equal 0 "$(count_lines loss "$T/out" '.source == "ring_life"')" "losses of process life"
}

@test "a mapping that is swapped while it is looked at" {
	mkdir "$T/a" "$T/b"
	cp "$FAKE/libtorch_cpu.so" "$T/a/libtorch_cpu.so"
	cp "$FAKE/libtorch_cpu.so" "$T/b/libtorch_cpu.so"
	start_hostile swap 1000000 "$T/a/libtorch_cpu.so" "$T/b/libtorch_cpu.so"
	start_honest
	hostile_go
	start_watch --pid "$HOSTILE" --pid "$JOB" --quiet --export "json:$T/out"
	honest_half
	hostile_line 'done'
	honest_exact "$T/out"
}
