/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/sketch.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "userspace/store/varint.h"

#define SKETCH_FORMAT 1
#define CLASS_LIMIT   (64u << SKETCH_FINE)

/* Returns the class of a time: its exponent to base 2, followed by the SKETCH_FINE bits after its
 * leading bit. The lowest `coarse` bits are dropped, which makes classes wider. */
static uint16_t sketch_class_of(uint64_t ns, unsigned coarse)
{
	unsigned exponent, mantissa;

	ns = ns ? ns : 1;
	exponent = 63u - (unsigned)__builtin_clzll(ns);
	mantissa = (unsigned)(exponent >= SKETCH_FINE ? ns >> (exponent - SKETCH_FINE)
						      : ns << (SKETCH_FINE - exponent)) &
		   ((1u << SKETCH_FINE) - 1);
	return (uint16_t)((exponent << SKETCH_FINE | mantissa) >> coarse);
}

/* Returns the lower bound of a class in ns. It is not an integer, because classes of short times
 * are narrower than 1 ns. */
static double sketch_class_low(uint32_t class, unsigned coarse)
{
	uint32_t fine = class << coarse, mantissa = fine & ((1u << SKETCH_FINE) - 1);

	return ldexp(1.0 + (double)mantissa / (1u << SKETCH_FINE), (int)(fine >> SKETCH_FINE));
}

static void sketch_widen(struct sketch *s)
{
	uint16_t used = 0;

	for (uint16_t i = 0; i < s->used; i++) {
		uint16_t class = s->at[i].class >> 1;

		if (used && s->at[used - 1].class == class) {
			s->at[used - 1].count += s->at[i].count;
			continue;
		}
		s->at[used].class = class;
		s->at[used++].count = s->at[i].count;
	}
	s->used = used;
	s->coarse++;
}

static void sketch_class_add(struct sketch *s, uint16_t fine, uint32_t count)
{
	for (;;) {
		uint16_t class = (uint16_t)(fine >> s->coarse), low = 0, high = s->used;

		while (low < high) {
			uint16_t middle = (uint16_t)((low + high) / 2);

			if (s->at[middle].class < class)
				low = (uint16_t)(middle + 1);
			else
				high = middle;
		}
		if (low < s->used && s->at[low].class == class) {
			s->at[low].count += count;
			return;
		}
		if (s->used < SKETCH_CLASSES) {
			memmove(s->at + low + 1, s->at + low,
				(size_t)(s->used++ - low) * sizeof(s->at[0]));
			s->at[low].class = class;
			s->at[low].count = count;
			return;
		}
		sketch_widen(s);
	}
}

static void sketch_bounds(struct sketch *s, uint64_t min_ns, uint64_t max_ns)
{
	if (!s->count || min_ns < s->min_ns)
		s->min_ns = min_ns;
	if (max_ns > s->max_ns)
		s->max_ns = max_ns;
}

void sketch_add(struct sketch *s, uint64_t ns)
{
	sketch_bounds(s, ns, ns);
	sketch_class_add(s, sketch_class_of(ns, 0), 1);
	s->count++;
	s->sum_ns += ns;
}

void sketch_merge(struct sketch *into, const struct sketch *from)
{
	if (!from->count)
		return;
	while (into->coarse < from->coarse)
		sketch_widen(into);
	sketch_bounds(into, from->min_ns, from->max_ns);
	for (uint16_t i = 0; i < from->used; i++)
		sketch_class_add(into, (uint16_t)(from->at[i].class << from->coarse),
				 from->at[i].count);
	into->count += from->count;
	into->sum_ns += from->sum_ns;
}

uint64_t sketch_quantile(const struct sketch *s, double part)
{
	uint64_t rank = (uint64_t)ceil(part * (double)s->count), seen = 0, ns;
	uint16_t i = 0;

	if (!s->count)
		return 0;
	rank = rank ? rank : 1;
	if (rank >= s->count)
		return s->max_ns;
	for (; i < s->used - 1; i++) {
		seen += s->at[i].count;
		if (seen >= rank)
			break;
	}
	ns = (uint64_t)((sketch_class_low(s->at[i].class, s->coarse) +
			 sketch_class_low(s->at[i].class + 1u, s->coarse)) /
			2);
	return ns < s->min_ns ? s->min_ns : ns > s->max_ns ? s->max_ns : ns;
}

double sketch_error(const struct sketch *s)
{
	return ldexp(1.0, s->coarse - SKETCH_FINE - 1);
}

double sketch_class_ns(const struct sketch *s, uint32_t class)
{
	return sketch_class_low(class, s->coarse);
}

void sketch_write(const struct sketch *s, struct buffer *out)
{
	uint16_t last = 0;

	if (!s->count)
		return;
	varint_write(out, SKETCH_FORMAT);
	varint_write(out, s->coarse);
	varint_write(out, s->sum_ns);
	varint_write(out, s->min_ns);
	varint_write(out, s->max_ns - s->min_ns);
	varint_write(out, s->used);
	for (uint16_t i = 0; i < s->used; i++) {
		varint_write(out, (uint64_t)(s->at[i].class - last));
		varint_write(out, s->at[i].count);
		last = s->at[i].class;
	}
}

static int sketch_classes_read(struct sketch *s, struct varint_reader *r, uint64_t used)
{
	uint64_t class = 0, limit = CLASS_LIMIT >> s->coarse;

	if (!used || used > SKETCH_CLASSES)
		return -EBADMSG;
	for (; s->used < used && !r->failed; s->used++) {
		uint64_t more = varint_read(r), count = varint_read(r);

		if ((s->used && !more) || more >= limit || class + more >= limit || !count ||
		    count > UINT32_MAX)
			return -EBADMSG;
		class += more;
		s->at[s->used].class = (uint16_t) class;
		s->at[s->used].count = (uint32_t)count;
		s->count += count;
	}
	return 0;
}

int sketch_read(struct sketch *ret, const void *data, size_t len)
{
	struct varint_reader r = varint_reader_of(data, len);
	struct sketch s = {0};
	uint64_t format, coarse, span;
	int err;

	if (len) {
		format = varint_read(&r);
		coarse = varint_read(&r);
		s.sum_ns = varint_read(&r);
		s.min_ns = varint_read(&r);
		span = varint_read(&r);
		s.max_ns = s.min_ns + span;
		if (r.failed || format != SKETCH_FORMAT || coarse > SKETCH_FINE ||
		    s.max_ns < s.min_ns)
			return -EBADMSG;
		s.coarse = (uint8_t)coarse;
		err = sketch_classes_read(&s, &r, varint_read(&r));
		if (err || r.failed || r.at != r.end)
			return -EBADMSG;
	}
	*ret = s;
	return 0;
}
