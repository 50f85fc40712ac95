/* SPDX-License-Identifier: Apache-2.0 */
/* report_program.h - the throughput of a job, and the cost of its accelerators' time. */
#ifndef REPORT_REPORT_PROGRAM_H
#define REPORT_REPORT_PROGRAM_H

#include "userspace/base/buffer.h"
#include "userspace/report/document.h"
#include "userspace/report/report_time.h"
#include "userspace/text/canvas.h"

#define REPORT_WORD 64

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

/* Accelerator time of all buckets (ns). */
double report_accelerator_ns(const double *ns);
/* "8.5333", "123.4", "<0.0001"; of accelerator time. */
const char *report_hours(char out[REPORT_WORD], double ns);
const char *report_money(char out[REPORT_WORD], const struct program_config *cfg, double ns);
/* "12.5 %", "<0.1 %"; "unknown" for 0. */
const char *report_share(char out[REPORT_WORD], double share);
/* "1024", "2.10 M", "412 T"; "unknown" for 0. */
const char *report_si(char out[32], double v);

#endif
