/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf jobs: lists the jobs of a store, one on each line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/buffer.h"
#include "userspace/base/clock.h"
#include "userspace/base/epoch.h"
#include "userspace/base/json_text.h"
#include "userspace/base/log.h"
#include "userspace/base/tty.h"
#include "userspace/command/command.h"
#include "userspace/output/history.h"
#include "userspace/report/report_times.h"
#include "userspace/store/query.h"
#include "userspace/text/columns.h"
#include "userspace/text/format.h"

#define NAME_ROOM   (GP_JOB_MAX + 8)
#define JOBS_SCHEMA 1

enum {
	COL_ID,
	COL_JOB,
	COL_STATE,
	COL_RUNS,
	COL_DISRUPTIONS,
	COL_STEPS,
	COL_P50,
	COL_ELAPSED,
	COL_GOODPUT,
	COL_SEEN,
	COLS
};

struct listing {
	struct store *store;
	struct buffer out;
	const char *only; /* list the job with this name, key or number; NULL: all */
	struct column columns[COLS];
	int64_t now_ns;
	bool json, any, excluded, brief;
};

static uint64_t jobs_positive(int64_t v)
{
	return v > 0 ? (uint64_t)v : 0;
}

/* Returns the observed time, of which shares are computed; 0: nothing was observed. */
static uint64_t jobs_observed_ns(const struct sums *s)
{
	return jobs_positive(sums_total(s) - s->ns[BUCKET_UNOBSERVED]);
}

/* length of "11-21 12:00", which a narrow terminal gets instead of "2026-11-21 12:00:00" */
#define SEEN_BRIEF 11
#define YEAR	   5

/* Chooses columns and widths for a terminal of `cols` columns; 0: show every column at full
 * width. */
static void cmd_jobs_columns_begin(struct listing *l, int cols)
{
	static const struct column whole[COLS] = {
		[COL_ID] = {.head = "ID", .width = 4, .right = true},
		[COL_JOB] = {.head = " JOB", .width = 25},
		[COL_STATE] = {.head = "STATE", .width = 8},
		[COL_RUNS] = {.head = "RUNS", .width = 4, .right = true},
		[COL_DISRUPTIONS] = {.head = "DISRUPTED", .width = 9, .right = true},
		[COL_STEPS] = {.head = "STEPS", .width = 9, .right = true},
		[COL_P50] = {.head = "STEP (P50)", .width = 11, .right = true},
		[COL_ELAPSED] = {.head = "ELAPSED", .width = 10, .right = true},
		[COL_GOODPUT] = {.head = "GOODPUT", .width = 8, .right = true},
		[COL_SEEN] = {.head = "LAST SEEN (UTC)", .width = 19},
	};
	static const struct column_way ways[] = {
		{COL_SEEN, SEEN_BRIEF}, {COL_P50, 0},	      {COL_RUNS, 0},  {COL_JOB, 13},
		{COL_SEEN, 0},		{COL_DISRUPTIONS, 0}, {COL_STEPS, 0}, {COL_STATE, 0},
		{COL_ELAPSED, 0},	{COL_JOB, 9},
	};

	memcpy(l->columns, whole, sizeof(whole));
	columns_fit(l->columns, COLS, ways, sizeof(ways) / sizeof(ways[0]), cols);
	l->brief = l->columns[COL_SEEN].width < whole[COL_SEEN].width;
	if (l->brief && l->columns[COL_SEEN].width) {
		l->columns[COL_SEEN].head = "SEEN (UTC)";
		l->columns[COL_SEEN].width = SEEN_BRIEF;
	}
}

/* Writes the job's name, and " (log)" if the job was imported from a log. A long name is cut
 * between characters. */
static void jobs_job_name(char out[NAME_ROOM], const struct store_job *j, const struct column *c)
{
	const char *name = *j->name ? j->name : j->key, *tail = j->logged ? " (log)" : "";
	size_t len = strlen(name),
	       room = j->logged && !c->whole ? (size_t)c->width - 1 - strlen(tail) : len;

	len = len < room ? len : room;
	while (len && ((unsigned char)name[len] & 0xc0) == 0x80)
		len--;
	snprintf(out, NAME_ROOM, " %.*s%s", (int)len, name, tail);
}

static void jobs_job_line(struct listing *l, const struct store_job *j,
			  const struct store_totals *counts)
{
	const struct sums *s = &counts->sums;
	char id[24], runs[16], disruptions[24], steps[24], name[NAME_ROOM], goodput[WORD_MAX],
		step[WORD_MAX], when[EPOCH_TEXT_MAX], took[16];
	const char *const cells[COLS] = {
		[COL_ID] = id,
		[COL_JOB] = name,
		[COL_STATE] = !store_watched(j, l->now_ns) ? "unseen"
			      : *j->state		   ? j->state
							   : "-",
		[COL_RUNS] = runs,
		[COL_DISRUPTIONS] = disruptions,
		[COL_STEPS] = steps,
		[COL_P50] = text_duration(step, sketch_quantile(&j->totals.times, 0.5)),
		[COL_ELAPSED] = took,
		[COL_GOODPUT] = text_percent(goodput, jobs_positive(s->ns[BUCKET_GOODPUT]),
					     jobs_observed_ns(s)),
		[COL_SEEN] = epoch_text(when, j->last_ns / 1000, 0) + (l->brief ? YEAR : 0),
	};

	if (!l->any)
		columns_row(&l->out, l->columns, COLS, NULL);
	snprintf(id, sizeof(id), "%lld", (long long)j->id);
	jobs_job_name(name, j, &l->columns[COL_JOB]);
	snprintf(runs, sizeof(runs), "%u", j->runs);
	snprintf(disruptions, sizeof(disruptions), "%llu", (unsigned long long)j->disruptions);
	snprintf(steps, sizeof(steps), "%llu", (unsigned long long)j->totals.steps);
	clock_duration(took, sizeof(took), jobs_positive(sums_total(s)));
	if (l->brief)
		when[YEAR + SEEN_BRIEF] = '\0';
	columns_row(&l->out, l->columns, COLS, cells);
}

static void jobs_job_json(struct listing *l, const struct store_job *j,
			  const struct store_totals *counts)
{
	struct buffer *out = &l->out;
	int watched = store_watched(j, l->now_ns);
	struct report_times times;
	const char *name;

	json_open(out, NULL, '{');
	json_int(out, "id", j->id);
	json_string(out, "key", j->key);
	json_known(out, "name", j->name);
	json_known(out, "uid", j->uid);
	json_known(out, "state", j->state);
	if (watched < 0)
		json_null(out, "watched");
	else
		json_bool(out, "watched", watched);
	json_string(out, "source", j->logged ? "log" : "watch");
	json_string(out, "history", job_history(j->carried));
	json_time(out, "first_seen", j->first_ns);
	json_time(out, "last_seen", j->last_ns);
	json_uint(out, "runs", j->runs);
	json_uint(out, "ranks", j->ranks);
	json_uint(out, "alive", j->alive);
	json_uint(out, "disruptions", j->disruptions);
	json_uint(out, "checkpoints", j->checkpoints);
	json_uint(out, "steps", j->totals.steps);
	json_uint(out, "max_step", j->max_step);
	report_times_of_sketch(&times, &j->totals.times, report_ideal_ns(&j->totals.times));
	report_times_json(out, &times);
	json_int(out, "elapsed_ns", sums_total(&counts->sums));
	json_uint(out, "excluded_ns", counts->excluded_ns);
	json_open(out, "buckets", '{');
	for (uint32_t i = 0; (name = store_bucket(l->store, i)); i++)
		if (counts->sums.ns[i])
			json_int(out, name, counts->sums.ns[i]);
	json_close(out, '}');
	json_close(out, '}');
}

static const struct store_span everything;

static int jobs_show(void *ctx, const struct store_job *j)
{
	struct listing *l = ctx;
	/* totals without the excluded time */
	struct store_totals *counts = malloc(sizeof(*counts));
	int err = counts ? store_job_totals(l->store, j->id, &everything, true, counts) : -ENOMEM;

	if (!err && l->json)
		jobs_job_json(l, j, counts);
	else if (!err)
		jobs_job_line(l, j, counts);
	l->any = true;
	l->excluded |= !err && counts->excluded_ns;
	free(counts);
	return err;
}

static int jobs_list(struct listing *l)
{
	struct store_job *one;
	int err;

	if (!l->only)
		return store_jobs(l->store, &everything, jobs_show, l);
	one = malloc(sizeof(*one));
	err = one ? store_job(l->store, l->only, one) : -ENOMEM;
	err = err ? err : jobs_show(l, one);
	free(one);
	return err;
}

static int cmd_jobs_run(const struct options *o)
{
	struct listing l = {
		.json = o->json, .only = o->argc ? o->argv[0] : NULL, .now_ns = clock_real_ns()};
	int err = history_open(&l.store, o, STORE_READ);

	if (err)
		return EXIT_RUNTIME;
	cmd_jobs_columns_begin(&l, o->wide ? 0 : tty_cols(STDOUT_FILENO));
	if (l.json) {
		json_open(&l.out, NULL, '{');
		json_uint(&l.out, "schema", JOBS_SCHEMA);
		json_open(&l.out, "jobs", '[');
	}
	err = jobs_list(&l);
	if (l.json) {
		json_close(&l.out, ']');
		json_close(&l.out, '}');
		buffer_add(&l.out, "\n", 1);
	}
	if (!err && l.out.failed)
		err = -ENOMEM;
	if (l.excluded && !l.json)
		buffer_printf(&l.out, "elapsed and goodput: without excluded time\n");
	if (err)
		log_error("jobs: %s", err == -ENOENT ? "no such job" : store_why(err));
	else if (l.out.len)
		fwrite(l.out.data, 1, l.out.len, stdout);
	else
		log_warn("%s: the store has no jobs yet", store_path(l.store));
	buffer_free(&l.out);
	store_close(l.store);
	return err ? EXIT_RUNTIME : EXIT_OK;
}

int cmd_jobs(int argc, char **argv)
{
	struct options o;
	int code = options_parse(&o, CMD_JOBS, argc, argv);

	if (code >= 0)
		return code;
	if (o.argc > 1) {
		log_error("jobs: more than one name: gp-bpf jobs [options] [NAME]");
		code = EXIT_USAGE;
	} else {
		code = cmd_jobs_run(&o);
	}
	options_free(&o);
	return code;
}
