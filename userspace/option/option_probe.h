/* SPDX-License-Identifier: Apache-2.0 */
/* option_probe.h - loads the probes that the options select. */
#ifndef OPTION_OPTION_PROBE_H
#define OPTION_OPTION_PROBE_H

#include <stdbool.h>

struct options;
struct probe_row;
struct probe_table;

/* Loads the installed probe files (or those of the build tree) and those of --probes DIR. Names in
 * --range are exempt from the limit on the number of different range names. Returns 0, or -errno
 * after logging one line. The caller frees *ret. */
int option_probes(const struct options *o, struct probe_table **ret);
/* Returns the row of the probe that --marker names: by the probe's id, or else the first probe of a
 * function with this name; NULL: none. */
const struct probe_row *option_marker(const struct probe_table *t, const char *name);
/* Returns true if --marker may name this probe, because each of its hits is reported. */
bool option_marks(const struct probe_row *r);

#endif
