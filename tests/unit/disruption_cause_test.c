/* SPDX-License-Identifier: Apache-2.0 */
/* disruption_cause: names both ways, the causes of device errors and of events, attributes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/model/job/disruption_cause.h"
#include "userspace/model/job/notice.h"

static void test_names(void **state)
{
	(void)state;
	for (int c = 0; c < CAUSE_COUNT; c++)
		assert_int_equal(disruption_cause_find(disruption_cause_name[c]), c);
	assert_int_equal(disruption_cause_find("killed"), CAUSE_killed);
	assert_int_equal(disruption_cause_find(""), CAUSE_none);
	assert_int_equal(disruption_cause_find("mysterious"), CAUSE_COUNT);
	assert_int_equal(disruption_cause_find("kill"), CAUSE_COUNT);
	assert_int_equal(disruption_cause_find("Killed"), CAUSE_COUNT);
}

/* Outputs call a device error, and an event, the same wherever they appear. */
static void test_sources(void **state)
{
	(void)state;
	for (int i = 0; i < FAULT_COUNT; i++)
		assert_string_equal(disruption_cause_name[disruption_cause_of_fault(i)],
				    fault_name[i]);
	for (unsigned i = 1; i < GP_NOTICE_COUNT; i++)
		assert_string_equal(disruption_cause_name[disruption_cause_of_notice(i)],
				    notice_name[i]);
	assert_int_equal(disruption_cause_of_notice(0), CAUSE_none);
	assert_int_equal(disruption_cause_of_notice(GP_NOTICE_COUNT), CAUSE_none);
}

static void names_with(unsigned attribute, char out[256])
{
	*out = '\0';
	for (int c = 0; c < CAUSE_COUNT; c++)
		if (disruption_cause_is(c, attribute))
			strcat(strcat(out, " "), disruption_cause_name[c]);
}

static void test_attributes(void **state)
{
	char names[256];

	(void)state;
	names_with(CAUSE_YIELDS_EVENT, names);
	assert_string_equal(names, " killed crashed exit asked");
	names_with(CAUSE_YIELDS_FAULT, names);
	assert_string_equal(names, " crashed exit");
	names_with(CAUSE_ENDS_PROCESS, names);
	assert_string_equal(names, " oom evicted preempted");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
