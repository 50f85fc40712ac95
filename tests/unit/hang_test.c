/* SPDX-License-Identifier: Apache-2.0 */
/* When silence is looked into, when it is a hang, and what it is called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "userspace/model/time/hang.h"

#define S  1000000000ull
#define MS 1000000ull

static uint64_t limit(struct hang_case c, enum gp_why why)
{
	return hang_limit_ns(&c, why);
}

static uint64_t look(struct hang_case c)
{
	return hang_check_ns(&c);
}

static void usual(void **state)
{
	(void)state;
	assert_int_equal(
		limit((struct hang_case){.stepping = true, .p99_ns = 10 * MS}, GP_WHY_lock),
		30 * S);
	assert_int_equal(limit((struct hang_case){.stepping = true, .p99_ns = 20 * S}, GP_WHY_lock),
			 100 * S);
	assert_int_equal(
		limit((struct hang_case){.stepping = true, .p99_ns = 500 * S}, GP_WHY_lock),
		600 * S);
	assert_int_equal(
		limit((struct hang_case){.stepping = true, .p99_ns = UINT64_MAX / 2}, GP_WHY_lock),
		600 * S);
	assert_int_equal(limit((struct hang_case){.stepping = true, .user_ns = 5 * S}, GP_WHY_lock),
			 5 * S);
	assert_int_equal(limit((struct hang_case){0}, GP_WHY_lock), 1800 * S);
	assert_int_equal(limit((struct hang_case){.user_ns = 5 * S}, GP_WHY_lock), 1800 * S);
}

/* What is long and normal. */
static void patience(void **state)
{
	struct hang_case c = {.stepping = true, .p99_ns = 100 * MS};

	(void)state;
	assert_int_equal(limit(c, GP_WHY_busy), 600 * S);
	assert_int_equal(limit(c, GP_WHY_child), 600 * S);
	assert_int_equal(limit(c, GP_WHY_idle), HANG_NEVER);
	assert_int_equal(limit(c, GP_WHY_unknown), 30 * S);
	c.longest_ns = 40 * S; /* an evaluation without a loader, seen once */
	assert_int_equal(limit(c, GP_WHY_lock), 80 * S);
	c.longest_ns = 5000 * S;
	assert_int_equal(limit(c, GP_WHY_lock), 1800 * S);
	c.longest_ns = 0;
	c.saving = true;
	assert_int_equal(limit(c, GP_WHY_io), 420 * S);
	c.save_ns = 4 * MS;
	assert_int_equal(limit(c, GP_WHY_io), 60 * S);
	c.save_ns = 20 * S;
	assert_int_equal(limit(c, GP_WHY_io), 100 * S);
	c.save_ns = 100 * S;
	assert_int_equal(limit(c, GP_WHY_io), 420 * S);
	c.save_ns = 300 * S;
	assert_int_equal(limit(c, GP_WHY_io), 600 * S);
	c.user_ns = 5 * S;
	assert_int_equal(limit(c, GP_WHY_io), 600 * S);
	c.saving = false;
	c.compiling = true;
	assert_int_equal(limit(c, GP_WHY_busy), 1800 * S);
}

static void looks(void **state)
{
	(void)state;
	assert_int_equal(look((struct hang_case){.stepping = true, .p99_ns = 10 * MS}), 3 * S);
	assert_int_equal(look((struct hang_case){.stepping = true, .p99_ns = 5 * S}), 15 * S);
	assert_int_equal(look((struct hang_case){.stepping = true, .p99_ns = 400 * S}), 300 * S);
	assert_int_equal(look((struct hang_case){.stepping = true, .user_ns = 2 * S}), 1 * S);
	assert_int_equal(look((struct hang_case){0}), 900 * S);
	/* A process that is stopped is called so at the first look. */
	assert_int_equal(
		limit((struct hang_case){.stepping = true, .p99_ns = 5 * S}, GP_WHY_stopped),
		15 * S);
}

static void words(void **state)
{
	struct hang_place alone = {0}, fetching = {.fetching = true, .distributed = true},
			  ranks = {.distributed = true},
			  nccl = {.distributed = true, .collectives = true};

	(void)state;
	assert_int_equal(hang_conclude(&alone, GP_WHY_lock, GP_ROLE_none), GP_WHY_lock);
	assert_int_equal(hang_conclude(&ranks, GP_WHY_lock, GP_ROLE_none), GP_WHY_collective);
	assert_int_equal(hang_conclude(&ranks, GP_WHY_network, GP_ROLE_none), GP_WHY_collective);
	assert_int_equal(hang_conclude(&ranks, GP_WHY_stopped, GP_ROLE_none), GP_WHY_stopped);
	assert_int_equal(hang_conclude(&ranks, GP_WHY_stopped, GP_ROLE_collective), GP_WHY_stopped);
	assert_int_equal(hang_conclude(&ranks, GP_WHY_sleep, GP_ROLE_none), GP_WHY_sleep);
	assert_int_equal(hang_conclude(&ranks, GP_WHY_unknown, GP_ROLE_none), GP_WHY_unknown);
	assert_int_equal(hang_conclude(&fetching, GP_WHY_lock, GP_ROLE_none), GP_WHY_input);
	assert_int_equal(hang_conclude(&fetching, GP_WHY_idle, GP_ROLE_none), GP_WHY_input);
	assert_int_equal(hang_conclude(&fetching, GP_WHY_io, GP_ROLE_none), GP_WHY_io);
	assert_int_equal(hang_conclude(&fetching, GP_WHY_unknown, GP_ROLE_none), GP_WHY_unknown);
	assert_int_equal(hang_conclude(&alone, GP_WHY_busy, GP_ROLE_sync), GP_WHY_device);
	assert_int_equal(hang_conclude(&nccl, GP_WHY_busy, GP_ROLE_sync), GP_WHY_collective);
	assert_int_equal(hang_conclude(&alone, GP_WHY_lock, GP_ROLE_comm_init), GP_WHY_collective);
}

/* By what has not returned: a copy waits for the device as a wait does, a communicator's end for
 * its peers. */
static void calls(void **state)
{
	static const unsigned waits[] = {GP_ROLE_sync, GP_ROLE_copy, GP_ROLE_copy_in,
					 GP_ROLE_copy_out, GP_ROLE_error};
	static const unsigned meets[] = {GP_ROLE_collective, GP_ROLE_comm_init, GP_ROLE_comm_end,
					 GP_ROLE_comm_abort};
	struct hang_place alone = {0}, nccl = {.collectives = true}, group = {.between = true};

	(void)state;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		assert_int_equal(hang_conclude(&alone, GP_WHY_busy, waits[i]), GP_WHY_device);
		assert_int_equal(hang_conclude(&nccl, GP_WHY_busy, waits[i]), GP_WHY_collective);
	}
	for (size_t i = 0; i < sizeof(meets) / sizeof(meets[0]); i++)
		assert_int_equal(hang_conclude(&alone, GP_WHY_busy, meets[i]), GP_WHY_collective);
	/* ncclGroupEnd, where the first collective connects */
	assert_int_equal(hang_conclude(&group, GP_WHY_lock, GP_ROLE_error), GP_WHY_collective);
	assert_int_equal(hang_conclude(&nccl, GP_WHY_lock, GP_ROLE_compile), GP_WHY_device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual), cmocka_unit_test(patience), cmocka_unit_test(looks),
		cmocka_unit_test(words), cmocka_unit_test(calls),
	};

	return cmocka_run_group_tests_name("hang", tests, NULL, NULL);
}
