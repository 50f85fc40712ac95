/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/resource.h"

#include <stdio.h>
#include <stdlib.h>

#include "userspace/base/number.h"

/* Another thread is a possible reason for a wait of the training thread only if it uses or waits
 * for a CPU for at least 1/BUSY_SHARE of a second. */
#define BUSY_SHARE 4 /* a quarter */
/* If records are further apart (ns), some are missing between them. */
#define SECOND_MAX 1500000000ull

struct resource_second {
	uint64_t end_ns;
	uint32_t length_us;
	uint32_t system_us, faults;
	uint32_t wait_us, throttled_us, asleep_us, block_us, memory_us, io_us;
	uint16_t mhz;  /* clock of the CPU of the training thread; 0: unknown */
	uint8_t known; /* RESOURCE_* */
};
#define RESOURCE_BLOCK	1 /* block_us is measured */
#define RESOURCE_STALL	2 /* memory_us and io_us are measured */
#define RESOURCE_GROUP	4 /* memory_us and io_us are of the control group; else of the machine */
#define RESOURCE_SYSTEM 8 /* system_us and faults are measured */
#define RESOURCE_HIGH	8 /* memory.high was exceeded */

struct resource_thread {
	uint32_t tid; /* 0: unused */
	bool known;   /* `last` is known */
	bool whole;   /* `last` was known when the present second began */
	struct gp_usage last;
	struct gp_usage grown; /* growth of the usage since the last second ended */
};

struct resource {
	struct resource_thread thread[RESOURCE_THREADS];
	uint32_t trains;	     /* index of the training thread + 1; 0: unknown */
	struct gp_pressure pressure; /* last record of the control group */
	uint64_t pressure_ns;	     /* time of `pressure`; 0: none yet */
	struct resource_second second[RESOURCE_SECONDS];
	uint64_t seconds; /* number of seconds recorded so far */
};

struct resource *resource_new(void)
{
	return calloc(1, sizeof(struct resource));
}

void resource_free(struct resource *r)
{
	free(r);
}

/* Returns the entry of a thread. If all are in use, replaces the one that used the CPU least. */
static struct resource_thread *resource_find(struct resource *r, uint32_t tid)
{
	struct resource_thread *least = NULL;

	for (int i = 0; i < RESOURCE_THREADS; i++) {
		struct resource_thread *t = &r->thread[i];

		if (t->tid == tid)
			return t;
		if (i + 1 == (int)r->trains)
			continue;
		if (!least || !t->tid || (least->tid && t->last.cpu_ns < least->last.cpu_ns))
			least = t;
	}
	*least = (struct resource_thread){.tid = tid};
	return least;
}

void resource_usage(struct resource *r, uint32_t tid, const struct gp_usage *u, bool trains)
{
	struct resource_thread *t;

	if (!tid)
		return;
	t = resource_find(r, tid);
	if (u->flags & GP_USAGE_FIRST)
		t->known = t->whole = false;
	if (t->known) {
		t->grown.cpu_ns += more_than(u->cpu_ns, t->last.cpu_ns);
		t->grown.wait_ns += more_than(u->wait_ns, t->last.wait_ns);
		if (t->last.flags & GP_USAGE_SYSTEM) {
			t->grown.system_ns += more_than(u->system_ns, t->last.system_ns);
			t->grown.minor_faults += more_than(u->minor_faults, t->last.minor_faults);
		}
		/* without the flag, t->last.block_ns was not measured */
		if (t->last.flags & GP_USAGE_BLOCK)
			t->grown.block_ns += more_than(u->block_ns, t->last.block_ns);
	}
	t->last = *u;
	t->known = true;
	if (trains)
		r->trains = (uint32_t)(t - r->thread) + 1;
}

/* Returns the longest time that a busy thread, other than the training thread, waited for a CPU. */
static uint64_t resource_other_wait(const struct resource *r, uint64_t length_ns)
{
	uint64_t most_ns = 0;

	for (uint32_t i = 0; i < RESOURCE_THREADS; i++) {
		const struct gp_usage *g = &r->thread[i].grown;

		if (i + 1 == r->trains || g->cpu_ns + g->wait_ns < length_ns / BUSY_SHARE)
			continue;
		most_ns = g->wait_ns > most_ns ? g->wait_ns : most_ns;
	}
	return most_ns;
}

static uint32_t resource_us(uint64_t ns, uint64_t most_ns)
{
	return (uint32_t)(smaller_of(ns, most_ns) / 1000);
}

/* Moves waits that began before the last second to the seconds in which they were. The kernel
 * counts a wait only when it is over, so until then the thread seemed to sleep. wait_ns, block_ns:
 * the parts of waits for a CPU and for block I/O that were too long for the last second. */
static void resource_earlier(struct resource *r, uint64_t wait_ns, uint64_t block_ns)
{
	uint64_t kept = smaller_of(r->seconds, RESOURCE_SECONDS), wait_us = wait_ns / 1000,
		 block_us = block_ns / 1000;

	for (uint64_t i = 2; i <= kept && (wait_us || block_us); i++) {
		const struct resource_second
			*next = &r->second[(r->seconds - i + 1) % RESOURCE_SECONDS];
		struct resource_second *s = &r->second[(r->seconds - i) % RESOURCE_SECONDS];
		uint32_t waited_us, blocked_us;

		if (more_than(next->end_ns, s->end_ns) > next->length_us * 1000ull + 1000)
			return; /* seconds are missing between them */
		waited_us = (uint32_t)smaller_of(wait_us, s->asleep_us);
		s->asleep_us -= waited_us;
		s->wait_us = (uint32_t)smaller_of(s->wait_us + waited_us,
						  s->length_us - s->throttled_us);
		blocked_us = (uint32_t)smaller_of(block_us, more_than(s->asleep_us, s->block_us));
		s->block_us += blocked_us;
		wait_us = s->asleep_us ? 0 : wait_us - waited_us;
		block_us = s->asleep_us > s->block_us ? 0 : block_us - blocked_us;
	}
}

static void resource_end_second(struct resource *r, uint64_t ts_ns, const struct gp_pressure *p)
{
	const struct gp_pressure *last = &r->pressure;
	const struct gp_usage *own = &r->thread[r->trains - 1].grown;
	struct resource_second *s = &r->second[r->seconds++ % RESOURCE_SECONDS];
	uint64_t length_ns = ts_ns - r->pressure_ns, used_ns, wait_ns, asleep_ns, throttled_ns = 0;
	unsigned both = p->flags & last->flags;

	used_ns = smaller_of(own->cpu_ns, length_ns);
	wait_ns = smaller_of(own->wait_ns, length_ns - used_ns);
	asleep_ns = length_ns - used_ns - wait_ns;
	wait_ns += smaller_of(asleep_ns, resource_other_wait(r, length_ns));
	if (both & GP_PRESSURE_THROTTLE)
		throttled_ns = smaller_of(wait_ns, more_than(p->throttled_ns, last->throttled_ns));
	*s = (struct resource_second){
		.end_ns = ts_ns,
		.length_us = resource_us(length_ns, length_ns),
		.wait_us = resource_us(wait_ns - throttled_ns, length_ns),
		.throttled_us = resource_us(throttled_ns, length_ns),
		.asleep_us = resource_us(asleep_ns, length_ns),
		.block_us = resource_us(own->block_ns, asleep_ns),
		.system_us = resource_us(own->system_ns, used_ns),
		.faults = (uint32_t)smaller_of(own->minor_faults, UINT32_MAX),
		.mhz = (uint16_t)smaller_of(r->thread[r->trains - 1].last.mhz, UINT16_MAX),
		.known = (r->thread[r->trains - 1].last.flags & GP_USAGE_BLOCK ? RESOURCE_BLOCK
									       : 0) |
			 (r->thread[r->trains - 1].last.flags & GP_USAGE_SYSTEM ? RESOURCE_SYSTEM
										: 0) |
			 (both & GP_PRESSURE_STALL ? RESOURCE_STALL : 0) |
			 (both & GP_PRESSURE_GROUP ? RESOURCE_GROUP : 0) |
			 (both & GP_PRESSURE_HIGH && p->high != last->high ? RESOURCE_HIGH : 0),
	};
	resource_earlier(r, more_than(own->wait_ns, length_ns - used_ns),
			 more_than(own->block_ns, asleep_ns));
	if (!(both & GP_PRESSURE_STALL))
		return;
	s->memory_us = resource_us(
		more_than(p->stall_ns[GP_STALL_MEMORY], last->stall_ns[GP_STALL_MEMORY]),
		length_ns);
	s->io_us = resource_us(more_than(p->stall_ns[GP_STALL_IO], last->stall_ns[GP_STALL_IO]),
			       length_ns);
}

void resource_pressure(struct resource *r, uint64_t ts_ns, const struct gp_pressure *p)
{
	bool whole = r->trains && r->pressure_ns && ts_ns > r->pressure_ns &&
		     ts_ns - r->pressure_ns <= SECOND_MAX && r->thread[r->trains - 1].whole;

	if (whole)
		resource_end_second(r, ts_ns, p);
	for (int i = 0; i < RESOURCE_THREADS; i++) {
		r->thread[i].grown = (struct gp_usage){0};
		r->thread[i].whole = r->thread[i].known;
	}
	r->pressure = *p;
	r->pressure_ns = ts_ns;
}

void resource_between(const struct resource *r, uint64_t from_ns, uint64_t to_ns,
		      struct resource_sums *ret)
{
	uint64_t kept = smaller_of(r->seconds, RESOURCE_SECONDS);

	*ret = (struct resource_sums){
		.block_known = true, .system_known = true, .stall_known = true, .group = true};
	for (uint64_t i = 1; i <= kept; i++) {
		const struct resource_second *s = &r->second[(r->seconds - i) % RESOURCE_SECONDS];
		uint64_t begin_ns = s->end_ns - s->length_us * 1000ull;
		uint64_t low = begin_ns > from_ns ? begin_ns : from_ns;
		uint64_t high = s->end_ns < to_ns ? s->end_ns : to_ns;
		/* overlap of the second with the span (ns), per µs of the second */
		double part;
		uint64_t run_ns, idle_us = s->wait_us + s->throttled_us + s->asleep_us;

		if (high <= low || !s->length_us)
			continue;
		part = (double)(high - low) / (double)s->length_us;
		ret->covered_ns += high - low;
		ret->wait_ns += (uint64_t)(s->wait_us * part);
		ret->throttled_ns += (uint64_t)(s->throttled_us * part);
		ret->asleep_ns += (uint64_t)(s->asleep_us * part);
		ret->block_ns += (uint64_t)(s->block_us * part);
		ret->system_ns += (uint64_t)(s->system_us * part);
		ret->faults += (uint64_t)(s->faults * part / 1000);
		ret->system_known &= !!(s->known & RESOURCE_SYSTEM);
		ret->memory_ns += (uint64_t)(s->memory_us * part);
		ret->io_ns += (uint64_t)(s->io_us * part);
		ret->high_ns += s->known & RESOURCE_HIGH ? high - low : 0;
		/* waits of another thread count twice: in wait_us and in asleep_us */
		run_ns = (uint64_t)((double)more_than(s->length_us, idle_us) * part);
		ret->run_ns += run_ns;
		ret->clocked_ns += s->mhz ? run_ns : 0;
		ret->cycles += run_ns * s->mhz / 1000;
		ret->block_known &= !!(s->known & RESOURCE_BLOCK);
		ret->stall_known &= !!(s->known & RESOURCE_STALL);
		ret->group &= !!(s->known & RESOURCE_GROUP);
	}
}

void resource_sums_add(struct resource_sums *to, const struct resource_sums *s)
{
	bool first = !to->covered_ns;

	if (!s->covered_ns)
		return;
	to->covered_ns += s->covered_ns;
	to->wait_ns += s->wait_ns;
	to->throttled_ns += s->throttled_ns;
	to->asleep_ns += s->asleep_ns;
	to->block_ns += s->block_ns;
	to->memory_ns += s->memory_ns;
	to->io_ns += s->io_ns;
	to->high_ns += s->high_ns;
	to->run_ns += s->run_ns;
	to->clocked_ns += s->clocked_ns;
	to->cycles += s->cycles;
	to->system_ns += s->system_ns;
	to->faults += s->faults;
	to->system_known = (first || to->system_known) && s->system_known;
	to->block_known = (first || to->block_known) && s->block_known;
	to->stall_known = (first || to->stall_known) && s->stall_known;
	to->group = (first || to->group) && s->group;
}

const char *resource_high_text(char *out, size_t len, const struct resource_sums *s)
{
	*out = '\0';
	if (s->high_ns)
		snprintf(out, len,
			 "memory.high of its control group was exceeded in %.0f of %.0f s",
			 (double)s->high_ns / 1e9, (double)s->covered_ns / 1e9);
	return out;
}

/* ---- state ----------------------------------------------------------------------------------- */

static void resource_usage_archive(struct archive *a, struct gp_usage *u)
{
	archive_fields(a, u, cpu_ns, wait_ns, block_ns, major_faults, flags, mhz, system_ns,
		       minor_faults);
}

static void resource_second_archive(struct archive *a, struct resource_second *s)
{
	archive_fields(a, s, system_us, faults, end_ns, length_us, wait_us, throttled_us, asleep_us,
		       block_us, memory_us, io_us, mhz, known);
}

void resource_archive(struct archive *a, struct resource **r)
{
	struct resource *s = *r = archive_object(a, *r, sizeof(**r));
	uint32_t kept;

	if (!s)
		return;
	archive_struct(a, sizeof(*s));
	for (int i = 0; i < RESOURCE_THREADS; i++) {
		archive_field(a, s->thread[i].tid);
		archive_field(a, s->thread[i].known);
		archive_field(a, s->thread[i].whole);
		resource_usage_archive(a, &s->thread[i].last);
		resource_usage_archive(a, &s->thread[i].grown);
	}
	archive_below(a, &s->trains, RESOURCE_THREADS + 1);
	archive_field(a, s->pressure.throttled_ns);
	archive_field(a, s->pressure.stall_ns);
	archive_field(a, s->pressure.flags);
	archive_field(a, s->pressure.high);
	archive_fields(a, s, pressure_ns, seconds);
	kept = (uint32_t)smaller_of(s->seconds, RESOURCE_SECONDS);
	for (uint32_t i = 0; i < kept; i++) {
		resource_second_archive(a, &s->second[i]);
		archive_require(a, s->second[i].end_ns >= s->second[i].length_us * 1000ull);
	}
}

void resource_sums_archive(struct archive *a, struct resource_sums *s)
{
	archive_fields(a, s, system_ns, faults, system_known);
	archive_fields(a, s, covered_ns, wait_ns, throttled_ns, asleep_ns, block_ns, memory_ns,
		       io_ns, high_ns, run_ns, clocked_ns, cycles, block_known, stall_known, group);
	input_sums_archive(a, &s->input);
}
