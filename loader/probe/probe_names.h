/* SPDX-License-Identifier: Apache-2.0 */
/* probe_names.h - the beginnings of the file names in struct probe_names (probe_file.h), by which
 * the kernel side recognises libraries. */
#ifndef LOADER_PROBE_NAMES_H
#define LOADER_PROBE_NAMES_H

#include "bpf/gp_private.h"
#include "loader/probe/probe_file.h"

/* Least letters of a prefix; a shorter one would match many unrelated files. */
#define PROBE_PREFIX_LEAST 4

/* Writes the fixed beginning of a glob to *ret. */
void probe_prefix(const char *glob, struct gp_prefix *ret);
/* Returns the number of prefixes, at most GP_PREFIXES_MAX; *ret belongs to n. */
size_t probe_names_prefixes(const struct probe_names *n, const struct gp_prefix **ret);

#endif
