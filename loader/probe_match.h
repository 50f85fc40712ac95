/* SPDX-License-Identifier: Apache-2.0 */
/* probe_match.h - which rows are for which file. */
#ifndef LOADER_PROBE_MATCH_H
#define LOADER_PROBE_MATCH_H

#include "loader/probe_file.h"

/* Every process maps such a file: a probe there would be paid by the whole machine. */
bool probe_name_forbidden(const char *name);
bool probe_row_names(const struct probe_row *row, const char *name);
/* Indices of the rows for a file of this name (no folder); none for what every process maps. Those
 * that follow another row are for no file before that row tells of one. */
size_t probe_rows_for(const struct probe_table *probes, const char *name, size_t rows[GP_ROWS_MAX]);

#endif
