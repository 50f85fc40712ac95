#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What gp-bpf may cost a job: names that users choose are bounded, and so is everything beyond the marker.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

@test "a name in an inner loop silences neither steps nor rare names" {
	python_for current hot_name
	"$GP_BPF" record --quiet -o "$T/tape" --export "json:$T/out" -- \
		"$PY" "$LOOP" hot_name --out "$T/truth" >"$T/its" 2>&1
	steps_are 40 "$T/out"
	"$TOP/tests/tools/tape_names.py" "$T/tape" >"$T/names"
	equal 40 "$(grep -c '^rare_range_' "$T/names")" "rare names"
	local hot lost seconds
	hot=$(grep -c '^inner_loop$' "$T/names")
	lost=$(jq -n '[inputs | select(.type == "loss" and .source == "rate_limited") | .count] | add' "$T/out")
	equal $((200000 + 39 * 500)) $((hot + lost)) "sent and told as not sent"
	seconds=$(jq -n '[inputs.mono_ns] | (max - min) / 1e9 | ceil' "$T/out")
	[ "$hot" -le $((101 * (seconds + 1))) ] || { echo "$hot in $seconds s" >&2; false; }
	equal "rate_limited" "$(of_type loss "$T/out" .source | tr -d '"' | sort -u)" "losses"
}

# torch's probes, and a runtime whose launches and waits are as hot as `hot=N` of tests/fake/train.c makes them.
hot_probes() {
	mkdir "$T/probes"
	cp "$TOP/probes/torch.yaml" "$T/probes/"
	cat >"$T/probes/hot.yaml" <<-'END'
		runtime: hot
		libraries: [libtorch_cpu.so]
		probes:
		  - {id: launch, symbol: fakeLaunch, group: bulk, role: launch, emit: count, why: a test}
		  - {id: sync, symbol: fakeSync, group: confirm, role: none, why: a test}
	END
}

metric() { # name [more that the line holds]
	curl -sS "$URL/metrics" | grep -E "^$1(\{| )" | grep -F -- "${2:-}" | sed 's/.* //'
}
places() { # group state
	metric gpbpf_probes "group=\"$1\",state=\"$2\""
}
places_are() { [ "$(places "$2" "$3")" = "$1" ]; }
is_now() { [[ $(states_of "$1") == *"$2" ]]; } # probe state
# How a probe fared: "counted given_up attached".
states_of() { of_type probe "$T/out" "select(.probe == \"$1\") | .state" | tr -d '"' | paste -sd' '; }

@test "what is too hot is given up, the marker never; calm brings it back" {
	need_program curl
	hot_probes
	start_job "$TRAIN" load say=held pause hot=60 until hot=0 say=calm pause steps=211
	job_line held
	start_watch --pid "$JOB" --quiet --probes "$T/probes" --overhead-budget 0.5% --overhead-pause 1s \
		--export "json:$T/out" --export prometheus --listen 127.0.0.1:0 --log-level info
	URL=http://$(sed -nE 's/.*metrics at ([0-9.:]+).*/\1/p' "$T/watch.err" | head -1)
	job_go
	until_true is_now hot.sync given_up
	is_now hot.launch given_up
	until_true places_are 1 bulk given_up
	equal 0 "$(places marker given_up)" "markers given up"
	equal 0 "$(places marker counted)" "markers counted only"
	equal 0 "$(places fault given_up)" "faults given up"
	equal 0.005 "$(metric gpbpf_overhead_budget_ratio)" budget
	[ "$(metric gpbpf_probe_unsent_total 'probe="hot.sync"')" -gt 0 ]
	[ -n "$(metric gpbpf_overhead_seconds_total 'part="marker"')" ]
	job_go
	job_line steps
	local hot=${LINE#steps }
	job_line calm
	# What was given up first comes back last.
	until_true is_now hot.launch attached
	is_now hot.sync attached
	job_go
	job_end
	watch_end
	steps_are $((hot + 211)) "$T/out"
	[[ $(states_of hot.sync) == counted\ given_up* ]]
	[[ $(states_of hot.launch) == given_up* ]]
	grep -q "probes of hot in group bulk are detached" "$T/watch.err"
	grep -q 'within the budget again: probes of hot in group confirm are attached' "$T/watch.err"
}

@test "no budget, no change" {
	hot_probes
	run -0 "$GP_BPF" run --probes "$T/probes" --overhead-budget 0 --export "json:$T/out" -- \
		"$TRAIN" load wait hot=60 steps=7919
	steps_are 7919 "$T/out"
	equal 0 "$(count_lines probe "$T/out")" "probes given up"
	[[ $stderr$output != *overhead:* ]]
}

@test "the probe that steps are found by is kept, whatever its group" {
	run -0 "$GP_BPF" run --quiet --marker reducer --overhead-budget 0.0001 --export "json:$T/out" -- \
		"$TRAIN" load wait steps=20011
	steps_are 20011 "$T/out"
	equal '"reducer"' "$(of_type step "$T/out" .boundary | sort -u)" boundary
	equal "" "$(states_of torch.reducer)" "the marker"
	equal counted "$(states_of torch.fused_adamw)" "what agrees with it"
}
