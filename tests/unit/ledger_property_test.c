/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of a ledger whatever is told to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/model/time/ledger.h"

#define LINE   3000 /* ns that a listener keeps one by one */
#define ROUNDS 150

struct seen { /* what a listener makes of the trace */
	unsigned char bucket[LINE + 1];
	unsigned char type[LINE + 1];
	uint64_t edge_ns;
};

static struct excluded excluded; /* what is left out */

static bool is_away(uint64_t at)
{
	uint64_t to = at + 1;

	return exclusion_at(&excluded, at, &to);
}

static void seen_span(void *ctx, const struct ledger_span *s)
{
	struct seen *seen = ctx;
	uint64_t left = s->ns;

	assert_true(s->from_ns < s->to_ns && s->to_ns <= LINE);
	if (s->was == BUCKET_COUNT) { /* settled now: in order, without a gap, never twice */
		assert_int_equal(s->from_ns, seen->edge_ns);
		seen->edge_ns = s->to_ns;
		memset(seen->bucket + s->from_ns, s->bucket, s->to_ns - s->from_ns);
		memset(seen->type + s->from_ns, (int)s->type, s->to_ns - s->from_ns);
		return;
	}
	for (uint64_t i = s->from_ns; i < s->to_ns && left; i++) {
		uint64_t at = s->bucket == BUCKET_PROGRAM_STARTUP ? i
								  : s->to_ns - 1 - (i - s->from_ns);

		if (seen->bucket[at] != s->was)
			continue;
		seen->bucket[at] = (unsigned char)s->bucket;
		left--;
	}
	assert_int_equal(left, 0);
}

static void check(const struct ledger *l, struct ledger_view *before)
{
	struct ledger_view v;
	uint64_t sum = 0, gross = before->productive_gross_ns;

	ledger_view(l, &v);
	for (int i = 0; i < BUCKET_COUNT; i++) {
		assert_true(v.ns[i] <= v.now_ns - v.start_ns); /* nor negative */
		sum += v.ns[i];
	}
	assert_int_equal(sum, v.now_ns - v.start_ns);
	assert_true(ledger_check(l));
	assert_true(v.productive_gross_ns >= gross && v.wasted_gross_ns >= before->wasted_gross_ns);
	*before = v;
}

/* The trace, second by second, is the buckets: so any windows of it add up to them. */
static void check_seen(const struct ledger *l, const struct seen *seen)
{
	struct ledger_type types[LEDGER_TYPES];
	uint64_t ns[BUCKET_COUNT] = {0}, custom[256] = {0};
	uint32_t n = ledger_types(l, types);
	struct ledger_view v;

	ledger_view(l, &v);
	for (uint64_t i = v.start_ns; i < seen->edge_ns; i++) {
		ns[seen->bucket[i]]++;
		custom[seen->type[i]] += seen->bucket[i] == BUCKET_CUSTOM;
	}
	v.ns[BUCKET_OTHER] -= v.unsettled_ns;
	for (uint64_t i = v.start_ns; i < seen->edge_ns; i++) /* whatever was moved since */
		assert_int_equal(seen->bucket[i] == BUCKET_EXCLUDED, is_away(i));
	for (uint64_t i = seen->edge_ns; i < v.now_ns;
	     i++) /* shown, not settled: only a hang and this are */
		if (is_away(i))
			v.ns[BUCKET_EXCLUDED]--;
		else if (v.ns[BUCKET_HANG] > ns[BUCKET_HANG])
			v.ns[BUCKET_HANG]--;
	for (int i = 0; i < BUCKET_COUNT; i++)
		assert_int_equal(v.ns[i], ns[i]);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(types[i].ns, custom[types[i].name]);
}

static struct ledger *again(struct ledger *l)
{
	struct buffer out = {0};
	struct ledger *r = NULL;
	struct archive a;

	archive_write(&a, &out, "GPTESTLG", 1);
	ledger_archive(&a, &l);
	assert_int_equal(archive_end(&a), 0);
	archive_read(&a, out.data, out.len, "GPTESTLG", 1);
	ledger_archive(&a, &r);
	assert_int_equal(archive_end(&a), 0);
	assert_non_null(r);
	buffer_free(&out);
	ledger_free(l);
	return r;
}

struct how {
	bool listened, saved, ticks;
};

static void one_call(struct ledger *l, unsigned *seed, uint64_t *at, uint64_t number)
{
	unsigned what = (unsigned)rand_r(seed) % 20, a = (unsigned)rand_r(seed) % 60,
		 b = (unsigned)rand_r(seed) % 60;
	struct ledger_view v;

	if (what < 9) {
		uint64_t to = *at + 1 + b;

		if (what == 0)
			ledger_steps(l, *at + a / 4, to + a / 4, number, 1 + b % 5);
		else
			ledger_step(l, *at + a / 4, to + a / 4, number, what == 1);
		*at = to + a / 4;
	} else if (what < 13) {
		ledger_interval(l, (enum bucket)(b % BUCKET_GOODPUT), *at + a - 20, *at + a + b);
	} else if (what < 16) {
		ledger_custom(l, b % 40, *at + a, *at + a + b);
	} else if (what == 16) {
		ledger_run(l, *at + a);
		*at += a;
	} else if (what == 17) {
		ledger_ideal(l, 1 + b / 2, a / 8);
	} else if (what == 18) {
		ledger_view(l, &v);
		ledger_disprove(l, v.ns[BUCKET_GOODPUT] / (1 + b % 4));
	} else {
		ledger_advance(l, *at + b);
	}
}

static struct ledger_view run(unsigned seed, const struct how *how)
{
	static struct seen seen;
	struct ledger_view before = {0};
	uint64_t at = seed % 3 ? 40 : 100, number = 0;
	struct ledger *l = ledger_new(40, at);

	memset(&seen, 0, sizeof(seen));
	for (uint64_t i = 0; i < at; i++)
		seen.bucket[i] = is_away(i) ? BUCKET_EXCLUDED : BUCKET_UNOBSERVED;
	seen.edge_ns = at;
	ledger_exclude(l, &excluded);
	if (how->listened)
		ledger_trace(l, seen_span, &seen);
	while (at < LINE - 300) {
		one_call(l, &seed, &at, ++number);
		check(l, &before);
		if (how->ticks) /* looks and ticks in between change nothing */
			ledger_advance(l, at < before.now_ns ? at : before.now_ns);
		if (how->saved && number % 3 == 0) {
			l = again(l);
			ledger_exclude(l, &excluded);
			if (how->listened)
				ledger_trace(l, seen_span, &seen);
			check(l, &before);
		}
		if (how->listened)
			check_seen(l, &seen);
	}
	ledger_end(l, at + 100);
	check(l, &before);
	if (how->listened) {
		check_seen(l, &seen);
		assert_int_equal(seen.edge_ns, before.now_ns);
	}
	ledger_free(l);
	return before;
}

static void test_random(void **state)
{
	static const struct how plain = {0}, all[] = {{true, false, false},
						      {false, true, false},
						      {false, false, true},
						      {true, true, true}};

	(void)state;
	for (unsigned seed = 1; seed <= 2 * ROUNDS; seed++) {
		struct ledger_view want;

		excluded.count = 0;
		for (uint64_t from = 60; seed > ROUNDS && from < LINE; from += 150 + seed % 300)
			excluded.span[excluded.count++] = (struct exclusion_span){
				from, from + 1 + seed % 140};
		want = run(seed, &plain);
		for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
			struct ledger_view v = run(seed, &all[i]);

			assert_memory_equal(&v, &want, sizeof(v));
		}
	}
}

/* Latest begun owns; beyond 31 types they are one. */
static void test_custom(void **state)
{
	struct ledger *l = ledger_new(0, 0);
	struct ledger_type types[LEDGER_TYPES];
	struct ledger_view before = {0};

	(void)state;
	assert_int_equal(ledger_types(l, types), 0);
	ledger_custom(l, 7, 10, 90);
	ledger_custom(l, 8, 30, 50); /* inside */
	ledger_custom(l, 9, 80, 95); /* out of it */
	ledger_interval(l, BUCKET_CHECKPOINT_SAVE, 40, 45);
	ledger_interval(l, BUCKET_DATA_LOADING, 5, 20);
	ledger_step(l, 0, 100, 1, false);
	check(l, &before);
	assert_int_equal(ledger_types(l, types), 4);
	assert_int_equal(types[0].name, LEDGER_REST);
	assert_int_equal(types[0].ns, 0);
	assert_int_equal(types[1].ns, 50);
	assert_int_equal(types[2].ns, 15);
	assert_int_equal(types[3].ns, 15);
	assert_int_equal(before.ns[BUCKET_CUSTOM], 80);
	assert_int_equal(before.ns[BUCKET_DATA_LOADING], 5);
	assert_int_equal(before.ns[BUCKET_GOODPUT], 10);
	for (uint32_t i = 0; i < 100; i++)
		ledger_custom(l, 100 + i, 100 + i, 101 + i);
	ledger_end(l, 200);
	check(l, &before);
	assert_int_equal(ledger_types(l, types), LEDGER_TYPES);
	assert_int_equal(types[0].ns, 100 - (LEDGER_TYPES - 4));
	assert_int_equal(types[LEDGER_TYPES - 1].ns, 1);
	ledger_free(l);
}

static void test_runs(void **state)
{
	struct ledger *l = ledger_new(0, 0);
	struct ledger_view v = {0};

	(void)state;
	ledger_ideal(l, 1000, 10); /* known before the first step */
	ledger_step(l, 5000, 9000, 1, false);
	ledger_step(l, 9000, 10031, 2,
		    false); /* more than the ideal and three MAD: startup still */
	ledger_step(l, 10031, 11031, 3, false);
	ledger_step(l, 11031, 13031, 4, false); /* no more */
	check(l, &v);
	assert_int_equal(v.ns[BUCKET_PROGRAM_STARTUP], 5000 + 3000 + 31);
	assert_int_equal(v.ns[BUCKET_GOODPUT], 5000);
	ledger_interval(l, BUCKET_RECOVERY, 14000, 16000);
	ledger_run(l, 16000);
	check(l, &v);
	assert_int_equal(v.ns[BUCKET_OTHER], 969);
	ledger_steps(l, 17000, 25000, 8, 4); /* four of them, 4000 of it their own */
	check(l, &v);
	assert_int_equal(v.ns[BUCKET_PROGRAM_STARTUP], 8031 + 1000 + 4000);
	assert_int_equal(v.steps, 8);
	assert_int_equal(v.max_step, 8);
	ledger_disprove(l, 3000);
	check(l, &v);
	assert_int_equal(v.ns[BUCKET_GOODPUT], 6000);
	assert_int_equal(v.ns[BUCKET_WASTED], 3000);
	assert_int_equal(v.productive_gross_ns, 9000);
	ledger_disprove(l, UINT64_MAX); /* no more than there is */
	check(l, &v);
	assert_int_equal(v.wasted_gross_ns, 9000);
	ledger_free(l);
}

/* With the ideal known, startup is the first unclaimed time of a step, excess its last. */
static void test_places(void **state)
{
	static struct seen seen;
	struct ledger *l = ledger_new(0, 0);

	(void)state;
	memset(&seen, 0, sizeof(seen));
	ledger_trace(l, seen_span, &seen);
	ledger_ideal(l, 10, 0);
	ledger_interval(l, BUCKET_DATA_LOADING, 5, 15);
	ledger_step(l, 0, 50, 1, false);
	assert_int_equal(seen.bucket[0], BUCKET_PROGRAM_STARTUP);
	assert_int_equal(seen.bucket[5], BUCKET_DATA_LOADING);
	assert_int_equal(seen.bucket[15], BUCKET_PROGRAM_STARTUP);
	assert_int_equal(seen.bucket[39], BUCKET_PROGRAM_STARTUP);
	assert_int_equal(seen.bucket[40], BUCKET_GOODPUT);
	ledger_step(l, 50, 60, 2, false);
	ledger_step(l, 60, 400, 3, true); /* records lost in it */
	assert_int_equal(seen.bucket[159], BUCKET_GOODPUT);
	assert_int_equal(seen.bucket[160], BUCKET_UNOBSERVED);
	assert_int_equal(seen.bucket[399], BUCKET_UNOBSERVED);
	ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_custom),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
