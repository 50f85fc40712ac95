#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What would be written to Cloud Monitoring, of logs, by Google's own types and client. No probes, no privilege.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib

setup_file() {
	[ -x "$GP_BPF" ] || { echo "no $GP_BPF; make builds it" >&2; return 1; }
}
setup() {
	e2e_setup
	PY=$("$TOP/tests/tools/framework.sh" --find google) || cannot "no google-cloud-monitoring (tests/tools/framework.sh google)"
}
teardown() { e2e_teardown; }

dry_run() { # log further options of gp-bpf account
	"$GP_BPF" account "$@" --semantics library --export cloud-monitoring:project=demo-project --gcm-location us-central1-a \
		--gcm-accelerator NVIDIA-H100 --gcm-workload-metrics --dry-run
}

@test "the goodput library's series of every log are taken, and what Google's own client sends says the same" {
	local log name now written=()
	for log in "$TOP"/tests/account/vectors/*.jsonl; do
		name=$(basename "$log" .jsonl)
		now=$(jq .args.query_time "${log%.jsonl}.expected.json")
		dry_run "$log" --now "$now" --rolling 86400,600 >"$T/$name" 2>"$T/$name.err" || continue
		[ ! -s "$T/$name" ] || written+=("$T/$name")
	done
	[ "${#written[@]}" -gt 20 ] || { echo "dry runs: ${#written[@]}: $(cat "$T"/*.err)" >&2; return 1; }
	run -0 "$PY" "$TOP/tests/servers/google_sent.py" "${written[@]}"
}

@test "each query of the goodput library's dashboard finds data in a log of a job that fell" {
	local log=$TOP/tests/account/vectors/disruption_wasted.jsonl
	dry_run "$log" --now "$(jq .args.query_time "${log%.jsonl}.expected.json")" >"$T/lines"
	run -0 "$PY" "$TOP/tests/servers/dashboard.py" "$T/lines"
	# What looks for data finds none where there is none.
	jq -c '.body.timeSeries |= map(select(.metric.type | endswith("/performance") | not))' "$T/lines" >"$T/less"
	run -1 "$PY" "$TOP/tests/servers/dashboard.py" "$T/less"
	[[ $output == *"Ideal Step Time: nothing of performance"* ]]
	jq -c 'del(.body.timeSeries[].metric.labels.accelerator_type)' "$T/lines" >"$T/less"
	run -1 "$PY" "$TOP/tests/servers/dashboard.py" "$T/less"
	[[ $output == *"without metric.accelerator_type"* ]]
}

@test "hostile names stay labels" {
	awk 'BEGIN { head = "{\"job_name\":\"a\\\"b\\\\c\\n\\u001b[31m\\u00e9\\ud83d\\ude00\","
		print head "\"job_start_time\":1735725600}"; print head "\"training_prep_start_time\":1735725600}"
		for (i = 0; i < 9; i++) print head "\"step_count\":" i ",\"step_start_time\":" 1735725610 + 2 * i ".5}" }' >"$T/log"
	dry_run "$T/log" --now 1735725640 --gcm-cluster "$(printf 'k%.0s' {1..63})" --gcm-replica $'x\xff"y' >"$T/lines"
	run -0 --separate-stderr "$PY" "$TOP/tests/servers/google_sent.py" "$T/lines" # gRPC logs what it likes
	[[ $output == *" series" ]]
}
