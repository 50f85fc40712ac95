/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - the page of gp-bpf explain: what limits each job, the largest loss first, each with
 * its evidence and what to try. */
#ifndef REPORT_EXPLAIN_H
#define REPORT_EXPLAIN_H

#include <stdbool.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"
#include "userspace/report/document.h"
#include "userspace/text/canvas.h"

/* Puts the first finding as a line "verdict ...", and what to try as a line "try ...". */
void explain_verdict(struct canvas *c, const struct verdicts *v);
/* Append the page of all jobs of a snapshot, and of trainers without a job; as text, cols wide
 * (0: unlimited), or as one JSON object. */
void explain_text(struct buffer *out, const struct snapshot *s, int cols, bool color);
void explain_json(struct buffer *out, const struct snapshot *s);
/* Append the page of a job of a store. */
void explain_document_text(struct buffer *out, const struct report_document *d, int cols,
			   bool color);
void explain_document_json(struct buffer *out, const struct report_document *d);

#endif
