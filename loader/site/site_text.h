/* SPDX-License-Identifier: Apache-2.0 */
/* site_text.h - finds functions in a file without symbols: by a text that the function loads and
 * that contains the name of the function. */
#ifndef LOADER_SITE_TEXT_H
#define LOADER_SITE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A function to be found, by the texts whose addresses it loads (one of them suffices). NULL ends
 * the list. */
struct site_want {
	const char *const *texts;
};
/* Result if several functions load one of the texts */
#define SITE_TEXT_TWICE UINT64_MAX
/* Finds the functions that load the address of a text near their start; cached like symbols
 * (symbol_cache_find()). ret: file offsets of n functions; 0: none. Returns 0 or -errno;
 * -ETIMEDOUT: reading the file is too slow (the next try finds in memory what was read); -E2BIG:
 * the search takes too much CPU time. */
int site_texts_find(const char *cache_dir, int fd, const struct site_want *want, size_t n,
		    uint64_t *ret);
#endif
