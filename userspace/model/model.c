/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - feeds a model: passes each event to the process or processes that it concerns. */
#include "userspace/model/model_private.h"

#include "userspace/model/job/carry.h"

/* Limit of ancestors of a rank's process (launchers, for example) that are checked for an
 * interrupt. */
#define LAUNCHERS	 8
#define WORKERS_EXAMINED 4 /* workers of a data loader in one examination */

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

static void model_free_rank(void *r)
{
	rank_free(r);
}

void model_free(struct model *m)
{
	if (!m)
		return;
	jobs_free(&m->env.jobs);
	table_free(m->live, model_free_rank);
	for (uint32_t i = 0; i < m->ndead; i++)
		rank_free(m->dead[i]);
	model_probes_clear(&m->probes);
	free(m);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void model_bury(struct model *m, struct rank *r, bool shown)
{
	table_take(m->live, rank_member(r)->pid);
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

/* Starts to follow a process. *ret is NULL if too many processes are followed. */
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

static void model_worker_gone(struct model *m, const struct job_member *p)
{
	struct rank *parent = model_rank(m, p->process.parent);

	if (parent)
		rank_worker_gone(parent, p->pid);
}

/* Returns true if a record about a process that started at start_ns is about p, and not about a
 * later process with the same pid. */
static bool model_is_same(const struct job_member *p, uint64_t start_ns)
{
	uint64_t known_ns = p->process.start_ns;
	uint64_t apart_ns = known_ns > start_ns ? known_ns - start_ns : start_ns - known_ns;

	return !known_ns || !start_ns || apart_ns <= RANK_START_TICK_NS;
}

static int model_feed_process(struct model *m, const struct event *ev)
{
	const struct gp_process *p = ev->process;
	struct rank *r = model_rank(m, ev->rec->pid);
	struct job_member *member;
	int err, lost = 0;

	if (r && !model_is_same(rank_member(r), p->start_ns)) {
		lost = rank_gone(r, ev->rec->ts_ns);
		model_bury(m, r, rank_shown(r));
		r = NULL;
	}
	if (!r) {
		err = model_follow(m, ev->rec->pid, ev->rec->ts_ns,
				   p->flags & GP_PROCESS_FROM_START, &r);
		err = err || !r ? err : rank_born(r, model_rank(m, p->parent));
		if (err || !r)
			return err ? err : lost;
	}
	rank_identify(r, p);
	member = rank_member(r);
	if (strstr(member->process.command, "multiprocessing.resource_tracker"))
		model_worker_gone(m, member);
	if (!member->job) {
		member->job_key = model_job_key(m, member);
		job_find(member);
	}
	return lost;
}

static int model_feed_fork(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid);
	uint64_t key = r ? rank_member(r)->job_key : 0;
	int err, lost = r ? rank_feed(r, ev, NULL, 0, 0) : 0;

	r = model_rank(m, ev->fork->child);
	if (r && rank_member(r)->process.start_ns &&
	    model_is_same(rank_member(r), ev->fork->start_ns))
		return lost;
	if (r) {
		err = rank_gone(r, ev->rec->ts_ns);
		lost = lost ? lost : err;
		model_bury(m, r, rank_shown(r));
	}
	err = model_follow(m, ev->fork->child, ev->rec->ts_ns, true, &r);
	if (err || !r)
		return err ? err : lost;
	rank_member(r)->process.start_ns = ev->fork->start_ns;
	rank_member(r)->job_key = key;
	err = rank_born(r, model_rank(m, ev->rec->pid));
	return err ? err : lost;
}

/* If an ancestor process of this rank was interrupted, marks the rank as interrupted, too: the
 * end of the ancestor causes the end of the rank. */
static void model_interrupted(struct model *m, struct rank *r)
{
	struct rank *above = r;

	for (int i = 0; i < LAUNCHERS; i++) {
		uint32_t parent = rank_member(above)->process.parent;

		above = parent ? model_rank(m, parent) : NULL;
		if (!above)
			return;
		rank_interrupted(r, above);
	}
}

static int model_feed_life(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid);
	uint32_t sender;
	int err;

	if (!r)
		return 0;
	if (ev->rec->kind == GP_KIND_signal) {
		sender = ev->signal->sender;
		rank_signalled(r, ev, sender ? model_rank(m, sender) : NULL);
		return 0;
	}
	model_interrupted(m, r);
	model_worker_gone(m, rank_member(r));
	err = rank_feed(r, ev, NULL, 0, 0);
	model_bury(m, r, rank_shown(r));
	return err;
}

/* Handles an exec. A process that trained ends as a rank of its run; the job continues, or begins
 * another run. If the process did not train, its time before the exec is dropped, unless it was
 * started in order to run this program. */
static int model_feed_exec(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid), *next;
	int err;

	if (!r)
		return 0;
	err = rank_exec(r, ev, &next);
	if (!next || next == r)
		return err;
	model_bury(m, r, rank_trainer(r));
	if (table_put(m->live, ev->rec->pid, next)) {
		rank_free(next);
		return -ENOMEM;
	}
	return err;
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

/* ---- probes ---------------------------------------------------------------------------------- */

/* Handles a call by which a process suspends another one to checkpoint it. The call names the other
 * process by a pid of the caller's pid namespace, which is only correct here if the caller is not
 * in a container. */
static int model_feed_suspend(struct model *m, const struct event *ev, unsigned role)
{
	uint64_t from_ns = ev->rec->ts_ns -
			   (ev->call->dur_ns < ev->rec->ts_ns ? ev->call->dur_ns : 0);
	struct rank *r = ev->call->ret ? NULL : model_rank(m, (uint32_t)ev->call->arg[0]);

	return r ? rank_suspended(r, from_ns, ev->rec->ts_ns, role == GP_ROLE_suspend) : 0;
}

/* Called when a process proved to be a job of its own: gives the processes that it started the same
 * job. */
static void model_branch_moved(struct model *m, const struct job_member *moved)
{
	struct rank *r;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		struct job_member *p = rank_member(r);

		if (!p->job && p->branch_pid == moved->branch_pid)
			p->job_key = moved->job_key;
	}
}

static int model_feed_probed(struct model *m, const struct event *ev)
{
	uint64_t hits = ev->rec->kind == GP_KIND_counter ? ev->counter->count : 1;
	struct model_probe *mp = model_probe_find(&m->probes, ev->rec->probe);
	struct rank *r;
	uint64_t key;
	int err, lost = 0;

	if (mp)
		mp->hits += hits;
	if (mp && ev->rec->kind == GP_KIND_counter && !(mp->def.flags & GP_PROBE_COUNTED))
		mp->unsent += hits;
	if (!ev->rec->pid)
		return 0;
	if (mp && ev->rec->kind == GP_KIND_call &&
	    (mp->def.role == GP_ROLE_suspend || mp->def.role == GP_ROLE_resume))
		lost = model_feed_suspend(m, ev, mp->def.role);
	r = model_rank(m, ev->rec->pid);
	if (!r) { /* the record about the start or identity of the process was lost */
		err = model_follow(m, ev->rec->pid, ev->rec->ts_ns, false, &r);
		if (err || !r)
			return err ? err : lost;
	}
	key = rank_member(r)->job_key;
	err = rank_feed(r, ev, mp ? &mp->def : NULL, hits, mp ? mp->hit_cost_ns : 0);
	if (rank_member(r)->job_key != key)
		model_branch_moved(m, rank_member(r));
	return err ? err : lost;
}

static int model_feed_attach(struct model *m, const struct event *ev)
{
	struct fact f = {.type = FACT_PROBE};
	bool unseen = m->probes.buffers_unseen;
	const struct attach_view *reported;
	struct rank *r;
	int err;

	err = model_probe_attach(&m->probes, ev->rec->probe, ev->attach, ev->rec->ts_ns, &reported);
	for (size_t at = 0; (r = table_next(m->live, &at, NULL));)
		rank_attached(r, ev, unseen && !m->probes.buffers_unseen);
	f.probe = reported;
	if (reported)
		model_fact(m, &f, ev->rec->ts_ns);
	return err;
}

static int model_feed_blocked(struct model *m, const struct event *ev)
{
	const struct model_probe *mp = model_probe_find(&m->probes, ev->rec->probe);
	struct rank *r = model_rank(m, ev->rec->pid);

	return r ? rank_feed(r, ev, mp ? &mp->def : NULL, 0, 0) : 0;
}

/* Handles a fault of a device. If the record does not name a process, the fault concerns all
 * processes that use a device. */
static int model_feed_fault(struct model *m, const struct event *ev)
{
	struct rank *r = ev->rec->pid ? model_rank(m, ev->rec->pid) : NULL;
	int err, first = r ? rank_feed(r, ev, NULL, 0, 0) : 0;

	for (size_t at = 0; !ev->rec->pid && (r = table_next(m->live, &at, NULL));) {
		err = rank_member(r)->accelerated ? rank_feed(r, ev, NULL, 0, 0) : 0;
		first = first ? first : err;
	}
	return first;
}

/* ---- records about all processes ------------------------------------------------------------- */

static int model_feed_all(struct model *m, const struct event *ev)
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

/* Handles lost records of probe hits. They are distributed over the processes in proportion to the
 * hits that arrived. */
static void model_hits_lost(struct model *m, const struct event *ev)
{
	struct rank *r, *one = ev->rec->pid ? model_rank(m, ev->rec->pid) : NULL;
	double all = 0;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));)
		all += !one || one == r ? (double)rank_hits(r) : 0;
	for (size_t at = 0; all && (r = table_next(m->live, &at, NULL));) {
		double hits = (double)rank_hits(r);

		if (!one || one == r)
			rank_hits_lost(r, (uint64_t)((double)ev->loss->count * hits / all));
	}
}

static int model_feed_loss(struct model *m, const struct event *ev)
{
	struct fact f = {.type = FACT_LOSS, .pid = ev->rec->pid, .loss = ev->loss};
	struct rank *r;

	if (ev->loss->cause < GP_LOSS_CAUSE_COUNT)
		m->lost[ev->loss->cause] += ev->loss->count;
	if (ev->loss->cause == GP_LOSS_ring_call)
		model_hits_lost(m, ev);
	model_fact(m, &f, ev->rec->ts_ns);
	if (!ev->rec->pid)
		return model_feed_all(m, ev);
	r = model_rank(m, ev->rec->pid);
	return r ? rank_feed(r, ev, NULL, 0, 0) : 0;
}

static int model_feed_one(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid);

	return r ? rank_feed(r, ev, NULL, 0, 0) : 0;
}

/* A record about a worker of a data loader is given to the rank of the process that trains. */
static int model_feed_examined(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid), *parent = NULL;

	if (r && !rank_trainer(r))
		parent = model_rank(m, rank_member(r)->process.parent);
	if (parent && rank_trainer(parent))
		return rank_worker_examined(parent, ev);
	return r ? rank_feed(r, ev, NULL, 0, 0) : 0;
}

static void model_feed_instead(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid);

	if (r)
		rank_instead(r, ev, model_rank(m, ev->instead->other));
}

static void model_session_report(struct model *m)
{
	struct fact f = {.type = FACT_START, .start = &m->session};

	m->session_due = false;
	model_fact(m, &f, m->session_ns);
}

static void model_feed_session(struct model *m, const struct event *ev)
{
	struct gp_session *s = &m->session;

	*s = *ev->session;
	event_copy(s->boot_id, ev->session->boot_id);
	event_copy(s->version, ev->session->version);
	event_copy(s->kernel, ev->session->kernel);
	event_copy(s->command, ev->session->command);
	m->session_ns = ev->rec->ts_ns;
	m->session_real_ns = 0;
	m->session_due = true;
}

static int model_feed_end(struct model *m, const struct event *ev)
{
	struct fact f = {.type = FACT_END, .end = ev->end};
	struct rank *r;
	size_t at = 0;
	int err, first = 0;

	while ((r = table_next(m->live, &at, NULL))) {
		err = rank_stop(r, ev->rec->ts_ns);
		first = first ? first : err;
	}
	/* only if all observed processes have ended: otherwise another gp-bpf may continue the
	 * jobs */
	if (ev->end->reason == GP_END_TARGETS_GONE)
		jobs_stop(&m->env);
	if (ev->end->reason != GP_END_HANDOVER)
		jobs_settle(&m->env);
	m->end = *ev->end;
	m->ended = true;
	model_fact(m, &f, ev->rec->ts_ns);
	return first;
}

static int model_feed_carry(struct model *m, const struct event *ev)
{
	size_t len = ev->carry->len;
	struct carry c;

	if (len > sizeof(ev->carry->text) || carry_parse(&c, ev->carry->text, len))
		return 0;
	return jobs_carry(&m->env, &c, ev->rec->ts_ns);
}

int model_carry(const struct model *m, uint32_t i, struct carry *ret)
{
	if (i >= m->env.jobs.count)
		return -ENOENT;
	return job_carry(&m->env, m->env.jobs.job[i], m->now_ns, ret);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void model_clock(struct model *m, const struct event *ev)
{
	anchors_add(&m->env.anchors, ev->rec->ts_ns, ev->clock->real_ns);
	if (m->session_ns && !m->session_real_ns)
		m->session_real_ns = anchors_real(&m->env.anchors, m->session_ns);
	exclusion_place(&m->env.excluded, ev->rec->ts_ns, ev->clock->real_ns);
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
	case GP_KIND_operation:
	case GP_KIND_counter:
		return model_feed_probed(m, ev);
	case GP_KIND_fork:
		return model_feed_fork(m, ev);
	case GP_KIND_exit:
	case GP_KIND_signal:
		return model_feed_life(m, ev);
	case GP_KIND_exec:
		return model_feed_exec(m, ev);
	case GP_KIND_oom:
	case GP_KIND_file:
	case GP_KIND_renamed:
	case GP_KIND_program:
	case GP_KIND_stack:
	case GP_KIND_ras:
	case GP_KIND_line:
	case GP_KIND_usage:
	case GP_KIND_pressure:
	case GP_KIND_input:
	case GP_KIND_traffic:
	case GP_KIND_device:
		return model_feed_one(m, ev);
	case GP_KIND_examined:
	case GP_KIND_waited:
		return model_feed_examined(m, ev);
	case GP_KIND_instead:
		model_feed_instead(m, ev);
		return 0;
	case GP_KIND_probe:
		return model_probe_define(&m->probes, ev->rec->probe, ev->probe);
	case GP_KIND_formula:
		return model_probe_formula(&m->probes, ev->rec->probe, ev->formula);
	case GP_KIND_code:
		return device_codes_add(&m->probes.codes, ev->code);
	case GP_KIND_attach:
		return model_feed_attach(m, ev);
	case GP_KIND_process:
		return model_feed_process(m, ev);
	case GP_KIND_tick:
		jobs_tick(&m->env, ev->rec->ts_ns);
		return model_feed_all(m, ev);
	case GP_KIND_gap:
		return model_feed_all(m, ev);
	case GP_KIND_loss:
		return model_feed_loss(m, ev);
	case GP_KIND_blocked:
		return model_feed_blocked(m, ev);
	case GP_KIND_fault:
		return model_feed_fault(m, ev);
	case GP_KIND_place:
		return model_feed_place(m, ev);
	case GP_KIND_notice:
		return model_feed_notice(m, ev);
	case GP_KIND_config:
		model_config(m, ev);
		return 0;
	case GP_KIND_carry:
		return model_feed_carry(m, ev);
	case GP_KIND_session:
		model_feed_session(m, ev);
		return 0;
	case GP_KIND_end:
		return model_feed_end(m, ev);
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
		model_session_report(m);
	err = model_event(m, ev);
	m->dropped += !!err;
	return err;
}

void model_processes(const struct model *m, model_process_fn *fn, void *ctx)
{
	struct rank *r;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		const struct job_member *p = rank_member(r);

		fn(ctx, p->pid, p->process.start_ns, p->process.start_mono_ns);
	}
}

void model_silent(const struct model *m, model_silent_fn *fn, void *ctx)
{
	uint64_t since_ns;
	struct rank *r;
	uint32_t tid;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		if (rank_silent(r, m->now_ns, &tid, &since_ns))
			fn(ctx, rank_member(r)->pid, tid, since_ns);
	}
}

void model_stalled(const struct model *m, model_stalled_fn *fn, void *ctx)
{
	struct rank *r;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		if (rank_stalled(r, m->now_ns))
			fn(ctx, rank_member(r)->pid, rank_member(r)->process.world_size);
	}
}

void model_trainers(const struct model *m, bool all, model_trainer_fn *fn, void *ctx)
{
	struct rank *r;
	uint32_t tid;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		tid = all || rank_trainer(r) ? rank_thread(r) : 0;
		if (tid)
			fn(ctx, rank_member(r)->pid, tid);
	}
}

/* Calls fn for the children of a process that run the same program or were spawned by Python. */
static void model_starved_children(const struct model *m, struct rank *parent, model_starved_fn *fn,
				   void *ctx, uint32_t tid)
{
	const struct job_member *p = rank_member(parent), *c;
	struct rank *r;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		c = rank_member(r);
		if (c->process.parent == p->pid && !rank_trainer(r) &&
		    (!*c->process.command || !strcmp(c->process.command, p->process.command) ||
		     strstr(c->process.command, "multiprocessing.spawn")))
			fn(ctx, p->pid, tid, c->pid);
	}
}

void model_starved(const struct model *m, model_starved_fn *fn, void *ctx)
{
	struct rank *r;
	uint32_t tid;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		tid = rank_trainer(r) && rank_starved(r, m->now_ns) ? rank_thread(r) : 0;
		if (!tid)
			continue;
		fn(ctx, rank_member(r)->pid, tid, 0);
		model_starved_children(m, r, fn, ctx, tid);
	}
}

struct model_workers { /* of one process */
	model_trainer_fn *fn;
	void *ctx;
	int count;
};

static void model_worker(void *ctx, uint32_t pid, uint32_t tid, uint32_t child)
{
	struct model_workers *w = ctx;

	(void)pid;
	(void)tid;
	if (w->count++ < WORKERS_EXAMINED)
		w->fn(w->ctx, child, child);
}

void model_unexplained(const struct model *m, bool all, model_trainer_fn *fn, void *ctx)
{
	struct rank *r;
	uint32_t tid;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		struct model_workers workers = {fn, ctx, 0};

		tid = all ? rank_thread(r) : 0;
		if (tid || (!all && rank_unexplained(r, m->now_ns, &tid)))
			fn(ctx, rank_member(r)->pid, tid);
		if (all ? rank_starved(r, m->now_ns) : rank_workers_due(r, m->now_ns))
			model_starved_children(m, r, model_worker, &workers, 0);
	}
}

void model_slow(const struct model *m, model_trainer_fn *fn, void *ctx)
{
	struct rank *r;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		if (rank_slow(r, m->now_ns))
			fn(ctx, rank_member(r)->pid, rank_thread(r));
	}
}

uint64_t model_ledger_violations(const struct model *m)
{
	return m->env.ledger_violations;
}
