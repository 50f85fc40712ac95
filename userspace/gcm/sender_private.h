/* SPDX-License-Identifier: Apache-2.0 */
/* sender_private.h - what the parts of the sender share, and what its tests stand in for: the web,
 * the token and time. */
#ifndef GCM_SENDER_PRIVATE_H
#define GCM_SENDER_PRIVATE_H

#include "userspace/base/table.h"
#include "userspace/gcm/parcel.h"
#include "userspace/gcm/sender.h"
#include "userspace/gcm/spool.h"

#define NS_PER_MS 1000000ll
#define NS_PER_S  1000000000ll

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

/* ---- what the service said: sender_answer.c, pure
 * ------------------------------------------------- */

enum fate {
	FATE_WRITTEN,
	FATE_DROPPED,
	FATE_AGAIN, /* once the service is better */
	FATE_ALONE, /* at once, without those that were named: nobody knows whether it was written
		     */
	FATE_HALF, /* at once, in smaller requests: one of several is refused, and nobody said which
		    */
};

enum answer_kind {
	ANSWER_TAKEN, /* 200 */
	ANSWER_GARBAGE,
	ANSWER_CANCELLED, /* by ourselves */
	ANSWER_TOKEN,	  /* 401 */
	ANSWER_QUOTA,	  /* 429 */
	ANSWER_AWAY,	  /* 5xx, 408, network, a redirect */
	ANSWER_PARTIAL,	  /* some were written */
	ANSWER_REFUSED,	  /* none was */
};

struct answer {
	enum answer_kind kind;
	uint8_t fate[REQUEST_SERIES];	   /* enum fate, of each point in the request */
	uint8_t cause[REQUEST_SERIES];	   /* enum sender_drop, of those not written */
	uint32_t blind[SENDER_DROP_COUNT]; /* of those FATE_WRITTEN so many were not, it is not told
					      which */
	bool maybe;			   /* those FATE_AGAIN may have been written */
	bool start;			   /* a start was older than an end before it */
	bool quota;	  /* 429, whatever it says of each point: the rate is too high */
	int64_t retry_ms; /* as the service wants; -1: not told */
	char why[200];	  /* one line, printable; "" where all is well */
};
/* err: of the sending; count: points in the request, at most REQUEST_SERIES. All of reply is
 * hostile. */
void answer_read(struct answer *ret, int err, const struct web_reply *reply, uint32_t count);

/* ---- intervals, order and spacing of each series: sender_track.c
 * ---------------------------------- */

#define TRACKS_MAX	(4 * SERIES_SET_MAX)
#define TRACKS_AHEAD_NS (300 * NS_PER_S) /* of the time: the service takes no later end */

struct tracks;
struct tracks *tracks_new(uint32_t spacing_ms);
void tracks_free(struct tracks *t);
enum track_verdict {
	TRACK_FIT,
	TRACK_SOON,  /* less than the spacing after the last */
	TRACK_PAST,  /* not after the last: the clock was set back */
	TRACK_UNFIT, /* refused by itself a while ago */
	TRACK_ROOM,  /* a while ago the service had no room for another series */
};
/* Whether the point may be next of its series, and with which interval: p's is set. Nothing is
 * remembered until tracks_note(). last: of what comes too soon the end is moved to when it is due.
 * What was noted under a clock that has been set back by more than TRACKS_AHEAD_NS since is
 * forgotten: the service took none of it. */
enum track_verdict tracks_ask(struct tracks *t, const struct series_set *set, struct series *p,
			      uint64_t key, uint64_t now_ms, bool last);
void tracks_note(struct tracks *t, const struct series_set *set, const struct series *p,
		 int64_t told_start_ns, uint64_t key, uint64_t now_ms);
/* The service has a later end than the start that we know: the next point starts anew. */
void tracks_restart(struct tracks *t, uint64_t key);
/* The service takes no point of it, for a reason that is its own: that is the verdict for
 * TRACKS_REFUSED_MS.
 */
#define TRACKS_REFUSED_MS (10 * 60 * 1000)
void tracks_refused(struct tracks *t, uint64_t key, enum track_verdict why, uint64_t now_ms);
/* When its points went out last, on the monotonic clock; 0: not at all. */
uint64_t tracks_sent_ms(const struct tracks *t, uint64_t key);
void tracks_sent(struct tracks *t, uint64_t key, uint64_t now_ms);
/* Of its last point's end, UTC; 0: there was none. */
int64_t tracks_end_ns(const struct tracks *t, uint64_t key);
/* For the file: one after the other, from *at = 0 on; false: no more. Later ones have newer points.
 */
struct track_record {
	uint64_t key;
	int64_t told_start_ns, start_ns, end_ns; /* UTC */
	double value;
};
bool tracks_next(const struct tracks *t, size_t *at, struct track_record *ret);
/* As if tracks_note() had been told of it. 0 or -ENOMEM, -ENOSPC. */
int tracks_put(struct tracks *t, const struct track_record *r, uint64_t now_ms);
/* Whether a series came, or a start moved, since this was asked last. */
bool tracks_moved(struct tracks *t);
/* Forgets those without a point for SENDER_KEEP_S, sooner where there are more than a set holds;
 * gauges after a minute: a later point of theirs has nothing to go on with. */
void tracks_prune(struct tracks *t, uint64_t now_ms);

/* track_file.c: in the spool's folder, so that what was started stays so when this process ends: 40
 * bytes a series, TRACKS_MAX of them. 0 or -errno; what was there stays where writing fails. */
int tracks_save(const struct tracks *t, int folder);
/* What was saved and can still be so at now_ns (UTC); a file that is damaged, of another form or
 * not ours alone is an error, and nothing is taken of it. None is none. */
int tracks_load(struct tracks *t, int folder, int64_t now_ns, uint64_t now_ms);

/* ---- the sender
 * ------------------------------------------------------------------------------------ */

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
	struct spool *spool;  /* NULL: none */
	struct parcel held;   /* not written yet: of each series one, at most; in memory */
	struct parcel oldest; /* of the spool; empty: it has to be asked for */
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
	uint64_t told_ms[SENDER_DROP_COUNT]; /* when a drop was logged last, plus 1 */
	struct spool_lost lost;		     /* counted */
};

/* sender_request.c: one request with a token, which a 401 renews once. 0: an answer came; -EIO: as
 * web_send(); -EAGAIN: no token now; -EACCES: none at all; why: of the last two. */
int sender_post(struct sender *s, const char *path, const struct buffer *body, uint64_t timeout_ms,
		struct web_reply *ret, char *why, size_t len);
/* The next request: points of p from *at on; those done with are gone. false: no more for now. */
bool sender_deliver(struct sender *s, struct parcel *p, uint32_t *at, uint64_t timeout_ms);
void sender_count(struct sender *s, enum sender_drop cause, uint64_t points, const char *why);
void sender_trouble(struct sender *s, const char *why);
/* Nothing is sent for a while: as told (ms; -1: not), at least the longer the more often in a row.
 */
void sender_backoff(struct sender *s, int64_t told_ms, bool quota);

/* sender_descriptor.c: those of the set's rows that are ours. */
void descriptors_want(struct sender *s, const struct series_set *set);
/* Makes what is not there yet. false: the service is away. */
bool descriptors_make(struct sender *s, uint64_t timeout_ms);

/* sender_take.c: what of the set can be written becomes held, and takes the place of what was.
 * soon: one for each series; marks those that come too soon instead of dropping them, or, where
 * `last`, takes no others, with ends that are late enough. */
void sender_take(struct sender *s, const struct series_set *set, bool *soon, bool last);
/* When the last of those is due, UTC. */
int64_t sender_due_ns(struct sender *s, const struct series_set *set, const bool *soon);

#endif
