#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Loops of real Keras, TensorFlow and PyTorch/XLA: each true step found, none invented. The kinds are rows of
# tests/workloads/programs.tsv, where each is told.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets output and status
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

@test "every kind of loop is here" { programs_are keras tf xla; }

@test "keras_fit" { program_exact keras_fit; }
@test "keras_dataset" { program_exact keras_dataset; }
@test "keras_executions" { program_exact keras_executions; }
@test "keras_jit" { program_exact keras_jit; }
@test "keras_eager" { program_exact keras_eager; }
@test "keras_save" { program_exact keras_save; }
@test "keras_custom" { program_exact keras_custom; }
@test "keras_predict" { program_exact keras_predict; }
@test "tf_function" { program_exact tf_function; }
@test "tf_checkpoint" { program_exact tf_checkpoint; }
@test "tf_accumulate" { program_exact tf_accumulate; }
@test "tf_inner_loop" { program_exact tf_inner_loop; }
@test "tf_tape" { program_exact tf_tape; }
@test "tf_inference" { program_exact tf_inference; }
@test "xla_plain" { program_exact xla_plain; }
@test "xla_accumulate" { program_exact xla_accumulate; }
@test "xla_eval" { program_exact xla_eval; }

@test "evaluations and checkpoints have buckets of their own" {
	python_framework tensorflow
	run_loop tf_checkpoint
	bucket_is CUSTOM_BADPUT_EVENTS.EVAL eval
	bucket_is UNPRODUCTIVE_CHECKPOINT_SAVE_TIME checkpoint '.op == "save"'
	equal '[50,100,150,200]' "$(jq -n -c '[inputs | select(.type == "checkpoint" and .op == "save") | .step]' "$T/out")" checkpoints
	rm "$T"/truth*
	run_loop keras_save
	bucket_is UNPRODUCTIVE_CHECKPOINT_SAVE_TIME checkpoint '.op == "save"'
}

# ---- an older version -------------------------------------------------------------------------------

older_exact() { # kind
	python_framework tensorflow_old
	run_loop "$1"
	program_compare "$1" execute
}

@test "TensorFlow 2.15: Keras 2" { older_exact keras_fit; }
@test "TensorFlow 2.15: ten batches an execution" { older_exact keras_executions; }
@test "TensorFlow 2.15: a function" { older_exact tf_function; }
@test "TensorFlow 2.15: checkpoints" { older_exact tf_checkpoint; }
