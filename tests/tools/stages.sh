#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Data flows one way: an include may point to its own stage, an earlier one, or userspace/base. Of bpf/ and loader/
# userspace sees what they publish, and only loader/ includes libbpf. Includes are rooted at the top. Fails with
# one line for each include that breaks this.
set -u
cd "$(dirname "$0")/../.." || exit 1

declare -A rank=([bpf]=0 [loader]=1 [userspace/base]=0 [userspace/ingest]=2 [userspace/identity]=3
	[userspace/model]=4 [userspace/kubernetes]=2 [userspace/account]=5 [userspace/cloud]=1 [userspace/store]=6 [userspace/gcm]=7 [userspace/export]=8
	[userspace/view]=8 [userspace/option]=9 [userspace/output]=10 [userspace/watch]=11 [userspace/command]=12)
bad=0

stage_of() { # path -> stage
	case $1 in
	userspace/*/*) printf '%s\n' "$(dirname "$1")" ;;
	userspace/*) printf 'main\n' ;;
	*) printf '%s\n' "${1%%/*}" ;;
	esac
}

complain() {
	echo "$file:$line: $*"
	bad=1
}

while IFS=: read -r file line text; do
	target=$(sed -n 's/.*#include[[:space:]]*["<]\([^">]*\)[">].*/\1/p' <<<"$text")
	from=$(stage_of "$file")
	case $target in
	bpf/bpf_*.h) # libbpf's, for programs
		[ "$from" = bpf ] && continue
		;;&
	bpf/*.h | skel/*)
		if [ ! -f "$target" ]; then
			[ "$from" = loader ] || complain "only loader/ may include $target"
			continue
		fi
		;;
	esac
	if [ ! -f "$target" ]; then
		[[ $text == *\"* ]] && complain "$target is no file of this tree: name it from the top"
		continue
	fi
	case $file:$target in
	userspace/*:bpf/gp_abi.h | userspace/*:loader/loader.h | userspace/*:loader/probe_file.h | loader/*:bpf/gp_private.h) ;;
	loader/*:bpf/gp_abi.h | bpf/*) ;;
	*:bpf/* | userspace/*:loader/*) complain "$target is private" ;;
	esac
	to=$(stage_of "$target")
	[ "$from" = main ] && continue
	[ "$to" = "$from" ] && continue
	if [ "$to" = main ] || [ -z "${rank[$from]:-}" ] || [ -z "${rank[$to]:-}" ] || [ "${rank[$to]}" -ge "${rank[$from]}" ]; then
		# bpf and base are beside each other at the bottom; everything may use them.
		[ "$to" = userspace/base ] && [ "$from" != bpf ] && continue
		complain "$from must not include $target"
	fi
done < <(grep -Hn '#include' bpf/*.[ch] loader/*.[ch] userspace/*/*.[ch] userspace/*.[ch] 2>/dev/null)
exit $bad
