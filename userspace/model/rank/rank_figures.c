/* SPDX-License-Identifier: Apache-2.0 */
/* rank_figures.c - figures that support the causes of slowdowns and hangs, but do not prove them:
 * bytes that the process reads, failures of its network, and the limit memory.high. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/number.h"

/* The figures of a cause are shown if it explains at least this share of a slowdown. */
#define SHOWN_SHARE 0.3

int rank_traffic(struct rank *r, const struct event *ev)
{
	if (!r->traffic)
		r->traffic = traffic_rate_new();
	if (!r->traffic)
		return -ENOMEM;
	traffic_rate_take(r->traffic, ev->rec->ts_ns, ev->traffic);
	return 0;
}

void rank_traffic_usual(const struct rank *r, uint64_t onset_ns, struct traffic_sums *ret)
{
	*ret = (struct traffic_sums){0};
	if (r->traffic)
		traffic_rate_between(r->traffic, more_than(onset_ns, RANK_USUAL_NS),
				     more_than(onset_ns, RANK_ONSET_NS), ret);
}

static bool rank_figures_shown(const struct time_causes *causes, enum time_cause c)
{
	return time_cause_share(causes, c) >= SHOWN_SHARE;
}

/* Returns true if a slow network is a possible reason of a slowdown. */
static bool rank_figures_network(const struct rank *r, const struct time_causes *causes,
				 const struct change_view *v)
{
	return rank_figures_shown(causes, TIME_CAUSE_network) ||
	       (rank_is_distributed(r) &&
		(v->blame == PHASE_COLLECTIVE || rank_figures_shown(causes, TIME_CAUSE_unknown)));
}

static void rank_figures_add(char *out, size_t len, const char *text)
{
	size_t at = strlen(out);

	if (*text)
		snprintf(out + at, len - at, "%s%s", at ? "; " : "", text);
}

void rank_figures_causes(const struct rank *r, struct rank_slow *slow, const struct change_view *v,
			 uint64_t now_ns)
{
	uint64_t to_ns = v->end_ns ? v->end_ns : now_ns;
	struct time_causes *c = &slow->causes;
	char text[TRAFFIC_TEXT];
	struct resource_sums lacked;
	struct traffic_sums since;

	*c->figures = '\0';
	if (!c->lost_ns)
		return;
	if (r->resource && rank_figures_shown(c, TIME_CAUSE_memory_pressure)) {
		resource_between(r->resource, v->onset_ns, to_ns, &lacked);
		rank_figures_add(c->figures, sizeof(c->figures),
				 resource_high_text(text, sizeof(text), &lacked));
	}
	if (!r->traffic)
		return;
	traffic_rate_between(r->traffic, v->onset_ns, to_ns, &since);
	if (rank_figures_shown(c, TIME_CAUSE_disk))
		rank_figures_add(c->figures, sizeof(c->figures),
				 traffic_reads_text(text, sizeof(text), &slow->usual_traffic,
						    &since, false));
	if (rank_figures_shown(c, TIME_CAUSE_loader_io))
		rank_figures_add(
			c->figures, sizeof(c->figures),
			traffic_reads_text(text, sizeof(text), &slow->usual_traffic, &since, true));
	if (rank_figures_network(r, c, v))
		rank_figures_add(
			c->figures, sizeof(c->figures),
			traffic_network_text(text, sizeof(text), &slow->usual_traffic, &since));
}

void rank_figures_silent(const struct rank *r, uint64_t onset_ns, uint64_t now_ns, char *out,
			 size_t len)
{
	struct traffic_sums usual, since;
	char text[TRAFFIC_TEXT];

	*out = '\0';
	if (!r->traffic || !rank_is_distributed(r))
		return;
	rank_traffic_usual(r, onset_ns, &usual);
	traffic_rate_between(r->traffic, onset_ns, now_ns, &since);
	if (*traffic_network_text(text, sizeof(text), &usual, &since))
		snprintf(out, len, "%s; ", text);
}

void rank_figures_view(const struct rank *r, uint64_t now_ns, struct traffic_sums *ret)
{
	*ret = (struct traffic_sums){0};
	if (r->traffic)
		traffic_rate_between(r->traffic, more_than(now_ns, RANK_USUAL_NS), now_ns, ret);
}
