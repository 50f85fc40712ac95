/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/report/user_range.h"

#include <math.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/json_text.h"
#include "userspace/base/plural.h"
#include "userspace/text/format.h"

#define RANGES_SHOWN  8
#define FIGURES_SHOWN 16 /* limit of lines; each line shows one Stat of torch.monitor */

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Sorts the loop's ranges by time, the longest first; returns their number. */
static uint32_t user_range_ranges_sort(const struct loop_view *l, const struct share_part **ret)
{
	uint32_t n = l->ranges.nparts;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i;

		for (; at && ret[at - 1]->ns < l->ranges.part[i].ns; at--)
			ret[at] = ret[at - 1];
		ret[at] = &l->ranges.part[i];
	}
	return n;
}

/* Returns the mean time of a range in ns, over the steps that contain it. */
static uint64_t user_range_part_ns(const struct share_part *p)
{
	return p->steps ? p->ns / p->steps : 0;
}

static const char *user_range_part_share(char out[WORD_MAX], const struct loop_view *l,
					 const struct share_part *p)
{
	return text_percent(out, user_range_part_ns(p), (uint64_t)l->time.mean_ns);
}

void user_range_report_ranges(struct canvas *c, const struct rank_view *r,
			      const struct loop_view *l, int label, int cols)
{
	const struct share_part *part[SHARE_PARTS];
	char mean[WORD_MAX], share[WORD_MAX];
	uint32_t n = l->time.count ? user_range_ranges_sort(l, part) : 0;

	for (uint32_t i = 0; i < n && i < RANGES_SHOWN; i++) {
		/* Start a line if there is no room for a name with a time, a share and a number of
		 * steps. */
		bool fresh = !i || c->col + canvas_width(part[i]->name) > cols - 40;

		if (fresh) {
			canvas_line(c, 0);
			canvas_put(c, STYLE_DIM, "%s", i ? "" : "  own ranges");
			canvas_at(c, label);
		}
		canvas_put(c, STYLE_PLAIN, "%s%s %s", fresh ? "" : ", ", part[i]->name,
			   clock_duration(mean, WORD_MAX, user_range_part_ns(part[i])));
		canvas_put(c, STYLE_DIM, " (%s", user_range_part_share(share, l, part[i]));
		if (part[i]->steps < l->state.steps)
			canvas_put(c, STYLE_DIM, ", in %llu step%s",
				   (unsigned long long)part[i]->steps, plural(part[i]->steps));
		canvas_put(c, STYLE_DIM, ")");
	}
	if (n > RANGES_SHOWN)
		canvas_put(c, STYLE_DIM, ", %u more", n - RANGES_SHOWN);
	if (!n || !r->ranges_unsent)
		return;
	canvas_line(c, 0);
	canvas_at(c, label);
	canvas_put(c, STYLE_DIM, "%llu range%s lost: too many at once",
		   (unsigned long long)r->ranges_unsent, r->ranges_unsent == 1 ? " was" : "s were");
}

void user_range_frame_ranges(struct canvas *c, const struct loop_view *l, int importance)
{
	const struct share_part *part[SHARE_PARTS];
	uint32_t n = user_range_ranges_sort(l, part);
	char share[WORD_MAX];

	if (!n || !l->time.count)
		return;
	canvas_line(c, importance);
	canvas_at(c, 1);
	canvas_put(c, STYLE_DIM, "own ranges");
	for (uint32_t i = 0; i < n && i < RANGES_SHOWN; i++) {
		canvas_put(c, STYLE_DIM, "  %s ", part[i]->name);
		canvas_put(c, STYLE_PLAIN, "%s", user_range_part_share(share, l, part[i]));
	}
}

void user_range_json_ranges(struct buffer *out, const struct loop_view *l)
{
	json_open(out, "ranges", '{');
	for (uint32_t i = 0; i < l->ranges.nparts; i++) {
		json_open(out, l->ranges.part[i].name, '{');
		json_uint(out, "ns", l->ranges.part[i].ns);
		json_uint(out, "steps", l->ranges.part[i].steps);
		json_close(out, '}');
	}
	json_close(out, '}');
}

/* ---- figures --------------------------------------------------------------------------------- */

static void user_range_figure_put(struct canvas *c, const struct monitor_value *v)
{
	canvas_put(c, STYLE_DIM, "  %s ", monitor_aggregation_name[v->aggregation]);
	if (isnan(v->value))
		canvas_put(c, STYLE_RED, "no number");
	else
		canvas_put(c, isinf(v->value) ? STYLE_RED : STYLE_PLAIN, "%.6g", v->value);
}

/* Returns true for the first figure of a Stat. Figures of a Stat are adjacent. */
static bool user_range_figure_first(const struct rank_view *r, uint32_t i)
{
	return !i || strcmp(r->monitor[i].name, r->monitor[i - 1].name) != 0;
}

void user_range_report_figures(struct canvas *c, const struct rank_view *r, int label)
{
	uint32_t lines = 0, left = 0;
	int width = 0, w;

	for (uint32_t i = 0; i < r->nmonitor; i++) {
		w = canvas_width(r->monitor[i].name);
		width = w > width ? w : width;
	}
	width = width < 32 ? width : 32;
	for (uint32_t i = 0; i < r->nmonitor; i++) {
		bool first = user_range_figure_first(r, i);

		if (first && lines == FIGURES_SHOWN) {
			for (; i < r->nmonitor; i++)
				left += user_range_figure_first(r, i);
			canvas_line(c, 0);
			canvas_at(c, label);
			canvas_put(c, STYLE_DIM, "%u more", left);
			return;
		}
		if (first) {
			canvas_line(c, 0);
			canvas_put(c, STYLE_DIM, "%s", lines++ ? "" : "  own figures");
			canvas_at(c, label);
			canvas_put(c, STYLE_PLAIN, "%s", r->monitor[i].name);
			canvas_at(c, label + width);
		}
		user_range_figure_put(c, &r->monitor[i]);
	}
}

void user_range_frame_figures(struct canvas *c, const struct rank_view *r, int importance)
{
	if (!r->nmonitor)
		return;
	canvas_line(c, importance);
	canvas_at(c, 1);
	canvas_put(c, STYLE_DIM, "own figures");
	for (uint32_t i = 0; i < r->nmonitor; i++) {
		if (user_range_figure_first(r, i))
			canvas_put(c, STYLE_PLAIN, "  %s", r->monitor[i].name);
		user_range_figure_put(c, &r->monitor[i]);
	}
}

void user_range_json_figures(struct buffer *out, const struct rank_view *r)
{
	json_uint(out, "ranges_unsent", r->ranges_unsent);
	json_open(out, "monitor", '{');
	json_uint(out, "events", r->monitor_events);
	json_uint(out, "truncated", r->monitor_truncated);
	json_uint(out, "unkept", r->monitor_unkept);
	json_open(out, "values", '[');
	for (uint32_t i = 0; i < r->nmonitor; i++) {
		const struct monitor_value *v = &r->monitor[i];

		json_open(out, NULL, '{');
		json_string(out, "name", v->name);
		json_string(out, "aggregation", monitor_aggregation_name[v->aggregation]);
		json_double(out, "value", v->value);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_close(out, '}');
}
