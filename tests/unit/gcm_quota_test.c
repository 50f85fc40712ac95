/* SPDX-License-Identifier: Apache-2.0 */
/* What a 429 means for the requests to follow. */
#include "tests/unit/gcm_fake.h"

static void a_quota_is_waited_for(void **state)
{
	struct fake f;
	uint64_t was;

	(void)state;
	fake_begin(&f, NULL);
	f.next = (struct fake_answer){.status = 429, .times = 1, .retry_ms = 45000};
	fake_tick(&f, 2, 1, true, false);
	was = f.at_ms[0];
	f.ms += 30000;
	fake_tick(&f, 2, 2, true, false); /* newer ones do not hurry it */
	assert_int_equal(f.requests, 1);
	assert_false(sender_wait(f.s, fake_mono_ms(&f) + 60000));
	assert_int_equal(f.requests, 2);
	assert_true(f.at_ms[1] - was >= 45000);
	/* not even at the end */
	f.ms += 60000;
	f.next = (struct fake_answer){.status = 429, .times = 1, .retry_ms = 45000};
	fake_tick(&f, 2, 3, true, false);
	f.ms += 10000;
	fake_tick(&f, 2, 4, true, true);
	assert_int_equal(f.requests, 3);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_closing], 4);
	fake_end(&f);
}

/* A wish of a year is not waited for, and requests that follow are slower. */
static void a_quota_is_bounded(void **state)
{
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.next = (struct fake_answer){.status = 429, .times = 1, .retry_ms = 86400000};
	fake_tick(&f, 450, 1, false, false);
	assert_false(sender_wait(f.s, fake_mono_ms(&f) + 700000));
	assert_int_equal(f.requests, 4);
	assert_in_range(f.at_ms[1] - f.at_ms[0], 600000, 602000);
	assert_true(f.at_ms[2] - f.at_ms[1] >= 750);
	assert_int_equal(f.written, 450);
	fake_end(&f);
}

static void each_quota_halves_the_rate(void **state)
{
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.next = (struct fake_answer){.status = 429, .times = 3};
	fake_tick(&f, 450, 1, false, false);
	assert_false(sender_wait(f.s, fake_mono_ms(&f) + 200000));
	assert_int_equal(f.requests, 6);
	/* from one in 4 s on, faster again with each success */
	assert_true(f.at_ms[4] - f.at_ms[3] >= 3000);
	assert_true(f.at_ms[5] - f.at_ms[4] < f.at_ms[4] - f.at_ms[3]);
	assert_int_equal(f.written, 450);
	fake_end(&f);
}

#define TWO_OF_THREE                                                                                         \
	"\"details\":[{\"@type\":\"type.googleapis.com/google.monitoring.v3.CreateTimeSeriesSummary\","      \
	"\"totalPointCount\":3,\"successPointCount\":2,\"errors\":[{\"status\":{\"code\":8},\"pointCount\":" \
	"1}]}]"

/* The rate is too high also where a part was written. */
static void a_quota_in_part_is_one(void **state)
{
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.next = (struct fake_answer){
		.status = 429,
		.times = 1,
		.retry_ms = 45000,
		.body = "{\"error\":{\"status\":\"RESOURCE_EXHAUSTED\",\"message\":"
			"\"One or more TimeSeries could not "
			"be written: Quota exceeded.: timeSeries[1]\"," TWO_OF_THREE "}}"};
	fake_tick(&f, 3, 1, false, false);
	assert_int_equal(fake_stats(&f).written, 2);
	/* what the service asked for is kept to, and not even the end hurries it */
	f.ms += 30000;
	fake_tick(&f, 3, 2, false, true);
	assert_int_equal(f.requests, 1);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_closing], 3);
	fake_end(&f);
}

/* The rest waits as after any 429, and does without the series that there is no room for. */
static void too_many_series_are_a_quota(void **state)
{
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.next = (struct fake_answer){
		.status = 429,
		.times = 1,
		.retry_ms = 20000,
		.body = "{\"error\":{\"status\":\"RESOURCE_EXHAUSTED\",\"message\":"
			"\"timeSeries[1]: write for "
			"resource=gce_instance{} failed with: Monitored resource has "
			"too many time series (custom metrics).\"," TWO_OF_THREE "}}"};
	fake_tick(&f, 3, 1, false, false);
	assert_int_equal(fake_stats(&f).written, 2);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_quota], 1);
	f.ms += 10000;
	fake_tick(&f, 3, 2, false, false);
	assert_int_equal(f.requests, 1);
	assert_false(sender_wait(f.s, fake_mono_ms(&f) + 60000));
	assert_int_equal(f.requests, 2);
	assert_true(f.at_ms[1] - f.at_ms[0] >= 20000);
	assert_int_equal(f.series[1], 2);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_quota], 2);
	f.ms += TRACKS_REFUSED_MS;
	fake_tick(&f, 3, 3, false, false);
	assert_int_equal(f.series[2], 3);
	fake_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quota_is_waited_for),
		cmocka_unit_test(a_quota_is_bounded),
		cmocka_unit_test(each_quota_halves_the_rate),
		cmocka_unit_test(a_quota_in_part_is_one),
		cmocka_unit_test(too_many_series_are_a_quota),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
