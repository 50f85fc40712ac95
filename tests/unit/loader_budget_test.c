/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of the budget, and the counting of hits that it goes by. No kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "loader/budget/budget.h"
#include "loader/budget/cost.h"
#include "loader/budget/tally.h"

#define S     1000000000ull
#define LIMIT 1000000ull /* 0.1 % of a second */
#define TORCH 3
#define CUDA  4

#define PAUSE_NS  (10 * S)
#define SUSTAINED ((int)(BUDGET_SUSTAINED_NS / S))
#define PAUSE	  ((int)(PAUSE_NS / S))

struct told {
	struct budget_change change[64];
	int n;
};

static struct told told;
static struct budget *b;

static void remember(void *ctx, const struct budget_change *change)
{
	struct told *t = ctx;

	assert_true(t->n < 64);
	t->change[t->n++] = *change;
}

static int start(void **state)
{
	(void)state;
	memset(&told, 0, sizeof(told));
	b = budget_new(LIMIT, PAUSE_NS);
	return b ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	budget_free(b);
	return 0;
}

/* What one process spends in a second; what is detached hits no more. */
static void spend(uint32_t pid, uint32_t unit, uint64_t marker_ns, uint64_t confirm_ns,
		  uint64_t bulk_ns)
{
	enum budget_level level = budget_level(b, unit);

	assert_int_equal(budget_add(b, pid, unit, GP_GROUP_marker, marker_ns, BUDGET_SENT), 0);
	if (level < BUDGET_NO_CONFIRM && confirm_ns)
		assert_int_equal(budget_add(b, pid, unit, GP_GROUP_confirm, confirm_ns,
					    level < BUDGET_COUNT ? BUDGET_SENT : BUDGET_COUNTED),
				 0);
	if (level < BUDGET_NO_BULK && bulk_ns)
		assert_int_equal(budget_add(b, pid, unit, GP_GROUP_bulk, bulk_ns, BUDGET_COUNTED),
				 0);
}

static void seconds(int n, uint32_t pid, uint64_t marker_ns, uint64_t confirm_ns, uint64_t bulk_ns)
{
	while (n--) {
		spend(pid, TORCH, marker_ns, confirm_ns, bulk_ns);
		budget_second(b, S, remember, &told);
	}
}

/* Seconds until the unit is at the level; fails after max. */
static int until(enum budget_level level, int max, uint64_t marker_ns, uint64_t confirm_ns,
		 uint64_t bulk_ns)
{
	int n = 0;

	while (budget_level(b, TORCH) != level) {
		assert_true(n++ < max);
		seconds(1, 7, marker_ns, confirm_ns, bulk_ns);
	}
	return n;
}

/* ---- down ------------------------------------------------------------------------------------ */

static void under_the_limit_nothing_changes(void **state)
{
	(void)state;
	seconds(1000, 7, LIMIT / 2, LIMIT / 2, LIMIT / 3);
	assert_int_equal(told.n, 0);
	assert_int_equal(budget_level(b, TORCH), BUDGET_ALL);
}

static void a_burst_is_no_trend(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		seconds(1, 7, 0, 5 * LIMIT, 0);
		seconds(9, 7, 0, LIMIT / 10, 0);
	}
	assert_int_equal(told.n, 0);
}

static void steps_are_taken_in_order(void **state)
{
	(void)state;
	seconds(2 * PAUSE, 7, LIMIT / 2, 3 * LIMIT, 4 * LIMIT);
	assert_int_equal(told.n, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(told.change[i].what, BUDGET_GIVEN_UP);
		assert_int_equal(told.change[i].unit, TORCH);
		assert_int_equal(told.change[i].pid, 7);
		assert_int_equal(told.change[i].from, BUDGET_ALL + i);
		assert_int_equal(told.change[i].to, BUDGET_NO_BULK + i);
		assert_true(told.change[i].cost_ns > LIMIT);
	}
}

static void each_step_waits(void **state)
{
	(void)state;
	assert_in_range(until(BUDGET_NO_BULK, 10, 0, 3 * LIMIT, 4 * LIMIT), SUSTAINED,
			SUSTAINED + 1);
	assert_in_range(until(BUDGET_COUNT, 10, 0, 3 * LIMIT, 4 * LIMIT), SUSTAINED, SUSTAINED);
	/* Bulk was the most of it, but what is left is over the limit too. */
	assert_in_range(until(BUDGET_NO_CONFIRM, 10, 0, 3 * LIMIT, 4 * LIMIT), SUSTAINED,
			SUSTAINED);
}

static void one_step_that_is_enough_is_the_last(void **state)
{
	(void)state;
	seconds(PAUSE, 7, 0, LIMIT / 4, 8 * LIMIT);
	assert_int_equal(budget_level(b, TORCH), BUDGET_NO_BULK);
}

/* Ten thousand launches a second, and a wait a step: the waits are told on. */
static void launches_go_before_waits_are_counted(void **state)
{
	(void)state;
	seconds(20 * PAUSE, 7, 0, LIMIT / 10, 5 * LIMIT);
	for (int i = 0; i < told.n; i++)
		assert_true(told.change[i].to < BUDGET_COUNT);
	assert_int_equal(told.change[0].to, BUDGET_NO_BULK);
}

static void steps_that_spare_nothing_are_left_out(void **state)
{
	(void)state;
	seconds(PAUSE, 7, 0, 0, 2 * LIMIT); /* counted by its row: nothing is sent */
	assert_int_equal(told.n, 1);
	assert_int_equal(told.change[0].from, BUDGET_ALL);
	assert_int_equal(told.change[0].to, BUDGET_NO_BULK);
}

static void the_marker_is_never_given_up(void **state)
{
	(void)state;
	seconds(100, 7, 50 * LIMIT, 0, 0);
	assert_int_equal(budget_level(b, TORCH), BUDGET_ALL);
	assert_int_equal(told.n, 1); /* and that is said, once */
	assert_int_equal(told.change[0].what, BUDGET_MARKER);
	assert_int_equal(told.change[0].pid, 7);
	assert_in_range(told.change[0].cost_ns, 20 * LIMIT, 50 * LIMIT);
	seconds(100, 7, LIMIT / 4, 0, 0);
	seconds(100, 7, 50 * LIMIT, 0, 0);
	assert_int_equal(told.n, 2);
}

static void what_finds_steps_is_kept(void **state)
{
	(void)state;
	budget_protect(b, TORCH, GP_GROUP_confirm, true);
	seconds(100, 7, 0, 3 * LIMIT, 0);
	assert_int_equal(budget_level(b, TORCH), BUDGET_COUNT);
	budget_protect(b, TORCH, GP_GROUP_confirm, false);
	seconds(PAUSE, 7, 0, 3 * LIMIT, 0);
	assert_int_equal(budget_level(b, TORCH), BUDGET_NO_CONFIRM);
}

/* Operators that steps are found by are many: they starve nothing else, and are told as the marker
 * is. */
static void what_is_kept_is_not_bounded(void **state)
{
	(void)state;
	budget_protect(b, TORCH, GP_GROUP_confirm, true);
	budget_protect(b, TORCH, GP_GROUP_bulk, true);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(budget_add(b, 7, TORCH, GP_GROUP_bulk, 9 * LIMIT, BUDGET_KEPT), 0);
		assert_int_equal(budget_add(b, 7, TORCH, GP_GROUP_confirm, LIMIT, BUDGET_KEPT), 0);
		seconds(1, 7, 0, LIMIT / 4, 0);
	}
	assert_int_equal(budget_level(b, TORCH), BUDGET_ALL);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.change[0].what, BUDGET_MARKER);
	assert_in_range(told.change[0].cost_ns, 5 * LIMIT, 10 * LIMIT);
	for (int i = 0; i < 100; i++) { /* steps are found by something else now */
		if (i == 0)
			budget_protect(b, TORCH, GP_GROUP_bulk, false);
		seconds(1, 7, 0, LIMIT / 4,
			budget_level(b, TORCH) < BUDGET_NO_BULK ? 9 * LIMIT : 0);
	}
	assert_int_equal(told.change[1].what, BUDGET_GIVEN_UP);
	assert_int_equal(told.change[1].to, BUDGET_NO_BULK);
}

/* It goes when nothing is found by it any more, though its unit is lower by then, and comes back
 * when it is. */
static void what_bulk_finds_is_kept(void **state)
{
	(void)state;
	budget_protect(b, TORCH, GP_GROUP_bulk, true);
	seconds(20, 7, 0, 3 * LIMIT, 3 * LIMIT);
	assert_int_equal(told.n, 2);
	assert_int_equal(told.change[0].to, BUDGET_COUNT);
	assert_int_equal(told.change[1].to, BUDGET_NO_CONFIRM);
	assert_int_equal(stop(state), 0);
	assert_int_equal(start(state), 0);
	budget_protect(b, TORCH, GP_GROUP_bulk, true);
	seconds(20, 7, 0, 0, 3 * LIMIT); /* nothing else is there to give up */
	assert_int_equal(told.n, 0);
	budget_protect(b, TORCH, GP_GROUP_bulk, false);
	seconds(SUSTAINED, 7, 0, 0, 3 * LIMIT);
	assert_int_equal(budget_level(b, TORCH), BUDGET_NO_BULK);
}

static void faults_are_kept(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(budget_add(b, 7, TORCH, GP_GROUP_fault, 9 * LIMIT, BUDGET_SENT),
				 0);
		budget_second(b, S, remember, &told);
	}
	assert_int_equal(told.n, 0);
}

static void the_dearest_process_decides(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * PAUSE; i++) {
		for (uint32_t pid = 100; pid < 108; pid++)
			spend(pid, TORCH, 0, pid == 103 ? 2 * LIMIT : LIMIT / 2, 0);
		budget_second(b, S, remember, &told);
	}
	assert_true(told.n >= 2);
	for (int i = 0; i < told.n; i++)
		assert_int_equal(told.change[i].pid, 103);
	assert_int_equal(budget_level(b, TORCH), BUDGET_NO_CONFIRM);
}

static void the_dearest_runtime_goes_first(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		spend(7, TORCH, 0, LIMIT / 2, 0);
		spend(7, CUDA, 0, 0, 2 * LIMIT);
		budget_second(b, S, remember, &told);
		assert_int_equal(budget_level(b, TORCH), BUDGET_ALL);
	}
	assert_int_equal(told.change[0].unit, CUDA);
}

static void longer_seconds_are_no_dearer(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		spend(7, TORCH, 0, 3 * LIMIT, 0);
		budget_second(b, 4 * S, remember, &told);
	}
	assert_int_equal(told.n, 0);
}

static void no_limit_gives_nothing_up(void **state)
{
	(void)state;
	budget_free(b);
	b = budget_new(0, PAUSE_NS);
	seconds(100, 7, 50 * LIMIT, 50 * LIMIT, 50 * LIMIT);
	assert_int_equal(told.n, 0);
}

/* ---- and back -------------------------------------------------------------------------------- */

static void calm_brings_all_back(void **state)
{
	int n;

	(void)state;
	until(BUDGET_NO_CONFIRM, 40, 0, 3 * LIMIT, 4 * LIMIT);
	n = until(BUDGET_ALL, 20 * PAUSE, 0, LIMIT / 10, LIMIT / 10);
	assert_true(n >= 3 * PAUSE); /* a step at a time */
	assert_int_equal(told.n, 6);
	for (int i = 3; i < 6; i++) {
		assert_int_equal(told.change[i].what, BUDGET_CAME_BACK);
		assert_int_equal(told.change[i].from, told.change[5 - i].to);
		assert_int_equal(told.change[i].to, told.change[5 - i].from);
	}
	seconds(1000, 7, 0, LIMIT / 10, LIMIT / 10);
	assert_int_equal(told.n, 6);
}

static void the_forecast_keeps_the_hot_away(void **state)
{
	int mild, hot;

	(void)state;
	until(BUDGET_NO_BULK, 40, 0, 0, 2 * LIMIT);
	mild = until(BUDGET_ALL, 100 * PAUSE, 0, 0, 0);
	stop(state);
	start(state);
	until(BUDGET_NO_BULK, 40, 0, 0, 1000 * LIMIT);
	hot = until(BUDGET_ALL, 100 * PAUSE, 0, 0, 0);
	assert_true(hot >= mild + 6 * PAUSE);
}

static void counting_sees_when_it_fits(void **state)
{
	(void)state;
	until(BUDGET_COUNT, 40, 0, 3 * LIMIT, 0);
	budget_protect(b, TORCH, GP_GROUP_confirm, true);
	seconds(100 * PAUSE, 7, 0, LIMIT - 1, 0); /* under the limit, but with no room to spare */
	assert_int_equal(budget_level(b, TORCH), BUDGET_COUNT);
	seconds(PAUSE, 7, 0, LIMIT / 2, 0);
	assert_int_equal(budget_level(b, TORCH), BUDGET_ALL);
}

/* As hot as ever: each return is a mistake, and the next comes later. */
static void pauses_grow(void **state)
{
	int away, before = 0;

	(void)state;
	for (int i = 0; i < 5; i++) {
		until(BUDGET_NO_BULK, 100000, 0, 0, 2 * LIMIT);
		away = until(BUDGET_ALL, 100000, 0, 0, 2 * LIMIT);
		assert_true(!before || away >= 2 * before - 2);
		before = away;
	}
	seconds(100 * before, 7, 0, 0, 0); /* long calm */
	until(BUDGET_NO_BULK, 100, 0, 0, 2 * LIMIT);
	assert_true(until(BUDGET_ALL, 10 * PAUSE, 0, 0, 0) < before);
}

static void the_dead_hold_nothing_back(void **state)
{
	int n = 0;

	(void)state;
	until(BUDGET_NO_CONFIRM, 40, 0, 1000 * LIMIT, 1000 * LIMIT);
	budget_forget(b, 7);
	while (budget_level(b, TORCH) != BUDGET_ALL) {
		spend(8, TORCH, LIMIT / 9, LIMIT / 9, LIMIT / 9);
		budget_second(b, S, remember, &told);
		n++;
	}
	assert_in_range(n, 3 * PAUSE - 3, 3 * PAUSE);
}

/* ---- hits ------------------------------------------------------------------------------------ */

struct sums {
	uint64_t sent, counted;
	int cells;
};

static void add_up(void *ctx, uint32_t pid, uint32_t probe, uint64_t sent, uint64_t counted)
{
	struct sums *s = ctx;

	assert_int_equal(sent, probe == 5 ? 3 : 1 + (pid == 7));
	s->sent += sent;
	s->counted += counted;
	s->cells++;
}

static void tallies_tell_processes_apart(void **state)
{
	_Alignas(8) char data[8192] = {0};
	struct tally *t = tally_new();
	struct sums sums = {0};
	size_t len = 0;

	(void)state;
	for (uint32_t pid = 7; pid < 12; pid++) {
		for (int i = 0; i < 4 + (pid == 7);
		     i++) { /* 3 of one probe, the others of one that shares its place */
			*(struct gp_rec *)(data +
					   len) = (struct gp_rec){.pid = pid,
								  .len = sizeof(struct gp_rec) + 20,
								  .kind = GP_KIND_hit,
								  .probe = i < 3 ? 5 : 5 + 256};
			len += (sizeof(struct gp_rec) + 20 + 7) & ~7u;
		}
	}
	*(struct gp_rec *)(data + len) = (struct gp_rec){
		.pid = 7, .len = sizeof(struct gp_rec), .kind = GP_KIND_fork};
	tally_records(t, data, len + sizeof(struct gp_rec));
	tally_count(t, 7, 5, 1000);
	tally_records(t, data + len, sizeof(struct gp_rec) - 1); /* torn */
	memset(data, 0, sizeof(struct gp_rec));
	tally_records(t, data, sizeof(data)); /* no length */
	tally_take(t, add_up, &sums);
	assert_int_equal(sums.cells, 10);
	assert_int_equal(sums.sent, 5 * 4 + 1);
	assert_int_equal(sums.counted, 1000);
	tally_take(t, add_up, &sums);
	tally_take(t, add_up, &sums);
	assert_int_equal(sums.cells, 10);
	tally_free(t);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static bool still_watched(void *ctx, pid_t pid)
{
	(void)ctx;
	(void)pid;
	return true;
}

static void settled(void *ctx)
{
	++*(int *)ctx;
}

/* A row of group measure is attached while its role is needed, until it has cost a process as much
 * as the budget allows for COST_MEASURE_SECONDS; the next measurement begins anew. */
static void measuring_stops_at_its_limit(void **state)
{
	const uint64_t role = 1ull << GP_ROLE_operation;
	const struct probe_row *row;
	struct probe_table *probes;
	int changes = 0;
	struct cost *c;
	size_t at;

	(void)state;
	assert_int_equal(probe_table_load(&probes, "probes"), 0);
	at = probe_table_index(probes, gp_probe_hash("torch.op_mm"));
	assert_true(at < probe_table_count(probes));
	row = probe_table_row(probes, at);
	assert_int_equal(cost_new(&c, probes, LIMIT, PAUSE_NS), 0);
	cost_set_hit(c, row->hash, 1000);
	assert_int_equal(cost_row(c, row), COST_IDLE);
	assert_true(cost_protect(c, role, 0));
	for (int round = 0; round < 2; round++) {
		assert_int_equal(cost_row(c, row), COST_SENT);
		cost_count(c, 7, row->hash, LIMIT / 1000 * COST_MEASURE_SECONDS);
		cost_second(c, S, still_watched, settled, &changes);
		assert_int_equal(cost_row(c, row), COST_SENT);
		cost_count(c, 7, row->hash, 1);
		cost_count(c, 8, row->hash, 1);
		cost_second(c, 2 * S, still_watched, settled, &changes);
		assert_int_equal(cost_row(c, row), COST_DETACHED);
		assert_int_equal(changes, round + 1);
		cost_protect(c, 0, 0);
		assert_int_equal(cost_row(c, row), COST_IDLE);
		cost_protect(c, role, 0);
	}
	cost_free(c);
	probe_table_free(probes);
}

#define POLICY(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		POLICY(under_the_limit_nothing_changes),
		POLICY(a_burst_is_no_trend),
		POLICY(steps_are_taken_in_order),
		POLICY(each_step_waits),
		POLICY(one_step_that_is_enough_is_the_last),
		POLICY(launches_go_before_waits_are_counted),
		POLICY(steps_that_spare_nothing_are_left_out),
		POLICY(the_marker_is_never_given_up),
		POLICY(what_finds_steps_is_kept),
		POLICY(what_is_kept_is_not_bounded),
		POLICY(what_bulk_finds_is_kept),
		POLICY(faults_are_kept),
		POLICY(the_dearest_process_decides),
		POLICY(the_dearest_runtime_goes_first),
		POLICY(longer_seconds_are_no_dearer),
		POLICY(no_limit_gives_nothing_up),
		cmocka_unit_test(measuring_stops_at_its_limit),
		POLICY(calm_brings_all_back),
		POLICY(the_forecast_keeps_the_hot_away),
		POLICY(counting_sees_when_it_fits),
		POLICY(pauses_grow),
		POLICY(the_dead_hold_nothing_back),
		cmocka_unit_test(tallies_tell_processes_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
