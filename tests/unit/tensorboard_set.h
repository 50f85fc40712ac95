/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_set.h - a folder for event files, what is in it, and an exporter that is told
 * steps. */
#ifndef TESTS_UNIT_TENSORBOARD_SET_H
#define TESTS_UNIT_TENSORBOARD_SET_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/log.h"
#include "userspace/export/export.h"
#include "userspace/export/tensorboard/tensorboard_board.h"

#define S 1000000000ull

static char root[] = "/tmp/gp-tensorboard-XXXXXX";
static char captured[4096];

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(captured + strlen(captured), sizeof(captured) - strlen(captured), "%s\n", text);
}

static int removed(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int begin(void **state)
{
	(void)state;
	strcpy(root, "/tmp/gp-tensorboard-XXXXXX");
	captured[0] = '\0';
	log_sink(capture, NULL);
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	log_sink(NULL, NULL);
	return nftw(root, removed, 16, FTW_DEPTH | FTW_PHYS);
}

static char *in_root(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

/* Event files of a folder; the records in all of them, which all are whole. */
static int files(const char *folder, uint64_t *ret_records)
{
	DIR *dir = opendir(in_root(folder));
	struct dirent *e;
	uint64_t count;
	int n = 0;

	*ret_records = 0;
	while (dir && (e = readdir(dir))) {
		static char data[8 << 20];
		ssize_t len;
		int fd;

		if (strncmp(e->d_name, "events.out.tfevents.", 20) != 0)
			continue;
		fd = openat(dirfd(dir), e->d_name, O_RDONLY);
		len = read(fd, data, sizeof(data));
		close(fd);
		assert_int_equal(tb_record_whole(data, (size_t)len, &count), len);
		*ret_records += count;
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void put(struct tb_board *b, const char *run, int64_t number)
{
	tb_board_put(b, run,
		     &(struct tb_scalar){.tag = "t", .step = number, .wall_s = 1, .value = 1});
}

static struct fact_step fact_step;

static struct fact step(uint64_t number, const char *job)
{
	fact_step = (struct fact_step){.step = {.number = number,
						.start_ns = number * S,
						.end_ns = number * S + S / 10,
						.unit = UNIT_STEP}};
	return (struct fact){.type = FACT_STEP,
			     .mono_ns = number * S + S / 10,
			     .real_ns = (int64_t)(1700000000 * S + number * S),
			     .pid = 7,
			     .run = 1,
			     .rank = 0,
			     .job = job,
			     .step = &fact_step};
}

static struct snapshot *snapshot_of(uint64_t ideal_ns)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->references = 1;
	s->mono_ns = 100 * S;
	s->real_ns = (int64_t)(1700000100 * S);
	s->jobs = calloc(1, sizeof(*s->jobs));
	s->ranks = calloc(1, sizeof(*s->ranks));
	s->njobs = s->nranks = 1;
	s->jobs[0] = (struct job_view){
		.key = 3, .reported_here = true, .reference_pid = 7, .last_step = 10};
	strcpy(s->jobs[0].name, "job");
	s->jobs[0].ledger.now_ns = 100 * S;
	s->jobs[0].ledger.ns[BUCKET_GOODPUT] = 60 * S;
	s->jobs[0].ledger.ns[BUCKET_UNOBSERVED] = 20 * S;
	s->jobs[0].ledger.ns[BUCKET_OTHER] = 20 * S;
	s->ranks[0] = (struct rank_view){.pid = 7, .job_key = 3, .alive = true, .nloops = 1};
	s->ranks[0].loops = calloc(1, sizeof(*s->ranks[0].loops));
	s->ranks[0].loops[0].state.unit = UNIT_STEP;
	s->ranks[0].loops[0].time.ideal_ns = ideal_ns;
	return s;
}

static struct export_set *opened(bool replay)
{
	const struct export_options o = {.replay = replay};
	char spec[PATH_MAX + 32];
	struct export_set *set;

	snprintf(spec, sizeof(spec), "tensorboard:%s,interval=1s", in_root("board"));
	assert_int_equal(export_set_new(&set, &o), 0);
	assert_int_equal(export_set_add(set, spec), 0);
	return set;
}

static void told(struct export_set *set, uint64_t from, uint64_t to)
{
	for (uint64_t n = from; n <= to; n++) {
		struct fact f = step(n, "job");

		export_set_fact(set, &f);
	}
}

static void shown(struct export_set *set, uint64_t ideal_ns)
{
	struct snapshot *s = snapshot_of(ideal_ns);

	export_set_snapshot(set, s);
	snapshot_unref(s);
}

#endif
