/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/time_cause.h"

#include <stdio.h>
#include <string.h>

#include "userspace/base/number.h"

/* Causes are searched only if at least this much time (ns) was measured before and after the
 * slowdown began. */
#define COVERED_MIN_NS 2000000000ull
/* A cause is named only if it explains at least MAIN_SHARE of a slowdown; less is within the error
 * of the measurement. LISTED_SHARE: least share of a cause in the text of all causes. */
#define MAIN_SHARE   0.3
#define LISTED_SHARE 0.05

/* A clock counts as lower if its mean is at most this part of the mean before. */
#define LOWER_CLOCK 0.97

const char *const time_cause_name[TIME_CAUSE_COUNT] = {
#define X(id, label, text) #id,
	TIME_CAUSES(X)
#undef X
};

const char *const time_cause_label[TIME_CAUSE_COUNT] = {
#define X(id, label, text) label,
	TIME_CAUSES(X)
#undef X
};

const char *const time_cause_text[TIME_CAUSE_COUNT] = {
#define X(id, label, text) text,
	TIME_CAUSES(X)
#undef X
};

const char *time_cause_label_of(const char *name)
{
	for (int i = TIME_CAUSE_unknown + 1; i < TIME_CAUSE_COUNT; i++) {
		if (!strcmp(name, time_cause_name[i]))
			return time_cause_label[i];
	}
	return strcmp(name, time_cause_name[TIME_CAUSE_unknown]) != 0 ? name : "";
}

/* Returns how much a figure grew per step (ns), scaled to the length of a step. a_ns, b_ns: the
 * figure before and after the slowdown began; a, b: all sums before and after, of which covered_ns
 * (the measured time) is used; a_step_ns, b_step_ns: length of a step before and after. */
static double time_cause_growth(uint64_t a_ns, const struct resource_sums *a, uint64_t a_step_ns,
				uint64_t b_ns, const struct resource_sums *b, uint64_t b_step_ns)
{
	return (double)b_ns / (double)b->covered_ns * (double)b_step_ns -
	       (double)a_ns / (double)a->covered_ns * (double)a_step_ns;
}

static double time_cause_more(double grown)
{
	return grown > 0 ? grown : 0;
}

/* Returns the mean clock of the CPU (MHz); 0: not known for most of the time on a CPU. */
static uint32_t time_cause_mhz(const struct resource_sums *s)
{
	return s->clocked_ns && 2 * s->clocked_ns >= s->run_ns
		       ? (uint32_t)(1000.0 * (double)s->cycles / (double)s->clocked_ns + 0.5)
		       : 0;
}

/* Returns by how much each step became longer (ns) through a lower clock of the CPU: the part of
 * its time on a CPU that the clock before would have saved, but at most the growth of that time:
 * work that waits for memory does not depend on the clock. */
static double time_cause_clock(const struct resource_sums *before, uint64_t before_ns,
			       const struct resource_sums *after, uint64_t after_ns,
			       struct time_causes *ret)
{
	double runs_ns = (double)after->run_ns / (double)after->covered_ns * (double)after_ns;
	double grown = time_cause_growth(before->run_ns, before, before_ns, after->run_ns, after,
					 after_ns);
	double saved;

	ret->mhz_before = time_cause_mhz(before);
	ret->mhz_after = time_cause_mhz(after);
	if (!ret->mhz_before || !ret->mhz_after || ret->mhz_after > LOWER_CLOCK * ret->mhz_before)
		return 0;
	saved = runs_ns * (1 - (double)ret->mhz_after / ret->mhz_before);
	return saved < grown ? saved : grown;
}

void time_cause_slower(struct time_causes *ret, const struct resource_sums *before,
		       uint64_t before_ns, const struct resource_sums *after, uint64_t after_ns)
{
	double left, asleep, grown[TIME_CAUSE_COUNT] = {0};

	*ret = (struct time_causes){0};
	if (before->covered_ns < COVERED_MIN_NS || after->covered_ns < COVERED_MIN_NS ||
	    after_ns <= before_ns)
		return;
#define GROWN(field)                                                                               \
	time_cause_growth(before->field, before, before_ns, after->field, after, after_ns)
	grown[TIME_CAUSE_cpu_throttled] = GROWN(throttled_ns);
	grown[TIME_CAUSE_cpu_contention] = GROWN(wait_ns);
	if (before->stall_known && after->stall_known)
		grown[TIME_CAUSE_memory_pressure] = GROWN(memory_ns);
	/* I/O stalls that are known only for the control group may be those of other threads. So
	 * they count at most as much as the training thread's sleep grew. */
	asleep = GROWN(asleep_ns);
	if (before->block_known && after->block_known)
		grown[TIME_CAUSE_disk] = GROWN(block_ns);
	else if (before->stall_known && after->stall_known && before->group && after->group)
		grown[TIME_CAUSE_disk] = GROWN(io_ns) < asleep ? GROWN(io_ns) : asleep;
	/* Waits for input, by reason. I/O of the data loader is also in io_ns, so it is subtracted
	 * from the time of the disk. */
	grown[TIME_CAUSE_cpu_contention] += time_cause_more(GROWN(input.ns[INPUT_CONTENTION]));
	grown[TIME_CAUSE_loader_io] = GROWN(input.ns[INPUT_DISK]);
	if (!before->block_known || !after->block_known)
		grown[TIME_CAUSE_disk] -= time_cause_more(grown[TIME_CAUSE_loader_io]);
	grown[TIME_CAUSE_network] = GROWN(input.ns[INPUT_NETWORK]);
	grown[TIME_CAUSE_loader_cpu] = GROWN(input.ns[INPUT_WORKERS]) +
				       GROWN(input.ns[INPUT_MAIN]) + GROWN(input.ns[INPUT_PIN]);
#undef GROWN
	grown[TIME_CAUSE_frequency] = time_cause_clock(before, before_ns, after, after_ns, ret);
	ret->lost_ns = after_ns - before_ns;
	left = (double)ret->lost_ns;
	for (int i = TIME_CAUSE_unknown + 1; i < TIME_CAUSE_COUNT; i++) {
		double part = grown[i] < 0 ? 0 : grown[i] > left ? left : grown[i];

		ret->ns[i] = (uint64_t)part;
		left -= part;
	}
	ret->ns[TIME_CAUSE_unknown] = ret->lost_ns;
	for (int i = TIME_CAUSE_unknown + 1; i < TIME_CAUSE_COUNT; i++)
		ret->ns[TIME_CAUSE_unknown] -= ret->ns[i];
}

void time_cause_add(struct time_causes *l, enum time_cause c, uint64_t ns)
{
	l->ns[c] += take_up_to(&l->ns[TIME_CAUSE_unknown], ns);
}

void time_cause_add_kernel(struct time_causes *l, const struct resource_sums *before,
			   uint64_t before_ns, const struct resource_sums *after, uint64_t after_ns)
{
	if (l->lost_ns && before->system_known && after->system_known)
		time_cause_add(l, TIME_CAUSE_kernel,
			       (uint64_t)time_cause_more(
				       time_cause_growth(before->system_ns, before, before_ns,
							 after->system_ns, after, after_ns)));
}

void time_cause_add_wait(struct time_causes *l, enum time_cause c, uint64_t ns)
{
	uint64_t before_ns = l->ns[c];

	time_cause_add(l, c, ns);
	l->ns[c] += take_up_to(&l->ns[TIME_CAUSE_cpu_contention],
			       more_than(ns, l->ns[c] - before_ns));
}

double time_cause_share(const struct time_causes *l, enum time_cause c)
{
	return l->lost_ns ? (double)l->ns[c] / (double)l->lost_ns : 0;
}

enum time_cause time_cause_main(const struct time_causes *l)
{
	int best = TIME_CAUSE_unknown;

	for (int i = TIME_CAUSE_unknown + 1; i < TIME_CAUSE_COUNT; i++) {
		if (time_cause_share(l, (enum time_cause)i) >= MAIN_SHARE &&
		    (best == TIME_CAUSE_unknown || l->ns[i] > l->ns[best]))
			best = i;
	}
	return (enum time_cause)best;
}

/* Returns the cause with the largest share that is not in `listed`; TIME_CAUSE_unknown comes last,
 * and only if there is something to say: another cause, or a line. -1: none is left. */
static int time_cause_next(const struct time_causes *l, unsigned listed)
{
	int best = -1;

	for (int i = TIME_CAUSE_unknown + 1; i < TIME_CAUSE_COUNT; i++) {
		if (!(listed & 1u << i) &&
		    time_cause_share(l, (enum time_cause)i) >= LISTED_SHARE &&
		    (best < 0 || l->ns[i] > l->ns[best]))
			best = i;
	}
	if (best < 0 && (listed || *l->waits_line) && !(listed & 1u << TIME_CAUSE_unknown) &&
	    time_cause_share(l, TIME_CAUSE_unknown) >= LISTED_SHARE)
		return TIME_CAUSE_unknown;
	return best;
}

char *time_causes_line_of(struct time_causes *l, enum time_cause c)
{
	switch (c) {
	case TIME_CAUSE_own_code:
		return l->line;
	case TIME_CAUSE_interpreter_lock:
	case TIME_CAUSE_checkpoint:
		return l->holder_line;
	case TIME_CAUSE_unknown:
	case TIME_CAUSE_network:
	case TIME_CAUSE_disk:
	case TIME_CAUSE_lock:
	case TIME_CAUSE_pipe:
	case TIME_CAUSE_child:
		return l->waits_line;
	default:
		return NULL;
	}
}

const char *time_causes_line(const struct time_causes *l, enum time_cause c)
{
	const char *line = time_causes_line_of((struct time_causes *)l, c);

	return line ? line : "";
}

const char *time_causes_text(char *out, size_t len, const struct time_causes *l)
{
	return time_causes_text_with(out, len, l, NULL);
}

const char *time_causes_text_with(char *out, size_t len, const struct time_causes *l,
				  const char *const detail[TIME_CAUSE_COUNT])
{
	unsigned listed = 0;
	const char *line;
	size_t at = 0;
	int i;

	*out = '\0';
	while ((i = time_cause_next(l, listed)) >= 0 && at < len) {
		at += (size_t)snprintf(out + at, len - at, "%s%.0f %% %s%s", listed ? ", " : "",
				       100 * time_cause_share(l, (enum time_cause)i),
				       time_cause_text[i], detail ? detail[i] : "");
		if (i == TIME_CAUSE_frequency && l->mhz_before && at < len)
			at += (size_t)snprintf(out + at, len - at, " (%.1f instead of %.1f GHz)",
					       l->mhz_after / 1000.0, l->mhz_before / 1000.0);
		line = time_causes_line(l, (enum time_cause)i);
		if (*line && at < len)
			at += (size_t)snprintf(out + at, len - at, "%s %s",
					       i == TIME_CAUSE_own_code	 ? ":"
					       : i == TIME_CAUSE_unknown ? ", it waits at"
					       : *l->holder_line && line == l->holder_line ? " at"
											   : ", at",
					       line);
		listed |= 1u << i;
	}
	return out;
}

void time_causes_archive(struct archive *a, struct time_causes *l)
{
	archive_fields(a, l, lost_ns, ns, line, holder_line, waits_line, figures);
}
