#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Where each bucket comes from: real ranks whose own log says how long each part of their life took. Each bucket
# within 1 % of the run or 50 ms.

# shellcheck disable=SC2030,SC2031 # tests are subshells
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

# Two ranks under watch, the second 500 ms late to the group; RANGES goes to gp-bpf.
run_ranks() { # words of buckets.py...
	local port
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	# shellcheck disable=SC2016 # the inner shell's
	MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2 "$GP_BPF" run --quiet --export "json:$T/out" \
		"${RANGES[@]}" -- bash -c 'RANK=1 "$@" & RANK=0 "$@"; wait' - \
		"$PY" "$TOP/tests/workloads/buckets.py" "$T/log" "$@" >"$T/job" 2>&1 || {
		cat "$T/job" >&2
		return 1
	}
}

# How far a bucket is off, in ms: at most 50, or 1 % of the run.
near() { # rank bucket from to [from to]
	local rank=$1 bucket=$2
	shift 2
	jq -n --argjson rank "$rank" --arg bucket "$bucket" --slurpfile log "$T/log.$rank" --slurpfile out \
		<(jq -c "select(.type == \"ledger\" and .final and .window == \"cumulative\" and .rank == $rank)" "$T/out") \
		--args '$log[0] as $l | $out[-1] as $o
		| ([range(0; $ARGS.positional | length; 2) as $i
			| $l[$ARGS.positional[$i + 1]] - $l[$ARGS.positional[$i]]] | add // 0) as $truth
		| (($o.buckets[$bucket] // 0) - $truth) as $off
		| ([50000000, $o.elapsed_ns / 100] | max) as $bound
		| "rank \($rank) \($bucket): \($truth / 1000000 | round) ms, off by \($off / 1000000 | round) ms" |
		if ($off | fabs) > $bound then error else . end' -r "$@" >"$T/near" 2>&1 || {
		cat "$T/near" >&2
		return 1
	}
	sed 's/^/# /' "$T/near" >&3
}

closes() { # every ledger
	equal "" "$(jq -c 'select(.type == "ledger" and .final and (.buckets | add) != .elapsed_ns)' "$T/out")" ledger
}

@test "start, group, preparation, named ranges: current torch" {
	python_current
	RANGES=(--range 'validation*=EVAL' --range 'upload*=CUSTOM_BADPUT_EVENTS.UPLOAD'
		--range 'sign=CUSTOM_BADPUT_EVENTS.Sign')
	run_ranks
	for rank in 0 1; do
		near "$rank" PROGRAM_STARTUP begin group train stepped
		near "$rank" TPU_INITIALIZATION group grouped
		near "$rank" TRAINING_PREP grouped train
		near "$rank" CUSTOM_BADPUT_EVENTS.EVAL validation validated
		near "$rank" CUSTOM_BADPUT_EVENTS.SIGN sign signed
		near "$rank" CUSTOM_BADPUT_EVENTS.UPLOAD upload sign signed uploaded
		near "$rank" GOODPUT stepped validation validated upload uploaded end
	done
	closes
	equal "0" "$(jq -c 'select(.type == "ledger" and .final) | .buckets.CUSTOM_BADPUT_EVENTS' "$T/out" | sort -u)" rest
	equal '["sign",false] ["upload all",false] ["upload aside",true] ["validation epoch 1",false]' \
		"$(jq -c 'select(.type == "range" and .rank == 0) | [.name, .async]' "$T/out" | sort | paste -sd' ')" ranges
	# Each loop has its 50 steps; of the ranges only the upload is part of one.
	equal "100" "$(of_type step "$T/out" .step | wc -l)" steps
	equal "2" "$(jq -s '[.[] | select(.type == "step" and .step > 1 and .duration_ns > 200000000)] | length' "$T/out")" long
}

# Torch 2.15 tells of its compiler only while a profiler runs: what the first compile takes is the first step's excess.
@test "the compiler's time is startup: current torch" {
	python_current
	RANGES=()
	run_ranks compile
	near 0 TPU_INITIALIZATION group grouped
	near 0 TRAINING_PREP grouped train
	near 0 PROGRAM_STARTUP begin group train stepped
	near 0 GOODPUT stepped end
	closes
}

@test "start, group, preparation: 1.13" {
	python_debian
	RANGES=(--range 'validation*=EVAL')
	run_ranks
	for rank in 0 1; do
		near "$rank" PROGRAM_STARTUP begin group train stepped
		near "$rank" TPU_INITIALIZATION group grouped
		near "$rank" TRAINING_PREP grouped train
	done
	closes
}

@test "ranges of a config file are on the tape" {
	python_current
	printf 'version: 1\nranges:\n  - {match: "validation*", bucket: EVAL}\n  - {bucket: CUSTOM_BADPUT_EVENTS.UPLOAD, match: "upload*"}\n' >"$T/config"
	"$GP_BPF" record -o "$T/tape" --config "$T/config" -- env RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 \
		MASTER_PORT=0 "$PY" "$TOP/tests/workloads/buckets.py" "$T/log" >"$T/job" 2>&1
	"$GP_BPF" replay --quiet --export "json:$T/out" "$T/tape"
	equal "CUSTOM_BADPUT_EVENTS.EVAL CUSTOM_BADPUT_EVENTS.UPLOAD" "$(jq -r 'select(.type == "ledger" and .final) |
		.buckets | to_entries[] | select(.value > 300000000 and (.key | startswith("CUSTOM"))) | .key' "$T/out" |
		sort | paste -sd' ')" buckets
	"$GP_BPF" replay --json "$T/tape" >"$T/report" 2>/dev/null
	equal "true" "$(jq '.ranks[0].buckets["CUSTOM_BADPUT_EVENTS.UPLOAD"] > 300000000' "$T/report")" report
	"$GP_BPF" replay "$T/tape" | grep -q ' UPLOAD '
}

@test "what is no range is refused" {
	for range in validation 'x=GOODPUT' 'x=CUSTOM_BADPUT_EVENTS' '=EVAL'; do
		run -2 "$GP_BPF" run --range "$range" -- true
		[[ $output == *"--range: '$range': expected MATCH=BUCKET"* ]]
	done
	printf 'version: 1\nranges: [{match: a}, {match: b, bucket: EVAL}]\n' >"$T/config"
	run -2 "$GP_BPF" run --config "$T/config" -- true
	printf 'version: 1\nranges: [{match: a, bucket: EVAL}, {match: b}]\n' >"$T/config"
	run -2 "$GP_BPF" run --config "$T/config" -- true
	[[ $output == *"the last item has no bucket"* ]]
}
