/* SPDX-License-Identifier: Apache-2.0 */
/* step_save_program.c - saves and restores the search among compiled programs. Restoring checks all
 * indexes, which step_program.c uses without a check. */
#include "userspace/model/step/step_program.h"

static void exec_program_archive(struct archive *a, struct exec_program *p)
{
	archive_fields(a, p, ident, size, seen, runs, inputs, layer, traced, unseen, readable, fed,
		       given, compiled, cached, member, at_step, gap);
	archive_fields(a, p, same, pace_ns, paced);
	archive_below(a, &p->content, CONTENT_COUNT);
	archive_fields(a, p, moved, first_ns, name);
	if (archive_reads(a) && *p->name)
		p->class = program_judge(p->name, p->content);
}

static void exec_run_archive(struct archive *a, const struct exec *e, struct exec_run *r)
{
	archive_fields(a, r, begin_ns, end_ns, done_ns, number);
	archive_below(a, &r->program, e->nprograms);
	archive_fields(a, r, tid, flags);
}

static void exec_block_archive(struct archive *a, struct exec_block *b)
{
	archive_fields(a, b, begin_ns, end_ns, number, runs, evals, program, tid, mixed, trains,
		       open);
}

static void exec_programs_archive(struct archive *a, struct exec *e)
{
	archive_items(a, e->program, e->nprograms, e->programs_cap, EXEC_PROGRAMS);
	for (uint32_t i = 0; i < e->nprograms; i++)
		exec_program_archive(a, &e->program[i]);
}

static void exec_held_archive(struct archive *a, struct exec *e)
{
	archive_items(a, e->held, e->nheld, e->held_cap, EXEC_HELD);
	for (uint32_t i = 0; i < e->nheld; i++)
		exec_run_archive(a, e, &e->held[i]);
}

static void exec_pending_archive(struct archive *a, struct exec *e)
{
	archive_items(a, e->pending, e->npending, e->pending_cap, EXEC_PENDING);
	for (uint32_t i = 0; i < e->npending; i++) {
		exec_run_archive(a, e, &e->pending[i].run);
		archive_field(a, e->pending[i].micro);
		exec_block_archive(a, &e->pending[i].eval);
	}
}

static void exec_spans_archive(struct archive *a, struct exec *e)
{
	archive_below(a, &e->nspans, EXEC_SPANS + 1);
	for (uint32_t i = 0; i < e->nspans; i++)
		archive_fields(a, &e->span[i], begin_ns, end_ns, tid, idle);
}

void exec_archive(struct archive *a, struct exec **at)
{
	struct exec *e = *at = archive_object(a, *at, sizeof(*e));

	if (!e)
		return;
	exec_programs_archive(a, e);
	exec_held_archive(a, e);
	exec_pending_archive(a, e);
	exec_spans_archive(a, e);
	archive_fields(a, e, seq, locked, trains, completes, deaf, switched, replaced, by_name,
		       by_feed, by_content, by_moves);
	archive_below(a, &e->elected, NO_PROGRAM + 1);
	archive_below(a, &e->micro, NO_PROGRAM + 1);
	archive_require(a, e->elected == NO_PROGRAM ? !e->locked : e->elected < e->nprograms);
	archive_require(a, e->micro == NO_PROGRAM || e->micro < e->nprograms);
	archive_fields(a, e, nmicro, usual, layer, steps, dones, elected_at, blocks, blocks_at,
		       begun_ns);
	archive_below(a, &e->begun, NO_PROGRAM + 1);
	archive_fields(a, e, first_ns, last_ns);
	exec_block_archive(a, &e->block);
}
