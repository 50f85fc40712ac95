/* SPDX-License-Identifier: Apache-2.0 */
/* cover.h - how much of what spans of time share with others, for many of both: by sorted sweeps,
 * where the goodput library tries each with each. Any unit of time. */
#ifndef ACCOUNT_COVER_H
#define ACCOUNT_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef __int128 goodput_wide; /* sums of times that a log may have put anywhere */

struct goodput_range {
	int64_t from, to;
	uint32_t name;
};

/* Spans that may overlap each other: each counts. */
struct goodput_cover {
	struct goodput_knot *knots;
	size_t count;
};

/* Spans with from >= to count nothing. false: no memory. */
bool goodput_cover_make(struct goodput_cover *c, const struct goodput_range *spans, size_t count);
void goodput_cover_free(struct goodput_cover *c);
/* What [from, to] shares with the spans, added up; 0 if from >= to. */
goodput_wide goodput_cover_shared(const struct goodput_cover *c, int64_t from, int64_t to);

/* For each outer span the added lengths of the inner ones that lie wholly in it (ends may touch),
 * and for each inner span how many outer ones hold it. Inner spans have from < to. Both results are
 * as many as their spans; either may be NULL. false: no memory. */
bool goodput_contained(const struct goodput_range *outer, size_t outer_count,
		       const struct goodput_range *inner, size_t inner_count,
		       goodput_wide *ret_length, uint64_t *ret_holders);

#endif
