/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "loader/library/library_follow.h"
#include "loader/library/library_report.h"
#include "loader/library/library_user.h"
#include "loader/reader/mapping.h"
#include "loader/attach/pin.h"
#include "loader/probe/probe_match.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define SOURCES_MAX 8
/* Limit of reported functions that are remembered for one process, and of functions probed in one
 * file. */
#define CANDIDATES_MAX 16
/* Limit of attempts to attach for one process: each attempt scans its mappings */
#define TRIES_MAX      64
#define WAITING_MAX    64
#define HAD_MAX	       16
#define TURN_MAX       2
#define RETRY_NS       10000000ull
#define DOUBLINGS      6
#define REFUSED_LOGGED 20
#define UNCLAIMED_S    10

/* A row with key `follow`, and the probe whose calls report the addresses of its functions */
struct source {
	uint32_t probe;
	int capture;
	/* Index of the capture of `probe` whose value must be among the recent values of probe
	 * `with` */
	int own;
	/* Hash of the probe whose values of capture `its` are remembered; 0: no `join`. */
	uint32_t with;
	int its; /* index of the capture of probe `with` */
	size_t row;
};

/* A function that a call has reported */
struct candidate {
	pid_t pid;
	size_t row;
	uint64_t address;
};

struct follow_process { /* a process whose calls report addresses */
	struct candidate known[CANDIDATES_MAX];
	size_t count;
	unsigned int tries;
	uint64_t next_ns;      /* time of the next attempt to attach */
	uint64_t had[HAD_MAX]; /* recent values of capture source.its of the probe source.with */
	unsigned int at;
};

struct follows {
	struct source sources[SOURCES_MAX];
	size_t sources_count;
	struct table *processes; /* pid -> struct follow_process */
	struct candidate waiting[WAITING_MAX];
	size_t waiting_count;
	unsigned int refused;
	int seconds;
};

/* Fills *s for a row with `follow`. Returns false if a row or capture that it names does not exist,
 * because rows of another folder have replaced it. */
static bool follow_source_fill(struct source *s, const struct probe_table *probes, size_t row)
{
	const struct probe_row *r = probe_table_row(probes, row);
	size_t none = probe_table_count(probes), at;

	*s = (struct source){.row = row};
	at = probe_table_capture(probes, r->runtime, r->follow, r->follow_capture, &s->capture);
	if (at == none)
		return false;
	s->probe = probe_table_row(probes, at)->hash;
	if (!r->join)
		return true;
	if (probe_table_capture(probes, r->runtime, r->follow, r->join, &s->own) == none)
		return false;
	at = probe_table_capture(probes, r->runtime, r->join_with, r->join, &s->its);
	if (at == none)
		return false;
	s->with = probe_table_row(probes, at)->hash;
	return true;
}

struct follows *follows_new(const struct probe_table *probes)
{
	struct follows *f = calloc(1, sizeof(*f));

	if (f)
		f->processes = table_new();
	if (!f || !f->processes) {
		free(f);
		return NULL;
	}
	for (size_t i = 0; i < probe_table_count(probes) && f->sources_count < SOURCES_MAX; i++)
		if (probe_table_row(probes, i)->follow &&
		    follow_source_fill(&f->sources[f->sources_count], probes, i))
			f->sources_count++;
	return f;
}

void follows_free(struct follows *f)
{
	if (!f)
		return;
	table_free(f->processes, free);
	free(f);
}

/* ---- addresses reported by calls ------------------------------------------------------------- */

static struct follow_process *follow_process_get(struct follows *f, pid_t pid)
{
	struct follow_process *t = table_get(f->processes, (uint64_t)pid);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t || !table_put(f->processes, (uint64_t)pid, t))
		return t;
	free(t);
	return NULL;
}

static void follow_address_reported(struct follows *f, const struct candidate *candidate)
{
	struct follow_process *t;

	if (!candidate->address || f->waiting_count == WAITING_MAX)
		return;
	t = follow_process_get(f, candidate->pid);
	if (!t)
		return;
	for (size_t i = 0; i < t->count; i++)
		if (t->known[i].address == candidate->address && t->known[i].row == candidate->row)
			return;
	if (t->count == CANDIDATES_MAX || t->tries == TRIES_MAX || clock_mono_ns() < t->next_ns)
		return;
	t->tries++;
	t->known[t->count++] = *candidate;
	f->waiting[f->waiting_count++] = *candidate;
}

static void follow_value_had(struct follows *f, pid_t pid, uint64_t value)
{
	struct follow_process *t = value ? follow_process_get(f, pid) : NULL;

	if (t)
		t->had[t->at++ % HAD_MAX] = value;
}

/* Returns true if the process recently passed this value to the probe `join_with`. Forgets the
 * value, because another object may get the same address later. */
static bool follow_value_joins(struct follows *f, pid_t pid, uint64_t value)
{
	struct follow_process *t = table_get(f->processes, (uint64_t)pid);

	for (size_t i = 0; t && value && i < HAD_MAX; i++) {
		if (t->had[i] != value)
			continue;
		t->had[i] = 0;
		return true;
	}
	return false;
}

static void follow_record_take(struct follows *f, const struct gp_rec *rec, const uint64_t *args,
			       int count)
{
	pid_t pid = (pid_t)rec->pid;

	for (size_t i = 0; i < f->sources_count; i++) {
		const struct source *s = &f->sources[i];

		if (s->with && rec->probe == s->with && s->its < count)
			follow_value_had(f, pid, args[s->its]);
		if (rec->probe == s->probe && s->capture < count &&
		    (!s->with || (s->own < count && follow_value_joins(f, pid, args[s->own]))))
			follow_address_reported(f,
						&(struct candidate){pid, s->row, args[s->capture]});
	}
}

void libraries_spent(struct libraries *ls, const void *records, size_t len)
{
	struct follows *f = ls->follows;
	const struct gp_rec *rec;

	for (size_t at = 0; f->sources_count && (rec = gp_rec_next(records, len, &at));) {
		struct gp_call call;
		struct gp_hit hit;

		if (rec->kind == GP_KIND_call && rec->len == sizeof(*rec) + sizeof(call)) {
			memcpy(&call, rec + 1, sizeof(call));
			follow_record_take(f, rec, (const uint64_t *)call.arg, GP_ARGS);
		} else if (rec->kind == GP_KIND_hit && rec->len == sizeof(*rec) + sizeof(hit)) {
			memcpy(&hit, rec + 1, sizeof(hit));
			follow_record_take(f, rec,
					   (const uint64_t[]){hit.arg[0], hit.arg[1], hit.sp}, 3);
		}
	}
}

/* Forgets the candidate, so that the next call that reports it is used, after a pause. */
static void follow_candidate_retry(struct follows *f, const struct candidate *candidate)
{
	struct follow_process *t = table_get(f->processes, (uint64_t)candidate->pid);
	size_t i = 0;

	if (!t)
		return;
	while (i < t->count &&
	       (t->known[i].address != candidate->address || t->known[i].row != candidate->row))
		i++;
	if (i < t->count)
		t->known[i] = t->known[--t->count];
	t->next_ns = clock_mono_ns() + (RETRY_NS << (t->tries < DOUBLINGS ? t->tries : DOUBLINGS));
}

void follows_forget(struct follows *f, pid_t pid)
{
	free(table_take(f->processes, (uint64_t)pid));
}

/* Forgets the addresses of a process, as its mappings may have changed. */
static void follow_process_reset(struct follows *f, pid_t pid)
{
	struct follow_process *t = table_get(f->processes, (uint64_t)pid);

	if (t)
		t->count = 0;
}

void follows_unmapped(struct follows *f, const struct library *lib, pid_t pid)
{
	for (size_t i = 0; i < lib->site_count; i++)
		if (lib->sites[i].followed)
			follow_process_reset(f, pid);
}

static void follow_candidate_refuse(struct libraries *ls, const struct candidate *candidate,
				    const char *why)
{
	struct follows *f = ls->follows;

	if (f->refused++ < REFUSED_LOGGED)
		log_warn(
			"process %d: probe %s is not attached to a function whose address was found at run time: %s",
			candidate->pid, probe_table_row(ls->deps->probes, candidate->row)->id, why);
	if (f->refused == REFUSED_LOGGED)
		log_warn("further addresses that cannot be probed are not logged");
}

/* ---- files of the addresses ------------------------------------------------------------------ */

static bool follow_site_known(const struct library *lib, size_t row, uint64_t offset,
			      size_t *ret_count)
{
	*ret_count = 0;
	for (size_t i = 0; i < lib->site_count; i++) {
		if (lib->sites[i].row == row && lib->sites[i].followed == offset)
			return true;
		*ret_count += lib->sites[i].followed != 0;
	}
	return false;
}

static void follow_site_ask(struct libraries *ls, struct library *lib,
			    const struct candidate *candidate, const struct reader_ask *ask)
{
	/* The file is not one that a row names: treat it like an attached library from now on. */
	if (lib->state == LIBRARY_UNRELATED) {
		if (ls->attached >= LIBRARY_ATTACHED_MAX) {
			follow_candidate_refuse(ls, candidate, library_error_text(-ENFILE));
			return;
		}
		lib->state = LIBRARY_ATTACHED;
		ls->attached++;
	}
	library_enter(ls, lib, candidate->pid);
	if (!user_has(lib, candidate->pid))
		return;
	if (!table_put(ls->asked, ask->ticket, lib) && !reader_ask(ls->deps->reader, ask)) {
		lib->following = true;
		return;
	}
	table_take(ls->asked, ask->ticket);
	follow_candidate_retry(ls->follows, candidate);
}

/* Requests a probe site at this offset if the file is one of the row's libraries. */
static void follow_site_check(struct libraries *ls, const struct candidate *candidate,
			      const struct gp_vma *vma, uint64_t offset)
{
	const struct probe_row *row = probe_table_row(ls->deps->probes, candidate->row);
	struct library *lib = library_get(ls, vma);
	struct reader_ask ask = {
		.pid = candidate->pid, .vma = *vma, .rows_count = 1, .followed = offset};
	const char *base;
	size_t count;

	if (!lib || (lib->state != LIBRARY_UNRELATED && lib->state != LIBRARY_ATTACHED) ||
	    lib->following || library_path(ls, candidate->pid, vma, ask.path)) {
		follow_candidate_retry(ls->follows, candidate);
		return;
	}
	base = mapping_base(ask.path);
	if (!lib->name[0])
		log_escape(lib->name, sizeof(lib->name), base, strlen(base));
	if (follow_site_known(lib, candidate->row, offset, &count)) {
		library_enter(ls, lib, candidate->pid);
	} else if (!offset || probe_name_forbidden(base) || !probe_row_names(row, base)) {
		follow_candidate_refuse(
			ls, candidate, "the file at the address is not one of the row's libraries");
	} else if (count >= CANDIDATES_MAX) {
		follow_candidate_refuse(ls, candidate,
					"too many functions of that file are probed");
	} else {
		ask.ticket = lib->tag | LIBRARY_FOLLOWING;
		ask.rows[0] = candidate->row;
		follow_site_ask(ls, lib, candidate, &ask);
	}
}

static void follow_candidate_find(struct libraries *ls, const struct candidate *candidate)
{
	struct gp_vma *vmas = NULL;
	const struct gp_vma *vma;
	uint64_t offset;
	int n = mapping_list_by_helper(ls->deps->helper, ls->deps->kernel->vmas, candidate->pid,
				       &vmas);

	if (n == -ESRCH) {
		follows_forget(ls->follows, candidate->pid);
		return;
	}
	if (n < 0) {
		follow_candidate_retry(ls->follows, candidate);
		return;
	}
	vma = mapping_at(vmas, n, candidate->address, &offset);
	if (vma)
		follow_site_check(ls, candidate, vma, offset);
	else
		follow_candidate_refuse(ls, candidate,
					"no executable file is mapped at the address");
	free(vmas);
}

void follows_turn(struct libraries *ls)
{
	struct follows *f = ls->follows;

	for (int i = 0; i < TURN_MAX && f->waiting_count; i++) {
		struct candidate candidate = f->waiting[0];

		memmove(f->waiting, f->waiting + 1, --f->waiting_count * sizeof(*f->waiting));
		follow_candidate_find(ls, &candidate);
	}
}

/* ---- attaching ------------------------------------------------------------------------------- */

/* Returns true when another row runs the same BPF program at the same instruction: each call would
 * be reported twice. */
static bool follow_site_taken(const struct libraries *ls, const struct library *lib,
			      const struct site *site)
{
	bool string = probe_table_row(ls->deps->probes, site->row)->string != PROBE_STRING_NONE;

	for (size_t i = 0; i < lib->site_count; i++) {
		const struct probe_row *row = probe_table_row(ls->deps->probes, lib->sites[i].row);

		if (lib->sites[i].offset == site->offset && site_linked(&lib->sites[i]) &&
		    !row->returns && (row->string != PROBE_STRING_NONE) == string)
			return true;
	}
	return false;
}

static int follow_site_add(struct libraries *ls, struct library *lib, struct reader_answer *a)
{
	const struct library_deps *d = ls->deps;
	struct gp_vma file = library_file(lib);
	struct site *sites = reallocarray(lib->sites, lib->site_count + 1, sizeof(*sites)), *site;

	if (!sites)
		return -ENOMEM;
	lib->sites = sites;
	site = &sites[lib->site_count];
	*site = a->sites[0];
	if (lib->fd < 0) {
		lib->fd = a->fd;
		a->fd = -1;
	}
	if (follow_site_taken(ls, lib, site)) {
		site->state = GP_ATTACH_refused;
		site->error = -EEXIST;
	}
	lib->site_count++;
	sites_attach(site, 1, d->probes, d->rows, d->kernel, d->attach, &file, lib->tag, lib->fd);
	library_report_site(d, lib, site);
	if (d->cost)
		library_settle(d, lib, d->cost);
	if (!ls->fresh_ns)
		ls->fresh_ns = clock_mono_ns();
	return 0;
}

void library_followed(struct libraries *ls, struct library *lib, struct reader_answer *a)
{
	struct candidate candidate = {.pid = a->pid};
	int err = a->error;

	lib->following = false;
	if (!library_users(lib))
		return; /* no users: libraries_reap() detaches the library */
	if (!err && a->sites_count == 1)
		err = follow_site_add(ls, lib, a);
	if (err == -ESRCH || err == -ENOENT || err == -ESTALE)
		follow_process_reset(ls->follows, a->pid);
	else if (err)
		log_warn("%s: a function whose address was found at run time cannot be probed: %s",
			 lib->name, library_error_text(err));
	else if (lib->sites[lib->site_count - 1].state == GP_ATTACH_refused) {
		candidate.row = lib->sites[lib->site_count - 1].row;
		follow_candidate_refuse(ls, &candidate,
					lib->sites[lib->site_count - 1].error == -EEXIST
						? "another probe is at the address"
						: "no function is known to begin at the address");
	}
}

void follows_second(struct libraries *ls)
{
	uint64_t pid;

	/* Forget processes here, not at their exit: their last records may be read after the
	 * exit. */
	for (size_t i = 0; table_next(ls->follows->processes, &i, &pid);)
		if (kill((pid_t)pid, 0) && errno == ESRCH)
			follows_forget(ls->follows, (pid_t)pid);
	if (ls->deps->pins && ++ls->follows->seconds == UNCLAIMED_S)
		pins_drop_waiting(ls->deps->pins, PIN_FOLLOWED);
}
