/* SPDX-License-Identifier: Apache-2.0 */
/* sites.h - the functions of sites.S, by shape of probe and class of instruction. */
#ifndef TESTS_BENCH_SITES_H
#define TESTS_BENCH_SITES_H

/* Large enough for the arguments that any of the shapes captures. */
typedef long site_fn(long a, const void *b, long c, long d);

#define SITES(X)                                                                                   \
	X(count)                                                                                   \
	X(hit)                                                                                     \
	X(named)                                                                                   \
	X(begin)                                                                                   \
	X(end)                                                                                     \
	X(call)                                                                                    \
	X(monitor)                                                                                 \
	X(stream)

#define X(name) site_fn gpbench_push_##name, gpbench_nop5_##name;
SITES(X)
#undef X

#endif
