/* SPDX-License-Identifier: Apache-2.0 */
/* The file: made, brought up to date, damaged, somebody else's; windows, notes, retention. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "tests/unit/store_folder.h"
#include "userspace/store/schema.h"
#include "userspace/store/store_private.h"
#include "userspace/store/write.h"

static int64_t number(struct store *st, const char *sql)
{
	int64_t n = -1;

	assert_int_equal(store_number(st, &n, sql, ""), 0);
	return n;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void test_made(void **state)
{
	struct store *st, *other;
	struct stat is;

	(void)state;
	assert_int_equal(store_open(&st, path, STORE_READ), -ENOENT);
	assert_int_equal(store_open(&st, path, STORE_NOTE), -ENOENT);
	st = opened(STORE_WRITE);
	assert_int_equal(number(st, "PRAGMA user_version"), STORE_VERSION);
	assert_int_equal(number(st, "PRAGMA application_id"), STORE_APPLICATION_ID);
	assert_int_equal(number(st, "PRAGMA auto_vacuum"), 2);
	assert_int_equal(stat(path, &is), 0);
	assert_int_equal(is.st_mode & 0777, 0600);
	other = opened(STORE_READ); /* beside a writer */
	assert_int_equal(store_exec(other, "DELETE FROM names"), -EROFS);
	store_close(other);
	store_close(st);
	assert_int_equal(store_open(&st, ":memory:", STORE_WRITE), 0);
	assert_int_equal(number(st, "SELECT count(*) FROM jobs"), 0);
	store_close(st);
}

/* A store of version 1 with a rank in it. */
static void make_first(void)
{
	sqlite3 *sql;

	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, store_steps[0], NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(
			sql,
			"PRAGMA application_id = 1735410256; PRAGMA user_version = 1;"
			"INSERT INTO jobs VALUES (1, 'name/old', 'old', NULL, '', 5);"
			"INSERT INTO runs VALUES (1, 1, 1, 'boot', 5, 5, NULL, NULL, NULL);"
			"INSERT INTO ranks VALUES (1, 0, 1, 1, 1, x'', 9, 5, 5, NULL, NULL, 'c',"
			" 'c', 'A', 'm', x'', 321, x'', 70, NULL, NULL, NULL)",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(sql);
}

static void test_migrated(void **state)
{
	static struct store_job job;
	struct store *st;

	(void)state;
	assert_int_equal(STORE_APPLICATION_ID, 1735410256);
	make_first();
	st = opened(STORE_READ); /* also by who only looks */
	assert_int_equal(store_job(st, "old", &job), 0);
	assert_int_equal(job.totals.steps, 321);
	assert_int_equal(job.max_step, 321); /* of a column that version 1 does not have */
	assert_int_equal(number(st, "PRAGMA user_version"), STORE_VERSION);
	store_close(st);
	st = opened(STORE_NOTE);
	assert_int_equal(store_mark(st, job.id, 7, "after"), 0);
	store_close(st);
}

static void test_newer(void **state)
{
	struct store *st = opened(STORE_WRITE);

	(void)state;
	assert_int_equal(store_exec(st, "PRAGMA user_version = 99"), 0);
	store_close(st);
	assert_int_equal(store_open(&st, path, STORE_WRITE), -EPROTO);
	assert_int_equal(store_open(&st, path, STORE_READ), -EPROTO);
	assert_int_equal(access(path, F_OK), 0); /* and left alone */
}

/* Our file, whose version number somebody set: its tables are another version's, or half of them
 * are missing. */
static void test_version_gone(void **state)
{
	static const char *const wrong[] = {"PRAGMA user_version = 0", "PRAGMA user_version = 3"};
	struct store *st;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		st = opened(STORE_WRITE);
		assert_int_equal(store_exec(st, wrong[i]), 0);
		store_close(st);
		assert_int_equal(store_open(&st, path, STORE_WRITE), -EUCLEAN);
		assert_int_equal(store_open(&st, path, STORE_READ), -EUCLEAN);
		assert_int_equal(access(path, F_OK), 0); /* left alone */
		assert_int_equal(unlink(path), 0);
	}
	assert_non_null(strstr(store_why(-EUCLEAN), "user_version"));
}

static void write_bytes(const char *file, off_t at, const char *bytes, size_t len)
{
	int fd = open(file, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, at), len);
	close(fd);
}

static void test_foreign(void **state)
{
	char other[128], link[128];
	struct store *st;
	sqlite3 *sql;

	(void)state;
	snprintf(other, sizeof(other), "%s/precious.txt", dir);
	write_bytes(other, 0, "a file of somebody's, not a store", 33);
	assert_int_equal(store_open(&st, other, STORE_WRITE), -EMEDIUMTYPE);
	assert_int_equal(access(other, F_OK), 0);
	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK); /* a database of something else */
	assert_int_equal(sqlite3_exec(sql, "CREATE TABLE t (a)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(sql);
	assert_int_equal(store_open(&st, path, STORE_WRITE), -EMEDIUMTYPE);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(link, sizeof(link), "%s/link.db", dir);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(store_open(&st, link, STORE_WRITE), -ELOOP);
	assert_int_equal(store_open(&st, dir, STORE_READ), -EMEDIUMTYPE);
}

/* Links before the last component are followed, by the kernel where they are in /proc. */
static void test_links(void **state)
{
	char link[128], name[160];
	struct store *st;

	(void)state;
	store_close(opened(STORE_WRITE));
	snprintf(link, sizeof(link), "%s/folder", dir);
	assert_int_equal(symlink(dir, link), 0);
	snprintf(name, sizeof(name), "%s%s", link, strrchr(path, '/'));
	assert_int_equal(store_open(&st, name, STORE_WRITE), 0);
	store_close(st);
	snprintf(name, sizeof(name), "/proc/self/root%s", path);
	assert_int_equal(store_open(&st, name, STORE_READ), 0);
	store_close(st);
	unlink(link);
}

/* Some garbage in it: kept aside, said, and never a crash. Each time under a name of its own. */
static void test_damaged(void **state)
{
	char helper[160], garbage[4096];
	struct store *st;

	(void)state;
	memset(garbage, 0x5a, sizeof(garbage));
	for (int n = 1; n <= 3; n++) {
		store_close(opened(STORE_WRITE));
		/* the header, a page of a table, an index */
		write_bytes(path, n == 1 ? 0 : 4096 * n + 7, garbage, sizeof(garbage));
		if (n == 1) {
			assert_int_equal(store_open(&st, path, STORE_READ), -EBADMSG);
		}
		st = opened(STORE_WRITE);
		assert_int_equal(number(st, "SELECT count(*) FROM jobs"), 0);
		store_close(st);
		snprintf(helper, sizeof(helper), "%s.damaged-%d", path, n);
		assert_int_equal(access(helper, F_OK), 0);
	}
}

static void test_places(void **state)
{
	char at[PATH_MAX];

	(void)state;
	assert_int_equal(store_default_path(at, "/some/where"), 0);
	assert_string_equal(at, "/some/where/store.db");
	setenv("XDG_STATE_HOME", "/state", 1);
	assert_int_equal(store_default_path(at, NULL), 0);
	assert_string_equal(at, geteuid() ? "/state/gp-bpf/store.db" : "/var/lib/gp-bpf/store.db");
	snprintf(at, sizeof(at), "%s/a/b/store.db", dir);
	assert_int_equal(store_make_folder(at), 0);
	assert_int_equal(store_make_folder(at), 0);
	*strrchr(at, '/') = 0;
	assert_int_equal(access(at, X_OK), 0);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void test_windows(void **state)
{
	struct store_span whole = {0}, w = feed_minutes(3, 8), first = feed_minutes(0, 3),
			  last = feed_minutes(8, 100);
	struct store_totals a, b, c, t;
	static struct store_job job;
	static struct feed f;
	struct store *st;

	(void)state;
	feed_fill(&f, path, "windows", 1200);
	st = opened(STORE_READ);
	assert_int_equal(store_job(st, "windows", &job), 0);
	assert_int_equal(store_job_totals(st, job.id, &w, true, &t), 0);
	assert_int_equal(sums_total(&t.sums), 5 * MINUTE);
	assert_int_equal(t.steps, 3000);
	assert_int_equal(t.times.count, 3000);
	assert_int_equal(sketch_quantile(&t.times, 0.5), 100 * MS);
	assert_false(t.estimated);
	assert_int_equal(store_job_totals(st, job.id, &first, true, &a), 0);
	assert_int_equal(store_job_totals(st, job.id, &w, true, &b), 0);
	assert_int_equal(store_job_totals(st, job.id, &last, true, &c), 0);
	sums_add(&a.sums, &b.sums);
	sums_add(&a.sums, &c.sums);
	assert_true(
		feed_same(&a.sums, &f.job.ledger)); /* windows beside each other are the whole */
	assert_int_equal(store_job_totals(st, job.id, &whole, true, &t), 0);
	assert_true(feed_same(&t.sums, &f.job.ledger));
	store_close(st);
}

/* Time that stands for more than its minute is given to a window by its length. */
static void test_long_minute(void **state)
{
	struct store_span w = feed_minutes(10, 20);
	static struct store_job job;
	static struct feed f;
	struct store_totals t;
	struct store *st;

	(void)state;
	feed_fill(&f, path, "long", 60);
	f.s.mono_ns += 0;
	{
		struct store_writer_options o = {.path = path};

		feed_init(&f, "long", 1, 1200 * S);
		f.wait = true;
		assert_int_equal(store_writer_open(&f.writer, &o), 0);
		feed_open(&f, f.writer);
		for (int i = 0; i < 60; i++)
			feed_go(&f, S);
		feed_go(&f, 39 * MINUTE); /* nobody looked */
		assert_int_equal(store_writer_close(f.writer), 0);
	}
	st = opened(STORE_READ);
	assert_int_equal(store_job(st, "long", &job), 0);
	assert_int_equal(store_job_totals(st, job.id, &w, true, &t), 0);
	assert_true(t.estimated);
	assert_in_range(sums_total(&t.sums), 10 * MINUTE - 100, 10 * MINUTE);
	store_close(st);
}

static int take_checkpoint(void *ctx, const struct store_checkpoint *c)
{
	*(struct store_checkpoint *)ctx = *c;
	return 0;
}

static int take_health(void *ctx, const struct store_health *h)
{
	*(struct store_health *)ctx = *h;
	return 0;
}

static void tell_notes(struct feed *f)
{
	struct fact_checkpoint save = {
		.closed = true, .step = 50, .files = 1, .file = "a\033[2J/ckpt.pt"};
	struct fact_health hang = {
		.kind = "hang", .why = "input", .phase = "data", .evidence = "reads a pipe"};
	struct fact saved = {.type = FACT_CHECKPOINT, .checkpoint = &save};
	struct fact ill = {.type = FACT_HEALTH, .health = &hang};

	save.start_ns = f->s.mono_ns - 2 * S;
	save.end_ns = f->s.mono_ns - S;
	feed_fact(f, &saved, 0, save.end_ns);
	hang.onset_ns = f->s.mono_ns - S;
	hang.size_ns = S;
	feed_fact(f, &ill, 0, f->s.mono_ns);
	feed_go(f, S);
	hang.size_ns = 2 * S;
	hang.over = true;
	feed_fact(f, &ill, 0, f->s.mono_ns);
	feed_go(f, S);
}

/* Checkpoints and hangs, as they were told; a hang that is over is the one that began. */
static void test_notes(void **state)
{
	struct store_writer_options o = {.path = path};
	struct store_span whole = {0};
	struct store_checkpoint c = {0};
	struct store_health h = {0};
	static struct store_job job;
	static struct feed f;
	struct store *st;

	(void)state;
	feed_init(&f, "noted", 1, 1000 * S);
	assert_int_equal(store_writer_open(&f.writer, &o), 0);
	feed_open(&f, f.writer);
	for (int i = 0; i < 10; i++)
		feed_go(&f, S);
	tell_notes(&f);
	assert_int_equal(store_writer_close(f.writer), 0);
	st = opened(STORE_READ);
	assert_int_equal(store_job(st, "noted", &job), 0);
	assert_int_equal(job.checkpoints, 1);
	assert_int_equal(store_checkpoints(st, job.id, &whole, take_checkpoint, &c), 0);
	assert_int_equal(c.start_ns, FEED_REAL + 1008 * (int64_t)S);
	assert_int_equal(c.end_ns, FEED_REAL + 1009 * (int64_t)S);
	assert_int_equal(c.step, 50);
	assert_string_equal(c.file, "a?[2J/ckpt.pt");
	assert_int_equal(store_healths(st, job.id, &whole, take_health, &h), 0);
	assert_true(h.over);
	assert_int_equal(h.size_ns, 2 * S);
	assert_int_equal(h.onset_ns, FEED_REAL + 1009 * (int64_t)S);
	assert_string_equal(h.why, "input");
	assert_string_equal(h.evidence, "reads a pipe");
	store_close(st);
}

/* ---- retention ------------------------------------------------------------------------------- */

static void test_by_age(void **state)
{
	struct store_span whole = {0}, old = feed_minutes(0, 40), young = feed_minutes(60, 100);
	static struct store_job job;
	static struct feed f;
	struct store_totals t;
	struct store *st;

	(void)state;
	feed_fill(&f, path, "aged", 5400);
	st = opened(STORE_WRITE);
	assert_int_equal(store_job(st, "aged", &job), 0);
	assert_int_equal(store_mark(st, job.id, f.s.real_ns, "now"), 0);
	assert_int_equal(store_retain(st, f.s.real_ns, 40 * (int64_t)MINUTE, 0), 0);
	assert_int_equal(store_job_totals(st, job.id, &old, false, &t), 0);
	assert_int_equal(sums_total(&t.sums), 0);
	assert_int_equal(store_job_totals(st, job.id, &young, false, &t), 0);
	assert_int_equal(sums_total(&t.sums), 30 * MINUTE);
	assert_int_equal(store_job_totals(st, job.id, &whole, false, &t), 0);
	assert_true(feed_same(&t.sums, &f.job.ledger)); /* as a whole it is known still */
	assert_int_equal(number(st, "SELECT count(*) FROM marks"), 1);
	assert_int_equal(
		store_retain(st, f.s.real_ns + 41 * (int64_t)MINUTE, 40 * (int64_t)MINUTE, 0), 0);
	assert_int_equal(store_job(st, "aged", &job), -ENOENT);
	assert_int_equal(
		number(st, "SELECT (SELECT count(*) FROM ranks) + (SELECT count(*) FROM minutes) +"
			   " (SELECT count(*) FROM minute_now) + (SELECT count(*) FROM marks)"),
		0);
	store_close(st);
}

static void test_by_size(void **state)
{
	static struct store_job job;
	static struct feed f;
	struct store *st;
	int64_t before;

	(void)state;
	for (int i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "job %d", i);
		feed_fill(&f, path, name, 60000);
		f.ranks[0].pid++;
	}
	st = opened(STORE_WRITE);
	before = number(st, "PRAGMA page_count");
	assert_int_equal(store_retain(st, f.s.real_ns, 0, (uint64_t)before * 4096 / 2), 0);
	assert_in_range(number(st, "PRAGMA page_count"), 1, before / 2 + 4);
	assert_in_range(number(st, "SELECT count(*) FROM minutes"), 100, 2990);
	assert_int_equal(store_job(st, "job 0", &job), 0);
	assert_true(feed_same(&job.totals.sums, &f.job.ledger));
	store_close(st);
}

/* One rank of a run has ended, another goes on: what ended as a whole goes, however much later. */
static void test_by_size_in_part(void **state)
{
	static struct feed f;
	struct store_writer_options o = {.path = path};
	struct store_job job;
	struct store *st;

	(void)state;
	feed_fill(&f, path, "whole", 30);
	feed_init(&f, "in part", 2, 1200 * S);
	f.ranks[0].pid += 100; /* another's */
	f.ranks[1].pid += 100;
	assert_int_equal(store_writer_open(&f.writer, &o), 0);
	feed_open(&f, f.writer);
	for (int i = 0; i < 50; i++)
		feed_go(&f, S);
	assert_int_equal(store_writer_close(f.writer), 0);
	st = opened(STORE_WRITE);
	number(st, "UPDATE ranks SET end_ns = until_ns WHERE kind = 0 AND job ="
		   " (SELECT id FROM jobs WHERE name = 'whole') RETURNING 1");
	number(st, "UPDATE ranks SET until_ns = start_ns, end_ns = start_ns WHERE id ="
		   " (SELECT min(id) FROM ranks WHERE kind = 0 AND end_ns IS NULL) RETURNING 1");
	number(st, "UPDATE minute_now SET until_ns = 0, held_ns = 0 WHERE rank ="
		   " (SELECT id FROM ranks WHERE end_ns = start_ns) RETURNING 1");
	assert_int_equal(number(st, "SELECT count(*) FROM minutes"), 0);
	assert_int_equal(store_retain(st, f.s.real_ns, 0, 1), 0);
	assert_int_equal(store_job(st, "whole", &job), -ENOENT);
	assert_int_equal(store_job(st, "in part", &job), 0);
	/* Nobody has seen it for long. */
	assert_int_equal(store_retain(st, f.s.real_ns + 2 * 3600 * (int64_t)S, 0, 1), 0);
	assert_int_equal(store_job(st, "in part", &job), -ENOENT);
	store_close(st);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, store_set_up, store_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_made),	 TEST(test_migrated),	     TEST(test_newer),
		TEST(test_version_gone), TEST(test_foreign),	     TEST(test_links),
		TEST(test_damaged),	 TEST(test_places),	     TEST(test_windows),
		TEST(test_long_minute),	 TEST(test_notes),	     TEST(test_by_age),
		TEST(test_by_size),	 TEST(test_by_size_in_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
