#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Names of a job, of ranges, files, programs, events and pods that end texts, begin others, drive terminals, are no UTF-8, or have 64 KiB: in
# every way out they stay names (tests/tools/injection.py).

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of sh and jq; tests are subshells; bats sets status
load lib
load gcm
load cgroup

names() { # bytes that are no UTF-8, or none; sets EVIL, LONG of 64 KiB, and the end of both, REST
	REST=$'\e]0;x\a\e[31;7m\n"\\'$1$'\xc2\x9b31;7m\xc2\x90\xd8\x9c\r\t\x7f</script><script>pwned()</script>'
	REST+=$'<img src=x onerror=pwned()>\',=;--\xe2\x80\xae\xe2\x80\xa8{},x="1"} 1\n# EOF\n'
	EVIL="=pwned$REST" LONG="=pwned$REST$(head -c 65536 /dev/zero | tr '\0' x)"
}
setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	names ''
	unset "${!OTEL_@}"
}
teardown() {
	exec 5<&- 6>&-
	e2e_teardown
	groups_end
}

injection() { # arguments of injection.py
	run "$TOP/tests/tools/injection.py" "$@"
	[ "$status" -eq 0 ] || { echo "$output" >&2; return 1; }
}

# A trainer that ran as PROGRAM from a folder of such a name until "held", and goes on at a line. What a process has as its
# name is cut after 15 bytes.
hostile_job() { # operations...
	local folder=$T/$'pwned\e]0;x\a"\\\n\xff'
	PROGRAM=$folder/$'pwned\e[31;7m\xff\n"'
	cp -r "$FAKE" "$folder"
	mv "$folder/train" "$PROGRAM"
	start_job "$PROGRAM" load say=held pause wait "$@"
	job_line held
}
# Beside it one that has mapped what is no library, of such a name; MAPPER.
hostile_mapper() {
	local file=$T/$'libtorch_cpu.so.pwned\e]0;x\a\xff'
	head -c 4096 /dev/zero >"$file"
	mkfifo "$T/map.in"
	exec 9<>"$T/map.in"
	background "$T/map.in" "$T/mapped" "$T/map.err" "$FAKE/map" "$file"
	MAPPER=$LAST
	until_true test -s "$T/mapped"
}
# Beside it a process that logs events of such names.
hostile_events() { # names...
	mkfifo "$T/events.in" "$T/events.out"
	background "$T/events.in" "$T/events.out" "$T/events.err" "$FAKE/monitor" named "$@"
	MONITOR=$LAST
	exec 6>"$T/events.in" 5<"$T/events.out"
	read -r -t "$READY_S" -u 5 _
}
collector_start() {
	background /dev/null /dev/null "$T/otlp.err" python3 "$TOP/tests/servers/otlp.py" --port-file "$T/otlp.port" --journal "$T/otlp"
	until_true test -s "$T/otlp.port"
	COLLECTOR=http://127.0.0.1:$(cat "$T/otlp.port")
}
page() { curl -sS --unix-socket "$T/http" "$@"; }
has_all() { # both twins, all events and all steps
	page http://x/debug/state >"$T/state" && page http://x/metrics | grep -q '^gpbpf_monitor_events_total{.* 8$' &&
		page http://x/metrics | grep -q '^gpbpf_steps_total{.* 50$'
}

top_tells() { "$GP_BPF" top --once --listen "unix:$T/http" >"$T/top" && grep -q pwned "$T/top"; }
has_pod() { page http://x/debug/state | jq -e 'any(.ranks[]; .pod != null)'; }

@test "names of a watched job: pages, lines, tables, spans, series, reports" {
	need_probes
	need_program curl
	names $'\xff\xc0'
	gcm_start
	collector_start
	hostile_events "$EVIL" "$LONG" $'twin\xfe' $'twin\xff'
	hostile_mapper
	hostile_job range="$EVIL" steps=23 "save=/srv/${EVIL//\//|}.pt" range="$LONG" steps=23 range="$REST" range=$'twin\x01' \
		range=$'twin\x02' steps=4 say=over pause kill=9
	start_watch record -o "$T/tape" --pid "$JOB" --pid "$MONITOR" --pid "$MAPPER" --job "$EVIL" --listen "unix:$T/http" \
		--export cloud-monitoring:project=demo-project --gcm-endpoint "$GCM" --gcm-interval 5s --gcm-workload-metrics \
		--gcm-location us-central1-a --export "otlp:$COLLECTOR,interval=1s,sample=1" --export "json:$T/lines" \
		--export "csv:$T/tables" --export "trace:$T/trace" --export "tensorboard:$T/events,interval=1s"
	echo go >&6
	job_go
	job_line over
	until_true has_all
	page http://x/metrics >"$T/page"
	page -H 'Accept: application/openmetrics-text;version=1.0.0' http://x/metrics >"$T/openmetrics"
	page http://x/debug/state >"$T/state"
	"$GP_BPF" top --once --listen "unix:$T/http" >"$T/top" 2>&1
	"$GP_BPF" check --pid "$JOB" >"$T/check" 2>&1
	exec 6>&-
	kill "$MAPPER"
	job_end 137 # by itself: who sent the signal has such a name, too
	watch_end
	mv "$T/watch.out" "$T/report"
	mv "$T/watch.err" "$T/diagnostics"
	mv "$T/gcm.journal" "$T/gcm"
	"$GP_BPF" replay "$T/tape" --json --html "$T/report.html" >"$T/report.json"
	"$TOP/tests/tools/tfevents.py" "$T/events" >"$T/board"
	injection watch "$T"
	sound "$T/lines"
	"$TOP/tests/tools/trace.py" "$T/trace" "$T/lines"
	/usr/bin/python3 "$TOP/tests/tools/openmetrics.py" <"$T/openmetrics"
	! command -v promtool >/dev/null || promtool check metrics <"$T/page"
}

@test "names of a watched job on terminals: the live view, top" {
	need_probes
	names $'\xff\xc0'
	export TERM=xterm-256color TORCHELASTIC_RUN_ID=$EVIL RANK=0 WORLD_SIZE=1
	hostile_job range="$EVIL" steps=40 "save=/srv/${EVIL//\//|}.pt" range="$LONG" steps=40 say=over pause
	unset TORCHELASTIC_RUN_ID RANK WORLD_SIZE
	background /dev/null "$T/live" "$T/live.err" "$TOP/tests/tools/injection.py" terminal '' \
		"$GP_BPF" --pid "$JOB" --job "$LONG" --listen "unix:$T/http" --log-level debug 7>&- 8>&-
	live=$LAST
	until_true curl -sSf --unix-socket "$T/http" http://x/readyz
	job_go
	job_line over
	injection terminal 'Jj\r\x1bq' "$GP_BPF" top --listen "unix:$T/http"
	job_end
	wait_exit "$live"
	equal 0 "$STATUS" "the live view: $(cat "$T/live" "$T/live.err")"
}

@test "names of a pod, its labels, its containers" {
	need_probes
	need_program curl
	local uid id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
	collector_start
	uid=$(</proc/sys/kernel/random/uuid)
	group v1 "kubepods/burstable/pod$uid/$id" || group v2 "kubepods/burstable/pod$uid/$id" ||
		cannot "no hierarchy of control groups can be written"
	background /dev/null "$T/kube.out" "$T/kube.err" python3 "$TOP/tests/servers/kubernetes.py" --port-file "$T/kube"
	until_true test -s "$T/kube"
	jq -n --arg uid "$uid" --arg id "$id" --arg evil "$EVIL" --arg long "$LONG" '{put: {kind: "Pod",
		metadata: {name: $evil, namespace: $long, uid: $uid, creationTimestamp: $evil, labels: {($evil): $evil,
			"jobset.sigs.k8s.io/jobset-name": $evil, "jobset.sigs.k8s.io/restart-attempt": $evil},
			annotations: {"batch.kubernetes.io/job-completion-index": $evil, ($long): $long},
			ownerReferences: [{kind: $evil, name: $long, uid: $evil}]},
		spec: {nodeName: "n1", containers: [{name: $evil, image: $long}]},
		status: {phase: $evil, reason: $evil, message: $long,
			conditions: [{type: "PodScheduled", status: "True", lastTransitionTime: $evil}],
			containerStatuses: [{name: $evil, containerID: "containerd://\($id)", restartCount: 0,
				state: {running: {startedAt: $evil}}}]}}}' |
		curl -sSf -d @- "http://127.0.0.1:$(<"$T/kube")/control" >/dev/null
	start_job sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$GROUP" "$TRAIN" load say=held pause wait steps=23 say=over pause
	job_line held
	start_watch --pid "$JOB" --kubelet "http://127.0.0.1:$(<"$T/kube")" --node-name n1 --listen "unix:$T/http" \
		--export "json:$T/lines" --export "trace:$T/trace" --export "tensorboard:$T/events" \
		--export "otlp:$COLLECTOR,interval=1s,sample=1"
	until_true has_pod
	job_go
	job_line over
	until_true top_tells
	page http://x/metrics >"$T/page"
	page http://x/debug/state >"$T/state"
	job_end
	watch_end
	mv "$T/watch.out" "$T/report"
	injection pod "$T"
	sound "$T/lines"
}

# A log of the goodput library: job and custom events of that name.
log_of() { # name
	python3 - "$1" <<-'E'
		import json, sys
		def entry(**fields):
		    print(json.dumps({"job_name": sys.argv[1], **fields}))
		entry(job_start_time=1735725600.0)
		for key, at in (("start", 1), ("end", 3)):
		    entry(custom_badput_event_type=sys.argv[1], **{f"custom_badput_event_{key}_time": 1735725600.0 + at})
		for i in range(40):
		    entry(step_count=i, step_start_time=1735725610.0 + 2 * i)
		entry(job_end_time=1735725700.0)
	E
}

@test "names in a log: account, store, its report and page" {
	for name in "$EVIL" "$LONG"; do
		log_of "$name" >"$T/log"
		"$GP_BPF" account --store "$T/store.db" "$T/log" >"$T/text" 2>"$T/diagnostics"
		"$GP_BPF" account --json "$T/log" >"$T/json"
		"$GP_BPF" account --quiet --export "tensorboard:$T/events" "$T/log"
		"$GP_BPF" account --dry-run --export cloud-monitoring:project=p --gcm-location us-central1-a --gcm-workload-metrics \
			--semantics library --now 1735725800 "$T/log" >"$T/gcm"
		"$GP_BPF" jobs --store "$T/store.db" --wide >"$T/jobs"
		"$GP_BPF" jobs --store "$T/store.db" --json >"$T/jobs.json"
		"$GP_BPF" report 1 --store "$T/store.db" --html "$T/report.html"
		"$GP_BPF" report 1 --store "$T/store.db" --json >"$T/report.json"
		"$GP_BPF" report 1 --store "$T/store.db" --export "csv:$T/tables"
		"$GP_BPF" report 1 --store "$T/store.db" >"$T/report"
		injection log "$T"
		[ -n "$(find "$T/events" -name 'events.out*')" ]
		rm -r "$T/store.db"* "$T/tables" "$T/events"
	done
}
