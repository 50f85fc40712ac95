/* SPDX-License-Identifier: Apache-2.0 */
/* rank_start.c - divides a process's life before its first step by the markers seen.
 *
 *   PROGRAM_STARTUP     from the start of the process: imports, and time without a marker; also
 *                       ranges of torch's compiler, and programs and modules built for a device,
 *                       including those between and within steps
 *   TPU_INITIALIZATION  calls that make a device, a context or a communicator, at any time; making
 *                       a process group, from the start of its store (or of the group) to its end
 *   TRAINING_PREP       from the first successful call of these to the first step: model, data set,
 *                       and time without a marker
 *
 * Restores, evaluations and batches in between have their own buckets, which have priority. If a
 * marker is missing the time stays PROGRAM_STARTUP. For a process that ran before it was observed
 * the first device call is unknown: only a communicator or a group begins TRAINING_PREP. Only
 * threads that train count (before there is such a thread, all threads). */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/grow.h"

static void start_claim(struct rank *r, enum bucket b, uint64_t from_ns, uint64_t to_ns)
{
	int err = to_ns > from_ns ? ledger_interval(r->member.ledger, b, from_ns, to_ns) : 0;

	r->error = err ? err : r->error;
}

static void start_seen(struct rank *r, const struct signal *s, uint64_t from_ns, uint64_t *first_ns,
		       uint64_t *last_ns)
{
	if (*first_ns || s->tainted || s->ts_ns <= from_ns || !phase_trains(r->phase, s->tid))
		return;
	*first_ns = from_ns;
	*last_ns = s->ts_ns;
}

static void start_made(struct rank *r, const struct signal *s, uint64_t from_ns, bool prepares)
{
	struct rank_start *st = &r->start;

	if (!phase_trains(r->phase, s->tid))
		return;
	start_claim(r, BUCKET_ACCELERATOR_INIT, from_ns, s->ts_ns);
	if (prepares && !st->over && !st->ready_ns)
		st->ready_ns = s->ts_ns;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Records that the thread begins to make a process group. This begins with making the group's
 * store. */
static void rank_start_group_begun(struct rank_start *st, const struct signal *s)
{
	if (st->group_ns && st->group_tid == s->tid)
		return;
	st->group_ns = s->ts_ns;
	st->group_tid = s->tid;
}

static void rank_start_group_whole(struct rank *r, const struct signal *s)
{
	struct rank_start *st = &r->start;

	if (!st->group_ns || st->group_tid != s->tid)
		return;
	start_made(r, s, st->group_ns, true);
	start_seen(r, s, st->group_ns, &st->group_from_ns, &st->group_to_ns);
	st->group_ns = 0;
}

/* Returns true if the thread no longer makes a process group, although no end was seen: this signal
 * never occurs while a group is made. The store was used for another purpose, or making the group
 * failed. */
static bool rank_start_group_left(const struct rank_start *st, const struct signal *s)
{
	if (!st->group_ns || st->group_tid != s->tid)
		return false;
	switch (s->kind) {
	case SIGNAL_UPDATE_BEGIN:
	case SIGNAL_ZERO_GRAD_BEGIN:
	case SIGNAL_FETCH_BEGIN:
	case SIGNAL_BACKWARD:
	case SIGNAL_SAVE_BEGIN:
	case SIGNAL_RESTORE:
	case SIGNAL_RANGE_BEGIN:
		return true;
	default:
		return false;
	}
}

/* ---- the compiler ---------------------------------------------------------------------------- */

static void rank_start_compile_begun(struct rank *r, const struct signal *s)
{
	struct rank_start *st = &r->start;

	if (!st->compiling && phase_trains(r->phase, s->tid)) {
		st->compile_tid = s->tid;
		st->compile_ns = s->ts_ns;
	}
	st->compiling += st->compile_tid == s->tid;
}

static void rank_start_compile_claim(struct rank *r, uint64_t from_ns, uint64_t to_ns)
{
	struct rank_start *st = &r->start;
	struct start_compile *compile;

	start_claim(r, BUCKET_PROGRAM_STARTUP, from_ns, to_ns);
	if (st->over || st->ncompiles == START_COMPILES)
		return;
	compile = grow_add(st->compiles, st->ncompiles, st->compiles_cap, START_COMPILES);
	if (compile)
		*compile = (struct start_compile){from_ns, to_ns};
	else
		r->error = -ENOMEM;
}

static void rank_start_compile_over(struct rank *r, const struct signal *s)
{
	struct rank_start *st = &r->start;

	if (st->compiling && st->compile_tid == s->tid && !--st->compiling)
		rank_start_compile_claim(r, st->compile_ns, s->ts_ns);
}

/* Handles a compilation for the device. If it lies within a range of a framework's compiler, it is
 * counted already. */
static void rank_start_compiled(struct rank *r, const struct signal *s)
{
	if (!(r->start.compiling && r->start.compile_tid == s->tid) &&
	    phase_trains(r->phase, s->tid))
		rank_start_compile_claim(r, s->begin_ns, s->ts_ns);
}

bool rank_start_signal(struct rank *r, const struct signal *s)
{
	struct rank_start *st = &r->start;

	if (rank_start_group_left(st, s))
		st->group_ns = 0;
	switch (s->kind) {
	case SIGNAL_INIT:
		if (s->ident)
			start_seen(r, s, s->begin_ns, &st->group_from_ns, &st->group_to_ns);
		start_made(r, s, s->begin_ns, !s->tainted && (s->ident || r->from_start));
		return true;
	case SIGNAL_GROUP_BEGIN:
		rank_start_group_begun(st, s);
		return true;
	case SIGNAL_GROUP:
		rank_start_group_whole(r, s);
		return true;
	case SIGNAL_RANGE_BEGIN:
		if (phase_range_compiles(s->text))
			rank_start_compile_begun(r, s);
		return false;
	case SIGNAL_RANGE:
		if (phase_range_compiles(s->text))
			rank_start_compile_over(r, s);
		return false;
	case SIGNAL_COMPILE:
		rank_start_compiled(r, s);
		return false;
	case SIGNAL_FETCH:
		start_seen(r, s, s->begin_ns, &st->loader_from_ns, &st->loader_to_ns);
		return false;
	case SIGNAL_GAP:
		st->group_ns = 0;
		return false;
	/* A thread does not update while it compiles: the record of the compilation's end was
	 * lost. */
	case SIGNAL_UPDATE:
		st->compiling = s->tid == st->compile_tid ? 0 : st->compiling;
		return false;
	default:
		return false;
	}
}

/* Books TRAINING_PREP up to the first step, except for the compilations in this time. They cannot
 * be booked afterwards, because TRAINING_PREP has priority over PROGRAM_STARTUP. */
void rank_start_over(struct rank *r, uint64_t at_ns)
{
	struct rank_start *st = &r->start;
	uint64_t from_ns = st->ready_ns;

	if (st->over)
		return;
	st->over = true;
	for (uint32_t i = 0; from_ns && i < st->ncompiles && st->compiles[i].from_ns < at_ns; i++) {
		start_claim(r, BUCKET_TRAINING_PREP, from_ns, st->compiles[i].from_ns);
		if (st->compiles[i].to_ns > from_ns)
			from_ns = st->compiles[i].to_ns;
	}
	if (from_ns)
		start_claim(r, BUCKET_TRAINING_PREP, from_ns, at_ns);
	st->ncompiles = 0;
	st->compiles = grow_free(st->compiles, &st->compiles_cap);
}

void rank_start_archive(struct archive *a, struct rank_start *st)
{
	archive_fields(a, st, ready_ns, group_ns, group_tid, compile_tid, compiling, compile_ns,
		       over);
	archive_below(a, &st->ncompiles, START_COMPILES + 1);
	if (archive_reads(a) && st->ncompiles) {
		st->compiles = archive_alloc(a, st->ncompiles, sizeof(*st->compiles));
		st->compiles_cap = st->ncompiles = st->compiles ? st->ncompiles : 0;
	}
	for (uint32_t i = 0; i < st->ncompiles; i++)
		archive_fields(a, &st->compiles[i], from_ns, to_ns);
}
