/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/gcm_set.h"
#include "userspace/export/measure/owners.h"

static void make(void)
{
	series_set_free(&set);
	series_set_init(&set);
	gcm_own(&set, &fx.s, &id);
	set_check(false);
}

static void test_a_jobs_time_adds_up(void **state)
{
	double sum = 0;

	(void)state;
	job("llama");
	make();
	for (uint32_t i = 0; i < set.count; i++) {
		if (!strcmp(set.item[i].row->name, "job/badput_time"))
			sum += set.item[i].value.real;
	}
	assert_true(fabs(sum + 70 - 100) < 1e-9);
	assert_true(real("job/goodput_time", "job_id", "llama") == 70);
	assert_true(real("job/elapsed_time", NULL, NULL) == 100);
	assert_true(real("job/badput_time", "bucket", "CUSTOM_BADPUT_EVENTS.EVAL_STEP") == 4);
	assert_true(real("job/badput_time", "bucket", "CUSTOM_BADPUT_EVENTS") == 1);
	assert_true(real("job/badput_time", "bucket", "HANG") == 0);
	assert_null(find("job/badput_time", "bucket", "GOODPUT"));
	assert_int_equal(find("job/step_count", NULL, NULL)->value.i64, 2000);
	assert_int_equal(find("job/step_number", NULL, NULL)->value.i64, 1990);
	assert_true(find("job/state", "state", "running")->value.yes);
	assert_false(find("job/state", "state", "down")->value.yes);
}

/* Gauges have no start; what counts counts from the job's, which may lie before the boot. */
static void test_what_counts_has_the_jobs_start(void **state)
{
	struct job_view *j = job("llama");

	(void)state;
	make();
	assert_int_equal(find("job/productive_time", NULL, NULL)->start_ns, NOW - 100 * (int64_t)S);
	assert_int_equal(find("job/wasted_time", NULL, NULL)->end_ns, NOW);
	assert_int_equal(find("job/goodput_time", NULL, NULL)->start_ns, 0);
	/* The clock was set, or the machine slept: what is counted is the same, and has the same
	 * start. */
	j->since_real_ns = NOW - 80 * (int64_t)S;
	fx.s.real_ns += 3600 * (int64_t)S;
	make();
	assert_int_equal(find("job/step_count", NULL, NULL)->start_ns, NOW - 80 * (int64_t)S);
	fx.s.real_ns -= 3600 * (int64_t)S;
	j->since_real_ns = 0;
	j->ledger.start_ns = 0ull - 900 * S;
	j->carried = true;
	make();
	assert_int_equal(find("job/step_count", NULL, NULL)->start_ns, NOW - 2000 * (int64_t)S);
}

static void test_disruptions_are_by_cause(void **state)
{
	struct job_view *j = job("llama");

	(void)state;
	make();
	assert_int_equal(find("job/disruption_count", "cause", "other")->value.i64, 0);
	j->causes[0].cause = CAUSE_oom;
	j->causes[0].count = 2;
	j->ncauses = 1;
	j->ledger.disruptions = 2;
	make();
	assert_int_equal(find("job/disruption_count", "cause", "oom")->value.i64, 2);
	assert_int_equal(find("job/disruption_count", "cause", "other")->value.i64, 0);
	j->ledger.disruptions = 5; /* three of another node */
	make();
	assert_int_equal(find("job/disruption_count", "cause", "other")->value.i64, 3);
	j->ledger.disruptions = 6;
	j->unsettled = 1; /* what for is not certain yet */
	make();
	assert_int_equal(find("job/disruption_count", "cause", "other")->value.i64, 3);
}

static void test_a_job_is_told_by_one_node_and_not_for_ever(void **state)
{
	struct job_view *old = job("llama"), *elsewhere = job("gpt"), *over = job("bert"), *j;

	(void)state;
	elsewhere->reported_here = false;
	over->state = JOB_OVER;
	over->ledger.ended = true;
	over->ledger.now_ns = 1100 * S - JOB_WAIT_NS - S;
	over->ledger.start_ns = over->ledger.now_ns - 100 * S;
	snprintf(old->uid, sizeof(old->uid), "1");
	j = job("llama"); /* another of that name */
	snprintf(j->uid, sizeof(j->uid), "2");
	j->last_step = 7;
	rank(elsewhere, 5, 1);
	make();
	assert_int_equal(find("job/step_number", "job_id", "llama")->value.i64, 7);
	assert_null(find("job/step_number", "job_id", "gpt"));
	assert_non_null(find("rank/step_count", "job_id", "gpt"));
	assert_non_null(find("job/elapsed_time", "job_id", "bert"));
	fx.s.mono_ns += OWNERS_GRACE_NS;
	make();
	assert_null(find("job/elapsed_time", "job_id", "bert"));
}

static void test_a_ranks_steps(void **state)
{
	const struct series_distribution *d;
	const struct series *p;
	struct rank_view *r;

	(void)state;
	r = rank(job("llama"), 101, 3);
	r->loops[0].phases_known = 1u << PHASE_COLLECTIVE;
	r->loops[0].device_known = true;
	r->world_size = 8;
	r->loops[0].phase_ns[PHASE_COLLECTIVE] = 1500 * MS;
	make();
	p = find("rank/step_count", "rank", "3");
	assert_int_equal(p->value.i64, 2000);
	assert_int_equal(p->start_ns, NOW - 90 * (int64_t)S);
	assert_string_equal(label(p, "pid"), "");
	assert_string_equal(label(p, "loop"), "");
	p = find("rank/step_time", "rank", "3");
	d = &set.distribution[p->value.distribution];
	assert_int_equal(d->count, 2000);
	assert_true(fabs(d->mean - 0.0362) < 1e-12);
	assert_int_equal(d->buckets[7], 2000);
	/* A step of exactly 100 ms is in the bucket up to there, and the service's bound is
	 * exclusive. */
	assert_true(d->bounds[7] > 0.1 && d->bounds[7] < 0.100000002);
	assert_true(real("rank/ideal_step_time", NULL, NULL) == 0.031);
	assert_true(real("rank/step_deviation", NULL, NULL) == 5.6e6 / 1e9);
	assert_true(real("rank/phase_time", "phase", "collective") == 1.5);
	assert_true(find("rank/state", "state", "locked")->value.yes);
	assert_false(find("rank/hung", NULL, NULL)->value.yes);
	assert_false(find("rank/straggler", NULL, NULL)->value.yes);
}

static void test_what_is_not_known_is_absent(void **state)
{
	struct job_view *j = job("");
	struct rank_view *r = rank(j, 101, -1);

	(void)state;
	j->run_ranks = 1;
	j->last_step = 0; /* a restart went back to the start */
	r->loops[0].state.confidence = 0.69;
	make();
	assert_int_equal(find("job/step_number", NULL, NULL)->value.i64, 0);
	j->ledger.steps = 0;
	make();
	assert_non_null(find("job/elapsed_time", "job_id", "pid-77"));
	assert_string_equal(label(find("rank/step_count", NULL, NULL), "rank"), "");
	assert_string_equal(label(find("rank/step_count", NULL, NULL), "pid"), "101");
	assert_null(find("rank/step_time", NULL, NULL));
	assert_null(find("rank/ideal_step_time", NULL, NULL));
	assert_null(find("rank/phase_time", "phase", "collective"));
	assert_null(find("rank/straggler", NULL, NULL));
	r->loops[0].state.confidence = 0.9;
	r->loops[0].state.unit = UNIT_EXECUTION;
	make();
	assert_null(find("rank/step_count", NULL, NULL));
	assert_null(find("rank/step_time", NULL, NULL));
	r->loops[0].state.unit = UNIT_STEP;
	r->loops[0].time.ideal_ns = 0;
	make();
	assert_non_null(find("rank/step_time", NULL, NULL));
	assert_null(find("rank/step_deviation", NULL, NULL));
	fx.s.real_ns = 0; /* no instant, no points */
	make();
	assert_int_equal(set.count, 0);
}

static void test_the_later_process_of_a_rank_has_its_series(void **state)
{
	struct job_view *j = job("llama");
	struct rank_view *dead = rank(j, 101, 0), *live = rank(j, 202, 0);

	(void)state;
	dead->alive = false;
	dead->start_mono_ns = 900 * S;
	live->observed_ns = 1050 * S;
	live->loops[0].state.steps = 7;
	make();
	assert_int_equal(find("rank/step_count", "rank", "0")->value.i64, 7);
	assert_int_equal(find("rank/step_count", "rank", "0")->start_ns, NOW - 50 * (int64_t)S);
	fx.s.nranks = 1;
	make();
	assert_int_equal(find("rank/step_count", "rank", "0")->value.i64, 2000);
	assert_false(find("rank/hung", "rank", "0")->value.yes);
	fx.s.mono_ns = dead->ledger.now_ns + OWNERS_GRACE_NS + S;
	make();
	assert_null(find("rank/step_count", NULL, NULL));
}

/* A program that replaced itself: the process is the same, and it has no rank to be called by. */
static void test_a_process_has_its_series_once(void **state)
{
	struct job_view *j = job("");
	struct rank_view *was = rank(j, 101, -1), *is = rank(j, 101, -1);

	(void)state;
	was->alive = false;
	is->start_mono_ns = 1050 * S;
	is->loops[0].state.steps = 7;
	make();
	assert_int_equal(find("rank/step_count", "pid", "101")->value.i64, 7);
}

/* "pid-77" is what a job without a name is called, and another one's name. */
static void test_a_jobs_name_is_there_once(void **state)
{
	struct job_view *unnamed = job(""), *named = job("pid-77");

	(void)state;
	rank(unnamed, 101, 0);
	rank(named, 102, 0)->loops[0].state.steps = 7;
	fx.ranks[1].start_mono_ns = 1050 * S;
	named->ledger.steps = 7;
	make();
	assert_int_equal(find("job/step_count", "job_id", "pid-77")->value.i64, 7);
	named->name[0] = '\0'; /* a pid that is another process's by now */
	make();
	assert_int_equal(find("job/step_count", "job_id", "pid-77")->value.i64, 7);
}

/* The last word on who fell while it hung, or while others waited for it. */
static void test_who_has_ended_hangs_no_more(void **state)
{
	struct job_view *j = job("llama");
	struct rank_view *r = rank(j, 101, 0);

	(void)state;
	r->hang.hung = r->straggle.now = true;
	r->straggle.count = 1;
	make();
	assert_true(find("rank/hung", NULL, NULL)->value.yes);
	assert_true(find("rank/straggler", NULL, NULL)->value.yes);
	r->alive = false;
	make();
	assert_false(find("rank/hung", NULL, NULL)->value.yes);
	assert_false(find("rank/straggler", NULL, NULL)->value.yes);
}

/* The second run of a name ended, the first goes on: its figures, not those of the one that
 * ended. */
static void test_who_goes_on_has_the_name(void **state)
{
	struct job_view *first = job("llama"), *second = job("llama");

	(void)state;
	second->ledger.steps = 7;
	make();
	assert_int_equal(find("job/step_count", NULL, NULL)->value.i64, 7);
	second->state = JOB_ENDED;
	make();
	assert_int_equal(find("job/step_count", NULL, NULL)->value.i64, 2000);
	second->ledger.now_ns = 1100 * S - JOB_WAIT_NS - 301 * S;
	make();
	assert_int_equal(find("job/step_count", NULL, NULL)->value.i64, 2000);
	second->ledger.now_ns = first->ledger.now_ns;
	first->state = JOB_ENDED;
	make();
	assert_int_equal(find("job/step_count", NULL, NULL)->value.i64, 7);
}

static void resource_is(const char *type, const char *a, const char *b, const char *c)
{
	const struct series_resource *r;

	make();
	r = &set.resource[set.item[0].resource];
	assert_string_equal(r->type, type);
	assert_string_equal(series_text(&set, r->value[0]), a);
	assert_string_equal(series_text(&set, r->value[1]), b);
	assert_string_equal(series_text(&set, r->value[2]), c);
}

static void test_the_resource_is_the_node(void **state)
{
	(void)state;
	job("llama");
	resource_is("k8s_node", "us-central1-a", "c1", "n1");
	id.cluster[0] = '\0';
	resource_is("gce_instance", "42", "us-central1-a", "");
	snprintf(id.location, sizeof(id.location), "us-central1"); /* a region is no zone */
	resource_is("generic_node", "us-central1", "gp-bpf", "n1");
	id.location[0] = '\0';
	resource_is("generic_node", "global", "gp-bpf", "n1");
}

/* Names, labels and units that the service takes; what a descriptor says is there. */
static void test_every_row_can_be_described(void **state)
{
	(void)state;
	for (size_t i = 0; gcm_row(i); i++) {
		const struct series_row *r = gcm_row(i);

		assert_true(*r->title && *r->help && !r->library);
		assert_true(!strcmp(r->unit, "s") || !strcmp(r->unit, "1") || *r->unit == '{' ||
			    r->value == SERIES_BOOL);
		assert_true(r->kind == SERIES_GAUGE || r->value != SERIES_BOOL);
		for (const char *c = r->name; *c; c++)
			assert_true(islower(*c) || *c == '_' || *c == '/');
		for (int k = 0; k < SERIES_LABELS && r->label[k].name; k++) {
			assert_true(isalpha(r->label[k].name[0]) && *r->label[k].help);
			for (const char *c = r->label[k].name; *c; c++)
				assert_true(isalnum(*c) || *c == '_');
		}
	}
}

static void man_row(struct buffer *out, const struct series_row *r)
{
	static const char *const kind[] = {"Gauge", "Cumulative"}, *const value[] = {
									   "integer", "number",
									   "true or false",
									   "distribution"};

	buffer_printf(out, ".It Li %s Pq", r->name);
	for (int k = 0; k < SERIES_LABELS && r->label[k].name; k++)
		buffer_printf(out, "%s %s", k ? " ," : "", r->label[k].name);
	buffer_printf(out, "\n%s\n%s, %s%s.\n", r->help, kind[r->kind], value[r->value],
		      strcmp(r->unit, "s") ? "" : " of seconds");
}

/* The man page has the table as the code has it: what stands there is made by this. */
static void test_the_man_page_has_the_rows(void **state)
{
	struct buffer out = {0};
	static char page[1 << 20];
	FILE *f = fopen("man/gp-bpf-metrics.7", "r");

	(void)state;
	assert_non_null(f);
	page[fread(page, 1, sizeof(page) - 1, f)] = '\0';
	fclose(f);
	for (size_t i = 0; gcm_row(i); i++)
		man_row(&out, gcm_row(i));
	if (!strstr(page, out.data)) {
		fputs(out.data, stderr);
		fail_msg("gp-bpf-metrics.7 has another table than the code, which has the above");
	}
	buffer_free(&out);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_jobs_time_adds_up),
		TEST(what_counts_has_the_jobs_start),
		TEST(disruptions_are_by_cause),
		TEST(a_job_is_told_by_one_node_and_not_for_ever),
		TEST(a_ranks_steps),
		TEST(what_is_not_known_is_absent),
		TEST(the_later_process_of_a_rank_has_its_series),
		TEST(a_process_has_its_series_once),
		TEST(a_jobs_name_is_there_once),
		TEST(who_has_ended_hangs_no_more),
		TEST(who_goes_on_has_the_name),
		TEST(the_resource_is_the_node),
		TEST(every_row_can_be_described),
		TEST(the_man_page_has_the_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
