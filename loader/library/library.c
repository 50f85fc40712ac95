/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - libraries of watched processes: scans, attaches, polls and forgets them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/library/library.h"
#include "loader/library/library_follow.h"
#include "loader/library/library_search.h"
#include "loader/library/library_private.h"
#include "loader/library/library_report.h"
#include "loader/library/library_user.h"
#include "loader/reader/mapping.h"
#include "loader/reader/reader.h"
#include "loader/site/site.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"

#define IDLE_NS 5000000000ull /* a library that has had no users for this time is detached */
/* Used instead of IDLE_NS when more than half of the allowed libraries are attached. */
#define IDLE_MANY_NS 1000000000ull
#define CLASSIFY_NS  5000000ull /* limit of the time in one scan for reading file names */
#define NEW_MANY     4		/* from this many new files on, their names are read by one call */
/* Limits of libraries attached and detached in one turn, because the rings are not read during a
 * turn. */
#define ANSWERS_MAX 2
#define DROPS_MAX   4
/* Limit of scans in one turn that retry a library: it could not be read through one process, and
 * another process maps it too. */
#define AGAIN_MAX	16
#define FAILURES_LOGGED 100
/* Limit of the time for which attached probes are kept inactive, to activate them together with
 * probes that are still to be attached. */
#define SILENT_NS 1000000000ull

void libraries_free(struct libraries *ls)
{
	if (!ls)
		return;
	table_free(ls->asked, NULL);
	table_free(ls->again, NULL);
	table_free(ls->idle, NULL);
	table_free(ls->due, NULL);
	table_free(ls->closed_devs, NULL);
	table_free(ls->files, library_free);
	follows_free(ls->follows);
	users_free(ls->users);
	free(ls->linked);
	free(ls);
}

static int library_linked_new(struct libraries *ls)
{
	const struct probe_table *t = ls->deps->probes;

	ls->linked = calloc(probe_table_count(t) + 1, sizeof(*ls->linked));
	for (size_t i = 0; ls->linked && i < probe_table_count(t) && ls->linked_count < GP_ROWS_MAX;
	     i++)
		if (probe_table_row(t, i)->linked)
			ls->linked[ls->linked_count++] = i;
	return ls->linked ? 0 : -ENOMEM;
}

int libraries_new(struct libraries **ret, const struct library_deps *deps)
{
	struct libraries *ls = calloc(1, sizeof(*ls));
	int err;

	if (!ls)
		return -ENOMEM;
	ls->deps = deps;
	ls->files = table_new();
	ls->users = users_new();
	ls->asked = table_new();
	ls->again = table_new();
	ls->idle = table_new();
	ls->due = table_new();
	ls->closed_devs = table_new();
	err = library_linked_new(ls);
	ls->follows = follows_new(deps->probes);
	if (err || !ls->files || !ls->users || !ls->asked || !ls->again || !ls->idle || !ls->due ||
	    !ls->closed_devs || !ls->follows) {
		libraries_free(ls);
		return -ENOMEM;
	}
	*ret = ls;
	return 0;
}

/* ---- failures -------------------------------------------------------------------------------- */

static void library_fail(struct libraries *ls, const struct library *lib, int err)
{
	bool closed = err == -EACCES || err == -GP_ERROR_CLOSED;

	/* Of the unreadable files of a file system, only the first is logged as a warning. */
	if (closed && table_get(ls->closed_devs, lib->dev))
		log_debug("%s: cannot be probed: %s", lib->name, library_error_text(err));
	else if (ls->failures++ < FAILURES_LOGGED)
		log_warn("%s: cannot be probed: %s%s", lib->name, library_error_text(err),
			 closed ? " (further such libraries of that file system are not reported)"
				: "");
	if (closed)
		table_put(ls->closed_devs, lib->dev, ls);
	if (ls->failures == FAILURES_LOGGED)
		log_warn("further libraries that cannot be probed are not logged");
	for (size_t i = 0; i < lib->row_count; i++)
		library_report_site(ls->deps, lib,
				    &(struct site){.row = lib->rows[i],
						   .state = GP_ATTACH_failed,
						   .error = err});
}

/* ---- users ----------------------------------------------------------------------------------- */

static void library_user_remove(struct libraries *ls, struct library *lib, pid_t pid)
{
	user_remove(ls->users, lib, pid);
	follows_unmapped(ls->follows, lib, pid);
	library_idle(ls, lib);
}

static void library_detach(struct libraries *ls, struct library *lib)
{
	attach_drop(ls->deps->attach, lib->tag);
	for (size_t i = 0; i < lib->site_count; i++) {
		if (!site_linked(&lib->sites[i]) && !site_paused(&lib->sites[i]))
			continue;
		lib->sites[i].state = GP_ATTACH_detached;
		library_report_site(ls->deps, lib, &lib->sites[i]);
	}
}

/* Idle libraries count as used while processes that were never scanned call them: a process that
 * ends within milliseconds is not scanned. */
void libraries_used(struct libraries *ls, const void *records, size_t len)
{
	uint64_t now_ns = clock_mono_ns();
	const struct gp_rec *rec;
	struct library *lib;
	uint32_t known = 0; /* most records belong to the same process as the one before */

	if (!table_count(ls->idle) || ls->attached >= LIBRARY_ATTACHED_MAX / 2)
		return;
	for (size_t at = 0; (rec = gp_rec_next(records, len, &at));) {
		if (!rec->probe || rec->pid == known)
			continue;
		known = rec->pid;
		if (user_known(ls->users, (pid_t)known))
			continue;
		for (size_t i = 0; (lib = table_next(ls->idle, &i, NULL));)
			lib->idle_ns = now_ns;
		return;
	}
}

/* Idle libraries stay attached for some time: after a restart the next process uses them at once,
 * so no call is missed and nothing is attached again. */
void libraries_reap(struct libraries *ls)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t idle_ns = ls->attached < LIBRARY_ATTACHED_MAX / 2 ? IDLE_NS : IDLE_MANY_NS;
	struct library *lib;
	struct gp_vma file;
	int dropped = 0;

	follows_second(ls);
	for (size_t i = 0; dropped < DROPS_MAX && (lib = table_next(ls->idle, &i, NULL));) {
		if (lib->state == LIBRARY_ASKED || lib->following || lib->searching ||
		    now_ns - lib->idle_ns < idle_ns)
			continue;
		if (lib->state == LIBRARY_ATTACHED) {
			ls->attached--;
			library_detach(ls, lib);
			dropped++;
		}
		table_take(ls->idle, lib->tag);
		table_take(ls->again, lib->tag);
		table_take(ls->due, lib->tag);
		file = library_file(lib);
		table_take(ls->files, library_key(&file));
		library_free(lib);
	}
}

/* ---- attaching ------------------------------------------------------------------------------- */

static void library_attach(struct libraries *ls, struct library *lib, struct reader_answer *a)
{
	const struct library_deps *d = ls->deps;
	struct gp_vma file = library_file(lib);

	free(lib->sites);
	lib->sites = a->sites;
	lib->site_count = a->sites_count;
	a->sites = NULL;
	lib->fd = a->fd;
	a->fd = -1;
	library_leave_idle(d, lib->sites, lib->site_count);
	sites_attach(lib->sites, lib->site_count, d->probes, d->rows, d->kernel, d->attach, &file,
		     lib->tag, lib->fd);
	for (size_t i = 0; i < lib->site_count; i++) {
		const struct probe_row *row = probe_table_row(d->probes, lib->sites[i].row);

		if (lib->sites[i].state == GP_ATTACH_attached && row->role == GP_ROLE_range_end)
			rows_runtime_set_ends(d->rows, row->runtime);
		if (lib->program && lib->sites[i].state == GP_ATTACH_absent)
			lib->sites[i].error = -GP_ERROR_LINKED;
		/* Do not report the site if a later search may still find the function */
		if (!site_open(&lib->sites[i]))
			library_report_site(ls->deps, lib, &lib->sites[i]);
	}
	library_report_uncached(lib);
	if (d->cost)
		library_settle(d, lib, d->cost);
	if (!ls->fresh_ns)
		ls->fresh_ns = clock_mono_ns();
}

static void library_ask(struct libraries *ls, struct library *lib, pid_t pid,
			const struct gp_vma *vma)
{
	struct reader_ask ask = {
		.ticket = lib->tag, .pid = pid, .vma = *vma, .rows_count = lib->row_count};

	if (library_path(ls, pid, vma, ask.path))
		return;
	memcpy(ask.rows, lib->rows, lib->row_count * sizeof(*lib->rows));
	if (!table_put(ls->asked, lib->tag, lib) && !reader_ask(ls->deps->reader, &ask)) {
		lib->state = LIBRARY_ASKED;
		return;
	}
	table_take(ls->asked, lib->tag);
	table_put(ls->again, lib->tag, lib);
}

/* Handles one file that a process maps. classify: whether there is time to read the name of a new
 * file. Returns 1 when the file is new in this process or was not classified, so that another scan
 * is needed. */
static int library_scan(struct libraries *ls, struct library *lib, pid_t pid,
			const struct gp_vma *vma, bool classify)
{
	bool renamed = lib->state == LIBRARY_UNRELATED && lib->classified_name != vma->name;
	int fresh = 0;

	if (lib->state == LIBRARY_NEW || renamed) {
		if (!classify) {
			ls->unfinished = true;
			return 1; /* the caller scans again, and then has time to read the name */
		}
		fresh = !renamed;
		if (library_classify(ls, lib, pid, vma))
			return 0;
	}
	if (lib->state == LIBRARY_UNRELATED)
		return fresh;
	if (!user_has(lib, pid)) {
		library_enter(ls, lib, pid);
		library_search_due(ls, lib);
		fresh = 1;
	}
	if (lib->state == LIBRARY_WANTED && user_has(lib, pid))
		library_ask(ls, lib, pid, vma);
	return fresh;
}

/* Handles the executable file of a process. vma: the lowest mapping of the process, which is of
 * that file. */
static int library_program_scan(struct libraries *ls, pid_t pid, const struct gp_vma *vma)
{
	struct library *lib = ls->unfinished ? NULL : library_get(ls, vma);

	if (!lib || lib->state != LIBRARY_UNRELATED || lib->following ||
	    !library_classify_program(ls, lib, pid, vma))
		return 0;
	return library_scan(ls, lib, pid, vma, true);
}

bool libraries_unfinished(const struct libraries *ls)
{
	return ls->unfinished;
}

/* Returns true when many names are to be read, which one request to the helper process can do. A
 * program that is scanned for the first time maps a hundred files, and each request waits for a
 * CPU. */
static bool libraries_many_new(struct libraries *ls, const struct gp_vma *vmas, int n)
{
	const struct library *lib;
	int count = 0;

	for (int i = 0; i < n && count < NEW_MANY; i++) {
		lib = library_get(ls, &vmas[i]);
		count += lib && lib->state == LIBRARY_NEW;
	}
	return count == NEW_MANY;
}

static int libraries_scan_mappings(struct libraries *ls, pid_t pid, const struct gp_vma *vmas,
				   int n)
{
	uint64_t until_ns = clock_mono_ns() + CLASSIFY_NS;
	struct library *lib;
	int fresh = 0;

	ls->scans++;
	ls->closed = 0;
	ls->unfinished = false;
	for (int i = 0; i < n && !ls->closed; i++) {
		lib = library_get(ls, &vmas[i]);
		if (!lib || lib->seen == ls->scans)
			continue;
		lib->seen = ls->scans;
		fresh += library_scan(ls, lib, pid, &vmas[i], clock_mono_ns() < until_ns);
	}
	if (ls->closed)
		return ls->closed;
	for (size_t i = 0; (lib = user_next(ls->users, pid, &i));)
		if (lib->seen != ls->scans)
			library_user_remove(ls, lib, pid);
	return fresh + (n ? library_program_scan(ls, pid, &vmas[0]) : 0);
}

int libraries_scan(struct libraries *ls, pid_t pid)
{
	struct mapping_paths paths = {0};
	struct gp_vma *vmas = NULL;
	int n = mapping_list_by_helper(ls->deps->helper, ls->deps->kernel->vmas, pid, &vmas), fresh;

	if (n < 0)
		return n;
	if (libraries_many_new(ls, vmas, n) &&
	    !mapping_paths_by_helper(ls->deps->helper, ls->deps->kernel->vmas, pid, &paths))
		ls->paths = &paths;
	fresh = libraries_scan_mappings(ls, pid, vmas, n);
	ls->paths = NULL;
	free(paths.data);
	free(vmas);
	return fresh;
}

void libraries_settle(struct libraries *ls)
{
	struct library *lib;

	for (size_t i = 0; (lib = table_next(ls->files, &i, NULL));)
		if (lib->state == LIBRARY_ATTACHED)
			library_settle(ls->deps, lib, ls->deps->cost);
	/* rows that were idle until now are new; if a library is being attached, they become active
	 * together with its rows */
	if (!ls->fresh_ns)
		rows_activate(ls->deps->rows);
}

void libraries_forked(struct libraries *ls, pid_t parent, pid_t child)
{
	users_copy(ls->users, parent, child);
}

void libraries_forget(struct libraries *ls, pid_t pid)
{
	struct library *lib;

	for (size_t i = 0; (lib = user_next(ls->users, pid, &i));)
		library_user_remove(ls, lib, pid);
	user_forget(ls->users, pid);
	follows_forget(ls->follows, pid);
}

/* Keeps the library for another attempt: this process no longer maps the file, but another one may.
 */
static void library_retry_later(struct libraries *ls, struct library *lib, pid_t pid)
{
	struct library *own;

	if (user_swapped(ls->users, pid)) {
		log_warn(
			"process %d: the files that it maps were too often gone or replaced when gp-bpf opened them: no more of its libraries are probed",
			pid);
		for (size_t i = 0; (own = user_next(ls->users, pid, &i));)
			if (own->state != LIBRARY_ATTACHED)
				library_user_remove(ls, own, pid);
	}
	table_put(ls->again, lib->tag, lib);
}

static void library_take_answer(struct libraries *ls, struct reader_answer *a)
{
	struct library *lib = table_take(ls->asked, a->ticket);

	if (a->by_path && !ls->by_path_logged) {
		log_info(
			"opening mapped files by path, as CAP_CHECKPOINT_RESTORE is missing to open them in /proc/PID/map_files");
		ls->by_path_logged = true;
	}
	if (!lib)
		return;
	if (a->ticket & LIBRARY_SEARCHING) {
		library_searched(ls, lib, a);
		return;
	}
	if (a->ticket & LIBRARY_FOLLOWING) {
		library_followed(ls, lib, a);
		return;
	}
	lib->state = LIBRARY_WANTED;
	if (!library_users(lib))
		/* libraries_reap() detaches the library later, unless it has a user by then */
		return;
	switch (a->error) {
	case -ESRCH:
	case -ENOENT:
	case -ESTALE:
		library_retry_later(ls, lib, a->pid);
		return;
	case 0:
		if (ls->attached < LIBRARY_ATTACHED_MAX)
			library_attach(ls, lib, a);
		else
			library_fail(ls, lib, -ENFILE);
		break;
	default:
		library_fail(ls, lib, a->error);
	}
	lib->state = LIBRARY_ATTACHED;
	ls->attached++;
	library_search_due(ls, lib);
}

static void libraries_ask_again(struct libraries *ls)
{
	int asked = 0, err;
	struct library *lib;
	pid_t pid;

	for (size_t i = 0; asked < AGAIN_MAX && (lib = table_next(ls->again, &i, NULL)); asked++) {
		pid = user_any(lib);
		table_take(ls->again, lib->tag);
		if (!pid || lib->state != LIBRARY_WANTED)
			continue;
		err = libraries_scan(ls, pid);
		if (err == -ESRCH)
			libraries_forget(ls, pid);
		/* Read the file through another process that maps it. A later scan makes this
		 * process a user again. */
		else if (err == -ETIMEDOUT || err == -EBUSY)
			library_user_remove(ls, lib, pid);
		if (lib->state == LIBRARY_WANTED && library_users(lib))
			table_put(ls->again, lib->tag, lib);
	}
}

size_t libraries_poll(struct libraries *ls)
{
	struct reader_answer a;

	for (int i = 0;
	     i < ANSWERS_MAX && reader_next(ls->deps->reader, ls->deps->kernel->vmas, &a); i++) {
		library_take_answer(ls, &a);
		free(a.sites);
		if (a.fd >= 0)
			close(a.fd);
	}
	libraries_ask_again(ls);
	follows_turn(ls);
	/* Probes are activated together. A file that cannot be read delays them by at most
	 * SILENT_NS. */
	if (ls->fresh_ns &&
	    (!table_count(ls->asked) || clock_mono_ns() - ls->fresh_ns >= SILENT_NS)) {
		rows_activate(ls->deps->rows);
		library_report_silent(ls->deps, ls->files);
		if (!ls->slow_logged)
			attach_warn_slow(ls->deps->attach);
		ls->slow_logged = true;
		ls->fresh_ns = 0;
	}
	searches_turn(ls);
	return table_count(ls->asked) + table_count(ls->again) + table_count(ls->due);
}

static int library_relink(struct libraries *ls, struct library *lib)
{
	const struct library_deps *d = ls->deps;
	struct gp_vma file = library_file(lib);

	if (lib->fd < 0)
		return -EBADF;
	sites_attach(lib->sites, lib->site_count, d->probes, d->rows, d->kernel, d->attach, &file,
		     lib->tag, lib->fd);
	return 0;
}

int libraries_relink(struct libraries *ls)
{
	struct library *lib;
	int err = 0, one;

	for (size_t i = 0; (lib = table_next(ls->files, &i, NULL));) {
		one = lib->state == LIBRARY_ATTACHED ? library_relink(ls, lib) : 0;
		err = err ? err : one;
	}
	return err;
}
