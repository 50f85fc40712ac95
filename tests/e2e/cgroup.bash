# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Control groups of a test's own, by the names that container runtimes give theirs.

# shellcheck disable=SC2034 # GROUP is for those who load this
GROUPS_MADE=()

# GROUP: a folder of its own with PATH below it, in a hierarchy of that version.
group() { # v1|v2 path
	local top
	case $1 in
	v1) top=/sys/fs/cgroup/pids ;;
	*) top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts) ;;
	esac
	[ -n "$top" ] && [ -e "$top/cgroup.procs" ] || return 1
	GROUP=$top/gp-bpf-test-$$-$BATS_TEST_NUMBER-$1/$2
	mkdir -p "$GROUP" && GROUPS_MADE+=("$GROUP")
}

groups_end() {
	local made
	for made in "${GROUPS_MADE[@]}"; do # a group goes once its processes have, what is above it with the last one
		until_true rmdir "$made"
		while made=${made%/*} && [[ $made == */gp-bpf-test-* ]]; do
			rmdir "$made" 2>/dev/null || break
		done
	done
}
