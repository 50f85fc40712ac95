/* SPDX-License-Identifier: Apache-2.0 */
/* Records in, signals out: pairing, names, nesting, losses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/model/signal/marker.h"

#define SEEN_MAX 64
#define SP	 0x7fff00010000ull /* of the outermost backward */

struct seen {
	struct signal s[SEEN_MAX];
	char text[SEEN_MAX][GP_PATH_MAX];
	uint32_t n;
};

static struct marker *m;
static struct seen seen;
static uint64_t now_ns;

static void remember(const struct signal *s)
{
	if (seen.n == SEEN_MAX)
		return;
	seen.s[seen.n] = *s;
	snprintf(seen.text[seen.n++], sizeof(seen.text[0]), "%s", s->text);
}

static int start(void **state)
{
	(void)state;
	m = marker_new();
	memset(&seen, 0, sizeof(seen));
	now_ns = 1000;
	return m ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	marker_free(m);
	return 0;
}

static void feed(void *buf, uint32_t tid, const struct gp_probe *probe)
{
	struct marker_signals signals;
	struct gp_rec *rec = buf;
	struct event ev;

	now_ns += 10;
	rec->ts_ns = now_ns;
	rec->tid = tid;
	assert_int_equal(event_decode(buf, rec->len, &ev), 0);
	do {
		marker_feed(m, &ev, probe, &signals);
		for (uint32_t i = 0; i < signals.count; i++)
			remember(&signals.signal[i]);
	} while (signals.more);
}

static void begin(uint32_t tid, uint16_t depth, const char *name)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_range_begin *b = event_init(buf, GP_KIND_range_begin, 0, 7, 1);

	b->depth = depth;
	memcpy(b->name, name, strnlen(name, GP_NAME_MAX - 1));
	feed(buf, tid, NULL);
}

static void end(uint32_t tid, uint16_t depth)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_range_end *e = event_init(buf, GP_KIND_range_end, 0, 7, 2);

	e->depth = depth;
	feed(buf, tid, NULL);
}

static void range(uint32_t tid, uint16_t depth, const char *name)
{
	begin(tid, depth, name);
	end(tid, depth);
}

static void hit(uint32_t tid, enum gp_role role, uint64_t sp, uint64_t arg)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_hit *h = event_init(buf, GP_KIND_hit, 0, 7, 3);
	struct gp_probe probe = {.role = (uint16_t)role};

	h->sp = sp;
	h->arg[0] = arg;
	feed(buf, tid, &probe);
}

static bool outer(uint32_t tid, uint64_t sp)
{
	hit(tid, GP_ROLE_backward, sp, 0);
	assert_int_equal(seen.s[seen.n - 1].kind, SIGNAL_BACKWARD);
	return seen.s[seen.n - 1].outer;
}

static void kinds_are(const enum signal_kind *want, uint32_t n)
{
	assert_int_equal(seen.n, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(seen.s[i].kind, want[i]);
}

#define KINDS_ARE(...)                                                                             \
	kinds_are((const enum signal_kind[]){__VA_ARGS__},                                         \
		  sizeof((const enum signal_kind[]){__VA_ARGS__}) / sizeof(enum signal_kind))

static void test_plain(void **state)
{
	(void)state;
	range(1, 0, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
	outer(1, SP);
	range(1, 0, "Optimizer.step#AdamW.step");
	range(1, 0, "Optimizer.zero_grad#AdamW.zero_grad");
	range(1, 0, "DistributedDataParallel.forward");
	KINDS_ARE(SIGNAL_FETCH_BEGIN, SIGNAL_FETCH, SIGNAL_BACKWARD, SIGNAL_UPDATE_BEGIN,
		  SIGNAL_UPDATE, SIGNAL_ZERO_GRAD_BEGIN, SIGNAL_ZERO_GRAD, SIGNAL_FORWARD,
		  SIGNAL_RANGE);
	assert_int_equal(seen.s[4].begin_ns, seen.s[3].ts_ns);
	assert_int_equal(seen.s[4].ts_ns, seen.s[3].ts_ns + 10);
	assert_int_equal(seen.s[4].name, 1);
	assert_string_equal(seen.text[4], "AdamW");
	assert_int_equal(seen.s[6].name, 1);
	assert_false(seen.s[4].tainted);
}

static void test_names(void **state)
{
	char lengthy[128] = "Optimizer.step#";

	(void)state;
	memset(lengthy + 15, 'x', 80);
	range(1, 0, "my Optimizer.step#SGD.step");
	range(1, 0, "Optimizer.step#SGD.step and more");
	range(1, 0, "Optimizer.step#.step");
	range(1, 0, "Optimizer.step#a.b.step"); /* .+ takes dots */
	range(1, 0, lengthy);			/* cut by the kernel side */
	range(1, 0, "Optimizer.step#\033[31m.step");
	KINDS_ARE(SIGNAL_RANGE_BEGIN, SIGNAL_RANGE, SIGNAL_RANGE_BEGIN, SIGNAL_RANGE,
		  SIGNAL_RANGE_BEGIN, SIGNAL_RANGE, SIGNAL_UPDATE_BEGIN, SIGNAL_UPDATE,
		  SIGNAL_UPDATE_BEGIN, SIGNAL_UPDATE, SIGNAL_UPDATE_BEGIN, SIGNAL_UPDATE);
	assert_string_equal(seen.text[0], "my Optimizer.step#SGD.step");
	assert_string_equal(seen.text[7], "a.b");
	assert_null(strchr(seen.text[11], '\033'));
}

static void test_nested_optimizer(void **state)
{
	(void)state;
	begin(1, 0, "Optimizer.step#Wrap.step");
	begin(1, 1, "my range");
	begin(1, 2, "Optimizer.step#SGD.step");
	hit(1, GP_ROLE_list_op, SP, 0xabc);
	end(1, 2);
	end(1, 1);
	end(1, 0);
	KINDS_ARE(SIGNAL_UPDATE_BEGIN, SIGNAL_RANGE_BEGIN, SIGNAL_UPDATE_BEGIN, SIGNAL_LIST_OP,
		  SIGNAL_UPDATE, SIGNAL_RANGE, SIGNAL_UPDATE);
	assert_int_equal(seen.s[4].depth, 1);
	assert_int_equal(seen.s[6].depth, 0);
	assert_int_equal(seen.s[6].ident, 0xabc);
}

/* For-loop optimizers are told apart by the first parameter; an optimizer that is made says so, as
 * other things do. */
static void test_parameter(void **state)
{
	uint64_t text, other;

	(void)state;
	memcpy(&text, "on.optim", 8);
	memcpy(&other, "on.nn_mo", 8);
	hit(1, GP_ROLE_optimizer_new, SP, other);
	hit(1, GP_ROLE_optimizer_new, SP, text);
	begin(1, 0, "Optimizer.step#Adam.step");
	hit(1, GP_ROLE_param_op, SP, 0xabc);
	hit(1, GP_ROLE_update_op, SP, 0xdef);
	end(1, 0);
	KINDS_ARE(SIGNAL_OPTIMIZER, SIGNAL_UPDATE_BEGIN, SIGNAL_PARAM_OP, SIGNAL_UPDATE_OP,
		  SIGNAL_UPDATE);
	assert_int_equal(seen.s[4].ident, 0xabc);
}

static void named(uint32_t tid, enum gp_role role, const char *name)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_named *n = event_init(buf, GP_KIND_named, 0, 7, 3);
	struct gp_probe probe = {.role = (uint16_t)role};

	memcpy(n->name, name, strnlen(name, sizeof(n->name) - 1));
	feed(buf, tid, &probe);
}

/* By the last part of the name, of which Python 3.12 shows the end alone. */
static void test_save_call(void **state)
{
	(void)state;
	named(1, GP_ROLE_save_call, "torch.distributed.checkpoint.save");
	named(1, GP_ROLE_save_call, "stributed.checkpoint.async_save");
	named(1, GP_ROLE_save_call, "torch.distributed.checkpoint.load_state_dict");
	named(1, GP_ROLE_save_call, "torch.distributed.init_rpc");
	named(1, GP_ROLE_save_call, "");
	hit(1, GP_ROLE_save_call, SP, 0);
	KINDS_ARE(SIGNAL_SAVE_CALL, SIGNAL_SAVE_CALL);
	assert_int_equal(seen.s[0].count, 0);
	assert_int_equal(seen.s[1].count, 1);
}

/* An end was lost: the next range at its depth proves that it came. */
static void test_lost_end(void **state)
{
	(void)state;
	begin(1, 0, "Optimizer.step#SGD.step");
	begin(1, 1, "inner");
	begin(1, 0, "enumerate(DataLoader)#X.__next__");
	end(1, 0);
	end(1, 0); /* its begin was lost: nothing is known of it */
	KINDS_ARE(SIGNAL_UPDATE_BEGIN, SIGNAL_RANGE_BEGIN, SIGNAL_RANGE, SIGNAL_UPDATE,
		  SIGNAL_FETCH_BEGIN, SIGNAL_FETCH);
	assert_true(seen.s[2].tainted);
	assert_false(seen.s[4].tainted);
}

/* Many ends were lost: the innermost range closes first, all of them before the new one opens. */
static void test_many_lost_ends(void **state)
{
	const uint32_t lost = 3 * MARKER_SIGNALS - 4;
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < lost; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		begin(1, (uint16_t)i, name);
	}
	seen.n = 0;
	begin(1, 0, "next");
	assert_int_equal(seen.n, lost + 1);
	for (uint32_t i = 0; i < lost; i++) {
		snprintf(name, sizeof(name), "r%u", lost - 1 - i);
		assert_int_equal(seen.s[i].kind, SIGNAL_RANGE);
		assert_true(seen.s[i].tainted);
		assert_string_equal(seen.text[i], name);
	}
	assert_int_equal(seen.s[lost].kind, SIGNAL_RANGE_BEGIN);
	assert_string_equal(seen.text[lost], "next");
	seen.n = 0;
	for (uint32_t i = 1; i < lost; i++)
		begin(1, (uint16_t)i, "inner");
	seen.n = 0;
	end(1, 0);
	assert_int_equal(seen.n, lost);
	assert_true(seen.s[lost - 2].tainted);
	assert_false(seen.s[lost - 1].tainted);
	assert_string_equal(seen.text[lost - 1], "next");
	seen.n = 0;
	end(1, 0);
	assert_int_equal(seen.n, 0);
}

static void test_threads_apart(void **state)
{
	(void)state;
	begin(1, 0, "Optimizer.step#SGD.step");
	begin(2, 0, "enumerate(DataLoader)#X.__next__");
	end(1, 0);
	end(2, 0);
	KINDS_ARE(SIGNAL_UPDATE_BEGIN, SIGNAL_FETCH_BEGIN, SIGNAL_UPDATE, SIGNAL_FETCH);
}

static void test_reentrant_checkpoint(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		range(1, 0, "Optimizer.zero_grad#SGD.zero_grad");
		assert_true(outer(1, SP));
		assert_false(outer(1, SP - 9000));
		range(1, 0, "my checkpointed block");
		assert_false(outer(1, SP - 9000));
		assert_false(outer(1, SP - 18000));
		range(1, 0, "Optimizer.step#SGD.step");
		seen.n = 0;
	}
}

/* Another call path may lie deeper without being inside the last backward. */
static void test_deeper_path(void **state)
{
	(void)state;
	assert_true(outer(1, SP));
	assert_true(outer(1, SP - 300)); /* too close to be nested */
	range(1, 0, "Optimizer.step#SGD.step");
	assert_true(outer(1, SP - 5000)); /* an optimizer stepped between */
	range(1, 0, "enumerate(DataLoader)#X.__next__");
	assert_true(outer(1, SP - 9000));
	assert_false(outer(1, SP - 20000));
	hit(1, GP_ROLE_amp_update, SP, 0); /* above: it has returned */
	assert_true(outer(1, SP - 20000));
	assert_true(outer(2, SP - 30000)); /* another thread */
	range(1, 0, "Optimizer.zero_grad#SGD.zero_grad");
	assert_true(outer(1, SP - 40000));
}

/* A deeper function trains now, and nothing but its backwards can be seen. */
static void test_deeper_function(void **state)
{
	uint32_t n = 0;

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_true(outer(1, SP));
	for (int i = 0; i < 1000; i++) {
		n += outer(1, SP - 9000);
		seen.n = 0;
	}
	assert_in_range(n, 700, 999);
}

/* A network of very many checkpointed layers, pass after pass. */
static void test_many_checkpoints(void **state)
{
	(void)state;
	for (int layers = 50; layers <= 800; layers *= 2) {
		for (int pass = 0; pass < 3; pass++) {
			assert_true(outer(1, SP));
			for (int i = 0; i < layers; i++) {
				assert_false(outer(1, SP - 6592));
				seen.n = 0;
			}
		}
	}
}

/* LBFGS: the backward runs inside the range; its end proves that the pass is over. */
static void test_closure(void **state)
{
	(void)state;
	begin(1, 0, "Optimizer.step#LBFGS.step");
	assert_true(outer(1, SP));
	assert_true(outer(1, SP));
	end(1, 0);
	assert_true(outer(1, SP - 8000));
}

/* An optimizer per parameter, in hooks of the backward: the pass goes on. */
static void test_optimizer_in_backward(void **state)
{
	(void)state;
	assert_true(outer(1, SP));
	begin(1, 0, "Optimizer.step#Adam.step");
	hit(1, GP_ROLE_list_op, SP - 12000, 1);
	end(1, 0);
	assert_false(outer(1, SP - 9000));
	assert_true(outer(1, SP));
}

static void test_calls(void **state)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_probe probe = {.role = GP_ROLE_sync};
	struct gp_call *call = event_init(buf, GP_KIND_call, 0, 7, 3);
	struct gp_named *named;
	struct gp_counter *counter;

	(void)state;
	call->dur_ns = 500;
	feed(buf, 1, &probe);
	named = event_init(buf, GP_KIND_named, 0, 7, 4);
	strcpy(named->name, "out/ckpt.pt");
	probe.role = GP_ROLE_save_begin;
	feed(buf, 1, &probe);
	hit(1, GP_ROLE_save_end, SP, 0);
	hit(1, GP_ROLE_save_end, SP, 0); /* of a writer that opened before we came */
	counter = event_init(buf, GP_KIND_counter, 0, 7, 5);
	counter->count = 33;
	probe.role = GP_ROLE_reducer;
	feed(buf, 0, &probe); /* of a probe that is sent: those were not */
	probe.role = GP_ROLE_launch;
	probe.flags = GP_PROBE_COUNTED;
	feed(buf, 1, &probe);
	hit(1, GP_ROLE_execute, 0, 0xfeed);
	hit(1, GP_ROLE_none, 0, 0);
	KINDS_ARE(SIGNAL_SYNC, SIGNAL_SAVE_BEGIN, SIGNAL_SAVE, SIGNAL_LAUNCH, SIGNAL_EXECUTE);
	assert_int_equal(seen.s[0].begin_ns, seen.s[0].ts_ns - 500);
	assert_string_equal(seen.text[2], "out/ckpt.pt");
	assert_int_equal(seen.s[2].begin_ns, seen.s[1].ts_ns);
	assert_int_equal(seen.s[3].count, 33);
	assert_int_equal(seen.s[4].ident, 1);
}

/* Whether a call that makes a device is told as failed, by what it returned. */
static bool init_failed(const struct gp_probe *as, int64_t ret)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_call *call = event_init(buf, GP_KIND_call, 0, 7, 3);
	struct gp_probe probe = *as;
	bool tainted;

	probe.role = GP_ROLE_device_init;
	call->ret = ret;
	seen.n = 0;
	feed(buf, 1, &probe);
	assert_true(seen.n > 0);
	assert_int_equal(seen.s[0].kind, SIGNAL_INIT);
	tainted = seen.s[0].tainted;
	seen.n = 0;
	return tainted;
}

static void test_init_failed(void **state)
{
	static const struct gp_probe cuda = {.returns = GP_RETURNS_signed},
				     nccl = {.returns = GP_RETURNS_signed,
					     .noks = 2,
					     .ok = {{0, 0}, {7, 7}}},
				     ranges = {.returns = GP_RETURNS_signed,
					       .noks = 1,
					       .ok = {{-3, 5}}},
				     level_zero = {.returns = GP_RETURNS_unsigned},
				     opencl = {.returns = GP_RETURNS_object},
				     pjrt = {.returns = GP_RETURNS_error}, unknown = {0};

	(void)state;
	assert_false(init_failed(&cuda, 0));
	assert_true(init_failed(&cuda, 100));
	assert_true(init_failed(&cuda, -5));
	assert_true(init_failed(&cuda, 1200));
	assert_false(
		init_failed(&cuda, 0x100000000)); /* the high half of a register is nobody's code */
	assert_true(init_failed(&nccl, 2));
	assert_false(init_failed(&nccl, 7));
	assert_false(init_failed(&ranges, 0xfffffffd));
	assert_true(init_failed(&ranges, -4));
	assert_true(init_failed(&level_zero, 0x80070057));
	assert_false(init_failed(&level_zero, 0));
	assert_true(init_failed(&opencl, 0));
	assert_false(init_failed(&opencl, 0x55d0000000c0));
	assert_true(init_failed(&pjrt, 0x7f0000000000));
	assert_false(init_failed(&pjrt, 0));
	assert_false(init_failed(&unknown, 1));
}

static void test_losses(void **state)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_loss *loss = event_init(buf, GP_KIND_loss, 0, 7, 0);

	(void)state;
	loss->cause = GP_LOSS_ring_call;
	loss->count = 5;
	feed(buf, 0, NULL);
	loss->cause = GP_LOSS_rate_limited;
	feed(buf, 0, NULL);
	KINDS_ARE(SIGNAL_LOSS);
	assert_int_equal(seen.s[0].count, 5);
}

static void test_anonymous(void **state)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_range_begin *b = event_init(buf, GP_KIND_range_begin, 0, 7, 1);
	struct gp_probe probe = {.role = GP_ROLE_range_begin, .flags = GP_PROBE_ANON_RANGE};

	(void)state;
	b->flags = GP_RANGE_ANONYMOUS;
	feed(buf, 1, NULL);
	event_init(buf, GP_KIND_hit, 0, 7, 1);
	feed(buf, 1, &probe);
	KINDS_ARE(SIGNAL_ANON_RANGE, SIGNAL_ANON_RANGE);
}

/* Any records: bounded, no crash, step ranges never more often closed than opened. */
static void test_garbage(void **state)
{
	static const char *const names[] = {"Optimizer.step#A.step",
					    "Optimizer.zero_grad#B.zero_grad",
					    "enumerate(DataLoader)#C", "x"};
	uint64_t x = 88172645463325252ull;

	(void)state;
	for (uint32_t i = 0; i < 300000; i++) {
		uint32_t tid = 1 + (uint32_t)(x >> 16 & 511);
		char name[GP_NAME_MAX];

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		seen.n = 0;
		switch (x >> 8 & 3) {
		case 0:
			snprintf(name, sizeof(name), "Optimizer.step#%u.step", (uint32_t)(x >> 40));
			begin(tid, (uint16_t)(x >> 32), x >> 50 & 3 ? names[x >> 20 & 3] : name);
			break;
		case 1:
			end(tid, (uint16_t)(x >> 32 & 7));
			break;
		default:
			hit(tid, (enum gp_role)(x >> 32 & 31), x, x);
		}
		for (uint32_t k = 0; k < seen.n; k++)
			assert_true(seen.s[k].kind != SIGNAL_UPDATE ||
				    seen.s[k].depth < GP_RANGE_DEPTH);
	}
}

static void gap(uint64_t from_ns)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_gap *g = event_init(buf, GP_KIND_gap, 0, 0, 0);

	g->from_ns = from_ns;
	feed(buf, 0, NULL);
}

/* What was open is closed where we ceased to watch, tainted; its end, when it comes, is
 * nothing's. */
static void test_gap(void **state)
{
	uint64_t from_ns;

	(void)state;
	begin(1, 0, "Optimizer.step#Wrap.step");
	begin(1, 1, "Optimizer.step#SGD.step");
	begin(2, 0, "enumerate(DataLoader)#x.__next__");
	hit(3, GP_ROLE_save_begin, SP, 0);
	from_ns = now_ns + 5;
	now_ns += 1000;
	gap(from_ns);
	end(1, 1);
	end(2, 0);
	end(1, 0);
	hit(3, GP_ROLE_save_end, SP, 0);
	range(1, 0, "Optimizer.step#SGD.step");
	KINDS_ARE(SIGNAL_UPDATE_BEGIN, SIGNAL_UPDATE_BEGIN, SIGNAL_FETCH_BEGIN, SIGNAL_SAVE_BEGIN,
		  SIGNAL_UPDATE, SIGNAL_UPDATE, SIGNAL_FETCH, SIGNAL_GAP, SIGNAL_SAVE,
		  SIGNAL_UPDATE_BEGIN, SIGNAL_UPDATE);
	for (uint32_t i = 4; i < 7; i++) {
		assert_true(seen.s[i].tainted);
		assert_int_equal(seen.s[i].ts_ns, from_ns);
		assert_int_equal(seen.s[i].tid, i < 6 ? 1 : 2);
	}
	assert_int_equal(seen.s[4].depth, 1);
	assert_int_equal(seen.s[5].depth, 0);
	assert_int_equal(seen.s[7].begin_ns, from_ns);
	assert_int_equal(seen.s[7].ts_ns, from_ns - 5 + 1010);
	assert_int_equal(seen.s[8].begin_ns, seen.s[3].ts_ns);
	assert_int_equal(seen.s[10].depth, 0);
	assert_false(seen.s[10].tainted);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_plain),
		TEST(test_names),
		TEST(test_nested_optimizer),
		TEST(test_parameter),
		TEST(test_save_call),
		TEST(test_lost_end),
		TEST(test_many_lost_ends),
		TEST(test_threads_apart),
		TEST(test_reentrant_checkpoint),
		TEST(test_deeper_path),
		TEST(test_closure),
		TEST(test_optimizer_in_backward),
		TEST(test_calls),
		TEST(test_losses),
		TEST(test_anonymous),
		TEST(test_garbage),
		TEST(test_deeper_function),
		TEST(test_many_checkpoints),
		TEST(test_gap),
		TEST(test_init_failed),
	};

	return cmocka_run_group_tests_name("marker", tests, NULL, NULL);
}
