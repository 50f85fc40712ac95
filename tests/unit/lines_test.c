/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of lines from samples, and which of them have grown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/model/time/lines.h"

#define S  1000000000ull
#define MS 1000000ull
#define T0 (100 * S)

static struct lines *lines;
static uint64_t now_ns;

static int setup(void **state)
{
	(void)state;
	lines = lines_new();
	now_ns = T0;
	return lines ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	lines_free(lines);
	return 0;
}

static struct gp_line at(const char *file, uint32_t line, const char *function)
{
	struct gp_line l = {
		.span_us = 100000, .line = line, .state = GP_LINE_RUNS, .flags = GP_LINE_GIL};

	l.flags |= GP_LINE_OWN;
	snprintf(l.file, sizeof(l.file), "%s", file);
	snprintf(l.function, sizeof(l.function), "%s", function);
	snprintf(l.inner_function, sizeof(l.inner_function), "%s", function);
	return l;
}

static struct gp_line elsewhere(void)
{
	return (struct gp_line){.span_us = 100000, .state = GP_LINE_WAITS};
}

/* n samples, of which `share` of 100 are l. */
static void samples(unsigned n, struct gp_line l, unsigned share)
{
	for (unsigned i = 0, sum = 50; i < n; i++) {
		struct gp_line one = elsewhere();

		sum += share;
		if (sum >= 100) {
			one = l;
			sum -= 100;
		}
		now_ns += 100 * MS;
		one.at_ns = now_ns;
		lines_add(lines, now_ns, &one, false);
	}
}

static struct lines_slower slower(uint64_t from_ns, uint64_t onset_ns, uint64_t before_ns,
				  uint64_t after_ns)
{
	struct lines_sums before, after;
	struct lines_slower ret;

	lines_between(lines, from_ns, onset_ns, false, &before);
	lines_between(lines, onset_ns, now_ns + 1, true, &after);
	lines_slower(lines, &before, before_ns, &after, after_ns, &ret);
	return ret;
}

/* Steps of 100 ms, then of 200 ms. Returns the growth at `since`. */
static struct lines_slower grown(struct gp_line usual, unsigned usual_share, struct gp_line since,
				 unsigned share, unsigned n)
{
	samples(200, usual, usual_share);
	samples(n, since, share);
	return slower(T0, T0 + 20 * S + 1, 100 * MS, 200 * MS);
}

static void new_line(void **state)
{
	struct lines_slower g = grown(at("train.py", 12, "main"), 20, at("/x/train.py", 31, "step"),
				      50, 200);

	(void)state;
	assert_int_equal(g.own_ns, 100 * MS);
	assert_string_equal(g.line, "/x/train.py:31 in step()");
	assert_int_equal(g.collect_ns, 0);
}

static void module(void **state)
{
	struct lines_slower g = grown(at("train.py", 12, "main"), 20,
				      at("train.py", 40, "<module>"), 50, 200);

	(void)state;
	assert_string_equal(g.line, "train.py:40");
	teardown(state);
	setup(state);
	g = grown(at("train.py", 12, "main"), 20, at("train.py", 9, "f.<locals>.g"), 50, 200);
	assert_string_equal(g.line, "train.py:9 in g()");
}

/* A loop goes over several lines of a function: together they have grown. */
static void several_lines(void **state)
{
	struct lines_slower g;

	(void)state;
	samples(200, at("train.py", 12, "main"), 20);
	for (unsigned i = 0; i < 20; i++) {
		for (uint32_t line = 0; line < 5; line++)
			samples(1, at("train.py", 50 + line, "slow"), 100);
		samples(5, elsewhere(), 0);
	}
	g = slower(T0, T0 + 20 * S + 1, 100 * MS, 200 * MS);
	assert_int_equal(g.own_ns, 100 * MS);
	assert_memory_equal(g.line, "train.py:5", 10);
}

static void nothing_sure(void **state)
{
	struct gp_line l = at("train.py", 31, "step");

	(void)state;
	assert_int_equal(grown(l, 50, l, 50, 200).own_ns, 0); /* all is slower */
	teardown(state);
	setup(state);
	assert_int_equal(grown(l, 0, l, 50, 19).own_ns, 0); /* too few samples */
	teardown(state);
	setup(state);
	assert_int_equal(grown(l, 0, l, 5, 200).own_ns, 0); /* may be chance */
	teardown(state);
	setup(state);
	assert_int_equal(grown(l, 40, l, 38, 200).own_ns, 0); /* has not doubled */
}

/* Time in which the thread waits, in which a package or a data loader runs, or of which it is not
 * known what runs, is not that of the user's own code. */
static void not_own(void **state)
{
	struct gp_line usual = at("train.py", 12, "main"), bad[7];

	for (int i = 0; i < 7; i++)
		bad[i] = at("train.py", 31, "step");
	bad[0].state = GP_LINE_WAITS;
	bad[1].state = GP_LINE_UNKNOWN;
	bad[2].flags &= (uint16_t)~GP_LINE_GIL; /* native code */
	bad[3].flags |= GP_LINE_PACKAGE;
	bad[4].flags |= GP_LINE_INPUT;
	bad[5].line = 0;
	bad[6].state = GP_LINE_SLEEPS;
	bad[6].flags = 0; /* something that it has called sleeps */
	for (int i = 0; i < 7; i++) {
		struct lines_slower g = grown(usual, 20, bad[i], 50, 200);

		assert_int_equal(g.own_ns, 0);
		assert_string_equal(g.line, "");
		teardown(state);
		setup(state);
	}
	bad[6].flags = GP_LINE_OWN;
	assert_int_equal(grown(usual, 20, bad[6], 50, 200).own_ns, 100 * MS);
}

static void collector(void **state)
{
	struct gp_line l = at("train.py", 31, "step");
	struct lines_slower g;

	(void)state;
	l.flags |= GP_LINE_COLLECT;
	g = grown(at("train.py", 12, "main"), 20, l, 50, 200);
	assert_int_equal(g.collect_ns, 100 * MS);
	assert_int_equal(g.own_ns, 0);
}

/* A data loader's time is known by itself, and is no line's. */
static void loader(void **state)
{
	struct gp_line l = at("train.py", 31, "step");
	struct lines_sums sums;

	(void)state;
	l.flags |= GP_LINE_INPUT;
	samples(30, at("a.py", 1, "f"), 100);
	samples(10, l, 100);
	lines_between(lines, 0, now_ns + 1, false, &sums);
	assert_int_equal(sums.n, 40);
	assert_int_equal(sums.input_ns, sums.ns / 4);
	assert_int_equal(sums.count, 1);
}

static void locked(void **state)
{
	struct gp_line l = at("train.py", 31, "step");
	struct lines_slower g;

	(void)state;
	l.state = GP_LINE_WAITS;
	l.flags = GP_LINE_LOCKED;
	g = grown(at("train.py", 12, "main"), 20, l, 50, 200);
	assert_int_equal(g.locked_ns, 100 * MS);
	assert_int_equal(g.own_ns + g.collect_ns, 0);
}

/* The line is that of the thread that has the lock; its time is another cause if it saves. */
static void locked_by_another(void **state)
{
	struct gp_line l = at("train.py", 31, "step");
	struct lines_sums sums;
	struct lines_top most;

	(void)state;
	l.state = GP_LINE_WAITS;
	l.flags = GP_LINE_LOCKED;
	l.holder_line = 52;
	snprintf(l.holder_file, sizeof(l.holder_file), "saver.py");
	snprintf(l.holder_function, sizeof(l.holder_function), "save");
	samples(30, l, 100);
	l.at_ns = now_ns;
	for (int i = 0; i < 25; i++)
		lines_add(lines, now_ns, &l, true);
	lines_between(lines, 0, now_ns + 1, true, &sums);
	assert_int_equal(sums.locked_ns, 30 * 100 * MS);
	assert_int_equal(sums.saved_ns, 25 * 100 * MS);
	assert_int_equal(sums.count, 0); /* it is not the thread's own time */
	lines_most(lines, LINES_SAVED, 0, now_ns + 1, &most);
	assert_string_equal(most.line, "saver.py:52 in save()");
	assert_true(most.share == 1);
	lines_most(lines, LINES_LOCKED, 0, now_ns + 1, &most);
	assert_string_equal(most.line, "saver.py:52 in save()");
	lines_most(lines, LINES_WAITS, 0, now_ns + 1, &most);
	assert_string_equal(most.line, "");
}

static void waits(void **state)
{
	struct gp_line l = at("train.py", 31, "step");
	struct lines_top most;

	(void)state;
	l.state = GP_LINE_WAITS;
	l.flags = GP_LINE_OWN;
	samples(30, l, 100);
	l.line = 32;
	samples(10, l, 100);
	lines_most(lines, LINES_WAITS, 0, now_ns + 1, &most);
	assert_string_equal(most.line, "train.py:31 in step()");
	assert_true(most.share == 0.75);
	lines_most(lines, LINES_WAITS, now_ns + 1, now_ns + 2, &most);
	assert_string_equal(most.line, "");
}

/* A thread that holds the lock does not wait for it. */
static void locked_by_itself(void **state)
{
	struct gp_line l = at("train.py", 31, "step");

	(void)state;
	l.state = GP_LINE_WAITS;
	l.flags |= GP_LINE_LOCKED;
	assert_int_equal(grown(at("train.py", 12, "main"), 20, l, 50, 200).locked_ns, 0);
}

static void top(void **state)
{
	struct gp_line called = at("model.py", 5, "forward");
	struct lines_top t[LINES_TOP];
	struct lines_sums sums;

	(void)state;
	called.flags |= GP_LINE_CALLED;
	samples(10, at("a.py", 1, "f"), 100);
	samples(20, called, 100);
	samples(30, at("a.py", 2, "f"), 100);
	samples(10, at("a.py", 3, "f"), 100);
	samples(5, at("a.py", 4, "f"), 100);
	samples(25, elsewhere(), 0);
	lines_between(lines, 0, now_ns + 1, false, &sums);
	assert_int_equal(sums.n, 100);
	lines_top(lines, &sums, t);
	assert_string_equal(t[0].line, "a.py:2 in f()");
	assert_string_equal(t[1].line, "a.py:1 in f()");
	assert_string_equal(t[2].line, "a.py:3 in f()");
	assert_true(t[0].share > 0.299 && t[0].share < 0.301);
	assert_true(t[2].share > 0.099 && t[2].share < 0.101);
}

static void last(void **state)
{
	struct gp_line l = at("train.py", 88, "step");

	(void)state;
	assert_int_equal(lines_last(lines)->at_ns, 0);
	samples(1, at("data.py", 3, "fetch"), 100);
	assert_string_equal(lines_last(lines)->text, "fetch at data.py:3");
	assert_false(lines_last(lines)->waits);
	l.flags = GP_LINE_PACKAGE;
	l.state = GP_LINE_WAITS;
	snprintf(l.inner_function, sizeof(l.inner_function), "all_reduce");
	samples(5, l, 100);
	assert_string_equal(lines_last(lines)->text, "all_reduce at train.py:88");
	assert_true(lines_last(lines)->waits);
	assert_int_equal(lines_last(lines)->since_ns, T0 + 200 * MS);
	assert_int_equal(lines_last(lines)->at_ns, now_ns);
	l.line = 89; /* of the same function */
	samples(1, l, 100);
	assert_int_equal(lines_last(lines)->since_ns, T0 + 200 * MS);
}

/* Impossible times, texts without an end, more lines than there is room for. */
static void hostile(void **state)
{
	struct lines_sums before, sums;
	struct lines_slower g;
	struct gp_line l;

	(void)state;
	memset(&l, 0xff, sizeof(l));
	lines_add(lines, now_ns, &l, false);
	l.at_ns = now_ns - 11 * S;
	l.span_us = 1;
	lines_add(lines, now_ns, &l, false);
	l.at_ns = now_ns;
	l.span_us = UINT32_MAX;
	lines_add(lines, now_ns, &l, false);
	l.span_us = 0;
	lines_add(lines, now_ns, &l, false);
	assert_int_equal(lines_count(lines), 0);
	l.span_us = 1;
	lines_add(lines, now_ns, &l, false);
	assert_int_equal(lines_count(lines), 1);
	for (uint32_t i = 1; i < 5000; i++)
		samples(1, at("a.py", i, "f"), 100);
	lines_between(lines, 0, UINT64_MAX, false, &sums);
	assert_int_equal(sums.n, LINES_SAMPLES);
	assert_in_range(sums.count, 1, LINES_KEPT);
	lines_between(lines, 0, 0, false, &before);
	lines_slower(lines, &before, 0, &sums, UINT64_MAX, &g);
	assert_int_equal(g.own_ns, 0);
	lines_slower(lines, &sums, 1, &before, 2, &g);
	assert_int_equal(g.own_ns, 0);
	/* Old lines give way: a later one has a place again. */
	samples(LINES_SAMPLES, at("b.py", 7, "g"), 100);
	lines_between(lines, 0, UINT64_MAX, false, &sums);
	assert_in_range(sums.count, 1, 2);
}

static void archived(void **state)
{
	struct lines *copy = NULL;
	struct lines_sums a, b;
	struct buffer bytes = {0};
	struct archive ar;

	(void)state;
	samples(300, at("train.py", 31, "step"), 50);
	archive_write(&ar, &bytes, "lines...", 1);
	lines_archive(&ar, &lines);
	assert_int_equal(archive_end(&ar), 0);
	archive_read(&ar, bytes.data, bytes.len, "lines...", 1);
	lines_archive(&ar, &copy);
	assert_int_equal(archive_end(&ar), 0);
	lines_between(lines, 0, UINT64_MAX, false, &a);
	lines_between(copy, 0, UINT64_MAX, false, &b);
	assert_int_equal(a.n, b.n);
	assert_int_equal(a.count, b.count);
	assert_int_equal(a.of[0].ns, b.of[0].ns);
	assert_string_equal(lines_last(lines)->text, lines_last(copy)->text);
	lines_free(copy);
	buffer_free(&bytes);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(new_line),	     T(module), T(several_lines), T(nothing_sure),	T(not_own),
		T(collector),	     T(loader), T(locked),	  T(locked_by_another), T(waits),
		T(locked_by_itself), T(top),	T(last),	  T(hostile),		T(archived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
