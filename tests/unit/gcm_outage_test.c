/* SPDX-License-Identifier: Apache-2.0 */
/* Outages, by a clock of their own: what is kept on disk, how it comes back, and what a day of a
 * dead service costs. */
#include <malloc.h>

#include "tests/unit/gcm_fake.h"

#define TICK_MS	 30000
#define DAY_TICK (24 * 3600 * 1000 / TICK_MS)

static char dir[64];

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/gcm_outage_test_XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* Until the next tick, in turns, as the exporter's thread does. */
static void idle(struct fake *f, uint64_t until_ms)
{
	while (f->ms < until_ms) {
		uint64_t turn = f->ms + 250 < until_ms ? f->ms + 250 : until_ms;

		sender_wait(f->s, turn + 1000); /* fake_mono_ms() is a second ahead */
		f->ms = f->ms < turn ? turn : f->ms;
	}
}

static void ticks_of(struct fake *f, uint64_t ms, unsigned count, unsigned jobs, int64_t *steps)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t next = (f->ms / ms + 1) * ms;

		fake_tick(f, jobs, (*steps)++, true, false);
		idle(f, next);
	}
}

static void ticks(struct fake *f, unsigned count, unsigned jobs, int64_t *steps)
{
	ticks_of(f, TICK_MS, count, jobs, steps);
}

static void an_outage_of_minutes_costs_nothing_of_what_adds_up(void **state)
{
	struct sender_stats st;
	int64_t steps = 0;
	struct fake f;

	(void)state;
	fake_begin(&f, dir);
	ticks(&f, 4, 3, &steps);
	f.next = (struct fake_answer){.failure = WEB_CONNECT, .times = 1000000};
	ticks(&f, 20, 3, &steps);
	st = fake_stats(&f);
	assert_int_equal(st.queued, 60);
	assert_true(st.disk_queue_bytes > 0);
	f.next.times = 0;
	ticks(&f, 10, 3, &steps);
	st = fake_stats(&f);
	assert_int_equal(st.queued, 0);
	assert_int_equal(f.wrong, 0);
	assert_int_equal(st.written, f.written);
	/* each point of three counters, and of the gauges those before, behind, and the newest */
	assert_int_equal(st.dropped[SENDER_DROP_superseded], 60);
	assert_int_equal(st.written, 34 * 3 + 14 * 3);
	fake_end(&f);
}

/* As often as the service takes points at all: it catches up by leaving out every second one. */
static void at_the_shortest_interval_it_catches_up_too(void **state)
{
	struct sender_stats st;
	int64_t steps = 0;
	struct fake f;

	(void)state;
	fake_begin(&f, dir);
	ticks_of(&f, SENDER_SPACING_MS, 4, 3, &steps);
	f.next = (struct fake_answer){.failure = WEB_CONNECT, .times = 1000000};
	ticks_of(&f, SENDER_SPACING_MS, 12, 3, &steps);
	assert_true(fake_stats(&f).queued > 0);
	f.next.times = 0;
	ticks_of(&f, SENDER_SPACING_MS, 40, 3, &steps);
	st = fake_stats(&f);
	assert_int_equal(st.queued, 0);
	assert_int_equal(f.wrong, 0);
	assert_int_equal(st.written, f.written);
	/* The newest is as new as it was, and each of the others is written or counted. */
	st = fake_stats(&f);
	assert_int_equal(st.written + st.dropped[SENDER_DROP_superseded], (uint64_t)56 * 3 * 2);
	fake_tick(&f, 3, steps, true, true);
	assert_int_equal(fake_stats(&f).queued, 0);
	fake_end(&f);
}

static void what_is_left_at_the_end_is_the_next_one_s(void **state)
{
	struct table *known;
	int64_t steps = 0;
	struct fake f, g;

	(void)state;
	fake_begin(&f, dir);
	ticks(&f, 2, 3, &steps);
	f.next = (struct fake_answer){.status = 503, .times = 1000000};
	ticks(&f, 5, 3, &steps);
	fake_tick(&f, 3, steps++, true, true);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_closing], 3);
	known = f.known;
	f.known = NULL;
	g = f;
	sender_close(f.s);
	fake_begin(&f, dir);
	table_free(f.known, free);
	f.known = known;
	f.ms = g.ms;
	idle(&f, f.ms + 120000);
	assert_int_equal(f.written, 18);
	assert_int_equal(f.wrong, 0);
	ticks(&f, 2, 3, &steps);
	assert_int_equal(f.wrong, 0);
	assert_int_equal(f.written, 18 + 12);
	fake_end(&f);
}

static void a_folder_that_is_taken_is_said_once(void **state)
{
	int64_t steps = 0;
	struct fake f, g;

	(void)state;
	fake_begin(&f, dir);
	fake_begin(&g, dir);
	assert_int_equal(g.warnings, 1);
	assert_non_null(strstr(g.warned[0], "in use by another process"));
	ticks(&g, 2, 1, &steps);
	assert_int_equal(g.written, 4);
	assert_int_equal(g.warnings, 1);
	fake_end(&g);
	fake_end(&f);
}

/* A quota that is used up while it catches up: waits as told, and not at all like a storm. */
static void a_catch_up_minds_the_quota(void **state)
{
	int64_t steps = 0;
	uint64_t from;
	struct fake f;

	(void)state;
	fake_begin(&f, dir);
	f.next = (struct fake_answer){.failure = WEB_RESOLVE, .times = 1000000};
	ticks(&f, 40, 3, &steps);
	f.next = (struct fake_answer){.status = 429, .times = 6};
	from = f.requests;
	ticks(&f, 3, 3, &steps);
	assert_in_range(f.requests - from, 2, 9);
	ticks(&f, 60, 3, &steps);
	assert_int_equal(fake_stats(&f).queued, 0);
	assert_int_equal(f.wrong, 0);
	fake_end(&f);
}

struct cost {
	unsigned most_minute;
	uint64_t most_bytes;
	size_t heap_hour, heap_day;
};

static unsigned most_in_a_minute(const struct fake *f, unsigned from)
{
	unsigned most = 0;

	for (unsigned i = from; i < f->requests; i++) {
		unsigned n = 1;

		while (i + n < f->requests &&
		       f->at_ms[(i + n) % FAKE_LOG] - f->at_ms[i % FAKE_LOG] < 60000)
			n++;
		most = n > most ? n : most;
	}
	return most;
}

/* 24 hours without an answer: 40 counters and 40 gauges each 30 s. */
static void a_day_without_the_service(void **state)
{
	struct cost c = {0};
	struct sender_stats st;
	int64_t steps = 0;
	unsigned from, catching = 0, asked;
	struct fake f;

	(void)state;
	fake_begin(&f, dir);
	ticks(&f, 10, 40, &steps);
	asked = f.requests;
	f.next = (struct fake_answer){.failure = WEB_TIMEOUT, .times = 100000000};
	for (unsigned i = 0; i < DAY_TICK; i++) {
		ticks(&f, 1, 40, &steps);
		st = fake_stats(&f);
		c.most_bytes = st.disk_queue_bytes > c.most_bytes ? st.disk_queue_bytes
								  : c.most_bytes;
		if (i == 120)
			c.heap_hour = mallinfo2().uordblks;
	}
	c.heap_day = mallinfo2().uordblks;
	asked = f.requests - asked;
	st = fake_stats(&f);
	assert_true(st.queued + st.dropped[SENDER_DROP_aged] >= (uint64_t)40 * DAY_TICK);
	assert_true(c.most_bytes <= SENDER_DISK_QUEUE_MAX);
	/* Nothing grows with the outage; the allocator keeps small pieces at hand, and counts them
	 * (none: GLIBC_TUNABLES=glibc.malloc.tcache_count=0). The points of the day would be 70
	 * MB. */
	assert_true(c.heap_day < c.heap_hour + (256u << 10));
	f.next.times = 0;
	from = f.requests;
	while (fake_stats(&f).queued && catching++ < DAY_TICK)
		ticks(&f, 1, 40, &steps);
	assert_true(catching < DAY_TICK);
	c.most_minute = most_in_a_minute(&f, f.requests - from > FAKE_LOG ? f.requests - FAKE_LOG
									  : from);
	/* Each series once in 5 s: 12 from the disk queue, two ticks, and one that is begun. */
	assert_true(c.most_minute <= 16);
	st = fake_stats(&f);
	assert_int_equal(f.wrong, 0);
	assert_int_equal(st.written, f.written);
	print_message(
		"a day away: %u requests tried, queue %.1f MiB at most; caught up in %.1f h by %u requests, %u "
		"a minute at most, %llu points aged\n",
		asked, (double)c.most_bytes / (1 << 20), catching * (TICK_MS / 1000) / 3600.0,
		f.requests - from, c.most_minute, (unsigned long long)st.dropped[SENDER_DROP_aged]);
	if (c.heap_day) /* sanitizers have their own heap */
		print_message("heap %zu kB after an hour, %zu kB after the day\n",
			      c.heap_hour / 1000, c.heap_day / 1000);
	fake_end(&f);
}

static void a_small_disk_queue_keeps_the_newest(void **state)
{
	struct sender_stats st;
	int64_t steps = 0;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	sender_close(f.s);
	f.opt.disk_queue = dir;
	f.opt.disk_queue_max = 1; /* the least there is */
	assert_int_equal(sender_open_with(&f.s, &f.opt, &f.env), 0);
	f.next = (struct fake_answer){.status = 500, .times = 1000000};
	ticks(&f, 1000, 300, &steps);
	st = fake_stats(&f);
	assert_true(st.disk_queue_bytes <= DISK_QUEUE_LEAST);
	assert_true(st.dropped[SENDER_DROP_room] > 0);
	assert_int_equal(st.dropped[SENDER_DROP_room] + st.queued, 300 * 1000);
	fake_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_outage_of_minutes_costs_nothing_of_what_adds_up,
						setup, teardown),
		cmocka_unit_test_setup_teardown(at_the_shortest_interval_it_catches_up_too, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_left_at_the_end_is_the_next_one_s, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_folder_that_is_taken_is_said_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_catch_up_minds_the_quota, setup, teardown),
		cmocka_unit_test_setup_teardown(a_day_without_the_service, setup, teardown),
		cmocka_unit_test_setup_teardown(a_small_disk_queue_keeps_the_newest, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
