/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "tests/unit/fixture.h"
#include "userspace/base/log.h"
#include "userspace/export/export.h"
#include "userspace/export/file/line_writer.h"

static struct fact fact(enum fact_type type)
{
	return (struct fact){.type = type,
			     .mono_ns = 12 * S,
			     .pid = 4242,
			     .rank = 0,
			     .world_size = 2,
			     .job = ""};
}

static char captured[4096];

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(captured + strlen(captured), sizeof(captured) - strlen(captured), "%s\n", text);
}

static int quiet(void **state)
{
	(void)state;
	captured[0] = '\0';
	log_sink(capture, NULL);
	return 0;
}

static int loud(void **state)
{
	(void)state;
	log_sink(NULL, NULL);
	return 0;
}

static struct export_set *set_of(const char *spec)
{
	struct export_set *set;

	assert_int_equal(export_set_new(&set, &(struct export_options){0}), 0);
	assert_int_equal(export_set_add(set, spec), 0);
	return set;
}

static void file_is_written_whole(void **state)
{
	char path[] = "/tmp/gp-bpf-json-XXXXXX", spec[64], text[4096];
	struct fact_range r = {.name = "x", .bucket = BUCKET_EVAL, .start_ns = 1, .end_ns = 4};
	struct gp_end end = {.status = 0};
	static struct fixture fx;
	struct export_set *set;
	struct fact f;
	cJSON *j;
	int fd = mkstemp(path), lines = 0;
	ssize_t n;

	(void)state;
	assert_true(fd >= 0);
	fixture_init(&fx);
	snprintf(spec, sizeof(spec), "json:%s", path);
	set = set_of(spec);
	f = fact(FACT_RANGE);
	f.range = &r;
	export_set_fact(set, &f);
	export_set_fact(set, &f);
	export_set_snapshot(set, &fx.s);
	f = fact(FACT_END);
	f.pid = 0;
	f.end = &end;
	export_set_fact(set, &f);
	export_set_snapshot(set, &fx.s);
	assert_int_equal(export_set_close(set), 0);
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n"), lines++) {
		j = cJSON_Parse(at);
		assert_true(cJSON_IsObject(j));
		cJSON_Delete(j);
	}
	assert_int_equal(lines, 3);
	close(fd);
	unlink(path);
}

static void full_disk_is_told_once(void **state)
{
	struct export_set *set = set_of("json:/dev/full");
	struct fact_range r = {.name = "x", .bucket = BUCKET_EVAL};
	struct fact f = fact(FACT_RANGE);
	static struct fixture fx;

	(void)state;
	fixture_init(&fx);
	f.range = &r;
	for (int i = 0; i < 3; i++) {
		export_set_fact(set, &f);
		export_set_snapshot(set, &fx.s);
	}
	export_set_view(set, &fx.s);
	assert_string_equal(fx.s.exports[0].name, "json");
	assert_false(fx.s.exports[0].up);
	assert_int_equal(fx.s.exports[0].sent, 0);
	assert_string_equal(fx.s.exports[0].dropped[1].cause, "write");
	assert_int_equal(fx.s.exports[0].dropped[1].count, 3);
	assert_non_null(strstr(fx.s.exports[0].trouble, "json: No space"));
	assert_int_equal(export_set_close(set), -ENOSPC);
	assert_string_equal(
		captured,
		"gp-bpf: export to /dev/full: No space left on device; the export ends here\n"
		"gp-bpf: export to /dev/full: 3 lines were not written: No space left on device\n");
}

/* They share their series: a page has each once. */
static void two_of_a_kind_are_one_view(void **state)
{
	struct export_set *set = set_of("json:/dev/full");
	struct fact_range r = {.name = "x", .bucket = BUCKET_EVAL};
	struct fact f = fact(FACT_RANGE);
	static struct fixture fx;

	(void)state;
	fixture_init(&fx);
	assert_int_equal(export_set_add(set, "json:/dev/null"), 0);
	f.range = &r;
	export_set_fact(set, &f);
	export_set_snapshot(set, &fx.s);
	export_set_view(set, &fx.s);
	assert_string_equal(fx.s.exports[0].name, "json");
	assert_null(fx.s.exports[1].name);
	assert_false(fx.s.exports[0].up);
	assert_int_equal(fx.s.exports[0].sent, 1);
	assert_int_equal(fx.s.exports[0].dropped[1].count, 1);
	assert_int_equal(export_set_close(set), -ENOSPC);
}

static void closed_pipe_ends_the_export(void **state)
{
	struct fact_range r = {.name = "x", .bucket = BUCKET_EVAL};
	struct fact f = fact(FACT_RANGE);
	static struct fixture fx;
	struct export_set *set;
	char spec[64];
	int p[2];

	(void)state;
	fixture_init(&fx);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(p), 0);
	snprintf(spec, sizeof(spec), "json:/dev/fd/%d", p[1]);
	set = set_of(spec);
	close(p[0]);
	f.range = &r;
	for (int i = 0; i < 3; i++) {
		export_set_fact(set, &f);
		export_set_snapshot(set, &fx.s);
	}
	assert_int_equal(export_set_close(set), -EPIPE);
	assert_non_null(strstr(captured, "reader has exited"));
	assert_ptr_equal(strchr(captured, '\n'), captured + strlen(captured) - 1);
	close(p[1]);
}

/* Nobody reads: the collector goes on, whole lines are dropped and counted, memory is bounded. */
static void stuck_reader_costs_lines(void **state)
{
	struct fact_range r = {.name = "a name of some length, so that the backlog fills",
			       .bucket = BUCKET_EVAL};
	struct fact f = fact(FACT_RANGE);
	struct export_set *set;
	char spec[64];
	int p[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(p), 0);
	snprintf(spec, sizeof(spec), "json:/dev/fd/%d", p[1]);
	set = set_of(spec);
	f.range = &r;
	for (int i = 0; i < 100000; i++)
		export_set_fact(set, &f);
	assert_non_null(strstr(captured, "too slow"));
	close(p[0]);
	assert_int_equal(export_set_close(set), -EPIPE);
	assert_non_null(strstr(captured, "lines lost"));
	close(p[1]);
}

/* A reader that waits at a FIFO does not see an end when a successor looks for the last line. */
static void a_waiting_reader_goes_on(void **state)
{
	char folder[] = "/tmp/gp-bpf-line-XXXXXX", path[64], *tail;
	struct pollfd p = {.events = POLLIN};
	uint64_t bytes;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	p.fd = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(p.fd >= 0);
	assert_int_equal(file_writer_tail(path, NULL, &tail, &bytes), -ENOENT);
	assert_int_equal(poll(&p, 1, 0), 0);
	close(p.fd);
	unlink(path);
	rmdir(folder);
}

/* What is not there begins anew; what cannot be read is not taken for that. */
static void no_file_is_not_one_that_fails(void **state)
{
	char *tail;
	uint64_t bytes;

	(void)state;
	assert_int_equal(file_writer_tail("/nonexistent/file", NULL, &tail, &bytes), -ENOENT);
	assert_string_equal(captured, "");
	assert_int_equal(file_writer_tail("/dev/null/file", NULL, &tail, &bytes), -ENOTDIR);
	assert_string_equal(captured,
			    "gp-bpf: export to /dev/null/file: cannot read the last line, to "
			    "continue after it: Not a directory\n");
}

/* A rotation renames the target of a link: there it is looked for, also where no new target was
 * made yet. */
static void the_file_before_is_beside_a_links_target(void **state)
{
	char dir[] = "/tmp/gp-bpf-line-XXXXXX", file[64], before[80], link[64], *tail;
	uint64_t bytes;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/there", dir);
	assert_int_equal(mkdir(file, 0700), 0);
	snprintf(before, sizeof(before), "%s/there/file.1", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	f = fopen(before, "w");
	assert_non_null(f);
	fputs("{\"seq\":7}\n", f);
	fclose(f);
	assert_int_equal(symlink("there/file", link), 0);
	assert_int_equal(file_writer_tail_before(link, &tail, &bytes), 0);
	assert_string_equal(tail, "{\"seq\":7}\n");
	free(tail);
	snprintf(file, sizeof(file), "%s/there/file", dir);
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(file_writer_tail_before(link, &tail, &bytes), 0);
	assert_int_equal(bytes, 10);
	free(tail);
	unlink(file);
	unlink(before);
	unlink(link);
	snprintf(file, sizeof(file), "%s/there", dir);
	rmdir(file);
	assert_int_equal(rmdir(dir), 0);
}

struct slow { /* a reader that takes a page now and then */
	int fd, every_ms;
	size_t lines;
};

static void *read_slowly(void *arg)
{
	struct slow *r = arg;
	char text[4096];
	ssize_t n;

	while ((n = read(r->fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			r->lines += text[i] == '\n';
		poll(NULL, 0, r->every_ms);
	}
	return NULL;
}

/* -errno of the end, which somebody waits for. */
static int end_beside(struct slow *r, const struct export_options *opt)
{
	struct fact_range range = {.name = "a name of some length, so that there is a backlog"};
	struct fact f = fact(FACT_RANGE);
	struct export_set *set;
	pthread_t thread;
	char spec[64];
	int p[2], err;

	assert_int_equal(pipe(p), 0);
	snprintf(spec, sizeof(spec), "json:/dev/fd/%d", p[1]);
	assert_int_equal(export_set_new(&set, opt), 0);
	assert_int_equal(export_set_add(set, spec), 0);
	close(p[1]);
	f.range = &range;
	for (int i = 0; i < 2000; i++)
		export_set_fact(set, &f);
	r->fd = p[0];
	assert_int_equal(pthread_create(&thread, NULL, read_slowly, r), 0);
	export_set_end(set, true);
	err = export_set_close(set);
	pthread_join(thread, NULL);
	close(p[0]);
	return err;
}

/* However often it takes a little: all of the end has one limit. Of a tape nobody waits for
 * that. */
static void a_slow_reader_does_not_hold_up_the_end(void **state)
{
	struct slow live = {.every_ms = 100}, replay = {.every_ms = 10};

	(void)state;
	assert_int_equal(end_beside(&live, &(struct export_options){0}), -ETIMEDOUT);
	assert_in_range(live.lines, 1, 1999);
	assert_non_null(strstr(captured, "lines were not written"));
	assert_int_equal(end_beside(&replay, &(struct export_options){.replay = true}), 0);
	assert_int_equal(replay.lines, 2000);
}

/* A reader of the file finds whole lines only. */
static void a_replay_leaves_no_part_of_a_line(void **state)
{
	char path[] = "/tmp/gp-bpf-part-XXXXXX", spec[64], text[8192];
	struct fact_range r = {.name = "x", .bucket = BUCKET_EVAL};
	const struct rlimit full = {1000, RLIM_INFINITY};
	struct fact f = fact(FACT_RANGE);
	int fd = mkstemp(path), err;
	struct export_set *set;
	struct rlimit had;
	ssize_t n;

	(void)state;
	assert_true(fd >= 0);
	f.range = &r;
	snprintf(spec, sizeof(spec), "json:%s", path);
	assert_int_equal(export_set_new(&set, &(struct export_options){.replay = true}), 0);
	assert_int_equal(export_set_add(set, spec), 0);
	for (int i = 0; i < 50; i++)
		export_set_fact(set, &f);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &had), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	err = export_set_close(set);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &had), 0);
	assert_int_equal(err, -EFBIG);
	n = read(fd, text, sizeof(text));
	assert_in_range(n, 1, 999);
	assert_int_equal(text[n - 1], '\n');
	close(fd);
	unlink(path);
}

static void range_tell(struct export_set *set, struct fixture *fx)
{
	struct fact_range r = {.name = "x", .bucket = BUCKET_EVAL, .start_ns = 1, .end_ns = 4};
	struct fact f = fact(FACT_RANGE);

	f.range = &r;
	export_set_fact(set, &f);
	export_set_snapshot(set, &fx->s);
}

/* Opening one blocks, as open(2) has it, until a process reads it: the main loop does not wait. */
static void a_fifo_without_reader_keeps_nobody_waiting(void **state)
{
	char dir[] = "/tmp/gp-bpf-fifo-XXXXXX", path[64], spec[80], text[4096];
	static struct fixture fx;
	struct export_set *set;
	int reader;
	ssize_t n;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	snprintf(spec, sizeof(spec), "json:%s", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	fixture_init(&fx);
	set = set_of(spec);
	assert_non_null(strstr(captured, "no process reads this FIFO yet"));
	range_tell(set, &fx);
	export_set_view(set, &fx.s);
	assert_non_null(strstr(fx.s.exports[0].trouble, "no process reads"));
	reader = open(path, O_RDONLY | O_NONBLOCK);
	range_tell(set, &fx);
	assert_int_equal(export_set_close(set), 0);
	n = read(reader, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strchr(strchr(text, '\n') + 1, '\n')); /* both lines */
	close(reader);

	captured[0] = '\0';
	set = set_of(spec);
	range_tell(set, &fx);
	assert_int_equal(export_set_close(set), -ENXIO);
	assert_non_null(strstr(captured, "1 line was not written: no process reads from it"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void bad_specs(void **state)
{
	struct export_set *set;

	(void)state;
	assert_int_equal(export_set_new(&set, &(struct export_options){0}), 0);
	assert_int_equal(export_set_add(set, "jso"), -EINVAL);
	assert_non_null(strstr(captured, "json (every"));
	assert_non_null(strstr(captured, "prometheus (metrics"));
	assert_int_equal(export_set_add(set, "json:/nonexistent/x"), -ENOENT);
	assert_int_equal(export_set_close(set), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(file_is_written_whole, quiet, loud),
		cmocka_unit_test_setup_teardown(full_disk_is_told_once, quiet, loud),
		cmocka_unit_test_setup_teardown(two_of_a_kind_are_one_view, quiet, loud),
		cmocka_unit_test_setup_teardown(closed_pipe_ends_the_export, quiet, loud),
		cmocka_unit_test_setup_teardown(a_waiting_reader_goes_on, quiet, loud),
		cmocka_unit_test_setup_teardown(no_file_is_not_one_that_fails, quiet, loud),
		cmocka_unit_test_setup_teardown(the_file_before_is_beside_a_links_target, quiet,
						loud),
		cmocka_unit_test_setup_teardown(stuck_reader_costs_lines, quiet, loud),
		cmocka_unit_test_setup_teardown(a_slow_reader_does_not_hold_up_the_end, quiet,
						loud),
		cmocka_unit_test_setup_teardown(a_replay_leaves_no_part_of_a_line, quiet, loud),
		cmocka_unit_test_setup_teardown(a_fifo_without_reader_keeps_nobody_waiting, quiet,
						loud),
		cmocka_unit_test_setup_teardown(bad_specs, quiet, loud),
	};

	return cmocka_run_group_tests_name("line_writer", tests, NULL, NULL);
}
