#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Floating-point operations of a step, measured from outside, against torch's own FlopCounterMode.

# shellcheck disable=SC2030,SC2031,SC2154 # tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

# Without ALL, a few models stand for the others.
chosen() { # model
	[ -n "${ALL:-}" ] || [[ $1 == @(mlp|conv|attention|sparse) ]] || skip "one of 24 models: ALL=1"
}

# Trains a model; checks the operations of a step. Torch 1.13 has no FlopCounterMode: its figure is that of the same
# model on a later version.
measured() { # current|1.13 model [operations]
	local truth
	chosen "$2"
	python_for "$1" operations
	run -0 "$GP_BPF" record --quiet -o "$T/tape" -- "$PY" "$TOP/tests/workloads/operations.py" "$2" --seconds 10
	truth=$(sed -n "s/^operations $2 //p" <<<"$output")
	truth=${3:-$truth}
	"$GP_BPF" replay --json "$T/tape" >"$T/report"
	equal measured "$(jq -r '.jobs[0].program.flops_source' "$T/report")" "source"
	equal "$truth" "$(jq -r '.jobs[0].program.flops_per_step' "$T/report")" "operations of a step"
	[ "$(jq -r '.jobs[0].program.in_steps.flops_per_second > 0' "$T/report")" = true ]
	equal 4 "$(jq -r '.jobs[0].program.flops_steps' "$T/report")" "measured steps"
	equal null "$(jq -r '.jobs[0].program.flops_uncounted' "$T/report")" "what is missing"
	equal "$truth" "$(jq -r '[.jobs[0].program.operations.kinds[]] | add' "$T/report")" "operations of all kinds"
	equal "$truth" "$(jq -r '[.jobs[0].program.operations.types[].flops_per_step] | add' "$T/report")" "operations of all types"
}

# Checks that kinds and types of the last measured model are the expected ones.
parts() { # kinds types
	equal "$1" "$(jq -r '.jobs[0].program.operations.kinds | keys | join(" ")' "$T/report")" "kinds"
	equal "$2" "$(jq -r '.jobs[0].program.operations.types | keys | join(" ")' "$T/report")" "types"
}

# Trains a model with an operator that is not counted: the figure is at most the true one, and names the operator.
bounded() { # model probe
	local truth got
	chosen "$1"
	python_for current operations
	run -0 "$GP_BPF" record --quiet -o "$T/tape" -- "$PY" "$TOP/tests/workloads/operations.py" "$1" --seconds "${SECONDS_OF_MODEL:-10}"
	truth=$(sed -n "s/^operations $1 //p" <<<"$output")
	"$GP_BPF" replay --json "$T/tape" >"$T/report"
	equal lower_bound "$(jq -r '.jobs[0].program.flops_source' "$T/report")" "source"
	equal "$2" "$(jq -r '.jobs[0].program.flops_uncounted' "$T/report")" "what is missing"
	got=$(jq -r '.jobs[0].program.flops_per_step' "$T/report")
	[ "$got" -gt 0 ]
	[ "$got" -le "$truth" ]
}

@test "a perceptron" {
	measured current mlp
	equal 0 "$(jq -r '.jobs[0].program.operations.computed_again' "$T/report")" "computed again"
}
@test "convolutions in two dimensions, one transposed" { measured current conv && parts "convolution matmul" fp32; }
@test "convolutions in one dimension" { measured current conv1d; }
@test "convolutions in three dimensions" { measured current conv3d; }
@test "a transformer with fused attention" { measured current attention && parts "attention matmul" fp32; }
@test "a transformer with attention as products" { measured current products; }
@test "a transformer under autocast" { measured current autocast && parts "attention matmul" bf16; }
@test "baddbmm" { measured current baddbmm; }
@test "autocast of bmm itself" { measured current autocast_bmm; }
@test "blocks as in Llama" { measured current llama; }
# Without checkpointing, FlopCounterMode counts 60014592.
@test "activation checkpointing: what is computed again counts, and is known" {
	measured current checkpoint
	equal 14352384 "$(jq -r '.jobs[0].program.operations.computed_again' "$T/report")" "computed again"
}
@test "two processes with DDP" { measured current ddp; }
@test "bags of embeddings" { measured current recommender; }
@test "transposed convolutions of two ranks" { measured current upsampler; }
@test "vmap" { measured current mapped; }
@test "TorchScript" { measured current scripted; }
# Of each of two layers 2 * 24 rows * 4 * 24 * (inputs + 24), three times; FlopCounterMode does not know them. And a linear layer.
@test "LSTM" { measured current lstm 1233792; }
@test "an operator of the job's own: a lower bound" { bounded custom torch.op_custom_python; }
@test "a sparse matrix: a lower bound" { bounded sparse torch.op_sparse_addmm; }
@test "the inverse of a matrix: a lower bound" { bounded inverse torch.op_linalg_inv_ex; }
@test "torch.compile: a lower bound" { SECONDS_OF_MODEL=25 bounded compiled torch.op_torch_compile; }
@test "torch 1.13: a perceptron" { measured 1.13 mlp 499200; }
@test "torch 1.13: convolutions in two dimensions" {
	measured 1.13 conv 24215040 && parts "convolution matmul" fp32
	equal null "$(jq -r '.jobs[0].program.operations.computed_again' "$T/report")" "computed again"
}
@test "torch 1.13: a transformer with attention as products" { measured 1.13 products 93929472; }

@test "MFU of a configured accelerator: the peak of each type of numbers" {
	python_for current operations
	run -0 "$GP_BPF" record --quiet --accelerator A100 --accelerators 1 -o "$T/tape" -- "$PY" "$TOP/tests/workloads/operations.py" mlp --seconds 8
	"$GP_BPF" replay --json "$T/tape" >"$T/report"
	equal "tf32 156000000000000" "$(jq -r '.jobs[0].program.operations.types.fp32 | "\(.peak_type) \(.peak_flops)"' "$T/report")" "assumed peak"
	[ "$(jq -r '.jobs[0].program.in_steps | (.flops_per_second / 156e12 / .hfu - 1) | fabs < 1e-6' "$T/report")" = true ]
}

@test "what the user states goes before what is measured" {
	python_for current operations
	run -0 "$GP_BPF" record --quiet --flops 1e9 -o "$T/tape" -- "$PY" "$TOP/tests/workloads/operations.py" mlp --seconds 8
	"$GP_BPF" replay --json "$T/tape" >"$T/report"
	equal configured "$(jq -r '.jobs[0].program.flops_source' "$T/report")" "source"
	equal 1000000000 "$(jq -r '.jobs[0].program.flops_per_step' "$T/report")" "operations of a step"
}
