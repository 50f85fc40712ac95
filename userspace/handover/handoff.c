/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/handover/handoff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/hash.h"
#include "userspace/base/log.h"
#include "userspace/handover/handoff_transport.h"

/* Limit of the time for reading histories before the watch begins. */
#define START_NS 2000000000ull
#define CLOSE_NS 5000000000ull /* limit of the time for storing histories at the end */
/* Limit of the time of a request; after it, the request is abandoned. */
#define ANSWER_NS 10000000000ull
#define LEAVE_NS  10000000000ull /* time after which an unchanged history is stored again */
/* Minimum time between two reads for the same job: a job may start a thousand processes in a
 * second. */
#define READ_NS 1000000000ull
/* Time after which handoff_check_joined() checks that the model has used a history that was put on
 * the tape. */
#define JOINS_NS 5000000000ull
/* An entry whose job is not in the model is dropped if no process of the job was reported for this
 * time. */
#define IDLE_NS 10000000000ull
/* Minimum time between two searches for an entry that can be dropped. */
#define ROOM_NS 1000000000ull

struct entry { /* a job */
	struct carry_map_job who;
	bool read;	  /* the history has to be read */
	uint64_t read_ns; /* time of the last request for the history; 0: never */
	bool known;	  /* `had` is valid */
	struct carry had; /* the history of other nodes, as read and put on the tape */
	/* When `had` was put on the tape; 0: `had` was not put on the tape, or
	 * handoff_check_joined() has checked that the model uses it. */
	uint64_t joined_ns;
	struct carry left; /* the history that this node stored last; left.attempt 0: none */
	uint64_t left_ns;  /* time of the last attempt to store a history */
	bool bad, refused; /* a failure was logged: to read (bad), to write (refused) */
	uint64_t used_ns;  /* when a process of the job was reported last */
};

struct handoff {
	const struct options *options;
	struct output *out;
	struct journal *journal;
	struct transport *transport;
	/* If all entries are in use, a new job replaces one that has ended. */
	struct entry job[HANDOFF_JOBS];
	uint32_t count;
	bool full; /* it was logged that there are too many jobs */
	/* when a search last found no entry to drop; 0: the last search found one */
	uint64_t room_ns;
	char node[CARRY_NODE_MAX];
	/* The entry that the current request is for; NULL: no request is running. */
	struct entry *asked;
	bool writes;	    /* the current request writes; false: it reads */
	struct carry going; /* the history that the current request writes */
	uint64_t asked_ns;
	struct trouble { /* state of failures: [0] for reading, [1] for writing */
		/* The last error, which was logged; 0: the last request was successful. */
		int err;
		struct backoff backoff;
		uint64_t again_ns; /* no request is sent before this time */
	} trouble[2];
	uint32_t turn; /* index of the job whose history is written next */
};

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Gets the job's history as it is in this node's model. Returns false if the model does not have
 * the job. */
static bool handoff_own_of(struct handoff *c, const struct entry *e, struct carry *ret)
{
	int found;

	for (uint32_t i = 0; (found = output_carry(c->out, i, ret)) >= 0; i++)
		if (found == 1 && !strcmp(ret->job, e->who.job) && !strcmp(ret->uid, e->who.uid))
			return true;
	return false;
}

static struct entry *handoff_find(struct handoff *c, const char *job, const char *uid)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (!strcmp(c->job[i].who.job, job) && !strcmp(c->job[i].who.uid, uid))
			return &c->job[i];
	return NULL;
}

static bool handoff_over(const struct carry *own)
{
	return own->state == JOB_ENDED || own->state == JOB_OVER;
}

/* Returns true if the entry can be dropped: the job has ended and its history was stored, or the
 * model does not have the job (own is NULL). */
static bool handoff_done(const struct entry *e, const struct carry *own, uint64_t now_ns)
{
	if (e->read || e->joined_ns)
		return false;
	if (!own)
		return now_ns - e->used_ns > IDLE_NS;
	return handoff_over(own) && (e->refused || e->bad || e->left.until_ns == own->until_ns);
}

/* Returns the entry that can be dropped and whose job had the longest time without a reported
 * process; NULL: no entry can be dropped. */
static struct entry *handoff_room(struct handoff *c)
{
	bool done[HANDOFF_JOBS];
	uint64_t now_ns = clock_mono_ns();
	struct entry *e, *oldest = NULL;
	struct carry own;
	int found;

	if (c->room_ns && now_ns - c->room_ns < ROOM_NS)
		return NULL;
	for (uint32_t i = 0; i < c->count; i++)
		done[i] = handoff_done(&c->job[i], NULL, now_ns);
	for (uint32_t i = 0; (found = output_carry(c->out, i, &own)) >= 0; i++) {
		e = found == 1 ? handoff_find(c, own.job, own.uid) : NULL;
		if (e)
			done[e - c->job] = handoff_done(e, &own, now_ns);
	}
	for (uint32_t i = 0; i < c->count; i++) {
		e = &c->job[i];
		if (done[i] && e != c->asked && (!oldest || e->used_ns < oldest->used_ns))
			oldest = e;
	}
	c->room_ns = oldest ? 0 : now_ns;
	return oldest;
}

/* Finds or adds the entry of a job. Returns NULL if there are too many jobs, which is logged
 * once. */
static struct entry *handoff_entry_of(struct handoff *c, const char *job, const char *uid)
{
	struct entry *e = handoff_find(c, job, uid);

	if (e)
		return e;
	e = c->count < HANDOFF_JOBS ? &c->job[c->count++] : handoff_room(c);
	if (!e) {
		if (!c->full)
			log_warn(
				"--carry: more than %d jobs at a time: the history of job %s and others stays on this node",
				HANDOFF_JOBS, job);
		c->full = true;
		return NULL;
	}
	memset(e, 0, sizeof(*e));
	e->used_ns = clock_mono_ns();
	log_escape(e->who.job, sizeof(e->who.job), job, strlen(job));
	log_escape(e->who.uid, sizeof(e->who.uid), uid, strlen(uid));
	return e;
}

static const char *handoff_uid_of(const struct handoff *c)
{
	return c->options->job_uid ? c->options->job_uid : "";
}

/* ---- reading --------------------------------------------------------------------------------- */

static void handoff_log_bad(struct handoff *c, struct entry *e, int err)
{
	char name[TRANSPORT_NAME_MAX];

	if (e->bad)
		return;
	e->bad = true;
	transport_name(c->transport, &e->who, name);
	log_warn("--carry %s: %s; reporting job %s without its history on other nodes", name,
		 transport_why(c->transport, err), e->who.job);
}

static void handoff_transport_says(struct handoff *c, bool writes, int err)
{
	struct trouble *t = &c->trouble[writes], *other = &c->trouble[!writes];

	if (err && err != t->err && err != other->err)
		log_warn(
			"--carry %s: %s; the history of jobs stays on this node until requests succeed again",
			c->options->carry, transport_why(c->transport, err));
	else if (!err && t->err && !other->err)
		log_warn("--carry %s: requests succeed again", c->options->carry);
	t->err = err;
	if (!err)
		t->backoff.failures = 0;
	t->again_ns = err ? clock_mono_ns() + transport_pause_ns(c->transport, &t->backoff) : 0;
}

static void handoff_onto_tape(struct handoff *c, struct entry *e, const char *text, size_t len)
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
	log_info(
		"job %s continues with its history of node %s: attempt %u, step %llu, stored %s ago if the clocks of both nodes agree",
		e->who.job, *e->had.node ? e->had.node : "unknown", e->had.attempt,
		(unsigned long long)e->had.last_step,
		clock_duration(ago, sizeof(ago), ns > 0 ? (uint64_t)ns : 0));
}

static void handoff_has_read(struct handoff *c, struct entry *e, const char *text, ssize_t len)
{
	struct carry own;
	int err;

	if (len < 0 && len != -ENOENT && !transport_is_of_job((int)len)) {
		e->read = true;
		handoff_transport_says(c, false, (int)len);
		return;
	}
	handoff_transport_says(c, false, 0);
	if (len == -ENOENT)
		return;
	err = len < 0 ? (int)len : carry_parse(&e->had, text, (size_t)len);
	if (!err && (strcmp(e->had.job, e->who.job) != 0 || strcmp(e->had.uid, e->who.uid) != 0))
		err = -EEXIST;
	if (err)
		handoff_log_bad(c, e, err);
	else if (!handoff_own_of(c, e, &own) || e->had.attempt > own.attempt)
		handoff_onto_tape(c, e, text, (size_t)len);
}

/* Logs a warning if the model ignored the history from other nodes, because the job had started
 * here before the history arrived. */
static void handoff_check_joined(struct handoff *c, struct entry *e)
{
	struct carry own;

	if (!e->joined_ns || clock_mono_ns() - e->joined_ns < JOINS_NS)
		return;
	e->joined_ns = 0;
	if (handoff_own_of(c, e, &own) && own.attempt < e->had.attempt)
		log_warn(
			"--carry: job %s started before its history arrived from other nodes; reporting this node's history only",
			e->who.job);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void handoff_has_written(struct handoff *c, struct entry *e, const struct carry *had,
				int err)
{
	bool of_job = transport_is_of_job(err);

	if (!err)
		e->left = c->going;
	handoff_transport_says(c, true, err == -ESTALE || of_job ? 0 : err);
	if (err == -ESTALE && !e->refused)
		log_warn(
			"--carry: job %s also runs with attempt %u on node %s, where it began later; this node's history, of attempt %u, is not stored",
			e->who.job, had->attempt, *had->node ? had->node : "unknown",
			c->going.attempt);
	else if (of_job && !e->refused)
		handoff_log_bad(c, e, err);
	e->refused = err == -ESTALE || of_job;
}

static bool handoff_due(const struct entry *e, const struct carry *own, uint64_t now_ns)
{
	const struct carry *l = &e->left;

	if (now_ns - e->left_ns > LEAVE_NS || !e->left_ns)
		return own->until_ns != l->until_ns || own->attempt != l->attempt;
	return !e->refused &&
	       (own->attempt != l->attempt || own->state != l->state ||
		own->disruptions != l->disruptions || own->disrupted != l->disrupted ||
		own->saved.step != l->saved.step || own->saves != l->saves);
}

static int handoff_ask_write(struct handoff *c, struct entry *e, const struct carry *own)
{
	struct carry sent = *own;

	memcpy(sent.node, c->node, sizeof(sent.node));
	c->going = *own;
	e->left_ns = clock_mono_ns();
	return transport_write(c->transport, &e->who, &sent);
}

static int handoff_ask_read(struct handoff *c, struct entry *e)
{
	e->read = false;
	e->read_ns = clock_mono_ns();
	return transport_read(c->transport, &e->who);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void handoff_answer_take(struct handoff *c, int wait_ms)
{
	struct entry *e = c->asked;
	const void *answer;
	ssize_t n = e ? transport_answer(c->transport, wait_ms, &answer) : -EAGAIN;
	char text[CARRY_MAX];
	struct carry had;

	if (n == -EAGAIN && e && clock_mono_ns() - c->asked_ns > ANSWER_NS) {
		transport_drop(c->transport);
		n = -ETIMEDOUT;
	}
	if (n == -EAGAIN)
		return;
	c->asked = NULL;
	if (c->writes) {
		if (n == -ESTALE)
			memcpy(&had, answer, sizeof(had));
		handoff_has_written(c, e, &had, (int)n);
		return;
	}
	/* cannot happen: the answer comes from a process of gp-bpf */
	if (n > (ssize_t)sizeof(text))
		n = -EBADMSG;
	if (n > 0)
		memcpy(text, answer, (size_t)n);
	handoff_has_read(c, e, text, n);
}

static void handoff_asks(struct handoff *c, struct entry *e, bool writes, int err)
{
	static const struct carry none;

	c->asked = err ? NULL : e;
	c->writes = writes;
	c->asked_ns = clock_mono_ns();
	if (!err)
		return;
	if (writes)
		handoff_has_written(c, e, &none, err);
	else
		handoff_has_read(c, e, NULL, err);
}

static void handoff_read_next(struct handoff *c)
{
	for (uint32_t i = 0; i < c->count && !c->asked && clock_mono_ns() >= c->trouble[0].again_ns;
	     i++)
		if (c->job[i].read && transport_may_read(c->transport, clock_mono_ns()))
			handoff_asks(c, &c->job[i], false, handoff_ask_read(c, &c->job[i]));
}

void handoff_poll(struct handoff *c)
{
	if (!c)
		return;
	handoff_answer_take(c, 0);
	handoff_read_next(c);
}

/* Requests a write of the job's history if one is due. all_ns: at the end of the watch, the time
 * when the end began; a write is then requested only if the history has changed and no write was
 * requested since all_ns. 0: the watch continues. */
static void handoff_write_one(struct handoff *c, uint32_t i, const struct carry *own,
			      uint64_t all_ns)
{
	struct entry *e = handoff_find(c, own->job, own->uid);

	/* When all entries are in use, do not add one for a job that has ended: its history was
	 * stored before its former entry was dropped. */
	if (!e && (!handoff_over(own) || c->count < HANDOFF_JOBS))
		e = handoff_entry_of(c, own->job, own->uid);
	if (!e || e->read)
		return;
	if (all_ns ? e->left.until_ns != own->until_ns && e->left_ns < all_ns
		   : handoff_due(e, own, clock_mono_ns()))
		handoff_asks(c, e, true, handoff_ask_write(c, e, own));
	if (c->asked)
		c->turn = i + 1;
}

/* Stores the history of one job. Jobs take turns, because the histories of many jobs may change
 * faster than they can be written. */
static void handoff_write_next(struct handoff *c, uint64_t all_ns)
{
	uint32_t from = c->turn, i;
	struct carry own;
	int found;

	for (int pass = 0; pass < 2; pass++)
		for (i = pass ? 0 : from; !c->asked && (!pass || i < from); i++) {
			found = output_carry(c->out, i, &own);
			if (found < 0)
				break;
			if (found == 1)
				handoff_write_one(c, i, &own, all_ns);
		}
}

void handoff_tick(struct handoff *c)
{
	uint64_t now_ns = clock_mono_ns();

	if (!c)
		return;
	handoff_poll(c);
	for (uint32_t i = 0; i < c->count; i++)
		handoff_check_joined(c, &c->job[i]);
	/* store nothing during the pause that follows a failure */
	if (!c->asked && now_ns >= c->trouble[0].again_ns && now_ns >= c->trouble[1].again_ns)
		handoff_write_next(c, 0);
}

/* Sets the namespace of the job's pods, and their owner: the Kubernetes object whose name and uid
 * are those of the job, if there is one. Kubernetes deletes the stored history with this object. */
static void handoff_place_of(struct entry *e, const struct gp_place *p)
{
	bool owned = (p->job_from == GP_JOB_FROM_jobset || p->job_from == GP_JOB_FROM_controller) &&
		     *p->job_uid;

	log_escape(e->who.namespace, sizeof(e->who.namespace), p->namespace,
		   strnlen(p->namespace, sizeof(p->namespace)));
	log_escape(e->who.owner, sizeof(e->who.owner), owned ? p->owner : "",
		   strnlen(p->owner, sizeof(p->owner)));
}

void handoff_job(struct handoff *c, const struct gp_place *p)
{
	char job[GP_JOB_MAX], uid[JOB_UID_MAX];
	struct carry own;
	struct entry *e;

	/* Share only jobs whose name comes from one of these sources. A name from another source is
	 * only valid on this node: on another node it may be that of a different job. */
	if (!c || p->job_from == GP_JOB_FROM_none || p->job_from > GP_JOB_FROM_torchelastic)
		return;
	log_escape(job, sizeof(job), p->job, strnlen(p->job, sizeof(p->job)));
	log_escape(uid, sizeof(uid), p->job_uid, strnlen(p->job_uid, sizeof(p->job_uid)));
	e = *job ? handoff_entry_of(c, job, *uid ? uid : handoff_uid_of(c)) : NULL;
	if (e) {
		e->used_ns = clock_mono_ns();
		handoff_place_of(e, p);
	}
	if (!e || e->read || c->asked == e ||
	    (e->read_ns && clock_mono_ns() - e->read_ns < READ_NS))
		return;
	/* Do not read the history again while the job is running on this node, or if it was read
	 * and the job has not run here since. */
	if (e->known && !handoff_own_of(c, e, &own))
		return;
	e->read = !handoff_own_of(c, e, &own) || own.state != JOB_RUNNING;
	handoff_poll(c);
}

static void handoff_wait(struct handoff *c, uint64_t until_ns)
{
	uint64_t now_ns;

	while (c->asked && (now_ns = clock_mono_ns()) < until_ns)
		handoff_answer_take(c, (int)((until_ns - now_ns) / 1000000) + 1);
}

void handoff_start(struct handoff *c)
{
	struct entry *e;

	if (!c || !c->options->job || !*c->options->job)
		return;
	e = handoff_entry_of(c, c->options->job, handoff_uid_of(c));
	if (!e)
		return;
	e->read = true;
	handoff_read_next(c);
	handoff_wait(c, clock_mono_ns() + START_NS);
}

void handoff_finish(struct handoff *c)
{
	uint64_t until_ns = clock_mono_ns() + CLOSE_NS, from_ns;

	if (!c)
		return;
	handoff_wait(c, until_ns);
	from_ns = clock_mono_ns();
	for (uint32_t i = 0;
	     i <= c->count && !c->asked && clock_mono_ns() < until_ns && !c->trouble[1].err; i++) {
		handoff_write_next(c, from_ns);
		handoff_wait(c, until_ns);
	}
	if (!c->asked)
		return;
	transport_drop(c->transport);
	c->asked = NULL;
	log_warn(
		"--carry %s: no answer to the last write; other nodes may lack the latest history of this node",
		c->options->carry);
}

/* Gets the node's name that Kubernetes gave, because in a pod the host name is that of the pod. A
 * name that is too long is cut, and a hash is appended. */
static void handoff_node_name(char out[CARRY_NODE_MAX], const char *given)
{
	char host[256] = "";
	const char *name = given && *given ? given : getenv("NODE_NAME");
	size_t len;

	if (!name || !*name) {
		if (gethostname(host, sizeof(host) - 1))
			host[0] = '\0';
		name = host;
	}
	len = strlen(name);
	if (len < CARRY_NODE_MAX)
		snprintf(out, CARRY_NODE_MAX, "%s", name);
	else
		snprintf(out, CARRY_NODE_MAX, "%.20s~%08x", name,
			 (unsigned)(hash_bytes(HASH_START, name, len) >> 32));
}

int handoff_new(struct handoff **ret, const struct options *o, struct output *out,
		struct journal *j)
{
	struct transport *transport;
	struct handoff *c;
	int err = transport_new(&transport, o);

	*ret = NULL;
	if (err == -ENOMEM)
		log_error("--carry: %s", strerror(-err));
	if (err || !transport)
		return err;
	c = calloc(1, sizeof(*c));
	if (!c) {
		transport_free(transport);
		log_error("--carry: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	c->transport = transport;
	c->options = o;
	c->out = out;
	c->journal = j;
	handoff_node_name(c->node, o->node_name);
	*ret = c;
	return 0;
}

void handoff_free(struct handoff *c)
{
	if (!c)
		return;
	transport_free(c->transport);
	free(c);
}
