# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the end-to-end tests share. A test file loads it, and uses the names below; every process that is
# started with them is ended by teardown.
#
#   CI=true     what would be skipped for lack of a privilege or a program fails
#   ALL=1       the heavy kinds of loops too
#   GP_BPF=     another build of the program        PYTHON=  the Python whose torch is "current"
#   BUILT=1     everything is built: nothing is made

TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
. "$TOP/tests/tools/environment.bash"
GP_BPF=${GP_BPF:-$TOP/build/plain/gp-bpf}
FAKE=${E2E_FAKE:-$TOP/build/plain/tests/fake} # since setup_file a copy: see there
export TRAIN=$FAKE/train LOOP=$TOP/tests/workloads/loop.py RESTART=$TOP/tests/workloads/restart.py
READY_S=120 # the longest wait for anything that is to happen at once
export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-900}
bats_require_minimum_version 1.5.0

# ---- what the tests need ---------------------------------------------------------------------------

# Without it a test says nothing: a person is told why, CI fails.
cannot() { # reason
	if [ "${CI:-}" = true ]; then
		echo "needed here: $1" >&2
		return 1
	fi
	skip "$1"
}

need_program() {
	command -v "$1" >/dev/null || cannot "$1 is missing (make deps)"
}

# Once a file: the program and what the kernel allows it; the reason goes to NO_PROBES.
e2e_setup_file() {
	[ -x "$GP_BPF" ] || { echo "no $GP_BPF; make builds it" >&2; return 1; }
	[ -n "${BUILT:-}" ] || make -s -C "$TOP" fakes >&2
	# Probes sit on a file, whoever put them there: two test files at once must not see each other's.
	cp -r "$FAKE" "$BATS_FILE_TMPDIR/fake"
	export E2E_FAKE=$BATS_FILE_TMPDIR/fake
	NO_PROBES=
	if [ "$EUID" -ne 0 ]; then
		NO_PROBES="probes need root: sudo make check"
	elif ! "$GP_BPF" check >"$BATS_FILE_TMPDIR/check" 2>&1; then
		NO_PROBES="the kernel or a privilege lacks what is needed: $(grep -m1 -i -e permission -e namespace \
			-e lacks "$BATS_FILE_TMPDIR/check")"
	fi
	export NO_PROBES
}

e2e_setup() {
	T=$BATS_TEST_TMPDIR
	STARTED=()
	WATCH='' JOB=''
	export TRAIN_WATCHER=$T/watcher
}

need_probes() {
	[ -z "$NO_PROBES" ] || cannot "$NO_PROBES"
}

# PY: the Python whose torch is current, or Debian's.
python_current() {
	PY=$("$TOP/tests/tools/torch.sh" --find) || cannot "no current torch (make check ALL=1 installs one; PYTHON= names one)"
}
python_debian() {
	PY=/usr/bin/python3
	"$PY" -c 'import torch' 2>/dev/null || cannot "python3-torch is missing (make deps)"
}

# ---- processes -------------------------------------------------------------------------------------

# Descriptors of bats (3 and up) stay with bats: a background process that kept them would hold it.
background() { # stdin stdout stderr command...; sets LAST
	local in=$1 out=$2 err=$3
	shift 3
	"$@" <"$in" >"$out" 2>"$err" 3>&- 4>&- 5>&- 6>&- &
	LAST=$!
	STARTED+=("$LAST")
}

# Waits for a process of ours; STATUS is its own, or the test fails after READY_S.
wait_exit() { # pid [seconds]
	STATUS=0
	if ! timeout "${2:-$READY_S}" tail -q -s 0.02 --pid="$1" -f /dev/null; then
		echo "process $1 does not end" >&2
		return 1
	fi
	wait "$1" || STATUS=$?
}

# Makes a control group in which programs get a large share of the CPU, whatever their priority. Sets QUOTA to its folder.
make_quota() {
	QUOTA=/sys/fs/cgroup/gp-bpf-test-$$
	if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ]; then # version 1
		QUOTA=/sys/fs/cgroup/cpu/gp-bpf-test-$$
	elif ! grep -qs cpu /sys/fs/cgroup/cgroup.subtree_control; then
		echo +cpu >/sys/fs/cgroup/cgroup.subtree_control || cannot "no control group with a CPU quota can be made"
	fi
	mkdir "$QUOTA" || cannot "no control group with a CPU quota can be made"
	echo 262144 >"$QUOTA/cpu.shares" 2>/dev/null || echo 10000 >"$QUOTA/cpu.weight"
}
set_quota() { # percent of a CPU
	if [ -e "$QUOTA/cpu.max" ]; then
		echo "${1}000 100000" >"$QUOTA/cpu.max"
	else
		echo "${1}000" >"$QUOTA/cpu.cfs_quota_us"
	fi
}

e2e_teardown() {
	local pid
	exec 7>&- 8<&-
	for pid in "${STARTED[@]}"; do
		kill -KILL "$pid" 2>/dev/null || continue
		wait "$pid" 2>/dev/null || true
	done
	[ -z "${QUOTA:-}" ] || until_true rmdir "$QUOTA"
}

# Once a file: every JSON line that its tests left is as `gp-bpf schema` says.
teardown_file() {
	local python
	for python in /usr/bin/python3 python3 ''; do
		[ -n "$python" ] || break
		! "$python" -c 'import jsonschema' 2>/dev/null || break
	done
	if [ -z "$python" ]; then
		echo "# JSON lines are not validated: python3-jsonschema is missing (make deps)" >&3
		[ "${CI:-}" != true ]
		return
	fi
	"$python" "$TOP/tests/tools/schema_lines.py" "$GP_BPF" "$BATS_RUN_TMPDIR" >"$BATS_FILE_TMPDIR/schema" || {
		head -20 "$BATS_FILE_TMPDIR/schema" >&2
		return 1
	}
	echo "# JSON lines: $(tail -1 "$BATS_FILE_TMPDIR/schema")" >&3
}

# A watched process of tests/fake/train.c: `job_line WORD` reads its output up to a line that begins so,
# `job_go` sends it a line. Its output so far is in LINE.
start_job() { # command...
	rm -f "$T/job.in" "$T/job.out"
	mkfifo "$T/job.in" "$T/job.out"
	background "$T/job.in" "$T/job.out" "$T/job.err" "$@"
	JOB=$LAST
	exec 7>"$T/job.in" 8<"$T/job.out"
}
# The same, with the names that a sandbox of gVisor has.
start_gvisor() { # operations of train...
	cp "$TRAIN" "$T/runsc"
	# shellcheck disable=SC2016 # the inner shell expands
	start_job bash -c 'exec -a runsc-sandbox "$0" "$@"' "$T/runsc" "$@"
}
job_line() { # beginning
	while read -r -t "$READY_S" -u 8 LINE; do
		[[ $LINE == "$1"* ]] && return 0
	done
	echo "the job did not say '$1': $(cat "$T/job.err")" >&2
	return 1
}
job_go() { echo go >&7; }
job_end() { # status expected
	exec 7>&-
	wait_exit "$JOB"
	exec 8<&-
	[ "$STATUS" -eq "${1:-0}" ] || { echo "job: status $STATUS: $(cat "$T/job.err")" >&2; return 1; }
}

# gp-bpf in the background; returns once every probe is attached. WATCH is its process.
start_watch() { # arguments of gp-bpf, from the command on
	local name=${WATCH_NAME:-watch} ready word=()
	ready=$T/$name.ready
	mkfifo "$ready"
	[[ $1 == -* ]] || { word=("$1"); shift; }
	"$GP_BPF" "${word[@]}" --ready-fd 9 "$@" </dev/null 9>"$ready" >"$T/$name.out" 2>"$T/$name.err" \
		3>&- 4>&- 5>&- 6>&- 7>&- 8>&- &
	WATCH=$!
	echo "$WATCH" >"$TRAIN_WATCHER"
	STARTED+=("$WATCH")
	if ! read -r -t "$READY_S" word <"$ready"; then
		echo "gp-bpf is not ready: $(cat "$T/$name.err")" >&2
		return 1
	fi
}
watch_end() { # status expected
	wait_exit "$WATCH"
	[ "$STATUS" -eq "${1:-0}" ] || { echo "gp-bpf: status $STATUS: $(cat "$T"/*.err)" >&2; return 1; }
}

# For what another program will do soon and cannot announce.
until_true() { # command...
	local end=$((SECONDS + READY_S))
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || { echo "never: $*" >&2; return 1; }
		sleep 0.05
	done
}

# ---- what came out ---------------------------------------------------------------------------------

# equal EXPECTED ACTUAL [what]
equal() {
	[ "$1" = "$2" ] && return 0
	echo "${3:-value}: expected $1, found $2" >&2
	return 1
}

# Lines of a type: `of_type step FILE`, or a value of each: `of_type step FILE .step`.
of_type() { # type file [filter]
	jq -c --arg t "$1" "select(.type == \$t) | ${3:-.}" "$2"
}
count_lines() { # type file [condition]
	jq -n --arg t "$1" "[inputs | select(.type == \$t) | select(${3:-true})] | length" "$2"
}

# Whatever was watched, this holds of its JSON lines: one start and one end, steps numbered without a gap in
# each loop of each program (skipped updates have no number), none of no length (but a first
# one of which only the call was seen), none over another, ledgers closed at every record.
sound() { # file
	jq -n -e '
		[inputs] as $all
		| ($all | map(select(.type == "start")) | length) as $starts
		| ($all | map(select(.type == "end")) | length) as $ends
		| [$all[] | select(.type == "step")] | group_by([.pid, .loop]) as $loops
		| [
			(if $all[0].type == "start" and $starts == 1 then empty else "no start" end),
			(if $all[-1].type == "end" and $ends == 1 then empty else "no end" end),
			($loops[] | map(select(.flags | index("skipped_update") | not)) | [range(1; length) as $i
				| select(.[$i].step != .[$i - 1].step + 1 and .[$i].run_step != 1) | .[$i].step]
				| select(length > 0) | "numbers jump at \(.)"),
			($loops[] | [range(1; length) as $i
				| select(.[$i].start_ns < .[$i - 1].end_ns) | .[$i].step]
				| select(length > 0) | "overlap at \(.)"),
			($loops[][] | select(.end_ns < .start_ns or .duration_ns != .end_ns - .start_ns or (.end_ns == .start_ns
					and ((.boundary | IN("execute", "backward") | not) or .run_step != 1)))
				| "no length at \(.step)"),
			($all[] | select(.type == "ledger")
				| select((.buckets | add) != .elapsed_ns or ([.buckets[]] | min) < 0)
				| "ledger is open at \(.mono_ns)")
		  ]
		| if length == 0 then true else (.[] | debug) , false end' "$1" >"$1.sound" 2>&1 && return 0
	echo "not sound: $1" >&2
	head -20 "$1.sound" >&2
	return 1
}

# Exactly that many steps, numbered from 1, of one process.
steps_are() { # count file
	sound "$2"
	equal "$1" "$(count_lines step "$2")" steps
	[ "$1" -eq 0 ] || equal "$1" "$(of_type step "$2" .step | tail -1)" "last number"
}

# ---- loops of real torch ---------------------------------------------------------------------------

# A field of a kind's row in kinds.tsv, or another table, by the name of the column.
kind_field() { # kind column [table]
	awk -F '\t' -v kind="$1" -v column="$2" '
		/^#/ && !/^# kind\t/ { next }
		/^#/ { sub(/^# */, "") }
		!header { for (i = 1; i <= NF; i++) at[$i] = i; header = 1; next }
		$1 == kind { print $(at[column]); found = 1 }
		END { exit !found }' "$TOP/tests/workloads/${3:-kinds}.tsv"
}

# The loops of a file are those of the table that its torch can run: `kinds_are current` in the file of the
# current torch, `kinds_are 1.13` in that of Debian's.
kinds_are() { # column
	equal "$(awk -F '\t' -v column="$1" '
		/^# kind\t/ { for (i = 1; i <= NF; i++) at[$i] = i }
		!/^#/ && $at[column] != "-" && $1 != "late" { print $1 }' "$TOP/tests/workloads/kinds.tsv" | sort)" \
		"$(sed -nE 's/^@test "([a-z0-9_]+)".*/\1/p' "$BATS_TEST_FILENAME" | sort)" "kinds tested here"
}

# PY for a kind: some need frameworks beside torch.
python_for() { # current|1.13 kind
	if [ "$1" = 1.13 ]; then
		python_debian
		return
	fi
	case $2 in
	lightning | hf_trainer | accelerate*)
		PY=$("$TOP/tests/tools/torch.sh" --find --all) || cannot "no lightning, transformers and accelerate (make check ALL=1 installs them)"
		;;
	*) python_current ;;
	esac
}

# TRUTHS: the logs that the processes of a loop kept.
find_truths() {
	local file
	TRUTHS=()
	for file in "$T/truth" "$T"/truth.[0-9]*; do
		[ ! -f "$file" ] || TRUTHS+=("$file")
	done
	[ "${#TRUTHS[@]}" -gt 0 ] || { echo "the program kept no log: $(tail -5 "$T/its")" >&2; return 1; }
}

# Runs a loop under gp-bpf; what it told is in $T/out, its own log in TRUTHS.
run_loop() { # kind options of gp-bpf...
	local kind=$1
	shift
	"$GP_BPF" run --quiet --export "json:$T/out" "$@" -- "$PY" "$LOOP" "$kind" --out "$T/truth" >"$T/its" 2>&1 ||
		{ echo "status $?: $(tail -20 "$T/its")" >&2; return 1; }
	find_truths
	sound "$T/out"
	# Frameworks are loaded, and their libraries probed, long before the first step.
	equal "" "$(of_type rank "$T/out" 'select(.numbering == "since_attach" and .unit == "step") | .reason')" "first steps"
}

# A loop of kinds.tsv: what gp-bpf tells against the program's own log. Errors of time are shown, not judged.
# shellcheck disable=SC2154 # bats sets output and status
loop_exact() { # current|1.13 kind
	local expect
	expect=$(kind_field "$2" "$1")
	[ "$(kind_field "$2" heavy)" = 0 ] || [ -n "${ALL:-}" ] || skip "large: make check ALL=1"
	python_for "$1" "$2"
	run_loop "$2"
	run "$PY" "$TOP/tests/tools/compare.py" --expect "$expect" "$T/out" "${TRUTHS[@]}"
	echo "${output//$'\n'/$'\n'# }" | sed '1s/^/# /' >&3
	equal 0 "$status" "compare.py: $output"
	if [ "$1" = current ] && [ "$expect" != none ]; then
		equal "\"$(kind_field "$2" boundary)\"" "$(of_type step "$T/out" .boundary | sort -u)" boundary
	fi
}

# ---- loops of compiled programs --------------------------------------------------------------------

# PY: the Python of a framework (tests/tools/framework.sh).
python_framework() { # name
	PY=$("$TOP/tests/tools/framework.sh" --find "$1") || {
		[ -z "${ALL:-}" ] || cannot "no $1: see above"
		skip "no $1 (make check ALL=1 installs it)"
	}
}

# The loops of a file are those of programs.tsv that begin so.
programs_are() { # beginning...
	equal "$(grep -E "^($(IFS='|'; echo "$*"))_" "$TOP/tests/workloads/programs.tsv" | cut -f 1 | sort)" \
		"$(sed -nE 's/^@test "([a-z0-9_]+)".*/\1/p' "$BATS_TEST_FILENAME" | sort)" "kinds tested here"
}

# What gp-bpf told of a loop of programs.tsv, in $T/out, against the program's own log, in TRUTHS.
program_compare() { # kind boundary
	local expect unit lazy=()
	expect=$(kind_field "$1" expect programs)
	unit=$(kind_field "$1" unit programs)
	# PyTorch/XLA traces a step, and compiles and runs it when its results are asked for.
	[[ $1 != xla_* ]] || lazy=(--lazy)
	run "$PY" "$TOP/tests/tools/compare.py" --no-micro "${lazy[@]}" --expect "$expect" "$T/out" "${TRUTHS[@]}"
	echo "${output//$'\n'/$'\n'# }" | sed '1s/^/# /' >&3
	equal 0 "$status" "compare.py: $output"
	[ "$unit" = none ] || equal "\"$unit\"" "$(of_type rank "$T/out" '.unit // empty' | sort -u | tail -1)" unit
	[ "$expect" = none ] || equal "\"$2\"" "$(of_type step "$T/out" .boundary | sort -u)" boundary
}

# A loop of programs.tsv, as loop_exact.
program_exact() { # kind
	[ "$(kind_field "$1" heavy programs)" = 0 ] || [ -n "${ALL:-}" ] || skip "large: make check ALL=1"
	python_framework "$(kind_field "$1" python programs)"
	run_loop "$1"
	program_compare "$1" "$(kind_field "$1" boundary programs)"
}

# A bucket of a process's last ledger against what its log has of it, within 1 % of the run or 50 ms.
bucket_is() { # bucket type-in-the-log [condition]
	local is log run
	is=$(jq -n --arg b "$1" '[inputs | select(.type == "ledger" and .pid != null)][-1].buckets[$b]' "$T/out")
	run=$(jq -n '[inputs | select(.type == "ledger" and .pid != null)][-1].elapsed_ns' "$T/out")
	log=$(jq -n --arg t "$2" "[inputs | select(.type == \$t) | select(${3:-true}) | .end - .start] | add" "${TRUTHS[0]}")
	jq -n -e --argjson is "$is" --argjson log "$log" --argjson run "$run" \
		'($is - $log) | fabs <= ([$run / 100, 5e7] | max)' >/dev/null && return 0
	echo "$1: $log ns by the program's own log, $is told" >&2
	return 1
}

# Runs blocked_saves.py HOW: for how long saves blocked it against its own clock, within PERCENT and MS for each of them.
blocked_by_saves() { # how percent ms
	local is truth
	mkdir "$T/saved"
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/out" -- "$PY" "$TOP/tests/workloads/blocked_saves.py" "$1" "$T/saved"
	sound "$T/out"
	equal 80 "$(count_lines step "$T/out")" steps
	truth=$(awk '$1 == "blocked" { print $2 }' <<<"$output")
	is=$(jq -n '[inputs | select(.type == "ledger" and .pid != null)][-1].buckets.UNPRODUCTIVE_CHECKPOINT_SAVE_TIME' "$T/out")
	echo "# $1: blocked for $((truth / 1000000)) ms by its own clock, $((is / 1000000)) ms told" >&3
	jq -n -e --argjson is "$is" --argjson truth "$truth" --argjson percent "$2" --argjson ms "$3" \
		'($is - $truth) | fabs <= $truth * $percent / 100 + 3 * $ms * 1e6' >/dev/null && return 0
	echo "$1: blocked for $truth ns by its own clock, $is told" >&2
	return 1
}

# ---- a training that keeps a journal of its whole life ------------------------------------------------

# A shell that runs the command until it ends with 0.
until_done() { # command...
	echo "ulimit -c 0; until $(printf ' %q' "$@"); do sleep 0.3; done"
}
watch_until_done() { # command...
	until_done "$@" >"$T/loop.sh"
	"$GP_BPF" run --json --export "json:$T/out" -- bash "$T/loop.sh" >"$T/report"
}

# The report says what the journal of restart.py says: runs, falls with their causes, steps, and each bucket.
truth_is() { # causes, one for each fall; options of ledger_truth.py...
	run "$TOP/tests/tools/ledger_truth.py" "$T/journal.0" "$T/report" --steps "$T/out" --causes "$@"
	echo "# ${output//$'\n'/$'\n'# }" >&3
	equal 0 "$status" "ledger_truth.py: $output"
}
