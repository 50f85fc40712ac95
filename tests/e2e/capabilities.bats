#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Sets of capabilities, as gp-bpf.8 lists them: what works with each, or the line that names the one that is missing.

# shellcheck disable=SC2030,SC2031,SC2154 # tests are subshells; bats sets stderr
load lib
load durable

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	PUBLIC=$(mktemp -d)
	mkdir -p "$PUBLIC/bin" "$PUBLIC/share/gp-bpf"
	cp "$GP_BPF" "$PUBLIC/bin"
	cp -r "$TOP/probes" "$PUBLIC/share/gp-bpf"
	cp "$FAKE"/train "$FAKE"/libtorch_*.so "$PUBLIC"
	chmod -R a+rX "$PUBLIC"
}
teardown() {
	e2e_teardown
	rm -r "$PUBLIC"
	drop_pins "$T/state"
}

OWN=1234 OTHER=1235

# A job of the user, held before its first step.
job_of() { # user
	start_job setpriv --reuid="$1" --regid="$1" --clear-groups "$PUBLIC/train" load say=held pause steps=23
	job_line held
}

# Sets AS: a user with these capabilities and no others.
with() { # capabilities...
	local list=-all capability
	for capability; do
		list+=,+$capability
	done
	AS=(setpriv --reuid="$OWN" --regid="$OWN" --clear-groups --bounding-set="$list" --inh-caps="$list" --ambient-caps="$list")
}

watched() {
	mkfifo "$T/ready"
	"${AS[@]}" "$PUBLIC/bin/gp-bpf" --ready-fd 9 --pid "$JOB" --quiet --export json:- </dev/null 9>"$T/ready" >"$T/out" \
		2>"$T/watch.err" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- &
	WATCH=$!
	STARTED+=("$WATCH")
	read -r -t "$READY_S" _ <"$T/ready" || { echo "not ready: $(cat "$T/watch.err")" >&2; return 1; }
	job_go
	job_end
	watch_end
	steps_are 23 "$T/out"
}

refused() { # word, arguments of gp-bpf
	local word=$1
	shift
	run -3 --separate-stderr "${AS[@]}" "$PUBLIC/bin/gp-bpf" "$@" --quiet
	equal "" "$output"
	equal 1 "$(wc -l <<<"$stderr")" "lines of: $stderr"
	[[ $stderr == *"$word missing"* ]] || { echo "no $word in: $stderr" >&2; return 1; }
}

@test "BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE: everybody's processes" {
	with bpf perfmon sys_ptrace dac_read_search checkpoint_restore
	job_of "$OTHER"
	watched
	equal "" "$(cat "$T/watch.err")"
}

@test "without CHECKPOINT_RESTORE: mapped files by path" {
	with bpf perfmon sys_ptrace dac_read_search
	job_of "$OTHER"
	watched
}

# As the overlay caps-only has it: root with these, the tracefs and BPF file system of the node, no new privileges.
@test "the set of deploy/kubernetes' caps-only: a node finds a job, hands over, goes on and detaches" {
	local set
	set=$(sed -n 's/^ *add: \[\(.*\)\]/+\1/p' "$TOP/deploy/kubernetes/components/caps-only/daemonset.yaml")
	set=${set//, /,+}
	mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
	cat >"$T/pod" <<-S
		#!/bin/sh
		exec unshare -m sh -c 'mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing; exec setpriv --no-new-privs --inh-caps=-all \\
			--bounding-set=-all,${set,,} $PUBLIC/bin/gp-bpf "\$@"' sh "\$@"
	S
	chmod +x "$T/pod"
	GP_BPF=$T/pod
	start_job setpriv --reuid="$OTHER" --regid="$OTHER" --clear-groups "$PUBLIC/train" load say=held pause steps=23 pause steps=23
	job_line held
	start_watch node --allow "command=$PUBLIC/*" --state-dir "$T/state" --listen "unix:$T/s" --export "json:$T/out" --handover
	job_go
	job_line "steps 23"
	kill -TERM "$WATCH"
	watch_end
	WATCH_NAME=second start_watch node --allow "command=$PUBLIC/*" --state-dir "$T/state" --listen "unix:$T/s" --export "json:$T/out"
	job_go
	job_end
	kill -TERM "$WATCH"
	watch_end
	steps_are 46 "$T/out"
	equal 1 "$(grep -c 'handed over' "$T/watch.err")"
	[ ! -e "$(pins "$T/state")" ]
}

@test "BPF, PERFMON: one's own processes" {
	with bpf perfmon
	job_of "$OWN"
	watched
}

@test "without SYS_PTRACE another's process is refused" {
	with bpf perfmon dac_read_search checkpoint_restore
	job_of "$OTHER"
	refused CAP_SYS_PTRACE --pid "$JOB"
	run -3 --separate-stderr "${AS[@]}" "$PUBLIC/bin/gp-bpf" check --pid "$JOB"
	[[ $stderr == *"CAP_SYS_PTRACE missing"* ]]
}

@test "without DAC_READ_SEARCH a library that only its owner may read is named" {
	with bpf perfmon sys_ptrace
	chown "$OTHER" "$PUBLIC"/libtorch_*.so
	chmod 700 "$PUBLIC"/libtorch_*.so
	job_of "$OTHER"
	run "${AS[@]}" "$PUBLIC/bin/gp-bpf" check --pid "$JOB"
	[[ $output == *"libtorch_cpu.so: cannot be probed: "*"CAP_DAC_READ_SEARCH"* ]]
	with bpf perfmon sys_ptrace dac_read_search
	watched
}

@test "without BPF, without PERFMON, without both" {
	job_of "$OWN"
	with perfmon sys_ptrace dac_read_search checkpoint_restore
	refused CAP_BPF --pid "$JOB"
	with bpf sys_ptrace dac_read_search checkpoint_restore
	refused CAP_PERFMON --pid "$JOB"
	with
	refused "CAP_BPF and CAP_PERFMON" --pid "$JOB"
	refused "CAP_BPF and CAP_PERFMON" run -- touch "$T/started"
	[ ! -e "$T/started" ]
	refused "CAP_BPF and CAP_PERFMON" --durable --state-dir "$T/state" --pid "$JOB"
	[ ! -e "$T/state" ]
	run -3 --separate-stderr "${AS[@]}" "$PUBLIC/bin/gp-bpf" check
	grep -Eq '^  btf +yes ' <<<"$output"
	# What a type or a file system of the kernel tells about.
	[ "$(grep -c 'this kernel has it' <<<"$output")" -ge 6 ]
}

@test "without multi links SYS_ADMIN is needed" {
	job_of "$OWN"
	with bpf perfmon sys_ptrace dac_read_search checkpoint_restore
	refused CAP_SYS_ADMIN --pid "$JOB" --feature multi=off
	with bpf perfmon sys_ptrace dac_read_search checkpoint_restore sys_admin
	run -0 "${AS[@]}" "$PUBLIC/bin/gp-bpf" check --feature multi=off
}
