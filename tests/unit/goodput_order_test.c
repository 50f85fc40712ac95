/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/base/hash.h"
#include "userspace/ingest/goodput_order.h"

static struct goodput_order *order;
static int64_t *left; /* numbers of the records, as they left */
static size_t left_count, left_cap;

static int setup(void **state)
{
	(void)state;
	order = goodput_order_new();
	left_count = 0;
	return !order;
}

static int teardown(void **state)
{
	(void)state;
	goodput_order_free(order);
	free(left);
	left = NULL;
	left_cap = 0;
	return 0;
}

static void leave(void)
{
	struct goodput_record r;

	while (goodput_order_take(order, &r)) {
		if (left_count == left_cap) {
			left_cap = left_cap ? 2 * left_cap : 1024;
			left = realloc(left, left_cap * sizeof(*left));
			assert_non_null(left);
		}
		left[left_count++] = r.number;
	}
}

static void come(int64_t number, int64_t us, const char *id, bool written)
{
	struct goodput_entry e = {.record = {.number = number, .write_us = us, .written = written}};

	memcpy(e.id, id, strnlen(id, sizeof(e.id)));
	e.id_hash = *id ? hash_bytes(HASH_START, id, strlen(id)) : 0;
	assert_int_equal(goodput_order_put(order, &e), 0);
	leave();
}

static void end(void)
{
	goodput_order_flush(order);
	leave();
	assert_true(goodput_order_empty(order));
}

static void left_are(const char *expected)
{
	char text[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < left_count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%lld", i ? " " : "",
					(long long)left[i]);
	assert_string_equal(text, expected);
}

static void by_time_and_id(void **state)
{
	(void)state;
	come(1, 30, "a", true);
	come(2, 10, "b", true);
	come(3, 20, "d", true);
	come(4, 20, "c", true);
	come(5, 20, "", true);
	come(6, 20, "", true);
	assert_int_equal(left_count, 0);
	end();
	left_are("2 4 3 5 6 1");
	assert_int_equal(goodput_order_duplicates(order), 0);
}

static void duplicates(void **state)
{
	(void)state;
	come(1, 10, "a", true);
	come(2, 20, "a", true);
	come(3, 10, "a", true);
	come(4, 10, "b", true);
	come(5, 10, "a", true);
	come(6, 10, "", true);
	come(7, 10, "", true);
	come(8, 10, "a name of more than thirty-two bytes, one", true);
	come(9, 10, "a name of more than thirty-two bytes, two", true);
	come(10, 10, "a name of more than thirty-two bytes, one", true);
	end();
	assert_int_equal(left_count, 7);
	assert_int_equal(goodput_order_duplicates(order), 3);
	assert_int_equal(goodput_order_late(order), 0);
	/* The same once more, after it left. */
	come(11, 20, "a", true);
	end();
	assert_int_equal(left_count, 7);
	assert_int_equal(goodput_order_duplicates(order), 4);
}

static void unwritten_stay(void **state)
{
	(void)state;
	come(1, 10, "", true);
	come(2, 900, "", false);
	come(3, 5, "", true);
	come(4, 1, "z", false);
	come(5, 20, "", true);
	come(6, 1, "a", false);
	come(7, 0, "", false);
	end();
	left_are("3 1 2 4 5 6 7");
}

static void unwritten_alone(void **state)
{
	(void)state;
	come(1, 10, "", false);
	come(2, 5, "b", false);
	come(3, 7, "a", false);
	end();
	left_are("1 2 3");
}

static void held_back(void **state)
{
	enum { N = 200000 };

	(void)state;
	/* Each is up to 1000 places from where it belongs. */
	for (int64_t i = 0; i < N; i++)
		come(i / 1000 * 1000 + i * 7 % 1000, i / 1000 * 1000 + i * 7 % 1000, "", true);
	assert_int_equal(left_count, N - GOODPUT_ORDER_KEPT + 1);
	end();
	assert_int_equal(left_count, N);
	for (int64_t i = 0; i < N; i++)
		assert_int_equal(left[i], i);
	assert_int_equal(goodput_order_late(order), 0);
}

static void late(void **state)
{
	int64_t i;

	(void)state;
	for (i = 0; i < 2 * GOODPUT_ORDER_KEPT; i++)
		come(i, i + 1000, "", true);
	come(-1, 5, "", true);
	come(-2, 6, "", true);
	come(i, i + 1000, "", true);
	end();
	assert_int_equal(left_count, i + 3);
	assert_int_equal(goodput_order_late(order), 2);
	/* Where they came: before all that were not yet gone. */
	assert_int_equal(left[GOODPUT_ORDER_KEPT], GOODPUT_ORDER_KEPT);
	assert_int_equal(left[GOODPUT_ORDER_KEPT + 1], -1);
	assert_int_equal(left[GOODPUT_ORDER_KEPT + 2], -2);
	for (int64_t k = 0; k <= GOODPUT_ORDER_KEPT; k++)
		assert_int_equal(left[k], k);
}

static void backwards(void **state)
{
	enum { N = 3 * GOODPUT_ORDER_KEPT };

	(void)state;
	for (int64_t i = 0; i < N; i++)
		come(N - 1 - i, N - i, "", true);
	assert_int_equal(left_count, 0);
	end();
	assert_int_equal(left_count, N);
	for (int64_t i = 0; i < N; i++)
		assert_int_equal(left[i], i);
	assert_int_equal(goodput_order_late(order), 0);
}

static void never_for_ever(void **state)
{
	(void)state;
	come(1, 10, "", true);
	end();
	left_are("1");
	come(2, 30, "", true);
	come(3, 20, "", true);
	end();
	come(4, 5, "", true);
	end();
	left_are("1 3 2 4");
	assert_int_equal(goodput_order_late(order), 1);
}

int main(void)
{
#define order_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		order_test(by_time_and_id),  order_test(duplicates),	 order_test(unwritten_stay),
		order_test(unwritten_alone), order_test(held_back),	 order_test(late),
		order_test(backwards),	     order_test(never_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
