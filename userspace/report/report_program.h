/* SPDX-License-Identifier: Apache-2.0 */
/* report_program.h - the throughput of a job, and the cost of its accelerators' time. */
#ifndef REPORT_REPORT_PROGRAM_H
#define REPORT_REPORT_PROGRAM_H

#include "userspace/base/buffer.h"
#include "userspace/report/document.h"
#include "userspace/report/report_time.h"
#include "userspace/text/canvas.h"

/* Throughput, MFU and the three goodputs of a live run; nothing if no option describes a step. */
void report_program(struct canvas *c, const struct report_document *d);
/* Data for the cost columns of the time table, if they are asked for and known; points to *ret.
 * NULL: none. own_ns: BUCKET_COUNT elements. */
const struct report_cost *report_cost_of(const struct report_document *d, struct report_cost *ret);
const struct report_cost *report_cost_of_rank(const struct snapshot *s, const struct rank_view *r,
					      double *own_ns, struct report_cost *ret);
/* Tags, work and goodputs of a job; accelerator_seconds and cost, null if unknown. */
void report_program_json(struct buffer *out, const struct report_document *d);

bool report_cost_asked(const struct program_config *cfg);

/* "1024", "2.10 M", "412 T"; "unknown" for 0. */
const char *report_si(char out[32], double v);

#endif
