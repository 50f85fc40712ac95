/* SPDX-License-Identifier: Apache-2.0 */
/* What the names of programs say, and steps of programs where many run. */
#include "tests/unit/step_run.h"
#include "userspace/model/step/step_program.h"

static void test_names(void **state)
{
	static const struct {
		const char *name;
		enum program_class class;
	} names[] = {
		{"jit_train_step", PROGRAM_STEP},
		{"jit__train_step", PROGRAM_STEP},
		{"pmap_update", PROGRAM_STEP},
		{"jit_apply_gradients", PROGRAM_STEP},
		{"__inference_train_function_967", PROGRAM_STEP},
		{"__inference_multi_step_on_iterator_1260", PROGRAM_STEP},
		{"__inference_test_function_1544", PROGRAM_EVAL},
		{"__backward_train_step_15", PROGRAM_PART},
		{"jit_accumulate", PROGRAM_PART},
		{"jit_train_micro_step", PROGRAM_PART},
		{"jit_eval_step", PROGRAM_EVAL},
		{"jit_predict", PROGRAM_SERVE},
		{"jit_init_train_state", PROGRAM_ASIDE},
		{"jit_log_metrics", PROGRAM_ASIDE},
		{"jit_update_ema", PROGRAM_ASIDE},
		{"jit__threefry_split", PROGRAM_INTERNAL},
		{"jit_unstack", PROGRAM_INTERNAL},
		{"jit_convert_element_type", PROGRAM_INTERNAL},
		{"jit_broadcast_in_dim", PROGRAM_INTERNAL},
		{"jit__normal", PROGRAM_INTERNAL},
		{"jit_f", PROGRAM_OTHER},
		{"jit__fun", PROGRAM_OTHER},
		{"jit_forward", PROGRAM_OTHER},
		{"jit_forward_backward", PROGRAM_PART},
		{"jit_policy_step", PROGRAM_SERVE},
		{"jit_env_step", PROGRAM_SERVE},
		{"jit_rollout", PROGRAM_SERVE},
		{"jit_policy_update", PROGRAM_STEP},
		{"jit_train_actor", PROGRAM_STEP},
		{"jit_actor_loss", PROGRAM_PART},
		{"jit__lambda_", PROGRAM_OTHER},
		{"SyncTensorsGraph.299", PROGRAM_OTHER},
		{"", PROGRAM_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (program_classify(names[i].name) != names[i].class)
			fail_msg("%s: %d", names[i].name, program_classify(names[i].name));
	}
	assert_true(program_akin("SyncTensorsGraph.12", "SyncTensorsGraph.299"));
	assert_false(program_akin("jit_f", "jit_g"));
	assert_false(program_akin("", ""));
}

static void execute(struct run *r, uint64_t ident, const char *name, uint32_t inputs)
{
	tell(r, (struct signal){.kind = SIGNAL_EXECUTE,
				.ident = ident,
				.text = name,
				.inputs = inputs,
				.layer = 2});
}

/* Far more programs than are remembered run before the step does, and go on to. */
static void test_many_programs(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, (struct step_config){.from_start = true});
	for (uint64_t i = 1; i <= 1000; i++) {
		execute(&r, 100 + i, "", 3);
		pass(&r, MS);
	}
	for (uint64_t i = 1; i <= 400; i++) {
		execute(&r, 1, "jit_train_step", 22);
		pass(&r, 5 * MS);
		execute(&r, 5000 + i, "", 3);
		pass(&r, 5 * MS);
	}
	tell(&r, (struct signal){.kind = SIGNAL_EXIT});
	assert_int_equal(r.n, 400);
	assert_int_equal(r.steps[399].number, 400);
	assert_int_equal(r.steps[399].end_ns - r.steps[399].start_ns, 10 * MS);
	step_finder_free(r.sf);
}

/* Programs in no order: nothing is called a step, and nothing is held for ever. */
static void test_no_order(void **state)
{
	uint32_t seed = 7;
	struct run r;

	(void)state;
	run_open(&r, (struct step_config){.from_start = true});
	for (uint64_t i = 0; i < 20000; i++) {
		seed = seed * 1664525u + 1013904223u;
		execute(&r, 1 + (seed >> 8) % 40, "", 3);
		pass(&r, MS / 10);
		r.n = 0;
	}
	tell(&r, (struct signal){.kind = SIGNAL_EXIT});
	for (uint32_t i = 0; i < r.n; i++)
		assert_int_equal(r.steps[i].unit, UNIT_EXECUTION);
	step_finder_free(r.sf);
}

/* A device that tells the ends of two runs in the wrong order loses neither. */
static void test_disorder(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, (struct step_config){.from_start = true});
	for (uint64_t i = 1; i <= 40; i++) {
		tell(&r, (struct signal){.kind = SIGNAL_EXECUTE,
					 .ident = 1,
					 .text = "jit_train_step",
					 .layer = 3,
					 .number = i});
		pass(&r, 5 * MS);
		if (i % 2)
			continue;
		tell(&r, (struct signal){.kind = SIGNAL_DONE, .number = i});
		tell(&r, (struct signal){.kind = SIGNAL_DONE, .number = i - 1});
	}
	tell(&r, (struct signal){.kind = SIGNAL_EXIT});
	assert_int_equal(r.n, 40);
	for (uint32_t i = 0; i < r.n; i++) {
		assert_int_equal(r.steps[i].boundary, BOUNDARY_COMPLETION);
		assert_int_equal(r.steps[i].flags, 0);
	}
	step_finder_free(r.sf);
}

enum flow { FLOW_UNSEEN, FLOW_STATE };

static void feed_runs(struct run *r, uint64_t ident, int n, enum flow flow)
{
	for (int i = 0; i < n; i++) {
		tell(r, (struct signal){.kind = SIGNAL_EXECUTE,
					.ident = ident,
					.text = "",
					.inputs = 14,
					.layer = 3,
					.traced = flow != FLOW_UNSEEN,
					.unseen = flow == FLOW_UNSEEN,
					.from = flow == FLOW_STATE ? ident : 0});
		pass(r, MS);
	}
}

/* What a program without a name is fed with could not be seen at first: nothing is said of it until
 * it can, and then its first run counts. Of one that takes its place likewise. */
static void test_flow_unseen(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, (struct step_config){.from_start = true});
	assert_false(step_finder_wants_flow(r.sf));
	feed_runs(&r, 5, 20, FLOW_UNSEEN);
	assert_int_equal(r.n, 0);
	assert_true(step_finder_wants_flow(r.sf));
	feed_runs(&r, 5, 30, FLOW_STATE);
	assert_true(step_finder_wants_flow(r.sf));
	feed_runs(&r, 5, 40, FLOW_STATE);
	assert_false(step_finder_wants_flow(r.sf)); /* it is well known */
	feed_runs(&r, 5, 10, FLOW_UNSEEN);
	assert_int_equal(r.n, 100);
	feed_runs(&r, 6, 20, FLOW_UNSEEN); /* made anew */
	assert_int_equal(r.n, 100);
	assert_true(step_finder_wants_flow(r.sf));
	feed_runs(&r, 6, 80, FLOW_STATE);
	assert_false(step_finder_wants_flow(r.sf));
	tell(&r, (struct signal){.kind = SIGNAL_EXIT});
	assert_int_equal(r.n, 200);
	for (uint32_t i = 0; i < r.n; i++) {
		assert_int_equal(r.steps[i].unit, UNIT_STEP);
		assert_int_equal(r.steps[i].number, i + 1);
	}
	step_finder_free(r.sf);
}

/* It never can: then that it trains stays unknown, and its runs are told as such. */
static void test_flow_never_seen(void **state)
{
	struct run r;

	(void)state;
	run_open(&r, (struct step_config){.from_start = true});
	feed_runs(&r, 5, 3500, FLOW_UNSEEN);
	assert_true(r.n > 3000);
	assert_int_equal(r.steps[0].unit, UNIT_EXECUTION);
	step_finder_free(r.sf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),		cmocka_unit_test(test_many_programs),
		cmocka_unit_test(test_no_order),	cmocka_unit_test(test_flow_unseen),
		cmocka_unit_test(test_flow_never_seen), cmocka_unit_test(test_disorder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
