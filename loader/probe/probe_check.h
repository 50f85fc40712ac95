/* SPDX-License-Identifier: Apache-2.0 */
/* probe_check.h - rules for a probe row beyond the shape of its YAML. Private to probe_file. */
#ifndef LOADER_PROBE_CHECK_H
#define LOADER_PROBE_CHECK_H

#include "loader/probe/probe_file.h"

/* A rule that a row breaks */
struct probe_fault {
	const char *field; /* key at fault, NULL: the whole row */
	char what[160];
};

/* Returns 0, or -EINVAL and the first rule broken in *ret. */
int probe_row_check(const struct probe_row *row, struct probe_fault *ret);

/* Returns true for a name of [a-z0-9_], not empty, with its terminator at most size bytes. */
bool probe_name_ok(const char *name, size_t size);

#endif
