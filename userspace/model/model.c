/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/model_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct model *model_new(fact_fn *sink, void *ctx)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->env.sink = sink;
	m->env.ctx = ctx;
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
	table_free(m->live, free_rank);
	for (uint32_t i = 0; i < m->ndead; i++)
		rank_free(m->dead[i]);
	model_probes_clear(&m->probes);
	free(m);
}

/* ---- processes ----------------------------------------------------------------------------------- */

static struct rank *model_rank(struct model *m, uint32_t pid)
{
	if (!m->last || m->last->pid != pid)
		m->last = table_get(m->live, pid);
	return m->last;
}

static void model_bury(struct model *m, struct rank *r)
{
	table_take(m->live, r->pid);
	m->last = NULL;
	if (!rank_shown(r)) {
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
static int model_follow(struct model *m, uint32_t pid, uint64_t now_ns, bool from_start, struct rank **ret)
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
		model_bury(m, r);
		r = NULL;
	}
	if (!r) {
		err = model_follow(m, ev->rec->pid, ev->rec->ts_ns, p->flags & GP_PROCESS_FROM_START, &r);
		if (err || !r)
			return err;
	}
	rank_identify(r, p);
	return 0;
}

static int feed_fork(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->fork->child);
	int err;

	if (r && r->process.start_ns && rank_is(r, ev->fork->start_ns))
		return 0;
	if (r) {
		rank_gone(r, ev->rec->ts_ns);
		model_bury(m, r);
	}
	err = model_follow(m, ev->fork->child, ev->rec->ts_ns, true, &r);
	if (!err && r)
		r->process.start_ns = ev->fork->start_ns;
	return err;
}

static void feed_life(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid);

	if (!r)
		return;
	if (ev->rec->kind == GP_KIND_signal) {
		r->killed = *ev->signal;
	} else if (ev->rec->kind == GP_KIND_oom) {
		r->oom = true;
	} else {
		rank_exit(r, ev);
		model_bury(m, r);
	}
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

/* ---- probes -------------------------------------------------------------------------------------- */

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
	const struct attach_view *told;
	struct rank *r;
	size_t at = 0;
	int err;

	while (ev->attach->state == GP_ATTACH_attached && (r = table_next(m->live, &at, NULL)))
		rank_attached(r, ev->rec->ts_ns);
	err = model_probe_attach(&m->probes, ev->rec->probe, ev->attach, &told);
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

/* ---- what concerns all --------------------------------------------------------------------------- */

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
	m->session_due = true;
}

static void feed_end(struct model *m, const struct event *ev)
{
	struct fact f = {.type = FACT_END, .end = ev->end};
	struct rank *r;
	size_t at = 0;

	while ((r = table_next(m->live, &at, NULL)))
		rank_stop(r, ev->rec->ts_ns);
	m->end = *ev->end;
	m->ended = true;
	model_fact(m, &f, ev->rec->ts_ns);
}

static void feed_config(struct model *m, const struct event *ev)
{
	char text[sizeof(ev->config->text)], *value;

	event_text(text, sizeof(text), ev->config->text, sizeof(ev->config->text));
	value = strchr(text, '=');
	if (!value)
		return;
	*value++ = '\0';
	if (!strcmp(text, "multiply"))
		m->env.step.multiply = (uint32_t)strtoul(value, NULL, 10);
	else if (!strcmp(text, "overhead_budget_ppm"))
		m->env.budget_ppm = strtoull(value, NULL, 10);
	else if (!strcmp(text, "ideal_ns"))
		m->env.ideal_ns = strtoull(value, NULL, 10);
	else if (!strcmp(text, "hang_ns"))
		m->env.hang_ns = strtoull(value, NULL, 10);
	else if (!strcmp(text, "marker")) {
		for (int b = BOUNDARY_UPDATE_EXIT; b <= BOUNDARY_SYNC; b++) {
			if (!strcmp(value, boundary_name[b]))
				m->env.step.force = (enum step_boundary)b;
		}
	}
}

/* ---- events -------------------------------------------------------------------------------------- */

static int model_event(struct model *m, const struct event *ev)
{
	switch (ev->rec->kind) {
	case GP_KIND_hit:
	case GP_KIND_range_begin:
	case GP_KIND_range_end:
	case GP_KIND_named:
	case GP_KIND_call:
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
		return model_rank(m, ev->rec->pid) ? rank_feed(m->last, ev, NULL, 0, 0) : 0;
	case GP_KIND_probe:
		return model_probe_define(&m->probes, ev->rec->probe, ev->probe);
	case GP_KIND_attach:
		return feed_attach(m, ev);
	case GP_KIND_process:
		return feed_process(m, ev);
	case GP_KIND_tick:
	case GP_KIND_gap:
		return feed_all(m, ev);
	case GP_KIND_loss:
		return feed_loss(m, ev);
	case GP_KIND_blocked:
		feed_blocked(m, ev);
		return 0;
	case GP_KIND_config:
		feed_config(m, ev);
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
		anchors_add(&m->env.anchors, ev->rec->ts_ns, ev->clock->real_ns);
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

/* Who has found no steps for so long is not held to find some. */
#define LEARNING_NS 60000000000ull

static uint32_t loop_roles(const struct step_state *st)
{
	static const uint32_t roles[] = {
		[BOUNDARY_REDUCER] = 1u << GP_ROLE_reducer,
		[BOUNDARY_UPDATE_OP] = 1u << GP_ROLE_update_op,
		[BOUNDARY_EXECUTE] = 1u << GP_ROLE_execute | 1u << GP_ROLE_graph_launch,
		[BOUNDARY_SYNC] = 1u << GP_ROLE_sync,
	};

	return (size_t)st->boundary < sizeof(roles) / sizeof(roles[0]) ? roles[st->boundary] : 0;
}

uint32_t model_roles(const struct model *m)
{
	static const uint32_t any = 1u << GP_ROLE_reducer | 1u << GP_ROLE_update_op | 1u << GP_ROLE_execute |
				    1u << GP_ROLE_graph_launch | 1u << GP_ROLE_sync;
	uint32_t roles = 0;
	struct rank *r;
	size_t at = 0;

	while ((r = table_next(m->live, &at, NULL))) {
		bool found = false;

		for (uint32_t i = 0; i < r->nloops; i++) {
			const struct step_state *st = &r->loops[i]->state;

			found |= st->state == STATE_LOCKED || st->state == STATE_SUSPECT;
			roles |= loop_roles(st);
		}
		if (r->trainer && !found && m->now_ns < r->observed_ns + LEARNING_NS)
			roles |= any;
		if (r->seen & 1u << SIGNAL_AMP) /* which steps were skipped cannot be told without */
			roles |= 1u << GP_ROLE_amp_update;
	}
	return roles;
}

uint64_t model_ledger_violations(const struct model *m)
{
	return m->env.ledger_violations;
}

/* ---- snapshots ----------------------------------------------------------------------------------- */

static int compare_views(const void *a, const void *b)
{
	const struct rank_view *x = a, *y = b;

	if (x->trainer != y->trainer)
		return x->trainer ? -1 : 1;
	if (x->rank != y->rank)
		return (unsigned)x->rank < (unsigned)y->rank ? -1 : 1; /* unknown last */
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->start_mono_ns < y->start_mono_ns ? -1 : x->start_mono_ns > y->start_mono_ns;
}

static int snapshot_ranks(struct model *m, struct snapshot *s)
{
	struct rank *r;
	size_t at = 0;
	int err = 0;

	s->ranks = calloc(table_count(m->live) + m->ndead + 1, sizeof(*s->ranks));
	if (!s->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < m->ndead; i++) {
		err = rank_view(m->dead[i], m->now_ns, &s->ranks[s->nranks]);
		s->nranks += !err;
	}
	while (!err && (r = table_next(m->live, &at, NULL))) {
		if (!rank_shown(r))
			continue;
		err = rank_view(r, m->now_ns, &s->ranks[s->nranks]);
		s->nranks += !err;
	}
	qsort(s->ranks, s->nranks, sizeof(*s->ranks), compare_views);
	return err;
}

struct snapshot *model_snapshot(struct model *m)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->references = 1;
	if (snapshot_ranks(m, s) || model_probes_view(&m->probes, &s->attach)) {
		snapshot_unref(s);
		return NULL;
	}
	s->number = ++m->number;
	s->mono_ns = m->now_ns;
	s->real_ns = anchors_real(&m->env.anchors, m->now_ns);
	s->session = m->session;
	s->ended = m->ended;
	s->end = m->end;
	s->nattach = m->probes.nattach;
	s->budget_ppm = m->env.budget_ppm;
	memcpy(s->lost, m->lost, sizeof(s->lost));
	s->events = m->events;
	s->ledger_violations = m->env.ledger_violations;
	s->unfollowed = m->unfollowed;
	s->forgotten = m->forgotten;
	s->dropped = m->dropped;
	return s;
}
