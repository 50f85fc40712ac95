/* SPDX-License-Identifier: Apache-2.0 */
/* What the cases (tests/cases) do not show: identity, bounds, snapshots, hostile records. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/base/buffer.h"
#include "userspace/export/file/json_line.h"
#include "userspace/model/time/anchor.h"
#include "userspace/model/model.h"

#define MS 1000000ull
#define S  1000000000ull

struct world {
	struct model *model;
	struct buffer facts;
	uint64_t count[FACT_TYPES];
	struct fact last;
	_Alignas(8) char record[GP_RECORD_MAX];
};

static void see(void *ctx, const struct fact *f)
{
	struct world *w = ctx;

	w->count[f->type]++;
	w->last = *f;
	json_line(&w->facts, f, NULL);
	buffer_add(&w->facts, "\n", 1);
}

static void *make(struct world *w, unsigned kind, uint64_t ts_ns, uint32_t pid, const char *probe)
{
	return event_init(w->record, kind, ts_ns, pid, probe ? gp_probe_hash(probe) : 0);
}

static void feed(struct world *w)
{
	const struct gp_rec *rec = (const struct gp_rec *)w->record;
	struct event ev;

	assert_int_equal(event_decode(rec, rec->len, &ev), 0);
	assert_int_equal(model_feed(w->model, &ev), 0);
}

static void define(struct world *w, const char *id, unsigned role)
{
	struct gp_probe *p = make(w, GP_KIND_probe, 1, 0, id);

	p->role = (uint16_t)role;
	snprintf(p->id, sizeof(p->id), "%s", id);
	feed(w);
}

static void open_world(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->model = model_new(see, w);
	assert_non_null(w->model);
	define(w, "begin", GP_ROLE_range_begin);
	define(w, "end", GP_ROLE_range_end);
	define(w, "backward", GP_ROLE_backward);
	define(w, "save", GP_ROLE_save_begin);
	define(w, "saved", GP_ROLE_save_end);
	define(w, "restore", GP_ROLE_restore);
	define(w, "op", GP_ROLE_update_op);
	define(w, "sync", GP_ROLE_sync);
	define(w, "launch", GP_ROLE_launch);
}

static void close_world(struct world *w)
{
	assert_int_equal(model_ledger_violations(w->model), 0);
	model_free(w->model);
	buffer_free(&w->facts);
}

static struct gp_process *process(struct world *w, uint64_t ts_ns, uint32_t pid, uint64_t start_ns)
{
	struct gp_process *p = make(w, GP_KIND_process, ts_ns, pid, NULL);

	p->start_ns = start_ns;
	p->start_mono_ns = start_ns;
	p->flags = GP_PROCESS_FROM_START | GP_PROCESS_TARGET;
	p->rank = p->world_size = p->local_rank = -1;
	return p;
}

static void backward(struct world *w, uint64_t ts_ns, uint32_t pid)
{
	make(w, GP_KIND_hit, ts_ns, pid, "backward");
	((struct gp_rec *)w->record)->tid = pid;
	feed(w);
}

static void leave(struct world *w, uint64_t ts_ns, uint32_t pid, int status)
{
	((struct gp_exit *)make(w, GP_KIND_exit, ts_ns, pid, NULL))->status = status;
	feed(w);
}

static struct snapshot *look(struct world *w)
{
	struct snapshot *s = model_snapshot(w->model);

	assert_non_null(s);
	return s;
}

/* ---- identity -------------------------------------------------------------------------------- */

/* The kernel side tells a start to the nanosecond, /proc in ticks of 10 ms: still one process. */
static void test_start_in_ticks(void **state)
{
	struct world w;
	struct gp_fork *f;
	struct snapshot *s;

	(void)state;
	open_world(&w);
	f = make(&w, GP_KIND_fork, 5 * S, 10, NULL);
	f->child = 20;
	f->start_ns = 5 * S + 9999999;
	feed(&w);
	process(&w, 5 * S + 20 * MS, 20, 5 * S);
	feed(&w);
	backward(&w, 6 * S, 20);
	s = look(&w);
	assert_int_equal(s->nranks, 1);
	assert_int_equal(s->ranks[0].start_mono_ns, 5 * S);
	snapshot_unref(s);
	process(&w, 7 * S, 20, 5 * S + 20 * MS); /* two ticks on: another one */
	feed(&w);
	s = look(&w);
	assert_int_equal(s->nranks, 2);
	assert_int_equal(s->ranks[0].alive, false);
	assert_int_equal(s->ranks[1].alive, true);
	snapshot_unref(s);
	close_world(&w);
}

/* A record of a process that nobody introduced: followed from there on, introduced later. */
static void test_unknown_process(void **state)
{
	struct world w;
	struct snapshot *s;
	struct gp_process *p;

	(void)state;
	open_world(&w);
	backward(&w, 6 * S, 20);
	p = process(&w, 7 * S, 20, 2 * S);
	p->flags = 0;
	p->rank = 3;
	p->world_size = 8;
	snprintf(p->comm, sizeof(p->comm), "py\033[2J");
	feed(&w);
	s = look(&w);
	assert_int_equal(s->nranks, 1);
	assert_int_equal(s->ranks[0].rank, 3);
	assert_int_equal(s->ranks[0].world_size, 8);
	assert_int_equal(s->ranks[0].ledger.start_ns, 2 * S);
	assert_int_equal(s->ranks[0].ledger.ns[BUCKET_UNOBSERVED], 4 * S);
	assert_null(strchr(s->ranks[0].comm, '\033'));
	snapshot_unref(s);
	close_world(&w);
}

static void test_order_of_ranks(void **state)
{
	static const struct {
		uint32_t pid;
		int rank;
		bool trains;
	} all[] = {{50, -1, false}, {40, 1, true}, {30, -1, true}, {20, 0, true}, {10, 1, true}};
	static const uint32_t want[] = {20, 10, 40, 30, 50};
	struct world w;
	struct snapshot *s;

	(void)state;
	open_world(&w);
	for (size_t i = 0; i < 5; i++) {
		process(&w, 2 * S, all[i].pid, S)->rank = all[i].rank;
		feed(&w);
		if (all[i].trains)
			backward(&w, 3 * S, all[i].pid);
	}
	s = look(&w);
	assert_int_equal(s->nranks, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(s->ranks[i].pid, want[i]);
	snapshot_unref(s);
	close_world(&w);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void test_too_many_processes(void **state)
{
	struct world w;
	struct snapshot *s;

	(void)state;
	open_world(&w);
	for (uint32_t i = 0; i < MODEL_RANKS + 10; i++) {
		struct gp_fork *f = make(&w, GP_KIND_fork, S + i, 1, NULL);

		f->child = 100 + i;
		f->start_ns = S + i;
		feed(&w);
	}
	s = look(&w);
	assert_int_equal(s->unfollowed, 10);
	assert_int_equal(s->nranks, 0); /* none is a target or a trainer */
	snapshot_unref(s);
	for (uint32_t i = 0; i < MODEL_RANKS; i++)
		leave(&w, 2 * S, 100 + i, 0);
	process(&w, 3 * S, 7, 3 * S);
	feed(&w);
	s = look(&w);
	assert_int_equal(s->nranks, 1); /* there is room again */
	snapshot_unref(s);
	close_world(&w);
}

static void test_many_ended(void **state)
{
	struct world w;
	struct snapshot *s;

	(void)state;
	open_world(&w);
	for (uint32_t i = 0; i < 300; i++) {
		process(&w, i * S, 100 + i, i * S);
		feed(&w);
		if (i % 3 == 0)
			backward(&w, i * S + MS, 100 + i);
		leave(&w, i * S + 2 * MS, 100 + i, 0);
	}
	s = look(&w);
	assert_int_equal(s->nranks, 256);
	assert_int_equal(s->forgotten, 44);
	assert_true(s->ranks[0].trainer && s->ranks[0].pid >= 144);
	snapshot_unref(s);
	close_world(&w);
}

/* ---- what concerns all ----------------------------------------------------------------------- */

static void clock_at(struct world *w, uint64_t ts_ns, int64_t real_ns)
{
	((struct gp_clock *)make(w, GP_KIND_clock, ts_ns, 0, NULL))->real_ns = real_ns;
	feed(w);
}

static void test_wall_time(void **state)
{
	struct world w;
	struct gp_session *gs;
	struct snapshot *s;
	struct buffer saved = {0};

	(void)state;
	open_world(&w);
	gs = make(&w, GP_KIND_session, 10 * S, 0, NULL);
	memset(gs->version, 'x', sizeof(gs->version)); /* not terminated */
	feed(&w);
	assert_int_equal(w.count[FACT_START], 0); /* its time is not known yet */
	clock_at(&w, 10 * S + 5, 5000 * (int64_t)S);
	assert_int_equal(w.count[FACT_START], 1);
	assert_int_equal(w.last.mono_ns, 10 * S);
	assert_int_equal(w.last.real_ns, 5000 * (int64_t)S - 5);
	process(&w, 11 * S, 20, 11 * S)->flags = GP_PROCESS_FROM_START;
	feed(&w);
	backward(&w, 12 * S, 20);
	clock_at(&w, 20 * S, 9000 * (int64_t)S); /* somebody set the clock */
	s = look(&w);				 /* which moves no beginning of what is counted */
	assert_int_equal(s->jobs[0].since_real_ns, 5001 * (int64_t)S - 5);
	assert_int_equal(s->ranks[0].since_real_ns, 5001 * (int64_t)S - 5);
	snapshot_unref(s);
	for (uint64_t at_ns = 15 * S; at_ns <= 25 * S; at_ns += 10 * S) {
		((struct gp_loss *)make(&w, GP_KIND_loss, at_ns, 0, NULL))->count = 1;
		feed(&w);
		assert_int_equal(w.last.real_ns,
				 at_ns < 20 * S ? 5005 * (int64_t)S - 5 : 9005 * (int64_t)S);
	}
	assert_int_equal(w.count[FACT_LOSS], 2);
	for (uint64_t i = 0; i < 2ull * ANCHORS;
	     i++) /* nor does it when the clock of then is forgotten */
		clock_at(&w, (30 + i) * S, (int64_t)((9010 + i) * S));
	assert_int_equal(model_save(w.model, &saved), 0);
	model_free(w.model);
	assert_int_equal(model_load(&w.model, see, &w, saved.data, saved.len), 0);
	buffer_free(&saved);
	s = look(&w);
	assert_int_equal(s->session_real_ns, 5000 * (int64_t)S - 5);
	snapshot_unref(s);
	close_world(&w);
}

static void test_attach(void **state)
{
	struct world w;
	struct gp_attach *a;
	struct snapshot *s;

	(void)state;
	open_world(&w);
	for (int i = 0; i < 3; i++) { /* two libraries; the first one's probe is given up later */
		a = make(&w, GP_KIND_attach, S + (uint64_t)i, 0, "backward");
		a->ino = i == 1 ? 8 : 7;
		a->state = i == 2 ? GP_ATTACH_detached : GP_ATTACH_attached;
		a->hit_cost_ns = 400;
		feed(&w);
	}
	process(&w, 2 * S, 20, S);
	feed(&w);
	backward(&w, 3 * S, 20);
	((struct gp_counter *)make(&w, GP_KIND_counter, 4 * S, 20, "backward"))->count = 99;
	feed(&w);
	s = look(&w);
	assert_int_equal(s->nattach, 2);
	assert_int_equal(s->attach[0].at.ino, 7);
	assert_int_equal(s->attach[0].at.state, GP_ATTACH_detached);
	assert_int_equal(s->attach[0].hits, 100);
	assert_string_equal(s->attach[0].id, "backward");
	assert_int_equal(s->ranks[0].hits, 100);
	assert_int_equal(s->ranks[0].overhead.sum.all_ns, 40000);
	snapshot_unref(s);
	close_world(&w);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void test_snapshot_is_still(void **state)
{
	struct world w;
	struct snapshot *s, *t;

	(void)state;
	open_world(&w);
	process(&w, 2 * S, 20, S);
	feed(&w);
	backward(&w, 3 * S, 20);
	s = look(&w);
	for (uint64_t i = 0; i < 100; i++)
		backward(&w, 4 * S + i * MS, 20);
	leave(&w, 5 * S, 20, 0);
	t = look(&w);
	assert_true(t->number > s->number);
	assert_int_equal(s->mono_ns, 3 * S);
	assert_true(s->ranks[0].alive && !t->ranks[0].alive);
	assert_int_equal(s->ranks[0].loops[0].last_number, 0);
	assert_int_equal(t->ranks[0].loops[0].last_number, 101);
	close_world(&w); /* they outlive the model */
	assert_int_equal(t->ranks[0].loops[0].last_number, 101);
	snapshot_unref(s);
	snapshot_unref(t);
	snapshot_unref(NULL);
}

static void *hold_and_let_go(void *s)
{
	for (int i = 0; i < 100000; i++)
		snapshot_unref(snapshot_ref(s));
	snapshot_unref(s);
	return NULL;
}

static void test_snapshot_threads(void **state)
{
	pthread_t threads[4];
	struct world w;
	struct snapshot *s;

	(void)state;
	open_world(&w);
	s = look(&w);
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, hold_and_let_go, snapshot_ref(s)), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(s->references, 1);
	snapshot_unref(s);
	close_world(&w);
}

/* ---- anything at all ------------------------------------------------------------------------- */

static const char *const names[] = {
	"Optimizer.step#SGD.step",
	"enumerate(DataLoader)#x.__next__",
	"Optimizer.zero_grad#SGD.zero_grad",
	"user",
};
static const char *const probes[] = {"begin",	"end", "backward", "save",   "saved",
				     "restore", "op",  "sync",	   "launch", "?"};
static const unsigned kinds[] = {
	GP_KIND_hit,	     GP_KIND_hit,	GP_KIND_hit,	   GP_KIND_range_begin,
	GP_KIND_range_begin, GP_KIND_range_end, GP_KIND_range_end, GP_KIND_named,
	GP_KIND_call,	     GP_KIND_counter,	GP_KIND_tick,	   GP_KIND_hit,
	GP_KIND_range_begin, GP_KIND_range_end,
};
static const unsigned rare[] = {GP_KIND_fork,	GP_KIND_exec,	GP_KIND_exit,  GP_KIND_signal,
				GP_KIND_oom,	GP_KIND_map,	GP_KIND_loss,  GP_KIND_process,
				GP_KIND_attach, GP_KIND_config, GP_KIND_clock, GP_KIND_end,
				GP_KIND_gap};

/* A record with random bytes in it, most of them such as a process could bring about. */
static void random_record(struct world *w, unsigned *seed, uint64_t ts_ns)
{
	bool seldom = rand_r(seed) % 40 == 0;
	unsigned kind = seldom ? rare[(unsigned)rand_r(seed) % 13]
			       : kinds[(unsigned)rand_r(seed) % 14];
	uint32_t pid = (uint32_t)(rand_r(seed) % 4), tid = pid * 10 + (uint32_t)(rand_r(seed) % 3);
	char *payload = make(w, kind, ts_ns, pid, probes[(unsigned)rand_r(seed) % 10]);
	size_t len = event_length(kind) - sizeof(struct gp_rec);

	((struct gp_rec *)w->record)->tid = tid;
	if (rand_r(seed) % 4 == 0) {
		for (size_t i = 0; i < len; i++)
			payload[i] = (char)(rand_r(seed) % 8 ? rand_r(seed) % 3 : rand_r(seed));
	}
	if (kind == GP_KIND_range_begin) {
		struct gp_range_begin *b = (void *)payload;

		b->depth %= 4;
		snprintf(b->name, sizeof(b->name), "%s", names[(unsigned)rand_r(seed) % 4]);
	}
	if (kind == GP_KIND_fork)
		((struct gp_fork *)payload)->child %= 4;
	if (kind == GP_KIND_gap && rand_r(seed) % 4)
		((struct gp_gap *)payload)->from_ns = ts_ns - (uint64_t)(rand_r(seed) % 100) * MS;
	if (kind == GP_KIND_clock)
		((struct gp_clock *)payload)->real_ns = (int64_t)(1000 * S);
}

static void check_snapshot(struct world *w)
{
	struct snapshot *s = look(w);

	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct ledger_view *l = &s->ranks[i].ledger;
		uint64_t sum_ns = 0;

		for (int b = 0; b < BUCKET_COUNT; b++)
			sum_ns += l->ns[b];
		assert_int_equal(sum_ns, l->now_ns - l->start_ns);
		assert_true(l->unsettled_ns <= l->ns[BUCKET_OTHER]);
	}
	assert_int_equal(s->ledger_violations, 0);
	snapshot_unref(s);
}

static void random_run(struct world *w, unsigned seed, bool look_at_it)
{
	uint64_t ts_ns = S;

	open_world(w);
	for (int i = 0; i < 6000; i++) {
		ts_ns += (uint64_t)(rand_r(&seed) % 1000) * (rand_r(&seed) % 50 ? 1000 : 10 * MS);
		random_record(w, &seed, ts_ns);
		feed(w);
		if (look_at_it && i % 16 == 0)
			check_snapshot(w);
	}
}

/* The ledgers close whatever comes, and nobody's looking changes what is told. */
static void test_random(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct world a, b;

		random_run(&a, seed, true);
		random_run(&b, seed, false);
		assert_int_equal(a.facts.len, b.facts.len);
		assert_memory_equal(a.facts.data, b.facts.data, a.facts.len);
		assert_true(a.count[FACT_STEP] > 0);
		close_world(&a);
		close_world(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_in_ticks),	 cmocka_unit_test(test_unknown_process),
		cmocka_unit_test(test_order_of_ranks),	 cmocka_unit_test(test_too_many_processes),
		cmocka_unit_test(test_many_ended),	 cmocka_unit_test(test_wall_time),
		cmocka_unit_test(test_attach),		 cmocka_unit_test(test_snapshot_is_still),
		cmocka_unit_test(test_snapshot_threads), cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
