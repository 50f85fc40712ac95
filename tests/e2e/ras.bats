#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A hang of two ranks, of which NCCL's RAS service is asked. The service is a stand-in, which also lies.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	need_program python3
}
teardown() { e2e_teardown; }

# Makes rank 1 hang in a copy to the device. Returns when the hang is reported, and RAS was asked.
hang() { # WHAT-RAS-SAYS
	local ranks
	background /dev/null "$T/ras.out" "$T/ras.err" python3 "$TOP/tests/servers/ras.py" --port-file "$T/port" --journal "$T/asked" --says "$1"
	until_true test -s "$T/port"
	NCCL_RAS_ADDR=127.0.0.1:$(cat "$T/port")
	export NCCL_RAS_ADDR
	FAKE_CUDA_1='cuMemcpyHtoDAsync_v2:hang@31' start_job "$FAKE/cuda_train" "journal=$T/journal" ranks=2 steps=53 pace=2000
	job_line loaded
	start_watch record --pid "$JOB" --quiet -o "$T/tape" --overhead-budget 0 --export "json:$T/out" --marker sync --hang-after 15s
	job_go
	pgrep -P "$JOB" | sort -n | head -2 >"$T/asked.pids"
	READY_S=60 until_true reported
	READY_S=60 until_true grep -q asked "$T/asked"
}
reported() { jq -se 'any(.[]; .type == "health" and .kind == "hang")' "$T/out" >/dev/null; }
quoted() { jq -se 'any(.[]; .type == "health" and .kind == "hang" and (.evidence | contains("NCCL says")))' "$T/out" >/dev/null; }
end_hang() {
	mapfile -t ranks < <(pgrep -P "$JOB")
	kill -KILL "${ranks[@]}"
	exec 7>&-
	wait_exit "$JOB"
	wait_exit "$WATCH"
}

@test "RAS says which rank lags: it is quoted as a claim" {
	hang truth
	READY_S=60 until_true quoted
	end_hang
	jq -se 'any(.[]; .type == "health" and .kind == "hang" and (.evidence | test("NCCL says: rank 1 \\(process [0-9]+ on 127.0.0.1\\) has launched 30 AllReduce, 1 of 2 ranks 31 \\(communicator 27a\\)")))' "$T/out"
	grep -q "^STATUS" "$T/asked"
	run -0 --separate-stderr "$GP_BPF" replay --quiet --export "json:$T/again" "$T/tape"
	cmp <(jq -c 'select(.type == "health")' "$T/out") <(jq -c 'select(.type == "health")' "$T/again")
}

# Whatever it says, the hang is reported without it, and gp-bpf goes on.
lies() { # WHAT-RAS-SAYS
	[ -n "${ALL:-}" ] || skip "one of four kinds of lies: ALL=1"
	hang "$1"
	sleep 5 # until an answer would have been recorded
	! quoted
	end_hang
}

@test "RAS speaks of other processes: nothing is quoted" {
	ALL=1
	lies others
}

@test "RAS answers with nonsense: nothing is quoted" { lies garbage; }
@test "RAS does not end its answer: nothing is quoted" { lies endless; }
@test "RAS does not answer: nothing is quoted" { lies nothing; }
