/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are refused as one, without a word on which of their series is to blame. */
#include "tests/unit/gcm_fake.h"

/* One request of 200, two points of which the service does not like and does not say so. */
static void who_spoils_a_request_is_found(void **state)
{
	struct sender_stats st;
	unsigned requests;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.poison[0] = "\"job117\"";
	f.poison[1] = "\"job198\"";
	fake_tick(&f, 200, 1, false, false);
	st = fake_stats(&f);
	assert_int_equal(f.written, 198);
	assert_int_equal(st.written, 198);
	assert_int_equal(st.dropped[SENDER_DROP_invalid], 2);
	assert_in_range(f.requests, 10, 2 * 2 * 8 + 1);
	assert_true(st.up);
	assert_int_equal(f.warnings, 1);
	/* They are left out, and counted, until they may have become better. */
	f.ms += 30000;
	requests = f.requests;
	fake_tick(&f, 200, 2, false, false);
	assert_int_equal(f.requests, requests + 1);
	assert_int_equal(f.written, 2 * 198);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_invalid], 4);
	f.ms += TRACKS_REFUSED_MS;
	f.poison[0] = NULL;
	fake_tick(&f, 200, 3, false, false);
	assert_int_equal(f.written, 2 * 198 + 200);
	assert_int_equal(f.wrong, 0);
	fake_end(&f);
}

/* All of them: that is no point's fault, and not asked again and again. */
static void what_is_refused_as_a_whole_is_not_divided_for_ever(void **state)
{
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.poison[0] = "job";
	fake_tick(&f, 200, 1, false, false);
	assert_in_range(f.requests, 9, 33);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_invalid], 200);
	for (int i = 2; i < 12; i++) {
		unsigned requests = f.requests;

		f.ms += 30000;
		fake_tick(&f, 200, i, false, false);
		assert_int_equal(f.requests, requests + 1);
	}
	assert_false(sender_wait(f.s, fake_mono_ms(&f) + 1000));
	fake_end(&f);
}

/* What the service wants meanwhile counts: nothing before the time that it tells, and no part
 * twice. */
static void the_search_minds_the_quota(void **state)
{
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.poison[0] = "\"job3\"";
	fake_tick(&f, 4, 1, false, false);
	assert_int_equal(f.written, 3);
	f.ms += TRACKS_REFUSED_MS;
	f.next = (struct fake_answer){.status = 429, .retry_ms = 7000, .times = 1};
	fake_tick(&f, 4, 2, false, false); /* 4 refused, 2 have to wait */
	assert_int_equal(f.written, 3);
	assert_true(sender_wait(f.s, fake_mono_ms(&f) + 6000));
	assert_int_equal(f.written, 3);
	while (sender_wait(f.s, fake_mono_ms(&f) + 6000))
		;
	assert_int_equal(f.written, 6);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_invalid], 2);
	assert_int_equal(f.wrong, 0);
	fake_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_spoils_a_request_is_found),
		cmocka_unit_test(what_is_refused_as_a_whole_is_not_divided_for_ever),
		cmocka_unit_test(the_search_minds_the_quota),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
