#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What limits a job: the verdict of a running one and of a stored one.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of shell; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "a job while it runs, then from the store" {
	need_probes
	start_job "$TRAIN" load pace=100 work=15000 steps=3000
	run -0 --separate-stderr "$GP_BPF" explain --pid "$JOB" --for 12s --store "$T/store"
	[[ ${lines[0]} == *"$JOB"* ]]
	# Other tests may use its CPU.
	[[ $output == *"verdict      "@("steady: "|"CPU contention: ")* ]] || { echo "$output" >&2; return 1; }
	"$GP_BPF" check | grep -q 'tp_btf *no' || [[ $output == *"thread       examined for "*" s: "* ]]
	run -0 --separate-stderr "$GP_BPF" explain --store "$T/store" --json
	equal 1 "$(jq '.jobs | length' <<<"$output")" jobs
	jq -e '.type == "explanation" and (.jobs[0].verdicts[0] | .verdict and .text)' <<<"$output"
	kill "$JOB"
}

# What was so from the beginning is no slowdown: it is in the verdicts all the same.
lacks() { # verdict least-share
	run -0 --separate-stderr "$GP_BPF" explain --pid "$JOB" --for 15s --json
	jq -e --arg verdict "$1" --argjson least "$2" '.jobs[0].verdicts[0] | .verdict == $verdict and .share > $least' <<<"$output" ||
		{ echo "$output" >&2; return 1; }
}

@test "a CPU quota from the beginning" {
	need_probes
	make_quota
	set_quota 60
	start_job sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$QUOTA" nice -n -20 "$TRAIN" load pace=100 work=20000 steps=3000
	lacks cpu_throttled 0.2
}

@test "another program on its CPU from the beginning" {
	need_probes
	[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
	start_job nice -n -20 taskset -c 1 "$TRAIN" load pace=100 work=20000 steps=3000
	nice -n -20 taskset -c 1 sh -c 'while :; do :; done' 3>&- &
	STARTED+=("$!")
	lacks cpu_contention 0.3
}

need_examinations() { "$GP_BPF" check | grep -q 'tp_btf *yes' || cannot "the kernel lacks feature tp_btf"; }

@test "a loop that sleeps in each step: what blocks it" {
	need_probes
	need_examinations
	start_job "$TRAIN" load pace=20000 steps=3000
	run -0 --separate-stderr "$GP_BPF" explain --pid "$JOB" --for 12s --json
	jq -e '.jobs[0] | (.verdicts | any(.verdict == "blocked" and .share > 0.5 and (.text | contains("sleeps for a time"))))
		and (.ranks[0].examined | .asleep_ns.sleep > 0.5 * (.to_ns - .from_ns))' <<<"$output" || { echo "$output" >&2; return 1; }
	kill "$JOB"
}

# Its torch has no probe for waits for input: samples of the Python stack show them.
@test "loader workers that wait for a server, with torch 1.13: the server is named" {
	need_probes
	need_examinations
	python_debian
	touch "$T/go"
	start_job nice -n -20 "$PY" "$TOP/tests/workloads/loader.py" network 2 "$T/go"
	job_line ready
	run -0 --separate-stderr "$GP_BPF" explain --pid "$JOB" --for 17s --json
	job_end
	jq -e '.jobs[0] | (.verdicts | any(.verdict == "input_bound" and (.text | contains("waiting for the network"))
			and (.evidence | test("a loader worker waits for a network socket \\(127.0.0.1:[0-9]+\\)"))))
		and (.ranks[0].worker_examined.waits[0] | .wait == "network" and (.target | startswith("127.0.0.1:")))' <<<"$output" ||
		{ echo "$output" >&2; return 1; }
}

# The waits are known from samples only, which are not stored; the report and the page have them all the same.
@test "waits for data of a job of torch 1.13 that has ended" {
	need_probes
	python_debian
	touch "$T/go"
	sleep 17 | nice -n -20 "$GP_BPF" run --json --html "$T/page" -- "$PY" "$TOP/tests/workloads/loader.py" sleep 0 "$T/go" >"$T/all"
	tail -n 1 "$T/all" | jq -e '[.. | .verdicts? // empty | .[]] | any(.verdict == "input_bound" and .share > 0.5)' || { cat "$T/all" >&2; return 1; }
	sed -n '/<h2 id="h-why">/,/<\/section>/p' "$T/page" | grep -q '<strong>input-bound</strong>: [5-9][0-9] % of the time waits for data'
}

@test "a process that hung before gp-bpf came: where its main thread is" {
	need_probes
	need_examinations
	python_debian
	printf '%s\n' 'import threading' 'lock = threading.Lock()' 'def enter():' '    lock.acquire()' 'enter()' 'enter()' >"$T/hung.py"
	start_job "$PY" "$T/hung.py"
	sleep 1 # until it hangs
	run -0 --separate-stderr "$GP_BPF" explain --pid "$JOB" --for 12s --json
	kill "$JOB"
	jq -e '.jobs == [] and (.untrained[0] | .lines[0].line == "hung.py:4 in enter()" and .lines[0].share > 0.9
			and (.examined.waits | any(.wait == "lock" and .ns > 1e9)))' <<<"$output" || { echo "$output" >&2; return 1; }
}

@test "a process that does not train: that is said" {
	need_probes
	sleep 30 3>&- &
	STARTED+=("$!")
	run -0 --separate-stderr "$GP_BPF" explain --pid "$!" --for 1s
	[[ $output == *"no training loop was found"* ]]
}

@test "what is wrong is said in one line" {
	run -1 --separate-stderr "$GP_BPF" explain --store "$T/none"
	equal 1 "$(grep -c . <<<"$stderr")" lines
	run -2 --separate-stderr "$GP_BPF" explain --pid 1 llama
	[[ $stderr == *"not both"* ]]
	run -2 --separate-stderr "$GP_BPF" report --max-regression 5 --store "$T/none"
	[[ $stderr == *"--max-regression needs --compare"* ]]
}
