#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quick.sh PROGRAM...: runs unit test programs in parallel, prints the output of those that fail, and ends with one line of totals.
set -u
export LC_ALL=C.UTF-8 CMOCKA_MESSAGE_OUTPUT=TAP
start=$SECONDS
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT

# shellcheck disable=SC2016 # the inner shell expands
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} sh -c '
	log=$1/$(basename "$2")
	timeout 60 "$2" >"$log" 2>&1 </dev/null
	status=$?
	[ "$status" -eq 0 ] || { echo "$2: exit status $status"; cat "$log"; }
	[ "$status" -eq 0 ]' quick "$logs" {}
status=$?
echo "$(cat "$logs"/* | grep -cE '^ok [0-9]') tests passed, $(cat "$logs"/* | grep -cE '^not ok [0-9]') failed, in $# programs and $((SECONDS - start)) s"
[ "$status" -eq 0 ]
