/* SPDX-License-Identifier: Apache-2.0 */
/* save_streams.h - tapes to cut: the cases, and streams that take the model through what no case
 * does. */
#ifndef TESTS_UNIT_SAVE_STREAMS_H
#define TESTS_UNIT_SAVE_STREAMS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/cases/words.h"
#include "userspace/base/buffer.h"

#define TAPE_RECORDS 60000

struct tape { /* records in order of arrival, drain marks among them */
	struct buffer bytes;
	size_t *at; /* count + 1 offsets */
	size_t count;
};

static inline void tape_free(struct tape *t)
{
	buffer_free(&t->bytes);
	free(t->at);
}

static inline void tape_add(struct tape *t, const void *record)
{
	if (!t->at)
		t->at = calloc(TAPE_RECORDS + 1, sizeof(*t->at));
	assert_non_null(t->at);
	assert_true(t->count < TAPE_RECORDS);
	buffer_add(&t->bytes, record, ((const struct gp_rec *)record)->len);
	t->at[++t->count] = t->bytes.len;
}

static inline uint32_t tape_random(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

/* Rings are not in order: records are swapped with near ones, and some come too late. The drain
 * marks lie well behind. */
static inline void tape_script(struct tape *t, struct script *s, uint32_t *seed)
{
	_Alignas(8) char mark[GP_RECORD_MAX];
	uint64_t upto_ns;

	script_block(s);
	if (*s->error)
		fail_msg("%s", s->error);
	for (uint32_t i = 0; i + 1 < s->count; i += 1 + tape_random(seed, 3)) {
		struct record r = s->records[i];

		s->records[i] = s->records[i + 1];
		s->records[i + 1] = r;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		tape_add(t, s->records[i].bytes);
		if (i < 8 || tape_random(seed, 8))
			continue;
		upto_ns = SCRIPT_BASE_NS + s->records[i - tape_random(seed, 8)].ts_ns;
		((struct gp_drain *)event_init(mark, GP_KIND_drain, upto_ns, 0, 0))
			->upto_ns = upto_ns;
		tape_add(t, mark);
	}
	s->count = 0;
}

static inline void tape_case(struct tape *t, const char *path)
{
	struct script s = {.records = calloc(SCRIPT_EVENTS, sizeof(struct record))};
	FILE *file = fopen(path, "re");
	uint32_t seed = 1;
	char line[2000];

	assert_non_null(s.records);
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		line[*line == '#' ? 0 : strcspn(line, "\n")] = '\0';
		if (strncmp(line, "=>", 2))
			script_line(&s, line);
		else
			tape_script(t, &s, &seed);
	}
	fclose(file);
	free(s.records);
}

/* ---- streams made here ----------------------------------------------------------------------- */

static inline void moves(struct script *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static inline void moves(struct script *s, const char *fmt, ...)
{
	char line[2000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	script_line(s, line);
}

/* Anything at any time, on any thread, by any process. */
static inline void stream_wild(struct script *s, uint32_t *seed)
{
	static const char *const words[] = {
		"fetch 3ms",
		"fetch 200us",
		"backward",
		"backward",
		"update",
		"update Adam 1ms",
		"update SGD 2ms",
		"zero_grad",
		"zero_grad Adam 100us",
		"fused 7",
		"fused 9",
		"amp",
		"reducer",
		"anon",
		"anon",
		"save 20ms wild.pt",
		"save_begin other.pt",
		"restore",
		"sync 2ms",
		"execute",
		"launch 9",
		"lose 3 ring_call",
		"exec",
		"gap 300ms",
		"steps 3 30ms data 2ms",
		"steps 5 20ms",
		"fetches 4 2ms",
	};
	static const char *const ends[] = {"exit 0",
					   "exit 3",
					   "kill 9 77",
					   "abort",
					   "oom",
					   "process rank 1 2 target",
					   "fork p7",
					   "attach 300",
					   "config ideal_ns=9000000",
					   "config multiply=2",
					   "config multiply=1"};
	uint32_t n = sizeof(words) / sizeof(words[0]);

	moves(s, "0ms p1: process rank 0 2 | 0ms p3: process age 40s | 0ms attach 250");
	for (int i = 0; i < 900; i++) {
		uint32_t pid = 1 + tape_random(seed, 4), tid = 1 + tape_random(seed, 4);

		moves(s, "+%uus p%u.t%u: %s", tape_random(seed, 40000), pid, tid,
		      words[tape_random(seed, n)]);
		if (!tape_random(seed, 40))
			moves(s, "+1ms p%u: %s", 1 + tape_random(seed, 9),
			      ends[tape_random(seed, 11)]);
	}
}

/* Two optimizers that take turns, then another order, then none. */
static inline void stream_turns(struct script *s, uint32_t *seed)
{
	for (int i = 0; i < 40; i++)
		moves(s,
		      "+5ms fetch 1ms | +5ms backward | +3ms update Adam 1ms | +5ms backward | +3ms update SGD 1ms");
	for (int i = 0; i < 40; i++)
		moves(s,
		      "+5ms fetch 1ms | +5ms backward | +3ms update Adam 1ms | +5ms backward | +3ms update Adam 1ms "
		      "| +5ms backward | +3ms update SGD 1ms | +1ms save 3ms turns.pt");
	for (int i = 0; i < 120; i++)
		moves(s, "+5ms fetch 1ms | +5ms backward | +3ms update %s 1ms",
		      tape_random(seed, 2) ? "Adam" : "SGD");
	moves(s, "+9s gap 9s");
	for (int i = 0; i < 5; i++)
		moves(s, "+4s wait | +5ms fetches 9 3ms | +40ms backward | +3ms update Adam 1ms");
	moves(s, "+70s backward | +1ms update Adam 1ms | +1s exit 0");
}

/* Loops beside each other, which are told apart when they overlap. */
static inline void stream_beside(struct script *s, uint32_t *seed)
{
	for (int i = 0; i < 60; i++)
		moves(s,
		      "+7ms t1: backward | +3ms t1: update SGD 1ms | +5ms t2: backward | +3ms t2: update SGD 1ms");
	for (int i = 0; i < 120; i++)
		moves(s,
		      "+7ms t1: backward | +%ums t2: backward | +2ms t1: update SGD 1ms | +4ms t2: update Adam 1ms "
		      "| +1ms t4: backward | +%ums t3: fused 3",
		      1 + tape_random(seed, 4), 2 + tape_random(seed, 4));
	moves(s, "+3s kill 15 0");
}

/* A torch whose ranges have no names, with and without accumulation; then one without any. */
static inline void stream_nameless(struct script *s, uint32_t *seed)
{
	for (int i = 0; i < 60; i++)
		moves(s,
		      "+7ms backward | +1ms anon | +1ms p2: backward | +1ms p2: anon | +1ms p3: backward "
		      "| +1ms p4: backward | +1ms p4: reducer | +1ms p4: anon | +1ms p4: anon%s%s",
		      i % 4 ? "" : " | +1ms anon | +1ms anon | +1ms p2: anon | +1ms p2: anon",
		      tape_random(seed, 9) ? "" : " | +1ms anon | +2ms p3: sync 1ms");
	moves(s, "+1ms exit 0 | +1ms p2: exit 1 | +1ms p4: exit 0");
}

/* No ranges of the optimizer: zero_grad, then fused kernels, a gradient scaler, updates in the
 * backward. */
static inline void stream_compiled(struct script *s, uint32_t *seed)
{
	for (int i = 0; i < 50; i++) {
		moves(s,
		      "+2ms fetch 1ms | +2ms zero_grad Adam 1ms | +9ms backward | +1ms p2: backward | +1ms p2: fused %u "
		      "| +1ms p2: amp | +1ms p3: execute | +1ms p3: sync 1ms",
		      1 + i % 3);
		if (tape_random(seed, 4))
			moves(s,
			      "+1ms p4: backward | +1ms p4: update A | +0ms p4: update B | +0ms p4: update A | +1ms p4: amp");
		else
			moves(s, "+1ms p4: backward | +1ms p4: amp | +1ms lose 2 late");
	}
	for (int i = 0; i < 100; i++)
		moves(s, "+1ms p4: update A");
	moves(s, "+1ms p4: backward | +1ms p4: update A | +9s end");
}

/* Settings, and a job that came before us. */
static inline void stream_set(struct script *s, uint32_t *seed)
{
	moves(s,
	      "0ms config marker=sync | 1ms p1: process age 90s rank 3 8 | 2ms attach 100 | 3ms p1: backward "
	      "| 4ms config marker=execute | 5ms config multiply=3 | 5ms p2: process age 9s | 6ms p2: execute "
	      "| 7ms config ideal_ns=7000000 | 8ms config marker=update_exit | 9ms p3: steps 2 10ms");
	/* Introduced again after a gap: as one that we came late to. */
	moves(s, "+1s p6: process | +1ms gap 2ms | +3ms wait");
	for (int i = 0; i < 80; i++)
		moves(s, "+1us p1: launch 1");
	moves(s, "+1us p6: process | +1s p6: steps 3 20ms");
	for (int i = 0; i < 90; i++)
		moves(s,
		      "+%ums p1: sync 2ms | +1ms p2: execute | +1ms p2: launch 4 | +3ms p3: steps 1 9ms data 1ms",
		      1 + tape_random(seed, 30));
	moves(s,
	      "+1s p2: exec | +1s p2: steps 9 20ms | +1s p2: fork p5 | +1s p5: exit 0 | +1s p5: process | +9s end");
}

/* Hangs: seen and unseen, over and not, within a checkpoint and a gap. */
static inline void stream_silent(struct script *s, uint32_t *seed)
{
	moves(s, "0ms config hang_ns=3000000000 | 0ms p2: process rank 1 2");
	for (int i = 0; i < 8; i++) {
		moves(s,
		      "+9ms steps 9 %ums data 3ms | +0ms p2: steps 9 20ms | +1s fetch | +%ums look %s 6s it_waits",
		      20 + tape_random(seed, 20), tape_random(seed, 900),
		      i % 3 ? i % 2 ? "lock" : "stopped" : "input");
		moves(s, "+1s p2: backward | +200ms p2: call %us | +7s %s",
		      2 + tape_random(seed, 7), i == 5 ? "gap 9s" : "launch 3");
		moves(s,
		      "+9s backward | +1s update | +1s save_begin silent.pt | +5s launch 2 | +1s p2: update Adam");
	}
	moves(s, "+9s p2: kill 9 | +2s look device 9s | +9s kill 6 0");
}

/* A job's own monitoring, on several threads, with records lost, by a trainer and by one that is
 * none. */
static inline void stream_monitor(struct script *s, uint32_t *seed)
{
	for (int i = 0; i < 120; i++) {
		moves(s,
		      "+1us t%u: monitor torch.monitor.Stat s%u.mean=0.%u s%u.count=%d x.max=nan lost %u",
		      1 + tape_random(seed, 5), tape_random(seed, 40), tape_random(seed, 99),
		      tape_random(seed, 40), i, tape_random(seed, 5));
		moves(s,
		      "+2us p2: monitor own word=text yes=true n=-%d of %u | +3ms backward | +2ms update",
		      i, 3 + tape_random(seed, 2));
		if (!tape_random(seed, 30))
			moves(s,
			      "+1us monitor own a=1 of 2 | +2s wait | +1us monitor own a=1 of 2 | +1ms gap 2ms");
	}
	moves(s,
	      "+1us p2: monitor own a=1 of 2 | +1us p2: exit 0 | +1us monitor own a=1 of 2 | +1s exit 0");
}

static void (*const streams[])(struct script *s, uint32_t *seed) = {
	stream_wild,   stream_turns, stream_beside, stream_nameless, stream_compiled,
	stream_silent, stream_set,   stream_wild,   stream_wild,     stream_monitor,
};
#define STREAMS (sizeof(streams) / sizeof(streams[0]))

static inline void tape_stream(struct tape *t, size_t i)
{
	struct script s = {.records = calloc(SCRIPT_EVENTS, sizeof(struct record))};
	uint32_t seed = (uint32_t)i + 1;

	assert_non_null(s.records);
	streams[i](&s, &seed);
	tape_script(t, &s, &seed);
	free(s.records);
}

#endif
