/* SPDX-License-Identifier: Apache-2.0 */
/* cost.h - hits times price, by process, against the budget; and what the budget decides, put into
 * words. Knows the probe table; the links are the caller's. */
#ifndef LOADER_COST_H
#define LOADER_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loader/budget.h"
#include "loader/probe_file.h"

struct cost;

/* As budget_new(). probes: borrowed. */
int cost_new(struct cost **ret, const struct probe_table *probes, uint64_t limit_ns,
	     uint64_t pause_ns);
void cost_free(struct cost *c);

/* A probe sits somewhere; where it sits several times, the dearest counts. */
void cost_price(struct cost *c, uint32_t probe, uint32_t price_ns);
void cost_records(struct cost *c, const void *records, size_t len);
void cost_count(struct cost *c, pid_t pid, uint32_t probe, uint64_t hits);
void cost_forget(struct cost *c, pid_t pid);
/* Roles (bit 1ull << enum gp_role) by which steps are found now: their rows are neither counted
 * only nor detached. chosen: hash of the row that the user named instead, 0: none; it costs as a
 * marker does. true: cost_row() may answer otherwise from now on. */
bool cost_protect(struct cost *c, uint64_t roles, uint32_t chosen);

/* cost_row() answers otherwise from now on. */
typedef void cost_fn(void *ctx);
/* A second passed, more or less: fn is told of a change, after a line in the log. watched: who is
 * still there, so that the last hits of the dead do not count. */
void cost_second(struct cost *c, uint64_t now_ns, bool (*watched)(void *ctx, pid_t pid),
		 cost_fn *fn, void *ctx);

enum cost_state { COST_SENT, COST_COUNTED, COST_DETACHED };
/* What a row is to be at the present level. */
enum cost_state cost_row(const struct cost *c, const struct probe_row *row);

#endif
