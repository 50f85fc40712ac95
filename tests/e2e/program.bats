#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a job gets done and what its accelerators cost: the report, the report as JSON and the metrics say the same.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

SAID=(--samples 512 --tokens 1M --flops 20T --accelerator h100-sxm --accelerators 8 --price '$2.50' --perf-tag small)

job() { jq -r ".jobs[0]$1" "$T/report"; }
# The job's report as JSON and as text, from a tape.
taped() { # arguments of record, "--", command
	run -0 "$GP_BPF" record -o "$T/tape" --quiet --job worked "$@"
	run -0 --separate-stderr "$GP_BPF" replay --json --quiet "$T/tape"
	echo "$output" >"$T/report"
	run -0 --separate-stderr "$GP_BPF" replay "$T/tape"
	printf '%s\n%s\n' "$output" "$stderr" >"$T/text"
}
near() { # a b what: to a millionth
	jq -n -e --argjson a "$1" --argjson b "$2" '($a - $b) | fabs <= 1e-6 * ($b | fabs)' >/dev/null && return 0
	echo "$3: $1, not $2" >&2
	return 1
}

@test "throughput, MFU, accelerator time and cost follow from what was seen, to the last digit" {
	taped "${SAID[@]}" -- "$TRAIN" load wait pace=2000 steps=60 save=/srv/model.pt steps=40
	equal 100 "$(job .steps)" steps
	equal H100-SXM "$(job .accelerator)"
	equal 8 "$(job .accelerators)"
	equal small "$(job .perf_tag)"
	near "$(job .program.in_steps.samples_per_second)" "$(jq '512e9 / .ranks[0].loops[0].step_time.mean_ns' "$T/report")" "samples/s"
	near "$(job .program.of_observed.tokens_per_second)" "$(job '| 1e6 * .steps / (.observed_ns / 1e9)')" "tokens/s"
	near "$(job .program.of_observed.mfu)" "$(job '| 20e12 * .steps / (.observed_ns / 1e9) / (8 * 989.4e12)')" MFU
	near "$(job '.goodput | .runtime * .program')" "$(job .program.of_observed.mfu)" "runtime x program"
	equal null "$(job .goodput.scheduling)"
	near "$(job '.accelerator_seconds | add')" "$(job '.elapsed_ns * 8 / 1e9')" "accelerator time"
	near "$(job .cost.total)" "$(job '.elapsed_ns * 8 / 3600e9 * 2.5')" cost
	near "$(job '.cost.buckets | add')" "$(job .cost.total)" "cost by bucket"
	equal '$' "$(job .cost.currency)"
}

@test "the text says the same, and names what it cannot know" {
	taped "${SAID[@]}" -- "$TRAIN" load wait pace=2000 steps=60
	grep -qE '^ +sum .* \$'"$(job '.cost.total * 10000 | round / 10000' | sed 's/0*$//')"'0*$' "$T/text"
	grep -qE "^ +of observed .* $(job '.program.of_observed.mfu * 1000 | round / 10') ?%|$(job '.program.of_observed.mfu * 1000 | round / 10').0 %" "$T/text"
	grep -q 'accelerators 8 H100-SXM, peak 989 TFLOP/s each' "$T/text"
	grep -q 'goodput  *runtime [0-9.]* % x program' "$T/text"
}

@test "unknown is absent, not 0: a job that calls no accelerator, and of which nothing was said" {
	taped --flops 20T -- "$TRAIN" load wait steps=20
	equal null "$(job .program.in_steps.mfu)"
	equal null "$(job .accelerators)"
	equal null "$(job .cost)"
	grep -q "accelerators unknown: no accelerator's runtime was called" "$T/text"
	taped -- "$TRAIN" load wait steps=20
	equal '[null]' "$(job '.program.in_steps | [.[]] | unique' | jq -c .)"
	equal 0 "$(grep -c 'done a second\|accel.-hours' "$T/text")"
}

@test "the metrics are those of the report" {
	need_program curl
	start_job "$TRAIN" load pace=2000 say=held pause steps=60 say=again pause
	job_line held
	start_watch --pid "$JOB" --job worked --json --export prometheus --listen 127.0.0.1:0 --log-level info "${SAID[@]}"
	URL=http://$(sed -nE 's/.*metrics at ([0-9.:]+).*/\1/p' "$T/watch.err" | head -1)
	metric() { curl -sS "$URL/metrics" | grep -E "^$1\{" | grep -F -- "${2:-}" | sed 's/.* //'; }
	made() { curl -sS "$URL/metrics" | grep -qE '^gpbpf_steps_total.* 60$'; }
	job_go
	job_line again
	until_true made
	samples=$(metric gpbpf_job_samples_per_second 'over="steps"')
	mfu=$(metric gpbpf_job_mfu_ratio 'over="steps"')
	price=$(metric gpbpf_accelerator_hour_price 'currency="$"')
	seconds=$(metric gpbpf_job_accelerator_seconds 'bucket="GOODPUT"')
	job_go
	job_end
	watch_end
	cp "$T/watch.out" "$T/report"
	near "$samples" "$(job .program.in_steps.samples_per_second)" "samples/s"
	near "$mfu" "$(job .program.in_steps.mfu)" MFU
	near "$seconds" "$(job .accelerator_seconds.GOODPUT)" "accelerator time"
	near "$(jq -n "$seconds / 3600 * $price")" "$(job .cost.buckets.GOODPUT)" cost
}

@test "what cannot be is refused in one line" {
	for bad in "--flops 1.5Q" "--samples 0" "--price free" "--accelerator abacus" "--accelerators 0"; do
		# shellcheck disable=SC2086
		run -2 --separate-stderr "$GP_BPF" run $bad -- true
		equal 1 "$(wc -l <<<"$stderr")" "lines about $bad"
	done
	printf 'version: 1\nsteps: {flops: 1.5P, samples: 64}\nprice: 3\njob: {perf_tag: small}\n' >"$T/config"
	run -0 "$GP_BPF" run --config "$T/config" --print-config -- true
	grep -qE '^  flops: 1\.5e\+15  # file$' <<<"$output"
	grep -qE '^  perf_tag: small  # file$' <<<"$output"
}

@test "the store tells what accelerators cost as the run did, with an outage and lost progress in it" {
	run -0 --separate-stderr "$GP_BPF" run --json --job priced --store "$T/store.db" --accelerators 2 --price 1000 -o /dev/null -- \
		sh -c "'$TRAIN' load wait pace=5000 steps=60 kill=9; '$TRAIN' load wait pace=5000 steps=40"
	echo "$output" >"$T/report"
	run -0 "$GP_BPF" report --store "$T/store.db" --json --price '€1000' priced
	echo "$output" >"$T/stored"
	for bucket in GOODPUT WASTED_PROGRESS_FROM_DISRUPTION INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION PROGRAM_STARTUP; do
		near "$(jq ".accelerator_seconds.$bucket" "$T/stored")" "$(job .accelerator_seconds.$bucket)" "$bucket"
		near "$(jq ".cost.buckets.$bucket" "$T/stored")" "$(job .cost.buckets.$bucket)" "cost of $bucket"
	done
	jq -e '.accelerator_seconds | .WASTED_PROGRESS_FROM_DISRUPTION > 0.1 and .GOODPUT > 0.1' "$T/stored"
	equal '€' "$(jq -r .cost.currency "$T/stored")"
	run -0 "$GP_BPF" report --store "$T/store.db" --price '€1000' priced
	grep -qE '^ +sum .* €[0-9.]+$' <<<"$output"
	run -0 "$GP_BPF" report --store "$T/store.db" priced
	equal 0 "$(grep -c 'accel.-hours' <<<"$output")"
}

@test "report --compare: the tag is kept with the run; what is too short, or unknown, is said" {
	for name in first second; do
		run -0 "$GP_BPF" run --quiet --job "$name" --store "$T/store.db" --perf-tag small -o /dev/null -- "$TRAIN" load wait steps=40
	done
	run -0 "$GP_BPF" report --store "$T/store.db" --json --compare small second
	echo "$output" >"$T/compared"
	equal '["small",true,0,null,null]' "$(jq -c '.compare | [.against, .tag, .compared, .verdict, .ratio]' "$T/compared")"
	equal '["second","first"]' "$(jq -c '.compare | [.this.job, .peers[0].job]' "$T/compared")"
	run -0 "$GP_BPF" report --store "$T/store.db" --compare first second
	grep -q 'not compared with runs of job first: this run is too short (20 minutes with steps are needed)' <<<"$output"
	run -0 "$GP_BPF" report --store "$T/store.db" --json second
	equal null "$(jq .compare <<<"$output")"
	run -1 --separate-stderr "$GP_BPF" report --store "$T/store.db" --compare nobody second
	equal 1 "$(wc -l <<<"$stderr")" lines
	run -0 "$GP_BPF" report --store "$T/store.db" --html "$T/page.html" --compare small second
	grep -q 'not compared with runs of perf tag small' "$T/page.html"
}
