/* SPDX-License-Identifier: Apache-2.0 */
/* rank_input.c - sums the waits of a process for its data loader, and finds their reasons. */
#include "userspace/base/number.h"
#include "userspace/model/rank/rank_private.h"

/* The cause of lost time for each reason of a wait for input */
static const enum time_cause rank_input_cause[INPUT_REASONS] = {
	[INPUT_UNKNOWN] = TIME_CAUSE_unknown,
	[INPUT_MAIN] = TIME_CAUSE_loader_cpu,
	[INPUT_PIN] = TIME_CAUSE_loader_cpu,
	[INPUT_WORKERS] = TIME_CAUSE_loader_cpu,
	[INPUT_CONTENTION] = TIME_CAUSE_cpu_contention,
	[INPUT_DISK] = TIME_CAUSE_loader_io,
	[INPUT_NETWORK] = TIME_CAUSE_network,
	[INPUT_BLOCK] = TIME_CAUSE_disk,
};

/* A bucket is listed only with at least this share of the time, and a cause with at least this
 * share of its bucket. */
#define BUCKET_SHARE 0.05

int rank_input(struct rank *r, const struct event *ev)
{
	if (!r->input)
		r->input = input_waits_new();
	if (!r->input)
		return -ENOMEM;
	input_waits_figures(r->input, ev->rec->ts_ns, ev->input);
	return 0;
}

void rank_input_wait(struct rank *r, uint64_t from_ns, uint64_t to_ns)
{
	input_gate_wait(&r->input_gate, from_ns, to_ns);
	if (r->input)
		input_waits_add(r->input, from_ns, to_ns);
}

bool rank_starved(const struct rank *r, uint64_t now_ns)
{
	return input_gate_starved(&r->input_gate, now_ns);
}

void rank_input_evidence(const struct rank *r, const struct change_view *v,
			 const struct time_causes *causes, uint64_t now_ns, char *out, size_t len)
{
	struct input_finding f;
	struct input_sums sums;
	size_t at = strlen(out);
	char text[120];

	if (!r->input)
		return;
	input_waits_between(r->input, v->onset_ns, v->end_ns ? v->end_ns : now_ns, &sums);
	if (!input_find(&sums, &f) || time_cause_share(causes, rank_input_cause[f.reason]) < 0.3)
		return;
	input_finding_text(text, sizeof(text), &f);
	if (*text)
		snprintf(out + at, len - at, "; %s", text);
}

uint32_t rank_input_causes(const struct rank_view *v, struct bucket_cause ret[INPUT_REASONS])
{
	uint64_t all_ns = v->ledger.ns[BUCKET_DATA_LOADING], left_ns = all_ns;
	uint32_t n = 0, i;

	if ((double)all_ns < BUCKET_SHARE * (double)ledger_elapsed(&v->ledger) || !all_ns)
		return 0;
	for (int reason = INPUT_MAIN; reason < INPUT_REASONS; reason++) {
		struct bucket_cause c = {.bucket = BUCKET_DATA_LOADING,
					 .cause = rank_input_cause[reason]};

		input_finding(&v->input, (enum input_reason)reason, &c.input);
		c.ns = smaller_of(c.input.ns, left_ns);
		left_ns -= c.ns;
		c.share = (double)c.ns / (double)all_ns;
		if (c.share < BUCKET_SHARE) {
			left_ns += c.ns;
			continue;
		}
		for (i = n++; i && ret[i - 1].ns < c.ns; i--)
			ret[i] = ret[i - 1];
		ret[i] = c;
	}
	if (n && (double)left_ns >= BUCKET_SHARE * (double)all_ns)
		ret[n++] = (struct bucket_cause){.bucket = BUCKET_DATA_LOADING,
						 .cause = TIME_CAUSE_unknown,
						 .ns = left_ns,
						 .share = (double)left_ns / (double)all_ns};
	return n;
}
