/* SPDX-License-Identifier: Apache-2.0 */
/* Types of custom events: by name in the store, whatever number a model has for them, and
 * bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/store_folder.h"
#include "userspace/store/store_private.h"

static struct feed f;

static void named(uint32_t number, const char *name)
{
	snprintf(f.s.types.name[number], LEDGER_TYPE_MAX, "%s", name);
}

/* One second more in which an event of that type was. */
static void spent(struct ledger_view *l, uint32_t number)
{
	uint32_t i = 1;

	l->ntypes = l->ntypes ? l->ntypes : 1;
	while (i < l->ntypes && l->types[i].name != number)
		i++;
	if (number) {
		l->ntypes = i == l->ntypes ? i + 1 : l->ntypes;
		l->types[i].name = number;
		l->types[i].ns += S;
	} else {
		l->types[0].ns += S;
	}
	l->ns[BUCKET_CUSTOM] += S;
	l->now_ns += S;
}

static void spend(uint32_t number)
{
	spent(&f.ranks[0].ledger, number);
	spent(&f.job.ledger, number);
	f.s.mono_ns += S;
	f.s.real_ns += (int64_t)S;
	feed_look(&f);
}

static void begin(const struct store_writer_options *o)
{
	assert_int_equal(store_writer_open(&f.writer, o), 0);
	f.facts = 0;
	f.wait = true;
	feed_open(&f, f.writer);
}

static int64_t of_name(const struct store *st, const struct sums *s, const char *name)
{
	for (uint32_t i = 0; store_bucket(st, i); i++)
		if (!strcmp(store_bucket(st, i), name))
			return s->ns[i];
	return -1;
}

static void is(const char *name, int64_t seconds)
{
	static struct store_job job;
	struct store_totals minutes;
	struct feed_minutes m = {0};
	struct store *st;
	int64_t rank;

	st = opened(STORE_READ);
	assert_int_equal(store_job(st, "typed", &job), 0);
	assert_int_equal(of_name(st, &job.totals.sums, name), seconds * (int64_t)S);
	assert_int_equal(sums_total(&job.totals.sums), f.job.ledger.now_ns - f.job.ledger.start_ns);
	assert_int_equal(store_number(st, &rank, "SELECT id FROM ranks WHERE kind = 0", ""), 0);
	assert_int_equal(store_minutes(st, rank, &everything, feed_minute, &m), 0);
	minutes = m.sum;
	assert_int_equal(of_name(st, &minutes.sums, name), seconds * (int64_t)S);
	store_close(st);
}

static void test_by_name(void **state)
{
	struct store_writer_options o = {.path = path};

	(void)state;
	feed_init(&f, "typed", 1, 1000 * S);
	begin(&o);
	named(1, "EVAL_LONG");
	named(2, "UPLOAD");
	for (int i = 0; i < 100; i++)
		spend(i % 10 == 0 ? 2 : i % 10 < 4 ? 1 : 0);
	assert_int_equal(store_writer_close(f.writer), 0);
	is("CUSTOM_BADPUT_EVENTS.EVAL_LONG", 30);
	is("CUSTOM_BADPUT_EVENTS.UPLOAD", 10);
	is("CUSTOM_BADPUT_EVENTS", 60);
	/* The same one goes on, with the rest that it tells again; then types have other
	 * numbers. */
	begin(&o);
	for (int i = 0; i < 10; i++)
		spend(2);
	assert_int_equal(store_writer_close(f.writer), 0);
	is("CUSTOM_BADPUT_EVENTS.UPLOAD", 20);
	is("CUSTOM_BADPUT_EVENTS.EVAL_LONG", 30);
	f.s.session_ns += 500 * S;
	memset(f.s.types.name, 0, sizeof(f.s.types.name));
	named(1, "UPLOAD");
	named(2, "EVAL_LONG");
	f.ranks[0].ledger.types[1].name = f.job.ledger.types[1].name = 1; /* UPLOAD came first */
	f.ranks[0].ledger.types[2].name = f.job.ledger.types[2].name = 2;
	begin(&o);
	for (int i = 0; i < 5; i++)
		spend(1);
	assert_int_equal(store_writer_close(f.writer), 0);
	is("CUSTOM_BADPUT_EVENTS.UPLOAD",
	   24); /* the second before the first look of it was not observed */
	is("UNOBSERVED", 1);
	is("CUSTOM_BADPUT_EVENTS.EVAL_LONG", 30);
	is("CUSTOM_BADPUT_EVENTS", 60);
}

/* A store whose names are all given out: their time is that of named events. */
static void test_full(void **state)
{
	struct store_writer_options o = {.path = path};
	struct store *st;
	char name[48];
	uint32_t slot;

	(void)state;
	st = opened(STORE_WRITE);
	for (int i = 0; i < SUMS_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "CUSTOM_BADPUT_EVENTS.OLD_%d", i);
		assert_int_equal(store_slot(st, name, &slot), 0);
	}
	assert_int_equal(slot, BUCKET_CUSTOM);
	store_close(st);
	feed_init(&f, "typed", 1, 1000 * S);
	begin(&o);
	named(1, "NEW");
	named(2, "OLD_3");
	for (int i = 0; i < 70; i++)
		spend(1 + (uint32_t)i % 2);
	assert_int_equal(store_writer_close(f.writer), 0);
	is("CUSTOM_BADPUT_EVENTS", 35);
	is("CUSTOM_BADPUT_EVENTS.OLD_3", 35);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_set_up, store_tear_down)
	const struct CMUnitTest tests[] = {TEST(test_by_name), TEST(test_full)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
