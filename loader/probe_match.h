/* SPDX-License-Identifier: Apache-2.0 */
/* probe_match.h - which rows are for which file. */
#ifndef LOADER_PROBE_MATCH_H
#define LOADER_PROBE_MATCH_H

#include "loader/probe_file.h"

/* Indices of the rows for a file of this name (no folder); none for what every process maps. */
size_t probe_rows_for(const struct probe_table *probes, const char *name, size_t rows[GP_ROWS_MAX]);

#endif
