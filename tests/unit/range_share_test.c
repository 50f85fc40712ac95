/* SPDX-License-Identifier: Apache-2.0 */
/* What the job's own ranges take of its steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/model/time/range_share.h"

#define MS 1000000ull

static int setup(void **state)
{
	*state = range_shares_new();
	assert_non_null(*state);
	return 0;
}

static int teardown(void **state)
{
	range_shares_free(*state);
	return 0;
}

static void begin(struct range_shares *rs, uint64_t ms, uint32_t tid, const char *name)
{
	struct signal s = {.kind = SIGNAL_RANGE_BEGIN,
			   .tid = tid,
			   .ts_ns = ms * MS,
			   .begin_ns = ms * MS,
			   .text = name};

	assert_int_equal(range_shares_feed(rs, &s), 0);
}

static void end(struct range_shares *rs, uint64_t from_ms, uint64_t ms, uint32_t tid, bool tainted)
{
	struct signal s = {.kind = SIGNAL_RANGE,
			   .tid = tid,
			   .ts_ns = ms * MS,
			   .begin_ns = from_ms * MS,
			   .text = "",
			   .tainted = tainted};

	assert_int_equal(range_shares_feed(rs, &s), 0);
}

static void range(struct range_shares *rs, uint64_t from_ms, uint64_t to_ms, const char *name)
{
	begin(rs, from_ms, 1, name);
	end(rs, from_ms, to_ms, 1, false);
}

static struct share_view view;

static bool step(struct range_shares *rs, uint64_t from_ms, uint64_t to_ms)
{
	struct step s = {.tid = 1, .start_ns = from_ms * MS, .end_ns = to_ms * MS};

	return range_shares_step(rs, &s, true, &view);
}

/* "a 5, b 2" */
static void parts_are(const char *want)
{
	char have[2000] = "";

	for (uint32_t i = 0; i < view.nparts; i++)
		snprintf(have + strlen(have), sizeof(have) - strlen(have), "%s%s %llu",
			 i ? ", " : "", view.part[i].name,
			 (unsigned long long)(view.part[i].ns / MS));
	assert_string_equal(have, want);
}

static void each_has_its_own(void **state)
{
	struct range_shares *rs = *state;

	begin(rs, 10, 1, "model");
	range(rs, 12, 17, "attention");
	range(rs, 18, 20, "mlp");
	range(rs, 21, 24, "attention");
	end(rs, 10, 30, 1, false);
	range(rs, 32, 33, "log");
	assert_true(step(rs, 0, 40));
	parts_are("model 10, attention 8, mlp 2, log 1");
	assert_true(step(rs, 40, 50));
	parts_are("");
	range_shares_view(rs, 0, &view);
	parts_are("model 10, attention 8, mlp 2, log 1");
	range_shares_view(rs, 3, &view);
	parts_are("");
}

/* Over several steps, and open still when a step is told. */
static void cut_at_the_edges(void **state)
{
	struct range_shares *rs = *state;

	begin(rs, 5, 1, "epoch");
	range(rs, 8, 12, "part");
	assert_true(step(rs, 0, 10));
	parts_are("epoch 3, part 2");
	assert_true(step(rs, 10, 20));
	parts_are("epoch 8, part 2");
	end(rs, 5, 25, 1, false);
	assert_true(step(rs, 20, 30));
	parts_are("epoch 5");
}

static void other_threads_do_not_count(void **state)
{
	struct range_shares *rs = *state;

	begin(rs, 1, 1, "mine");
	begin(rs, 2, 2, "its");
	end(rs, 2, 8, 2, false);
	end(rs, 1, 9, 1, false);
	assert_true(step(rs, 0, 10));
	parts_are("mine 8");
}

static void what_was_lost_has_nobody(void **state)
{
	struct signal gap = {.kind = SIGNAL_GAP, .ts_ns = 45 * MS, .begin_ns = 41 * MS, .text = ""};
	struct step tainted = {.tid = 1, .end_ns = 40 * MS, .flags = STEP_tainted};
	struct range_shares *rs = *state;

	begin(rs, 1, 1, "around");
	begin(rs, 2, 1, "lost");
	end(rs, 2, 20, 1, true);
	end(rs, 1, 25, 1, false);
	end(rs, 24, 26, 1, false); /* its begin was not seen */
	assert_true(step(rs, 0, 40));
	parts_are("around 6");
	begin(rs, 40, 1, "over the gap");
	assert_int_equal(range_shares_feed(rs, &gap), 0);
	assert_true(step(rs, 45, 60));
	parts_are("");
	assert_false(range_shares_step(rs, &tainted, true, &view));
}

static void names_are_bounded(void **state)
{
	struct range_shares *rs = *state;
	char name[32];

	range(rs, 1, 2, SHARE_OTHER);
	range(rs, 2, 3, "");
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		range(rs, 10 + i, 11 + i, name);
	}
	assert_true(step(rs, 0, 200));
	assert_int_equal(view.nparts, SHARE_PARTS);
	assert_string_equal(view.part[0].name, "name 0");
	assert_int_equal(view.part[SHARE_NAMES - 1].ns, MS);
	assert_string_equal(view.part[SHARE_NAMES].name, SHARE_OTHER);
	assert_int_equal(view.part[SHARE_NAMES].ns, (100 - SHARE_NAMES + 2) * MS);
	range(rs, 210, 213, "name 3");
	assert_true(step(rs, 200, 220));
	parts_are("name 3 3");
}

static void depth_threads_and_pieces_are_bounded(void **state)
{
	struct range_shares *rs = *state;

	for (uint32_t tid = 1; tid < 100; tid++)
		for (uint64_t i = 0; i < 200; i++)
			begin(rs, 200 * tid + i, tid, "deep");
	for (uint64_t i = 0; i < 30000; i++)
		range(rs, 30000 + 2 * i, 30000 + 2 * i + 1, i < 20000 ? "early" : "late");
	/* What is known of the first ones was given up. */
	assert_false(step(rs, 30000, 40000));
	assert_true(step(rs, 89000, 90000));
	parts_are("late 500");
}

/* One that reads its state goes on as the one that wrote it. */
static void state_goes_on(void **state)
{
	struct range_shares *rs = *state, *again = NULL;
	struct buffer bytes = {0}, more = {0};
	struct archive a;

	begin(rs, 5, 1, "epoch");
	range(rs, 8, 12, "part");
	assert_true(step(rs, 0, 10));
	archive_write(&a, &bytes, "gp-share", 1);
	range_shares_archive(&a, &rs);
	assert_int_equal(archive_end(&a), 0);
	archive_read(&a, bytes.data, bytes.len, "gp-share", 1);
	range_shares_archive(&a, &again);
	assert_int_equal(archive_end(&a), 0);
	archive_write(&a, &more, "gp-share", 1);
	range_shares_archive(&a, &again);
	assert_int_equal(archive_end(&a), 0);
	assert_int_equal(bytes.len, more.len);
	assert_memory_equal(bytes.data, more.data, bytes.len);
	end(again, 5, 25, 1, false);
	assert_true(step(again, 10, 20));
	parts_are("epoch 8, part 2");
	range_shares_view(again, 0, &view);
	parts_are("epoch 11, part 4");
	range_shares_free(again);
	buffer_free(&bytes);
	buffer_free(&more);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_has_its_own),
		TEST(cut_at_the_edges),
		TEST(other_threads_do_not_count),
		TEST(what_was_lost_has_nobody),
		TEST(names_are_bounded),
		TEST(depth_threads_and_pieces_are_bounded),
		TEST(state_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
