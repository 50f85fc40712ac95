/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - the words of a .case file. */
#ifndef TESTS_CASES_WORDS_H
#define TESTS_CASES_WORDS_H

#include "tests/cases/device.h"
#include "tests/cases/word_line.h"
#include "tests/cases/word_monitor.h"
#include "tests/cases/word_place.h"
#include "tests/cases/word_program.h"

static inline bool word_training(struct script *s, const struct move *m)
{
	const char *w = m->argv[0];
	char name[72];

	if (!strcmp(w, "loop") || !strcmp(w, "fetch")) {
		script_fetch(s, m->at_ns, move_length(m));
	} else if (!strcmp(w, "fetches")) { /* N D */
		for (uint64_t i = 0; i < move_number(m, 1, 1); i++)
			script_fetch(s, m->at_ns + i * move_length(m), move_length(m));
	} else if (!strcmp(w, "backward")) {
		script_backward(s, m->at_ns);
	} else if (!strcmp(w, "update")) { /* [CLASS] [D] */
		script_update(s, m->at_ns, move_length(m), move_text(m, "SGD"));
	} else if (!strcmp(w, "open")) { /* NAME */
		struct gp_range_begin *b = script_add(s, GP_KIND_range_begin, m->at_ns,
						      script_pid(s), P_BEGIN);

		snprintf(b->name, sizeof(b->name), "%s", move_text(m, "range"));
		b->depth = s->depth[s->pid][s->tid]++;
	} else if (!strcmp(w, "close")) {
		struct gp_range_end *e = script_add(s, GP_KIND_range_end, m->at_ns, script_pid(s),
						    P_END);

		e->depth = --s->depth[s->pid][s->tid];
	} else if (!strcmp(w, "unclosed")) { /* its end was lost */
		s->depth[s->pid][s->tid]--;
	} else if (!strcmp(w, "range")) { /* D NAME */
		script_range(s, m->at_ns, m->at_ns + move_length(m), move_text(m, "range"));
	} else if (!strcmp(w, "compile")) { /* D */
		script_range(s, m->at_ns, m->at_ns + move_length(m),
			     "entire_frame_compile (dynamo_timed)");
	} else if (!strcmp(w, "zero_grad")) {
		snprintf(name, sizeof(name), "Optimizer.zero_grad#%s.zero_grad",
			 move_text(m, "SGD"));
		script_range(s, m->at_ns, m->at_ns + move_length(m), name);
	} else if (!strcmp(w, "steps")) { /* N D [data F] [sync S] [idle I] */
		uint64_t n = move_number(m, 1, 1), ns = move_ns(m, 2, 0);
		uint64_t data = move_after(m, "data"), sync = move_after(m, "sync");
		uint64_t idle = move_after(m, "idle"); /* before the batch, in no phase */

		for (uint64_t i = 0; i < n; i++) {
			script_fetch(s, m->at_ns + i * ns + idle, data);
			script_backward(s,
					m->at_ns + i * ns + idle + data + (ns - data - idle) / 2);
			if (sync)
				script_sync(s, m->at_ns + (i + 1) * ns, sync);
			script_update(s, m->at_ns + (i + 1) * ns, 0, "SGD");
		}
	} else {
		return false;
	}
	return true;
}

/* From TIME on, for D; the size follows from the inode. */
static inline void word_file(struct script *s, const struct move *m, bool writes)
{
	uint64_t ino = move_number(m, 3, 1), end_ns = m->at_ns + move_length(m),
		 born = move_after(m, "born");

	for (int op = writes ? GP_FILE_WRITTEN : GP_FILE_OPENED; op;
	     op = op == GP_FILE_OPENED ? GP_FILE_READ : 0) {
		struct gp_file *f = script_add(s, GP_KIND_file,
					       op == GP_FILE_OPENED ? m->at_ns : end_ns,
					       script_pid(s), -1);

		f->op = (__u16)op;
		f->dev = 8;
		f->ino = ino;
		f->bytes = m->argc > 4 && strcmp(m->argv[4], "born") ? move_number(m, 4, 0)
								     : 1000 * ino;
		f->mtime_ns = f->bytes;
		f->since_ns = SCRIPT_BASE_NS + m->at_ns;
		f->born_ns = f->since_ns - (born ? born : m->at_ns);
		snprintf(f->path, sizeof(f->path), "%s", m->argc > 2 ? m->argv[2] : "");
	}
}

static inline bool word_library(struct script *s, const struct move *m)
{
	const char *w = m->argv[0];

	if (!strcmp(w, "reducer")) {
		script_hit(s, m->at_ns, P_REDUCER, 0);
	} else if (!strcmp(w, "fused")) {
		script_hit(s, m->at_ns, P_FUSED, move_number(m, 1, 1));
	} else if (!strcmp(w, "amp")) {
		script_hit(s, m->at_ns, P_AMP, 0);
	} else if (!strcmp(w, "grad_on")) {
		script_hit(s, m->at_ns, P_GRAD_ON, 1);
	} else if (!strcmp(w, "anon")) {
		script_hit(s, m->at_ns, P_ANON, 0);
	} else if (!strcmp(w, "execute")) {
		script_hit(s, m->at_ns, P_EXECUTE, 1);
	} else if (!strcmp(w, "save") || !strcmp(w, "save_begin")) { /* [D] [PATH] */
		struct gp_named *n = script_add(s, GP_KIND_named, m->at_ns, script_pid(s), P_SAVE);

		snprintf(n->name, sizeof(n->name), "%s", move_text(m, "archive"));
		if (!strcmp(w, "save"))
			script_hit(s, m->at_ns + move_length(m), P_SAVED, 0);
	} else if (!strcmp(w, "save_call")) { /* NAME */
		struct gp_named *n = script_add(s, GP_KIND_named, m->at_ns, script_pid(s),
						P_SAVE_CALL);

		snprintf(n->name, sizeof(n->name), "%s", m->argc > 1 ? m->argv[1] : "");
	} else if (!strcmp(w, "written") || !strcmp(w, "read")) { /* D PATH [INODE [BYTES]] */
		word_file(s, m, !strcmp(w, "written"));
	} else if (!strcmp(w, "rename")) { /* FROM TO */
		struct gp_renamed *n = script_add(s, GP_KIND_renamed, m->at_ns, script_pid(s), -1);

		snprintf(n->from, sizeof(n->from), "%s", m->argc > 1 ? m->argv[1] : "");
		snprintf(n->to, sizeof(n->to), "%s", m->argc > 2 ? m->argv[2] : "");
	} else if (!strcmp(w, "restore")) {
		script_hit(s, m->at_ns, P_RESTORE, 0);
	} else if (!strcmp(w, "launch")) {
		struct gp_counter *c = script_add(s, GP_KIND_counter, m->at_ns, script_pid(s),
						  P_LAUNCH);

		c->count = move_number(m, 1, 1);
	} else if (!strcmp(w, "group") || !strcmp(w, "grouped")) {
		script_hit(s, m->at_ns, !strcmp(w, "group") ? P_GROUP : P_GROUPED, 0);
	} else if (!strcmp(w, "device") || !strcmp(w, "comm")) { /* D [RETURNS [RANKS RANK]] */
		struct gp_call *c = script_add(s, GP_KIND_call, m->at_ns + move_length(m),
					       script_pid(s),
					       !strcmp(w, "comm") ? P_COMM : P_DEVICE);

		c->dur_ns = move_length(m);
		c->ret = (__s64)move_number(m, 2, 0);
		c->arg[0] = move_number(m, 3, 0);
		c->arg[1] = move_number(m, 4, 0);
	} else if (!strcmp(w, "sync")) {
		script_sync(s, m->at_ns + move_length(m), move_length(m));
	} else if (!strcmp(w, "monitor")) {
		word_monitor(s, m->at_ns, m->argc, (char **)m->argv);
	} else if (!strcmp(w, "grad_mode")) { /* 0 or 1 */
		struct gp_operation *op = script_add(s, GP_KIND_operation, m->at_ns, script_pid(s),
						     P_GRAD_MODE);

		op->value[0] = move_number(m, 1, 0);
	} else if (!strcmp(w, "product") || !strcmp(w, "attention")) {
		/* A B C [TYPE]: of matrices A x B and B x C; the number that PyTorch gives the type
		 */
		struct gp_operation *op = script_add(s, GP_KIND_operation, m->at_ns, script_pid(s),
						     !strcmp(w, "product") ? P_PRODUCT
									   : P_ATTENTION);

		for (int i = 0; i < 2; i++) { /* as in an object of torch 2 */
			op->tensor[i][2] = 2;
			op->tensor[i][3] = move_number(m, 1 + i, 1);
			op->tensor[i][4] = move_number(m, 2 + i, 1);
			op->tensor[i][14] = op->tensor[i][3] * op->tensor[i][4];
			op->tensor[i][15] = move_number(m, 4, 6);
		}
	} else {
		return false;
	}
	return true;
}

/* AGO KEY=VALUE[,VALUE...]...: lines of userspace/model/job/carry.h; "fall"'s second value is a
 * time ago too. */
static inline void word_carry(struct script *s, const struct move *m)
{
	struct gp_carry *c = script_add(s, GP_KIND_carry, m->at_ns, 0, -1);
	int64_t until_ns = SCRIPT_REAL_NS + (int64_t)m->at_ns - (int64_t)move_ns(m, 1, 0);
	int len = snprintf(c->text, sizeof(c->text), "gp-bpf carry 1\nuntil %lld\n",
			   (long long)until_ns);
	uint64_t ns;

	for (int i = 2; i < m->argc; i++) {
		char word[64], *value, *save = NULL;

		snprintf(word, sizeof(word), "%s", m->argv[i]);
		value = strtok_r(word, "=,", &save);
		for (int n = 0; value; value = strtok_r(NULL, "=,", &save), n++) {
			char *at = c->text + len;
			size_t left = sizeof(c->text) - (size_t)len;
			bool time = script_duration(value, &ns);

			if (time && !strcmp(word, "fall"))
				ns = (uint64_t)until_ns - ns;
			len += time ? snprintf(at, left, " %llu", (unsigned long long)ns)
				    : snprintf(at, left, "%s%s", n ? " " : "", value);
		}
		len += snprintf(c->text + len, sizeof(c->text) - (size_t)len, "\n");
	}
	len += snprintf(c->text + len, sizeof(c->text) - (size_t)len, "end\n");
	c->len = (__u32)len;
}

static inline void word_sent(struct script *s, const struct move *m)
{
	struct gp_signal *g = script_add(s, GP_KIND_signal, m->at_ns, script_pid(s), -1);

	g->signal = (uint32_t)move_number(m, 1, SIGKILL);
	g->sender = (uint32_t)move_number(m, 2, 77);
	snprintf(g->comm, sizeof(g->comm), "boss");
}

static inline void word_gap(struct script *s, const struct move *m)
{
	struct gp_gap *g = script_add(s, GP_KIND_gap, m->at_ns + move_length(m), 0, -1);

	g->from_ns = SCRIPT_BASE_NS + m->at_ns;
	g->cause = GP_GAP_AWAY;
	if (s->ngaps == SCRIPT_GAPS) {
		script_fail(s, "too many gaps");
		return;
	}
	s->gaps[s->ngaps].from_ns = m->at_ns;
	s->gaps[s->ngaps++].to_ns = m->at_ns + move_length(m);
}

/* look WHY D [WHERE]: seen so in /proc, every second for D. call D
 * [collective|send|group_end|comm_end|copy]: a sync, or that call, was entered and has not
 * returned. */
static inline void word_blocked(struct script *s, const struct move *m)
{
	static const char *const whys[] = {
#define X(id, name) [id] = #name,
		GP_WHYS(X)
#undef X
	};
	static const struct {
		const char *word;
		int probe;
	} calls[] = {{"collective", P_COLLECTIVE},
		     {"send", P_SEND},
		     {"group_end", P_GROUP_END},
		     {"comm_end", P_COMM_END},
		     {"copy", P_COPY}};
	bool call = !strcmp(m->argv[0], "call");
	int probe = call ? P_SYNC : -1;

	for (size_t i = 0; call && m->argc > 2 && i < sizeof(calls) / sizeof(calls[0]); i++)
		probe = !strcmp(m->argv[2], calls[i].word) ? calls[i].probe : probe;
	for (uint64_t i = 0; i * 1000000000ull < move_length(m); i++) {
		struct gp_blocked *b = script_add(s, GP_KIND_blocked, m->at_ns + i * 1000000000ull,
						  script_pid(s), probe);

		b->source = call ? GP_BLOCKED_CALL : GP_BLOCKED_SCAN;
		b->since_ns = SCRIPT_BASE_NS + m->at_ns;
		b->state = 'S';
		snprintf(b->where, sizeof(b->where), "%s",
			 m->argc > 3 ? m->argv[3]
			 : call	     ? "sync"
				     : "waits");
		for (unsigned w = 0; !call && m->argc > 1 && w < GP_WHY_COUNT; w++)
			b->why = !strcmp(whys[w], m->argv[1]) ? (__u8)w : b->why;
	}
}

/* lacks D [cpu T] [wait T] [block T] [throttled T] [memory T] [io T] [high N]: each second for D,
 * the thread uses and waits so much of it, and its control group lacks so much, and exceeds
 * memory.high so often. */
static inline void word_lacks(struct script *s, const struct move *m)
{
	struct script_lack *l = &s->lack[s->pid];
	const struct {
		const char *key;
		__u64 *at;
	} figures[] = {{"cpu", &l->usage.cpu_ns},
		       {"wait", &l->usage.wait_ns},
		       {"block", &l->usage.block_ns},
		       {"system", &l->usage.system_ns},
		       {"throttled", &l->pressure.throttled_ns},
		       {"memory", &l->pressure.stall_ns[GP_STALL_MEMORY]},
		       {"io", &l->pressure.stall_ns[GP_STALL_IO]}};

	__u32 high = 0;

	l->usage.flags = GP_USAGE_BLOCK | GP_USAGE_SYSTEM;
	for (int i = 2; i + 1 < m->argc; i += 2) {
		if (!strcmp(m->argv[i], "mhz"))
			l->usage.mhz = (__u32)move_number(m, i + 1, 0);
		high |= !strcmp(m->argv[i], "high") ? (__u32)move_number(m, i + 1, 0) : 0;
	}
	l->pressure.flags = GP_PRESSURE_THROTTLE | GP_PRESSURE_STALL | GP_PRESSURE_GROUP |
			    GP_PRESSURE_HIGH;
	for (uint64_t at_ns = 1000000000ull; at_ns <= move_length(m); at_ns += 1000000000ull) {
		for (int i = 2; i + 1 < m->argc; i += 2) {
			for (size_t k = 0; k < sizeof(figures) / sizeof(figures[0]); k++)
				*figures[k].at += !strcmp(m->argv[i], figures[k].key)
							  ? move_ns(m, i + 1, 0)
							  : 0;
		}
		l->pressure.high += high;
		*(struct gp_usage *)script_add(s, GP_KIND_usage, m->at_ns + at_ns, script_pid(s),
					       -1) = l->usage;
		*(struct gp_pressure *)script_add(s, GP_KIND_pressure, m->at_ns + at_ns,
						  script_pid(s), -1) = l->pressure;
	}
}

/* feeds D [workers N] [busy N] [disk N] [network N] [sleeping N] [cores N] [idle N] [main T]: each
 * second for D, its data loader has so many workers; the busy ones use a whole CPU, the others
 * nothing, and its thread is on a CPU for T. */
static inline void word_feeds(struct script *s, const struct move *m)
{
	struct gp_input f = {.span_ns = 1000000000ull, .flags = GP_INPUT_IDLE};

	for (int i = 2; i + 1 < m->argc; i += 2) {
		uint64_t n = move_number(m, i + 1, 0);

		if (!strcmp(m->argv[i], "workers"))
			f.workers = (__u16)n;
		else if (!strcmp(m->argv[i], "busy"))
			f.busy = (__u16)n;
		else if (!strcmp(m->argv[i], "disk"))
			f.disk = (__u16)n;
		else if (!strcmp(m->argv[i], "network"))
			f.network = (__u16)n;
		else if (!strcmp(m->argv[i], "sleeping"))
			f.sleeping = (__u16)n;
		else if (!strcmp(m->argv[i], "cores"))
			f.cores = (__u32)n * 100;
		else if (!strcmp(m->argv[i], "idle"))
			f.idle_ns = n * f.span_ns;
		else if (!strcmp(m->argv[i], "main"))
			f.main_cpu_ns = move_ns(m, i + 1, 0);
		else
			script_fail(s, "feeds what? %s", m->argv[i]);
	}
	f.cpu_ns = f.busy * f.span_ns;
	f.top_cpu_ns = f.busy ? f.span_ns : 0;
	for (uint64_t at_ns = f.span_ns; at_ns <= move_length(m); at_ns += f.span_ns)
		*(struct gp_input *)script_add(s, GP_KIND_input, m->at_ns + at_ns, script_pid(s),
					       -1) = f;
}

/* traffic D [storage MB] [calls MB] [worker_storage MB] [worker_calls MB] [sent N] [resent N]
 * [dropped N] [errors N] [downs N] [rdma_resent N] [waits N] [link NAME]: each second for D, the
 * process and its loader workers read so much, and its network fails so often. */
static inline void word_traffic(struct script *s, const struct move *m)
{
	struct gp_traffic g = {.span_ns = 1000000000ull,
			       .flags = GP_TRAFFIC_READ | GP_TRAFFIC_WORKERS | GP_TRAFFIC_TCP |
					GP_TRAFFIC_LINKS,
			       .workers = 1};
	const struct {
		const char *key;
		__u64 *at, unit;
	} figures[] = {{"storage", &g.storage, 1000000},
		       {"calls", &g.calls, 1000000},
		       {"worker_storage", &g.worker_storage, 1000000},
		       {"worker_calls", &g.worker_calls, 1000000},
		       {"sent", &g.sent, 1},
		       {"resent", &g.resent, 1},
		       {"dropped", &g.dropped, 1},
		       {"errors", &g.errors, 1},
		       {"downs", &g.downs, 1},
		       {"rdma_resent", &g.rdma_resent, 1},
		       {"waits", &g.waits, 1}};
	const size_t n = sizeof(figures) / sizeof(figures[0]);

	for (int i = 2; i + 1 < m->argc; i += 2) {
		size_t k = 0;

		while (k < n && strcmp(m->argv[i], figures[k].key) != 0)
			k++;
		if (k < n)
			*figures[k].at = move_number(m, i + 1, 0) * figures[k].unit;
		else if (!strcmp(m->argv[i], "link"))
			snprintf(g.link, sizeof(g.link), "%s", m->argv[i + 1]);
		else
			script_fail(s, "which traffic? %s", m->argv[i]);
	}
	for (uint64_t at_ns = g.span_ns; at_ns <= move_length(m); at_ns += g.span_ns) {
		g.at_ns = SCRIPT_BASE_NS + m->at_ns + at_ns;
		*(struct gp_traffic *)script_add(s, GP_KIND_traffic, m->at_ns + at_ns,
						 script_pid(s), -1) = g;
	}
}

/* clock D MHZ [REASON...] [busy PERCENT] [errors N] [card N]: each second for D, the accelerator of
 * the process has that clock, these reasons for it, and N uncorrected errors so far. */
static inline void word_clock(struct script *s, const struct move *m)
{
	static const char *const reasons[] = {
#define X(id, name) [id] = #name,
		GP_DEVICE_REASONS(X)
#undef X
	};
	struct gp_device d = {.clock_mhz = (__u32)move_number(m, 2, 0),
			      .clock_max_mhz = 1980,
			      .celsius = 87,
			      .flags = GP_DEVICE_REASON | GP_DEVICE_ERRORS,
			      .name = "GPU 3"};

	for (int i = 3; i < m->argc; i++) {
		uint64_t n = move_number(m, i + 1, 0);
		unsigned reason = 0;

		while (reason < GP_DEVICE_REASON_COUNT && strcmp(m->argv[i], reasons[reason]) != 0)
			reason++;
		if (reason < GP_DEVICE_REASON_COUNT) {
			d.reasons |= 1u << reason;
			continue;
		}
		if (!strcmp(m->argv[i], "busy")) {
			d.busy = (__u16)n;
			d.flags |= GP_DEVICE_BUSY;
		} else if (!strcmp(m->argv[i], "errors")) {
			d.errors = n;
		} else if (!strcmp(m->argv[i], "card")) {
			snprintf(d.name, sizeof(d.name), "card%u", (unsigned)n % 100);
		} else {
			script_fail(s, "which clock? %s", m->argv[i]);
		}
		i++;
	}
	for (uint64_t at_ns = 1000000000ull; at_ns <= move_length(m); at_ns += 1000000000ull) {
		d.at_ns = SCRIPT_BASE_NS + m->at_ns + at_ns;
		*(struct gp_device *)script_add(s, GP_KIND_device, m->at_ns + at_ns, script_pid(s),
						-1) = d;
	}
}

/* examined D [runnable T] [TYPE T]... [NAME]: an examination that ends after D. */
static inline void word_examined(struct script *s, const struct move *m)
{
	static const char *const types[] = {
#define X(id, name) [id] = #name,
		GP_WAIT_TYPES(X)
#undef X
	};
	uint64_t end_ns = m->at_ns + move_length(m);
	struct gp_examined *e = script_add(s, GP_KIND_examined, end_ns, script_pid(s), -1);
	int i = 2, most = -1;

	e->from_ns = SCRIPT_BASE_NS + m->at_ns;
	e->to_ns = SCRIPT_BASE_NS + end_ns;
	for (; i + 1 < m->argc; i += 2) {
		uint64_t ns = move_ns(m, i + 1, 0);

		if (!strcmp(m->argv[i], "runnable"))
			e->runnable_ns = ns;
		for (int k = 0; k < GP_WAIT_COUNT; k++) {
			if (strcmp(m->argv[i], types[k]) != 0)
				continue;
			e->wait_ns[k] = ns;
			most = most < 0 || ns > e->wait_ns[most] ? k : most;
		}
	}
	if (most >= 0) {
		uint64_t ns = e->wait_ns[most];
		struct gp_waited *w = script_add(s, GP_KIND_waited, end_ns, script_pid(s), -1);

		w->ns = w->worst_ns = ns;
		w->count = 1;
		w->wait = (__u8)most;
		if (i < m->argc)
			snprintf(w->name, sizeof(w->name), "%s", m->argv[i]);
	}
}

static inline void word_instead(struct script *s, const struct move *m)
{
	struct gp_instead *p = script_add(s, GP_KIND_instead, m->at_ns, script_pid(s), -1);

	p->ns = move_length(m);
	p->other = m->argc > 3 && *m->argv[3] == 'p' ? 1000 * (uint32_t)atoi(m->argv[3] + 1) : 9;
	if (m->argc > 2)
		strncpy(p->comm, m->argv[2], sizeof(p->comm) - 1);
}

static inline void word_fork(struct script *s, const struct move *m)
{
	struct gp_fork *f = script_add(s, GP_KIND_fork, m->at_ns, script_pid(s), -1);
	uint32_t child = m->argc > 1 && *m->argv[1] == 'p' ? (uint32_t)atoi(m->argv[1] + 1) : 0;

	if (!child || child >= SCRIPT_PIDS) {
		script_fail(s, "fork whom?");
		return;
	}
	f->child = 1000 * child;
	f->start_ns = SCRIPT_BASE_NS + m->at_ns + 1;
	s->named[child] = true;
}

static inline bool word_life(struct script *s, const struct move *m)
{
	static const char *const causes[] = {
#define X(id, name, attributes) [id] = #name,
		GP_LOSS_CAUSES(X)
#undef X
	};
	const char *w = m->argv[0];

	if (!strcmp(w, "process")) {
		uint64_t age_ns = m->argc > 2 && !strcmp(m->argv[1], "age") ? move_ns(m, 2, 0) : 0;
		struct gp_process *p = script_process(s, m->at_ns, age_ns);

		for (int i = 1; i < m->argc; i++) {
			if (!strcmp(m->argv[i], "target"))
				p->flags |= GP_PROCESS_TARGET;
			if (!strcmp(m->argv[i], "job") && i + 1 < m->argc)
				snprintf(p->job, sizeof(p->job), "%s", m->argv[i + 1]);
			if (!strcmp(m->argv[i], "comm") && i + 1 < m->argc)
				snprintf(p->comm, sizeof(p->comm), "%s", m->argv[i + 1]);
			if (!strcmp(m->argv[i], "command") && i + 1 < m->argc)
				snprintf(p->command, sizeof(p->command), "%s", m->argv[i + 1]);
			if (!strcmp(m->argv[i], "parent"))
				p->parent = 1000 * (uint32_t)move_number(m, i + 1, 0);
			if (!strcmp(m->argv[i], "rank")) {
				p->rank = (int)move_number(m, i + 1, 0);
				p->world_size = (int)move_number(m, i + 2, 0);
			}
		}
	} else if (!strcmp(w, "attach")) { /* [PRICE in ns] */
		script_attach(s, m->at_ns, (uint32_t)move_number(m, 1, 0));
	} else if (!strcmp(w, "exit")) {
		script_exit(s, m->at_ns, (int)move_number(m, 1, 0) << 8);
	} else if (!strcmp(w, "kill")) {
		word_sent(s, m);
		script_exit(s, m->at_ns, (int)move_number(m, 1, SIGKILL));
	} else if (!strcmp(w, "sent")) { /* SIGNAL [SENDER] */
		word_sent(s, m);
	} else if (!strcmp(w, "abort")) { /* a fault of its own */
		script_exit(s, m->at_ns, SIGABRT);
	} else if (!strcmp(w, "oom")) {
		script_add(s, GP_KIND_oom, m->at_ns, script_pid(s), -1);
	} else if (!strcmp(w, "fork")) {
		word_fork(s, m);
	} else if (!strcmp(w, "exec")) { /* [NAME] */
		struct gp_exec *x = script_add(s, GP_KIND_exec, m->at_ns, script_pid(s), -1);

		snprintf(x->comm, sizeof(x->comm), "%s", move_text(m, ""));
	} else if (!strcmp(w, "lose")) { /* N [CAUSE] */
		struct gp_loss *l = script_add(s, GP_KIND_loss, m->at_ns, 0, -1);

		l->count = move_number(m, 1, 1);
		for (unsigned i = 0; m->argc > 2 && i < GP_LOSS_CAUSE_COUNT; i++) {
			if (!strcmp(causes[i], m->argv[2]))
				l->cause = i;
		}
	} else if (!strcmp(w, "gap")) { /* D */
		word_gap(s, m);
	} else if (!strcmp(w, "config")) {
		struct gp_config *c = script_add(s, GP_KIND_config, m->at_ns, 0, -1);

		snprintf(c->text, sizeof(c->text), "%s%s%s", move_text(m, ""),
			 m->argc > 2 ? " " : "", m->argc > 2 ? m->argv[2] : "");
	} else if (!strcmp(w, "carry")) {
		word_carry(s, m);
	} else if (!strcmp(w, "end")) {
		struct gp_end *e = script_add(s, GP_KIND_end, m->at_ns, 0, -1);

		e->reason = (uint32_t)move_number(m, 1, GP_END_TARGETS_GONE);
	} else if (!strcmp(w, "look") || !strcmp(w, "call")) {
		word_blocked(s, m);
	} else if (!strcmp(w, "stack")) { /* TEXT */
		struct gp_stack *k = script_add(s, GP_KIND_stack, m->at_ns, script_pid(s), -1);

		snprintf(k->text, sizeof(k->text), "%s", move_text(m, ""));
	} else if (!strcmp(w, "clock")) {
		word_clock(s, m);
	} else if (!strcmp(w, "examined")) {
		word_examined(s, m);
	} else if (!strcmp(w, "instead")) {
		word_instead(s, m);
	} else if (!strcmp(w, "ras")) { /* TEXT */
		struct gp_ras *k = script_add(s, GP_KIND_ras, m->at_ns, script_pid(s), -1);

		snprintf(k->text, sizeof(k->text), "%s", move_text(m, ""));
	} else if (!strcmp(w, "lacks")) {
		word_lacks(s, m);
	} else if (!strcmp(w, "traffic")) {
		word_traffic(s, m);
	} else if (!strcmp(w, "feeds")) {
		word_feeds(s, m);
	} else if (!strcmp(w, "line")) {
		word_line(s, m);
	} else {
		return !strcmp(w, "wait");
	}
	return true;
}

/* "p2.t3:", "t2:", "p2:" */
static inline bool script_who(struct script *s, const char *word)
{
	unsigned pid = 1, tid = 1;
	int n = 0;

	if (sscanf(word, "p%u.t%u:%n", &pid, &tid, &n) != 2 || !n) {
		n = 0;
		pid = tid = 1;
		if (sscanf(word, "p%u:%n", &pid, &n) != 1 || !n) {
			n = 0;
			pid = 1;
			if (sscanf(word, "t%u:%n", &tid, &n) != 1 || !n)
				return false;
		}
	}
	if (!pid || pid >= SCRIPT_PIDS || !tid || tid >= SCRIPT_THREADS)
		script_fail(s, "no such process or thread: %s", word);
	else
		s->pid = pid, s->tid = tid;
	return true;
}

/* times N D MOVE: N times, every D. */
static inline void script_repeat(struct script *s, struct move *m)
{
	uint64_t times = 1, every_ns = 0;

	if (!strcmp(m->argv[0], "times") && m->argc > 3) {
		times = move_number(m, 1, 1);
		every_ns = move_ns(m, 2, 0);
		m->argc -= 3;
		memmove(m->argv, m->argv + 3, (size_t)m->argc * sizeof(*m->argv));
	}
	for (uint64_t i = 0; i < times; i++, m->at_ns += every_ns) {
		if (!word_training(s, m) && !word_library(s, m) && !word_program(s, m) &&
		    !word_device(s, m) && !word_place(s, m) && !word_life(s, m))
			script_fail(s, "no such move: %s", m->argv[0]);
	}
}

static inline void script_move(struct script *s, char *text)
{
	struct move m = {.at_ns = s->at_ns};
	char *save = NULL, *w = strtok_r(text, " \t\n", &save);
	uint64_t ns;

	if (!w)
		return;
	if (!script_duration(w + (*w == '+'), &ns)) {
		script_fail(s, "no time: %s", w);
		return;
	}
	m.at_ns = s->at_ns = *w == '+' ? s->at_ns + ns : ns;
	s->pid = s->tid = 1;
	w = strtok_r(NULL, " \t\n", &save);
	if (w && script_who(s, w))
		w = strtok_r(NULL, " \t\n", &save);
	for (; w && m.argc < 24; w = strtok_r(NULL, " \t\n", &save))
		m.argv[m.argc++] = w;
	if (!m.argc) {
		script_fail(s, "a time without a move");
		return;
	}
	if (!s->session) {
		s->session = true;
		script_session(s);
	}
	if (!s->named[s->pid] && strcmp(m.argv[0], "process") && strcmp(m.argv[0], "config") &&
	    strcmp(m.argv[0], "end") && strcmp(m.argv[0], "lose") && strcmp(m.argv[0], "wait") &&
	    strcmp(m.argv[0], "gap") && strcmp(m.argv[0], "carry") && strcmp(m.argv[0], "notice"))
		script_process(s, m.at_ns, 0);
	script_repeat(s, &m);
}

static inline int record_order(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* A line of moves is added to the block. */
static inline void script_line(struct script *s, char *line)
{
	char *save = NULL, *move;

	for (move = strtok_r(line, "|", &save); move; move = strtok_r(NULL, "|", &save))
		script_move(s, move);
}

static inline bool script_gap(const struct script *s, uint64_t ns)
{
	for (uint32_t i = 0; i < s->ngaps; i++) {
		if (ns > s->gaps[i].from_ns && ns <= s->gaps[i].to_ns)
			return true;
	}
	return false;
}

/* The block is whole: ticks, order. */
static inline void script_block(struct script *s)
{
	uint64_t last_ns = s->tick_ns;

	for (uint32_t i = 0; i < s->count; i++)
		last_ns = s->records[i].ts_ns > last_ns ? s->records[i].ts_ns : last_ns;
	last_ns = s->at_ns > last_ns ? s->at_ns : last_ns;
	while (s->session && s->tick_ns + 1000000000ull <= last_ns) {
		s->tick_ns += 1000000000ull;
		if (!script_gap(s, s->tick_ns))
			script_add(s, GP_KIND_tick, s->tick_ns, 0, -1);
	}
	s->ngaps = 0;
	qsort(s->records, s->count, sizeof(*s->records), record_order);
	for (uint32_t i = 0; i < s->count; i++) {
		struct gp_rec *rec = (struct gp_rec *)s->records[i].bytes;
		struct gp_call *c = (struct gp_call *)(rec + 1);

		if (rec->kind != GP_KIND_call || c->arg[5] != SCRIPT_OUTPUT)
			continue;
		c->arg[4] = c->arg[4] ? SCRIPT_OUTPUT + 64 * s->outputs : SCRIPT_OUTPUT - 64;
		c->arg[5] = SCRIPT_OUTPUT + 64 * ++s->outputs;
	}
}

#endif
