#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `gp-bpf run`: the command must not notice.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

@test "the exit status is the command's" {
	run -37 "$GP_BPF" run --quiet -- sh -c 'exit 37'
	run -143 "$GP_BPF" run --quiet -- sh -c 'kill -TERM $$'
	run -127 "$GP_BPF" run --quiet -- ./no-such-program
	run -126 "$GP_BPF" run --quiet -- /dev/null
}

@test "arguments, input, output and environment pass unchanged" {
	local given=(one 'two three' '' '*' --quiet -- --pid 1)
	run -0 --separate-stderr "$GP_BPF" run --quiet -- printf '<%s>\n' "${given[@]}"
	equal "$(printf '<%s>\n' "${given[@]}")" "$output"
	equal "" "${stderr:-}" "standard error"
	equal "hello" "$(echo hello | "$GP_BPF" run --quiet -- cat)" "standard input"
	equal "$(env -u _ | sort)" "$("$GP_BPF" run --quiet -- env -u _ | sort)" environment
	equal "$(cd / && pwd)" "$(cd / && "$GP_BPF" run --quiet -- pwd)" directory
}

@test "the command gets no descriptor of ours, and no signal state" {
	run -0 bash -c 'ls /proc/self/fd | wc -l; grep -E "^Sig(Blk|Ign|Cgt)" /proc/self/status' 3>&-
	local alone=$output
	run -0 "$GP_BPF" run --quiet --export "json:$T/out" -- \
		bash -c 'ls /proc/self/fd | wc -l; grep -E "^Sig(Blk|Ign|Cgt)" /proc/self/status' 3>&-
	equal "$alone" "$output" "descriptors and signals"
	run -1 "$GP_BPF" run --quiet --ready-fd 9 -- test -e /proc/self/fd/9 9>"$T/ready"
	equal ready "$(<"$T/ready")"
}

@test "the report goes to standard error, data to standard output" {
	run -0 --separate-stderr "$GP_BPF" run -- "$TRAIN" load wait steps=23
	equal "steps 23" "$output" "standard output"
	[[ $stderr == *23* ]]
	grep -qE '^gp-bpf: [0-9:]{8} pid [0-9]+ locked \(tier A by [^)]+\)' <<<"$stderr"
	run -1 grep -E '^gp-bpf: .*(starting|learning|median)' <<<"$stderr"
	run -0 --separate-stderr "$GP_BPF" run --json --output "$T/its" -- "$TRAIN" load wait steps=23
	equal 23 "$(jq '.ranks[0].loops[0].steps' <<<"$output")"
	equal "steps 23" "$(<"$T/its")" "the command's output"
}

@test "without a terminal each event is a line at standard error; on one the command has it alone" {
	need_program script
	run -137 --separate-stderr "$GP_BPF" run -- "$TRAIN" load wait steps=23 kill=9
	[ "$(grep -cE '^gp-bpf: .*locked' <<<"$stderr")" -ge 1 ]
	equal 1 "$(grep -cE '^gp-bpf: .* disruption: killed' <<<"$stderr")" "lines on the disruption"
	run -137 --separate-stderr "$GP_BPF" run --quiet -- "$TRAIN" load wait steps=23 kill=9
	equal "" "$stderr"
	run -0 script -qec "$GP_BPF run -- $TRAIN load wait steps=23" /dev/null </dev/null
	[[ $output == *"found by"* && $output != *"locked (tier"* ]]
}

@test "JSON lines on standard output" {
	run -0 --separate-stderr "$GP_BPF" run --quiet --export json:- --output "$T/its" -- "$TRAIN" load wait steps=23
	echo "$output" >"$T/out"
	steps_are 23 "$T/out"
}

# Says "up", then ends with 5 on SIGTERM, 6 on SIGINT, 8 on SIGHUP, 10 on SIGUSR1.
trapper='import signal, sys
for number, status in ((15, 5), (2, 6), (1, 8), (10, 10)):
    signal.signal(number, lambda *a, status=status: sys.exit(status))
print("up", flush=True)
while True:
    signal.pause()'

@test "signals that gp-bpf gets reach the command" {
	local signal status
	for signal in TERM:5 INT:6 HUP:8 USR1:10; do
		status=${signal#*:}
		start_job "$GP_BPF" run --quiet --export "json:$T/out" -- python3 -c "$trapper"
		job_line up
		kill -"${signal%:*}" "$JOB"
		job_end "$status"
		equal 1 "$(count_lines end "$T/out")" "end lines"
	done
}

@test "a terminal stays the command's" {
	need_program script
	run -0 script -qec "'$GP_BPF' run --quiet -- sh -c 'test -t 0 && test -t 1 && test -t 2 && stty -a </dev/tty >/dev/null && echo terminal'" /dev/null
	[[ $output == *terminal* ]]
}

@test "the live view wants a file for the command's output" {
	run -2 "$GP_BPF" run --live -- true
	[[ $output == *--output* ]]
}

@test "under sudo the command is the user's" {
	run -0 env SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody "$GP_BPF" run --quiet --export "json:$T/out" -- \
		sh -c 'id -u; id -g; id -G'
	equal "$(printf '%s\n' 65534 65534 65534)" "$output" "user, group, groups"
	run -0 "$GP_BPF" run --quiet --user nobody -- id -u
	equal 65534 "$output"
	run -1 "$GP_BPF" run --quiet --user no-such-user -- id -u
	[[ $output == *no-such-user* ]]
}

@test "sudo itself: user, environment and status" {
	need_program sudo
	mkdir "$T/sudoers.d"
	echo 'nobody ALL=(ALL) NOPASSWD: ALL' >"$T/sudoers.d/all"
	chmod 0440 "$T/sudoers.d/all"
	# Seen by what runs in this mount namespace alone.
	run -37 unshare -m sh -c 'mount --bind "$1/sudoers.d" /etc/sudoers.d && cd / &&
		exec setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=/nonexistent GREETING=hello \
			sudo -n "$2" run --quiet --export "json:$1/out" -- sh -c "id -u; echo \$GREETING; exit 37"' sh "$T" "$GP_BPF"
	equal "$(printf '65534\nhello')" "$output"
	equal 1 "$(count_lines end "$T/out")" "end lines"
}

@test "when nothing can be observed the command is not started, unless asked for" {
	run -3 unshare --pid --fork --mount-proc "$GP_BPF" run -- touch "$T/started"
	[ ! -e "$T/started" ]
	run -0 unshare --pid --fork --mount-proc "$GP_BPF" run --best-effort -- touch "$T/started"
	[ -e "$T/started" ]
}
