/* SPDX-License-Identifier: Apache-2.0 */
/* count.h - counters in the kernel for frequently hit (hot) rows. Each process owns a slot of
 * counters; a sample reports what they counted since the last one. */
#ifndef LOADER_COUNT_H
#define LOADER_COUNT_H

#include "loader/kernel/kernel.h"
#include "loader/loader.h"
#include "loader/probe/rows.h"

struct counts;

/* k and rows are borrowed. Returns 0 or -errno. */
int counts_new(struct counts **ret, const struct kernel *k, const struct rows *rows);
void counts_free(struct counts *c);

/* Returns a slot that pid owns from now on; 0: none is free. */
uint32_t counts_take_slot(struct counts *c, pid_t pid);
/* Frees the slot after the next counts_sample() has reported what it counted. */
void counts_release_slot(struct counts *c, uint32_t slot);
/* Reports counters of all slots, and losses, since the last call. */
void counts_sample(struct counts *c, loader_count_fn *count, loader_loss_fn *loss, void *ctx);
/* Reports counters of a slot whose process has ended. */
void counts_sample_slot(struct counts *c, uint32_t slot, loader_count_fn *count, void *ctx);
/* Call when everything reported so far is stored on the tape: a successor then continues from these
 * values. */
void counts_commit(struct counts *c);
/* Restores the values that a predecessor reported last and could not commit. */
void counts_resume(struct counts *c, uint32_t probe, const struct gp_counter *last);
void counts_resume_loss(struct counts *c, const struct gp_loss *last);
/* Call when everything sampled so far is stored on the tape: frees the slots of ended processes. */
void counts_settle(struct counts *c);
/* Frees slots whose process has ended, if the record of its exit was lost. Call twice, about a
 * second apart: the first call only marks such slots. */
void counts_sweep(struct counts *c);

#endif
