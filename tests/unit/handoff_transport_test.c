/* SPDX-License-Identifier: Apache-2.0 */
/* handoff_transport: how often ConfigMaps are read. Nothing is asked of a server here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "userspace/handover/handoff_transport.h"

#define S 1000000000ull

static struct transport *configmap(void)
{
	char carry[] = "configmap:ml", server[] = "http://127.0.0.1:9";
	struct options o = {.carry = carry, .api_server = server};
	struct transport *w;

	assert_int_equal(transport_new(&w, &o), 0);
	assert_non_null(w);
	return w;
}

/* Sixteen at once, then two a second, as many as were not made before. */
static void reads(struct transport *w, uint64_t now_ns)
{
	for (int i = 0; i < 16; i++)
		assert_true(transport_may_read(w, now_ns));
	assert_false(transport_may_read(w, now_ns));
	assert_false(transport_may_read(w, now_ns + S / 4));
	assert_true(transport_may_read(w, now_ns + S / 2));
	assert_false(transport_may_read(w, now_ns + S / 2));
	for (int i = 0; i < 4; i++)
		assert_true(transport_may_read(w, now_ns + 5 * S / 2));
	assert_false(transport_may_read(w, now_ns + 5 * S / 2));
}

/* The clock starts at 0 with the machine: differences to it must not wrap. */
static void test_reads_after_boot(void **state)
{
	struct transport *w = configmap();

	(void)state;
	reads(w, 1);
	reads(w, 100 * S);
	transport_free(w);
}

static void test_reads(void **state)
{
	struct transport *w = configmap();

	(void)state;
	reads(w, 1000 * S);
	reads(w, 2000 * S);
	transport_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_after_boot),
		cmocka_unit_test(test_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
