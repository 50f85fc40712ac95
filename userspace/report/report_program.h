/* SPDX-License-Identifier: Apache-2.0 */
/* report_program.h - prints a job's throughput, and the time and cost of its accelerators. */
#ifndef REPORT_REPORT_PROGRAM_H
#define REPORT_REPORT_PROGRAM_H

#include "userspace/base/buffer.h"
#include "userspace/report/document.h"
#include "userspace/report/report_time.h"
#include "userspace/text/canvas.h"

#define REPORT_WORD 64

/* Shows throughput, MFU, and goodput with its factors, of a live run; nothing if the options do not
 * say how much work a step does. */
void report_program(struct canvas *c, const struct report_document *d);
/* Fills *ret for the cost columns of the time table and returns it; NULL if no cost columns were
 * requested or their data is unknown. own_ns: the caller's array of BUCKET_COUNT elements, to which
 * *ret points. */
const struct report_cost *report_cost_of(const struct report_document *d, struct report_cost *ret);
const struct report_cost *report_cost_of_rank(const struct snapshot *s, const struct rank_view *r,
					      double *own_ns, struct report_cost *ret);
/* Appends tags, work and goodputs of a job. accelerator_seconds and cost are null if unknown. */
void report_program_json(struct buffer *out, const struct report_document *d);

#define REPORT_FLOPS 224

bool report_cost_asked(const struct program_config *cfg);

/* Returns the sum of accelerator time over all buckets (ns). */
double report_accelerator_ns(const double *ns);
/* Formats accelerator time in ns as hours: "8.5333", "123.4", "<0.0001". */
const char *report_hours(char out[REPORT_WORD], double ns);
const char *report_money(char out[REPORT_WORD], const struct program_config *cfg, double ns);
/* Returns the work of a step: what the user stated, else what was measured; 0: unknown. */
double report_flops(const struct program_config *cfg, const struct program_view *p);
/* Describes the measured work of a step, without markup. */
const char *report_flops_words(char out[REPORT_FLOPS], const struct program_view *p);
/* Adds the shares of kinds and types in the measured work of a step, without markup. */
void report_operations_words(struct buffer *out, const struct program_view *p);
/* Adds the peak of an accelerator, for the types that a step uses, without markup. */
void report_peak_words(struct buffer *out, const struct program_config *cfg,
		       const struct program_view *p);
/* Returns "MFU", or "HFU" if it is not known what a backward pass computes again. */
const char *report_utilization_name(const struct program_view *p);
/* Returns the figure of that name; 0: unknown. */
double report_utilization(const struct program_view *p, const struct program_rate *r);
/* Formats a share from 0 to 1: "12.5 %" or "<0.1 %"; "unknown" for 0. */
const char *report_share(char out[REPORT_WORD], double share);
/* Formats a number with an SI prefix: "1024", "2.10 M", "412 T"; "unknown" for 0. */
const char *report_si(char out[32], double v);

#endif
