#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The metrics endpoint, of a live run.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	need_program curl
}
teardown() { e2e_teardown; }

# A job that has taken 23 steps and waits, watched; URL answers, with the metrics of all 23.
watched_job() { # operations of the job after those steps
	start_job "$TRAIN" load say=held pause steps=23 say=again pause "$@"
	job_line held
	start_watch --pid "$JOB" --quiet --export "json:$T/out" --export prometheus --listen 127.0.0.1:0 --log-level info
	URL=http://$(sed -nE 's/.*metrics at ([0-9.:]+).*/\1/p' "$T/watch.err" | head -1)
	job_go
	job_line again
	until_true steps_shown 23
}

metric() { # name [more that the line holds]
	curl -sS "$URL/metrics" | grep -E "^$1(\{| )" | grep -F -- "${2:-}" | sed 's/.* //'
}
steps_shown() { [ "$(metric gpbpf_steps_total)" = "$1" ]; }

@test "promtool finds nothing to say" {
	need_program promtool
	watched_job steps=7
	curl -sS "$URL/metrics" >"$T/page"
	run -0 promtool check metrics <"$T/page"
	equal "" "$output"
	grep -q '^gpbpf_' "$T/page"
	equal 0 "$(grep -v '^#' "$T/page" | grep -vcE '^(gpbpf|process)_')" "names without the prefix"
	job_go
	job_end
	watch_end
}

@test "a strict reader of OpenMetrics finds nothing to say" {
	/usr/bin/python3 -c 'import prometheus_client' || skip "python3-prometheus-client is missing (make deps)"
	watched_job steps=7
	curl -sS -H 'Accept: application/openmetrics-text;version=1.0.0' "$URL/metrics" >"$T/page"
	run -0 "$TOP/tests/tools/openmetrics.py" <"$T/page"
	equal "# EOF" "$(tail -1 "$T/page")" "last line"
	grep -qE '^gpbpf_productive_seconds_created\{.*\} 1[0-9]{9}$' "$T/page"
	job_go
	job_end
	watch_end
}

@test "content type, health, readiness, what is not there" {
	watched_job
	run -0 curl -sS -o /dev/null -w '%{http_code} %{content_type}' "$URL/metrics"
	[[ $output == "200 text/plain; version=0.0.4"* ]]
	equal 200 "$(curl -sS -o /dev/null -w '%{http_code}' "$URL/healthz")" healthz
	equal 200 "$(curl -sS -o /dev/null -w '%{http_code}' "$URL/readyz")" readyz
	equal 404 "$(curl -sS -o /dev/null -w '%{http_code}' "$URL/other")" other
	equal 405 "$(curl -sS -o /dev/null -w '%{http_code}' -X POST -d x "$URL/metrics")" POST
	job_go
	job_end
	watch_end
}

@test "metrics agree with the JSON lines" {
	watched_job steps=7
	equal 23 "$(metric gpbpf_steps_total)" steps
	equal 23 "$(metric gpbpf_job_step_number)" number
	# When the first one began is not known to who came later: it is no sample of the step time.
	equal 22 "$(metric gpbpf_step_seconds_count)" count
	local sum elapsed
	sum=$(metric gpbpf_step_seconds_sum)
	curl -sS "$URL/metrics" >"$T/page"
	# In each page the buckets of its only rank add up to what has elapsed of the job.
	run -0 awk '/^gpbpf_time_seconds\{/ { sum += $NF } /^gpbpf_job_elapsed_seconds\{/ { e = $NF }
		END { d = sum - e; exit !(e > 0 && d < 1e-6 && d > -1e-6) }' "$T/page"
	job_go
	job_end
	watch_end
	steps_are 30 "$T/out"
	elapsed=$(of_type step "$T/out" .duration_ns | sed -n 2,23p | jq -s 'add / 1e9')
	run -0 jq -n --argjson a "$sum" --argjson b "$elapsed" '($a - $b) | fabs < 1e-6'
	equal true "$output" "sum of the step times, $sum and $elapsed"
}

@test "64 clients at once" {
	watched_job steps=101
	local i args=()
	for i in $(seq 64); do
		args+=(-o "$T/page.$i" "$URL/metrics")
	done
	job_go
	run -0 curl -sS --fail --parallel --parallel-immediate --parallel-max 64 "${args[@]}"
	for i in $(seq 64); do
		grep -q '^gpbpf_up 1$' "$T/page.$i"
	done
	job_end
	watch_end
	steps_are 124 "$T/out"
	equal 0 "$(count_lines loss "$T/out")" losses
}

@test "clients that ask and never read disturb nobody" {
	watched_job steps=101
	local address=${URL#http://} i
	for i in $(seq 32); do
		exec {fd}<>"/dev/tcp/${address%:*}/${address##*:}"
		for _ in $(seq 8); do
			printf 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' >&"$fd"
		done
	done
	job_go
	run -0 curl -sS --fail --max-time 60 "$URL/metrics"
	job_end
	watch_end
	steps_are 124 "$T/out"
	equal 0 "$(count_lines loss "$T/out")" losses
}

@test "a port in use is told in one line, and nothing is started" {
	watched_job
	run -1 --separate-stderr "$GP_BPF" run --quiet --listen "${URL#http://}" -- touch "$T/started"
	equal 1 "$(grep -c . <<<"$stderr")" lines
	[[ $stderr == *"${URL#http://}"*"in use"* ]]
	[ ! -e "$T/started" ]
	run -2 "$GP_BPF" run --quiet --listen nowhere -- true
	job_go
	job_end
	watch_end
}

@test "a unix socket" {
	start_job "$TRAIN" load say=held pause steps=23
	job_line held
	start_watch --pid "$JOB" --quiet --listen "unix:$T/socket"
	run -0 curl -sS --fail --unix-socket "$T/socket" http://x/healthz
	job_go
	job_end
	watch_end
	[ ! -e "$T/socket" ]
}

@test "hostile names stay labels" {
	start_job "$GP_BPF" run --quiet --job $'a"b\\c\nd\e[31m' --listen "unix:$T/socket" -- "$TRAIN" load wait steps=23 say=held pause
	job_line held
	until_true curl -sS --fail --unix-socket "$T/socket" http://x/readyz
	curl -sS --unix-socket "$T/socket" http://x/metrics >"$T/page"
	need_program promtool
	run -0 promtool check metrics <"$T/page"
	run -1 grep $'\e' "$T/page"
	job_end
}
