/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "userspace/base/archive.h"
#include "userspace/base/grow.h"

#define MOST  10
#define LEAST 4

static void test_adds_up_to_the_limit(void **state)
{
	struct {
		uint64_t *item;
		uint32_t count, cap;
	} s = {0};
	uint64_t *new;

	(void)state;
	for (uint64_t i = 0; i < MOST; i++) {
		new = grow_add(s.item, s.count, s.cap, MOST);
		assert_ptr_equal(new, &s.item[i]);
		*new = i;
	}
	assert_null(grow_add(s.item, s.count, s.cap, MOST));
	assert_int_equal(s.count, MOST);
	assert_int_equal(s.cap, MOST);
	for (uint64_t i = 0; i < MOST; i++)
		assert_int_equal(s.item[i], i);
	s.item = grow_free(s.item, &s.cap);
}

struct numbers {
	uint64_t *item;
	uint64_t first, next;
	uint32_t cap;
};

static int numbers_archive(struct archive *a, struct numbers *r, uint32_t most)
{
	archive_field(a, r->first);
	archive_ring(a, r->item, r->first, r->next, r->cap, LEAST, most);
	for (uint64_t i = r->first; i < r->next; i++)
		archive_field(a, r->item[i & (r->cap - 1)]);
	return archive_end(a);
}

/* It is saved with its size; one of another size, or with too many items, is refused. */
static void test_ring_keeps_its_items(void **state)
{
	struct numbers r = {.first = 13, .next = 13}, again = {0}, refused = {0};
	struct buffer out = {0};
	struct archive a;

	(void)state;
	assert_int_equal(grow_ring(r.item, r.first, r.next, r.cap, LEAST), 0);
	assert_int_equal(r.cap, LEAST);
	for (; r.next < r.first + LEAST; r.next++)
		r.item[r.next & (r.cap - 1)] = r.next;
	assert_int_equal(grow_ring(r.item, r.first, r.next, r.cap, LEAST), 0);
	assert_int_equal(r.cap, 2 * LEAST);
	for (uint64_t i = r.first; i < r.next; i++)
		assert_int_equal(r.item[i & (r.cap - 1)], i);

	archive_write(&a, &out, "test-one", 1);
	assert_int_equal(numbers_archive(&a, &r, 2 * LEAST), 0);
	archive_read(&a, out.data, out.len, "test-one", 1);
	assert_int_equal(numbers_archive(&a, &again, 2 * LEAST), 0);
	assert_int_equal(again.cap, r.cap);
	assert_int_equal(again.next, r.next);
	assert_memory_equal(again.item, r.item, r.cap * sizeof(*r.item));
	archive_read(&a, out.data, out.len, "test-one", 1);
	assert_int_equal(numbers_archive(&a, &refused, LEAST), -EBADMSG);
	assert_null(refused.item);
	buffer_free(&out);
	free(r.item);
	free(again.item);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adds_up_to_the_limit),
		cmocka_unit_test(test_ring_keeps_its_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
