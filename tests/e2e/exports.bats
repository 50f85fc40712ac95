#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One real training, with an evaluation, checkpoints and a fall, told in all ways at once: each says what the report says.
# OTLP goes to a real OpenTelemetry Collector, where there is one (tests/tools/collector.sh); CI and ALL=1 need it.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	need_program curl
	need_program openssl
	python_current
	# Others must get there: hooks do not run as root.
	H=$(mktemp -d /tmp/gp-bpf-exports.XXXXXX)
	chmod 755 "$H"
	mkdir -m 777 "$H/hooks"
	printf '#!/bin/sh\ncat >"%s/hooks/$GP_BPF_EVENT.$$"\n' "$H" >"$H/note"
	chmod 755 "$H/note"
}
teardown() {
	e2e_teardown
	rm -rf "$H"
}

SERVERS=$TOP/tests/servers

servers() { # GCM: the service's address; credentials name who may write
	local python
	python=$("$TOP/tests/tools/framework.sh" --find google) || {
		[ -z "${ALL:-}${CI:-}" ] || cannot "none of Google's types (tests/tools/framework.sh google)"
		python=python3
	}
	background /dev/null "$T/google.out" "$T/google.err" python3 "$SERVERS/google.py" --port-file "$T/google.port" \
		--tokens "$T/tokens" --account "$T/account.json"
	background /dev/null "$T/gcm.out" "$T/gcm.err" "$python" "$SERVERS/monitoring.py" --port-file "$T/gcm.port" \
		--journal "$T/journal" --tokens "$T/tokens" --project all-project
	until_true test -s "$T/google.port"
	until_true test -s "$T/gcm.port"
	GCM=http://127.0.0.1:$(cat "$T/gcm.port")
	export GOOGLE_APPLICATION_CREDENTIALS=$T/account.json
}
# OTLP: what sends there.
collector() {
	local program port
	OTLP=()
	program=$("$TOP/tests/tools/collector.sh" --find) || {
		[ -z "${ALL:-}${CI:-}" ] || cannot "no OpenTelemetry Collector (tests/tools/collector.sh)"
		echo "# without a Collector (tests/tools/collector.sh)" >&3
		return 0
	}
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >"$T/collector.yaml" <<-END
		receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:$port"}}}}
		exporters: {debug: {verbosity: detailed, use_internal_logger: false}}
		service:
		  telemetry: {metrics: {level: none}}
		  pipelines:
		    traces: {receivers: [otlp], exporters: [debug]}
		    metrics: {receivers: [otlp], exporters: [debug]}
	END
	background /dev/null "$T/collector" "$T/collector.err" "$program" --config "$T/collector.yaml"
	COLLECTOR=$LAST
	until_true curl -s "http://127.0.0.1:$port/"
	OTLP=(--export "otlp:http://127.0.0.1:$port,interval=1s,sample=1")
}
# What is compared is read by hand: TensorBoard's own reader has the same.
as_tensorboard_reads() {
	local reader
	reader=$("$TOP/tests/tools/framework.sh" --find tensorboard) || {
		[ -z "${ALL:-}${CI:-}" ] || cannot "no tensorboard (tests/tools/framework.sh tensorboard)"
		echo "# without TensorBoard's reader (tests/tools/framework.sh tensorboard)" >&3
		return 0
	}
	"$reader" "$TOP/tests/tools/tfevents.py" --reader "$T/events" | jq -cS . | sort >"$T/board.reader"
	diff "$T/board.reader" <(jq -cS 'del(.display)' "$T/board" | sort)
}
over() { # the last state that was written
	jq -se '[.[].series // [] | .[] | select(.rule == 0 and (.type | endswith("job/state")) and .labels.state == "ended")]
		| last.value.boolValue' "$T/journal"
}

@test "a training that falls and goes on: all ways out, one truth" {
	servers
	collector
	echo "exec 2>'$T/job.err'" >"$T/loop.sh"
	until_done "$PY" "$RESTART" "$T/progress" "$T/ckpt" 160 50 kill=9@137 save=200 eval=300@60 >>"$T/loop.sh"
	mkfifo "$T/go"
	echo "touch '$T/fell' && read -r <'$T/go'" >>"$T/loop.sh"
	background /dev/null "$T/report" "$T/watch.err" "$GP_BPF" run --job all --json --quiet --listen "unix:$T/http" --gcm-endpoint "$GCM" --gcm-interval 5s \
		--gcm-workload-metrics --gcm-location us-central1-a --export cloud-monitoring:project=all-project --export prometheus \
		--export "json:$T/lines" --export "csv:$T/tables" --export "trace:$T/trace" --export "tensorboard:$T/events,interval=1s" \
		--on "disruption,recovered=$H/note" "${OTLP[@]}" -- bash "$T/loop.sh"
	WATCH=$LAST
	READY_S=120 until_true test -e "$T/fell"
	READY_S=30 until_true over
	curl -sS --unix-socket "$T/http" http://x/metrics >"$T/page"
	echo >"$T/go"
	wait_exit "$WATCH"
	equal 0 "$STATUS" "status: $(cat "$T/watch.err")"

	[ -z "${COLLECTOR:-}" ] || { kill "$COLLECTOR" && wait_exit "$COLLECTOR"; }

	# Nothing was refused, by any rule, and nothing was lost.
	equal 0 "$(jq -s '[.[] | select(.path | contains("timeSeries")) | select(.rule != 0 or .status != 200)] | length' "$T/journal")" refused
	equal 0 "$(awk '/^gpbpf_export_dropped_total/ { n += $NF } END { print n + 0 }' "$T/page")" dropped
	equal "" "$(cat "$T/watch.err")" "standard error"
	sound "$T/lines"

	mv "$H/hooks" "$T"
	"$TOP/tests/tools/tfevents.py" "$T/events" >"$T/board"
	as_tensorboard_reads
	run "$TOP/tests/tools/exports.py" "$T"
	echo "# ${output//$'\n'/$'\n'# }" >&3
	equal 0 "$status" "exports.py: $output"
	# What is told of each step, too.
	run -0 "$TOP/tests/tools/csv_lines.py" "$T/tables" "$T/lines"
	run -0 "$TOP/tests/tools/trace.py" "$T/trace" "$T/lines"
	equal '["backward","data","forward","update","zero_grad"]' "$(jq -c '[.[] | select(.cat == "phase").name] | unique' "$T/trace")" phases
	equal '[160,1,2,[137,101]]' "$(jq -c '.jobs[0] | [.last_step, .disruptions, .runs, (.last_disruptions[0] | [.step, .resumed_step])]' "$T/report")" \
		"as it was made to happen"
	equal 3 "$(jq -s '[.[] | select(.type == "checkpoint" and .op == "save")] | length' "$T/lines")" "checkpoints saved"
	[ -z "${COLLECTOR:-}" ] || equal "3 3 1" "$(for event in save_checkpoint_success sync_checkpoint_metrics_update validation_metrics_update; do
		grep -c -e "-> Name: $event\$" "$T/collector"
	done | xargs)" "events"
	[ -z "${COLLECTOR:-}" ] || equal "3 1 1" "$(for span in checkpoint_save_sync checkpoint_load validation_loop; do
		grep -c "^    Name  *: $span\$" "$T/collector"
	done | xargs)" "spans"
}

@test "two exports to one place: refused, and nothing is touched" {
	echo kept >"$T/file"
	run -2 --separate-stderr "$GP_BPF" run --export "json:$T/file" --export "trace:$T/./file" -- touch "$T/ran"
	[[ $stderr == *"--export json:$T/file and --export trace:$T/./file write to the same file or folder"* ]]
	equal kept "$(cat "$T/file")"
	[ ! -e "$T/ran" ]
}
