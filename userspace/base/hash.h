/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - a fast hash function for names and to detect changes: FNV-1a, 64 bits (Fowler, Noll,
 * Vo). Not safe against keys that are made to collide. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325ull

/* Hashes a number in one step. Faster than hashing its bytes, with another result. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * 0x100000001b3ull;
}

static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *byte = data;

	while (len--)
		hash = hash_word(hash, *byte++);
	return hash;
}

#endif
