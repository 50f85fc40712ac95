/* SPDX-License-Identifier: Apache-2.0 */
/* account_text.c - prints the goodput computed from a job's log as text. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/epoch.h"
#include "userspace/base/utf8.h"
#include "userspace/base/plural.h"
#include "userspace/ingest/goodput_record.h"
#include "userspace/report/account.h"
#include "userspace/report/account_part.h"
#include "userspace/text/spark.h"
#include "userspace/text/format.h"

#define COL_FACT	16
#define SPARK_COLS	52
#define DISRUPTIONS_MAX 20 /* limit of disruptions that are listed; the others are only counted */
#define SILENT_S	60

static const char *account_text_seconds_text(char out[WORD_MAX], double s)
{
	if (!isfinite(s) || s < 0 || s > 9e9)
		return "unknown";
	if (s < 5e-10)
		return "0";
	return clock_duration(out, WORD_MAX, (uint64_t)(s * 1e9 + 0.5));
}

static void account_text_field(struct canvas *c, const char *name)
{
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "  %s", name);
	canvas_at(c, COL_FACT);
}

static void account_text_head(struct canvas *c, const struct account_view *v)
{
	const struct goodput_answer *a = v->answer;
	const struct goodput_part *p = &a->cumulative;
	char from[EPOCH_TEXT_MAX], to[EPOCH_TEXT_MAX], took[SPAN_TEXT_MAX];
	double silent_s = (double)(a->now_us - v->last_us) / 1e6;

	canvas_line(c, 0);
	canvas_put(c, STYLE_BOLD, "job ");
	canvas_put(c, STYLE_BOLD, "%s", goodput_name(v->names, a->job));
	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "  %s to %s UTC, %s, ",
		   p->from_us == GOODPUT_UNKNOWN ? "unknown" : epoch_text(from, p->from_us, 0),
		   epoch_text(to, p->to_us, 0), span_text(took, p->total_s));
	if (a->ended)
		canvas_put(c, STYLE_PLAIN, "ended");
	else if (silent_s > SILENT_S)
		canvas_put(c, STYLE_YELLOW, "no end");
	else
		canvas_put(c, STYLE_PLAIN, "no end so far");
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "  %llu record%s", (unsigned long long)v->records,
		   plural(v->records));
	if (!a->ended && silent_s > SILENT_S)
		canvas_put(c, STYLE_YELLOW, ", silent for the last %s", span_text(took, silent_s));
	if (v->query->semantics == GOODPUT_LIBRARY)
		canvas_put(c, STYLE_DIM, "; as the goodput library 0.2.3 counts");
}

/* Shows the error that the goodput library would raise for this log. */
static void account_text_error(struct canvas *c, const struct goodput_part *p)
{
	if (!p->error)
		return;
	canvas_line(c, 0);
	canvas_put(c, STYLE_YELLOW, "  the library would raise %s:", p->error_type);
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "  %.*s", (int)strcspn(p->error, "."), p->error);
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "  the figures below are calculated without this check");
}

/* Returns the bits of s, changed so that comparing them as integers sorts like comparing the
 * doubles. */
static uint64_t account_text_order_bits(double s)
{
	uint64_t bits;

	memcpy(&bits, &s, sizeof(bits));
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

/* Returns the k-th shortest step time by radix selection. Sorting instead would take a tenth of the
 * program's time with 100,000 steps. */
static double account_text_nth_step_s(const struct goodput_step_time *t, size_t n, size_t k)
{
	uint64_t known = 0, mask = 0;
	double s;

	for (int shift = 56; shift >= 0; shift -= 8) {
		size_t count[256] = {0}, digit;

		for (size_t i = 0; i < n; i++) {
			uint64_t bits = account_text_order_bits(t[i].s);

			count[bits >> shift & 255] += (bits & mask) == known;
		}
		for (digit = 0; digit < 255 && k >= count[digit]; digit++)
			k -= count[digit];
		known |= (uint64_t)digit << shift;
		mask |= 255ull << shift;
	}
	known = known >> 63 ? known & ~(1ull << 63) : ~known;
	memcpy(&s, &known, sizeof(s));
	return s;
}

static void account_text_step_time(struct canvas *c, const struct goodput_answer *a)
{
	const struct goodput_step_time *t = a->step_times, *slowest = t;
	char p50[WORD_MAX], p99[WORD_MAX], most[WORD_MAX];
	size_t n = a->step_time_count;

	for (size_t i = 0; i < n; i++)
		if (t[i].s > slowest->s)
			slowest = &t[i];
	account_text_field(c, "step time");
	canvas_put(
		c, STYLE_PLAIN, "median %s, p99 %s, slowest %s (step %lld)",
		account_text_seconds_text(p50, account_text_nth_step_s(t, n, (n - 1) / 2)),
		account_text_seconds_text(p99, account_text_nth_step_s(t, n, (n - 1) * 99 / 100)),
		account_text_seconds_text(most, slowest->s), (long long)slowest->number);
}

/* Draws the step times in at most SPARK_COLS columns. Each column shows the median of its steps, so
 * that one slow step does not hide its neighbours. */
static void account_text_spark(struct canvas *c, const struct goodput_answer *a)
{
	size_t n = a->step_time_count, each = (n + SPARK_COLS - 1) / SPARK_COLS, count;
	uint64_t column_ns[SPARK_COLS];
	char low[WORD_MAX], high[WORD_MAX], name[WORD_MAX];
	struct spark sp;
	int columns = 0;

	if (n < 2)
		return;
	for (size_t i = 0; i < n; i += each) {
		count = i + each < n ? each : n - i;
		column_ns[columns++] = (uint64_t)(fmin(fmax(account_text_nth_step_s(
								    a->step_times + i, count,
								    count / 2),
							    0),
						       9e9) *
						  1e9);
	}
	spark_scale(&sp, column_ns, columns, SPARK_COLS);
	if (each < 2)
		snprintf(name, sizeof(name), "each step");
	else if (each < 10000)
		snprintf(name, sizeof(name), "median of %zu", each);
	else
		snprintf(name, sizeof(name), "median of %zuk", each / 1000);
	for (int row = 0; row < 2; row++) {
		account_text_field(c, row ? name : "");
		spark_row(c, &sp, row, 2);
		canvas_put(c, STYLE_DIM, "  %s",
			   row ? sp.low_ns ? clock_duration(low, WORD_MAX, sp.low_ns) : "0"
			       : clock_duration(high, WORD_MAX, sp.high_ns));
	}
}

static void account_text_steps(struct canvas *c, const struct goodput_answer *a)
{
	const struct goodput_part *p = &a->cumulative;
	char ideal[WORD_MAX], mean[WORD_MAX], metric[WORD_MAX];

	canvas_line(c, 0);
	account_text_field(c, "steps");
	if (!a->step_time_count) {
		canvas_put(c, STYLE_PLAIN, "none timed, last recorded %lld",
			   (long long)p->last_recorded_step);
		return;
	}
	canvas_put(c, STYLE_PLAIN, "%zu timed, last recorded %lld, productive up to %lld",
		   a->step_time_count, (long long)p->last_recorded_step,
		   (long long)p->max_productive_step);
	account_text_step_time(c, a);
	if (p->has_ideal) {
		account_text_field(c, "ideal");
		canvas_put(c, STYLE_PLAIN, "%s", account_text_seconds_text(ideal, p->ideal_s));
	}
	if (p->has_deviation)
		canvas_put(c, STYLE_PLAIN, ", mean deviation %s, lately %s",
			   account_text_seconds_text(mean, p->deviation_mean_s),
			   account_text_seconds_text(metric, p->deviation_interval_s));
	account_text_spark(c, a);
}

static void account_text_slices(struct canvas *c, const struct goodput_part *p)
{
	if (!p->has_slices)
		return;
	account_text_field(c, "slices");
	canvas_put(c, STYLE_PLAIN, "%.1f %% stepping, %.1f %% available, over the time",
		   100 * p->stepping_efficiency, 100 * p->available_efficiency);
}

static void account_text_disruption(struct canvas *c, const struct disruption *d)
{
	char when[EPOCH_TEXT_MAX], steps[64], resumed[24], t[WORD_MAX];

	snprintf(resumed, sizeof(resumed), "%lld", (long long)d->resumed_step);
	if (d->step == DISRUPTION_NO_STEP)
		snprintf(steps, sizeof(steps), "before any step");
	else
		snprintf(steps, sizeof(steps), "%lld → %s", (long long)d->step,
			 d->resumed_ns && d->resumed_step != DISRUPTION_NO_STEP ? resumed : "?");
	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "    %s", epoch_text(when, (int64_t)(d->at_ns / 1000), 0));
	canvas_at(c, 25);
	canvas_put(c, STYLE_PLAIN, "%s", steps);
	canvas_right(c, 50, STYLE_PLAIN,
		     d->wasted_ns ? clock_duration(t, WORD_MAX, d->wasted_ns) : "0");
	canvas_right(c, 60, STYLE_PLAIN,
		     d->down_ns ? clock_duration(t, WORD_MAX, d->down_ns) : "0");
	canvas_right(c, 71, STYLE_PLAIN,
		     d->recovery_ns ? clock_duration(t, WORD_MAX, d->recovery_ns) : "?");
	snprintf(steps, sizeof(steps), "%u", d->starts);
	canvas_right(c, 77, STYLE_PLAIN, steps);
	if (d->graceful)
		canvas_put(c, STYLE_DIM, " g");
}

static void account_text_disruptions(struct canvas *c, const struct goodput_answer *a)
{
	uint64_t count = a->cumulative.disruptions;
	size_t shown = a->disruption_count < DISRUPTIONS_MAX ? a->disruption_count
							     : DISRUPTIONS_MAX;
	bool graceful = false;

	account_text_field(c, "disruptions");
	canvas_put(c, count ? STYLE_RED : STYLE_PLAIN, count ? "%llu" : "none",
		   (unsigned long long)count);
	if (!shown)
		return;
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "    when (UTC)");
	canvas_at(c, 25);
	canvas_put(c, STYLE_DIM, "step → resumed at");
	canvas_right(c, 50, STYLE_DIM, "wasted");
	canvas_right(c, 60, STYLE_DIM, "down");
	canvas_right(c, 71, STYLE_DIM, "to a step");
	canvas_right(c, 77, STYLE_DIM, "boots");
	for (size_t i = 0; i < shown; i++) {
		account_text_disruption(c, &a->disruptions[i]);
		graceful |= a->disruptions[i].graceful;
	}
	if (count > shown) {
		canvas_line(c, 0);
		canvas_put(c, STYLE_DIM, "    and %llu more", (unsigned long long)(count - shown));
	}
	if (graceful) {
		canvas_line(c, 0);
		canvas_put(c, STYLE_DIM, "    g: graceful: the job had announced its end");
	}
}

static void account_text_windows(struct canvas *c, struct buffer *out,
				 const struct goodput_answer *a)
{
	char from[EPOCH_TEXT_MAX], to[EPOCH_TEXT_MAX], left[2 * EPOCH_TEXT_MAX + 8];

	for (size_t i = 0; i < a->window_count; i++) {
		if (!i) {
			canvas_line(c, 0);
			account_text_field(c, "windows (UTC)");
		}
		snprintf(left, sizeof(left), "%s to %s", epoch_text(from, a->windows[i].from_us, 0),
			 epoch_text(to, a->windows[i].to_us, 0));
		part_line(c, &a->windows[i], left);
		canvas_flush(c, out);
	}
	for (size_t i = 0; i < a->at_count; i++) {
		if (!i) {
			canvas_line(c, 0);
			account_text_field(c, "as of (UTC)");
		}
		part_line(c, &a->at[i], epoch_text(from, a->at[i].to_us, 0));
		canvas_flush(c, out);
	}
}

static void account_text_excluded(struct canvas *c, const struct account_view *v)
{
	const struct goodput_part *p = &v->answer->excluded;
	size_t n = v->query->exclude_count;
	char title[64], left[SPAN_TEXT_MAX], gone[SPAN_TEXT_MAX];

	if (!v->answer->has_excluded)
		return;
	canvas_line(c, 0);
	account_text_error(c, p);
	if (p->error && !p->has_s)
		return;
	snprintf(title, sizeof(title), "without %zu excluded %s", n,
		 n == 1 ? "interval" : "intervals");
	part_table(c, p, p->adjusted_s, "what is left", title, v->names);
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "    %s excluded, %s left", span_text(gone, p->excluded_s),
		   span_text(left, p->adjusted_s));
}

static void account_text_warnings(struct canvas *c, const struct goodput_answer *a)
{
	bool any = false;

	for (int i = 0; i < WARNINGS; i++) {
		if (!a->warnings[i])
			continue;
		if (!any)
			canvas_line(c, 0);
		account_text_field(c, any ? "" : "warnings");
		any = true;
		canvas_put(c, STYLE_YELLOW, "%s: %llu", goodput_warning_words[i],
			   (unsigned long long)a->warnings[i]);
	}
}

/* Replaces each non-ASCII character by one ASCII character, so that columns stay aligned on
 * terminals without UTF-8. */
static void account_text_to_ascii(struct buffer *b)
{
	static const struct {
		const char *from;
		char to;
	} map[] = {{"█", '#'}, {"▉", '#'}, {"▊", '#'}, {"▋", '#'}, {"▌", '#'},
		   {"▍", '|'}, {"▎", '|'}, {"▏", '|'}, {"▇", '%'}, {"▆", '*'},
		   {"▅", '+'}, {"▄", '='}, {"▃", '-'}, {"▂", '.'}, {"▁", '_'},
		   {"▲", '^'}, {"…", '.'}, {"→", '>'}, {"µ", 'u'}};
	size_t at = 0, n;
	uint32_t ch;
	char to;

	if (b->failed)
		return;
	for (size_t i = 0; i < b->len; i += n) {
		n = utf8_decode(b->data + i, b->len - i, &ch);
		n = n ? n : 1;
		to = n > 1 ? '?' : b->data[i];
		for (size_t k = 0; n > 1 && k < sizeof(map) / sizeof(map[0]); k++)
			if (strlen(map[k].from) == n && !memcmp(map[k].from, b->data + i, n))
				to = map[k].to;
		b->data[at++] = to;
	}
	b->len = at;
	if (b->data)
		b->data[at] = '\0';
}

void account_text(struct buffer *out, const struct account_view *v, bool color, bool ascii)
{
	const struct goodput_answer *a = v->answer;
	struct buffer text = {0};
	struct canvas c;

	canvas_open(&c, ACCOUNT_COLS, color);
	canvas_wrap(&c, COL_FACT);
	account_text_head(&c, v);
	canvas_line(&c, 0);
	account_text_error(&c, &a->cumulative);
	if (!a->cumulative.error || a->cumulative.has_s)
		part_table(&c, &a->cumulative, a->cumulative.total_s, "elapsed",
			   "where the time went", v->names);
	account_text_steps(&c, a);
	account_text_slices(&c, &a->cumulative);
	account_text_disruptions(&c, a);
	account_text_windows(&c, &text, a);
	account_text_excluded(&c, v);
	account_text_warnings(&c, a);
	canvas_finish(&c, &text, INT_MAX);
	if (ascii)
		account_text_to_ascii(&text);
	buffer_add(out, text.data, text.len);
	out->failed |= text.failed;
	buffer_free(&text);
}
