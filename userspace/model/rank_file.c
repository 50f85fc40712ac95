/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a process that may be checkpoints: into its phases, and into the table of its job. */
#include "userspace/model/rank.h"

#include <errno.h>
#include <string.h>

#include "userspace/base/hash.h"

struct file_event {
	const struct event *ev;
	struct checkpoint_file file;
	struct checkpoint_name name;
	char path[GP_PATH_MAX];
};

/* A folder, by its last two parts: of a long path the beginning is cut. */
static uint64_t folder_unit(const char *path, size_t len)
{
	size_t from = len, parts = 0;

	while (from && (parts += path[from - 1] == '/') < 2)
		from--;
	return hash_bytes(HASH_START, path + from, len - from);
}

static struct signal file_signal(const struct file_event *f)
{
	uint64_t now_ns = f->ev->rec->ts_ns, since_ns = f->ev->file->since_ns;

	return (struct signal){
		.tid = f->ev->rec->tid,
		.ts_ns = now_ns,
		.begin_ns = since_ns && since_ns < now_ns ? since_ns : now_ns,
		.count = f->file.bytes,
		.text = f->path,
		.ident = f->name.folder ? folder_unit(f->path, f->name.len) : 0,
	};
}

uint64_t rank_step_at(const struct rank *r, uint32_t tid, uint64_t at_ns)
{
	const struct rank *from = !r->trainer && job_reference(r) ? job_reference(r) : r;
	const struct rank_loop *lp = from->nloops ? from->loops[0] : NULL;
	uint64_t n;

	for (uint32_t i = 0; i < from->nloops; i++)
		if (from->loops[i]->tid == tid && from->loops[i]->steps)
			lp = from->loops[i];
	if (!lp)
		return 0;
	n = lp->steps < RANK_DONE ? lp->steps : RANK_DONE;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = (lp->steps - i) % RANK_DONE;

		if (lp->done[at].from_ns <= at_ns)
			return lp->done[at].number;
	}
	/* Before the first, or before all that are remembered. */
	return n && lp->done[(lp->steps - n + 1) % RANK_DONE].number > 1
		       ? lp->done[(lp->steps - n + 1) % RANK_DONE].number - 1
		       : 0;
}

const struct checkpoint *rank_files_stepped(struct rank *r, const struct rank_note *n,
					    uint64_t step)
{
	struct checkpoints *c = job_checkpoints(r, false);

	r->saved.begin_ns = n->span.begin_ns;
	r->saved.end_ns = n->span.end_ns;
	r->saved.step = step;
	return c ? checkpoints_stepped(c, n->pid, n->span.begin_ns, n->span.end_ns, step) : NULL;
}

void rank_files_step(struct rank *r, uint64_t from_ns, uint64_t number)
{
	struct checkpoints *c = job_checkpoints(r, false);

	if (c && r->wrote_ns >= from_ns)
		checkpoints_raise(c, r->pid, from_ns, number);
	else
		r->wrote_ns = 0;
}

static int file_written(struct rank *r, const struct file_event *f)
{
	struct signal s = file_signal(f);
	struct checkpoint_write w = {
		.file = f->file,
		.path = f->path,
		.begin_ns = s.begin_ns,
		.end_ns = s.ts_ns,
		.pid = r->pid,
		.step = rank_step_at(r, s.tid, s.begin_ns),
	};
	struct checkpoints *c = job_checkpoints(r, true);
	/* What data sets are called too is data until somebody trains. */
	bool likely = f->name.format && (!f->name.data || w.step);

	if (!c || f->name.log)
		return 0;
	if (!r->phase && likely && rank_open(r))
		return -ENOMEM;
	w.likely = r->phase && phase_written(r->phase, &s, likely);
	if (!checkpoints_wrote(c, &w))
		return -ENOMEM;
	r->wrote_ns = w.begin_ns;
	if (s.begin_ns >= r->saved.begin_ns &&
	    s.begin_ns <= r->saved.end_ns) /* told before it was closed */
		checkpoints_stepped(c, r->pid, s.begin_ns, s.begin_ns, r->saved.step);
	return 0;
}

/* A checkpoint that is read once there are steps is looked at, not gone on from; and so is one's
 * own. */
static int file_opened(struct rank *r, const struct file_event *f)
{
	const struct checkpoints *c = job_checkpoints(r, false);
	struct signal s = file_signal(f);
	struct checkpoint_match m;
	bool stepped = r->nloops && r->loops[0]->steps, sure = f->name.format && !f->name.data;
	bool known = c && checkpoints_match(c, &f->file, f->path, &m) && m.pid != r->pid &&
		     (m.likely || m.step);

	if (stepped || (!known && !f->name.format))
		return 0;
	if (known || sure || f->name.format == CHECKPOINT_TORCH)
		checkpoint_resume_read(&r->resume, known ? &m : NULL, &f->name);
	if (known && r->resume.best.number == m.number)
		r->resume_ns = s.ts_ns;
	if (!known && !sure)
		return 0;
	if (!r->phase && rank_open(r))
		return -ENOMEM;
	phase_opened(r->phase, &s);
	return 0;
}

static void file_renamed(struct rank *r, const struct event *ev)
{
	char from[GP_PATH_MAX], to[GP_PATH_MAX];
	struct checkpoints *c = job_checkpoints(r, false);
	const struct checkpoint *k = NULL;

	event_text(from, sizeof(from), ev->renamed->from, sizeof(ev->renamed->from));
	event_text(to, sizeof(to), ev->renamed->to, sizeof(ev->renamed->to));
	if (r->phase)
		phase_renamed(r->phase, folder_unit(from, strlen(from)), ev->rec->ts_ns);
	if (c)
		k = checkpoints_renamed(c, r->pid, from, to, ev->rec->ts_ns);
	if (k && k->whole && k->stepped)
		job_saved(r, k->step);
}

int rank_file(struct rank *r, const struct event *ev)
{
	struct file_event f = {.ev = ev};
	struct signal s;

	if (r->ledger)
		ledger_advance(r->ledger, ev->rec->ts_ns);
	if (ev->rec->kind == GP_KIND_renamed) {
		file_renamed(r, ev);
		return 0;
	}
	event_text(f.path, sizeof(f.path), ev->file->path, sizeof(ev->file->path));
	f.name = checkpoint_name(f.path);
	f.file = (struct checkpoint_file){
		.dev = ev->file->dev,
		.ino = ev->file->ino,
		.bytes = ev->file->bytes,
		.mtime_ns = ev->file->mtime_ns,
		.generation = ev->file->generation,
	};
	switch (ev->file->op) {
	case GP_FILE_WRITTEN:
		return file_written(r, &f);
	case GP_FILE_OPENED:
		return file_opened(r, &f);
	case GP_FILE_READ:
		s = file_signal(&f);
		if (r->phase)
			phase_read(r->phase, &s);
		return 0;
	default:
		return 0;
	}
}
