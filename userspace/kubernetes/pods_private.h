/* SPDX-License-Identifier: Apache-2.0 */
/* pods_private.h - shared by the files of this folder. See pods.h. */
#ifndef KUBERNETES_PODS_PRIVATE_H
#define KUBERNETES_PODS_PRIVATE_H

#include "userspace/base/backoff.h"
#include "userspace/base/worker.h"
#include "userspace/cloud/web.h"
#include "userspace/kubernetes/access.h"
#include "userspace/kubernetes/pods.h"
#include "userspace/kubernetes/pods_field.h"

/* Limit of bytes of a pod or node as JSON; that of etcd is 1.5 MiB. */
#define PODS_OBJECT_MAX (1u << 20)
/* Limit of bytes of a list, which is parsed object by object. */
#define PODS_LIST_MAX	 (256u << 20)
#define PODS_PAGE	 250  /* pods in one reply; more than most nodes have */
#define PODS_VERSION_MAX 128  /* length of a resourceVersion; usually digits */
#define PODS_TOKEN_MAX	 4096 /* length of "continue", which includes a resourceVersion */
#define PODS_GONE_S	 600  /* seconds for which a pod stays known after it is gone */
#define PODS_NOTICES	 256  /* limit of events that wait to be taken */
#define PODS_SIGNALS	 32   /* limit of signals of a node at the same time */

/* ---- one object at a time (pods_stream.c) */

/* Splits a stream into objects: lines of a watch, or elements of "items" of a list. */
struct pods_stream {
	bool list;
	struct buffer text; /* text of the present object */
	bool too_long;	    /* the present object is longer than PODS_OBJECT_MAX, and is skipped */
	uint64_t skipped, objects, bytes;
	/* State within a list. */
	uint32_t depth, items_depth;
	bool quoted, escaped, inside, value;
	char key[16];
	uint32_t key_len;
	/* Returns true to continue. text is NUL-terminated; the callee may change it. */
	bool (*object)(void *ctx, char *text, size_t len);
	bool (*meta)(void *ctx, char *text, size_t len); /* gets "metadata" of a list */
	void *ctx;
};

/* Returns false if a callback returned false, if there is no memory (text.failed), or if an object
 * does not end. */
bool pods_stream_feed(struct pods_stream *s, const char *data, size_t len);
/* Handles the end of a watch, whose last line may lack a line break. */
bool pods_stream_end(struct pods_stream *s);
void pods_stream_free(struct pods_stream *s);

/* ---- content of an object (pods_parse.c, pods_job.c) */

#define PODS_UID_MAX 40

/* Parses a Pod. Returns false if the pod has no valid uid or name. Writes all of *ret, including
 * padding. alias: the uid that the kubelet gives a static pod; "": none. */
bool pods_parse(const cJSON *pod, struct pod *ret, char alias[PODS_UID_MAX]);
/* Fills in the job of the pod; the other fields of ret are set already. */
void pods_parse_job(const cJSON *pod, struct pod *ret);

/* ---- content of a node (pods_node.c) */

struct pods_signal {
	char key[64]; /* "condition Ready", "taint KEY" */
	struct gp_notice notice;
};

/* Sets the text of an event, cut between characters if it is too long. */
void pods_say(struct gp_notice *notice, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Finds signals of trouble on a node. Returns their number. */
uint32_t pods_parse_node(const cJSON *node, struct pods_signal signals[PODS_SIGNALS]);

/* ---- present knowledge (pods.c) */

struct pods_intervals { /* those ending in _s in seconds; tests use fractions */
	struct backoff_rule backoff;
	double watch_s;	      /* duration of a watch; the server may end it earlier */
	double watch_grace_s; /* a watch that lasts this much longer is aborted */
	double list_s;	      /* limit of the time for a list */
	double token_s, kubelet_s, metadata_s;
};

struct pods_row {
	struct pod pod;
	char alias[PODS_UID_MAX];
	uint64_t list; /* number of the last list that contained it */
	uint64_t gone_mono_ns;
	bool changed;
};

struct pods {
	char *node;
	struct pods_intervals intervals;
	struct worker threads;
	struct pods_worker {
		struct pods *pods;
		struct access access; /* to the API server or the kubelet */
		char trouble[200];    /* protected by the lock of threads, as is the next field */
		bool current;
	} workers[WORKER_THREADS];
	/* Protected by the lock of threads. */
	struct pods_row *rows[PODS_MAX];
	uint32_t nrows;
	uint64_t list; /* number of the present or last list */
	bool listed;   /* a list is complete */
	bool full_logged;
	struct pods_view view;
	struct gp_notice notices[PODS_NOTICES];
	uint32_t notice_first, notice_count;
	/* From the API server, from the metadata server. */
	struct pods_signal signals[2][PODS_SIGNALS];
	uint32_t nsignals[2];
};

enum { WORKER_PODS, WORKER_NODE, WORKER_METADATA };

/* Like pods_open(), with other intervals, for tests. */
int pods_open_with_intervals(struct pods **ret, const struct pods_config *cfg,
			     const struct pods_intervals *intervals);
extern const struct pods_intervals pods_usual_intervals;
void pods_list_begin(struct pods *p);
/* Adds or updates a pod. gone: the pod was deleted, and this is its last state. */
void pods_put(struct pods *p, const struct pod *pod, const char *alias, bool gone);
void pods_list_end(struct pods *p); /* pods that were not in the list are gone */
/* Sets the present trouble of the node from one source; changes become events. */
void pods_signals(struct pods *p, unsigned source, const struct pods_signal *signals, uint32_t n);
void pods_lost(struct pods *p, uint64_t n);
/* Reports success; changes: number of objects received. */
void pods_well(struct pods_worker *w, uint64_t changes);
/* Reports a failure: logged once, in one line, until the text changes. */
void pods_trouble(struct pods_worker *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sleeps. Returns false if the threads have to end. */
bool pods_sleep(struct pods *p, double seconds);
bool pods_stops(struct pods *p);
/* Waits after a failure; asked_ms as for backoff_next(). Returns as pods_sleep(). */
bool pods_wait_longer(struct pods *p, struct backoff *b, int64_t asked_ms);

/* ---- threads */

void pods_watch_pods(void *worker);
void pods_watch_node(void *worker);
void pods_watch_kubelet(void *worker);
void pods_watch_metadata(void *worker);

#endif
