/* SPDX-License-Identifier: Apache-2.0 */
/* cover.h - computes how much time spans have in common with other spans, in any unit of time.
 * Sorts the spans, so that it is fast for many spans; the goodput library compares every span with
 * every other. */
#ifndef ACCOUNT_COVER_H
#define ACCOUNT_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* wide enough for sums of times from a log, which may be any numbers */
typedef __int128 goodput_wide;

struct goodput_range {
	int64_t from, to;
	uint32_t name;
};

/* An index of spans. If spans overlap, their common time counts once for each span. */
struct goodput_cover {
	struct goodput_knot *knots;
	size_t count;
};

/* Makes the index. Ignores spans with from >= to. Returns false if there is no memory. */
bool goodput_cover_make(struct goodput_cover *c, const struct goodput_range *spans, size_t count);
void goodput_cover_free(struct goodput_cover *c);
/* Returns the sum, over all spans, of the time that the span has in common with [from, to]; 0 if
 * from >= to. */
goodput_wide goodput_cover_shared(const struct goodput_cover *c, int64_t from, int64_t to);

/* Computes for each outer span the total length of the inner spans within it, and for each inner
 * span the number of outer spans that contain it. Spans with the same start and end contain each
 * other. Inner spans must have from < to. The results have one entry for each span; either result
 * may be NULL. Returns false if there is no memory. */
bool goodput_contained(const struct goodput_range *outer, size_t outer_count,
		       const struct goodput_range *inner, size_t inner_count,
		       goodput_wide *ret_length, uint64_t *ret_holders);

#endif
