/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/command/account.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/account/log/job_log.h"
#include "userspace/base/grow.h"

#define PLACE_UNKNOWN 0
#define PLACE_UNASKED UINT32_MAX

struct job {
	struct goodput_log *log;
	uint64_t records;
	int64_t last_us;
};

struct account {
	const struct goodput_query *query;
	const struct goodput_names *names;
	const char *only;
	struct job *jobs;
	size_t count, cap;
	/* for each name number: index of its job in `jobs`, plus 1; 0: none */
	uint32_t place[GOODPUT_NAMES_MAX + 1];
	uint64_t refused;
};

/* Returns true if an elastic wait is a wait for more slices. The goodput library decides this by
 * the name of the event (goodput_elastic.py, version 0.2.3). */
static bool account_wait_scales_up(void *ctx, uint32_t name)
{
	return strcasestr(goodput_name(ctx, name), "scale_up");
}

struct account *account_new(const struct goodput_query *q, const struct goodput_names *names,
			    const char *only)
{
	struct account *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->query = q;
	a->names = names;
	a->only = only;
	return a;
}

void account_free(struct account *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->count; i++)
		goodput_log_free(a->jobs[i].log);
	free(a->jobs);
	free(a);
}

static int account_job_add(struct account *a, uint32_t name)
{
	struct goodput_log *log;
	struct job *job;

	log = goodput_log_new(a->query, account_wait_scales_up, (void *)a->names);
	if (!log)
		return -ENOMEM;
	job = grow_append(&a->jobs, &a->count, &a->cap, sizeof(*job));
	if (!job) {
		goodput_log_free(log);
		return -ENOMEM;
	}
	*job = (struct job){.log = log, .last_us = INT64_MIN};
	a->place[name] = (uint32_t)a->count;
	return 0;
}

int account_feed(struct account *a, const struct goodput_record *r)
{
	int64_t at_us = r->time_us == GOODPUT_UNKNOWN ? r->write_us : r->time_us;
	struct job *job;
	int err;

	if (r->job == GOODPUT_NAMES_MORE || r->job > GOODPUT_NAMES_MAX) {
		a->refused++;
		return 0;
	}
	if (a->place[r->job] == PLACE_UNKNOWN) {
		if (a->only && strcmp(a->only, goodput_name(a->names, r->job))) {
			a->place[r->job] = PLACE_UNASKED;
			return 0;
		}
		err = account_job_add(a, r->job);
		if (err)
			return err;
	}
	if (a->place[r->job] == PLACE_UNASKED)
		return 0;
	job = &a->jobs[a->place[r->job] - 1];
	job->records++;
	if (at_us != GOODPUT_UNKNOWN && at_us > job->last_us)
		job->last_us = at_us;
	return goodput_log_feed(job->log, r);
}

size_t account_jobs(const struct account *a)
{
	return a->count;
}

uint64_t account_refused(const struct account *a)
{
	return a->refused;
}

int account_answer(struct account *a, size_t job, struct goodput_answer *ret_answer,
		   struct account_view *ret_view)
{
	const struct job *j = &a->jobs[job];
	int err = goodput_log_answer(j->log, ret_answer);

	if (!err)
		*ret_view = (struct account_view){.answer = ret_answer,
						  .query = a->query,
						  .names = a->names,
						  .records = j->records,
						  .last_us = j->last_us};
	return err;
}
