/* SPDX-License-Identifier: Apache-2.0 */
/* query_private.h - what the files of query.h share. */
#ifndef STORE_QUERY_PRIVATE_H
#define STORE_QUERY_PRIVATE_H

#include "userspace/store/query.h"
#include "userspace/store/store_private.h"

/* What the watch left out already is no bucket here. */
void totals_leave_out(struct store_totals *t);
void totals_add(struct store_totals *into, const struct store_totals *more);

static inline int64_t span_end(const struct store_span *span)
{
	return span->to_ns ? span->to_ns : INT64_MAX;
}

#endif
