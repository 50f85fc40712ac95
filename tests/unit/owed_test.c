/* SPDX-License-Identifier: Apache-2.0 */
/* What a full disk had not taken when gp-bpf was killed: its successor writes it, or says how much
 * is missing. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/fixture.h"
#include "userspace/base/log.h"
#include "userspace/export/export.h"
#include "userspace/export/file/line_writer.h"

#define ROOM 10000 /* of a disk that is full */

static const char *const files[] = {"owed",	 "lines",	    "trace",
				    "steps.csv", "checkpoints.csv", "disruptions.csv"};
static char dir[40], captured[8192];

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(captured + strlen(captured), sizeof(captured) - strlen(captured), "%s\n", text);
}

static int begin(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	captured[0] = '\0';
	log_sink(capture, NULL);
	strcpy(dir, "/tmp/gp-bpf-owed-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static char *path_of(const char *file, char out[80])
{
	snprintf(out, 80, "%s/%s", dir, file);
	return out;
}

static void clear(void)
{
	char path[80];

	for (size_t i = 1; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(path_of(files[i], path));
}

static int end(void **state)
{
	char path[80];

	(void)state;
	log_sink(NULL, NULL);
	clear();
	unlink(path_of("owed", path));
	return rmdir(dir);
}

/* To be freed with buffer_free(). */
static struct buffer content(const char *file)
{
	struct buffer b = {0};
	char path[80];
	FILE *f = fopen(path_of(file, path), "r");
	size_t n = 1;

	assert_non_null(f);
	for (; n; b.len += n)
		n = fread(buffer_reserve(&b, 65536), 1, 65536, f);
	*buffer_reserve(&b, 1) = '\0';
	fclose(f);
	return b;
}

static struct export_set *opened(bool resume)
{
	struct export_set *set = NULL;
	char spec[96];

	export_set_new(&set, &(struct export_options){.resume = resume});
	snprintf(spec, sizeof(spec), "json:%s/lines", dir);
	assert_int_equal(export_set_add(set, spec), 0);
	snprintf(spec, sizeof(spec), "trace:%s/trace", dir);
	assert_int_equal(export_set_add(set, spec), 0);
	snprintf(spec, sizeof(spec), "csv:%s", dir);
	assert_int_equal(export_set_add(set, spec), 0);
	return set;
}

static void tell(struct export_set *set, uint64_t from, uint64_t to)
{
	for (uint64_t number = from; number <= to; number++) {
		struct fact_step fs = {.step = {.loop = 1,
						.number = number,
						.start_ns = number * S,
						.end_ns = (number + 1) * S,
						.updates = 1,
						.tier = TIER_A}};
		struct fact f = {.type = FACT_STEP,
				 .number = number,
				 .mono_ns = (number + 1) * S,
				 .pid = 4242,
				 .rank = 0,
				 .world_size = 1,
				 .job = "job",
				 .step = &fs};

		export_set_fact(set, &f);
	}
}

static void room(rlim_t bytes)
{
	struct rlimit is;

	getrlimit(RLIMIT_FSIZE, &is);
	is.rlim_cur = bytes < is.rlim_max ? bytes : is.rlim_max;
	setrlimit(RLIMIT_FSIZE, &is);
}

/* Whoever writes is a child. */
static void room_again(void)
{
	char name[64], list[256] = "", *at = list;
	FILE *f;
	pid_t pid;

	snprintf(name, sizeof(name), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(name, "r");
	if (!f || !fgets(list, sizeof(list), f))
		_exit(2);
	fclose(f);
	while ((pid = (pid_t)strtol(at, &at, 10)))
		prlimit(pid, RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}, NULL);
}

static bool up(struct export_set *set, struct fixture *fx, uint64_t *ret_waiting)
{
	bool all = true;

	*ret_waiting = 0;
	export_set_snapshot(set, &fx->s);
	export_set_view(set, &fx->s);
	for (int i = 0; i < 3; i++) {
		all &= fx->s.exports[i].up;
		*ret_waiting += fx->s.exports[i].waiting;
	}
	return all;
}

/* Facts up to `told` are in what was saved; more come after, and the disk has room for those that
 * are not kept back, where again says so. */
static void killed(rlim_t bytes, uint64_t told, bool again, uint64_t more)
{
	pid_t pid = fork();
	int status, fd;

	if (!pid) {
		static struct fixture fx;
		struct export_set *set;
		struct buffer owed = {0};
		uint64_t waiting;
		char path[80];

		fixture_init(&fx);
		room(bytes);
		set = opened(false);
		room(RLIM_INFINITY);
		for (uint64_t number = 1; number <= told; number += 100) {
			tell(set, number, number + 99 < told ? number + 99 : told);
			while (number == 1 && bytes != RLIM_INFINITY && up(set, &fx, &waiting))
				;
		}
		export_set_save(set);
		export_set_archive(set, &owed);
		fd = open(path_of("owed", path), O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (write(fd, owed.data, owed.len) != (ssize_t)owed.len)
			_exit(1);
		if (again)
			room_again();
		tell(set, told + 1, told + more);
		do
			up(set, &fx, &waiting);
		while (again && waiting);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* As output.c goes on: what was owed, then what comes again of what came after the save. */
static int resumed(uint64_t told, uint64_t to)
{
	struct export_set *set = opened(true);
	struct buffer owed = content("owed");

	export_set_resume(set, &owed);
	export_set_missed(set, told);
	buffer_free(&owed);
	tell(set, told + 1, to);
	return export_set_close(set);
}

/* Where nobody was killed and no disk was full. */
static void same_as_ever(uint64_t told, const char *const *names, int n)
{
	struct buffer was[3], is;

	for (int i = 0; i < n; i++)
		was[i] = content(names[i]);
	clear();
	killed(RLIM_INFINITY, told, true, 0);
	for (int i = 0; i < n; i++) {
		is = content(names[i]);
		assert_int_equal(was[i].len, is.len);
		assert_memory_equal(was[i].data, is.data, is.len);
		buffer_free(&is);
		buffer_free(&was[i]);
	}
}

static uint64_t spans(void)
{
	struct buffer b = content("trace");
	uint64_t n = 0;

	for (const char *at = b.data; (at = strstr(at, "\"ph\":\"X\"")); at++)
		n++;
	buffer_free(&b);
	return n;
}

static const char *const exact[] = {"lines", "steps.csv", "checkpoints.csv"};

static void what_was_kept_is_written(void **state)
{
	(void)state;
	killed(ROOM, 300, false, 0);
	assert_int_equal(resumed(300, 320), 0);
	assert_int_equal(spans(), 320);
	same_as_ever(320, exact, 3);
	assert_non_null(strstr(captured, "/lines: writing resumed\n"));
	assert_null(strstr(captured, "missing"));
}

/* ... since the save, by the one that was killed: nothing is there twice. */
static void what_was_written_is_not_written_again(void **state)
{
	(void)state;
	killed(ROOM, 300, true, 20);
	assert_int_equal(resumed(300, 330), 0);
	assert_int_equal(spans(), 330);
	same_as_ever(330, exact, 3);
}

/* Full from the first byte on: headers are there once. */
static void nothing_fits(void **state)
{
	(void)state;
	killed(0, 300, false, 0);
	assert_int_equal(resumed(300, 320), 0);
	assert_int_equal(spans(), 320);
	same_as_ever(320, exact, 3);
}

static void what_was_dropped_is_told(void **state)
{
	uint64_t told = 40000, number, last = 0, missing = 0, lines = 0;
	struct buffer b;
	char line[120];

	(void)state;
	killed(ROOM, told, false, 0);
	resumed(told, told);
	b = content("lines");
	for (char *at = strtok(b.data, "\n"); at; at = strtok(NULL, "\n")) {
		number = strtoull(strstr(at, "\"seq\":") + 6, NULL, 10);
		if (strstr(at, "\"type\":\"loss\"")) {
			missing = strtoull(strstr(at, "\"count\":") + 8, NULL, 10);
			assert_non_null(strstr(at, "\"source\":\"export\""));
			assert_int_equal(number, last + missing);
		} else {
			assert_int_equal(number, last + 1);
			lines++;
		}
		last = number;
	}
	buffer_free(&b);
	assert_true(missing);
	assert_int_equal(last, told);
	assert_int_equal(lines + missing, told);
	snprintf(line, sizeof(line),
		 "/lines: %d lines are missing: an earlier gp-bpf could not write them\n",
		 (int)missing);
	assert_non_null(strstr(captured, line));
	b = content("trace");
	assert_non_null(strstr(b.data, "lines are missing here"));
	buffer_free(&b);
}

/* Whoever knows no more than the numbers says what they say. */
static void what_nobody_has_is_missing(void **state)
{
	struct export_set *set;
	struct buffer b;

	(void)state;
	killed(RLIM_INFINITY, 10, true, 0);
	set = opened(true);
	export_set_resume(set, &(struct buffer){0});
	export_set_missed(set, 25);
	export_set_missed(set, 25);
	tell(set, 26, 30);
	assert_int_equal(export_set_close(set), 0);
	b = content("lines");
	assert_non_null(strstr(b.data, "{\"type\":\"loss\",\"seq\":25,"));
	assert_non_null(strstr(b.data, "\"source\":\"export\",\"count\":15}\n"));
	buffer_free(&b);
	assert_non_null(
		strstr(captured,
		       "/lines: 15 lines are missing: an earlier gp-bpf could not write them\n"));
}

/* Cut anywhere, or with any byte another one, it is refused or harmless. */
static void what_is_damaged_is_as_nothing(void **state)
{
	struct export_set *set;
	struct buffer owed;

	(void)state;
	killed(ROOM, 300, false, 0);
	owed = content("owed");
	assert_true(owed.len > 1000);
	for (size_t at = 0; at < owed.len; at += 1 + owed.len / 40) {
		set = opened(true);
		export_set_resume(set, &(struct buffer){.data = owed.data, .len = at});
		owed.data[at] ^= 0x41;
		export_set_resume(set, &owed);
		owed.data[at] ^= 0x41;
		export_set_close(set);
	}
	buffer_free(&owed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_kept_is_written, begin, end),
		cmocka_unit_test_setup_teardown(what_was_written_is_not_written_again, begin, end),
		cmocka_unit_test_setup_teardown(nothing_fits, begin, end),
		cmocka_unit_test_setup_teardown(what_was_dropped_is_told, begin, end),
		cmocka_unit_test_setup_teardown(what_nobody_has_is_missing, begin, end),
		cmocka_unit_test_setup_teardown(what_is_damaged_is_as_nothing, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
