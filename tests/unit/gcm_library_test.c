/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>

#include "tests/unit/gcm_set.h"
#include "userspace/ingest/goodput_names.h"

static struct gcm_options options;

/* Those of ml-goodput-measurement: the service refuses a point with any other. */
static bool source_known(const char *source)
{
	static const char *const known[] = {"TPU_INITIALIZATION",
					    "TRAINING_PREP",
					    "PROGRAM_STARTUP",
					    "DATA_LOADING_SYNC",
					    "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME",
					    "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME",
					    "WASTED_PROGRESS_FROM_DISRUPTION",
					    "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION",
					    "CUSTOM_BADPUT_EVENTS",
					    "OTHER",
					    "ELASTIC_SLICE_DOWN",
					    "ELASTIC_SCALE_UP",
					    "ELASTIC_REINITIALIZATION"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(source, known[i]))
			return true;
	}
	return !strncmp(source, "CUSTOM_BADPUT_EVENTS.", strlen("CUSTOM_BADPUT_EVENTS."));
}

static void check_sources(void)
{
	const char *source;

	for (uint32_t i = 0; i < set.count; i++) {
		source = label(&set.item[i], "badput_source");
		if (source && !source_known(source))
			fail_msg("%s of %s", source, set.item[i].row->name);
	}
}

static void make_library(void)
{
	series_set_free(&set);
	series_set_init(&set);
	gcm_library(&set, &fx.s, &id, &options);
	set_check(true);
	check_sources();
	for (uint32_t i = 0; i < set.count; i++)
		assert_int_equal(set.item[i].start_ns, 0);
}

static void test_the_librarys_series_of_a_job(void **state)
{
	struct job_view *j = job("llama");
	struct rank_view *r = rank(j, 101, 0);
	double sum = 0;

	(void)state;
	j->reference_pid = 101;
	j->ledger.ns[BUCKET_UNOBSERVED] = 10 * S;
	j->ledger.ns[BUCKET_HANG] = 5 * S;
	j->ledger.ns[BUCKET_OTHER] -= 15 * S;
	j->ledger.disruptions = 2;
	make_library();
	assert_true(real("goodput_time", "goodput_source", "TOTAL") == 70);
	assert_true(real("badput_time", "badput_source", "CUSTOM_BADPUT_EVENTS.EVAL_STEP") == 4);
	assert_true(real("badput_time", "badput_source", "OTHER") == 15); /* the hang in it */
	assert_true(real("badput_time", "badput_source", "TPU_INITIALIZATION") == 0);
	assert_null(find("badput_time", "badput_source", "ELASTIC_SLICE_DOWN"));
	assert_null(find("badput_time", "badput_source", "UNOBSERVED"));
	assert_null(find("badput_time", "badput_source", "GOODPUT"));
	for (uint32_t i = 0; i < set.count; i++)
		sum += strcmp(set.item[i].row->name, "badput_time") ? 0 : set.item[i].value.real;
	assert_true(fabs(sum - 20) < 1e-9); /* what was observed is whole */
	assert_true(real("total_elapsed_time", "window_type", "cumulative") == 100);
	assert_int_equal(find("disruptions", "window_type", "cumulative")->value.i64, 2);
	assert_int_equal(find("max_productive_steps", "cluster_name", "c1")->value.i64, 1989);
	assert_true(real("performance", NULL, NULL) == 0.031);
	assert_null(label(find("performance", NULL, NULL), "accelerator_type"));
	assert_string_equal(label(find("disruptions", NULL, NULL), "accelerator_type"),
			    "NVIDIA-H100");
	assert_string_equal(set.resource[0].type, "compute.googleapis.com/Workload");
	assert_string_equal(series_text(&set, set.resource[0].value[1]), "llama");
	r->loops[0].time.ideal_ns = 0;
	j->last_step = 0;
	make_library();
	assert_int_equal(find("max_productive_steps", NULL, NULL)->value.i64, 0);
	j->ledger.steps = 0;
	make_library();
	assert_null(find("performance", NULL, NULL));
	assert_null(find("step_time_deviation", NULL, NULL));
	assert_null(find("max_productive_steps", NULL, NULL));
	assert_null(find("interval_goodput", NULL, NULL));
	id.location[0] = '\0'; /* the service wants it */
	make_library();
	assert_int_equal(set.count, 0);
}

static void test_the_deviation_is_the_librarys_metric(void **state)
{
	struct job_view *j = job("llama");
	struct loop_view *l = rank(j, 101, 0)->loops;

	(void)state;
	j->reference_pid = 101;
	l->time.ideal_ns = 100 * MS;
	l->time.count = l->recent = 4;
	for (uint32_t i = 0; i < SNAPSHOT_RECENT; i++)
		l->recent_ns[i] = (i % 2 ? 100 : 90) * MS;
	make_library();
	assert_true(fabs(real("step_time_deviation", NULL, NULL) - 0.005) < 1e-9);
	l->time.count = 1099;
	l->recent = SNAPSHOT_RECENT;
	make_library();
	assert_true(fabs(real("step_time_deviation", NULL, NULL) - 0.010) < 1e-9);
	l->time.count = 1100;
	l->time.mad_ns = 4 * MS;
	make_library();
	assert_true(fabs(real("step_time_deviation", NULL, NULL) - 0.006) < 1e-9);
}

static void test_rolling_windows_are_percent_of_what_was_observed(void **state)
{
	struct job_view *j = job("llama");
	struct window_view *w = &j->windows[1];
	double sum = 0;

	(void)state;
	j->windows[0].length_ns = 60 * S;
	*w = (struct window_view){.length_ns = 3600 * S, .from_ns = 1000 * S, .to_ns = 1100 * S};
	j->ledger.ns[BUCKET_HANG] = 2 * S;
	j->ledger.ns[BUCKET_OTHER] -= 2 * S;
	w->ns[BUCKET_HANG] = 4 * S;
	j->ledger.types[2] = (struct ledger_type){.name = 4, .ns = S};
	j->ledger.ntypes = 3;
	snprintf(fx.s.types.name[4], sizeof(fx.s.types.name[4]), "SAVE_LOGS");
	w->ns[BUCKET_GOODPUT] = 40 * S;
	w->ns[BUCKET_UNOBSERVED] = 20 * S;
	w->ns[BUCKET_CUSTOM] = 8 * S;
	w->type_ns[3] = 8 * S;
	w->ns[BUCKET_OTHER] = 28 * S;
	options.rolling_s[0] = 86400; /* the model has none */
	options.rolling_s[1] = 3600;
	options.rolling_s[2] = 60; /* nothing was observed in it */
	make_library();
	memset(&options, 0, sizeof(options));
	assert_true(real("interval_goodput", "rolling_window_size", "3600") == 50);
	assert_true(real("interval_badput", "badput_source", "CUSTOM_BADPUT_EVENTS.EVAL_STEP") ==
		    10);
	assert_true(real("interval_badput", "badput_source", "PROGRAM_STARTUP") == 0);
	/* As the library, and what there was before: who reads would take its last value for this
	 * one's. */
	assert_true(real("interval_badput", "badput_source",
			 "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION") == 0);
	assert_true(real("interval_badput", "badput_source", "OTHER") == 40); /* the hang in it */
	assert_true(real("interval_badput", "badput_source", "CUSTOM_BADPUT_EVENTS.SAVE_LOGS") ==
		    0);
	assert_null(find("interval_badput", "badput_source", "CUSTOM_BADPUT_EVENTS.EVAL"));
	assert_null(find("interval_goodput", "rolling_window_size", "86400"));
	assert_null(find("interval_goodput", "rolling_window_size", "60"));
	for (uint32_t i = 0; i < set.count; i++)
		sum += strcmp(set.item[i].row->name, "interval_badput") ? 0
									: set.item[i].value.real;
	assert_true(fabs(sum - 50) < 1e-9);
}

/* Of a log, which has buckets of ours where it is not taken as the library takes it. */
static void test_a_logs_buckets_are_the_librarys(void **state)
{
	static struct goodput_answer a;
	struct goodput_part windows[1];
	struct goodput_names *names = goodput_names_new();
	struct goodput_part *p = &a.cumulative;

	(void)state;
	assert_non_null(names);
	memset(&a, 0, sizeof(a));
	a.now_us = 1000000;
	a.job = goodput_names_put(names, "llama", 5);
	p->has_s = p->has_pct = (1u << BADPUTS) - 1;
	for (int b = 0; b < BADPUTS; b++)
		p->badput_s[b] = p->badput_pct[b] = 1 + b;
	windows[0] = *p;
	a.windows = windows;
	a.window_count = 1;
	options.rolling_s[0] = 3600;
	gcm_library_answer(&set, &a, names, &id, &options);
	goodput_names_free(names);
	memset(&options, 0, sizeof(options));
	check_sources();
	assert_true(real("badput_time", "badput_source", "OTHER") ==
		    2 + BADPUT_OTHER + BADPUT_HANG);
	assert_true(real("interval_badput", "badput_source", "OTHER") ==
		    2 + BADPUT_OTHER + BADPUT_HANG);
	assert_true(real("badput_time", "badput_source", "TRAINING_PREP") == 1 + BADPUT_PREP);
}

static void test_windows_and_projects_are_read(void **state)
{
	static const char *const bad[] = {"",
					  ",",
					  "60,",
					  "60,60",
					  "0",
					  "-1",
					  "60s",
					  " 60",
					  "1,2,3,4,5,6,7,8,9",
					  "99999999999999999999"};
	struct gcm_options o = {.library = true};

	(void)state;
	assert_int_equal(gcm_rolling_read("86400,300", &o), 0);
	assert_true(o.library && o.rolling_s[0] == 86400 && o.rolling_s[1] == 300 &&
		    !o.rolling_s[2]);
	assert_int_equal(gcm_rolling_read("1,2,3,4,5,6,7,8", &o), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (gcm_rolling_read(bad[i], &o) != -EINVAL)
			fail_msg("'%s' was read", bad[i]);
	}
	assert_true(gcm_project_valid("demo-1") && gcm_project_valid("123456") &&
		    gcm_project_valid("a.com:b"));
	assert_false(gcm_project_valid("") || gcm_project_valid("a/b") || gcm_project_valid("-a") ||
		     gcm_project_valid("a\nb") || gcm_project_valid("../a"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_librarys_series_of_a_job),
		TEST(the_deviation_is_the_librarys_metric),
		TEST(rolling_windows_are_percent_of_what_was_observed),
		TEST(a_logs_buckets_are_the_librarys),
		TEST(windows_and_projects_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
