/* SPDX-License-Identifier: Apache-2.0 */
/* Who maps which library. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "loader/library/library_user.h"

#define MANY 70 /* more libraries than a process may have */

static struct library libs[MANY];
static struct users *us;

static int setup(void **state)
{
	(void)state;
	memset(libs, 0, sizeof(libs));
	us = users_new();
	return !us;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < MANY; i++)
		table_free(libs[i].users, NULL);
	users_free(us);
	return 0;
}

static size_t libraries_of(pid_t pid)
{
	size_t n = 0;

	for (size_t i = 0; user_next(us, pid, &i);)
		n++;
	return n;
}

static void both_ways(void **state)
{
	(void)state;
	assert_int_equal(user_any(&libs[0]), 0);
	for (pid_t pid = 1; pid <= 500; pid++)
		for (int i = 0; i < 3; i++)
			assert_int_equal(user_add(us, &libs[i], pid), 0);
	assert_int_equal(user_add(us, &libs[0], 7), 0); /* again */
	assert_int_equal(library_users(&libs[0]), 500);
	assert_int_equal(libraries_of(7), 3);
	user_remove(us, &libs[1], 7);
	user_remove(us, &libs[1], 7);
	assert_false(user_has(&libs[1], 7));
	assert_true(user_has(&libs[2], 7));
	assert_int_equal(library_users(&libs[1]), 499);
	assert_int_equal(libraries_of(7), 2);
	assert_int_not_equal(user_any(&libs[1]), 0);
}

static void a_child_has_its_parents(void **state)
{
	(void)state;
	user_add(us, &libs[0], 1);
	user_add(us, &libs[1], 1);
	users_copy(us, 1, 2);
	users_copy(us, 99, 3); /* nobody */
	assert_int_equal(libraries_of(2), 2);
	assert_int_equal(libraries_of(3), 0);
	user_remove(us, &libs[0], 1);
	assert_true(user_has(&libs[0], 2));
}

/* Removing the current one, as when a process goes. */
static void all_can_go(void **state)
{
	struct library *lib;

	(void)state;
	for (int i = 0; i < 10; i++)
		user_add(us, &libs[i], 5);
	for (size_t i = 0; (lib = user_next(us, 5, &i));)
		user_remove(us, lib, 5);
	assert_int_equal(libraries_of(5), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(library_users(&libs[i]), 0);
}

static void too_many_is_told_once(void **state)
{
	int full = 0;

	(void)state;
	for (int i = 0; i < MANY; i++)
		full += user_add(us, &libs[i], 5) == -EMFILE;
	assert_int_equal(full, 1);
	assert_int_equal(libraries_of(5), 64);
	assert_int_equal(user_add(us, &libs[MANY - 1], 6), 0); /* another one may */
}

static void who_swaps_is_out(void **state)
{
	int told = 0;

	(void)state;
	assert_false(user_swapped(us, 5)); /* it has nothing */
	user_add(us, &libs[0], 5);
	for (int i = 0; i < 100; i++)
		told += user_swapped(us, 5);
	assert_int_equal(told, 1);
	assert_int_equal(user_add(us, &libs[1], 5), -EEXIST);
	user_remove(us, &libs[0], 5);
	assert_int_equal(user_add(us, &libs[0], 5), -EEXIST);
	user_forget(us, 5);
	assert_int_equal(user_add(us, &libs[0], 5), 0); /* another process of that number */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_ways, setup, teardown),
		cmocka_unit_test_setup_teardown(a_child_has_its_parents, setup, teardown),
		cmocka_unit_test_setup_teardown(all_can_go, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_is_told_once, setup, teardown),
		cmocka_unit_test_setup_teardown(who_swaps_is_out, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
