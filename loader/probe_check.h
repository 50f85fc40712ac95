/* SPDX-License-Identifier: Apache-2.0 */
/* probe_check.h - the rules that one probe row must keep, beyond its YAML's shape. Private to
 * probe_file. */
#ifndef LOADER_PROBE_CHECK_H
#define LOADER_PROBE_CHECK_H

#include "loader/probe_file.h"

struct probe_fault {
	const char *field; /* key at fault, NULL: the row as such */
	char what[160];
};

/* 0, or -EINVAL with the first rule broken. */
int probe_row_check(const struct probe_row *row, struct probe_fault *ret);

/* Lower-case words: [a-z0-9_], not empty, fewer than size bytes. */
bool probe_name_ok(const char *name, size_t size);

#endif
