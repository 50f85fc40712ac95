/* SPDX-License-Identifier: Apache-2.0 */
/* What people add to a store, and take back: exclusions, marks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/store_folder.h"
#include "userspace/store/query.h"
#include "userspace/report/document.h"

static struct store_note last_note;

static int count_notes(void *ctx, const struct store_note *n)
{
	last_note = *n;
	++*(int *)ctx;
	return 0;
}

static void test_exclusions(void **state)
{
	struct store_span whole = {0}, w = feed_minutes(3, 8), out = feed_minutes(5, 7),
			  more = feed_minutes(6, 7);
	static struct store_job job;
	static struct feed f;
	struct store_totals t;
	struct store *st;
	int notes = 0;

	(void)state;
	feed_fill(&f, path, "excluded", 1200);
	st = opened(STORE_NOTE);
	assert_int_equal(store_exclude(st, out.from_ns, out.from_ns, "nothing"), -EINVAL);
	assert_int_equal(store_exclude(st, more.from_ns, more.to_ns, "twice"), 0);
	assert_int_equal(store_exclude(st, out.from_ns, out.to_ns, "maintenance\033[2J"), 0);
	assert_int_equal(store_job(st, "excluded", &job), 0);
	assert_int_equal(store_job_totals(st, job.id, &w, true, &t), 0);
	assert_int_equal(sums_total(&t.sums), 3 * MINUTE);
	assert_int_equal(t.excluded_ns, 2 * MINUTE);
	assert_int_equal(t.steps, 1800);
	assert_int_equal(store_job_totals(st, job.id, &w, false, &t), 0);
	assert_int_equal(sums_total(&t.sums), 5 * MINUTE);
	assert_int_equal(store_job_totals(st, job.id, &whole, true, &t), 0);
	assert_int_equal(sums_total(&t.sums), 18 * MINUTE);
	assert_int_equal(store_exclusions(st, &whole, count_notes, &notes), 0);
	assert_int_equal(notes, 2);
	assert_int_equal(store_mark(st, job.id, f.s.real_ns, "lr halved'); DROP TABLE jobs; --"),
			 0);
	notes = 0;
	assert_int_equal(store_marks(st, job.id, &whole, count_notes, &notes), 0);
	assert_int_equal(notes, 1);
	notes = 0;
	assert_int_equal(store_marks(st, 0, &whole, count_notes, &notes), 0); /* of all jobs */
	assert_int_equal(notes, 1);
	assert_int_equal(last_note.job, job.id);
	store_close(st);
}

/* What was taken back counts again; what the other one covers does not. */
static void test_taken_back(void **state)
{
	struct store_span whole = {0}, out = feed_minutes(5, 7), more = feed_minutes(6, 9);
	static struct store_job job;
	static struct feed f;
	struct store_totals t;
	struct store *st;
	int notes = 0;

	(void)state;
	feed_fill(&f, path, "again", 1200);
	st = opened(STORE_NOTE);
	assert_int_equal(store_job(st, "again", &job), 0);
	assert_int_equal(store_include(st, 1), -ENOENT);
	assert_int_equal(store_exclude(st, out.from_ns, out.to_ns, "one"), 0);
	assert_int_equal(store_exclude(st, more.from_ns, more.to_ns, "two"), 0);
	assert_int_equal(store_job_totals(st, job.id, &whole, true, &t), 0);
	assert_int_equal(sums_total(&t.sums), 16 * MINUTE);
	assert_int_equal(t.excluded_ns, 4 * MINUTE);
	assert_int_equal(store_exclusions(st, &whole, count_notes, &notes), 0);
	assert_int_equal(store_include(st, last_note.id), 0);
	assert_int_equal(store_include(st, last_note.id), -ENOENT);
	assert_int_equal(store_job_totals(st, job.id, &whole, true, &t), 0);
	assert_int_equal(sums_total(&t.sums), 18 * MINUTE);
	assert_int_equal(t.excluded_ns, 2 * MINUTE);
	assert_int_equal(store_exclusions(st, &whole, count_notes, &notes), 0);
	assert_int_equal(store_include(st, last_note.id), 0);
	assert_int_equal(store_job_totals(st, job.id, &whole, true, &t), 0);
	assert_true(feed_same(&t.sums, &f.job.ledger));
	assert_int_equal(t.excluded_ns, 0);
	assert_int_equal(store_mark(st, job.id, f.s.real_ns, "text"), 0);
	assert_int_equal(store_marks(st, 0, &whole, count_notes, &notes), 0);
	assert_int_equal(store_unmark(st, last_note.id + 1), -ENOENT);
	assert_int_equal(store_unmark(st, last_note.id), 0);
	notes = 0;
	assert_int_equal(store_marks(st, job.id, &whole, count_notes, &notes), 0);
	assert_int_equal(notes, 0);
	store_close(st);
}

/* What the story says of time that was left out: who did, and how exactly. */
static void says_of_left_out(struct store *st, const struct store_job *job, bool watched,
			     bool minutes)
{
	bool said_watched = false, said_minutes = false;
	struct report_document *s;

	assert_int_equal(document_of_store(&s, st, job, &(struct store_span){0}, NULL), 0);
	for (uint32_t i = 0; i < s->ncaveats; i++) {
		said_watched |= strstr(s->caveats[i], "left out while watching") != NULL;
		said_minutes |= strstr(s->caveats[i], "minutes") != NULL;
	}
	assert_int_equal(said_watched, watched);
	assert_int_equal(said_minutes, minutes);
	document_close(s);
}

/* What a watch left out of the time between two runs, which no rank has: exact, and no minute of
 * the store's. */
static void test_left_out_between_runs(void **state)
{
	struct store_writer_options o = {.path = path};
	struct store_span out = feed_minutes(0, 1);
	struct store_totals t;
	struct store_job job;
	static struct feed f;
	struct store *st;

	(void)state;
	feed_init(&f, "between", 1, 1200 * S);
	f.wait = true;
	assert_int_equal(store_writer_open(&f.writer, &o), 0);
	feed_open(&f, f.writer);
	for (int i = 0; i < 150; i++)
		feed_go(&f, S);
	feed_end(&f, 9);
	f.s.mono_ns += 5 * S;
	f.s.real_ns += 5 * (int64_t)S;
	f.job.ledger.now_ns += 5 * S;
	f.job.ledger.ns[BUCKET_RECOVERY] += 2 * S;
	f.job.ledger.ns[BUCKET_EXCLUDED] += 3 * S;
	feed_look(&f);
	assert_int_equal(store_writer_close(f.writer), 0);
	st = opened(STORE_NOTE);
	assert_int_equal(store_job(st, "between", &job), 0);
	assert_int_equal(job.totals.excluded_ns, 3 * S);
	assert_int_equal(store_job_totals(st, job.id, &everything, true, &t), 0);
	assert_int_equal(sums_total(&t.sums), 152 * S);
	assert_int_equal(t.excluded_ns, 3 * S);
	assert_int_equal(t.cut_ns, 0);
	says_of_left_out(st, &job, true, false);
	assert_int_equal(store_exclude(st, out.from_ns, out.to_ns, "maintenance"), 0);
	assert_int_equal(store_job_totals(st, job.id, &everything, true, &t), 0);
	assert_int_equal(t.excluded_ns, MINUTE + 3 * S);
	assert_int_equal(t.cut_ns, MINUTE);
	says_of_left_out(st, &job, true, true);
	store_close(st);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, store_set_up, store_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_exclusions),
		TEST(test_taken_back),
		TEST(test_left_out_between_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
