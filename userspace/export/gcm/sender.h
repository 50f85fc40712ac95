/* SPDX-License-Identifier: Apache-2.0 */
/* sender.h - gets series to Cloud Monitoring, or says why not. Intervals, order and spacing are the
 * service's (a series at most once in SENDER_SPACING_MS, cumulative ones with a start that stays
 * until they fall); failures are answered as the API's contract wants: 429 waits as told, 401
 * renews the token once, 500, 503, 504 and timeouts send the same points again until newer ones are
 * due, "older" and "more frequently" are dropped, all else is dropped and told once an hour a
 * reason. What may have arrived before an error, and is refused as older or too frequent when it is
 * sent again, counts as written. A request that is refused without a word on its series is divided
 * until the series is found that spoils it, 16 times a set at most: the others are written, and
 * that one is left out (counted) for ten minutes.
 *
 * Cumulative points that the service did not take are kept on disk where there is a folder,
 * bounded, and sent in order afterwards: one request in 2 s at most, and none with a series that
 * went out less than SENDER_SPACING_MS ago. As long as there are some, newer cumulative points of
 * all series go behind them, so a chart of those is late while it catches up (after a day at 30 s a
 * point: 5 hours), and gets a point in two spacings at most, so that it does; gauges, of which only
 * the newest is held, in memory, are not. Nothing is synced: the folder outlives a killed process,
 * not a lost machine. One thread's. */
#ifndef EXPORT_SENDER_H
#define EXPORT_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/cloud/google.h"
#include "userspace/cloud/web.h"
#include "userspace/export/gcm/request.h"

#define SENDER_ENDPOINT	      "https://monitoring.googleapis.com"
#define SENDER_SPACING_MS     5000
#define SENDER_DEADLINE_MS    12000 /* of one request: Google's own clients' */
#define SENDER_KEEP_S	      (24 * 3600)
#define SENDER_DISK_QUEUE_MAX (64u << 20) /* bytes; the oldest give way */

struct sender_options {
	const char *endpoint; /* NULL: SENDER_ENDPOINT */
	const char *project;
	const char *prefix;	 /* of our own series */
	const char *disk_queue;	 /* folder; NULL: none, an outage costs its points */
	uint64_t disk_queue_max; /* bytes; 0: SENDER_DISK_QUEUE_MAX */
	uint32_t spacing_ms; /* of a series' points; 0: SENDER_SPACING_MS. Less is for a stand-in
				alone */
};

#define SENDER_DROPS(X)                                                                            \
	X(older)      /* the service has a later point */                                          \
	X(frequent)   /* too soon after the last */                                                \
	X(superseded) /* a newer point of a gauge, or of a sum that catches up, stands for it */   \
	X(aged)	      /* older than the service takes, or than is kept */                          \
	X(room)	      /* the spool was full, or could not be written */                            \
	X(invalid)    /* 400 otherwise, or unfit to be sent */                                     \
	X(denied)     /* 401, 403 */                                                               \
	X(missing)    /* 404: no such project */                                                   \
	X(quota)      /* 429, RESOURCE_EXHAUSTED, until newer ones were due, or for ten minutes */ \
	X(unavailable) /* 5xx, network, likewise */                                                \
	X(garbage)     /* an answer that is none */                                                \
	X(unkept)      /* more series than a set holds */                                          \
	X(closing)     /* the end came first */

enum sender_drop {
#define X(name) SENDER_DROP_##name,
	SENDER_DROPS(X)
#undef X
		SENDER_DROP_COUNT
};
extern const char *const sender_drop_name[SENDER_DROP_COUNT];

struct sender_stats {
	bool up; /* the last request was taken */
	uint64_t requests, retries;
	uint64_t written; /* points */
	uint64_t dropped[SENDER_DROP_COUNT];
	uint64_t queued; /* points on disk now */
	uint64_t disk_queue_bytes;
	int64_t last_ns;   /* of the last success, UTC; 0: none */
	uint64_t damaged;  /* places on disk that could not be read; how many points is not known */
	char trouble[200]; /* what is wrong now, one line; "" nothing */
};

struct sender;
/* web, google and options' texts are kept by reference. 0 or -errno after one line. */
int sender_open(struct sender **ret, const struct sender_options *o, struct web *web,
		struct google *google);
/* Before the first points: asks for a token, and tells in a line that nothing can be written where
 * there is none to be had. */
void sender_begin(struct sender *s);
/* Sends the current points. Returns when it was sent, dropped or spooled, or deadline_ms on the
 * monotonic clock was reached; last: there will be no other. What has to be tried again is tried by
 * sender_wait(). */
void sender_send(struct sender *s, const struct series_set *set, int64_t now_real_ns,
		 uint64_t deadline_ms, bool last);
/* Until until_ms: tries again, catches up. false: nothing is left to do before the next
 * sender_send(). */
bool sender_wait(struct sender *s, uint64_t until_ms);
void sender_stats(const struct sender *s, struct sender_stats *ret);
void sender_close(struct sender *s); /* NULL is fine */

#endif
