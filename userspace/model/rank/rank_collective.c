/* SPDX-License-Identifier: Apache-2.0 */
/* rank_collective.c - counts the collectives that a process has entered, for each communicator. If
 * the process hangs, these counts are compared with those of the other ranks. Sends and receives
 * are not counted, because they involve only two ranks. */
#include "userspace/model/rank/rank_private.h"

void rank_collective(struct rank *r, const struct signal *s)
{
	struct rank_collectives *c = &r->collectives;
	const char *origin = s->origin ? s->origin : "";
	uint32_t i = c->last;

	if (s->pair)
		return;
	if (!c->ncomms || c->comm[i] != s->ident) {
		for (i = 0; i < c->ncomms && c->comm[i] != s->ident; i++)
			;
		if (i == RANK_COMMS) {
			c->many = true;
			return;
		}
		if (i == c->ncomms) {
			c->comm[c->ncomms++] = s->ident;
			r->member.collects = true;
		}
	}
	c->last = i;
	c->count[i]++;
	if (strcmp(c->name, origin) != 0)
		snprintf(c->name, sizeof(c->name), "%s", origin);
}

void rank_communicator(struct rank *r, const struct signal *s)
{
	if (r->member.process.rank >= 0 && !r->self_ranked && !r->place_ranked)
		return;
	if (r->self_ranked && s->count <= (uint64_t)r->member.process.world_size)
		return;
	r->self_ranked = true;
	r->place_ranked = false;
	r->member.process.rank = (int)s->number;
	r->member.process.world_size = (int)s->count;
	job_ranked(&r->member);
}

void rank_collective_stands(struct rank *r, uint64_t now_ns, bool called)
{
	const struct rank_collectives *c = &r->collectives;
	struct job_place p = {
		.pid = r->member.pid,
		.rank = r->member.process.rank,
		.comms = c->ncomms,
		.comm = c->last,
		.count = c->count[c->last] + called,
		.whole = r->from_start && !r->lost && !c->many && !c->unsent,
		.reported_ns = now_ns,
	};

	if (!c->ncomms)
		return;
	snprintf(p.name, sizeof(p.name), "%s", c->name);
	job_place(&r->member, &p);
}

bool rank_is_distributed(const struct rank *r)
{
	return r->member.process.world_size > 1 ||
	       r->member.seen & (1ull << SIGNAL_REDUCER | 1ull << SIGNAL_COLLECTIVE);
}

void rank_collective_archive(struct archive *a, struct rank_collectives *c)
{
	archive_below(a, &c->ncomms, RANK_COMMS + 1);
	archive_below(a, &c->last, RANK_COMMS);
	for (uint32_t i = 0; i < c->ncomms; i++)
		archive_fields(a, c, comm[i], count[i]);
	archive_fields(a, c, many, unsent, name);
}
