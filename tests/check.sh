#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make check: installs what is missing, builds, runs every test, and ends with one line of totals.
# ALL=1 adds the large parts (every framework, a third of the public trainers, other compilers, other kernels, fuzzing), ALL=2 all trainers.
# ONLY='unit static/sizes e2e/http' runs some groups, suites or files: of a group's suites those that are named, of tests/unit/
# and tests/e2e/ those files (unit/step is tests/unit/step_test.c; a pattern is allowed: 'unit/step*').
# LIMIT=70: a large part that would not end within so many minutes is skipped, and said to be.
# Each suite prints TAP; what failed and why something was skipped is shown, the rest is in build/check/.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${MAKE:=make}" "${ALL:=}" "${ONLY:=}" "${PYTHON:=}" "${LIMIT:=}"
export ALL PYTHON
. tests/tools/environment.bash
unset TMPDIR # other users must get into a test's folder, and sockets there have room for 107 bytes of path
logs=build/check
mkdir -p "$logs"
passed=0 failed=0 skipped=0 suites=0 flakes=()
jobs=$(nproc)
declare -A asides=()

# Whether a suite of the group, or a file of it, is to run.
wanted() { [ -z "$ONLY" ] || [[ " $ONLY " == *" $1 "* || " $ONLY " == *" $1/"* ]]; }
named() { [[ " $ONLY " == *" $1 "* ]]; }

# Whether ONLY names this suite or file, its group, or a pattern that matches it.
chosen() { # group/name
	local word
	[ -n "$ONLY" ] || return 0
	set -f
	for word in $ONLY; do
		# shellcheck disable=SC2053 # a pattern
		[[ $1 == $word || $1 == $word/* ]] && { set +f; return 0; }
	done
	set +f
	return 1
}

log_of() { echo "$logs/${1//\//-}.log"; }

# NAME COMMAND...: runs it; what it says, its status, its seconds and those of the CPU are in files.
suite_run() {
	local log start=$SECONDS rc TIMEFORMAT='%U %S'
	log=$(log_of "$1")
	shift
	rm -f "$log.end"
	{ time "$@" >"$log" 2>&1 </dev/null; } 2>"$log.cpu"
	rc=$?
	echo "$rc $((SECONDS - start)) $(awk 'END { printf "%.0f", $1 + $2 }' "$log.cpu")" >"$log.ends"
	rm -f "$log.cpu"
	mv "$log.ends" "$log.end" # whole when it is there
}

# Counts the TAP lines of one that has run; a command that fails without one counts as one.
suite_report() { # name
	local log rc p f s took cpu
	log=$(log_of "$1")
	read -r rc took cpu <"$log.end" || rc=1 took=0 cpu=0 # killed
	p=$(grep -cE '^ok [0-9]+' "$log")
	s=$(grep -ciE '^ok [0-9]+.*# *skip' "$log")
	f=$(grep -cE '^not ok [0-9]+' "$log")
	p=$((p - s))
	[ "$rc" -ne 0 ] && [ "$f" -eq 0 ] && f=1
	[ "$rc" -eq 0 ] && [ $((p + s + f)) -eq 0 ] && p=1
	printf '%4d passed %3d failed %3d skipped  %4d s, %4d s of CPU\n' "$p" "$f" "$s" "$took" "$cpu"
	grep -iE '^ok [0-9]+.*# *skip' "$log" | sed 's/^ok [0-9]* *-* */    skipped: /'
	mapfile -t -O "${#flakes[@]}" flakes < <(sed -nE "s|^ok [0-9]+ *-* *(.*) # again\$|$1: \1|p" "$log")
	if [ "$f" -ne 0 ]; then
		grep -E -A8 '^not ok ' "$log" | sed 's/^/    /' | head -60
		grep -qE '^not ok ' "$log" || tail -20 "$log" | sed 's/^/    /'
		echo "    whole log: $log"
	fi
	[ "$1" = build ] || suites=$((suites + 1))
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# Runs while the next suites run; suite_settle waits for it.
suite_beside() { # name command...
	chosen "$1" || return 0
	rm -f "$(log_of "$1").end"
	suite_run "$@" &
	asides[$1]=$!
	disown
}
# The same, in what the others leave of the machine.
suite_aside() { # name command...
	suite_beside "$@"
	[ -z "${asides[$1]:-}" ] || renice -n 19 -p "${asides[$1]}" >/dev/null
}

suite_settle() { # name: of one that runs beside; nothing, where there is none or it has been told
	[ -n "${asides[$1]:-}" ] || return 0
	printf '%-34s ' "$1"
	while [ ! -e "$(log_of "$1").end" ] && kill -0 "${asides[$1]}" 2>/dev/null; do
		sleep 0.2
	done
	suite_report "$1"
	unset "asides[$1]"
}

suite() { # name command...
	chosen "$1" || return 0
	printf '%-34s ' "$1"
	suite_run "$@"
	suite_report "$1"
}

# One that takes about so many seconds on 2 CPUs, if there is time for it.
suite_large() { # seconds name command...
	local seconds=$1
	shift
	chosen "$1" || return 0
	if [ -n "$LIMIT" ] && [ $((SECONDS + seconds)) -gt $((LIMIT * 60)) ]; then
		printf '%-34s    0 passed   0 failed   1 skipped     0 s,    0 s of CPU\n' "$1"
		echo "    skipped: it takes about $((seconds / 60 + 1)) minutes, and $((SECONDS / 60)) of $LIMIT are over"
		skipped=$((skipped + 1))
		: >"$(log_of "$1")"
		suites=$((suites + 1))
		return
	fi
	suite "$@"
}

e2e_chain() { # "names": one after the other, without those that another chain has taken
	local name
	for name in $1; do
		mkdir "$(log_of "e2e/$name").taken" 2>/dev/null || continue
		suite_run "e2e/$name" e2e "tests/e2e/$name.bats"
	done
}

# Whether another chain may start: as many run as there are CPUs, not counting that of PATIENT.
e2e_room() { # process id of PATIENT's chain, or ""
	local running
	running=$(jobs -rp | wc -l)
	[ -z "$1" ] || ! kill -0 "$1" 2>/dev/null || running=$((running - 1))
	[ "$running" -lt "$jobs" ]
}

# Chains of test files side by side; each file is told some time after its end. PATIENT: names of those that hardly use a CPU,
# one chain besides the others. Names in both run in the chain that gets there first.
e2e_together() { # chains
	local name names="$* ${PATIENT:-}" waiting=() left=() none patient=''
	for name in $names; do
		rm -rf "$(log_of "e2e/$name").end" "$(log_of "e2e/$name").taken"
	done
	if [ -n "${PATIENT:-}" ]; then
		for name in $PATIENT; do
			[[ " $* " == *" $name "* ]] || waiting+=("$name")
		done
		e2e_chain "$PATIENT" &
		patient=$!
	fi
	while [ $# -gt 0 ] || [ ${#waiting[@]} -gt 0 ]; do
		if [ $# -gt 0 ] && e2e_room "$patient"; then
			for name in $1; do
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

unit_run() { CMOCKA_MESSAGE_OUTPUT=TAP UBSAN_OPTIONS=halt_on_error=1 "$1"; }
# Runs a program that failed once more, as a busy machine is slow: the second result counts, and is marked "# again". One that
# failed without naming a test, by a crash for example, gets a line of its own.
unit_again() { # program output-of-the-first-run
	local marked=$2.again status
	sed 's/^/# first: /' "$2"
	unit_run "$1" 2>&1 | while IFS= read -r line; do
		[[ $line == "ok "* ]] && grep -qxF "not $line" "$2" && line+=" # again"
		printf '%s\n' "$line"
	done >"$marked"
	status=${PIPESTATUS[0]}
	cat "$marked"
	[ "$status" -ne 0 ] || grep -q '^ok .* # again$' "$marked" || echo "ok 0 - ${1##*/}: failed without naming a test # again"
	rm -f "$marked"
	return "$status"
}
# With ALL or CI one that fails is run once more. Its output comes in one piece, as others run beside it.
unit_one() { # program
	local first=$logs/unit-${1##*/}.out status=0
	unit_run "$1" >"$first" 2>&1 || status=$?
	if [ "$status" -eq 0 ] || [ -z "$ALL${CI:-}" ]; then
		{ echo "# $1"; cat "$first"; } | cat
	else
		{ echo "# $1"; unit_again "$1" "$first"; } >"$first.told"
		status=$?
		cat "$first.told"
	fi
	rm -f "$first" "$first.told"
	return "$status"
}
export logs
export -f unit_run unit_again unit_one

# Those that attach probes, or look at every process of the machine, run one after the other.
unit_alone() { grep -qE '"(tests/unit/probed|userspace/watch/discover)\.[ch]"' "tests/unit/${1##*/}.c"; }

# TAP of several programs, not renumbered: only the words ok and not ok count.
unit_all=()
for f in tests/unit/*_test.c; do
	unit_all+=("$(basename "$f" _test.c)")
done
unit_files() { # "names" make-variables...
	local dir=build/plain rc=0 t programs=() alone=() together=()
	for t in $1; do
		programs+=("tests/unit/${t}_test")
	done
	shift
	[ "$#" -gt 0 ] && dir=build/address-undefined
	"$MAKE" -s -j"$jobs" "$@" "${programs[@]/#/$dir/}" || return 1
	for t in "${programs[@]/#/$dir/}"; do
		if unit_alone "$t"; then
			alone+=("$t")
		else
			together+=("$t")
		fi
	done
	# shellcheck disable=SC2016 # the inner shell expands
	printf '%s\n' "${together[@]}" | xargs -r -P "$jobs" -n 1 bash -c 'unit_one "$0" || exit 1' || rc=1 # 255 would end xargs
	for t in "${alone[@]}"; do
		unit_one "$t" || rc=1
	done
	return $rc
}
unit() { unit_files "${unit_all[*]}" "$@"; }

# Those with threads of ours in one process, under TSan. Not here: what probes itself (the kernel finds no memory to probe a program of
# TSan in), and the long ones of the store, which the same writer has in store_writer.
threaded=(carry_map export_worker file_writer google hooks http http_auth handoff model pods pods_trouble prometheus_store store_carry store_checkpoint store_note
	store_rename store_writer document_trouble successor tensorboard web worker)
threads() {
	local rc=0 t first=$logs/threads.out programs=("${threaded[@]/#/build/thread/tests/unit/}")
	"$MAKE" -s -j"$jobs" SAN=thread "${programs[@]/%/_test}" || return 1
	for t in "${programs[@]/%/_test}"; do
		echo "# $t"
		unit_run "$t" >"$first" 2>&1 && { cat "$first"; continue; }
		# Once more; but a race that is seen once is one.
		if grep -q 'WARNING: ThreadSanitizer' "$first"; then
			sed 's/^/# /' "$first"
		else
			unit_again "$t" "$first" && continue
		fi
		rc=1
		echo "not ok 1 $t"
	done
	return $rc
}

# valgrind knows no bpf(2) and no pidfd_open(2), and has memory and descriptors of its own where a test counts ours; a simulation takes
# minutes there; one starts itself again, one filters its system calls and one overflows its stack, which valgrind does not let them. The
# sanitizers see those.
memcheck() {
	local t tests=()
	for t in build/plain/tests/unit/*_test; do
		case $t in */helper_test | */handoff_*test | */change_test | */confine_test | */ras_ask_test | */discover_test | */hook_test | */hooks_test | */goodput_stream_test | */compare_test | */live_test) continue ;; esac
		grep -q 'probed\.h' "tests/unit/${t##*/}.c" && continue
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
shell() { { sources '*.sh' '*.bash' '*.bats' | grep -v '^$'; printf '%s\n' .ci/run deploy/stopped deploy/debian/postrm; } | xargs shellcheck -x; }
check_cpp() {
	cppcheck -q --std=c11 --error-exitcode=1 --inline-suppr --enable=warning,portability,performance \
		--suppress=missingInclude --suppress=unknownMacro -I. -j "$jobs" loader userspace
}
tidy_sources() { # the analyzer follows the excluded ones into the generated skeletons
	sources 'loader/*.c' 'userspace/*.c' 'userspace/*/*.c' | grep -vE '^loader/(kernel/kernel(_life)?|unwatched|examine).c$' | sort
}
# The static analyzer takes nine tenths of the time. Without ALL or CI it sees what differs from origin, and clang-tidy's other checks all.
tidy() {
	local base
	if [ -n "$ALL${CI:-}" ] || named static/clang-tidy; then
		tidy_sources | xargs -P "$jobs" -n 8 tests/tools/tidy.sh
		return
	fi
	base=$(git merge-base HEAD origin/HEAD 2>/dev/null) || base=HEAD
	tidy_sources | xargs -P "$jobs" -n 8 tests/tools/tidy.sh --quick &&
		comm -12 <(tidy_sources) <(git diff --name-only "$base" | sort) | xargs -r -P "$jobs" -n 2 tests/tools/tidy.sh
}
fuzz() { TAP=1 "$MAKE" -s -j"$jobs" fuzz SECONDS=10 ONLY=; }
clang_build() { "$MAKE" -s -j"$jobs" WERROR=1 CC=clang all fuzz-objects; }
# Real processes on a busy machine: with ALL or CI, a few tests that fail are run once more, and said to be ("# again").
e2e() { # file
	local said status line name failing=0
	command -v bats >/dev/null || { echo "bats is missing: make deps"; return 1; }
	said=$logs/$(basename "$1" .bats).tap
	timeout 1200 bats --tap --print-output-on-failure "$1" >"$said" 2>&1 # 400 s is the longest, on 2 CPUs
	status=$?
	if [ -z "$ALL${CI:-}" ] || [ "$(grep -c '^not ok ' "$said")" -gt 8 ]; then
		cat "$said"
		return $status
	fi
	while IFS= read -r line; do
		if [[ $line =~ ^not\ ok\ ([0-9]+)\ (.*) ]]; then
			name=${BASH_REMATCH[2]}
			line="ok ${BASH_REMATCH[1]} $name # again"
			# bats compares with the name as it is written: \" or \$ where it says " or $
			if ! bats --tap --print-output-on-failure -f "^${name//[!A-Za-z0-9 ]/.\{1,2\}}$" "$1" >"$said.again" 2>&1 </dev/null ||
				! grep -q '^1\.\.1$' "$said.again"; then
				line="not $line"
				line=${line% \# again}
				failing=$((failing + 1))
			fi
		fi
		printf '%s\n' "$line"
	done <"$said"
	[ "$status" -eq 0 ] || { grep -q '^not ok ' "$said" && [ "$failing" -eq 0 ]; }
}

# The stand-ins that tests send to: what they refuse, and how they fail. CI has Google's own types read along.
servers() {
	local python test find=--find rc=0
	[ -z "$ALL${CI:-}" ] || find=
	# shellcheck disable=SC2086 # one word or none
	python=$(tests/tools/framework.sh $find google) || { [ -n "$find" ] && python=python3; } || return
	for test in tests/servers/*_test.py; do
		"$python" "$test" || rc=1
	done
	return $rc
}

library_differential() {
	local python
	python=$(tests/account/library.sh) && "$python" tests/account/differential.py 200 1
}

golden_more() { # of every log, by the library itself
	local python dir status
	python=$(tests/account/library.sh) && dir=$(mktemp -d) || return
	"$python" tests/account/golden_make.py "$dir" && tests/account/golden.py "$dir"/*.json
	status=$?
	rm -rf "$dir"
	return $status
}

torture() {
	local form=--short
	[ -z "$ALL" ] || form=--normal
	"$MAKE" -s -j"$jobs" torture-programs && tests/torture/torture.py "$form"
}

# What is downloaded (some 20 GB) comes while other suites run; who needs it waits for it (each tool has a lock).
prefetch() {
	local name
	tests/tools/torch.sh --all
	for name in google otlp tensorboard perfetto; do
		tests/tools/framework.sh "$name"
	done
	tests/tools/pythons.sh
	tests/tools/pythons.sh py-spy
	{ tests/tools/collector.sh; tests/tools/kube.sh build; } & # these compile while those download
	for name in jax tensorflow jax_old tensorflow_old torch_xla; do
		tests/tools/framework.sh "$name"
	done
	tests/tools/libraries.sh
	wait
}

# Eight nodes through one Prometheus.
nodes() { "$MAKE" -s -j"$jobs" build/plain/tests/deploy/nodes && tests/deploy/nodes.py; }
# Two gp-bpf, of one rank each, through two.
two_nodes() { "$MAKE" -s -j"$jobs" fakes && tests/deploy/two_nodes.py; }

trainers() {
	local groups=()
	[ "$ALL" != 2 ] || groups=(all)
	tests/trainers/trainers.py build/plain/gp-bpf "${groups[@]}"
}

current_torch() { tests/tools/torch.sh && tests/tools/torch.sh --all; }
frameworks() {
	local name
	for name in jax jax_old tensorflow tensorflow_old torch_xla; do
		tests/tools/framework.sh "$name" || return
	done
}

echo "gp-bpf checks on $(uname -rm), $(nproc) CPUs"
wanted deps && suite deps tests/tools/deps.sh "$([ -n "$ALL" ] && echo all || echo check)"
build=(all)
if [ -z "$ONLY" ] || chosen unit || named unit/valgrind; then
	build+=(unit)
fi
printf '%-34s ' build
suite_run build "$MAKE" -s -j"$jobs" WERROR=1 "${build[@]}"
suite_report build
if [ -n "$ALL" ] && [ -z "$ONLY" ]; then
	prefetch >"$logs/prefetch.log" 2>&1 </dev/null &
	renice -n 19 -p $! >/dev/null
	disown # those that are counted and waited for are suites
fi
if wanted static; then
	suite static/stages tests/tools/stages.sh
	suite static/sizes tests/tools/sizes.sh
	suite static/circles tests/tools/circles.py
	suite static/private-headers tests/tools/private_headers.sh
	suite static/prefixes tests/tools/prefixes.py
	suite static/words tests/tools/plain_words.py
	suite static/wire-layout tests/tools/wire_layout.py
	suite static/runtimes tests/tools/runtimes.sh
	suite static/doc-names tests/tools/doc_names.py
	suite static/gates tests/tools/gates_test.py
	suite static/format format
	suite static/shellcheck shell
	suite static/cppcheck check_cpp
	suite_aside static/clang-tidy tidy
	suite static/bpf-arm64 "$MAKE" -s bpf-arm64
	suite static/clang-build clang_build
	[ -x tests/tools/man_options.sh ] && suite static/man-page tests/tools/man_options.sh
	suite static/metrics tests/tools/metrics_table.sh
	suite static/man-tables tests/tools/man_tables.py
fi
if wanted unit; then
	suite unit unit
	if ! chosen unit; then
		for f in "${unit_all[@]}"; do
			suite "unit/$f" unit_files "$f"
		done
	fi
	suite unit/sanitizers unit SAN=address,undefined
	if [ -n "$ALL" ] || named unit/threads; then
		suite unit/threads threads
	fi
fi
if wanted servers; then
	suite servers servers
fi
if wanted account; then
	suite account/quirks tests/account/quirks.py
	suite account/vectors tests/account/vectors.py
	suite account/golden tests/account/golden.py
	suite account/tensorboard tests/account/tensorboard.py
	suite account/store tests/account/store.py
	if [ -n "$ALL" ]; then
		echo "the goodput library (once, about 200 MB; ${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/goodput):"
		suite account/differential library_differential
		suite account/golden-more golden_more
	fi
fi
if wanted e2e; then
	if [ -n "$ALL" ] || [ -n "${CI:-}" ]; then
		echo "the package index's torch (once, about 5 GB; ${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/torch):"
		suite e2e/torch current_torch
		suite e2e/google tests/tools/framework.sh google
		suite e2e/tensorboard-reader tests/tools/framework.sh tensorboard
		suite e2e/perfetto tests/tools/framework.sh perfetto
	fi
	"$MAKE" -s -j"$jobs" fakes
	export BUILT=1
	# What looks at the whole machine, or at how fast things go, runs alone. Real torch keeps a CPU busy, and
	# its boundaries are compared with clocks of its own: one at a time, where there are few; by itself, when all
	# of its loops run. The rest waits a lot. Some need what takes long to compile.
	alone=(budget life node slow)
	compiled=() torch=() others=() patient=() either=()
	for f in steps_current steps_debian hang truth jax tensorflow; do
		chosen "e2e/$f" && torch+=("$f")
	done
	for f in tests/e2e/*.bats; do
		f=$(basename "$f" .bats)
		chosen "e2e/$f" || continue
		case $f in
		exports | kubernetes) compiled+=("$f") ;;
		capabilities | device_clock | disks | documents | durable | durable_state | errors | health | loss | operations | terminal) patient+=("$f") ;;
		explain | gcm | hostile) either+=("$f") ;;
		*) [[ " ${alone[*]} ${torch[*]} " == *" $f "* ]] || others+=("$f") ;;
		esac
	done
	[ "$jobs" -ge 4 ] || [ ${#torch[@]} -eq 0 ] || torch=("${torch[*]}")
	others+=("${either[@]}") # last: half of their time they wait, and the patient ones may be done by then
	PATIENT="${patient[*]} ${either[*]}"
	if [ -n "$ALL" ]; then
		e2e_together "${others[@]}"
		PATIENT=
		echo "JAX, TensorFlow and PyTorch/XLA (once, about 12 GB; ${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf):"
		suite e2e/frameworks frameworks
		suite e2e/collector tests/tools/collector.sh
		suite e2e/kube tests/tools/kube.sh build
		suite_settle static/clang-tidy
		e2e_together "${torch[@]}"
		e2e_together "${compiled[@]}"
	else
		e2e_together "${torch[@]}" "${others[@]}" "${compiled[@]}"
	fi
	suite_settle static/clang-tidy
	for f in "${alone[@]}"; do
		suite "e2e/$f" e2e "tests/e2e/$f.bats"
	done
fi

if wanted deploy; then
	suite deploy/service tests/deploy/service.sh
	suite deploy/rules tests/deploy/rules.sh
	suite deploy/dashboards tests/deploy/dashboards.py
	suite deploy/image tests/deploy/image.sh
	if [ -n "$ALL" ]; then
		# These mostly wait. Each has ports, folders, namespaces and control groups of its own; what they need is made before, as
		# two that make it would be in each other's way. The package is compiled in what they leave.
		echo "Kubernetes, compiled (once, 0.2 GB; ${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/kube):"
		"$MAKE" -s -j"$jobs" fakes build/plain/tests/deploy/nodes
		suite_aside deploy/deb tests/deploy/deb.sh
		suite_beside deploy/kubernetes tests/deploy/kubernetes.sh
		suite_beside deploy/nodes nodes
		suite deploy/two-nodes two_nodes
		suite_settle deploy/nodes
		suite deploy/daemonset tests/deploy/daemonset.py
		suite_settle deploy/kubernetes
		suite_settle deploy/deb
	fi
fi

if wanted symbols && [ -n "$ALL$ONLY" ]; then
	echo "the runtimes' real libraries (once, about 8 GB; ${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/libs):"
	suite_large 300 symbols timeout 2400 tests/tools/symbols.py build/plain/gp-bpf
	chosen symbols && sed -n 's/^# /    /p' "$logs/symbols.log"
	suite symbols/pjrt-texts "$MAKE" -s check-texts
fi
if wanted trainers && [ -n "$ALL$ONLY" ]; then
	echo "public trainers (a third of them each day, all with ALL=2; once, about 1 to 6 GB; ${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/trainers-*):"
	suite_large 180 trainers trainers
fi
if wanted kernels && [ -n "$ALL$ONLY" ]; then
	"$MAKE" -s -j"$jobs" all unit fakes
	suite_large 540 kernels timeout 1500 tests/kernels/kernels.sh
	sed -n 's/^# |/    |/p' "$logs/kernels.log"
fi
if wanted torture; then
	suite_large 240 torture torture
	sed -n '/^# what  /,$s/^#/   /p' "$logs/torture.log"
fi
if wanted fuzz && [ -n "$ALL$ONLY" ]; then
	suite_large 260 fuzz fuzz
fi
if wanted arm64 && [ -n "$ALL$ONLY" ]; then
	suite_large 200 deploy/arm64 tests/deploy/arm64.sh
fi
if wanted unit && { [ -n "$ALL${CI:-}" ] || named unit/valgrind; }; then
	suite_large 600 unit/valgrind memcheck # the sanitizers see most of it sooner
fi
suite_settle static/clang-tidy

echo
if [ ${#flakes[@]} -gt 0 ]; then
	echo "Flakes, ${#flakes[@]} that failed first and passed when run again:"
	printf '    %s\n' "${flakes[@]}"
fi
if [ -n "$ONLY" ] && [ "$suites" -eq 0 ]; then
	echo "ONLY='$ONLY' names no suite and no test file"
	exit 1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
