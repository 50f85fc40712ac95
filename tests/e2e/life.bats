#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Processes as they come and go, and gp-bpf beside them.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

# bats test_tags=kernels
@test "run: a process watched from its start" {
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/out" -- "$TRAIN" load wait rest=600 steps=23
	equal "steps 23" "$output"
	steps_are 23 "$T/out"
	equal '"process_start"' "$(of_type rank "$T/out" .numbering | sort -u)"
	equal '["A","update_exit"]' "$(of_type step "$T/out" '[.tier, .boundary]' | sort -u)"
	equal 0 "$(count_lines loss "$T/out")" losses
}

# It might have taken others before.
@test "run: steps at once when the probes come" {
	run -0 --separate-stderr "$GP_BPF" run --export "json:$T/out" -- "$TRAIN" load wait steps=23
	equal "steps 23" "$output"
	# shellcheck disable=SC2154 # bats sets it
	[[ "$stderr" == *"count from the first step seen (earlier ones may be missing)"* ]]
	steps_are 23 "$T/out"
	run -0 jq -n '[inputs | select(.type == "rank")] | last | .numbering, .reason' "$T/out"
	equal '"since_attach"
"probes were attached late: steps may be missing"' "$output"
}

@test "libraries mapped long after the start" {
	start_job "$TRAIN" say=up pause load wait steps=23
	job_line up
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	job_go
	job_end
	watch_end
	steps_are 23 "$T/out"
}

# bats test_tags=kernels,lockdown
@test "attached late: numbers count since then, what was before is unobserved" {
	start_job "$TRAIN" load steps=29 say=held pause sites steps=23
	job_line held
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	job_go
	job_line sites
	equal "sites 5" "$LINE"
	job_end
	watch_end
	steps_are 23 "$T/out"
	equal '"since_attach"' "$(of_type rank "$T/out" .numbering | tail -1)"
	run -0 jq -n '[inputs | select(.type == "ledger")] | last | .buckets.UNOBSERVED > 0' "$T/out"
	equal true "$output" "some time is unobserved"
}

@test "attached in the middle of a step: the rest is exact all the same" {
	start_job "$TRAIN" load say=held pause half steps=23
	job_line held
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	job_go
	job_end
	watch_end
	steps_are 24 "$T/out"
	equal '["A","update_exit"]' "$(of_type step "$T/out" '[.tier, .boundary]' | sort -u)"
}

@test "a first step unlike the others does not put off the lock" {
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/out" -- "$TRAIN" load wait half steps=22
	steps_are 23 "$T/out"
	[ "$(count_lines rank "$T/out" '.state == "locked" and .updates <= 6')" -gt 0 ]
}

@test "attached in the middle of fast steps, again and again" {
	local i
	start_job "$TRAIN" load say=up steps=1000000
	job_line up
	for i in $(seq 10); do
		WATCH_NAME=watch.$i start_watch --pid "$JOB" --quiet --for 300ms --export "json:$T/out.$i"
		watch_end
		sound "$T/out.$i"
		[ "$(count_lines step "$T/out.$i")" -gt 10 ]
	done
}

@test "fork and exec: the last of a chain trains" {
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/out" -- \
		"$TRAIN" fork exec fork say=deep exec exec fork load wait steps=23
	steps_are 23 "$T/out"
	equal 1 "$(of_type step "$T/out" .pid | sort -u | wc -l)" "processes that train"
}

# bats test_tags=kernels,lockdown
@test "fork and exec: every generation trains" {
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/out" -- \
		"$TRAIN" load wait steps=7 fork steps=11 exec load wait steps=13
	sound "$T/out"
	equal 31 "$(count_lines step "$T/out")" steps
	equal 2 "$(of_type step "$T/out" .pid | sort -u | wc -l)" processes
}

@test "200 children that live for 23 steps each" {
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/out" -- "$TRAIN" load wait children=200 steps=23
	sound "$T/out"
	run -0 jq -n -c '[inputs | select(.type == "step")] | group_by(.pid) | [length, (map(length) | unique)]' "$T/out"
	equal '[200,[23]]' "$output" "processes, steps of each"
	equal 0 "$(count_lines loss "$T/out")" losses
}

# They end within some 20 ms of their start, before any is scanned.
@test "processes too short to be scanned: the probes of their library stay for the next one" {
	start_job bash -c 'read -r; "$0" load wait steps=23; for i in 1 2 3 4; do sleep 2.2; "$0" load sites steps=23; done' \
		"$TRAIN"
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	job_go
	for _ in 1 2 3 4; do
		job_line sites
		equal "sites 5" "$LINE"
	done
	job_end
	watch_end
	sound "$T/out"
	equal "23 23 23 23 23" "$(jq -n -r '[inputs | select(.type == "step")] | group_by(.pid) | map(length) | join(" ")' "$T/out")"
	equal 0 "$(count_lines loss "$T/out" '.source != "unpaired"')" losses
}

@test "a process id used twice is two processes" {
	local next=/proc/sys/kernel/ns_last_pid first second
	[ -w "$next" ] || cannot "this kernel has no $next"
	# The number is free again once its process was waited for; another process may take it: try again.
	# One that lives longer keeps the libraries in use.
	cat >"$T/reuse.sh" <<-'EOF'
		exec 5> >("$TRAIN" load pause)
		"$TRAIN" load wait steps=7 &
		first=$!
		wait $first
		for _ in $(seq 20); do
			echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
			sh -c 'echo $$; if [ $$ = '"$first"' ]; then exec "$TRAIN" load wait steps=11; fi' >last
			read -r second <last
			[ "$first" = "$second" ] && break
		done
		echo "$first $second"
	EOF
	cd "$T"
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/out" -- bash "$T/reuse.sh"
	read -r first second <<<"${lines[-1]}"
	[ "$first" = "$second" ] || skip "the number $first was taken by others each time"
	sound_reused "$T/out" "$first"
}

# Two processes of one number: 7 steps, then 11, counted from 1 each time.
sound_reused() {
	run -0 jq -n -c --argjson pid "$2" '[inputs | select(.type == "step" and .pid == $pid) | .step]' "$1"
	equal "[$(echo {1..7} {1..11} | tr ' ' ,)]" "$output" "numbers"
}

# bats test_tags=kernels,lockdown
@test "a job killed by SIGKILL: who did it, and its status" {
	start_job "$GP_BPF" run --quiet --export "json:$T/out" -- "$TRAIN" load wait steps=23 pid pause steps=1000
	job_line pid
	kill -KILL "${LINE#pid }"
	job_end 137
	sound "$T/out"
	equal 23 "$(count_lines step "$T/out")" steps
	run -0 jq -c 'select(.type == "disruption") | [.cause, .signal, .sender, .sender_comm]' "$T/out"
	equal "[\"killed\",9,$BASHPID,\"$(cat "/proc/$BASHPID/comm")\"]" "$output" disruption
}

# bats test_tags=kernels
@test "a job that crashes, and one that fails" {
	run -134 "$GP_BPF" run --quiet --export "json:$T/crash" -- "$TRAIN" load wait steps=23 kill=6
	run -0 jq -c 'select(.type == "disruption") | [.cause, .signal, .exit_code, .step]' "$T/crash"
	equal '["crashed",6,null,23]' "$output"
	run -7 "$GP_BPF" run --quiet --export "json:$T/fail" -- "$TRAIN" load wait steps=23 exit=7
	run -0 jq -c 'select(.type == "disruption") | [.cause, .signal, .exit_code, .step]' "$T/fail"
	equal '["exit",null,7,23]' "$output"
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/well" -- "$TRAIN" load wait steps=23 exit=0
	equal 0 "$(count_lines disruption "$T/well")" disruptions
}

# bats test_tags=kernels
@test "gp-bpf killed by SIGKILL: the job goes on, nothing stays on its code" {
	local before pins
	before=$(ownerless_links)
	pins=$(pinned)
	start_job "$TRAIN" load say=held pause sites steps=23 say=again pause sites steps=23
	job_line held
	start_watch --pid "$JOB" --quiet
	job_go
	job_line sites
	equal "sites 5" "$LINE"
	job_line again
	kill -KILL "$WATCH"
	wait_exit "$WATCH"
	job_go
	job_line sites
	equal "sites 0" "$LINE"
	job_end
	until_true no_new_links "$before"
	equal "$pins" "$(pinned)" "pins, before and after"
}
# Another watch, or another test's, may have its own there.
pinned() { (cd /sys/fs/bpf 2>/dev/null && find . | sort); }

# Links that no process holds would be pinned ones.
ownerless_links() {
	"$(command -v bpftool || echo /usr/sbin/bpftool)" -j link list | jq -c '[.[] | select(has("pids") | not) | .id]'
}
# Others may be about to make or to drop theirs; a pinned one would stay.
no_new_links() { # ids before
	jq -n -e --argjson before "$1" --argjson now "$(ownerless_links)" '$now - $before == []'
}

@test "two gp-bpf on one job count the same" {
	start_job "$TRAIN" load say=held pause steps=101
	job_line held
	WATCH_NAME=one start_watch --pid "$JOB" --quiet --export "json:$T/one.json"
	local one=$WATCH
	WATCH_NAME=two start_watch --pid "$JOB" --quiet --export "json:$T/two.json"
	job_go
	job_end
	watch_end
	WATCH=$one
	watch_end
	steps_are 101 "$T/one.json"
	steps_are 101 "$T/two.json"
}

@test "several processes by one --pid each, descendants included" {
	start_job "$TRAIN" load say=held pause steps=23
	job_line held
	local first=$JOB
	mkfifo "$T/two.in" "$T/two.out"
	background "$T/two.in" "$T/two.out" "$T/two.err" bash -c '"$@"; exit $?' bash "$TRAIN" load say=held pause steps=29
	local second=$LAST
	exec 6>"$T/two.in" 5<"$T/two.out"
	read -r -t "$READY_S" -u 5 LINE
	start_watch --pid "$first" --pid "$second" --quiet --export "json:$T/out"
	job_go
	exec 6>&-
	job_end
	wait_exit "$second"
	exec 5<&-
	watch_end
	sound "$T/out"
	run -0 jq -n -c '[inputs | select(.type == "step")] | group_by(.pid) | map(length) | sort' "$T/out"
	equal '[23,29]' "$output" "steps of each"
}

@test "stopped watching, the job goes on" {
	start_job "$TRAIN" load say=held pause steps=23 say=again pause sites steps=23
	job_line held
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	job_go
	job_line again
	kill -TERM "$WATCH"
	watch_end
	job_go
	job_line sites
	equal "sites 0" "$LINE"
	job_end
	sound "$T/out"
	equal 23 "$(count_lines step "$T/out")" steps
	equal '"user"' "$(of_type end "$T/out" .reason)"
}

@test "--for ends the watch" {
	start_job "$TRAIN" load say=held pause
	job_line held
	start_watch --pid "$JOB" --quiet --for 200ms --export "json:$T/out"
	watch_end
	equal '"time"' "$(of_type end "$T/out" .reason)"
	job_go
	job_end
}

@test "a process that trains nothing has no steps" {
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/out" -- "$TRAIN" load save=/x
	steps_are 0 "$T/out"
}

@test "a checkpoint between steps" {
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/out" -- \
		"$TRAIN" load wait steps=23 save=/srv/model.pt steps=7
	sound "$T/out"
	equal 30 "$(count_lines step "$T/out")" steps
	equal '["save",23,"/srv/model.pt"]' "$(of_type checkpoint "$T/out" '[.op, .step, .file]')"
}

# Without a kernel feature, the same steps.
without() { # features
	local feature args=()
	for feature; do
		args+=(--feature "$feature=off")
	done
	run -0 --separate-stderr "$GP_BPF" run --quiet "${args[@]}" --export "json:$T/out" -- "$TRAIN" load wait steps=23
	steps_are 23 "$T/out"
	[[ " $* " == *" tp_btf "* ]] && return 0
	run -0 --separate-stderr "$GP_BPF" run --quiet "${args[@]}" --export "json:$T/out" -- "$TRAIN" fork exec load wait steps=29
	steps_are 29 "$T/out"
}

@test "without multi links" { without multi; }
@test "without the iterator over mappings" { without task_vma; }
@test "without the tracepoint of mmap" { without syscall_tp; }
@test "without process life" { without tp_btf; }
@test "without kernel types" { without btf tp_btf; }
@test "without multi links, mappings and mmap" { without multi task_vma syscall_tp; }

@test "real torch, attached late" {
	python_debian
	background /dev/null "$T/its" "$T/its.err" "$PY" "$LOOP" late --out "$T/truth" --go "$T/go"
	JOB=$LAST
	until_true test -s "$T/go.ready"
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	: >"$T/go"
	wait_exit "$JOB"
	equal 0 "$STATUS" "$(tail -5 "$T/its.err")"
	watch_end
	sound "$T/out"
	run "$PY" "$TOP/tests/tools/compare.py" --late "$T/out" "$T/truth"
	equal 0 "$status" "compare.py: $output"
	equal '"since_attach"' "$(of_type rank "$T/out" .numbering | tail -1)"
}

@test "a hang-up that is ignored (nohup) does not end the watch" {
	start_job "$TRAIN" load say=held pause steps=23
	job_line held
	trap '' HUP
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	trap - HUP
	kill -HUP "$WATCH"
	job_go
	job_end
	watch_end
	steps_are 23 "$T/out"
}

@test "ends that were lost are noticed" {
	mkfifo "$T/go"
	bash -c 'read -r _ <"$1"; for i in $(seq 3000); do /bin/true; done' - "$T/go" 3>&- &
	local target=$!
	STARTED+=("$target")
	start_watch --pid "$target" --quiet --export "json:$T/out"
	kill -STOP "$WATCH"
	echo >"$T/go"
	wait "$target"
	kill -CONT "$WATCH"
	watch_end
	[ "$(jq -s 'map(select(.type == "loss" and .source == "ring_life").count) | add' "$T/out")" -gt 0 ]
}

@test "500 processes of one library: one set of links, every step of each" {
	start_job "$TRAIN" load say=held pause workers=500 steps=4
	job_line held
	start_watch --pid "$JOB" --quiet --json --export "json:$T/out"
	job_go
	job_end
	watch_end
	equal 500 "$(jq -n '[inputs | select(.type == "step")] | group_by(.pid) | map(select(length == 4)) | length' "$T/out")" \
		"processes with 4 steps"
	equal 2000 "$(count_lines step "$T/out")" steps
	equal 0 "$(count_lines loss "$T/out")" losses
}

@test "libraries that are in memory only are known by the name that they give themselves" {
	start_job "$TRAIN" memory load say=held pause wait steps=23
	job_line held
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	job_go
	job_end
	watch_end
	steps_are 23 "$T/out"
	equal "" "$(cat "$T/watch.err")"
}

@test "a library in memory without a name is reported, once; what is not a library is not" {
	cat >"$T/job.py" <<-'EOS'
		import ctypes, mmap, os, sys
		kept = []
		for name, path in ("plain", "/map"), ("text", "/text"):
		    with open(sys.argv[1] + path, "rb") as file:
		        fd = os.memfd_create(name)
		        os.write(fd, file.read())
		    for i in range(2):
		        kept.append(mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC))
		ctypes.CDLL(sys.argv[1] + "/libtorch_cpu.so")
		print("held", flush=True)
		sys.stdin.readline()
	EOS
	seq 10000 >"$FAKE/text"
	start_job python3 "$T/job.py" "$FAKE"
	job_line held
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	equal 1 "$(grep -c "code in memory (memfd:plain) is not probed: it has no soname" "$T/watch.err")"
	equal 1 "$(wc -l <"$T/watch.err")" "lines of: $(cat "$T/watch.err")"
	job_go
	job_end
	watch_end
}

@test "libraries that are replaced or removed while a process uses them" {
	local i
	mkdir "$T/own"
	cp "$FAKE"/libtorch_{cpu,python}.so "$T/own"
	start_job "$TRAIN" load="$T/own" say=held pause wait steps=23
	job_line held
	cp "$FAKE/libtorch_cpu.so" "$T/own/new" # as an upgrade does it
	mv "$T/own/new" "$T/own/libtorch_cpu.so"
	rm "$T/own/libtorch_python.so"
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	run -0 "$GP_BPF" check --pid "$JOB"
	grep -E '^  torch .* libtorch_cpu\.so$' <<<"$output"
	job_go
	job_end
	watch_end
	steps_are 23 "$T/out"
	equal "" "$(cat "$T/watch.err")"
}
