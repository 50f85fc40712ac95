#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Traces, by the rules of their format, and tables of rows: both against the JSON lines of the same run.

# shellcheck disable=SC2030,SC2031,SC2153,SC2154 # tests are subshells; bats sets stderr
load lib

setup_file() {
	e2e_setup_file
	[ -z "$NO_PROBES" ] || return 0
	local t=$BATS_FILE_TMPDIR
	"$GP_BPF" record -o "$t/tape" --job llama --export "json:$t/live" --export "trace:$t/live.json" --export "csv:$t/tables" -- \
		"$TRAIN" load wait steps=23 save=/srv/model.pt steps=7 range=tokenize children=3 steps=11 kill=9 \
		>/dev/null 2>"$t/report" || [ $? -eq 137 ]
}
setup() {
	e2e_setup
	need_probes
	need_program python3
	RECORDED=$BATS_FILE_TMPDIR
}
teardown() { e2e_teardown; }

checked() { # trace lines
	run -0 "$TOP/tests/tools/trace.py" "$1" "$2"
	[[ $output == *" 0 faults" ]]
}

# bats test_tags=kernels
@test "a live trace is whole and tells what the JSON lines tell" {
	[ "$(count_lines step "$RECORDED/live")" -ge 41 ]
	[ "$(count_lines checkpoint "$RECORDED/live")" -ge 1 ]
	equal true "$(jq -c '[.[] | select(.cat == "phase") | .name] as $drawn | [.[] | select(.cat == "step") | .args] as $told
		| ["backward", "update", "zero_grad"] | all(. as $p | ($drawn | map(select(. == $p)) | length)
			== ($told | map(select(."\($p)_ns" > 0)) | length))' "$RECORDED/live.json")" "a span for each phase of each step"
	checked "$RECORDED/live.json" "$RECORDED/live"
	grep -q '"args":{"name":"llama process [0-9]*"}' "$RECORDED/live.json"
	python3 -m json.tool "$RECORDED/live.json" >"$T/pretty"
}

@test "a live trace fits the types of Perfetto's own form" {
	local python
	python=$("$TOP/tests/tools/framework.sh" --find perfetto) || cannot "no types of Perfetto's (tests/tools/framework.sh perfetto)"
	run -0 "$python" "$TOP/tests/tools/trace_perfetto.py" "$RECORDED/live.json" "$RECORDED/live"
	[[ $output == *" 0 faults" ]]
}

@test "goodput on a trace is of what was observed, as in the ledger" {
	start_job "$TRAIN" load say=held pause steps=23
	job_line held
	start_watch --pid "$JOB" --quiet --export "json:$T/out" --export "trace:$T/trace"
	job_go
	job_end
	watch_end
	jq -n -e --slurpfile trace "$T/trace" '[inputs | select(.type == "ledger" and .pid != null and .window == "cumulative")][-1]
		| .buckets.UNOBSERVED as $unseen | [$trace[0][] | select(.name == "goodput").args.ratio][-1] as $ratio
		| $unseen > 0 and ($ratio - .buckets.GOODPUT / (.elapsed_ns - $unseen) | fabs) < 1e-4' "$T/out"
}

@test "a replay makes the same trace, byte for byte" {
	"$GP_BPF" replay --quiet --export "trace:$T/again.json" "$RECORDED/tape"
	cmp "$RECORDED/live.json" "$T/again.json"
	"$GP_BPF" replay --quiet --export trace:- "$RECORDED/tape" >"$T/output.json"
	cmp "$RECORDED/live.json" "$T/output.json"
}

# bats test_tags=kernels
@test "live tables tell what the JSON lines tell, and so do those of a replay" {
	run -0 "$TOP/tests/tools/csv_lines.py" "$RECORDED/tables" "$RECORDED/live"
	"$GP_BPF" replay --quiet --export "csv:$T/tables" "$RECORDED/tape"
	diff -r "$RECORDED/tables" "$T/tables"
	equal 1 "$(grep -c killed "$T/tables/disruptions.csv")" disruptions
}

@test "tables of a store tell what the JSON lines tell" {
	"$GP_BPF" replay --quiet --store "$T/store.db" "$RECORDED/tape"
	run -0 "$GP_BPF" report --store "$T/store.db" --export "csv:$T/tables" llama
	equal "" "$output" "the text"
	run -0 python3 - "$T/tables" <<-'END'
		import csv, sys
		from datetime import datetime
		def table(name):
		    with open(f"{sys.argv[1]}/{name}.csv", encoding="utf-8", newline="") as f:
		        return list(csv.DictReader(f, strict=True))
		minutes, saves, falls = table("minutes"), table("checkpoints"), table("disruptions")
		for row in minutes:
		    datetime.fromisoformat(row["from"][:19])
		print(sum(int(row["steps"]) for row in minutes), len(saves), len(falls), falls[0]["cause"], falls[0]["signal"])
	END
	local steps
	steps=$(count_lines step "$RECORDED/live")
	equal "$steps $(count_lines checkpoint "$RECORDED/live") 1 killed 9" "$output"
	run -2 --separate-stderr "$GP_BPF" report --store "$T/store.db" --export prometheus llama
	[[ $stderr == *"not available in this command; use csv:DIR ("* ]]
	run -1 --separate-stderr "$GP_BPF" report --store "$T/store.db" --export "csv:$T/none/tables" llama
	[[ $stderr == *"export to $T/none/tables: cannot make the folder: No such file or directory"* ]]
}

@test "gp-bpf killed: what it leaves is a trace" {
	start_job "$TRAIN" load say=held pause steps=23 say=again pause
	job_line held
	start_watch --pid "$JOB" --quiet --export "trace:$T/trace.json" --export "json:$T/lines"
	job_go
	job_line again
	until_true drawn 23 "$T/trace.json"
	kill -KILL "$WATCH"
	wait_exit "$WATCH"
	job_go
	job_end
	[ "$(tail -c 2 "$T/trace.json")" = , ]
	checked "$T/trace.json" "$T/lines"
}
drawn() { [ "$(grep -c '"cat":"step"' "$2")" -ge "$1" ]; }

@test "a file that cannot be written: one line" {
	run -1 --separate-stderr "$GP_BPF" replay --quiet --export "trace:$T/none/trace.json" "$RECORDED/tape"
	[[ $stderr == *"export to $T/none/trace.json: No such file or directory"* ]]
	equal 1 "${#stderr_lines[@]}" lines
	run -1 --separate-stderr "$GP_BPF" replay --quiet --export "csv:$T/none/tables" "$RECORDED/tape"
	[[ $stderr == *"export to $T/none/tables: cannot make the folder: No such file or directory"* ]]
	equal 1 "${#stderr_lines[@]}" lines
	run -1 --separate-stderr "$GP_BPF" replay --quiet --export trace:/dev/full --export "json:$T/lines" "$RECORDED/tape"
	[[ $stderr == *"export to /dev/full: No space left on device"* ]]
	cmp "$RECORDED/live" "$T/lines"
}
