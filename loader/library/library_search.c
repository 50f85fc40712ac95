/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "loader/library/library_search.h"
#include "loader/library/library_report.h"
#include "loader/library/library_user.h"
#include "loader/reader/mapping.h"
#include "loader/reader/reader.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define TURN_MAX 4
/* Searches of one library without a pause; after that one per second, in case a process causes them
 * on purpose. */
#define SEARCHES_FREE 64
#define PAUSE_NS      1000000000ull
#define TRIES_MAX     12 /* attempts for a file that is read slowly: a minute of its disk */

#define TABLES_MAX (sizeof(((struct libraries *)0)->tables) / sizeof(uint32_t))

void searches_new(struct libraries *ls)
{
	const struct probe_table *t = ls->deps->probes;
	size_t n = 0;

	for (size_t i = 0; i < probe_table_count(t) && n < TABLES_MAX; i++)
		if (probe_table_row(t, i)->role == GP_ROLE_table)
			ls->tables[n++] = probe_table_row(t, i)->hash;
}

static bool library_open(const struct library *lib)
{
	for (size_t i = 0; i < lib->site_count; i++)
		if (site_open(&lib->sites[i]))
			return true;
	return false;
}

void library_search_due(struct libraries *ls, struct library *lib)
{
	if (lib->state != LIBRARY_ATTACHED || !library_open(lib))
		return;
	lib->search_pos = 0;
	table_put(ls->due, lib->tag, lib);
}

/* ---- requests -------------------------------------------------------------------------------- */

static size_t library_search_rows_open(const struct library *lib, size_t *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < lib->site_count && n < GP_ROWS_MAX; i++)
		if (site_open(&lib->sites[i]))
			rows[n++] = lib->sites[i].row;
	return n;
}

/* Requests a search, in the memory of pid (memory) or in the file that it maps. table: address of
 * the table; 0: unknown. */
static void library_search(struct libraries *ls, struct library *lib, pid_t pid, bool memory,
			   uint64_t table)
{
	struct reader_ask ask = {.ticket = lib->tag | LIBRARY_SEARCHING,
				 .pid = pid,
				 .memory = memory,
				 .table = table};
	struct gp_vma *vmas = NULL;
	int n = mapping_list_by_helper(ls->deps->helper, ls->deps->kernel->vmas, pid, &vmas),
	    at = 0;

	while (at < n && (vmas[at].dev != lib->dev || vmas[at].ino != lib->ino ||
			  vmas[at].generation != lib->generation))
		at++;
	lib->search_file = !memory;
	if (at < n) {
		ask.vma = vmas[at];
		ask.rows_count = library_search_rows_open(lib, ask.rows);
		lib->searching = !library_path(ls, pid, &ask.vma, ask.path) &&
				 !table_put(ls->asked, ask.ticket, lib) &&
				 !reader_ask(ls->deps->reader, &ask);
		if (!lib->searching)
			table_take(ls->asked, ask.ticket);
	}
	free(vmas);
}

/* Tries a slow file again: what was read of it is in memory now, so the next attempt gets further.
 * Returns true when one was requested. */
static bool library_search_retry(struct libraries *ls, struct library *lib)
{
	bool slow = false;

	for (size_t i = 0; i < lib->site_count && !slow; i++)
		slow = site_open(&lib->sites[i]) && lib->sites[i].error == -GP_TABLE_slow;
	if (!slow || lib->tries >= TRIES_MAX)
		return false;
	lib->tries++;
	library_search(ls, lib, user_any(lib), false, 0);
	return true;
}

/* Reports the result after all users were searched. */
static void library_search_over(struct libraries *ls, struct library *lib)
{
	int err = 0;

	for (size_t i = 0; i < lib->site_count && !err; i++)
		err = site_open(&lib->sites[i]) ? lib->sites[i].error : 0;
	if (err == lib->search_reported)
		return;
	lib->search_reported = err;
	for (size_t i = 0; i < lib->site_count; i++)
		if (site_open(&lib->sites[i]))
			library_report_site(ls->deps, lib, &lib->sites[i]);
	if (err == -GP_TABLE_unseen)
		log_info(
			"%s: some of its functions are found when a process next asks for its table",
			lib->name);
	else if (err)
		log_warn("%s: %s", lib->name, library_error_text(err));
}

/* Searches the next user. Returns true when the search is over. */
static bool library_search_turn(struct libraries *ls, struct library *lib)
{
	uint64_t pid = (uint64_t)lib->table_pid, table = lib->table;

	if (lib->state != LIBRARY_ATTACHED || !library_users(lib))
		return true;
	if (!library_open(lib)) {
		if (lib->shown_by)
			log_info("%s: functions are probed where the table of process %d has them",
				 lib->name, lib->shown_by);
		return true;
	}
	lib->table = 0;
	if (!table && !table_next(lib->users, &lib->search_pos, &pid)) {
		if (library_search_retry(ls, lib))
			return false;
		library_search_over(ls, lib);
		return true;
	}
	if (++lib->searches > SEARCHES_FREE)
		lib->search_ns = clock_mono_ns() + PAUSE_NS;
	library_search(ls, lib, (pid_t)pid, true, table);
	return false;
}

void searches_turn(struct libraries *ls)
{
	uint64_t now_ns = clock_mono_ns();
	struct library *lib;
	int done = 0;

	/* Not while probes are silent: a call that returns the table would be missed. */
	for (size_t i = 0;
	     !ls->fresh_ns && done < TURN_MAX && (lib = table_next(ls->due, &i, NULL));) {
		if (lib->searching || lib->search_ns > now_ns)
			continue;
		done++;
		if (library_search_turn(ls, lib))
			table_take(ls->due, lib->tag);
	}
}

size_t searches_waiting(const struct libraries *ls)
{
	uint64_t now_ns = clock_mono_ns();
	const struct library *lib;
	size_t n = 0;

	for (size_t i = 0; (lib = table_next(ls->due, &i, NULL));)
		n += lib->search_ns <= now_ns;
	return n;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Returns true when the new result replaces the old one. A result about a process says nothing
 * about the file, and "unseen" does not replace a more precise result. */
static bool library_search_site_better(const struct site *now, const struct site *then, bool file)
{
	if (file || then->error == -GP_TABLE_slow)
		return file;
	return now->error != -GP_TABLE_unseen || then->error == -GP_TABLE_unseen;
}

static void library_search_sites_take(struct libraries *ls, struct library *lib,
				      const struct reader_answer *a)
{
	const struct site *found = a->sites;
	size_t n = a->sites_count;
	const struct library_deps *d = ls->deps;
	struct gp_vma file = library_file(lib);
	struct site *fresh = calloc(n + 1, sizeof(*fresh));
	size_t *of = calloc(n + 1, sizeof(*of)), count = 0;

	for (size_t i = 0; fresh && of && i < n; i++) {
		for (size_t s = 0; s < lib->site_count; s++) {
			if (lib->sites[s].row != found[i].row || !site_open(&lib->sites[s]))
				continue;
			if (!site_open(&found[i])) {
				of[count] = s;
				fresh[count++] = found[i];
			} else if (library_search_site_better(&found[i], &lib->sites[s],
							      lib->search_file)) {
				lib->sites[s] = found[i];
			}
			break;
		}
	}
	if (count)
		sites_attach(fresh, count, d->probes, d->rows, d->kernel, d->attach, &file,
			     lib->tag, lib->fd);
	for (size_t i = 0; i < count; i++) {
		lib->sites[of[i]] = fresh[i];
		library_report_site(d, lib, &fresh[i]);
	}
	if (count && d->cost)
		library_settle(d, lib, d->cost);
	if (count && !lib->search_file)
		lib->shown_by = a->pid;
	if (count && !ls->fresh_ns)
		ls->fresh_ns = clock_mono_ns();
	free(fresh);
	free(of);
}

void library_searched(struct libraries *ls, struct library *lib, const struct reader_answer *a)
{
	lib->searching = false;
	if (lib->state != LIBRARY_ATTACHED || !library_users(lib))
		return; /* detached later */
	if (a->error)
		log_debug("%s: process %d does not show its table: %s", lib->name, a->pid,
			  strerror(-a->error));
	else
		library_search_sites_take(ls, lib, a);
}

static bool library_search_table_returned(const struct libraries *ls, const struct gp_rec *rec)
{
	for (size_t i = 0; i < TABLES_MAX && ls->tables[i]; i++)
		if (ls->tables[i] == rec->probe)
			return rec->kind == GP_KIND_call &&
			       rec->len == sizeof(*rec) + sizeof(struct gp_call);
	return false;
}

void searches_spent(struct libraries *ls, const void *records, size_t len)
{
	const struct gp_rec *rec;
	struct library *lib;
	struct gp_call call;

	for (size_t at = 0; ls->tables[0] && (rec = gp_rec_next(records, len, &at));) {
		if (!library_search_table_returned(ls, rec))
			continue;
		memcpy(&call, rec + 1, sizeof(call));
		for (size_t i = 0; (lib = user_next(ls->users, (pid_t)rec->pid, &i));) {
			if (lib->state != LIBRARY_ATTACHED || !library_open(lib))
				continue;
			lib->table_pid = (pid_t)rec->pid;
			lib->table = (uint64_t)call.ret;
			table_put(ls->due, lib->tag, lib);
		}
	}
}
