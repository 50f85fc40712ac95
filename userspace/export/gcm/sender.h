/* SPDX-License-Identifier: Apache-2.0 */
/* sender.h - sends series to Cloud Monitoring. One thread.
 * Intervals, order and spacing follow the service's rules: a series has at most one point in
 * SENDER_SPACING_MS; the start of a cumulative series stays the same until its value decreases.
 * Failures are handled as the API's contract requires. 429: wait as long as the answer says. 401:
 * renew the token once. 500, 503, 504 and timeouts: send the same points again until newer ones are
 * due. "older" and "more frequently": drop. Other errors: drop, logged once an hour for each
 * reason. A point that may have arrived before an error, and is refused as older or too frequent
 * when it is sent again, counts as written.
 * A request that is refused as a whole is divided, at most 16 times a set, until the faulty series
 * is found; the others are written, and that series is excluded (and counted) for ten minutes.
 * Cumulative points that the service did not take are kept on disk if there is a folder, bounded,
 * and sent in order later: at most one request in 2 s, and no series that was sent less than
 * SENDER_SPACING_MS ago. While points wait there, newer cumulative points of all series queue after
 * them: charts lag while the queue is sent (after a day at 30 s a point: for 5 hours) and get at
 * most one point in two spacings. Gauges do not lag: only the newest is kept, in memory. The folder
 * survives a killed process, but not a power failure, as nothing is synced. */
#ifndef EXPORT_SENDER_H
#define EXPORT_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/cloud/google.h"
#include "userspace/cloud/web.h"
#include "userspace/export/gcm/request.h"

#define SENDER_ENDPOINT	      "https://monitoring.googleapis.com"
#define SENDER_SPACING_MS     5000
#define SENDER_DEADLINE_MS    12000 /* limit of one request, the same as in Google's own clients */
#define SENDER_KEEP_S	      (24 * 3600)
#define SENDER_DISK_QUEUE_MAX (64u << 20) /* size limit in bytes; the oldest points are dropped */

struct sender_options {
	const char *endpoint; /* URL; NULL: SENDER_ENDPOINT */
	const char *project;
	const char *prefix;	 /* metric name prefix of gp-bpf's series */
	const char *disk_queue;	 /* folder for unsent points; NULL: they are lost */
	uint64_t disk_queue_max; /* size limit in bytes; 0: SENDER_DISK_QUEUE_MAX */
	/* least time between points of a series; 0: SENDER_SPACING_MS; less only for test
	 * servers */
	uint32_t spacing_ms;
};

/* Reasons why points are dropped, which are counted separately. */
#define SENDER_DROPS(X)                                                                            \
	X(older)       /* the service already has a later point of the series */                   \
	X(frequent)    /* too soon after the previous point of the series */                       \
	X(superseded)  /* replaced by a newer point; a cumulative one only in a backlog */         \
	X(aged)	       /* older than the service accepts, or than SENDER_KEEP_S */                 \
	X(room)	       /* the queue on disk was full or could not be written */                    \
	X(invalid)     /* refused for another reason (400), or not valid and so not sent */        \
	X(denied)      /* no permission (401, 403) */                                              \
	X(missing)     /* 404: the project does not exist */                                       \
	X(quota)       /* refused (429, RESOURCE_EXHAUSTED) until newer points replaced it */      \
	X(unavailable) /* 5xx or network errors until newer points replaced it */                  \
	X(garbage)     /* the service's answer is not valid */                                     \
	X(unkept)      /* more series than a set can hold */                                       \
	X(closing)     /* not sent before gp-bpf ended */

enum sender_drop {
#define X(name) SENDER_DROP_##name,
	SENDER_DROPS(X)
#undef X
		SENDER_DROP_COUNT
};
extern const char *const sender_drop_name[SENDER_DROP_COUNT];

struct sender_stats {
	bool up; /* the last request succeeded */
	uint64_t requests, retries;
	uint64_t written; /* points */
	uint64_t dropped[SENDER_DROP_COUNT];
	uint64_t queued; /* points on disk */
	uint64_t disk_queue_bytes;
	int64_t last_ns;   /* time of the last success, UTC; 0: none */
	uint64_t damaged;  /* unreadable parts of files on disk, with an unknown number of points */
	char trouble[200]; /* current error, one line; "": none */
};

struct sender;
/* web, google and the texts in the options must outlive the sender. Returns 0, or -errno after
 * logging the error. */
int sender_open(struct sender **ret, const struct sender_options *o, struct web *web,
		struct google *google);
/* Call before the first points. Requests a token, and logs a warning if there can be none, because
 * then nothing can be written. */
void sender_begin(struct sender *s);
/* Sends the current points. Returns when they were sent, dropped or queued on disk, or at
 * deadline_ms (CLOCK_MONOTONIC). last: no more points will follow. Does not retry: see
 * sender_wait(). */
void sender_send(struct sender *s, const struct series_set *set, int64_t now_real_ns,
		 uint64_t deadline_ms, bool last);
/* Retries, and sends queued points, until until_ms (CLOCK_MONOTONIC). Returns false when nothing is
 * left to do before the next sender_send(). */
bool sender_wait(struct sender *s, uint64_t until_ms);
void sender_stats(const struct sender *s, struct sender_stats *ret);
void sender_close(struct sender *s); /* s may be NULL */

#endif
