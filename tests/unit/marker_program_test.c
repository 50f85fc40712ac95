/* SPDX-License-Identifier: Apache-2.0 */
/* Records of compiled programs in, signals out: handles and names, layers, completions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/model/signal/marker.h"

#define SEEN_MAX 2048

struct seen {
	struct signal s[SEEN_MAX];
	char text[SEEN_MAX][100];
	uint32_t n;
};

static struct marker *m;
static struct seen seen;
static uint64_t now_ns, took_ns;

static void remember(const struct signal *s)
{
	assert_true(seen.n < SEEN_MAX);
	seen.s[seen.n] = *s;
	snprintf(seen.text[seen.n++], sizeof(seen.text[0]), "%s", s->text);
}

static int start(void **state)
{
	(void)state;
	m = marker_new();
	memset(&seen, 0, sizeof(seen));
	now_ns = 1000000;
	took_ns = 2500; /* longer than since the record before the last */
	return m ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	marker_free(m);
	return 0;
}

static void feed(void *buf, uint32_t tid, unsigned role, const char *runtime)
{
	struct gp_probe probe = {.role = (uint16_t)role};
	struct marker_signals signals;
	struct gp_rec *rec = buf;
	struct event ev;

	snprintf(probe.runtime, sizeof(probe.runtime), "%s", runtime);
	if (!strcmp(runtime, "pjrt"))
		probe.flags = GP_PROBE_TABLE;
	else if (role == GP_ROLE_execute)
		probe.flags = GP_PROBE_OBJECT;
	now_ns += 1000;
	rec->ts_ns = now_ns;
	rec->tid = tid;
	assert_int_equal(event_decode(buf, rec->len, &ev), 0);
	do {
		marker_feed(m, &ev, role ? &probe : NULL, &signals);
		for (uint32_t i = 0; i < signals.count; i++)
			remember(&signals.signal[i]);
	} while (signals.more);
}

static void call(unsigned role, const char *runtime, int64_t ret, uint64_t a, uint64_t b,
		 uint64_t event, uint64_t input, uint64_t output)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_call *c = event_init(buf, GP_KIND_call, 0, 7, 1);

	c->dur_ns = took_ns;
	c->ret = ret;
	c->arg[0] = a;
	c->arg[1] = b;
	c->arg[3] = event;
	c->arg[4] = input;
	c->arg[5] = output;
	feed(buf, 1, role, runtime);
}

static void hit(uint32_t tid, unsigned role, const char *runtime, uint64_t a, uint64_t b)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_hit *h = event_init(buf, GP_KIND_hit, 0, 7, 1);

	h->arg[0] = a;
	h->arg[1] = b;
	feed(buf, tid, role, runtime);
}

static void named(unsigned role, const char *runtime, const char *name)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_named *n = event_init(buf, GP_KIND_named, 0, 7, 1);

	snprintf(n->name, sizeof(n->name), "%s", name);
	feed(buf, 1, role, runtime);
}

static void program(uint64_t code, uint64_t bytes, const char *name)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_program *p = event_init(buf, GP_KIND_program, 0, 7, 0);

	p->code = code;
	p->bytes = bytes;
	snprintf(p->name, sizeof(p->name), "%s", name);
	feed(buf, 1, 0, "");
}

static const struct signal *last(enum signal_kind kind)
{
	for (uint32_t i = seen.n; i; i--) {
		if (seen.s[i - 1].kind == kind)
			return &seen.s[i - 1];
	}
	return NULL;
}

static uint32_t count(enum signal_kind kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < seen.n; i++)
		n += seen.s[i].kind == kind;
	return n;
}

static void compile(uint64_t code, uint64_t bytes, uint64_t handle)
{
	hit(1, GP_ROLE_compile_begin, "pjrt", code, bytes);
	call(GP_ROLE_compile, "pjrt", 0, handle, bytes, 0, 0, 0);
}

static uint64_t run(uint64_t handle)
{
	call(GP_ROLE_execute, "pjrt", 0, handle, 22, 0, 0, 0);
	return last(SIGNAL_EXECUTE)->ident;
}

/* The name comes before the compile returned, after it, or never. */
static void test_names(void **state)
{
	uint64_t train, eval, again, nameless;

	(void)state;
	hit(1, GP_ROLE_compile_begin, "pjrt", 0xc0de, 12000);
	program(0xc0de, 12000, "jit_train_step");
	call(GP_ROLE_compile, "pjrt", 0, 0x10, 12000, 0, 0, 0);
	assert_string_equal(seen.text[seen.n - 1], "jit_train_step");
	assert_int_equal(last(SIGNAL_COMPILE)->size, 12000);
	train = run(0x10);
	assert_string_equal(seen.text[seen.n - 1], "jit_train_step");
	assert_int_equal(last(SIGNAL_EXECUTE)->inputs, 22);
	assert_int_equal(last(SIGNAL_EXECUTE)->size, 12000);
	compile(0xc0de, 3000, 0x20);
	eval = run(0x20);
	assert_string_equal(seen.text[seen.n - 1], "");
	program(0xc0de, 3000, "jit_eval_step");
	assert_int_equal(last(SIGNAL_COMPILE)->ident, eval);
	assert_int_equal(last(SIGNAL_COMPILE)->count, 0);
	assert_int_equal(run(0x20), eval);
	assert_string_equal(seen.text[seen.n - 1], "jit_eval_step");
	compile(0xbeef, 9, 0x30);
	nameless = run(0x30);
	assert_true(train != eval && eval != nameless && nameless != train);
	/* Another batch size: another program of the same name, which comes late. */
	compile(0xc0de, 13000, 0x40);
	again = run(0x40);
	assert_true(again != train);
	program(0xc0de, 13000, "jit_train_step");
	assert_int_equal(last(SIGNAL_COMPILE)->ident, train);
	assert_int_equal(last(SIGNAL_COMPILE)->count, again);
	assert_int_equal(run(0x40), train);
}

/* Modules that are loaded and linked while a plugin compiles end nothing of it: its name may come
 * behind them. */
static void test_within(void **state)
{
	(void)state;
	hit(1, GP_ROLE_compile_begin, "pjrt", 0xc0de, 12000);
	took_ns = 100;
	call(GP_ROLE_compile, "cuda", 0, 0x10, 0, 0, 0, 0);
	call(GP_ROLE_compile, "cuda", 209, 0x11, 0, 0, 0, 0);
	program(0xc0de, 12000, "jit_train_step");
	took_ns = 6000;
	call(GP_ROLE_compile, "pjrt", 0, 0x10, 12000, 0, 0, 0);
	assert_string_equal(seen.text[seen.n - 1], "jit_train_step");
	run(0x10);
	assert_string_equal(seen.text[seen.n - 1], "jit_train_step");
	/* The call is over: a name of its code is not that of a later one that is loaded from a
	 * cache. */
	program(0xc0de, 12000, "jit_other");
	took_ns = 1;
	call(GP_ROLE_compile, "pjrt", 0, 0x50, 12000, 0, 0, 0);
	run(0x50);
	assert_string_equal(seen.text[seen.n - 1], "");
}

/* A compile that failed gives no handle; one that is destroyed leaves its number to others. */
static void test_handles(void **state)
{
	uint64_t train, other;

	(void)state;
	hit(1, GP_ROLE_compile_begin, "pjrt", 1, 2);
	call(GP_ROLE_compile, "pjrt", 0x77, 0x10, 2, 0, 0, 0);
	assert_int_equal(last(SIGNAL_COMPILE)->ident, 0);
	hit(1, GP_ROLE_compile_begin, "pjrt", 1, 2);
	program(1, 2, "jit_train_step");
	call(GP_ROLE_compile, "pjrt", 0, 0x10, 2, 0, 0, 0);
	train = run(0x10);
	hit(1, GP_ROLE_program_end, "pjrt", 0x10, 0);
	other = run(0x10);
	assert_true(other != train);
	/* Loaded from a cache: no begin, no name, and nothing of the compile before. */
	call(GP_ROLE_compile, "pjrt", 0, 0x50, 2, 0, 0, 0);
	assert_true(run(0x50) != train);
	assert_string_equal(seen.text[seen.n - 1], "");
	call(GP_ROLE_compile, "cuda", 0, 0x10, 0, 0, 0, 0);
	assert_int_equal(last(SIGNAL_COMPILE)->ident, 0);
	assert_int_equal(run(0x10), other);
}

/* From a cache of compiled ones: by its bytes through the table, by its module in JAX's own
 * client. */
static void test_cached(void **state)
{
	uint64_t train;

	(void)state;
	hit(1, GP_ROLE_cached, "pjrt", 0xc0de, 12000);
	assert_true(last(SIGNAL_COMPILE_BEGIN)->cached);
	program(0xc0de, 12000, "jit_train_step");
	call(GP_ROLE_cached, "pjrt", 0, 0x10, 12000, 0, 0, 0);
	assert_true(last(SIGNAL_COMPILE)->cached && last(SIGNAL_COMPILE)->made);
	train = run(0x10);
	assert_string_equal(seen.text[seen.n - 1], "jit_train_step");
	assert_true(last(SIGNAL_EXECUTE)->cached);
	compile(1, 2, 0x20); /* it is nothing that sticks to the thread */
	assert_false(last(SIGNAL_COMPILE)->cached);
	run(0x20);
	assert_false(last(SIGNAL_EXECUTE)->cached);
	/* Its name comes late: no other program is made. */
	hit(1, GP_ROLE_cached, "pjrt", 0xc0de, 13000);
	call(GP_ROLE_cached, "pjrt", 0, 0x30, 13000, 0, 0, 0);
	program(0xc0de, 13000, "jit_train_step");
	assert_false(last(SIGNAL_COMPILE)->made);
	assert_int_equal(run(0x30), train);
	/* What is in the cache is of no use, and then it is compiled. */
	hit(1, GP_ROLE_cached, "pjrt", 0xc0de, 500);
	call(GP_ROLE_cached, "pjrt", 0x77, 0x40, 500, 0, 0, 0);
	assert_false(last(SIGNAL_COMPILE)->made);
}

static void test_cached_client(void **state)
{
	(void)state;
	hit(1, GP_ROLE_cached, "jax", 0, 12000);
	named(GP_ROLE_cached, "jax", "jit_train_step");
	hit(1, GP_ROLE_compile_end, "jax", 0x900, 0);
	assert_string_equal(seen.text[seen.n - 1], "jit_train_step");
	assert_true(last(SIGNAL_COMPILE)->cached && last(SIGNAL_COMPILE)->made);
	assert_int_equal(last(SIGNAL_COMPILE)->size, 12000);
	assert_true(last(SIGNAL_COMPILE)->begin_ns < last(SIGNAL_COMPILE)->ts_ns);
	hit(1, GP_ROLE_execute, "jax", 0x900, 8);
	assert_string_equal(seen.text[seen.n - 1], "jit_train_step");
	/* A compiled one is put together, too: that begins nothing. */
	named(GP_ROLE_compile_begin, "jax", "jit_eval_step");
	named(GP_ROLE_cached, "jax", "jit_eval_step");
	assert_int_equal(count(SIGNAL_COMPILE_BEGIN), 2);
	hit(1, GP_ROLE_compile_end, "jax", 0xa00, 0);
	assert_string_equal(seen.text[seen.n - 1], "jit_eval_step");
	assert_false(last(SIGNAL_COMPILE)->cached);
	/* What is in the cache is of no use, and then it is compiled. */
	hit(1, GP_ROLE_cached, "jax", 0, 500);
	named(GP_ROLE_compile_begin, "jax", "jit_other_step");
	named(GP_ROLE_cached, "jax", "jit_other_step");
	hit(1, GP_ROLE_compile_end, "jax", 0xb00, 0);
	assert_string_equal(seen.text[seen.n - 1], "jit_other_step");
	assert_false(last(SIGNAL_COMPILE)->cached);
}

/* The compiler says the name, the layer above the handle; where the table shows runs that layer's
 * are not counted once more. */
static void test_layers(void **state)
{
	uint64_t ident;

	(void)state;
	named(GP_ROLE_compile_begin, "jax", "jit_train_step");
	hit(1, GP_ROLE_compile_end, "jax", 0x900, 0);
	hit(1, GP_ROLE_execute, "jax", 0x900, 8);
	assert_int_equal(last(SIGNAL_EXECUTE)->inputs, 8);
	ident = last(SIGNAL_EXECUTE)->ident;
	assert_string_equal(seen.text[seen.n - 1], "jit_train_step");
	hit(1, GP_ROLE_graph_launch, "cuda", 0x5, 0); /* what the program is made of */
	assert_int_equal(count(SIGNAL_EXECUTE), 1);
	hit(1, GP_ROLE_compile_begin, "pjrt", 1, 2);
	named(GP_ROLE_compile_begin, "jax", "jit_train_step");
	call(GP_ROLE_compile, "pjrt", 0, 0x10, 2, 0, 0, 0);
	assert_int_equal(count(SIGNAL_COMPILE_BEGIN), 2);
	assert_int_equal(run(0x10), ident);
	hit(1, GP_ROLE_execute, "jax", 0x900, 8);
	assert_int_equal(count(SIGNAL_EXECUTE), 2);
	named(GP_ROLE_execute, "tensorflow", "__inference_train_step_37");
	named(GP_ROLE_execute, "tensorflow", "SaveV2");
	named(GP_ROLE_execute, "tensorflow", "__inference_train_step_38");
	assert_int_equal(count(SIGNAL_EXECUTE), 4);
	assert_true(seen.s[seen.n - 1].ident != seen.s[seen.n - 2].ident);
}

static void test_completion(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		call(GP_ROLE_execute, "pjrt", 0, 0x10, 2, 0xe0 + i, 0, 0);
	assert_int_equal(last(SIGNAL_EXECUTE)->number, 3);
	call(GP_ROLE_on_ready, "pjrt", 0, 0xe1, 0x701, 0, 0, 0);
	hit(2, GP_ROLE_completion, "jax", 0, 0x999); /* nobody's */
	hit(2, GP_ROLE_completion, "jax", 0, 0x701);
	assert_int_equal(count(SIGNAL_DONE), 1);
	assert_int_equal(last(SIGNAL_DONE)->number, 1);
	assert_int_equal(last(SIGNAL_DONE)->begin_ns, now_ns);
	/* It was ready before the call that asks returned. */
	hit(2, GP_ROLE_completion, "jax", 5, 0x702);
	call(GP_ROLE_on_ready, "pjrt", 0, 0xe2, 0x702, 0, 0, 0);
	assert_int_equal(last(SIGNAL_DONE)->number, 2);
	assert_true(last(SIGNAL_DONE)->tainted);
	assert_int_equal(last(SIGNAL_DONE)->begin_ns, now_ns - 1000);
	/* A token of long ago is another one's. */
	hit(2, GP_ROLE_completion, "jax", 0, 0x703);
	now_ns += 100000;
	call(GP_ROLE_on_ready, "pjrt", 0, 0xe3, 0x703, 0, 0, 0);
	assert_int_equal(count(SIGNAL_DONE), 2);
	hit(2, GP_ROLE_completion, "jax", 0, 0x703);
	assert_int_equal(last(SIGNAL_DONE)->number, 3);
	call(GP_ROLE_execute, "pjrt", 0, 0x10, 2, 0, 0, 0);
	assert_int_equal(last(SIGNAL_EXECUTE)->number, 0);
}

/* The end of a run was not seen, and what it would have been told by is used again: for the run
 * that has it. */
static void test_completion_lost(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 40; i++) {
		call(GP_ROLE_execute, "pjrt", 0, 0x10, 2, 0xe0 + i % 3, 0, 0);
		call(GP_ROLE_on_ready, "pjrt", 0, 0xe0 + i % 3, 0x700 + i % 3, 0, 0, 0);
		seen.n = seen.n > 64 ? 0 : seen.n;
		if (i <= 3)
			continue;
		hit(2, GP_ROLE_completion, "jax", 0, 0x700 + i % 3);
		assert_int_equal(last(SIGNAL_DONE)->number, i);
	}
}

static void test_feeds(void **state)
{
	uint64_t ident;

	(void)state;
	call(GP_ROLE_execute, "pjrt", 0, 0x10, 2, 0, 0xa, 0xb);
	ident = last(SIGNAL_EXECUTE)->ident;
	assert_true(last(SIGNAL_EXECUTE)->traced && !last(SIGNAL_EXECUTE)->from);
	call(GP_ROLE_execute, "pjrt", 0, 0x10, 2, 0, 0xb, 0xc);
	assert_int_equal(last(SIGNAL_EXECUTE)->from, ident);
	call(GP_ROLE_execute, "pjrt", 0, 0x20, 2, 0, 0xc, 0xd);
	assert_int_equal(last(SIGNAL_EXECUTE)->from, ident);
	call(GP_ROLE_buffer_in, "pjrt", 0, 0xd, 0, 0, 0, 0);
	assert_int_equal(last(SIGNAL_COPY)->ident, COPY_IN);
	call(GP_ROLE_execute, "pjrt", 0, 0x20, 2, 0, 0xd, 0xc);
	assert_true(last(SIGNAL_EXECUTE)->traced && !last(SIGNAL_EXECUTE)->from);
	call(GP_ROLE_execute, "pjrt", 0, 0x20, 2, 0, 0, 0);
	assert_false(last(SIGNAL_EXECUTE)->traced);
}

static void test_operators(void **state)
{
	(void)state;
	named(GP_ROLE_execute, "tensorflow", "__inference_train_step_37");
	named(GP_ROLE_execute, "tensorflow", "SaveV2");
	named(GP_ROLE_execute, "tensorflow", "MergeV2Checkpoints");
	named(GP_ROLE_execute, "tensorflow", "RestoreV2");
	named(GP_ROLE_execute, "tensorflow", "RestoreV3"); /* none that we know */
	assert_int_equal(seen.n, 4);
	assert_int_equal(seen.s[0].kind, SIGNAL_EXECUTE);
	assert_int_equal(seen.s[1].kind, SIGNAL_SAVE_BEGIN);
	assert_string_equal(seen.text[1], "");
	assert_int_equal(seen.s[2].kind, SIGNAL_SAVE);
	assert_int_equal(seen.s[2].begin_ns, seen.s[1].ts_ns);
	assert_string_equal(seen.text[2], "");
	assert_int_equal(seen.s[3].kind, SIGNAL_RESTORE);
}

/* More programs, and more that nobody says the end of, than are remembered. */
static void test_bounds(void **state)
{
	struct gp_gap *g;
	_Alignas(8) char buf[GP_RECORD_MAX];

	(void)state;
	for (uint64_t i = 1; i <= 3 * MARKER_PENDING; i++) {
		call(GP_ROLE_execute, "pjrt", 0, i, 2, 0x10000 + i, 0, 0);
		seen.n = seen.n > 64 ? 0 : seen.n;
	}
	call(GP_ROLE_on_ready, "pjrt", 0, 0x10001, 0x1, 0, 0, 0);
	hit(2, GP_ROLE_completion, "jax", 0, 0x1);
	assert_null(last(SIGNAL_DONE));
	call(GP_ROLE_on_ready, "pjrt", 0, 0x10000 + 3 * MARKER_PENDING, 0x2, 0, 0, 0);
	hit(2, GP_ROLE_completion, "jax", 0, 0x2);
	assert_non_null(last(SIGNAL_DONE));
	call(GP_ROLE_on_ready, "pjrt", 0, 0x10000 + 3 * MARKER_PENDING - 1, 0x3, 0, 0, 0);
	g = event_init(buf, GP_KIND_gap, 0, 7, 0);
	g->from_ns = now_ns;
	feed(buf, 0, 0, "");
	seen.n = 0;
	hit(2, GP_ROLE_completion, "jax", 0, 0x3);
	assert_int_equal(count(SIGNAL_DONE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, start, stop),
		cmocka_unit_test_setup_teardown(test_handles, start, stop),
		cmocka_unit_test_setup_teardown(test_within, start, stop),
		cmocka_unit_test_setup_teardown(test_layers, start, stop),
		cmocka_unit_test_setup_teardown(test_cached, start, stop),
		cmocka_unit_test_setup_teardown(test_cached_client, start, stop),
		cmocka_unit_test_setup_teardown(test_completion, start, stop),
		cmocka_unit_test_setup_teardown(test_completion_lost, start, stop),
		cmocka_unit_test_setup_teardown(test_feeds, start, stop),
		cmocka_unit_test_setup_teardown(test_operators, start, stop),
		cmocka_unit_test_setup_teardown(test_bounds, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
