/* SPDX-License-Identifier: Apache-2.0 */
/* cover.h - computes how much time spans share with other spans, for large numbers of both: by
 * sorted sweeps, where the goodput library compares each span with each. Any unit of time. */
#ifndef ACCOUNT_COVER_H
#define ACCOUNT_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef __int128 goodput_wide; /* sums of times, which a log can set to any value */

struct goodput_range {
	int64_t from, to;
	uint32_t name;
};

/* Spans that may overlap each other: shared time counts for each of them. */
struct goodput_cover {
	struct goodput_knot *knots;
	size_t count;
};

/* Makes the index. Spans with from >= to are ignored. Returns false if there is no memory. */
bool goodput_cover_make(struct goodput_cover *c, const struct goodput_range *spans, size_t count);
void goodput_cover_free(struct goodput_cover *c);
/* Returns the time that [from, to] shares with the spans, added up; 0 if from >= to. */
goodput_wide goodput_cover_shared(const struct goodput_cover *c, int64_t from, int64_t to);

/* Computes for each outer span the total length of the inner ones inside of it (ends may touch),
 * and for each inner span the number of outer ones that contain it. Inner spans have from < to.
 * Both results have one entry a span; either may be NULL. Returns false if there is no memory. */
bool goodput_contained(const struct goodput_range *outer, size_t outer_count,
		       const struct goodput_range *inner, size_t inner_count,
		       goodput_wide *ret_length, uint64_t *ret_holders);

#endif
