/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/traffic_rate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/number.h"
#include "userspace/ingest/event.h"

/* If records are further apart (ns), some between them are missing. */
#define SECOND_MAX 1500000000ull
/* A record is invalid if its figures were read more than this time (ns) before it was written. */
#define AGE_MAX_NS 10000000000ull
/* TCP segments that were sent again are reported from this share and number on. */
#define RESENT_SHARE 0.005
#define RESENT_MIN   3
/* Dropped, damaged or resent packets are reported from this number on: a few are usual. */
#define FAILURES_MIN 10
/* Failures are reported only if they are this much more frequent than before. */
#define GROWN 2
/* A rate below this (MB/s) is not mentioned. */
#define RATE_MIN 0.05

struct traffic_second {
	uint64_t end_ns;
	uint64_t waits;
	uint32_t length_us;
	uint32_t storage, calls, worker_storage, worker_calls; /* KiB */
	uint32_t sent, resent, dropped, errors, downs, rdma_resent;
	uint32_t known; /* GP_TRAFFIC_* */
};

struct traffic_rate {
	struct traffic_second second[TRAFFIC_SECONDS];
	uint64_t seconds; /* number of records so far */
	char link[48];	  /* see struct traffic_sums */
	uint64_t link_ns; /* time of the record that named the link */
};

struct traffic_rate *traffic_rate_new(void)
{
	return calloc(1, sizeof(struct traffic_rate));
}

void traffic_rate_free(struct traffic_rate *t)
{
	free(t);
}

/* ---- records --------------------------------------------------------------------------------- */

static uint32_t traffic_count(uint64_t n)
{
	return (uint32_t)smaller_of(n, UINT32_MAX);
}

void traffic_rate_take(struct traffic_rate *t, uint64_t ts_ns, const struct gp_traffic *g)
{
	const struct traffic_second *last = t->seconds
						    ? &t->second[(t->seconds - 1) % TRAFFIC_SECONDS]
						    : NULL;

	if (g->at_ns > ts_ns || ts_ns - g->at_ns > AGE_MAX_NS || !g->span_ns ||
	    g->span_ns > SECOND_MAX || g->span_ns > g->at_ns || (last && g->at_ns <= last->end_ns))
		return;
	t->second[t->seconds++ % TRAFFIC_SECONDS] = (struct traffic_second){
		.end_ns = g->at_ns,
		.waits = smaller_of(g->waits, UINT64_MAX / TRAFFIC_SECONDS),
		.length_us = (uint32_t)(g->span_ns / 1000),
		.storage = traffic_count(g->storage >> 10),
		.calls = traffic_count(g->calls >> 10),
		.worker_storage = traffic_count(g->worker_storage >> 10),
		.worker_calls = traffic_count(g->worker_calls >> 10),
		.sent = traffic_count(g->sent),
		.resent = traffic_count(g->resent),
		.dropped = traffic_count(g->dropped),
		.errors = traffic_count(g->errors),
		.downs = traffic_count(g->downs),
		.rdma_resent = traffic_count(g->rdma_resent),
		.known = g->flags,
	};
	if (!*g->link)
		return;
	event_copy(t->link, g->link);
	t->link_ns = g->at_ns;
}

void traffic_rate_between(const struct traffic_rate *t, uint64_t from_ns, uint64_t to_ns,
			  struct traffic_sums *ret)
{
	uint64_t kept = smaller_of(t->seconds, TRAFFIC_SECONDS);

	*ret = (struct traffic_sums){0};
	for (uint64_t i = 1; i <= kept; i++) {
		const struct traffic_second *s = &t->second[(t->seconds - i) % TRAFFIC_SECONDS];
		uint64_t ns = s->length_us * 1000ull;

		if (s->end_ns <= from_ns || s->end_ns > to_ns)
			continue;
		ret->read_ns += s->known & GP_TRAFFIC_READ ? ns : 0;
		ret->storage += s->storage;
		ret->calls += s->calls;
		ret->worker_ns += s->known & GP_TRAFFIC_WORKERS ? ns : 0;
		ret->worker_storage += s->worker_storage;
		ret->worker_calls += s->worker_calls;
		ret->tcp_ns += s->known & GP_TRAFFIC_TCP ? ns : 0;
		ret->sent += s->sent;
		ret->resent += s->resent;
		ret->links_ns += s->known & GP_TRAFFIC_LINKS ? ns : 0;
		ret->dropped += s->dropped;
		ret->errors += s->errors;
		ret->downs += s->downs;
		ret->rdma_resent += s->rdma_resent;
		ret->waits += s->waits;
	}
	if (t->link_ns > from_ns && t->link_ns <= to_ns)
		memcpy(ret->link, t->link, sizeof(ret->link));
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Returns the rate in MB/s of a number of KiB. */
static double traffic_mb(uint64_t kib, uint64_t ns)
{
	return ns ? (double)kib * 1024 * 1e3 / (double)ns : 0;
}

const char *traffic_reads_text(char *out, size_t len, const struct traffic_sums *before,
			       const struct traffic_sums *s, bool workers)
{
	uint64_t ns = workers ? s->worker_ns : s->read_ns;
	uint64_t storage = workers ? s->worker_storage : s->storage;
	uint64_t calls = workers ? s->worker_calls : s->calls;
	double stored = traffic_mb(storage, ns), other = traffic_mb(more_than(calls, storage), ns);
	double usually = 0;
	uint64_t before_ns = !before ? 0 : workers ? before->worker_ns : before->read_ns;
	char usual[40] = "", rest[80] = "";

	*out = '\0';
	if (before_ns) {
		usually = traffic_mb(workers ? before->worker_storage : before->storage, before_ns);
		snprintf(usual, sizeof(usual), " (%.1f MB/s before)", usually);
	}
	if (!ns || (stored < RATE_MIN && usually < RATE_MIN && other < RATE_MIN))
		return out;
	if (other >= RATE_MIN)
		snprintf(rest, sizeof(rest),
			 " and %.1f MB/s from the page cache, FUSE, pipes or sockets", other);
	snprintf(out, len, "%s %.1f MB/s from storage%s%s",
		 workers ? "its loader workers read" : "it reads", stored, usual, rest);
	return out;
}

/* Returns true if the count n is at least `least`, and more frequent than before. */
static bool traffic_more(uint64_t n, uint64_t ns, uint64_t before, uint64_t before_ns,
			 uint64_t least)
{
	return n >= least && ns &&
	       (!before_ns || (double)n / (double)ns >= GROWN * (double)before / (double)before_ns);
}

static double traffic_resent_share(const struct traffic_sums *s)
{
	return s->sent + s->resent ? (double)s->resent / (double)(s->sent + s->resent) : 0;
}

/* Appends TCP segments that were sent again. */
static void traffic_tcp_text(char *out, size_t len, const struct traffic_sums *before,
			     const struct traffic_sums *s)
{
	double share = traffic_resent_share(s), usual = traffic_resent_share(before);
	char text[40] = "";

	if (s->resent < RESENT_MIN || share < RESENT_SHARE ||
	    (before->tcp_ns && share < GROWN * usual))
		return;
	if (before->tcp_ns)
		snprintf(text, sizeof(text), " (%.1f %% before)", 100 * usual);
	snprintf(out, len, "its network namespace resent %.1f %% of its TCP segments%s",
		 100 * share, text);
}

/* Appends a count with a text that has one number. */
#define TRAFFIC_APPEND(out, len, format, n)                                                        \
	snprintf((out) + strlen(out), (len)-strlen(out), "%s" format, *(out) ? ", " : "", n)

const char *traffic_network_text(char *out, size_t len, const struct traffic_sums *before,
				 const struct traffic_sums *s)
{
	static const struct traffic_sums none;
	const struct traffic_sums *b = before ? before : &none;
	size_t tcp;

	*out = '\0';
	traffic_tcp_text(out, len, b, s);
	tcp = strlen(out);
#define MORE(field, least) traffic_more(s->field, s->links_ns, b->field, b->links_ns, least)
	if (MORE(dropped, FAILURES_MIN))
		TRAFFIC_APPEND(out, len, "its links dropped %" PRIu64 " packets", s->dropped);
	if (MORE(errors, FAILURES_MIN))
		TRAFFIC_APPEND(out, len, "its links damaged %" PRIu64 " packets", s->errors);
	if (MORE(rdma_resent, FAILURES_MIN))
		TRAFFIC_APPEND(out, len, "RDMA resent %" PRIu64 " packets", s->rdma_resent);
	if (MORE(downs, 1))
		TRAFFIC_APPEND(out, len, "a link failed %" PRIu64 " times", s->downs);
	if (strlen(out) > tcp && *s->link)
		snprintf(out + strlen(out), len - strlen(out), " (most: %s)", s->link);
	if (b->links_ns && b->waits && MORE(waits, 1))
		TRAFFIC_APPEND(out, len, "ports waited to send %.1f times as long as before",
			       (double)s->waits / (double)s->links_ns /
				       ((double)b->waits / (double)b->links_ns));
#undef MORE
	return out;
}

/* ---- state ----------------------------------------------------------------------------------- */

void traffic_rate_archive(struct archive *a, struct traffic_rate **t)
{
	struct traffic_rate *s = *t = archive_object(a, *t, sizeof(**t));
	uint64_t kept;

	if (!s)
		return;
	archive_struct(a, sizeof(*s));
	archive_fields(a, s, seconds, link, link_ns);
	kept = smaller_of(s->seconds, TRAFFIC_SECONDS);
	for (uint64_t i = 0; i < kept; i++) {
		struct traffic_second *one = &s->second[i];

		archive_fields(a, one, end_ns, waits, length_us, storage, calls, worker_storage,
			       worker_calls, sent, resent, dropped, errors, downs, rdma_resent,
			       known);
	}
}

void traffic_sums_archive(struct archive *a, struct traffic_sums *s)
{
	archive_fields(a, s, read_ns, storage, calls, worker_ns, worker_storage, worker_calls,
		       tcp_ns, sent, resent, links_ns, dropped, errors, downs, rdma_resent, waits,
		       link);
}
