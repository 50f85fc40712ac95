/* SPDX-License-Identifier: Apache-2.0 */
/* What rows capture of a call, and which calls they tell: along a path of pointers, after the call,
 * unless it ended as usual, texts of interest only. Real probes on this very program; needs
 * root. */

/* As PJRT passes arguments: one pointer to a struct of pointers, some of which the callee fills
 * in. */
#define PROBE_ROWS                                                                                        \
	"  - {id: call, symbol: gpt_late, group: confirm, role: execute, return: true, captures: [\n"     \
	"     {name: id, arg: 0, path: [16]}, {name: deep, arg: 0, path: [24, 8, 4], width: 4},\n"        \
	"     {name: out, arg: 0, path: [32], late: true}, {name: event, arg: 0, path: [40, 0], late: "   \
	"true},\n"                                                                                        \
	"     {name: early, arg: 0, path: [32]}, {name: far, arg: 0, path: [16], width: 2}], why: w}\n"   \
	"  - {id: usual, symbol: gpt_poll, group: fault, role: comm_error, return: true,\n"               \
	"     unless: {of: result, is: [0, -7]},\n"                                                       \
	"     captures: [{name: comm, arg: 0}, {name: result, arg: 1, deref: 1, width: 4, late: true}], " \
	"why: w}\n"                                                                                       \
	"  - {id: failed, symbol: gpt_call, group: fault, role: error, return: true,\n"                   \
	"     unless: {of: return, is: [6]}, why: w}\n"                                                   \
	"  - {id: named, symbol: gpt_named, group: marker, role: execute, wake: true,\n"                  \
	"     only_names: [__inference_, Save], string: {arg: 0, as: chars}, why: w}\n"                   \
	"  - {id: module, symbol: gpt_begin, group: marker, role: compile_begin,\n"                       \
	"     string: {arg: 1, as: chars, deref: 2, offset: 8}, why: w}\n"                                \
	"  - {id: inner, symbol: gpt_late, group: fault, role: save_call,\n"                              \
	"     only_names: [inner], string: {arg: 0, as: chars, offset: 16}, why: w}\n"                    \
	"  - {id: only, symbol: gpt_hit, group: bulk, role: param_op, max_hz: 100,\n"                     \
	"     only: {arg: 1, path: [0, 4], width: 4, equals: 77}, why: w}\n"
#include "tests/unit/probed.h"

struct leaf {
	uint32_t unused, value;
};

struct branch {
	void *unused;
	struct leaf *leaf;
};

struct args {
	size_t struct_size;
	void *extension;
	uint64_t id;
	struct branch *branch;
	uint64_t out;
	uint64_t *events;
};
_Static_assert(offsetof(struct args, events) == 40, "as the rows have it");

int gpt_late(struct args *args);
int gpt_poll(void *comm, int *result);

__attribute__((noinline)) int gpt_late(struct args *args)
{
	asm volatile("" ::: "memory");
	args->out = args->id + 1;
	if (args->events)
		args->events[0] = args->id + 2;
	return 0;
}

__attribute__((noinline)) int gpt_poll(void *comm, int *result)
{
	static const int results[] = {0, -7, 0, 6, -7, 1};
	static int next;

	asm volatile("" : "+r"(comm)::"memory");
	*result = results[next++ % 6];
	return 0;
}

static void body_late(void)
{
	struct leaf leaf = {1, 77};
	struct branch branch = {NULL, &leaf};
	uint64_t event;
	struct args args = {.branch = &branch, .events = &event};

	for (uint64_t i = 0; i < 23; i++) {
		args.id = 1000000 * i;
		args.out = 5;
		event = 0;
		gpt_late(&args);
	}
	args.events = NULL; /* what the caller leaves out is no loss */
	args.branch = NULL;
	args.id = 23000000;
	args.out = 5;
	gpt_late(&args);
}

static void late(void **state)
{
	struct watch *w;
	struct child c;
	struct event ev;
	uint64_t n = 0;
	size_t pos = 0;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_late);
	assert_int_equal(WEXITSTATUS(child_run(&c)), 42);
	watch_collect(w);
	while (record_next(w, &pos, GP_KIND_call, &ev)) {
		assert_int_equal(ev.call->arg[0], 1000000 * n);
		assert_int_equal(ev.call->arg[1], n < 23 ? 77 : 0);
		assert_int_equal(ev.call->arg[2], 1000000 * n + 1);
		assert_int_equal(ev.call->arg[3], n < 23 ? 1000000 * n + 2 : 0);
		assert_int_equal(ev.call->arg[4], 5);
		assert_int_equal(ev.call->arg[5], (uint16_t)(1000000 * n));
		n++;
	}
	assert_int_equal(n, 24);
	for (int i = 0; i < GP_LOSS_CAUSE_COUNT; i++)
		assert_int_equal(w->losses[i], 0);
	watch_close(w);
}

static void body_unless(void)
{
	int result;

	for (uintptr_t i = 0; i < 600; i++)
		gpt_poll((void *)(i + 1), &result);
	for (int i = 0; i < 12; i++)
		gpt_call(i, 2);
}

static void unless(void **state)
{
	struct watch *w;
	struct child c;
	struct event ev;
	size_t pos = 0;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_unless);
	assert_int_equal(WEXITSTATUS(child_run(&c)), 42);
	watch_collect(w);
	assert_int_equal(records_count(w, GP_KIND_call, "test.usual", c.pid), 200);
	assert_int_equal(records_count(w, GP_KIND_call, "test.failed", c.pid), 11);
	while (record_next(w, &pos, GP_KIND_call, &ev)) {
		if (ev.rec->probe == gp_probe_hash("test.failed"))
			assert_int_not_equal(ev.call->ret, 6);
		else
			assert_int_equal(ev.call->arg[1], (ev.call->arg[0] - 1) % 6 == 3 ? 6 : 1);
	}
	for (int i = 0; i < GP_LOSS_CAUSE_COUNT; i++)
		assert_int_equal(w->losses[i], 0);
	watch_close(w);
}

struct module {
	void *vtable;
	const char *name;
};

static void body_names(void)
{
	/* On the stack: a page that nobody touched since the fork cannot be read by a probe. */
	char names[][24] = {"__inference_train_7", "__infer", "SaveV2", "Sav", "", "MatMul",
			    "__inference_eval_9"};
	char name[] = "jit_train_step";
	struct module module = {NULL, name}, *at = &module;
	struct args args = {.id = 0};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		gpt_named(names[i]);
	gpt_begin(NULL, (const struct text *)(const void *)&at);
	memcpy(&args.id, "inner x", 8);
	gpt_late(&args);
}

static void names(void **state)
{
	static const char *const told[] = {"__inference_train_7", "SaveV2", "__inference_eval_9",
					   "jit_train_step", "inner x"};
	struct watch *w;
	struct child c;
	struct event ev;
	size_t pos = 0, n = 0;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_names);
	assert_int_equal(WEXITSTATUS(child_run(&c)), 42);
	watch_collect(w);
	while (record_next(w, &pos, GP_KIND_named, &ev)) {
		assert_true(n < sizeof(told) / sizeof(told[0]));
		assert_string_equal(ev.named->name, told[n++]);
	}
	assert_int_equal(n, sizeof(told) / sizeof(told[0]));
	watch_close(w);
}

static void body_only(void)
{
	struct leaf leaf = {77, 76}, *at = &leaf;

	for (int i = 0; i < 20; i++) {
		leaf.value = 70 + (uint32_t)i;
		gpt_hit(0, (uintptr_t)&at);
	}
}

/* The others are counted: they cost the process as much. */
static void only(void **state)
{
	struct watch *w;
	struct child c;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_only);
	assert_int_equal(WEXITSTATUS(child_run(&c)), 42);
	watch_collect(w);
	assert_int_equal(records_count(w, GP_KIND_hit, "test.only", c.pid), 1);
	assert_int_equal(counted(w, "test.only", c.pid), 19);
	watch_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late),
		cmocka_unit_test(unless),
		cmocka_unit_test(names),
		cmocka_unit_test(only),
	};

	if (probed_setup())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
