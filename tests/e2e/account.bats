#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gp-bpf account from the outside: what it reads, says, refuses and survives. No probes, no privilege. Whether the
# numbers are those of the goodput library is not asked here.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() {
	[ -x "$GP_BPF" ] || { echo "no $GP_BPF; make builds it" >&2; return 1; }
}
setup() {
	e2e_setup
	unset NO_COLOR
	LOG=$T/log.jsonl
	log_of llama 50 >"$LOG"
}
teardown() { e2e_teardown; }

# A job of so many steps of 2 s (the first takes 30 s more) after 10 s of preparation, and its end.
log_of() { # job steps
	awk -v job="$1" -v steps="$2" 'BEGIN {
		t = 1735725600
		head = "{\"job_name\":\"" job "\","
		print head "\"job_start_time\":" t "}"
		print head "\"training_prep_start_time\":" t "}"
		print head "\"training_prep_end_time\":" t + 10 "}"
		for (i = 0; i < steps; i++)
			print head "\"step_count\":" i ",\"step_start_time\":" t + 10 + 2 * i + (i ? 30 : 0) ".0}"
		print head "\"job_end_time\":" t + 10 + 2 * steps + 30 "}"
	}'
}

# One line on standard error that holds each of the words, and nothing on standard output.
one_line() { # words
	local word
	equal "" "$output" "standard output"
	equal 1 "$(grep -c . <<<"$stderr")" "lines: $stderr"
	for word; do
		[[ $stderr == *"$word"* ]] || { echo "no '$word' in: $stderr" >&2; return 1; }
	done
}

free_of() { # pattern text
	! LC_ALL=C grep -P "$1" <<<"$2" || return 1
}

answer() { # filter; of the JSON in $output
	jq -c "$1" <<<"$output"
}

@test "usage errors" {
	local wrong
	while read -r wrong; do
		# shellcheck disable=SC2086 # words
		run -2 --separate-stderr "$GP_BPF" account $wrong
		one_line ""
	done <<-'EOF'

		--json
		--semantics right LOG
		--calculator rubber LOG
		--now tomorrow LOG
		--now 2025-02-30T00:00:00Z LOG
		--window 1735725600 LOG
		--window 1735725660,1735725600 LOG
		--exclude x,1735725600 LOG
		--exclude , LOG
		--at -5 LOG
		--at 99999999999999 LOG
		--ideal 0 LOG
		--ideal 0.1us LOG
		--for 1s LOG
		--pid 1 LOG
		--job
		LOG --window
		LOG --now tomorrow
	EOF
	run -2 --separate-stderr "$GP_BPF" account "$LOG" -xq
	one_line "unknown option -x;"
	run -2 --separate-stderr "$GP_BPF" account "$LOG" --json=3
	one_line "--json=3 takes no value"
}

@test "what cannot be used ends with 1" {
	run -1 --separate-stderr "$GP_BPF" account "$T/none"
	one_line "$T/none" "No such file"
	: >"$T/empty"
	run -1 --separate-stderr "$GP_BPF" account "$T/empty"
	one_line empty
	echo 'no json' >"$T/bad"
	run -1 --separate-stderr "$GP_BPF" account "$T/bad"
	one_line "$T/bad:1:"
	echo '{"message": "hello"}' >"$T/foreign"
	run -1 --separate-stderr "$GP_BPF" account "$T/foreign"
	one_line "no goodput record"
	run -1 --separate-stderr "$GP_BPF" account --job other "$LOG"
	one_line "'other'"
	run -1 --separate-stderr "$GP_BPF" account "$T"
	[ -z "$output" ]
}

@test "a table" {
	run -0 --separate-stderr "$GP_BPF" account "$LOG"
	[ -z "$stderr" ]
	[[ $output == "job llama"$'\n'"  2025-01-01 10:00:00 to 2025-01-01 10:02:20 UTC, 2 m 20 s, ended"* ]]
	grep -qE '^    goodput +1 m 40 s +71\.4 %  █+' <<<"$output"
	grep -qE '^    program startup +30\.0 s +21\.4 %  █+' <<<"$output"
	grep -qE '^    training preparation +10\.0 s +7\.1 %  █' <<<"$output"
	grep -qE '^    sum +2 m 20 s  = elapsed$' <<<"$output"
	grep -qE '^  step time +median 2\.00 s' <<<"$output"
	free_of '\x1b' "$output"
	local table=$output
	run -0 env LC_ALL=C "$GP_BPF" account "$LOG"
	free_of '[^ -~]' "$output"
	grep -qE '^    goodput +1 m 40 s +71\.4 %  #+' <<<"$output"
	equal "$(wc -l <<<"$table")" "$(wc -l <<<"$output")" lines
}

@test "colour on a terminal alone, and not with NO_COLOR" {
	need_program script
	run -0 script -qec "$GP_BPF account $LOG" /dev/null
	[[ $output == *$'\e['* ]]
	run -0 env NO_COLOR=1 script -qec "$GP_BPF account $LOG" /dev/null
	[[ $output != *$'\e[3'* ]]
}

@test "one object with the keys that are asked for" {
	run -0 --separate-stderr "$GP_BPF" account --json "$LOG"
	[ -z "$stderr" ]
	equal '["job","cumulative","step_time_s"]' "$(answer keys_unsorted)"
	equal '"llama"' "$(answer .job)"
	equal 100 "$(answer .cumulative.productive_time_s)"
	equal 49 "$(answer .step_time_s.count)"
	equal 49 "$(answer '.step_time_s.by_step | length')"
	run -0 "$GP_BPF" account --json --window 1735725600,2025-01-01T10:01:00Z --window 1735725600.000001,1735725700 \
		--at 1735725650 --exclude 1735725600,1735725605.5 "$LOG"
	equal '["job","cumulative","step_time_s","intervals","exclusions","sequence"]' "$(answer keys_unsorted)"
	equal '[[1735725600,1735725660],[1735725600.000001,1735725700]]' "$(answer '[.intervals[] | [.start, .end]]')"
	equal '[[1735725600,1735725605.5]]' "$(answer .exclusions.intervals)"
	equal 1735725650 "$(answer '.sequence[0].query_time')"
	equal 50 "$(answer '.sequence[0].total_job_time_s')"
}

@test "windows, instants and exclusions in the table" {
	run -0 "$GP_BPF" account --window 1735725600,1735725660 --window 1735725640,2025-01-01T10:02:00Z --at 1735725650 \
		--exclude 1735725600,1735725605 --exclude 1735725700,1735725710 "$LOG"
	grep -qE '^    2025-01-01 10:00:00 to 2025-01-01 10:01:00 +1 m 00 s +[0-9.]+ %  █' <<<"$output"
	grep -qE '^    2025-01-01 10:00:40 to 2025-01-01 10:02:00 +1 m 20 s' <<<"$output"
	grep -qE '^    2025-01-01 10:00:50 +50\.0 s' <<<"$output"
	grep -qE '^  without 2 excluded intervals' <<<"$output"
	grep -qE '^    15\.0 s excluded, 2 m 05 s left' <<<"$output"
	[ "$(wc -L <<<"$output")" -le 80 ]
}

@test "20 000 steps, from gzip: the table and the digest" {
	local huge=$T/huge.gz
	log_of huge 20000 | gzip -1 >"$huge"
	run -0 --separate-stderr "$GP_BPF" account "$huge"
	[ -z "$stderr" ]
	[[ $output == *"19999 timed, last recorded 19999, productive up to 19999"* ]]
	[ "$(wc -l <<<"$output")" -lt 40 ]
	run -0 "$GP_BPF" account --json "$huge"
	equal '["count","sum","max","min","sampled_by_step","last_step"]' "$(answer '.step_time_s | keys_unsorted')"
	equal '[19999,101,19998]' "$(answer '.step_time_s | [.count, (.sampled_by_step | length), .last_step]')"
}

@test "semantics, now, ideal" {
	grep -v job_end "$LOG" >"$T/running"
	run -0 "$GP_BPF" account --json --now 1735725838 "$T/running"
	equal 238 "$(answer .cumulative.total_job_time_s)"
	run -0 "$GP_BPF" account --json --now 2025-01-01T10:03:58+00:00 "$T/running"
	equal 238 "$(answer .cumulative.total_job_time_s)"
	run -0 "$GP_BPF" account --json --now now "$T/running"
	equal true "$(answer '.cumulative.total_job_time_s > 1e7')"
	local ideal
	for ideal in 1.5 1.5s 1500ms; do
		run -0 "$GP_BPF" account --json --ideal "$ideal" "$LOG"
		equal 1.5 "$(answer .cumulative.ideal_step_time_s)"
	done
	run -0 "$GP_BPF" account --json --semantics library --now 1735725838 "$T/running"
	equal 238 "$(answer .cumulative.total_job_time_s)"
	equal false "$(answer '.cumulative.unproductive_time_s | has("HANG") or has("UNOBSERVED")')"
}

@test "several jobs in one log, in order of appearance; --job takes one" {
	paste -d '\n' <(log_of zebra 30) <(log_of ant 30) >"$T/two"
	run -0 "$GP_BPF" account --json "$T/two"
	equal '"zebra" "ant"' "$(answer .job | xargs printf '"%s" "%s"')"
	equal "60 60" "$(answer .cumulative.productive_time_s | xargs)"
	run -0 "$GP_BPF" account --json --job ant "$T/two"
	equal '"ant"' "$(answer .job)"
	run -0 "$GP_BPF" account "$T/two"
	equal "job zebra,job ant" "$(grep '^job' <<<"$output" | paste -sd,)"
}

@test "files, several of them, standard input, gzip, an export of Cloud Logging: one answer" {
	local expected
	expected=$("$GP_BPF" account --json "$LOG")
	head -20 "$LOG" >"$T/a"
	tail -n +21 "$LOG" >"$T/b"
	gzip -k "$LOG"
	jq -c '{jsonPayload: ., timestamp: (1735725600 + input_line_number | todate), insertId: "\(input_line_number)",
		logName: "projects/p/logs/goodput_llama", severity: "INFO"}' "$LOG" | jq -s . >"$T/export.json"
	equal "$expected" "$("$GP_BPF" account --json "$T/a" "$T/b")" "two files"
	equal "$expected" "$("$GP_BPF" account --json - <"$LOG")" "standard input"
	equal "$expected" "$("$GP_BPF" account --json "$LOG.gz")" gzip
	equal "$expected" "$("$GP_BPF" account --json - <"$LOG.gz")" "gzip on standard input"
	equal "$expected" "$("$GP_BPF" account --json "$T/export.json")" export
	equal "$expected" "$(tac "$T/export.json" | tac | "$GP_BPF" account --json -)" "export on standard input"
}

@test "bad lines are counted, the first one is named" {
	{
		sed -n 1,5p "$LOG"
		echo 'nonsense'
		sed -n 6p "$LOG"
		echo '{"job_name":"llama","step_cou'
		tail -n +7 "$LOG"
	} >"$T/bad"
	run -0 --separate-stderr "$GP_BPF" account --json "$T/bad"
	equal "$("$GP_BPF" account --json "$LOG")" "$output"
	equal 1 "$(grep -c . <<<"$stderr")" "$stderr"
	[[ $stderr == *"2 of "*"$T/bad:6:"* ]]
	run -0 --separate-stderr "$GP_BPF" account --json --quiet "$T/bad"
	[ -z "$stderr" ]
	gzip -c "$LOG" | head -c 300 >"$T/cut.gz"
	run --separate-stderr "$GP_BPF" account --json "$T/cut.gz"
	[[ $stderr == *"the log is cut off"* ]]
}

# A log that grows while it is followed; what is said at the end is what is said of the whole at once.
@test "--follow: a growing log, then SIGINT or SIGTERM" {
	local signal
	for signal in INT TERM; do
		head -20 "$LOG" >"$T/grows"
		background /dev/null "$T/out" "$T/err" "$GP_BPF" account --json --follow --log-level debug "$T/grows"
		until_true all_read "$LAST" "$T/grows"
		sed -n 21,40p "$LOG" | while read -r line; do echo "$line" >>"$T/grows"; done
		until_true all_read "$LAST" "$T/grows"
		[ ! -s "$T/out" ]
		tail -n +41 "$LOG" >>"$T/grows" # what stands there when it is told to end belongs to the answer
		kill -"$signal" "$LAST"
		wait_exit "$LAST"
		equal 0 "$STATUS" "status: $(cat "$T/err")"
		equal "$("$GP_BPF" account --json "$LOG")" "$(cat "$T/out")"
	done
}

# The first signal ends the waiting, the second the reading of what never ends; the answer goes to a pipe that nothing
# reads, and the third signal ends that.
@test "--follow: the third signal ends it at once" {
	local line following
	line=$(head -1 "$LOG")
	mkfifo "$T/in" "$T/out"
	exec 6<>"$T/out"
	timeout 1 head -c 1M /dev/zero >&6 || true # full
	yes "$line" >"$T/in" 3>&- 6>&- &
	STARTED+=("$!")
	background "$T/in" "$T/out" "$T/err" "$GP_BPF" account --json --follow -
	following=$LAST
	until_true grep -q '^SigCgt:.*4002$' "/proc/$following/status"
	kill -INT "$following"
	until_true took_signals "$following"
	kill -INT "$following"
	until_true in_write "$following"
	kill -INT "$following"
	wait_exit "$following"
	equal 130 "$STATUS" "status: $(cat "$T/err")"
}
took_signals() { grep -q '^ShdPnd:[[:space:]]*0*$' "/proc/$1/status"; }
in_write() { [[ $(<"/proc/$1/syscall") == "1 0x1 "* ]]; }

# Its descriptor of the file stands at the end.
all_read() { # pid file
	local fd
	for fd in /proc/"$1"/fd/*; do
		[ "$(readlink "$fd")" = "$2" ] || continue
		[ "$(awk '$1 == "pos:" {print $2}' "/proc/$1/fdinfo/${fd##*/}")" = "$(stat -c %s "$2")" ] && return 0
	done
	return 1
}

@test "--follow --for ends by itself; standard input can be followed" {
	run -0 "$GP_BPF" account --json --follow --for 300ms "$LOG"
	equal "$("$GP_BPF" account --json "$LOG")" "$output"
	mkfifo "$T/fifo"
	background "$T/fifo" "$T/out" "$T/err" "$GP_BPF" account --json --follow -
	local pid=$LAST
	exec 7>"$T/fifo"
	cat "$LOG" >&7
	until_true pipe_empty "$pid"
	kill -INT "$pid"
	wait_exit "$pid"
	exec 7>&-
	equal 0 "$STATUS" "status: $(cat "$T/err")"
	equal "$("$GP_BPF" account --json "$LOG")" "$(cat "$T/out")"
	# Nobody will write any more: there is nothing to wait for.
	equal "$("$GP_BPF" account --json "$LOG")" "$(timeout "$READY_S" "$GP_BPF" account --json --follow - < <(cat "$LOG"))"
}

# Nothing waits in its standard input, and it sleeps.
pipe_empty() { # pid
	python3 - "$1" <<-'EOF'
		import array, fcntl, os, sys, termios
		waiting = array.array("i", [0])
		fd = os.open(f"/proc/{sys.argv[1]}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
		fcntl.ioctl(fd, termios.FIONREAD, waiting)
		state = open(f"/proc/{sys.argv[1]}/stat").read().rsplit(")", 1)[1].split()[0]
		sys.exit(not (waiting[0] == 0 and state == "S"))
	EOF
}

@test "--follow on a terminal redraws, and the last table stands" {
	need_program script
	run -0 script -qec "stty rows 20 cols 80; $GP_BPF account --follow --for 300ms $LOG" /dev/null
	[[ $output == *$'\e[?1049h'*$'\e[H'*"goodput"*$'\e[J'*$'\e[?1049l'*"goodput"*"disruptions"* ]]
}

@test "an output that is closed or full ends with 1 and a line" {
	run -1 --separate-stderr bash -c '"$0" account --json "$1" >/dev/full' "$GP_BPF" "$LOG"
	one_line "standard output" "space"
	# Many jobs into a pipe that nobody reads any more: it ends at once.
	for i in $(seq 300); do log_of "job$i" 60; done >"$T/many"
	run -0 --separate-stderr bash -c '"$0" account --json "$1" | head -1 | wc -l; echo "${PIPESTATUS[0]}"' \
		"$GP_BPF" "$T/many"
	equal $'1\n1' "$output"
	[[ $stderr == *"Broken pipe"* ]]
}

@test "names of jobs and types do not reach the terminal raw" {
	local hostile='\u001b]0;owned\u0007\u009b31m\u202egnp.exe\n\r'
	{
		log_of "$hostile" 20
		echo "{\"job_name\":\"$hostile\",\"custom_badput_event_type\":\"$hostile\",\"custom_badput_event_start_time\":1735725641}"
		echo "{\"job_name\":\"$hostile\",\"custom_badput_event_type\":\"$hostile\",\"custom_badput_event_end_time\":1735725645}"
		echo "{\"job_name\":\"$hostile\",\"elastic_wait_event_type\":\"$hostile\",\"elastic_wait_start_time\":1735725645}"
		printf '{"job_name":"\x1b[2J\xff\n'
	} >"$T/hostile"
	run -0 "$GP_BPF" account "$T/hostile"
	free_of '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' "$output"
	[[ $output == *"]0;owned?"* ]]
	run -0 "$GP_BPF" account --json --log-format json "$T/hostile"
	free_of '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$output"
	run -1 --separate-stderr "$GP_BPF" account --job $'\e[2J' "$LOG"
	[[ $stderr != *$'\e'* ]]
}

@test "the order of the options, --help, and no privilege" {
	local expected
	expected=$("$GP_BPF" account --json --at 1735725650 "$LOG" "$LOG")
	run -0 --separate-stderr "$GP_BPF" account "$LOG" --json "$LOG" --at 1735725650
	equal "$expected" "$output"
	cp "$LOG" "$T/--json"
	cd "$T"
	run -0 "$GP_BPF" account -- --json
	[[ $output == "job llama"* ]]
	run -0 "$GP_BPF" account --help
	[[ $output == *"--semantics NAME"* && $output == *"--follow"* ]]
	run -0 "$GP_BPF" --help=all
	[[ $output =~ "gp-bpf account "\ *"[options] LOG..." ]]
	[ "$EUID" -ne 0 ] || need_program setpriv
	[ "$EUID" -ne 0 ] || run -0 setpriv --reuid 65534 --regid 65534 --clear-groups "$GP_BPF" account - <"$LOG"
	[[ $output == *goodput* ]]
}

# What --dry-run needs, but for what is left out.
dry_run() { # words to leave out; then words to add
	local leave=$1 all=(--now 1735725700 --semantics library --export cloud-monitoring:project=demo-1
		--gcm-workload-metrics --gcm-location us-central1-a --dry-run)
	shift
	for word in $leave; do
		all=("${all[@]/#$word/}")
	done
	mapfile -t all < <(printf '%s\n' "${all[@]}" | grep .)
	run --separate-stderr "$GP_BPF" account "$LOG" "${all[@]}" "$@"
}

@test "--dry-run: requests to Cloud Monitoring as lines of JSON" {
	dry_run "" --rolling 3600,60 --gcm-cluster c1
	equal 0 "$status" "$stderr"
	equal 1 "$(wc -l <<<"$output")" lines
	equal /v3/projects/demo-1/timeSeries "$(jq -r .path <<<"$output")" path
	equal 29 "$(jq -r '.body.timeSeries[] | select(.metric.type | endswith("/max_productive_steps")).points[0].value.int64Value' \
		<<<"$output")" "steps by then"
	equal '["3600","60"]' "$(jq -c '[.body.timeSeries[].metric.labels.rolling_window_size | strings] | unique' <<<"$output")" windows
	equal '["c1"]' "$(jq -c '[.body.timeSeries[].metric.labels.cluster_name | strings] | unique' <<<"$output")" cluster
	equal '["compute.googleapis.com/Workload"]' "$(jq -c '[.body.timeSeries[].resource.type] | unique' <<<"$output")" resource
	# A log of two jobs: both, told apart by their name.
	log_of gpt 20 >>"$LOG"
	dry_run ""
	equal '["gpt","llama"]' "$(jq -c '[.body.timeSeries[].resource.labels.workload_id] | unique' <<<"$output")" jobs
}

@test "--dry-run: a log of 400 custom types is more than one request, each series once" {
	for i in {1..400}; do
		echo "{\"job_name\":\"llama\",\"custom_badput_event_type\":\"T$i\",\"custom_badput_event_start_time\":1735725651.0}"
		echo "{\"job_name\":\"llama\",\"custom_badput_event_type\":\"T$i\",\"custom_badput_event_end_time\":1735725651.001}"
	done >>"$LOG"
	dry_run ""
	equal 0 "$status" "$stderr"
	equal 200 "$(jq -s 'map(.body.timeSeries | length) | max' <<<"$output")" "series of a request"
	equal 400 "$(jq -s '[.[].body.timeSeries[].metric.labels.badput_source | strings | select(startswith("CUSTOM"))] | unique | length' \
		<<<"$output")" "types"
}

@test "--dry-run: what is missing is told in one line" {
	for case in "--dry-run|add --dry-run" "--gcm-workload-metrics|--gcm-workload-metrics" \
		"--semantics library|--semantics library" "--now 1735725700|--now TIME" \
		"--gcm-location us-central1-a|--gcm-location ZONE" "--export cloud-monitoring:project=demo-1|--export"; do
		dry_run "${case%%|*}"
		equal 2 "$status" "$case"
		one_line "${case##*|}"
	done
	run --separate-stderr "$GP_BPF" account "$LOG" --dry-run
	equal 2 "$status" all
	one_line --export --gcm-workload-metrics "--semantics library" "--now TIME" "--gcm-location ZONE" "--gcm-project ID"
	dry_run "" --follow
	equal 2 "$status" follow
	one_line --follow
	dry_run "" --rolling 60,60
	equal 2 "$status" rolling
	one_line --rolling
	dry_run "--export cloud-monitoring:project=demo-1" --export cloud-monitoring
	equal 2 "$status" project
	one_line --gcm-project
	dry_run "--export cloud-monitoring:project=demo-1" --export cloud-monitoring:project=a/b
	equal 2 "$status" "a project with a slash"
	one_line a/b
	dry_run "--export cloud-monitoring:project=demo-1" --export json:-
	equal 2 "$status" "another exporter"
	one_line cloud-monitoring
}
