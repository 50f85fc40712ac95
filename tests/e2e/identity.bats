#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Where a process runs, and what its job is called: real processes in real groups, with what launchers set.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154,SC2314 # programs of sh; tests are subshells; the last command of a test
load lib
load cgroup

UID36=4a163a05-439d-484b-8e53-2968bc15824f
ID=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() {
	e2e_teardown
	groups_end
}

# A process in GROUP that waits for a line.
job_in_group() { # NAME=VALUE...
	start_job sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$GROUP" \
		env "$@" "$TRAIN" load say=up pause wait steps=8
	job_line up
}
trains() {
	job_go
	job_end
	watch_end
	sound "$T/out"
}
rank_says() { of_type rank "$T/out" "$1" | tail -1; }

@test "a pod's container, in version 1 and in version 2: the pod names the job" {
	local v path found some=
	for v in v1 v2; do
		path=kubepods/burstable/pod$UID36/$ID
		[ "$v" = v1 ] || path=kubepods.slice/kubepods-pod${UID36//-/_}.slice/cri-containerd-$ID.scope
		group "$v" "$path" || continue
		some+=$v
		job_in_group JOB_COMPLETION_INDEX=3
		if [ "$v" = v1 ]; then
			found=(--container "${ID:0:12}")
		else
			found=(--cgroup "/gp-bpf-test-${GROUP#*/gp-bpf-test-}")
		fi
		WATCH_NAME=$v start_watch "${found[@]}" --export "json:$T/out" --quiet
		trains
		equal "[\"pod-$UID36\",\"pod\",\"${ID:0:12}\",3,null]" \
			"$(rank_says '[.job, .job_from, .container, .rank, .attempt]')" "$v"
		equal "\"pod-$UID36\"" "$(of_type step "$T/out" .job | sort -u)" "steps of $v"
		mv "$T/out" "$T/out.$v"
	done
	[ -n "$some" ] || cannot "no hierarchy of control groups can be written"
}

@test "Slurm above torchelastic; a secret of the environment is nowhere" {
	group v1 slurm/uid_1000/job_4711/step_0 || group v2 system.slice/slurmstepd.scope/job_4711/step_0 ||
		cannot "no hierarchy of control groups can be written"
	local secret=hunter2-$RANDOM$RANDOM
	job_in_group RANK=3 WORLD_SIZE=8 TORCHELASTIC_RUN_ID=run TORCHELASTIC_RESTART_COUNT=2 "API_TOKEN=$secret"
	grep -qz "$secret" "/proc/$JOB/environ"
	start_watch record -o "$T/tape" --pid "$JOB" --export "json:$T/out" --export "trace:$T/trace"
	trains
	equal '["4711","slurm",3,8,2,null]' "$(rank_says '[.job, .job_from, .rank, .world_size, .attempt, .pod]')"
	"$GP_BPF" replay "$T/tape" --json >"$T/replayed"
	grep -q 4711 "$T/replayed"
	zcat -f "$T/tape" >"$T/tape.plain"
	run ! grep -rq "$secret" "$T"
}

ago() { date -u -d "$1 seconds ago" +%FT%TZ; }

# A kubelet without a pod, which the configuration names.
start_kubelet() {
	python3 "$TOP/tests/servers/kubernetes.py" --port-file "$T/port" --journal "$T/asked" >"$T/kubelet.out" 2>&1 3>&- &
	STARTED+=("$!")
	until_true test -s "$T/port"
	printf 'version: 1\nkubernetes:\n  kubelet: http://127.0.0.1:%s\n' "$(<"$T/port")" >"$T/config"
}
# It has one: the process's.
kubelet_pod() {
	jq -n --arg uid "$UID36" --arg id "$ID" --arg made "$(ago 60)" --arg placed "$(ago 50)" --arg runs "$(ago 20)" '{put: {kind: "Pod",
		metadata: {name: "llama-0", namespace: "ml", uid: $uid, creationTimestamp: $made, labels: {
			"jobset.sigs.k8s.io/jobset-name": "llama", "jobset.sigs.k8s.io/restart-attempt": "2"}},
		spec: {nodeName: "n1", containers: [{name: "train", image: "x"}]},
		status: {phase: "Running", conditions: [{type: "PodScheduled", status: "True", lastTransitionTime: $placed}],
			containerStatuses: [{name: "train", containerID: "containerd://\($id)", restartCount: 0,
				state: {running: {startedAt: $runs}}}]}}}' |
		curl -sSf -d @- "http://127.0.0.1:$(<"$T/port")/control" >/dev/null
}
group_of_pod() {
	group v1 "kubepods/burstable/pod$UID36/$ID" || group v2 "kubepods/burstable/pod$UID36/$ID" ||
		cannot "no hierarchy of control groups can be written"
}

placed() { # pod
	[ "$(curl -sSf --unix-socket "$T/sock" http://x/debug/state | jq --arg pod "$1" 'any(.ranks[]; .pod == $pod)')" = true ]
}

@test "a kubelet that the options name: its pod names the job, and how long that took to run stands beside the time" {
	group_of_pod
	start_kubelet
	kubelet_pod
	job_in_group JOB_COMPLETION_INDEX=0
	GP_BPF_NODE_NAME=n1 start_watch --pod ml/llama-0 --config "$T/config" --export "json:$T/out" --json --listen "unix:$T/sock"
	until_true placed llama-0
	trains
	equal '["llama","jobset","ml","llama-0","train","n1",2]' \
		"$(rank_says '[.job, .job_from, .namespace, .pod, .container, .node, .attempt]')"
	equal '["llama",0,10,30,true,true]' "$(jq -c '.jobs[0] | [.job, (.scheduling | .create, .schedule / 1e9, .image / 1e9,
		.start >= 18e9 and .start < 60e9), .elapsed_ns == ([.buckets[]] | add)]' "$T/watch.out")"
	[ "$(jq '.jobs[0].elapsed_ns' "$T/watch.out")" -lt 18000000000 ]
	equal true "$(jq '.jobs[0] | (1 - .scheduling.schedule / (([.scheduling[]] | add) + .elapsed_ns) - .goodput.scheduling) |
		fabs < 1e-9' "$T/watch.out")" "scheduling goodput"
	equal "$(jq -c '.jobs[0].scheduling' "$T/watch.out")" "$(rank_says .scheduling)"
}

jobs_stored() { # filter of what `jobs` lists
	"$GP_BPF" jobs --store "$T/store.db" --json 2>/dev/null | jq -ce ".jobs | $1"
}

@test "a pod that is told late: the store has one job, by its name, with all that was written before" {
	group_of_pod
	start_kubelet
	start_job sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$GROUP" \
		"$TRAIN" load say=up pause wait steps=8 say=some pause steps=8 say=more pause
	job_line up
	GP_BPF_NODE_NAME=n1 start_watch --pid "$JOB" --config "$T/config" --store "$T/store.db" \
		--export "json:$T/out" --quiet
	job_go
	job_line some
	until_true jobs_stored 'any(.name != "llama" and .steps >= 7)'
	kubelet_pod
	until_true eval '[ "$(rank_says .job)" = "\"llama\"" ]'
	until_true jobs_stored 'any(.name == "llama")'
	job_go
	job_line more
	trains
	equal '[["llama",1,1,16,true]]' \
		"$(jobs_stored 'map([.name, .runs, .ranks, .steps, .elapsed_ns == ([.buckets[]] | add)])')"
}

@test "who is meant by --name; nobody is by --name, --cgroup, --container, --pod: that is said" {
	sleep "30.$$" 3>&- &
	STARTED+=("$!")
	until_true grep -qz "30.$$" "/proc/$!/cmdline"
	run -0 --separate-stderr "$GP_BPF" --name "sleep 30.$$" --for 100ms --log-level info
	[[ $stderr == *"process $! matches"* ]]
	run -1 --separate-stderr "$GP_BPF" --name "no-such-$$" --cgroup "/no-such-$$"
	equal "gp-bpf: no running process matches --name no-such-$$ --cgroup /no-such-$$; for a part of the command line: --name '*no-such-$$*'" "$stderr"
	run -1 --separate-stderr "$GP_BPF" --name "*no-such-$$*"
	equal "gp-bpf: no running process matches --name *no-such-$$*; use gp-bpf node to watch processes that start later" "$stderr"
	run -2 --separate-stderr "$GP_BPF" record -o "$T/tape" --container llama
	[[ $stderr == *"--container: 'llama': expected a container's id"* ]]
	run -2 --separate-stderr "$GP_BPF" --pod llama-0
	[[ $stderr == *"--pod: 'llama-0': expected NAMESPACE/NAME"* ]]
	run -1 --separate-stderr env -u KUBERNETES_SERVICE_HOST "$GP_BPF" --pod ml/llama-0
	[[ $stderr == *"found neither a kubelet nor an API server"* ]]
	[ ! -e "$T/tape" ]
}
