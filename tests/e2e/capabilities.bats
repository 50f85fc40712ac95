#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Sets of capabilities, as gp-bpf.8 lists them: what works with each, or the line that names the one that is missing.

# shellcheck disable=SC2030,SC2031,SC2034,SC2154 # tests are subshells; stuck.bash has STUCK_IN; bats sets stderr
load lib
load durable
load stuck

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
	exec 6>&-
	e2e_teardown
	unmount_stuck
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
	[[ $output == *"libtorch_"*".so: cannot be probed: "*"CAP_DAC_READ_SEARCH"* ]]
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

# A user who mounts a file system without allow_other shuts root out, too.
@test "a library that its process's user alone may read: steps, by one link for many places and by one for each" {
	local features how
	mount_stuck "$PUBLIC/own" libtorch_cpu.so "cached:$OTHER" "$FAKE/libtorch_cpu.so"
	run ! cat "$PUBLIC/own/libtorch_cpu.so"
	rm "$PUBLIC/libtorch_cpu.so"
	ln -s own/libtorch_cpu.so "$PUBLIC"
	for how in many each; do
		features=()
		[ $how = many ] || features=(--feature multi=off)
		job_of "$OTHER"
		WATCH_NAME=$how start_watch --pid "$JOB" --quiet --export "json:$T/$how.out" "${features[@]}"
		job_go
		job_end
		watch_end
		steps_are 23 "$T/$how.out"
		run ! grep "cannot be probed" "$T/$how.err"
	done
	with bpf perfmon sys_ptrace dac_read_search setuid setgid fowner
	job_of "$OTHER"
	watched
}

@test "a library that its process's user alone may read, and that is not kept in memory: no probes" {
	mount_stuck "$PUBLIC/own" libtorch_cpu.so "direct:$OTHER" "$FAKE/libtorch_cpu.so" ro
	MAPPER_IN=(setpriv --reuid="$OTHER" --regid="$OTHER" --clear-groups)
	cp "$FAKE/map" "$PUBLIC"
	FAKE=$PUBLIC start_mapper "$PUBLIC/own/libtorch_cpu.so"
	run "$GP_BPF" check --pid "$MAPPER"
	[[ $output == *"libtorch_cpu.so: its file system does not keep these pages in memory, and "* ]]
	with bpf perfmon sys_ptrace dac_read_search setuid setgid
	run "${AS[@]}" "$PUBLIC/bin/gp-bpf" check --pid "$MAPPER"
	[[ $output == *"CAP_FOWNER is needed to check that this file on FUSE stays in memory"* ]]
}

@test "a program and its libraries on a user's bindfs, in a mount namespace of its own: steps" {
	need_program bindfs
	[ -w /dev/fuse ] || cannot "no /dev/fuse"
	local user=games # fusermount wants a name
	mkdir "$PUBLIC/own"
	chown "$user" "$PUBLIC/own"
	mknod -m 666 "$PUBLIC/fuse" c 10 229 # as where udev made it
	cat >"$T/container" <<-S
		#!/bin/sh
		mount --bind "$PUBLIC/fuse" /dev/fuse
		as="setpriv --reuid=$user --regid=$user --clear-groups"
		\$as bindfs --no-allow-other "$PUBLIC" "$PUBLIC/own" </dev/null >&2 || exit 9
		cat "$PUBLIC/own/train" >/dev/null && exit 8
		exec \$as "$PUBLIC/own/train" load say=held pause steps=23
	S
	chmod +x "$T/container"
	start_job unshare --mount "$T/container"
	job_line held
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	job_go
	job_end
	watch_end
	steps_are 23 "$T/out"
	equal "" "$(cat "$T/watch.err")"
}

@test "a library that its process's user alone may read, without SETUID: one line for its file system" {
	mount_stuck "$PUBLIC/own" libtorch_cpu.so,libtorch_python.so "cached:$OTHER" "$FAKE/libtorch_cpu.so"
	MAPPER_IN=(setpriv --reuid="$OTHER" --regid="$OTHER" --clear-groups)
	cp "$FAKE/map" "$PUBLIC"
	FAKE=$PUBLIC start_mapper "$PUBLIC"/own/libtorch_{cpu,python}.so
	with bpf perfmon sys_ptrace dac_read_search checkpoint_restore
	run "${AS[@]}" "$PUBLIC/bin/gp-bpf" check --pid "$MAPPER"
	equal 1 "$(grep -c "warning: .* cannot be probed: .*give gp-bpf CAP_SETUID and CAP_SETGID" <<<"$output")" "lines of: $output"
	equal 1 "$(grep -c "warning:" <<<"$output")" "warnings of: $output"
}

# With allow_other: who else is in that namespace, so not root outside.
@test "a library on a file system that is mounted in a user namespace: steps" {
	STUCK_IN=(unshare --user --map-root-user --mount)
	mount_stuck "$PUBLIC/own" libtorch_cpu.so cached "$FAKE/libtorch_cpu.so"
	run ! cat "/proc/$LAST/root$PUBLIC/own/libtorch_cpu.so"
	rm "$PUBLIC/libtorch_cpu.so"
	ln -s own/libtorch_cpu.so "$PUBLIC"
	start_job nsenter --target "$LAST" --user --mount --preserve-credentials "$PUBLIC/train" load say=held pause steps=23
	job_line held
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	job_go
	job_end
	watch_end
	steps_are 23 "$T/out"
	equal "" "$(cat "$T/watch.err")"
}

@test "a library that neither root nor its process's user may read: one line for its file system" {
	mount_stuck "$PUBLIC/own" libtorch_cpu.so,libtorch_python.so "cached:$OTHER" "$FAKE/libtorch_cpu.so"
	cat >"$T/job.py" <<-'EOS'
		import mmap, os, socket, sys
		ours, theirs = socket.socketpair()
		if not os.fork():  # the one who may opens them for the one who may not
		    os.setresgid(*[int(sys.argv[1])] * 3)
		    os.setresuid(*[int(sys.argv[1])] * 3)
		    socket.send_fds(theirs, [b"x"], [os.open(path, os.O_RDONLY) for path in sys.argv[2:]])
		    os._exit(0)
		kept = [mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
		        for fd in socket.recv_fds(ours, 1, 9)[1]]
		print("held", flush=True)
		sys.stdin.readline()
	EOS
	start_job python3 "$T/job.py" "$OTHER" "$PUBLIC"/own/libtorch_{cpu,python}.so
	job_line held
	run "$GP_BPF" check --pid "$JOB"
	equal 1 "$(grep -c "warning: .* cannot be probed: its file system refuses root and the user of its process" <<<"$output")" "lines of: $output"
	equal 1 "$(grep -c "warning:" <<<"$output")" "warnings of: $output"
	job_go
	job_end
}

@test "without CHECKPOINT_RESTORE: libraries that were removed, or are in memory only" {
	with bpf perfmon sys_ptrace dac_read_search
	job_of "$OTHER"
	mv "$PUBLIC"/libtorch_cpu.so "$T"
	cp "$T/libtorch_cpu.so" "$PUBLIC"
	rm "$T/libtorch_cpu.so"
	run "${AS[@]}" "$PUBLIC/bin/gp-bpf" check --pid "$JOB"
	[[ $output == *"libtorch_cpu.so: cannot be probed: the file was deleted, or is in memory only, and CAP_CHECKPOINT_RESTORE is missing"* ]]
	job_go
	job_end
	start_job setpriv --reuid="$OTHER" --regid="$OTHER" --clear-groups "$PUBLIC/train" memory load say=held pause
	job_line held
	run "${AS[@]}" "$PUBLIC/bin/gp-bpf" check --pid "$JOB"
	[[ $output == *"code in memory (memfd:copy) is not probed: "*"CAP_CHECKPOINT_RESTORE"* ]]
	job_go
	job_end
}
