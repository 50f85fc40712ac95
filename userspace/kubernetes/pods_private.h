/* SPDX-License-Identifier: Apache-2.0 */
/* pods_private.h - declarations shared by the files of this folder; pods.h is the public part. */
#ifndef KUBERNETES_PODS_PRIVATE_H
#define KUBERNETES_PODS_PRIVATE_H

#include "userspace/base/backoff.h"
#include "userspace/base/worker.h"
#include "userspace/cloud/web.h"
#include "userspace/kubernetes/access.h"
#include "userspace/kubernetes/pods.h"
#include "userspace/kubernetes/pods_field.h"

/* Size limit of the JSON of one pod or node, in bytes. etcd limits objects to 1.5 MiB. */
#define PODS_OBJECT_MAX (1u << 20)
/* Size limit of a list, in bytes. Only one object of it is in memory at a time. */
#define PODS_LIST_MAX (256u << 20)
#define PODS_PAGE     250 /* pods requested for each page of a list; most nodes have fewer */
/* longest resourceVersion that is accepted; usually it has only digits */
#define PODS_VERSION_MAX 128
#define PODS_TOKEN_MAX	 4096 /* limit of a page's "continue" token in bytes */
#define PODS_GONE_S	 600  /* how long a pod stays known after its deletion, in seconds */
#define PODS_NOTICES	 256  /* limit of events that wait until the caller fetches them */
#define PODS_SIGNALS	 32   /* limit of signs of trouble that a node has at the same time */

/* ---- one object at a time (pods_stream.c) */

/* Splits a stream of JSON into objects: the lines of a watch, or the elements of "items" of a
 * list. */
struct pods_stream {
	bool list;
	struct buffer text; /* JSON of the object that is being received */
	/* this object exceeds PODS_OBJECT_MAX, so its rest is skipped */
	bool too_long;
	uint64_t skipped, objects, bytes;
	/* State of the parser within a list. */
	uint32_t depth, items_depth;
	bool quoted, escaped, inside, value;
	char key[16];
	uint32_t key_len;
	/* Called for each object; returns true to continue. text is NUL-terminated and may be
	 * changed. */
	bool (*object)(void *ctx, char *text, size_t len);
	bool (*meta)(void *ctx, char *text, size_t len); /* called for the "metadata" of a list */
	void *ctx;
};

/* Returns false if a callback did, if there is no memory (text.failed), or if the end of an object
 * is missing. */
bool pods_stream_feed(struct pods_stream *s, const char *data, size_t len);
/* Handles the end of a watch. Its last line may lack a line feed. */
bool pods_stream_end(struct pods_stream *s);
void pods_stream_free(struct pods_stream *s);

/* ---- content of an object (pods_parse.c, pods_job.c) */

#define PODS_UID_MAX 40

/* Parses a Pod. Returns false if it has no valid uid or name. Writes all bytes of *ret, including
 * padding. alias: gets the uid that the kubelet gives a static pod; "": none. */
bool pods_parse(const cJSON *pod, struct pod *ret, char alias[PODS_UID_MAX]);
/* Fills the members of ret that describe the pod's job. The caller has set all other members. */
void pods_parse_job(const cJSON *pod, struct pod *ret);

/* ---- content of a node (pods_node.c) */

struct pods_signal {
	char key[64]; /* what was found: "condition Ready", "taint KEY" */
	struct gp_notice notice;
};

/* Sets the text of an event; a text that is too long is cut between characters. */
void pods_say(struct gp_notice *notice, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Finds the signs of trouble on a node. Returns their number. */
uint32_t pods_parse_node(const cJSON *node, struct pods_signal signals[PODS_SIGNALS]);

/* ---- present knowledge (pods.c) */

/* Time limits and pauses. Members ending in _s are seconds; tests use fractions. */
struct pods_intervals {
	struct backoff_rule backoff;
	double watch_s;	      /* requested duration of a watch, which the server may end earlier */
	double watch_grace_s; /* a watch is aborted if it lasts this much longer than watch_s */
	double list_s;	      /* time limit for reading a list */
	double token_s, kubelet_s, metadata_s;
};

struct pods_row {
	struct pod pod;
	char alias[PODS_UID_MAX];
	uint64_t list; /* serial number of the last list from the server that had the pod */
	uint64_t gone_mono_ns;
	bool changed;
};

struct pods {
	char *node;
	struct pods_intervals intervals;
	struct worker threads;
	struct pods_worker {
		struct pods *pods;
		struct access access; /* access to the API server or the kubelet */
		/* current error; "": none; protected by the lock of `threads`, like `current` */
		char trouble[200];
		bool current;
	} workers[WORKER_THREADS];
	/* The following members are protected by the lock of `threads`. */
	struct pods_row *rows[PODS_MAX];
	uint32_t nrows;
	uint64_t list; /* serial number of the list being read, or of the last one */
	bool listed;   /* a list is complete */
	bool full_logged;
	struct pods_view view;
	struct gp_notice notices[PODS_NOTICES];
	uint32_t notice_first, notice_count;
	/* Current signs of trouble; index 0: from the API server, 1: from the metadata server. */
	struct pods_signal signals[2][PODS_SIGNALS];
	uint32_t nsignals[2];
};

enum { WORKER_PODS, WORKER_NODE, WORKER_METADATA };

/* Like pods_open(), with other time limits and pauses, for tests. */
int pods_open_with_intervals(struct pods **ret, const struct pods_config *cfg,
			     const struct pods_intervals *intervals);
extern const struct pods_intervals pods_usual_intervals;
void pods_list_begin(struct pods *p);
/* Adds or updates a pod. gone: the pod was deleted; *pod is its last state. */
void pods_put(struct pods *p, const struct pod *pod, const char *alias, bool gone);
void pods_list_end(struct pods *p); /* marks the pods that were not in the list as deleted */
/* Sets the current signs of trouble from one source. Signs that appear or disappear become
 * events. */
void pods_signals(struct pods *p, unsigned source, const struct pods_signal *signals, uint32_t n);
void pods_lost(struct pods *p, uint64_t n);
/* Records that a request succeeded. changes: number of objects received. */
void pods_well(struct pods_worker *w, uint64_t changes);
/* Records that a request failed. Logs one line, but not again while the text stays the same. */
void pods_trouble(struct pods_worker *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sleeps for this number of seconds. Returns false if the threads have to end. */
bool pods_sleep(struct pods *p, double seconds);
bool pods_stops(struct pods *p);
/* Waits before the next attempt after a failure. asked_ms: see backoff_next(). Returns false if the
 * threads have to end. */
bool pods_wait_longer(struct pods *p, struct backoff *b, int64_t asked_ms);

/* ---- threads */

void pods_watch_pods(void *worker);
void pods_watch_node(void *worker);
void pods_watch_kubelet(void *worker);
void pods_watch_metadata(void *worker);

#endif
