/* SPDX-License-Identifier: Apache-2.0 */
/* meet.h - reports unwatched processes that map a library named in a probe file, as records of the
 * life ring (gp_met). */
#ifndef LOADER_MEET_H
#define LOADER_MEET_H

struct attach;
struct kernel;
struct meet;
struct pins;
struct probe_table;

/* Starts to report at once. *ret is NULL with return value 0 when this kernel cannot, which was
 * logged. The link belongs to links; pins may be NULL. Returns 0 or -errno. */
int meet_open(struct meet **ret, const struct kernel *k, struct attach *links, struct pins *pins,
	      const struct probe_table *probes);
void meet_close(struct meet *m); /* NULL is allowed */

#endif
