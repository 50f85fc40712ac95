/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up table of libraries: which of those without users are let go, and when. Nothing is
 * attached. */
#include "tests/unit/probe_files.h"

#include "bpf/gp_abi.h"
#include "loader/attach/attach.h"
#include "loader/library/library.h"
#include "loader/library/library_private.h"
#include "loader/library/library_user.h"
#include "userspace/base/clock.h"

#define HALF (LIBRARY_ATTACHED_MAX / 2)
#define S    1000000000ull
#define TURN 4 /* let go by one libraries_reap() at most */

static struct library_deps deps;
static struct probe_table *table;
static struct libraries *ls;
static struct library *made[LIBRARY_ATTACHED_MAX]; /* those let go are no longer read */

static void nothing_told(void *ctx, uint32_t probe, const struct gp_attach *a)
{
	(void)ctx;
	(void)probe;
	fail_msg("told of %s", a->library);
}

static int setup(void **state)
{
	deps.on_attach = nothing_told;
	if (probe_files_setup(state) || load_one(FILE_HEAD ROW("one"), &table))
		return -1;
	deps.probes = table;
	return attach_new(&deps.attach, false, NULL);
}

static int teardown(void **state)
{
	attach_free(deps.attach, false);
	probe_table_free(table);
	return probe_files_teardown(state);
}

static int begin(void **state)
{
	(void)state;
	return libraries_new(&ls, &deps);
}

static int end(void **state)
{
	(void)state;
	libraries_free(ls);
	return 0;
}

/* As if its sites had been attached for a process that has ended since. */
static void make(size_t from, size_t to, uint64_t idle_for_ns)
{
	for (size_t i = from; i < to; i++) {
		struct gp_vma vma = {.dev = 1, .ino = 100 + i};

		made[i] = library_get(ls, &vma);
		assert_non_null(made[i]);
		made[i]->state = LIBRARY_ATTACHED;
		ls->attached++;
		library_idle(ls, made[i]);
		made[i]->idle_ns -= idle_for_ns;
	}
}

/* Also where the machine has run for less. */
static uint64_t idle_for_ns(const struct library *lib)
{
	return clock_mono_ns() - lib->idle_ns;
}

static bool is_there(size_t i)
{
	struct gp_vma vma = {.dev = 1, .ino = 100 + i};

	return table_get(ls->files, library_key(&vma));
}

static size_t left(size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += is_there(i);
	return n;
}

static void reap(int turns)
{
	for (int i = 0; i < turns; i++)
		libraries_reap(ls);
}

static void one_that_is_idle_stays_for_some_seconds(void **state)
{
	(void)state;
	make(0, 2, 2 * S);
	make(2, 4, 3600 * S);
	reap(3);
	assert_int_equal(left(0, 2), 2);
	assert_int_equal(left(2, 4), 0);
	assert_int_equal(ls->attached, 2);
	assert_int_equal(table_count(ls->idle), 2);
}

/* The next ones need its places; each pass lets few go, as the rings wait meanwhile. */
static void a_half_full_table_lets_idle_ones_go_sooner(void **state)
{
	(void)state;
	make(0, HALF + 2 * TURN, 2 * S);
	reap(1);
	assert_int_equal(ls->attached, HALF + TURN);
	reap(1);
	assert_int_equal(ls->attached, HALF);
	reap(1); /* half of them were there when it began */
	assert_int_equal(ls->attached, HALF - TURN);
	reap(10);
	assert_int_equal(ls->attached, HALF - TURN);
	assert_int_equal(left(0, HALF + 2 * TURN), HALF - TURN);
}

static void those_in_use_stay_in_a_full_table(void **state)
{
	(void)state;
	make(0, LIBRARY_ATTACHED_MAX, 2 * S);
	for (size_t i = 0; i < HALF + 100; i++) {
		library_enter(ls, made[i], 1 + (pid_t)i);
		assert_int_equal(library_users(made[i]), 1);
	}
	reap(LIBRARY_ATTACHED_MAX);
	assert_int_equal(left(0, HALF + 100), HALF + 100);
	assert_int_equal(ls->attached, HALF + 100);
	assert_int_equal(table_count(ls->idle), 0);
}

/* Calls of a process that was never scanned: what is idle may be in use. */
static void calls_keep_idle_ones_while_there_is_room(void **state)
{
	struct gp_rec rec = {.len = sizeof(rec), .probe = 7, .pid = 4711};

	(void)state;
	make(0, HALF, 3600 * S);
	libraries_used(ls, &rec, sizeof(rec));
	assert_true(idle_for_ns(made[0]) >= 3600 * S);
	reap(1);
	assert_int_equal(ls->attached, HALF - TURN);
	libraries_used(ls, &rec, sizeof(rec));
	for (size_t i = 0; i < HALF; i++)
		if (is_there(i))
			assert_true(idle_for_ns(made[i]) < 3600 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_that_is_idle_stays_for_some_seconds, begin,
						end),
		cmocka_unit_test_setup_teardown(a_half_full_table_lets_idle_ones_go_sooner, begin,
						end),
		cmocka_unit_test_setup_teardown(those_in_use_stay_in_a_full_table, begin, end),
		cmocka_unit_test_setup_teardown(calls_keep_idle_ones_while_there_is_room, begin,
						end),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
