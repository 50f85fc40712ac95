/* SPDX-License-Identifier: Apache-2.0 */
/* unwatched.h - makes the kernel side report unwatched processes that map a library named in a
 * probe file, as gp_unwatched records in the life ring. */
#ifndef LOADER_UNWATCHED_H
#define LOADER_UNWATCHED_H

struct attach;
struct kernel;
struct unwatched;
struct pins;
struct probe_table;

/* Lets the kernel side begin to report unwatched processes. If the kernel cannot do this, logs
 * that, sets *ret to NULL and returns 0. `links` owns the new link; pins may be NULL. Returns 0 or
 * -errno. */
int unwatched_open(struct unwatched **ret, const struct kernel *k, struct attach *links,
		   struct pins *pins, const struct probe_table *probes);
void unwatched_close(struct unwatched *m); /* NULL is allowed */

#endif
