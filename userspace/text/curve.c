/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/text/curve.h"

#include <string.h>

void curve_init(struct curve *s, uint64_t width_ns)
{
	memset(s, 0, sizeof(*s));
	s->width_ns = width_ns ? width_ns : 1;
}

static void curve_widen(struct curve *s)
{
	uint32_t used = (s->used + 1) / 2;

	for (uint32_t i = 0; i < used; i++) {
		if (i)
			s->at[i] = s->at[2 * i];
		if (2 * i + 1 < s->used)
			sketch_merge(&s->at[i], &s->at[2 * i + 1]);
	}
	memset(s->at + used, 0, (s->used - used) * sizeof(s->at[0]));
	s->used = used;
	s->width_ns *= 2;
}

static struct sketch *curve_column(struct curve *s, int64_t at_ns)
{
	uint64_t after_ns, i;

	if (!s->count)
		s->from_ns = at_ns;
	after_ns = at_ns > s->from_ns ? (uint64_t)at_ns - (uint64_t)s->from_ns : 0;
	while (after_ns / s->width_ns >= CURVE_COLUMNS)
		curve_widen(s);
	i = after_ns / s->width_ns;
	if (i >= s->used)
		s->used = (uint32_t)i + 1;
	return &s->at[i];
}

void curve_add(struct curve *s, int64_t at_ns, uint64_t step_ns)
{
	sketch_add(curve_column(s, at_ns), step_ns);
	s->count++;
}

void curve_merge(struct curve *s, int64_t at_ns, const struct sketch *times)
{
	if (!times->count)
		return;
	sketch_merge(curve_column(s, at_ns), times);
	s->count += times->count;
}
