/* SPDX-License-Identifier: Apache-2.0 */
/* sender_private.h - what the parts of the sender share, and what its tests stand in for: the web,
 * the token and time. */
#ifndef EXPORT_SENDER_PRIVATE_H
#define EXPORT_SENDER_PRIVATE_H

#include "userspace/base/table.h"
#include "userspace/export/gcm/batch.h"
#include "userspace/export/gcm/sender.h"
#include "userspace/export/gcm/disk_queue.h"
#include "userspace/export/gcm/track.h"

/* All on the sender's thread. */
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
	uint32_t (*random)(void *ctx);
};
int sender_open_with(struct sender **ret, const struct sender_options *o,
		     const struct sender_env *env);

#define ROWS_MAX 64 /* kinds of series with a descriptor of ours */

struct descriptor {
	const struct series_row *row;
	uint8_t tries;
	bool done;	   /* is there, or will not be */
	uint64_t again_ms; /* not before */
};

struct sender {
	struct sender_options opt;
	struct sender_env env;
	struct web *web;
	struct google *google;
	struct sender_stats stats;
	struct tracks *tracks;
	struct disk_queue *disk_queue; /* NULL: none */
	struct batch held;	       /* not written yet: of each series one, at most; in memory */
	struct batch oldest;	       /* of the spool; empty: it has to be asked for */
	struct descriptor descriptor[ROWS_MAX];
	uint32_t ndescriptors;
	struct buffer url, path, body, header;
	uint64_t next_ms;   /* no request before */
	uint64_t catch_ms;  /* none from the spool before */
	uint64_t pace_ms;   /* between requests: a 429 doubles it */
	unsigned fails;	    /* in a row */
	unsigned halves;    /* that requests may still be divided into, of this set */
	bool half_taken;    /* one of them was taken */
	uint64_t halves_ms; /* none before: it helped nothing */
	bool quota;	    /* next_ms is the service's wish */
	bool undescribed;   /* told that a descriptor is missing */
	bool keeping;	    /* told that points go to the spool */
	bool behind;	    /* this set's cumulative points go behind others */
	bool sent;	    /* there was a set, so that there are tracks */
	bool untracked;	    /* told that tracks could not be saved */
	uint64_t kept_ms;   /* when */
	uint64_t logged_ms[SENDER_DROP_COUNT]; /* when a drop was logged last, plus 1 */
	struct disk_queue_lost lost;	       /* counted */
};

/* ---- sender_request.c ------------------------------------------------------------------------ */

/* One request with a token, which a 401 renews once. 0: an answer came; -EIO: as
 * web_send(); -EAGAIN: no token now; -EACCES: none at all; why: of the last two. */
int sender_post(struct sender *s, const char *path, const struct buffer *body, uint64_t timeout_ms,
		struct web_reply *ret, char *why, size_t len);
/* The next request: points of p from *at on; those done with are gone. false: no more for now. */
bool sender_deliver(struct sender *s, struct batch *p, uint32_t *at, uint64_t timeout_ms);
void sender_count(struct sender *s, enum sender_drop cause, uint64_t points, const char *why);
void sender_trouble(struct sender *s, const char *why);
/* Nothing is sent for a while: as told (ms; -1: not), at least the longer the more often in a
 * row. */
void sender_backoff(struct sender *s, int64_t retry_ms, bool quota);

#endif
