/* SPDX-License-Identifier: Apache-2.0 */
/* A store in trouble (locked, without room, removed, killed) has what it was fed all the same. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "tests/unit/store_fed.h"

static void wait_failed(struct feed *f, enum store_trouble t)
{
	struct store_writer_stats stats;

	f->wait = false;
	for (int i = 0; i < 3000; i++) {
		store_writer_stats(f->writer, &stats);
		if (stats.failed[t])
			return;
		feed_go(f, S);
		usleep(5000);
	}
	fail_msg("it never failed");
}

static void test_locked(void **state)
{
	static struct feed f;
	sqlite3 *other;

	(void)state;
	begin(&f, "locked", 2, 1000 * S);
	for (int i = 0; i < 90; i++)
		feed_go(&f, S);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	wait_failed(&f, STORE_TROUBLE_locked);
	assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	finish(&f);
	agrees(&f);
}

static char captured[4096];

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(captured + strlen(captured), sizeof(captured) - strlen(captured), "%s\n", text);
}

/* Another process keeps the lock to our end: it is not waited for, and what that costs is said.
 * Each attempt waited 2 s, four of them. */
static void test_locked_to_the_end(void **state)
{
	static struct feed f;
	uint64_t from_ns;
	sqlite3 *other;

	(void)state;
	begin(&f, "locked", 2, 1000 * S);
	for (int i = 0; i < 90; i++)
		feed_go(&f, S);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	f.wait = false;
	for (int i = 0; i < 90; i++)
		feed_go(&f, S);
	log_sink(capture, NULL);
	from_ns = clock_mono_ns();
	assert_int_equal(store_writer_close(f.writer), -EIO);
	assert_in_range(clock_mono_ns() - from_ns, 0, 3 * S);
	log_sink(NULL, NULL);
	assert_non_null(strstr(
		captured,
		"cannot write: locked by another process (fuser -v FILE shows which); unwritten data is lost"));
	sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(other);
}

/* No room: what comes meanwhile is there when there is room again. */
static void test_no_room(void **state)
{
	struct rlimit was, small = {.rlim_cur = 300000, .rlim_max = RLIM_INFINITY};
	static struct feed f;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	begin(&f, "room", 40, 1000 * S);
	feed_go(&f, S);
	getrlimit(RLIMIT_FSIZE, &was);
	small.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	wait_failed(&f,
		    STORE_TROUBLE_other); /* EFBIG, which SQLite takes for an error of the disk */
	for (int i = 0; i < 600; i++)
		feed_go(&f, S);
	setrlimit(RLIMIT_FSIZE, &was);
	finish(&f);
	agrees(&f);
}

static void test_full(void **state)
{
	struct store_writer_options o = {.path = path, .pages_max = 40};
	struct store_writer_stats stats;
	static struct feed f;
	static struct store_job job;
	struct store *st;

	(void)state;
	feed_init(&f, "full", 60, 1000 * S);
	assert_int_equal(store_writer_open(&f.writer, &o), 0);
	feed_open(&f, f.writer);
	wait_failed(&f, STORE_TROUBLE_room);
	store_writer_stats(f.writer, &stats);
	assert_true(stats.failed[STORE_TROUBLE_room] > 0);
	assert_int_equal(store_writer_close(f.writer), -EIO); /* said, not hidden */
	st = opened(STORE_READ);			      /* and whole */
	assert_true(store_job(st, "full", &job) == 0 || store_job(st, "full", &job) == -ENOENT);
	store_close(st);
}

/* Minutes that cannot be written are bounded: they become coarse, and none of their time is
 * lost. */
static void test_coarse(void **state)
{
	struct store_writer_stats stats;
	static struct feed f;
	sqlite3 *other;

	(void)state;
	begin(&f, "coarse", 1, 1000 * S);
	f.per_second = 1;
	feed_go(&f, S);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	f.wait = false;
	for (int i = 0; i < 6000; i++)
		feed_go(&f, 61 * S);
	store_writer_stats(f.writer, &stats);
	assert_true(stats.merged > 0);
	assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	finish(&f);
	agrees(&f);
}

/* Somebody removed it: a new one gets all that is known. */
static void test_removed(void **state)
{
	static struct feed f;

	(void)state;
	begin(&f, "removed", 2, 1000 * S);
	for (int i = 0; i < 300; i++)
		feed_go(&f, S);
	unlink(path);
	for (int i = 0; i < 300; i++)
		feed_go(&f, S);
	feed_end(&f, 0);
	finish(&f);
	agrees(&f);
}

/* ---- kill -9 --------------------------------------------------------------------------------- */

#define KILL_SECONDS 20000

static void feed_all(void)
{
	static struct feed f;
	struct store_writer_options o = {.path = path};

	feed_init(&f, "killed", 3, 1000 * S);
	f.wait = true;
	f.per_second = 1;
	if (store_writer_open(&f.writer, &o))
		_exit(1);
	feed_open(&f, f.writer);
	for (int i = 0; i < KILL_SECONDS / 5; i++)
		feed_go(&f, 5 * S);
	feed_end(&f, 0);
	_exit(store_writer_close(f.writer) ? 1 : 0);
}

/* Killed at random moments, fed again from the beginning each time: at the end everything is there
 * once. */
static void test_killed(void **state)
{
	unsigned kills = getenv("FULL") ? 1000 : 200, alive = 0;
	static struct feed f;
	struct store *st;
	int status;
	pid_t pid;

	(void)state;
	srandom(1);
	for (unsigned i = 0; i <= kills; i++) {
		pid = fork();
		if (!pid)
			feed_all();
		assert_true(pid > 0);
		if (i < kills) {
			usleep((useconds_t)(random() % 40000));
			kill(pid, SIGKILL);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		alive += WIFSIGNALED(status);
		if (i % 50 == 10) { /* it is whole in between, too */
			st = opened(STORE_WRITE);
			store_close(st);
		}
	}
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	assert_true(alive > kills / 20); /* a fast machine is done before some */
	feed_init(&f, "killed", 3, 1000 * S);
	f.per_second = 1;
	for (int i = 0; i < KILL_SECONDS / 5; i++)
		feed_go(&f, 5 * S);
	feed_end(&f, 0);
	agrees(&f);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, store_set_up, store_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_locked),  TEST(test_locked_to_the_end),
		TEST(test_no_room), TEST(test_full),
		TEST(test_coarse),  TEST(test_removed),
		TEST(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
