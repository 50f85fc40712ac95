/* SPDX-License-Identifier: Apache-2.0 */
/* job_ledger.c - the time of a job by bucket: the ledger of its reference rank, and the time
 * between runs. */
#include "userspace/model/job/job_private.h"

#include "userspace/base/number.h"

/* ---- windows --------------------------------------------------------------------------------- */

/* Windows: the times of the section "times" below, but for the last hour, day or week only. Call
 * the functions of this section before those that change the times. */

static int job_window_idle_add(const struct job *j, struct window *w, enum bucket b,
			       uint64_t from_ns, uint64_t to_ns)
{
	int err = 0;

	while (w && !err && from_ns < to_ns) {
		uint64_t next_ns = to_ns;
		enum bucket is = exclusion_at(j->excluded, from_ns, &next_ns) ? BUCKET_EXCLUDED : b;
		struct ledger_span s = {from_ns,      next_ns,		 is,
					BUCKET_COUNT, next_ns - from_ns, LEDGER_REST};

		err = window_add(w, &s);
		from_ns = next_ns;
	}
	return err;
}

/* Removes the window when there is no memory for it: an incomplete one would be wrong. */
static void job_window_lose(struct job *j)
{
	window_free(j->window);
	j->window = NULL;
}

static void job_window_past_add(struct job *j, enum bucket b, uint64_t from_ns, uint64_t to_ns)
{
	if (job_window_idle_add(j, j->window, b, from_ns, to_ns))
		job_window_lose(j);
}

static const struct window_edge *job_window_edge_of(const struct job *j)
{
	return j->ref_midway ? &j->ref_edge : NULL;
}

/* Extends the window to from_ns, because the job began earlier than was known. The added time is
 * startup. */
static void job_window_reach_back(struct job *j, uint64_t from_ns)
{
	if (j->window)
		window_reach_back(j->window, from_ns);
	job_window_past_add(j, BUCKET_PROGRAM_STARTUP, from_ns, j->time.start_ns);
}

static void job_window_refer(struct job *j, const struct job_member *m, bool midway,
			     uint64_t from_ns, enum bucket between)
{
	/* If the new reference rank began before the end of the time booked so far, only its later
	 * time counts in windows. */
	j->ref_midway = midway && !job_before(from_ns, j->time.edge_ns);
	if (j->ref_midway)
		window_edge(m->window, from_ns, &j->ref_edge);
	if (!j->window) /* without memory, the job has no window */
		j->window = window_new(from_ns);
	/* Windows of this node contain no time before the machine was booted. */
	job_window_past_add(j, between, (int64_t)j->time.edge_ns > 0 ? j->time.edge_ns : 0,
			    from_ns);
}

static void job_window_leave(struct job *j, const struct job_member *m, const struct ledger_view *v,
			     uint64_t edge_ns)
{
	uint64_t settled_ns = v->now_ns - v->unsettled_ns;

	if (j->window && m->window &&
	    window_merge(j->window, m->window, j->time.edge_ns, job_window_edge_of(j)))
		job_window_lose(j);
	job_window_past_add(j, BUCKET_OTHER, larger_of(settled_ns, j->time.edge_ns), edge_ns);
}

static void job_window_waste(struct job *j, uint64_t ns)
{
	struct ledger_span s = {
		j->time.start_ns, j->time.edge_ns, BUCKET_WASTED, BUCKET_GOODPUT, ns, LEDGER_REST};

	if (j->window && ns && window_add(j->window, &s))
		job_window_lose(j);
}

void job_windows(const struct job *j, uint64_t now_ns, const uint64_t *length_ns,
		 struct window_view *ret)
{
	struct window *w = j->window ? window_copy(j->window) : NULL;
	uint64_t hang_ns = 0, excluded_ns = 0;
	int err;

	if (!w)
		return;
	if (j->ref) {
		struct ledger_view l;

		ledger_view(j->ref->ledger, &l);
		hang_ns = l.ns[BUCKET_HANG] - window_total(j->ref->window, BUCKET_HANG);
		excluded_ns = window_unbooked(j->ref->window, j->excluded, &l, now_ns);
		err = window_merge(w, j->ref->window, j->time.edge_ns, job_window_edge_of(j));
	} else {
		err = job_window_idle_add(j, w, j->disrupted ? BUCKET_RECOVERY : BUCKET_OTHER,
					  j->time.edge_ns, now_ns);
	}
	for (int i = 0; !err && i < WINDOWS_MAX && length_ns[i]; i++) {
		window_view(w, now_ns, length_ns[i], hang_ns, &ret[i]);
		window_leave_out(&ret[i], excluded_ns);
	}
	/* if the job ran on other nodes before, no window contains its whole life */
	for (int i = 0; i < WINDOWS_MAX && j->carried_runs; i++)
		ret[i].whole = false;
	window_free(w);
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Returns the bucket to which time between two runs belongs. */
static enum bucket job_between(const struct job *j)
{
	return j->disrupted ? BUCKET_RECOVERY : BUCKET_OTHER;
}

/* Adds the time between two runs to the sums, the excluded part to EXCLUDED. */
static void job_idle(const struct job *j, uint64_t *ns, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t excluded_ns = exclusion_within(j->excluded, from_ns, to_ns);

	ns[job_between(j)] += to_ns - from_ns - excluded_ns;
	ns[BUCKET_EXCLUDED] += excluded_ns;
}

/* When two processes overlap, removes the overlap (skip_ns) from the sums of the later one: first
 * from its startup, last from its goodput. excluded_ns: excluded time within the overlap, which is
 * removed from EXCLUDED. */
static void job_time_skip(uint64_t *ns, uint64_t skip_ns, uint64_t excluded_ns)
{
	const enum bucket *first = bucket_gives_way;

	skip_ns -= take_up_to(&ns[BUCKET_EXCLUDED], excluded_ns);
	for (size_t i = 0; skip_ns && i < BUCKETS_GIVE_WAY; i++)
		skip_ns -= take_up_to(&ns[first[i]], skip_ns);
	for (int b = 0; skip_ns && b < BUCKET_COUNT; b++)
		skip_ns -= b == BUCKET_GOODPUT ? 0 : take_up_to(&ns[b], skip_ns);
	take_up_to(&ns[BUCKET_GOODPUT], skip_ns);
}

/* Subtracts base_ns from the sums, bucket by bucket. If a bucket became smaller after base_ns was
 * taken, its time was moved to other buckets, so the difference is subtracted from those. */
static void job_time_subtract(uint64_t *ns, const uint64_t *base_ns)
{
	uint64_t owed_ns = 0;

	for (int b = 0; b < BUCKET_COUNT; b++) {
		if (ns[b] >= base_ns[b]) {
			ns[b] -= base_ns[b];
			continue;
		}
		owed_ns += base_ns[b] - ns[b];
		ns[b] = 0;
	}
	for (int b = 0; owed_ns && b < BUCKET_COUNT; b++)
		owed_ns -= take_up_to(&ns[b], owed_ns);
}

/* Computes which part of the reference's ledger belongs to the job, by bucket. Returns its length
 * (ns). */
static uint64_t job_part(const struct job *j, const struct ledger_view *v, uint64_t *ret_ns)
{
	uint64_t sum_ns = 0;

	memcpy(ret_ns, v->ns, sizeof(v->ns));
	job_time_subtract(ret_ns, j->time.base_ns);
	job_time_skip(
		ret_ns, j->time.skip_ns,
		exclusion_within(j->excluded, j->time.edge_ns - j->time.skip_ns, j->time.edge_ns));
	for (int b = 0; b < BUCKET_COUNT; b++)
		sum_ns += ret_ns[b];
	return sum_ns;
}

/* Divides custom_ns, the job's time of custom events, by type of the event. If the types together
 * have more time than custom_ns, the last ones get less. */
static void job_ledger_types_part(const struct job *j, const struct ledger_view *v,
				  uint64_t custom_ns, uint64_t *ret_ns)
{
	uint64_t all_ns[LEDGER_TYPES] = {0};

	for (uint32_t i = 0; i < v->ntypes; i++)
		all_ns[v->types[i].name < LEDGER_TYPES ? v->types[i].name : LEDGER_REST] +=
			v->types[i].ns;
	for (int i = 0; i < LEDGER_TYPES; i++) {
		uint64_t ns = all_ns[i] - j->time.base_types_ns[i];

		ret_ns[i] = smaller_of(ns, custom_ns);
		custom_ns -= ret_ns[i];
	}
}

static void job_ledger_types_view(struct ledger_view *v, const uint64_t *past_ns,
				  const uint64_t *ns)
{
	v->types[0] = (struct ledger_type){LEDGER_REST, past_ns[0] + ns[0]};
	for (uint32_t i = 1; i < LEDGER_TYPES; i++) {
		v->ntypes += !v->ntypes;
		if (past_ns[i] + ns[i])
			v->types[v->ntypes++] = (struct ledger_type){i, past_ns[i] + ns[i]};
	}
}

/* Shifts the history from another node back by ns. The clocks of two nodes differ: the time that
 * the other node saw cannot end after the job continued here. */
static void job_time_shift(struct job *j, uint64_t ns)
{
	j->time.start_ns -= ns;
	j->time.edge_ns -= ns;
	j->disruption.d.at_ns -= ns;
	if (j->disrupted && !j->unreported)
		j->disruptions[(j->ndisruptions - 1) % JOB_DISRUPTIONS] = j->disruption;
}

/* A process of the job existed before its first rank, as a launcher does. The job began with that
 * process, and was starting up until the first rank began. */
static void job_time_reach_back(struct job *j, uint64_t from_ns)
{
	struct job_time *t = &j->time;
	uint64_t excluded_ns = exclusion_within(j->excluded, from_ns, t->start_ns);

	job_window_reach_back(j, from_ns);
	t->past_ns[BUCKET_PROGRAM_STARTUP] += t->start_ns - from_ns - excluded_ns;
	t->past_ns[BUCKET_EXCLUDED] += excluded_ns;
	t->start_ns = from_ns;
}

void job_time_refer(struct job *j, struct job_member *m, bool midway)
{
	struct job_time *t = &j->time;
	struct ledger_view v;
	uint64_t from_ns;

	ledger_view(m->ledger, &v);
	memset(t->base_ns, 0, sizeof(t->base_ns));
	memset(t->base_types_ns, 0, sizeof(t->base_types_ns));
	t->base_steps = t->base_gross_ns = 0;
	from_ns = v.start_ns;
	if (midway) { /* only time from now on counts for the job */
		memcpy(t->base_ns, v.ns, sizeof(t->base_ns));
		t->base_ns[BUCKET_OTHER] -= v.unsettled_ns;
		t->base_steps = v.steps;
		/* productive_gross_ns is 0 until the first steps are settled. */
		t->base_gross_ns = v.productive_gross_ns ? v.productive_gross_ns
							 : v.ns[BUCKET_GOODPUT];
		job_ledger_types_part(j, &v, v.ns[BUCKET_CUSTOM], t->base_types_ns);
		from_ns = v.now_ns - v.unsettled_ns;
	}
	if (!t->edge_ns)
		t->start_ns = t->edge_ns = from_ns;
	if (j->joins && job_before(from_ns, t->edge_ns))
		job_time_shift(j, t->edge_ns - from_ns);
	j->joins = false;
	if (job_before(from_ns, t->start_ns) && j->runs == 1 && !j->carried_runs)
		job_time_reach_back(j, from_ns);
	t->skip_ns = job_before(from_ns, t->edge_ns) ? t->edge_ns - from_ns : 0;
	job_window_refer(j, m, midway, from_ns, job_between(j));
	if (job_before(t->edge_ns, from_ns)) {
		job_idle(j, t->past_ns, t->edge_ns, from_ns);
		t->edge_ns = from_ns;
	}
	j->ref = m;
}

/* The rank's ledger was extended to begin more_ns earlier. If the rank is the job's reference, adds
 * more_ns to the base, which is subtracted from the ledger: the job's time does not change. */
void job_reached_back(struct job_member *m, uint64_t more_ns)
{
	if (m->job && m == m->job->ref)
		m->job->time.base_ns[BUCKET_UNOBSERVED] += more_ns;
}

void job_time_leave(struct job *j)
{
	struct job_time *t = &j->time;
	uint64_t ns[BUCKET_COUNT], types_ns[LEDGER_TYPES], len_ns;
	struct ledger_view v;

	ledger_view(j->ref->ledger, &v);
	len_ns = job_part(j, &v, ns);
	job_ledger_types_part(j, &v, ns[BUCKET_CUSTOM], types_ns);
	for (int i = 0; i < LEDGER_TYPES; i++)
		t->past_types_ns[i] += types_ns[i];
	job_window_leave(j, j->ref, &v, t->edge_ns + len_ns);
	t->edge_ns += len_ns;
	for (int b = 0; b < BUCKET_COUNT; b++)
		t->past_ns[b] += ns[b];
	t->steps += more_than(v.steps, t->base_steps);
	t->gross_ns += more_than(v.productive_gross_ns, t->base_gross_ns);
	t->base_steps = t->base_gross_ns = 0;
	j->ref = NULL;
}

/* Returns true if the whole ledger of the reference belongs to the job, as it usually does. */
static bool job_ledger_part_is_all(const struct job_time *t)
{
	uint64_t base_ns = 0;

	for (int b = 0; b < BUCKET_COUNT; b++)
		base_ns |= t->base_ns[b];
	return !base_ns && !t->skip_ns;
}

uint64_t job_time_goodput(const struct job *j)
{
	const struct job_time *t = &j->time;
	uint64_t ns[BUCKET_COUNT];
	struct ledger_view v;

	if (!j->ref)
		return t->past_ns[BUCKET_GOODPUT];
	if (job_ledger_part_is_all(t))
		return t->past_ns[BUCKET_GOODPUT] + ledger_goodput(j->ref->ledger);
	ledger_view(j->ref->ledger, &v);
	job_part(j, &v, ns);
	return t->past_ns[BUCKET_GOODPUT] + ns[BUCKET_GOODPUT];
}

uint64_t job_time_waste(struct job *j, uint64_t goodput_ns)
{
	uint64_t *past_ns = j->time.past_ns, lost_ns = 0;

	if (past_ns[BUCKET_GOODPUT] > goodput_ns)
		lost_ns = past_ns[BUCKET_GOODPUT] - goodput_ns;
	past_ns[BUCKET_GOODPUT] -= lost_ns;
	past_ns[BUCKET_WASTED] += lost_ns;
	if (j->disrupted) { /* the job's time before the disruption changes in the same way */
		take_up_to(&j->disruption_past_ns[BUCKET_GOODPUT], lost_ns);
		j->disruption_past_ns[BUCKET_WASTED] += lost_ns;
	}
	j->time.wasted_ns += lost_ns;
	job_window_waste(j, lost_ns);
	return lost_ns;
}

void job_time_view(const struct job *j, uint64_t now_ns, struct ledger_view *ret)
{
	const struct job_time *t = &j->time;
	struct ledger_view v = {0};
	uint64_t ns[BUCKET_COUNT] = {0}, types_ns[LEDGER_TYPES] = {0}, len_ns = 0;

	if (j->ref) {
		ledger_view(j->ref->ledger, &v);
		len_ns = job_part(j, &v, ns);
		job_ledger_types_part(j, &v, ns[BUCKET_CUSTOM], types_ns);
	} else if (job_before(t->edge_ns, now_ns) && j->state != JOB_OVER &&
		   j->state != JOB_ENDED) {
		len_ns = now_ns - t->edge_ns;
		job_idle(j, ns, t->edge_ns, now_ns);
	}
	*ret = (struct ledger_view){
		.start_ns = t->start_ns,
		.now_ns = t->edge_ns + len_ns,
		.unsettled_ns = smaller_of(v.unsettled_ns, ns[BUCKET_OTHER]),
		.productive_gross_ns = t->gross_ns +
				       more_than(v.productive_gross_ns, t->base_gross_ns),
		.steps = t->steps + more_than(v.steps, t->base_steps),
		.max_step = j->last_step,
		.late_ns = v.late_ns,
		.merged = v.merged,
		.disruptions = j->ndisruptions,
		.ended = j->state == JOB_OVER || j->state == JOB_ENDED,
	};
	for (int b = 0; b < BUCKET_COUNT; b++)
		ret->ns[b] = t->past_ns[b] + ns[b];
	job_ledger_types_view(ret, t->past_types_ns, types_ns);
}

void job_time_sums(const struct job *j, uint64_t now_ns, uint64_t *ret_ns)
{
	struct ledger_view v;

	job_time_view(j, now_ns, &v);
	memcpy(ret_ns, v.ns, sizeof(v.ns));
	ret_ns[BUCKET_OTHER] -= v.unsettled_ns;
}
