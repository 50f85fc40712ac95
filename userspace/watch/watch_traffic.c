/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_traffic.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "userspace/base/backoff.h"
#include "userspace/base/clock.h"
#include "userspace/base/helper.h"
#include "userspace/base/log.h"
#include "userspace/base/number.h"
#include "userspace/identity/traffic.h"

/* Limits of one request: processes, and network namespaces. */
#define PROCESSES_MAX 240
#define NETWORKS_MAX  8
/* Limit of the time of a request (ns); after it, the request is given up. */
#define LATE_NS 4000000000ull
/* Counts that are further apart (ns) are not compared. */
#define FRESH_NS 1500000000ull

static const struct backoff_rule traffic_pause = {
	.first_ns = 10000000000ull,
	.most_ns = 300000000000ull,
};

struct traffic_request {
	/* "", or the folder that contains proc and sys; allocated before the helper process was
	 * started */
	const char *root;
	uint64_t n; /* 64 bits, so that the request, which is sent as raw bytes, has no padding */
	struct {
		uint32_t pid;
		uint32_t trainer; /* pid of the process for which it loads data; 0: it trains */
	} process[PROCESSES_MAX];
};

struct traffic_reply {
	uint64_t at_ns; /* CLOCK_MONOTONIC; 0: there is none */
	/* for each process of the request */
	struct {
		bool known; /* `reads` is known */
		struct traffic_reads reads;
		uint32_t network; /* index in `network` + 1; 0: unknown */
	} process[PROCESSES_MAX];
	uint32_t nnetworks;
	struct traffic_network network[NETWORKS_MAX];
};

_Static_assert(sizeof(struct traffic_request) <= HELPER_ARG_MAX, "too many processes");

struct traffics {
	struct helper *helper;
	struct traffic_request ask, last_ask;
	struct traffic_reply last; /* answer to last_ask */
	uint64_t asked_ns;	   /* when the last request was sent (ns) */
	uint64_t pause_ns;	   /* no request is sent before this time */
	struct backoff backoff;
	bool waiting; /* a request was sent, and its answer has not come yet */
	bool stuck;   /* a failure of the helper process has been logged */
};

int traffics_new(struct traffics **ret, const char *root)
{
	struct traffics *t = calloc(1, sizeof(*t));

	if (!t || helper_new(&t->helper, sizeof(struct traffic_reply))) {
		free(t);
		return -ENOMEM;
	}
	t->ask.root = root;
	*ret = t;
	return 0;
}

void traffics_free(struct traffics *t)
{
	if (!t)
		return;
	if (t->waiting)
		helper_drop(t->helper);
	helper_free(t->helper);
	free(t);
}

/* ---- in the helper process ------------------------------------------------------------------- */

/* Returns the index + 1 of the network of a process, which is read if it is a new one; 0: there are
 * too many. */
static uint32_t traffic_network_of(const char *root, pid_t pid, struct traffic_reply *r)
{
	uint64_t id = traffic_namespace(root, pid);
	uint32_t i = 0;

	while (i < r->nnetworks && r->network[i].id != id)
		i++;
	if (i == NETWORKS_MAX)
		return 0;
	if (i == r->nnetworks) {
		traffic_network(root, pid, &r->network[i]);
		r->network[i].id = id;
		r->nnetworks++;
	}
	return i + 1;
}

/* Adds the InfiniBand ports, which belong to the machine, to all networks. */
static void traffic_ports_of(const char *root, struct traffic_reply *r)
{
	struct traffic_link port[TRAFFIC_PORTS];
	uint32_t n = r->nnetworks ? traffic_ports(root, port) : 0;

	for (uint32_t i = 0; n && i < r->nnetworks; i++) {
		struct traffic_network *net = &r->network[i];

		memcpy(net->link + net->nlinks, port, n * sizeof(*port));
		net->nlinks += n;
	}
}

static ssize_t traffic_read_there(const void *arg, void *ret, size_t cap)
{
	const struct traffic_request *ask = arg;
	struct traffic_reply *r = ret;

	if (cap < sizeof(*r))
		return -ENOBUFS;
	prctl(PR_SET_NAME, "gp-bpf-traffic");
	r->at_ns = clock_mono_ns();
	r->nnetworks = 0;
	for (uint64_t i = 0; i < ask->n; i++) {
		pid_t pid = (pid_t)ask->process[i].pid;

		r->process[i].known = !traffic_reads(ask->root, pid, &r->process[i].reads);
		r->process[i].network = ask->process[i].trainer
						? 0
						: traffic_network_of(ask->root, pid, r);
	}
	traffic_ports_of(ask->root, r);
	return sizeof(*r);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Returns the index of a process in the last request, or -1 if it has no figures there. */
static int traffic_before(const struct traffics *t, uint32_t pid)
{
	for (uint64_t i = 0; i < t->last_ask.n; i++) {
		if (t->last_ask.process[i].pid == pid)
			return t->last.process[i].known ? (int)i : -1;
	}
	return -1;
}

static const struct traffic_network *traffic_network_before(const struct traffics *t, uint64_t id)
{
	for (uint32_t i = 0; i < t->last.nnetworks; i++) {
		if (t->last.network[i].id == id)
			return &t->last.network[i];
	}
	return NULL;
}

/* Adds what a worker has read since the last request. */
static void traffic_worker(const struct traffics *t, const struct traffic_reply *r, uint64_t i,
			   struct gp_traffic *ret)
{
	int before = traffic_before(t, t->ask.process[i].pid);

	if (before < 0 || !r->process[i].known)
		return;
	ret->worker_storage += more_than(r->process[i].reads.storage,
					 t->last.process[before].reads.storage);
	ret->worker_calls += more_than(r->process[i].reads.calls,
				       t->last.process[before].reads.calls);
	ret->workers++;
	ret->flags |= GP_TRAFFIC_WORKERS;
}

/* Fills the record of process i of the request. */
static void traffic_grown(const struct traffics *t, const struct traffic_reply *r, uint64_t i,
			  struct gp_traffic *ret)
{
	const struct traffic_network *now = NULL, *old = NULL;
	int before = traffic_before(t, t->ask.process[i].pid);

	if (before >= 0 && r->process[i].known) {
		ret->storage = more_than(r->process[i].reads.storage,
					 t->last.process[before].reads.storage);
		ret->calls = more_than(r->process[i].reads.calls,
				       t->last.process[before].reads.calls);
		ret->flags |= GP_TRAFFIC_READ;
	}
	if (r->process[i].network)
		now = &r->network[r->process[i].network - 1];
	if (now)
		old = traffic_network_before(t, now->id);
	if (old)
		traffic_network_grown(old, now, ret);
	for (uint64_t k = 0; k < t->ask.n; k++) {
		if (t->ask.process[k].trainer == t->ask.process[i].pid)
			traffic_worker(t, r, k, ret);
	}
}

static void traffic_take(struct traffics *t, struct journal *j, const struct traffic_reply *r)
{
	bool fresh = t->last.at_ns && r->at_ns > t->last.at_ns &&
		     r->at_ns - t->last.at_ns <= FRESH_NS;

	for (uint64_t i = 0; fresh && i < t->ask.n; i++) {
		struct gp_traffic grown = {.at_ns = r->at_ns, .span_ns = r->at_ns - t->last.at_ns};
		struct gp_traffic *own;

		if (t->ask.process[i].trainer)
			continue;
		traffic_grown(t, r, i, &grown);
		own = grown.flags ? journal_record(j, GP_KIND_traffic, t->ask.process[i].pid, 0)
				  : NULL;
		if (own)
			*own = grown;
	}
	t->last = *r;
	t->last_ask = t->ask;
	t->backoff = (struct backoff){0};
	t->stuck = false;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void traffic_failed(struct traffics *t, uint64_t now_ns, const char *how)
{
	t->pause_ns = now_ns +
		      backoff_next(&t->backoff, &traffic_pause, BACKOFF_UNASKED, backoff_random());
	if (!t->stuck)
		log_warn(
			"traffic: the helper process that reads what processes read and resend %s; it is started again after a pause, and these figures are missing meanwhile",
			how);
	t->stuck = true;
}

static void traffic_answer(struct traffics *t, struct journal *j, uint64_t now_ns)
{
	const void *reply;
	ssize_t n = helper_answer(t->helper, 0, &reply);

	if (n == -EAGAIN && now_ns - t->asked_ns <= LATE_NS)
		return;
	t->waiting = false;
	if (n == sizeof(struct traffic_reply)) {
		traffic_take(t, j, reply);
		return;
	}
	if (n == -EAGAIN)
		helper_drop(t->helper);
	traffic_failed(t, now_ns, n == -EAGAIN ? "does not answer" : "has ended");
}

static void traffic_add(struct traffics *t, uint32_t pid, uint32_t trainer)
{
	if (t->ask.n == PROCESSES_MAX)
		return;
	t->ask.process[t->ask.n].pid = pid;
	t->ask.process[t->ask.n++].trainer = trainer;
}

static void traffic_on_trainer(void *ctx, uint32_t pid, uint32_t tid)
{
	(void)tid;
	traffic_add(ctx, pid, 0);
}

static void traffic_on_starved(void *ctx, uint32_t pid, uint32_t tid, uint32_t child)
{
	(void)tid;
	if (child)
		traffic_add(ctx, child, pid);
}

void traffics_tick(struct traffics *t, struct journal *j, const struct output *out)
{
	uint64_t now_ns = clock_mono_ns();
	int err;

	if (t->waiting)
		traffic_answer(t, j, now_ns);
	if (t->waiting || now_ns < t->pause_ns)
		return;
	t->ask.n = 0;
	output_trainers(out, traffic_on_trainer, t);
	output_starved(out, traffic_on_starved, t);
	if (!t->ask.n)
		return;
	err = helper_ask(t->helper, traffic_read_there, &t->ask,
			 offsetof(struct traffic_request, process) +
				 t->ask.n * sizeof(t->ask.process[0]));
	if (err) {
		traffic_failed(t, now_ns, "cannot be asked");
		return;
	}
	t->asked_ns = now_ns;
	t->waiting = true;
}
