/* SPDX-License-Identifier: Apache-2.0 */
/* handoff: of more jobs than it carries at a time those that are over give way, once what is known
 * of them was left; what is over is not written again and again. */
#include "tests/unit/handoff_world.h"

#define MANY (HANDOFF_JOBS * 3)

static struct carry all[MANY];

static bool is_there(const struct carry *own, enum job_state state)
{
	char name[CARRY_NAME_MAX], text[CARRY_MAX];
	struct carry c;
	ssize_t len;

	carry_name(name, own->job, "", false);
	len = carry_file_read(dir, name, text);
	return len > 0 && !carry_parse(&c, text, (size_t)len) && c.state == state;
}

static void take_away(const struct carry *own)
{
	char name[CARRY_NAME_MAX], path[CARRY_NAME_MAX + sizeof(dir)];

	carry_name(name, own->job, "", false);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(unlink(path), 0);
}

static void tick_until_there(const struct carry *own, enum job_state state)
{
	for (int i = 0; i < 20000 && !is_there(own, state); i++) {
		handoff_tick(handoff);
		usleep(1000);
	}
	if (!is_there(own, state))
		fail_msg("%s did not come: %s", own->job, world.said);
}

static void begins(uint32_t i)
{
	struct gp_place p = {.job_from = GP_JOB_FROM_slurm};

	all[i] = at("", 1, 0);
	snprintf(all[i].job, sizeof(all[i].job), "job-%u", i);
	snprintf(p.job, sizeof(p.job), "job-%u", i);
	handoff_job(handoff, &p);
	world.all = all;
	world.nall = i + 1;
}

static int begin_many(void **state)
{
	int err = begin(state);

	options.job = NULL;
	return err;
}

/* One after the other: each is written as it runs and as it ended. */
static void test_one_after_another(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		begins(i);
		tick_until_there(&all[i], JOB_RUNNING);
		all[i].state = JOB_ENDED;
		all[i].until_ns++;
		tick_until_there(&all[i], JOB_ENDED);
	}
	assert_string_equal(world.said, "");
	/* Those that gave way are left alone. */
	for (uint32_t i = 0; i < MANY; i++)
		take_away(&all[i]);
	for (int i = 0; i < 500; i++) {
		handoff_tick(handoff);
		usleep(1000);
	}
	for (uint32_t i = 0; i < MANY; i++)
		assert_false(is_there(&all[i], JOB_ENDED));
}

/* Who runs does not give way: that is said once. When one has ended there is room again. */
static void test_all_run(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < HANDOFF_JOBS; i++) {
		begins(i);
		tick_until_there(&all[i], JOB_RUNNING);
	}
	begins(HANDOFF_JOBS);
	begins(HANDOFF_JOBS + 1);
	assert_said("more than 64 jobs at a time: the history of job job-64 and others stays");
	assert_null(strchr(strchr(world.said, '\n') + 1, '\n'));
	all[5].state = JOB_ENDED;
	all[5].until_ns++;
	tick_until_there(&all[HANDOFF_JOBS], JOB_RUNNING);
	assert_true(is_there(&all[5], JOB_ENDED));
	assert_false(is_there(&all[HANDOFF_JOBS + 1], JOB_RUNNING));
	assert_null(strchr(strchr(world.said, '\n') + 1, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_after_another, begin_many, end),
		cmocka_unit_test_setup_teardown(test_all_run, begin_many, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
