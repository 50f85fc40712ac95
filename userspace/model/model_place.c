/* SPDX-License-Identifier: Apache-2.0 */
/* model_place.c - which job a process is of, and what is told of where it runs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/hash.h"
#include "userspace/model/model_internal.h"

/* By the name that it has; else by the tree of processes it is in: the same training, as a rule,
 * under one launcher. Ranks that were named one by one have their launcher in common. */
uint64_t model_job_key(struct model *m, const struct rank *r)
{
	const struct gp_process *p = &r->process;
	const struct rank *parent = p->parent ? model_rank(m, p->parent) : NULL;
	const char *uid, *name = rank_job_named(r, &uid);
	uint64_t hash = HASH_START;

	if (*name)
		return job_name_key(name, uid);
	if (parent && parent->job_key)
		return parent->job_key;
	if (r->job_key)
		return r->job_key;
	if (p->parent && p->rank >= 0 && p->world_size > 1)
		return hash_word(hash_word(hash, 'p'), p->parent);
	return hash_word(hash_word(hash, r->pid), r->start_ns);
}

/* The job goes by another key: so do all that are of it. */
static void model_job_moved(struct model *m, uint64_t was, uint64_t key)
{
	struct rank *r;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));)
		r->job_key = r->job_key == was ? key : r->job_key;
	for (uint32_t i = 0; i < m->ndead; i++)
		if (m->dead[i]->job_key == was)
			m->dead[i]->job_key = key;
}

/* It goes by the name of the job that it is in. */
static void place_unname(struct rank *r)
{
	r->place->job_from = GP_JOB_FROM_none;
	*r->place->job = *r->place->job_uid = '\0';
}

int model_feed_place(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid);
	struct gp_place before = {0};
	uint64_t key, was;
	int err;

	if (!r)
		return 0;
	if (r->place)
		before = *r->place;
	err = rank_place(r, ev->place);
	if (err)
		return err;
	was = r->job_key;
	key = model_job_key(m, r);
	if (!r->job)
		r->job_key = key;
	else if (key != was && job_rename(r, key))
		model_job_moved(m, was, key);
	else if (key != was)
		place_unname(r);
	job_placed(r);
	if (memcmp(&before, r->place, sizeof(before)) != 0)
		rank_states_again(r, ev->rec->ts_ns);
	return 0;
}

int model_feed_notice(struct model *m, const struct event *ev)
{
	const struct gp_notice *n = ev->notice;
	char pod_uid[sizeof(n->pod_uid)], text[sizeof(n->text)];
	struct rank *r;

	notices_add(&m->env.notices, ev->rec->ts_ns, n);
	if (!n->what || n->what >= GP_NOTICE_COUNT || n->over)
		return 0;
	event_text(pod_uid, sizeof(pod_uid), n->pod_uid, sizeof(n->pod_uid));
	event_text(text, sizeof(text), n->text, sizeof(n->text));
	for (uint32_t i = 0; *pod_uid && i < m->ndead; i++)
		if (m->dead[i]->place && !strcmp(m->dead[i]->place->pod_uid, pod_uid))
			job_noticed(m->dead[i], ev->rec->ts_ns, n->what);
	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		if (!r->trainer ||
		    (*pod_uid && (!r->place || strcmp(r->place->pod_uid, pod_uid) != 0)))
			continue;
		rank_event(r, ev->rec->ts_ns, "%s %s%s%.80s",
			   *pod_uid ? "its pod:" : "its node:", notice_name[n->what],
			   *text ? ": " : "", text);
	}
	return 0;
}
