# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Libraries on a file system of tests/fake/stuck.c, and processes that only map them.

# shellcheck disable=SC2034,SC2154 # its user has T, FAKE and MAPPER

STUCK=() # mount points

# It ends when descriptor 4 closes.
mount_stuck() { # dir name[,name] what [file]; STUCK_IN: a command to run it in
	local out=$T/stuck.${#STUCK[@]}
	[ -w /dev/fuse ] || cannot "no /dev/fuse"
	mkdir "$1"
	STUCK+=("$1")
	[ -p "$T/stuck.in" ] || { mkfifo "$T/stuck.in"; exec 4<>"$T/stuck.in"; }
	mkfifo "$out"
	background "$T/stuck.in" "$out" "$out.err" "${STUCK_IN[@]}" "$FAKE/stuck" "$@" 4>&-
	read -r -t "$READY_S" LINE <"$out" || cannot "no FUSE here: $(cat "$out.err")"
}
unmount_stuck() {
	local dir
	exec 4>&-
	for dir in "${STUCK[@]}"; do
		umount -l "$dir" 2>/dev/null || true
	done
}

# A process that maps a file and stays; MAPPER.
start_mapper() { # files; MAPPER_IN: a command to run it in
	mkfifo "$T/mapper.in"
	background "$T/mapper.in" "$T/mapper.out" "$T/mapper.err" "${MAPPER_IN[@]}" "$FAKE/map" "$@"
	MAPPER=$LAST
	exec 6>"$T/mapper.in"
	until_true test -s "$T/mapper.out" -o -s "$T/mapper.err"
	grep -q mapped "$T/mapper.out"
}
