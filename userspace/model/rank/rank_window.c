/* SPDX-License-Identifier: Apache-2.0 */
/* rank_window.c - the time of a rank by bucket, in windows such as the last hour. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/number.h"

#define WINDOWS_REPORT_NS 60000000000ull

static void rank_window_on_trace(void *ctx, const struct ledger_span *s)
{
	struct rank *r = ctx;
	int err;

	if (s->from_ns < r->ledger_start_ns) {
		window_reach_back(r->member.window, s->from_ns);
		r->ledger_start_ns = s->from_ns;
	}
	rank_badput_span(r, s);
	err = window_add(r->member.window, s);
	r->error = err ? err : r->error;
}

void rank_window_trace(struct rank *r)
{
	ledger_exclude(r->member.ledger, &r->member.env->excluded);
	ledger_trace(r->member.ledger, rank_window_on_trace, r);
}

int rank_window_open(struct rank *r)
{
	struct job_member *m = &r->member;
	struct ledger_span before = {.from_ns = m->start_ns, .was = BUCKET_COUNT};

	m->window = window_new(m->start_ns);
	if (!m->window)
		return -ENOMEM;
	r->ledger_start_ns = m->start_ns;
	for (; before.from_ns < m->observed_ns; before.from_ns = before.to_ns) {
		before.to_ns = m->observed_ns;
		before.bucket = exclusion_at(&m->env->excluded, before.from_ns, &before.to_ns)
					? BUCKET_EXCLUDED
					: BUCKET_UNOBSERVED;
		before.ns = before.to_ns - before.from_ns;
		if (window_add(m->window, &before))
			return -ENOMEM;
	}
	rank_window_trace(r);
	return 0;
}

void rank_windows(const struct rank *r, uint64_t now_ns, struct window_view *ret)
{
	const uint64_t *length_ns = model_env_windows(r->member.env);
	uint64_t settled_ns, excluded_ns;
	struct ledger_view l;

	if (!r->member.window)
		return;
	ledger_view(r->member.ledger, &l);
	settled_ns = window_total(r->member.window, BUCKET_HANG);
	now_ns = l.ended || now_ns < l.now_ns ? l.now_ns : now_ns;
	excluded_ns = window_unbooked(r->member.window, &r->member.env->excluded, &l, now_ns);
	for (int i = 0; i < WINDOWS_MAX && length_ns[i]; i++) {
		window_view(r->member.window, now_ns, length_ns[i],
			    more_than(l.ns[BUCKET_HANG], settled_ns), &ret[i]);
		window_leave_out(&ret[i], excluded_ns);
	}
}

/* Reports the windows as facts. A window that covers the whole life of the rank is skipped, because
 * it equals the cumulative ledger. */
void rank_report_windows(struct rank *r, uint64_t now_ns)
{
	struct window_view v[WINDOWS_MAX] = {0};
	struct fact f = {.type = FACT_LEDGER};

	if (now_ns - r->windows_reported_ns < WINDOWS_REPORT_NS && r->alive)
		return;
	r->windows_reported_ns = now_ns;
	rank_windows(r, now_ns, v);
	for (int i = 0; i < WINDOWS_MAX; i++) {
		if (!v[i].length_ns || v[i].whole)
			continue;
		f.window = &v[i];
		rank_fact(r, &f, now_ns);
	}
}
