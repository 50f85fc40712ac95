/* SPDX-License-Identifier: Apache-2.0 */
/* rank_place.c - the workload location of a process (pod, container, node), and the job name that
 * the scheduler gave. */
#include "userspace/model/rank/rank_private.h"

/* Copies a location and escapes its texts, because their source is not trusted. */
static void place_take(struct gp_place *to, const struct gp_place *from)
{
	*to = *from;
	event_copy(to->job, from->job);
	event_copy(to->job_uid, from->job_uid);
	event_copy(to->namespace, from->namespace);
	event_copy(to->pod, from->pod);
	event_copy(to->pod_uid, from->pod_uid);
	event_copy(to->container_name, from->container_name);
	event_copy(to->container_id, from->container_id);
	event_copy(to->node, from->node);
	event_copy(to->owner, from->owner);
	to->job_from = *to->job && to->job_from < GP_JOB_FROM_COUNT ? to->job_from
								    : GP_JOB_FROM_none;
	to->later = to->later && to->rank < 0;
	to->container = to->container < GP_CONTAINER_COUNT ? to->container : GP_CONTAINER_unknown;
	if (to->job_from == GP_JOB_FROM_none)
		*to->job = *to->job_uid = '\0';
}

/* Sets rank and world size from the location, unless the process itself gave them, for example when
 * it made a communicator. A process knows its rank better than the location, because a pod may
 * contain several processes. */
void rank_place_apply(struct rank *r)
{
	struct gp_process *own = &r->member.process;
	const struct gp_place *p = r->member.place;

	if (!p || (own->rank >= 0 && !r->place_ranked))
		return;
	/* Replace a rank from an earlier location, because more may be known about the location
	 * now. */
	r->place_ranked = p->rank >= 0;
	own->rank = p->rank >= 0 ? p->rank : -1;
	own->world_size = p->rank >= 0 && p->world_size > p->rank ? p->world_size : own->world_size;
	job_ranked(&r->member);
}

int rank_place(struct rank *r, const struct gp_place *p)
{
	struct gp_place *own = r->member.place ? r->member.place : malloc(sizeof(*own));
	int attempt = r->member.place && r->placed ? r->member.place->attempt : -1;

	if (!own)
		return -ENOMEM;
	place_take(own, p);
	/* keep the attempt, whose number may be higher when the location is read again */
	if (attempt >= 0)
		own->attempt = attempt;
	r->member.place = own;
	r->placed = true;
	rank_place_apply(r);
	return 0;
}

int rank_place_inherit(struct rank *r, const struct rank *parent)
{
	if (r->member.place || !parent || !parent->member.place)
		return 0;
	r->member.place = malloc(sizeof(*r->member.place));
	if (!r->member.place)
		return -ENOMEM;
	*r->member.place = *parent->member.place;
	rank_place_apply(r);
	return 0;
}

void rank_place_archive(struct archive *a, struct rank *r)
{
	struct gp_place *p = r->member.place = archive_object(a, r->member.place, sizeof(*p));

	archive_fields(a, r, placed, place_ranked);
	if (!p)
		return;
	archive_below(a, &p->job_from, GP_JOB_FROM_COUNT);
	archive_below(a, &p->container, GP_CONTAINER_COUNT);
	archive_fields(a, p, later, local_attempt, attempt, rank, world_size, created_ns,
		       scheduled_ns, started_ns, job, job_uid, namespace, pod, pod_uid,
		       container_name, container_id, node);
	archive_fields(a, p, owner);
	archive_require(a, !*p->job == (p->job_from == GP_JOB_FROM_none));
}
