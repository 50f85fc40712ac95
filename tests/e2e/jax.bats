#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Loops of real JAX, on its own client for the CPU and on a PJRT plugin: each true step found, none invented.
# The kinds are rows of tests/workloads/programs.tsv, where each is told.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets output and status
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

@test "every kind of loop is here" { programs_are jax; }

@test "jax_plain" { program_exact jax_plain; }
@test "jax_ahead" { program_exact jax_ahead; }
@test "jax_donate" { program_exact jax_donate; }
@test "jax_fast" { program_exact jax_fast; }
@test "jax_slow" { program_exact jax_slow; }
@test "jax_rng" { program_exact jax_rng; }
@test "jax_accumulate" { program_exact jax_accumulate; }
@test "jax_two_programs" { program_exact jax_two_programs; }
@test "jax_eager_update" { program_exact jax_eager_update; }
@test "jax_gan" { program_exact jax_gan; }
@test "jax_multisteps" { program_exact jax_multisteps; }
@test "jax_scan" { program_exact jax_scan; }
@test "jax_loss_first" { program_exact jax_loss_first; }
@test "jax_eval" { program_exact jax_eval; }
@test "jax_eval_long" { program_exact jax_eval_long; }
@test "jax_recompile" { program_exact jax_recompile; }
@test "jax_uneven" { program_exact jax_uneven; }
@test "jax_ckpt" { program_exact jax_ckpt; }
# Each of Orbax's saves is one checkpoint, of the step that was done when it was called.
orbax_saves() {
	equal "50 100 150 200" "$(of_type checkpoint "$T/out" 'select(.op == "save") | .step' | paste -sd' ')" "steps of saves"
	equal '"50" "100" "150" "200"' "$(of_type checkpoint "$T/out" 'select(.op == "save") | .file | split("/")[-1]' | paste -sd' ')" names
	equal "" "$(of_type checkpoint "$T/out" 'select(.op == "restore") | .file')" restores
}
@test "jax_orbax" {
	program_exact jax_orbax
	orbax_saves
}
@test "jax_orbax_async" {
	program_exact jax_orbax_async
	orbax_saves
}
@test "Orbax: what saves aside block the training for" {
	python_framework jax
	blocked_by_saves orbax 25 20
}
@test "Orbax: the same where batches take 0 to 30 ms" {
	python_framework jax
	blocked_by_saves orbax_uneven 25 20
	equal "21 41 61" "$(of_type step "$T/out" 'select(.step > 1 and (.flags | index("estimated"))) | .step' | paste -sd' ')" "steps that hold one"
}
@test "jax_two_loops" { program_exact jax_two_loops; }
@test "jax_two_threads" { program_exact jax_two_threads; }
@test "jax_sharded" { program_exact jax_sharded; }
# Its time is in the ledger, and nothing of it is goodput.
executions_told() {
	local last
	last=$(of_type ledger "$T/out" 'select(.final)')
	jq -e '.unit == "execution" and .steps == 0 and .buckets.GOODPUT == 0 and .buckets.OTHER > 0
		and (.buckets | add) == .elapsed_ns' <<<"$last"
}
@test "jax_inference" {
	program_exact jax_inference
	executions_told
}
@test "jax_inference_late" {
	python_framework jax
	late_run jax_inference_late
	equal '["execution",300]' "$(of_type rank "$T/out" '[.unit, .steps]' | tail -1)" "what is counted"
	executions_told
	jq -n -e '[inputs | select(.type == "ledger")][-1].buckets | .UNOBSERVED > 0' "$T/out"
}
@test "jax_inference_host" { program_exact jax_inference_host; }
@test "jax_inference_closed" { program_exact jax_inference_closed; }
@test "jax_generate" { program_exact jax_generate; }
@test "jax_unnamed_scan" { program_exact jax_unnamed_scan; }
@test "jax_unnamed_pmap" { program_exact jax_unnamed_pmap; }
@test "jax_train_and_eval" { program_exact jax_train_and_eval; }
@test "jax_simulation" { program_exact jax_simulation; }
@test "jax_saliency" { program_exact jax_saliency; }
@test "jax_state_out" { program_exact jax_state_out; }

# Compiled before: its name, and that it computes a gradient, are read from what runs.
late_run() { # kind
	background /dev/null "$T/its" "$T/its.err" "$PY" "$LOOP" "$1" --out "$T/truth" --go "$T/go"
	JOB=$LAST
	until_true test -e "$T/go.ready"
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	touch "$T/go"
	wait_exit "$JOB"
	watch_end
	sound "$T/out"
}
late_exact() {
	late_run jax_late
	find_truths
	equal '["step",300,"jit_train_step"]' "$(of_type rank "$T/out" '[.unit, .steps, .marker]' | tail -1)" "what is counted"
	equal 300 "$(count_lines step "$T/out")" steps
}
@test "jax_late" {
	python_framework jax
	late_exact
}

@test "evaluations and checkpoints have buckets of their own" {
	python_framework jax
	run_loop jax_eval_long
	bucket_is CUSTOM_BADPUT_EVENTS.EVAL eval
	rm "$T"/truth*
	run_loop jax_ckpt
	bucket_is UNPRODUCTIVE_CHECKPOINT_SAVE_TIME checkpoint '.op == "save"'
	equal '[50,100,150,200]' "$(jq -n -c '[inputs | select(.type == "checkpoint" and .op == "save") | .step]' "$T/out")" checkpoints
}

# ---- from JAX's cache of compiled programs ------------------------------------------------------------

# A restart: nothing is compiled, and the step's program is named all the same. What it returns first says nothing of what it is.
cache_fill() {
	local first=$T/first.truth
	export JAX_COMPILATION_CACHE_DIR=$T/cache JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1
	"$PY" "$LOOP" jax_loss_first --out "$first" --steps 3 >"$T/first" 2>&1 || { tail -5 "$T/first" >&2; return 1; }
	rm -f "$first"*
}
cache_told() {
	equal '"jit_train_step"' "$(of_type rank "$T/out" '.marker' | tail -1)" "what ends a step"
	jq -n -e '[inputs | select(.type == "rank" and .programs)][-1].programs | .cached > 0 and .cached > .compiled' "$T/out"
}

@test "cached: the client for the CPU" {
	python_framework jax
	cache_fill
	program_exact jax_loss_first
	cache_told
}

@test "cached: jaxlib 0.4.38" {
	python_framework jax_old
	cache_fill
	older_exact jax_loss_first
	cache_told
}

# ---- on a plugin ------------------------------------------------------------------------------------

# JAX runs on XLA's plugin for the CPU as it does on an accelerator's.
plugin_use() {
	local plugin
	python_framework jax
	plugin=$("$PY" -c 'import glob, os, sysconfig
print(*glob.glob(os.path.join(sysconfig.get_path("purelib"), "**", "xla_cpu_pjrt.so"), recursive=True))')
	export PJRT_NAMES_AND_LIBRARY_PATHS=cpu_plugin:$plugin JAX_PLATFORMS=cpu_plugin ENABLE_PJRT_COMPATIBILITY=1
}
plugin_exact() { # kind
	plugin_use
	run_loop "$1"
	program_compare "$1" completion
}

@test "plugin: plain" { plugin_exact jax_plain; }
@test "plugin: weights given away" { plugin_exact jax_donate; }
@test "plugin: keys split beside the step" { plugin_exact jax_rng; }
@test "plugin: four batches a step" { plugin_exact jax_accumulate; }
@test "plugin: two programs a step" { plugin_exact jax_two_programs; }
@test "plugin: evaluation" { plugin_exact jax_eval; }
@test "plugin: another batch size" { plugin_exact jax_recompile; }
@test "plugin: attached late" {
	plugin_use
	late_exact
}
@test "plugin: predictions" { plugin_exact jax_inference; }
@test "plugin: predictions by weights of the host" { plugin_exact jax_inference_host; }
@test "plugin: predictions by constants" { plugin_exact jax_inference_closed; }
@test "plugin: trained and evaluated by one program" { plugin_exact jax_train_and_eval; }
@test "plugin: steps without a name" { plugin_exact jax_unnamed_scan; }
@test "plugin: a simulation" { plugin_exact jax_simulation; }
@test "plugin: gradients by the input" { plugin_exact jax_saliency; }
@test "plugin: a state comes out again" { plugin_exact jax_state_out; }
@test "plugin: a cache is handed on" { plugin_exact jax_generate; }
@test "plugin: from the cache of compiled programs" {
	plugin_use
	cache_fill
	# The name is read while the program is loaded: on a busy machine that may be over first, and then there are no steps.
	for _ in {1..6}; do
		rm -f "$T"/truth*
		run_loop jax_loss_first
		[ "$(of_type rank "$T/out" .marker | tail -1)" != '"jit_train_step"' ] || break
	done
	program_compare jax_loss_first completion
	cache_told
}

# ---- an older version -------------------------------------------------------------------------------

older_exact() { # kind
	python_framework jax_old
	run_loop "$1"
	program_compare "$1" execute
}

@test "jaxlib 0.4.38: plain" { older_exact jax_plain; }
@test "jaxlib 0.4.38: evaluation" { older_exact jax_eval; }
@test "jaxlib 0.4.38: keys split beside the step" { older_exact jax_rng; }
