/* SPDX-License-Identifier: Apache-2.0 */
/* handoff_world.h - a handoff whose tape and model are made by hand, and a folder. */
#ifndef TESTS_UNIT_HANDOFF_WORLD_H
#define TESTS_UNIT_HANDOFF_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/handover/handoff.h"
#include "userspace/handover/carry_file.h"

static struct {
	_Alignas(8) char record[GP_RECORD_MAX];
	uint32_t records; /* on the tape */
	struct carry own; /* what the model knows; attempt 0: nothing */
	struct carry *all;
	uint32_t nall; /* of all: instead of own */
	char said[4096];
} world;

void *journal_record(struct journal *j, unsigned kind, uint32_t pid, uint32_t probe)
{
	(void)j;
	assert_int_equal(kind, GP_KIND_carry);
	world.records++;
	return event_init(world.record, kind, clock_mono_ns(), pid, probe);
}

void journal_flush(struct journal *j)
{
	(void)j;
}

int output_carry(const struct output *out, uint32_t i, struct carry *ret)
{
	(void)out;
	if (world.nall && i < world.nall)
		*ret = world.all[i];
	if (world.nall)
		return i < world.nall ? 1 : -ENOENT;
	if (i || !world.own.attempt)
		return i ? -ENOENT : world.own.attempt ? 1 : -ENOENT;
	*ret = world.own;
	return 1;
}

static void on_log(void *ctx, enum log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	snprintf(world.said + strlen(world.said), sizeof(world.said) - strlen(world.said), "%s\n",
		 line);
}

static bool said(const char *text)
{
	return strstr(world.said, text);
}

static void assert_said(const char *text)
{
	if (!said(text))
		fail_msg("\"%s\" was not said, but: %s", text, world.said);
}

static char dir[] = "/tmp/handoff_test.XXXXXX";
static char job[] = "llama";
static struct options options;
static struct handoff *handoff;

static int begin(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	if (!mkdtemp(dir))
		return -1;
	log_sink(on_log, NULL);
	options = (struct options){.carry = dir, .job = job};
	return handoff_new(&handoff, &options, NULL, NULL);
}

static int end(void **state)
{
	DIR *d = opendir(dir);

	(void)state;
	handoff_free(handoff);
	log_sink(NULL, NULL);
	if (!d)
		return 0;
	for (struct dirent *e; (e = readdir(d));)
		if (*e->d_name != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	return rmdir(dir);
}

static struct carry at(const char *node, uint32_t attempt, int64_t ago_s)
{
	struct carry c = {
		.job = "llama",
		.attempt = attempt,
		.state = JOB_RUNNING,
		.until_ns = clock_real_ns() - ago_s * 1000000000,
		.ns = {[BUCKET_GOODPUT] = 5000000000},
		.last_step = 50,
		.steps = 50,
	};

	snprintf(c.node, sizeof(c.node), "%s", node);
	c.run_ns = c.until_ns - 5000000000;
	return c;
}

#endif
