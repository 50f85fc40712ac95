/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/file/csv_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/csv_text.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/export/disruption.h"
#include "userspace/export/file/line_writer.h"

struct csv_report {
	struct store *st;
	const struct store_span *span;
	struct line_writer *writer; /* writer of the current table */
	const struct store_run *run;
	const struct store_rank *rank;
};

static void csv_store_row_end(struct csv_report *c)
{
	csv_row(line_writer_buffer(c->writer));
	line_writer_line(c->writer);
}

static void csv_store_time(struct buffer *b, int64_t at_ns)
{
	csv_time(b, at_ns == STORE_NONE ? 0 : at_ns);
}

/* ---- minutes --------------------------------------------------------------------------------- */

static void csv_store_minutes_header(struct csv_report *c)
{
	struct buffer *b = line_writer_buffer(c->writer);
	const char *name;

	buffer_printf(b, "run,rank,pid,from,to,steps,step_p50_ns,step_p99_ns");
	for (uint32_t i = 0; (name = store_bucket(c->st, i)); i++)
		csv_text(b, name);
	csv_store_row_end(c);
}

static int csv_store_minute_row(void *ctx, int64_t from_ns, int64_t to_ns,
				const struct store_totals *t)
{
	struct csv_report *c = ctx;
	struct buffer *b = line_writer_buffer(c->writer);

	csv_uint(b, c->run->attempt);
	csv_int_if(b, c->rank->rank >= 0, c->rank->rank);
	csv_uint(b, c->rank->pid);
	csv_time(b, from_ns);
	csv_time(b, to_ns);
	csv_uint(b, t->steps);
	csv_nonzero(b, sketch_quantile(&t->times, 0.5));
	csv_nonzero(b, sketch_quantile(&t->times, 0.99));
	for (uint32_t i = 0; store_bucket(c->st, i); i++)
		csv_int(b, t->sums.ns[i]);
	csv_store_row_end(c);
	return 0;
}

static int csv_store_minutes_of_rank(void *ctx, const struct store_rank *r)
{
	struct csv_report *c = ctx;

	c->rank = r;
	return store_minutes(c->st, r->id, c->span, csv_store_minute_row, c);
}

static int csv_store_minutes_of_run(void *ctx, const struct store_run *r)
{
	struct csv_report *c = ctx;

	c->run = r;
	return store_ranks(c->st, r->id, csv_store_minutes_of_rank, c);
}

static int csv_store_minutes(struct csv_report *c, int64_t job)
{
	csv_store_minutes_header(c);
	return store_runs(c->st, job, csv_store_minutes_of_run, c);
}

/* ---- events ---------------------------------------------------------------------------------- */

static int csv_store_checkpoint_row(void *ctx, const struct store_checkpoint *k)
{
	struct csv_report *c = ctx;
	struct buffer *b = line_writer_buffer(c->writer);

	csv_text(b, k->restore ? "restore" : "save");
	csv_text(b, k->restore ? NULL : k->async ? "async" : "sync");
	csv_int_if(b, k->rank >= 0, k->rank);
	csv_store_time(b, k->start_ns);
	csv_store_time(b, k->closed ? k->end_ns : STORE_NONE);
	csv_int_if(b, k->closed && k->end_ns != STORE_NONE, k->end_ns - k->start_ns);
	csv_int_if(b, k->bytes != STORE_NONE, k->bytes);
	csv_uint(b, k->files);
	csv_int_if(b, k->step != STORE_NONE, k->step);
	csv_int_if(b, k->run_step != STORE_NONE, k->run_step);
	csv_text(b, k->file);
	csv_int_if(b, k->restore && k->saved_step != STORE_NONE, k->saved_step);
	csv_text(b, k->restore ? k->known_by : NULL);
	if (k->restore)
		csv_real(b, k->confidence);
	else
		csv_none(b);
	csv_bool(b, k->estimated);
	csv_store_row_end(c);
	return 0;
}

static int csv_store_checkpoints(struct csv_report *c, int64_t job)
{
	buffer_printf(
		line_writer_buffer(c->writer),
		"op,mode,rank,start,end,duration_ns,bytes,files,step,run_step,file,saved_step,match,confidence,estimated");
	csv_store_row_end(c);
	return store_checkpoints(c->st, job, c->span, csv_store_checkpoint_row, c);
}

static int csv_store_disruption(void *ctx, const struct disruption_row *d)
{
	struct csv_report *c = ctx;
	struct buffer *b = line_writer_buffer(c->writer);

	csv_int(b, d->id);
	csv_int_if(b, d->rank >= 0, d->rank);
	csv_nonzero(b, d->pid);
	disruption_csv(b, d);
	csv_store_row_end(c);
	return 0;
}

static int csv_store_disruptions(struct csv_report *c, int64_t job)
{
	buffer_printf(line_writer_buffer(c->writer), "id,rank,pid," DISRUPTION_COLUMNS);
	csv_store_row_end(c);
	return store_disruptions(c->st, job, c->span, csv_store_disruption, c);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int csv_store_table(struct csv_report *c, int64_t job, const char *dir, const char *file,
			   int (*fill)(struct csv_report *c, int64_t job))
{
	char *path;
	int err, lost;

	if (asprintf(&path, "%s/%s", dir, file) < 0)
		return -ENOMEM;
	err = line_writer_open(&c->writer, path, &(struct line_writer_config){.blocking = true});
	free(path);
	if (err)
		return err;
	err = fill(c, job);
	if (err)
		log_error("report: cannot read the history: %s", store_why(err));
	lost = line_writer_close(c->writer);
	return err ? err : lost;
}

int csv_store_write(const char *arg, struct store *st, const struct store_job *job,
		    const struct store_span *span)
{
	struct csv_report c = {.st = st, .span = span};
	char shown[256];
	int err = path_make(arg, 0755);

	if (err) {
		log_error("export to %s: cannot make the folder: %s",
			  log_escape(shown, sizeof(shown), arg, strlen(arg)), path_why(err));
		return err;
	}
	err = csv_store_table(&c, job->id, arg, "minutes.csv", csv_store_minutes);
	err = err ? err
		  : csv_store_table(&c, job->id, arg, "checkpoints.csv", csv_store_checkpoints);
	return err ? err
		   : csv_store_table(&c, job->id, arg, "disruptions.csv", csv_store_disruptions);
}
