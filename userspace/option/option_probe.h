/* SPDX-License-Identifier: Apache-2.0 */
/* option_probe.h - the probe rows that the settings name. */
#ifndef OPTION_OPTION_PROBE_H
#define OPTION_OPTION_PROBE_H

#include <stdbool.h>

struct options;
struct probe_row;
struct probe_table;

/* Those beside the program (installed or build tree) with --probes DIR's added; ranges that --range
 * names are kept from the bound on names. 0; -errno after one line. The caller frees it. */
int option_probes(const struct options *o, struct probe_table **ret);
/* The row of that id, else the first of that function: what --marker names. NULL: none. */
const struct probe_row *option_marker(const struct probe_table *t, const char *name);
/* --marker may name it: its hits are told one by one. */
bool option_marks(const struct probe_row *r);

#endif
