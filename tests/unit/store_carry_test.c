/* SPDX-License-Identifier: Apache-2.0 */
/* What a store has of a job that another node had: all its time, once, also where it had a part of
 * it before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/store_folder.h"
#include "userspace/store/accelerator_time.h"
#include "userspace/report/document.h"

/* Another node had so many runs of it, for so long before this one began to watch. */
static void carried(struct feed *f, uint64_t session_ns, uint32_t runs, uint64_t before_ns)
{
	feed_init(f, "llama", 1, session_ns);
	f->wait = true;
	f->s.session_ns = session_ns;
	f->job.carried = true;
	f->job.carried_runs = runs;
	f->job.runs = runs + 1;
	f->job.ledger.start_ns -= before_ns; /* before the boot, too: modulo 2^64 */
	f->job.ledger.ns[BUCKET_GOODPUT] = before_ns;
	f->job.ledger.steps = 5000;
	f->job.ledger.disruptions = runs;
}

static void run(struct feed *f, uint64_t seconds, int status)
{
	struct store_writer_options o = {.path = path};

	assert_int_equal(store_writer_open(&f->writer, &o), 0);
	feed_open(f, f->writer);
	for (uint64_t i = 0; i < seconds; i++)
		feed_go(f, S);
	feed_end(f, status);
	assert_int_equal(store_writer_close(f->writer), 0);
	f->writer = NULL;
}

static void has(const struct feed *f, uint32_t attempts, uint32_t rows)
{
	struct feed_found *found = malloc(sizeof(*found));
	struct store_job *job = malloc(sizeof(*job));
	struct report_document *story;
	struct store *st;

	assert_true(found && job);
	st = opened(STORE_READ);
	assert_int_equal(feed_find(st, "llama", job, found), 0);
	assert_int_equal(found->runs, rows);
	assert_int_equal(found->run[rows - 1].attempt, attempts);
	assert_int_equal(job->runs, attempts);
	assert_int_equal(job->carried, f->job.carried_runs);
	assert_int_equal(job->disruptions, f->job.ledger.disruptions);
	assert_int_equal(job->totals.steps, f->job.ledger.steps);
	assert_true(feed_same(&job->totals.sums, &f->job.ledger));
	assert_int_equal(document_of_store(&story, st, job, &everything, NULL), 0);
	assert_true(story->ledger.now_ns == f->job.ledger.now_ns - f->job.ledger.start_ns);
	assert_int_equal(story->elsewhere, attempts - rows);
	document_close(story);
	store_close(st);
	free(found);
	free(job);
}

static void test_new_here(void **state)
{
	static struct feed f;

	(void)state;
	carried(&f, 100 * S, 2, 900 * S);
	run(&f, 150, 0);
	has(&f, 3, 1);
}

/* Run 1 was here, run 2 elsewhere, run 3 here again: what was carried holds run 1, which counts
 * once. */
static void test_back_here(void **state)
{
	static struct feed f;

	(void)state;
	feed_init(&f, "llama", 1, 1200 * S);
	f.wait = true;
	run(&f, 20, 0x0100);
	carried(&f, 2000 * S, 2, 700 * S);
	run(&f, 90, 0);
	has(&f, 3, 2);
}

/* What was carried is older than what is here: nothing of that is taken away. */
static void test_older(void **state)
{
	struct store_job *job = malloc(sizeof(*job));
	static struct feed f;
	struct store *st;
	uint64_t goodput_ns;

	(void)state;
	assert_non_null(job);
	feed_init(&f, "llama", 1, 1200 * S);
	f.wait = true;
	run(&f, 200, 0x0100);
	goodput_ns = f.job.ledger.ns[BUCKET_GOODPUT];
	carried(&f, 2000 * S, 1, 10 * S);
	run(&f, 60, 0);
	st = opened(STORE_READ);
	assert_int_equal(store_job(st, "llama", job), 0);
	assert_true((uint64_t)job->totals.sums.ns[BUCKET_GOODPUT] >= goodput_ns + 30 * S);
	store_close(st);
	free(job);
}

/* One name, two uids: two jobs. */
static void test_uid(void **state)
{
	static struct feed f;
	struct store_job *job = malloc(sizeof(*job));
	struct store *st;

	(void)state;
	assert_non_null(job);
	carried(&f, 1200 * S, 1, 10 * S);
	snprintf(f.job.uid, sizeof(f.job.uid), "a1");
	run(&f, 5, 0);
	carried(&f, 1300 * S, 4, 10 * S);
	snprintf(f.job.uid, sizeof(f.job.uid), "b2");
	run(&f, 5, 0);
	st = opened(STORE_READ);
	assert_int_equal(store_job(st, "name/llama/uid/a1", job), 0);
	assert_string_equal(job->uid, "a1");
	assert_int_equal(job->runs, 2);
	assert_int_equal(store_job(st, "name/llama/uid/b2", job), 0);
	assert_int_equal(job->runs, 5);
	store_close(st);
	free(job);
}

/* ---- time of accelerators -------------------------------------------------------------------- */

/* The job lost so much, and was down so long, before its run went on at that time. */
static void disruption(struct feed *f, uint32_t pid, uint64_t at_ns, uint64_t wasted_ns,
		       uint64_t down_ns)
{
	f->job.disruptions[f->job.ndisruptions++] = (struct job_disruption){
		.number = ++f->job.ledger.disruptions,
		.why = {.pid = pid, .rank = 0, .exit_code = -1},
		.d = {.at_ns = at_ns,
		      .resumed_ns = f->s.mono_ns,
		      .wasted_ns = wasted_ns,
		      .recovery_ns = down_ns,
		      .down_ns = down_ns},
		.over = true,
	};
	f->job.ledger.ns[BUCKET_GOODPUT] -= wasted_ns;
	f->job.ledger.ns[BUCKET_WASTED] += wasted_ns;
}

static int nothing(void *ctx, struct store *st)
{
	(void)ctx;
	(void)st;
	return 0;
}

static void outage(struct feed *f, uint64_t ns)
{
	f->s.mono_ns += ns;
	f->s.real_ns += (int64_t)ns;
	f->job.ledger.now_ns += ns;
	f->job.ledger.ns[BUCKET_RECOVERY] += ns;
}

/* Another process of the job, after the one that there was. */
static void again(struct feed *f)
{
	struct rank_view *r = &f->ranks[0];

	f->ranks[1] = *r;
	f->ranks[1].alive = false;
	f->ranks[1].ledger.ended = true;
	f->s.nranks = 2;
	r->pid += 50;
	r->start_mono_ns = f->s.mono_ns;
	r->ledger = (struct ledger_view){.start_ns = f->s.mono_ns, .now_ns = f->s.mono_ns};
	feed_look(f);
}

static void worth(double ret_ns[BUCKET_COUNT], struct sums *ret)
{
	struct store_job *job = malloc(sizeof(*job));
	struct store *st = opened(STORE_READ);

	assert_non_null(job);
	assert_int_equal(store_job(st, "llama", job), 0);
	assert_int_equal(store_accelerator_time(st, job, &everything, &job->totals.sums, 2, ret_ns),
			 0);
	*ret = job->totals.sums;
	store_close(st);
	free(job);
}

/* What another node's runs lost, and how long the job was down there, is none of this node's
 * accelerators; what befell a run of this node is, and no more of it than the run had made. */
static void test_worth(void **state)
{
	struct store_writer_options o = {.path = path};
	double ns[BUCKET_COUNT], own_ns = 0;
	static struct feed f;
	struct sums sums;

	(void)state;
	carried(&f, 2000 * S, 1, 700 * S);
	outage(&f, 5 * S);
	f.ranks[0].start_mono_ns = f.ranks[0].ledger.start_ns = f.ranks[0].ledger.now_ns =
		f.s.mono_ns;
	assert_int_equal(store_writer_open(&f.writer, &o), 0);
	feed_open(&f, f.writer);
	disruption(&f, 0, f.s.mono_ns - 5 * S, 300 * S, 5 * S);
	for (int i = 0; i < 100; i++)
		feed_go(&f, S);
	feed_look(&f);
	assert_int_equal(store_writer_read(f.writer, nothing, NULL), 0);
	own_ns = (double)f.ranks[0].ledger.ns[BUCKET_GOODPUT];
	worth(ns, &sums);
	assert_true(sums.ns[BUCKET_WASTED] == 300 * (int64_t)S && ns[BUCKET_WASTED] == 0);
	assert_true(sums.ns[BUCKET_RECOVERY] == 5 * (int64_t)S && ns[BUCKET_RECOVERY] == 0);
	assert_true(ns[BUCKET_GOODPUT] == 2 * own_ns);

	outage(&f, 9 * S);
	again(&f);
	disruption(&f, f.ranks[1].pid, f.s.mono_ns - 9 * S, 200 * S, 9 * S);
	for (int i = 0; i < 50; i++)
		feed_go(&f, S);
	feed_end(&f, 0);
	assert_int_equal(store_writer_close(f.writer), 0);
	worth(ns, &sums);
	assert_int_equal(sums.ns[BUCKET_WASTED], 500 * (int64_t)S);
	assert_true(ns[BUCKET_WASTED] == 2 * own_ns);
	assert_true(ns[BUCKET_GOODPUT] == 2 * (double)f.ranks[0].ledger.ns[BUCKET_GOODPUT]);
	assert_true(ns[BUCKET_RECOVERY] == 18 * (double)S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_new_here, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(test_back_here, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(test_older, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(test_uid, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(test_worth, store_set_up, store_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
