# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# One TAP line a check: "tap WHAT COMMAND..." shows what the command said when it fails.
TAP_COUNT=0 TAP_FAILED=0
tap() { # what command...
	local what=$1 said
	shift
	TAP_COUNT=$((TAP_COUNT + 1))
	if said=$("$@" 2>&1); then
		echo "ok $TAP_COUNT - $what"
	else
		echo "not ok $TAP_COUNT - $what"
		head -40 <<<"# ${said//$'\n'/$'\n'# }"
		TAP_FAILED=$((TAP_FAILED + 1))
	fi
}
tap_skip() { # what why
	TAP_COUNT=$((TAP_COUNT + 1))
	echo "ok $TAP_COUNT - $1 # skip $2"
}
tap_end() {
	echo "1..$TAP_COUNT"
	[ "$TAP_FAILED" -eq 0 ]
}

equal() { # expected actual
	[ "$1" = "$2" ] || { echo "expected: $1"; echo "is:       $2"; return 1; }
}
refused() { # text command...: the command fails, and says that
	local text=$1 said
	shift
	! said=$("$@" 2>&1) || { echo "was not refused: $*"; return 1; }
	[[ $said == *"$text"* ]] || { echo "no '$text' in: $said"; return 1; }
}
