#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Ranks that stand still, each for a reason of its own: the word for it and the evidence are told while it lasts, the
# time is a hang's from its first instant, and when they go on every step is exact again.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	export HANG_GO=$T/go
}
teardown() {
	[ -z "${STOPPED:-}" ] || kill -CONT "$STOPPED" 2>/dev/null || true
	e2e_teardown
}

# A loop of real torch under gp-bpf, in the background.
hang_start() { # kind
	python_current
	background /dev/null "$T/its" "$T/its.err" "$GP_BPF" run --quiet --hang-after 4s --export "json:$T/out" \
		--json --output "$T/cmd" -- "$PY" "$LOOP" "$1" --out "$T/truth"
	WATCH=$LAST
}

# A hang with that reason is told, and goes on. HEALTH is its line.
hangs() { # why [rank]
	local select="select(.type == \"health\" and .kind == \"hang\" and (.over | not) and .why == \"$1\")"
	[ -z "${2:-}" ] || select="$select | select(.rank == $2)"
	hang_told() { HEALTH=$(jq -c "$select" "$T/out" | head -1) && [ -n "$HEALTH" ]; }
	until_true hang_told || { jq -c 'select(.type == "health")' "$T/out" >&2; return 1; }
	equal 0 "$(jq "select(.type == \"health\" and .over and .pid == $(jq .pid <<<"$HEALTH"))" "$T/out" | wc -l)" "told as over"
}
evidence_has() { # text
	[[ $(jq -r .evidence <<<"$HEALTH") == *"$1"* ]] || { echo "evidence: $HEALTH" >&2; return 1; }
}

# Training went on to its end: every step as the program logged it, hangs told as over, the ledger's HANG is
# what the health lines say, the step around it is flagged and no sample.
went_on() { # ranks that hung
	wait_exit "$WATCH"
	equal 0 "$STATUS" "$(tail -5 "$T/its.err" "$T/cmd")"
	find_truths
	sound "$T/out"
	run "$PY" "$TOP/tests/tools/compare.py" --expect steps "$T/out" "${TRUTHS[@]}"
	equal 0 "$status" "compare.py: $output"
	run -0 jq -n --argjson n "$1" '
		[inputs | select(.pid)] | group_by(.pid) | map(
			{hung: map(select(.type == "health" and .over)),
			 flagged: map(select(.type == "step" and (.flags | index("hung")))),
			 hang: (map(select(.type == "ledger")) | last | .buckets.HANG)}
			| select((.hung | length) > 0))
		| length == $n and all(.[]; (.hung | length) == 1 and (.flagged | length) == 1
			and .hang == .hung[0].size and .hang >= 2e9
			and .flagged[0].start_ns <= .hung[0].onset_ns and .flagged[0].duration_ns >= .hang)' "$T/out"
	equal true "$output" "hangs in the ledger"
	run -0 jq --argjson n "$1" '[.ranks[] | select(.trainer) | .loops[0] | select(.flags.hung == 1)]
		| length == $n and all(.[]; .step_time.max_ns < 2e9)' "$T/its"
	equal true "$output" "samples of step times"
}

@test "a stopped rank says so, the other one waits for it in a collective" {
	hang_start hang_stopped
	hangs stopped 0
	STOPPED=$(jq .pid <<<"$HEALTH")
	evidence_has "is stopped by a signal"
	hangs collective 1
	evidence_has "last seen in backward"
	evidence_has "gloo"
	equal '"backward"' "$(jq .phase <<<"$HEALTH")" phase
	kill -CONT "$STOPPED"
	STOPPED=
	went_on 2
}

@test "a rank that does not come to the collective" {
	hang_start hang_missing
	hangs collective 1
	evidence_has "waits on a futex"
	hangs sleep 0
	sleep 6 # stacks are read every five seconds
	: >"$T/go"
	went_on 2
	# The line of the program at which it waits, innermost call first; and the roll call of all ranks.
	grep -qE '(rank|pid) [0-9]+ is in hold at loops_hang.py:[0-9]+ since [0-9:]{8} UTC' <<<"$(jq -c 'select(.type == "health" and .over) | .evidence' "$T/out")"
	grep -qE 'Python: .*\(loops_hang\.py:[0-9]+\)' <<<"$(jq -c 'select(.type == "health" and .over) | .evidence' "$T/out")"
}

@test "a loader that reads a FIFO: the file is named" {
	mkfifo "$T/go"
	exec 7<>"$T/go"
	hang_start hang_fifo
	hangs input
	evidence_has "reads $T/go"
	equal '"data"' "$(jq .phase <<<"$HEALTH")" phase
	echo >&7
	exec 7>&-
	went_on 1
}

@test "a loader whose worker opens a FIFO: the worker is named" {
	mkfifo "$T/go"
	hang_start hang_worker
	hangs input
	evidence_has "its child"
	evidence_has "FIFO"
	echo >"$T/go"
	went_on 1
}

@test "a long step that computes is no hang" {
	hang_start long_step
	# It has used the processor for longer than a hang would take.
	used() { awk -v pid="$(jq -r 'select(.type == "step" and .step == 20) | .pid' "$T/out" | head -1)" 'BEGIN {
		if (pid == "" || (getline line < ("/proc/" pid "/stat")) <= 0) exit 1
		sub(/.*\) /, "", line); split(line, f, " "); exit f[12] + f[13] < 1500 }'; }
	until_true used
	: >"$T/go"
	wait_exit "$WATCH"
	equal 0 "$STATUS" "$(tail -5 "$T/its.err" "$T/cmd")"
	find_truths
	sound "$T/out"
	equal 0 "$(count_lines health "$T/out")" "health lines"
	equal 0 "$(of_type ledger "$T/out" .buckets.HANG | sort -u)" HANG
	run -0 jq '[inputs | select(.type == "step") | .duration_ns] | max > 5e9' "$T/out"
	equal true "$output" "a long step"
}

@test "killed in a hang: it is one up to the end" {
	hang_start hang_missing
	hangs collective 1
	kill -KILL "$(jq .pid <<<"$HEALTH")"
	wait_exit "$WATCH"
	sound "$T/out"
	run -0 jq -n --argjson pid "$(jq .pid <<<"$HEALTH")" '[inputs | select(.pid == $pid)]
		| (map(select(.type == "health" and .over)) | .[0]) as $hang
		| (map(select(.type == "disruption")) | .[0]) as $killed
		| (map(select(.type == "ledger")) | last) as $ledger
		| $hang.onset_ns + $hang.size == $killed.mono_ns and $ledger.buckets.HANG == $hang.size and $ledger.final' "$T/out"
	equal true "$output" "ledger of the killed rank"
}

@test "OpenCL: a call that has not returned is seen while it blocks" {
	[ -x "$FAKE/opencl_train" ] || cannot "no OpenCL headers (make deps)"
	export POCL_CACHE_DIR=$BATS_FILE_TMPDIR/pocl
	run "$FAKE/opencl_train" 1 1 <<<go
	[ "$status" -ne 77 ] || cannot "no OpenCL device (make deps)"
	start_job "$FAKE/opencl_train" 20 3 10
	job_line loaded
	start_watch --pid "$JOB" --quiet --marker sync --hang-after 2s --export "json:$T/out"
	job_go
	job_line held
	hangs device
	evidence_has "has not returned from clFinish of opencl"
	equal 10 "$(count_lines step "$T/out")" "steps before"
	job_go
	job_line '{'
	job_end
	watch_end
	steps_are 21 "$T/out"
	equal 1 "$(count_lines health "$T/out" .over)" "hangs that are over"
	equal '[11]' "$(jq -n -c '[inputs | select(.type == "step" and (.flags | index("hung"))) | .step]' "$T/out")" "flagged steps"
}

@test "a replay tells the same" {
	mkfifo "$T/go"
	exec 7<>"$T/go"
	python_current
	background /dev/null "$T/its" "$T/its.err" "$GP_BPF" record -o "$T/tape" --quiet --hang-after 4s \
		--export "json:$T/out" -- "$PY" "$LOOP" hang_fifo --out "$T/truth"
	WATCH=$LAST
	hangs input
	echo >&7
	exec 7>&-
	wait_exit "$WATCH"
	"$GP_BPF" replay --quiet --export "json:$T/again" "$T/tape"
	equal 2 "$(count_lines health "$T/again")" "health lines"
	cmp <(jq -c 'select(.type != "end")' "$T/out") <(jq -c 'select(.type != "end")' "$T/again")
}
