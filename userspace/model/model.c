/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/model_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/model/carry.h"
#include "userspace/model/marker.h"

struct model *model_new(fact_fn *sink, void *ctx)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->env.sink = sink;
	m->env.ctx = ctx;
	m->env.probes = &m->probes;
	m->live = table_new();
	if (model_probes_init(&m->probes) || !m->live) {
		model_free(m);
		return NULL;
	}
	return m;
}

static void free_rank(void *r)
{
	rank_free(r);
}

void model_free(struct model *m)
{
	if (!m)
		return;
	jobs_free(&m->env.jobs);
	table_free(m->live, free_rank);
	for (uint32_t i = 0; i < m->ndead; i++)
		rank_free(m->dead[i]);
	model_probes_clear(&m->probes);
	free(m);
}

/* ---- processes
 * ----------------------------------------------------------------------------------- */

struct rank *model_rank(struct model *m, uint32_t pid)
{
	if (!m->last || m->last->pid != pid)
		m->last = table_get(m->live, pid);
	return m->last;
}

static void model_bury(struct model *m, struct rank *r, bool shown)
{
	table_take(m->live, r->pid);
	m->last = NULL;
	if (!shown) {
		rank_free(r);
		return;
	}
	if (m->ndead == MODEL_DEAD) {
		rank_free(m->dead[0]);
		memmove(m->dead, m->dead + 1, --m->ndead * sizeof(*m->dead));
		m->forgotten++;
	}
	m->dead[m->ndead++] = r;
}

/* *ret NULL: there are too many. */
static int model_follow(struct model *m, uint32_t pid, uint64_t now_ns, bool from_start,
			struct rank **ret)
{
	struct rank *r;

	*ret = NULL;
	if (table_count(m->live) >= MODEL_RANKS) {
		m->unfollowed++;
		return 0;
	}
	r = rank_new(&m->env, pid, now_ns, from_start);
	if (!r || table_put(m->live, pid, r)) {
		rank_free(r);
		return -ENOMEM;
	}
	m->last = NULL;
	*ret = r;
	return 0;
}

static int feed_process(struct model *m, const struct event *ev)
{
	const struct gp_process *p = ev->process;
	struct rank *r = model_rank(m, ev->rec->pid);
	int err;

	if (r && !rank_is(r, p->start_ns)) {
		rank_gone(r, ev->rec->ts_ns);
		model_bury(m, r, rank_shown(r));
		r = NULL;
	}
	if (!r) {
		err = model_follow(m, ev->rec->pid, ev->rec->ts_ns,
				   p->flags & GP_PROCESS_FROM_START, &r);
		err = err || !r ? err : rank_place_inherit(r, model_rank(m, p->parent));
		if (err || !r)
			return err;
	}
	rank_identify(r, p);
	if (!r->job)
		r->job_key = model_job_key(m, r);
	return 0;
}

static int feed_fork(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid);
	uint64_t key = r ? r->job_key : 0;
	int err;

	if (r)
		r->fresh = false;
	r = model_rank(m, ev->fork->child);
	if (r && r->process.start_ns && rank_is(r, ev->fork->start_ns))
		return 0;
	if (r) {
		rank_gone(r, ev->rec->ts_ns);
		model_bury(m, r, rank_shown(r));
	}
	err = model_follow(m, ev->fork->child, ev->rec->ts_ns, true, &r);
	if (err || !r)
		return err;
	r->process.start_ns = ev->fork->start_ns;
	r->job_key = key;
	return rank_place_inherit(r, model_rank(m, ev->rec->pid));
}

static void feed_life(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid);

	if (!r)
		return;
	if (ev->rec->kind == GP_KIND_signal) {
		r->killed = *ev->signal;
		r->killed_ns = ev->rec->ts_ns;
	} else if (ev->rec->kind == GP_KIND_oom) {
		r->oom = true;
	} else {
		rank_exit(r, ev);
		model_bury(m, r, rank_shown(r));
	}
}

/* Who trained and runs another program now is a rank of the run before: the job goes on, or begins
 * anew. Of who did not nothing stays: what it was before is no trainer's time, but for who was born
 * for that program.
 */
static int feed_exec(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid), *next;

	if (!r || (r->fresh && !r->ledger))
		return r ? rank_feed(r, ev, NULL, 0, 0) : 0;
	next = rank_next(r, ev->rec->ts_ns);
	if (!next)
		return -ENOMEM;
	if (r->trainer)
		rank_replaced(r, ev->rec->ts_ns);
	model_bury(m, r, r->trainer);
	if (table_put(m->live, next->pid, next)) {
		rank_free(next);
		return -ENOMEM;
	}
	return rank_feed(next, ev, NULL, 0, 0);
}

static void model_fact(struct model *m, struct fact *f, uint64_t mono_ns)
{
	f->number = ++m->env.facts;
	f->mono_ns = mono_ns;
	f->real_ns = anchors_real(&m->env.anchors, mono_ns);
	f->rank = f->world_size = -1;
	f->job = "";
	if (m->env.sink)
		m->env.sink(m->env.ctx, f);
}

/* ---- probes
 * -------------------------------------------------------------------------------------- */

/* By a process that checkpoints others: it names them as it knows them, and ours are the same
 * numbers unless it lives in a container of its own. */
static void feed_suspend(struct model *m, const struct event *ev, unsigned role)
{
	uint64_t from_ns = ev->rec->ts_ns -
			   (ev->call->dur_ns < ev->rec->ts_ns ? ev->call->dur_ns : 0);
	struct rank *r = ev->call->ret ? NULL : model_rank(m, (uint32_t)ev->call->arg[0]);

	if (!r || !r->accelerated)
		return;
	if (role == GP_ROLE_suspend)
		rank_suspend(r, from_ns, ev->rec->ts_ns);
	else
		rank_resume(r, from_ns, ev->rec->ts_ns);
}

static int feed_probed(struct model *m, const struct event *ev)
{
	uint64_t hits = ev->rec->kind == GP_KIND_counter ? ev->counter->count : 1;
	struct model_probe *mp = model_probe_find(&m->probes, ev->rec->probe);
	struct rank *r;
	int err;

	if (mp)
		mp->hits += hits;
	if (mp && ev->rec->kind == GP_KIND_counter && !(mp->def.flags & GP_PROBE_COUNTED))
		mp->unsent += hits;
	if (!ev->rec->pid)
		return 0;
	if (mp && ev->rec->kind == GP_KIND_call &&
	    (mp->def.role == GP_ROLE_suspend || mp->def.role == GP_ROLE_resume))
		feed_suspend(m, ev, mp->def.role);
	r = model_rank(m, ev->rec->pid);
	if (!r) { /* what said who it is was lost */
		err = model_follow(m, ev->rec->pid, ev->rec->ts_ns, false, &r);
		if (err || !r)
			return err;
	}
	return rank_feed(r, ev, mp ? &mp->def : NULL, hits, mp ? mp->price_ns : 0);
}

static int feed_attach(struct model *m, const struct event *ev)
{
	struct fact f = {.type = FACT_PROBE};
	bool unseen = m->probes.buffers_unseen;
	const struct attach_view *told;
	struct rank *r;
	size_t at = 0;
	int err;

	while (ev->attach->state == GP_ATTACH_attached && (r = table_next(m->live, &at, NULL)))
		rank_attached(r, ev->rec->ts_ns);
	err = model_probe_attach(&m->probes, ev->rec->probe, ev->attach, ev->rec->ts_ns, &told);
	for (at = 0; unseen && !m->probes.buffers_unseen && (r = table_next(m->live, &at, NULL));)
		marker_buffers_unseen(r->marker);
	for (at = 0; ev->attach->state == GP_ATTACH_given_up && m->probes.collectives_taken &&
		     (r = table_next(m->live, &at, NULL));)
		rank_untold_collectives(r);
	f.probe = told;
	if (told)
		model_fact(m, &f, ev->rec->ts_ns);
	return err;
}

static void feed_blocked(struct model *m, const struct event *ev)
{
	const struct model_probe *mp = model_probe_find(&m->probes, ev->rec->probe);
	struct rank *r = model_rank(m, ev->rec->pid);

	if (r)
		rank_hang_seen(r, ev, mp ? &mp->def : NULL);
}

/* Of who is named; else of all that use a device here: which one it was cannot be told. */
static void feed_fault(struct model *m, const struct event *ev)
{
	struct rank *r = ev->rec->pid ? model_rank(m, ev->rec->pid) : NULL;

	if (r)
		rank_fault_kernel(r, ev, true);
	for (size_t at = 0; !ev->rec->pid && (r = table_next(m->live, &at, NULL));) {
		if (r->accelerated)
			rank_fault_kernel(r, ev, false);
	}
}

/* ---- what concerns all
 * --------------------------------------------------------------------------- */

static int feed_all(struct model *m, const struct event *ev)
{
	struct rank *r;
	size_t at = 0;
	int err, first = 0;

	while ((r = table_next(m->live, &at, NULL))) {
		err = rank_feed(r, ev, NULL, 0, 0);
		first = first ? first : err;
	}
	return first;
}

static int feed_loss(struct model *m, const struct event *ev)
{
	struct fact f = {.type = FACT_LOSS, .pid = ev->rec->pid, .loss = ev->loss};
	struct rank *r;

	if (ev->loss->cause < GP_LOSS_CAUSE_COUNT)
		m->lost[ev->loss->cause] += ev->loss->count;
	model_fact(m, &f, ev->rec->ts_ns);
	if (!ev->rec->pid)
		return feed_all(m, ev);
	r = model_rank(m, ev->rec->pid);
	return r ? rank_feed(r, ev, NULL, 0, 0) : 0;
}

static int feed_program(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid);

	return r ? rank_feed(r, ev, NULL, 0, 0) : 0;
}

static void session_tell(struct model *m)
{
	struct fact f = {.type = FACT_START, .start = &m->session};

	m->session_due = false;
	model_fact(m, &f, m->session_ns);
}

static void feed_session(struct model *m, const struct event *ev)
{
	struct gp_session *s = &m->session;

	*s = *ev->session;
	event_text(s->boot_id, sizeof(s->boot_id), ev->session->boot_id, sizeof(s->boot_id));
	event_text(s->version, sizeof(s->version), ev->session->version, sizeof(s->version));
	event_text(s->kernel, sizeof(s->kernel), ev->session->kernel, sizeof(s->kernel));
	event_text(s->command, sizeof(s->command), ev->session->command, sizeof(s->command));
	m->session_ns = ev->rec->ts_ns;
	m->session_real_ns = 0;
	m->session_due = true;
}

static void feed_end(struct model *m, const struct event *ev)
{
	struct fact f = {.type = FACT_END, .end = ev->end};
	struct rank *r;
	size_t at = 0;

	while ((r = table_next(m->live, &at, NULL)))
		rank_stop(r, ev->rec->ts_ns);
	if (ev->end->reason == GP_END_TARGETS_GONE) /* else somebody may still take them up */
		jobs_stop(&m->env);
	if (ev->end->reason != GP_END_HANDOVER)
		jobs_settle(&m->env);
	m->end = *ev->end;
	m->ended = true;
	model_fact(m, &f, ev->rec->ts_ns);
}

static void feed_carry(struct model *m, const struct event *ev)
{
	size_t len = ev->carry->len;
	struct carry c;

	if (len <= sizeof(ev->carry->text) && !carry_parse(&c, ev->carry->text, len))
		jobs_carry(&m->env, &c, ev->rec->ts_ns);
}

int model_carry(const struct model *m, uint32_t i, struct carry *ret)
{
	if (i >= m->env.jobs.count)
		return -ENOENT;
	return job_carry(&m->env, m->env.jobs.job[i], m->now_ns, ret);
}

/* ---- events
 * -------------------------------------------------------------------------------------- */

static void model_clock(struct model *m, const struct event *ev)
{
	anchors_add(&m->env.anchors, ev->rec->ts_ns, ev->clock->real_ns);
	if (m->session_ns && !m->session_real_ns)
		m->session_real_ns = anchors_real(&m->env.anchors, m->session_ns);
	away_place(&m->env.away, ev->rec->ts_ns, ev->clock->real_ns);
}

static int model_event(struct model *m, const struct event *ev)
{
	switch (ev->rec->kind) {
	case GP_KIND_hit:
	case GP_KIND_range_begin:
	case GP_KIND_range_end:
	case GP_KIND_named:
	case GP_KIND_call:
	case GP_KIND_monitor:
	case GP_KIND_counter:
		return feed_probed(m, ev);
	case GP_KIND_fork:
		return feed_fork(m, ev);
	case GP_KIND_exit:
	case GP_KIND_signal:
	case GP_KIND_oom:
		feed_life(m, ev);
		return 0;
	case GP_KIND_exec:
		return feed_exec(m, ev);
	case GP_KIND_file:
	case GP_KIND_renamed:
		return model_rank(m, ev->rec->pid) ? rank_file(m->last, ev) : 0;
	case GP_KIND_probe:
		return model_probe_define(&m->probes, ev->rec->probe, ev->probe);
	case GP_KIND_attach:
		return feed_attach(m, ev);
	case GP_KIND_process:
		return feed_process(m, ev);
	case GP_KIND_tick:
		jobs_tick(&m->env, ev->rec->ts_ns);
		return feed_all(m, ev);
	case GP_KIND_gap:
		return feed_all(m, ev);
	case GP_KIND_loss:
		return feed_loss(m, ev);
	case GP_KIND_program:
		return feed_program(m, ev);
	case GP_KIND_blocked:
		feed_blocked(m, ev);
		return 0;
	case GP_KIND_fault:
		feed_fault(m, ev);
		return 0;
	case GP_KIND_place:
		return model_feed_place(m, ev);
	case GP_KIND_notice:
		return model_feed_notice(m, ev);
	case GP_KIND_config:
		model_config(m, ev);
		return 0;
	case GP_KIND_carry:
		feed_carry(m, ev);
		return 0;
	case GP_KIND_session:
		feed_session(m, ev);
		return 0;
	case GP_KIND_end:
		feed_end(m, ev);
		return 0;
	default:
		return 0;
	}
}

int model_feed(struct model *m, const struct event *ev)
{
	int err;

	m->events++;
	if (ev->rec->ts_ns > m->now_ns)
		m->now_ns = ev->rec->ts_ns;
	if (ev->rec->kind == GP_KIND_clock)
		model_clock(m, ev);
	if (m->session_due)
		session_tell(m);
	err = model_event(m, ev);
	m->dropped += !!err;
	return err;
}

void model_processes(const struct model *m, model_process_fn *fn, void *ctx)
{
	const struct rank *r;
	size_t at = 0;

	while ((r = table_next(m->live, &at, NULL)))
		fn(ctx, r->pid, r->process.start_ns, r->process.start_mono_ns);
}

void model_silent(const struct model *m, model_silent_fn *fn, void *ctx)
{
	uint64_t since_ns;
	struct rank *r;
	uint32_t tid;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		if (rank_silent(r, m->now_ns, &tid, &since_ns))
			fn(ctx, r->pid, tid, since_ns);
	}
}

uint64_t model_ledger_violations(const struct model *m)
{
	return m->env.ledger_violations;
}
