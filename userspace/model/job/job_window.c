/* SPDX-License-Identifier: Apache-2.0 */
/* job_window.c - where the time of a job went in rolling windows. */
#include "userspace/model/job/job_private.h"
#include "userspace/base/number.h"

/* As in job_ledger.c: the past, and the reference's part. */

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

/* There is no window if there is no memory: an incomplete one would be wrong. */
static void window_lose(struct job *j)
{
	window_free(j->window);
	j->window = NULL;
}

static void job_window_past_add(struct job *j, enum bucket b, uint64_t from_ns, uint64_t to_ns)
{
	if (job_window_idle_add(j, j->window, b, from_ns, to_ns))
		window_lose(j);
}

static const struct window_edge *job_window_edge_of(const struct job *j)
{
	return j->ref_midway ? &j->ref_edge : NULL;
}

void job_window_reach_back(struct job *j, uint64_t from_ns)
{
	if (j->window)
		window_reach_back(j->window, from_ns);
	job_window_past_add(j, BUCKET_PROGRAM_STARTUP, from_ns, j->time.start_ns);
}

void job_window_refer(struct job *j, const struct job_member *m, bool midway, uint64_t from_ns,
		      enum bucket between)
{
	/* If it overlaps the past, the slot's share is unknown. */
	j->ref_midway = midway && !job_before(from_ns, j->time.edge_ns);
	if (j->ref_midway)
		window_edge(m->window, from_ns, &j->ref_edge);
	if (!j->window) /* none if there is no memory */
		j->window = window_new(from_ns);
	/* No window of this node contains time before the boot. */
	job_window_past_add(j, between, (int64_t)j->time.edge_ns > 0 ? j->time.edge_ns : 0,
			    from_ns);
}

void job_window_leave(struct job *j, const struct job_member *m, const struct ledger_view *v,
		      uint64_t edge_ns)
{
	uint64_t settled_ns = v->now_ns - v->unsettled_ns;

	if (j->window && m->window &&
	    window_merge(j->window, m->window, j->time.edge_ns, job_window_edge_of(j)))
		window_lose(j);
	job_window_past_add(j, BUCKET_OTHER, larger_of(settled_ns, j->time.edge_ns), edge_ns);
}

void job_window_waste(struct job *j, uint64_t ns)
{
	struct ledger_span s = {
		j->time.start_ns, j->time.edge_ns, BUCKET_WASTED, BUCKET_GOODPUT, ns, LEDGER_REST};

	if (j->window && ns && window_add(j->window, &s))
		window_lose(j);
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
	for (int i = 0; i < WINDOWS_MAX && j->carried_runs; i++) /* another node has the rest */
		ret[i].whole = false;
	window_free(w);
}
