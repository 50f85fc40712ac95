#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is tested on every kernel beside the tests of tests/e2e that have the tag "kernels". Run by guest.sh.
# bats file_tags=kernels

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # the inner shell expands; tests are subshells; bats sets output and status
load ../e2e/lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() {
	e2e_teardown
	umount "$T/a" "$T/b" 2>/dev/null || true
}

# bats test_tags=lockdown
# Three device numbers for one file: stat's, that of the mapping and the kernel's (facts of overlayfs).
@test "one library through two overlays and plainly is attached once, and missed by none" {
	local mount
	mkdir "$T/upper" "$T/a" "$T/b"
	mount -t tmpfs tmpfs "$T/upper"
	for mount in a b; do
		mkdir "$T/upper/$mount" "$T/upper/$mount.work"
		mount -t overlay -o "lowerdir=$FAKE,upperdir=$T/upper/$mount,workdir=$T/upper/$mount.work" none "$T/$mount"
	done
	umount -l "$T/upper"
	run -0 "$GP_BPF" run --quiet --export "json:$T/out" -- bash -c '
		for folder in "$@"; do
			"$TRAIN" load="$folder" wait steps=23 &
		done
		wait' - "$FAKE" "$T/a" "$T/b"
	sound "$T/out"
	run -0 jq -n -c '[inputs | select(.type == "step")] | group_by(.pid) | map(length)' "$T/out"
	equal '[23,23,23]' "$output" "steps of each"
}

@test "real torch: every step, and the same from the tape" {
	python_debian
	"$GP_BPF" record -o "$T/tape" --quiet --export "json:$T/out" -- \
		"$PY" "$LOOP" fast --steps 61 --out "$T/truth"
	sound "$T/out"
	steps_are 61 "$T/out"
	run "$PY" "$TOP/tests/tools/compare.py" --expect steps "$T/out" "$T/truth"
	equal 0 "$status" "compare.py: $output"
	"$GP_BPF" replay --quiet --export "json:$T/again" "$T/tape"
	cmp "$T/out" "$T/again"
}

# bats test_tags=lockdown
@test "node: a job that nobody names" {
	start_watch node --log-level warning --state-dir "$T/state" --export "json:$T/out" --allow "command=$FAKE/*"
	start_job "$TRAIN" load wait rest=900 steps=23 # all that it maps has been looked at by then
	job_end
	kill -TERM "$WATCH"
	watch_end
	steps_are 23 "$T/out"
	# Warnings of kernels where each probe has a link of its own; and under lockdown, where nothing tells who maps a
	# library.
	local known='detaching [0-9]+ probes will take|detaching [0-9]+ probes one by one'
	! grep -q lockdown=confidentiality /proc/cmdline || known+='|finding jobs by scanning every process'
	equal "" "$(grep -vE "$known" "$T/watch.err")"
}
