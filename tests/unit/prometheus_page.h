/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_page.h - pages of a snapshot that is made by hand. */
#ifndef TESTS_UNIT_PROMETHEUS_PAGE_H
#define TESTS_UNIT_PROMETHEUS_PAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fixture.h"
#include "userspace/export/prometheus/prometheus_text.h"

#define JOBS 300

static struct fixture fx;
static struct job_view jobs[JOBS];

static inline int setup(void **state)
{
	(void)state;
	fixture_init(&fx);
	memset(jobs, 0, sizeof(jobs));
	fx.s.jobs = jobs;
	fx.s.session_ns = 1010 * S; /* 2026-11-21 12:00:10 UTC */
	return 0;
}

static inline char *page(enum prometheus_format format)
{
	struct buffer b = {0};

	prometheus_text(&b, &fx.s, format);
	assert_false(b.failed);
	return b.data;
}

static inline struct job_view *job(const char *name)
{
	struct job_view *j = &jobs[fx.s.njobs++];

	j->key = fx.s.njobs;
	j->reported_here = true;
	j->first_pid = 100 + fx.s.njobs;
	snprintf(j->name, sizeof(j->name), "%s", name);
	j->world_size = j->reference_rank = -1;
	j->ledger.start_ns = 1020 * S;
	j->ledger.now_ns = 1100 * S;
	j->ledger.ns[BUCKET_GOODPUT] = 80 * S;
	return j;
}

/* A trainer of that job's run. */
static inline struct rank_view *member(struct job_view *j, uint32_t pid, int rank, uint32_t run)
{
	struct rank_view *r = fixture_trainer(&fx, pid, rank, rank < 0 ? -1 : 2);

	snprintf(r->job, sizeof(r->job), "%s", j->name);
	r->job_key = j->key;
	r->run = run;
	r->observed_ns = 1030 * S;
	if (j->runs < run)
		j->runs = run;
	return r;
}

static inline void ended(struct rank_view *r, uint64_t at_ns)
{
	r->alive = false;
	r->ledger.now_ns = at_ns;
}

static inline void has(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	while (at && at != text && at[-1] != '\n')
		at = strstr(at + 1, line);
	if (!at)
		fail_msg("no line: %s", line);
}

static inline size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

#endif
