/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose name becomes known after some of it is stored: it is one job, and its time counts
 * once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "tests/unit/store_folder.h"

static struct feed f;

static void watch(void)
{
	struct store_writer_options o = {.path = path};

	assert_int_equal(store_writer_open(&f.writer, &o), 0);
	feed_open(&f, f.writer);
}

static void go(int seconds)
{
	for (int i = 0; i < seconds; i++)
		feed_go(&f, S);
}

static void close_it(void)
{
	assert_int_equal(store_writer_close(f.writer), 0);
	f.writer = NULL;
}

static void begin(const char *name, uint64_t session_ns)
{
	feed_init(&f, name, 2, session_ns);
	f.wait = true;
	f.ranks[0].run = f.ranks[1].run = 1;
	watch();
}

/* As the model has it: another key, and what it was known by before. */
static void rename_to(const char *name, const char *uid)
{
	struct job_view *j = &f.job;
	struct job_former *was = &j->former_names[j->nformer_names++];

	was->key = j->key;
	memcpy(was->name, j->name, sizeof(was->name));
	memcpy(was->uid, j->uid, sizeof(was->uid));
	snprintf(j->name, sizeof(j->name), "%s", name);
	snprintf(j->uid, sizeof(j->uid), "%s", uid);
	j->key += 1000;
	for (uint32_t i = 0; i < f.s.nranks; i++) {
		f.ranks[i].job_key = j->key;
		snprintf(f.ranks[i].job, sizeof(f.ranks[i].job), "%s", name);
	}
}

static int count_job(void *ctx, const struct store_job *j)
{
	uint32_t *n = ctx;

	(void)j;
	++*n;
	return 0;
}

/* There is this job alone, of so many runs, with two ranks each, and its ledger is this one. */
static void has(const char *key, uint32_t runs, const struct ledger_view *l, uint64_t unobserved_ns)
{
	struct feed_found *found = malloc(sizeof(*found));
	struct store_job *job = malloc(sizeof(*job));
	struct store_totals *t = malloc(sizeof(*t));
	struct store *st = opened(STORE_READ);
	const struct store_span minutes = {1, FEED_REAL + 100000 * (int64_t)S};
	struct ledger_view truth = *l;
	uint32_t jobs = 0;

	assert_true(found && job && t);
	truth.ns[BUCKET_UNOBSERVED] += unobserved_ns;
	assert_int_equal(store_jobs(st, &everything, count_job, &jobs), 0);
	assert_int_equal(jobs, 1);
	assert_int_equal(feed_find(st, key, job, found), 0);
	assert_string_equal(job->key, key);
	assert_int_equal(found->runs, runs);
	assert_int_equal(found->ranks, 2 * runs);
	assert_int_equal(job->disruptions, f.job.ndisruptions);
	assert_true(feed_same(&job->totals.sums, &truth));
	assert_int_equal(store_job_totals(st, job->id, &minutes, false, t), 0);
	assert_true(feed_same(&t->sums, &truth));
	store_close(st);
	free(t);
	free(found);
	free(job);
}

static void test_named_late(void **state)
{
	(void)state;
	begin("", 1000 * S);
	go(130);
	rename_to("run-7", "");
	go(70);
	rename_to("gpt", "uid-1");
	go(70);
	feed_end(&f, 0);
	close_it();
	has("name/gpt/uid/uid-1", 1, &f.job.ledger, 0);
}

/* Both names came before anything was told of the first one. */
static void test_at_once(void **state)
{
	(void)state;
	begin("", 1000 * S);
	go(5);
	rename_to("run-7", "");
	rename_to("gpt", "uid-1");
	go(5);
	close_it();
	has("name/gpt/uid/uid-1", 1, &f.job.ledger, 0);
}

/* gp-bpf is killed between the name and the store's next transaction; a watch without a state knows
 * nothing of it, and takes nothing. */
static void test_killed(void **state)
{
	struct store_writer *writer;

	(void)state;
	begin("", 1000 * S);
	go(70);
	writer = f.writer;
	f.writer = NULL;
	rename_to("gpt", "uid-1");
	go(3); /* nobody writes */
	assert_int_equal(store_writer_close(writer), 0);
	watch();
	go(70);
	close_it();
	has("name/gpt/uid/uid-1", 1, &f.job.ledger, 0);
}

static void after(const struct ledger_view *before, uint32_t runs, uint64_t unobserved_ns)
{
	struct ledger_view both = *before;

	for (int b = 0; b < BUCKET_COUNT; b++)
		both.ns[b] += f.job.ledger.ns[b];
	has("name/gpt/uid/uid-1", runs, &both, unobserved_ns);
}

/* The job of that name had a run before, and then nobody watched it: what was told without a name
 * is its next run. */
static void test_known_before(void **state)
{
	struct ledger_view before;

	(void)state;
	begin("gpt", 1000 * S);
	snprintf(f.job.uid, sizeof(f.job.uid), "uid-1");
	go(90);
	feed_end(&f, 0x0100);
	close_it();
	before = f.job.ledger;
	begin("", 1200 * S); /* another session */
	go(100);
	f.job.disruptions[f.job.ndisruptions++] = (struct job_disruption){
		.number = ++f.job.ledger.disruptions,
		.why = {.cause = CAUSE_killed, .rank = 0, .exit_code = -1},
		.d = {.at_ns = f.s.mono_ns - S},
	};
	go(1);
	rename_to("gpt", "uid-1");
	go(100);
	close_it();
	after(&before, 2, 110 * S);
	/* And once more, from a state: nothing is left to be moved. */
	watch();
	go(1);
	close_it();
	after(&before, 2, 110 * S);
}

/* A watch before knew the name at once, and told of the same process: no second of that counts
 * twice. */
static void test_seen_before(void **state)
{
	struct feed_found *found = malloc(sizeof(*found));
	struct store_job *job = malloc(sizeof(*job));
	struct store *st;

	(void)state;
	assert_true(found && job);
	begin("gpt", 1000 * S);
	go(90);
	close_it();
	begin("", 1200 * S);
	for (uint32_t i = 0; i < f.s.nranks; i++) {
		f.ranks[i].start_mono_ns = f.ranks[i].ledger.start_ns = 1000 * S;
		f.ranks[i].ledger.ns[BUCKET_UNOBSERVED] = 200 * S;
	}
	f.job.ledger.start_ns = 1000 * S;
	f.job.ledger.ns[BUCKET_UNOBSERVED] = 200 * S;
	go(5);
	rename_to("gpt", "");
	go(50);
	close_it();
	st = opened(STORE_READ);
	assert_int_equal(feed_find(st, "gpt", job, found), 0);
	assert_int_equal(found->runs, 1);
	assert_int_equal(found->ranks, 2);
	assert_true(sums_total(&job->totals.sums) == 255 * (int64_t)S);
	assert_int_equal(store_job(st, "python3 train.py", job),
			 -ENOENT); /* what it was called without one */
	store_close(st);
	free(found);
	free(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_named_late, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(test_at_once, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(test_killed, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(test_known_before, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(test_seen_before, store_set_up, store_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
