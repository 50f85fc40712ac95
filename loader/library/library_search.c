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

#define TURN_MAX  4
#define TRIES_MAX 12 /* limit of attempts for a file that is read slowly, about a minute in all */

static bool library_open(const struct library *lib)
{
	for (size_t i = 0; i < lib->site_count; i++)
		if (site_open(&lib->sites[i]))
			return true;
	return false;
}

void library_search_due(struct libraries *ls, struct library *lib)
{
	if (lib->state == LIBRARY_ATTACHED && lib->tries < TRIES_MAX && library_open(lib))
		table_put(ls->due, lib->tag, lib);
}

static void library_search(struct libraries *ls, struct library *lib, pid_t pid)
{
	struct reader_ask ask = {.ticket = lib->tag | LIBRARY_SEARCHING, .pid = pid};
	struct gp_vma *vmas = NULL;
	int n = mapping_list_by_helper(ls->deps->helper, ls->deps->kernel->vmas, pid, &vmas),
	    at = 0;

	while (at < n && (vmas[at].dev != lib->dev || vmas[at].ino != lib->ino ||
			  vmas[at].generation != lib->generation))
		at++;
	if (at < n) {
		ask.vma = vmas[at];
		for (size_t i = 0; i < lib->site_count && ask.rows_count < GP_ROWS_MAX; i++)
			if (site_open(&lib->sites[i]))
				ask.rows[ask.rows_count++] = lib->sites[i].row;
		lib->searching = !library_path(ls, pid, &ask.vma, ask.path) &&
				 !table_put(ls->asked, ask.ticket, lib) &&
				 !reader_ask(ls->deps->reader, &ask);
		if (!lib->searching)
			table_take(ls->asked, ask.ticket);
	}
	free(vmas);
}

static void library_search_over(struct libraries *ls, const struct library *lib)
{
	for (size_t i = 0; i < lib->site_count; i++)
		if (site_open(&lib->sites[i]))
			library_report_site(ls->deps, lib, &lib->sites[i]);
	log_warn("%s: %s", lib->name, library_error_text(-GP_TABLE_slow));
}

/* Searches a library again for functions that were not found because its file was read too slowly.
 * Returns true when no further search is needed. */
static bool library_search_turn(struct libraries *ls, struct library *lib)
{
	if (lib->state != LIBRARY_ATTACHED || !library_users(lib) || !library_open(lib))
		return true;
	if (lib->tries == TRIES_MAX) {
		library_search_over(ls, lib);
		return true;
	}
	lib->tries++;
	library_search(ls, lib, user_any(lib));
	return false;
}

void searches_turn(struct libraries *ls)
{
	struct library *lib;
	int done = 0;

	for (size_t i = 0; done < TURN_MAX && (lib = table_next(ls->due, &i, NULL));) {
		if (lib->searching)
			continue;
		done++;
		if (library_search_turn(ls, lib))
			table_take(ls->due, lib->tag);
	}
}

static void library_search_sites_take(struct libraries *ls, struct library *lib,
				      const struct reader_answer *a)
{
	const struct library_deps *d = ls->deps;
	struct gp_vma file = library_file(lib);
	struct site *fresh = calloc(a->sites_count + 1, sizeof(*fresh));
	size_t *of = calloc(a->sites_count + 1, sizeof(*of)), count = 0;

	for (size_t i = 0; fresh && of && i < a->sites_count; i++) {
		size_t s = 0;

		while (s < lib->site_count &&
		       (lib->sites[s].row != a->sites[i].row || !site_open(&lib->sites[s])))
			s++;
		if (s == lib->site_count || site_open(&a->sites[i]))
			continue;
		of[count] = s;
		fresh[count++] = a->sites[i];
	}
	library_leave_idle(d, fresh, count);
	if (count)
		sites_attach(fresh, count, d->probes, d->rows, d->kernel, d->attach, &file,
			     lib->tag, lib->fd);
	for (size_t i = 0; i < count; i++) {
		lib->sites[of[i]] = fresh[i];
		library_report_site(d, lib, &fresh[i]);
	}
	if (count && d->cost)
		library_settle(d, lib, d->cost);
	if (count && !ls->fresh_ns)
		ls->fresh_ns = clock_mono_ns();
	free(fresh);
	free(of);
}

void library_searched(struct libraries *ls, struct library *lib, const struct reader_answer *a)
{
	lib->searching = false;
	if (lib->state != LIBRARY_ATTACHED || !library_users(lib))
		return; /* no users: libraries_reap() detaches the library */
	if (a->error)
		log_debug("%s: its file cannot be searched: %s", lib->name, strerror(-a->error));
	else
		library_search_sites_take(ls, lib, a);
}
