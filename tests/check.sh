#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make check: installs what is missing, builds, runs every test, and ends with one line of totals.
# ALL=1 adds the large parts (every framework, other compilers, other kernels, fuzzing). ONLY='unit e2e' runs some suites.
# Each suite prints TAP; what failed and why something was skipped is shown, the rest is in build/check/.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${MAKE:=make}" "${ALL:=}" "${ONLY:=}" "${PYTHON:=}"
export ALL PYTHON LC_ALL=C.UTF-8
logs=build/check
mkdir -p "$logs"
passed=0 failed=0 skipped=0
jobs=$(nproc)
chains=$jobs # of test files side by side; with ALL=1 there is time for one after the other
[ -z "$ALL" ] || chains=1

wanted() { [ -z "$ONLY" ] || [[ " $ONLY " == *" $1 "* ]]; }

log_of() { echo "$logs/${1//\//-}.log"; }

# NAME COMMAND...: runs it; what it says, its status and its seconds are in files.
suite_run() {
	local log start=$SECONDS rc
	log=$(log_of "$1")
	shift
	rm -f "$log.end"
	"$@" >"$log" 2>&1 </dev/null
	rc=$?
	echo "$rc $((SECONDS - start))" >"$log.ends"
	mv "$log.ends" "$log.end" # whole when it is there
}

# Counts the TAP lines of one that has run; a command that fails without one counts as one.
suite_report() { # name
	local log rc p f s took
	log=$(log_of "$1")
	read -r rc took <"$log.end" || rc=1 took=0 # killed
	p=$(grep -cE '^ok [0-9]+' "$log")
	s=$(grep -ciE '^ok [0-9]+.*# *skip' "$log")
	f=$(grep -cE '^not ok [0-9]+' "$log")
	p=$((p - s))
	[ "$rc" -ne 0 ] && [ "$f" -eq 0 ] && f=1
	[ "$rc" -eq 0 ] && [ $((p + s + f)) -eq 0 ] && p=1
	printf '%4d passed %3d failed %3d skipped  %4d s\n' "$p" "$f" "$s" "$took"
	grep -iE '^ok [0-9]+.*# *skip' "$log" | sed 's/^ok [0-9]* *-* */    skipped: /'
	if [ "$f" -ne 0 ]; then
		grep -E -A8 '^not ok ' "$log" | sed 's/^/    /' | head -60
		grep -qE '^not ok ' "$log" || tail -20 "$log" | sed 's/^/    /'
		echo "    whole log: $log"
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

suite() { # name command...
	printf '%-34s ' "$1"
	suite_run "$@"
	suite_report "$1"
}

e2e_chain() { # "names": one after the other
	local name
	for name in $1; do
		suite_run "e2e/$name" e2e "tests/e2e/$name.bats"
	done
}

# Chains of test files side by side, as many as there are CPUs; each file is told some time after its end.
e2e_together() { # chains
	local name waiting=() left=() none
	while [ $# -gt 0 ] || [ ${#waiting[@]} -gt 0 ]; do
		if [ $# -gt 0 ] && [ "$(jobs -rp | wc -l)" -lt "$chains" ]; then
			for name in $1; do
				rm -f "$(log_of "e2e/$name").end"
				waiting+=("$name")
			done
			e2e_chain "$1" &
			shift
			continue
		fi
		wait -n
		none=$? # 127: nobody runs any more
		left=()
		for name in "${waiting[@]}"; do
			if [ -e "$(log_of "e2e/$name").end" ] || [ "$none" -eq 127 ]; then
				printf '%-34s ' "e2e/$name"
				suite_report "e2e/$name"
			else
				left+=("$name")
			fi
		done
		waiting=("${left[@]}")
	done
}

# TAP of several programs, renumbered by nobody: only the words ok and not ok count.
unit() { # make variables...
	"$MAKE" -s -j"$jobs" "$@" unit || return 1
	local dir=build/plain rc=0 t
	[ "$#" -gt 0 ] && dir=build/address-undefined
	for t in "$dir"/tests/unit/*_test; do
		echo "# $t"
		CMOCKA_MESSAGE_OUTPUT=TAP UBSAN_OPTIONS=halt_on_error=1 "$t" || rc=1
	done
	return $rc
}

# valgrind knows no bpf(2), and has memory and descriptors of its own where a test counts ours; a simulation takes
# minutes there. The sanitizers see those.
memcheck() {
	local t tests=()
	for t in build/plain/tests/unit/*_test; do
		case $t in */loader_attach_test | */loader_file_test | */loader_life_test | */loader_relink_test | */aside_test | */carrier_test | */goodput_stream_test | */compare_test) continue ;; esac
		tests+=("$t")
	done
	# shellcheck disable=SC2016 # the inner shell expands
	printf '%s\n' "${tests[@]}" | xargs -P "$jobs" -I{} sh -c '
		said=$1/valgrind-$(basename "$2").out
		if valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$2" >"$said" 2>&1; then
			echo "ok 1 $2"
		else
			{ echo "not ok 1 $2"; tail -30 "$said"; } | cat
			exit 1
		fi' memcheck "$logs" {}
}

sources() { git ls-files -co --exclude-standard "$@"; }

format() { sources '*.c' '*.h' | xargs clang-format --dry-run -Werror; }
shell() { { sources '*.sh' '*.bash' '*.bats' | grep -v '^$'; echo .ci/run; } | xargs shellcheck -x; }
check_cpp() {
	cppcheck -q --std=c11 --error-exitcode=1 --inline-suppr --enable=warning,portability,performance \
		--suppress=missingInclude --suppress=unknownMacro -I. -j "$jobs" loader userspace
}
tidy() {
	# shellcheck disable=SC2016 # the inner shell expands
	sources 'loader/*.c' 'userspace/*.c' 'userspace/*/*.c' |
		grep -vE '^loader/kernel(_life)?.c$' | # the analyzer follows them into the generated skeletons
		xargs -P "$jobs" -n 8 sh -c 'clang-tidy --quiet --warnings-as-errors="*" "$@" -- -std=gnu17 -I. \
			-isystem build/plain -D_GNU_SOURCE -DGP_VERSION=\"0\" -DGP_PREFIX=\"/usr\"' tidy
}
fuzz() { TAP=1 "$MAKE" -s -j"$jobs" fuzz SECONDS=20 ONLY=; }
clang_build() { "$MAKE" -s -j"$jobs" WERROR=1 CC=clang all fuzz-objects; }
e2e() { # files...
	command -v bats >/dev/null || { echo "bats is missing: make deps"; return 1; }
	bats --tap --print-output-on-failure "$@"
}

library_differential() {
	local python
	python=$(tests/account/library.sh) && "$python" tests/account/differential.py 200 1
}

torture() {
	local form=--short
	[ -z "$ALL" ] || form=--normal
	"$MAKE" -s -j"$jobs" torture-programs && tests/torture/torture.py "$form"
}

current_torch() { tests/tools/torch.sh && tests/tools/torch.sh --all; }

echo "gp-bpf checks on $(uname -rm), $(nproc) CPUs"
wanted deps && suite deps tests/tools/deps.sh "$([ -n "$ALL" ] && echo all || echo check)"
suite build "$MAKE" -s -j"$jobs" WERROR=1 all unit
if wanted static; then
	suite static/stages tests/tools/stages.sh
	suite static/sizes tests/tools/sizes.sh
	suite static/format format
	suite static/shellcheck shell
	suite static/cppcheck check_cpp
	suite static/clang-tidy tidy
	suite static/bpf-arm64 "$MAKE" -s bpf-arm64
	suite static/clang-build clang_build
	[ -x tests/tools/man_options.sh ] && suite static/man-page tests/tools/man_options.sh
fi
if wanted unit; then
	suite unit unit
	suite unit/sanitizers unit SAN=address,undefined
	[ -z "$ALL${CI:-}" ] || suite unit/valgrind memcheck # the sanitizers see most of it sooner
fi
if wanted account; then
	suite account/quirks tests/account/quirks.py
	suite account/vectors tests/account/vectors.py
	suite account/store tests/account/store.py
	if [ -n "$ALL" ]; then
		echo "the goodput library (once, about 200 MB; ${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/goodput):"
		suite account/differential library_differential
	fi
fi
if wanted fuzz && [ -n "$ALL$ONLY" ]; then
	suite fuzz fuzz
fi
if wanted e2e; then
	if [ -n "$ALL" ] || [ -n "${CI:-}" ]; then
		echo "the package index's torch (once, about 5 GB; ${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/torch):"
		suite e2e/torch current_torch
	fi
	"$MAKE" -s -j"$jobs" fakes
	export BUILT=1
	# What looks at the whole machine, or at how fast things go, runs alone. Real torch keeps a CPU busy, and
	# its boundaries are compared with clocks of its own: one at a time, where there are few. The rest waits a lot.
	alone=(budget life slow)
	torch=(steps_current steps_debian hang truth)
	[ "$jobs" -ge 4 ] || torch=("${torch[*]}")
	others=()
	for f in tests/e2e/*.bats; do
		f=$(basename "$f" .bats)
		[[ " ${alone[*]} ${torch[*]} " == *" $f "* ]] || others+=("$f")
	done
	e2e_together "${torch[@]}" "${others[@]}"
	for f in "${alone[@]}"; do
		suite "e2e/$f" e2e "tests/e2e/$f.bats"
	done
fi

if wanted kernels && [ -n "$ALL$ONLY" ]; then
	"$MAKE" -s -j"$jobs" all unit fakes
	suite kernels tests/kernels/kernels.sh
	sed -n 's/^# |/    |/p' "$logs/kernels.log"
fi
if wanted torture; then
	suite torture torture
	sed -n '/^# what  /,$s/^#/   /p' "$logs/torture.log"
fi

echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
