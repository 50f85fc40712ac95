/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_examine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/number.h"
#include "userspace/base/plural.h"
#include "userspace/base/proc_file.h"
#include "userspace/watch/examine_wait.h"

#define LENGTH_NS 9000000000ull /* length of an examination */
/* Time between two automatic examinations, so that they stay rare on a machine whose
 * jobs often become slow. */
#define PAUSE_NS 60000000000ull
/* gp-bpf explain begins its examination this long after it found the first training thread, as it
 * may find other threads of the job, and ends it this long before its watch ends. */
#define EXPLAIN_WAIT_NS	 3000000000ull
#define EXPLAIN_LEFT_NS	 2000000000ull
#define EXPLAIN_LEAST_NS 1000000000ull /* minimum length of an examination, in ns */
#define WAITS_MOST	 5	       /* limit of recorded reasons of sleeps, by most time */
/* Limit of further recorded reasons: those with a sleep of at least 10 ms. */
#define WAITS_SLOW   3
#define INSTEAD_MOST 5
#define CGROUP_BYTES 4096

/* The system call in which a thread sleeps, as in /proc/PID/task/TID/syscall. */
struct examine_call_now {
	bool asleep;
	int32_t syscall, fd;
};

struct examines {
	struct loader *loader;
	const char *root;
	struct journal *journal; /* receives the records of the present tick */
	struct examine_request request;
	/* System calls of the threads when the examination began. */
	struct examine_call_now before[EXAMINE_THREADS];
	bool asked;	   /* the present examination was requested by gp-bpf explain */
	uint64_t began_ns; /* begin of the last automatic examination; 0: none */
	/* End of the watch of gp-bpf explain; 0: it has examined, or another command runs. */
	uint64_t explain_until_ns;
	/* Time from which on gp-bpf explain may examine; 0: no training thread was found yet. */
	uint64_t explain_from_ns;
	int told; /* the last error that was logged */
};

int examines_new(struct examines **ret, struct loader *l, const char *root, uint64_t explain_ns)
{
	struct examines *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->loader = l;
	e->root = root;
	e->explain_until_ns = explain_ns ? clock_mono_ns() + explain_ns : 0;
	*ret = e;
	return 0;
}

void examines_free(struct examines *e)
{
	free(e);
}

/* ---- /proc ----------------------------------------------------------------------------------- */

static struct examine_call_now examine_call_of(const struct examines *e,
					       const struct examine_thread *t)
{
	struct examine_call_now now = {.syscall = -1, .fd = -1};
	char path[64], text[256], *end;
	struct proc_stat stat;
	long number;

	snprintf(path, sizeof(path), "task/%d/stat", (int)t->tid);
	if (proc_stat_file(e->root, t->pid, path, &stat))
		return now;
	now.asleep = stat.state && strchr("SDTt", stat.state);
	if (stat.state == 'T' || stat.state == 't') {
		now.syscall = EXAMINE_STOPPED;
		return now;
	}
	snprintf(path, sizeof(path), "task/%d/syscall", (int)t->tid);
	if (proc_slurp(e->root, t->pid, path, text, sizeof(text)) <= 0)
		return now;
	number = strtol(text, &end, 10);
	if (end == text || number < 0 || number >= EXAMINE_CALLS)
		return now;
	now.syscall = (int32_t)number;
	if (e->request.call[number] == EXAMINE_CALL_FD)
		now.fd = (int32_t)strtol(end, NULL, 16);
	return now;
}

static const char *examine_link(const struct examines *e, pid_t pid, int fd, char *out, size_t len)
{
	char path[PROC_PATH_MAX];
	ssize_t n;

	*out = '\0';
	snprintf(path, sizeof(path), "%s/proc/%d/fd/%d", e->root, (int)pid, fd);
	n = fd < 0 ? -1 : readlink(path, out, len - 1);
	out[n > 0 ? n : 0] = '\0';
	return out;
}

/* Writes the end of the path of a process's control group: of version 2 if it is in one, otherwise
 * of version 1. */
static void examine_group(const struct examines *e, uint32_t pid, char *out, size_t len)
{
	char text[CGROUP_BYTES], *next;
	const char *path, *best = "";
	size_t n;

	*out = '\0';
	if (!pid || proc_slurp(e->root, (pid_t)pid, "cgroup", text, sizeof(text)) <= 0)
		return;
	for (char *line = text; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		if (path && path[1] == '/' && path[2] &&
		    (!*best || !strncmp(line, "0::", strlen("0::"))))
			best = path + 1;
	}
	n = strlen(best);
	snprintf(out, len, "%s", n < len ? best : best + n - (len - 1));
}

static void examine_device_name(const struct examines *e, const struct examine_device *d, char *out,
				size_t len)
{
	char path[PROC_PATH_MAX], link[PROC_PATH_MAX];
	const char *last;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/sys/dev/block/%u:%u", e->root, d->major, d->minor);
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	last = strrchr(link, '/');
	if (last)
		snprintf(out, len, "%s", last + 1);
	else
		snprintf(out, len, "%u:%u", d->major, d->minor);
}

/* ---- records --------------------------------------------------------------------------------- */

static void *examine_record(struct examines *e, unsigned kind, const struct examine_thread *t)
{
	struct gp_rec *own = journal_record(e->journal, (__u16)kind, (uint32_t)t->pid, 0);

	if (own)
		(own - 1)->tid = (uint32_t)t->tid;
	return own;
}

struct examine_sums { /* sums of the sleeps of one thread by their reason, longest first */
	int count;
	struct gp_waited wait[EXAMINE_WAITS];
};

/* Adds the time of a sleep to the sum for its reason; begins a sum if there is none yet. */
static void examine_sum(const struct examines *e, struct examine_sums *s,
			const struct examine_thread *t, const struct examine_wait *w)
{
	char link[PROC_PATH_MAX], name[sizeof(s->wait[0].name)];
	enum gp_wait kind;
	struct gp_waited *to;
	int i = 0;

	examine_link(e, t->pid, w->fd, link, sizeof(link));
	kind = examine_wait_kind(w, link);
	examine_wait_name(name, sizeof(name), w, kind, link);
	while (i < s->count && (s->wait[i].wait != kind || strcmp(s->wait[i].name, name) != 0))
		i++;
	if (i == EXAMINE_WAITS)
		return;
	to = &s->wait[i];
	if (i == s->count) {
		*to = (struct gp_waited){.syscall = w->syscall, .wait = (__u8)kind};
		memcpy(to->name, name, sizeof(name));
		s->count++;
	}
	to->ns += w->ns;
	to->worst_ns = larger_of(to->worst_ns, w->worst_ns);
	to->count += w->count;
	to->slow += w->slow;
}

static int examine_sum_compare(const void *a, const void *b)
{
	const struct gp_waited *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* If the BPF program recorded no file for the wait w, copies the file from another wait for the
 * same descriptor. */
static void examine_known(const struct examine_done *d, struct examine_wait *w)
{
	for (int k = 0; w->fd >= 0 && k < d->nwaits; k++) {
		const struct examine_wait *other = &d->wait[k];

		if (!other->known || other->fd != w->fd)
			continue;
		w->known = true;
		w->inet = other->inet;
		w->type = other->type;
		w->address = other->address;
		w->port = other->port;
		memcpy(w->name, other->name, sizeof(w->name));
		return;
	}
}

static void examine_sums_of(const struct examines *e, const struct examine_result *r, int i,
			    struct examine_sums *s, uint64_t *ret_block_ns)
{
	const struct examine_done *d = &r->done[i];
	struct examine_call_now now;

	s->count = 0;
	*ret_block_ns = 0;
	for (int k = 0; k < d->nwaits; k++) {
		struct examine_wait w = d->wait[k];

		*ret_block_ns += w.block ? w.ns : 0;
		if (w.syscall == EXAMINE_BEFORE) {
			w.syscall = e->before[i].syscall;
			w.fd = e->before[i].fd;
			examine_known(d, &w);
		}
		examine_sum(e, s, &d->thread, &w);
	}
	if (d->still) {
		now = examine_call_of(e, &d->thread);
		if (now.asleep)
			examine_sum(e, s, &d->thread,
				    &(struct examine_wait){.ns = r->to_ns - r->from_ns,
							   .worst_ns = r->to_ns - r->from_ns,
							   .count = 1,
							   .slow = 1,
							   .syscall = now.syscall,
							   .fd = now.fd});
	}
	qsort(s->wait, (size_t)s->count, sizeof(s->wait[0]), examine_sum_compare);
}

static void examine_put_waits(struct examines *e, const struct examine_thread *t,
			      const struct examine_sums *s)
{
	int slow = 0;

	for (int i = 0; i < s->count; i++) {
		struct gp_waited *own;

		if (i >= WAITS_MOST && (!s->wait[i].slow || slow++ >= WAITS_SLOW))
			continue;
		own = examine_record(e, GP_KIND_waited, t);
		if (own)
			*own = s->wait[i];
	}
}

static void examine_put_instead(struct examines *e, const struct examine_done *d)
{
	for (int i = 0; i < d->nran && i < INSTEAD_MOST; i++) {
		const struct examine_ran *ran = &d->ran[i];
		struct gp_instead *own = examine_record(e, GP_KIND_instead, &d->thread);

		if (!own)
			return;
		own->ns = ran->ns;
		own->other = ran->pid;
		memcpy(own->comm, ran->comm, sizeof(own->comm));
		examine_group(e, ran->pid, own->group, sizeof(own->group));
	}
}

static void examine_put(struct examines *e, const struct examine_result *r, int i)
{
	struct examine_sums *s = calloc(1, sizeof(*s));
	struct gp_examined *own;
	uint64_t block_ns;

	if (!s)
		return;
	examine_sums_of(e, r, i, s, &block_ns);
	own = examine_record(e, GP_KIND_examined, &r->done[i].thread);
	if (own) {
		own->from_ns = r->from_ns;
		own->to_ns = r->to_ns;
		own->runnable_ns = r->done[i].runnable_ns;
		own->block_ns = block_ns;
		own->cost_ns = r->cost_ns;
		own->flags = (r->dear ? GP_EXAMINED_DEAR : 0u) |
			     (r->blocks ? GP_EXAMINED_BLOCKS : 0u) |
			     (e->asked ? GP_EXAMINED_ASKED : 0u);
		for (int k = 0; k < s->count; k++)
			own->wait_ns[s->wait[k].wait] += s->wait[k].ns;
		for (int k = 0; k < r->ndevices && k < 5; k++) {
			const struct examine_device *from = &r->device[k];
			struct gp_examined_device *to = &own->device[k];

			examine_device_name(e, from, to->name, sizeof(to->name));
			to->ns = from->ns;
			to->worst_ns = from->worst_ns;
			to->count = from->count;
			to->slow = from->slow;
		}
		examine_put_waits(e, &r->done[i].thread, s);
		examine_put_instead(e, &r->done[i]);
	}
	free(s);
}

/* Records that nothing could be examined. */
static void examine_put_error(struct examines *e, int err)
{
	for (int i = 0; i < e->request.count; i++) {
		struct gp_examined *own = examine_record(e, GP_KIND_examined,
							 &e->request.thread[i]);

		if (!own)
			return;
		own->from_ns = own->to_ns = ((struct gp_rec *)own - 1)->ts_ns;
		own->error = err;
	}
	if (err != e->told)
		log_warn(
			"examination: what training threads wait for cannot be seen on this kernel: %s; causes of slowdowns will lack it",
			strerror(-err));
	e->told = err;
}

static void examine_end(struct examines *e, const struct examine_result *r)
{
	if (r->error) {
		examine_put_error(e, r->error);
		return;
	}
	for (int i = 0; i < r->count; i++)
		examine_put(e, r, i);
	log_info(
		"examined %d thread%s for %.1f s%s: the BPF programs ran %llu times, and took %.2f ms of the busiest CPU (%.3f %%)",
		r->count, plural((uint64_t)r->count), (double)(r->to_ns - r->from_ns) / 1e9,
		r->dear ? ", then detached, as it cost more than --overhead-budget" : "",
		(unsigned long long)r->runs, (double)r->cost_ns / 1e6,
		r->to_ns > r->from_ns ? 100 * (double)r->cost_ns / (double)(r->to_ns - r->from_ns)
				      : 0.0);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void examine_add(void *ctx, uint32_t pid, uint32_t tid)
{
	struct examine_request *r = &((struct examines *)ctx)->request;

	if (r->count < EXAMINE_THREADS)
		r->thread[r->count++] = (struct examine_thread){(pid_t)pid, (pid_t)tid};
}

/* Chooses all training threads for gp-bpf explain, EXPLAIN_WAIT_NS after its watch found the first.
 * Returns false if it is too early, or too little time is left. */
static bool examine_choose_all(struct examines *e, const struct output *out, uint64_t now_ns)
{
	uint64_t left_ns = more_than(e->explain_until_ns, now_ns + EXPLAIN_LEFT_NS);

	output_unexplained(out, true, examine_add, e);
	if (e->request.count && !e->explain_from_ns)
		e->explain_from_ns = now_ns + smaller_of(EXPLAIN_WAIT_NS, left_ns / 4);
	if (!e->request.count || now_ns < e->explain_from_ns || left_ns < EXPLAIN_LEAST_NS) {
		e->request.count = 0;
		return false;
	}
	e->request.length_ns = smaller_of(LENGTH_NS, left_ns);
	e->explain_until_ns = 0;
	return true;
}

/* Collects the threads to examine now. */
static void examine_choose(struct examines *e, const struct output *out, uint64_t now_ns)
{
	e->request = (struct examine_request){.length_ns = LENGTH_NS};
	e->asked = e->explain_until_ns && examine_choose_all(e, out, now_ns);
	if (e->asked || e->explain_until_ns || (e->began_ns && now_ns - e->began_ns < PAUSE_NS))
		return;
	output_unexplained(out, false, examine_add, e);
	if (e->request.count)
		e->began_ns = now_ns;
}

void examines_tick(struct examines *e, struct journal *j, const struct output *out)
{
	const struct examine_result *r = loader_examined(e->loader);
	int err;

	e->journal = j;
	if (r)
		examine_end(e, r);
	if (loader_examines(e->loader))
		return;
	examine_choose(e, out, clock_mono_ns());
	if (!e->request.count)
		return;
	examine_wait_calls(e->request.call);
	for (int i = 0; i < e->request.count; i++)
		e->before[i] = examine_call_of(e, &e->request.thread[i]);
	err = loader_examine(e->loader, &e->request);
	if (err)
		examine_put_error(e, err);
}
