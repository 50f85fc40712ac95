#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The history of jobs: what is kept of them, over restarts of gp-bpf, tapes, full disks; what people ask and add.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib
load durable

STORE() { "$GP_BPF" "$1" --store "$T/state/store.db" "${@:2}"; }
# One job; its buckets add up, and it is what the last ledger line says.
job_is() { # steps
	STORE jobs --json >"$T/jobs"
	equal 1 "$(jq '.jobs | length' "$T/jobs")" jobs
	equal "$1" "$(jq '.jobs[0].steps' "$T/jobs")" steps
	equal "$(count_lines step "$T/out" '.flags - ["tainted", "hung", "estimated"] == .flags')" \
		"$(jq '.jobs[0].step_time.count' "$T/jobs")" "step times"
	equal "$(jq '.jobs[0].elapsed_ns' "$T/jobs")" "$(jq '[.jobs[0].buckets[]] | add' "$T/jobs")" "sum of buckets"
	equal "$(of_type ledger "$T/out" 'select(.window == "cumulative") | .elapsed_ns' | tail -1)" \
		"$(jq '.jobs[0].elapsed_ns' "$T/jobs")" "elapsed time"
	equal "$(of_type ledger "$T/out" 'select(.window == "cumulative") | .buckets.GOODPUT' | tail -1)" \
		"$(jq '.jobs[0].buckets.GOODPUT' "$T/jobs")" goodput
}

@test "killed twice and started again: one job, and its steps and time once" {
	train_job 4
	start_durable --pid "$JOB" --job lasting
	train
	until_true steps_told 22
	kill_watch
	train
	start_durable --pid "$JOB" --job lasting
	train
	kill_watch
	start_durable --job lasting
	train
	last_turn
	watch_end
	nothing_said
	steps_are 92 "$T/out"
	job_is 92
	equal '"lasting"' "$(jq '.jobs[0].name' "$T/jobs")"
	equal '"ended"' "$(jq '.jobs[0].state' "$T/jobs")"
	equal 0 "$(jq '.jobs[0].alive' "$T/jobs")"
}

@test "a tape put into a store twice counts once, and says what was seen" {
	mkdir -m 700 "$T/state"
	run -0 "$GP_BPF" record -o "$T/tape" --job taped --export "json:$T/out" --quiet -- \
		"$TRAIN" load wait steps=23 save=/srv/model.pt steps=7 pace=20000 steps=60
	STORE replay --quiet "$T/tape"
	job_is 90
	STORE replay --quiet "$T/tape"
	job_is 90
	equal 1 "$(jq '.jobs[0].runs' "$T/jobs")" runs
	equal 1 "$(jq '.jobs[0].checkpoints' "$T/jobs")" checkpoints
}

@test "a crash and the run after it: one job of two runs" {
	mkdir -m 700 "$T/state"
	run -0 "$GP_BPF" run --quiet --job crashed --store "$T/state/store.db" --export "json:$T/out" -o /dev/null -- \
		sh -c "'$TRAIN' load wait steps=60 exit=3; '$TRAIN' load wait steps=40"
	STORE jobs --json crashed >"$T/jobs"
	equal 2 "$(jq '.jobs[0].runs' "$T/jobs")" runs
	equal 100 "$(jq '.jobs[0].steps' "$T/jobs")" steps
	equal "$(count_lines disruption "$T/out" '.resumed_step == null')" "$(jq '.jobs[0].disruptions' "$T/jobs")" disruptions
	equal "$(jq '.jobs[0].elapsed_ns' "$T/jobs")" "$(jq '[.jobs[0].buckets[]] | add' "$T/jobs")" "sum of buckets"
}

@test "no room: the job is watched on, it is said once, and written when there is room" {
	mkdir -m 700 "$T/state"
	mount -t tmpfs -o size=1m,mode=0700 tmpfs "$T/state" || skip "no mounts here"
	start_job "$TRAIN" load say=held pause pace=10000 until pause
	job_line held
	head -c 900k /dev/zero >"$T/state/filler"
	start_watch --quiet --job full --store "$T/state/store.db" --export "json:$T/out" --pid "$JOB"
	job_go
	until_true grep -q "No space left" "$T/watch.err"
	rm "$T/state/filler"
	until_true grep -q "writing resumed" "$T/watch.err"
	job_go
	job_line steps
	job_go
	job_end
	watch_end
	equal 2 "$(wc -l <"$T/watch.err")" "lines said"
	job_is "$(count_lines step "$T/out")"
}

@test "a store that is damaged is kept aside, and the job is watched on" {
	train_job 2
	start_durable --pid "$JOB" --job hurt
	train
	until_true steps_told 22
	until_true grep -q hurt "$T/state/store.db-wal" "$T/state/store.db"
	kill_watch
	rm -f "$T"/state/store.db-*
	head -c 8192 /dev/urandom >"$T/state/store.db"
	start_durable --job hurt
	said "store.db.damaged-1"
	train
	last_turn
	watch_end
	[ -s "$T/state/store.db.damaged-1" ]
	STORE jobs --json hurt | jq -e '.jobs[0].elapsed_ns == ([.jobs[0].buckets[]] | add)' >/dev/null
	equal "$(of_type ledger "$T/out" 'select(.window == "cumulative") | .elapsed_ns' | tail -1)" \
		"$(STORE jobs --json hurt | jq '.jobs[0].elapsed_ns')" "elapsed time"
}

@test "what cannot be a store is refused, and left alone" {
	mkdir -m 700 "$T/state"
	echo "not a store" >"$T/precious"
	for words in "run --store $T/precious -- true" "jobs --store $T/precious"; do
		# shellcheck disable=SC2086 # words
		run -1 --separate-stderr "$GP_BPF" $words
		[[ $stderr == *"not a store of gp-bpf"* ]]
	done
	equal "not a store" "$(cat "$T/precious")"
	run -1 --separate-stderr "$GP_BPF" run --store "$T/no/such/folder/store.db" -- true
	[[ $stderr == *"$T/no/such/folder/store.db"* ]]
	run -1 --separate-stderr "$GP_BPF" jobs --store "$T/none.db"
	[[ $stderr == *"no store at"* ]]
	[ ! -e "$T/none.db" ]
}

@test "notes and exclusions; what is wrong with them" {
	mkdir -m 700 "$T/state"
	run -0 "$GP_BPF" run --quiet --job noted --store "$T/state/store.db" -o /dev/null -- "$TRAIN" load wait steps=23
	STORE mark noted $'learning rate\033[31m halved'
	STORE exclude 2h now maintenance
	STORE exclude 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z "new year"
	run -1 --separate-stderr "$GP_BPF" mark --store "$T/state/store.db" nobody text
	[[ $stderr == *"no such job"* ]]
	for words in "mark noted" "mark" "exclude now 2h why" "exclude 1h now" "exclude yesterday now why" "exclude 0 20000000000 why" "mark job" "exclude 2h now" "jobs a b"; do
		# shellcheck disable=SC2086 # words
		run -2 --separate-stderr "$GP_BPF" $words
		[ -n "$stderr" ]
	done
	run -0 "$GP_BPF" jobs --store "$T/state/store.db"
	[[ $output == *noted*ended*23* ]]
	[[ $output == *"without excluded time"* ]]
	run -0 jq -e '.jobs[0] | .elapsed_ns == 0 and .excluded_ns > 0 and .steps == 23' <<<"$("$GP_BPF" jobs --store "$T/state/store.db" --json)"
	run -0 "$GP_BPF" jobs --state-dir "$T/state"
	[[ $output == *noted* ]]
}

@test "what a watch left out is in no bucket: report, lines, metrics, the store" {
	mkdir -m 700 "$T/state"
	printf 'version: 1\nexclude: [{from: 1h, to: %s, why: maintenance}]\n' "$(($(date +%s) + 3600))" >"$T/config"
	run -0 "$GP_BPF" run --json --config "$T/config" --job away --store "$T/state/store.db" --export "json:$T/out" \
		--exclude 1,2,"of another time" --exclude "1h,$(($(date +%s) + 3600)),maintenance" -o /dev/null -- \
		"$TRAIN" load wait steps=23
	jq -e '.ranks[0] | .elapsed_ns == 0 and .excluded_ns > 0 and ([.buckets[]] | add) == 0' <<<"$output" >/dev/null
	jq -e '.jobs[0] | .elapsed_ns == 0 and .excluded_ns > 0 and .goodput_ratio == null and .steps == 23' <<<"$output" >/dev/null
	equal true "$(of_type ledger "$T/out" '.elapsed_ns == ([.buckets[]] | add) and .excluded_ns > 0' | sort -u)" lines
	jq -e '.jobs[0] | .elapsed_ns == 0 and .excluded_ns > 0 and .steps == 23' <<<"$(STORE jobs --json)" >/dev/null
	jq -e '.elapsed_ns == 0 and .excluded_ns > 0' <<<"$(STORE report --json)" >/dev/null
	[[ $(STORE report) == *"all left out: "* ]]
	steps_are 23 "$T/out"
}

@test "what was noted is listed, and taken back" {
	mkdir -m 700 "$T/state"
	run -0 "$GP_BPF" run --quiet --job noted --store "$T/state/store.db" -o /dev/null -- "$TRAIN" load wait steps=23
	run -0 --separate-stderr STORE exclude --list
	[[ $stderr == *"has no exclusions"* && -z $output ]]
	STORE exclude 2h now maintenance
	STORE exclude 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z "new year"
	STORE mark noted "learning rate halved"
	run -0 STORE exclude --list
	equal 3 "${#lines[@]}" "lines of the table"
	[[ $output == *"2026-01-01 00:00:00  2026-01-02 00:00:00"*"new year"* ]]
	equal '[86400000000000,"new year"]' \
		"$(STORE exclude --list --json | jq -c '.exclusions[] | select(.why != "maintenance") | [.length_ns, .why]')"
	equal '["noted","learning rate halved"]' "$(STORE mark --list --json noted | jq -c '.marks[0] | [.job, .text]')"
	id=$(STORE exclude --list --json | jq '.exclusions[] | select(.why == "maintenance").id')
	STORE exclude --remove "$id"
	run -0 jq -e '.jobs[0] | .elapsed_ns > 0 and .excluded_ns == 0' <<<"$(STORE jobs --json)"
	run -1 --separate-stderr STORE exclude --remove "$id"
	[[ $stderr == *"$id: no such id; see gp-bpf exclude --list"* ]]
	STORE mark --remove "$(STORE mark --list --json | jq '.marks[0].id')"
	equal '[]' "$(STORE mark --list --json | jq -c .marks)"
	run -1 --separate-stderr STORE mark --list nobody
	[[ $stderr == *"no such job"* ]]
	for words in "exclude --list --remove 1" "exclude --list more" "exclude --remove none" "exclude --remove 1 more" \
		"exclude --json 2h now why" "mark --list a b"; do
		# shellcheck disable=SC2086 # words
		run -2 --separate-stderr "$GP_BPF" $words
		equal 1 "$(wc -l <<<"$stderr")" "lines about $words"
	done
}

@test "--store none keeps nothing; without --durable nothing is kept unless told" {
	train_job 1
	start_durable --store none --pid "$JOB"
	train
	last_turn
	watch_end
	[ ! -e "$T/state/store.db" ]
}
