/* SPDX-License-Identifier: Apache-2.0 */
/* gcm_set.h - series made of a snapshot that is made by hand. */
#ifndef TESTS_UNIT_GCM_SET_H
#define TESTS_UNIT_GCM_SET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fixture.h"
#include "userspace/export/gcm/rows.h"

#define NOW  1795262500000000000ll /* of the fixture's snapshot */
#define JOBS 4

static struct fixture fx;
static struct job_view jobs[JOBS];
static struct series_set set;
static struct gcm_identity id;

static inline int setup(void **state)
{
	(void)state;
	fixture_init(&fx);
	memset(jobs, 0, sizeof(jobs));
	fx.s.jobs = jobs;
	id = (struct gcm_identity){.location = "us-central1-a",
				   .cluster = "c1",
				   .node = "n1",
				   .instance_id = "42",
				   .accelerator = "NVIDIA-H100",
				   .replica = "0"};
	series_set_init(&set);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	series_set_free(&set);
	return 0;
}

/* 100 s old; its buckets add up. */
static inline struct job_view *job(const char *name)
{
	struct job_view *j = &jobs[fx.s.njobs++];

	j->key = fx.s.njobs;
	snprintf(j->name, sizeof(j->name), "%s", name);
	j->state = JOB_RUNNING;
	j->reported_here = true;
	j->runs = 1;
	j->first_pid = 77;
	j->run_ranks = 2;
	j->last_step = 1990;
	j->wasted_gross_ns = 3 * S;
	j->ledger.start_ns = 1000 * S;
	j->ledger.now_ns = 1100 * S;
	j->ledger.ns[BUCKET_GOODPUT] = 70 * S;
	j->ledger.ns[BUCKET_CUSTOM] = 5 * S;
	j->ledger.ns[BUCKET_OTHER] = 25 * S;
	j->ledger.types[1] = (struct ledger_type){.name = 3, .ns = 4 * S};
	j->ledger.ntypes = 2;
	j->ledger.productive_gross_ns = 73 * S;
	j->ledger.steps = 2000;
	snprintf(fx.s.types.name[3], sizeof(fx.s.types.name[3]), "EVAL_STEP");
	return j;
}

static inline struct rank_view *rank(struct job_view *j, uint32_t pid, int number)
{
	struct rank_view *r = fixture_trainer(&fx, pid, number, 2);

	r->job_key = j->key;
	snprintf(r->job, sizeof(r->job), "%s", j->name);
	r->observed_ns = 1010 * S;
	for (int i = 0; i <= DEVIATION_BOUNDS; i++)
		r->loops[0].time.bucket[i] = 0;
	r->loops[0].time.bucket[7] = r->loops[0].time.count;
	return r;
}

/* Each can be written, and no two are the same. */
static inline void set_check(bool library)
{
	for (uint32_t i = 0; i < set.count; i++) {
		const struct series *p = &set.item[i];

		if (!series_fit(&set, p) || p->row->library != library)
			fail_msg("%s is not fit", p->row->name);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(series_key(&set, p, SERIES_OWN_PREFIX),
					     series_key(&set, &set.item[k], SERIES_OWN_PREFIX));
	}
}

static inline const char *label(const struct series *p, const char *name)
{
	for (int i = 0; i < SERIES_LABELS && p->row->label[i].name; i++) {
		if (!strcmp(p->row->label[i].name, name))
			return series_text(&set, p->label[i]);
	}
	return NULL;
}

/* The nth of that name, with that label where one is asked for; NULL: there is none. */
static inline const struct series *find(const char *name, const char *key, const char *value)
{
	for (uint32_t i = 0; i < set.count; i++) {
		if (!strcmp(set.item[i].row->name, name) &&
		    (!key || !strcmp(label(&set.item[i], key), value)))
			return &set.item[i];
	}
	return NULL;
}

static inline double real(const char *name, const char *key, const char *value)
{
	const struct series *p = find(name, key, value);

	assert_non_null(p);
	return p->value.real;
}

#endif
