/* SPDX-License-Identifier: Apache-2.0 */
/* The state directory: what is saved comes back, whatever moment its writer was killed at. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/gp_abi.h"
#include "userspace/ingest/durable.h"
#include "userspace/ingest/event.h"

static char dir[64];

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/durable_test_XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static size_t files(const char *prefix)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0;

	while ((e = readdir(d)))
		n += !strncmp(e->d_name, prefix, strlen(prefix));
	closedir(d);
	return n;
}

static struct durable *opened(void)
{
	struct durable *d;

	assert_int_equal(durable_open(&d, dir, false), 0);
	return d;
}

static void save(struct durable *d, const char *stream, const char *model)
{
	struct durable_state now = {0};

	buffer_add(&now.stream, stream, strlen(stream));
	buffer_add(&now.model, model, strlen(model));
	assert_int_equal(durable_save(d, &now), 0);
	buffer_free(&now.stream);
	buffer_free(&now.model);
}

/* A frame of one tick; its stamp tells it from others. */
static int append(struct durable *d, uint64_t ts_ns, uint64_t to)
{
	_Alignas(8) char record[GP_RECORD_MAX];
	struct tape_frame f = {to ? TAPE_RING_CALL : TAPE_USER, to ? to - 8 : 0, to, record,
			       event_length(GP_KIND_tick)};

	event_init(record, GP_KIND_tick, ts_ns, 0, 0);
	return durable_append(d, &f);
}

struct seen {
	uint64_t ts_ns[8];
	size_t n;
};

static void on_frame(void *ctx, const struct tape_frame *f)
{
	struct seen *s = ctx;

	assert_true(s->n < 8);
	s->ts_ns[s->n++] = ((const struct gp_rec *)f->records)->ts_ns;
}

static void expect_frames(struct durable *d, size_t n, const uint64_t *ts_ns)
{
	struct seen s = {.n = 0};

	assert_int_equal(durable_replay(d, on_frame, &s), 0);
	assert_int_equal(s.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(s.ts_ns[i], ts_ns[i]);
}

static void expect_state(const struct durable *d, const char *stream, const char *model)
{
	const struct durable_state *s = durable_state(d);

	assert_non_null(s);
	assert_int_equal(s->stream.len, strlen(stream));
	assert_memory_equal(s->stream.data, stream, strlen(stream));
	assert_int_equal(s->model.len, strlen(model));
	assert_memory_equal(s->model.data, model, strlen(model));
}

static void an_empty_directory_knows_nothing(void **state)
{
	struct durable *d;

	(void)state;
	d = opened();
	assert_null(durable_state(d));
	assert_string_equal(durable_dir(d), dir);
	durable_close(d);
}

static void state_and_tape_come_back(void **state)
{
	struct durable *d;

	(void)state;
	d = opened();
	save(d, "", "none yet");
	assert_int_equal(append(d, 1, 0), 0);
	save(d, "held", "known");
	assert_int_equal(append(d, 2, 64), 0);
	assert_int_equal(append(d, 3, 128), 0);
	durable_close(d);

	d = opened();
	expect_state(d, "held", "known");
	expect_frames(d, 2, (uint64_t[]){2, 3});
	assert_int_equal(durable_ring_at(d, TAPE_RING_CALL), 128);
	assert_int_equal(durable_ring_at(d, TAPE_RING_LIFE), 0);
	/* ... and a second time, with what was added since. */
	assert_int_equal(append(d, 4, 0), 0);
	durable_close(d);
	d = opened();
	expect_frames(d, 3, (uint64_t[]){2, 3, 4});
	save(d, "x", "y");
	durable_close(d);
	d = opened();
	expect_state(d, "x", "y");
	expect_frames(d, 0, NULL);
	assert_int_equal(durable_ring_at(d, TAPE_RING_CALL), 128);
	assert_int_equal(files("tape-"), 1);
	durable_close(d);
}

/* Killed between the two: the new segment is there, the state that needs it is not. */
static void a_segment_without_its_state_goes_on(void **state)
{
	struct durable *d;
	char path[96];
	int fd;

	(void)state;
	d = opened();
	save(d, "a", "b");
	assert_int_equal(append(d, 7, 0), 0);
	durable_close(d);
	snprintf(path, sizeof(path), "%s/tape-%010d", dir, 2);
	fd = open(path, O_WRONLY | O_CREAT, 0600); /* not even its header */
	assert_true(fd >= 0);
	close(fd);
	d = opened();
	expect_state(d, "a", "b");
	expect_frames(d, 1, (uint64_t[]){7});
	assert_int_equal(append(d, 8, 0), 0);
	durable_close(d);
	d = opened();
	expect_frames(d, 2, (uint64_t[]){7, 8});
	durable_close(d);
}

static void a_torn_frame_is_left_out(void **state)
{
	struct durable *d;
	char path[96];
	struct stat st;

	(void)state;
	d = opened();
	save(d, "a", "b");
	assert_int_equal(append(d, 7, 8), 0);
	assert_int_equal(append(d, 8, 16), 0);
	durable_close(d);
	snprintf(path, sizeof(path), "%s/tape-%010d", dir, 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 5), 0);
	d = opened();
	expect_frames(d, 1, (uint64_t[]){7});
	assert_int_equal(durable_ring_at(d, TAPE_RING_CALL), 8);
	durable_close(d);
}

static void where_rings_stood_is_of_these_rings(void **state)
{
	struct durable *d;

	(void)state;
	d = opened();
	save(d, "a", "b");
	assert_int_equal(append(d, 7, 8), 0);
	durable_rings_anew(d);
	assert_int_equal(durable_ring_at(d, TAPE_RING_CALL), 0);
	save(d, "c", "d");
	durable_close(d);
	d = opened();
	assert_int_equal(durable_ring_at(d, TAPE_RING_CALL), 0);
	durable_close(d);
}

static void damaged_state_is_not_believed(void **state)
{
	struct durable *d;
	char path[96], byte;
	struct stat st;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/state", dir);
	d = opened();
	save(d, "stream", "model");
	durable_close(d);
	assert_int_equal(stat(path, &st), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		fd = open(path, O_RDWR);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		d = opened();
		assert_null(durable_state(d));
		assert_int_equal(files("tape-") + files("state"), 0);
		save(d, "stream", "model");
		durable_close(d);
	}
}

static void a_directory_is_held_by_one(void **state)
{
	struct durable *d, *other;
	int status;
	pid_t pid;

	(void)state;
	d = opened();
	pid = fork();
	if (!pid)
		_exit(durable_owner(dir) != getppid()		   ? 1
		      : durable_open(&other, dir, false) == -EBUSY ? 0
								   : 2);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	durable_close(d);
	assert_int_equal(durable_owner(dir), 0);
}

static void who_may_write_there_matters(void **state)
{
	struct durable *d;

	(void)state;
	chmod(dir, 0777);
	assert_int_equal(durable_open(&d, dir, false), -EACCES);
	chmod(dir, 0700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_empty_directory_knows_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(state_and_tape_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(a_segment_without_its_state_goes_on, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_torn_frame_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(where_rings_stood_is_of_these_rings, setup,
						teardown),
		cmocka_unit_test_setup_teardown(damaged_state_is_not_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_directory_is_held_by_one, setup, teardown),
		cmocka_unit_test_setup_teardown(who_may_write_there_matters, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
