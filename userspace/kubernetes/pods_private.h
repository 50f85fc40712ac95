/* SPDX-License-Identifier: Apache-2.0 */
/* pods_private.h - what the files of this stage share. See pods.h. */
#ifndef KUBERNETES_PODS_PRIVATE_H
#define KUBERNETES_PODS_PRIVATE_H

#include <pthread.h>

#include <cjson/cJSON.h>

#include "userspace/cloud/web.h"
#include "userspace/kubernetes/access.h"
#include "userspace/kubernetes/pods.h"

#define PODS_OBJECT_MAX	 (1u << 20) /* bytes of a pod or a node as JSON; etcd's bound is 1.5 MiB */
#define PODS_LIST_MAX	 (256u << 20) /* of a list, which is taken object by object */
#define PODS_PAGE	 250	      /* pods at once; more than most nodes have */
#define PODS_VERSION_MAX 128	      /* a resourceVersion; digits, as a rule */
#define PODS_TOKEN_MAX	 4096	      /* of "continue", and a resourceVersion in it */
#define PODS_GONE_S	 600	      /* a pod that is gone stays known so long */
#define PODS_NOTICES	 256	      /* that nobody took yet */
#define PODS_SIGNALS	 32	      /* of a node at once */

/* ---- one object at a time (pods_stream.c) */

/* Objects of a stream: lines of a watch, or elements of "items" of a list. */
struct pods_stream {
	bool list;
	struct buffer text; /* of the object under way */
	bool too_long;	    /* it is longer than PODS_OBJECT_MAX: skipped */
	uint64_t skipped, objects, bytes;
	/* State within a list. */
	uint32_t depth, items_depth;
	bool quoted, escaped, inside, value;
	char key[16];
	uint32_t key_len;
	/* true: go on. text is NUL-terminated, and the callee's to change. */
	bool (*object)(void *ctx, char *text, size_t len);
	bool (*meta)(void *ctx, char *text, size_t len); /* of a list: its "metadata" */
	void *ctx;
};

/* false: a callback has had enough, or memory is out (text.failed), or there is no end to it. */
bool pods_stream_feed(struct pods_stream *s, const char *data, size_t len);
/* The end of a watch: its last line may lack a line break. */
bool pods_stream_end(struct pods_stream *s);
void pods_stream_free(struct pods_stream *s);

/* ---- fields of an object (pods_field.c) */

/* A string, printable and cut; "": there is none. */
void pods_text(const cJSON *json, const char *name, char *out, size_t cap);
/* The string as it is; "": there is none. */
const char *pods_string(const cJSON *json, const char *name);
/* UTC since 1970; 0: there is none, or before then. */
int64_t pods_time(const cJSON *json, const char *name);
/* An object's: 0 and on; -1: there is none. Numbers and strings of digits. */
int pods_number(const cJSON *json, const char *name);
const cJSON *pods_object(const cJSON *json, const char *name);

/* ---- what an object says (pods_parse.c, pods_job.c) */

#define PODS_UID_MAX 40

/* A Pod. false: it has no uid or no name that fits. All of *ret is written, padding too. alias: the
 * uid that the kubelet itself gives a static pod; "": none. */
bool pods_parse(const cJSON *pod, struct pod *ret, char alias[PODS_UID_MAX]);
/* The job that it is part of; ret's other fields are there. */
void pods_parse_job(const cJSON *pod, struct pod *ret);

/* ---- what a node says (pods_node.c) */

struct pods_signal {
	char key[64]; /* "condition Ready", "taint KEY" */
	struct gp_notice notice;
};

/* Its text: cut where characters end. */
void pods_say(struct gp_notice *notice, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns the number of signals of trouble. */
uint32_t pods_parse_node(const cJSON *node, struct pods_signal signals[PODS_SIGNALS]);

/* ---- what is known (pods.c) */

struct pods_pace { /* seconds, of tests in parts */
	double backoff_first_s, backoff_max_s;
	double watch_s;	      /* that a watch lasts; the server may end it earlier */
	double watch_grace_s; /* after that it is ended */
	double list_s;	      /* a list may take */
	double token_s, kubelet_s, metadata_s;
};

struct pods_row {
	struct pod pod;
	char alias[PODS_UID_MAX];
	uint64_t list; /* the last that had it */
	uint64_t gone_mono_ns;
	bool changed;
};

struct pods {
	char *node, *server, *token_file, *ca_file, *kubelet;
	bool kubelet_insecure;
	struct pods_pace pace;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	struct pods_worker {
		struct pods *pods;
		struct web *web;
		pthread_t thread;
		bool runs;
		char trouble[200]; /* under lock, as the next */
		bool current;
	} workers[3];
	/* Under lock. */
	struct pods_row *rows[PODS_MAX];
	uint32_t nrows;
	uint64_t list; /* the one under way, or the last */
	bool listed;   /* one is complete */
	bool full_logged;
	struct pods_view view;
	struct gp_notice notices[PODS_NOTICES];
	uint32_t notice_first, notice_count;
	struct pods_signal signals[2][PODS_SIGNALS]; /* of the API, of the metadata server */
	uint32_t nsignals[2];
};

enum { WORKER_PODS, WORKER_NODE, WORKER_METADATA };

/* As pods_open(), at another pace. */
int pods_open_paced(struct pods **ret, const struct pods_config *cfg, const struct pods_pace *pace);
/* The same without its threads: who is asked, and what is shown there. */
int pods_new(struct pods **ret, const struct pods_config *cfg, const struct pods_pace *pace);
extern const struct pods_pace pods_usual_pace;
void pods_list_begin(struct pods *p);
void pods_put(struct pods *p, const struct pod *pod, const char *alias);
void pods_drop(struct pods *p, const struct pod *pod, const char *alias);
void pods_list_end(struct pods *p); /* what it did not have is gone */
/* Trouble of the node now, as one source reports it: changes become notices. */
void pods_signals(struct pods *p, unsigned source, const struct pods_signal *signals, uint32_t n);
void pods_lost(struct pods *p, uint64_t n);
/* It works: changes: so many objects came. */
void pods_well(struct pods_worker *w, uint64_t changes);
/* It does not: told once, in one line, until that changes. */
void pods_trouble(struct pods_worker *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* false: it is over. */
bool pods_sleep(struct pods *p, double seconds);
bool pods_stops(struct pods *p);
/* As access_backoff_s(). */
double pods_backoff(const struct pods *p, unsigned failures);

/* ---- threads */

void *pods_watch_pods(void *worker);
void *pods_watch_node(void *worker);
void *pods_watch_kubelet(void *worker);
void *pods_watch_metadata(void *worker);

/* A GET, as access_send(). */
int pods_get_reply(struct access *a, const char *path, double timeout_s, web_take_fn *take,
		   void *ctx, struct web_reply *ret);
/* What access_why() says becomes this one's trouble. */
void pods_refused(struct pods_worker *w, const struct access *a, const struct web_reply *r,
		  const char *what, const char *rule);

#endif
