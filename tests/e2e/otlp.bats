#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Spans and metrics of OpenTelemetry, at a strict stand-in of a Collector: against their vocabulary, and beside the JSON lines.

# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154 # inner shells expand; tests are subshells; bats sets stderr
load lib

setup_file() {
	e2e_setup_file
	[ -z "$NO_PROBES" ] || return 0
	local t=$BATS_FILE_TMPDIR server
	T=$t STARTED=()
	collector_start
	server=$LAST
	"$GP_BPF" record -o "$t/tape" --quiet --job llama --perf-tag fast --session-tag first --export "json:$t/lines" \
		--export "otlp:$COLLECTOR,interval=1s,sample=10" -- bash -c '
		export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1
		RANK=1 "$0" load wait pace=3000 steps=60 &
		RANK=0 "$0" load wait pace=3000 steps=43 save=/srv/model.pt steps=27 kill=9
		wait' "$TRAIN" >/dev/null 2>"$t/report" || true
	kill "$server"
}
setup() {
	e2e_setup
	need_probes
	need_program python3
	RECORDED=$BATS_FILE_TMPDIR
	unset "${!OTEL_@}"
}
teardown() { e2e_teardown; }

collector_start() { # faults; COLLECTOR: its address
	local python
	python=$("$TOP/tests/tools/framework.sh" --find otlp 2>/dev/null) || python=python3
	rm -f "$T/otlp.port"
	background /dev/null /dev/null "$T/otlp.err" "$python" "$TOP/tests/servers/otlp.py" --port-file "$T/otlp.port" \
		--journal "$T/journal" "${@/#/--fault=}"
	until_true test -s "$T/otlp.port"
	COLLECTOR=http://127.0.0.1:$(cat "$T/otlp.port")
}

spans() { # journal: what tells one span from another
	jq -cS 'select(.path == "/v1/traces" and .status == 200 and (.fault == null or .fault == "partial" or .fault == "late")).body.resourceSpans[]
		.scopeSpans[].spans[] | [.name, .traceId, .spanId, .startTimeUnixNano, .endTimeUnixNano]' "$1" | sort
}

@test "two ranks: the tree, its names and its figures are those of the JSON lines; a replay sends the same spans" {
	run -0 "$TOP/tests/tools/otlp_spans.py" "$RECORDED/journal" "$RECORDED/lines" 10
	[[ $output == *" spans of 1 traces, 0 faults" ]]
	equal "fast first gp-bpf" "$(jq -r 'select(.path == "/v1/traces").body.resourceSpans[0].resource.attributes
		| map({(.key): .value.stringValue}) | add | "\(.perf_tag) \(.session_tag) \(."service.name")"' "$RECORDED/journal" | tail -1)"
	equal "application 2
checkpoint_save_sync 1
training_loop 2" "$(spans "$RECORDED/journal" | jq -r '.[0]' | grep -E '^(application|checkpoint_.*|training_loop)$' |
		sort | uniq -c | awk '{print $2, $1}')"
	collector_start
	"$GP_BPF" replay --quiet --export "otlp:$COLLECTOR,sample=10" "$RECORDED/tape"
	diff <(spans "$RECORDED/journal") <(spans "$T/journal")
	run -0 "$TOP/tests/tools/otlp_spans.py" "$T/journal" "$RECORDED/lines" 10
	equal "ended by signal 9" "$(jq -r 'select(.path == "/v1/traces").body.resourceSpans[].scopeSpans[].spans[]
		| select(.name == "application" and .status).status.message' "$T/journal")"
}

@test "a real training: its saves say what they cover and took, its evaluation after which step it was" {
	python_current
	collector_start
	run -0 --separate-stderr "$GP_BPF" run --quiet --job llama --export "json:$T/lines" --export "otlp:$COLLECTOR,interval=1s,sample=10" -- \
		"$PY" "$RESTART" "$T/progress" "$T/ckpt" 130 50 save=60 eval=200@70
	run -0 "$TOP/tests/tools/otlp_spans.py" "$T/journal" "$T/lines" 10
	equal "130 2 1" "$(count_lines step "$T/lines") $(count_lines checkpoint "$T/lines") $(count_lines range "$T/lines")" "as it was made to happen"
	equal '{"save_checkpoint_success":2,"sync_checkpoint_metrics_update":2,"validation_metrics_update":1}' \
		"$(jq -sc '[.[] | select(.path == "/v1/traces").body.resourceSpans[].scopeSpans[].spans[].events[].name
			| select(startswith("save_") or startswith("sync_") or startswith("valid"))] | group_by(.) | map({(.[0]): length}) | add' "$T/journal")"
	equal '[["70"],["50","100"],["70"]]' "$(jq -sc '[.[] | select(.path == "/v1/traces").body.resourceSpans[].scopeSpans[].spans[].events[]
		| {name, a: (.attributes | map({(.key): .value}) | add)}] | [
		[.[] | select(.name == "validation_metrics_update").a.current_iteration.intValue],
		[.[] | select(.name == "save_checkpoint_success").a.productive_train_iterations.intValue],
		[.[] | select(.name == "validation_metrics_update").a.interval.intValue]]' "$T/journal")" "steps"
}

@test "a server that is busy, leaves or takes a part: the same is sent again, or counted" {
	collector_start 429:1 503:1 hangup:1 partial:1
	run -1 --separate-stderr "$GP_BPF" replay --quiet --export "otlp:$COLLECTOR,sample=10,interval=3600s" "$RECORDED/tape"
	[[ $stderr == *"rejected 1 of the items: one was too old"* ]]
	diff <(spans "$RECORDED/journal") <(spans "$T/journal" | sort -u)
}

@test "who will not have it is not asked again; headers are secrets" {
	export OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer%20s3cr3t,x-tenant=7' OTEL_SERVICE_NAME=mine
	export OTEL_RESOURCE_ATTRIBUTES='deployment.environment=lab,service.name=other' OTEL_EXPORTER_OTLP_COMPRESSION=gzip
	collector_start redirect
	export OTEL_EXPORTER_OTLP_ENDPOINT=$COLLECTOR/
	run -1 --separate-stderr "$GP_BPF" replay --log-level debug --export otlp:interval=3600s,sample=1000000 "$RECORDED/tape"
	[[ $stderr == *"redirects are not followed"* && $stderr == *"were not sent"* ]]
	[[ $stderr$output != *s3cr3t* ]]
	equal "Bearer s3cr3t 7 gzip" "$(jq -r 'select(.path == "/v1/traces")
		| "\(.headers.authorization) \(.headers["x-tenant"]) \(.encoding)"' "$T/journal")" "one request of"
	equal "lab mine" "$(jq -r 'select(.path == "/v1/traces").body.resourceSpans[0].resource.attributes
		| map({(.key): .value.stringValue}) | add | "\(."deployment.environment") \(."service.name")"' "$T/journal")"
}

@test "what is no address or no key is said before anything begins" {
	local wrong
	for wrong in ftp://host http:// http://me:secret@host 'http://host?a=b' http://host,every=5s http://host,interval=0s http://host,sample=0; do
		run -2 --separate-stderr "$GP_BPF" replay --export "otlp:$wrong" "$RECORDED/tape"
		[[ $stderr == *otlp* && $stderr != *secret* ]]
	done
	for wrong in no-such-one csv csv: trace "trace:$T/x,size=1" tensorboard "tensorboard:$T/x,interval=5" cloud-monitoring:zone=1; do
		run -2 --separate-stderr "$GP_BPF" replay --export "$wrong" "$RECORDED/tape"
		[[ $stderr == *"$wrong"* || $stderr == *"${wrong%%:*}"* ]]
	done
	run -1 --separate-stderr "$GP_BPF" replay --export "csv:$T/no/such" "$RECORDED/tape" # it is a folder's name
}

# bats test_tags=kernels
@test "nobody listens: the job and its watch end as ever" {
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/lines" --export otlp:http://127.0.0.1:1,interval=1s -- \
		"$TRAIN" load wait steps=23
	equal 23 "$(count_lines step "$T/lines")"
	[[ $stderr == *"otlp: "*"will be retried"* ]]
	[[ ${stderr##*$'\n'} == *"were not sent: "* && $stderr != *"will be retried" ]]
}

@test "replies take their time: spans wait for the next interval, not for the next reply; no request is cut short" {
	local traces metrics
	collector_start late
	run -0 --separate-stderr "$GP_BPF" run --quiet --export "otlp:$COLLECTOR,interval=1s,sample=10" -- \
		"$TRAIN" load wait pace=5000 steps=400
	equal "" "$stderr" "standard error"
	equal "" "$(spans "$T/journal" | uniq -d)" "spans that were sent twice"
	traces=$(jq -s 'map(select(.path == "/v1/traces")) | length' "$T/journal")
	metrics=$(jq -s 'map(select(.path == "/v1/metrics")) | length' "$T/journal")
	[ "$traces" -ge 2 ]
	[ "$traces" -le $((metrics + 1)) ] || { echo "$traces requests of spans, $metrics of metrics"; return 1; }
}
