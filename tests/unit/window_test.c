/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/base/buffer.h"
#include "userspace/model/time/window.h"

#define SECOND 1000000000ull
#define HOUR   (3600 * SECOND)
#define DAY    (24 * HOUR)

static void add(struct window *w, enum bucket b, uint64_t from_ns, uint64_t to_ns)
{
	struct ledger_span s = {from_ns, to_ns, b, BUCKET_COUNT, to_ns - from_ns, 0};

	window_add(w, &s);
}

static uint64_t sum_of(const struct window_view *v)
{
	uint64_t sum_ns = 0;

	for (int b = 0; b < BUCKET_COUNT; b++)
		sum_ns += v->ns[b];
	return sum_ns;
}

static void test_name(void **state)
{
	static const struct {
		uint64_t s;
		const char *name;
	} t[] = {{3600, "1h"}, {86400, "24h"}, {604800, "7d"}, {5400, "90m"},
		 {90, "90s"},  {60, "1m"},     {0, "0s"}};
	char text[16];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_string_equal(window_name(text, t[i].s * SECOND), t[i].name);
}

/* By hand: goodput from 1:00:00 to 2:00:30, then silence until 3:00:15. */
static void test_silence(void **state)
{
	struct window *w = window_new(HOUR);
	struct window_view v;

	(void)state;
	window_view(w, HOUR, HOUR, 0, &v);
	assert_true(v.whole);
	assert_int_equal(v.to_ns - v.from_ns, 0);
	add(w, BUCKET_GOODPUT, HOUR, 2 * HOUR + 30 * SECOND);
	window_view(w, 2 * HOUR + 30 * SECOND, HOUR, 0, &v);
	assert_int_equal(v.from_ns, HOUR); /* 1:00:30 is in that minute */
	assert_true(v.whole);
	window_view(w, 2 * HOUR + 80 * SECOND, HOUR, 0, &v);
	assert_int_equal(v.from_ns, HOUR + 60 * SECOND);
	assert_false(v.whole);
	assert_int_equal(v.ns[BUCKET_GOODPUT], HOUR - 30 * SECOND);
	assert_int_equal(v.unsettled_ns, 50 * SECOND);
	assert_int_equal(v.ns[BUCKET_OTHER], 50 * SECOND);
	window_view(w, 3 * HOUR + 15 * SECOND, HOUR, 600 * SECOND, &v);
	assert_int_equal(v.from_ns, 2 * HOUR);
	assert_int_equal(v.ns[BUCKET_GOODPUT], 30 * SECOND);
	assert_int_equal(v.ns[BUCKET_HANG], 600 * SECOND);
	assert_int_equal(sum_of(&v), HOUR + 15 * SECOND);
	window_view(w, 100 * DAY, HOUR, UINT64_MAX, &v); /* it hangs still */
	assert_int_equal(v.ns[BUCKET_HANG], HOUR);
	assert_int_equal(v.ns[BUCKET_OTHER], 0);
	window_free(w);
}

/* What a restart disproves, what the first steps took too long, a hang known late: in its own
 * slot. */
static void test_moves(void **state)
{
	struct window *w = window_new(0);
	struct window_view v;
	struct ledger_span waste = {0, 5 * HOUR, BUCKET_WASTED, BUCKET_GOODPUT, HOUR + HOUR / 2, 0};
	struct ledger_span startup = {0,	   HOUR, BUCKET_PROGRAM_STARTUP, BUCKET_GOODPUT,
				      60 * SECOND, 0};

	(void)state;
	add(w, BUCKET_GOODPUT, 0, 3 * HOUR);
	add(w, BUCKET_HANG, 3 * HOUR, 4 * HOUR);
	add(w, BUCKET_GOODPUT, 4 * HOUR, 5 * HOUR);
	window_add(w, &waste);
	window_view(w, 5 * HOUR, HOUR, 0, &v);
	assert_int_equal(v.ns[BUCKET_WASTED], HOUR);
	window_view(w, 5 * HOUR, 2 * HOUR, 0, &v);
	assert_int_equal(v.ns[BUCKET_WASTED], HOUR);
	assert_int_equal(v.ns[BUCKET_HANG], HOUR);
	window_view(w, 5 * HOUR, 3 * HOUR, 0, &v);
	assert_int_equal(v.ns[BUCKET_WASTED], HOUR + HOUR / 2);
	assert_int_equal(v.ns[BUCKET_GOODPUT], HOUR / 2);
	window_add(w, &startup);
	window_view(w, 5 * HOUR, DAY, 0, &v);
	assert_int_equal(v.ns[BUCKET_PROGRAM_STARTUP], 60 * SECOND);
	assert_int_equal(v.ns[BUCKET_GOODPUT], 2 * HOUR + HOUR / 2 - 60 * SECOND);
	assert_int_equal(window_total(w, BUCKET_GOODPUT), v.ns[BUCKET_GOODPUT]);
	window_view(w, 5 * HOUR, 4 * HOUR + HOUR / 2, 0, &v); /* the first half hour is not in it */
	assert_int_equal(v.ns[BUCKET_PROGRAM_STARTUP], 0);
	window_free(w);
}

/* ---- property: windows are what a ledger's spans add up to ----------------------------------- */

#define PIECES 200000

struct truth { /* every span, as it is now; in order of time */
	struct window *w;
	struct ledger_span *at;
	uint32_t n;
};

static void truth_move(struct truth *t, const struct ledger_span *s)
{
	uint64_t left_ns = s->ns;
	bool first = s->bucket == BUCKET_PROGRAM_STARTUP;

	/* The ledger moves within a step, or all of a range: pieces are not cut but at the one
	 * end. */
	for (uint32_t k = 0; left_ns && k < t->n; k++) {
		struct ledger_span *p = &t->at[first ? k : t->n - 1 - k];
		uint64_t len_ns = p->to_ns - p->from_ns;

		if (p->bucket != s->was || p->from_ns < s->from_ns || p->to_ns > s->to_ns)
			continue;
		if (len_ns > left_ns) {
			struct ledger_span *rest = &t->at[t->n];

			memmove(p + 2, p + 1, (size_t)(rest - (p + 1)) * sizeof(*p));
			t->n++;
			p[1] = *p;
			p[0].to_ns = p[1].from_ns = first ? p->from_ns + left_ns
							  : p->to_ns - left_ns;
			p[first ? 0 : 1].bucket = s->bucket;
			return;
		}
		p->bucket = s->bucket;
		left_ns -= len_ns;
	}
}

static void on_trace(void *ctx, const struct ledger_span *s)
{
	struct truth *t = ctx;

	window_add(t->w, s);
	if (s->was < BUCKET_COUNT)
		truth_move(t, s);
	else
		t->at[t->n++] = *s;
}

static void compare(const struct truth *t, const struct ledger *l, uint64_t length_ns)
{
	uint64_t ns[BUCKET_COUNT] = {0};
	struct ledger_view lv;
	struct window_view v;

	ledger_view(l, &lv);
	window_view(t->w, lv.now_ns, length_ns,
		    lv.ns[BUCKET_HANG] - window_total(t->w, BUCKET_HANG), &v);
	assert_int_equal(sum_of(&v), v.to_ns - v.from_ns);
	assert_true(v.to_ns - v.from_ns >= length_ns || v.whole);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct ledger_span *p = &t->at[i];
		uint64_t from_ns = p->from_ns > v.from_ns ? p->from_ns : v.from_ns;

		if (p->to_ns > from_ns)
			ns[p->bucket] += p->to_ns - from_ns;
	}
	ns[BUCKET_OTHER] += v.unsettled_ns;
	if (lv.ns[BUCKET_HANG] > window_total(t->w, BUCKET_HANG))
		ns[BUCKET_HANG] += v.ns[BUCKET_HANG] - ns[BUCKET_HANG];
	for (int b = 0; b < BUCKET_COUNT; b++)
		assert_int_equal(v.ns[b], ns[b]); /* times are whole microseconds here */
	for (int b = 0; v.whole && b < BUCKET_COUNT; b++)
		assert_int_equal(v.ns[b], lv.ns[b]);
}

static uint64_t rng;
static uint64_t below(uint64_t n)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (rng >> 33) % n;
}

static void test_random(void **state)
{
	static const uint64_t lengths[] = {60 * SECOND, HOUR, 5 * HOUR, DAY, 3 * DAY, 7 * DAY};

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		uint64_t scale_us = seed % 3 ? 1000000ull * (1 + seed) : 60000000ull,
			 now_ns = 7 * HOUR;
		struct truth t = {window_new(now_ns), calloc(PIECES, sizeof(*t.at)), 0};
		struct ledger *l = ledger_new(now_ns, now_ns);

		rng = seed;
		ledger_trace(l, on_trace, &t);
		for (uint64_t i = 1; i <= 3000; i++) {
			uint64_t took_ns = (scale_us + below(scale_us)) * 1000,
				 part_ns = took_ns / 4000 * 1000;

			if (below(300) == 0)
				took_ns += below(20 * HOUR / 1000) * 1000;
			if (below(4) == 0)
				ledger_interval(l, (enum bucket)below(BUCKET_GOODPUT), now_ns,
						now_ns + part_ns);
			if (below(10))
				ledger_step(l, now_ns, now_ns + took_ns, i, below(20) == 0);
			now_ns += took_ns;
			ledger_advance(l, now_ns);
			if (i % 64 == 20)
				ledger_ideal(l, scale_us * 1500, scale_us * 100);
			if (below(500) == 0)
				ledger_disprove(l, below(20) * scale_us * 1000);
			if (i % 250 == 0)
				for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++)
					compare(&t, l, lengths[k]);
		}
		window_free(t.w);
		ledger_free(l);
		free(t.at);
	}
}

/* Consecutive hours, each asked for when it is over, add up to what there is. */
static void test_tiles(void **state)
{
	struct window *w = window_new(0);
	uint64_t sums[BUCKET_COUNT] = {0}, at_ns = 0;
	struct window_view v;

	(void)state;
	rng = 5;
	for (uint64_t hour = 1; hour <= 100; hour++) {
		while (at_ns < hour * HOUR) {
			uint64_t to_ns = at_ns + (1 + below(2000000000)) * 1000;

			to_ns = to_ns < hour * HOUR ? to_ns : hour * HOUR;
			add(w, (enum bucket)below(BUCKET_COUNT), at_ns, to_ns);
			at_ns = to_ns;
		}
		window_view(w, at_ns, HOUR, 0, &v);
		for (int b = 0; b < BUCKET_COUNT; b++)
			sums[b] += v.ns[b];
	}
	window_view(w, at_ns, 7 * DAY, 0, &v);
	assert_true(v.whole);
	for (int b = 0; b < BUCKET_COUNT; b++) {
		assert_int_equal(sums[b], v.ns[b]);
		assert_int_equal(sums[b], window_total(w, (enum bucket)b));
	}
	window_free(w);
}

static void test_archive(void **state)
{
	struct window *w = window_new(HOUR), *loaded = NULL;
	struct window_view a, b;
	struct buffer bytes = {0};
	struct archive ar;

	(void)state;
	rng = 9;
	for (uint64_t at_ns = HOUR, i = 0; i < 2000; i++, at_ns += 400 * SECOND)
		add(w, (enum bucket)below(BUCKET_COUNT), at_ns, at_ns + 400 * SECOND);
	archive_write(&ar, &bytes, "gp-test!", 1);
	window_archive(&ar, &w);
	assert_int_equal(archive_end(&ar), 0);
	archive_read(&ar, bytes.data, bytes.len, "gp-test!", 1);
	window_archive(&ar, &loaded);
	assert_int_equal(archive_end(&ar), 0);
	add(w, BUCKET_GOODPUT, 300 * HOUR, 301 * HOUR);
	add(loaded, BUCKET_GOODPUT, 300 * HOUR, 301 * HOUR);
	for (uint64_t length_ns = HOUR; length_ns <= 7 * DAY; length_ns += HOUR) {
		memset(&a, 0, sizeof(a));
		memset(&b, 0, sizeof(b));
		window_view(w, 301 * HOUR, length_ns, 0, &a);
		window_view(loaded, 301 * HOUR, length_ns, 0, &b);
		assert_memory_equal(&a, &b, sizeof(a));
	}
	window_free(w);
	window_free(loaded);
	buffer_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),  cmocka_unit_test(test_silence),
		cmocka_unit_test(test_moves), cmocka_unit_test(test_random),
		cmocka_unit_test(test_tiles), cmocka_unit_test(test_archive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
