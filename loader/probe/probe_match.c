/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/probe/probe_match.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

bool probe_name_forbidden(const char *name)
{
	static const char *const globs[] = {"libc.so*",	       "libc-[0-9]*", "libc.musl*",
					    "ld-*.so*",	       "ld.so*",      "libstdc++.*",
					    "libpthread[.-]*", "libm.so*",    "libm-[0-9]*",
					    "libgcc_s.*",      "libdl[.-]*",  "librt[.-]*"};

	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++)
		if (!fnmatch(globs[i], name, 0))
			return true;
	return false;
}

bool probe_row_names(const struct probe_row *row, const char *name)
{
	for (size_t i = 0; row->libraries && row->libraries[i]; i++)
		if (!fnmatch(row->libraries[i], name, 0))
			return true;
	return false;
}

enum kernel_program probe_row_program(const struct probe_row *row)
{
	if (row->count)
		return KERNEL_COUNT;
	if (row->returns)
		return KERNEL_ENTER;
	if (row->role == GP_ROLE_range_begin)
		return KERNEL_RANGE_BEGIN;
	if (row->role == GP_ROLE_range_end)
		return KERNEL_RANGE_END;
	if (row->role == GP_ROLE_monitor)
		return KERNEL_MONITOR;
	if (row->role == GP_ROLE_operation)
		return KERNEL_OPERATION;
	return row->string != PROBE_STRING_NONE ? KERNEL_NAMED : KERNEL_HIT;
}

static bool probe_match_libraries_overlap(const struct probe_row *a, const struct probe_row *b)
{
	for (size_t i = 0; a->libraries[i]; i++) {
		if (probe_row_names(b, a->libraries[i]))
			return true;
		for (size_t k = 0; b->libraries[k]; k++)
			if (!strcmp(a->libraries[i], b->libraries[k]) ||
			    !fnmatch(a->libraries[i], b->libraries[k], 0))
				return true;
	}
	return false;
}

bool probe_rows_collide(const struct probe_row *a, const struct probe_row *b)
{
	return !a->follow && !b->follow && !a->prefix == !b->prefix &&
	       !strcmp(a->symbol, b->symbol) && probe_row_program(a) == probe_row_program(b) &&
	       probe_match_libraries_overlap(a, b);
}
