#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Why steps became slower. The cause is injected, so it is known, and so is how much it explains.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and shell; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
	HOG='' QUOTA='' IN=()
}
teardown() {
	[ -z "$HOG" ] || kill "$HOG" 2>/dev/null || true
	e2e_teardown
}

# The job and what disturbs it share CPU 1, and come before everything else there.
FIRST=(nice -n -20 taskset -c 1)

# Steps of 20 ms, until the test says go; then 50 more.
start_steps() { # microseconds of each on the CPU
	start_job "${FIRST[@]}" "$TRAIN" load wait pace=$((20100 - $1)) work="$1" until steps=50
	start_watch record -o "$T/tape" --slow-after 5s --pid "$JOB" --json --quiet --export "json:$T/out" || return 1
	READY_S=100 until_true usual
}
usual() { [ "$(grep -c '"type":"step"' "$T/out")" -ge 500 ]; } # ten seconds of steps as they usually are
end_steps() {
	job_go
	job_end
	watch_end
	jq -c 'select(.type == "health")' "$T/out" >"$T/health"
}
start_hog() {
	"${FIRST[@]}" sh -c 'while :; do :; done' &
	HOG=$!
}
slow() { grep -qs '"kind":"fail_slow"' "$T/out"; }
recovered() { grep -qs '"kind":"recovered"' "$T/out"; }
slow_by() { # cause least-share
	jq -se --arg cause "$1" --argjson least "$2" 'map(select(.kind == "fail_slow")) | .[0] |
		.why == $cause and (.causes[] | select(.cause == $cause) | .share >= $least)
		and ([.causes[].share] | add | . > 0.999 and . < 1.001)' "$T/health" ||
		{ cat "$T/health" >&2; return 1; }
}

@test "another program on its CPU: CPU contention" {
	start_steps 20000
	start_hog
	READY_S=100 until_true slow
	kill "$HOG"
	HOG=
	READY_S=100 until_true recovered
	end_steps
	slow_by cpu_contention 0.7
	jq -se 'length == 2 and .[1].kind == "recovered" and .[1].why == "cpu_contention"' "$T/health"
	tail -1 "$T/watch.out" >"$T/report"
	run -0 --separate-stderr "$GP_BPF" replay "$T/tape"
	[[ $output == *": CPU contention"* ]]
	# The tape has all of it.
	run -0 --separate-stderr "$GP_BPF" replay --quiet --export "json:$T/again" "$T/tape"
	jq -c 'select(.type == "health")' "$T/again" | cmp - "$T/health"
}

@test "one long step, as a real-time program has its CPU: CPU contention" {
	start_steps 2000
	timeout 0.7 taskset -c 1 chrt -f 50 sh -c 'while :; do :; done' || :
	sleep 22 # the causes of a long step are looked for 20 s after it
	end_steps
	cat "$T/health"
	run -0 --separate-stderr "$GP_BPF" replay "$T/tape"
	grep -E "took [5-9][0-9]{2} ms more: ([89][0-9]|100) % waits for a CPU on which other threads run" <<<"$output" || { echo "$output" >&2; return 1; }
}

@test "a quota of its control group: CPU quota" {
	make_quota
	start_job sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$QUOTA" \
		"${FIRST[@]}" "$TRAIN" load wait pace=100 work=20000 until steps=50
	start_watch record -o "$T/tape" --slow-after 5s --pid "$JOB" --json --quiet --export "json:$T/out"
	READY_S=100 until_true usual
	set_quota 60
	READY_S=100 until_true slow
	end_steps
	slow_by cpu_throttled 0.5
}

@test "steps that sleep longer lack nothing: unknown" {
	start_job "${FIRST[@]}" "$TRAIN" load wait pace=20000 work=1000 until pace=30000 until steps=50
	start_watch record -o "$T/tape" --slow-after 5s --pid "$JOB" --json --quiet --export "json:$T/out"
	READY_S=100 until_true usual
	job_go
	READY_S=100 until_true slow
	end_steps
	jq -se 'map(select(.kind == "fail_slow")) | .[0] | .why == "unknown" and (.causes | map(select(.cause != "unknown" and .share > 0.1)) | length == 0)' "$T/health"
}

# ---- data loaders ----------------------------------------------------------------------------------

# Starts to train with a loader of that kind, whose batches are made at once until the test says go.
start_loader() { # kind workers
	python_current
	start_job "${IN[@]}" nice -n -20 "$PY" "$TOP/tests/workloads/loader.py" "$1" "$2" "$T/go"
	job_line ready
	start_watch record -o "$T/tape" --slow-after 5s --pid "$JOB" --json --quiet --export "json:$T/out"
	READY_S=100 until_true usual
	touch "$T/go"
	READY_S=100 until_true slow
	job_end
	watch_end
	jq -c 'select(.type == "health")' "$T/out" >"$T/health"
}
# On a busy machine, who computes also waits for a CPU.
slow_by_loader() {
	jq -se 'map(select(.kind == "fail_slow")) | .[0] | (.causes | map({(.cause): .share}) | add) as $of
		| $of.loader_cpu >= 0.2 and $of.loader_cpu + ($of.cpu_contention // 0) >= 0.5' "$T/health" ||
		{ cat "$T/health" >&2; return 1; }
}
evidence() {
	jq -se --arg text "$1" 'map(select(.kind == "fail_slow")) | .[0].evidence | test($text)' "$T/health" ||
		{ cat "$T/health" >&2; return 1; }
}

@test "a loader worker computes: the loader's CPU" {
	start_loader cpu 1
	slow_by_loader
	evidence "1 loader worker at [0-9]+ % CPU, [01] of [0-9]+ cores idle"
	run -0 --separate-stderr "$GP_BPF" replay "$T/tape"
	[[ $output == *"input-bound: "*" of the time waits for data"*": 1 loader worker"* ]]
}

@test "loader workers sleep: unknown" {
	start_loader sleep 2
	jq -se 'map(select(.kind == "fail_slow")) | .[0] | .why == "unknown" and (.causes // [] | map(select(.cause == "loader_cpu" or .cause == "loader_io" or .cause == "network")) | all(.share < 0.1))' "$T/health"
}

@test "one of two loader workers computes, and the other waits for it" {
	start_loader slow 2
	slow_by_loader
	evidence "1 of 2 loader workers at [0-9]+ % CPU"
}

@test "no loader workers: the training thread makes the batches" {
	start_loader cpu 0
	slow_by_loader
	evidence "no loader workers"
}

@test "loader workers wait for a slow server: network" {
	[ -n "${ALL:-}" ] || skip "one of five kinds of loaders: ALL=1"
	start_loader network 2
	slow_by network 0.5
}

@test "loader workers lose packets: network, and TCP segments are sent again in the network namespace of the job" {
	IN=(unshare -n sh -c 'ip link set lo up && exec "$@"' -)
	"${IN[@]}" true || skip "no network namespaces"
	start_loader lossy 2
	slow_by network 0.5
	evidence "its network namespace resent [0-9]+[.][0-9] % of its TCP segments [(][0-9]+[.][0-9] % before[)]"
}

# ---- lines of Python -------------------------------------------------------------------------------

# Programs of torch whose steps take longer for a while, the first on CPU 1, the second on CPU 0.
own_code_run() { # kinds
	local kind cpu=1 pids=()
	python_debian
	for kind; do
		T=$BATS_FILE_TMPDIR/$kind
		mkdir "$T"
		background /dev/null "$T/its" "$T/its.err" nice -n -20 taskset -c "$((cpu--))" "$GP_BPF" record -o "$T/tape" --quiet \
			--slow-after 5s --export "json:$T/out" -- "$PY" "$TOP/tests/workloads/own_code.py" "$kind" "$T/end"
		pids+=("$LAST")
	done
	for kind; do
		T=$BATS_FILE_TMPDIR/$kind
		READY_S=100 until_true recovered
		touch "$T/end"
		wait_exit "${pids[0]}"
		equal 0 "$STATUS" "$(tail -n 5 "$T/its.err")"
		pids=("${pids[@]:1}")
	done
}
# What is lost in such a program is known to be at one line. Those that only sleep run beside one that computes: the first test of the
# two starts both.
own_code() { # kind
	local kinds=("$1")
	case $1 in
	loop | sleep) kinds=(loop sleep) ;;
	lock | held) kinds=(lock held) ;;
	esac
	[ -d "$BATS_FILE_TMPDIR/$1" ] || own_code_run "${kinds[@]}"
	T=$BATS_FILE_TMPDIR/$1
	jq -c 'select(.type == "health")' "$T/out" >"$T/health"
	cat "$T/health"
}
# All that is lost is injected; the machine may be busy besides. A hundred samples have an error of 8 % of it.
lost_by() { # cause least
	jq -se --arg cause "$1" --argjson least "$2" 'map(select(.kind == "recovered")) | .[0].causes
		| (map(select(.cause == $cause) | .share) | add) as $own
		| (map(select(.cause | startswith("cpu_")) | .share) | add // 0) as $busy
		| $own >= $least and $own + $busy >= 0.7' "$T/health"
}
line_of() { # text
	grep -n "$1" "$TOP/tests/workloads/own_code.py" | cut -d : -f 1
}

@test "time.sleep() at a line: own code, with the line" {
	own_code sleep
	lost_by own_code 0.7
	jq -se --arg line "own_code.py:$(line_of '# HERE') in inject()" '
		map(select(.kind == "recovered")) | .[0] | .why == "own_code" and (.evidence | contains($line))
		and (.causes[] | select(.cause == "own_code").line == $line)' "$T/health"
	run -0 --separate-stderr "$GP_BPF" replay --quiet --export "json:$T/again" "$T/tape"
	jq -c 'select(.type == "health")' "$T/again" | cmp - "$T/health"
}

@test "a slow loop of Python: own code, with its function" {
	own_code loop
	lost_by own_code 0.4
	jq -se 'map(select(.kind == "recovered")) | .[0].causes[] | select(.cause == "own_code").line
		| test("^own_code.py:[0-9]+ in count\\(\\)$")' "$T/health"
}

@test "gc.collect() with many objects: garbage collection" {
	own_code collect
	lost_by garbage_collection 0.4
	jq -se 'map(select(.kind == "recovered")) | .[0].causes | all(.cause != "own_code")' "$T/health"
}

@test "another thread computes in Python: the interpreter lock" {
	own_code lock
	lost_by interpreter_lock 0.4
	jq -se 'map(select(.kind == "recovered")) | .[0] | .why == "interpreter_lock" and (.causes | all(.cause != "own_code"))' "$T/health"
}

@test "another thread saves a checkpoint: its line, and the cause is the checkpoint" {
	own_code save
	lost_by checkpoint 0.4
	jq -se --arg line "own_code.py:$(line_of '# SAVES') in save()" '
		map(select(.kind == "recovered")) | .[0] | .why == "checkpoint" and (.evidence | contains("lock at " + $line))
		and (.causes[] | select(.cause == "checkpoint").line == $line)' "$T/health"
}

# An examination may end in the slowdown, or not: then it is not known that the wait is for a lock.
@test "another thread has a lock: the line that waits for it" {
	own_code held
	jq -se --arg line "own_code.py:$(line_of '# WAITS') in inject()" '
		map(select(.kind == "recovered")) | .[0] | .why as $why | ($why == "lock" or $why == "unknown")
		and (.evidence | contains("waits for a lock or another thread, at " + $line) or contains("unexplained, it waits at " + $line))
		and (.causes | all(.cause == $why or .share < 0.3)) and (.causes[] | select(.cause == $why).line == $line)' "$T/health"
}
