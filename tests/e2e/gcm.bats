#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Cloud Monitoring, of live runs, against a stand-in that refuses what the service refuses and fails as services do.

# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib
load gcm

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	need_program curl
	need_program openssl
	BESIDE=()
	GCM_SPACING=1 # where the service's own is not what is looked at; a request has as long
}
teardown() { e2e_teardown; }

down() { curl -sS "$URL/metrics" | grep -q '^gpbpf_export_up{.*cloud-monitoring.* 0$'; }
written_more_than() { [ "$(gcm_count "$gcm_writes")" -gt "$1" ]; }
written_times() { [ "$(gcm_count "$gcm_writes and .status == 200")" -ge "$1" ]; }
# So many faults were played, and something was written after the last one.
good_after() { # faults
	jq -s -e --argjson n "$1" '[keys[] as $i | select(.[$i].fault) | $i] as $at | ($at | length) == $n and
		any(.[$at[-1]:][]; .fault == null and .status == 200 and ('"$gcm_writes"'))' "$T/gcm.journal"
}
steps_written() { [ "$(gcm_value job/step_number)" = "$1" ]; }

@test "a job's series, and the goodput library's: nothing is refused" {
	GCM_SPACING=5
	gcm_start
	gcm_job --gcm-workload-metrics
	until_true gcm_has "$gcm_writes and .status == 200"
	job_go
	job_line more
	until_true steps_written 30
	gcm_job_end
	gcm_refused_nothing
	equal 30 "$(gcm_value job/step_number)" "last step"
	equal 0 "$(gcm_count "(.path | contains(\"createService\")) or .authorized == false")" "requests without a token, or of another kind"
	[ -n "$(gcm_value workload/goodput_time)" ] || { echo "none of the library's" >&2; return 1; }
	# The library's dashboard shows it.
	run -0 python3 "$SERVERS/dashboard.py" "$T/gcm.journal"
	# What is cumulative has a descriptor of its own, created before.
	gcm_has '.method == "POST" and (.path | endswith("/metricDescriptors")) and .status == 200'
}

# Of each the job and its observation know nothing, and the next good answer finds the newest points.
play() { # faults...
	local i n=0 fault faults=("$@")
	gcm_start
	gcm_job
	until_true gcm_has "$gcm_writes and .status == 200"
	# Two in a row: more would only be waits that grow.
	for ((i = 0; i < ${#faults[@]}; i += 2)); do
		for fault in "${faults[@]:i:2}"; do
			gcm_control "{\"fault\": \"$fault,times=1\"}"
			n=$((n + 1))
		done
		until_true good_after "$n"
	done
	for fault in "${faults[@]}"; do
		gcm_has ".fault == \"${fault%%,*}\""
	done
	equal 0 "$(gcm_count '.path == "/elsewhere"')" "redirects followed"
	job_go
	job_line more
	until_true steps_written 30
	gcm_job_end
	# A point that the service took although it said otherwise is refused when it is sent again: nothing else is.
	equal "" "$(jq -c 'select(.rule != 0 and .rule != 24 and .rule != 15 and .rule != 16) | {rule, message}' "$T/gcm.journal")" "broken rules"
}

# Of each the job and its observation know nothing, and the next good answer finds the newest points.
# What they mean point by point is tried with a clock of its own elsewhere.
@test "replies that fail, one after the other: neither the job nor what is observed is disturbed" {
	gcm_beside first play '429,retry_after=1' 500-after html huge
	gcm_beside second play 'redirect,to=/elsewhere' half reset 'partial,every=3'
	if [ -n "${ALL:-}" ]; then
		gcm_beside third play 429 '429,retry_info=0.5s' 500 503 504-after 408
		gcm_beside fourth play ok-garbage ok-html garbage reset-early 'partial,code=13'
	fi
	gcm_beside_end
}

@test "replies that never end: neither the job nor what is observed is disturbed" {
	local fault
	gcm_start
	gcm_job
	until_true gcm_has "$gcm_writes and .status == 200"
	for fault in slow,every_ms=1000 shut hang; do
		gcm_control "{\"fault\": \"$fault,times=1\"}"
		until_true gcm_has ".fault == \"${fault%%,*}\""
	done
	gcm_control '{"fault": "hang"}' # at the end too
	job_go
	job_line more
	gcm_job_end
}

@test "a service that is not there: the job goes on, what was dropped is told by cause" {
	gcm_start
	GCM=http://127.0.0.1:1 gcm_job
	until_true down
	dropped() { [ "$(gcm_dropped unavailable)" != 0 ] || [ "$(gcm_dropped superseded)" != 0 ] || [ "$(gcm_metric waiting cloud-monitoring)" != 0 ]; }
	until_true dropped
	job_go
	job_line more
	gcm_job_end
}

nobody() { # URL
	GCM=$1 gcm_job
	until_true down
	job_go
	job_line more
	gcm_job_end
}
@test "names that do not resolve, certificates of nobody" {
	GCM_SPACING=5 # of a stand-in that http leads to alone there may be less
	gcm_start
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -batch -subj /CN=127.0.0.1 \
		-addext subjectAltName=IP:127.0.0.1 -keyout "$T/tls.key" -out "$T/tls.cert" 2>"$T/openssl"
	background /dev/null "$T/tls.out" "$T/tls.err" python3 "$SERVERS/monitoring.py" --port-file "$T/tls.port" \
		--journal "$T/tls.journal" --tls "$T/tls.cert" "$T/tls.key"
	until_true test -s "$T/tls.port"
	gcm_beside name nobody https://nowhere.invalid
	gcm_beside certificate nobody "https://127.0.0.1:$(cat "$T/tls.port")"
	gcm_beside plain nobody "https://${GCM#http://}"
	gcm_beside_end
	[ ! -s "$T/tls.journal" ] || { echo "it wrote to a stranger" >&2; return 1; }
}

@test "a token that is refused is renewed; one that ends is too" {
	GCM_SPACING=3
	gcm_start
	gcm_job
	until_true gcm_has "$gcm_writes and .status == 200"
	gcm_control '{"expire_tokens": true}'
	until_true gcm_has '.status == 401'
	until_true written_times 2
	gcm_control '{"fault": "401,times=1"}'
	until_true gcm_has '.fault == "401"'
	job_go
	job_line more
	until_true steps_written 30
	gcm_job_end
	equal 0 "$(gcm_dropped denied 2>/dev/null)" "points dropped"
	equal 0 "$(gcm_count '.rule != 0 and .rule != 2 and .rule != 24')" "broken rules"
}

@test "another project's points are denied: told once, and by cause" {
	gcm_start --project another-project
	gcm_control '{"fault": "403,on=all"}'
	gcm_job
	denied() { [ "$(gcm_dropped denied)" -gt 0 ]; }
	until_true denied
	job_go
	job_line more
	gcm_job_end
	equal 1 "$(grep -c 'points were not written (denied)' "$T/job.err")" "lines: $(cat "$T/job.err")"
}

@test "no credentials: one line, and the job goes on" {
	gcm_start
	gcm_options
	# At the start, before there is a step to write.
	GOOGLE_APPLICATION_CREDENTIALS=$T/none.json start_job "$GP_BPF" run "${OPTIONS[@]}" -- sh -c 'read -r go; exec "$0" load wait steps=30' "$TRAIN"
	until_true grep -q 'nothing can be written: .*none.json' "$T/job.err"
	job_go
	gcm_job_end
	equal 1 "$(grep 'none.json' "$T/job.err" | grep -vc 'last write failed')" "lines: $(cat "$T/job.err")"
	equal 0 "$(gcm_count "$gcm_writes")" "requests without a token"
	! grep -qE 'ya29|secret|refresh_token' "$T/job.err" || { echo "secrets in the log" >&2; return 1; }
}

# A pod that a network policy keeps from the metadata server has credentials of its own.
no_metadata() {
	GCM_SPACING=5
	gcm_start
	GCM_SPACING=60 # ten of these it is waited for
	export METADATA_SERVER_DETECTION=assume-present GCE_METADATA_HOST=127.0.0.1:1 NODE_NAME=node-1
}
@test "a metadata server out of reach: not asked where options say all" {
	no_metadata
	gcm_job --gcm-cluster c1 --gcm-accelerator NVIDIA-H100 --gcm-workload-metrics
	until_true gcm_has "$gcm_writes and .status == 200"
	job_go
	job_line more
	gcm_job_end
	equal 0 "$(gcm_dropped superseded 2>/dev/null)" "points dropped"
	gcm_refused_nothing
}

@test "a metadata server out of reach: a job that ends meanwhile is written at its end" {
	no_metadata
	gcm_job
	until_true down
	waits() { [ "$(gcm_dropped superseded)" -gt 0 ]; }
	until_true waits
	equal 0 "$(gcm_count "$gcm_writes")" "requests"
	job_go
	job_line more
	gcm_job_end
	until_true steps_written 30
	gcm_refused_nothing
}

@test "no project: what is not written is counted" {
	gcm_start
	gcm_options
	for i in "${!OPTIONS[@]}"; do
		[[ ${OPTIONS[i]} != cloud-monitoring:project=* ]] || OPTIONS[i]=cloud-monitoring
	done
	start_job "$GP_BPF" run "${OPTIONS[@]}" -- "$TRAIN" load wait steps=23 say=held pause
	job_line held
	URL=http://$(sed -nE 's/.*metrics at ([0-9.:]+).*/\1/p' "$T/job.err" | head -1)
	missing() { [ "$(gcm_dropped missing)" -gt 0 ]; }
	until_true missing
	job_go
	job_end
	equal 1 "$(grep -c 'no project: neither ' "$T/job.err")" "lines: $(cat "$T/job.err")"
}

@test "two projects: each keeps what it could not write in a folder of its own" {
	gcm_start
	gcm_options
	start_job "$TRAIN" load say=held pause steps=23 say=more pause
	job_line held
	WATCH_NAME=1 start_watch --state-dir "$T/state" "${OPTIONS[@]}" --export cloud-monitoring:project=other-project --pid "$JOB"
	kept() { [ -s "$T/state/cloud-monitoring-demo-project/tracks" ] && [ -s "$T/state/cloud-monitoring-other-project/tracks" ]; }
	job_go
	job_line more
	until_true kept
	job_go
	job_end
	watch_end
	run ! grep -F "in use by another process" "$T/1.err"
	[ ! -e "$T/state/cloud-monitoring" ]
}

@test "a service whose clock is 10 min behind: points are dropped as invalid, ahead: all are taken" {
	GCM_SPACING=3
	gcm_start
	gcm_control '{"skew_s": 600}'
	gcm_job
	until_true gcm_has "$gcm_writes and .status == 200"
	gcm_refused_nothing
	gcm_control '{"skew_s": -600}'
	until_true gcm_has '.rule == 14'
	invalid() { [ "$(gcm_dropped invalid)" -gt 0 ]; }
	until_true invalid
	job_go
	job_line more
	gcm_job_end
	equal 0 "$(gcm_count '.rule != 0 and .rule != 14 and .rule != 24')" "broken rules"
}

# The second one's first points are not too soon after the first one's last, nor does what counts begin before.
@test "a restart: nothing is refused" {
	local n
	GCM_SPACING=5
	gcm_start
	gcm_options
	start_job "$TRAIN" load say=held pause steps=23 say=more pause steps=7 say=again pause
	job_line held
	WATCH_NAME=1 start_watch --state-dir "$T/state" "${OPTIONS[@]}" --pid "$JOB"
	job_go
	job_line more
	until_true steps_written 23
	kill -INT "$WATCH"
	watch_end
	[ -s "$T/state/cloud-monitoring/tracks" ]
	n=$(gcm_count "$gcm_writes")
	rm "$T/out"
	WATCH_NAME=2 start_watch --state-dir "$T/state" "${OPTIONS[@]}" --pid "$JOB"
	job_go
	job_line again
	until_true written_more_than "$n"
	job_go
	job_end
	watch_end
	gcm_refused_nothing
	equal 7 "$(gcm_value job/step_count)" "steps of the second"
}

@test "descriptors that take a while: points wait for them" {
	GCM_SPACING=3
	gcm_start --async 3000
	gcm_job
	job_go
	job_line more
	until_true steps_written 30
	gcm_job_end
	equal 0 "$(gcm_count '.rule != 0 and .rule != 23')" "broken rules"
}

# The predecessor's last request has no answer. Nobody reads the rings until it is gone.
@test "a service that hangs does not hold up a successor" {
	local first
	GCM_SPACING=5
	gcm_start
	gcm_options
	start_job "$TRAIN" load say=held pause steps=23 say=more pause steps=7
	job_line held
	WATCH_NAME=1 start_watch --durable --state-dir "$T/state" "${OPTIONS[@]}" --pid "$JOB"
	first=$WATCH
	job_go
	job_line more
	until_true gcm_has "$gcm_writes and .status == 200"
	gcm_control '{"fault": "hang"}'
	until_true gcm_has '.fault == "hang"'
	WATCH_NAME=2 start_watch --durable --state-dir "$T/state" "${OPTIONS[@]}" --takeover
	wait_exit "$first"
	equal 0 "$STATUS" "status of the first: $(cat "$T/2.err")"
	run ! grep -F "did not hand over" "$T/2.err"
	job_go
	job_end
	watch_end
	steps_are 30 "$T/out"
	equal 0 "$(count_lines loss "$T/out")" losses
}

@test "what a dry run prints is what Google's own client sends" {
	PY=$("$TOP/tests/tools/framework.sh" --find google) || cannot "no google-cloud-monitoring (tests/tools/framework.sh google)"
	GCM=http://127.0.0.1:1
	"$GP_BPF" run --quiet --dry-run --export cloud-monitoring:project=demo-project --gcm-interval 5s --job gcm-job \
		--gcm-location us-central1-a --gcm-workload-metrics -- "$TRAIN" load wait steps=23 >"$T/all" 2>"$T/err"
	grep '^{"path"' "$T/all" >"$T/lines"
	run -0 "$PY" "$SERVERS/google_sent.py" "$T/lines"
}

@test "options of Cloud Monitoring that nothing comes of are told" {
	run -2 --separate-stderr "$GP_BPF" run --dry-run -- true
	[[ $stderr == "gp-bpf: --dry-run: "*"--export cloud-monitoring" ]]
	run -0 --separate-stderr "$GP_BPF" run --quiet --gcm-project demo-project --gcm-workload-metrics -- true
	[[ $stderr == "gp-bpf: warning: --gcm-project: has no effect without --export cloud-monitoring" ]]
	run -0 --separate-stderr "$GP_BPF" run --quiet --dry-run --export cloud-monitoring:project=demo-project \
		--gcm-workload-metrics -- true
	[[ $stderr == "gp-bpf: warning: --gcm-workload-metrics: "*"use --gcm-location ZONE" ]]
	run -0 --separate-stderr "$GP_BPF" run --quiet --dry-run --export cloud-monitoring:project=demo-project \
		--gcm-workload-metrics --gcm-location us-central1-a -- true
	[ -z "$stderr" ]
}
