/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_facts.c - collects the facts to which the rules of verdict.c are applied. */
#include <stdio.h>
#include <string.h>

#include "userspace/base/number.h"
#include "userspace/report/document.h"
#include "userspace/report/verdict.h"
#include "userspace/text/format.h"

/* Startup takes most of a short run, so it is only judged in a run of at least this length (ns). */
#define STARTUP_RUN_NS 600000000000ull
/* An examination older than this (ns) is ignored, because it does not describe the present. */
#define EXAMINED_NS 60000000000ull
/* a line is named in a slowdown without a cause if it takes at least this share of the time */
#define WHERE_MIN  0.3
#define FAULTS_MIN 1000 /* page faults a second that are worth a word */
/* A slowdown that was not reported yet is a finding after this time (ns). */
#define SLOW_LEAST_NS 10000000000ull

static void verdict_facts_time(struct verdict_facts *f, const struct ledger_view *l)
{
	uint64_t startup_ns = l->ns[BUCKET_PROGRAM_STARTUP] + l->ns[BUCKET_TRAINING_PREP] +
			      l->ns[BUCKET_ACCELERATOR_INIT];

	memcpy(f->ns, l->ns, sizeof(f->ns));
	f->judged_ns = more_than(text_observed_ns(l), l->ns[BUCKET_EXCLUDED]);
	if (f->judged_ns >= STARTUP_RUN_NS)
		f->startup_ns = startup_ns;
	else
		f->judged_ns = more_than(f->judged_ns, startup_ns);
	f->steps = l->steps;
	f->disruptions = l->disruptions;
	f->hang.rank = f->slow.rank = f->straggler.rank = -1;
}

static void verdict_facts_loop(struct verdict_facts *f, const struct loop_view *l)
{
	f->p50_ns = l->time.p50_ns;
	f->p99_ns = l->time.p99_ns;
	f->mean_ns = l->time.mean_ns;
	if (!l->time.count || !l->phases_known)
		return;
	f->phases_known = l->phases_known;
	for (int i = 0; i < PHASE_COUNT; i++)
		f->phase_ns[i] = (double)l->phase_ns[i] / (double)l->time.count;
	f->phase_ns[PHASE_COUNT] = (double)text_phase_rest_ns(l) / (double)l->time.count;
}

static void verdict_facts_slow(struct verdict_facts *f, const struct snapshot *s,
			       const struct loop_view *l, int rank)
{
	const struct change_view *c = &l->change;

	if (!c->slow || !c->before_ns || f->slow.now ||
	    (!l->slow_alarm && more_than(s->mono_ns, c->onset_ns) < SLOW_LEAST_NS))
		return;
	f->slow.now = true;
	f->slow.rank = rank;
	f->slow.since_step = c->onset_step;
	f->slow.before_ns = c->before_ns;
	f->slow.after_ns = c->after_ns;
	f->slow.causes = l->causes;
}

static void verdict_facts_input(struct verdict_facts *f, const struct rank_view *r)
{
	struct bucket_cause causes[INPUT_REASONS];
	char text[160];
	enum gp_wait wait;
	double share;

	f->input_share = r->input_share;
	traffic_reads_text(f->worker_reads, sizeof(f->worker_reads), NULL, &r->traffic, true);
	if (rank_input_causes(r, causes))
		f->input = causes[0].input;
	else if (!input_find(&r->input, &f->input))
		return;
	if (!r->worker_examination)
		return;
	share = examination_blocked(text, sizeof(text), r->worker_examination, false, &wait);
	if (share > 0)
		snprintf(
			f->worker, sizeof(f->worker), "for %u %% of %u s, a loader worker %s",
			(unsigned)(100 * share + 0.5),
			(unsigned)((r->worker_examination->to_ns - r->worker_examination->from_ns) /
				   1000000000),
			text);
}

/* Returns the rank's last examination if it ended within the last minute, or else NULL. */
static const struct examination *verdict_facts_examined(const struct snapshot *s,
							const struct rank_view *r)
{
	const struct examination *e = r->examination;

	return e && !e->error && more_than(s->mono_ns, e->to_ns) <= EXAMINED_NS ? e : NULL;
}

static void verdict_facts_blocked(struct verdict_facts *f, const struct rank_view *r,
				  const struct examination *e, int rank)
{
	/* PyTorch itself waits for locks and threads; but a line of the job's own code that does so
	 * is a finding */
	const struct lines_top *at = &r->waits_at;
	bool own = at->own && at->share >= 0.5;
	char text[sizeof(f->blocked.text) - LINES_TEXT_MAX - 4];
	enum gp_wait wait;
	double share;

	if (!e)
		return;
	share = examination_blocked(text, sizeof(text), e, own, &wait);
	if (share <= f->blocked.share)
		return;
	f->blocked.share = share;
	f->blocked.rank = rank;
	f->blocked.wait = wait;
	snprintf(f->blocked.text, sizeof(f->blocked.text), "%s%s%s", text,
		 at->share >= 0.5 ? " at " : "", at->share >= 0.5 ? at->line : "");
}

/* Returns true if waits of a rank for other threads are likely waits for other ranks: libraries
 * such as gloo communicate in threads of their own. */
static bool verdict_facts_is_peer(const struct verdict_facts *f, const struct rank_view *r)
{
	return r->world_size > 1 && !(f->phases_known & 1u << PHASE_COLLECTIVE) && !r->waits_at.own;
}

/* Notes such waits. */
static void verdict_facts_peers(struct verdict_facts *f, const struct rank_view *r,
				const struct examination *e, int rank)
{
	double share;

	if (!e || e->to_ns <= e->from_ns || !verdict_facts_is_peer(f, r))
		return;
	share = (double)e->wait_ns[GP_WAIT_lock] / (double)(e->to_ns - e->from_ns);
	if (share <= f->peers.share)
		return;
	f->peers.share = share;
	f->peers.rank = rank;
	snprintf(f->peers.line, sizeof(f->peers.line), "%s",
		 r->waits_at.share >= 0.5 ? r->waits_at.line : "");
}

/* Records the share of a cause of delays, unless another rank has a larger one; returns whether it
 * did. */
static bool verdict_facts_share(struct verdict_facts *f, enum time_cause cause, double share,
				int rank, const char *detail)
{
	if (share <= f->lack[cause].share)
		return false;
	f->lack[cause].own = false;
	*f->lack[cause].evidence = '\0';
	f->lack[cause].share = share;
	f->lack[cause].rank = rank;
	snprintf(f->lack[cause].detail, sizeof(f->lack[cause].detail), "%s", detail);
	return true;
}

static void verdict_facts_lack(struct verdict_facts *f, const struct rank_view *r,
			       const struct examination *e, int rank)
{
	const struct resource_sums *s = &r->lacked;
	double all_ns = (double)s->covered_ns, faults;
	char detail[160] = "";

	verdict_facts_share(f, TIME_CAUSE_garbage_collection, r->collect_share, rank, "");
	verdict_facts_share(f, TIME_CAUSE_interpreter_lock, r->locked_share, rank,
			    r->locked_at.line);
	verdict_facts_share(f, TIME_CAUSE_checkpoint, r->saved_share, rank, r->saved_at.line);
	verdict_facts_share(f, TIME_CAUSE_own_code, r->else_lines[0].share, rank,
			    r->else_lines[0].line);
	if (!s->covered_ns)
		return;
	if (e)
		examination_detail(detail, sizeof(detail), e, TIME_CAUSE_cpu_contention);
	verdict_facts_share(f, TIME_CAUSE_cpu_contention, (double)s->wait_ns / all_ns, rank,
			    detail);
	if (f->lack[TIME_CAUSE_cpu_contention].rank == rank && e && e->ninstead)
		f->lack[TIME_CAUSE_cpu_contention].own = e->instead[0].own;
	verdict_facts_share(f, TIME_CAUSE_cpu_throttled, (double)s->throttled_ns / all_ns, rank,
			    "");
	faults = (double)s->faults / (all_ns / 1e9);
	*detail = '\0';
	if (faults >= FAULTS_MIN)
		snprintf(detail, sizeof(detail), "%.0f page faults a second", faults);
	if (s->system_known)
		verdict_facts_share(f, TIME_CAUSE_kernel, (double)s->system_ns / all_ns, rank,
				    detail);
	/* Use memory pressure only if it was measured for the job's cgroup: other programs may
	 * cause the pressure on the whole machine. */
	if (s->stall_known && s->group &&
	    verdict_facts_share(f, TIME_CAUSE_memory_pressure, (double)s->memory_ns / all_ns, rank,
				""))
		resource_high_text(f->lack[TIME_CAUSE_memory_pressure].evidence, TRAFFIC_TEXT, s);
	*detail = '\0';
	if (e)
		examination_detail(detail, sizeof(detail), e, TIME_CAUSE_disk);
	if (s->block_known &&
	    verdict_facts_share(f, TIME_CAUSE_disk, (double)s->block_ns / all_ns, rank, detail))
		traffic_reads_text(f->lack[TIME_CAUSE_disk].evidence, TRAFFIC_TEXT, NULL,
				   &r->traffic, false);
}

/* Takes what explains a rank's buckets of badput, unless more of a bucket was examined of another
 * rank. */
static void verdict_facts_badput(struct verdict_facts *f, const struct rank_view *r)
{
	for (const struct badput_view *b = r->badput; b < r->badput + RANK_BADPUT; b++) {
		struct badput_view *to = f->badput;

		if (!b->examined_ns)
			return;
		while (to->examined_ns && to->bucket != b->bucket)
			to++;
		if (b->examined_ns > to->examined_ns)
			*to = *b;
	}
}

/* Adds the current troubles of a rank. rank: its number as shown to users; -1: show no number. */
static void verdict_facts_trouble(struct verdict_facts *f, const struct snapshot *s,
				  const struct rank_view *r, int rank)
{
	uint64_t for_ns = more_than(s->mono_ns, r->hang.onset_ns);

	/* of a process that has ended: in the last minute of its life */
	verdict_facts_lack(f, r, verdict_facts_examined(s, r), rank);
	verdict_facts_badput(f, r);
	if (r->long_steps.lost_ns > f->long_steps.lost_ns) {
		f->long_steps = r->long_steps;
		f->long_rank = rank;
	}
	if (!r->alive)
		return;
	if (!*f->network)
		traffic_network_text(f->network, sizeof(f->network), NULL, &r->traffic);
	verdict_facts_blocked(f, r, verdict_facts_examined(s, r), rank);
	verdict_facts_peers(f, r, verdict_facts_examined(s, r), rank);
	/* If several ranks hang, report the one that has been silent for longest, as it may be the
	 * cause. */
	if (r->hang.hung && (!f->hang.now || for_ns > f->hang.for_ns)) {
		f->hang.now = true;
		f->hang.for_ns = for_ns;
		f->hang.rank = rank;
		f->hang.why = r->hang.why;
		snprintf(f->hang.evidence, sizeof(f->hang.evidence), "%s", r->hang.evidence);
	}
	if (r->straggle.now && !f->straggler.now) {
		f->straggler.now = true;
		f->straggler.rank = r->rank;
		f->straggler.size_ns = r->straggle.size_ns;
		snprintf(f->straggler.phase, sizeof(f->straggler.phase), "%s", r->straggle.phase);
	}
	for (uint32_t i = 0; i < r->nloops; i++)
		verdict_facts_slow(f, s, &r->loops[i], rank);
	if (f->slow.now && f->slow.rank == rank &&
	    time_cause_main(&f->slow.causes) == TIME_CAUSE_unknown &&
	    r->where[0].share >= WHERE_MIN)
		f->slow.where = r->where[0];
	f->slow.peers |= f->slow.now && f->slow.rank == rank &&
			 time_cause_main(&f->slow.causes) == TIME_CAUSE_lock &&
			 verdict_facts_is_peer(f, r);
}

void verdict_facts_of_rank(struct verdict_facts *ret, const struct snapshot *s,
			   const struct rank_view *r)
{
	const struct loop_view *l = text_main_loop(r);

	*ret = (struct verdict_facts){0};
	verdict_facts_time(ret, &r->ledger);
	if (l)
		verdict_facts_loop(ret, l);
	verdict_facts_input(ret, r);
	verdict_facts_trouble(ret, s, r, -1);
}

/* Returns true for a training process of the job's present run. */
static bool verdict_facts_is_of(const struct rank_view *r, const struct job_view *j)
{
	return r->job_key == j->key && r->trainer && r->start_mono_ns >= j->run_start_ns;
}

/* Returns true if no process of the job's present run is left. */
static bool verdict_facts_ended(const struct snapshot *s, const struct job_view *j)
{
	for (uint32_t i = 0; i < s->nranks; i++)
		if (s->ranks[i].alive && verdict_facts_is_of(&s->ranks[i], j))
			return false;
	return true;
}

void verdict_facts_of_job(struct verdict_facts *ret, const struct snapshot *s,
			  const struct job_view *j)
{
	const struct loop_view *l = NULL;
	bool ended = verdict_facts_ended(s, j);

	*ret = (struct verdict_facts){0};
	verdict_facts_time(ret, &j->ledger);
	ret->futile_runs = j->futile_runs;
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];

		if (!verdict_facts_is_of(r, j))
			continue;
		if (!l && (l = text_main_loop(r)))
			verdict_facts_loop(ret, l);
		/* a process that ended before the others says nothing about the present */
		if (!r->alive && !ended)
			continue;
		if (!ret->input.ns)
			verdict_facts_input(ret, r);
		verdict_facts_trouble(ret, s, r, r->rank);
	}
}

void verdict_of_trainer(struct verdicts *ret, const struct snapshot *s, const struct rank_view *r)
{
	const struct job_view *j = snapshot_job_of(s, r);
	struct verdict_facts facts;

	if (j)
		verdict_facts_of_job(&facts, s, j);
	else
		verdict_facts_of_rank(&facts, s, r);
	verdict_find(ret, &facts);
}

void verdict_facts_of_document(struct verdict_facts *ret, const struct report_document *d)
{
	*ret = (struct verdict_facts){0};
	verdict_facts_time(ret, &d->ledger);
	ret->steps = d->steps;
	ret->p50_ns = d->times.p50_ns;
	ret->p99_ns = d->times.p99_ns;
	ret->mean_ns = (double)d->times.mean_ns;
	ret->futile_runs = d->futile_runs;
	for (uint32_t i = 0; d->job.alive && i < d->healths.count; i++) {
		const struct store_health *h = DOCUMENT_AT(d->healths, struct store_health, i);

		if (!strcmp(h->kind, "fail_slow") || !strcmp(h->kind, "recovered")) {
			ret->slow.now = !h->over;
			ret->slow.rank = h->rank;
			ret->slow.causes = h->causes;
			snprintf(ret->slow.evidence, sizeof(ret->slow.evidence), "%s", h->evidence);
		}
	}
}
