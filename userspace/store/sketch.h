/* SPDX-License-Identifier: Apache-2.0 */
/* sketch.h - distribution of times in bounded memory: a histogram with logarithmic classes. It can
 * be merged, and is small when times are similar. Pure. Times in ns.
 *
 * A class is 1/64 of a power of two, so a quantile is within 0.8 % of an actual time. If more than
 * SKETCH_CLASSES are in use, all classes are made twice as wide until they fit, which doubles the
 * error each time (sketch_error()). Count, sum, least and greatest time do not depend on the order
 * of merging. */
#ifndef STORE_SKETCH_H
#define STORE_SKETCH_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define SKETCH_FINE    6 /* each power of two is divided into 2^SKETCH_FINE classes */
#define SKETCH_CLASSES 128

struct sketch { /* a zeroed sketch has no times */
	uint64_t count, sum_ns, min_ns, max_ns;
	uint8_t coarse; /* how often all classes were made twice as wide */
	uint16_t used;
	struct {
		uint16_t class;
		uint32_t count;
	} at[SKETCH_CLASSES]; /* sorted by class */
};

void sketch_add(struct sketch *s, uint64_t ns);
void sketch_merge(struct sketch *into, const struct sketch *from);
/* Returns the quantile `part` (0.99, for example) by the nearest-rank method; 0: no times. */
uint64_t sketch_quantile(const struct sketch *s, double part);
/* Returns the relative error of quantiles: 0.008, doubled each time the classes are widened. */
double sketch_error(const struct sketch *s);
/* Returns the lower bound of a class in ns; its upper bound is the lower bound of class + 1.
 * Classes are numbered as in at[]. */
double sketch_class_ns(const struct sketch *s, uint32_t class);

/* Appends the encoded sketch to out: at most 40 + 12 * SKETCH_CLASSES bytes. */
void sketch_write(const struct sketch *s, struct buffer *out);
/* Decodes a sketch; len 0: no times. Returns 0; -EBADMSG: data is not a sketch. */
int sketch_read(struct sketch *ret, const void *data, size_t len);

#endif
