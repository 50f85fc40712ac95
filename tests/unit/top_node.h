/* SPDX-License-Identifier: Apache-2.0 */
/* top_node.h - a node with jobs, as gp-bpf top reads it, for tests of that. */
#ifndef TESTS_UNIT_TOP_NODE_H
#define TESTS_UNIT_TOP_NODE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fixture.h"
#include "userspace/text/canvas.h"
#include "userspace/view/top.h"
#include "userspace/report/report.h"

#define JOBS 500

static struct fixture fx;
static struct job_view jobs[JOBS];
static struct top_state s;
static struct top_ui ui;

static inline int setup(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	fixture_init(&fx);
	memset(jobs, 0, sizeof(jobs));
	fx.s.jobs = jobs;
	fx.s.njobs = 0;
	fx.s.node.on = fx.s.node.ready = true;
	fx.s.node.watched = 3;
	snprintf(fx.s.node.name, sizeof(fx.s.node.name), "node-7");
	assert_int_equal(top_ui_init(&ui, NULL, NULL), 0);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	top_state_free(&s);
	return 0;
}

/* A job of so many ranks in so many steps. */
static inline struct job_view *job(const char *name, uint32_t ranks)
{
	struct job_view *j = &jobs[fx.s.njobs++];
	struct rank_view *r = NULL;

	j->key = 0x1000 + fx.s.njobs;
	snprintf(j->name, sizeof(j->name), "%s", name);
	j->runs = 1;
	j->last_step = 2000;
	for (uint32_t i = 0; i < ranks; i++) {
		r = fixture_trainer(&fx, 4000 + 100 * fx.s.njobs + i, (int)i, (int)ranks);
		r->job_key = j->key;
		r->accelerators = 1;
	}
	if (r)
		j->ledger = r->ledger;
	return j;
}

static inline void take(void)
{
	struct buffer b = {0};

	top_state_free(&s);
	report_json(&b, &fx.s);
	assert_false(b.failed);
	assert_int_equal(top_state_parse(&s, b.data, b.len), 0);
	buffer_free(&b);
}

/* Whatever is in it: as wide and as long as it may be, nothing that a terminal obeys. */
static inline char *frame(int cols, int rows)
{
	struct top_frame_options o = {.cols = cols, .rows = rows};
	char *copy, *save = NULL;
	struct buffer b = {0};
	int lines = 0;

	top_frame(&b, &s, &ui, &o);
	assert_false(b.failed);
	assert_non_null(b.data);
	assert_null(strchr(b.data, '\x1b'));
	assert_null(strstr(b.data, " \n"));
	copy = strdup(b.data);
	for (char *at = strtok_r(copy, "\n", &save); at; at = strtok_r(NULL, "\n", &save))
		if (canvas_width(at) > cols)
			fail_msg("%d columns of %d: %s", canvas_width(at), cols, at);
	free(copy);
	for (const char *at = b.data; (at = strchr(at, '\n')); at++)
		lines++;
	if (rows)
		assert_in_range(lines, 1, rows);
	return b.data;
}

static inline void has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no '%s' in:\n%s", what, text);
}

static inline void keys(const char *in)
{
	assert_false(top_ui_keys(&ui, &s, (const unsigned char *)in, strlen(in)));
}

/* Three: one hangs, one is down, one trains. */
static inline void three_jobs(void)
{
	struct job_view *down;
	struct job_disruption *f;

	job("mnist", 1);
	down = job("resnet", 1);
	job("llama-70b", 2);
	fx.ranks[0].ledger.ns[BUCKET_GOODPUT] += 3 * S;
	fixture_hang(&fx.ranks[3], GP_WHY_input, false, "thread 4301 reads /data/x");
	fx.ranks[2].straggle.now = true;
	fx.ranks[2].straggle.count = 1;
	fx.ranks[2].straggle.size_ns = 30 * MS;
	fx.ranks[1].alive = false;
	fx.ranks[1].status = 9;
	down->state = JOB_DOWN;
	down->ledger.disruptions = 1;
	down->ndisruptions = 1;
	f = &down->disruptions[0];
	f->why.cause = CAUSE_killed;
	f->why.rank = 0;
	f->d.at_ns = 1090 * S;
	f->d.step = 1999;
}

#endif
