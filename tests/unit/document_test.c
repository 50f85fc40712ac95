/* SPDX-License-Identifier: Apache-2.0 */
/* A job in a store, told as text, as an object and as a page: the same numbers, and nothing of it
 * is markup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "tests/unit/store_feed.h"
#include "userspace/text/canvas.h"
#include "userspace/report/html.h"
#include "userspace/text/curve.h"
#include "userspace/report/document.h"

#define HOSTILE "<script>alert(\"1\")</script>&'x'"

static struct feed feed;
static struct store *store;
static char dir[64], path[128];

static void sums_up(const struct report_document *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < BUCKET_COUNT; i++)
		sum += s->ledger.ns[i];
	assert_int_equal(sum, s->ledger.now_ns - s->ledger.start_ns);
}

/* Five minutes of two ranks, a disruption in it, a checkpoint of a hostile name, a mark. */
static int setup(void **state)
{
	struct store_writer_options o = {.path = path, .named = true};
	struct fact_checkpoint saved = {.closed = true, .step = 7, .file = HOSTILE ".pt"};
	struct fact fact = {.type = FACT_CHECKPOINT, .checkpoint = &saved};
	struct store_writer *w;
	struct store_job job;

	(void)state;
	assert_non_null(feed_folder(dir));
	snprintf(path, sizeof(path), "%s/store.db", dir);
	assert_int_equal(store_writer_open(&w, &o), 0);
	feed_init(&feed, HOSTILE, 2, 1000 * S);
	feed.jitter_ns = 10 * MS;
	feed.wait = true;
	feed_open(&feed, w);
	for (int i = 0; i < 300; i++)
		feed_go(&feed, S);
	saved.start_ns = feed.s.mono_ns - S;
	saved.end_ns = saved.start_ns + 20 * MS;
	feed_fact(&feed, &fact, 0, saved.end_ns);
	feed.job.ndisruptions = 1;
	feed.job.disruptions[0] = (struct job_disruption){
		.number = 1,
		.why = {.cause = CAUSE_killed,
			.signal = 9,
			.sender_comm = "<b>",
			.rank = 1,
			.exit_code = -1},
		.d = {.at_ns = feed.s.mono_ns - 2 * S,
		      .step = 2990,
		      .resumed_ns = feed.s.mono_ns - S,
		      .resumed_step = 2981,
		      .wasted_ns = 700 * MS,
		      .recovery_ns = 900 * MS,
		      .starts = 1},
		.over = true,
		.estimated = true,
		.how = "<i>guessed</i>",
	};
	feed_go(&feed, S);
	feed_end(&feed, 0);
	assert_int_equal(store_writer_close(w), 0);
	assert_int_equal(store_open(&store, path, STORE_NOTE), 0);
	assert_int_equal(store_job(store, "1", &job), 0);
	assert_int_equal(
		store_mark(store, job.id, FEED_REAL + (int64_t)(1100 * S), "</li><b>" HOSTILE), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	store_close(store);
	feed_remove(dir);
	return 0;
}

static struct report_document *document_of(int64_t from_s, int64_t to_s)
{
	struct store_span span = {0};
	struct report_document *s = NULL;
	struct store_job job;

	if (from_s)
		span.from_ns = FEED_REAL + from_s * (int64_t)S;
	if (to_s)
		span.to_ns = FEED_REAL + to_s * (int64_t)S;
	assert_int_equal(store_job(store, "1", &job), 0);
	assert_int_equal(document_of_store(&s, store, &job, &span, NULL), 0);
	sums_up(s);
	return s;
}

static uint64_t number(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItem(o, key);

	assert_true(cJSON_IsNumber(v));
	return (uint64_t)v->valuedouble;
}

/* The page has <data class="name" value="number">. */
static void shows(const char *page, const char *name, uint64_t value)
{
	char what[128];

	snprintf(what, sizeof(what), "<data class=\"%s\" value=\"%llu\">", name,
		 (unsigned long long)value);
	if (!strstr(page, what))
		fail_msg("no %s in the page", what);
}

static void same_numbers(void **state)
{
	static const char *const head[] = {"elapsed_ns", "observed_ns", "steps",
					   "disruptions_count", "max_step"};
	static const char *const times[] = {"p50_ns", "p95_ns", "p99_ns", "max_ns", "ideal_ns"};
	struct report_document *s = document_of(0, 0);
	struct buffer json = {0}, page = {0};
	const cJSON *buckets, *bucket;
	cJSON *o;

	(void)state;
	document_json(&json, s);
	html_report(&page, s);
	assert_false(json.failed || page.failed);
	o = cJSON_Parse(json.data);
	assert_non_null(o);
	assert_int_equal(number(o, "steps"), 3010);
	assert_int_equal(number(o, "elapsed_ns"), 301 * S);
	assert_int_equal(number(o, "disruptions_count"), 1);
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		shows(page.data, head[i], number(o, head[i]));
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		shows(page.data, times[i], number(cJSON_GetObjectItem(o, "step_time"), times[i]));
	buckets = cJSON_GetObjectItem(o, "buckets");
	cJSON_ArrayForEach(bucket, buckets) if (bucket->valuedouble > 0)
		shows(page.data, bucket->string, (uint64_t)bucket->valuedouble);
	shows(page.data, "wasted_ns", 700 * MS);
	cJSON_Delete(o);
	buffer_free(&json);
	buffer_free(&page);
	document_close(s);
}

/* A window ends where the report ends, begins at the edge of a minute, and is the same as a report
 * of it. */
static void windows(void **state)
{
	static const uint64_t lengths[WINDOWS_MAX] = {2 * MINUTE, 3600 * S};
	struct report_document *s = document_of(0, 0), *late;
	struct buffer text = {0}, json = {0};
	const struct document_window *w;
	const cJSON *told;
	cJSON *o;

	(void)state;
	assert_int_equal(document_windows(s, store, lengths), 0);
	assert_int_equal(s->nwindows, 2);
	w = &s->windows[0];
	assert_false(w->whole);
	assert_int_equal(w->from_ns % STORE_MINUTE_NS, 0);
	assert_in_range(s->to_ns - w->from_ns, 2 * MINUTE, 3 * MINUTE - 1);
	late = document_of((w->from_ns - FEED_REAL) / (int64_t)S, 0);
	assert_int_equal(w->steps, late->steps);
	assert_in_range(w->steps, 1, s->steps - 1);
	assert_memory_equal(w->ledger.ns, late->ledger.ns, sizeof(w->ledger.ns));
	assert_true(s->windows[1].whole);
	assert_int_equal(s->windows[1].steps, s->steps);
	assert_memory_equal(s->windows[1].ledger.ns, s->ledger.ns, sizeof(s->ledger.ns));
	document_text(&text, s, 0, false);
	assert_non_null(strstr(text.data, "goodput last 2m "));
	document_json(&json, s);
	o = cJSON_Parse(json.data);
	told = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "windows"), 0);
	assert_int_equal(number(told, "steps"), w->steps);
	assert_int_equal(number(told, "elapsed_ns"), ledger_elapsed(&w->ledger));
	cJSON_Delete(o);
	buffer_free(&text);
	buffer_free(&json);
	document_close(late);
	document_close(s);
}

static char *page_of(const struct report_document *s)
{
	struct buffer page = {0};

	html_report(&page, s);
	assert_false(page.failed);
	return page.data;
}

/* What accelerators did and cost is on the page where it is known, and no word of it where it is
 * not. */
static void worth(void **state)
{
	static const char *const caveats[] = {
		"<dt>MFU</dt><dd>12.5 %</dd><dd>of observed time; in steps 25.0 %",
		">3200<",
		">50.0 T<",
		"Accelerators: 8 &lt;X&gt;",
		"<dt>Cost</dt><dd>€12.50</dd><dd>5.0000 accelerator-hours",
		"<td>goodput</td><td class=\"n\">4.0000",
		"<td>hang</td><td class=\"n\">&lt;0.0001",
		"20.0 %",
		"€10.00",
		">sum<"};
	static const char *const unknown[] = {"h-worth", "h-rates", "MFU", "Cost", "ccelerator"};
	struct report_document *s = document_of(0, 0);
	char *page = page_of(s);

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_null(strstr(page, unknown[i]));
	free(page);
	s->program = (struct program_config){
		.samples = 32, .flops = 1e12, .peak_flops = 5e13, .accelerator = "<X>"};
	s->rates.accelerators = 8;
	s->rates.steps = (struct program_rate){.samples = 3200, .flops = 1e14, .mfu = 0.25};
	s->rates.elapsed = (struct program_rate){.samples = 1600, .flops = 5e13, .mfu = 0.125};
	s->accelerator_ns[BUCKET_GOODPUT] = 4 * 3600e9;
	s->accelerator_ns[BUCKET_OTHER] = 3600e9;
	s->accelerator_ns[BUCKET_HANG] = 1;
	page = page_of(s); /* nobody asked what it costs */
	assert_non_null(strstr(page, "h-rates"));
	assert_null(strstr(page, "h-worth"));
	free(page);
	s->program.price = 2.5;
	snprintf(s->program.currency, sizeof(s->program.currency), "€");
	page = page_of(s);
	for (size_t i = 0; i < sizeof(caveats) / sizeof(caveats[0]); i++)
		if (!strstr(page, caveats[i]))
			fail_msg("no %s in the page", caveats[i]);
	assert_null(strstr(page, "<X>"));
	assert_null(strstr(page, ">tokens<"));
	free(page);
	s->program.price = 0;
	s->program.accelerators = 8;
	page = page_of(s);
	assert_non_null(strstr(page, "<dt>Accelerator-hours</dt><dd>5.0000"));
	assert_null(strstr(page, "cost"));
	free(page);
	document_close(s);
}

/* The bucket of what a disruption's table calls down has that name too, and what it calls to a step
 * is called so on the card; steps that were made are not called by the name of the highest
 * number. */
static void one_name_each(void **state)
{
	static const char *const caveats[] = {
		"</data> to a step, <data class=\"wasted\"",
		"<span>down</span>",
		">down</th>",
		">to a step</th>",
		"<dt>Steps made</dt>",
		"the highest number is <data class=\"max_step\" value=\"1500\">",
		"More steps were made than the highest step number"};
	static const char *const unsaid[] = {">recovery<", " recovery ", ">Recovery", "<dt>Steps<"};
	struct report_document *s = document_of(0, 0);
	char *page;

	(void)state;
	s->ledger.ns[BUCKET_OTHER] -= 146 * MS;
	s->ledger.ns[BUCKET_RECOVERY] += 146 * MS;
	s->job.max_step = 1500;
	s->ncaveats = 0;
	document_say(s);
	page = page_of(s);
	for (size_t i = 0; i < sizeof(caveats) / sizeof(caveats[0]); i++)
		if (!strstr(page, caveats[i]))
			fail_msg("no %s in the page", caveats[i]);
	for (size_t i = 0; i < sizeof(unsaid) / sizeof(unsaid[0]); i++)
		if (strstr(page, unsaid[i]))
			fail_msg("%s in the page", unsaid[i]);
	free(page);
	document_close(s);
}

/* What a disruption that no step followed cost is not known, and is not 0. */
static void cost_unknown(void **state)
{
	struct report_document *s = document_of(0, 0);
	char *page;

	(void)state;
	s->unrecovered = 1;
	s->recovery_ns = s->wasted_ns = 0;
	page = page_of(s);
	assert_non_null(strstr(page, "</data></dd><dd>no step since: cost unknown</dd>"));
	assert_null(strstr(page, "0 s</data> to a step"));
	free(page);
	s->ledger.disruptions = 2;
	s->recovery_ns = 900 * MS;
	page = page_of(s);
	assert_non_null(strstr(page, "900 ms</data> to a step"));
	assert_non_null(strstr(page, " wasted; of 1 of them unknown</dd>"));
	free(page);
	document_close(s);
}

/* Where no terminal bounds the lines, and on one that does, what is long is there to its end. */
static void nothing_is_cut(void **state)
{
	struct report_document *s = document_of(0, 0);
	struct store_checkpoint *c = s->checkpoints.at;
	struct disruption_row *d = s->disruptions.at;
	struct store_health h = {.kind = "device_error", .rank = 0, .over = true};
	struct buffer text = {0};

	(void)state;
	memset(c->file, 'f', sizeof(c->file) - 2);
	memcpy(c->file + sizeof(c->file) - 5, ".pt", 4);
	snprintf(d->cause, sizeof(d->cause), "communicator aborted");
	snprintf(d->sender_comm, sizeof(d->sender_comm), "fifteen_letters");
	memset(d->how, 'h', sizeof(d->how) - 2);
	d->how[sizeof(d->how) - 2] = '!';
	memset(h.evidence, 'e', sizeof(h.evidence) - 2);
	h.evidence[sizeof(h.evidence) - 2] = '!';
	s->healths = (struct document_list){.at = malloc(sizeof(h)), .count = 1};
	assert_non_null(s->healths.at);
	memcpy(s->healths.at, &h, sizeof(h));
	s->elsewhere = UINT32_MAX;
	s->job.totals.steps = UINT64_MAX;
	s->ncaveats = 0;
	document_say(s);
	for (uint32_t i = 0; i < s->ncaveats; i++)
		assert_in_range(strlen(s->caveats[i]), 1, DOCUMENT_CAVEAT_MAX - 2);
	document_text(&text, s, 0, false);
	assert_non_null(strstr(text.data, "f.pt saved"));
	assert_non_null(
		strstr(text.data, "communicator aborted, signal 9 by fifteen_letters, rank 1 "));
	assert_non_null(strstr(text.data, "e!\n"));
	assert_non_null(strstr(text.data, "h!."));
	assert_non_null(strstr(text.data, "counts as down."));
	assert_null(strstr(text.data, "…"));
	buffer_free(&text);
	document_close(s);
}

/* All verdicts are in the page, as text and not as markup. */
static void why(void **state)
{
	struct report_document *s = document_of(0, 0);
	struct buffer page = {0};

	(void)state;
	s->verdicts = (struct verdicts){.count = 2, .unexplained = 0.07};
	s->verdicts.of[0] = (struct verdict){.kind = VERDICT_input_bound,
					     .share = 0.64,
					     .text = "64 % of each step waits for data",
					     .evidence = "a worker waits for <b>a file</b>",
					     .next = "more workers"};
	s->verdicts.of[1] = (struct verdict){
		.kind = VERDICT_uneven, .share = 0.06, .text = "3 long steps"};
	html_report(&page, s);
	assert_non_null(strstr(page.data, "<strong>input-bound</strong>: 64 % of each step waits"));
	assert_non_null(strstr(page.data, "a worker waits for &lt;b&gt;a file&lt;/b&gt;"));
	assert_non_null(strstr(page.data, "Try: more workers"));
	assert_non_null(strstr(page.data, "<strong>uneven steps</strong>: 3 long steps</li>"));
	assert_non_null(strstr(page.data, "7 % of the time is unexplained"));
	buffer_free(&page);
	s->verdicts = (struct verdicts){.count = 1};
	s->verdicts.of[0] = (struct verdict){.kind = VERDICT_steady, .text = "nothing"};
	html_report(&page, s);
	assert_null(strstr(page.data, "id=\"h-why\""));
	buffer_free(&page);
	document_close(s);
}

static void nothing_is_markup(void **state)
{
	struct report_document *s = document_of(0, 0);
	struct buffer page = {0}, text = {0};

	(void)state;
	html_report(&page, s);
	assert_null(strstr(page.data, "<script"));
	assert_null(strstr(page.data, "<b>"));
	assert_null(strstr(page.data, "<i>"));
	assert_null(strstr(page.data, "http:"));
	assert_null(strstr(page.data, "https:"));
	assert_non_null(strstr(
		page.data, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;x&#39;"));
	assert_null(strstr(page.data, "nan"));
	assert_null(strstr(page.data, "inf\""));
	assert_null(strstr(page.data, "inf "));
	document_text(&text, s, 0, false);
	for (char *save = NULL, *at = strtok_r(text.data, "\n", &save); at;
	     at = strtok_r(NULL, "\n", &save))
		assert_in_range(canvas_width(at), 0, 100);
	buffer_free(&page);
	buffer_free(&text);
	document_close(s);
}

static void escaping(void **state)
{
	struct buffer b = {0};

	(void)state;
	html_text(&b, "a<b>\"'&\x01\xff\xe2\x80\xae\xef\xbf\xbf\xc3\xa9");
	assert_string_equal(
		b.data,
		"a&lt;b&gt;&quot;&#39;&amp;\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9");
	buffer_free(&b);
}

static void spans(void **state)
{
	struct report_document *all = document_of(0, 0), *late = document_of(1180, 0),
			       *none = document_of(5000, 6000);

	(void)state;
	assert_true(late->steps && late->totals.steps < all->totals.steps);
	assert_int_equal(late->marks.count, 0);
	assert_int_equal(all->marks.count, 1);
	assert_int_equal(late->disruptions.count, 1);
	assert_int_equal(none->steps, 0);
	assert_int_equal(none->runs.count, 0);
	document_close(all);
	document_close(late);
	document_close(none);
}

/* Without that time, for who has that store open. */
static struct report_document *document_without(struct store **ret_other, int64_t from_ns,
						int64_t to_ns, const char *why)
{
	struct store_job job;
	struct report_document *s;

	assert_int_equal(store_open(ret_other, path, STORE_READ), 0);
	assert_int_equal(store_exclude_here(*ret_other, from_ns, to_ns, why), 0);
	assert_int_equal(store_job(*ret_other, "1", &job), 0);
	assert_int_equal(document_of_store(&s, *ret_other, &job, &(struct store_span){0}, NULL), 0);
	return s;
}

static void left_out_here(void **state)
{
	struct report_document *all = document_of(0, 0), *less;
	struct store *other;
	struct buffer page = {0};

	(void)state;
	less = document_without(&other, FEED_REAL + 1100 * (int64_t)S,
				FEED_REAL + 1110 * (int64_t)S, "<u>");
	sums_up(less);
	assert_int_equal(less->exclusions.count, 1);
	assert_true(less->totals.excluded_ns >= 60 * S);
	assert_true(less->curve->count && less->curve->count < all->curve->count);
	assert_int_equal(less->curve->count,
			 less->totals.times.count); /* the charts are of the same steps */
	assert_int_equal(ledger_elapsed(&less->ledger) + less->totals.excluded_ns,
			 all->ledger.now_ns);
	html_report(&page, less);
	assert_null(strstr(page.data, "<u>"));
	buffer_free(&page);
	document_close(less);
	store_close(other);
	less = document_of(0, 0); /* others do not see it */
	assert_int_equal(less->totals.excluded_ns, 0);
	document_close(less);
	document_close(all);
}

/* A minute is left out as a whole, though the job was there for another part of it than the
 * exclusion is. */
static void left_out_beside(void **state)
{
	struct report_document *all = document_of(0, 0), *less;
	int64_t minute_ns = all->to_ns - all->to_ns % STORE_MINUTE_NS;
	struct store *other;
	uint64_t steps = 0;

	(void)state;
	assert_true(all->to_ns - minute_ns < STORE_MINUTE_NS - 2 * (int64_t)S);
	less = document_without(&other, minute_ns + STORE_MINUTE_NS - (int64_t)S,
				minute_ns + STORE_MINUTE_NS, "beside");
	assert_int_equal(less->exclusions.count, 1);
	assert_true(less->totals.cut_ns && less->steps < all->totals.steps);
	for (uint32_t i = 0; i < less->runs.count; i++)
		steps += DOCUMENT_AT(less->runs, struct document_run, i)->steps;
	assert_int_equal(steps, less->steps);
	assert_int_equal(less->curve->count, less->totals.times.count);
	document_close(less);
	store_close(other);
	document_close(all);
}

/* Of what was left out as a whole it is not said that nothing happened. */
static void all_left_out(void **state)
{
	struct report_document *s;
	struct store *other;
	struct buffer text = {0}, page = {0};

	(void)state;
	s = document_without(&other, FEED_REAL, FEED_REAL + 9000 * (int64_t)S, "all");
	document_text(&text, s, 0, false);
	assert_non_null(strstr(text.data, " UTC, all left out: 5 m 01 s\n"));
	assert_non_null(strstr(text.data, "All of the time was left out: no figures of steps."));
	assert_null(strstr(text.data, "No step was seen"));
	html_report(&page, s);
	assert_non_null(strstr(page.data, ", all of it: "));
	buffer_free(&text);
	buffer_free(&page);
	document_close(s);
	store_close(other);
}

/* ---- step times in columns ------------------------------------------------------------------- */

/* Whatever the length: all steps, least and greatest are there, in order, and medians are close. */
static void columns(void **state)
{
	struct curve *s = malloc(sizeof(*s));
	uint64_t seen = 0, steps[] = {1, 700, 1000000};

	(void)state;
	assert_non_null(s);
	for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
		int64_t at = FEED_REAL;
		bool slow = false;

		curve_init(s, MS);
		for (uint64_t i = 0; i < steps[k]; i++) {
			uint64_t ns = i == steps[k] / 2 ? 900 * MS : 10 * MS + i % 7 * 1000;

			at += (int64_t)ns;
			curve_add(s, at, ns);
		}
		assert_int_equal(s->count, steps[k]);
		assert_in_range(s->used, 1, CURVE_COLUMNS);
		assert_true(s->from_ns + (int64_t)(s->used * s->width_ns) > at);
		seen = 0;
		for (uint32_t i = 0; i < s->used; i++) {
			seen += s->at[i].count;
			slow |= s->at[i].max_ns == 900 * MS;
			if (s->at[i].count > 2)
				assert_in_range(sketch_quantile(&s->at[i], 0.5), 99 * MS / 10,
						101 * MS / 10);
		}
		assert_int_equal(seen, steps[k]);
		assert_true(slow);
	}
	free(s);
}

static void far_apart(void **state)
{
	struct curve *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	curve_init(s, 0);
	curve_add(s, 0, 5);
	curve_add(s, INT64_MAX, 7);
	curve_add(s, INT64_MIN, 9);
	assert_int_equal(s->count, 3);
	assert_in_range(s->used, 2, CURVE_COLUMNS);
	assert_int_equal(s->at[0].max_ns, 9);
	assert_int_equal(s->at[s->used - 1].max_ns, 7);
	free(s);
}

static void ideal(void **state)
{
	struct sketch t = {0};

	(void)state;
	assert_int_equal(report_ideal_ns(&t), 0);
	for (int i = 0; i < 100; i++)
		sketch_add(&t, 10 * MS);
	assert_int_equal(report_ideal_ns(&t), 10 * MS);
	for (int i = 0; i < 20; i++)
		sketch_add(&t, 500 * MS);
	assert_in_range(report_ideal_ns(&t), 99 * MS / 10, 101 * MS / 10);
}

/* A job that is watched now: its last run goes on, one before it of which no end is known does
 * not. */
static void fates(void **state)
{
	static struct report_document s = {
		.job = {.state = "running", .last_ns = 1000 * S, .watched_ns = 1000 * S},
		.now_ns = 1001 * S};
	char text[64];

	(void)state;
	assert_string_equal(document_fate(text, sizeof(text), &s, STORE_NONE, 999 * S, 0),
			    "still running");
	assert_string_equal(document_fate(text, sizeof(text), &s, STORE_NONE, 500 * S, 0),
			    "its end was not seen");
	assert_string_equal(document_fate(text, sizeof(text), &s, 999 * S, 999 * S, 0), "finished");
	assert_string_equal(document_fate(text, sizeof(text), &s, 999 * S, 999 * S, 9),
			    "killed by signal 9");
	s.now_ns = 2000 * S;
	assert_string_equal(document_fate(text, sizeof(text), &s, STORE_NONE, 999 * S, 0),
			    "its end was not seen");
	s.now_ns = 0;
	assert_string_equal(document_fate(text, sizeof(text), &s, STORE_NONE, 999 * S, 0),
			    "still running");
	strcpy(s.job.state, "down");
	assert_string_equal(document_fate(text, sizeof(text), &s, STORE_NONE, 999 * S, 0),
			    "its end was not seen");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_numbers),
		cmocka_unit_test(windows),
		cmocka_unit_test(one_name_each),
		cmocka_unit_test(cost_unknown),
		cmocka_unit_test(nothing_is_cut),
		cmocka_unit_test(nothing_is_markup),
		cmocka_unit_test(why),
		cmocka_unit_test(worth),
		cmocka_unit_test(escaping),
		cmocka_unit_test(spans),
		cmocka_unit_test(left_out_here),
		cmocka_unit_test(left_out_beside),
		cmocka_unit_test(all_left_out),
		cmocka_unit_test(columns),
		cmocka_unit_test(fates),
		cmocka_unit_test(far_apart),
		cmocka_unit_test(ideal),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
