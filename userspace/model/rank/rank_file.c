/* SPDX-License-Identifier: Apache-2.0 */
/* rank_file.c - handles files of a process that may be checkpoints: passes them to the phases of
 * the process, and to the table of checkpoints of its job. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/hash.h"

struct file_event {
	const struct event *ev;
	struct checkpoint_file file;
	struct checkpoint_name name;
	char path[GP_PATH_MAX];
};

/* Returns a hash of the last two parts of a path. The kernel side cuts off the beginning of a long
 * path, so the other parts cannot be used. */
static uint64_t rank_file_folder_unit(const char *path, size_t len)
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
		.ident = f->name.folder ? rank_file_folder_unit(f->path, f->name.len) : 0,
	};
}

/* ---- the step in a checkpoint ---------------------------------------------------------------- */

static int file_written(struct rank *r, const struct file_event *f)
{
	struct signal s = file_signal(f);
	struct checkpoint_write w = {
		.file = f->file,
		.path = f->path,
		.begin_ns = s.begin_ns,
		.end_ns = s.ts_ns,
		.born_ns = f->ev->file->born_ns,
		.pid = r->member.pid,
		.tid = s.tid,
		.step = rank_step_at(r, s.tid, s.begin_ns, NULL),
	};
	const struct checkpoint_span span = {r->member.pid, s.tid, s.begin_ns, s.begin_ns};
	struct checkpoints *c = job_checkpoints(&r->member, true);
	/* before training, a file whose name may also be that of a data file is not a likely
	 * checkpoint */
	bool likely = f->name.format && (!f->name.data || w.step);

	if (!c || f->name.log)
		return 0;
	if (!r->phase && likely && rank_open(r))
		return -ENOMEM;
	w.likely = r->phase && phase_written(r->phase, &s, likely);
	if (!checkpoints_wrote(c, &w))
		return -ENOMEM;
	r->wrote_ns = w.begin_ns;
	if (s.tid == r->saved.tid && s.begin_ns >= r->saved.begin_ns &&
	    s.begin_ns <= r->saved.end_ns)
		checkpoints_stepped(c, &span, r->saved.step,
				    /* the step of this checkpoint was determined before the file
				     * was closed */
				    r->saved.estimated);
	return 0;
}

/* Handles a file that was opened for reading. The process may resume from a checkpoint only before
 * its first step, and not from a checkpoint that it wrote itself. */
static int file_opened(struct rank *r, const struct file_event *f)
{
	const struct checkpoints *c = job_checkpoints(&r->member, false);
	struct signal s = file_signal(f);
	struct checkpoint_match m;
	bool stepped = r->nloops && r->loops[0]->steps, sure = checkpoint_name_resumes(&f->name);
	bool known = c && checkpoints_match(c, &f->file, f->path, &m) && m.pid != r->member.pid &&
		     (m.likely || m.step);

	if (stepped || f->name.listed)
		return 0;
	if (known || sure || f->name.format == CHECKPOINT_TORCH)
		checkpoint_resume_read(&r->member.resume, known ? &m : NULL, f->path, &f->name);
	if (known && r->member.resume.best.number == m.number)
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
	struct checkpoints *c = job_checkpoints(&r->member, false);
	const struct checkpoint *k = NULL;

	event_copy(from, ev->renamed->from);
	event_copy(to, ev->renamed->to);
	if (r->phase)
		phase_renamed(r->phase, rank_file_folder_unit(from, strlen(from)), ev->rec->ts_ns);
	if (c)
		k = checkpoints_renamed(c, r->member.pid, from, to, ev->rec->ts_ns);
	if (k && k->whole && k->stepped)
		rank_saved(r, k->step);
}

int rank_file(struct rank *r, const struct event *ev)
{
	struct file_event f = {.ev = ev};
	struct signal s;

	r->member.env->files = true;
	if (r->phase)
		phase_files(r->phase);
	if (r->member.ledger)
		ledger_advance(r->member.ledger, ev->rec->ts_ns);
	if (ev->rec->kind == GP_KIND_renamed) {
		file_renamed(r, ev);
		return 0;
	}
	event_copy(f.path, ev->file->path);
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
