/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - minimum, maximum and difference of unsigned numbers. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdint.h>

static inline uint64_t smaller_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t larger_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns a - b, or 0 if b is larger. */
static inline uint64_t more_than(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Subtracts `most` from *from, or all of *from if it is less. Returns how much was subtracted. */
static inline uint64_t take_up_to(uint64_t *from, uint64_t most)
{
	uint64_t part = smaller_of(*from, most);

	*from -= part;
	return part;
}

#endif
