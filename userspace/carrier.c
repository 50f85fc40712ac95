/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/carrier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/aside.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/store/carry_file.h"

#define START_NS  2000000000ull	 /* nothing is watched yet */
#define CLOSE_NS  5000000000ull	 /* the last word is worth a moment */
#define ANSWER_NS 10000000000ull /* a file system that is slower is taken for dead ... */
#define AGAIN_NS  60000000000ull /* ... and tried again then */
#define LEAVE_NS  10000000000ull /* between two words of a job to which nothing happened */
#define READ_NS	  1000000000ull	 /* a job may have a thousand processes a second */
#define JOINS_NS  5000000000ull	 /* what is on the tape the model has by then */

struct entry { /* a job */
	char job[64];
	bool read;	    /* to be read */
	uint64_t read_ns;   /* ... was asked for last; 0: never */
	bool known;	    /* had is what was read last: */
	struct carry had;   /* ... it is on the tape */
	uint64_t joined_ns; /* since when; 0: looked after */
	struct carry left;  /* what was left there last; attempt 0: nothing */
	uint64_t left_ns;   /* tried last */
	bool bad, refused;  /* that was told */
};

struct carrier {
	const struct options *options;
	struct output *out;
	struct journal *journal;
	struct aside *aside;
	struct entry job[CARRIER_JOBS];
	uint32_t count;
	char node[CARRY_NODE_MAX];
	struct entry *asked; /* what is waited for is of it; NULL: nothing is */
	bool writes;	     /* ... and is that it is written */
	struct carry going;  /* ... this */
	uint64_t asked_ns, again_ns;
	int trouble; /* of the folder, that was told */
	bool full;   /* that was told */
};

/* ---- over there ---------------------------------------------------------------------------------- */

struct ask {
	const char *dir; /* there since before the other process was begun */
	union {
		char name[CARRY_NAME_MAX];
		struct carry carry;
	};
};
_Static_assert(sizeof(struct ask) <= ASIDE_ARG_MAX, "what is written fits");

static ssize_t read_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *a = arg;

	return cap < CARRY_MAX ? -ENOBUFS : carry_file_read(a->dir, a->name, ret);
}

static ssize_t write_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *a = arg;
	struct carry had = {0};
	int err;

	if (cap < sizeof(had))
		return -ENOBUFS;
	err = carry_file_write(a->dir, &a->carry, &had);
	memcpy(ret, &had, sizeof(had));
	return err;
}

/* ---- jobs ---------------------------------------------------------------------------------------- */

static struct entry *entry_of(struct carrier *c, const char *job)
{
	struct entry *e;

	for (uint32_t i = 0; i < c->count; i++)
		if (!strcmp(c->job[i].job, job))
			return &c->job[i];
	if (c->count == CARRIER_JOBS) {
		if (!c->full)
			log_warn("--carry: more than %d jobs: the history of job %s and others stays on this "
				 "node",
				 CARRIER_JOBS, job);
		c->full = true;
		return NULL;
	}
	e = &c->job[c->count++];
	log_escape(e->job, sizeof(e->job), job, strlen(job));
	return e;
}

/* What the model knows of it. */
static bool own_of(struct carrier *c, const char *job, struct carry *ret)
{
	int found;

	for (uint32_t i = 0; (found = output_carry(c->out, i, ret)) >= 0; i++)
		if (found == 1 && !strcmp(ret->job, job))
			return true;
	return false;
}

static const char *uid_of(const struct carrier *c)
{
	return c->options->job_uid ? c->options->job_uid : "";
}

/* ---- coming -------------------------------------------------------------------------------------- */

static const char *why(int err)
{
	switch (err) {
	case -EPROTO:
		return "it is of a newer gp-bpf";
	case -EBADMSG:
		return "it is damaged, or none";
	case -EEXIST:
		return "it is of another job";
	default:
		return strerror(-err);
	}
}

static void say_bad(struct carrier *c, struct entry *e, int err)
{
	char name[CARRY_NAME_MAX];

	if (e->bad)
		return;
	e->bad = true;
	carry_file_name(name, e->job, uid_of(c));
	log_warn("--carry %s/%s: %s; what other nodes know of job %s is not told", c->options->carry, name,
		 why(err), e->job);
}

static void folder_says(struct carrier *c, int err)
{
	if (err && err != c->trouble)
		log_warn("--carry %s: %s; the history of jobs stays on this node until that works",
			 c->options->carry,
			 err == -ETIMEDOUT ? "it does not answer"
			 : err == -ENOTDIR ? "there is no such folder"
					   : strerror(-err));
	else if (!err && c->trouble)
		log_warn("--carry %s: that works again", c->options->carry);
	c->trouble = err;
	c->again_ns = err ? clock_mono_ns() + AGAIN_NS : 0;
}

static void onto_tape(struct carrier *c, struct entry *e, const char *text, size_t len)
{
	struct gp_carry *r = journal_record(c->journal, GP_KIND_carry, 0, 0);
	char ago[16];
	int64_t ns = clock_real_ns() - e->had.until_ns;

	if (!r)
		return;
	r->len = (__u32)len;
	memcpy(r->text, text, len);
	journal_flush(c->journal);
	e->known = true;
	e->joined_ns = clock_mono_ns();
	log_info("job %s goes on from node %s: attempt %u up to step %llu, known until %s ago by the clocks "
		 "of both",
		 e->job, *e->had.node ? e->had.node : "unknown", e->had.attempt,
		 (unsigned long long)e->had.last_step,
		 clock_duration(ago, sizeof(ago), ns > 0 ? (uint64_t)ns : 0));
}

static void has_read(struct carrier *c, struct entry *e, const char *text, ssize_t len)
{
	struct carry own;
	int err;

	if (len == -ENOENT) {
		folder_says(c, 0);
		return;
	}
	if (len < 0 && len != -EBADMSG) {
		e->read = true;
		folder_says(c, (int)len);
		return;
	}
	folder_says(c, 0);
	err = len < 0 ? (int)len : carry_parse(&e->had, text, (size_t)len);
	if (!err && (strcmp(e->had.job, e->job) != 0 || strcmp(e->had.uid, uid_of(c)) != 0))
		err = -EEXIST;
	if (err)
		say_bad(c, e, err);
	else if (!own_of(c, e->job, &own) || e->had.attempt > own.attempt)
		onto_tape(c, e, text, (size_t)len);
}

/* The job may have trained before what was known of it came. */
static void look_after(struct carrier *c, struct entry *e)
{
	struct carry own;

	if (!e->joined_ns || clock_mono_ns() - e->joined_ns < JOINS_NS)
		return;
	e->joined_ns = 0;
	if (own_of(c, e->job, &own) && own.attempt < e->had.attempt)
		log_warn("--carry: job %s ran here before what other nodes know of it came: what is told of "
			 "it "
			 "is of this node alone",
			 e->job);
}

/* ---- going --------------------------------------------------------------------------------------- */

static void has_written(struct carrier *c, struct entry *e, const struct carry *had, int err)
{
	if (!err)
		e->left = c->going;
	if (!err || err == -ESTALE || err == -EEXIST || err == -EPROTO)
		folder_says(c, 0);
	else
		folder_says(c, err);
	if (err == -ESTALE && !e->refused)
		log_warn("--carry: job %s is at attempt %u on node %s too, which began later: that one's "
			 "history "
			 "is kept, not ours of attempt %u",
			 e->job, had->attempt, *had->node ? had->node : "unknown", c->going.attempt);
	else if ((err == -EEXIST || err == -EPROTO) && !e->refused)
		say_bad(c, e, err);
	e->refused = err == -ESTALE || err == -EEXIST || err == -EPROTO;
}

static bool due(const struct entry *e, const struct carry *own, uint64_t now_ns)
{
	const struct carry *l = &e->left;

	if (now_ns - e->left_ns > LEAVE_NS || !e->left_ns)
		return own->until_ns != l->until_ns || own->attempt != l->attempt;
	return !e->refused &&
	       (own->attempt != l->attempt || own->state != l->state || own->falls != l->falls ||
		own->fell != l->fell || own->saved.step != l->saved.step || own->saves != l->saves);
}

static int ask_write(struct carrier *c, struct entry *e, const struct carry *own)
{
	struct ask a = {.dir = c->options->carry};

	a.carry = *own;
	memcpy(a.carry.node, c->node, sizeof(a.carry.node));
	c->going = *own;
	e->left_ns = clock_mono_ns();
	return aside_ask(c->aside, write_there, &a, sizeof(a));
}

static int ask_read(struct carrier *c, struct entry *e)
{
	struct ask a = {.dir = c->options->carry};

	carry_file_name(a.name, e->job, uid_of(c));
	e->read = false;
	e->read_ns = clock_mono_ns();
	return aside_ask(c->aside, read_there, &a, sizeof(a));
}

/* ---- one after the other ------------------------------------------------------------------------- */

static void answer_take(struct carrier *c, int wait_ms)
{
	struct entry *e = c->asked;
	const void *answer;
	ssize_t n = e ? aside_answer(c->aside, wait_ms, &answer) : -EAGAIN;
	char text[CARRY_MAX];
	struct carry had;

	if (n == -EAGAIN && e && clock_mono_ns() - c->asked_ns > ANSWER_NS) {
		aside_drop(c->aside);
		n = -ETIMEDOUT;
	}
	if (n == -EAGAIN)
		return;
	c->asked = NULL;
	if (c->writes) {
		if (n == -ESTALE)
			memcpy(&had, answer, sizeof(had));
		has_written(c, e, &had, (int)n);
		return;
	}
	if (n > (ssize_t)sizeof(text)) /* the other process is ours: it cannot be */
		n = -EBADMSG;
	if (n > 0)
		memcpy(text, answer, (size_t)n);
	has_read(c, e, text, n);
}

static void asks(struct carrier *c, struct entry *e, bool writes, int err)
{
	c->asked = err ? NULL : e;
	c->writes = writes;
	c->asked_ns = clock_mono_ns();
	if (err)
		folder_says(c, err);
}

static void read_next(struct carrier *c)
{
	for (uint32_t i = 0; i < c->count && !c->asked && clock_mono_ns() >= c->again_ns; i++)
		if (c->job[i].read)
			asks(c, &c->job[i], false, ask_read(c, &c->job[i]));
}

void carrier_poll(struct carrier *c)
{
	if (!c)
		return;
	answer_take(c, 0);
	read_next(c);
}

static void write_next(struct carrier *c, bool all)
{
	uint64_t now_ns = clock_mono_ns();
	struct carry own;
	struct entry *e;
	int found;

	for (uint32_t i = 0; !c->asked && (found = output_carry(c->out, i, &own)) >= 0; i++) {
		e = found == 1 ? entry_of(c, own.job) : NULL;
		if (!e || e->read)
			continue;
		if (all ? e->left.until_ns != own.until_ns && e->left_ns < c->again_ns : due(e, &own, now_ns))
			asks(c, e, true, ask_write(c, e, &own));
	}
}

void carrier_tick(struct carrier *c)
{
	if (!c)
		return;
	carrier_poll(c);
	for (uint32_t i = 0; i < c->count; i++)
		look_after(c, &c->job[i]);
	if (!c->asked && clock_mono_ns() >= c->again_ns)
		write_next(c, false);
}

void carrier_process(struct carrier *c, const struct gp_process *p)
{
	struct carry own;
	struct entry *e;
	char job[64];

	if (!c)
		return;
	log_escape(job, sizeof(job), p->job, sizeof(p->job));
	e = *job ? entry_of(c, job) : NULL;
	if (!e || e->read || c->asked == e || (e->read_ns && clock_mono_ns() - e->read_ns < READ_NS))
		return;
	/* Where it runs or is known as it was left, nothing can have come. */
	if (e->known && !own_of(c, job, &own))
		return;
	e->read = !own_of(c, job, &own) || own.state != JOB_RUNNING;
	carrier_poll(c);
}

static void wait_for(struct carrier *c, uint64_t ns)
{
	uint64_t until_ns = clock_mono_ns() + ns, now_ns;

	while (c->asked && (now_ns = clock_mono_ns()) < until_ns)
		answer_take(c, (int)((until_ns - now_ns) / 1000000) + 1);
}

void carrier_start(struct carrier *c)
{
	struct entry *e;

	if (!c || !c->options->job || !*c->options->job)
		return;
	e = entry_of(c, c->options->job);
	if (!e)
		return;
	e->read = true;
	read_next(c);
	wait_for(c, START_NS);
}

void carrier_finish(struct carrier *c)
{
	uint64_t until_ns = clock_mono_ns() + CLOSE_NS;

	if (!c)
		return;
	wait_for(c, CLOSE_NS);
	c->again_ns = clock_mono_ns();
	for (uint32_t i = 0; i <= c->count && !c->asked && clock_mono_ns() < until_ns && !c->trouble; i++) {
		write_next(c, true);
		wait_for(c, until_ns - clock_mono_ns());
	}
	if (!c->asked)
		return;
	aside_drop(c->aside);
	c->asked = NULL;
	log_warn("--carry %s: it does not answer: the last of what is known here is not there",
		 c->options->carry);
}

int carrier_new(struct carrier **ret, const struct options *o, struct output *out, struct journal *j)
{
	struct carrier *c;
	int err;

	*ret = NULL;
	if (!o->carry || !*o->carry)
		return 0;
	c = calloc(1, sizeof(*c));
	err = c ? aside_new(&c->aside, sizeof(struct carry) + CARRY_MAX) : -ENOMEM;
	if (err) {
		free(c);
		log_error("--carry: %s", strerror(-err));
		return err;
	}
	c->options = o;
	c->out = out;
	c->journal = j;
	if (gethostname(c->node, sizeof(c->node) - 1))
		memset(c->node, 0, sizeof(c->node));
	*ret = c;
	return 0;
}

void carrier_free(struct carrier *c)
{
	if (!c)
		return;
	if (c->asked)
		aside_drop(c->aside);
	aside_free(c->aside);
	free(c);
}
