/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/base/buffer.h"
#include "userspace/ingest/stream.h"

/* What the sink saw: of a hit its stamp and its number (arg[0]), of a loss its cause and count. */
struct seen {
	uint64_t ts_ns, number;
	unsigned kind, cause;
};

struct world {
	struct stream *stream;
	struct seen *seen;
	size_t count, cap;
};

static void see(void *ctx, const struct event *ev)
{
	struct world *w = ctx;
	struct seen *s;

	assert_true(w->count < w->cap);
	s = &w->seen[w->count++];
	*s = (struct seen){.ts_ns = ev->rec->ts_ns, .kind = ev->rec->kind};
	if (ev->rec->kind == GP_KIND_hit)
		s->number = ev->hit->arg[0];
	if (ev->rec->kind == GP_KIND_loss) {
		s->number = ev->loss->count;
		s->cause = ev->loss->cause;
	}
}

static void world_open(struct world *w, size_t cap)
{
	*w = (struct world){.cap = cap};
	w->seen = calloc(cap, sizeof(*w->seen));
	w->stream = stream_new(see, w);
	assert_non_null(w->stream);
}

static void world_close(struct world *w)
{
	assert_int_equal(stream_events(w->stream), w->count);
	stream_free(w->stream);
	free(w->seen);
}

static void add_hit(struct buffer *b, uint64_t ts_ns, uint64_t number)
{
	size_t len = event_length(GP_KIND_hit);
	struct gp_hit *hit = event_init(buffer_reserve(b, len), GP_KIND_hit, ts_ns, 1, 1);

	hit->arg[0] = number;
	b->len += len;
}

static void add_drain(struct buffer *b, uint64_t upto_ns)
{
	size_t len = event_length(GP_KIND_drain);
	struct gp_drain *drain = event_init(buffer_reserve(b, len), GP_KIND_drain, upto_ns, 0, 0);

	drain->upto_ns = upto_ns;
	b->len += len;
}

static void feed(struct world *w, struct buffer *b)
{
	assert_int_equal(stream_feed(w->stream, b->data, b->len), 0);
	buffer_clear(b);
}

static void assert_hit(const struct world *w, size_t i, uint64_t ts_ns, uint64_t number)
{
	assert_true(i < w->count);
	assert_int_equal(w->seen[i].kind, GP_KIND_hit);
	assert_int_equal(w->seen[i].ts_ns, ts_ns);
	assert_int_equal(w->seen[i].number, number);
}

static void assert_loss(const struct world *w, size_t i, uint64_t ts_ns, unsigned cause,
			uint64_t count)
{
	assert_true(i < w->count);
	assert_int_equal(w->seen[i].kind, GP_KIND_loss);
	assert_int_equal(w->seen[i].ts_ns, ts_ns);
	assert_int_equal(w->seen[i].cause, cause);
	assert_int_equal(w->seen[i].number, count);
}

static void test_holds_until_drained(void **state)
{
	struct buffer b = {0};
	struct world w;

	(void)state;
	world_open(&w, 100);
	add_hit(&b, 30, 0);
	add_hit(&b, 10, 1);
	add_hit(&b, 20, 2);
	add_hit(&b, 10, 3);
	add_hit(&b, 40, 4);
	feed(&w, &b);
	assert_int_equal(w.count, 0);
	add_drain(&b, 30);
	feed(&w, &b);
	assert_int_equal(w.count,
			 3); /* strictly before the mark; the mark itself is not delivered */
	assert_hit(&w, 0, 10, 1);
	assert_hit(&w, 1, 10, 3); /* equal stamps keep their order of arrival */
	assert_hit(&w, 2, 20, 2);
	add_hit(&b, 30, 5);
	add_drain(&b, 31);
	feed(&w, &b);
	assert_hit(&w, 3, 30, 0);
	assert_hit(&w, 4, 30, 5);
	stream_finish(w.stream);
	assert_int_equal(w.count, 6);
	assert_hit(&w, 5, 40, 4);
	buffer_free(&b);
	world_close(&w);
}

static void test_late_is_dropped_and_told(void **state)
{
	struct buffer b = {0};
	struct world w;

	(void)state;
	world_open(&w, 100);
	add_hit(&b, 50, 0);
	add_drain(&b, 100);
	add_hit(&b, 60, 1); /* after the mark it should have preceded, yet still in order: kept */
	add_hit(&b, 49, 2); /* its place was passed */
	add_hit(&b, 50, 3);
	add_hit(&b, 1, 4);
	add_drain(&b, 200);
	feed(&w, &b);
	assert_int_equal(w.count, 4);
	assert_hit(&w, 1, 50, 3);
	assert_hit(&w, 2, 60, 1);
	assert_loss(&w, 3, 200, GP_LOSS_late, 2);
	add_drain(&b, 300);
	feed(&w, &b);
	assert_int_equal(w.count, 4); /* told once */
	buffer_free(&b);
	world_close(&w);
}

static void test_malformed_is_told(void **state)
{
	struct buffer b = {0};
	struct gp_rec *rec;
	struct world w;
	size_t at;

	(void)state;
	world_open(&w, 100);
	add_hit(&b, 10, 0);
	add_hit(&b, 11, 1); /* an unknown kind of sound length: one record is lost */
	rec = (void *)(b.data + event_length(GP_KIND_hit));
	rec->kind = 60;
	add_hit(&b, 12, 2);
	feed(&w, &b);
	for (unsigned len = 0; len < 65536; len += 65535 / 5) {
		add_hit(&b, 13, 3);
		at = b.len;
		add_hit(&b, 14, 4);
		((struct gp_rec *)(void *)(b.data + at))->len = (__u16)
			len; /* the rest of it is lost */
		add_hit(&b, 15, 5);
		feed(&w, &b);
	}
	assert_int_equal(stream_feed(w.stream, "too short", 9), 0);
	add_hit(&b, 14, 6); /* cut short, where an earlier and longer portion left its bytes */
	assert_int_equal(stream_feed(w.stream, b.data, b.len - 8), 0);
	buffer_clear(&b);
	add_drain(&b, 100);
	feed(&w, &b);
	assert_int_equal(w.count, 2 + 6 + 1);
	assert_hit(&w, 1, 12, 2);
	assert_hit(&w, 7, 13, 3);
	assert_loss(&w, 8, 100, GP_LOSS_malformed, 1 + 6 + 1 + 1);
	buffer_free(&b);
	world_close(&w);
}

static void test_finish_tells_too(void **state)
{
	struct buffer b = {0};
	struct world w;

	(void)state;
	world_open(&w, 10);
	add_hit(&b, 5, 0);
	add_hit(&b, GP_TIME_END_NS - 1, 1);
	add_drain(&b, 0);
	add_drain(&b, 7);
	add_hit(&b, 1, 2);
	feed(&w, &b);
	stream_finish(w.stream);
	stream_finish(w.stream);
	assert_int_equal(w.count, 3);
	assert_hit(&w, 1, GP_TIME_END_NS - 1, 1);
	assert_loss(&w, 2, GP_TIME_END_NS - 1, GP_LOSS_late, 1);
	buffer_free(&b);
	world_close(&w);
}

static uint32_t random_next(uint32_t *x)
{
	return (*x = *x * 1664525 + 1013904223) >> 8;
}

static int by_place(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Any order, any marks that keep their promise: what comes out is the stable sort of what went
 * in. */
static void test_is_a_stable_sort(void **state)
{
	enum { COUNT = 20000 };
	static const uint32_t spreads[] = {1, 3, 500, 100000, 4000000};
	struct seen *expect = calloc(COUNT, sizeof(*expect));
	struct buffer b = {0};
	uint64_t base, lowest;
	uint32_t x = 1;
	struct world w;

	(void)state;
	for (size_t s = 0; s < sizeof(spreads) / sizeof(spreads[0]); s++) {
		world_open(&w, COUNT);
		for (int i = 0; i < COUNT; i++) {
			base = (uint64_t)i * 100;
			expect[i].ts_ns = base + random_next(&x) % spreads[s];
			expect[i].number = (uint64_t)i;
			add_hit(&b, expect[i].ts_ns, (uint64_t)i);
			lowest = base + 100; /* nothing later is stamped before this */
			if (random_next(&x) % 50 == 0)
				add_drain(&b, lowest - random_next(&x) % 100);
			if (random_next(&x) % 20 == 0)
				feed(&w, &b);
		}
		feed(&w, &b);
		stream_finish(w.stream);
		qsort(expect, COUNT, sizeof(*expect), by_place);
		assert_int_equal(w.count, COUNT);
		for (int i = 0; i < COUNT; i++)
			assert_hit(&w, (size_t)i, expect[i].ts_ns, expect[i].number);
		world_close(&w);
	}
	buffer_free(&b);
	free(expect);
}

/* The same bytes in other portions give the same events. */
static void test_portions_do_not_matter(void **state)
{
	enum { COUNT = 5000 };
	struct buffer b = {0};
	struct world all, some;
	uint32_t x = 7;
	size_t step;

	(void)state;
	world_open(&all, 2 * COUNT);
	world_open(&some, 2 * COUNT);
	for (int i = 0; i < COUNT; i++) {
		add_hit(&b, random_next(&x) % 1000000, (uint64_t)i); /* many are late */
		if (i % 97 == 0)
			add_drain(&b, (uint64_t)i * 150);
	}
	assert_int_equal(stream_feed(all.stream, b.data, b.len), 0);
	for (size_t at = 0; at < b.len; at += step) {
		step = ((struct gp_rec *)(void *)(b.data + at))->len;
		assert_int_equal(stream_feed(some.stream, b.data + at, step), 0);
	}
	stream_finish(all.stream);
	stream_finish(some.stream);
	assert_int_equal(all.count, some.count);
	assert_memory_equal(all.seen, some.seen, all.count * sizeof(*all.seen));
	buffer_free(&b);
	world_close(&all);
	world_close(&some);
}

/* Marks that never come, in falling order of time: the worst that can be fed. */
static void test_memory_is_bounded(void **state)
{
	enum { COUNT = (1 << 20) + 1000 };
	struct buffer b = {0};
	struct world w;

	(void)state;
	world_open(&w, COUNT + 10);
	for (uint64_t i = 0; i < COUNT; i++) {
		add_hit(&b, COUNT - i, i);
		if (b.len > 1 << 20)
			feed(&w, &b);
	}
	feed(&w, &b);
	/* One more than the bound sent on the older half; all that came then was older still. */
	assert_int_equal(w.count, (1 << 19) + 1);
	assert_hit(&w, 0, 1000, COUNT - 1000);
	stream_finish(w.stream);
	assert_int_equal(w.count, (1 << 20) + 1 + 1);
	assert_loss(&w, w.count - 1, COUNT, GP_LOSS_late, 999);
	for (size_t i = 1; i < w.count; i++)
		assert_true(w.seen[i].ts_ns >= w.seen[i - 1].ts_ns);
	buffer_free(&b);
	world_close(&w);
}

static void test_hostile_bytes(void **state)
{
	static _Alignas(8) unsigned char bytes[4096];
	uint32_t x = 99;
	struct world w;

	(void)state;
	world_open(&w, 1000000);
	for (int round = 0; round < 3000; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)random_next(&x);
		for (size_t i = 16; i + 4 < sizeof(bytes); i += 8) {
			bytes[i] = (unsigned char)(random_next(&x) % 80);
			bytes[i + 1] = 0;
			bytes[i + 2] = (unsigned char)(random_next(&x) % 80);
			bytes[i + 3] = 0;
		}
		assert_int_equal(stream_feed(w.stream, bytes, random_next(&x) % sizeof(bytes)), 0);
	}
	stream_finish(w.stream);
	for (size_t i = 1; i < w.count; i++)
		assert_true(w.seen[i].ts_ns >= w.seen[i - 1].ts_ns);
	world_close(&w);
	stream_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holds_until_drained),
		cmocka_unit_test(test_late_is_dropped_and_told),
		cmocka_unit_test(test_malformed_is_told),
		cmocka_unit_test(test_finish_tells_too),
		cmocka_unit_test(test_is_a_stable_sort),
		cmocka_unit_test(test_portions_do_not_matter),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_hostile_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
