#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gp-bpf node: jobs that nobody names are found, before and after it starts. Other tests run beside these: a rule
# keeps each service to the processes of its own test.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib
load durable
load cgroup

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() {
	e2e_teardown
	groups_end
	drop_pins "$T/state"
}

start_node() { # options...
	start_watch node --state-dir "$T/state" --listen "unix:$T/socket" --export "json:$T/out" --log-level info "$@"
}
state() { curl -sf --unix-socket "$T/socket" http://node/debug/state | jq -c "$1"; }
state_is() { [ "$(state "$2")" = "$1" ]; } # value filter
end_node() {
	kill -TERM "$WATCH"
	watch_end
}
# A job whose input stays open, with libraries of its own: where another's are probed it would not wait for us. PID
# of it in LAST.
job() { # name operations...
	local name=$1
	shift
	[ -p "$T/open" ] || mkfifo "$T/open"
	exec 6<>"$T/open"
	cp -r "$FAKE" "$T/$name"
	background "$T/open" "$T/$name.said" "$T/$name.err" "$T/$name/train" "$@"
}
steps_of() { jq -s --argjson pid "$1" 'map(select(.type == "step" and .pid == $pid)) | length' "$T/out"; }
has_steps() { [ "$(steps_of "$1")" -ge "$2" ]; } # pid steps

@test "jobs of before and of later are found, each step of them; who does not train is in no list" {
	local before after hidden idle
	job before load wait steps=23 pause
	before=$LAST
	start_node --allow "command=$T/*"
	equal '[true,true]' "$(state '[.node.ready, .node.told_by_kernel]')" # at once
	job after load wait steps=46 pause
	after=$LAST
	job idle load pause
	idle=$LAST
	# Its libraries are where nobody else sees them.
	mkdir "$T/inside"
	background "$T/open" "$T/hidden.said" "$T/hidden.err" unshare -m sh -c "mount -t tmpfs none '$T/inside' &&
		cp -r '$FAKE' '$T/inside/fake' && exec '$T/inside/fake/train' load wait steps=69 pause"
	hidden=$LAST
	until_true has_steps "$before" 22
	until_true has_steps "$after" 45
	until_true has_steps "$hidden" 68
	until_true state_is '[3,3]' '[(.jobs | length), ([.ranks[] | select(.trainer)] | length)]'
	until_true state_is '["it maps a library of a known runtime, and has shown no marker of training"]' \
		"[.node.no_training[] | select(.pid == $idle) | .why]"
	curl -sf --unix-socket "$T/socket" http://node/metrics >"$T/metrics"
	equal 3 "$(grep -c '^gpbpf_rank_info' "$T/metrics")" "ranks in metrics"
	end_node
	equal "gp-bpf: version $("$GP_BPF" --version | sed 's/.* //') watches the jobs on this node selected by 1 rule; listens at unix:$T/socket; state in $T/state" \
		"$(head -n 1 "$T/watch.err")"
	tail -n 1 "$T/watch.err" | grep -q '^gp-bpf: version .* ends on SIGTERM, after [0-9.]* m*s: 3 jobs and 138 steps seen$'
	sound "$T/out"
	equal '[23,46,69]' "$(jq -sc '[.[] | select(.type == "step")] | group_by(.pid) | map(length) | sort' "$T/out")" "steps"
	[ ! -e "$(pins "$T/state")" ] # nothing is left in the kernel
}

@test "jobs whose libraries are in memory only are found, before and after the start" {
	local before after
	job before memory load wait steps=23 pause
	before=$LAST
	start_node --allow "command=$T/*"
	job after memory load wait steps=46 pause
	after=$LAST
	until_true has_steps "$before" 22
	until_true has_steps "$after" 45
	end_node
	sound "$T/out"
	equal '[23,46]' "$(jq -sc '[.[] | select(.type == "step")] | group_by(.pid) | map(length) | sort' "$T/out")" "steps"
}

@test "rules keep jobs out; SIGHUP reads them again and says what takes a restart" {
	local denied other
	printf 'version: 1\ntargets:\n- allow: "command=%s/*"\n- deny: command=*denied*\nlisten: "unix:%s"\n' \
		"$T" "$T/socket" >"$T/config"
	start_watch node --config "$T/config" --state-dir "$T/state" --export "json:$T/out" --log-level info
	job denied load wait steps=23 pause
	denied=$LAST
	job other load wait steps=23 pause
	other=$LAST
	until_true has_steps "$other" 22
	until_true state_is '["deny command=*denied*"]' "[.node.denied_last[] | select(.pid == $denied) | .why]"
	equal 0 "$(steps_of "$denied")"

	printf 'version: 1\ntargets: [{allow: "command=%s/*"}]\nsteps: {multiply: 2}\nlisten: "unix:%s"\n' \
		"$T" "$T/socket" >"$T/config"
	kill -HUP "$WATCH"
	until_true has_steps "$denied" 22
	grep -q 'SIGHUP: multiply has changed; restart gp-bpf to apply it' "$T/watch.err"
	echo nonsense >"$T/config"
	kill -HUP "$WATCH"
	until_true grep -q 'SIGHUP: the settings cannot be read; nothing was changed' "$T/watch.err"
	end_node
}

@test "a service manager is told: ready, alive, reloading, stopping" {
	background /dev/null "$T/heard" "$T/listener.err" python3 -u -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
	print(s.recv(4096).decode().replace("\n", "|"))' "$T/notify"
	until_true test -S "$T/notify"
	NOTIFY_SOCKET=$T/notify WATCHDOG_USEC=200000 start_node --allow "command=$T/*"
	until_true grep -q '^READY=1|STATUS=0 jobs, 0 ranks; 0 processes watched; nothing lost$' "$T/heard"
	until_true grep -q '^WATCHDOG=1$' "$T/heard"
	job one load wait steps=23 pause
	until_true has_steps "$LAST" 22
	until_true state_is '[1,1]' '[(.jobs | length), ([.ranks[] | select(.trainer)] | length)]'
	kill -HUP "$WATCH"
	until_true grep -q '^RELOADING=1|MONOTONIC_USEC=[0-9]*$' "$T/heard"
	until_true grep -q '^READY=1|STATUS=1 job, 1 rank; 1 process watched; nothing lost$' "$T/heard"
	until_true sh -c "[ \$(grep -c '^READY=1' '$T/heard') -eq 2 ]"
	end_node
	until_true grep -q '^STOPPING=1' "$T/heard"
}

@test "it hands over in the middle of a job, and the next one goes on with it" {
	cp -r "$FAKE" "$T/fake"
	start_job "$T/fake/train" load wait steps=23 pause steps=23 pause
	start_node --allow "command=$T/*" --handover
	job_line "steps 23"
	until_true has_steps "$JOB" 22
	end_node
	job_go
	job_line "steps 23"
	WATCH_NAME=second start_node --allow "command=$T/*"
	job_end
	end_node
	equal '[[1,46]]' "$(jq -sc '[.[] | select(.type == "step")] | group_by(.pid) | map([(map(.step) | min), length])' "$T/out")"
	sound "$T/out"
}

# gp-bpf as in a pod of a DaemonSet: the stand-in for an API server, and the account where a pod has it.
in_a_pod() {
	background /dev/null "$T/kube.out" "$T/kube.err" python3 "$TOP/tests/servers/kubernetes.py" --port-file "$T/kube" --tls "$T/tls" \
		--tls-port-file "$T/kube.tls" --token-file "$T/token" --set '{"put": [
			{"kind": "Namespace", "metadata": {"name": "ns"}},
			{"kind": "DaemonSet", "metadata": {"name": "watcher", "namespace": "ns"}},
			{"kind": "Pod", "metadata": {"name": "watcher-1", "namespace": "ns", "uid": "u", "ownerReferences":
				[{"kind": "DaemonSet", "name": "watcher"}]}, "spec": {"nodeName": "n"}}]}'
	until_true test -s "$T/kube"
	cat >"$T/in-pod" <<-S
		#!/bin/sh
		T=$T GP_BPF=$GP_BPF KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=$(cat "$T/kube.tls")
		NODE_NAME=n POD_NAME=watcher-1 POD_NAMESPACE=ns METADATA_SERVER_DETECTION=none
		export T GP_BPF KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT NODE_NAME POD_NAME POD_NAMESPACE METADATA_SERVER_DETECTION
		exec unshare -m sh -c 'account=/run/secrets/kubernetes.io/serviceaccount && mount -t tmpfs none /run &&
			mkdir -p \$account && cp \$T/token \$account/token && cp \$T/tls/ca.pem \$account/ca.crt && exec \$GP_BPF "\$@"' sh "\$@"
	S
	chmod +x "$T/in-pod"
	GP_BPF=$T/in-pod
}

@test "Kubernetes: an update hands over; a DaemonSet that is deleted leaves no probe" {
	in_a_pod
	start_node --allow "command=$T/*" --handover
	end_node
	grep -q 'handed over' "$T/watch.err"
	[ -e "$(pins "$T/state")" ]
	WATCH_NAME=second start_node --allow "command=$T/*" --handover
	curl -sf "http://127.0.0.1:$(cat "$T/kube")/control" -d '{"delete": "DaemonSet/ns/watcher"}'
	end_node
	grep -q 'detaching all probes, as no other gp-bpf will take over on this node: its DaemonSet watcher is deleted' "$T/second.err"
	[ ! -e "$(pins "$T/state")" ]
}

kube_do() { curl -sSf "http://127.0.0.1:$(<"$T/kube")/control" -d "$1"; } # deeds
# A pod of the JobSet llama, as the API server has it while its container runs.
pod_put() { # name uid container attempt
	kube_do "$(jq -n --arg name "$1" --arg uid "$2" --arg id "$3" --arg attempt "$4" --arg now "$(date -u +%FT%TZ)" '{put: {kind: "Pod",
		metadata: {$name, namespace: "ml", $uid, creationTimestamp: $now, labels: {"jobset.sigs.k8s.io/jobset-name": "llama",
			"jobset.sigs.k8s.io/jobset-uid": "5a0c3d3e-8a51-4a3c-9d2b-0d3f8a1b2c3d",
			"jobset.sigs.k8s.io/restart-attempt": $attempt, "jobset.sigs.k8s.io/job-global-index": "0",
			"batch.kubernetes.io/job-completion-index": "0"}},
		spec: {nodeName: "n", containers: [{name: "train", image: "x"}]},
		status: {phase: "Running", containerStatuses: [{name: "train", containerID: "containerd://\($id)", restartCount: 0,
			state: {running: {startedAt: $now}}}]}}}')"
}
# A job in the cgroup of a pod's container; what it maps is its own.
pod_job() { # uid container operations...
	local uid=$1 id=$2
	shift 2
	group v2 "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${uid//-/_}.slice/cri-containerd-$id.scope" ||
		group v1 "kubepods/burstable/pod$uid/$id" || cannot "no hierarchy of control groups can be written"
	[ -p "$T/open" ] || mkfifo "$T/open"
	exec 6<>"$T/open"
	cp -r "$FAKE" "$T/$uid"
	background "$T/open" "$T/$uid.said" "$T/$uid.err" sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$GROUP" \
		"$T/$uid/train" "$@"
}

@test "Kubernetes: pods by their cgroups name jobs, before and after they are listed; one that is made anew is the next run" {
	local first second
	first=$(</proc/sys/kernel/random/uuid) second=$(</proc/sys/kernel/random/uuid) # nobody else's on this machine
	local box=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef run1 run2
	in_a_pod
	pod_put llama-0-0-x "$first" "$box" 0
	start_node --allow namespace=ml
	pod_job "$first" "$box" load wait steps=23 pause
	run1=$LAST
	until_true has_steps "$run1" 22
	until_true state_is '["llama","llama-0-0-x","n",0]' "[.ranks[] | select(.pid == $run1) | .job, .pod, .node, .rank]"
	kill -KILL "$run1"
	wait "$run1" || true
	kube_do '{"delete": "Pod/ml/llama-0-0-x"}'
	# It runs before the list has it: a rule that asks for its namespace waits.
	pod_job "$second" "${box//0/f}" load pause wait steps=46 pause
	run2=$LAST
	until_true state_is 1 .node.waiting
	pod_put llama-0-0-y "$second" "${box//0/f}" 1
	until_true state_is 1 .node.watched
	echo go >&6
	until_true has_steps "$run2" 45
	end_node
	sound "$T/out"
	equal '[23,46]' "$(jq -sc '[.[] | select(.type == "step")] | [group_by(.pid)[] | length] | sort' "$T/out")" "steps"
	equal '[["llama","jobset","ml","llama-0-0-x","train","n",0,0],["llama","jobset","ml","llama-0-0-y","train","n",1,0]]' \
		"$(jq -sc 'map(select(.type == "rank")) | [group_by(.pid)[][-1]] | sort_by(.attempt) | map([.job, .job_from, .namespace, .pod,
			.container, .node, .attempt, .rank])' "$T/out")" "names"
	equal '["killed",23]' "$(of_type disruption "$T/out" '[.cause, .step]' | head -1)" "the fall between them"
}

@test "Debian's torch, without being named" {
	python_debian
	ln -s "$PY" "$T/python"
	start_node --allow "command=$T/*"
	background /dev/null "$T/job.said" "$T/job.err" "$T/python" "$LOOP" plain --out "$T/truth" --steps 60
	wait_exit "$LAST"
	end_node
	[ "$(steps_of "$LAST")" -ge 40 ]
	sound "$T/out"
}

# One maps a library without a pause, one has 65 000 mappings besides and a new name each time, one has children that
# do so and end. A rule is asked before anything of theirs is read.
@test "processes that make it hard and are denied: others are found beside them, each step" {
	local what open job evil=()
	cp -r "$FAKE" "$T/evil"
	start_node --allow "command=$T/*" --deny "command=*/evil/*"
	for what in "maps 100000" "sprawl 2000" "bomb 2000"; do
		mkfifo "$T/go.${what% *}"
		exec {open}<>"$T/go.${what% *}" # they stay until they have been looked at
		# shellcheck disable=SC2086 # two words
		background "$T/go.${what% *}" "$T/evil.${what% *}" "$T/evil.err" "$T/evil/hostile" $what "$T/evil/libtorch_cpu.so"
		evil+=("$LAST")
		echo go >&"$open"
	done
	job honest load wait steps=46 pause
	job=$LAST
	until_true has_steps "$job" 45
	until_true sh -c "[ \$(grep -lx 'done' '$T'/evil.* | wc -l) -eq 3 ]"
	# Children of a bomb that have ended before anybody looks are nobody's business; itself it maps nothing.
	until_true state_is true ".node.waiting == 0 and ([${evil[0]}, ${evil[1]}] - [.node.denied_last[].pid] == [])"
	equal '[true,1,1]' "$(state '[.node.denied >= 2, .node.found, .node.watched]')"
	end_node
	sound "$T/out"
	equal 0 "$(count_lines loss "$T/out" '.source == "ring_call"')" "losses of calls"
}

@test "what node refuses" {
	run -2 --separate-stderr "$GP_BPF" node 42
	[[ $stderr == *"node: unexpected argument '42'"* ]]
	GP_BPF_DURABLE=0 run -2 --separate-stderr "$GP_BPF" node --handover
	[[ $stderr == *"--handover needs --durable, which is turned off by GP_BPF_DURABLE"* ]]
	run -2 --separate-stderr "$GP_BPF" node --state-dir "$T/state" --allow users=x
	[[ $stderr == *"--allow: 'users=x': expected KEY=GLOB"* ]]
}
