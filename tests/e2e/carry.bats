#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A job that goes on on another node: other state, other store, and a folder that both share, or a ConfigMap.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib
load durable

RESTART=$BATS_TEST_DIRNAME/../workloads/restart.py

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	mkdir "$T/shared"
	CARRY=$T/shared API=
}
teardown() { e2e_teardown; }

# One attempt under a gp-bpf that has nothing but the folder, or the API server, in common with others.
on_node() { # node command...
	local node=$1
	shift
	mkdir -p "$T/$node"
	STATUS=0
	"$GP_BPF" run --json --job llama --carry "$CARRY" ${API:+--api-server "$API"} --node-name "$node" --state-dir "$T/$node" --store "$T/$node/store.db" \
		--export "json:$T/$node/out" -o /dev/null -- "$@" >"$T/$node/report" 2>"$T/$node/err" || STATUS=$?
}
job() { jq -c ".jobs[0]$2" "$T/$1/report"; }
adds_up() { # node
	equal 0 "$(jq '([.jobs[0].buckets[]] | add) - .jobs[0].elapsed_ns' "$T/$1/report")" "what the job's buckets leave over"
	equal 0 "$("$GP_BPF" report --store "$T/$1/store.db" --json llama | jq '([.buckets[]] | add) - .elapsed_ns')" "the same, of the store"
}
stored() { "$GP_BPF" report --store "$T/$1/store.db" --json llama | jq -c "$2"; }
carried() { if [ -n "$API" ]; then api_map | jq -r .data.carry; else cat "$T"/shared/llama-*.carry; fi; }

# The stand-in for an API server; --carry goes there from here on.
api_start() { # knobs
	background /dev/null "$T/kube.out" "$T/kube.err" python3 "$TOP/tests/servers/kubernetes.py" --port-file "$T/kube" --journal "$T/kube.asked" \
		--set "${1:-{\}}"
	until_true test -s "$T/kube"
	API=http://127.0.0.1:$(cat "$T/kube") CARRY=configmap:ml
}
api_set() { curl -sf -d "$1" "$API/control" >"$T/kube.set"; }
api_maps() { curl -sf "$API/control" | jq -r '.things[] | select(startswith("ConfigMap/ml/")) | split("/")[2]'; }
api_map() { curl -sf "$API/api/v1/namespaces/ml/configmaps/$(api_maps)"; }

within() { # measured ns, true ns, allowed ns, what
	(($1 - $2 <= $3 && $2 - $1 <= $3)) || { echo "$4: $1 ns, truly $2 ns" >&2; return 1; }
}
# By the job's own clock: between two steps of its first run, but for its waits for data and its checkpoints.
first_run_ns() { # step, step
	jq -n --argjson from "$1" --argjson to "$2" '[inputs] | (map(select(.what == "begin").pid)[0]) as $pid
		| map(select(.pid == $pid)) | (map(select(.what == "step" and .step == $from).ns)[0]) as $first
		| (map(select(.what == "step" and .step == $to).ns)[0]) as $last
		| $last - $first - ([.[] | select(.what == "step" and .ns > $first and .ns <= $last).data_ns] | add // 0)
			- ([.[] | select(.what == "save" and .begin_ns >= $first and .ns <= $last) | .ns - .begin_ns] | add // 0)' "$T/journal.0"
}
# From the fall to the first line of the next run, which is later than its start.
down_ns() { jq -n '[inputs] | (map(select(.what == "begin").ns)[1]) - (map(select(.what == "fall").ns)[0])' "$T/journal.0"; }

resumed() { # cause
	equal '["carried",2,1,1,"ended"]' "$(job b '|[.history, .runs, .carried_runs, .disruptions, .state]')"
	equal "[\"$1\",137,101,true,false]" "$(job b '.last_disruptions[0]|[.cause, .step, .resumed_step, .over, .estimated]')"
	equal '"it read the saved file: path, size and time"' "$(job b '.last_disruptions[0].how')"
	equal '[160,197]' "$(job b '|[.last_step, .steps]')" "steps that count, and that were made"
	adds_up a
	adds_up b
	within "$(job b '.last_disruptions[0].wasted_ns')" "$(first_run_ns 100 137)" 50000000 "lost progress"
	equal "$(job b '.last_disruptions[0].wasted_ns')" "$(job b '.buckets.WASTED_PROGRESS_FROM_DISRUPTION')"
	((0 < $(down_here_ns) && $(down_here_ns) < $(down_ns))) || { echo "down for $(down_here_ns) ns, of $(down_ns)" >&2; return 1; }
	# The first process's own end, after its last sign of training, is part of the bucket and came from the other node.
	equal "$(recovery_ns b)" "$(($(down_here_ns) + $(recovery_ns a)))" "recovery"
	equal '[101,1]' "$(jq -c 'select(.type == "step" and .run_step == 1) | [.step, .run_step]' "$T/b/out")" "first step of the second run"
	# The other node's part, to the nanosecond, but for what the restart disproved and the time between.
	equal "$(job a '.elapsed_ns')" "$(job b '| [.buckets[]] | add' | jq --argjson own "$(own_ns)" --argjson down "$(down_here_ns)" '. - $own - $down')" "what was carried"
	equal '["carried",2,1,197]' "$(stored b '[.history, .attempts, .disruptions_in_all, .steps_in_all]')" "in the store of the second node"
	equal '[2]' "$(stored b '[.runs[].attempt]')" "runs it had itself"
}
# Of the second node: its process from its start to the end of the job.
own_ns() { of_type ledger "$T/b/out" 'select(.window == "cumulative") | .elapsed_ns' | tail -1; }
down_here_ns() { job b '.last_disruptions[0].down_ns'; }
recovery_ns() { job "$1" '.buckets.INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION // 0'; }

@test "an exit on one node, the rest on another: two runs, one disruption, 37 steps lost" {
	python_current
	on_node a "$PY" "$RESTART" "$T/journal" "$T/ckpt" 160 50 exit=3@137
	equal 3 "$STATUS" "status of the first run"
	equal '["this_node",1,1,137]' "$(job a '|[.history, .runs, .disruptions, .last_step]')"
	((($(carried | wc -c)) <= 1024)) || { echo "more than 1 KiB" >&2; return 1; }
	equal 1 "$(find "$T/shared" -type f | wc -l)" "files in the folder"
	on_node b "$PY" "$RESTART" "$T/journal" "$T/ckpt" 160 50
	equal 0 "$STATUS" "status of the second run"
	resumed exit
	equal "attempt 2" "$(carried | grep attempt)"
	run -0 "$GP_BPF" report --store "$T/b/store.db" llama
	[[ $output == *"1 of them on other nodes"* && $output == *"1 of the job's runs were on other nodes, with 137 steps"* ]]
}

@test "the same by a ConfigMap: an exit on one node, the rest on another" {
	python_current
	need_program curl
	api_start
	on_node a "$PY" "$RESTART" "$T/journal" "$T/ckpt" 160 50 exit=3@137
	equal 3 "$STATUS" "status of the first run"
	equal '["this_node",1,1,137]' "$(job a '|[.history, .runs, .disruptions, .last_step]')"
	equal 1 "$(api_maps | wc -l)" "ConfigMaps"
	equal 'node a' "$(carried | grep ^node)"
	on_node b "$PY" "$RESTART" "$T/journal" "$T/ckpt" 160 50
	equal 0 "$STATUS" "status of the second run"
	resumed exit
	equal "attempt 2" "$(carried | grep attempt)"
	equal '["gp-bpf",null]' "$(api_map | jq -c '[.metadata.labels["app.kubernetes.io/managed-by"], .metadata.ownerReferences]')"
	equal 0 "$(grep -c . "$T/b/err")" "lines that say what is wrong"
	# Read, then written: by nobody else, and no more often than things happen.
	equal '[]' "$(jq -c -s '[.[] | select(.path | contains("/configmaps")) | select(.status >= 400 and .status != 404)]' "$T/kube.asked")"
}

@test "no right to ConfigMaps, none that gp-bpf made, no Kubernetes: said once, and watched as ever" {
	need_program curl
	api_start '{"verbs": []}'
	on_node a "$TRAIN" load wait steps=40
	equal '["this_node",1,40]' "$(job a '|[.history, .runs, .last_step]')"
	equal 1 "$(grep -c "needs a Role in namespace ml with configmaps: get, create, patch" "$T/a/err")" "lines"
	api_set '{"verbs": ["get", "create", "patch"]}'
	on_node b "$TRAIN" load wait steps=30
	equal '["this_node",1,30]' "$(job b '|[.history, .runs, .last_step]')"
	equal 1 "$(api_maps | wc -l)" "ConfigMaps"
	api_set "$(api_map | jq -c '{put: (del(.metadata.labels) | .data.carry = "theirs")}')"
	on_node c "$TRAIN" load wait steps=20
	equal '["this_node",1,20]' "$(job c '|[.history, .runs, .last_step]')"
	equal 1 "$(grep -c "gp-bpf did not make it" "$T/c/err")" "lines"
	equal theirs "$(carried)"
	API=
	on_node d "$TRAIN" load wait steps=10
	equal '["this_node",1,10]' "$(job d '|[.history, .runs, .last_step]')"
	equal 1 "$(grep -c "no Kubernetes found" "$T/d/err")" "lines"
	run -2 "$GP_BPF" run --carry configmap:A/b -- true
	[[ $output$stderr == *"'A/b': expected the name of a Kubernetes namespace"* ]]
}

@test "the folder has nonsense, or is not there: said once, and watched as ever" {
	mkdir -p "$T/a"
	on_node a "$TRAIN" load wait steps=40
	equal '["this_node",1,40]' "$(job a '|[.history, .runs, .last_step]')"
	for f in "$T"/shared/llama-*.carry; do echo "gp-bpf carry 77" >"$f"; done
	on_node b "$TRAIN" load wait steps=30
	equal '["this_node",1,30]' "$(job b '|[.history, .runs, .last_step]')"
	equal 1 "$(grep -c "a newer version of gp-bpf wrote it" "$T/b/err")" "lines"
	for f in "$T"/shared/llama-*.carry; do head -c 3000 /dev/urandom >"$f"; done
	on_node c "$TRAIN" load wait steps=20
	equal '["this_node",1,20]' "$(job c '|[.history, .runs, .last_step]')"
	equal 1 "$(grep -c "not a history of a job, or damaged" "$T/c/err")" "lines"
	equal "attempt 1" "$(carried | grep attempt)" # what is none gives way
	rm -r "$T/shared"
	on_node d "$TRAIN" load wait steps=10
	equal 10 "$(job d .last_step)" steps
	equal 1 "$(grep -c "the history of jobs stays on this node" "$T/d/err")" "lines"
}

@test "three nodes, one after the other: each knows of all that was before" {
	on_node a "$TRAIN" load wait steps=40 exit=1
	on_node b "$TRAIN" load wait steps=30 exit=1
	on_node c "$TRAIN" load wait steps=20
	equal '["carried",3,2,2,"ended",90]' "$(job c '|[.history, .runs, .carried_runs, .disruptions, .state, .steps]')"
	adds_up b
	adds_up c
	equal '["carried",3,2,90]' "$(stored c '[.history, .attempts, .disruptions_in_all, .steps_in_all]')"
	equal 0 "$(jq -c 'select(.type == "disruption" and .recovery_ns != null and .recovery_ns < 0)' "$T/c/out" | wc -l)"
}

@test "metrics say where a job's history is from" {
	need_program curl
	on_node a "$TRAIN" load wait steps=40 exit=1
	start_job "$TRAIN" load say=held pause steps=20 say=more pause
	job_line held
	start_watch --quiet --job llama --carry "$T/shared" --listen "unix:$T/socket" --export "json:$T/out" --pid "$JOB"
	job_go
	job_line more
	until_true carried_told
	job_go
	job_end
	watch_end
}
carried_told() {
	curl -s --unix-socket "$T/socket" http://localhost/metrics >"$T/page"
	grep -q '^gpbpf_job_runs_total{job_id="llama"} 2$' "$T/page" && grep -q '^gpbpf_job_info{job_id="llama",.*history="carried"' "$T/page"
}
