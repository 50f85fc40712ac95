/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/library.h"

void library_watch_init(struct library_watch *w)
{
	*w = (struct library_watch){.last_us = GOODPUT_UNKNOWN, .write_us = GOODPUT_UNKNOWN};
	for (int k = 0; k < GOODPUT_KINDS; k++)
		w->before[k].time_us = GOODPUT_UNKNOWN;
}

static void watch_step(struct library_watch *w, const struct goodput_record *r)
{
	const struct goodput_record *before = &w->before[GOODPUT_STEP];

	if (before->time_us != GOODPUT_UNKNOWN && r->number > before->number &&
	    (uint64_t)r->number - (uint64_t)before->number > 1)
		w->counts[WARN_GAPS] += (uint64_t)r->number - (uint64_t)before->number - 1;
}

void library_watch_feed(struct library_watch *w, const struct goodput_record *r)
{
	const struct goodput_record *before = &w->before[r->kind];
	const struct goodput_record *step = &w->before[GOODPUT_STEP];
	int64_t at_us = r->written ? r->write_us : r->time_us;

	w->job = r->job;
	if (before->time_us != GOODPUT_UNKNOWN && before->time_us == r->time_us &&
	    before->number == r->number && before->name == r->name)
		w->counts[WARN_DUPLICATE]++;
	if (r->write_us < w->write_us)
		w->counts[WARN_DISORDER]++;
	if (r->kind == GOODPUT_STEP)
		watch_step(w, r);
	if (r->kind == GOODPUT_JOB_START && step->time_us != GOODPUT_UNKNOWN &&
	    r->time_us < step->time_us)
		w->counts[WARN_SKEW]++;
	if (w->ended && (r->kind == GOODPUT_STEP || r->kind == GOODPUT_JOB_START)) {
		w->counts[WARN_STALE_END]++;
		w->ended = false;
	}
	if (r->kind == GOODPUT_JOB_END)
		w->ended = true;
	w->write_us = r->write_us;
	w->before[r->kind] = *r;
	if (at_us > w->last_us)
		w->last_us = at_us;
}

static uint64_t open_names(const struct goodput_dict *open)
{
	uint64_t n = 0;

	for (size_t i = 0; i < open->count; i++)
		n += open->entries[i].value != GOODPUT_UNKNOWN;
	return n;
}

void library_watch_tell(const struct library_watch *w, const struct library_calc *c,
			uint64_t ret_warnings[WARNINGS])
{
	for (int i = 0; i < WARNINGS; i++)
		ret_warnings[i] = w->counts[i];
	ret_warnings[WARN_DISORDER] += c->late_customs;
	ret_warnings[WARN_NULLS] = c->nulls;
	ret_warnings[WARN_NO_START] = c->first_start == GOODPUT_UNKNOWN;
	ret_warnings[WARN_ORPHANS] = c->orphans;
	ret_warnings[WARN_MERGED] = c->merged;
	ret_warnings[WARN_OPEN] = (c->init.start != GOODPUT_UNKNOWN) +
				  (c->prep.start != GOODPUT_UNKNOWN) +
				  (c->reinit.start != GOODPUT_UNKNOWN) +
				  (c->load_start != GOODPUT_UNKNOWN) +
				  open_names(&c->open_customs) + open_names(&c->open_waits) +
				  c->reopened;
}
