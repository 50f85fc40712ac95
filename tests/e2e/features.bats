#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Each kernel feature switched off: a real training is told with the right steps all the same, or the refusal says
# why, as `gp-bpf check` and gp-bpf.8 have it.

# shellcheck disable=SC2030,SC2031,SC2153,SC2154 # tests are subshells; bats sets output, stderr and status
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

names() { "$GP_BPF" check | awk '/^  [a-z_]+ +(yes|no|off) / { print $1 }'; }

# Debian's torch, attached while it stands still after step 80: without some, what is mapped is looked for once a
# second only.
trains() { # options of gp-bpf
	python_debian
	background /dev/null "$T/its" "$T/its.err" "$PY" "$LOOP" late --out "$T/truth" --go "$T/go"
	JOB=$LAST
	until_true test -s "$T/go.ready"
	start_watch --pid "$JOB" --quiet "$@" --export "json:$T/out"
	: >"$T/go"
	wait_exit "$JOB"
	equal 0 "$STATUS" "$(tail -5 "$T/its.err")"
	watch_end
	sound "$T/out"
	run "$PY" "$TOP/tests/tools/compare.py" --late "$T/out" "$T/truth"
	equal 0 "$status" "compare.py: $output"
}

@test "every feature is here, and in the man page" {
	local name
	for name in $(names); do
		grep -q "^@test \"without $name" "$BATS_TEST_FILENAME" || { echo "no test of $name" >&2; return 1; }
		grep -q "^\.It Sy $name\$" "$TOP/man/gp-bpf.8" || { echo "$name is not in gp-bpf.8" >&2; return 1; }
	done
}

# One line of a document: without line breaks, quotes of C and marks.
words() { tr -d '`"\134' <"$1" | tr -s '[:space:]' ' '; }

@test "what a kernel needs is said in the same words everywhere, and no version is a floor" {
	local file said
	said=$(words "$TOP/loader/kernel/feature.c" | grep -o 'gp-bpf needs the kernel features .* is the answer' | head -1)
	[ -n "$said" ]
	for file in README.md man/gp-bpf.8 deploy/README.md; do
		words "$TOP/$file" | grep -qF "$said" || { echo "$file does not say: $said" >&2; return 1; }
	done
	run -1 git -C "$TOP" grep -nIEi \
		-e '(linux|kernels?) *(>=?|≥|from|since|before|at least)? *[2-9]\.[0-9]+ *(\+|or (newer|later|above)|and (newer|later|above)|is needed)' \
		-e '(linux|kernels?) *(>=?|≥|from|since|before|at least|newer than|older than) *v?[2-9]\.[0-9]+' \
		-e '\(?(before|since|from) (linux )?[3-9]\.[0-9]+\)' \
		-- README.md CHANGELOG.md man deploy docs loader/kernel/feature.c userspace/watch/sandbox.c tests/demo tests/tools/deps.sh
	equal "" "$output" "other floors"
}

@test "check tells of each how it was tested, and what is lost" {
	run -0 "$GP_BPF" check --feature multi=off
	equal "$(names | wc -l)" "$(grep -c '^  *tested: .*; without it: .' <<<"$output")"
	[[ $output == *"multi        off"* ]]
}

# Nothing works without these two.
refused() { # feature
	run -3 --separate-stderr "$GP_BPF" run --feature "$1=off" -- touch "$T/started"
	equal "" "$output"
	equal 1 "$(wc -l <<<"$stderr")" lines
	[[ $stderr == *"feature $1 is switched off"* ]]
	[ ! -e "$T/started" ]
	run -3 "$GP_BPF" check --feature "$1=off"
}
@test "without bpf: refused" { refused bpf; }
@test "without cookie: refused" { refused cookie; }

@test "without btf" { trains --feature btf=off; }
@test "without tp_btf" { trains --feature tp_btf=off; }
@test "without task_vma" { trains --feature task_vma=off; }
@test "without multi: slower to detach, which is told at the start and at the end" {
	trains --feature multi=off
	equal "$(printf '%s\n' 'probes will take about' 'probes one by one takes about')" \
		"$(grep -oE 'probes will take about|probes one by one takes about' "$T/watch.err")"
}
@test "without session" { trains --feature session=off; }
@test "without tracefs" { trains --feature tracefs=off; }
@test "without syscall_tp" { trains --feature syscall_tp=off; }

@test "without kernel_read, as under kernel lockdown" { trains --feature kernel_read=off; }

@test "without file" { trains --feature file=off; }

@test "without bpffs: all but --durable" {
	trains --feature bpffs=off
	run -3 --separate-stderr "$GP_BPF" --pid "$BASHPID" --durable --state-dir "$T/state" --feature bpffs=off
	equal 1 "$(wc -l <<<"$stderr")" lines
	[[ $stderr == *"--durable needs feature bpffs"* ]]
}
