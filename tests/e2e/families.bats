#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A future torch may drop a family of markers: each, alone, is exact in number on the loops that it can serve.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

# On the stand-in, where a step hits every family.
alone() { # marker
	run -0 "$GP_BPF" run --quiet --marker "$1" --export "json:$T/out" -- "$TRAIN" load wait steps=101
	steps_are 101 "$T/out"
	equal "\"$1\"" "$(of_type step "$T/out" .boundary | sort -u)" boundary
}

# On real torch: as many steps of each process as its log has.
counts() { # current|1.13 marker kinds...
	local torch=$1 marker=$2 kind truth
	shift 2
	for kind; do
		python_for "$torch" "$kind"
		rm -f "$T"/truth*
		run_loop "$kind" --marker "$marker"
		for truth in "${TRUTHS[@]}"; do
			equal "$(jq -s '.[0].steps' "$truth")" \
				"$(count_lines step "$T/out" ".pid == $(jq -s '.[0].pid' "$truth")")" "steps of $kind by $marker"
		done
	done
}

# A torch that names no ranges: exact without a doubt, or each step is flagged and the report says why.
no_ranges() { # exact|flagged kinds...
	local want=$1 kind
	shift
	export NO_RANGES=1
	for kind; do
		python_for current "$kind"
		rm -f "$T"/truth*
		run_loop "$kind" --json
		if [ "$want" = exact ]; then
			run -0 "$PY" "$TOP/tests/tools/compare.py" "$T/out" "${TRUTHS[@]}"
			equal 0 "$(count_lines step "$T/out" '.flags | index("ambiguous")')" "flagged steps of $kind"
		else
			equal 0 "$(count_lines step "$T/out" '.flags | index("ambiguous") | not')" "sure steps of $kind"
			of_type rank "$T/out" 'select(.state == "ended") | [.confidence < 0.9, .reason]' |
				grep -q '^\[true,"ambiguous: .*--multiply'
			grep '^{' "$T/its" | jq -e '[.. | .reason? // empty] | any(startswith("ambiguous: "))' >/dev/null
		fi
	done
}

@test "without ranges: sure" { no_ranges exact accumulate gan11 rl_sac; }
@test "without ranges: flagged" { no_ranges flagged fast lbfgs manual_sgd; }
@test "update_exit alone" { alone update_exit; }
@test "zero_grad alone" { alone zero_grad; }
@test "backward alone" { alone backward; }
@test "reducer alone" { alone reducer; }
@test "update_op alone" {
	run -0 "$GP_BPF" run --quiet --marker update_op --export "json:$T/out" -- "$TRAIN" load wait steps=101
	steps_are 101 "$T/out"
}

@test "current torch: update_exit" { counts current update_exit plain accumulate ddp lbfgs; }
@test "current torch: zero_grad" { counts current zero_grad plain accumulate zero_grad_last fast; }
@test "current torch: backward" { counts current backward plain manual_sgd checkpoint_reentrant workers; }
@test "current torch: reducer" { counts current reducer ddp; }
@test "current torch: update_op" { counts current update_op adamw_fused adam_fused sgd_fused; }
@test "Debian's torch: backward" { counts 1.13 backward plain manual_sgd checkpoint_reentrant workers; }
@test "Debian's torch: reducer" { counts 1.13 reducer ddp; }
