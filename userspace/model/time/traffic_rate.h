/* SPDX-License-Identifier: Apache-2.0 */
/* traffic_rate.h - how much a training process and its loader workers read in each second, and how
 * often its network failed. These figures support a cause that was found in another way; they are
 * never a cause of their own.
 *
 * Pure; 12 KiB. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_TRAFFIC_RATE_H
#define MODEL_TRAFFIC_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define TRAFFIC_SECONDS 180 /* number of last seconds that are kept */
#define TRAFFIC_TEXT	200

/* Sums over a span. A length of 0: the figures below it are unknown. Counts of traffic and failures
 * are those of struct gp_traffic, bytes are in KiB. */
struct traffic_sums {
	uint64_t read_ns, storage, calls;
	uint64_t worker_ns, worker_storage, worker_calls;
	uint64_t tcp_ns, sent, resent;
	uint64_t links_ns, dropped, errors, downs, rdma_resent, waits;
	/* Interface or port that had most failures in the last second with any, escaped; "":
	 * none */
	char link[48];
};

struct traffic_rate;
struct traffic_rate *traffic_rate_new(void); /* NULL: no memory */
void traffic_rate_free(struct traffic_rate *t);
/* Adds a record of time ts_ns. Ignores a record with impossible times. */
void traffic_rate_take(struct traffic_rate *t, uint64_t ts_ns, const struct gp_traffic *g);
/* Sums the kept seconds that end within a span. */
void traffic_rate_between(const struct traffic_rate *t, uint64_t from_ns, uint64_t to_ns,
			  struct traffic_sums *ret);
void traffic_rate_archive(struct archive *a, struct traffic_rate **t);
void traffic_sums_archive(struct archive *a, struct traffic_sums *s);

/* Write a text to out and return it; "": unknown. before: the same figures in a time without
 * trouble; NULL, or unknown figures: there is no such time. */

/* "it reads 12.0 MB/s from storage (80.0 MB/s before) and 40.1 MB/s from the page cache, FUSE,
 * pipes or sockets"; "" also if it reads next to nothing. workers: what the loader's workers read.
 */
const char *traffic_reads_text(char *out, size_t len, const struct traffic_sums *before,
			       const struct traffic_sums *s, bool workers);
/* "its network namespace resent 3.0 % of its TCP segments (0.1 % before)", and failures of links.
 * "" also if nothing has failed more often than before. */
const char *traffic_network_text(char *out, size_t len, const struct traffic_sums *before,
				 const struct traffic_sums *s);

#endif
