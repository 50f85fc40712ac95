/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/output/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/file.h"
#include "userspace/base/helper.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/base/table.h"
#include "userspace/export/file/file_writer.h"
#include "userspace/store/intake.h"
#include "userspace/store/writer.h"
#include "userspace/report/html.h"

#define LINES_MAX    8	   /* limit of jobs whose step times are kept */
#define PENDING_MAX  65536 /* limit of steps that are kept until a snapshot shows their process */
#define WIDTH_NS     1000000ull
#define PIPE_WAIT_MS 2000

/* The step times of a job, taken from its reference rank */
struct line {
	char key[INTAKE_KEY_MAX];
	uint32_t pid;
	struct curve *curve;
	struct program_view rates; /* rates (such as MFU) of the job in the last snapshot */
	/* for the verdicts; a store has fewer facts, such as no samples of Python lines */
	struct verdict_facts facts;
	double accelerator_ns[BUCKET_COUNT];
};

struct page {
	char *file;
	struct store_writer *store;
	struct table *seen; /* pid -> processes that were in a snapshot */
	struct line lines[LINES_MAX];
	uint32_t nlines;
	struct program_config program;
	uint32_t pid; /* process whose steps are in `pending`; 0: none */
	struct {
		int64_t at_ns;
		uint64_t step_ns;
	} * pending;
	uint32_t npending;
	bool made; /* this process has created the file, which is still empty */
	int error;
};

/* ---- files ----------------------------------------------------------------------------------- */

static int page_fail(const char *file, int err)
{
	if (err)
		log_error("--html %s: %s", file,
			  err == -ETIMEDOUT ? "its disk or the reader of the pipe does not answer"
					    : file_writer_why(err));
	return err;
}

/* Writes to standard output or a pipe. wait_ms: how long to wait for the reader (-1: no limit). */
static int page_write_all(int fd, const char *data, size_t len, int wait_ms)
{
	while (len) {
		ssize_t n = file_write_ready(fd, data, len, wait_ms);

		if (n < 0)
			return n == -EAGAIN ? -ETIMEDOUT : (int)n;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int page_pipe_make(const char *file, const char *data, size_t len)
{
	int fd = path_open_fifo(file, O_WRONLY | O_CREAT | O_TRUNC, 0644, PIPE_WAIT_MS), err;

	if (fd < 0)
		return fd;
	err = page_write_all(fd, data, len, PIPE_WAIT_MS);
	return close(fd) && !err ? -errno : err;
}

/* Writes the file in a helper process, because a disk that does not respond blocks the writing
 * process. */
static int page_file_make(const char *file, const char *data, size_t len)
{
	struct file_writer_result result = {0};
	struct file_writer *w;
	int err, lost;

	if (!strcmp(file, "-"))
		return page_fail(file, page_write_all(STDOUT_FILENO, data, len, -1));
	err = file_writer_open(&w, file, false, NULL);
	if (err)
		return page_fail(file, err == -ENOTSUP ? page_pipe_make(file, data, len) : err);
	while (len && !err) {
		if (!file_writer_give(w, data, len))
			err = -EBUSY;
		else if (file_writer_take(w, FILE_WRITER_OPEN_MS, &result))
			err = -ETIMEDOUT;
		err = err ? err : result.err;
		data += err ? 0 : result.bytes;
		len -= err ? 0 : result.bytes;
	}
	lost = file_writer_close(w, FILE_WRITER_OPEN_MS);
	return page_fail(file, err ? err : lost);
}

/* Checks that the file can be written. Does not change its content. */
static int page_file_try(const char *file, bool *ret_made)
{
	struct file_writer *w;
	int err = file_writer_open(&w, file, true, NULL), fd;
	struct stat st;

	if (err == -ENOTSUP && !stat(file, &st) && S_ISFIFO(st.st_mode))
		/* do not open a FIFO: closing it would end the page for its reader */
		return 0;
	if (!err) {
		*ret_made = file_writer_made(w);
		return page_fail(file, file_writer_close(w, FILE_WRITER_OPEN_MS));
	}
	fd = err == -ENOTSUP ? path_open_fifo(file, O_WRONLY | O_CREAT, 0644, PIPE_WAIT_MS) : err;
	if (fd < 0)
		return page_fail(file, fd);
	close(fd);
	return 0;
}

static ssize_t page_remove_there(const void *arg, void *ret, size_t cap)
{
	const char *name;
	int folder = path_parent(*(const char *const *)arg, &name);

	(void)ret;
	(void)cap;
	if (folder >= 0)
		unlinkat(folder, name, 0);
	if (folder >= 0)
		close(folder);
	return 0;
}

int page_put(const char *file, const struct report_document *s)
{
	struct buffer out = {0};
	int err;

	html_report(&out, s);
	err = out.failed ? page_fail(file, -ENOMEM) : page_file_make(file, out.data, out.len);
	buffer_free(&out);
	return err;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static struct line *page_line_of(struct page *p, const char *key)
{
	for (uint32_t i = 0; i < p->nlines; i++)
		if (!strcmp(p->lines[i].key, key))
			return &p->lines[i];
	return NULL;
}

static bool page_line_renamed(struct page *p, const struct snapshot *s, const struct job_view *j,
			      const char *key)
{
	char former[INTAKE_KEY_MAX];
	struct line *l = NULL;

	for (uint32_t i = j->nformer_names; !l && i-- > 0;) {
		intake_former_key(former, s, &j->former_names[i]);
		l = page_line_of(p, former);
	}
	if (l)
		snprintf(l->key, sizeof(l->key), "%s", key);
	return l;
}

static void page_line_new(struct page *p, const char *key)
{
	struct line *l = &p->lines[p->nlines];

	if (p->nlines == LINES_MAX)
		return;
	l->curve = malloc(sizeof(*l->curve));
	if (!l->curve) {
		p->error = -ENOMEM;
		return;
	}
	curve_init(l->curve, WIDTH_NS);
	snprintf(l->key, sizeof(l->key), "%s", key);
	p->nlines++;
}

static void page_line_update(struct line *l, const struct snapshot *s, const struct job_view *j)
{
	if (!l)
		return;
	l->pid = j->reference_pid ? j->reference_pid : l->pid;
	l->rates = j->program;
	verdict_facts_of_job(&l->facts, s, j);
	memcpy(l->accelerator_ns, j->accelerator_ns, sizeof(l->accelerator_ns));
}

static void page_step_put(struct page *p, uint32_t pid, int64_t at_ns, uint64_t step_ns)
{
	for (uint32_t i = 0; i < p->nlines; i++)
		if (p->lines[i].pid == pid)
			curve_add(p->lines[i].curve, at_ns, step_ns);
}

static void page_pending_put(struct page *p)
{
	for (uint32_t i = 0; i < p->npending; i++)
		page_step_put(p, p->pid, p->pending[i].at_ns, p->pending[i].step_ns);
	p->npending = 0;
	p->pid = 0;
}

/* Adds the time of a step to the curve of its job, by the rules of the store (store/intake.c). */
static void page_step_take(struct page *p, const struct fact *f)
{
	const struct step *st = &f->step->step;
	int64_t at_ns = f->real_ns - (int64_t)(f->mono_ns - st->end_ns);

	if ((st->flags & STEP_NO_SAMPLE) || !f->real_ns)
		return;
	if (table_get(p->seen, f->pid)) {
		page_step_put(p, f->pid, at_ns, st->end_ns - st->start_ns);
		return;
	}
	p->pid = f->pid;
	if (p->npending == PENDING_MAX)
		return;
	p->pending[p->npending].at_ns = at_ns;
	p->pending[p->npending++].step_ns = st->end_ns - st->start_ns;
}

void page_fact(struct page *p, const struct fact *f)
{
	store_writer_fact(p->store, f);
	if (f->type == FACT_STEP)
		page_step_take(p, f);
	else if (f->type == FACT_RANK && f->state->state == STATE_ENDED)
		table_take(p->seen, f->pid); /* the pid may be reused by another process */
}

bool page_wants(const struct page *p)
{
	return p->pid;
}

void page_snapshot(struct page *p, const struct snapshot *s, bool wait)
{
	for (uint32_t i = 0; i < s->njobs; i++) {
		const struct job_view *j = &s->jobs[i];
		char key[INTAKE_KEY_MAX];

		intake_key(key, s, j);
		if (!page_line_of(p, key) && !page_line_renamed(p, s, j, key))
			page_line_new(p, key);
		page_line_update(page_line_of(p, key), s, j);
	}
	p->program = s->program;
	for (uint32_t i = 0; i < s->nranks; i++)
		if (s->ranks[i].trainer && s->ranks[i].alive &&
		    table_put(p->seen, s->ranks[i].pid, p))
			p->error = -ENOMEM;
	page_pending_put(p);
	store_writer_snapshot(p->store, s, wait);
}

/* ---- life ------------------------------------------------------------------------------------ */

int page_open(struct page **ret, const char *file)
{
	struct store_writer_options o = {.path = ":memory:", .named = true};
	struct page *p = calloc(1, sizeof(*p));
	int err = p ? 0 : -ENOMEM;

	if (!err) {
		p->file = strdup(file);
		p->seen = table_new();
		p->pending = calloc(PENDING_MAX, sizeof(*p->pending));
		err = p->file && p->seen && p->pending ? store_writer_open(&p->store, &o) : -ENOMEM;
	}
	if (err == -ENOMEM)
		log_error("--html %s: %s", file, strerror(-err));
	if (!err && strcmp(file, "-") != 0)
		err = page_file_try(file, &p->made);
	if (err) {
		page_drop(p);
		return err;
	}
	*ret = p;
	return 0;
}

struct most {
	struct page *page;
	struct store_job job;
	uint32_t jobs;
	int err;
};

static int page_most_steps(void *ctx, const struct store_job *j)
{
	struct most *m = ctx;

	if (!m->jobs++ || j->totals.steps > m->job.totals.steps)
		m->job = *j;
	return 0;
}

static struct curve *page_curve_of(struct page *p, const struct store_job *j)
{
	struct line *l = page_line_of(p, j->key);
	struct curve *s = l ? l->curve : NULL;

	if (l)
		l->curve = NULL;
	return s;
}

/* Adds what only snapshots have: rates, and facts for the verdicts. */
static void page_live_put(const struct page *p, struct report_document *s)
{
	for (uint32_t i = 0; i < p->nlines; i++) {
		const struct line *l = &p->lines[i];

		if (strcmp(l->key, s->job.key) != 0)
			continue;
		s->program = p->program;
		s->rates = l->rates;
		verdict_find(&s->verdicts, &l->facts);
		memcpy(s->accelerator_ns, l->accelerator_ns, sizeof(s->accelerator_ns));
	}
}

static int page_write_from_store(void *ctx, struct store *st)
{
	static const struct store_span everything;
	struct most *m = ctx;
	struct report_document *s = NULL;
	int err = store_jobs(st, &everything, page_most_steps, m);

	if (!err && !m->jobs)
		err = -ENODATA;
	err = err ? err
		  : document_of_store(&s, st, &m->job, &everything,
				      page_curve_of(m->page, &m->job));
	if (err == -ENODATA)
		log_error("--html %s: no page was written: no training loop was found",
			  m->page->file);
	else if (err)
		log_error("--html %s: %s", m->page->file, store_why(err));
	if (!err) {
		page_live_put(m->page, s);
		err = page_put(m->page->file, s);
		m->page->made = false;
	}
	if (!err && m->jobs > 1)
		log_warn("--html %s: of %u jobs, the page shows only %s, with the most steps",
			 m->page->file, m->jobs, document_name(s));
	document_close(s);
	return err;
}

int page_close(struct page *p)
{
	struct most *m;
	int err;

	if (!p)
		return 0;
	m = calloc(1, sizeof(*m));
	err = m ? p->error : -ENOMEM;
	if (err)
		log_error("--html %s: %s", p->file, strerror(-err));
	if (m)
		m->page = p;
	err = err ? err : store_writer_read(p->store, page_write_from_store, m);
	free(m);
	page_drop(p);
	return err;
}

void page_drop(struct page *p)
{
	if (!p)
		return;
	store_writer_close(p->store);
	if (p->made)
		helper_once(page_remove_there, &p->file, sizeof(p->file), NULL, 0,
			    FILE_WRITER_OPEN_MS);
	for (uint32_t i = 0; i < p->nlines; i++)
		free(p->lines[i].curve);
	table_free(p->seen, NULL);
	free(p->pending);
	free(p->file);
	free(p);
}
