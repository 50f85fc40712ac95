#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The systemd unit: its words are known, what it may do is bounded, its programs are where it says. And the script that runs after its
# end: what is detached when. TAP.
set -eu
cd "$(dirname "$0")/../.."
. tests/deploy/tap.bash
unit=deploy/gp-bpf.service
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT

# The unit as it is, in a root that has what it names.
verified() {
	local root=$T/root said
	mkdir -p "$root"/{usr/bin,usr/libexec/gp-bpf,usr/lib/systemd/system,bin}
	sed "s#=/usr/bin/gp-bpf#=$root/usr/bin/gp-bpf#; s#=/usr/libexec/#=$root/usr/libexec/#" $unit >"$root/gp-bpf.service"
	cp deploy/stopped "$root/usr/libexec/gp-bpf/stopped"
	printf '#!/bin/sh\n' >"$root/usr/bin/gp-bpf"
	chmod +x "$root/usr/bin/gp-bpf"
	said=$(systemd-analyze verify --man=no "$root/gp-bpf.service" 2>&1)
	equal "" "$said"
}
exposure() {
	local level
	level=$(systemd-analyze security --offline=yes --no-pager "$PWD/$unit" | sed -n 's/.*Overall exposure level for .*: \([0-9.]*\) .*/\1/p')
	echo "exposure level $level"
	awk -v level="$level" 'BEGIN { exit !(level != "" && level <= 4.5) }'
}
has() { grep -qx -- "$1" $unit; }

# stopped(result, jobs that systemd has for the unit): was "gp-bpf detach" run?
stopped() { # result jobs yes|no
	rm -f "$T/ran"
	mkdir -p "$T/bin"
	printf '#!/bin/sh\necho "%s"\n' "$2" >"$T/bin/systemctl"
	printf '#!/bin/sh\necho "$@" >%s/ran\n' "$T" >"$T/bin/gp-bpf"
	chmod +x "$T"/bin/*
	sed "s#/usr/bin/gp-bpf#$T/bin/gp-bpf#" deploy/stopped >"$T/stopped"
	PATH=$T/bin:$PATH SERVICE_RESULT=$1 sh "$T/stopped"
	equal "$3" "$([ "$(cat "$T/ran" 2>/dev/null)" = detach ] && echo yes || echo no)"
}

if ! command -v systemd-analyze >/dev/null; then
	tap_skip "the unit" "no systemd-analyze (on Debian: systemd)"
else
	tap "the unit is right" verified
	tap "its exposure is 4.5 or less" exposure
fi
tap "it says when it is ready" has "Type=notify"
tap "it is looked after" has "WatchdogSec=60"
tap "it gains no privileges" has "NoNewPrivileges=yes"
tap "stopped: nothing stays" stopped success "123 gp-bpf.service stop running" yes
tap "it ended by itself: nothing stays" stopped success "" yes
tap "restarted: all stays" stopped success "124 gp-bpf.service restart running" no
tap "failed: all stays for the one that systemd starts" stopped exit-code "" no
tap "killed: all stays" stopped signal "" no
tap_end
