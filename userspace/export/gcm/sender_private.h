/* SPDX-License-Identifier: Apache-2.0 */
/* sender_private.h - shared by the files of the sender. Tests replace the functions for web
 * requests, tokens and clocks. */
#ifndef EXPORT_SENDER_PRIVATE_H
#define EXPORT_SENDER_PRIVATE_H

#include "userspace/base/backoff.h"
#include "userspace/base/table.h"
#include "userspace/export/gcm/batch.h"
#include "userspace/export/gcm/sender.h"
#include "userspace/export/gcm/disk_queue.h"
#include "userspace/export/gcm/track.h"

/* Functions that tests replace. A comment names the usual function. All are called on the sender's
 * thread. */
struct sender_env {
	void *ctx;
	int (*send)(void *ctx, const struct web_request *rq,
		    struct web_reply *ret); /* web_send() */
	int (*token)(void *ctx, struct buffer *ret_header, char *why,
		     size_t len);	 /* google_token() */
	void (*refused)(void *ctx);	 /* google_token_refused() */
	const char *(*quota)(void *ctx); /* google_quota_project() */
	uint64_t (*mono_ms)(void *ctx);
	int64_t (*real_ns)(void *ctx);
	void (*sleep_ms)(void *ctx, uint64_t ms);
	double (*random)(void *ctx); /* 0 <= x < 1 */
};
int sender_open_with(struct sender **ret, const struct sender_options *o,
		     const struct sender_env *env);

#define ROWS_MAX 64 /* limit of metric descriptors, one for each kind of series */

struct descriptor {
	const struct series_row *row;
	uint8_t tries;
	bool done;	   /* the descriptor was made, or no further attempt is made */
	uint64_t again_ms; /* time of the next attempt to make the descriptor */
};

struct sender {
	struct sender_options opt;
	struct sender_env env;
	struct web *web;
	struct google *google;
	struct sender_stats stats;
	struct tracks *tracks;
	struct disk_queue *disk_queue; /* NULL: none */
	struct batch held;	       /* unsent points in memory: at most one of each series */
	struct batch oldest; /* the oldest record of the queue on disk; empty: not read yet */
	struct descriptor descriptor[ROWS_MAX];
	uint32_t ndescriptors;
	struct buffer url, path, body, header;
	uint64_t next_ms;	/* earliest time of the next request */
	uint64_t catch_ms;	/* earliest time of the next request with points from disk */
	uint64_t pace_ms;	/* pause between requests; doubled by HTTP status 429 */
	struct backoff backoff; /* delay after failures in a row */
	unsigned halves;	/* number of times that requests of this set may still be divided */
	bool half_taken;	/* a part of a divided request was written */
	uint64_t halves_ms;	/* time until which no request is divided, as that did not help */
	bool quota;		/* the service asked for the delay until next_ms */
	bool undescribed;	/* it was logged that a metric descriptor is missing */
	bool keeping;		/* it was logged that points go to disk */
	bool behind;		/* this set's cumulative points wait for older ones on disk */
	bool sent;	  /* a set was sent: the last points of series in `tracks` must be saved */
	bool untracked;	  /* it was logged that `tracks` could not be saved */
	uint64_t kept_ms; /* last time that queueing on disk was logged; 0: never */
	/* time of each cause's last log line, plus 1; 0: never */
	uint64_t logged_ms[SENDER_DROP_COUNT];
	struct disk_queue_lost lost; /* losses of the queue on disk that `stats` already includes */
};

/* ---- sender_request.c ------------------------------------------------------------------------ */

/* Sends one request with a token, which is renewed once after status 401. Returns 0: ret has the
 * answer; -EAGAIN: there is no token now; -EACCES: there will be no token. These two errors write
 * the reason to why; other errors are those of web_send(). */
int sender_post(struct sender *s, const char *path, const struct buffer *body, uint64_t timeout_ms,
		struct web_reply *ret, char *why, size_t len);
/* Sends the next request, with points of p from *at on, and marks the finished points as gone.
 * Returns false when nothing more can be sent now. */
bool sender_deliver(struct sender *s, struct batch *p, uint32_t *at, uint64_t timeout_ms);
void sender_count(struct sender *s, enum sender_drop cause, uint64_t points, const char *why);
void sender_trouble(struct sender *s, const char *why);
/* Pauses sending: for the delay that the service asked for (ms; -1: none), and at least for a time
 * that grows with each failure in a row. */
void sender_backoff(struct sender *s, int64_t retry_ms, bool quota);

#endif
