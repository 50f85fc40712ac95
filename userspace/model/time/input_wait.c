/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/input_wait.h"

#include <stdio.h>
#include <stdlib.h>

#include "userspace/base/number.h"

#define WHOLE 100 /* shares are in hundredths */
/* if activities fill at least this share of a second, they are the reason for the wait */
#define BUSY 90
/* if records are further apart (ns), some between them are missing */
#define SECOND_MAX 1500000000ull
/* A wait may exceed the time in which the thread was not on a CPU by this much (hundredths of a
 * second), because the two are measured by different clocks. */
#define SLACK	   5
#define GATE_NS	   15000000000ull
#define GATE_SHARE 0.03

struct input_second {
	uint64_t end_ns;
	uint32_t length_us, wait_us;
	uint32_t rest_us; /* time in which the training thread was not on a CPU */
	/* share of each reason in the wait, as far as the training thread was not on a CPU */
	uint8_t share[INPUT_REASONS];
	uint32_t workers, busy;
	uint32_t cores, idle, top_cpu, all_cpu; /* in hundredths */
};

struct input_waits {
	uint64_t open_ns; /* length of the waits since the last element of `second` ended */
	uint64_t seconds; /* ever */
	struct input_second second[INPUT_SECONDS];
	struct input_sums gone; /* sums of the seconds that are no longer kept */
};

/* ---- gate ------------------------------------------------------------------------------------ */

void input_gate_wait(struct input_gate *g, uint64_t from_ns, uint64_t to_ns)
{
	if (to_ns <= from_ns)
		return;
	if (!g->since_ns)
		g->since_ns = from_ns;
	while (to_ns >= g->since_ns + GATE_NS) {
		if (to_ns - g->since_ns > 4 * GATE_NS) { /* no wait was reported for a minute */
			*g = (struct input_gate){.since_ns = to_ns - GATE_NS / 2};
			break;
		}
		g->before_ns = g->wait_ns;
		g->wait_ns = 0;
		g->whole = true;
		g->since_ns += GATE_NS;
	}
	g->wait_ns += to_ns - from_ns;
}

bool input_gate_starved(const struct input_gate *g, uint64_t now_ns)
{
	uint64_t waited_ns = g->wait_ns + g->before_ns;
	uint64_t since_ns = g->since_ns - (g->whole ? GATE_NS : 0);

	/* A wait counts only when it has ended, so the result may be late by the length of one
	 * wait. */
	return waited_ns && now_ns > since_ns &&
	       (double)waited_ns >= GATE_SHARE * (double)(now_ns - since_ns);
}

void input_gate_archive(struct archive *a, struct input_gate *g)
{
	archive_fields(a, g, since_ns, wait_ns, before_ns, whole);
	archive_require(a, !g->whole || g->since_ns >= GATE_NS);
}

/* ---- seconds --------------------------------------------------------------------------------- */

struct input_waits *input_waits_new(void)
{
	return calloc(1, sizeof(struct input_waits));
}

void input_waits_free(struct input_waits *w)
{
	free(w);
}

static struct input_second *input_waits_at(struct input_waits *w, uint64_t back)
{
	return &w->second[(w->seconds - 1 - back) % INPUT_SECONDS];
}

void input_waits_add(struct input_waits *w, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t kept = smaller_of(w->seconds, INPUT_SECONDS);
	uint64_t end_ns = kept ? input_waits_at(w, 0)->end_ns : 0;

	if (to_ns <= from_ns)
		return;
	w->open_ns += more_than(to_ns, larger_of(from_ns, end_ns));
	for (uint64_t i = 0; i < kept && from_ns < end_ns; i++) {
		struct input_second *s = input_waits_at(w, i);
		uint64_t begin_ns = s->end_ns - s->length_us * 1000ull;
		uint64_t both_ns = more_than(smaller_of(to_ns, s->end_ns),
					     larger_of(from_ns, begin_ns));

		end_ns = begin_ns;
		s->wait_us += (uint32_t)smaller_of(both_ns / 1000, s->length_us - s->wait_us);
	}
}

static uint32_t input_share(uint64_t part_ns, uint64_t whole_ns)
{
	return whole_ns ? (uint32_t)((double)WHOLE * (double)smaller_of(part_ns, whole_ns) /
					     (double)whole_ns +
				     0.5)
			: 0;
}

/* Divides into reasons a second in which a worker was busy. Busy workers, and workers that wait for
 * a file or for the network or that sleep, count equally. Workers that wait for work do not delay
 * the training. */
static void input_second_busy(struct input_second *s, const struct gp_input *f, uint32_t busy,
			      uint32_t cpu, uint32_t wait, uint32_t block)
{
	uint32_t all = busy + f->disk + f->network + f->sleeping;

	s->share[INPUT_WORKERS] = (uint8_t)(cpu * busy / all);
	s->share[INPUT_CONTENTION] = (uint8_t)(wait * busy / all);
	s->share[INPUT_DISK] = (uint8_t)((block * busy + WHOLE * (uint32_t)f->disk) / all);
	s->share[INPUT_NETWORK] = (uint8_t)(WHOLE * (uint32_t)f->network / all);
}

/* Divides into reasons a second in which no worker was busy. Waits for files and for the network
 * count in proportion to the number of workers that wait. CPU time and waits for a CPU count only
 * if all of these together fill the second. */
static void input_second_waiting(struct input_second *s, const struct gp_input *f)
{
	uint64_t all_ns = f->span_ns * f->workers;
	uint32_t cpu = input_share(f->cpu_ns, all_ns), wait = input_share(f->wait_ns, all_ns);
	uint32_t disk = WHOLE * (uint32_t)f->disk / f->workers;
	uint32_t network = WHOLE * (uint32_t)f->network / f->workers;

	if (f->flags & GP_INPUT_BLOCK)
		disk = (uint32_t)larger_of(disk, input_share(f->block_ns, all_ns));
	cpu = (uint32_t)smaller_of(cpu, WHOLE);
	wait = (uint32_t)smaller_of(wait, WHOLE - cpu);
	disk = (uint32_t)smaller_of(disk, WHOLE - cpu - wait);
	network = (uint32_t)smaller_of(network, WHOLE - cpu - wait - disk);
	s->share[INPUT_DISK] = (uint8_t)disk;
	s->share[INPUT_NETWORK] = (uint8_t)network;
	if (disk + network && cpu + wait + disk + network >= BUSY) {
		s->share[INPUT_WORKERS] = (uint8_t)cpu;
		s->share[INPUT_CONTENTION] = (uint8_t)wait;
	}
}

static void input_second_shares(struct input_second *s, const struct gp_input *f)
{
	uint32_t cpu = input_share(f->top_cpu_ns, f->span_ns);
	uint32_t wait = (uint32_t)smaller_of(input_share(f->top_wait_ns, f->span_ns), WHOLE - cpu);
	uint32_t block = 0;
	bool busy;

	if (f->flags & GP_INPUT_BLOCK)
		block = (uint32_t)smaller_of(input_share(f->top_block_ns, f->span_ns),
					     WHOLE - cpu - wait);
	busy = cpu + wait + block >= BUSY;
	if (input_share(f->pin_cpu_ns, f->span_ns) >= BUSY)
		s->share[INPUT_PIN] = (uint8_t)input_share(f->pin_cpu_ns, f->span_ns);
	else if (!f->workers)
		s->share[INPUT_BLOCK] = 0; /* see below */
	else if (busy)
		input_second_busy(s, f, f->busy ? f->busy : 1, cpu, wait, block);
	else
		input_second_waiting(s, f);
	if (!f->workers && !s->share[INPUT_PIN] && f->flags & GP_INPUT_BLOCK)
		s->share[INPUT_BLOCK] = (uint8_t)input_share(f->main_block_ns, f->span_ns);
}

/* Divides a wait within a second into reasons. The parts add up to wait_us. */
static void input_second_split(const struct input_second *s, uint32_t wait_us,
			       uint64_t us[INPUT_REASONS])
{
	uint32_t slack_us = s->length_us / WHOLE * SLACK;
	uint32_t main_us = (uint32_t)more_than(wait_us, s->rest_us), left_us;

	for (int i = 0; i < INPUT_REASONS; i++)
		us[i] = 0;
	us[INPUT_MAIN] = main_us > slack_us ? main_us : 0;
	wait_us -= (uint32_t)us[INPUT_MAIN];
	left_us = wait_us;
	for (int i = INPUT_PIN; i < INPUT_REASONS; i++) {
		uint64_t part = (uint64_t)wait_us * s->share[i] / WHOLE;

		us[i] = smaller_of(part, left_us);
		left_us -= (uint32_t)us[i];
	}
	us[INPUT_UNKNOWN] = left_us;
}

static void input_sums_add(struct input_sums *sums, const struct input_second *s, double part)
{
	uint32_t wait_us = (uint32_t)(s->wait_us * part);
	uint64_t us[INPUT_REASONS];

	input_second_split(s, s->wait_us, us);
	sums->wait_ns += wait_us * 1000ull;
	us[INPUT_UNKNOWN] = wait_us;
	for (int i = INPUT_MAIN; i < INPUT_REASONS; i++) {
		us[i] = smaller_of((uint64_t)((double)us[i] * part), us[INPUT_UNKNOWN]);
		us[INPUT_UNKNOWN] -= us[i];
	}
	for (int i = 0; i < INPUT_REASONS; i++)
		sums->ns[i] += us[i] * 1000ull;
	sums->workers += (uint64_t)s->workers * wait_us;
	sums->busy += (uint64_t)s->busy * wait_us;
	sums->cores += (uint64_t)s->cores * wait_us;
	sums->idle += (uint64_t)s->idle * wait_us;
	sums->top_cpu += (uint64_t)s->top_cpu * wait_us;
	sums->all_cpu += (uint64_t)s->all_cpu * wait_us;
}

void input_waits_figures(struct input_waits *w, uint64_t ts_ns, const struct gp_input *f)
{
	struct input_second *s, *last = w->seconds ? input_waits_at(w, 0) : NULL;
	uint64_t open_ns = w->open_ns, span_ns = f->span_ns, cores;

	w->open_ns = 0;
	if (!span_ns || span_ns > SECOND_MAX || span_ns > ts_ns ||
	    (last && last->end_ns + span_ns > ts_ns + span_ns / 2))
		return;
	/* If records are missing before this second, only a part of the waits in open_ns belongs to
	 * this second. */
	if (last && ts_ns - last->end_ns > span_ns)
		open_ns = (uint64_t)((double)open_ns * (double)span_ns /
				     (double)(ts_ns - last->end_ns));
	s = &w->second[w->seconds % INPUT_SECONDS];
	if (w->seconds >= INPUT_SECONDS)
		input_sums_add(&w->gone, s, 1);
	w->seconds++;
	cores = smaller_of(f->cores, 1000000);
	*s = (struct input_second){
		.end_ns = ts_ns,
		.length_us = (uint32_t)(span_ns / 1000),
		.wait_us = (uint32_t)(smaller_of(open_ns, span_ns) / 1000),
		.rest_us = (uint32_t)(more_than(span_ns, f->main_cpu_ns) / 1000),
		.workers = f->workers,
		.busy = (uint32_t)smaller_of(f->busy, f->workers),
		.top_cpu = input_share(f->top_cpu_ns, span_ns),
		.all_cpu = f->workers * input_share(f->cpu_ns, span_ns * f->workers),
	};
	if (f->flags & GP_INPUT_IDLE && cores) {
		s->cores = (uint32_t)cores;
		s->idle = (uint32_t)smaller_of(
			(uint64_t)((double)WHOLE * (double)f->idle_ns / (double)span_ns), cores);
	}
	input_second_shares(s, f);
}

void input_waits_between(const struct input_waits *w, uint64_t from_ns, uint64_t to_ns,
			 struct input_sums *ret)
{
	uint64_t kept = smaller_of(w->seconds, INPUT_SECONDS);

	*ret = (struct input_sums){0};
	for (uint64_t i = 1; i <= kept; i++) {
		const struct input_second *s = &w->second[(w->seconds - i) % INPUT_SECONDS];
		uint64_t begin_ns = s->end_ns - s->length_us * 1000ull;
		uint64_t both_ns = more_than(smaller_of(to_ns, s->end_ns),
					     larger_of(from_ns, begin_ns));

		if (both_ns && s->length_us)
			input_sums_add(ret, s, (double)both_ns / (s->length_us * 1000.0));
	}
}

void input_waits_total(const struct input_waits *w, struct input_sums *ret)
{
	uint64_t kept = smaller_of(w->seconds, INPUT_SECONDS);

	*ret = w->gone;
	for (uint64_t i = 0; i < kept; i++)
		input_sums_add(ret, &w->second[i], 1);
}

/* ---- findings -------------------------------------------------------------------------------- */

void input_finding(const struct input_sums *s, enum input_reason reason, struct input_finding *ret)
{
	double all = (double)s->wait_ns / 1000, others;

	*ret = (struct input_finding){.reason = reason, .ns = s->ns[reason]};
	if (all < 1)
		return;
	ret->share = (double)s->ns[reason] / (double)s->wait_ns;
	ret->workers = (double)s->workers / all;
	ret->busy = (double)s->busy / all;
	ret->cores = (double)s->cores / all / WHOLE;
	ret->idle = (double)s->idle / all / WHOLE;
	ret->cpu = (double)s->top_cpu / all / WHOLE;
	others = (double)more_than(s->all_cpu, s->top_cpu) / all / WHOLE;
	ret->one_slow = reason == INPUT_WORKERS && ret->workers > 1.5 &&
			others < 0.5 * (ret->workers - 1);
}

bool input_find(const struct input_sums *s, struct input_finding *ret)
{
	int best = INPUT_UNKNOWN;

	for (int i = INPUT_MAIN; i < INPUT_REASONS; i++) {
		if (s->ns[i] && (best == INPUT_UNKNOWN || s->ns[i] > s->ns[best]))
			best = i;
	}
	input_finding(s, (enum input_reason)best, ret);
	return s->wait_ns;
}

static void input_idle_text(char *out, size_t len, const struct input_finding *f)
{
	*out = '\0';
	if (f->cores > 0)
		snprintf(out, len, ", %.0f of %.0f cores idle", f->idle, f->cores);
}

const char *input_finding_text(char *out, size_t len, const struct input_finding *f)
{
	double workers = f->workers < 1 ? 1 : f->workers;
	const char *s = workers < 1.5 ? "" : "s";
	char idle[64];

	input_idle_text(idle, sizeof(idle), f);
	*out = '\0';
	if (f->reason == INPUT_MAIN && f->workers < 0.5)
		snprintf(out, len, "no loader workers: the training thread loads the batches%s",
			 idle);
	else if (f->reason == INPUT_MAIN)
		snprintf(out, len, "the training thread is busy taking batches from %.0f worker%s",
			 workers, s);
	else if (f->reason == INPUT_PIN)
		snprintf(out, len, "the thread that pins memory is at 100 %% CPU");
	else if (f->reason == INPUT_WORKERS && f->one_slow)
		snprintf(out, len,
			 "1 of %.0f loader workers at %.0f %% CPU, the others wait for it", workers,
			 WHOLE * f->cpu);
	else if (f->reason == INPUT_WORKERS)
		snprintf(out, len, "%.0f loader worker%s at %.0f %% CPU%s", workers, s,
			 WHOLE * f->cpu, idle);
	else if (f->reason == INPUT_CONTENTION)
		snprintf(out, len, "%.0f loader worker%s: others run on %s CPU%s", workers, s,
			 *s ? "their" : "its", s);
	else if (f->reason == INPUT_DISK)
		snprintf(out, len, "%.0f loader worker%s: waiting for files", workers, s);
	else if (f->reason == INPUT_NETWORK)
		snprintf(out, len, "%.0f loader worker%s: waiting for the network", workers, s);
	else if (f->reason == INPUT_BLOCK)
		snprintf(out, len, "no loader workers: the training thread waits for a disk");
	return out;
}

/* ---- state ----------------------------------------------------------------------------------- */

void input_sums_archive(struct archive *a, struct input_sums *s)
{
	archive_fields(a, s, wait_ns, ns, workers, busy, cores, idle, top_cpu, all_cpu);
}

void input_waits_archive(struct archive *a, struct input_waits **w)
{
	struct input_waits *s = *w = archive_object(a, *w, sizeof(**w));
	uint64_t kept;

	if (!s)
		return;
	archive_struct(a, sizeof(*s));
	archive_fields(a, s, open_ns, seconds);
	input_sums_archive(a, &s->gone);
	kept = smaller_of(s->seconds, INPUT_SECONDS);
	for (uint64_t i = 0; i < kept; i++) {
		struct input_second *t = &s->second[i];

		archive_fields(a, t, end_ns, length_us, wait_us, rest_us, workers, busy, cores,
			       idle, top_cpu, all_cpu);
		archive_bytes(a, t->share, sizeof(t->share));
		archive_require(a, t->end_ns >= t->length_us * 1000ull);
		archive_require(a, t->wait_us <= t->length_us);
	}
}
