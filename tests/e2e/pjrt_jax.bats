#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# JAX on XLA's own plugin for the CPU, by the table of functions that any accelerator's plugin has: what the tape holds
# of it is what the program did. ALL=1 installs JAX where it is missing.

# shellcheck disable=SC2153,SC2154 # bats sets output; lib.bash the rest
load lib
load durable

python_jax() {
	local find=--find
	[ -z "${ALL:-}" ] || find=
	PY=$("$TOP/tests/tools/framework.sh" ${find:+"$find"} jax) || {
		[ -z "${ALL:-}" ] || cannot "no JAX: see above"
		skip "no JAX (make check ALL=1 installs it)"
	}
	PLUGIN=$("$PY" -c 'import os, xla_plugins.xla_cpu_pjrt as p; print(os.path.dirname(p.__file__))')/xla_cpu_pjrt.so
	[ -f "$PLUGIN" ]
	export PJRT_NAMES_AND_LIBRARY_PATHS=cpu_plugin:$PLUGIN JAX_PLATFORMS=cpu_plugin ENABLE_PJRT_COMPATIBILITY=1
}

@test "programs have names, runs have ends, as many as there were" {
	python_jax
	"$GP_BPF" record --quiet -o "$T/tape" -- "$PY" "$LOOP" jax_eval --out "$T/truth" >"$T/out" 2>&1
	run -0 "$TOP/tests/tools/tape_programs.py" "$T/tape" "$T/truth"
	echo "# $output" >&3
	jq -e ".begun > 3 and .begun == .compiled and .named >= .compiled - 2" <<<"$output" # on a loaded machine the shortest are done first
	jq -e '.executions.jit_train_step == 300 and .executions.jit_eval_step == 25' <<<"$output"
	# One evaluation is before the first step: it may be over before its callback is attached to.
	# Its callback is met, and attached to, while the first programs run, long before the steps.
	jq -e '.completed.jit_train_step == 300 and .completed.jit_eval_step >= 24' <<<"$output"
	run -0 "$GP_BPF" replay --json --quiet "$T/tape"
	jq -e '[.losses[]?] | add // 0 == 0' <<<"$output"
}

@test "a program that is compiled again has the same name" {
	python_jax
	"$GP_BPF" record --quiet -o "$T/tape" -- "$PY" "$LOOP" jax_recompile --out "$T/truth" >"$T/out" 2>&1
	run -0 "$TOP/tests/tools/tape_programs.py" "$T/tape" "$T/truth"
	jq -e '.executions.jit_train_step == 300 and .completed.jit_train_step == 300' <<<"$output"
}

followed() { (cd "$(pins "$T/state")" && ls -d follow-*); }

@test "what a call told of stays attached when gp-bpf is killed" {
	local before
	python_jax
	background /dev/null "$T/job.out" "$T/job.err" "$PY" "$LOOP" jax_late --out "$T/truth" --steps 100000 --go "$T/go" --hold 100
	JOB=$LAST
	start_durable --overhead-budget 50 --pid "$JOB"
	until_true test -e "$T/go.ready"
	until_true followed
	before=$(followed)
	kill_watch
	equal "$before" "$(followed)" "pins of a dead one"
	touch "$T/go"
	start_durable --overhead-budget 50 --pid "$JOB"
	sleep 12 # what nobody asks for is gone after 10 s
	equal "$before" "$(followed)" "pins taken over"
	kill -TERM "$WATCH"
	watch_end 0
	run ! followed
}
