/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/store/query.h"
#include "userspace/store/store_private.h"

/* SQL: selects the reference rank of a run, whose steps represent the run; same order as REFERENCE
 * in query.c. */
#define REFERENCE                                                                                         \
	" (SELECT ranks.id FROM ranks WHERE run = runs.id ORDER BY rank IS NULL, rank, start_mono_ns, id" \
	" LIMIT 1)"

struct series {
	struct store *st;
	struct store_cuts away;
	double *minute;
	size_t n, room;
};

static int compare_minute_add(void *ctx, int64_t from_ns, int64_t to_ns,
			      const struct store_totals *t)
{
	struct series *s = ctx;

	if (!t->times.count || !t->times.sum_ns || t->excluded_ns ||
	    store_cuts_within(&s->away, from_ns, to_ns))
		return 0;
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 1024;
		double *more = reallocarray(s->minute, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->minute = more;
		s->room = room;
	}
	s->minute[s->n++] = (double)t->times.sum_ns / (double)t->times.count;
	return 0;
}

/* Reduces the step times of each minute of a run to the values that are compared. If the run is too
 * short, c->is is not set. */
static int compare_run_reduce(struct series *s, int64_t reference, struct store_compared *c)
{
	static const struct store_span everything;
	int err;

	s->n = 0;
	err = store_minutes(s->st, reference, &everything, compare_minute_add, s);
	if (err)
		return err;
	c->minutes = (uint32_t)s->n;
	err = compare_reduce(s->minute, s->n, &c->is);
	return err == -ERANGE ? 0 : err;
}

static int64_t compare_compared_read(sqlite3_stmt *stmt, struct store_compared *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->run = store_int(stmt, 0);
	ret->attempt = (uint32_t)store_int(stmt, 1);
	ret->start_ns = store_int(stmt, 2);
	store_text(stmt, 3, ret->job, sizeof(ret->job));
	return store_int(stmt, 4);
}

#define RUNS                                                                                       \
	"SELECT runs.id, attempt, start_ns, jobs.name," REFERENCE                                  \
	" FROM runs JOIN jobs ON jobs.id = job"

static int compare_own_read(struct series *s, int64_t job, struct store_compared *ret)
{
	sqlite3_stmt *stmt;
	int64_t reference;
	int err;

	stmt = store_find(s->st, &err, RUNS " WHERE job = ? ORDER BY attempt DESC LIMIT 1", "i",
			  job);
	if (!stmt)
		return err;
	reference = compare_compared_read(stmt, ret);
	store_done(stmt);
	return compare_run_reduce(s, reference, ret);
}

static int compare_peers_read(struct series *s, const char *tag, int64_t job,
			      struct store_comparison *c)
{
	struct store_compared one;
	sqlite3_stmt *stmt;
	uint32_t at = 0;
	int err;

	stmt = store_ask(
		s->st, &err,
		RUNS " WHERE (perf_tag = ?1 AND ?1 <> '' OR job = ?2) AND runs.id <> ?3 ORDER BY"
		     " start_ns DESC, runs.id DESC LIMIT ?4",
		"tiii", tag, job, c->own.run, (int64_t)STORE_PEERS);
	while (store_next(stmt, &err)) {
		err = compare_run_reduce(s, compare_compared_read(stmt, &one), &one);
		if (!err && one.is.minutes)
			c->peers[c->npeers++] = one;
		else if (!err)
			c->peers[STORE_PEERS - ++at] = one;
	}
	memmove(c->peers + c->npeers, c->peers + STORE_PEERS - at, at * sizeof(*c->peers));
	c->short_peers = at;
	return err;
}

static int compare_fill_answer(struct store_comparison *c)
{
	struct compare_run *peers;

	if (!c->npeers || !c->own.is.minutes)
		return 0;
	peers = calloc(c->npeers, sizeof(*peers));
	if (!peers)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->npeers; i++)
		peers[i] = c->peers[i].is;
	compare_runs(&c->own.is, peers, c->npeers, &c->answer);
	free(peers);
	c->known = true;
	return 0;
}

static int compare_against_find(struct store *st, const char *against, int64_t *ret_job,
				struct store_comparison *c)
{
	struct store_job *other;
	int64_t tagged = 0;
	int err = store_number(st, &tagged,
			       "SELECT count(*) FROM runs WHERE perf_tag = ?1 AND ?1 <> ''", "t",
			       against);

	c->tagged = tagged;
	*ret_job = STORE_NONE;
	snprintf(c->against, sizeof(c->against), "%.255s", against);
	if (err || tagged)
		return err;
	other = malloc(sizeof(*other));
	err = other ? store_job(st, against, other) : -ENOMEM;
	if (!err) {
		*ret_job = other->id;
		snprintf(c->against, sizeof(c->against), "%.255s",
			 *other->name ? other->name : other->key);
	}
	free(other);
	return err;
}

int store_compare(struct store *st, int64_t job, const char *against, struct store_comparison *ret)
{
	static const struct store_span everything;
	struct series s = {.st = st};
	struct store_comparison c = {0};
	int64_t other;
	int err;

	c.peers = calloc(STORE_PEERS, sizeof(*c.peers));
	err = c.peers ? compare_against_find(st, against, &other, &c) : -ENOMEM;
	err = err ? err : store_cuts_load(st, &everything, &s.away);
	err = err ? err : compare_own_read(&s, job, &c.own);
	err = err ? err : compare_peers_read(&s, c.tagged ? against : "", other, &c);
	err = err ? err : compare_fill_answer(&c);
	free(s.minute);
	free(s.away.span);
	if (err)
		store_comparison_free(&c);
	else
		*ret = c;
	return err;
}

void store_comparison_free(struct store_comparison *c)
{
	free(c->peers);
	c->peers = NULL;
}
