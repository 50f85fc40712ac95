/* SPDX-License-Identifier: Apache-2.0 */
/* account.h - prints the goodput that `gp-bpf account` computed from a job's log, as text and as
 * JSON. Pure. Names from the log are escaped here. */
#ifndef REPORT_ACCOUNT_H
#define REPORT_ACCOUNT_H

#include <stdbool.h>

#include "userspace/base/buffer.h"
#include "userspace/ingest/goodput_names.h"
#include "userspace/account/log/answer.h"

#define ACCOUNT_COLS 80

struct account_view {
	const struct goodput_answer *answer;
	const struct goodput_query *query; /* the query that was answered */
	const struct goodput_names *names;
	uint64_t records; /* number of the job's records in the log */
	int64_t last_us;  /* latest time in the job's records */
};

/* Appends the table and its notes, at most ACCOUNT_COLS wide. color: use ANSI colours. ascii: use
 * ASCII characters only. */
void account_text(struct buffer *out, const struct account_view *v, bool color, bool ascii);
/* Appends one JSON object on one line. Its members are `job`, and those keys of the goodput
 * library's test vectors that the query requests. */
void account_json(struct buffer *out, const struct account_view *v);

#endif
