#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A Prometheus server that scrapes a live run: the target is up, what it knows of metrics is right, and it has nothing
# to warn of. ALL=1: for a minute.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	need_program curl
	need_program prometheus
	need_program jq
}
teardown() {
	[ -z "${SERVER:-}" ] || { kill "$SERVER" && wait "$SERVER"; } 2>/dev/null || true
	e2e_teardown
}

# Scrapes ADDRESS (an `- ADDRESS` of static_configs) once a second; API answers.
start_prometheus() {
	mkdir "$T/tsdb"
	printf '%s\n' 'global: {scrape_interval: 1s, scrape_timeout: 1s}' 'scrape_configs:' \
		"- {job_name: gp-bpf, static_configs: [{targets: ['$1']}]}" >"$T/prometheus.yml"
	local port
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	prometheus --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/tsdb" --log.level=debug \
		--web.listen-address="127.0.0.1:$port" >"$T/prometheus.log" 2>&1 3>&- 4>&- &
	SERVER=$!
	API=http://127.0.0.1:$port/api/v1
	until_true scraped 1
}
query() { # expression: its value
	curl -sS "$API/query" --data-urlencode "query=$1" | jq -r '.data.result[0].value[1] // "none"'
}
scraped() { # at least so often
	[ "$(query 'count_over_time(up[10m])' | sed 's/none/0/')" -ge "$1" ]
}

@test "a Prometheus server scrapes what it understands" {
	start_job "$TRAIN" load say=held pause steps=23 say=again pause steps=7
	job_line held
	start_watch --pid "$JOB" --quiet --job llama --export prometheus --listen 127.0.0.1:0 --log-level info
	local address n name type unit help
	address=$(sed -nE 's/.*metrics at ([0-9.:]+).*/\1/p' "$T/watch.err" | head -1)
	job_go
	job_line again
	start_prometheus "$address"
	until_true scraped 15
	[ -z "${ALL:-}" ] || for n in 30 45 60; do until_true scraped "$n"; done
	equal up "$(curl -sS "$API/targets" | jq -r '.data.activeTargets[0].health')" target
	equal "" "$(curl -sS "$API/targets" | jq -r '.data.activeTargets[0].lastError')" error
	equal 23 "$(query 'gpbpf_steps_total{job_id="llama"}')" steps
	equal 22 "$(query 'gpbpf_job_step_seconds_bucket{job_id="llama",le="+Inf"}')" "the last bucket"
	equal 22 "$(query 'gpbpf_job_step_seconds_count')" count
	equal 1 "$(query 'count(gpbpf_steps_total * on (job_id, rank, pid) group_left (comm) gpbpf_rank_info)')" "joined on"
	equal 0 "$(query 'sum(resets(gpbpf_events_total[10m]))')" "counters that fell"
	curl -sS "$API/metadata" >"$T/metadata"
	# Every metric that it stores is one of the list, with the list's type (INFO is a gauge in the text format).
	"$GP_BPF" schema --metrics >"$T/list"
	run -0 jq -r '.data | to_entries[] | [.key, .value[0].type, .value[0].unit, .value[0].help] | join("|")' "$T/metadata"
	[ "${#lines[@]}" -gt 30 ]
	while IFS='|' read -r name type unit help; do
		awk -F '\t' -v n="$name" -v t="$type" -v u="$unit" -v h="$help" '
			function family(s) { sub(/_(total|info)$/, "", s); return s }
			($1 == n || family($1) == n) && ($2 == t || ($2 == "info" && t == "gauge")) && (u == "" || u == $3) && h == $5 { ok = 1 }
			END { exit !ok }' "$T/list" || { echo "not in the list: $name $type $unit $help" && return 1; }
	done <<<"$output"
	run -1 grep -iE 'out.of.order|duplicate|level=(warn|error).*scrape' "$T/prometheus.log"
	job_go
	job_end
	watch_end
}
