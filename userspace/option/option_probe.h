/* SPDX-License-Identifier: Apache-2.0 */
/* option_probe.h - loads the probe rows that the settings ask for. */
#ifndef OPTION_OPTION_PROBE_H
#define OPTION_OPTION_PROBE_H

#include <stdbool.h>

struct options;
struct probe_row;
struct probe_table;

/* Loads the installed probe files (or those of the build tree) and those of --probes DIR. Names in
 * --range are exempt from the limit on different names. Returns 0, or -errno after logging one
 * line. The caller frees *ret. */
int option_probes(const struct options *o, struct probe_table **ret);
/* Returns the row that --marker names: by its id, otherwise the first row of that function. NULL:
 * none. */
const struct probe_row *option_marker(const struct probe_table *t, const char *name);
/* Returns true if --marker may name the row: each of its hits is reported. */
bool option_marks(const struct probe_row *r);

#endif
