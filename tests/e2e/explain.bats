#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What limits a job: the verdict of a running one and of a stored one.

# shellcheck disable=SC2030,SC2031,SC2153,SC2154 # tests are subshells; bats sets stderr
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
