/* SPDX-License-Identifier: Apache-2.0 */
/* model_place.c - finds the job to which a process belongs, and handles workload locations and
 * events of pods and nodes. */
#include "userspace/base/hash.h"
#include "userspace/model/model_private.h"

/* Returns the key of the job to which a process belongs. It is made of the job's name if there is
 * one, otherwise of the process tree: processes that one launcher started are usually one training.
 * If the user named the ranks one by one, it is made of their common parent. */
uint64_t model_job_key(struct model *m, const struct job_member *p)
{
	const struct gp_process *is = &p->process;
	struct rank *parent = is->parent ? model_rank(m, is->parent) : NULL;
	const char *uid, *name = job_called(p, &uid);
	uint64_t hash = HASH_START;

	if (*name)
		return job_name_key(name, uid);
	if (parent && rank_member(parent)->job_key)
		return rank_member(parent)->job_key;
	if (p->job_key)
		return p->job_key;
	if (is->parent && is->rank >= 0 && is->world_size > 1)
		return hash_word(hash_word(hash, 'p'), is->parent);
	return hash_word(hash_word(hash, p->pid), p->start_ns);
}

/* Changes the job key in all ranks of a job. */
static void model_job_moved(struct model *m, uint64_t was, uint64_t key)
{
	struct rank *r;

	for (size_t at = 0; (r = table_next(m->live, &at, NULL));)
		if (rank_member(r)->job_key == was)
			rank_member(r)->job_key = key;
	for (uint32_t i = 0; i < m->ndead; i++)
		if (rank_member(m->dead[i])->job_key == was)
			rank_member(m->dead[i])->job_key = key;
}

/* Removes the job's name from the location of a process, so that the process has the name of the
 * job to which it belongs. */
static void place_unname(struct gp_place *place)
{
	place->job_from = GP_JOB_FROM_none;
	*place->job = *place->job_uid = '\0';
}

int model_feed_place(struct model *m, const struct event *ev)
{
	struct rank *r = model_rank(m, ev->rec->pid);
	struct job_member *p = r ? rank_member(r) : NULL;
	struct gp_place before = {0};
	uint64_t key, was;
	int err;

	if (!r)
		return 0;
	if (p->place)
		before = *p->place;
	err = rank_place(r, ev->place);
	if (err)
		return err;
	was = p->job_key;
	key = model_job_key(m, p);
	if (!p->job)
		p->job_key = key;
	else if (key != was && job_rename(p, key))
		model_job_moved(m, was, key);
	else if (key != was)
		place_unname(p->place);
	job_placed(p);
	if (memcmp(&before, p->place, sizeof(before)) != 0)
		rank_states_again(r, ev->rec->ts_ns);
	return 0;
}

static bool model_in_pod(struct rank *r, const char *pod_uid)
{
	const struct gp_place *place = rank_member(r)->place;

	return place && !strcmp(place->pod_uid, pod_uid);
}

int model_feed_notice(struct model *m, const struct event *ev)
{
	const struct gp_notice *n = ev->notice;
	char pod_uid[sizeof(n->pod_uid)], text[sizeof(n->text)];
	struct rank *r;

	notices_add(&m->env.notices, ev->rec->ts_ns, n);
	if (!n->what || n->what >= GP_NOTICE_COUNT || n->over)
		return 0;
	event_copy(pod_uid, n->pod_uid);
	event_copy(text, n->text);
	for (uint32_t i = 0; *pod_uid && i < m->ndead; i++)
		if (model_in_pod(m->dead[i], pod_uid))
			job_noticed(rank_member(m->dead[i]), ev->rec->ts_ns, n->what);
	for (size_t at = 0; (r = table_next(m->live, &at, NULL));) {
		if (!rank_trainer(r) || (*pod_uid && !model_in_pod(r, pod_uid)))
			continue;
		rank_event(r, ev->rec->ts_ns, "%s %s%s%.80s",
			   *pod_uid ? "its pod:" : "its node:", notice_name[n->what],
			   *text ? ": " : "", text);
	}
	return 0;
}
