#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gp-bpf account --store: logs of old in the store, and what jobs and report say of them. No probes, no privilege.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() {
	[ -x "$GP_BPF" ] || { echo "no $GP_BPF; make builds it" >&2; return 1; }
}
setup() {
	e2e_setup
	VECTORS=$BATS_TEST_DIRNAME/../account/vectors
	STORE=$T/store.db
}
teardown() { e2e_teardown; }

put() { # logs...
	run -0 --separate-stderr "$GP_BPF" account --quiet --json --store "$STORE" "$@"
}
jobs_json() { "$GP_BPF" jobs --json --store "$STORE"; }

# All that a report has in common with the answer, as integers: ns, counts, steps.
of_report='{
	elapsed: .elapsed_ns,
	buckets: (.buckets | with_entries(select(.value > 0))),
	disruptions: .disruptions_count,
	max_step: (.max_step // 0),
	times: .step_time.count,
	sum: ([.buckets[]] | add)
}'
# Types of custom events lie one below the others there; DATA_LOADING_ASYNC is beside the sum; exact zeros are left out.
of_answer='def ns: . * 1e9 | round;
(.step_time_s.count // 0) as $times | .cumulative | {
	elapsed: (.total_job_time_s | ns),
	buckets: ([.unproductive_time_s | to_entries[] | select(.key != "DATA_LOADING_ASYNC") |
			if .value | type == "object"
			then .key as $custom | .value | to_entries[] | {key: "\($custom).\(.key)", value: (.value | ns)}
			else {key, value: (.value | ns)} end] +
		[{key: "GOODPUT", value: (.productive_time_s | ns)}] | map(select(.value > 0)) | from_entries),
	disruptions,
	max_step: .max_productive_step,
	times: $times,
	sum: (.total_job_time_s | ns)
}'

@test "every log of the vectors: the report's sums are the answer's" {
	local log n=0
	for log in "$VECTORS"/*.jsonl "$VECTORS"/*.jsonl.gz; do
		[ -e "$log" ] || continue
		n=$((n + 1))
		rm -f "$STORE"*
		put "$log"
		[ -e "$STORE" ] || continue # it tells of no time
		equal "$(jq -S "$of_answer" <<<"$output")" \
			"$("$GP_BPF" report --json --store "$STORE" | jq -S "$of_report")" "$log"
		equal '"log"' "$("$GP_BPF" report --json --store "$STORE" | jq .source)" source
	done
	[ "$n" -ge 30 ]
}

@test "a log twice counts once; a longer one takes its place, a shorter one does not" {
	local log=$VECTORS/reset_counter.jsonl once
	[ -e "$log" ] || log=$(find "$VECTORS" -name '*.jsonl' -size +8k | sort | head -1)
	put "$log"
	once=$(jobs_json)
	put "$log"
	equal "" "$stderr" "what was said"
	equal "$once" "$(jobs_json)" "after the second time"
	"$GP_BPF" mark --store "$STORE" 1 "a note"
	head -n 20 "$log" >"$T/shorter"
	run -0 --separate-stderr "$GP_BPF" account --json --store "$STORE" "$T/shorter"
	[[ $stderr == *"not stored: job "*" already has more of this job than the log"* ]]
	equal "$once" "$(jobs_json)" "after the shorter one"
	rm "$STORE"*
	put "$T/shorter"
	"$GP_BPF" mark --store "$STORE" 1 "a note"
	put "$log"
	equal "$(jq '.jobs[0]' <<<"$once")" "$(jobs_json | jq '.jobs[0]')" "after the longer one"
	equal 1 "$(jobs_json | jq '.jobs | length')" jobs
	equal '["a note"]' "$("$GP_BPF" report --json --store "$STORE" | jq -c '[.marks[].text]')" marks
}

# A job of so many steps of 2 s from an instant on; no end.
log_of() { # job start steps
	awk -v job="$1" -v t="$2" -v steps="$3" 'BEGIN {
		head = "{\"job_name\":\"" job "\","
		print head "\"job_start_time\":" t "}"
		for (i = 0; i < steps; i++)
			print head "\"step_count\":" i ",\"step_start_time\":" t + 2 * i ".0}"
	}'
}

@test "parts of a log: together one job; those that overlap are refused; other times are other jobs" {
	log_of llama 1735725600 31 >"$T/one"
	log_of llama 1735725630 31 >"$T/two"
	log_of llama 1735812000 11 >"$T/next-day"
	put "$T/one"
	run -1 --separate-stderr "$GP_BPF" account --quiet --json --store "$STORE" "$T/two"
	[[ $stderr == *"overlaps"*"name all logs of the job in one command"* ]]
	put "$T/next-day"
	equal '[10,30]' "$(jobs_json | jq -c '[.jobs[].steps]')" "steps of the jobs"
	put "$T/one" "$T/two"
	equal 2 "$(jobs_json | jq '.jobs | length')" jobs
	equal 90000000000 "$(jobs_json | jq '.jobs[1].elapsed_ns')" "elapsed time of both parts"
}

@test "another log of that name from the same instant is refused, whichever comes first; what is stored is told" {
	local a=$VECTORS/disruption_wasted.jsonl b=$VECTORS/elastic.jsonl first
	for first in "$a" "$b"; do
		rm -f "$STORE"*
		run -0 --separate-stderr "$GP_BPF" account --json --store "$STORE" "$first"
		[[ ${stderr##*$'\n'} == *"job job: stored as job 1 in $STORE" ]]
		first=$(jobs_json)
		for other in "$a" "$b"; do
			"$GP_BPF" account --quiet --json --store "$STORE" "$other" >/dev/null 2>>"$T/said" || echo refused >>"$T/said"
		done
		equal "$first" "$(jobs_json)" "what is stored"
	done
	equal 2 "$(grep -c "neither continues the other; name all logs" "$T/said")" "what was said"
	equal 2 "$(grep -c refused "$T/said")" "exit status"
}

@test "runs, disruptions, checkpoints: text, object and page" {
	cat >"$T/log" <<-'EOF'
		{"job_name":"llama","job_start_time":1735725600}
		{"job_name":"llama","step_count":0,"step_start_time":1735725610}
		{"job_name":"llama","step_count":1,"step_start_time":1735725612}
		{"job_name":"llama","step_count":2,"step_start_time":1735725614}
		{"job_name":"llama","step":2,"event_type":"save","directory":"gs://b","checkpoint_manager_blocking_start_time":1735725615,"checkpoint_manager_blocking_duration_secs":1.5}
		{"job_name":"llama","step_count":3,"step_start_time":1735725618}
		{"job_name":"llama","step_count":4,"step_start_time":1735725620}
		{"job_name":"llama","job_start_time":1735725660}
		{"job_name":"llama","step":2,"event_type":"restore","directory":"gs://b","checkpointer_start_time":1735725661,"checkpointer_duration_secs":1.8,"checkpoint_manager_start_time":1735725661,"checkpoint_manager_duration_secs":2}
		{"job_name":"llama","step_count":3,"step_start_time":1735725670}
		{"job_name":"llama","step_count":4,"step_start_time":1735725672}
		{"job_name":"llama","step_count":5,"step_start_time":1735725674}
		{"job_name":"llama","job_end_time":1735725676}
	EOF
	put "$T/log"
	run -0 "$GP_BPF" jobs --store "$STORE"
	[[ $output == *"llama (log)"*"ended"*" 2 "*" 1 "* ]]
	run -0 "$GP_BPF" report --store "$STORE" llama
	[[ $output == *"from its log, not watched"* ]]
	[[ $output == *"run 1, ended unseen"*"run 2, finished"* ]]
	[[ $output == *"unknown"*"4 → 3"* ]]
	[[ $output == *"read, written after step 2"* ]]
	run -0 "$GP_BPF" report --json --store "$STORE" llama
	equal '["save",2,1500000000]' "$(jq -c '.checkpoints[0] | [.op, .step, .duration_ns]' <<<"$output")" save
	equal '["restore",2,"log",null]' "$(jq -c '.checkpoints[1] | [.op, .saved_step, .match, .confidence]' <<<"$output")" restore
	equal '[4,3,40000000000,1]' "$(jq -c '.disruptions[0] | [.step, .resumed_step, .down_ns, .starts]' <<<"$output")" disruption
	equal "$(jq '.disruptions[0].recovery_ns' <<<"$output")" "$(jq '[.disruptions[0].recovery[]] | add' <<<"$output")" \
		"recovery by bucket"
	run -0 "$GP_BPF" report --html "$T/page.html" --store "$STORE" llama
	grep -q "This job was not watched" "$T/page.html"
	grep -q "read, written after step 2" "$T/page.html"
}

# Elapsed and what is left out are the whole; text, object and page say the same.
left_out_is() { # seconds of the whole, seconds left out
	local page
	run -0 "$GP_BPF" report --json --store "$STORE" 1
	equal "$2" "$(jq '.excluded_ns / 1e9' <<<"$output")" "left out"
	equal "$1" "$(jq '(.elapsed_ns + .excluded_ns) / 1e9 | floor' <<<"$output")" whole
	equal 0 "$(jq '.elapsed_ns - ([.buckets[]] | add)' <<<"$output")" "what the buckets leave over"
	"$GP_BPF" report --html "$T/page.html" --store "$STORE" 1
	page=$(grep -o 'class="elapsed_ns" value="[0-9]*"' "$T/page.html" | grep -o '[0-9]*')
	equal "$(jq .elapsed_ns <<<"$output")" "$page" "elapsed of the page"
	equal 1 "$("$GP_BPF" report --store "$STORE" 1 | grep -c '= elapsed')" "the sum of the text"
}
left_out() { # FROM TO, of 2025-01-01, one after the other; what was before is taken back
	local id
	for id in $("$GP_BPF" exclude --list --json --store "$STORE" 2>/dev/null | jq '.exclusions[].id'); do
		"$GP_BPF" exclude --remove "$id" --store "$STORE"
	done
	while [ "$#" -gt 1 ]; do
		"$GP_BPF" exclude --store "$STORE" "2025-01-01T$1Z" "2025-01-01T$2Z" maintenance
		shift 2
	done
}

@test "what is left out: overlapping, beyond the ends, at a disruption, everything, taken back" {
	put "$VECTORS/multi_restart.jsonl" # 10:00:00 to 10:42:13; a disruption at 10:03:35
	left_out_is 2533 0
	left_out 10:05:00 10:08:00 10:07:00 10:10:00 10:07:00 10:08:00
	left_out_is 2533 300
	left_out 09:00:00 10:02:00
	left_out_is 2533 120
	left_out 10:03:30 10:03:40 # minutes are whole
	left_out_is 2533 60
	left_out 10:40:00 12:00:00
	left_out_is 2533 133.275818
	left_out 08:00:00 09:00:00
	left_out_is 2533 0
	left_out 09:00:00 12:00:00
	left_out_is 2533 2533.275818
	left_out
	left_out_is 2533 0
}

@test "a part of the time is whole minutes, in the head as in the sums and the lists" {
	put "$VECTORS/multi_restart.jsonl" # a disruption at 10:03:35
	run -0 "$GP_BPF" report --json --store "$STORE" --since 2025-01-01T10:03:50Z --until 2025-01-01T10:04:10Z 1
	equal '["2025-01-01T10:03:00","2025-01-01T10:05:00"]' "$(jq -c '[.from, .to | .[:19]]' <<<"$output")" span
	equal '["2025-01-01T10:03:00","2025-01-01T10:05:00"]' "$(jq -c '[.since, .until | .[:19]]' <<<"$output")" "told span"
	equal 120 "$(jq '.elapsed_ns / 1e9 | round' <<<"$output")" elapsed
	equal '["2025-01-01T10:03:35"]' "$(jq -c '[.disruptions[].at[:19]]' <<<"$output")" disruptions
	equal 1 "$(jq ".runs | length" <<<"$output")" runs
	run -0 "$GP_BPF" report --store "$STORE" --since 2025-01-01T10:04:00Z --until 2025-01-01T10:05:00Z 1
	[[ $output == *"10:04:00 to 2025-01-01 10:05:00 UTC, elapsed 1 m 00 s"* ]]
}

@test "a job that went on when its watch ended is unseen, not running" {
	local seen
	put "$VECTORS/multi_restart.jsonl"
	equal null "$(jobs_json | jq '.jobs[0].watched')" "watched, of a log"
	for seen in 0 600; do # seconds ago
		python3 - "$STORE" "$seen" <<-'PY'
			import sqlite3, sys, time
			store = sqlite3.connect(sys.argv[1])
			store.execute("UPDATE jobs SET source = '', state = 'running'")
			store.execute("UPDATE ranks SET until_ns = ?", (time.time_ns() - int(sys.argv[2]) * 10**9,))
			store.commit()
		PY
		run -0 "$GP_BPF" jobs --store "$STORE"
		if [ "$seen" = 0 ]; then
			[[ $output == *running* && $output != *unseen* ]]
			[[ $("$GP_BPF" report --store "$STORE" 1) == "job job  running"* ]]
			equal '["running",true]' "$(jobs_json | jq -c '.jobs[0] | [.state, .watched]')" jobs
			continue
		fi
		[[ $output == *unseen* && $output != *running* ]]
		[[ $("$GP_BPF" report --store "$STORE" 1) == "job job  unseen"* ]]
		equal '["running",false]' "$(jobs_json | jq -c '.jobs[0] | [.state, .watched]')" jobs
		equal '["running",false]' "$("$GP_BPF" report --json --store "$STORE" 1 | jq -c '[.state, .watched]')" report
	done
}

@test "where the store is; several jobs; what does not go with it" {
	cat <(log_of one 1735725600 9) <(log_of two 1735725600 9) <(log_of $'x\e[31m<b>' 1735725600 9) >"$T/log"
	run -0 --separate-stderr "$GP_BPF" account --quiet --json --store default --state-dir "$T/state" "$T/log"
	run -0 "$GP_BPF" jobs --state-dir "$T/state"
	[[ $output == *"one (log)"* && $output == *"two (log)"* && $output != *$'\e'* ]]
	run -0 --separate-stderr "$GP_BPF" account --quiet --json --store "$STORE" --job two "$T/log"
	equal '["two"]' "$(jobs_json | jq -c '[.jobs[].name]')" "jobs of --job two"
	for words in "--semantics library" "--now 1735725700"; do
		# shellcheck disable=SC2086 # words
		run -2 --separate-stderr "$GP_BPF" account --store "$T/no.db" $words "$T/log"
		[[ $stderr == *"--store does not work with"* ]]
	done
	run -0 --separate-stderr "$GP_BPF" account --quiet --json --store none --now 1735725700 "$T/log"
	echo "not a store" >"$T/precious"
	run -1 --separate-stderr "$GP_BPF" account --quiet --json --store "$T/precious" "$T/log"
	[[ $stderr == *"not a store of gp-bpf"* ]]
	[ "$(wc -l <<<"$output")" -eq 3 ] # the answer is there all the same
	[ ! -e "$T/no.db" ]
}
