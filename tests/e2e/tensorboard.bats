#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Event files for TensorBoard, of stand-in trainings: by hand, by TensorBoard's own reader, and beside the JSON lines.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }

by_hand() { "$TOP/tests/tools/tfevents.py" "$1"; }

# Steps as the JSON lines have them: "rank number" (from 0, as in event files).
json_steps() { jq -r 'select(.type == "step") | "\(.rank) \(.step - 1)"' "$1"; }
board_steps() { # scalars
	jq -r 'select(.tag == "performance/step_time_seconds")
		| "\(.run | capture("^jobname/run-1/rank-(?<r>[0-9]+)$").r) \(.step)"' "$1"
}

# Two ranks that train 200 steps each.
two_ranks() { # options of gp-bpf
	"$GP_BPF" "$@" -- bash -c '
		export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1
		RANK=1 "$0" load wait pace=5000 steps=200 &
		RANK=0 "$0" load wait pace=5000 steps=200
		wait' "$TRAIN" >"$T/its" 2>"$T/err"
}

@test "two ranks: every step once and in order, as the JSON lines have them; a replay says the same" {
	need_probes
	two_ranks record -o "$T/tape" --quiet --job jobname --export "json:$T/json" --export "tensorboard:$T/board,interval=1s"
	by_hand "$T/board" >"$T/scalars"
	json_steps "$T/json" | sort >"$T/theirs"
	board_steps "$T/scalars" | sort | diff - "$T/theirs"
	equal 400 "$(wc -l <"$T/theirs")"
	for rank in 0 1; do # in order
		board_steps "$T/scalars" | grep "^$rank " | sort -c -n -k 2
	done
	# Each step once; of the first its start was a guess.
	jq -r 'select(.tag == "step_deviation") | "\(.run) \(.step)"' "$T/scalars" | sort >"$T/deviations"
	equal "" "$(uniq -d "$T/deviations")"
	[ "$(wc -l <"$T/deviations")" -ge 398 ]
	# Parts of 100 %.
	jq -es 'map(select(.tag | test("^(goodput/goodput|badput/)"))) | group_by(.wall_time) | length > 0
		and all((map(.value) | add) as $sum | $sum > 99.99 and $sum < 100.01)' "$T/scalars"
	equal 0 "$(jq -s 'map(select(.tag == "job/disruptions")) | last.value' "$T/scalars")"
	"$GP_BPF" replay --quiet --export "tensorboard:$T/again" "$T/tape"
	by_hand "$T/again" >"$T/scalars.again"
	diff <(jq -cS 'select(.tag == "performance/step_time_seconds")' "$T/scalars") \
		<(jq -cS 'select(.tag == "performance/step_time_seconds")' "$T/scalars.again")
}

@test "TensorBoard's own reader reads it while it is written, and has the same scalars" {
	local reader
	need_probes
	reader=$("$TOP/tests/tools/framework.sh" --find tensorboard) || cannot "no tensorboard (tests/tools/framework.sh tensorboard)"
	start_job "$TRAIN" load pause wait pace=5000 steps=100 pause steps=100
	start_watch --pid "$JOB" --quiet --job jobname --export "tensorboard:$T/board,interval=1s"
	job_go
	job_line "steps 100"
	written() { by_hand "$T/board" 2>/dev/null | grep -q '"step": 99,'; }
	until_true written
	"$reader" "$TOP/tests/tools/tfevents.py" --reader "$T/board" >"$T/early" 2>"$T/reader.err"
	equal 100 "$(grep -c '"performance/step_time_seconds"' "$T/early")"
	job_go
	job_end
	watch_end
	"$reader" "$TOP/tests/tools/tfevents.py" --reader "$T/board" | sort >"$T/reader"
	by_hand "$T/board" | jq -c 'del(.display)' | sort >"$T/hand"
	diff <(jq -cS . "$T/reader" | sort) <(jq -cS . "$T/hand" | sort)
	equal 200 "$(grep -c '"performance/step_time_seconds"' "$T/hand")"
}

@test "who comes after begins files of its own, and leaves those of before as they were" {
	need_probes
	for n in 1 2; do
		"$GP_BPF" run --quiet --job jobname --export "tensorboard:$T/board" -- "$TRAIN" load wait pace=2000 steps=30 >"$T/its"
		find "$T/board" -name '*tfevents*' -exec sha256sum {} + | sort >"$T/sums.$n"
	done
	equal "$(cat "$T/sums.1")" "$(grep -Ff "$T/sums.1" "$T/sums.2")"
	equal 60 "$(by_hand "$T/board" | grep -c '"performance/step_time_seconds"')"
	[ "$(wc -l <"$T/sums.2")" -gt "$(wc -l <"$T/sums.1")" ]
}

@test "a disk that is full, and is not any more: the job and the JSON lines lose nothing" {
	need_probes
	mkdir "$T/small"
	mount -t tmpfs -o size=64k none "$T/small" || cannot "no tmpfs can be mounted"
	mkdir "$T/small/board"
	head -c 60k /dev/zero >"$T/small/filler" || true
	head -c 64k /dev/zero >>"$T/small/filler" 2>/dev/null || true
	start_job "$TRAIN" load pause wait pace=2000 steps=100 pause
	start_watch --pid "$JOB" --quiet --job jobname --export "json:$T/json" --export "tensorboard:$T/small/board,interval=1s"
	job_go
	job_line "steps 100"
	until_true grep -q 'No space left on device' "$T/watch.err"
	rm "$T/small/filler"
	job_go
	job_end
	watch_end
	by_hand "$T/small/board" >"$T/scalars"
	umount "$T/small"
	equal 1 "$(grep -c 'No space left on device' "$T/watch.err")" "$(cat "$T/watch.err")"
	equal 100 "$(grep -c '"performance/step_time_seconds"' "$T/scalars")"
	equal 100 "$(jq -r 'select(.type == "step") | .step' "$T/json" | sort -u | wc -l)"
}

@test "what cannot be a folder is refused in one line" {
	need_probes
	ln -s /tmp "$T/link"
	for wrong in "" ":" ":/dev/null" ":$T/link" ":$T/x,interval=5"; do
		run ! --separate-stderr "$GP_BPF" --pid $$ --quiet --export "tensorboard$wrong"
		equal 1 "$(wc -l <<<"$stderr")" "$stderr"
		[[ $stderr == *"--export tensorboard"* ]]
	done
}

@test "account writes what a log tells, and says what does not go with it" {
	local log=$TOP/tests/account/vectors/simple_run.jsonl
	run -0 "$GP_BPF" account "$log" --quiet --export "tensorboard:$T/board"
	by_hand "$T/board" >"$T/scalars"
	equal goodput/goodput "$(jq -r .tag "$T/scalars" | head -1)"
	run -2 --separate-stderr "$GP_BPF" account "$log" --export "tensorboard:$T/board" --follow
	equal 1 "$(wc -l <<<"$stderr")"
	run -2 --separate-stderr "$GP_BPF" account "$log" --export tensorboard:
	equal 1 "$(wc -l <<<"$stderr")"
	run -1 --separate-stderr "$GP_BPF" account "$log" --quiet --export tensorboard:/dev/null
	equal 1 "$(wc -l <<<"$stderr")"
}
