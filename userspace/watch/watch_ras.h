/* SPDX-License-Identifier: Apache-2.0 */
/* watch_ras.h - asks NCCL's RAS service about processes of distributed jobs that make no progress,
 * usually one process at a time, and records the answers. The questions are sent by a helper
 * process, gp-bpf-ras (ras_ask.h), which keeps the privilege needed for that. Single-threaded. */
#ifndef WATCH_WATCH_RAS_H
#define WATCH_WATCH_RAS_H

#include "userspace/output/journal.h"

struct ras;

/* Starts the helper process gp-bpf-ras, which sends the questions. The next ras_new() uses it, and
 * then needs no privilege. root: "", or the folder that contains proc. */
void ras_prepare(const char *root);
/* Returns 0 or -ENOMEM. If the helper process cannot be started, no questions are sent, which is
 * logged once. */
int ras_new(struct ras **ret, const char *root);
void ras_free(struct ras *r); /* NULL is fine */
/* Reads an answer if one has arrived, and sends the question about the next process when it is
 * time. Call once a second, before the tick record is written. Does not wait. */
void ras_tick(struct ras *r, struct journal *j, const struct output *out);

#endif
