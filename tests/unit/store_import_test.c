/* SPDX-License-Identifier: Apache-2.0 */
/* What a log tells of a job, as rows: sums stay whole, rows few, names bounded; it ages by when it
 * came. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/store_feed.h"
#include "userspace/base/log.h"
#include "userspace/ingest/goodput_record.h"
#include "userspace/store/import.h"
#include "userspace/store/store_private.h"
#include "userspace/store/accelerator_time.h"
#include "userspace/store/write.h"

#define DAY   (86400 * (int64_t)S)
#define START (1735725600 * (int64_t)S) /* not at the beginning of a minute's ten */

static char dir[64], path[96];
static struct store *st;
static struct goodput_names *names;

static int set_up(void **state)
{
	(void)state;
	log_setup(LOG_ERROR, LOG_TEXT);
	snprintf(path, sizeof(path), "%s/store.db", feed_folder(dir));
	assert_int_equal(store_open(&st, path, STORE_WRITE), 0);
	names = goodput_names_new();
	assert_non_null(names);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	store_close(st);
	goodput_names_free(names);
	feed_remove(dir);
	return 0;
}

static int64_t number(const char *sql)
{
	int64_t n = -1;

	assert_int_equal(store_number(st, &n, sql, ""), 0);
	return n;
}

/* ---- a history made by hand ------------------------------------------------------------------ */

#define PIECES 128

struct told {
	struct goodput_piece piece[PIECES];
	struct goodput_done done[PIECES];
	struct goodput_run run; /* all but a test of several have one */
	struct goodput_history history;
	struct goodput_answer answer;
};

static void told_begin(struct told *t, const char *job)
{
	memset(t, 0, sizeof(*t));
	t->history = (struct goodput_history){
		.pieces = t->piece, .done = t->done, .runs = &t->run, .nruns = 1};
	t->answer.history = &t->history;
	t->answer.job = goodput_names_put(names, job, strlen(job));
	t->run.from_us = t->run.until_us = START / 1000;
}

static void told_piece(struct told *t, enum bucket b, uint32_t name, int64_t ns)
{
	struct goodput_history *h = &t->history;
	uint64_t from_ns = h->npieces ? h->pieces[h->npieces - 1].to_ns : (uint64_t)START;

	assert_true(h->npieces < PIECES);
	h->pieces[h->npieces++] = (struct goodput_piece){from_ns, from_ns + (uint64_t)ns, name, b};
	t->run.until_us = (int64_t)(from_ns + (uint64_t)ns) / 1000;
}

static void told_steps(struct told *t, int64_t end_ns, uint64_t count)
{
	t->done[t->history.ndone++] = (struct goodput_done){end_ns / 1000, 2000000, count};
	t->run.dones++;
}

static int put(const struct told *t, int64_t now_ns, enum store_imported *ret)
{
	const struct store_import in = {.command = "gp-bpf account log",
					.answer = &t->answer,
					.names = names,
					.now_ns = now_ns};

	int64_t job;

	return store_import(st, &in, ret, &job);
}

static struct feed_minutes minutes_of(int64_t rank)
{
	struct feed_minutes m = {0};

	assert_int_equal(store_minutes(st, rank, &everything, feed_minute, &m), 0);
	assert_int_equal(m.twice, 0);
	return m;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* A year of silence is a few rows; each step lies in the minute in which it ended; minutes are the
 * ledger. */
static void test_rows(void **state)
{
	enum store_imported fate = STORE_IMPORT_KNOWN;
	struct store_span june = {START + 100 * DAY, START + 130 * DAY}, minute;
	static struct store_job job;
	static struct told t;
	struct store_totals sum;
	struct feed_minutes m;

	(void)state;
	told_begin(&t, "year");
	told_piece(&t, BUCKET_PROGRAM_STARTUP, 0, 7 * (int64_t)S);
	told_piece(&t, BUCKET_HANG, 0, 365 * DAY);
	told_piece(&t, BUCKET_GOODPUT, 0, 100 * (int64_t)S);
	told_steps(&t, START + 7 * (int64_t)S + 365 * DAY + 50 * (int64_t)S, 25);
	told_steps(&t, START + 7 * (int64_t)S + 365 * DAY + 100 * (int64_t)S, 1);
	assert_int_equal(put(&t, START, &fate), 0);
	assert_int_equal(fate, STORE_IMPORT_NEW);
	assert_int_equal(store_job(st, "year", &job), 0);
	assert_true(job.logged);
	assert_int_equal(job.imported_ns, START);
	assert_int_equal(job.totals.steps, 26);
	assert_int_equal(job.totals.times.count, 2);
	assert_int_equal(sums_total(&job.totals.sums), 107 * (int64_t)S + 365 * DAY);
	m = minutes_of(number("SELECT id FROM ranks WHERE kind = 0"));
	assert_true(m.count <= 6);
	assert_memory_equal(&m.sum.sums, &job.totals.sums, sizeof(m.sum.sums));
	assert_int_equal(m.sum.steps, 26);
	m = minutes_of(number("SELECT id FROM ranks WHERE kind = 1"));
	assert_memory_equal(&m.sum.sums, &job.totals.sums, sizeof(m.sum.sums));
	assert_int_equal(store_job_totals(st, job.id, &june, false, &sum), 0);
	assert_in_range(sum.sums.ns[BUCKET_HANG], 30 * DAY - 1000, 30 * DAY + 1000);
	minute.from_ns = (START + 365 * DAY) / (int64_t)(60 * S) * (int64_t)(60 * S);
	minute.to_ns = minute.from_ns + (int64_t)(60 * S);
	assert_int_equal(store_job_totals(st, job.id, &minute, false, &sum), 0);
	assert_int_equal(sum.steps, 25);
}

/* More types than a store tells apart: the others are named events, and nothing is lost. */
static void test_names(void **state)
{
	static struct store_job job;
	static struct told t;
	enum store_imported fate;
	char name[160];

	(void)state;
	for (uint32_t k = 0; k < 4; k++) {
		snprintf(name, sizeof(name), "job %u", k);
		told_begin(&t, name);
		for (uint32_t i = 0; i < 20; i++) {
			snprintf(name, sizeof(name), "TYPE_%u_\033[31m_%0100u", k * 20 + i, i);
			told_piece(&t, BUCKET_CUSTOM, goodput_names_put(names, name, strlen(name)),
				   (int64_t)S);
		}
		assert_int_equal(put(&t, START, &fate), 0);
		snprintf(name, sizeof(name), "job %u", k);
		assert_int_equal(store_job(st, name, &job), 0);
		assert_int_equal(sums_total(&job.totals.sums), 20 * (int64_t)S);
	}
	assert_int_equal(number("SELECT count(*) FROM names"), SUMS_NAMES_MAX);
	assert_int_equal(job.totals.sums.ns[BUCKET_CUSTOM], 20 * (int64_t)S);
	assert_int_equal(job.totals.sums.ns[BUCKET_OTHER], 0);
	assert_int_equal(
		number("SELECT count(*) FROM names WHERE name LIKE '%' || char(27) || '%'"), 0);
	assert_int_equal(store_job(st, "job 0", &job), 0);
	assert_int_equal(job.totals.sums.ns[BUCKET_COUNT], (int64_t)S);
}

/* A log of long ago is kept as long as one that came today, and then goes as a whole. */
static void test_age(void **state)
{
	static const char *const tables[] = {"jobs",	"runs",	       "ranks",
					     "minutes", "checkpoints", "disruptions"};
	struct goodput_saved saved = {START / 1000, START / 1000 + 5, 3, 2, false};
	struct disruption disruption = {.at_ns = (uint64_t)START + 5 * S, .step = 7};
	int64_t now_ns = START + 400 * DAY;
	enum store_imported fate;
	static struct told t;
	char sql[64];

	(void)state;
	told_begin(&t, "old");
	told_piece(&t, BUCKET_GOODPUT, 0, 1000 * (int64_t)S);
	t.history.saved = &saved;
	t.history.nsaved = t.run.saves = 1;
	t.answer.disruptions = &disruption;
	t.answer.disruption_count = 1;
	assert_int_equal(put(&t, now_ns, &fate), 0);
	assert_int_equal(store_retain(st, now_ns + 29 * DAY, 30 * DAY, 0), 0);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT count(*) > 0 FROM %s", tables[i]);
		assert_int_equal(number(sql), 1);
	}
	assert_int_equal(store_retain(st, now_ns + 31 * DAY, 30 * DAY, 0), 0);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", tables[i]);
		assert_int_equal(number(sql), 0);
	}
}

/* What cannot be written as a whole leaves what was there. */
static void test_no_room(void **state)
{
	static struct store_job job;
	static struct told t;
	enum store_imported fate = STORE_IMPORT_NEW;
	char sql[64];

	(void)state;
	told_begin(&t, "full");
	assert_int_equal(put(&t, START, &fate), -ENODATA);
	told_piece(&t, BUCKET_GOODPUT, 0, 100 * (int64_t)S);
	assert_int_equal(put(&t, START, &fate), 0);
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %lld",
		 (long long)number("PRAGMA page_count"));
	assert_int_equal(store_exec(st, sql), 0);
	for (int i = 0; i < 120; i++)
		told_piece(&t, i % 2 ? BUCKET_GOODPUT : BUCKET_OTHER, 0, 3000 * (int64_t)S);
	assert_int_equal(put(&t, START, &fate), -ENOSPC);
	assert_int_equal(store_job(st, "full", &job), 0);
	assert_int_equal(sums_total(&job.totals.sums), 100 * (int64_t)S);
	assert_int_equal(store_exec(st, "PRAGMA max_page_count = 100000"), 0);
	assert_int_equal(put(&t, START, &fate), 0);
	assert_int_equal(fate, STORE_IMPORT_REPLACED);
	assert_int_equal(store_job(st, "full", &job), 0);
	assert_int_equal(sums_total(&job.totals.sums), (100 + 120 * 3000) * (int64_t)S);
}

/* Two runs, the second one after so long; together so long. */
static int put_runs(const char *job, int64_t second_ns, int64_t ns, enum store_imported *ret)
{
	struct goodput_run runs[2];
	static struct told t;

	told_begin(&t, job);
	told_piece(&t, BUCKET_GOODPUT, 0, ns);
	runs[0] = runs[1] = t.run;
	if (second_ns) {
		runs[0].until_us = runs[1].from_us = (START + second_ns) / 1000;
		t.history.nruns = 2;
	}
	t.history.runs = runs;
	return put(&t, START, ret);
}

/* What began together is of one log only where the runs of the shorter one are those of the longer
 * one. */
static void test_another_log(void **state)
{
	enum store_imported fate;

	(void)state;
	assert_int_equal(put_runs("job", 100 * (int64_t)S, 200 * (int64_t)S, &fate), 0);
	assert_int_equal(put_runs("job", 0, 900 * (int64_t)S, &fate), -EEXIST);
	assert_int_equal(put_runs("job", 101 * (int64_t)S, 900 * (int64_t)S, &fate), -EEXIST);
	assert_int_equal(put_runs("job", 50 * (int64_t)S, 90 * (int64_t)S, &fate), -EEXIST);
	assert_int_equal(put_runs("job", 0, 150 * (int64_t)S, &fate), -EEXIST);
	assert_int_equal(number("SELECT max(until_ns) FROM ranks"), START + 200 * (int64_t)S);
	assert_int_equal(put_runs("job", 0, 90 * (int64_t)S, &fate), 0);
	assert_int_equal(fate, STORE_IMPORT_KNOWN);
	assert_int_equal(number("SELECT max(until_ns) FROM ranks"), START + 200 * (int64_t)S);
	assert_int_equal(put_runs("job", 100 * (int64_t)S, 900 * (int64_t)S, &fate), 0);
	assert_int_equal(fate, STORE_IMPORT_REPLACED);
	assert_int_equal(number("SELECT max(until_ns) FROM ranks"), START + 900 * (int64_t)S);
	assert_int_equal(number("SELECT count(*) FROM runs"), 2);
}

/* Its rank has lost progress and outages as the log tells them: they cost its accelerators once. */
static void test_worth(void **state)
{
	static struct store_job job;
	enum store_imported fate;
	double ns[BUCKET_COUNT];
	static struct told t;

	(void)state;
	told_begin(&t, "lost");
	told_piece(&t, BUCKET_GOODPUT, 0, 100 * (int64_t)S);
	told_piece(&t, BUCKET_WASTED, 0, 30 * (int64_t)S);
	told_piece(&t, BUCKET_RECOVERY, 0, 7 * (int64_t)S);
	told_piece(&t, BUCKET_GOODPUT, 0, 50 * (int64_t)S);
	assert_int_equal(put(&t, START, &fate), 0);
	assert_int_equal(store_job(st, "lost", &job), 0);
	assert_int_equal(store_accelerator_time(st, &job, &everything, &job.totals.sums, 2, ns), 0);
	for (int b = 0; b < BUCKET_COUNT; b++)
		assert_int_equal((int64_t)ns[b], 2 * job.totals.sums.ns[b]);
	assert_int_equal((int64_t)ns[BUCKET_WASTED], 60 * (int64_t)S);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {TEST(test_rows),	   TEST(test_names),
					   TEST(test_age),	   TEST(test_no_room),
					   TEST(test_another_log), TEST(test_worth)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
