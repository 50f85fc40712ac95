#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gp-bpf check: where probes would sit, whether steps can be found; and probe files of the user's.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "files: each probe with its place, and one sentence on all of them" {
	need_probes
	run -0 "$GP_BPF" check --library "$FAKE/libtorch_cpu.so" "$FAKE/libtorch_python.so"
	grep -E '^  torch.range_begin +resolved +(nop5|emulated|stepped) +[0-9]+ ns +libtorch_cpu\.so\+0x' <<<"$output"
	grep -E '^  torch.reducer +(absent|resolved) ' <<<"$output"
	grep -E '^with these libraries: steps can be found, tier A .*\(torch.range_begin\)$' <<<"$output"
	# One of the two does not suffice.
	run -0 "$GP_BPF" check --library "$FAKE/libtorch_python.so"
	grep -E '^with this library: no step can be found' <<<"$output"
}

@test "a process: runtimes, probes, one sentence; --json tells the same" {
	need_probes
	start_job "$TRAIN" load say=loaded pause
	job_line loaded
	run -0 --separate-stderr "$GP_BPF" check --json --pid "$JOB"
	jq -e --argjson pid "$JOB" '
		(.features | length > 5 and all(has("have"))) and (.prices | length == 3) and
		(.targets | length == 1) and (.targets[0] |
			.pid == $pid and .error == null and
			any(.runtimes[]; .runtime == "torch" and .library == "libtorch_cpu.so") and
			any(.probes[]; .probe == "torch.range_begin" and .state == "attached" and .offset > 0 and .price_ns > 0) and
			.steps.can_be_found and .steps.tier == "A" and .steps.by == "torch.range_begin")' <<<"$output"
	run -0 "$GP_BPF" check --pid "$JOB"
	grep -E "^process $JOB \(" <<<"$output"
	grep -E '^  steps can be found, tier A' <<<"$output"
	job_go
	job_end
}

@test "what cannot be looked at is told, and the rest is" {
	need_probes
	run -1 --separate-stderr "$GP_BPF" check --json --library "$T/missing.so" --library "$FAKE/libtorch_cpu.so"
	jq -e '(.targets | length == 2) and .targets[0].error == "No such file or directory" and
		(.targets[1].probes | length > 5)' <<<"$output"
	[[ $stderr == *"$T/missing.so: No such file"* ]]
	run -2 --separate-stderr "$GP_BPF" check something
	[[ $stderr == *--library* ]]
}

@test "kernel lockdown: its mode, and what is lost by it" {
	need_probes
	mkdir -p "$T/root/sys/kernel/security"
	ln -s /proc "$T/root/proc"
	echo 'none [integrity] confidentiality' >"$T/root/sys/kernel/security/lockdown"
	run -0 "$GP_BPF" check --root "$T/root"
	grep -qx 'kernel lockdown: integrity; lost by it: nothing' <<<"$output"
	run -0 "$GP_BPF" check --root "$T/root" --json
	equal integrity "$(jq -r .lockdown <<<"$output")" mode
	rm "$T/root/sys/kernel/security/lockdown"
	run -0 "$GP_BPF" check --root "$T/root" --json
	equal null "$(jq -r .lockdown <<<"$output")" "mode that cannot be read"
}

@test "a process of gVisor: nothing is attached, which is said" {
	need_probes
	start_gvisor "load=$FAKE" say=held pause sites
	job_line held
	run -1 --separate-stderr "$GP_BPF" check --pid "$JOB" --json
	equal "runs under gVisor (runsc), which hides its libraries: no probe can be attached" \
		"$(jq -r '.targets[0].error' <<<"$output")" error
	jq -e '.gvisor_sandboxes >= 1 and .targets[0].probes == []' <<<"$output"
	run -0 "$GP_BPF" check
	grep -qE '^gVisor: [0-9]+ sandbox(es)? here; processes in gVisor cannot be observed$' <<<"$output"
	run -3 --separate-stderr "$GP_BPF" --pid "$JOB" --quiet
	equal "gp-bpf: process $JOB: runs under gVisor (runsc), which hides its libraries: no probe can be attached" "$stderr" error
	job_go
	job_line sites
	equal "sites 0" "$LINE"
	job_end
}

@test "a command that becomes gVisor is watched on, without probes" {
	need_probes
	cp "$TRAIN" "$T/runsc"
	run -0 --separate-stderr "$GP_BPF" run --export "json:$T/out" -- \
		bash -c 'exec -a runsc-sandbox "$0" "$@"' "$T/runsc" "load=$FAKE" rest=600 steps=7 sites
	[[ $stderr == *"runs under gVisor (runsc)"* ]]
	equal "sites 0" "$(grep sites <<<"$output")"
	equal 0 "$(count_lines step "$T/out")" steps
}

@test "a folder of probe files adds rows, and replaces those of their id" {
	mkdir "$T/probes"
	cat >"$T/probes/mine.yaml" <<-'EOF'
		runtime: torch
		libraries: [libtorch_cpu.so*]
		probes:
		  - id: reducer
		    symbol: no_such_function
		    group: confirm
		    why: another place for it
		  - id: mine
		    symbol: neither_this
		    group: fault
		    why: one more
	EOF
	run -0 "$GP_BPF" probes --probes "$T/probes"
	[ "$(grep -c '^torch.reducer ' <<<"$output")" -eq 1 ]
	grep -A4 '^torch.reducer ' <<<"$output" | grep -F "$T/probes/mine.yaml:4, which replaces the installed row"
	grep '^torch.mine ' <<<"$output"
	grep '^torch.range_begin ' <<<"$output"
	need_probes
	run -0 "$GP_BPF" check --probes "$T/probes" --library "$FAKE/libtorch_cpu.so"
	grep -E '^  torch.reducer +absent +libtorch_cpu.so: no such function$' <<<"$output"
	grep -E '^  torch.mine +absent ' <<<"$output"
}
