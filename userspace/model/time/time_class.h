/* SPDX-License-Identifier: Apache-2.0 */
/* time_class.h - classes of times for histograms.
 *
 * Exact below 2^(fine + 1) ns, then 2^fine classes for each power of two, so the middle of a class
 * is within 1 / 2^(fine + 1) of every time in it. */
#ifndef MODEL_TIME_CLASS_H
#define MODEL_TIME_CLASS_H

#include <stdint.h>

static inline uint32_t time_class(uint64_t ns, unsigned fine)
{
	unsigned exponent;

	if (ns < 2ull << fine)
		return (uint32_t)ns;
	exponent = 63u - (unsigned)__builtin_clzll(ns);
	return (2u << fine) + ((exponent - fine - 1) << fine) +
	       (uint32_t)(ns >> (exponent - fine) & ((1u << fine) - 1));
}

static inline uint64_t time_class_middle(uint32_t class, unsigned fine)
{
	unsigned exponent;
	uint64_t low;

	if (class < 2u << fine)
		return class;
	exponent = ((class - (2u << fine)) >> fine) + fine + 1;
	low = (1ull << fine | ((class - (2u << fine)) & ((1u << fine) - 1))) << (exponent - fine);
	return low + (1ull << (exponent - fine)) / 2;
}

#endif
