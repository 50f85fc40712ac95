/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/rank.h"

#include <errno.h>

#define TOLD_NS 60000000000ull

static void on_trace(void *ctx, const struct ledger_span *s)
{
	struct rank *r = ctx;
	int err;

	if (s->from_ns < r->ledger_start_ns) {
		window_reach_back(r->window, s->from_ns);
		r->ledger_start_ns = s->from_ns;
	}
	err = window_add(r->window, s);
	r->error = err ? err : r->error;
}

void rank_window_trace(struct rank *r)
{
	ledger_away(r->ledger, &r->env->away);
	ledger_trace(r->ledger, on_trace, r);
}

int rank_window_open(struct rank *r)
{
	struct ledger_span before = {.from_ns = r->start_ns, .was = BUCKET_COUNT};

	r->window = window_new(r->start_ns);
	if (!r->window)
		return -ENOMEM;
	r->ledger_start_ns = r->start_ns;
	for (; before.from_ns < r->observed_ns; before.from_ns = before.to_ns) {
		before.to_ns = r->observed_ns;
		before.bucket = away_at(&r->env->away, before.from_ns, &before.to_ns)
					? BUCKET_EXCLUDED
					: BUCKET_UNOBSERVED;
		before.ns = before.to_ns - before.from_ns;
		if (window_add(r->window, &before))
			return -ENOMEM;
	}
	rank_window_trace(r);
	return 0;
}

const uint64_t *rank_window_lengths(const struct rank_env *env)
{
	return env->windows_ns[0] ? env->windows_ns : window_usual_ns;
}

void rank_windows(const struct rank *r, uint64_t now_ns, struct window_view *ret)
{
	const uint64_t *length_ns = rank_window_lengths(r->env);
	uint64_t settled_ns, away_ns;
	struct ledger_view l;

	if (!r->window)
		return;
	ledger_view(r->ledger, &l);
	settled_ns = window_total(r->window, BUCKET_HANG);
	now_ns = l.ended || now_ns < l.now_ns ? l.now_ns : now_ns;
	away_ns = window_unbooked(r->window, &r->env->away, &l, now_ns);
	for (int i = 0; i < WINDOWS_MAX && length_ns[i]; i++) {
		window_view(r->window, now_ns, length_ns[i],
			    l.ns[BUCKET_HANG] > settled_ns ? l.ns[BUCKET_HANG] - settled_ns : 0,
			    &ret[i]);
		window_leave_out(&ret[i], away_ns);
	}
}

/* One that holds all there is would say what the cumulative line says. */
void rank_tell_windows(struct rank *r, uint64_t now_ns)
{
	struct window_view v[WINDOWS_MAX] = {0};
	struct fact f = {.type = FACT_LEDGER};

	if (now_ns - r->windows_told_ns < TOLD_NS && r->alive)
		return;
	r->windows_told_ns = now_ns;
	rank_windows(r, now_ns, v);
	for (int i = 0; i < WINDOWS_MAX; i++) {
		if (!v[i].length_ns || v[i].whole)
			continue;
		f.window = &v[i];
		rank_fact(r, &f, now_ns);
	}
}
