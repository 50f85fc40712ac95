#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gp-bpf --durable: a state that cannot be gone on from. What is attached is of use, what was told is not.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib
load durable

@test "other probes than before: detached, said, not observed" {
	cp -r "$TOP/probes" "$T/probes"
	train_job 3
	start_durable --probes "$T/probes" --pid "$JOB"
	train
	until_true steps_told 22
	kill_watch
	cat >"$T/probes/more.yaml" <<-'END'
		runtime: more
		libraries: [libtorch_cpu.so]
		probes:
		  - {id: sync, symbol: fakeSync, group: confirm, role: none, why: a test}
	END
	train
	start_durable --probes "$T/probes" --pid "$JOB"
	said "its probe files were different"
	said "counts as unobserved"
	train
	last_turn
	watch_end
	goes_on "$T/out"
	equal 46 "$(count_lines step "$T/out")" "steps, those before and after"
	equal 1 "$(unobserved)" "spans not observed"
}

# Whatever is wrong with the state: what is attached is of use, what was told is not.
begins_anew() { # what is said
	train
	start_durable --pid "$JOB"
	said "$1"
	said "starting without it"
	train
	last_turn
	watch_end
	goes_on "$T/out"
	equal 1 "$(count_lines start "$T/out")" starts
	[ "$(count_lines step "$T/out")" -ge 23 ]
}

@test "a state that is damaged" {
	train_job 3
	start_durable --pid "$JOB"
	train
	kill_watch
	printf '\377' | dd of="$T/state/state" bs=1 seek=200 conv=notrunc status=none
	begins_anew "it is damaged"
}

@test "a state that is cut off" {
	train_job 3
	start_durable --pid "$JOB"
	train
	kill_watch
	truncate -s -7 "$T/state/state"
	begins_anew "it is damaged"
}

@test "a tape that is torn: what is whole of it counts, the rest is not observed" {
	local tape
	train_job 3
	start_durable --pid "$JOB"
	train
	until_true steps_told 22
	kill_watch
	tape=$(find "$T/state" -name 'tape-*' -size +1k | sort | tail -1)
	truncate -s $(($(stat -c %s "$tape") / 2)) "$tape"
	train
	start_durable --pid "$JOB"
	said "last frame is incomplete"
	said "counts as unobserved"
	train
	last_turn
	watch_end
	lines_go_on "$T/out"
	equal 1 "$(unobserved)" "spans not observed"
	[ "$(count_lines step "$T/out")" -ge 46 ]
}

@test "a state of another boot" {
	train_job 3
	start_durable --pid "$JOB"
	train
	kill_watch
	uuidgen >"$T/boot_id" 2>/dev/null || echo 01234567-89ab-cdef-0123-456789abcdef >"$T/boot_id"
	cat >"$T/other_boot" <<-END
		#!/bin/sh
		exec unshare -m sh -c 'mount --bind $T/boot_id /proc/sys/kernel/random/boot_id && exec $GP_BPF "\$@"' sh "\$@"
	END
	chmod +x "$T/other_boot"
	GP_BPF=$T/other_boot begins_anew "it is from before the last boot"
}

@test "a state directory that others may write to is refused" {
	mkdir -m 0777 "$T/state"
	run -1 --separate-stderr "$GP_BPF" --durable --state-dir "$T/state" --pid $$
	[[ $stderr == *"must belong to this user, and other users must not be able to write to it"* ]]
	[ ! -e "$(pins "$T/state")" ]
}
