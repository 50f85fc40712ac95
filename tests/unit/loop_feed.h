/* SPDX-License-Identifier: Apache-2.0 */
/* loop_feed.h - ranks of one job that run a plain training loop, told to a model record by record:
 * a loader, backward, a fused operator, optimizer, zero_grad and a wait for the device in each
 * step; evaluations, checkpoints, a range of the job's own now and then; a tick a second. */
#ifndef TESTS_UNIT_LOOP_FEED_H
#define TESTS_UNIT_LOOP_FEED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/model/model.h"

#define LOOP_S		1000000000ull
#define LOOP_EVAL	200 /* steps between evaluations, of LOOP_BATCHES batches */
#define LOOP_BATCHES	20
#define LOOP_CHECKPOINT 1000
#define LOOP_PID	1000

enum loop_probe { BEGIN, END, BACKWARD, LIST_OP, SYNC, SAVE_BEGIN, SAVE_END, LOOP_PROBES };

static const struct {
	const char *id;
	unsigned role, group;
} loop_probes[LOOP_PROBES] = {
	[BEGIN] = {"torch.range_begin", GP_ROLE_range_begin, GP_GROUP_marker},
	[END] = {"torch.range_end", GP_ROLE_range_end, GP_GROUP_marker},
	[BACKWARD] = {"torch.backward", GP_ROLE_backward, GP_GROUP_confirm},
	[LIST_OP] = {"torch.foreach_add", GP_ROLE_list_op, GP_GROUP_confirm},
	[SYNC] = {"cuda.stream_sync", GP_ROLE_sync, GP_GROUP_confirm},
	[SAVE_BEGIN] = {"torch.save_begin", GP_ROLE_save_begin, GP_GROUP_fault},
	[SAVE_END] = {"torch.save_end", GP_ROLE_save_end, GP_GROUP_fault},
};

struct loop_feed {
	struct model *model;
	uint64_t now_ns, step_ns; /* step_ns: usual; each takes up to a sixteenth more */
	uint32_t ranks;
	uint32_t threads; /* of each rank, each with a loop of its own; 0: one */
	uint32_t thread;  /* whose turn it is */
	bool compiled;	  /* its optimizer shows no steps */
	uint64_t steps;	  /* of each rank */
	uint32_t seed;
	bool refused; /* a record found no memory */
	struct {
		_Alignas(8) char bytes[GP_RECORD_MAX];
	} record;
};

static inline void *loop_record(struct loop_feed *f, unsigned kind, uint32_t pid, const char *probe)
{
	void *payload;

	memset(&f->record, 0, sizeof(f->record));
	payload = event_init(f->record.bytes, kind, f->now_ns, pid,
			     probe ? (uint32_t)gp_probe_hash(probe) : 0);
	((struct gp_rec *)f->record.bytes)->tid = pid + f->thread * LOOP_PID;
	return payload;
}

static inline void loop_feed(struct loop_feed *f)
{
	struct event ev;

	if (event_decode(f->record.bytes, ((struct gp_rec *)f->record.bytes)->len, &ev) ||
	    model_feed(f->model, &ev))
		f->refused = true;
}

static inline void loop_move(struct loop_feed *f, uint32_t pid, enum loop_probe p, const char *name,
			     uint64_t after_ns)
{
	static const unsigned kinds[LOOP_PROBES] = {
		[BEGIN] = GP_KIND_range_begin, [END] = GP_KIND_range_end,
		[BACKWARD] = GP_KIND_hit,      [LIST_OP] = GP_KIND_hit,
		[SYNC] = GP_KIND_call,	       [SAVE_BEGIN] = GP_KIND_named,
		[SAVE_END] = GP_KIND_hit};
	void *payload;

	f->now_ns += after_ns;
	payload = loop_record(f, kinds[p], pid, loop_probes[p].id);
	if (p == BEGIN)
		snprintf(((struct gp_range_begin *)payload)->name, GP_NAME_MAX, "%s", name);
	else if (p == SAVE_BEGIN)
		snprintf(((struct gp_named *)payload)->name, GP_PATH_MAX, "%s", name);
	else if (p == SYNC)
		((struct gp_call *)payload)->dur_ns = after_ns / 2;
	else if (p != END)
		*(struct gp_hit *)payload = (struct gp_hit){.sp = 0x7ffc00001000ull,
							    .arg = {0x55550000ull, 0}};
	loop_feed(f);
}

/* job: its name. */
static inline void loop_open(struct loop_feed *f, struct model *m, uint32_t ranks, uint64_t step_ns,
			     const char *job)
{
	*f = (struct loop_feed){
		.model = m, .now_ns = 1000 * LOOP_S, .step_ns = step_ns, .ranks = ranks, .seed = 7};
	for (int i = 0; i < LOOP_PROBES; i++) {
		struct gp_probe *p = loop_record(f, GP_KIND_probe, 0, loop_probes[i].id);

		p->role = (__u16)loop_probes[i].role;
		p->group = (__u16)loop_probes[i].group;
		snprintf(p->id, sizeof(p->id), "%s", loop_probes[i].id);
		snprintf(p->runtime, sizeof(p->runtime), "torch");
		loop_feed(f);
	}
	for (uint32_t i = 0; i < ranks; i++) {
		struct gp_process *p = loop_record(f, GP_KIND_process, LOOP_PID + i, NULL);

		p->start_ns = p->start_mono_ns = f->now_ns - LOOP_S;
		p->flags = GP_PROCESS_FROM_START | GP_PROCESS_TARGET;
		p->rank = p->local_rank = (__s32)i;
		p->world_size = (__s32)ranks;
		snprintf(p->comm, sizeof(p->comm), "python3");
		snprintf(p->job, sizeof(p->job), "%s", job);
		loop_feed(f);
	}
}

static inline void loop_range(struct loop_feed *f, uint32_t pid, const char *name, uint64_t ns)
{
	loop_move(f, pid, BEGIN, name, ns / 8);
	loop_move(f, pid, END, NULL, ns - ns / 8);
}

static inline void loop_fetch(struct loop_feed *f, uint32_t pid, uint64_t ns)
{
	loop_range(f, pid, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ns);
}

static inline void loop_beside(struct loop_feed *f, uint32_t pid, uint64_t ns)
{
	for (int k = 0; f->steps % LOOP_EVAL == 0 && k < LOOP_BATCHES; k++)
		loop_fetch(f, pid, ns / LOOP_BATCHES);
	if (f->steps % LOOP_CHECKPOINT)
		return;
	loop_range(f, pid, "save everything", ns);
	loop_move(f, pid, SAVE_BEGIN, "checkpoints/last.pt", ns / 8);
	loop_move(f, pid, SAVE_END, NULL, ns / 2);
}

static inline void loop_update(struct loop_feed *f, uint32_t pid, uint64_t ns)
{
	if (!f->compiled) {
		loop_move(f, pid, BEGIN, "Optimizer.step#AdamW.step", ns);
		loop_move(f, pid, LIST_OP, NULL, ns / 2);
		loop_move(f, pid, SYNC, NULL, ns / 2);
		loop_move(f, pid, END, NULL, ns);
	}
	loop_range(f, pid, "Optimizer.zero_grad#AdamW.zero_grad", ns);
}

/* One step of each rank: one after the other within each part of it, all in one step's time. */
static inline void loop_step(struct loop_feed *f)
{
	uint32_t threads = f->threads ? f->threads : 1, all = f->ranks * threads;
	uint64_t ns;

	f->seed = f->seed * 1664525u + 1013904223u;
	ns = (f->step_ns + f->step_ns / 16 * (f->seed >> 16) / 65536) / all / 8;
	f->steps++;
	for (int part = 0; part < 4; part++) {
		for (uint32_t i = 0; i < all; i++) {
			uint32_t pid = LOOP_PID + i / threads;

			f->thread = i % threads;
			if (part == 0)
				loop_fetch(f, pid, ns);
			else if (part == 1)
				loop_move(f, pid, BACKWARD, NULL, 2 * ns);
			else if (part == 2)
				loop_update(f, pid, ns);
			else if (!f->thread)
				loop_beside(f, pid, 8 * ns);
		}
	}
	f->thread = 0;
}

static inline void loop_tick(struct loop_feed *f)
{
	loop_record(f, GP_KIND_tick, 0, NULL);
	loop_feed(f);
}

static inline void loop_run(struct loop_feed *f, uint64_t ns)
{
	uint64_t end_ns = f->now_ns + ns, tick_ns = f->now_ns;

	while (f->now_ns < end_ns) {
		loop_step(f);
		for (; tick_ns < f->now_ns; tick_ns += LOOP_S)
			loop_tick(f);
	}
}

#endif
