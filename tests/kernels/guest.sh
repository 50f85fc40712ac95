#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# guest.sh: what kernels.sh runs on another kernel, as root. Prints TAP: the kernel's features against those that
# docs/kernels.md tells, the unit tests that need a kernel, kernels.bats, and the tests of tests/e2e with the tag
# "kernels"; under kernel lockdown what `gp-bpf check` says of it, and the tests with the tag "lockdown". On a kernel
# that is too old: that gp-bpf refuses it.
set -u
cd "$(dirname "$0")/../.." || exit 1
export CI=true BUILT=1 CMOCKA_MESSAGE_OUTPUT=TAP
gp_bpf=build/plain/gp-bpf
kernel=$(uname -r | cut -d . -f 1,2)
lockdown=$(sed -n 's/.*lockdown=\([a-z]*\).*/\1/p' /proc/cmdline)
name=$kernel${lockdown:+"+$lockdown"}
failed=0
echo "# kernel $name"

tap() { # status, text
	if [ "$1" -eq 0 ]; then
		echo "ok 1 - $2"
	else
		echo "not ok 1 - $2"
		failed=1
	fi
}

# Rows of the table in docs/kernels.md: a feature in backquotes, then a column for each kernel. A kernel that has no column is
# newer than the last. Lockdown of mode integrity takes no feature away.
features_told() {
	awk -F ' *[|] *' -v kernel="${name%+integrity}" '
		$2 == "feature" { for (i = 3; i < NF; i++) if ($i == kernel) at = i; at = at ? at : NF - 1; next }
		at && $2 ~ /^`/ { gsub("`", "", $2); print $2, $at; next }
		at && !/^[|]/ { exit }' docs/kernels.md
}
features_found() {
	"$gp_bpf" check | awk '/^  [a-z_]+ +(yes|no) / { print $1, $2 }'
}
found=$(features_found)
# shellcheck disable=SC2001 # each line
[ "$lockdown" = integrity ] || sed "s/^/# feature $name /" <<<"$found"
difference=$(diff <(features_told) - <<<"$found")
tap $? "features are those that docs/kernels.md tells"
[ -z "$difference" ] || echo "# ${difference//$'\n'/$'\n'# }"

if grep -qx "cookie no" <<<"$found"; then
	said=$("$gp_bpf" run -- touch /tmp/started 2>&1)
	status=$?
	echo "# $said"
	[ "$status" -eq 3 ] && [ ! -e /tmp/started ] && [ "$(wc -l <<<"$said")" -eq 1 ] &&
		[[ $said == *"lacks cookie"*"gp-bpf check is the answer" ]]
	tap $? "refused with status 3 ($status), in one line that says why"
	exit $failed
fi
if [ -n "$lockdown" ]; then
	lost=nothing
	[ "$lockdown" = integrity ] || lost="tracefs, syscall_tp, kernel_read, file"
	said=$("$gp_bpf" check | grep "^kernel lockdown")
	[ "$said" = "kernel lockdown: $lockdown; lost by it: $lost" ]
	tap $? "check says: $said"
	bats --tap --filter-tags lockdown tests/kernels/kernels.bats tests/e2e/life.bats || failed=1
	exit $failed
fi
for unit in loader_attach loader_life; do
	"build/plain/tests/unit/${unit}_test" || failed=1
done
bats --tap --filter-tags kernels tests/kernels/kernels.bats tests/e2e/life.bats tests/e2e/tape.bats || failed=1
exit $failed
