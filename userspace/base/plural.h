/* SPDX-License-Identifier: Apache-2.0 */
/* plural.h - the plural ending of a noun after a number: "1 job", "2 jobs". */
#ifndef BASE_PLURAL_H
#define BASE_PLURAL_H

#include <stdint.h>

static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Returns the plural ending "es", as in "process", "processes"; "" for 1. */
static inline const char *plural_es(uint64_t n)
{
	return n == 1 ? "" : "es";
}

#endif
