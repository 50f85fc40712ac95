/* SPDX-License-Identifier: Apache-2.0 */
/* job_line.c - for a job that hangs: at which lines of Python its ranks on this node are, and since
 * when. Ranks at the same line form one group. */
#include <stdlib.h>

#include "userspace/base/clock.h"
#include "userspace/base/number.h"
#include "userspace/model/job/job_private.h"

/* A line that was sampled longer ago than this (ns) is ignored. Ranks are sampled at least every 4
 * s. */
#define FRESH_NS 10000000000ull
/* The text lists at most this many lines, each with the ranks that are at it. */
#define GROUPS_MAX 4

struct job_lines {
	struct job_line line[JOB_PLACES];
	uint32_t count;
};

struct job_line_group {
	const struct job_line *of[JOB_PLACES]; /* in order of rank */
	uint32_t n;
	uint64_t since_ns; /* all ranks of the group have been at this line since then */
};

void job_lines_free(struct job_lines *ls)
{
	free(ls);
}

static struct job_line *job_line_of(struct job_lines *ls, uint32_t pid)
{
	struct job_line *oldest = ls->line;

	for (uint32_t i = 0; i < ls->count; i++) {
		if (ls->line[i].pid == pid)
			return &ls->line[i];
		oldest = ls->line[i].at_ns < oldest->at_ns ? &ls->line[i] : oldest;
	}
	return ls->count < JOB_PLACES ? &ls->line[ls->count++] : oldest;
}

void job_line(struct job_member *m, const struct job_line *l)
{
	struct job *j = m->job;

	if (!j || j->members < 2)
		return;
	if (!j->lines)
		j->lines = calloc(1, sizeof(*j->lines));
	if (j->lines)
		*job_line_of(j->lines, l->pid) = *l;
}

static int job_line_order(const void *a, const void *b)
{
	const struct job_line *x = *(const struct job_line *const *)a;
	const struct job_line *y = *(const struct job_line *const *)b;

	if (x->rank != y->rank)
		return (unsigned)x->rank < (unsigned)y->rank ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Sorts groups: the largest first, then those that wait, then by the lowest rank. */
static int job_line_group_order(const void *a, const void *b)
{
	const struct job_line_group *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	if (x->of[0]->waits != y->of[0]->waits)
		return x->of[0]->waits ? -1 : 1;
	return job_line_order(&x->of[0], &y->of[0]);
}

/* Makes groups of the lines known at now_ns. Returns their number. */
static uint32_t job_line_groups(const struct job_lines *ls, uint64_t now_ns,
				struct job_line_group *groups)
{
	const struct job_line *sorted[JOB_PLACES] = {0};
	uint32_t n = 0, count = 0;

	for (uint32_t i = 0; i < ls->count; i++) {
		if (*ls->line[i].text && now_ns - ls->line[i].at_ns < FRESH_NS)
			sorted[n++] = &ls->line[i];
	}
	qsort(sorted, n, sizeof(*sorted), job_line_order);
	for (uint32_t i = 0; i < n; i++) {
		struct job_line_group *g = groups;

		while (g < groups + count && (strcmp(g->of[0]->text, sorted[i]->text) != 0 ||
					      g->of[0]->waits != sorted[i]->waits))
			g++;
		if (g == groups + count) {
			count++;
			g->n = 0;
			g->since_ns = 0;
		}
		g->of[g->n++] = sorted[i];
		g->since_ns = larger_of(g->since_ns, sorted[i]->since_ns);
	}
	qsort(groups, count, sizeof(*groups), job_line_group_order);
	return count;
}

/* Writes "rank 1", "ranks 0, 2-5" or "pids 7, 8"; returns its length. */
static size_t job_line_ranks(char *out, size_t len, const struct job_line_group *g)
{
	bool ranked = g->of[0]->rank >= 0;
	size_t at = (size_t)snprintf(out, len, "%s%s", ranked ? "rank" : "pid",
				     g->n > 1 ? "s" : "");

	for (uint32_t i = 0, k; i < g->n && at < len; i = k + 1) {
		const struct job_line *l = g->of[i];

		for (k = i;
		     k + 1 < g->n && l->rank >= 0 && g->of[k + 1]->rank == g->of[k]->rank + 1;)
			k++;
		k = k == i + 1 ? i : k; /* write two successive ranks one by one, more as a range */
		at += (size_t)snprintf(out + at, len - at, "%s%u", i ? ", " : " ",
				       l->rank >= 0 ? (unsigned)l->rank : l->pid);
		if (k > i && at < len)
			at += (size_t)snprintf(out + at, len - at, "-%u", (unsigned)g->of[k]->rank);
	}
	return at;
}

static size_t job_line_group_text(char *out, size_t len, const struct job_line_group *g,
				  const struct anchors *anchors, bool since)
{
	int64_t real_ns = since ? anchors_real(anchors, g->since_ns) : 0;
	char time[CLOCK_TEXT_MAX];
	size_t at = job_line_ranks(out, len, g);

	if (at < len)
		at += (size_t)snprintf(out + at, len - at, " %s in %s",
				       !g->of[0]->waits ? g->n > 1 ? "are" : "is"
				       : g->n > 1	? "wait"
							: "waits",
				       g->of[0]->text);
	if (real_ns && at < len) /* the time of day */
		at += (size_t)snprintf(out + at, len - at, " since %.8s UTC",
				       clock_rfc3339(time, real_ns) + strlen("2026-11-21T"));
	return at;
}

void job_lines_text(const struct job_member *m, uint64_t now_ns, char *out, size_t len)
{
	const struct job_lines *ls = m->job ? m->job->lines : NULL;
	struct job_line_group *groups;
	uint32_t n, ranks = 0;
	size_t at = 0;

	*out = '\0';
	groups = ls ? calloc(JOB_PLACES, sizeof(*groups)) : NULL;
	if (!groups)
		return;
	n = job_line_groups(ls, now_ns, groups);
	for (uint32_t i = 0; i < n; i++)
		ranks += groups[i].n;
	for (uint32_t i = 0; ranks > 1 && i < n && i < GROUPS_MAX && at < len; i++) {
		/* The first group is the largest and usually waits for the others. Unless it is a
		 * single rank, write times only for the other groups: they show which rank stopped
		 * first. */
		at += (size_t)snprintf(out + at, len - at, "%s", i ? "; " : "");
		if (at < len)
			at += job_line_group_text(out + at, len - at, &groups[i], &m->env->anchors,
						  i || groups[0].n == 1);
	}
	if (ranks > 1 && n > GROUPS_MAX && at < len)
		snprintf(out + at, len - at, "; others at %u more lines", n - GROUPS_MAX);
	free(groups);
}

void job_lines_archive(struct archive *a, struct job_lines **at)
{
	struct job_lines *ls = *at = archive_object(a, *at, sizeof(*ls));

	if (!ls)
		return;
	archive_below(a, &ls->count, JOB_PLACES + 1);
	for (uint32_t i = 0; i < ls->count; i++)
		archive_fields(a, &ls->line[i], pid, rank, waits, since_ns, at_ns, text);
}
