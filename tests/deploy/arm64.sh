#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gp-bpf for arm64: it is compiled here (make arm64), and what needs neither bpf(2) nor a machine of that kind runs under QEMU's user
# emulation: the program, its unit tests but those below, and the goodput library's vectors, with the answers that are asked for on
# amd64. Nothing of it runs on arm64 hardware. TAP; without the compiler, the emulator or Debian's packages: a skip.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/deploy/tap.bash
GP_BPF=${GP_BPF:-$PWD/build/plain/gp-bpf}
arm=$PWD/build/arm64
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT

lacking() {
	[ "$(uname -m)" = x86_64 ] || { echo "compiled here for another kind of machine: amd64 only" && return; }
	command -v aarch64-linux-gnu-gcc >/dev/null || { echo "no aarch64-linux-gnu-gcc: tests/tools/deps.sh check" && return; }
	command -v qemu-aarch64-static >/dev/null || { echo "no qemu-aarch64-static: tests/tools/deps.sh all" && return; }
	tests/tools/sysroot.sh >"$T/root" 2>"$T/said" || echo "Debian's arm64 packages cannot be had: $(tail -n 1 "$T/said")"
}
why=$(lacking)
if [ -n "$why" ]; then
	tap_skip "arm64" "$why"
	tap_end
	exit
fi
root=$(cat "$T/root")

# make has its children ignore the two signals that the C library keeps, and the emulator leaves those as they are: a program that is
# to take them up again cannot. 13 is rt_sigaction(2) here.
signals_default() {
	python3 -c 'import ctypes, os, sys
for n in (32, 33): ctypes.CDLL(None).syscall(13, n, bytes(32), None, 8)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

# By the loader itself: told of another root (-L), the emulator takes what a test does in / to that root.
emulated() { # program arguments...
	signals_default timeout -k 5 300 qemu-aarch64-static "$root/lib/ld-linux-aarch64.so.1" --library-path "$root/lib/aarch64-linux-gnu" "$@"
}
compiled() { make -s -j"$(nproc)" WERROR=1 arm64-unit; }
tap "it compiles without a warning" compiled
[ "$TAP_FAILED" -eq 0 ] || { tap_end; exit 1; }
is_arm64() { readelf -h "$arm/gp-bpf" | grep -q 'Machine: *AArch64' && readelf -l "$arm/gp-bpf" | grep -q '/lib/ld-linux-aarch64.so.1'; }
tap "it is a program for arm64" is_arm64
same_libraries() { # as on amd64: none that only one of them needs
	diff <(readelf -d "$GP_BPF" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | sort) \
		<(readelf -d "$arm/gp-bpf" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | sort)
}
tap "it needs the libraries that it needs on amd64" same_libraries

version=$(sed -n 's/^VERSION *:= *//p' Makefile)
says_version() { equal "gp-bpf $version" "$(emulated "$arm/gp-bpf" --version)"; }
tap "it runs: --version" says_version
both() { # arguments: the same status and the same words
	local here there
	"$GP_BPF" "$@" >"$T/here" 2>&1 </dev/null
	here=$?
	emulated "$arm/gp-bpf" "$@" >"$T/there" 2>&1 </dev/null
	there=$?
	equal $here $there && diff "$T/here" "$T/there"
}
tap "--help is as on amd64" both --help
same_probes() { diff <("$GP_BPF" probes) <(emulated "$arm/gp-bpf" probes --probes probes); } # it cannot see where it lies
tap "probes are as on amd64" same_probes
tap "schema is as on amd64" both schema
tap "--print-config is as on amd64" both --print-config
tap "a wrong option is refused as on amd64" both --no-such-option
no_kernel() { # what is missing is said; nothing crashes
	local status=0
	emulated "$arm/gp-bpf" check --json --probes probes >"$T/check" || status=$?
	equal 3 "$status"
	jq -e '.features | length > 5 and (map(select(.name == "bpf"))[0].have == false)' "$T/check"
}
tap "check says that the emulator has no bpf(2)" no_kernel

tape_made() { emulated "$arm/tests/bench/tape" make 20000 "$T/tape"; }
tap "a tape is written" tape_made
tap "the tape replays as on amd64: report" both replay --json --quiet "$T/tape"
tap "the tape replays as on amd64: JSON lines" both replay --quiet --export json:- "$T/tape"

printf '#!/bin/sh\nexec qemu-aarch64-static %q --library-path %q %q "$@"\n' \
	"$root/lib/ld-linux-aarch64.so.1" "$root/lib/aarch64-linux-gnu" "$arm/gp-bpf" >"$T/gp-bpf"
chmod +x "$T/gp-bpf"
tap "the vectors of the goodput library: account" env GP_BPF="$T/gp-bpf" tests/account/vectors.py
tap "what the library wrote to Cloud Monitoring: account --dry-run" env GP_BPF="$T/gp-bpf" tests/account/golden.py

# What cannot run so, and why; the rest does.
excluded() { # name of a unit test
	case $1 in
	confine | blocked_call | ras_ask) echo "the emulator has no seccomp(2) and other numbers of system calls in /proc" ;;
	process | prometheus_series) echo "/proc/self/stat is the emulator's" ;;
	loader_mapping) echo "/proc/PID/maps of another process has the emulator's addresses" ;;
	loader_text) echo "the plugins that it reads are of this machine" ;;
	compare | discover | gcm_outage | memory | save | goodput_closed_property | goodput_step_line | store_writer) echo "it takes minutes there" ;;
	*) ! grep -q 'probed\.h' "tests/unit/$1_test.c" || echo "the emulator has no bpf(2)" ;;
	esac
}
unit_once() { emulated "$arm/tests/unit/$1_test"; } # name of a unit test
unit_one() { unit_once "$1" || { echo "once more:" && unit_once "$1"; }; } # the emulator is slow, the machine may be busy
units=()
for program in "$arm"/tests/unit/*_test; do
	name=$(basename "$program" _test)
	[ -n "$(excluded "$name")" ] || units+=("$name")
done
export arm root T
export -f signals_default emulated unit_once unit_one
# shellcheck disable=SC2016 # the inner shell expands
printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -I{} bash -c 'unit_one {} >"$T/{}.said" 2>&1 </dev/null && touch "$T/{}.passed"'
unit_passed() { test -e "$T/$1.passed" || { tail -n 30 "$T/$1.said"; return 1; }; }
for name in "${units[@]}"; do
	tap "unit: $name" unit_passed "$name"
done
for program in "$arm"/tests/unit/*_test; do
	name=$(basename "$program" _test) why=$(excluded "$(basename "$program" _test)")
	[ -z "$why" ] || echo "# not run: $name: $why"
done
tap_end
