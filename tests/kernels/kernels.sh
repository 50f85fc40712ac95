#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kernels.sh [SERIES...]: the tests of guest.sh on stock Debian kernels under QEMU, two guests at a time. Prints TAP
# and a table of features by kernel. A kernel that cannot be had is skipped, with the reason; a guest that crashes or
# hangs is a failure. Kernels are kept in the user's cache (about 60 MB for the five).
set -u
cd "$(dirname "$0")/../.." || exit 1
# 5.10 has no cookies, 6.1 no multi links, 6.12 no session links; 7 is the newest there is. After the +: kernel
# lockdown of that mode.
known=(5.10 6.1 6.12 6.12+integrity 6.12+confidentiality 6.18 7)
series=("$@")
[ $# -gt 0 ] || series=("${known[@]}")
for s in "${series[@]}"; do
	[[ " ${known[*]} " == *" $s "* ]] || { echo "no such series: $s; there are: ${known[*]}" >&2; exit 2; }
done
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/kernels
logs=build/kernels
vm=tests/kernels/kernel_vm.sh
limit_s=900 # a guest takes 100 s where it has a core for itself, and five times that on a slow machine
n=0 failed=0

tap() { # "ok" or "not ok", text
	n=$((n + 1))
	echo "$1 $n - $2"
	[ "$1" = ok ] || failed=1
}

lacking() {
	[ "$(uname -m)" = x86_64 ] || { echo "these kernels are for x86-64" && return; }
	[ "$EUID" -eq 0 ] || { echo "the guest sees this root file system as its root: sudo make kernels" && return; }
	local program
	for program in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static xz:xz-utils apt-get:apt bats:bats; do
		command -v "${program%%:*}" >/dev/null || { echo "${program#*:} is missing (make deps)" && return; }
	done
}

# One guest's lines, by the name of its kernel.
show() { # series
	local log=$logs/$1/log line status kernel
	status=$(cat "$logs/$1/status")
	kernel=$(sed -n 's/^# kernel //p' "$log" | head -1)
	kernel=${kernel:-$1}
	while read -r line; do
		case $line in
		"ok "*) tap ok "$kernel: $(sed -E 's/^ok [0-9]+ (- )?//' <<<"$line")" ;;
		"not ok "*) tap "not ok" "$kernel: $(sed -E 's/^not ok [0-9]+ (- )?//' <<<"$line")" ;;
		"#"*) echo "$line" ;;
		esac
	done <"$log"
	grep -qE '^(not )?ok ' "$log" || status=${status/#0/1}
	# A failed test is one line already; what else ends a guest like this is another failure.
	[ "$status" -eq 0 ] || { [ "$status" -eq 1 ] && grep -qE '^not ok ' "$log"; } ||
		tap "not ok" "$kernel: the guest ended with status $status: $(tail -n 1 "$log")"
}

# As it stands in docs/kernels.md.
table() {
	local s
	for s in "${series[@]}"; do
		sed -n 's/^# feature //p' "$logs/$s/log"
	done | awk '
		{ if (!($1 in k)) { k[$1]; kernel[++kernels] = $1 } if (!($2 in f)) { f[$2]; feature[++features] = $2 } have[$1, $2] = $3 }
		END {
			if (!kernels)
				exit
			printf "#\n# | feature |"; for (i = 1; i <= kernels; i++) printf " %s |", kernel[i]
			printf "\n# |---|"; for (i = 1; i <= kernels; i++) printf "---|"; print ""
			for (j = 1; j <= features; j++) {
				printf "# | `%s` |", feature[j]; for (i = 1; i <= kernels; i++) printf " %s |", have[kernel[i], feature[j]]; print ""
			}
		}'
}

why=$(lacking)
if [ -n "$why" ]; then
	tap ok "other kernels # skip $why"
	exit 0
fi
rm -rf "$logs"
mkdir -p "$logs"
mapfile -t releases < <(printf '%s\n' "${series[@]%+*}" | sort -u)
"$vm" get "$cache" "${releases[@]}" >"$logs/get" 2>&1
running=()
for s in "${series[@]}"; do
	mkdir -p "$logs/$s"
	if [ ${#running[@]} -ge 2 ]; then
		wait -n "${running[@]}"
		mapfile -t running < <(jobs -rp)
	fi
	(
		[[ $s != *+* ]] || export KERNEL_VM_APPEND=lockdown=${s#*+}
		"$vm" run "$cache" "${s%+*}" --timeout "$limit_s" --out "$logs/$s" -- tests/kernels/guest.sh \
			>"$logs/$s/log" 2>&1
		echo $? >"$logs/$s/status"
	) &
	running+=($!)
done
wait
for s in "${series[@]}"; do
	if grep -q "no kernel ${s%+*} in" "$logs/$s/log"; then
		tap ok "$s # skip it could not be downloaded: $(grep -m1 -e "${s%+*}" -e mirror "$logs/get" || tail -n 1 "$logs/get")"
	else
		show "$s"
	fi
done
table
echo "1..$n"
exit $failed
