/* SPDX-License-Identifier: Apache-2.0 */
/* rank_place.c - where a process runs, and what whoever runs it calls its job. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/model/rank.h"

#define TEXT(field) event_text(to->field, sizeof(to->field), from->field, sizeof(from->field))

/* Whoever wrote the record, text is as it may be shown. */
static void place_take(struct gp_place *to, const struct gp_place *from)
{
	*to = *from;
	TEXT(job);
	TEXT(job_uid);
	TEXT(namespace);
	TEXT(pod);
	TEXT(pod_uid);
	TEXT(container_name);
	TEXT(container_id);
	TEXT(node);
	TEXT(owner);
	to->job_from = *to->job && to->job_from < GP_JOB_FROM_COUNT ? to->job_from
								    : GP_JOB_FROM_none;
	to->later = to->later && to->rank < 0;
	to->container = to->container < GP_CONTAINER_COUNT ? to->container : GP_CONTAINER_unknown;
	if (to->job_from == GP_JOB_FROM_none)
		*to->job = *to->job_uid = '\0';
}

/* What the process itself says, also to make a communicator, is more exact: a pod may hold several.
 */
void rank_place_apply(struct rank *r)
{
	const struct gp_place *p = r->place;

	if (!p || (r->process.rank >= 0 && !r->place_ranked))
		return;
	r->place_ranked = p->rank >=
			  0; /* or it is not any more: the pod, once known, says otherwise */
	r->process.rank = p->rank >= 0 ? p->rank : -1;
	r->process.world_size = p->rank >= 0 && p->world_size > p->rank ? p->world_size
									: r->process.world_size;
	job_ranked(r);
}

int rank_place(struct rank *r, const struct gp_place *p)
{
	struct gp_place *own = r->place ? r->place : malloc(sizeof(*own));
	int attempt = r->place && r->placed ? r->place->attempt : -1;

	if (!own)
		return -ENOMEM;
	place_take(own, p);
	if (attempt >= 0) /* what is begun now beside it may be counted already */
		own->attempt = attempt;
	r->place = own;
	r->placed = true;
	rank_place_apply(r);
	return 0;
}

int rank_place_inherit(struct rank *r, const struct rank *parent)
{
	if (r->place || !parent || !parent->place)
		return 0;
	r->place = malloc(sizeof(*r->place));
	if (!r->place)
		return -ENOMEM;
	*r->place = *parent->place;
	rank_place_apply(r);
	return 0;
}

const char *rank_job_named(const struct rank *r, const char **ret_uid)
{
	bool placed = r->place && *r->place->job;

	*ret_uid = placed && *r->place->job_uid ? r->place->job_uid : r->env->job_uid;
	return placed ? r->place->job : r->process.job;
}

void rank_place_archive(struct archive *a, struct rank *r)
{
	struct gp_place *p = r->place = archive_object(a, r->place, sizeof(*p));

	archive_number(a, &r->placed);
	archive_number(a, &r->place_ranked);
	if (!p)
		return;
	archive_below(a, &p->job_from, GP_JOB_FROM_COUNT);
	archive_below(a, &p->container, GP_CONTAINER_COUNT);
	archive_number(a, &p->later);
	archive_number(a, &p->attempt);
	archive_number(a, &p->rank);
	archive_number(a, &p->world_size);
	archive_number(a, &p->created_ns);
	archive_number(a, &p->scheduled_ns);
	archive_number(a, &p->started_ns);
	archive_text(a, p->job);
	archive_text(a, p->job_uid);
	archive_text(a, p->namespace);
	archive_text(a, p->pod);
	archive_text(a, p->pod_uid);
	archive_text(a, p->container_name);
	archive_text(a, p->container_id);
	archive_text(a, p->node);
	archive_text(a, p->owner);
	archive_require(a, !*p->job == (p->job_from == GP_JOB_FROM_none));
}
