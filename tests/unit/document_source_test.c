/* SPDX-License-Identifier: Apache-2.0 */
/* One job as a snapshot, a store and a log have it: the documents are the same, field by field, as
 * far as each knows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "tests/unit/store_feed.h"
#include "userspace/report/document.h"
#include "userspace/report/report.h"
#include "userspace/store/import.h"

#define SECONDS 180
#define START	(FEED_REAL + (int64_t)(1200 * S))

static struct feed feed;
static char dir[64], path[96];
static struct store *store;
static struct report_document *live, *stored, *logged;

static const struct disruption fell = {
	.at_ns = 1300 * S,
	.step = 1000,
	.resumed_ns = 1302 * S,
	.resumed_step = 991,
	.wasted_ns = 900 * MS,
	.recovery_ns = 2 * S,
	.down_ns = S,
	.starts = 1,
};

static void feed_job(void)
{
	struct store_writer_options o = {.path = path, .named = true};
	struct fact_checkpoint saved = {
		.closed = true, .step = 900, .start_ns = 1290 * S, .end_ns = 1290 * S + 20 * MS};
	struct fact fact = {.type = FACT_CHECKPOINT, .checkpoint = &saved};

	feed_init(&feed, "same", 1, 1200 * S);
	feed.wait = true;
	assert_int_equal(store_writer_open(&feed.writer, &o), 0);
	feed_open(&feed, feed.writer);
	feed.job.runs = 1;
	for (int i = 0; i < SECONDS; i++) {
		feed.job.ledger.steps = feed.job.ledger.max_step = feed.step[0] + 10;
		feed_go(&feed, S);
		if (i == 100)
			feed_fact(&feed, &fact, 0, saved.end_ns);
	}
	feed.job.ndisruptions = 1;
	feed.job.ledger.disruptions = 1;
	feed.job.disruptions[0] = (struct job_disruption){
		.number = 1,
		.why = {.cause = CAUSE_killed,
			.rank = 0,
			.pid = 100,
			.exit_code = -1,
			.signal = 9,
			.sender = 7,
			.sender_comm = "bash"},
		.d = fell,
		.split_ns = {[BUCKET_PROGRAM_STARTUP] = S, [BUCKET_RECOVERY] = S},
		.over = true,
		.how = "the checkpoint that was read",
	};
	feed.job.secured_step = 900;
	feed.ranks[0].checkpoints = 1;
	feed.ranks[0].checkpoint_save_ns = 20 * MS;
	feed.loops[0].time = (struct deviation_view){.count = 10 * SECONDS,
						     .mean_ns = 100 * MS,
						     .min_ns = 100 * MS,
						     .p50_ns = 100 * MS,
						     .p95_ns = 100 * MS,
						     .p99_ns = 100 * MS,
						     .max_ns = 100 * MS,
						     .ideal_ns = 100 * MS};
	feed.loops[0].state.tier = TIER_A;
	feed_end(&feed, 0);
	assert_int_equal(store_writer_close(feed.writer), 0);
}

/* The log has the same steps and the same time by bucket, one piece for each bucket. */
static void import_log(int64_t *ret_job)
{
	static struct goodput_piece piece[BUCKET_COUNT];
	static struct goodput_done done[1];
	struct goodput_names *names = goodput_names_new();
	struct goodput_run run = {.from_us = START / 1000,
				  .until_us = START / 1000,
				  .dones = 1,
				  .over = true,
				  .graceful = true};
	struct disruption told = fell;
	struct goodput_history history = {
		.pieces = piece, .done = done, .ndone = 1, .runs = &run, .nruns = 1};
	struct goodput_answer answer = {
		.history = &history, .disruptions = &told, .disruption_count = 1};
	const struct store_import in = {.command = "gp-bpf account log",
					.answer = &answer,
					.names = names,
					.now_ns = START};
	enum store_imported fate;
	uint64_t at_ns = (uint64_t)START;

	assert_non_null(names);
	answer.job = goodput_names_put(names, "log", 3);
	told.at_ns += (uint64_t)FEED_REAL;
	told.resumed_ns += (uint64_t)FEED_REAL;
	for (int b = 0; b < BUCKET_COUNT; b++) {
		if (!live->ledger.ns[b])
			continue;
		piece[history.npieces++] = (struct goodput_piece){at_ns, at_ns + live->ledger.ns[b],
								  0, (enum bucket)b};
		at_ns += live->ledger.ns[b];
	}
	run.until_us = (int64_t)at_ns / 1000;
	done[0] = (struct goodput_done){run.until_us, 100000, 10 * SECONDS};
	assert_int_equal(store_import(store, &in, &fate, ret_job), 0);
	assert_int_equal(fate, STORE_IMPORT_NEW);
	goodput_names_free(names);
}

static void read_document(int64_t id, struct report_document **ret)
{
	static struct store_job job;

	assert_int_equal(store_job_by_id(store, id, &job), 0);
	assert_int_equal(document_of_store(ret, store, &job, &everything, NULL), 0);
}

static int setup(void **state)
{
	static const uint64_t lengths[WINDOWS_MAX] = {3600 * S};
	static struct store_job job;
	int64_t log;

	(void)state;
	assert_non_null(feed_folder(dir));
	snprintf(path, sizeof(path), "%s/store.db", dir);
	feed_job();
	feed.job.windows[0] = (struct window_view){.length_ns = 3600 * S,
						   .from_ns = feed.job.ledger.start_ns,
						   .to_ns = feed.job.ledger.now_ns,
						   .whole = true};
	memcpy(feed.job.windows[0].ns, feed.job.ledger.ns, sizeof(feed.job.windows[0].ns));
	assert_int_equal(document_of_snapshot(&live, &feed.s, &feed.job), 0);
	assert_int_equal(store_open(&store, path, STORE_WRITE), 0);
	assert_int_equal(store_job(store, "same", &job), 0);
	read_document(job.id, &stored);
	assert_int_equal(document_windows(stored, store, lengths), 0);
	import_log(&log);
	read_document(log, &logged);
	assert_int_equal(document_windows(logged, store, lengths), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	document_close(live);
	document_close(stored);
	document_close(logged);
	store_close(store);
	feed_remove(dir);
	return 0;
}

static void same_time(const struct ledger_view *a, const struct ledger_view *b)
{
	assert_memory_equal(a->ns, b->ns, sizeof(a->ns));
	assert_int_equal(ledger_elapsed(a), ledger_elapsed(b));
}

static void near(uint64_t a, uint64_t b)
{
	assert_in_range(a, b - b / 100, b + b / 100);
}

static void same_times(const struct report_times *a, const struct report_times *b)
{
	assert_int_equal(a->mean_ns, b->mean_ns);
	assert_int_equal(a->min_ns, b->min_ns);
	assert_int_equal(a->max_ns, b->max_ns);
	near(a->p50_ns, b->p50_ns);
	near(a->p95_ns, b->p95_ns);
	near(a->p99_ns, b->p99_ns);
}

/* What all sources know. */
static void same_job(const struct report_document *a, const struct report_document *b)
{
	const struct disruption_row *x = a->disruptions.at, *y = b->disruptions.at;

	assert_int_equal(a->from_ns, b->from_ns);
	assert_int_equal(a->to_ns, b->to_ns);
	same_time(&a->ledger, &b->ledger);
	assert_int_equal(a->ledger.disruptions, b->ledger.disruptions);
	assert_int_equal(a->steps, b->steps);
	assert_int_equal(document_runs(a), document_runs(b));
	assert_int_equal(a->recovery_ns, b->recovery_ns);
	assert_int_equal(a->wasted_ns, b->wasted_ns);
	assert_int_equal(a->unrecovered, b->unrecovered);
	same_times(&a->times, &b->times);
	assert_int_equal(a->nwindows, 1);
	assert_int_equal(b->nwindows, 1);
	assert_int_equal(a->windows[0].whole, b->windows[0].whole);
	assert_int_equal(a->windows[0].from_ns, b->windows[0].from_ns);
	same_time(&a->windows[0].ledger, &b->windows[0].ledger);
	assert_int_equal(a->disruptions.count, 1);
	assert_int_equal(b->disruptions.count, 1);
	assert_int_equal(x->number, y->number);
	assert_int_equal(x->over, y->over);
	assert_int_equal(x->graceful, y->graceful);
	assert_int_equal(x->at_ns, y->at_ns);
	assert_int_equal(x->resumed_ns, y->resumed_ns);
	assert_int_equal(x->step, y->step);
	assert_int_equal(x->resumed_step, y->resumed_step);
	assert_int_equal(x->starts, y->starts);
	assert_int_equal(x->wasted_ns, y->wasted_ns);
	assert_int_equal(x->recovery_ns, y->recovery_ns);
	assert_int_equal(x->down_ns, y->down_ns);
}

static void snapshot_and_store(void **state)
{
	const struct disruption_row *x = live->disruptions.at, *y = stored->disruptions.at;
	const struct document_rank *r = live->ranks.at, *q = stored->ranks.at;

	(void)state;
	same_job(live, stored);
	assert_string_equal(document_name(live), document_name(stored));
	assert_string_equal(live->job.key, stored->job.key);
	assert_string_equal(document_state(live), document_state(stored));
	assert_int_equal(live->job.max_step, stored->job.max_step);
	assert_int_equal(live->saves, stored->saves);
	assert_int_equal(live->saves_ns, stored->saves_ns);
	assert_int_equal(live->restores, stored->restores);
	assert_int_equal(live->secured_step, stored->secured_step);
	assert_string_equal(x->cause, y->cause);
	assert_string_equal(x->sender_comm, y->sender_comm);
	assert_string_equal(x->how, y->how);
	assert_int_equal(x->rank, y->rank);
	assert_int_equal(x->pid, y->pid);
	assert_int_equal(x->exit_code, y->exit_code);
	assert_int_equal(x->signal, y->signal);
	assert_int_equal(x->sender, y->sender);
	assert_int_equal(x->estimated, y->estimated);
	assert_memory_equal(x->split_ns, y->split_ns, sizeof(x->split_ns));
	assert_int_equal(live->ranks.count, 1);
	assert_int_equal(stored->ranks.count, 1);
	assert_int_equal(r->steps, q->steps);
	assert_int_equal(r->rank.rank, q->rank.rank);
	assert_int_equal(r->rank.pid, q->rank.pid);
	assert_int_equal(r->rank.start_ns, q->rank.start_ns);
	assert_memory_equal(&r->sums, &q->sums, sizeof(r->sums));
	assert_string_equal(r->rank.comm, q->rank.comm);
	assert_string_equal(r->rank.command, q->rank.command);
}

static void snapshot_and_log(void **state)
{
	(void)state;
	same_job(live, logged);
}

static cJSON *object_of(const struct report_document *d)
{
	struct buffer json = {0};
	cJSON *o;

	document_json(&json, d);
	o = cJSON_Parse(json.data);
	assert_non_null(o);
	buffer_free(&json);
	return o;
}

/* b has the members of a, and but for these their values. */
static void same_members(const cJSON *a, const cJSON *b, const char *const *but)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, a)
	{
		const cJSON *other = cJSON_GetObjectItem(b, item->string);
		bool skip = false;

		for (const char *const *name = but; *name; name++)
			skip |= !strcmp(*name, item->string);
		if (!other)
			fail_msg("no %s in the other object", item->string);
		if (!skip && !cJSON_Compare(item, other, true))
			fail_msg("%s: %s, and %s", item->string, cJSON_PrintUnformatted(item),
				 cJSON_PrintUnformatted(other));
	}
}

/* One schema: the objects of a disruption have the same members, and the same values but for what a
 * store does not keep. */
static void one_object(void **state)
{
	static const char *const not_kept[] = {"at_ns", "fault", "scheduling", NULL};
	static const char *const shared[] = {
		"from",		 "to",	    "elapsed_ns",   "excluded_ns", "observed_ns",
		"goodput_ratio", "buckets", "unsettled_ns", "steps",	   "max_step",
		"state",	 "history", "saves",	    "saves_ns",	   "restores",
		"secured_step",	 NULL};
	struct buffer json = {0};
	cJSON *report, *job, *kept = object_of(stored), *x, *y;

	(void)state;
	report_json(&json, &feed.s);
	report = cJSON_Parse(json.data);
	assert_non_null(report);
	job = cJSON_GetArrayItem(cJSON_GetObjectItem(report, "jobs"), 0);
	x = cJSON_GetArrayItem(cJSON_GetObjectItem(job, "last_disruptions"), 0);
	y = cJSON_GetArrayItem(cJSON_GetObjectItem(kept, "disruptions"), 0);
	same_members(x, y, not_kept);
	same_members(y, x, not_kept);
	for (const char *const *name = shared; *name; name++)
		if (!cJSON_Compare(cJSON_GetObjectItem(job, *name),
				   cJSON_GetObjectItem(kept, *name), true))
			fail_msg("%s differs", *name);
	cJSON_Delete(report);
	cJSON_Delete(kept);
	buffer_free(&json);
}

static bool has_line(const char *text, const char *line)
{
	return strstr(text, line);
}

/* The lines of the job are the same in the report of the run and in that of the store. */
static void one_text(void **state)
{
	struct buffer run = {0}, kept = {0};
	char *save = NULL;
	int lines = 0;

	(void)state;
	report_text(&run, &feed.s, 0, false);
	document_text(&kept, stored, 0, false);
	for (char *at = strtok_r(kept.data, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(at, "  checkpoints", 13))
			break;
		if (strstr(at, "ideal") || strstr(at, "  run 1, ") || strstr(at, "  runs ") ||
		    strstr(at, "  steps "))
			continue; /* a run has deviations, and no list of runs */
		if (!has_line(run.data, at))
			fail_msg("no '%s' in:\n%s", at, run.data);
		lines++;
	}
	assert_in_range(lines, 10, 20);
	buffer_free(&run);
	buffer_free(&kept);
}

/* On a terminal no line is wider than it, and nothing is cut. */
static void narrow(void **state)
{
	(void)state;
	for (int cols = 40; cols <= 100; cols += 20) {
		struct buffer text = {0};
		char *save = NULL;

		report_text(&text, &feed.s, cols, false);
		document_text(&text, stored, cols, false);
		assert_null(strstr(text.data, "…"));
		for (char *at = strtok_r(text.data, "\n", &save); at;
		     at = strtok_r(NULL, "\n", &save))
			if (canvas_width(at) > cols)
				fail_msg("%d columns of %d: %s", canvas_width(at), cols, at);
		buffer_free(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshot_and_store),
		cmocka_unit_test(snapshot_and_log),
		cmocka_unit_test(one_object),
		cmocka_unit_test(one_text),
		cmocka_unit_test(narrow),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
