/* SPDX-License-Identifier: Apache-2.0 */
/* word_place.h - where a process runs, and what is done to its pod.
 *
 * place [FROM NAME [UID]] [KEY VALUE...]: FROM as enum gp_job_from has it, KEY one of pod (its uid
 * and name), namespace, container, node, attempt, local (1: attempt counts restarts of its group of
 * workers alone), rank, world, later (1: rank is not told, but not 0), and created, scheduled,
 * started: since the start of the case, where "-2s" lies before it. A name that is a pod's comes
 * FROM "job_pod". notice WHAT [UID] [over]: of a pod, or of the node. */
#ifndef TESTS_CASES_WORD_PLACE_H
#define TESTS_CASES_WORD_PLACE_H

#include "tests/cases/device.h"

static inline __s64 place_instant(struct script *s, const char *text)
{
	bool before = *text == '-';
	uint64_t ns = 0;

	if (!script_duration(text + before, &ns))
		script_fail(s, "no time: %s", text);
	return SCRIPT_REAL_NS + (before ? -(__s64)ns : (__s64)ns);
}

static inline void place_key(struct script *s, struct gp_place *p, const char *key,
			     const char *value)
{
	if (!strcmp(key, "pod")) {
		snprintf(p->pod_uid, sizeof(p->pod_uid), "%s", value);
		snprintf(p->pod, sizeof(p->pod), "%s", value);
	} else if (!strcmp(key, "namespace")) {
		snprintf(p->namespace, sizeof(p->namespace), "%s", value);
	} else if (!strcmp(key, "container")) {
		snprintf(p->container_name, sizeof(p->container_name), "%s", value);
	} else if (!strcmp(key, "node")) {
		snprintf(p->node, sizeof(p->node), "%s", value);
	} else if (!strcmp(key, "attempt")) {
		p->attempt = atoi(value);
	} else if (!strcmp(key, "local")) {
		p->local_attempt = (__u8)atoi(value);
	} else if (!strcmp(key, "rank")) {
		p->rank = atoi(value);
	} else if (!strcmp(key, "later")) {
		p->later = (__u8)atoi(value);
	} else if (!strcmp(key, "world")) {
		p->world_size = atoi(value);
	} else if (!strcmp(key, "created")) {
		p->created_ns = place_instant(s, value);
	} else if (!strcmp(key, "scheduled")) {
		p->scheduled_ns = place_instant(s, value);
	} else if (!strcmp(key, "started")) {
		p->started_ns = place_instant(s, value);
	} else {
		script_fail(s, "no such part of a place: %s", key);
	}
}

static inline void word_notice(struct script *s, const struct move *m)
{
	static const char *const kinds[GP_NOTICE_COUNT] = {
#define X(id, name) [id] = #name,
		GP_NOTICES(X)
#undef X
	};
	struct gp_notice *n = script_add(s, GP_KIND_notice, m->at_ns, 0, -1);

	for (unsigned i = 1; m->argc > 1 && i < GP_NOTICE_COUNT; i++)
		n->what = !strcmp(kinds[i], m->argv[1]) ? (__u8)i : n->what;
	for (int i = 2; i < m->argc; i++) {
		if (!strcmp(m->argv[i], "over"))
			n->over = 1;
		else
			snprintf(n->pod_uid, sizeof(n->pod_uid), "%s", m->argv[i]);
	}
	snprintf(n->text, sizeof(n->text), "as told");
}

static inline bool word_place(struct script *s, const struct move *m)
{
	static const char *const froms[GP_JOB_FROM_COUNT] = {
#define X(id, name) [id] = #name,
		GP_JOB_FROM(X)
#undef X
	};
	struct gp_place *p;
	int i = 1;

	if (!strcmp(m->argv[0], "notice")) {
		word_notice(s, m);
		return true;
	}
	if (strcmp(m->argv[0], "place") != 0)
		return false;
	p = script_add(s, GP_KIND_place, m->at_ns, script_pid(s), -1);
	p->attempt = p->rank = p->world_size = -1;
	for (unsigned f = 1; m->argc > 2 && f < GP_JOB_FROM_COUNT; f++) {
		if (strcmp(m->argv[1], f == GP_JOB_FROM_pod ? "job_pod" : froms[f]) != 0)
			continue;
		p->job_from = (__u8)f;
		snprintf(p->job, sizeof(p->job), "%s", m->argv[2]);
		i = 3;
		if (m->argc % 2 == 0)
			snprintf(p->job_uid, sizeof(p->job_uid), "%s", m->argv[i++]);
		break;
	}
	for (; i + 1 < m->argc; i += 2)
		place_key(s, p, m->argv[i], m->argv[i + 1]);
	return true;
}

#endif
