/* SPDX-License-Identifier: Apache-2.0 */
/* elf_hash.c - finds symbols of a file by its hash table (DT_GNU_HASH). */
#include <errno.h>
#include <string.h>

#include "loader/elf/elf_private.h"

#define CHAIN_MAX 4096 /* limit of symbols in one bucket; linkers aim at a handful */
#define BATCH	  256  /* number of words that are read at once */

/* Positions in DT_GNU_HASH: a header, a Bloom filter (64-bit words), buckets, and one hash for each
 * symbol from `first` on. The lowest bit of a hash is set if it is the last one of its bucket. See
 * elf/dl-lookup.c of glibc. */
struct hash_table {
	uint32_t buckets, first, bloom_words, bloom_shift;
	uint64_t bloom_at, buckets_at, chains_at;
};

static int hash_open(const struct elf_file *ef, struct hash_table *ret)
{
	uint32_t head[4];

	if (!ef->hash || elf_read_exactly(ef, ef->hash, head, sizeof(head)))
		return -ENOENT;
	*ret = (struct hash_table){.buckets = head[0],
				   .first = head[1],
				   .bloom_words = head[2],
				   .bloom_shift = head[3]};
	ret->bloom_at = ef->hash + sizeof(head);
	ret->buckets_at = ret->bloom_at + 8ull * ret->bloom_words;
	ret->chains_at = ret->buckets_at + 4ull * ret->buckets;
	if (!ret->buckets || !ret->bloom_words || ret->bloom_shift > 31 ||
	    !elf_holds(ef, ret->bloom_at, ret->chains_at - ret->bloom_at))
		return -ENOENT;
	return 0;
}

static uint32_t hash_name(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (uint8_t)*name++;
	return h;
}

static int elf_hash_bloom_excludes(const struct elf_file *ef, const struct hash_table *t,
				   uint32_t hash)
{
	uint64_t word, mask = 1ull << hash % 64 | 1ull << (hash >> t->bloom_shift) % 64;

	if (elf_read_exactly(ef, t->bloom_at + 8ull * (hash / 64 % t->bloom_words), &word,
			     sizeof(word)))
		return -ENOENT;
	return (word & mask) != mask;
}

static bool elf_hash_symbol_named(const struct elf_file *ef, const Elf64_Sym *sym, const char *name)
{
	const struct elf_table *t = &ef->dynamic;
	size_t len = strlen(name) + 1;
	char text[ELF_NAME_MAX];

	if (len > sizeof(text) || sym->st_name >= t->strings_size ||
	    len > t->strings_size - sym->st_name)
		return false;
	return !elf_read_exactly(ef, t->strings + sym->st_name, text, len) &&
	       !memcmp(text, name, len);
}

static int elf_hash_chain_found(const struct elf_file *ef, uint64_t index, const char *name,
				int (*found)(void *ctx, const Elf64_Sym *sym), void *ctx)
{
	Elf64_Sym sym;

	if (index >= ef->dynamic.count ||
	    elf_read_exactly(ef, ef->dynamic.symbols + index * sizeof(sym), &sym, sizeof(sym)))
		return -ENOENT;
	return elf_hash_symbol_named(ef, &sym, name) ? found(ctx, &sym) : 0;
}

int elf_hash_lookup(const struct elf_file *ef, const char *name,
		    int (*found)(void *ctx, const Elf64_Sym *sym), void *ctx)
{
	uint32_t hash = hash_name(name), index, value;
	struct hash_table t;
	int err = hash_open(ef, &t);

	if (!err)
		err = elf_hash_bloom_excludes(ef, &t, hash);
	if (err)
		return err > 0 ? 0 : err;
	if (elf_read_exactly(ef, t.buckets_at + 4ull * (hash % t.buckets), &index, sizeof(index)))
		return -ENOENT;
	if (!index)
		return 0;
	if (index < t.first)
		return -ENOENT;
	for (uint32_t i = 0; i < CHAIN_MAX; i++) {
		if (elf_read_exactly(ef, t.chains_at + 4ull * (index - t.first + i), &value,
				     sizeof(value)))
			return -ENOENT;
		if ((value | 1) == (hash | 1)) {
			err = elf_hash_chain_found(ef, (uint64_t)index + i, name, found, ctx);
			if (err)
				return err;
		}
		if (value & 1)
			return 0;
	}
	return -ENOENT;
}

static int hash_last(const struct elf_file *ef, const struct hash_table *t, uint32_t *ret)
{
	uint32_t batch[BATCH], last = 0;
	uint32_t n;

	for (uint32_t i = 0; i < t->buckets; i += n) {
		n = t->buckets - i < BATCH ? t->buckets - i : BATCH;
		if (elf_read_exactly(ef, t->buckets_at + 4ull * i, batch, 4ull * n))
			return -ENOENT;
		for (uint32_t j = 0; j < n; j++)
			last = batch[j] > last ? batch[j] : last;
	}
	*ret = last;
	return 0;
}

/* Returns the number of symbols; 0: unknown. The last symbol is the one with which the chain of the
 * last used bucket ends. */
uint64_t elf_hash_count(const struct elf_file *ef)
{
	uint32_t last, value;
	struct hash_table t;

	if (hash_open(ef, &t) || hash_last(ef, &t, &last) || last < t.first)
		return 0;
	for (uint32_t i = 0; i < CHAIN_MAX; i++) {
		if (elf_read_exactly(ef, t.chains_at + 4ull * (last - t.first + i), &value,
				     sizeof(value)))
			return 0;
		if (value & 1)
			return (uint64_t)last + i + 1;
	}
	return 0;
}
