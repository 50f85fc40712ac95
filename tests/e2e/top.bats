#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gp-bpf top: a node's jobs as its service tells them, and by probes of its own where there is none.

# shellcheck disable=SC2030,SC2031,SC2153,SC2154 # tests are subshells; bats sets output and stderr
load lib
load durable

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	export TERM=xterm
}
teardown() {
	e2e_teardown
	drop_pins "$T/state"
}

# A job of that name whose input stays open, with libraries of its own.
job() { # name operations...
	local name=$1
	shift
	[ -p "$T/open" ] || mkfifo "$T/open"
	exec 6<>"$T/open"
	[ -d "$T/$name" ] || cp -r "$FAKE" "$T/$name"
	TORCHELASTIC_RUN_ID=$name RANK=0 WORLD_SIZE=1 background "$T/open" "$T/$name.said" "$T/$name.err" "$T/$name/train" "$@"
}
top() { "$GP_BPF" top --state-dir "$T/state" "$@"; }
top_says() { # pattern
	top >"$T/frame" && grep -qE "$1" "$T/frame"
}

@test "sandboxes of gVisor are counted, as what runs in them is not seen" {
	start_gvisor "load=$FAKE" say=held pause
	job_line held
	start_watch node --state-dir "$T/state" --listen "unix:$T/socket" --allow "command=runsc-sandbox*"
	until_true top_says '   unseen in gVisor [1-9]'
	curl -sf --unix-socket "$T/socket" http://node/debug/state |
		jq -e --argjson pid "$JOB" '.node.gvisor_sandboxes >= 1 and any(.node.denied_last[]; .pid == $pid and (.why | test("gVisor")))'
	kill -TERM "$WATCH"
	watch_end
	job_go
	job_end
}

@test "a service's jobs, at its socket: a frame, JSON, and by keys on a terminal" {
	start_watch node --state-dir "$T/state" --listen "unix:$T/socket" --allow "command=$T/*"
	equal 600 "$(stat -c %a "$T/state/gp-bpf.sock")" "who may ask"
	job alpha load wait pace=2000 steps=100000
	job beta load wait steps=23 pause
	until_true top_says '^  alpha +running +1 +[0-9]+ +[0-9.]+ ms .*% █'
	until_true top_says '^  beta +running +1 +2[23] '
	grep -q '^jobs 2 running, 2 in all   ranks 2$' "$T/frame"
	grep -q '^overhead .*   records lost none   watched 2' "$T/frame"
	! grep -q $'\e' "$T/frame" || false
	run -0 top --filter 'b*a'
	[[ $output == *"1 of 2 match b*a"*"beta"* && $output != *alpha* ]]
	equal '["alpha","beta"]' "$(top --json | jq -c '[.jobs[].job] | sort')" "JSON"
	equal 2 "$(top --listen "unix:$T/socket" --json | jq '[.ranks[] | select(.job_key and (.loops[0].recent_ns | length > 9))] | length')"

	run -0 "$TOP/tests/tools/keys.py" "$GP_BPF" top --state-dir "$T/state" --interval 200ms <<-'KEYS'
		> alpha
		J
		sorted by job
		j
		> beta
		\r
		rank 0  pid
		q
		> beta
		/al\r
		1 of 2 match al
		?
		sort jobs by
		qq
	KEYS

	kill -TERM "$WATCH"
	watch_end
	[ ! -e "$T/state/gp-bpf.sock" ]
}

@test "without a service: its own probes, until q or for five intervals" {
	job gamma load wait pace=2000 steps=100000
	run -0 --separate-stderr top --allow "command=$T/*" --interval 400ms
	[[ $output =~ gamma\ +running\ +1\ +[0-9]+ ]]
	[[ $stderr == *"no gp-bpf node at unix:$T/state/gp-bpf.sock: gp-bpf top watches the jobs itself, with its own probes"* ]]
	run -0 "$TOP/tests/tools/keys.py" "$GP_BPF" top --state-dir "$T/state" --allow "command=$T/*" <<-'KEYS'
		> gamma
		\r
		rank 0  pid
		qq
	KEYS
}

@test "what top refuses" {
	run -2 --separate-stderr "$GP_BPF" top x
	[[ $stderr == *"top: unexpected argument 'x'; to show one job: --filter"* ]]
	run -2 --separate-stderr "$GP_BPF" top --sort nonsense
	[[ $stderr == *"--sort: 'nonsense' is not one of trouble, job,"* ]]
	run -2 --separate-stderr "$GP_BPF" top --interval 1ms
	run -2 --separate-stderr "$GP_BPF" top --listen nonsense
	run -1 --separate-stderr "$GP_BPF" top --listen "unix:$T/nobody"
	[[ $stderr == *"no gp-bpf listens at this address"* ]]
	mkdir -m 700 "$T/state"
	run -3 --separate-stderr setpriv --reuid 65534 --clear-groups "$GP_BPF" top --state-dir "$T/state"
	[[ $stderr == *"sudo gp-bpf top"* ]]
}
