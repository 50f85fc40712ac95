/* SPDX-License-Identifier: Apache-2.0 */
/* sketch.h - times of any span in fixed memory: a histogram of logarithmic classes that can be
 * merged, and that is a few bytes where the times are alike. Pure. Times in ns.
 *
 * A class is 1/64 of a power of two, so a quantile is within 0.8 % of a time that was there. Where
 * more than SKETCH_CLASSES are in use, all are made twice as wide until they fit: the error doubles
 * and sketch_error() says so. Merging is the same in every order as far as counts, sum, least and
 * greatest go. */
#ifndef STORE_SKETCH_H
#define STORE_SKETCH_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define SKETCH_FINE    6 /* classes of a power of two, as a power of two */
#define SKETCH_CLASSES 128

struct sketch { /* zeroed: no times */
	uint64_t count, sum_ns, min_ns, max_ns;
	uint8_t coarse; /* how often classes were made twice as wide */
	uint16_t used;
	struct {
		uint16_t class;
		uint32_t count;
	} at[SKETCH_CLASSES]; /* by class */
};

void sketch_add(struct sketch *s, uint64_t ns);
void sketch_merge(struct sketch *into, const struct sketch *from);
/* Nearest rank; part of 1, as 0.99. 0: no times. */
uint64_t sketch_quantile(const struct sketch *s, double part);
/* What a quantile may be off by, as a part of itself. */
double sketch_error(const struct sketch *s);
/* The least time of a class; of class + 1: where it ends. Classes are those of at[]. */
double sketch_class_ns(const struct sketch *s, uint32_t class);

/* Appended to out; at most 40 + 12 * SKETCH_CLASSES bytes. */
void sketch_write(const struct sketch *s, struct buffer *out);
/* -EBADMSG: no sketch. No bytes: no times. */
int sketch_read(struct sketch *ret, const void *data, size_t len);

#endif
