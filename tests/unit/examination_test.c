/* SPDX-License-Identifier: Apache-2.0 */
/* The results of an examination: records that may be hostile, causes, texts, saved state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/model/time/examination.h"

#define S  1000000000ull
#define MS 1000000ull

static struct {
	_Alignas(8) char record[GP_RECORD_MAX];
	struct examination e;
	struct event ev;
} w;

static void *record(unsigned kind, uint32_t tid)
{
	void *payload = event_init(w.record, kind, 100 * S, 70, 0);
	struct gp_rec *rec = (struct gp_rec *)payload - 1;

	rec->tid = tid;
	assert_int_equal(event_decode(rec, rec->len, &w.ev), 0);
	return payload;
}

static void begin(uint64_t runnable_ns, enum gp_wait wait, uint64_t ns)
{
	struct gp_examined *r = record(GP_KIND_examined, 71);

	r->from_ns = 90 * S;
	r->to_ns = 100 * S;
	r->runnable_ns = runnable_ns;
	r->wait_ns[wait] = ns;
	assert_true(examination_begin(&w.e, &w.ev));
}

static void waited(enum gp_wait wait, uint64_t ns, const char *name)
{
	struct gp_waited *r = record(GP_KIND_waited, 71);

	r->wait = (uint8_t)wait;
	r->ns = ns;
	r->worst_ns = ns;
	r->count = 3;
	r->slow = 2;
	strncpy(r->name, name, sizeof(r->name));
	examination_wait(&w.e, &w.ev);
}

static void instead(uint64_t ns, uint32_t pid, const char *comm, const char *job, bool own)
{
	struct gp_instead *r = record(GP_KIND_instead, 71);

	r->ns = ns;
	r->other = pid;
	memcpy(r->comm, comm, strlen(comm));
	examination_instead(&w.e, &w.ev, job, own);
}

static void texts(void **state)
{
	char text[300];

	(void)state;
	begin(2 * S, GP_WAIT_network, 3 * S);
	waited(GP_WAIT_network, 3 * S, "10.0.0.1:80");
	instead(1 * S, 5, "python3", "llama", false);
	instead(2 * S, 4, "stress-ng", NULL, false);
	assert_string_equal(
		examination_text(text, sizeof(text), &w.e),
		"examined for 10.0 s: 50 % runs, 20 % waits for a CPU (stress-ng, not part of a job), "
		"30 % waits for a network socket (10.0.0.1:80)");
	for (size_t cap = 1; cap < 120; cap++)
		assert_in_range(strlen(examination_text(text, cap, &w.e)), 0, cap - 1);
	w.e.instead[0] = w.e.instead[1];
	assert_non_null(
		strstr(examination_text(text, sizeof(text), &w.e), "(python3 of job llama)"));
	w.e.instead[0].own = true;
	assert_non_null(
		strstr(examination_text(text, sizeof(text), &w.e), "(python3 of the same job)"));
	w.e.error = -95;
	assert_ptr_equal(strstr(examination_text(text, sizeof(text), &w.e), "not examined: "),
			 text);
}

/* The causes are those of a slowdown from 100 to 200 ms a step. */
static struct time_causes causes(uint64_t contention_ns)
{
	return (struct time_causes){
		.lost_ns = 100 * MS,
		.ns[TIME_CAUSE_cpu_contention] = contention_ns,
		.ns[TIME_CAUSE_unknown] = 100 * MS - contention_ns,
	};
}

static void contention_is_named(void **state)
{
	struct time_causes l = causes(80 * MS);
	char text[300];

	(void)state;
	begin(5 * S, GP_WAIT_sleep, 0);
	instead(4 * S, 4, "stress-ng", NULL, false);
	assert_string_equal(
		examination_causes_text(text, sizeof(text), &l, &w.e),
		"80 % waits for a CPU on which other threads run (stress-ng, not part of a job: 64 %), 20 % unexplained");
	assert_string_equal(examination_causes_text(text, sizeof(text), &l, NULL),
			    "80 % waits for a CPU on which other threads run, 20 % unexplained");
	w.e.instead[0].pid = 0; /* no process ran */
	assert_null(strstr(examination_causes_text(text, sizeof(text), &l, &w.e), "("));
}

/* Slept a part of each second, before and since. */
static void refine(struct time_causes *l, uint64_t before_ns, uint64_t after_ns)
{
	const struct resource_sums before = {.covered_ns = 10 * S, .asleep_ns = before_ns * 10};
	const struct resource_sums after = {.covered_ns = 10 * S, .asleep_ns = after_ns * 10};

	examination_refine(&w.e, l, &before, 100 * MS, &after, 200 * MS);
	for (uint64_t i = 0, sum = 0; i < TIME_CAUSE_COUNT; i++) {
		sum += l->ns[i];
		if (i == TIME_CAUSE_COUNT - 1)
			assert_int_equal(sum, l->lost_ns);
	}
}

static void network_counts_what_is_more_than_all_sleep_before(void **state)
{
	struct time_causes l = causes(0);
	char text[300];

	(void)state;
	begin(0, GP_WAIT_network, 5 * S);
	waited(GP_WAIT_network, 5 * S, "10.0.0.1:80");
	refine(&l, 100 * MS, 500 * MS); /* 10 ms of a step before, 100 ms since */
	assert_int_equal(l.ns[TIME_CAUSE_network], 90 * MS);
	assert_int_equal(time_cause_main(&l), TIME_CAUSE_network);
	assert_non_null(strstr(
		examination_causes_text(text, sizeof(text), &l, &w.e),
		"90 % waits for the network, itself or in its data loader (10.0.0.1:80: 90 %)"));
	/* It slept as long before, whatever for: nothing shows that this became longer. */
	l = causes(0);
	refine(&l, 1000 * MS, 500 * MS);
	assert_int_equal(l.ns[TIME_CAUSE_network], 0);
	/* What another cause explains stays. */
	l = causes(70 * MS);
	refine(&l, 100 * MS, 500 * MS);
	assert_int_equal(l.ns[TIME_CAUSE_network], 30 * MS);
	assert_int_equal(l.ns[TIME_CAUSE_cpu_contention], 70 * MS);
	/* Most of the sleep is for something else. */
	begin(0, GP_WAIT_lock, 8 * S);
	w.e.wait_ns[GP_WAIT_network] = S;
	w.e.asleep_ns += S;
	l = causes(0);
	refine(&l, 100 * MS, 500 * MS);
	assert_int_equal(l.ns[TIME_CAUSE_network], 1111111);
}

static void files_and_block_io_are_the_disk(void **state)
{
	struct time_causes l = causes(0);

	(void)state;
	begin(0, GP_WAIT_file, 4 * S);
	waited(GP_WAIT_file, 4 * S, "/data/shard-1");
	refine(&l, 0, 400 * MS);
	assert_int_equal(l.ns[TIME_CAUSE_disk], 80 * MS);
	begin(0, GP_WAIT_page, 4 * S); /* pages of a mapped file */
	w.e.block_ns = 2 * S;
	l = causes(0);
	refine(&l, 0, 400 * MS);
	assert_int_equal(l.ns[TIME_CAUSE_disk], 40 * MS);
	begin(0, GP_WAIT_page, 4 * S);
	l = causes(0);
	refine(&l, 0, 400 * MS);
	assert_int_equal(l.ns[TIME_CAUSE_disk], 0);
}

static void hostile(void **state)
{
	struct gp_examined *r;
	struct gp_waited *v;

	(void)state;
	memset(&w.e, 0, sizeof(w.e));
	r = record(GP_KIND_examined, 71);
	memset(r, 0xff, sizeof(*r));
	assert_false(examination_begin(&w.e, &w.ev));
	r->error = 0;
	r->from_ns = 0;
	r->to_ns = 100 * S;
	assert_false(examination_begin(&w.e, &w.ev)); /* too long */
	r->from_ns = 95 * S;
	assert_true(examination_begin(&w.e, &w.ev));
	assert_int_equal(w.e.runnable_ns, 5 * S);
	assert_int_equal(w.e.asleep_ns, 0);
	assert_int_equal(w.e.ndevices, EXAMINATION_DEVICES);
	r->to_ns = 101 * S; /* in the future */
	assert_false(examination_begin(&w.e, &w.ev));

	begin(S, GP_WAIT_network, 3 * S);
	v = record(GP_KIND_waited, 72); /* another thread */
	v->ns = S;
	examination_wait(&w.e, &w.ev);
	v = record(GP_KIND_waited, 71);
	v->wait = GP_WAIT_COUNT;
	examination_wait(&w.e, &w.ev);
	assert_int_equal(w.e.nwaits, 0);
	for (int i = 0; i < 20; i++) {
		v = record(GP_KIND_waited, 71);
		memset(v, 0xff, sizeof(*v));
		v->wait = GP_WAIT_network;
		v->ns = (uint64_t)i;
		examination_wait(&w.e, &w.ev);
		instead(~0ull, ~0u, "\033[2Jx", NULL, true);
	}
	assert_int_equal(w.e.nwaits, EXAMINATION_WAITS);
	assert_int_equal(w.e.ninstead, EXAMINATION_INSTEAD);
	assert_int_equal(w.e.waits[0].ns, EXAMINATION_WAITS - 1);
	assert_int_equal(w.e.instead[0].ns, S);
	assert_string_equal(w.e.instead[0].comm, "?[2Jx");
	assert_false(w.e.instead[0].own);
}

static void archived(void **state)
{
	struct examination *from = &w.e, *to = NULL;
	struct buffer bytes = {0};
	struct archive a;

	(void)state;
	begin(2 * S, GP_WAIT_file, 3 * S);
	waited(GP_WAIT_file, 3 * S, "/data/x");
	instead(S, 4, "python3", "llama", true);
	archive_write(&a, &bytes, "examined", 1);
	examination_archive(&a, &from);
	assert_int_equal(archive_end(&a), 0);
	archive_read(&a, bytes.data, bytes.len, "examined", 1);
	examination_archive(&a, &to);
	assert_int_equal(archive_end(&a), 0);
	assert_memory_equal(to, &w.e, sizeof(w.e));
	free(to);
	buffer_free(&bytes);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(contention_is_named),
		cmocka_unit_test(network_counts_what_is_more_than_all_sleep_before),
		cmocka_unit_test(files_and_block_io_are_the_disk),
		cmocka_unit_test(hostile),
		cmocka_unit_test(archived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
