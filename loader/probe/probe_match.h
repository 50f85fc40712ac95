/* SPDX-License-Identifier: Apache-2.0 */
/* probe_match.h - decides which probe rows apply to a file, and which BPF program a row runs. */
#ifndef LOADER_PROBE_MATCH_H
#define LOADER_PROBE_MATCH_H

#include "loader/kernel/kernel.h"
#include "loader/probe/probe_file.h"

/* Returns true for a file that every process maps: a probe there would slow the whole machine. */
bool probe_name_forbidden(const char *name);
/* Returns true when the row is for files of this name (without folder). */
bool probe_row_names(const struct probe_row *row, const char *name);

/* Returns the BPF program that runs at a hit of the row. */
enum kernel_program probe_row_program(const struct probe_row *row);
/* Returns true when both rows name the same function of a library for the same BPF program: each
 * call would be reported twice. */
bool probe_rows_collide(const struct probe_row *a, const struct probe_row *b);

#endif
