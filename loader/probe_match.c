/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/probe_match.h"

#include <fnmatch.h>
#include <stdbool.h>

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

size_t probe_rows_for(const struct probe_table *probes, const char *name, size_t rows[GP_ROWS_MAX])
{
	size_t n = 0;

	if (probe_name_forbidden(name))
		return 0;
	for (size_t i = 0; i < probe_table_count(probes) && n < GP_ROWS_MAX; i++)
		if (!probe_table_row(probes, i)->follow &&
		    probe_row_names(probe_table_row(probes, i), name))
			rows[n++] = i;
	return n;
}
