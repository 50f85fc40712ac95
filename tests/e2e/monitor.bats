#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a job tells of itself: events and figures as it logged them, the ranges that it named as it timed them; and
# nothing that a job can log does harm.

# shellcheck disable=SC2030,SC2031,SC2154 # tests are subshells; bats sets status
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

# A program of tests/fake/monitor.cc under watch; what was told is in $T/out.
log_events() { # program what...
	start_job "$FAKE/$1" "${@:2}"
	job_line ready
	start_watch --pid "$JOB" --quiet --export "json:$T/out" --listen "unix:$T/http"
	job_go
	job_line 'done'
}
events_end() {
	job_end
	watch_end
}
event_of() { # name filter
	jq -c "select(.type == \"monitor\" and .name == \"$1\") | $2" "$T/out"
}

usual_is_told() { # program
	log_events "$1" usual
	events_end
	equal 5 "$(count_lines monitor "$T/out")" events
	equal '{}' "$(event_of empty .data)"
	equal '"2023-11-14T22:13:20.123456789Z"' "$(event_of empty .wall_time)"
	equal '{"double":0.1,"false":false,"int":-42,"nan":null,"none":"","text":"word","true":true}' \
		"$(jq -cS 'select(.name == "all") | .data' "$T/out")"
	equal '{"nan":"nan"}' "$(event_of all .not_finite)"
	local x=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
	equal "{\"key $x\":\"text $x\"}" "$(event_of "name $x" .data)"
	equal false "$(jq -s 'map(select(.type == "monitor").truncated) | .[:4] | any' "$T/out")" "any of the first cut"
	equal $'16 false\n16 true' "$(jq -r 'select(.name == "many") | "\(.data | length) \(.truncated)"' "$T/out")"
	equal 0 "$(count_lines loss "$T/out")" losses
	equal 0 "$(count_lines rank "$T/out")" "trainers made of it"
}

@test "entries of all types" { usual_is_told monitor; }

@test "entries of all types, strings of before C++11" { usual_is_told monitor_old; }

@test "memory that is not there, lists without end" {
	[ "$(uname -m)" = x86_64 ] || skip "the addresses are those of x86-64"
	log_events monitor hostile
	events_end
	sound "$T/out"
	equal 11 "$(count_lines monitor "$T/out")" "events whose head can be read"
	equal '{"loop":1}' "$(event_of cycle .data)"
	equal '{"a":1,"b":2}' "$(event_of 'half there' .data)"
	equal '["","cut key","cycle","garbage count","half there","kernel text","no key","no list","no node"]' \
		"$(jq -cs 'map(select(.type == "monitor" and .truncated).name) | unique' "$T/out")" "events that are not whole"
	equal '{"loop":1} false' "$(jq -r 'select(.name == "less than it has") | "\(.data) \(.truncated)"' "$T/out")"
	equal 3 "$(jq -s 'map(select(.type == "loss" and .source == "read_fault").count) | add' "$T/out")" "events that cannot"
	! LC_ALL=C grep -lP '[\x00-\x08\x0b-\x1f\x7f]' "$T/out" || return 1
}

@test "events as fast as can be: what is told is bounded, the rest is counted" {
	log_events monitor flood 100000
	events_end
	local told
	told=$(count_lines monitor "$T/out")
	[ "$told" -ge 100 ] && [ "$told" -le 1000 ] || { echo "told: $told" >&2; return 1; }
	equal 100000 $((told + $(jq -s 'map(select(.type == "loss" and .source == "rate_limited").count) | add' "$T/out"))) \
		"told and not told"
}

@test "the last values on the page" {
	start_job "$FAKE/monitor" usual
	job_line ready
	start_watch --pid "$JOB" --quiet --listen "unix:$T/http"
	job_go
	job_line 'done'
	page_has() { curl -s --unix-socket "$T/http" http://x/metrics | grep -q "$1"; }
	until_true page_has '^gpbpf_monitor_events_total{.*} 5$'
	page_has '^gpbpf_monitor_truncated_total{.*} 1$'
	! page_has '^gpbpf_monitor_value{' || return 1 # no Stat
	events_end
}

# A job of real torch: every event as the program has it, every step counted.
job_is_told() {
	"$GP_BPF" run --quiet --export "json:$T/out" -- "$PY" "$TOP/tests/workloads/monitor.py" "$T/truth" >"$T/its" 2>&1 ||
		{ tail -20 "$T/its" >&2; return 1; }
	sound "$T/out"
	equal "$(jq -cS '.events[]' "$T/truth")" \
		"$(jq -cS 'select(.type == "monitor" and .name != "torch.monitor.Stat") | {name, data}' "$T/out")" events
	equal '["2023-11-14T22:13:20.123456000Z"]' \
		"$(jq -cs 'map(select(.type == "monitor" and .name != "torch.monitor.Stat").wall_time) | unique' "$T/out")" times
	jq -s 'map(select(.type == "monitor" and .name == "torch.monitor.Stat"))' "$T/out" >"$T/stats"
	equal "$(jq -cS .stats "$T/truth")" "$(jq -cS 'map(.data | to_entries[] | select(.key | startswith("loss ")))
		| map({stat: (.key | sub("\\.[a-z]+$"; "")), of: (.key | sub(".*\\."; "")), value})
		| group_by(.stat) | map({key: .[0].stat, value: (map({key: .of, value}) | from_entries)}) | from_entries' \
		"$T/stats")" "windows by count"
	jq -e -n --slurpfile t "$T/truth" --slurpfile s "$T/stats" '$s[0] | map(.data | select(.["all.losses.sum"] and .["all.losses.sum"] < 1e9)) |
		(map(.["all.losses.count"]) | add) == $t[0].count
		and ((map(.["all.losses.sum"]) | add) - $t[0].sum | fabs) < 1e-9' >/dev/null || {
		echo "windows by time do not add up" >&2
		return 1
	}
	equal '"nan"' "$(jq -c '.[] | .not_finite["broken.mean"] // empty' "$T/stats")" "a mean of no numbers"
	equal false "$(jq -s 'map(select(.type == "monitor").truncated) | any' "$T/out")" "any that is not whole"
}

@test "a job of current torch" {
	python_current
	job_is_told
	steps_are 20 "$T/out"
}

@test "a job of Debian's torch 1.13" {
	python_debian
	job_is_told
}

# Each within 5 % or 0.5 ms a step: the program's clock has what it costs to open and close ranges.
@test "named ranges inside steps" {
	python_current
	"$GP_BPF" run --json --export "json:$T/out" --listen "unix:$T/http" -- "$PY" "$TOP/tests/workloads/own_ranges.py" \
		"$T/truth" >"$T/report" 2>"$T/its" || { tail -20 "$T/its" >&2; return 1; }
	steps_are 30 "$T/out"
	equal '["attention","block 0","logging","mlp"]' \
		"$(jq -cs 'map(select(.type == "step").ranges | keys[]) | unique' "$T/out")" names
	run jq -n -r --slurpfile t "$T/truth" --slurpfile r "$T/report" --slurpfile out "$T/out" '
		($out | map(select(.type == "step"))) as $steps
		| ($r[0] | [.. | objects | select(has("phases")).ranges] | first) as $sums
		| $t[0].ranges | del(.["after all steps"]) | to_entries[]
		| .key as $name | ($steps[1:] | map(.ranges[$name] // 0) | add) as $have
		| ((($have - .value) | fabs) <= ([.value / 20, 15000000] | max) and $sums[$name].ns == $have + ($steps[0].ranges[$name] // 0)) as $ok
		| "\(if $ok then "ok" else "off" end) \($name): \($have / 1e6) ms, by its clock \(.value / 1e6) ms"'
	echo "# ${output//$'\n'/$'\n'# }" >&3
	equal 4 "$(grep -c '^ok' <<<"$output")" "names that agree: $output"
	jq -es 'map(select(.type == "step") | (.ranges | add) <= .duration_ns) | all' "$T/out" >/dev/null
}
