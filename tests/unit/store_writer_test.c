/* SPDX-License-Identifier: Apache-2.0 */
/* What is fed to a store is in it: sums agree to the nanosecond, over minutes and restarts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/store_fed.h"

static void test_sums(void **state)
{
	static struct feed f;

	(void)state;
	begin(&f, "sums", 3, 1000 * S);
	for (int i = 0; i < 600; i++)
		feed_go(&f, S + (uint64_t)i * 1001);
	feed_end(&f, 0);
	finish(&f);
	agrees(&f);
}

static void test_handed_over(void **state)
{
	static struct feed f;
	char log[112];

	(void)state;
	snprintf(log, sizeof(log), "%s-wal", path);
	begin(&f, "left", 2, 1000 * S);
	feed_go(&f, S);
	store_writer_hand_over(f.writer);
	finish(&f);
	assert_int_equal(access(log, F_OK), 0); /* nobody waited until it was in the file */
	agrees(&f);
	store_close(opened(STORE_WRITE));
	assert_int_equal(access(log, F_OK), -1);
}

/* A checkpoint is told of after the end of who made it: its steps stay whole. */
static void test_told_late(void **state)
{
	static struct feed f;
	struct fact_checkpoint save = {.closed = true, .step = 12, .files = 1, .file = "ckpt.pt"};
	struct fact_step step = {
		.step = {.number = 11, .start_ns = 1001 * S, .end_ns = 1001 * S + MS}};
	struct step_state ended = {.state = STATE_ENDED};
	struct fact told[] = {{.type = FACT_STEP, .step = &step},
			      {.type = FACT_RANK, .state = &ended},
			      {.type = FACT_CHECKPOINT, .checkpoint = &save}};

	(void)state;
	begin(&f, "late", 1, 1000 * S);
	feed_go(&f, S);
	f.step[0]++;
	for (int i = 0; i < 3; i++)
		feed_fact(&f, &told[i], 0, f.s.mono_ns);
	feed_end(&f, 0);
	finish(&f);
	agrees(&f);
}

static void one_step(struct feed *f)
{
	struct fact_step step = {.step = {.number = ++f->step[0],
					  .start_ns = f->s.mono_ns,
					  .end_ns = f->s.mono_ns + MS}};
	struct fact told = {.type = FACT_STEP, .step = &step};

	feed_fact(f, &told, 0, f->s.mono_ns + MS);
}

/* Its records come before who it is: it began earlier than was known, and is the same all the
 * same. */
static void test_introduced_late(void **state)
{
	static struct feed f;
	static struct feed_found found;
	static struct store_job job;
	struct rank_view *r = &f.ranks[0];
	struct store *st;

	(void)state;
	begin(&f, "introduced", 1, 1000 * S);
	feed_go(&f, S);
	one_step(&f);
	r->start_mono_ns = r->ledger.start_ns -= 100 * MS;
	r->ledger.ns[BUCKET_OTHER] += 100 * MS;
	one_step(&f);
	feed_go(&f, S);
	feed_go(&f, S);
	feed_end(&f, 0);
	finish(&f);
	agrees(&f);
	st = opened(STORE_READ);
	assert_int_equal(feed_find(st, f.job.name, &job, &found), 0);
	assert_int_equal(found.rank[0].start_ns, FEED_REAL + (int64_t)r->start_mono_ns);
	assert_int_equal(found.run[0].start_ns, FEED_REAL + (int64_t)r->start_mono_ns);
	store_close(st);
}

/* The thread takes what there is when it likes: what is there at the end is the same. */
static void test_not_waited(void **state)
{
	static struct feed f;

	(void)state;
	begin(&f, "free", 2, 1000 * S);
	f.wait = false;
	for (int i = 0; i < 5000; i++)
		feed_go(&f, S);
	finish(&f); /* still running: the minute that is open counts */
	agrees(&f);
}

/* The watch is over before the first minute and before the job: nothing of it is missing. */
static void test_short_watch(void **state)
{
	static struct feed f;

	(void)state;
	begin(&f, "short", 2, 1000 * S);
	for (int i = 0; i < 15; i++)
		feed_go(&f, S);
	finish(&f);
	agrees(&f);
}

/* The same run of the model, played again from its beginning: nothing twice, and on from where it
 * was. */
static void test_goes_on(void **state)
{
	static struct feed f;

	(void)state;
	for (int round = 1; round <= 5; round++) {
		begin(&f, "again", 2, 1000 * S);
		for (int i = 0; i < 100 * round; i++)
			feed_go(&f, S);
		finish(&f);
		agrees(&f);
	}
	begin(&f, "again", 2, 1000 * S);
	for (int i = 0; i < 600; i++)
		feed_go(&f, S);
	feed_end(&f, 0);
	finish(&f);
	agrees(&f);
	begin(&f, "again", 2, 1000 * S); /* and over, from a tape */
	for (int i = 0; i < 600; i++)
		feed_go(&f, S);
	feed_end(&f, 0);
	finish(&f);
	agrees(&f);
}

/* Another watch of the same processes: it saw nothing of what the first one saw. */
static void test_another_watch(void **state)
{
	static struct feed first, second;
	static struct feed_found found;
	static struct store_job job;
	struct store *st;

	(void)state;
	begin(&first, "two", 1, 1000 * S);
	for (int i = 0; i < 100; i++)
		feed_go(&first, S);
	finish(&first);
	feed_init(&second, "two", 1, 1150 * S); /* 50 s later */
	second.wait = true;
	second.ranks[0].start_mono_ns = second.ranks[0].ledger.start_ns = 1000 * S;
	second.ranks[0].ledger.ns[BUCKET_UNOBSERVED] = 150 * S;
	second.job.ledger.start_ns = 1000 * S;
	second.job.ledger.ns[BUCKET_UNOBSERVED] = 150 * S;
	feed_open(&second, writer());
	feed_look(&second);
	for (int i = 0; i < 100; i++)
		feed_go(&second, S);
	finish(&second);
	begin(&second, "two", 1, 1150 * S); /* ... killed, and gone on with */
	second.ranks[0].start_mono_ns = second.ranks[0].ledger.start_ns = 1000 * S;
	second.ranks[0].ledger.ns[BUCKET_UNOBSERVED] = 150 * S;
	second.job.ledger.start_ns = 1000 * S;
	second.job.ledger.ns[BUCKET_UNOBSERVED] = 150 * S;
	for (int i = 0; i < 130; i++)
		feed_go(&second, S);
	finish(&second);
	st = opened(STORE_READ);
	assert_int_equal(feed_find(st, "two", &job, &found), 0);
	assert_int_equal(found.runs, 1);
	assert_int_equal(found.ranks, 1);
	assert_int_equal(sums_total(&found.rank[0].totals.sums), 280 * S);
	assert_int_equal(found.rank[0].totals.sums.ns[BUCKET_UNOBSERVED], 50 * S);
	assert_int_equal(found.rank[0].totals.steps, 2300);
	assert_int_equal(sums_total(&job.totals.sums), 280 * S);
	assert_int_equal(job.totals.sums.ns[BUCKET_UNOBSERVED], 50 * S);
	store_close(st);
}

/* A job that is disrupted, and is taken up by other processes: two runs, one job, and what became
 * of the disruption. */
static int take_disruption(void *ctx, const struct disruption_row *d)
{
	struct disruption_row *all = ctx;

	while (all->id)
		all++;
	*all = *d;
	return 0;
}

static void test_runs(void **state)
{
	static struct disruption_row disruptions[4];
	static struct feed_found found;
	static struct store_job job;
	static struct feed f;
	struct job_disruption *disruption = &f.job.disruptions[0];
	struct store *st;

	(void)state;
	begin(&f, "fallen", 2, 1000 * S);
	for (int i = 0; i < 70; i++)
		feed_go(&f, S);
	disruption->number = f.job.ndisruptions = 1;
	disruption->why = (struct job_cause){
		.cause = CAUSE_killed, .rank = 1, .pid = 101, .exit_code = -1, .signal = 9};
	snprintf(disruption->why.sender_comm, sizeof(disruption->why.sender_comm), "a\033[31mb'--");
	disruption->d = (struct disruption){
		.at_ns = f.s.mono_ns, .step = 700, .resumed_step = DISRUPTION_NO_STEP};
	feed_end(&f, 9);
	f.job.state = JOB_RUNNING;
	for (int i = 0; i < 2; i++) { /* the next run, with their numbers and other pids */
		f.ranks[i].pid += 50;
		f.ranks[i].alive = true;
		f.ranks[i].start_mono_ns = f.ranks[i].ledger.start_ns = f.s.mono_ns + 30 * S;
		f.ranks[i].ledger = (struct ledger_view){.start_ns = f.ranks[i].start_mono_ns,
							 .now_ns = f.ranks[i].start_mono_ns};
		f.step[i] = 0;
	}
	f.s.mono_ns += 30 * S;
	f.s.real_ns += 30 * (int64_t)S;
	f.job.ledger.now_ns += 30 * S;
	f.job.ledger.ns[BUCKET_RECOVERY] += 30 * S;
	for (int i = 0; i < 70; i++) {
		if (i == 20) {
			disruption->over = true;
			disruption->d.resumed_ns = f.s.mono_ns;
			disruption->d.resumed_step = 601;
			disruption->d.wasted_ns = 10 * S;
			disruption->d.recovery_ns = 50 * S;
			disruption->split_ns[BUCKET_RECOVERY] = 30 * S;
			disruption->split_ns[BUCKET_OTHER] = 20 * S;
			snprintf(disruption->how, sizeof(disruption->how), "checkpoint");
		}
		feed_go(&f, S);
	}
	finish(&f);
	st = opened(STORE_READ);
	assert_int_equal(feed_find(st, "fallen", &job, &found), 0);
	assert_int_equal(found.runs, 2);
	assert_int_equal(found.ranks, 4);
	assert_int_equal(found.run[0].attempt, 1);
	assert_int_equal(found.run[0].status, 9);
	assert_int_equal(found.run[0].end_ns, FEED_REAL + 1070 * (int64_t)S);
	assert_int_equal(found.run[1].attempt, 2);
	assert_int_equal(found.run[1].end_ns, STORE_NONE);
	assert_int_equal(found.run[1].start_ns, FEED_REAL + 1100 * (int64_t)S);
	assert_true(feed_same(&job.totals.sums, &f.job.ledger));
	assert_int_equal(job.totals.steps, 1400);
	assert_int_equal(job.disruptions, 1);
	assert_string_equal(job.state, "running");
	assert_int_equal(store_disruptions(st, job.id, &everything, take_disruption, disruptions),
			 0);
	assert_string_equal(disruptions[0].cause, "killed");
	assert_string_equal(disruptions[0].sender_comm, "a?[31mb'--");
	assert_int_equal(disruptions[0].at_ns, FEED_REAL + 1070 * (int64_t)S);
	assert_int_equal(disruptions[0].signal, 9);
	assert_int_equal(disruptions[0].resumed_step, 601);
	assert_int_equal(disruptions[0].recovery_ns, 50 * S);
	assert_int_equal(disruptions[0].split_ns[BUCKET_RECOVERY], 30 * S);
	assert_int_equal(disruptions[1].id, 0);
	store_close(st);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, store_set_up, store_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_sums),
		TEST(test_told_late),
		TEST(test_not_waited),
		TEST(test_short_watch),
		TEST(test_introduced_late),
		TEST(test_goes_on),
		TEST(test_another_watch),
		TEST(test_runs),
		TEST(test_handed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
