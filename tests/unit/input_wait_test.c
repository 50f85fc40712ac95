/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for input, second by second, and what the workers of the loader say about them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/model/time/input_wait.h"

#define S  1000000000ull
#define MS 1000000ull
#define T0 (100 * S)

static struct {
	struct input_waits *waits;
	uint64_t now_ns;
} w;

static int setup(void **state)
{
	(void)state;
	w.waits = input_waits_new();
	w.now_ns = T0;
	return w.waits ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	input_waits_free(w.waits);
	return 0;
}

/* Training waits for wait_ns in each of n seconds; what the workers did is f. */
static void seconds(unsigned n, uint64_t wait_ns, struct gp_input f)
{
	f.span_ns = S;
	for (unsigned i = 0; i < n; i++) {
		input_waits_add(w.waits, w.now_ns, w.now_ns + wait_ns);
		w.now_ns += S;
		input_waits_figures(w.waits, w.now_ns, &f);
	}
}

static struct input_finding found(void)
{
	struct input_sums s;
	struct input_finding f;
	uint64_t sum_ns = 0;

	input_waits_total(w.waits, &s);
	for (int i = 0; i < INPUT_REASONS; i++)
		sum_ns += s.ns[i];
	assert_int_equal(sum_ns, s.wait_ns);
	input_find(&s, &f);
	return f;
}

static void finds(enum input_reason reason, double share, const char *text)
{
	struct input_finding f = found();
	char out[120];

	assert_int_equal(f.reason, reason);
	if (f.share < share - 0.01 || f.share > share + 0.01)
		fail_msg("%f instead of %f", f.share, share);
	assert_string_equal(input_finding_text(out, sizeof(out), &f), text);
	for (size_t cap = 1; cap < 60; cap++)
		assert_in_range(strlen(input_finding_text(out, cap, &f)), 0, cap - 1);
}

static void computing(void **state)
{
	(void)state;
	seconds(20, 600 * MS,
		(struct gp_input){.cpu_ns = 2 * S,
				  .top = 5,
				  .top_cpu_ns = S,
				  .workers = 2,
				  .busy = 2,
				  .main_cpu_ns = 400 * MS,
				  .cores = 1600,
				  .idle_ns = 14 * S,
				  .flags = GP_INPUT_IDLE});
	finds(INPUT_WORKERS, 1, "2 loader workers at 100 % CPU, 14 of 16 cores idle");
	assert_false(found().one_slow);
	assert_true(found().busy > 1.9 && found().workers < 2.1);
}

static void one_slow(void **state)
{
	(void)state;
	seconds(20, 600 * MS,
		(struct gp_input){.cpu_ns = 1020 * MS,
				  .top = 5,
				  .top_cpu_ns = 960 * MS,
				  .workers = 4,
				  .busy = 1});
	finds(INPUT_WORKERS, 0.96, "1 of 4 loader workers at 96 % CPU, the others wait for it");
	assert_true(found().one_slow);
}

/* Workers that sleep, that wait for work, and that work less than all the time explain nothing. */
static void unknown(void **state)
{
	(void)state;
	seconds(5, 600 * MS, (struct gp_input){.cpu_ns = 100 * MS, .workers = 2, .sleeping = 2});
	seconds(5, 600 * MS, (struct gp_input){.cpu_ns = 100 * MS, .workers = 2});
	seconds(5, 600 * MS,
		(struct gp_input){.cpu_ns = 1200 * MS, .top_cpu_ns = 600 * MS, .workers = 2});
	seconds(5, 900 * MS, (struct gp_input){.main_cpu_ns = 100 * MS});
	finds(INPUT_UNKNOWN, 1, "");
}

/* One worker computes all the time, another sleeps: training waits for both. */
static void half(void **state)
{
	(void)state;
	seconds(10, 600 * MS,
		(struct gp_input){
			.cpu_ns = S, .top_cpu_ns = S, .workers = 2, .busy = 1, .sleeping = 1});
	assert_int_equal(found().reason, INPUT_WORKERS);
	assert_true(found().share > 0.49 && found().share < 0.51);
}

static void contention(void **state)
{
	(void)state;
	seconds(10, 600 * MS,
		(struct gp_input){.cpu_ns = 600 * MS,
				  .wait_ns = 1400 * MS,
				  .top_cpu_ns = 300 * MS,
				  .top_wait_ns = 700 * MS,
				  .workers = 2,
				  .busy = 2});
	finds(INPUT_CONTENTION, 0.7, "2 loader workers: others run on their CPUs");
}

static void waiting(void **state)
{
	(void)state;
	seconds(10, 600 * MS,
		(struct gp_input){
			.cpu_ns = 400 * MS, .top_cpu_ns = 200 * MS, .workers = 2, .disk = 2});
	finds(INPUT_DISK, 0.8, "2 loader workers: waiting for files");
	seconds(30, 600 * MS,
		(struct gp_input){
			.cpu_ns = 40 * MS, .top_cpu_ns = 40 * MS, .workers = 1, .network = 1});
	assert_int_equal(found().reason, INPUT_NETWORK);
}

/* The kernel measured the waits for block I/O of the workers. */
static void measured(void **state)
{
	(void)state;
	seconds(10, 600 * MS,
		(struct gp_input){.cpu_ns = 200 * MS,
				  .block_ns = 1800 * MS,
				  .top_cpu_ns = 100 * MS,
				  .top_block_ns = 900 * MS,
				  .workers = 2,
				  .flags = GP_INPUT_BLOCK});
	finds(INPUT_DISK, 0.9, "2 loader workers: waiting for files");
}

/* The thread was on a CPU for longer than it did not wait. */
static void main_thread(void **state)
{
	(void)state;
	seconds(10, 600 * MS, (struct gp_input){.main_cpu_ns = 950 * MS});
	finds(INPUT_MAIN, 0.917, "no loader workers: the training thread loads the batches");
	seconds(30, 600 * MS, (struct gp_input){.main_cpu_ns = S, .workers = 2});
	assert_int_equal(found().reason, INPUT_MAIN);
	assert_true(found().workers > 1);
}

static void pinning(void **state)
{
	(void)state;
	seconds(10, 600 * MS, (struct gp_input){.pin_cpu_ns = 980 * MS, .workers = 2});
	finds(INPUT_PIN, 0.98, "the thread that pins memory is at 100 % CPU");
}

/* A wait over several seconds counts in each, though it is known only afterwards. */
static void long_wait(void **state)
{
	struct input_sums s;
	const struct gp_input f = {
		.span_ns = S, .cpu_ns = S, .top_cpu_ns = S, .workers = 1, .busy = 1};

	(void)state;
	for (int i = 1; i <= 5; i++)
		input_waits_figures(w.waits, T0 + i * S, &f);
	input_waits_add(w.waits, T0 + S / 2, T0 + 5 * S + S / 4);
	input_waits_total(w.waits, &s);
	assert_int_equal(s.wait_ns, 4500 * MS);
	assert_int_equal(s.ns[INPUT_WORKERS], 4500 * MS);
	input_waits_figures(w.waits, T0 + 6 * S, &f);
	input_waits_total(w.waits, &s);
	assert_int_equal(s.wait_ns, 4750 * MS);
	input_waits_between(w.waits, T0 + S, T0 + 3 * S, &s);
	assert_int_equal(s.wait_ns, 2 * S);
	input_waits_between(w.waits, T0 + S, T0 + 2 * S + S / 2, &s);
	assert_int_equal(s.wait_ns, 1500 * MS);
}

/* Waits while nothing was sampled count in no second; seconds that are no longer kept stay in the
 * total. */
static void holes(void **state)
{
	struct input_sums s;

	(void)state;
	seconds(2, 500 * MS, (struct gp_input){.workers = 1});
	input_waits_add(w.waits, w.now_ns, w.now_ns + 8 * S);
	w.now_ns += 9 * S;
	seconds(1, 500 * MS, (struct gp_input){.workers = 1});
	input_waits_total(w.waits, &s);
	assert_in_range(s.wait_ns, 1500 * MS, 2 * S);
	seconds(INPUT_SECONDS + 50, 500 * MS, (struct gp_input){.workers = 1});
	input_waits_total(w.waits, &s);
	assert_in_range(s.wait_ns, (INPUT_SECONDS + 53) * 500 * MS,
			(INPUT_SECONDS + 54) * 500 * MS);
}

static void gate(void **state)
{
	struct input_gate g = {0};

	(void)state;
	assert_false(input_gate_starved(&g, T0));
	for (uint64_t i = 0; i < 60; i++) /* 2 % */
		input_gate_wait(&g, T0 + i * S, T0 + i * S + 20 * MS);
	assert_false(input_gate_starved(&g, T0 + 60 * S));
	for (uint64_t i = 60; i < 90; i++)
		input_gate_wait(&g, T0 + i * S, T0 + i * S + 50 * MS);
	assert_true(input_gate_starved(&g, T0 + 90 * S));
	assert_false(input_gate_starved(&g, T0 + 190 * S));
	input_gate_wait(&g, T0 + 1000 * S, T0 + 1060 * S); /* one long wait, and the next one */
	assert_true(input_gate_starved(&g, T0 + 1110 * S));
}

static void hostile(void **state)
{
	struct gp_input f;
	struct input_sums s;
	uint64_t sum_ns = 0;

	(void)state;
	memset(&f, 0xff, sizeof(f));
	input_waits_figures(w.waits, w.now_ns, &f);
	f.span_ns = S;
	input_waits_add(w.waits, 0, UINT64_MAX);
	for (int i = 0; i < 10; i++) {
		input_waits_figures(w.waits, w.now_ns + i * S, &f);
		input_waits_add(w.waits, 0, UINT64_MAX);
		input_waits_add(w.waits, UINT64_MAX, 0);
		f.workers = (uint16_t)(0xffff >> (2 * i));
		f.top_cpu_ns >>= 3;
	}
	input_waits_figures(w.waits, 0, &f);
	input_waits_figures(w.waits, w.now_ns, &f);
	input_waits_total(w.waits, &s);
	for (int i = 0; i < INPUT_REASONS; i++)
		sum_ns += s.ns[i];
	assert_int_equal(sum_ns, s.wait_ns);
	assert_true(s.wait_ns <= 12 * S);
}

static void archived(void **state)
{
	struct input_waits *copy = NULL;
	struct input_sums a, b;
	struct buffer bytes = {0};
	struct archive ar;

	(void)state;
	seconds(INPUT_SECONDS + 20, 600 * MS,
		(struct gp_input){.cpu_ns = S, .top_cpu_ns = S, .workers = 1, .busy = 1});
	archive_write(&ar, &bytes, "inputwts", 1);
	input_waits_archive(&ar, &w.waits);
	assert_int_equal(archive_end(&ar), 0);
	archive_read(&ar, bytes.data, bytes.len, "inputwts", 1);
	input_waits_archive(&ar, &copy);
	assert_int_equal(archive_end(&ar), 0);
	input_waits_total(w.waits, &a);
	input_waits_total(copy, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	input_waits_free(copy);
	buffer_free(&bytes);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(computing), T(one_slow), T(unknown), T(half),	       T(contention),
		T(waiting),   T(measured), T(pinning), T(main_thread), T(long_wait),
		T(holes),     T(gate),	   T(hostile), T(archived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
