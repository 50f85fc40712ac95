/* SPDX-License-Identifier: Apache-2.0 */
/* tape - makes a tape without a kernel, and counts what is on one.
 *
 * tape make EVENTS FILE [MS]  what two ranks of a plain PyTorch loop with steps of MS milliseconds
 * (1) would write: loader, backward, optimizer and zero_grad in each step; an evaluation every 200
 * steps; a checkpoint every 2000; frames, drain marks, ticks and counters as live tape count FILE
 * one line "KIND COUNT" for each kind of record */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/buffer.h"
#include "userspace/ingest/event.h"
#include "userspace/ingest/stream.h"
#include "userspace/ingest/tape.h"

#define START_NS	 1000000000000ull
#define RANKS		 2
#define FRAME_NS	 10000000ull
#define TICK_NS		 1000000000ull
#define EVAL_STEPS	 200
#define EVAL_BATCHES	 20
#define CHECKPOINT_STEPS 2000
#define SWAP_EVERY                                                                                 \
	1000 /* rings are not quite in order: 403 of 400 000 records were not, with 4 writers */

enum probe { BEGIN, END, BACKWARD, LIST_OP, SAVE_BEGIN, SAVE_END, LAUNCH, PROBES };

static const struct {
	const char *id;
	unsigned role, group, flags;
} probes[PROBES] = {
	[BEGIN] = {"torch.range_begin", GP_ROLE_range_begin, GP_GROUP_marker, 0},
	[END] = {"torch.range_end", GP_ROLE_range_end, GP_GROUP_marker, 0},
	[BACKWARD] = {"torch.backward", GP_ROLE_backward, GP_GROUP_confirm, 0},
	[LIST_OP] = {"torch.foreach_add", GP_ROLE_list_op, GP_GROUP_confirm, 0},
	[SAVE_BEGIN] = {"torch.save_begin", GP_ROLE_save_begin, GP_GROUP_fault, 0},
	[SAVE_END] = {"torch.save_end", GP_ROLE_save_end, GP_GROUP_fault, 0},
	[LAUNCH] = {"bench.launch", GP_ROLE_launch, GP_GROUP_bulk, GP_PROBE_COUNTED},
};

struct move { /* the next thing a rank does */
	enum probe probe;
	const char *name;
	uint64_t after_ns; /* the one before it */
};

#define FETCH "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

static const struct move step_moves[] = {
	{BEGIN, FETCH, 10000},
	{END, NULL, 90000},
	{BACKWARD, NULL, 300000},
	{BEGIN, "Optimizer.step#AdamW.step", 400000},
	{LIST_OP, NULL, 30000},
	{END, NULL, 120000},
	{BEGIN, "Optimizer.zero_grad#AdamW.zero_grad", 10000},
	{END, NULL, 40000},
};
static const struct move eval_moves[] = {
	{BEGIN, FETCH, 200000},
	{END, NULL, 90000},
};
static const struct move save_moves[] = {
	{SAVE_BEGIN, "checkpoints/last.pt", 1000000},
	{SAVE_END, NULL, 20000000},
};

struct script {
	const struct move *moves;
	size_t count, repeat;
};

#define SCRIPT(m, n)                                                                               \
	{                                                                                          \
		m, sizeof(m) / sizeof(m[0]), n                                                     \
	}
static const struct script train = SCRIPT(step_moves, 1),
			   evaluate = SCRIPT(eval_moves, EVAL_BATCHES),
			   save = SCRIPT(save_moves, 1);

struct rank {
	uint32_t pid;
	uint64_t next_ns, steps;
	const struct script *script;
	size_t at, round;
};

struct maker {
	struct tape_writer *tape;
	struct buffer ring, own;
	struct rank ranks[RANKS];
	uint64_t position; /* of the ring */
	uint64_t step_ms;
	uint64_t records, hashes[PROBES];
	int error;
};

static void *add(struct maker *m, struct buffer *b, unsigned kind, uint64_t ts_ns, uint32_t pid,
		 uint32_t probe)
{
	size_t len = (event_length(kind) + 7) & ~(size_t)7;
	char *at = buffer_reserve(b, len);

	if (!at) {
		m->error = -ENOMEM;
		return NULL;
	}
	memset(at, 0, len);
	b->len += len;
	m->records++;
	return event_init(at, kind, ts_ns, pid, probe);
}

static void flush(struct maker *m, struct buffer *b, enum tape_source source)
{
	struct tape_frame f = {.source = source, .records = b->data, .len = b->len};

	if (source == TAPE_RING_CALL) {
		f.from = m->position;
		f.to = m->position += b->len;
	}
	if (b->len && !m->error)
		m->error = tape_append(m->tape, &f);
	buffer_clear(b);
}

/* ---- what every tape begins with ------------------------------------------------------------- */

static void add_head(struct maker *m)
{
	struct gp_session *s = add(m, &m->own, GP_KIND_session, START_NS, 0, 0);
	struct gp_clock *c = add(m, &m->own, GP_KIND_clock, START_NS, 0, 0);

	if (!s || !c)
		return;
	s->abi = GP_ABI_VERSION;
	snprintf(s->boot_id, sizeof(s->boot_id), "00000000-0000-4000-8000-000000000000");
	snprintf(s->version, sizeof(s->version), "%s", GP_VERSION);
	snprintf(s->kernel, sizeof(s->kernel), "none");
	snprintf(s->command, sizeof(s->command), "tape make");
	c->real_ns = 1700000000000000000ll;
	for (size_t i = 0; i < PROBES; i++) {
		struct gp_probe *p;

		m->hashes[i] = gp_probe_hash(probes[i].id);
		p = add(m, &m->own, GP_KIND_probe, START_NS, 0, (uint32_t)m->hashes[i]);
		if (!p)
			return;
		p->role = (__u16)probes[i].role;
		p->group = (__u16)probes[i].group;
		p->flags = probes[i].flags;
		snprintf(p->id, sizeof(p->id), "%s", probes[i].id);
		snprintf(p->runtime, sizeof(p->runtime), "torch");
	}
}

static void add_rank(struct maker *m, int rank)
{
	struct gp_process *p;
	uint32_t pid = 1000 + (uint32_t)rank;

	m->ranks[rank] = (struct rank){.pid = pid,
				       .next_ns = START_NS + 1000000 + (uint64_t)rank * 40000,
				       .script = &train};
	p = add(m, &m->own, GP_KIND_process, START_NS, pid, 0);
	if (!p)
		return;
	p->start_ns = p->start_mono_ns = START_NS - 1000000000ull;
	p->flags = GP_PROCESS_FROM_START | GP_PROCESS_TARGET;
	p->rank = p->local_rank = rank;
	p->world_size = RANKS;
	snprintf(p->comm, sizeof(p->comm), "python3");
	snprintf(p->command, sizeof(p->command), "python3 train.py");
}

/* ---- the ranks ------------------------------------------------------------------------------- */

static void add_move(struct maker *m, const struct rank *r, const struct move *mv)
{
	static const unsigned kinds[PROBES] = {
		[BEGIN] = GP_KIND_range_begin, [END] = GP_KIND_range_end,
		[BACKWARD] = GP_KIND_hit,      [LIST_OP] = GP_KIND_hit,
		[SAVE_BEGIN] = GP_KIND_named,  [SAVE_END] = GP_KIND_hit};
	unsigned kind = kinds[mv->probe];
	void *payload = add(m, &m->ring, kind, r->next_ns, r->pid, (uint32_t)m->hashes[mv->probe]);

	if (!payload)
		return;
	((struct gp_rec *)payload - 1)->tid = r->pid;
	if (kind == GP_KIND_range_begin)
		snprintf(((struct gp_range_begin *)payload)->name, GP_NAME_MAX, "%s", mv->name);
	else if (kind == GP_KIND_named)
		snprintf(((struct gp_named *)payload)->name, GP_PATH_MAX, "%s", mv->name);
	else if (kind == GP_KIND_hit)
		*(struct gp_hit *)payload = (struct gp_hit){.sp = 0x7ffc00001000ull,
							    .arg = {0x55550000ull, 0}};
}

static const struct script *next_script(struct rank *r)
{
	if (r->script == &train) {
		r->steps++;
		if (r->steps % EVAL_STEPS == 0)
			return &evaluate;
	}
	if (r->script != &save && r->steps % CHECKPOINT_STEPS == 0)
		return &save;
	return &train;
}

static void rank_move(struct maker *m, struct rank *r)
{
	add_move(m, r, &r->script->moves[r->at]);
	if (++r->at == r->script->count) {
		r->at = 0;
		if (++r->round == r->script->repeat) {
			r->round = 0;
			r->script = next_script(r);
		}
	}
	r->next_ns += r->script->moves[r->at].after_ns * m->step_ms;
}

static void add_second(struct maker *m, uint64_t now_ns)
{
	for (int i = 0; i < RANKS; i++) {
		struct gp_counter *c = add(m, &m->own, GP_KIND_counter, now_ns, m->ranks[i].pid,
					   (uint32_t)m->hashes[LAUNCH]);

		if (c)
			c->count = 100000;
	}
	add(m, &m->own, GP_KIND_tick, now_ns, 0, 0);
}

/* One drain of the rings, as the live run does it every ten milliseconds. */
static void add_drain(struct maker *m, uint64_t now_ns)
{
	struct gp_drain *d;

	flush(m, &m->ring, TAPE_RING_CALL);
	if (now_ns % TICK_NS < FRAME_NS)
		add_second(m, now_ns);
	d = add(m, &m->own, GP_KIND_drain, now_ns, 0, 0);
	if (d)
		d->upto_ns = now_ns - STREAM_SLACK_NS;
	flush(m, &m->own, TAPE_USER);
}

static int make(uint64_t events, const char *path, uint64_t step_ms)
{
	struct maker m = {.step_ms = step_ms};
	uint64_t drain_ns = START_NS + FRAME_NS;
	struct rank *a = &m.ranks[0], *b = &m.ranks[1];
	struct gp_end *end;
	int err = tape_create(&m.tape, path), last;

	if (err)
		return err;
	add_head(&m);
	add_rank(&m, 0);
	add_rank(&m, 1);
	flush(&m, &m.own, TAPE_USER);
	while (m.records < events && !m.error) {
		bool first = (a->next_ns <= b->next_ns) != (m.records % SWAP_EVERY == 0);
		struct rank *r = first ? a : b;

		if (a->next_ns >= drain_ns && b->next_ns >= drain_ns) {
			add_drain(&m, drain_ns);
			drain_ns += FRAME_NS;
		} else {
			rank_move(&m, r);
		}
	}
	flush(&m, &m.ring, TAPE_RING_CALL);
	end = add(&m, &m.own, GP_KIND_end, drain_ns + FRAME_NS, 0, 0);
	if (end)
		*end = (struct gp_end){.reason = GP_END_USER, .status = -1};
	flush(&m, &m.own, TAPE_USER);
	last = tape_close(m.tape);
	buffer_free(&m.ring);
	buffer_free(&m.own);
	return m.error ? m.error : last;
}

/* ---- counting -------------------------------------------------------------------------------- */

static void count_frame(const struct tape_frame *f, uint64_t *counts)
{
	const char *at = f->records, *end = at + f->len;

	while (at + sizeof(struct gp_rec) <= end) {
		const struct gp_rec *r = (const void *)at;

		if (r->len < sizeof(*r))
			return;
		counts[r->kind % GP_KIND_MAX]++;
		at += (r->len + 7u) & ~7u;
	}
}

static int count(const char *path)
{
	uint64_t counts[GP_KIND_MAX] = {0};
	struct tape_reader *tape;
	struct tape_frame frame;
	int err = tape_open(&tape, path);

	if (err)
		return err;
	while ((err = tape_next(tape, &frame)) == 1)
		count_frame(&frame, counts);
	tape_reader_close(tape);
	for (unsigned kind = 0; kind < GP_KIND_MAX; kind++)
		if (counts[kind])
			printf("%s %llu\n", event_kind_name(kind),
			       (unsigned long long)counts[kind]);
	return err;
}

int main(int argc, char **argv)
{
	int err;

	if ((argc == 4 || argc == 5) && !strcmp(argv[1], "make"))
		err = make(strtoull(argv[2], NULL, 10), argv[3],
			   argc == 5 ? strtoull(argv[4], NULL, 10) : 1);
	else if (argc == 3 && !strcmp(argv[1], "count"))
		err = count(argv[2]);
	else {
		fprintf(stderr, "usage: tape make EVENTS FILE [MS] | tape count FILE\n");
		return 2;
	}
	if (err)
		fprintf(stderr, "tape: %s\n", strerror(-err));
	return err ? 1 : 0;
}
