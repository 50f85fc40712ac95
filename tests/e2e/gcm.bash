# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the tests of Cloud Monitoring share: the stand-ins of Google's services, a watched job that writes to them, and
# what they hold. See tests/servers/monitoring.py for rules, faults and the journal.

# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # programs of jq; subshells; T, TOP and others are of lib.bash

SERVERS=$TOP/tests/servers

# The service and whoever issues tokens; GCM: its address. Credentials are a user's; there is no metadata server.
# GCM_SPACING: seconds between two points of a series, 5 as the service's unless set.
gcm_start() { # options of monitoring.py
	local python
	python=$("$TOP/tests/tools/framework.sh" --find google 2>/dev/null) || python=python3
	background /dev/null "$T/google.out" "$T/google.err" python3 "$SERVERS/google.py" --port-file "$T/google.port" \
		--tokens "$T/tokens" --user "$T/user.json" --journal "$T/google.journal"
	background /dev/null "$T/gcm.out" "$T/gcm.err" "$python" "$SERVERS/monitoring.py" --port-file "$T/gcm.port" \
		--journal "$T/gcm.journal" --tokens "$T/tokens" --project demo-project --spacing "${GCM_SPACING:-5}" "$@"
	until_true test -s "$T/google.port"
	until_true test -s "$T/gcm.port"
	GCM=http://127.0.0.1:$(cat "$T/gcm.port")
	export GOOGLE_APPLICATION_CREDENTIALS=$T/user.json GCE_METADATA_HOST=127.0.0.1:1 METADATA_SERVER_DETECTION=none
	unset http_proxy https_proxy HTTPS_PROXY ALL_PROXY all_proxy
}

# Beside others: a command with a folder, stand-ins and jobs of its own. gcm_beside_end waits for all of them.
gcm_beside() { # name command...
	local name=$1
	shift
	mkdir "$T/$name"
	cp -r "$FAKE" "$T/$name/fake" # probes sit on a file
	(
		T=$T/$name STARTED=()
		TRAIN=$T/fake/train
		trap e2e_teardown EXIT
		"$@"
	) >"$T/$name.said" 2>&1 3>&- 4>&- 5>&- 6>&- &
	BESIDE+=("$!:$name")
}
gcm_beside_end() {
	local each bad=0
	for each in "${BESIDE[@]}"; do
		wait "${each%%:*}" || { bad=1; echo "${each##*:}: $(cat "$T/${each##*:}.said")" >&2; }
	done
	return "$bad"
}

gcm_control() { # JSON
	curl -sS --fail-with-body -X POST -d "$1" "$GCM/control" >"$T/gcm.state" || { cat "$T/gcm.state" >&2; return 1; }
}

# Options of gp-bpf that write to it, as often as it allows.
gcm_options() { # sets OPTIONS
	OPTIONS=(--quiet --log-level info --export "json:$T/out" --listen 127.0.0.1:0 --job gcm-job
		--export cloud-monitoring:project=demo-project --gcm-endpoint "$GCM" --gcm-interval "${GCM_SPACING:-5}s" --gcm-location us-central1-a)
}

# A job under gp-bpf run that has taken 23 steps, and waits; then it takes 7 more. URL: its metrics.
gcm_job() { # further options of gp-bpf
	gcm_options
	start_job "$GP_BPF" run "${OPTIONS[@]}" "$@" -- "$TRAIN" load wait steps=23 say=held pause steps=7 say=more pause
	job_line held
	URL=http://$(sed -nE 's/.*metrics at ([0-9.:]+).*/\1/p' "$T/job.err" | head -1)
}
# Its end, undisturbed: all steps, its own exit code, nothing lost on the way.
gcm_job_end() {
	job_end
	steps_are 30 "$T/out"
	equal 0 "$(count_lines loss "$T/out")" losses
}

gcm_metric() { # name labels: the last value of gp-bpf's own metric, 0 where it is not there
	curl -sS "$URL/metrics" | awk -v n="gpbpf_export_$1" -v l="$2" 'index($0, n "{") == 1 && index($0, l) { v = $NF } END { print v + 0 }'
}
gcm_dropped() { # cause
	gcm_metric dropped_total "cause=\"$1\""
}

# Requests journaled that this holds for.
gcm_count() { # condition
	jq -s "[.[] | select($1)] | length" "$T/gcm.journal"
}
gcm_has() { # condition; at least one
	jq "select($1)" "$T/gcm.journal" >"$T/gcm.found"
	[ -s "$T/gcm.found" ]
}
gcm_writes='(.path | endswith("/timeSeries")) and .method == "POST"'

# No rule was broken; faults have no rule of theirs.
gcm_refused_nothing() {
	local bad
	bad=$(jq -c 'select(.rule != 0 and .rule != 24) | {rule, message}' "$T/gcm.journal"
		jq -c '.series[]? | select(.rule != 0 and .rule != 24) | {rule, text, type, labels}' "$T/gcm.journal")
	[ -z "$bad" ] || { echo "refused: ${bad:0:2000}" >&2; return 1; }
	gcm_has "$gcm_writes and .status == 200"
}

# The newest value that the service holds of a series, by the end of its type.
gcm_value() { # type [condition of its labels]
	curl -sS "$GCM/control/series" | jq -r --arg t "$1" '[.[] | select(.metric.type | endswith($t))
		| select(.metric.labels // {} | '"${2:-true}"') | .points[0].value | to_entries[0].value][0] // empty'
}
