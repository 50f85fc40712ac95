#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Loops of real training programs on the package index's current torch: each true step found, none invented.
# The kinds are rows of tests/workloads/kinds.tsv, where each is told.

# shellcheck disable=SC2030,SC2031,SC2154 # tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

@test "every kind of loop is here" { kinds_are current; }

@test "plain" { loop_exact current plain; }
@test "no_loader" { loop_exact current no_loader; }
@test "zero_grad_last" { loop_exact current zero_grad_last; }
@test "fast" { loop_exact current fast; }
@test "slow" { loop_exact current slow; }
@test "accumulate" { loop_exact current accumulate; }
@test "accumulate_5" { loop_exact current accumulate_5; }
@test "accumulate_growing" { loop_exact current accumulate_growing; }
@test "workers" { loop_exact current workers; }
@test "inference" { loop_exact current inference; }
@test "eval_ckpt" { loop_exact current eval_ckpt; }
@test "two_loops" { loop_exact current two_loops; }
@test "ema" { loop_exact current ema; }
@test "ranges2000" { loop_exact current ranges2000; }
@test "hot_name" { loop_exact current hot_name; }
@test "profiler" { loop_exact current profiler; }
@test "manual_sgd" { loop_exact current manual_sgd; }
@test "functional" { loop_exact current functional; }
@test "adamw_fused" { loop_exact current adamw_fused; }
@test "adam_fused" { loop_exact current adam_fused; }
@test "sgd_fused" { loop_exact current sgd_fused; }
@test "adamw_foreach" { loop_exact current adamw_foreach; }
@test "adamw_loop" { loop_exact current adamw_loop; }
@test "adam_foreach" { loop_exact current adam_foreach; }
@test "adam_loop" { loop_exact current adam_loop; }
@test "sgd_foreach" { loop_exact current sgd_foreach; }
@test "sgd_loop" { loop_exact current sgd_loop; }
@test "lbfgs" { loop_exact current lbfgs; }
@test "wrapping_optimizer" { loop_exact current wrapping_optimizer; }
@test "sam_closure" { loop_exact current sam_closure; }
@test "sam_two" { loop_exact current sam_two; }
@test "amp_skip" { loop_exact current amp_skip; }
@test "amp_skip_fused" { loop_exact current amp_skip_fused; }
@test "compile_model" { loop_exact current compile_model; }
@test "compile_optimizer" { loop_exact current compile_optimizer; }
@test "gan11" { loop_exact current gan11; }
@test "gan15" { loop_exact current gan15; }
@test "gan15_batches" { loop_exact current gan15_batches; }
@test "two_optimizers" { loop_exact current two_optimizers; }
@test "three_optimizers" { loop_exact current three_optimizers; }
@test "every_second" { loop_exact current every_second; }
@test "per_parameter" { loop_exact current per_parameter; }
@test "alternating" { loop_exact current alternating; }
@test "checkpoint_reentrant" { loop_exact current checkpoint_reentrant; }
@test "checkpoint_plain" { loop_exact current checkpoint_plain; }
@test "double_backward" { loop_exact current double_backward; }
@test "two_threads" { loop_exact current two_threads; }
@test "other_thread" { loop_exact current other_thread; }
@test "ddp" { loop_exact current ddp; }
@test "ddp_plain" { loop_exact current ddp_plain; }
@test "fsdp2" { loop_exact current fsdp2; }
@test "fsdp1" { loop_exact current fsdp1; }
@test "pipeline2" { loop_exact current pipeline2; }
@test "pipeline_gpipe" { loop_exact current pipeline_gpipe; }
@test "pipeline_1f1b" { loop_exact current pipeline_1f1b; }
@test "local_sgd" { loop_exact current local_sgd; }
@test "lightning" { loop_exact current lightning; }
@test "hf_trainer" { loop_exact current hf_trainer; }
@test "accelerate_acc" { loop_exact current accelerate_acc; }
@test "rl_sac" { loop_exact current rl_sac; }
@test "rl_sac_fixed" { loop_exact current rl_sac_fixed; }
@test "rl_sac_many" { loop_exact current rl_sac_many; }
@test "rl_sac_loader" { loop_exact current rl_sac_loader; }
@test "rl_td3" { loop_exact current rl_td3; }
@test "rl_td3_loader" { loop_exact current rl_td3_loader; }
@test "rl_three_rates" { loop_exact current rl_three_rates; }
@test "rl_compensated" { loop_exact current rl_compensated; }
@test "rl_agents" { loop_exact current rl_agents; }
@test "rl_ppo" { loop_exact current rl_ppo; }
@test "rl_phases" { loop_exact current rl_phases; }
@test "meta" { loop_exact current meta; }
@test "launch_fork" { loop_exact current launch_fork; }
@test "launch_daemon" { loop_exact current launch_daemon; }
@test "launch_exec" { loop_exact current launch_exec; }
@test "launch_spawn" { loop_exact current launch_spawn; }
@test "launch_subprocess" { loop_exact current launch_subprocess; }
