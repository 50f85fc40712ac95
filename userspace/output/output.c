/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - passes records to the model, and its results to views, exports and the store. */
#include "userspace/output/output_private.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/file.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"
#include "userspace/base/tty.h"
#include "userspace/export/export.h"
#include "userspace/output/history.h"
#include "userspace/ingest/stream.h"
#include "userspace/model/model.h"
#include "userspace/output/page.h"
#include "userspace/store/writer.h"
#include "userspace/report/explain.h"
#include "userspace/report/report.h"
#include "userspace/view/view.h"

static void output_on_fact(void *ctx, const struct fact *f)
{
	struct output *out = ctx;
	struct fact own = *f;

	own.repeated = out->replaying;
	out->seen.steps += f->type == FACT_STEP && !out->replaying;
	export_set_fact(out->exports, &own);
	if (out->store)
		store_writer_fact(out->store, &own);
	if (out->page)
		page_fact(out->page, &own);
	if (out->plain && !out->replaying && out->events)
		plain_event(out->plain, f);
	else if (out->plain && !out->replaying)
		plain_fact(out->plain, f);
}

/* Adds the state of the store to a snapshot. Call before the snapshot is passed to exporters or
 * views. */
static void output_fill_store(const struct output *out, struct snapshot *s)
{
	struct store_writer_stats is;

	_Static_assert((int)STORE_TROUBLE_COUNT <= STORE_CAUSES, "a place for each cause");
	if (!out->store)
		return;
	store_writer_stats(out->store, &is);
	s->store = (struct store_view){
		.kept = true,
		.up = is.up,
		.transactions = is.written,
		.bytes = is.bytes,
		.waiting = is.waiting,
		.last_ns = is.last_ns,
		.nfailed = STORE_TROUBLE_COUNT,
		.lost_ranks = is.lost_ranks,
		.lost_notes = is.lost_notes,
		.lost_facts = is.lost_facts,
	};
	for (uint32_t i = 0; i < STORE_TROUBLE_COUNT; i++) {
		s->store.failed[i].cause = store_trouble_name[i];
		s->store.failed[i].count = is.failed[i];
	}
}

static void output_keep_snapshot(struct output *out)
{
	/* the store and the HTML page need no details */
	struct snapshot *s = model_snapshot_brief(out->model);

	if (!s)
		return;
	if (out->store && out->by_events)
		store_writer_snapshot(out->store, s, true);
	if (out->page)
		page_snapshot(out->page, s, out->by_events);
	snapshot_unref(s);
}

static struct snapshot *output_moment(void *ctx)
{
	return model_snapshot(((struct output *)ctx)->model);
}

static void output_on_event(void *ctx, const struct event *ev)
{
	struct output *out = ctx;
	int err = model_feed(out->model, ev);

	if (err && !out->error) {
		log_error("a record was not counted: %s; the results from now on are incomplete",
			  strerror(-err));
		out->error = err;
	}
	if (out->by_events && ev->rec->kind == GP_KIND_tick)
		export_set_moment(out->exports, ev->rec->ts_ns, output_moment, out);
	if ((out->store || out->page) && out->by_events && ev->rec->kind == GP_KIND_tick)
		output_keep_snapshot(out);
	else if (out->page && page_wants(out->page))
		output_keep_snapshot(out);
}

static void output_on_log(void *ctx, enum log_level level, const char *line)
{
	(void)level;
	live_log(((struct output *)ctx)->live, line);
}

/* Opens the store. saved: the model was restored and will not send its session again, so the
 * session is passed to the store here. */
static int output_open_store(struct output *out, const struct options *o, bool saved)
{
	struct store_writer_options w = {.keep_ns = o->keep_ns,
					 .size_bytes = (uint64_t)o->state_bytes};
	char path[PATH_MAX];
	struct snapshot *s;
	int err = history_path(o, path);

	if (err <= 0)
		return err;
	w.path = path;
	w.named = o->store;
	err = store_writer_open(&out->store, &w);
	s = !err && saved ? model_snapshot(out->model) : NULL;
	if (s)
		store_writer_session(out->store, &s->session, s->session_ns);
	snapshot_unref(s);
	return err;
}

/* Write function of `plain`: if its reader is slow, lines are dropped, so that nothing waits. */
static ssize_t output_plain_write(void *cookie, const char *text, size_t len)
{
	log_pipe_write(cookie, text, len);
	return (ssize_t)len;
}

static int output_plain_close(void *cookie)
{
	return close(((struct log_pipe *)cookie)->fd);
}

static int output_open_view(struct output *out, enum output_view view, int plain_fd)
{
	int fd, err;

	if (view == VIEW_LIVE) {
		err = live_open(&out->live, STDIN_FILENO, STDOUT_FILENO);
		if (!err)
			log_show(output_on_log, out);
		return err;
	}
	if (view == VIEW_NONE)
		return 0;
	out->events = view == VIEW_EVENTS;
	fd = dup(plain_fd);
	if (fd < 0)
		return -errno;
	out->plain_pipe.fd = fd;
	out->plain = fopencookie(
		&out->plain_pipe, "w",
		(cookie_io_functions_t){.write = output_plain_write, .close = output_plain_close});
	if (!out->plain) {
		close(fd);
		return -errno;
	}
	setvbuf(out->plain, NULL, _IOLBF, 0);
	return 0;
}

static int output_open_model(struct output *out, const struct durable_state *saved)
{
	int err;

	if (!saved) {
		out->stream = stream_new(output_on_event, out);
		out->model = model_new(output_on_fact, out);
		return out->stream && out->model ? 0 : -ENOMEM;
	}
	err = stream_load(&out->stream, output_on_event, out, saved->stream.data,
			  saved->stream.len);
	if (!err)
		err = model_load(&out->model, output_on_fact, out, saved->model.data,
				 saved->model.len);
	if (!err)
		model_reported_upto(out->model, saved->last_fact);
	return err;
}

int output_open(struct output **ret, const struct options *o, enum output_view view, int plain_fd,
		int report_fd)
{
	return output_resume(ret, o, view, plain_fd, report_fd, NULL, false);
}

int output_resume(struct output **ret, const struct options *o, enum output_view view, int plain_fd,
		  int report_fd, const struct durable_state *saved, bool behind)
{
	struct output *out = calloc(1, sizeof(*out));
	int err;

	if (!out)
		return -ENOMEM;
	out->report_fd = report_fd;
	out->json = o->json;
	out->explain = o->explain;
	out->by_events = o->replay;
	out->color = tty_color(report_fd);
	err = output_open_model(out, saved);
	if (!err)
		err = output_open_exports(out, o, saved || behind);
	if (!err)
		err = output_open_store(out, o, saved);
	if (!err && o->html)
		err = page_open(&out->page, o->html);
	if (!err && !saved)
		model_reported_upto(out->model, export_set_last_written(out->exports));
	if (!err && saved)
		export_set_resume(out->exports, &saved->exports);
	if (!err)
		export_set_missed(out->exports, model_reported(out->model));
	if (!err)
		err = output_open_view(out, view, plain_fd);
	if (err) {
		output_close(out, false);
		return err;
	}
	*ret = out;
	return 0;
}

void output_save_exports(struct output *out, struct durable_state *ret)
{
	export_set_save(out->exports);
	/* Free the memory: after the disk was full, it may be large. */
	buffer_free(&ret->exports);
	export_set_archive(out->exports, &ret->exports);
	ret->last_fact = output_last_fact(out);
}

static void output_snapshot(struct output *out, bool shown);

int output_save(struct output *out, struct durable_state *ret)
{
	int err;

	/* Send the facts before the state is saved: the saved state counts these facts as sent, so
	 * they must not be lost if this process ends. */
	output_snapshot(out, false);
	buffer_clear(&ret->stream);
	buffer_clear(&ret->model);
	ret->upto_ns = clock_mono_ns();
	output_save_exports(out, ret);
	err = stream_save(out->stream, &ret->stream);
	return err ? err : model_save(out->model, &ret->model);
}

void output_finish(struct output *out)
{
	stream_finish(out->stream);
}

uint64_t output_last_fact(const struct output *out)
{
	return model_reported(out->model);
}

void output_hand_over(struct output *out)
{
	out->left = true;
	if (out->store)
		store_writer_hand_over(out->store);
}

static uint64_t output_last_exported(struct output *out)
{
	uint64_t exported = export_set_last_written(out->exports),
		 stored = out->store ? store_writer_last_written(out->store) : 0;

	return exported > stored ? exported : stored;
}

void output_replaying(struct output *out, bool yes)
{
	out->replaying = yes;
	/* After a damaged tape the model has sent fewer facts than the predecessor. Continue after
	 * the numbers in the files, so that a new fact does not get the number of an old one. */
	if (yes)
		return;
	model_reported_upto(out->model, output_last_exported(out));
	export_set_missed(out->exports, model_reported(out->model));
}

void output_processes(const struct output *out, model_process_fn *fn, void *ctx)
{
	model_processes(out->model, fn, ctx);
}

bool output_is_data(const struct options *o)
{
	return export_uses(o->exports.item, o->exports.count, o->dry_run).prints;
}

int output_feed(struct output *out, const void *records, size_t len)
{
	return stream_feed(out->stream, records, len);
}

void output_silent(const struct output *out, model_silent_fn *fn, void *ctx)
{
	model_silent(out->model, fn, ctx);
}

void output_stalled(const struct output *out, model_stalled_fn *fn, void *ctx)
{
	model_stalled(out->model, fn, ctx);
}

void output_unexplained(const struct output *out, bool all, model_trainer_fn *fn, void *ctx)
{
	model_unexplained(out->model, all, fn, ctx);
}

void output_trainers(const struct output *out, model_trainer_fn *fn, void *ctx)
{
	model_trainers(out->model, out->explain, fn, ctx);
}

void output_starved(const struct output *out, model_starved_fn *fn, void *ctx)
{
	model_starved(out->model, fn, ctx);
}

void output_slow(const struct output *out, model_trainer_fn *fn, void *ctx)
{
	model_slow(out->model, fn, ctx);
}

/* ---- of a node: what a service has seen in its life ------------------------------------------ */

/* Counts a job only once, even if its key changes (when its name becomes known). counts: false only
 * marks the job as counted. */
static void output_seen_job(struct output *out, const struct job_view *j, bool counts)
{
	bool known = table_get(out->jobs, j->key);

	for (uint32_t i = 0; i < j->nformer_names && !known; i++)
		known = table_get(out->jobs, j->former_names[i].key);
	out->seen.jobs += counts && !known;
	table_put(out->jobs, j->key, out);
}

/* Marks the jobs of a restored model as counted, because the predecessor counted them. */
static void output_seen_open(struct output *out)
{
	struct snapshot *s = model_snapshot_brief(out->model);

	out->jobs = table_new();
	for (uint32_t i = 0; out->jobs && s && i < s->njobs; i++)
		if (s->jobs[i].state != JOB_RUNNING)
			output_seen_job(out, &s->jobs[i], false);
	snapshot_unref(s);
}

static void output_seen_update(struct output *out, const struct snapshot *s)
{
	for (uint32_t i = 0; out->jobs && i < s->njobs; i++)
		if (s->jobs[i].last_step)
			output_seen_job(out, &s->jobs[i], true);
}

void output_seen(struct output *out, struct output_seen *ret)
{
	struct snapshot *s = model_snapshot_brief(out->model);

	if (s)
		output_seen_update(out, s);
	snapshot_unref(s);
	*ret = out->seen;
}

void output_node(struct output *out, const struct node_view *v)
{
	out->node = *v;
	if (!out->trains)
		out->trains = table_new();
	if (!out->jobs)
		output_seen_open(out);
}

void output_sum(const struct output *out, struct output_sum *ret)
{
	*ret = out->sum;
}

bool output_trains(const struct output *out, uint32_t pid)
{
	return out->trains && table_get(out->trains, pid);
}

static void output_fill_node(struct output *out, struct snapshot *s)
{
	uint64_t pid;

	if (!out->node.on)
		return;
	s->node = out->node;
	out->sum = (struct output_sum){0};
	for (int i = 0; i < GP_LOSS_CAUSE_COUNT; i++)
		out->sum.lost += s->lost[i];
	for (size_t i = 0; table_next(out->trains, &i, &pid);)
		table_take(out->trains, pid);
	for (uint32_t i = 0; i < s->nranks; i++) {
		if (!s->ranks[i].alive || !s->ranks[i].trainer)
			continue;
		out->sum.ranks++;
		table_put(out->trains, s->ranks[i].pid, out);
	}
	for (uint32_t i = 0; i < s->njobs; i++)
		out->sum.jobs += s->jobs[i].state == JOB_RUNNING;
	output_seen_update(out, s);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static bool output_snapshots_wanted(const struct output *out)
{
	return out->store || out->page || out->live || out->top || (out->plain && !out->events) ||
	       export_set_takes_snapshots(out->exports);
}

/* Makes a snapshot for exporters and the store. shown: also for the views. */
static void output_snapshot(struct output *out, bool shown)
{
	struct snapshot *s = output_snapshots_wanted(out) ? model_snapshot(out->model) : NULL;

	if (!s)
		return;
	output_fill_node(out, s);
	output_fill_store(out, s);
	export_set_view(out->exports, s);
	export_set_snapshot(out->exports, s);
	if (out->store)
		store_writer_snapshot(out->store, s, false);
	if (out->page)
		page_snapshot(out->page, s, false);
	if (out->live && shown)
		live_draw(out->live, s);
	if (out->top && shown)
		output_top_tick(out, s);
	if (out->plain && shown && !out->events)
		plain_snapshot(out->plain, s);
	snapshot_unref(s);
}

void output_tick(struct output *out)
{
	output_snapshot(out, true);
}

int output_key(struct output *out)
{
	if (out->top)
		return output_top_key(out);
	return out->live ? live_key(out->live) : 0;
}

int output_carry(const struct output *out, uint32_t i, struct carry *ret)
{
	return model_carry(out->model, i, ret);
}

uint64_t output_roles(const struct output *out)
{
	return model_roles(out->model);
}

uint32_t output_chosen(const struct output *out)
{
	return model_chosen(out->model);
}

bool output_is_live(const struct output *out)
{
	return out->live;
}

void output_resize(struct output *out)
{
	if (out->live)
		live_resize(out->live);
	if (out->top)
		output_top_resize(out);
}

static int output_write_report(struct output *out, const struct snapshot *s)
{
	struct buffer text = {0};
	int err;

	if (out->explain && out->json)
		explain_json(&text, s);
	else if (out->explain)
		explain_text(&text, s, tty_cols(out->report_fd), out->color);
	else if (out->json)
		report_json(&text, s);
	else
		report_text(&text, s, tty_cols(out->report_fd), out->color);
	err = text.failed ? -ENOMEM
			  : file_write_all(out->json ? STDOUT_FILENO : out->report_fd, text.data,
					   text.len);
	if (err)
		log_error("the report cannot be written: %s", strerror(-err));
	buffer_free(&text);
	return err;
}

int output_close(struct output *out, bool report)
{
	struct snapshot *s = NULL;
	int err, lost;

	if (!out)
		return 0;
	err = out->error;
	if (out->stream && out->model && out->exports) {
		if (!out->left)
			stream_finish(out->stream);
		s = model_snapshot(out->model);
	}
	if (s) {
		output_fill_node(out, s);
		output_fill_store(out, s);
		export_set_view(out->exports, s);
		export_set_snapshot(out->exports, s);
	}
	/* Call directly after the snapshot, so that exporters treat it as the last one. This must
	 * be quick: a successor cannot read the ring buffers until this process has released its
	 * lock. */
	if (out->exports)
		export_set_end(out->exports, out->left);
	if (s && out->store)
		store_writer_snapshot(out->store, s, false);
	if (s && out->page)
		page_snapshot(out->page, s, true);
	if (out->live) {
		log_show(NULL, NULL);
		live_close(out->live);
	}
	output_top_close(out);
	if (s && (report || out->json)) {
		lost = output_write_report(out, s);
		err = err ? err : lost;
	}
	snapshot_unref(s);
	if (out->exports) {
		lost = export_set_close(out->exports);
		err = err ? err : lost;
	}
	if (s) {
		lost = page_close(out->page);
		err = err ? err : lost;
	} else {
		page_drop(out->page);
	}
	lost = store_writer_close(out->store);
	err = err ? err : lost;
	if (out->plain)
		fclose(out->plain);
	table_free(out->trains, NULL);
	table_free(out->jobs, NULL);
	model_free(out->model);
	stream_free(out->stream);
	free(out);
	return err;
}
