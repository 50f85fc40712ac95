/* SPDX-License-Identifier: Apache-2.0 */
/* script.h - the moves of a .case file, as the records that the kernel side and user space would
 * write.
 *
 * A line is a list of moves, "TIME [pN.][tN:] WORD ARGUMENT... | ...", TIME absolute or +D after
 * the move before; # starts a comment. Moves of one block (up to the next => line) are put in order
 * of time; ticks come every second by themselves. tests/cases/README.md lists the words. */
#ifndef TESTS_CASES_SCRIPT_H
#define TESTS_CASES_SCRIPT_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/probe/probe_file.h"
#include "userspace/ingest/event.h"

#define SCRIPT_MADE    "tests/fake/made"
#define SCRIPT_BASE_NS 1000000000000ull
#define SCRIPT_REAL_NS 1700000000000000000ll /* UTC then */
#define SCRIPT_EVENTS  60000
#define SCRIPT_PIDS    64
#define SCRIPT_THREADS 10
#define SCRIPT_GAPS    64
#define SCRIPT_OUTPUT  0xb000000ull

struct record {
	uint64_t ts_ns;
	uint32_t order;
	_Alignas(8) char bytes[GP_RECORD_MAX];
};

struct script {
	struct record *records; /* of the block */
	uint32_t count, done;
	uint64_t at_ns, tick_ns; /* last move, last tick */
	struct {
		uint64_t from_ns, to_ns;
	} gaps[SCRIPT_GAPS]; /* of the block: nothing ticks */
	uint32_t ngaps;
	uint32_t pid, tid; /* index, from 1 */
	bool named[SCRIPT_PIDS];
	bool session;
	bool backward[SCRIPT_PIDS][SCRIPT_THREADS]; /* since the last update */
	uint16_t depth[SCRIPT_PIDS][SCRIPT_THREADS];
	uint64_t hit_cost_ns;
	uint64_t events,
		outputs; /* of executions: so many complete, so many first outputs there were */
	struct script_lack {
		struct gp_usage usage;
		struct gp_pressure pressure;
	} lack[SCRIPT_PIDS];
	char error[200];
};

enum script_probe {
	P_BEGIN,
	P_END,
	P_BACKWARD,
	P_REDUCER,
	P_FUSED,
	P_LIST,
	P_AMP,
	P_GRAD_ON,
	P_SAVE,
	P_SAVE_CALL,
	P_SAVED,
	P_RESTORE,
	P_LAUNCH,
	P_SYNC,
	P_EXECUTE,
	P_ANON,
	P_DEVICE,
	P_COMM,
	P_GROUP,
	P_GROUPED,
	P_MONITOR,
	P_COLLECTIVE,
	P_COPY,
	P_ERROR,
	P_COMM_ERROR,
	P_ABORT,
	P_ALLOC,
	P_BUILD,
	P_SUSPEND,
	P_RESUME,
	P_TABLE_BEGIN,
	P_TABLE_COMPILE,
	P_TABLE_EXECUTE,
	P_TABLE_END,
	P_READY,
	P_DONE,
	P_JIT_BEGIN,
	P_JIT_END,
	P_JIT,
	P_FUNCTION,
	P_GRAPH,
	P_WAIT,
	P_SEND,
	P_GROUP_END,
	P_COMM_END,
	P_CACHED_BEGIN,
	P_CACHED,
	P_PRODUCT,
	P_ATTENTION,
	P_GRAD_MODE,
	P_SOLVE,
	P_COUNT
};

static const struct {
	const char *id;
	unsigned role, flags;
	const char *runtime; /* NULL: "test" */
} script_probes[P_COUNT] = {
	[P_BEGIN] = {"t.range_begin", GP_ROLE_range_begin, 0},
	[P_END] = {"t.range_end", GP_ROLE_range_end, 0},
	[P_BACKWARD] = {"t.backward", GP_ROLE_backward, 0},
	[P_REDUCER] = {"t.reducer", GP_ROLE_reducer, 0},
	[P_FUSED] = {"t.fused", GP_ROLE_update_op, 0},
	[P_LIST] = {"t.list", GP_ROLE_list_op, 0},
	[P_AMP] = {"t.amp", GP_ROLE_amp_update, 0},
	[P_GRAD_ON] = {"t.grad_on", GP_ROLE_grad_on, 0},
	[P_SAVE] = {"t.save", GP_ROLE_save_begin, 0},
	[P_SAVE_CALL] = {"t.save_call", GP_ROLE_save_call, 0},
	[P_SAVED] = {"t.saved", GP_ROLE_save_end, 0},
	[P_RESTORE] = {"t.restore", GP_ROLE_restore, 0},
	[P_LAUNCH] = {"t.launch", GP_ROLE_launch, GP_PROBE_COUNTED},
	[P_SYNC] = {"t.sync", GP_ROLE_sync, GP_PROBE_RETURNS},
	[P_EXECUTE] = {"t.execute", GP_ROLE_execute, 0},
	[P_ANON] = {"t.anon", GP_ROLE_range_begin, GP_PROBE_ANON_RANGE},
	[P_DEVICE] = {"t.device", GP_ROLE_device_init, GP_PROBE_RETURNS},
	[P_COMM] = {"t.comm", GP_ROLE_comm_init, GP_PROBE_RETURNS},
	[P_GROUP] = {"t.group", GP_ROLE_group_init, 0},
	[P_GROUPED] = {"t.grouped", GP_ROLE_group_ready, 0},
	[P_MONITOR] = {"t.monitor", GP_ROLE_monitor, 0},
	[P_COLLECTIVE] = {"nccl.all_reduce", GP_ROLE_collective, GP_PROBE_RETURNS, "nccl"},
	[P_COPY] = {"cuda.copy", GP_ROLE_copy, GP_PROBE_RETURNS, "cuda"},
	[P_ERROR] = {"cuda.error", GP_ROLE_error, GP_PROBE_RETURNS, "cuda"},
	[P_COMM_ERROR] = {"nccl.comm_error", GP_ROLE_comm_error, GP_PROBE_RETURNS, "nccl"},
	[P_ABORT] = {"nccl.comm_abort", GP_ROLE_comm_abort, GP_PROBE_RETURNS, "nccl"},
	[P_ALLOC] = {"cuda.alloc", GP_ROLE_alloc, GP_PROBE_RETURNS, "cuda"},
	[P_BUILD] = {"cuda.module", GP_ROLE_compile, GP_PROBE_RETURNS, "cuda"},
	[P_SUSPEND] = {"cuda.suspend", GP_ROLE_suspend, GP_PROBE_RETURNS, "cuda"},
	[P_RESUME] = {"cuda.resume", GP_ROLE_resume, GP_PROBE_RETURNS, "cuda"},
	[P_TABLE_BEGIN] = {"pjrt.compile_begin", GP_ROLE_compile_begin, 0, "pjrt"},
	[P_TABLE_COMPILE] = {"pjrt.compile", GP_ROLE_compile, GP_PROBE_RETURNS, "pjrt"},
	[P_TABLE_EXECUTE] = {"pjrt.execute", GP_ROLE_execute, GP_PROBE_RETURNS | GP_PROBE_OBJECT,
			     "pjrt"},
	[P_TABLE_END] = {"pjrt.destroy", GP_ROLE_program_end, 0, "pjrt"},
	[P_READY] = {"pjrt.on_ready", GP_ROLE_on_ready, GP_PROBE_RETURNS, "pjrt"},
	[P_DONE] = {"jax.completion", GP_ROLE_completion, 0, "jax"},
	[P_JIT_BEGIN] = {"jax.compile_begin", GP_ROLE_compile_begin, 0, "jax"},
	[P_JIT_END] = {"jax.compile_end", GP_ROLE_compile_end, 0, "jax"},
	[P_JIT] = {"jax.execute", GP_ROLE_execute, GP_PROBE_OBJECT, "jax"},
	[P_FUNCTION] = {"tensorflow.execute", GP_ROLE_execute, 0, "tensorflow"},
	[P_GRAPH] = {"cuda.graph_launch", GP_ROLE_graph_launch, 0, "cuda"},
	[P_WAIT] = {"cuda.stream_sync", GP_ROLE_sync, GP_PROBE_RETURNS, "cuda"},
	[P_SEND] = {"nccl.send", GP_ROLE_collective, GP_PROBE_RETURNS | GP_PROBE_PAIR, "nccl"},
	[P_GROUP_END] = {"nccl.group_end", GP_ROLE_error, GP_PROBE_RETURNS, "nccl"},
	[P_COMM_END] = {"nccl.comm_destroy", GP_ROLE_comm_end, GP_PROBE_RETURNS, "nccl"},
	[P_CACHED_BEGIN] = {"pjrt.deserialize_begin", GP_ROLE_cached, 0, "pjrt"},
	[P_CACHED] = {"pjrt.deserialize", GP_ROLE_cached, GP_PROBE_RETURNS, "pjrt"},
	[P_PRODUCT] = {"t.product", GP_ROLE_operation, 0},
	[P_ATTENTION] = {"t.attention", GP_ROLE_operation, 0},
	[P_GRAD_MODE] = {"t.grad_mode", GP_ROLE_operation, 0},
	[P_SOLVE] = {"t.solve", GP_ROLE_operation, 0},
};

/* What the probe file of a runtime says of it. */
static const struct {
	const char *runtime;
	enum gp_returns returns;
	int64_t ok[2];	/* ... and 0 */
	unsigned flags; /* of all its probes */
} script_results[] = {
	{"test", GP_RETURNS_signed, {7, 7}, 0},
	{"cuda", GP_RETURNS_signed, {0, 0}, 0},
	{"nccl", GP_RETURNS_signed, {7, 7}, GP_PROBE_RANKS},
	{"pjrt", GP_RETURNS_error, {0, 0}, GP_PROBE_TABLE},
};
static const struct gp_code script_codes[] = {
	{.runtime = "cuda", .code = 2, .kind = GP_FAULT_memory, .name = "CUDA_ERROR_OUT_OF_MEMORY"},
	{.runtime = "cuda",
	 .code = 700,
	 .kind = GP_FAULT_device,
	 .name = "CUDA_ERROR_ILLEGAL_ADDRESS"},
	{.runtime = "cuda",
	 .code = 719,
	 .kind = GP_FAULT_device,
	 .name = "CUDA_ERROR_LAUNCH_FAILED"},
	{.runtime = "nccl", .code = 2, .kind = GP_FAULT_communicator, .name = "ncclSystemError"},
	{.runtime = "nccl", .code = 6, .kind = GP_FAULT_communicator, .name = "ncclRemoteError"},
};

static inline void script_fail(struct script *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static inline void script_fail(struct script *s, const char *fmt, ...)
{
	va_list ap;

	if (*s->error)
		return;
	va_start(ap, fmt);
	vsnprintf(s->error, sizeof(s->error), fmt, ap);
	va_end(ap);
}

/* "40ms", "1.5s", "20us", "7ns"; false: no duration. */
static inline bool script_duration(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
	char *end;
	double v = strtod(text, &end);

	for (size_t i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(end, units[i].unit)) {
			*ret_ns = (uint64_t)(v * units[i].ns + 0.5);
			return true;
		}
	}
	return false;
}

/* ---- records --------------------------------------------------------------------------------- */

static inline void *script_add(struct script *s, unsigned kind, uint64_t ts_ns, uint32_t pid,
			       int probe)
{
	struct record *r;
	void *payload;

	if (s->count == SCRIPT_EVENTS) {
		script_fail(s, "too many events");
		s->count--;
	}
	r = &s->records[s->count];
	r->ts_ns = ts_ns;
	r->order = s->count++;
	payload = event_init(r->bytes, kind, SCRIPT_BASE_NS + ts_ns, pid,
			     probe < 0 ? 0 : gp_probe_hash(script_probes[probe].id));
	((struct gp_rec *)r->bytes)->tid = pid ? pid + s->tid - 1 : 0;
	return payload;
}

static inline uint32_t script_pid(const struct script *s)
{
	return 1000 * s->pid;
}

static inline void script_hit(struct script *s, uint64_t ts_ns, int probe, uint64_t arg)
{
	struct gp_hit *h = script_add(s, GP_KIND_hit, ts_ns, script_pid(s), probe);

	h->sp = 0x7fff0000;
	h->arg[0] = arg;
}

static inline void script_range(struct script *s, uint64_t from_ns, uint64_t to_ns,
				const char *name)
{
	struct gp_range_begin *b = script_add(s, GP_KIND_range_begin, from_ns, script_pid(s),
					      P_BEGIN);
	struct gp_range_end *e;

	snprintf(b->name, sizeof(b->name), "%s", name);
	b->depth = s->depth[s->pid][s->tid];
	e = script_add(s, GP_KIND_range_end, to_ns, script_pid(s), P_END);
	e->depth = b->depth;
}

static inline void script_fetch(struct script *s, uint64_t at_ns, uint64_t ns)
{
	script_range(s, at_ns, at_ns + ns,
		     "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
}

static inline void script_backward(struct script *s, uint64_t at_ns)
{
	script_hit(s, at_ns, P_BACKWARD, 0);
	s->backward[s->pid][s->tid] = true;
}

static inline void script_sync(struct script *s, uint64_t end_ns, uint64_t ns)
{
	struct gp_call *c = script_add(s, GP_KIND_call, end_ns, script_pid(s), P_SYNC);

	c->dur_ns = ns;
}

/* A backward comes before it unless one came since the update before. */
static inline void script_update(struct script *s, uint64_t at_ns, uint64_t ns, const char *class)
{
	char name[72];

	if (!s->backward[s->pid][s->tid])
		script_backward(s, at_ns);
	s->backward[s->pid][s->tid] = false;
	snprintf(name, sizeof(name), "Optimizer.step#%s.step", class);
	script_range(s, at_ns, at_ns + ns, name);
}

/* A made-up runtime: all that is known of it is its probe file. */
static inline const struct probe_table *script_made_table(void)
{
	static struct probe_table *table;

	if (!table && probe_table_load(&table, SCRIPT_MADE))
		abort();
	return table;
}

static inline void script_made(struct script *s)
{
	const struct probe_table *t = script_made_table();

	for (size_t i = 0; i < probe_table_count(t); i++) {
		const struct probe_row *row = probe_table_row(t, i);
		struct gp_probe *p = script_add(s, GP_KIND_probe, 0, 0, -1);

		((struct gp_rec *)p - 1)->probe = row->hash;
		probe_row_record(row, p);
	}
	for (size_t i = 0; i < probe_table_codes(t); i++)
		*(struct gp_code *)script_add(s, GP_KIND_code, 0, 0, -1) = *probe_table_code(t, i);
}

static inline void script_session(struct script *s)
{
	struct gp_clock *c;
	struct gp_session *gs = script_add(s, GP_KIND_session, 0, 0, -1);
	struct gp_formula *f;

	gs->abi = GP_ABI_VERSION;
	snprintf(gs->version, sizeof(gs->version), "0");
	c = script_add(s, GP_KIND_clock, 0, 0, -1);
	c->real_ns = SCRIPT_REAL_NS;
	for (int i = 0; i < P_COUNT; i++) {
		struct gp_probe *p = script_add(s, GP_KIND_probe, 0, 0, i);

		p->role = (uint16_t)script_probes[i].role;
		p->flags = GP_PROBE_WHOLE | script_probes[i].flags;
		snprintf(p->id, sizeof(p->id), "%s", script_probes[i].id);
		snprintf(p->runtime, sizeof(p->runtime), "%s",
			 script_probes[i].runtime ? script_probes[i].runtime : "test");
		for (size_t k = 0; k < sizeof(script_results) / sizeof(script_results[0]); k++) {
			if (strcmp(script_results[k].runtime, p->runtime) != 0)
				continue;
			p->returns = script_results[k].returns;
			p->noks = 2;
			p->flags |= script_results[k].flags;
			memcpy(p->ok[1], script_results[k].ok, sizeof(p->ok[1]));
		}
	}
	for (size_t i = 0; i < sizeof(script_codes) / sizeof(script_codes[0]); i++)
		*(struct gp_code *)script_add(s, GP_KIND_code, 0, 0, -1) = script_codes[i];
	f = script_add(s, GP_KIND_formula, 0, 0, P_PRODUCT);
	snprintf(f->text, sizeof(f->text), "matmul: 2 a0 a1 b1");
	f = script_add(s, GP_KIND_formula, 0, 0, P_ATTENTION);
	snprintf(f->text, sizeof(f->text), "attention: 2 a0 a1 b1");
	f = script_add(s, GP_KIND_formula, 0, 0, P_GRAD_MODE);
	snprintf(f->text, sizeof(f->text), "grad_mode");
	f = script_add(s, GP_KIND_formula, 0, 0, P_SOLVE);
	snprintf(f->text, sizeof(f->text), ">= 0");
	script_made(s);
}

static inline struct gp_process *script_process(struct script *s, uint64_t at_ns, uint64_t age_ns)
{
	struct gp_process *p = script_add(s, GP_KIND_process, at_ns, script_pid(s), -1);

	p->start_ns = p->start_mono_ns = SCRIPT_BASE_NS + at_ns - age_ns;
	p->flags = age_ns ? 0 : GP_PROCESS_FROM_START;
	p->rank = p->world_size = p->local_rank = -1;
	snprintf(p->comm, sizeof(p->comm), "python3");
	s->named[s->pid] = true;
	return p;
}

static inline void script_attach(struct script *s, uint64_t at_ns, uint32_t hit_cost_ns)
{
	for (int i = 0; i < P_COUNT; i++) {
		struct gp_attach *a = script_add(s, GP_KIND_attach, at_ns, 0, i);

		a->state = GP_ATTACH_attached;
		a->ino = 7;
		a->hit_cost_ns = hit_cost_ns;
		snprintf(a->library, sizeof(a->library), "libtest.so");
	}
}

static inline void script_exit(struct script *s, uint64_t at_ns, int status)
{
	struct gp_exit *e = script_add(s, GP_KIND_exit, at_ns, script_pid(s), -1);

	e->status = status;
	s->named[s->pid] = false;
}

#endif
