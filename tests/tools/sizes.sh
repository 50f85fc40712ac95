#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What can be read in one sitting: no file over 500 lines, no function of C over 100, nine in ten under 50.
# Fails with one line for each that is larger.
set -u
cd "$(dirname "$0")/../.." || exit 1

mapfile -t sources < <(git ls-files '*.[ch]' '*.cc' '*.py' '*.sh' '*.bash' '*.bats' '*.mk' '*.inc' Makefile)
awk '
	FNR == 1 { file = FILENAME; open = 0 }
	{ lines[file] = FNR }
	file ~ /\.[ch]$/ && /^\{/ { open = FNR }
	file ~ /\.[ch]$/ && /^\}/ && open {
		functions++
		long += FNR - open - 1 >= 50
		if (FNR - open - 1 > 100) {
			print file ":" open ": a function of " FNR - open - 1 " lines"
			bad = 1
		}
		open = 0
	}
	END {
		for (file in lines)
			if (lines[file] > 500) {
				print file ": " lines[file] " lines"
				bad = 1
			}
		if (!functions || long > functions / 10) {
			print long + 0 " of " functions + 0 " functions have 50 lines or more"
			bad = 1
		}
		exit bad
	}' "${sources[@]}"
