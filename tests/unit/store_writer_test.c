/* SPDX-License-Identifier: Apache-2.0 */
/* What is fed to a store is in it: sums agree to the nanosecond, over minutes, restarts, trouble and kills.
 */
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

#include "tests/unit/store_folder.h"

static struct store_writer *writer(void)
{
	struct store_writer_options o = {.path = path};
	struct store_writer *w;

	assert_int_equal(store_writer_open(&w, &o), 0);
	return w;
}

static void begin(struct feed *f, const char *name, uint32_t ranks, uint64_t session_ns)
{
	feed_init(f, name, ranks, session_ns);
	f->wait = true;
	feed_open(f, writer());
}

static void finish(struct feed *f)
{
	assert_int_equal(store_writer_close(f->writer), 0);
	f->writer = NULL;
}

static void minutes_of(struct store *st, int64_t rank, struct feed_minutes *ret)
{
	memset(ret, 0, sizeof(*ret));
	assert_int_equal(store_minutes(st, rank, &everything, feed_minute, ret), 0);
	assert_int_equal(ret->twice, 0);
	assert_int_equal(ret->negative, 0);
}

/* Ledger, steps and step times of each rank and of the job, as a whole and by minute. */
static void agrees(const struct feed *f)
{
	static struct feed_found found;
	static struct store_job job;
	struct store *st = opened(STORE_READ);
	struct feed_minutes m;

	assert_int_equal(feed_find(st, f->job.name, &job, &found), 0);
	assert_int_equal(found.ranks, f->s.nranks);
	for (uint32_t i = 0; i < found.ranks; i++) {
		assert_int_equal(found.rank[i].rank, i);
		assert_true(feed_same(&found.rank[i].totals.sums, &f->ranks[i].ledger));
		assert_int_equal(found.rank[i].totals.steps, f->step[i]);
		assert_int_equal(found.rank[i].totals.times.count, f->step[i]);
		assert_int_equal(found.rank[i].max_step, f->ranks[i].ledger.max_step);
		assert_true(job.max_step >= found.rank[i].max_step);
		minutes_of(st, found.rank[i].id, &m);
		assert_true(feed_same(&m.sum.sums, &f->ranks[i].ledger));
		assert_int_equal(m.sum.steps, f->step[i]);
		assert_int_equal(m.sum.times.count, f->step[i]);
	}
	assert_true(feed_same(&job.totals.sums, &f->job.ledger));
	assert_int_equal(job.totals.steps, f->step[0]);
	store_close(st);
}

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
	struct fact_step step = {.step = {.number = 11, .start_ns = 1001 * S, .end_ns = 1001 * S + MS}};
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
	struct fact_step step = {
		.step = {.number = ++f->step[0], .start_ns = f->s.mono_ns, .end_ns = f->s.mono_ns + MS}};
	struct fact told = {.type = FACT_STEP, .step = &step};

	feed_fact(f, &told, 0, f->s.mono_ns + MS);
}

/* Its records come before who it is: it began earlier than was known, and is the same all the same. */
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

/* The same run of the model, played again from its beginning: nothing twice, and on from where it was. */
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

/* A job that falls, and is taken up by other processes: two runs, one job, and what became of the fall. */
static int take_disruption(void *ctx, const struct store_disruption *d)
{
	struct store_disruption *all = ctx;

	while (all->id)
		all++;
	*all = *d;
	return 0;
}

static void test_runs(void **state)
{
	static struct store_disruption falls[4];
	static struct feed_found found;
	static struct store_job job;
	static struct feed f;
	struct job_fall *fall = &f.job.falls[0];
	struct store *st;

	(void)state;
	begin(&f, "fallen", 2, 1000 * S);
	for (int i = 0; i < 70; i++)
		feed_go(&f, S);
	fall->number = f.job.nfalls = 1;
	snprintf(fall->why.cause, sizeof(fall->why.cause), "killed");
	fall->why = (struct job_cause){
		.cause = "killed", .rank = 1, .pid = 101, .exit_code = -1, .signal = 9};
	snprintf(fall->why.sender_comm, sizeof(fall->why.sender_comm), "a\033[31mb'--");
	fall->d = (struct disruption){.at_ns = f.s.mono_ns, .step = 700, .resumed_step = DISRUPTION_NO_STEP};
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
			fall->over = true;
			fall->d.resumed_ns = f.s.mono_ns;
			fall->d.resumed_step = 601;
			fall->d.wasted_ns = 10 * S;
			fall->d.recovery_ns = 50 * S;
			fall->split_ns[BUCKET_RECOVERY] = 30 * S;
			fall->split_ns[BUCKET_OTHER] = 20 * S;
			snprintf(fall->how, sizeof(fall->how), "checkpoint");
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
	assert_int_equal(store_disruptions(st, job.id, &everything, take_disruption, falls), 0);
	assert_string_equal(falls[0].cause, "killed");
	assert_string_equal(falls[0].sender_comm, "a?[31mb'--");
	assert_int_equal(falls[0].at_ns, FEED_REAL + 1070 * (int64_t)S);
	assert_int_equal(falls[0].signal, 9);
	assert_int_equal(falls[0].resumed_step, 601);
	assert_int_equal(falls[0].recovery_ns, 50 * S);
	assert_int_equal(falls[0].split.ns[BUCKET_RECOVERY], 30 * S);
	assert_int_equal(falls[1].id, 0);
	store_close(st);
}

/* ---- trouble ----------------------------------------------------------------------------------------- */

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
	wait_failed(&f, STORE_TROUBLE_other); /* EFBIG, which SQLite takes for an error of the disk */
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

/* Minutes that cannot be written are bounded: they become coarse, and none of their time is lost. */
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

/* ---- kill -9 ----------------------------------------------------------------------------------------- */

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

/* Killed at random moments, fed again from the beginning each time: at the end everything is there once. */
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
		TEST(test_sums),
		TEST(test_told_late),
		TEST(test_not_waited),
		TEST(test_short_watch),
		TEST(test_introduced_late),
		TEST(test_goes_on),
		TEST(test_another_watch),
		TEST(test_runs),
		TEST(test_locked),
		TEST(test_no_room),
		TEST(test_full),
		TEST(test_coarse),
		TEST(test_removed),
		TEST(test_killed),
		TEST(test_handed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
