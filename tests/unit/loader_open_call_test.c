/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that have not returned, from a map as the kernel side fills it. Needs root. */
#include <bpf/bpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "loader/open_call.h"

static struct gp_row rows[GP_ROWS_MAX];
static struct open_calls *calls;
static int map_fd = -1;

static int setup(void **state)
{
	(void)state;
	rows[2].flags = GP_ROW_MAY_BLOCK;
	calls = open_calls_new();
	map_fd = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, sizeof(uint64_t),
				sizeof(struct gp_open_call), GP_OPEN_MAX, NULL);
	return calls ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	open_calls_free(calls);
	close(map_fd);
	return 0;
}

static void put(uint32_t tid, uint32_t row, uint64_t ts_ns)
{
	uint64_t key = (uint64_t)tid << 32 | row;
	struct gp_open_call call = {
		.ts_ns = ts_ns, .pid = tid / 10, .probe = 100 + row, .arg = {tid, 8}};

	assert_int_equal(bpf_map_update_elem(map_fd, &key, &call, BPF_ANY), 0);
}

static void need_map(void)
{
	if (map_fd < 0)
		skip();
}

static void the_old_ones(void **state)
{
	const struct open_call *c;

	(void)state;
	need_map();
	assert_int_equal(open_calls_walk(calls, map_fd, rows, 1000, &c), 0);
	put(70, 1, 400);
	put(71, 2, 900);
	put(72, 2, 800);
	put(73, 2, 1000); /* too young */
	put(74, 1, 0);	  /* has returned */
	put(75, 3, 500);
	put(76, GP_ROWS_MAX + 7, 600); /* a row that is not */
	assert_int_equal(open_calls_walk(calls, map_fd, rows, 1000, &c), 5);
	assert_int_equal(c[0].tid, 72); /* may block: first, by age */
	assert_int_equal(c[0].pid, 7);
	assert_int_equal(c[0].probe, 102);
	assert_int_equal(c[0].since_ns, 800);
	assert_int_equal(c[0].arg[0], 72);
	assert_true(c[0].may_block);
	assert_int_equal(c[1].tid, 71);
	assert_int_equal(c[2].tid, 70);
	assert_false(c[2].may_block);
	assert_int_equal(c[3].tid, 75);
	assert_int_equal(c[4].tid, 76);
}

/* More than are told: the most telling ones are. */
static void a_full_map(void **state)
{
	const struct open_call *c;

	(void)state;
	need_map();
	for (uint32_t i = 0; i < GP_OPEN_MAX - 10; i++)
		put(1000 + i, 1, 100 + (i * 7919ull) % GP_OPEN_MAX);
	for (uint32_t i = 0; i < 10; i++)
		put(1000 + i, 2, 999999 - i);
	assert_int_equal(open_calls_walk(calls, map_fd, rows, 1000000, &c), OPEN_CALLS_MAX);
	for (int i = 0; i < 10; i++)
		assert_int_equal(c[i].since_ns, 999990 + i);
	for (int i = 10; i < OPEN_CALLS_MAX; i++) {
		assert_false(c[i].may_block);
		assert_true(c[i].since_ns < 100 + OPEN_CALLS_MAX + 10);
		assert_true(c[i].since_ns >= c[i - 1].since_ns || i == 10);
	}
}

static void no_map(void **state)
{
	const struct open_call *c;

	(void)state;
	assert_true(open_calls_walk(calls, -1, rows, 1, &c) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_old_ones, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_map, setup, teardown),
		cmocka_unit_test_setup_teardown(no_map, setup, teardown),
	};

	return cmocka_run_group_tests_name("open_call", tests, NULL, NULL);
}
