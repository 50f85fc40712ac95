/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of OpenTelemetry: what is told of saves and evaluations, and what the user's figures make
 * of steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "tests/unit/otlp_feed.h"

static const cJSON *event(const cJSON *span, const char *name)
{
	return find(cJSON_GetObjectItem(span, "events"), name, 0);
}

/* -1: there is no such attribute. */
static double real_of(const cJSON *o, const char *key)
{
	const cJSON *a;

	cJSON_ArrayForEach(a, cJSON_GetObjectItem(o, "attributes"))
	{
		if (!strcmp(field(a, "key"), key))
			return cJSON_GetObjectItem(a, "value")->child->valuedouble;
	}
	return -1;
}

static void saved(struct otlp_tree *t, uint64_t step, uint64_t from_ns, uint64_t to_ns, bool async)
{
	struct fact_checkpoint c = {.closed = to_ns,
				    .async = async,
				    .start_ns = from_ns,
				    .end_ns = to_ns ? to_ns : from_ns,
				    .step = step,
				    .run_step = step,
				    .file = "/srv/a.pt"};
	struct fact f = fact_of(FACT_CHECKPOINT, c.end_ns);

	f.checkpoint = &c;
	otlp_tree_fact(t, &f);
}

static void looked(struct otlp_tree *t, const char *name, uint64_t from_ns, uint64_t to_ns)
{
	struct fact_range r = {
		.name = name, .bucket = BUCKET_EVAL, .start_ns = from_ns, .end_ns = to_ns};
	struct fact f = fact_of(FACT_RANGE, to_ns);

	f.range = &r;
	otlp_tree_fact(t, &f);
}

/* The second save is given up: an attempt, and no time of a save. */
static void saves_add_up(void **state)
{
	struct otlp_tree *t = tree(1);
	const cJSON *span, *e;
	cJSON *all;

	(void)state;
	for (uint64_t i = 1; i <= 4; i++)
		step(t, i, 10 * i * S, i * S, 0);
	saved(t, 4, 45 * S, 47 * S, false);
	step(t, 5, 50 * S, S, 0);
	saved(t, 5, 52 * S, 0, false);
	step(t, 6, 60 * S, S, 0);
	saved(t, 6, 62 * S, 63 * S, false);
	over(t, 70 * S);
	all = taken();
	for (int i = 0; i < 3; i++)
		assert_int_equal(strtol(attribute(find(all, "checkpoint_save_sync", i),
						  "save_checkpoint_attempt_count"),
					NULL, 10),
				 i + 1);
	span = find(all, "checkpoint_save_sync", 0);
	e = event(span, "sync_checkpoint_metrics_update");
	assert_true(real_of(e, "save_checkpoint_sync_time_total_sec") == 2);
	assert_true(real_of(e, "save_checkpoint_sync_time_min_sec") == 2);
	e = event(span, "save_checkpoint_success");
	assert_string_equal(attribute(e, "productive_train_iterations"), "4");
	assert_true(real_of(e, "productive_train_iterations_sec") == 1 + 2 + 3 + 4);
	assert_true(real_of(e, "training_start_timestamp_sec") == 1700000010.0);
	assert_null(attribute(e, "productive_train_samples")); /* nobody said how many */
	span = find(all, "checkpoint_save_sync", 1);
	assert_null(event(span, "sync_checkpoint_metrics_update"));
	assert_null(event(span, "save_checkpoint_success"));
	e = event(find(all, "checkpoint_save_sync", 2), "sync_checkpoint_metrics_update");
	assert_true(real_of(e, "save_checkpoint_sync_time_total_sec") == 3);
	assert_true(real_of(e, "save_checkpoint_sync_time_min_sec") == 1);
	assert_true(real_of(e, "save_checkpoint_sync_time_max_sec") == 2);
	drop(t, all);
}

/* What a save covers is what was done when it began: steps went on. Nobody waited, so it has no
 * time of that. */
static void a_save_aside_covers_what_was_done(void **state)
{
	struct otlp_tree *t = tree(1);
	const cJSON *e;
	cJSON *all;

	(void)state;
	for (uint64_t i = 1; i <= 9; i++)
		step(t, i, i * S, S / 2, 0);
	saved(t, 4, 5 * S, 9 * S, true);
	over(t, 12 * S);
	all = taken();
	e = event(find(all, "training_loop", 0), "save_checkpoint_success");
	assert_string_equal(attribute(e, "productive_train_iterations"), "4");
	assert_true(real_of(e, "productive_train_iterations_sec") == 2);
	assert_non_null(attribute(find(all, "checkpoint_save_finalization", 0),
				  "save_checkpoint_attempt_count"));
	assert_null(event(find(all, "checkpoint_save_finalization", 0),
			  "sync_checkpoint_metrics_update"));
	drop(t, all);
}

/* Earlier runs of the job did iterations, and this process took no time for them; where its own
 * first steps went unseen how long they took is not known. */
static void steps_that_were_not_seen_have_no_time(void **state)
{
	struct otlp_tree *t = tree(1);
	struct fact f = step_of(31, 2 * S, S, 0);
	const cJSON *e;
	cJSON *all;

	(void)state;
	fact_step.run_step = 7;
	otlp_tree_fact(t, &f);
	saved(t, 31, 4 * S, 5 * S, false);
	over(t, 9 * S);
	all = taken();
	e = event(find(all, "checkpoint_save_sync", 0), "save_checkpoint_success");
	assert_string_equal(attribute(e, "productive_train_iterations"), "31");
	assert_null(attribute(e, "productive_train_iterations_sec"));
	drop(t, all);
}

/* An evaluation that a name tells too is one; tests are counted by themselves. */
static void evaluations_say_after_which_step(void **state)
{
	static const struct {
		const char *span, *event, *step, *interval;
		int n;
	} want[] = {
		{"validation_loop", "validation_metrics_update", "3", "3", 0},
		{"validation_loop", "validation_metrics_update", "5", "2", 1},
		{"testing_loop", "testing_metrics_update", "5", "5", 0},
	};
	struct otlp_tree *t = tree(1);
	cJSON *all;

	(void)state;
	looked(t, "evaluation", S, 2 * S); /* before the first step: of no loop */
	for (uint64_t i = 1; i <= 3; i++)
		step(t, i, 10 * i * S, S, 0);
	looked(t, "evaluation", 32 * S, 34 * S);
	looked(t, "validation_loop", 32 * S, 35 * S);
	step(t, 4, 40 * S, S, 0);
	step(t, 5, 50 * S, S, 0);
	looked(t, "evaluation", 52 * S, 54 * S);
	looked(t, "testing_loop", 55 * S, 56 * S);
	step(t, 6, 60 * S, S, 0);
	over(t, 70 * S);
	all = taken();
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		/* That before the first step is told too. */
		const cJSON *span = find(all, want[i].span, want[i].n + (i < 2));
		const cJSON *e = event(span, want[i].event);

		assert_string_equal(attribute(e, "current_iteration"), want[i].step);
		assert_string_equal(attribute(e, "interval"), want[i].interval);
	}
	assert_null(event(find(all, "validation_loop", 0), "validation_metrics_update"));
	assert_null(find(all, "validation_loop", 3));
	drop(t, all);
}

/* Samples and operations of a step are the user's word: the loop's begin, and what is done since,
 * follow. */
static void the_users_figures_count_from_the_first_step(void **state)
{
	const struct program_config c = {.samples = 32, .flops = 2e12};
	struct otlp_tree *t = tree(1);
	const cJSON *span, *e;
	cJSON *all;

	(void)state;
	otlp_tree_config(t, &c);
	for (uint64_t i = 11; i <= 14; i++)
		step(t, i, i * S, S, 0);
	saved(t, 14, 16 * S, 17 * S, false);
	over(t, 20 * S);
	all = taken();
	span = find(all, "training_loop", 0);
	assert_true(real_of(span, "train_samples_start") == 320);
	assert_true(real_of(span, "completed_floating_point_operations_overall") == 2e13);
	e = event(span, "training_metrics_update");
	assert_true(real_of(e, "train_samples_start") == 320);
	assert_true(real_of(e, "completed_floating_point_operations_overall") == 2.2e13);
	e = event(find(all, "checkpoint_save_sync", 0), "save_checkpoint_success");
	assert_true(real_of(e, "productive_train_samples") == 448);
	assert_true(real_of(e, "productive_train_tflops") == 28);
	drop(t, all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saves_add_up),
		cmocka_unit_test(a_save_aside_covers_what_was_done),
		cmocka_unit_test(steps_that_were_not_seen_have_no_time),
		cmocka_unit_test(evaluations_say_after_which_step),
		cmocka_unit_test(the_users_figures_count_from_the_first_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
