#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What gp-bpf keeps of its privileges while it watches (docs/security.md), that this is enough for what comes later, and that
# nothing of it reaches the command of `run`.

# shellcheck disable=SC2030,SC2031,SC2154 # tests are subshells; bats sets status, output
load lib
load durable

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() {
	e2e_teardown
	drop_pins "$T/state"
}

# The mask of capabilities, by their numbers, that this process has.
mask() { # numbers...
	local mask=0 cap
	for cap; do
		mask=$((mask | 1 << cap))
	done
	printf '%016x\n' $((mask & 0x$(awk '/^CapPrm/ { print $2 }' /proc/self/status)))
}
# linux/capability.h: CHECKPOINT_RESTORE, BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, FOWNER.
LOOKING=(40 39 38 19 2 3)
WATCHING=("${LOOKING[@]}" 6 7) # SETGID, SETUID
FILES=(1) # DAC_OVERRIDE
HOOKS=(5 8) # KILL, SETPCAP

# Every thread of the process is as it is to be, and so are those that it started. A thread may end before it is read.
confined() { # pid mask
	local status found seen=0
	for status in /proc/"$1"/task/*/status; do
		found=$(awk -F':\t' '/^(Cap|NoNewPrivs|Seccomp:)/ { printf "%s%s=%s", n++ ? " " : "", $1, $2 }' "$status" 2>/dev/null) ||
			[ -e "$status" ] || continue
		equal "CapInh=$(mask) CapPrm=$2 CapEff=$2 CapBnd=$2 CapAmb=$(mask) NoNewPrivs=1 Seccomp=2" "$found" "$status"
		seen=$((seen + 1))
	done
	[ "$seen" -gt 0 ]
}
readers() { # pid: name and permitted capabilities of its children, once each
	local child
	cat /proc/"$1"/task/*/children | tr ' ' '\n' | while read -r child; do
		[ ! -e "/proc/$child" ] || # it has ended
			echo "$(cat "/proc/$child/comm") $(awk '/^(CapPrm|Seccomp_filters)/ { printf "%s ", $2 }' "/proc/$child/status")"
	done | sort -u
}

@test "while it watches: what the table says, of every thread; who reads for it has less" {
	start_job "$TRAIN" load say=held pause steps=23 pause
	job_line held
	start_watch --pid "$JOB" --quiet --export json:- --listen "unix:$T/socket"
	[ -n "$(find "/proc/$WATCH/task" -mindepth 1 -maxdepth 1 ! -name "$WATCH")" ]
	confined "$WATCH" "$(mask "${WATCHING[@]}" "${FILES[@]}")"
	run readers "$WATCH"
	[[ $output == *"gp-bpf-look $(mask "${LOOKING[@]}" "${FILES[@]}") "* ]]
	[[ $output == *"gp-bpf-reader $(mask 40 38 19 2 3 6 7 "${FILES[@]}") "* ]]
	job_go
	until_true grep -q '"step":20' "$T/watch.out"
	job_go
	job_end
	watch_end
	steps_are 23 "$T/watch.out"
	equal "" "$(cat "$T/watch.err")"
	equal "" "$(dmesg | grep "type=1326 .* pid=$WATCH ")" "calls that were denied, in the kernel's log"
}

has_steps() { [ "$(count_lines step "$T/out")" -ge "$1" ]; }

@test "a node with hooks: what is mapped later is found, takeover and hooks work, nothing else is kept" {
	mkdir -m 777 "$T/hooked"
	printf '#!/bin/sh\nid -u >"%s/hooked/uid"\n' "$T" >"$T/hook"
	chmod 755 "$T/hook"
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$T" 2>/dev/null || true
	start_watch node --allow "command=$TRAIN*" --state-dir "$T/state" --listen "unix:$T/s" --export "json:$T/out" --handover
	confined "$WATCH" "$(mask "${WATCHING[@]}" "${FILES[@]}")"
	# A shell first, which maps nothing of ours.
	start_job sh -c "echo shell; read go; exec '$TRAIN' load wait steps=23 say=half pause steps=23 say=over pause"
	job_line shell
	job_go
	job_line half
	until_true has_steps 22
	kill -TERM "$WATCH"
	watch_end
	WATCH_NAME=second start_watch node --allow "command=$TRAIN*" --state-dir "$T/state" --export "json:$T/out" \
		--on "disruption=$T/hook" --listen 127.0.0.1:0
	confined "$WATCH" "$(mask "${WATCHING[@]}" "${FILES[@]}" "${HOOKS[@]}")"
	job_go
	job_line over
	kill -KILL "$JOB"
	until_true test -s "$T/hooked/uid"
	equal 65534 "$(cat "$T/hooked/uid")"
	kill -TERM "$WATCH"
	watch_end
	equal 46 "$(count_lines step "$T/out")" steps
	[ ! -e "$(pins "$T/state")" ]
}

@test "CMD of run has exactly what it would have had without gp-bpf" {
	local expected what=(grep -E '^(Cap|NoNewPrivs|Seccomp|Sig[^Q]|Shd|Speculation|Uid|Gid|Groups)' /proc/self/status)
	run -0 "${what[@]}"
	expected=$output
	run -0 --separate-stderr "$GP_BPF" run --quiet -- "${what[@]}"
	equal "$expected" "$output" "status of CMD"
	run -0 setpriv --reuid=daemon --regid=daemon --init-groups "${what[@]}"
	expected=$output
	run -0 --separate-stderr "$GP_BPF" run --quiet --user daemon -- "${what[@]}"
	equal "$expected" "$output" "status of CMD as daemon"
	[[ $output == *"NoNewPrivs:"$'\t'"0"* ]] # else the test says nothing
	# A service's SIGPIPE is ignored, unless its unit says otherwise.
	run -0 env --ignore-signal=PIPE,XFSZ "${what[@]}"
	expected=$output
	run -0 --separate-stderr env --ignore-signal=PIPE,XFSZ "$GP_BPF" run --quiet -- "${what[@]}"
	equal "$expected" "$output" "status of CMD with signals ignored"
}

@test "--sandbox=off keeps everything; another word is refused" {
	start_job "$TRAIN" load say=held pause
	job_line held
	start_watch --pid "$JOB" --quiet --sandbox=off
	equal "$(grep -E '^(Cap|NoNewPrivs|Seccomp)' /proc/self/status)" "$(grep -E '^(Cap|NoNewPrivs|Seccomp)' "/proc/$WATCH/status")"
	kill -TERM "$WATCH"
	watch_end
	run -2 "$GP_BPF" run --sandbox=maybe -- touch "$T/started"
	[[ $output == *"--sandbox: 'maybe' is not one of on, off"* ]]
	[ ! -e "$T/started" ]
	job_go
	job_end
}

@test "filters are refused, as in some containers: one line, and everything else is as ever" {
	cat >"$T/refuse.py" <<-'END'
		# Runs a command with a filter that refuses filters: seccomp(2) and prctl(PR_SET_SECCOMP).
		import ctypes, os, platform, struct, sys
		seccomp, prctl = {"x86_64": (317, 157), "aarch64": (277, 167)}[platform.machine()]
		program = b"".join(struct.pack("HBBI", *i) for i in (
		    (0x20, 0, 0, 0), (0x15, 3, 0, seccomp), (0x15, 0, 3, prctl),  # the call's number
		    (0x20, 0, 0, 16), (0x15, 0, 1, 22),  # prctl's first argument
		    (0x06, 0, 0, 0x50000 | 1), (0x06, 0, 0, 0x7FFF0000)))  # EPERM; else allowed
		bytes_of = ctypes.create_string_buffer(program)
		head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(bytes_of))
		libc = ctypes.CDLL(None, use_errno=True)
		assert not libc.syscall(seccomp, 1, 0, head), os.strerror(ctypes.get_errno())
		os.execvp(sys.argv[1], sys.argv[1:])
	END
	printf '#!/bin/sh\nexec python3 "%s" "%s" "$@"\n' "$T/refuse.py" "$GP_BPF" >"$T/gp-bpf"
	chmod +x "$T/gp-bpf"
	start_job "$TRAIN" load say=held pause steps=23 pause
	job_line held
	GP_BPF=$T/gp-bpf start_watch --pid "$JOB" --quiet --export "json:$T/out" --export "tensorboard:$T/board"
	equal "CapEff: $(mask "${WATCHING[@]}" "${FILES[@]}" 0)" "$(grep CapEff "/proc/$WATCH/status" | tr '\t' ' ')"
	job_go
	job_line "steps 23"
	job_go
	job_end
	watch_end
	steps_are 23 "$T/out"
	[ -n "$(find "$T/board" -name 'events*')" ]
	equal 1 "$(wc -l <"$T/watch.err")" "$(cat "$T/watch.err")"
	grep -q 'sandbox: system calls are not restricted: ' "$T/watch.err"
}

@test "giving up is refused, or few files may be open: one line says which call, why, and what to do" {
	cat >"$T/refuse.py" <<-'END'
		# Runs a command with a filter that refuses capset, or one use of prctl.
		import ctypes, os, platform, struct, sys
		prctl = {"x86_64": 157, "aarch64": 167}[platform.machine()]
		call = {"capset": {"x86_64": 126, "aarch64": 91}[platform.machine()], "prctl": prctl}[sys.argv[1]]
		program = b"".join(struct.pack("HBBI", *i) for i in (
		    (0x20, 0, 0, 0), (0x15, 0, 3, call), (0x20, 0, 0, 16), (0x15, 0, 1, 38), # PR_SET_NO_NEW_PRIVS
		    (0x06, 0, 0, 0x50000 | 1), (0x06, 0, 0, 0x7FFF0000)))
		if call != prctl:
		    program = b"".join(struct.pack("HBBI", *i) for i in (
		        (0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x50000 | 1), (0x06, 0, 0, 0x7FFF0000)))
		bytes_of = ctypes.create_string_buffer(program)
		head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(bytes_of))
		libc = ctypes.CDLL(None, use_errno=True)
		seccomp = {"x86_64": 317, "aarch64": 277}[platform.machine()]
		assert not libc.syscall(seccomp, 1, 0, head), os.strerror(ctypes.get_errno())
		os.execvp(sys.argv[2], sys.argv[2:])
	END
	run -3 --separate-stderr python3 "$T/refuse.py" capset "$GP_BPF" --pid $$ --quiet
	equal "gp-bpf: sandbox: cannot drop capabilities: capset: Operation not permitted: a filter of the container or service that gp-bpf runs in refuses the call; allow it there, or keep all privileges with --sandbox=off" "$stderr"
	run -3 --separate-stderr python3 "$T/refuse.py" prctl "$GP_BPF" --pid $$ --quiet
	[[ $stderr == "gp-bpf: sandbox: cannot forbid new privileges: prctl(PR_SET_NO_NEW_PRIVS): Operation not permitted: "*"--sandbox=off" ]]
	run -0 python3 "$T/refuse.py" capset "$GP_BPF" --pid $$ --quiet --sandbox=off --for 1ms
	# What bats and its caller have open is no part of these limits.
	# shellcheck disable=SC2016 # the inner shell expands
	local limited='for fd in /proc/self/fd/*; do [ "${fd##*/}" -le 2 ] || eval "exec ${fd##*/}>&-"; done; '
	run -3 --separate-stderr bash -c "$limited"'ulimit -n 16; exec "$@"' limited "$GP_BPF" --pid $$ --quiet
	[[ $stderr == "gp-bpf: the limit of open files is 16, but watching needs "*"LimitNOFILE= of a service)" ]]
	run -0 bash -c "$limited"'ulimit -n 128; exec "$@"' limited "$GP_BPF" --pid $$ --quiet --for 1ms
	# With most of them taken already, by who starts it.
	run -0 bash -c "$limited"'exec 5<&0 6<&0 7<&0 8<&0 9<&0; ulimit -Sn 16; exec "$@"' limited "$GP_BPF" --pid $$ --quiet --for 1ms
	# CMD has what it would have had.
	run -0 --separate-stderr bash -c "$limited"'ulimit -Sn 17; exec "$@"' limited "$GP_BPF" run --quiet -- sh -c 'ulimit -Sn'
	equal 17 "$output" "open files of CMD"
}
