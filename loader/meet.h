/* SPDX-License-Identifier: Apache-2.0 */
/* meet.h - tells of processes that nobody watches and that are about to run code of a library of
 * ours, by records of the life ring (gp_met). */
#ifndef LOADER_MEET_H
#define LOADER_MEET_H

struct attach;
struct kernel;
struct meet;
struct pins;
struct probe_table;

/* Begins at once. *ret NULL, 0: this kernel cannot, which was said. The link is links'; pins may be
 * NULL. */
int meet_open(struct meet **ret, const struct kernel *k, struct attach *links, struct pins *pins,
	      const struct probe_table *probes);
void meet_close(struct meet *m); /* NULL is fine */

#endif
