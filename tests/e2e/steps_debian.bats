#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The same on Debian's torch 1.13, wherever its markers allow.
# The kinds are rows of tests/workloads/kinds.tsv, where each is told.

# shellcheck disable=SC2030,SC2031,SC2154 # tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

@test "every kind of loop is here" { kinds_are 1.13; }

@test "plain" { loop_exact 1.13 plain; }
@test "no_loader" { loop_exact 1.13 no_loader; }
@test "zero_grad_last" { loop_exact 1.13 zero_grad_last; }
@test "fast" { loop_exact 1.13 fast; }
@test "slow" { loop_exact 1.13 slow; }
@test "accumulate" { loop_exact 1.13 accumulate; }
@test "accumulate_5" { loop_exact 1.13 accumulate_5; }
@test "accumulate_growing" { loop_exact 1.13 accumulate_growing; }
@test "workers" { loop_exact 1.13 workers; }
@test "inference" { loop_exact 1.13 inference; }
@test "eval_ckpt" { loop_exact 1.13 eval_ckpt; }
@test "two_loops" { loop_exact 1.13 two_loops; }
@test "ema" { loop_exact 1.13 ema; }
@test "ranges2000" { loop_exact 1.13 ranges2000; }
@test "hot_name" { loop_exact 1.13 hot_name; }
@test "profiler" { loop_exact 1.13 profiler; }
@test "manual_sgd" { loop_exact 1.13 manual_sgd; }
@test "adamw_foreach" { loop_exact 1.13 adamw_foreach; }
@test "adamw_loop" { loop_exact 1.13 adamw_loop; }
@test "adam_foreach" { loop_exact 1.13 adam_foreach; }
@test "adam_loop" { loop_exact 1.13 adam_loop; }
@test "sgd_foreach" { loop_exact 1.13 sgd_foreach; }
@test "sgd_loop" { loop_exact 1.13 sgd_loop; }
@test "lbfgs" { loop_exact 1.13 lbfgs; }
@test "wrapping_optimizer" { loop_exact 1.13 wrapping_optimizer; }
@test "sam_closure" { loop_exact 1.13 sam_closure; }
@test "sam_two" { loop_exact 1.13 sam_two; }
@test "gan11" { loop_exact 1.13 gan11; }
@test "gan15" { loop_exact 1.13 gan15; }
@test "gan15_batches" { loop_exact 1.13 gan15_batches; }
@test "two_optimizers" { loop_exact 1.13 two_optimizers; }
@test "three_optimizers" { loop_exact 1.13 three_optimizers; }
@test "every_second" { loop_exact 1.13 every_second; }
@test "per_parameter" { loop_exact 1.13 per_parameter; }
@test "alternating" { loop_exact 1.13 alternating; }
@test "checkpoint_reentrant" { loop_exact 1.13 checkpoint_reentrant; }
@test "checkpoint_plain" { loop_exact 1.13 checkpoint_plain; }
@test "double_backward" { loop_exact 1.13 double_backward; }
@test "two_threads" { loop_exact 1.13 two_threads; }
@test "other_thread" { loop_exact 1.13 other_thread; }
@test "ddp" { loop_exact 1.13 ddp; }
@test "ddp_plain" { loop_exact 1.13 ddp_plain; }
@test "pipeline2" { loop_exact 1.13 pipeline2; }
@test "local_sgd" { loop_exact 1.13 local_sgd; }
@test "launch_fork" { loop_exact 1.13 launch_fork; }
@test "launch_daemon" { loop_exact 1.13 launch_daemon; }
@test "launch_exec" { loop_exact 1.13 launch_exec; }
@test "launch_spawn" { loop_exact 1.13 launch_spawn; }
@test "launch_subprocess" { loop_exact 1.13 launch_subprocess; }
