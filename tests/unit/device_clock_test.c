/* SPDX-License-Identifier: Apache-2.0 */
/* What a lower clock of the accelerator explains, and records that are impossible. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/model/time/device_clock.h"

#define S  1000000000ull
#define MS 1000000ull

static struct {
	struct device_clock *clock;
	struct gp_device device;
	uint64_t now_ns;
} w;

static int setup(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.clock = device_clock_new();
	w.now_ns = 100 * S;
	w.device.clock_max_mhz = 1980;
	w.device.celsius = 87;
	w.device.flags = GP_DEVICE_REASON | GP_DEVICE_ERRORS;
	strcpy(w.device.name, "GPU 3");
	return w.clock ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	device_clock_free(w.clock);
	return 0;
}

/* n seconds at this clock, of which steps wait for the device for so long; wait_ns UINT64_MAX:
 * unknown. Returns their sums. */
static struct device_sums seconds(unsigned n, unsigned mhz, unsigned reasons, uint64_t wait_ns)
{
	struct device_sums s;
	uint64_t from_ns = w.now_ns;

	for (unsigned i = 0; i < n; i++) {
		w.now_ns += S;
		w.device.at_ns = w.now_ns - S / 10;
		w.device.clock_mhz = mhz;
		w.device.reasons = reasons;
		if (wait_ns != UINT64_MAX)
			device_clock_step(w.clock, wait_ns, S);
		device_clock_take(w.clock, w.now_ns, &w.device);
	}
	device_clock_between(w.clock, from_ns, w.now_ns, &s);
	return s;
}

#define THERMAL (1u << GP_DEVICE_thermal)
#define POWER	(1u << GP_DEVICE_power)
#define IDLE	(1u << GP_DEVICE_idle)
#define UNKNOWN UINT64_MAX

static void explains(void **state)
{
	struct device_sums a, b;
	uint64_t ns;

	(void)state;
	a = seconds(20, 2000, POWER, 900 * MS);
	b = seconds(20, 1000, THERMAL, 950 * MS);
	/* 190 ms of 200 ms wait for the device, 100 ms more than before; half of it at most */
	assert_in_range(device_clock_grown(&a, 100 * MS, &b, 200 * MS), 99 * MS, 100 * MS);
	ns = device_clock_explains(&a, 100 * MS, &b, 200 * MS);
	assert_in_range(ns, 94 * MS, 95 * MS);
	/* the wait did not grow */
	b.wait_ns = b.step_ns / 2;
	assert_in_range(device_clock_explains(&a, 100 * MS, &b, 181 * MS), 0, MS);
	/* the clock fell by 4 % */
	b = seconds(20, 1920, POWER, 950 * MS);
	assert_int_equal(device_clock_explains(&a, 100 * MS, &b, 200 * MS), 0);
	/* it fell without a reason, by a user's setting, or in too few of the seconds */
	b = seconds(20, 1000, 0, 950 * MS);
	assert_int_equal(device_clock_explains(&a, 100 * MS, &b, 200 * MS), 0);
	b = seconds(20, 1000, 1u << GP_DEVICE_settings, 950 * MS);
	assert_int_equal(device_clock_explains(&a, 100 * MS, &b, 200 * MS), 0);
	b.slowed = 9;
	assert_int_equal(device_clock_explains(&a, 100 * MS, &b, 200 * MS), 0);
	b.slowed = 10;
	assert_int_not_equal(device_clock_explains(&a, 100 * MS, &b, 200 * MS), 0);
	/* one second is too little */
	b = seconds(1, 1000, THERMAL, 950 * MS);
	assert_int_equal(device_clock_explains(&a, 100 * MS, &b, 200 * MS), 0);
}

static void explains_by_load(void **state)
{
	struct device_sums a, b;

	(void)state;
	w.device.flags |= GP_DEVICE_BUSY;
	w.device.busy = 80;
	a = seconds(10, 2000, 0, UNKNOWN);
	w.device.busy = 90;
	b = seconds(10, 1500, THERMAL, UNKNOWN);
	/* it works for 90 of 100 ms instead of 64 of 80; a quarter of 90 ms is due to the clock */
	assert_in_range(device_clock_grown(&a, 80 * MS, &b, 100 * MS), 25 * MS, 26 * MS);
	assert_in_range(device_clock_explains(&a, 80 * MS, &b, 100 * MS), 22 * MS, 23 * MS);
	w.device.flags = GP_DEVICE_REASON;
	a = seconds(10, 2000, 0, UNKNOWN);
	b = seconds(10, 1500, THERMAL, UNKNOWN);
	assert_int_equal(device_clock_explains(&a, 80 * MS, &b, 100 * MS), 0);
}

static void idle_seconds_do_not_count(void **state)
{
	struct device_sums s;
	char text[200];

	(void)state;
	seconds(3, 210, IDLE, 0);
	seconds(3, 1000, THERMAL, 0);
	seconds(1, 1020, THERMAL | 1u << GP_DEVICE_hardware, 0);
	device_clock_between(w.clock, 0, w.now_ns, &s);
	assert_int_equal(s.seconds, 4);
	assert_int_equal(s.slowed, 4);
	assert_int_equal(s.mhz, 4020);
	assert_int_equal(s.reasons, THERMAL | 1u << GP_DEVICE_hardware);
	assert_string_equal(device_clock_text(text, sizeof(text), w.clock, &s),
			    "GPU 3 runs at 1005 of 1980 MHz (thermal, hardware slowdown), 87 °C");
	assert_string_equal(device_clock_text(text, 10, w.clock, &s), "GPU 3 run");
}

static void errors_are_counted(void **state)
{
	struct device_view v;
	struct device_sums s;

	(void)state;
	w.device.errors = 7; /* from before */
	seconds(1, 1980, 0, 0);
	w.device.errors = 9;
	s = seconds(2, 1980, 0, 0);
	assert_int_equal(s.errors, 2);
	w.device.errors = 0; /* the driver was loaded anew */
	seconds(1, 1980, 0, 0);
	w.device.errors = 1;
	seconds(1, 1980, 0, 0);
	strcpy(w.device.name, "GPU 4"); /* another device, with errors of its own */
	w.device.errors = 50;
	s = seconds(1, 1980, 0, 0);
	assert_int_equal(s.errors, 0);
	device_clock_view(w.clock, &v);
	assert_int_equal(v.new_errors, 0);
	device_clock_between(w.clock, 0, w.now_ns, &s);
	assert_int_equal(s.seconds, 1);
}

static void impossible_records(void **state)
{
	struct device_sums s;
	struct device_view v;

	(void)state;
	seconds(1, 1000, 0, 0);
	w.device.at_ns = w.now_ns + 1; /* from the future, too old, not newer */
	device_clock_take(w.clock, w.now_ns, &w.device);
	w.device.at_ns = w.now_ns - 1;
	device_clock_take(w.clock, w.now_ns + 60 * S, &w.device);
	w.device.at_ns = w.now_ns - S;
	device_clock_take(w.clock, w.now_ns, &w.device);
	device_clock_between(w.clock, 0, UINT64_MAX, &s);
	assert_int_equal(s.seconds, 1);
	w.device = (struct gp_device){.flags = UINT32_MAX,
				      .clock_mhz = UINT32_MAX,
				      .clock_max_mhz = UINT32_MAX,
				      .celsius = UINT16_MAX,
				      .busy = UINT16_MAX,
				      .reasons = UINT32_MAX,
				      .memory_used = UINT64_MAX,
				      .errors = UINT64_MAX};
	memset(w.device.name, '\x1b', sizeof(w.device.name));
	w.now_ns += S;
	w.device.at_ns = w.now_ns;
	device_clock_take(w.clock, w.now_ns, &w.device);
	device_clock_view(w.clock, &v);
	assert_int_equal(v.clock_mhz + v.clock_max_mhz + v.celsius + v.busy, 0);
	assert_false(v.busy_known);
	assert_int_equal(v.reasons, (1u << GP_DEVICE_REASON_COUNT) - 1);
	assert_int_equal(v.memory_used, 0);
	assert_null(strchr(v.name, '\x1b'));
	device_clock_between(w.clock, 0, UINT64_MAX, &s);
	assert_int_equal(s.seconds, 0);
}

static int copied(struct device_clock **ret, struct device_sums *sums)
{
	struct buffer bytes = {0};
	struct archive a;
	int err;

	archive_write(&a, &bytes, "devclock", 1);
	device_clock_archive(&a, &w.clock);
	device_sums_archive(&a, sums);
	err = archive_end(&a);
	if (!err) {
		archive_read(&a, bytes.data, bytes.len, "devclock", 1);
		device_clock_archive(&a, ret);
		device_sums_archive(&a, sums);
		err = archive_end(&a);
	}
	buffer_free(&bytes);
	return err;
}

static void archived(void **state)
{
	struct device_clock *copy = NULL;
	struct device_sums a, b;
	struct device_view v, u;

	(void)state;
	a = seconds(DEVICE_CLOCK_SECONDS + 20, 1000, THERMAL, 900 * MS);
	assert_int_equal(copied(&copy, &a), 0);
	device_clock_between(copy, 0, UINT64_MAX, &a);
	device_clock_between(w.clock, 0, UINT64_MAX, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	device_clock_view(copy, &v);
	device_clock_view(w.clock, &u);
	assert_memory_equal(&v, &u, sizeof(v));
	device_clock_free(copy);
	copy = NULL;
	a.mhz = a.seconds - 1; /* impossible sums */
	assert_int_equal(copied(&copy, &a), -EBADMSG);
	device_clock_free(copy);
	/* a step of years does not make a state that cannot be restored */
	copy = NULL;
	device_clock_step(w.clock, UINT64_MAX, UINT64_MAX);
	device_clock_step(w.clock, UINT64_MAX / 2, GP_TIME_END_NS);
	a = seconds(1, 1000, THERMAL, UNKNOWN);
	assert_int_equal(a.step_ns, 0);
	assert_int_equal(copied(&copy, &a), 0);
	device_clock_free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(explains, setup, teardown),
		cmocka_unit_test_setup_teardown(explains_by_load, setup, teardown),
		cmocka_unit_test_setup_teardown(idle_seconds_do_not_count, setup, teardown),
		cmocka_unit_test_setup_teardown(errors_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(impossible_records, setup, teardown),
		cmocka_unit_test_setup_teardown(archived, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
