#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# private_headers.sh [TREE]: fails with one line for each folder that has more than one private header (*_private.h).
# Also fails with one line for each include guard that does not fit its path: the first folder (of userspace/ the second,
# of tests/ both, of bpf/ none) and the name of the file, in capitals: userspace/model/job/job.h has MODEL_JOB_H.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1
bad=0

mapfile -t headers < <(find bpf loader userspace -name '*_private.h' | sort)
declare -A number=()
for header in "${headers[@]}"; do
	number[${header%/*}]=$((${number[${header%/*}]:-0} + 1))
done
for header in "${headers[@]}"; do
	if [ "${number[${header%/*}]}" -gt 1 ]; then
		echo "$header: ${header%/*} has another private header; a folder may have one"
		bad=1
	fi
done

guard_of() { # path -> guard
	local path=${1%.h}
	local folder=${path%/*} name=${path##*/}
	case $path in
	bpf/*) folder= ;;
	userspace/*) folder=${folder#userspace/} folder=${folder%%/*}_ ;;
	tests/*/*) folder=${folder#tests/} folder=tests_${folder%%/*}_ ;;
	*) folder=${folder%%/*}_ ;;
	esac
	name=$folder${name}_H
	printf '%s\n' "${name^^}"
}

declare -A owner=()
while IFS=: read -r header line guard; do
	guard=${guard#\#ifndef }
	wanted=$(guard_of "$header")
	if [ "$guard" != "$wanted" ]; then
		echo "$header:$line: the include guard $guard is to be $wanted"
		bad=1
	elif [ -n "${owner[$wanted]:-}" ]; then
		echo "$header:$line: the include guard $wanted is that of ${owner[$wanted]} too; rename one of the files"
		bad=1
	fi
	owner[$wanted]=$header
done < <(find bpf loader userspace tests -name '*.h' -exec grep -Hn -m 1 '^#ifndef [A-Z0-9_]*_H$' {} + 2>/dev/null | sort)
exit $bad
