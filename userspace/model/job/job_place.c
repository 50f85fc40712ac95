/* SPDX-License-Identifier: Apache-2.0 */
/* job_place.c - finds in which collective each rank of a job waits when the job hangs.
 *
 * All ranks enter the collectives of a communicator in the same order. So a rank with a lower count
 * has not entered the collective in which the others wait. This needs counts from the start of both
 * ranks, without a lost record, and the same number of communicators. Handles of communicators
 * differ between processes, so communicators are compared by the order of their first use. */
#include <stdlib.h>

#include "userspace/model/job/job_private.h"
#include "userspace/base/number.h"

/* A position that is older than this (ns) is ignored: positions are reported every second. */
#define FRESH_NS 2500000000ull

struct job_places {
	struct job_place place[JOB_PLACES];
	uint32_t count;
};

void job_places_free(struct job_places *ps)
{
	free(ps);
}

static struct job_place *place_of(struct job_places *ps, uint32_t pid)
{
	struct job_place *oldest = ps->place;

	for (uint32_t i = 0; i < ps->count; i++) {
		if (ps->place[i].pid == pid)
			return &ps->place[i];
		oldest = ps->place[i].reported_ns < oldest->reported_ns ? &ps->place[i] : oldest;
	}
	return ps->count < JOB_PLACES ? &ps->place[ps->count++] : oldest;
}

void job_place(struct job_member *m, const struct job_place *p)
{
	struct job *j = m->job;

	if (!j || j->members < 2)
		return;
	if (!j->places)
		j->places = calloc(1, sizeof(*j->places));
	if (j->places)
		*place_of(j->places, p->pid) = *p;
}

/* Writes "rank 1", "ranks 0 and 2", "ranks 0, 2 and 3", or, if the ranks are unknown, "pids 7 and
 * 8". A long list is cut. */
static void job_place_put_ranks(char *out, size_t len, const struct job_place *const *list,
				uint32_t n)
{
	uint32_t shown = smaller_of(n, 8);
	bool ranked = list[0]->rank >= 0;
	size_t at = (size_t)snprintf(out, len, "%s%s", ranked ? "rank" : "pid", n > 1 ? "s" : "");

	for (uint32_t i = 0; i < shown && at < len; i++) {
		const char *between = !i ? " " : i + 1 < n ? ", " : " and ";

		at += (size_t)snprintf(out + at, len - at, "%s%s%u", between,
				       ranked && list[i]->rank < 0 ? "pid " : "",
				       list[i]->rank < 0 ? list[i]->pid : (unsigned)list[i]->rank);
	}
	if (n > shown && at < len)
		snprintf(out + at, len - at, " and %u more", n - shown);
}

static int place_order(const void *a, const void *b)
{
	const struct job_place *x = *(const struct job_place *const *)a;
	const struct job_place *y = *(const struct job_place *const *)b;

	if (x->rank != y->rank)
		return (unsigned)x->rank < (unsigned)y->rank ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void job_places_text(const struct job_member *m, uint64_t now_ns, char *out, size_t len)
{
	const struct job_places *ps = m->job ? m->job->places : NULL;
	const struct job_place *waits[JOB_PLACES], *behind[JOB_PLACES], *own = NULL, *most;
	char who[96], others[96];
	uint32_t nwaits = 0, nbehind = 0;

	*out = '\0';
	for (uint32_t i = 0; ps && i < ps->count; i++)
		own = ps->place[i].pid == m->pid ? &ps->place[i] : own;
	if (!own || !own->whole || now_ns - own->reported_ns >= FRESH_NS)
		return;
	most = own;
	/* The first pass finds the rank that entered most collectives; the second one separates the
	 * ranks with the same count, which wait, from the others. */
	for (uint32_t i = 0; i < 2 * ps->count; i++) {
		const struct job_place *p = &ps->place[i % ps->count];

		if (!p->whole || p->comms != own->comms || p->comm != own->comm ||
		    now_ns - p->reported_ns >= FRESH_NS)
			continue;
		if (i < ps->count)
			most = p->count > most->count ? p : most;
		else if (p->count == most->count)
			waits[nwaits++] = p;
		else
			behind[nbehind++] = p;
	}
	if (nwaits + nbehind < 2)
		return;
	qsort(waits, nwaits, sizeof(waits[0]), place_order);
	qsort(behind, nbehind, sizeof(behind[0]), place_order);
	job_place_put_ranks(who, sizeof(who), waits, nwaits);
	if (!nbehind) {
		snprintf(out, len, "%s have all entered %s #%llu", who, most->name,
			 (unsigned long long)most->count);
		return;
	}
	job_place_put_ranks(others, sizeof(others), behind, nbehind);
	snprintf(out, len, "%s wait%s in %s #%llu; %s ha%s not entered it", who,
		 nwaits == 1 ? "s" : "", most->name, (unsigned long long)most->count, others,
		 nbehind == 1 ? "s" : "ve");
}

void job_places_archive(struct archive *a, struct job_places **at)
{
	struct job_places *ps = *at = archive_object(a, *at, sizeof(*ps));

	if (!ps)
		return;
	archive_below(a, &ps->count, JOB_PLACES + 1);
	for (uint32_t i = 0; i < ps->count; i++) {
		struct job_place *p = &ps->place[i];

		archive_fields(a, p, pid, rank, comms, comm, count, whole, name, reported_ns);
	}
}
