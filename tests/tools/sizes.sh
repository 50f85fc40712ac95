#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sizes.sh [TREE]: fails with one line for each file over 1,000 lines and each C function over 100 lines, and lists the
# product's functions of more than 45 lines if they are more than one in ten. Lines of a function are those between its
# braces, as clang-format puts them.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1

mapfile -t sources < <(git ls-files '*.[ch]' '*.cc' '*.py' '*.sh' '*.bash' '*.bats' '*.mk' '*.inc' Makefile)
awk '
	FNR == 1 { file = FILENAME; open = 0 }
	{ lines[file] = FNR }
	file ~ /\.[ch]$/ && /^\{/ { open = FNR }
	file ~ /\.[ch]$/ && /^\}/ && open {
		length_of = FNR - open - 1
		if (length_of > 100) {
			print file ":" open ": a function of " length_of " lines"
			bad = 1
		}
		if (file ~ /^(bpf|loader|userspace)\//) {
			functions++
			if (length_of > 45)
				long[++longs] = file ":" open ": a function of " length_of " lines"
		}
		open = 0
	}
	END {
		for (file in lines)
			if (lines[file] > 1000) {
				print file ": " lines[file] " lines"
				bad = 1
			}
		if (!functions || longs > functions / 10) {
			print longs + 0 " of " functions + 0 " functions have more than 45 lines; one in ten may:"
			for (i = 1; i <= longs; i++)
				print "    " long[i]
			bad = 1
		}
		exit bad
	}' "${sources[@]}"
