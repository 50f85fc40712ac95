/* SPDX-License-Identifier: Apache-2.0 */
/* step_save_program.c - state of the search among compiled programs as bytes. Checks everything
 * that step_program.c relies on when it uses indexes. */
#include "userspace/model/step/step_program.h"

static void exec_program_archive(struct archive *a, struct exec_program *p)
{
	archive_number(a, &p->ident);
	archive_number(a, &p->size);
	archive_number(a, &p->seen);
	archive_number(a, &p->runs);
	archive_number(a, &p->inputs);
	archive_number(a, &p->layer);
	archive_number(a, &p->traced);
	archive_number(a, &p->unseen);
	archive_number(a, &p->readable);
	archive_number(a, &p->fed);
	archive_number(a, &p->given);
	archive_number(a, &p->compiled);
	archive_number(a, &p->cached);
	archive_number(a, &p->member);
	archive_number(a, &p->at_step);
	archive_number(a, &p->gap);
	archive_number(a, &p->same);
	archive_number(a, &p->pace_ns);
	archive_number(a, &p->paced);
	archive_below(a, &p->content, CONTENT_COUNT);
	archive_number(a, &p->moved);
	archive_number(a, &p->first_ns);
	archive_text(a, p->name);
	if (archive_reads(a) && *p->name)
		p->class = program_judge(p->name, p->content);
}

static void exec_run_archive(struct archive *a, const struct exec *e, struct exec_run *r)
{
	archive_number(a, &r->begin_ns);
	archive_number(a, &r->end_ns);
	archive_number(a, &r->done_ns);
	archive_number(a, &r->number);
	archive_below(a, &r->program, e->nprograms);
	archive_number(a, &r->tid);
	archive_number(a, &r->flags);
}

static void exec_block_archive(struct archive *a, struct exec_block *b)
{
	archive_number(a, &b->begin_ns);
	archive_number(a, &b->end_ns);
	archive_number(a, &b->number);
	archive_number(a, &b->runs);
	archive_number(a, &b->evals);
	archive_number(a, &b->program);
	archive_number(a, &b->tid);
	archive_number(a, &b->mixed);
	archive_number(a, &b->trains);
	archive_number(a, &b->open);
}

static void exec_programs_archive(struct archive *a, struct exec *e)
{
	archive_count(a, &e->nprograms, EXEC_PROGRAMS, sizeof(*e->program));
	if (archive_reads(a) && e->nprograms) {
		e->program = archive_alloc(a, e->nprograms, sizeof(*e->program));
		e->programs_cap = e->nprograms = e->program ? e->nprograms : 0;
	}
	for (uint32_t i = 0; i < e->nprograms; i++)
		exec_program_archive(a, &e->program[i]);
}

static void exec_held_archive(struct archive *a, struct exec *e)
{
	archive_count(a, &e->nheld, EXEC_HELD, sizeof(*e->held));
	if (archive_reads(a) && e->nheld) {
		e->held = archive_alloc(a, e->nheld, sizeof(*e->held));
		e->held_cap = e->nheld = e->held ? e->nheld : 0;
	}
	for (uint32_t i = 0; i < e->nheld; i++)
		exec_run_archive(a, e, &e->held[i]);
}

static void exec_pending_archive(struct archive *a, struct exec *e)
{
	archive_count(a, &e->npending, EXEC_PENDING, sizeof(*e->pending));
	if (archive_reads(a) && e->npending) {
		e->pending = archive_alloc(a, e->npending, sizeof(*e->pending));
		e->pending_cap = e->npending = e->pending ? e->npending : 0;
	}
	for (uint32_t i = 0; i < e->npending; i++) {
		exec_run_archive(a, e, &e->pending[i].run);
		archive_number(a, &e->pending[i].micro);
		exec_block_archive(a, &e->pending[i].eval);
	}
}

static void exec_spans_archive(struct archive *a, struct exec *e)
{
	archive_below(a, &e->nspans, EXEC_SPANS + 1);
	for (uint32_t i = 0; i < e->nspans; i++) {
		archive_number(a, &e->span[i].begin_ns);
		archive_number(a, &e->span[i].end_ns);
		archive_number(a, &e->span[i].tid);
		archive_number(a, &e->span[i].idle);
	}
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
	archive_number(a, &e->seq);
	archive_number(a, &e->locked);
	archive_number(a, &e->trains);
	archive_number(a, &e->completes);
	archive_number(a, &e->deaf);
	archive_number(a, &e->switched);
	archive_number(a, &e->replaced);
	archive_number(a, &e->by_name);
	archive_number(a, &e->by_feed);
	archive_number(a, &e->by_content);
	archive_number(a, &e->by_moves);
	archive_below(a, &e->elected, NO_PROGRAM + 1);
	archive_below(a, &e->micro, NO_PROGRAM + 1);
	archive_require(a, e->elected == NO_PROGRAM ? !e->locked : e->elected < e->nprograms);
	archive_require(a, e->micro == NO_PROGRAM || e->micro < e->nprograms);
	archive_number(a, &e->nmicro);
	archive_number(a, &e->usual);
	archive_number(a, &e->layer);
	archive_number(a, &e->steps);
	archive_number(a, &e->dones);
	archive_number(a, &e->elected_at);
	archive_number(a, &e->blocks);
	archive_number(a, &e->blocks_at);
	archive_number(a, &e->begun_ns);
	archive_below(a, &e->begun, NO_PROGRAM + 1);
	archive_number(a, &e->first_ns);
	archive_number(a, &e->last_ns);
	exec_block_archive(a, &e->block);
}
