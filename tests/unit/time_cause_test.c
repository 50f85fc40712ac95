/* SPDX-License-Identifier: Apache-2.0 */
/* What a process lacked second by second, and what that explains of a slowdown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/model/time/resource.h"
#include "userspace/model/time/time_cause.h"

#define S  1000000000ull
#define MS 1000000ull
#define T0 (100 * S)

struct lack { /* in each second */
	uint64_t cpu_ns, wait_ns, block_ns;
	uint64_t other_cpu_ns, other_wait_ns;
	uint64_t throttled_ns, memory_ns, io_ns;
};

static struct {
	struct resource *resource;
	struct gp_usage train, other;
	struct gp_pressure pressure;
	uint64_t now_ns;
} w;

static int setup(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.resource = resource_new();
	w.now_ns = T0;
	w.train.flags = w.other.flags = GP_USAGE_BLOCK;
	w.pressure.flags = GP_PRESSURE_THROTTLE | GP_PRESSURE_STALL | GP_PRESSURE_GROUP;
	return w.resource ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	resource_free(w.resource);
	return 0;
}

static void seconds(unsigned n, const struct lack *l)
{
	for (unsigned i = 0; i < n; i++) {
		w.now_ns += S;
		w.train.cpu_ns += l->cpu_ns;
		w.train.wait_ns += l->wait_ns;
		w.train.block_ns += l->block_ns;
		w.other.cpu_ns += l->other_cpu_ns;
		w.other.wait_ns += l->other_wait_ns;
		w.pressure.throttled_ns += l->throttled_ns;
		w.pressure.stall_ns[GP_STALL_MEMORY] += l->memory_ns;
		w.pressure.stall_ns[GP_STALL_IO] += l->io_ns;
		resource_usage(w.resource, 7, &w.train, true);
		resource_usage(w.resource, 8, &w.other, false);
		resource_pressure(w.resource, w.now_ns, &w.pressure);
	}
}

static struct resource_sums sums(uint64_t from_s, uint64_t to_s)
{
	struct resource_sums s;

	resource_between(w.resource, T0 + from_s * S, T0 + to_s * S, &s);
	return s;
}

/* Steps took 100 ms for 30 s, and take `after` since. */
static struct time_causes slower(const struct lack *usual, const struct lack *since,
				 uint64_t after_ns)
{
	struct resource_sums a, b;
	struct time_causes c;

	seconds(31, usual);
	seconds(20, since);
	a = sums(0, 30);
	b = sums(31, 51);
	time_cause_slower(&c, &a, 100 * MS, &b, after_ns);
	return c;
}

static void share(const struct time_causes *c, enum time_cause which, double want)
{
	double got = time_cause_share(c, which);

	if (got < want - 0.01 || got > want + 0.01)
		fail_msg("%s explains %.3f instead of %.3f", time_cause_name[which], got, want);
}

static void seconds_add_up(void **state)
{
	const struct lack l = {.cpu_ns = 600 * MS, .wait_ns = 100 * MS, .block_ns = 50 * MS};
	struct resource_sums s;

	(void)state;
	seconds(10, &l);
	s = sums(0, 20);
	assert_int_equal(s.covered_ns, 9 * S); /* the first record only begins a second */
	assert_int_equal(s.wait_ns, 900 * MS);
	assert_int_equal(s.asleep_ns, 2700 * MS);
	assert_int_equal(s.block_ns, 450 * MS);
	assert_true(s.block_known && s.stall_known && s.group);
	resource_between(w.resource, T0 + 2 * S + S / 2, T0 + 4 * S, &s); /* half a second */
	assert_int_equal(s.covered_ns, 3 * S / 2);
	assert_int_equal(s.wait_ns, 150 * MS);
}

static void hole(void **state)
{
	const struct lack l = {.wait_ns = 100 * MS};
	struct resource_sums s;

	(void)state;
	seconds(3, &l);
	w.now_ns += 5 * S; /* nothing was sampled meanwhile */
	w.train.wait_ns += 5 * S;
	seconds(1, &l);
	s = sums(0, 30);
	assert_int_equal(s.covered_ns, 2 * S);
	assert_int_equal(s.wait_ns, 200 * MS);
	w.train.flags |= GP_USAGE_FIRST; /* sampled again: what came before does not count */
	w.train.wait_ns += 5 * S;
	seconds(1, &l);
	w.train.flags &= ~(uint32_t)GP_USAGE_FIRST;
	assert_int_equal(sums(0, 30).covered_ns, 2 * S);
	seconds(2, &l);
	assert_int_equal(sums(0, 30).wait_ns, 400 * MS);
}

/* Waits for block I/O are read of the training thread only: those from before it trained do not
 * count. */
static void begins_to_train(void **state)
{
	struct gp_usage u = {.cpu_ns = S};

	(void)state;
	resource_usage(w.resource, 7, &u, false);
	resource_pressure(w.resource, T0, &w.pressure);
	u.block_ns = 900 * MS;
	u.flags = GP_USAGE_BLOCK;
	resource_usage(w.resource, 7, &u, true);
	resource_pressure(w.resource, T0 + S, &w.pressure);
	assert_int_equal(sums(0, 1).covered_ns, S);
	assert_int_equal(sums(0, 1).block_ns, 0);
}

static void ring_keeps_the_last(void **state)
{
	const struct lack before = {.wait_ns = 500 * MS}, l = {.wait_ns = 10 * MS};

	(void)state;
	seconds(10, &before);
	seconds(RESOURCE_SECONDS, &l);
	assert_int_equal(sums(0, 1000).covered_ns, RESOURCE_SECONDS * S);
	assert_int_equal(sums(0, 1000).wait_ns, RESOURCE_SECONDS * 10 * MS);
}

/* While the training thread sleeps, a busy thread that waits holds it up; an idle one does not. */
static void other_threads(void **state)
{
	const struct lack busy = {
		.cpu_ns = 500 * MS, .other_cpu_ns = 300 * MS, .other_wait_ns = 200 * MS};
	const struct lack idle = {.cpu_ns = 500 * MS, .other_wait_ns = 200 * MS};
	const struct lack awake = {
		.cpu_ns = 950 * MS, .other_cpu_ns = 500 * MS, .other_wait_ns = 400 * MS};

	(void)state;
	seconds(11, &busy);
	assert_int_equal(sums(1, 11).wait_ns, 2000 * MS);
	seconds(10, &idle);
	assert_int_equal(sums(11, 21).wait_ns, 0);
	seconds(10, &awake);
	assert_int_equal(sums(21, 31).wait_ns, 500 * MS);
}

static void contention(void **state)
{
	const struct lack usual = {.cpu_ns = S};
	const struct lack since = {.cpu_ns = 550 * MS, .wait_ns = 450 * MS};
	struct time_causes c;
	char text[200];

	(void)state;
	c = slower(&usual, &since, 200 * MS); /* 90 ms of the 100 ms more */
	assert_int_equal(c.lost_ns, 100 * MS);
	share(&c, TIME_CAUSE_cpu_contention, 0.9);
	share(&c, TIME_CAUSE_unknown, 0.1);
	assert_int_equal(time_cause_main(&c), TIME_CAUSE_cpu_contention);
	assert_string_equal(time_causes_text(text, sizeof(text), &c),
			    "90 % waits for a CPU on which other threads run, 10 % unexplained");
	for (size_t cap = 1; cap < 40; cap++)
		assert_in_range(strlen(time_causes_text(text, cap, &c)), 0, cap - 1);
}

static void quota(void **state)
{
	const struct lack usual = {.cpu_ns = S};
	const struct lack since = {
		.cpu_ns = 500 * MS, .wait_ns = 500 * MS, .throttled_ns = 400 * MS};
	struct time_causes c;

	(void)state;
	c = slower(&usual, &since, 200 * MS);
	share(&c, TIME_CAUSE_cpu_throttled, 0.8);
	share(&c, TIME_CAUSE_cpu_contention, 0.2);
	assert_int_equal(time_cause_main(&c), TIME_CAUSE_cpu_throttled);
}

/* What was lacked as much before explains nothing. */
static void as_before(void **state)
{
	const struct lack same = {
		.cpu_ns = 800 * MS, .wait_ns = 100 * MS, .io_ns = 900 * MS, .memory_ns = 50 * MS};
	struct time_causes c;
	char text[200];

	(void)state;
	c = slower(&same, &same, 110 * MS);
	share(&c, TIME_CAUSE_cpu_contention, 0.1); /* a tenth of the growth, as of the step */
	assert_int_equal(time_cause_main(&c), TIME_CAUSE_unknown);
	teardown(state);
	setup(state);
	c = slower(&(struct lack){.cpu_ns = S}, &(struct lack){.cpu_ns = S}, 200 * MS);
	assert_int_equal(time_cause_main(&c), TIME_CAUSE_unknown);
	assert_string_equal(time_causes_text(text, sizeof(text), &c), "");
}

static void memory_and_disk(void **state)
{
	const struct lack usual = {.cpu_ns = S};
	const struct lack memory = {.cpu_ns = 500 * MS, .memory_ns = 400 * MS, .io_ns = S};
	struct time_causes c;

	(void)state;
	c = slower(&usual, &memory, 200 * MS);
	share(&c, TIME_CAUSE_memory_pressure, 0.8);
	share(&c, TIME_CAUSE_disk, 0); /* the kernel measured that the thread did not wait for it */
	teardown(state);
	setup(state);
	c = slower(&usual, &(struct lack){.cpu_ns = 500 * MS, .block_ns = 450 * MS}, 200 * MS);
	share(&c, TIME_CAUSE_disk, 0.9);
	teardown(state);
	setup(state);
	w.train.flags =
		0; /* the kernel does not measure it: the control group's stall, while asleep */
	c = slower(&usual, &(struct lack){.cpu_ns = 500 * MS, .io_ns = 900 * MS}, 200 * MS);
	share(&c, TIME_CAUSE_disk, 1);
	teardown(state);
	setup(state);
	w.train.flags = 0;
	w.pressure.flags = GP_PRESSURE_STALL; /* of the machine: says nothing about the thread */
	c = slower(&usual, &(struct lack){.cpu_ns = 500 * MS, .io_ns = 900 * MS}, 200 * MS);
	share(&c, TIME_CAUSE_disk, 0);
}

/* Waits for input that its loader explains: not more than the growth, and not for the disk again.
 */
static void loader(void **state)
{
	struct resource_sums a, b;
	struct time_causes c;

	(void)state;
	w.train.flags = 0;
	seconds(31, &(struct lack){.cpu_ns = S});
	seconds(20, &(struct lack){.cpu_ns = 500 * MS, .io_ns = 450 * MS});
	a = sums(0, 30);
	b = sums(31, 51);
	b.input.ns[INPUT_WORKERS] = b.covered_ns / 10; /* of steps of 200 ms */
	b.input.ns[INPUT_DISK] = b.covered_ns / 5 * 2;
	time_cause_slower(&c, &a, 100 * MS, &b, 200 * MS);
	share(&c, TIME_CAUSE_disk, 0.1);
	share(&c, TIME_CAUSE_loader_cpu, 0.2);
	share(&c, TIME_CAUSE_loader_io, 0.7);	  /* what is left of its 0.8 */
	a.input.ns[INPUT_WORKERS] = a.covered_ns; /* as much before */
	time_cause_slower(&c, &a, 100 * MS, &b, 200 * MS);
	share(&c, TIME_CAUSE_loader_cpu, 0);
	b.input.ns[INPUT_DISK] = 0;
	b.input.ns[INPUT_CONTENTION] = b.covered_ns / 4;
	time_cause_slower(&c, &a, 100 * MS, &b, 200 * MS);
	share(&c, TIME_CAUSE_cpu_contention, 0.5);
	share(&c, TIME_CAUSE_disk, 0.5);
}

static void too_little(void **state)
{
	struct resource_sums none = sums(0, 10), some;
	struct time_causes c;

	(void)state;
	seconds(10, &(struct lack){.wait_ns = 900 * MS});
	some = sums(0, 10);
	time_cause_slower(&c, &none, 100 * MS, &some, 200 * MS);
	assert_int_equal(c.lost_ns, 0);
	time_cause_slower(&c, &some, 100 * MS, &none, 200 * MS);
	assert_int_equal(c.lost_ns, 0);
	time_cause_slower(&c, &some, 200 * MS, &some, 200 * MS);
	assert_int_equal(c.lost_ns, 0);
	assert_int_equal(time_cause_main(&c), TIME_CAUSE_unknown);
}

/* Figures that shrink, threads without number, more threads than there is room for. */
static void hostile(void **state)
{
	struct gp_usage u = {.cpu_ns = UINT64_MAX, .wait_ns = UINT64_MAX};
	struct resource_sums s;

	(void)state;
	seconds(5, &(struct lack){.cpu_ns = S});
	for (uint32_t tid = 0; tid < 100; tid++)
		resource_usage(w.resource, tid, &u, tid % 3 == 0);
	u = (struct gp_usage){0};
	for (uint32_t tid = 0; tid < 100; tid++)
		resource_usage(w.resource, tid, &u, false);
	resource_pressure(w.resource, w.now_ns + S, &(struct gp_pressure){.flags = 7});
	resource_pressure(w.resource, w.now_ns, &w.pressure);
	s = sums(0, 100);
	assert_true(s.wait_ns + s.asleep_ns + s.throttled_ns <= s.covered_ns);
}

static void archived(void **state)
{
	struct resource *copy = NULL;
	struct resource_sums a, b;
	struct buffer bytes = {0};
	struct archive ar;

	(void)state;
	seconds(20, &(struct lack){.cpu_ns = 700 * MS, .wait_ns = 100 * MS, .memory_ns = 3 * MS});
	archive_write(&ar, &bytes, "resource", 1);
	resource_archive(&ar, &w.resource);
	assert_int_equal(archive_end(&ar), 0);
	archive_read(&ar, bytes.data, bytes.len, "resource", 1);
	resource_archive(&ar, &copy);
	assert_int_equal(archive_end(&ar), 0);
	a = sums(0, 20);
	resource_between(copy, T0, T0 + 20 * S, &b);
	assert_int_equal(a.covered_ns, b.covered_ns);
	assert_int_equal(a.wait_ns, b.wait_ns);
	assert_int_equal(a.memory_ns, b.memory_ns);
	assert_true(b.stall_known && b.group);
	resource_free(copy);
	buffer_free(&bytes);
}

/* Waits that were measured go before sleeps that another busy thread may explain. */
static void measured_waits(void **state)
{
	struct time_causes l = {.lost_ns = 100};

	(void)state;
	l.ns[TIME_CAUSE_cpu_contention] = 40;
	l.ns[TIME_CAUSE_disk] = 30;
	l.ns[TIME_CAUSE_unknown] = 30;
	time_cause_add_wait(&l, TIME_CAUSE_straggler, 50);
	assert_int_equal(l.ns[TIME_CAUSE_straggler], 50);
	assert_int_equal(l.ns[TIME_CAUSE_cpu_contention], 20);
	assert_int_equal(l.ns[TIME_CAUSE_disk], 30);
	assert_int_equal(l.ns[TIME_CAUSE_unknown], 0);
	time_cause_add_wait(&l, TIME_CAUSE_straggler, 50);
	assert_int_equal(l.ns[TIME_CAUSE_straggler], 70);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(seconds_add_up),  T(hole),	       T(begins_to_train), T(ring_keeps_the_last),
		T(other_threads),   T(contention),     T(quota),	   T(as_before),
		T(memory_and_disk), T(too_little),     T(loader),	   T(hostile),
		T(archived),	    T(measured_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
