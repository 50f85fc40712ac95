/* SPDX-License-Identifier: Apache-2.0 */
/* live_frame.c - draws a frame of the live view. */

#include "userspace/base/plural.h"
#include "userspace/text/canvas.h"
#include "userspace/view/frame.h"
#include "userspace/view/frame_rank.h"
#include "userspace/report/document.h"
#include "userspace/text/spark.h"
#include "userspace/view/view.h"
#include "userspace/text/format.h"

#define FRAME_EVENTS 5

static void frame_head(struct canvas *c, const struct snapshot *s)
{
	char text[WORD_MAX];
	const char *now = text_time(text, s, s->mono_ns);

	canvas_line(c, IMPORTANCE_KEY);
	canvas_put(c, STYLE_BOLD, "gp-bpf %s", s->session.version);
	canvas_put(c, STYLE_DIM, "  %.*s", c->cols > 40 ? c->cols - 30 : 0, s->session.command);
	canvas_right(c, c->cols, STYLE_DIM, now);
}

static void frame_rank_line(struct canvas *c, const struct rank_view *r, bool selected)
{
	const struct loop_view *l = text_main_loop(r);
	char text[WORD_MAX];
	struct spark sp;

	canvas_line(c, selected ? IMPORTANCE_KEY : IMPORTANCE_GOOD);
	canvas_put(c, STYLE_BOLD, selected ? ">" : " ");
	if (r->rank >= 0)
		canvas_put(c, selected ? STYLE_BOLD : STYLE_PLAIN, "rank %d", r->rank);
	canvas_at(c, 10);
	canvas_put(c, STYLE_DIM, "pid %u ", r->pid);
	canvas_at(c, 22);
	if (l && !r->trainer && l->state.tier != TIER_NONE && l->state.unit != UNIT_STEP) {
		canvas_put(c, STYLE_DIM, "%llu %ss, no training seen  %s",
			   (unsigned long long)l->state.steps, unit_name[l->state.unit], r->comm);
		return;
	}
	if (!r->trainer || !l) {
		canvas_put(c, STYLE_DIM, "no training yet  %s", r->comm);
		return;
	}
	if (r->hang.hung)
		canvas_put(c, STYLE_RED, "hung");
	else if (r->straggle.now)
		canvas_put(c, STYLE_RED, "straggler");
	else
		frame_state(c, &l->state);
	canvas_at(c, 33);
	canvas_put(c, STYLE_PLAIN, "step %llu ", (unsigned long long)l->last_number);
	canvas_right(c, 55, STYLE_PLAIN, l->time.count ? text_duration(text, l->time.last_ns) : "");
	canvas_right(c, 72, STYLE_DIM, "goodput");
	canvas_right(
		c, 80, STYLE_PLAIN,
		text_percent(text, r->ledger.ns[BUCKET_GOODPUT], text_observed_ns(&r->ledger)));
	if (c->cols < 96 || l->recent < 2)
		return;
	canvas_at(c, 83);
	spark_scale(&sp, l->recent_ns, (int)l->recent, c->cols - 84);
	spark_row(c, &sp, 0, 1);
}

/* Lists the processes around the selected one; their number depends on the rows of the terminal. */
static void frame_ranks(struct canvas *c, const struct snapshot *s, uint32_t selected, int rows)
{
	uint32_t room = rows / 3 > 3 ? (uint32_t)rows / 3 : 3, first;

	if (s->nranks < 2)
		return;
	first = selected < room / 2 ? 0 : selected - room / 2;
	if (first + room > s->nranks)
		first = s->nranks > room ? s->nranks - room : 0;
	for (uint32_t i = first; i < s->nranks && i < first + room; i++)
		frame_rank_line(c, &s->ranks[i], i == selected);
	if (s->nranks > room) {
		canvas_line(c, IMPORTANCE_GOOD);
		canvas_put(c, STYLE_DIM, " %u of %u processes shown", room, s->nranks);
	}
	canvas_line(c, IMPORTANCE_BLANK);
}

static void frame_identity(struct canvas *c, const struct rank_view *r)
{
	char rank[WORD_MAX], fate[96];

	canvas_line(c, IMPORTANCE_KEY);
	canvas_at(c, 1);
	if (r->rank >= 0)
		canvas_put(c, STYLE_BOLD, "%s  ", text_rank(rank, r->rank, r->world_size));
	canvas_put(c, STYLE_BOLD, "pid %u", r->pid);
	if (*r->job)
		canvas_put(c, STYLE_CYAN, "  job %s", r->job);
	if (!r->alive)
		canvas_put(c, r->status ? STYLE_RED : STYLE_PLAIN, "  %s",
			   text_fate(fate, sizeof(fate), r));
	canvas_put(c, STYLE_PLAIN, "  %s", *r->command ? r->command : r->comm);
}

/* Shows why the process makes no progress now. */
static void frame_hang(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	char text[256], took[WORD_MAX];

	if (!r->hang.hung && !r->hang.silent)
		return;
	canvas_line(c, IMPORTANCE_KEY);
	canvas_at(c, 1);
	canvas_put(c, r->hang.hung ? STYLE_RED : STYLE_YELLOW, "%s for %s: %s",
		   r->hang.hung ? "hung" : "silent", text_duration(took, r->hang.size_ns),
		   text_hang(text, sizeof(text), s, r));
	if (!*r->hang.evidence)
		return;
	canvas_line(c, IMPORTANCE_MORE);
	canvas_at(c, 1);
	canvas_put(c, STYLE_DIM, "%s", r->hang.evidence);
}

static void frame_straggler(struct canvas *c, const struct rank_view *r)
{
	const struct straggle_view *v = &r->straggle;
	char took[WORD_MAX];

	if (!v->now)
		return;
	canvas_line(c, IMPORTANCE_KEY);
	canvas_at(c, 1);
	canvas_put(c, STYLE_RED,
		   "straggler since step %llu: the others wait %s for it in a step%s%s",
		   (unsigned long long)v->onset_step, text_duration(took, v->size_ns),
		   *v->phase ? ", " : "", v->phase);
}

static void frame_events(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	uint32_t n = r->nevents < SNAPSHOT_EVENTS ? r->nevents : SNAPSHOT_EVENTS;
	uint32_t first = n > FRAME_EVENTS ? n - FRAME_EVENTS : 0;
	char text[WORD_MAX];

	if (!n)
		return;
	canvas_line(c, IMPORTANCE_BLANK);
	for (uint32_t i = first; i < n; i++) {
		canvas_line(c, i + 1 == n   ? IMPORTANCE_GOOD
			       : i + 2 == n ? IMPORTANCE_DETAIL
					    : IMPORTANCE_OLD);
		canvas_at(c, 1);
		canvas_put(c, STYLE_DIM, "%s  ", text_time(text, s, r->events[i].mono_ns));
		canvas_put(c, STYLE_PLAIN, "%s", r->events[i].text);
	}
}

/* Shows the current overhead, not the average since the start. */
static void frame_overhead(struct canvas *c, const struct rank_view *r)
{
	const struct overhead_view *o = &r->overhead;

	canvas_put(c, STYLE_DIM, "overhead ");
	if (o->sum.all_ns && o->recent_ns)
		canvas_put(c, STYLE_PLAIN, "%.3f %% ",
			   100.0 * (double)o->recent.all_ns / (double)o->recent_ns);
	canvas_put(c, STYLE_DIM, "(%llu hit%s%s)   ", (unsigned long long)r->hits, plural(r->hits),
		   o->sum.all_ns ? " × price of an empty one" : ", price unknown");
}

static void frame_cost(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	char text[256];

	canvas_line(c, IMPORTANCE_BLANK);
	canvas_line(c, IMPORTANCE_GOOD);
	canvas_at(c, 1);
	if (r && r->hits)
		frame_overhead(c, r);
	canvas_put(c, STYLE_DIM, "records lost ");
	canvas_put(c, text_lost(s) ? STYLE_RED : STYLE_PLAIN, "%s",
		   text_losses(text, sizeof(text), s));
	if (!text_given_up(text, sizeof(text), s))
		return;
	canvas_line(c, IMPORTANCE_GOOD);
	canvas_at(c, 1);
	canvas_put(c, STYLE_YELLOW, "over the overhead budget of %.4g %%: %s",
		   (double)s->budget_ppm / 1e4, text);
}

static void frame_hint(struct canvas *c, const struct snapshot *s)
{
	canvas_line(c, IMPORTANCE_MAIN);
	canvas_at(c, 1);
	if (s->session.flags & GP_SESSION_RUN) {
		canvas_put(c, STYLE_DIM, "ends with the command");
	} else {
		canvas_put(c, STYLE_BOLD, "q");
		canvas_put(c, STYLE_DIM, " quit (the job continues)");
	}
	if (s->nranks < 2)
		return;
	canvas_put(c, STYLE_BOLD, "   ↑ ↓");
	canvas_put(c, STYLE_DIM, " choose a process");
}

static void frame_nothing(struct canvas *c, const struct snapshot *s)
{
	char room[TEXT_WHY_MAX];
	const char *why, *hint;

	text_why_nothing(s, room, &why, &hint);
	canvas_line(c, IMPORTANCE_BLANK);
	canvas_line(c, IMPORTANCE_MAIN);
	canvas_at(c, 1);
	canvas_put(c, STYLE_YELLOW, "no training yet: ");
	canvas_put(c, STYLE_PLAIN, "%s", why);
	canvas_line(c, IMPORTANCE_GOOD);
	canvas_at(c, 1);
	canvas_put(c, STYLE_DIM, "%s", hint);
}

/* Shows a process in which no training loop was found, so that it has no goodput. */
static void frame_quiet(struct canvas *c)
{
	canvas_line(c, IMPORTANCE_MAIN);
	canvas_at(c, 1);
	canvas_put(c, STYLE_DIM, "no training seen in this process");
}

uint32_t frame_first(const struct snapshot *s)
{
	uint32_t at = 0;
	bool trains = false;

	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i], *best = &s->ranks[at];

		if (r->trainer && r->alive && !trains) {
			at = i;
			trains = true;
		} else if (!trains && r->trainer >= best->trainer &&
			   r->start_mono_ns > best->start_mono_ns) {
			at = i;
		}
	}
	return at;
}

/* Shows the state and goodput of the job over all its runs. Omitted if the job has had one run and
 * no disruption, because the line would repeat that of the process. */
static void frame_job(struct canvas *c, const struct snapshot *s, const struct rank_view *r)
{
	const struct job_view *j = snapshot_job_of(s, r);
	char part[WORD_MAX], lost[WORD_MAX];

	if (!j || !document_job_matters(s, j))
		return;
	canvas_line(c, IMPORTANCE_GOOD);
	canvas_at(c, 1);
	canvas_put(c, STYLE_DIM, "job ");
	canvas_put(c, j->state == JOB_DOWN ? STYLE_RED : STYLE_PLAIN, "%s, run %u, step %llu",
		   job_state_name[j->state], j->runs, (unsigned long long)j->last_step);
	canvas_put(c, STYLE_DIM, "   goodput ");
	canvas_put(c, STYLE_PLAIN, "%s",
		   text_percent(part, j->ledger.ns[BUCKET_GOODPUT], text_observed_ns(&j->ledger)));
	canvas_put(c, STYLE_DIM, "   disruptions ");
	canvas_put(c, j->ndisruptions ? STYLE_RED : STYLE_PLAIN, "%llu",
		   (unsigned long long)j->ledger.disruptions);
	if (j->ledger.ns[BUCKET_WASTED]) {
		canvas_put(c, STYLE_DIM, "   wasted ");
		canvas_put(c, STYLE_PLAIN, "%s", text_duration(lost, j->ledger.ns[BUCKET_WASTED]));
	}
	if (j->futile_runs >= JOB_FUTILE)
		canvas_put(c, STYLE_RED, "   crash loop: %u runs", j->futile_runs);
}

void frame_draw(struct buffer *out, const struct snapshot *s, const struct frame_options *o)
{
	uint32_t selected = o->selected < s->nranks ? o->selected : s->nranks ? s->nranks - 1 : 0;
	const struct rank_view *r = s->nranks ? &s->ranks[selected] : NULL;
	bool trainer = false;
	struct canvas c;

	canvas_open(&c, o->cols, o->color);
	for (uint32_t i = 0; i < s->nranks; i++)
		trainer |= s->ranks[i].trainer;
	frame_head(&c, s);
	canvas_line(&c, IMPORTANCE_BLANK);
	frame_ranks(&c, s, selected, o->rows);
	if (r) {
		frame_identity(&c, r);
		frame_verdict(&c, s, r);
		frame_job(&c, s, r);
		frame_hang(&c, s, r);
		frame_straggler(&c, r);
		frame_loops(&c, r, o->rows);
	}
	if (!trainer)
		frame_nothing(&c, s);
	if (r && r->trainer)
		frame_time(&c, s, r);
	else if (r && trainer)
		frame_quiet(&c);
	if (r)
		frame_events(&c, s, r);
	frame_cost(&c, s, r);
	if (o->log && *o->log) {
		canvas_line(&c, IMPORTANCE_MORE);
		canvas_at(&c, 1);
		canvas_put(&c, STYLE_YELLOW, "%s", o->log);
	}
	frame_hint(&c, s);
	canvas_finish(&c, out, o->rows);
}

void live_frame(struct buffer *out, const struct snapshot *s, int cols, int rows, bool color,
		const char *log)
{
	frame_draw(out, s,
		   &(struct frame_options){.cols = cols,
					   .rows = rows,
					   .selected = frame_first(s),
					   .color = color,
					   .log = log});
}
