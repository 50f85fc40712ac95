/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule of the verdict, the order of findings, and when there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/report/verdict.h"

#define S  1000000000ull
#define MS 1000000ull

/* 1000 s of training in steps of 100 ms with nothing to find. */
static struct verdict_facts steady(void)
{
	struct verdict_facts f = {
		.ns = {[BUCKET_GOODPUT] = 980 * S, [BUCKET_OTHER] = 20 * S},
		.judged_ns = 1000 * S,
		.steps = 9800,
		.p50_ns = 100 * MS,
		.p99_ns = 110 * MS,
		.mean_ns = 100 * MS,
		.phases_known = 1u << PHASE_DATA | 1u << PHASE_SYNC | 1u << PHASE_COLLECTIVE |
				1u << PHASE_TRANSFER | 1u << PHASE_COMPILE,
		.hang.rank = -1,
		.slow.rank = -1,
	};

	return f;
}

/* Moves time from goodput to a bucket. */
static void lose(struct verdict_facts *f, enum bucket b, uint64_t ns)
{
	f->ns[b] += ns;
	f->ns[BUCKET_GOODPUT] -= ns;
}

static struct verdicts found;

static const struct verdict *first(const struct verdict_facts *f)
{
	verdict_find(&found, f);
	assert_true(found.count >= 1);
	return &found.of[0];
}

static void is(const struct verdict_facts *f, enum verdict_kind kind, const char *text)
{
	const struct verdict *v = first(f);

	assert_string_equal(verdict_name[v->kind], verdict_name[kind]);
	assert_non_null(strstr(v->text, text));
}

static void nothing_stands_out(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	is(&f, VERDICT_steady, "98 % of the time is training");
	assert_int_equal(found.count, 1);
	f.phase_ns[PHASE_SYNC] = 60.0 * MS;
	is(&f, VERDICT_device_bound, "60 % of each step");
}

static void too_little(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	f.steps = 19;
	is(&f, VERDICT_none, "19 steps");
	f = steady();
	f.judged_ns = 4 * S;
	is(&f, VERDICT_none, "it needs");
	f = (struct verdict_facts){0};
	is(&f, VERDICT_none, "0 steps");
}

static void each_loss(void **state)
{
	static const struct {
		enum bucket bucket;
		uint64_t least_s; /* from which on it is found */
		enum verdict_kind kind;
	} rows[] = {
		{BUCKET_RECOVERY, 50, VERDICT_restarts},
		{BUCKET_WASTED, 50, VERDICT_restarts},
		{BUCKET_CHECKPOINT_RESTORE, 50, VERDICT_restarts},
		{BUCKET_HANG, 50, VERDICT_hangs},
		{BUCKET_DATA_LOADING, 100, VERDICT_input_bound},
		{BUCKET_CHECKPOINT_SAVE, 50, VERDICT_checkpoints},
		{BUCKET_EVAL, 100, VERDICT_evaluation},
		{BUCKET_OTHER, 80, VERDICT_other}, /* and the 20 s that are there */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict_facts f = steady();

		lose(&f, rows[i].bucket, (rows[i].least_s - 1) * S);
		assert_int_equal(first(&f)->kind, VERDICT_steady);
		lose(&f, rows[i].bucket, 1 * S);
		assert_string_equal(verdict_name[first(&f)->kind], verdict_name[rows[i].kind]);
		assert_true(*first(&f)->next);
	}
}

static void each_phase(void **state)
{
	static const struct {
		enum phase phase;
		double least; /* share of the step */
		enum verdict_kind kind;
	} rows[] = {
		{PHASE_DATA, 0.11, VERDICT_input_bound},
		{PHASE_COLLECTIVE, 0.2, VERDICT_communication_bound},
		{PHASE_TRANSFER, 0.1, VERDICT_copy_bound},
		{PHASE_COMPILE, 0.05, VERDICT_compilation},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct verdict_facts f = steady();

		f.phase_ns[rows[i].phase] = (rows[i].least - 0.02) * 100 * MS;
		assert_int_equal(first(&f)->kind, VERDICT_steady);
		f.phase_ns[rows[i].phase] = rows[i].least * 100 * MS;
		assert_string_equal(verdict_name[first(&f)->kind], verdict_name[rows[i].kind]);
		f.phases_known &= ~(1u << rows[i].phase); /* an unknown phase is no finding */
		assert_int_equal(first(&f)->kind, VERDICT_steady);
	}
}

/* Waits within steps are part of the bucket; the finding about the loader says what to try. */
static void input(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	lose(&f, BUCKET_DATA_LOADING, 300 * S);
	f.phase_ns[PHASE_DATA] = 10 * MS;
	f.input = (struct input_finding){.reason = INPUT_WORKERS,
					 .ns = S,
					 .workers = 2,
					 .busy = 2,
					 .cpu = 1,
					 .cores = 16,
					 .idle = 14};
	assert_int_equal(first(&f)->kind, VERDICT_input_bound);
	assert_true(first(&f)->share > 0.29 && first(&f)->share < 0.31);
	assert_non_null(strstr(first(&f)->text, ": 2 loader workers at 100 % CPU, 14 of 16 cores"));
	assert_string_equal(first(&f)->next, "more loader workers (14 idle cores)");
	f.input.idle = 0;
	assert_string_equal(first(&f)->next, "cheaper preprocessing, or a machine with more cores");
	f.input.one_slow = true;
	assert_non_null(strstr(first(&f)->text, "1 of 2 loader workers"));
	f.input = (struct input_finding){.reason = INPUT_MAIN, .ns = S};
	assert_string_equal(first(&f)->next,
			    "loader workers: the training process loads the batches itself");
}

static void now_comes_first(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	lose(&f, BUCKET_DATA_LOADING, 400 * S);
	lose(&f, BUCKET_CHECKPOINT_SAVE, 200 * S);
	f.slow.now = true;
	f.slow.since_step = 201;
	f.slow.before_ns = 24 * MS;
	f.slow.after_ns = 126 * MS;
	f.slow.causes.lost_ns = 102 * MS;
	f.slow.causes.ns[TIME_CAUSE_cpu_contention] = 90 * MS;
	f.slow.causes.ns[TIME_CAUSE_unknown] = 12 * MS;
	is(&f, VERDICT_slow,
	   "126 ms a step instead of 24.0 ms since step 201: 88 % waits for a CPU on which other "
	   "threads run, 12 % unexplained");
	assert_string_equal(found.of[0].next,
			    "give the job CPUs of its own, or move the other programs");
	assert_int_equal(found.count, 3);
	assert_int_equal(found.of[1].kind, VERDICT_input_bound);
	assert_int_equal(found.of[2].kind, VERDICT_checkpoints);
	f.hang.now = true;
	f.hang.rank = 1;
	f.hang.for_ns = 42 * S;
	f.hang.why = GP_WHY_collective;
	is(&f, VERDICT_hung, "rank 1 makes no progress for 42.0 s: waits in a collective");
	assert_int_equal(found.of[1].kind, VERDICT_slow);
	f.futile_runs = JOB_FUTILE;
	verdict_find(&found, &f);
	assert_int_equal(found.of[1].kind, VERDICT_crash_loop);
}

static void stragglers(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	f.straggler.now = true;
	f.straggler.rank = 3;
	f.straggler.size_ns = 12 * MS;
	strcpy(f.straggler.phase, "backward");
	is(&f, VERDICT_straggler, "the others wait 12.0 ms a step for rank 3, slow in backward");
	assert_true(found.of[0].share > 0.119 && found.of[0].share < 0.121);
}

static void uneven_steps(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	f.p99_ns = 400 * MS;
	assert_int_equal(first(&f)->kind, VERDICT_steady); /* long steps that cost nothing */
	f.mean_ns = 110 * MS;
	is(&f, VERDICT_uneven, "4.0 times the median, and 9 %");
}

static void long_steps(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	f.long_rank = -1;
	f.long_steps = (struct long_steps_view){.count = 3,
						.lost_ns = 60 * S,
						.ns = {[TIME_CAUSE_disk] = 45 * S,
						       [TIME_CAUSE_frequency] = 6 * S,
						       [TIME_CAUSE_unknown] = 9 * S}};
	is(&f, VERDICT_uneven, "3 steps of more than twice the p99 cost 6 % of the time");
	assert_string_equal(
		found.of[0].evidence,
		"3 steps of more than twice the p99 took 1 m 00 s longer than usual: 75 % "
		"waits for block I/O or a file, 10 % runs longer because the clock of its CPU is "
		"lower, 15 % unexplained");
	f.long_steps.lost_ns = 30 * S; /* 3 % of the time */
	assert_int_equal(first(&f)->kind, VERDICT_steady);
}

static void peers(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	f.peers.share = 0.4;
	f.peers.rank = 0;
	strcpy(f.peers.line, "train.py:43 in main()");
	is(&f, VERDICT_communication_bound,
	   "40 % of the time rank 0 waits for another thread at train.py:43 in main(), perhaps for "
	   "other ranks");
	f.hang.now = true;
	assert_int_equal(first(&f)->kind, VERDICT_hung);
	f.hang.now = false;
	f.peers.share = 0.1;
	assert_int_equal(first(&f)->kind, VERDICT_steady);
}

/* Of a slowdown: a wait for another thread in a rank of several, and the line without a cause. */
static void slow_lines(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	f.slow.now = true;
	f.slow.rank = 0;
	f.slow.before_ns = 100 * MS;
	f.slow.after_ns = 200 * MS;
	f.slow.causes = (struct time_causes){.lost_ns = 100 * MS,
					     .ns = {[TIME_CAUSE_lock] = 100 * MS}};
	is(&f, VERDICT_slow, "100 % waits for a lock or another thread");
	assert_string_equal(found.of[0].next, "look at the thread that has the lock");
	f.slow.peers = true;
	is(&f, VERDICT_slow, "100 % waits for a lock or another thread, perhaps for other ranks");
	assert_non_null(strstr(found.of[0].next, "all ranks"));
	f.slow.peers = false;
	f.slow.causes = (struct time_causes){0};
	f.slow.where = (struct lines_top){.line = "util.py:16 in settle()", .share = 0.5};
	is(&f, VERDICT_slow, "since step 0: 50 % of the time is at util.py:16 in settle()");
}

static void badput(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	f.ns[BUCKET_CHECKPOINT_SAVE] = 100 * S;
	f.badput[0] = (struct badput_view){.bucket = BUCKET_EVAL, .examined_ns = 10 * S};
	f.badput[1] = (struct badput_view){
		.bucket = BUCKET_CHECKPOINT_SAVE,
		.examined_ns = 90 * S,
		.ns = {[TIME_CAUSE_disk] = 72 * S, [TIME_CAUSE_unknown] = 18 * S},
		.most = {.line = "train.py:88 in save()", .share = 0.9}};
	is(&f, VERDICT_checkpoints, "10 % of the time waits for checkpoints");
	assert_string_equal(found.of[0].evidence,
			    "of 1 m 30 s examined: 80 % waits for block I/O or a file, 20 % "
			    "unexplained; 90 % at train.py:88 in save()");
	f.badput[1].ns[TIME_CAUSE_disk] = 0;
	is(&f, VERDICT_checkpoints, "10 %");
	assert_string_equal(found.of[0].evidence,
			    "of 1 m 30 s examined: 90 % at train.py:88 in save()");
	*f.badput[1].most.line = '\0';
	is(&f, VERDICT_checkpoints, "10 %");
	assert_string_equal(found.of[0].evidence, "");
}

/* A process that has ended counts once no process of the run is left. */
static void ended_process(void **state)
{
	struct rank_view ranks[2] = {
		{.job_key = 1, .trainer = true, .input_share = 0.5, .collect_share = 0.3},
		{.job_key = 1, .trainer = true, .alive = true}};
	struct snapshot s = {.ranks = ranks, .nranks = 2};
	struct job_view j = {.key = 1};
	struct verdict_facts f;

	(void)state;
	verdict_facts_of_job(&f, &s, &j);
	assert_true(f.input_share == 0);
	assert_true(f.lack[TIME_CAUSE_garbage_collection].share == 0);
	s.nranks = 1;
	verdict_facts_of_job(&f, &s, &j);
	assert_true(f.input_share == 0.5);
	assert_true(f.lack[TIME_CAUSE_garbage_collection].share == 0.3);
}

static void lacks(void **state)
{
	static const struct {
		enum time_cause cause;
		double least;
		enum verdict_kind kind;
	} rows[] = {
		{TIME_CAUSE_cpu_contention, 0.1, VERDICT_cpu_contention},
		{TIME_CAUSE_cpu_throttled, 0.1, VERDICT_cpu_throttled},
		{TIME_CAUSE_memory_pressure, 0.1, VERDICT_memory_pressure},
		{TIME_CAUSE_disk, 0.1, VERDICT_disk},
		{TIME_CAUSE_kernel, 0.25, VERDICT_kernel},
		{TIME_CAUSE_garbage_collection, 0.05, VERDICT_garbage_collection},
		{TIME_CAUSE_interpreter_lock, 0.1, VERDICT_interpreter_lock},
		{TIME_CAUSE_own_code, 0.1, VERDICT_own_code},
	};
	struct verdict_facts f = steady();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f = steady();
		f.lack[rows[i].cause].rank = -1;
		f.lack[rows[i].cause].share = rows[i].least - 0.01;
		assert_int_equal(first(&f)->kind, VERDICT_steady);
		f.lack[rows[i].cause].share = rows[i].least;
		assert_string_equal(verdict_name[first(&f)->kind], verdict_name[rows[i].kind]);
		assert_true(*first(&f)->next);
		assert_string_equal(first(&f)->evidence, "");
		strcpy(f.lack[rows[i].cause].evidence, "it reads 12.0 MB/s from storage");
		assert_string_equal(first(&f)->evidence, "it reads 12.0 MB/s from storage");
	}
	f.lack[TIME_CAUSE_own_code].rank = 3;
	strcpy(f.lack[TIME_CAUSE_own_code].detail, "train.py:31 in step()");
	is(&f, VERDICT_own_code, "10 % of the time rank 3 runs the job's own code: train.py:31 in");
	f.lack[TIME_CAUSE_cpu_contention].share = 0.4;
	f.lack[TIME_CAUSE_cpu_contention].own = true;
	assert_non_null(strstr(first(&f)->next, "fewer threads"));
	/* Some time in the kernel is necessary: more of it does not come first. */
	f.lack[TIME_CAUSE_kernel].share = 0.6;
	assert_int_equal(first(&f)->kind, VERDICT_cpu_contention);
	f.lack[TIME_CAUSE_kernel].share = 0;
	/* Uneven steps of the same size are a symptom of it, and come second. */
	f.p99_ns = 400 * MS;
	f.mean_ns = 170 * MS;
	assert_int_equal(first(&f)->kind, VERDICT_cpu_contention);
	assert_int_equal(found.of[1].kind, VERDICT_uneven);
}

/* Failures of the network, and what workers read, are evidence of waits for them alone. */
static void traffic(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	strcpy(f.network, "resent");
	strcpy(f.worker_reads, "reads");
	strcpy(f.worker, "a worker waits");
	f.input_share = 0.5;
	f.phases_known = 0;
	f.input.reason = INPUT_DISK;
	assert_string_equal(first(&f)->evidence, "a worker waits; reads");
	f.input.reason = INPUT_NETWORK;
	assert_string_equal(first(&f)->evidence, "a worker waits; resent");
	f.input.reason = INPUT_WORKERS;
	assert_string_equal(first(&f)->evidence, "");
	f = steady();
	strcpy(f.network, "resent");
	f.phases_known = 1u << PHASE_COLLECTIVE;
	f.phase_ns[PHASE_COLLECTIVE] = 0.9 * f.mean_ns;
	assert_int_equal(first(&f)->kind, VERDICT_communication_bound);
	assert_string_equal(first(&f)->evidence, "resent");
}

static void blocked(void **state)
{
	struct verdict_facts f = steady();

	(void)state;
	f.blocked.rank = -1;
	f.blocked.share = 0.3;
	f.blocked.wait = GP_WAIT_child;
	strcpy(f.blocked.text, "waits for a child process");
	is(&f, VERDICT_blocked, "30 % of the time the training thread waits for a child process");
	f.blocked.share = 0.09;
	assert_int_equal(first(&f)->kind, VERDICT_steady);
	/* The line that sleeps is named instead. */
	f.blocked.share = 0.3;
	f.blocked.wait = GP_WAIT_sleep;
	f.lack[TIME_CAUSE_own_code].share = 0.28;
	f.lack[TIME_CAUSE_own_code].rank = -1;
	assert_int_equal(first(&f)->kind, VERDICT_own_code);
	assert_int_equal(found.count, 1);
	/* It waits for its data loader, through a pipe, as samples show. */
	f = steady();
	f.phases_known = 0;
	f.blocked.share = 0.9;
	f.blocked.wait = GP_WAIT_pipe;
	f.input_share = 0.92;
	f.input = (struct input_finding){.reason = INPUT_NETWORK, .ns = S, .workers = 2};
	strcpy(f.worker, "a loader worker waits for a network socket");
	is(&f, VERDICT_input_bound, "92 % of the time waits for data, within steps");
	assert_string_equal(found.of[0].evidence, f.worker);
	assert_int_equal(found.count, 1);
	f.phases_known = 1u << PHASE_DATA; /* a probe knows better */
	assert_int_equal(first(&f)->kind, VERDICT_blocked);
}

/* Whatever the facts are, all findings but those of this moment and the unexplained rest add up to
 * at most the time that is not goodput and that of the steps. */
static void everything_at_once(void **state)
{
	struct verdict_facts f = {.judged_ns = 100 * S, .steps = 1000, .mean_ns = 100 * MS};
	char line[VERDICT_LINE_MAX];

	(void)state;
	for (int b = 0; b < BUCKET_COUNT; b++)
		f.ns[b] = 100 * S / BUCKET_COUNT;
	f.phases_known = (1u << PHASE_COUNT) - 1;
	for (int p = 0; p < CHANGE_PARTS; p++)
		f.phase_ns[p] = 100.0 * MS / CHANGE_PARTS;
	f.startup_ns = 30 * S;
	f.p50_ns = 10 * MS;
	f.p99_ns = 1000 * MS;
	f.futile_runs = 9;
	f.hang.now = f.slow.now = f.straggler.now = true;
	memset(f.hang.evidence, 'x', sizeof(f.hang.evidence) - 1);
	memset(f.slow.evidence, 'y', sizeof(f.slow.evidence) - 1);
	verdict_find(&found, &f);
	assert_true(found.count > 8 && found.count <= VERDICTS_MAX);
	assert_true(found.unexplained >= 0 && found.unexplained <= 1);
	for (uint32_t i = 0; i < found.count; i++)
		assert_true(strlen(verdict_line(line, sizeof(line), &found.of[i])) <
			    sizeof(line) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_stands_out),
		cmocka_unit_test(too_little),
		cmocka_unit_test(each_loss),
		cmocka_unit_test(each_phase),
		cmocka_unit_test(input),
		cmocka_unit_test(now_comes_first),
		cmocka_unit_test(lacks),
		cmocka_unit_test(traffic),
		cmocka_unit_test(blocked),
		cmocka_unit_test(stragglers),
		cmocka_unit_test(uneven_steps),
		cmocka_unit_test(long_steps),
		cmocka_unit_test(peers),
		cmocka_unit_test(slow_lines),
		cmocka_unit_test(badput),
		cmocka_unit_test(ended_process),
		cmocka_unit_test(everything_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
