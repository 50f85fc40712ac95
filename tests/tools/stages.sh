#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Data flows one way: an include may point to its own folder, to one that comes earlier in the list below, or to
# userspace/base. Of bpf/ and loader/ userspace sees what they publish, and only loader/ includes libbpf. Includes
# are rooted at the top. Fails with one line for each include that breaks this. stages.sh [TREE].
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1

# Folders on one line are beside each other: neither includes the other.
declare -A rank
order=0
while read -r -a folders; do
	order=$((order + 1))
	for folder in "${folders[@]}"; do
		rank[$folder]=$order
	done
done <<'LIST'
bpf userspace/base
loader/elf loader/attach
loader/kernel
loader/probe
loader/budget
loader/site
loader/reader
loader/library
loader userspace/cloud
userspace/ingest userspace/kubernetes
userspace/identity userspace/python
userspace/model/signal
userspace/model/step
userspace/model/time
userspace/model/phase
userspace/model/job
userspace/model/rank
userspace/model
userspace/account/log
userspace/account/closed userspace/account/library
userspace/store
userspace/http
userspace/export
userspace/export/measure
userspace/export/file
userspace/export/gcm userspace/export/hook userspace/export/otlp userspace/export/prometheus userspace/export/tensorboard userspace/export/trace
userspace/text
userspace/report
userspace/view
userspace/option
userspace/output
userspace/handover
userspace/watch
userspace/command
LIST

bad=0

# No subshell: there are thousands of includes, and a process for each takes half a minute.
folder_of() { # path -> $folder
	case $1 in
	userspace/*/*) folder=${1%/*} ;;
	userspace/*) folder=main ;;
	*) folder=${1%/*} ;;
	esac
}

complain() {
	echo "$file:$line: $*"
	bad=1
}

include='#include[[:space:]]*["<]([^">]*)[">]'
while IFS=: read -r file line text; do
	[[ $text =~ $include ]] || continue
	target=${BASH_REMATCH[1]}
	folder_of "$file"
	from=$folder
	case $target in
	bpf/bpf_*.h) # libbpf's, for programs
		[ "$from" = bpf ] && continue
		;;&
	bpf/*.h | skel/*)
		if [ ! -f "$target" ]; then
			[[ $from == loader* ]] || complain "only loader/ may include $target"
			continue
		fi
		;;
	esac
	if [ ! -f "$target" ]; then
		[[ $text == *\"* ]] && complain "$target is no file of this tree: name it from the top"
		continue
	fi
	case $file:$target in
	userspace/*:bpf/gp_abi.h | userspace/*:loader/loader.h | userspace/*:loader/probe/probe_file.h | loader/*:bpf/gp_private.h) ;;
	loader/*:bpf/gp_abi.h | bpf/*) ;;
	*:bpf/* | userspace/*:loader/*) complain "$target is private" ;;
	esac
	[[ $from == loader/* ]] && [ "$target" = loader/loader.h ] && continue # what all of loader/ publishes
	folder_of "$target"
	to=$folder
	[ "$from" = main ] && continue
	[ "$to" = "$from" ] && continue
	if [ "$to" = main ] || [ -z "${rank[$from]:-}" ] || [ -z "${rank[$to]:-}" ] || [ "${rank[$to]}" -ge "${rank[$from]}" ]; then
		# bpf and base are beside each other at the bottom; everything may use them.
		[ "$to" = userspace/base ] && [ "$from" != bpf ] && continue
		complain "$from must not include $target"
	fi
done < <(grep -rHn '#include' bpf loader userspace --include='*.[ch]' 2>/dev/null)
exit $bad
