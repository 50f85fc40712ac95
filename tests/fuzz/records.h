/* SPDX-License-Identifier: Apache-2.0 */
/* records.h - bytes to records that a training job, or a liar, could have sent: plausible enough to
 * get deep into the model. */
#ifndef TESTS_FUZZ_RECORDS_H
#define TESTS_FUZZ_RECORDS_H

#include "tests/fuzz/fuzz.h"
#include "userspace/ingest/event.h"

#define RECORDS_BASE_NS 1000000000000ull
#define RECORDS_PIDS	5
#define RECORDS_TIDS	3

struct records {
	struct input in;
	uint64_t ts_ns;
	uint16_t depth[RECORDS_PIDS][RECORDS_TIDS];
	unsigned int begun; /* records of the beginning */
	_Alignas(8) char bytes[GP_RECORD_MAX];
};

/* One probe of each role, and one whose ranges have no names. */
#define RECORDS_PROBES (GP_ROLE_program_end + 2)

static inline uint32_t records_probe(unsigned int i)
{
	char id[16];

	snprintf(id, sizeof(id), "t.p%u", i % RECORDS_PROBES);
	return gp_probe_hash(id);
}

static inline const char *records_name(unsigned int i)
{
	static const char *const names[] = {
		"Optimizer.step#AdamW.step",
		"Optimizer.step#SGD.step",
		"Optimizer.zero_grad#AdamW.zero_grad",
		"Optimizer.zero_grad#SGD.zero_grad",
		"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
		"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
		"DistributedDataParallel.forward",
		"FSDP::pre_forward",
		"FullyShardedDataParallel.forward",
		"user",
		"\x1b[2J\xff\n\"\\",
		"",
	};

	return names[i % (sizeof(names) / sizeof(names[0]))];
}

static inline uint64_t records_step_ns(struct records *r)
{
	static const uint64_t steps[] = {
		0,	    1,		 1000,	       50000,	     300000,
		1000000,    5000000,	 20000000,     100000000,    400000000,
		1000000000, 3000000000u, 30000000000u, 600000000000u};
	uint8_t b = input_byte(&r->in);

	if (b == 0xff) /* a lie */
		return (uint64_t)input_byte(&r->in) << 56;
	return steps[b % 14] + (b / 14) * (steps[b % 14] / 16);
}

static inline void *records_init(struct records *r, unsigned int kind, unsigned int pid,
				 unsigned int tid, uint32_t probe)
{
	void *payload = event_init(r->bytes, kind, r->ts_ns,
				   kind >= GP_KIND_USER && !pid ? 0 : 100 + pid, probe);

	((struct gp_rec *)(void *)r->bytes)->tid = 100 + pid + 1000 * tid;
	return payload;
}

static inline void records_probe_told(struct records *r, unsigned int i)
{
	struct gp_probe *p = records_init(r, GP_KIND_probe, 0, 0, records_probe(i));

	((struct gp_rec *)(void *)r->bytes)->pid = 0;
	p->role = (__u16)(i <= GP_ROLE_program_end ? i : GP_ROLE_range_begin);
	p->flags = i > GP_ROLE_program_end ? GP_PROBE_ANON_RANGE
		   : i == GP_ROLE_launch   ? GP_PROBE_COUNTED
					   : 0;
	snprintf(p->id, sizeof(p->id), "t.p%u", i);
	snprintf(p->runtime, sizeof(p->runtime), "%s",
		 i >= GP_ROLE_compile_begin || i == GP_ROLE_compile || i == GP_ROLE_execute ? "pjrt"
											    : "t");
}

static inline void records_process(struct records *r, unsigned int pid)
{
	struct gp_process *p = records_init(r, GP_KIND_process, pid, 0, 0);
	uint8_t b = input_byte(&r->in);

	p->start_ns = p->start_mono_ns = r->ts_ns - (b & 3) * 1000000000ull;
	p->flags = b >> 2 & 3;
	p->rank = b & 16 ? (int)pid : -1;
	p->world_size = b & 16 ? RECORDS_PIDS : -1;
	p->local_rank = -1;
	snprintf(p->comm, sizeof(p->comm), "python3");
	if (b & 32)
		input_bytes(&r->in, p->command, sizeof(p->command));
	if (b & 64)
		input_bytes(&r->in, p->job, sizeof(p->job));
}

static inline void records_range(struct records *r, unsigned int pid, unsigned int tid, bool begin)
{
	uint16_t *depth = &r->depth[pid][tid];
	struct gp_range_begin *b;
	struct gp_range_end *e;
	uint8_t n;

	if (!begin) {
		e = records_init(r, GP_KIND_range_end, pid, tid, records_probe(GP_ROLE_range_end));
		e->depth = *depth ? --*depth : 0;
		return;
	}
	n = input_byte(&r->in);
	b = records_init(r, GP_KIND_range_begin, pid, tid,
			 records_probe(n & 0x80 ? GP_ROLE_program_end + 1 : GP_ROLE_range_begin));
	b->flags = n & 0x80 ? GP_RANGE_ANONYMOUS : 0;
	b->depth = *depth;
	*depth = (uint16_t)((*depth + 1) % 70);
	if (!b->flags)
		snprintf(b->name, sizeof(b->name), "%s", records_name(n & 0x7f));
}

/* Any kind with any payload. */
static inline void records_raw(struct records *r, unsigned int pid, unsigned int tid)
{
	static const uint8_t kinds[] = {
#define X(id, name, payload) id,
		GP_KINDS(X)
#undef X
	};
	unsigned int kind = kinds[input_byte(&r->in) % sizeof(kinds)];
	void *payload = records_init(r, kind, pid, tid, records_probe(input_byte(&r->in)));

	input_bytes(&r->in, payload, event_length(kind) - sizeof(struct gp_rec));
}

static inline void records_hit(struct records *r, unsigned int pid, unsigned int tid)
{
	uint8_t b = input_byte(&r->in);
	struct gp_hit *h = records_init(r, GP_KIND_hit, pid, tid,
					records_probe(b % RECORDS_PROBES));

	h->sp = 0x7fff0000 - (b / RECORDS_PROBES) * 64;
	h->arg[0] = 0x1000 * (b & 7u);
	h->arg[1] = 0x2000 + (b & 3u);
}

/* A compiled program is run, built, named, done. */
static inline void records_program(struct records *r, unsigned int pid, unsigned int tid)
{
	static const unsigned int roles[] = {GP_ROLE_execute,  GP_ROLE_execute,
					     GP_ROLE_execute,  GP_ROLE_compile,
					     GP_ROLE_on_ready, GP_ROLE_graph_launch};
	static const char *const names[] = {"jit_train_step", "jit_eval_step",
					    "jit_accumulate", "jit__threefry_split",
					    "jit_f",	      "\x1b\xff"};
	uint8_t b = input_byte(&r->in), a = input_byte(&r->in);
	struct gp_program *p;
	struct gp_call *c;

	if (b % 8 > 5) {
		p = records_init(r, GP_KIND_program, pid, tid, 0);
		p->code = 0x1000 * (a & 7u);
		p->bytes = 0x2000 + (a & 3u);
		snprintf(p->name, sizeof(p->name), "%s", names[(a >> 3) % 6]);
		return;
	}
	c = records_init(r, GP_KIND_call, pid, tid, records_probe(roles[b % 8]));
	c->dur_ns = (uint64_t)(b >> 3) * 1000;
	c->arg[0] = 0x1000 * (a & 7u);
	c->arg[1] = 0x2000 + (a & 3u);
	c->arg[3] = a & 8 ? c->arg[0] : 0;
	c->arg[4] = a & 16 ? 0x1000 * (a >> 5) : 0;
	c->arg[5] = c->arg[4] + 0x1000;
}

static inline void records_file(struct records *r, unsigned int pid, unsigned int tid)
{
	static const char *const paths[] = {
		"/srv/model-1.pt",     "/srv/model-1.pt.tmp", "/c/step_5/__0_0.distcp",
		"/c/step_5/.metadata", "/srv/a.npy",	      "/srv/cache",
		"/srv/step=7.ckpt"};
	uint8_t b = input_byte(&r->in);
	struct gp_renamed *n;
	struct gp_file *f;

	if (b % 4 == 0) {
		n = records_init(r, GP_KIND_renamed, pid, tid, 0);
		snprintf(n->from, sizeof(n->from), "%s", paths[(b >> 2) % 7]);
		snprintf(n->to, sizeof(n->to), "%s", paths[(b >> 5) % 7]);
		return;
	}
	f = records_init(r, GP_KIND_file, pid, tid, 0);
	f->op = b % 4;
	f->ino = b >> 2 & 7;
	f->bytes = 1000;
	f->since_ns = r->ts_ns - ((uint64_t)input_byte(&r->in) << 22);
	snprintf(f->path, sizeof(f->path), "%s", paths[(b >> 5) % 7]);
}

static inline void records_named(struct records *r, unsigned int pid, unsigned int tid)
{
	static const unsigned int roles[] = {GP_ROLE_save_begin, GP_ROLE_save_end, GP_ROLE_restore};
	uint8_t b = input_byte(&r->in);
	struct gp_named *n;

	if (b & 128) {
		records_file(r, pid, tid);
		return;
	}
	if ((b & 7) == 7) {
		records_program(r, pid, tid);
		return;
	}
	n = records_init(r, GP_KIND_named, pid, tid, records_probe(roles[b % 3]));
	if (b & 64)
		input_bytes(&r->in, n->name, sizeof(n->name));
	else
		snprintf(n->name, sizeof(n->name), "/srv/model-%u.pt", b >> 3 & 7);
}

static inline void records_life(struct records *r, unsigned int pid, unsigned int tid)
{
	uint8_t b = input_byte(&r->in);
	struct gp_signal *s;
	struct gp_fork *f;
	struct gp_exit *e;
	struct gp_exec *x;

	switch (b % 6) {
	case 0:
		f = records_init(r, GP_KIND_fork, pid, tid, 0);
		f->child = 100 + (b >> 4) % RECORDS_PIDS;
		f->start_ns = r->ts_ns;
		break;
	case 1:
		x = records_init(r, GP_KIND_exec, pid, tid, 0);
		input_bytes(&r->in, x->comm, 4);
		break;
	case 2:
		e = records_init(r, GP_KIND_exit, pid, tid, 0);
		e->status = b & 0x80 ? b & 15 : (b & 15) << 8;
		memset(r->depth[pid], 0, sizeof(r->depth[pid]));
		break;
	case 3:
		s = records_init(r, GP_KIND_signal, pid, tid, 0);
		s->signal = 1 + (b >> 3) % 31;
		s->sender = 1;
		break;
	case 4:
		records_init(r, GP_KIND_oom, pid, tid, 0);
		break;
	default:
		records_process(r, pid);
	}
}

static inline void records_monitor(struct records *r, unsigned int pid, unsigned int tid)
{
	static const char *const keys[] = {"loss.mean", "loss.count", "x.max", "nothing",
					   "\x1b.sum",	"",	      "."};
	uint8_t b = input_byte(&r->in), c = input_byte(&r->in);
	struct gp_monitor *m = records_init(r, GP_KIND_monitor, pid, tid, records_probe(0));

	m->wall_ns = c & 0x80 ? INT64_MIN : 0;
	m->index = b & 15;
	m->count = b >> 4;
	m->type = c & 7;
	m->value = (__u64)(c >> 3) << 60 | c;
	snprintf(m->event, sizeof(m->event), "%s", c & 0x40 ? "mine" : "torch.monitor.Stat");
	snprintf(m->key, sizeof(m->key), "%s", keys[(b + c) % 7]);
	if (b == 0xff)
		input_bytes(&r->in, m->event, sizeof(m->event) + sizeof(m->key) + sizeof(m->text));
}

static inline void records_operation(struct records *r, unsigned int pid, unsigned int tid)
{
	uint8_t b = input_byte(&r->in);
	struct gp_operation *op;
	struct gp_formula *f;

	if (b & 1) {
		f = records_init(r, GP_KIND_formula, 0, 0, records_probe(0));
		snprintf(f->text, sizeof(f->text), "%s",
			 b & 2 ? "2 a0 a1 b1" : "2 a0 b0.. out !v5");
		if (b & 4)
			input_bytes(&r->in, f->text, sizeof(f->text));
		return;
	}
	op = records_init(r, GP_KIND_operation, pid, tid, records_probe(0));
	for (int i = 0; i < GP_TENSORS; i++) {
		op->tensor[i][2] = 2;
		op->tensor[i][3] = b;
		op->tensor[i][4] = 3;
		op->tensor[i][14] = 3ull * b;
	}
	if (b & 2)
		input_bytes(&r->in, op, sizeof(*op));
}

static inline void records_own(struct records *r, unsigned int pid, unsigned int tid)
{
	uint8_t b = input_byte(&r->in);
	struct gp_counter *c;
	struct gp_attach *a;
	struct gp_clock *k;
	struct gp_loss *l;

	switch (b % 6) {
	case 0:
		l = records_init(r, GP_KIND_loss, b & 0x80 ? pid : 0, 0, 0);
		l->cause = b % GP_LOSS_CAUSE_COUNT;
		l->count = 1 + b;
		break;
	case 1:
		c = records_init(r, GP_KIND_counter, pid, 0, records_probe(GP_ROLE_launch));
		c->count = b;
		break;
	case 2:
		k = records_init(r, GP_KIND_clock, 0, 0, 0);
		k->real_ns = (int64_t)(1700000000000000000ull + r->ts_ns);
		break;
	case 3:
		a = records_init(r, GP_KIND_attach, 0, 0, records_probe(b));
		a->state = b % 5;
		a->ino = b;
		a->hit_cost_ns = 500;
		input_bytes(&r->in, a->library, 8);
		break;
	case 4:
		if (b & 0x80)
			records_operation(r, pid, tid);
		else
			records_monitor(r, pid, tid);
		break;
	default:
		records_init(r, GP_KIND_tick, 0, 0, 0);
	}
}

/* The next record, in r->bytes; false: no more input. */
static inline bool records_next(struct records *r)
{
	unsigned int pid, tid;
	uint64_t step_ns;
	uint8_t b;

	if (!r->begun)
		r->ts_ns = RECORDS_BASE_NS;
	if (r->begun < RECORDS_PROBES) {
		records_probe_told(r, r->begun++);
		return true;
	}
	if (r->begun++ == RECORDS_PROBES) {
		records_process(r, 1);
		return true;
	}
	if (!input_left(&r->in))
		return false;
	b = input_byte(&r->in);
	pid = (b >> 3) % RECORDS_PIDS;
	tid = (b >> 6) % RECORDS_TIDS;
	step_ns = records_step_ns(r);
	if (r->ts_ns + step_ns >= r->ts_ns && r->ts_ns + step_ns < GP_TIME_END_NS)
		r->ts_ns += step_ns;
	switch (b & 7) {
	case 0:
	case 1:
		records_range(r, pid, tid, true);
		break;
	case 2:
		records_range(r, pid, tid, false);
		break;
	case 3:
		records_hit(r, pid, tid);
		break;
	case 4:
		records_named(r, pid, tid);
		break;
	case 5:
		records_life(r, pid, tid);
		break;
	case 6:
		records_own(r, pid, tid);
		break;
	default:
		records_raw(r, pid, tid);
	}
	return true;
}

#endif
