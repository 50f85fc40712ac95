/* SPDX-License-Identifier: Apache-2.0 */
/* rank_fact.c - sends facts and records events of a process. */
#include "userspace/model/rank/rank_private.h"

#include <stdarg.h>

void rank_fact(const struct rank *r, struct fact *f, uint64_t mono_ns)
{
	const struct job_member *m = &r->member;
	const struct fact_life life = {
		.run_start_ns = job_run_start(m),
		.alive = r->alive,
		.status = r->status,
		.group_from_ns = r->start.group_from_ns,
		.group_to_ns = r->start.group_to_ns,
		.loader_from_ns = r->start.loader_from_ns,
		.loader_to_ns = r->start.loader_to_ns,
		.scheduling = job_scheduling(m),
	};

	f->number = ++m->env->facts;
	f->mono_ns = mono_ns;
	f->real_ns = anchors_real(&m->env->anchors, mono_ns);
	f->pid = m->pid;
	f->start_ns = m->start_ns;
	f->run = m->run;
	f->rank = m->process.rank;
	f->world_size = m->process.world_size;
	f->job = job_name_of(m);
	f->place = m->place;
	f->types = &m->env->ranges.types;
	f->life = &life;
	if (m->env->sink)
		m->env->sink(m->env->ctx, f);
	f->life = NULL;
}

void rank_event(struct rank *r, uint64_t mono_ns, const char *fmt, ...)
{
	struct event_view *e = &r->events[r->nevents++ % SNAPSHOT_EVENTS];
	va_list ap;

	e->mono_ns = mono_ns;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

void rank_ledger_checked(struct rank *r)
{
	if (!ledger_check(r->member.ledger))
		r->member.env->ledger_violations++;
}
