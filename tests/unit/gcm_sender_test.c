/* SPDX-License-Identifier: Apache-2.0 */
/* The sender against a service of our own: what is sent, what is tried again and when, what is
 * dropped and how that is counted. */
#include "tests/unit/gcm_fake.h"

static void what_is_new_is_written(void **state)
{
	struct sender_stats st;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	for (int i = 0; i < 4; i++) {
		fake_tick(&f, 3, 10 * i, true, false);
		f.ms += 10000;
	}
	st = fake_stats(&f);
	assert_int_equal(f.requests, 4);
	assert_int_equal(f.descriptors, 2); /* each once */
	assert_int_equal(st.written, 4 * 6);
	assert_int_equal(f.written, 4 * 6);
	assert_true(st.up);
	assert_string_equal(st.trouble, "");
	assert_int_equal(f.wrong, 0);
	assert_false(sender_wait(f.s, fake_mono_ms(&f) + 1000));
	fake_end(&f);
}

static void many_series_are_many_requests(void **state)
{
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	fake_tick(&f, 450, 1, false, false);
	assert_int_equal(f.requests, 3);
	assert_int_equal(f.series[0], 200);
	assert_int_equal(f.series[2], 50);
	assert_int_equal(f.written, 450);
	fake_end(&f);
}

static void without_descriptors_it_writes_all_the_same(void **state)
{
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.descriptor_status = 403;
	fake_tick(&f, 1, 1, true, false);
	assert_int_equal(f.descriptors, 2);
	assert_int_equal(f.warnings, 1);
	assert_int_equal(f.written, 2);
	f.ms += 10000;
	fake_tick(&f, 1, 1, true, false);
	assert_int_equal(f.descriptors, 2);
	fake_end(&f);
}

static void what_comes_too_soon_is_left_out(void **state)
{
	struct sender_stats st;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.ms += 100000;
	fake_tick(&f, 1, 1, true, false);
	f.ms += 3000;
	fake_tick(&f, 1, 2, true, false);
	st = fake_stats(&f);
	assert_int_equal(f.requests, 1);
	assert_int_equal(st.dropped[SENDER_DROP_frequent], 2);
	f.ms += 3000;
	fake_tick(&f, 1, 3, true, false);
	assert_int_equal(f.written, 4);
	f.ms -= 60000; /* the wall clock was set back, as the service's is not */
	fake_tick(&f, 1, 3, true, false);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_older], 2);
	assert_int_equal(f.wrong, 0);
	fake_end(&f);
}

static void the_last_waits_until_it_is_due(void **state)
{
	struct series_set set;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	fake_tick(&f, 2, 1, true, false);
	f.ms += 1000;
	fake_tick(&f, 2, 2, true, true);
	assert_int_equal(f.written, 8);
	assert_int_equal(f.wrong, 0);
	assert_in_range(f.ms, 5000, 6000);
	/* and where the end comes first, it is told */
	f.ms += 1000;
	fake_set(&set, 2, FAKE_EPOCH_NS - NS_PER_S, fake_now_ns(&f), 3, true);
	sender_send(f.s, &set, fake_now_ns(&f), fake_mono_ms(&f) + 2000, true);
	series_set_free(&set);
	assert_int_equal(f.written, 8);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_frequent], 4);
	fake_end(&f);
}

static void what_falls_starts_anew(void **state)
{
	static const int64_t steps[] = {5, 9, 2, 2, 8};
	struct fake_series *k;
	struct fake f;
	size_t i = 0;

	(void)state;
	fake_begin(&f, NULL);
	for (size_t n = 0; n < sizeof(steps) / sizeof(steps[0]); n++) {
		fake_tick(&f, 1, steps[n], false, false);
		f.ms += 10000;
	}
	assert_int_equal(f.wrong, 0);
	k = table_next(f.known, &i, NULL);
	assert_int_equal(k->points, 5);
	assert_int_equal(k->resets, 1);
	/* one behind the end before it, to the millisecond */
	assert_int_equal(k->start_ns, FAKE_EPOCH_NS + 10040 * NS_PER_MS + NS_PER_MS);
	fake_end(&f);
}

/* Start and end as the sender makes them of what it is told. */
static void intervals_are_those_of_the_contract(void **state)
{
	struct tracks *t = tracks_new(SENDER_SPACING_MS);
	struct series_set set;
	struct series p;

	(void)state;
	fake_set(&set, 1, 1000 * NS_PER_S, 1000 * NS_PER_S, 1, false);
	p = set.item[0];
	/* a first start that is no earlier than the end */
	assert_int_equal(tracks_ask(t, &set, &p, 7, 1, false), TRACK_FIT);
	assert_int_equal(p.start_ns, 1000 * NS_PER_S - NS_PER_MS);
	tracks_note(t, &set, &p, set.item[0].start_ns, 7, 1);
	/* stays, though the set tells its own */
	p = set.item[0];
	p.end_ns += 10 * NS_PER_S;
	assert_int_equal(tracks_ask(t, &set, &p, 7, 1, false), TRACK_FIT);
	assert_int_equal(p.start_ns, 1000 * NS_PER_S - NS_PER_MS);
	tracks_note(t, &set, &p, set.item[0].start_ns, 7, 2);
	/* and though its clock was corrected: another start would count all of it twice */
	p = set.item[0];
	p.start_ns += SERIES_CLOCK_NS - 1;
	p.end_ns += 20 * NS_PER_S;
	assert_int_equal(tracks_ask(t, &set, &p, 7, 1, false), TRACK_FIT);
	assert_int_equal(p.start_ns, 1000 * NS_PER_S - NS_PER_MS);
	/* another start that is told: as told, but behind the end */
	p.start_ns = 1005 * NS_PER_S;
	p.end_ns = 1020 * NS_PER_S;
	assert_int_equal(tracks_ask(t, &set, &p, 7, 1, false), TRACK_FIT);
	assert_int_equal(p.start_ns, 1010 * NS_PER_S + NS_PER_MS);
	p.start_ns = 1015 * NS_PER_S;
	assert_int_equal(tracks_ask(t, &set, &p, 7, 1, false), TRACK_FIT);
	assert_int_equal(p.start_ns, 1015 * NS_PER_S);
	/* the service says that the start is no good */
	tracks_restart(t, 7);
	p = set.item[0];
	p.end_ns = 1020 * NS_PER_S;
	assert_int_equal(tracks_ask(t, &set, &p, 7, 1, false), TRACK_FIT);
	assert_int_equal(p.start_ns, 1010 * NS_PER_S + NS_PER_MS);
	/* forgotten after a day */
	assert_true(tracks_end_ns(t, 7));
	tracks_prune(t, SENDER_KEEP_S * 1000ull + 10);
	assert_int_equal(tracks_end_ns(t, 7), 0);
	series_set_free(&set);
	tracks_free(t);
}

static void the_same_points_go_again(void **state)
{
	struct sender_stats st;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.next = (struct fake_answer){.status = 503, .times = 3};
	fake_tick(&f, 2, 1, true, false);
	assert_int_equal(f.requests, 1);
	assert_false(fake_stats(&f).up);
	assert_string_equal(fake_stats(&f).trouble, "HTTP 503");
	assert_false(sender_wait(f.s, fake_mono_ms(&f) + 60000));
	st = fake_stats(&f);
	assert_int_equal(f.requests, 4);
	assert_int_equal(st.retries, 3);
	assert_int_equal(st.written, 4);
	for (int i = 1; i < 4; i++) {
		assert_in_range(f.at_ms[i] - f.at_ms[i - 1], 1000, 20 + (2000u << (i - 1)));
		assert_int_equal(f.series[i], 4);
	}
	assert_int_equal(f.wrong, 0);
	fake_end(&f);
}

static void what_arrived_after_all_is_written(void **state)
{
	struct sender_stats st;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.next = (struct fake_answer){.status = 504, .times = 1, .store = true};
	fake_tick(&f, 2, 1, false, false);
	assert_false(sender_wait(f.s, fake_mono_ms(&f) + 60000));
	st = fake_stats(&f);
	assert_int_equal(f.requests, 2);
	assert_int_equal(f.written, 2);
	assert_int_equal(st.written, 2);
	assert_int_equal(st.dropped[SENDER_DROP_older], 0);
	assert_true(st.up);
	assert_string_equal(st.trouble, "");
	fake_end(&f);
}

static void newer_points_take_the_place_of_those_that_wait(void **state)
{
	struct sender_stats st;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.next = (struct fake_answer){.status = 503, .times = 1};
	fake_tick(&f, 2, 1, true, false);
	f.ms += 10000;
	fake_tick(&f, 2, 2, true, false);
	st = fake_stats(&f);
	assert_int_equal(st.written, 4);
	assert_int_equal(st.dropped[SENDER_DROP_superseded], 2);
	assert_int_equal(st.dropped[SENDER_DROP_unavailable], 2); /* no disk queue */
	assert_int_equal(f.requests, 2);
	fake_end(&f);
}

static void a_token_is_renewed_once(void **state)
{
	struct sender_stats st;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.next = (struct fake_answer){.status = 401, .times = 1};
	fake_tick(&f, 2, 1, false, false);
	assert_int_equal(f.refused_tokens, 1);
	assert_int_equal(f.written, 2);
	f.ms += 10000;
	f.next = (struct fake_answer){.status = 401, .times = 100};
	fake_tick(&f, 450, 2, false, false);
	st = fake_stats(&f);
	assert_int_equal(f.requests, 4); /* not for each of the three requests */
	assert_int_equal(f.refused_tokens, 2);
	assert_int_equal(st.dropped[SENDER_DROP_denied], 450);
	assert_int_equal(f.warnings, 1);
	fake_end(&f);
}

static void without_a_token_nothing_is_sent(void **state)
{
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.token_err = -EAGAIN;
	fake_tick(&f, 2, 1, false, false);
	assert_int_equal(f.requests, 0);
	assert_string_equal(fake_stats(&f).trouble, "no credentials");
	f.token_err = 0;
	assert_false(sender_wait(f.s, fake_mono_ms(&f) + 10000));
	assert_int_equal(f.written, 2);
	f.token_err = -EACCES;
	f.ms += 10000;
	fake_tick(&f, 2, 2, false, false);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_denied], 2);
	assert_false(sender_wait(f.s, fake_mono_ms(&f) + 10000));
	fake_end(&f);
}

static void a_slow_token_is_told_of(void **state)
{
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.token_err = -EAGAIN;
	f.token_ms = 60000; /* beyond the deadline: no time is left for the points */
	fake_tick(&f, 2, 1, false, false);
	assert_int_equal(f.requests, 0);
	assert_false(fake_stats(&f).up);
	assert_string_equal(fake_stats(&f).trouble, "no credentials");
	fake_end(&f);
}

static void refusals_are_counted_and_told_once_an_hour(void **state)
{
	static const struct {
		long status;
		enum sender_drop cause;
	} rows[] = {{400, SENDER_DROP_invalid},
		    {403, SENDER_DROP_denied},
		    {404, SENDER_DROP_missing},
		    {200, SENDER_DROP_garbage}};
	struct fake f;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake_begin(&f, NULL);
		for (int n = 0; n < 390; n++) { /* 65 minutes */
			f.next = (struct fake_answer){
				.status = rows[i].status, .times = 1, .body = "no"};
			fake_tick(&f, 1, n, false, false);
			assert_false(sender_wait(f.s, fake_mono_ms(&f) + 1000));
			f.ms += 10000;
		}
		assert_int_equal(f.requests, 390);
		assert_int_equal(fake_stats(&f).dropped[rows[i].cause], 390);
		assert_int_equal(f.warnings, 2);
		fake_end(&f);
	}
}

static void of_a_request_that_fails_in_part_the_rest_counts(void **state)
{
	struct sender_stats st;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	f.next = (struct fake_answer){
		.status = 500,
		.times = 1,
		.body = "{\"error\":{\"message\":\"An internal error occurred.: timeSeries[1]\"}}"};
	fake_tick(&f, 3, 1, false, false);
	st = fake_stats(&f);
	assert_int_equal(st.written, 2);
	assert_false(sender_wait(f.s, fake_mono_ms(&f) + 10000));
	assert_int_equal(f.requests, 2);
	assert_int_equal(f.series[1], 1);
	assert_int_equal(fake_stats(&f).written, 3);
	/* one that spoils the others is left out, and they go again */
	f.ms += 10000;
	f.next = (struct fake_answer){
		.status = 400,
		.times = 1,
		.body = "{\"error\":{\"message\":\"Unknown name at 'time_series[0]'\"}}"};
	fake_tick(&f, 3, 2, false, false);
	st = fake_stats(&f);
	assert_int_equal(f.requests, 4);
	assert_int_equal(f.series[3], 2);
	assert_int_equal(st.dropped[SENDER_DROP_invalid], 1);
	assert_int_equal(st.written, 5);
	/* but not for ever */
	f.ms += 10000;
	f.next.times = 100;
	fake_tick(&f, 150, 3, false, false);
	assert_int_equal(f.requests, 8);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_invalid], 151);
	fake_end(&f);
}

static void what_is_unfit_is_not_sent(void **state)
{
	struct series_set set;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	fake_set(&set, 1, FAKE_EPOCH_NS - NS_PER_S, fake_now_ns(&f), 3, true);
	set.item[0].value.i64 = -1;
	set.unkept = 7;
	sender_send(f.s, &set, fake_now_ns(&f), fake_mono_ms(&f) + 2000, false);
	series_set_free(&set);
	assert_int_equal(f.written, 1);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_invalid], 1);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_unkept], 7);
	fake_end(&f);
}

static void the_library_s_series_have_no_descriptor(void **state)
{
	static const char *const none[] = {NULL};
	struct series_set set;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	series_set_init(&set);
	series_put(&set, &fake_library, series_resource(&set, "global", none, none),
		   fake_now_ns(&f))
		->value.real = 1;
	sender_send(f.s, &set, fake_now_ns(&f), fake_mono_ms(&f) + 2000, false);
	series_set_free(&set);
	assert_int_equal(f.descriptors, 0);
	assert_int_equal(f.written, 1);
	fake_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_new_is_written),
		cmocka_unit_test(many_series_are_many_requests),
		cmocka_unit_test(without_descriptors_it_writes_all_the_same),
		cmocka_unit_test(what_comes_too_soon_is_left_out),
		cmocka_unit_test(the_last_waits_until_it_is_due),
		cmocka_unit_test(what_falls_starts_anew),
		cmocka_unit_test(intervals_are_those_of_the_contract),
		cmocka_unit_test(the_same_points_go_again),
		cmocka_unit_test(what_arrived_after_all_is_written),
		cmocka_unit_test(newer_points_take_the_place_of_those_that_wait),
		cmocka_unit_test(a_token_is_renewed_once),
		cmocka_unit_test(without_a_token_nothing_is_sent),
		cmocka_unit_test(a_slow_token_is_told_of),
		cmocka_unit_test(refusals_are_counted_and_told_once_an_hour),
		cmocka_unit_test(of_a_request_that_fails_in_part_the_rest_counts),
		cmocka_unit_test(what_is_unfit_is_not_sent),
		cmocka_unit_test(the_library_s_series_have_no_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
