/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt_cache.c - caches PJRT tables in the symbol cache. */
#include <errno.h>
#include <stdlib.h>

#include "bpf/gp_abi.h"
#include "loader/elf/elf_symbol.h"
#include "loader/site/pjrt.h"
#include "userspace/base/hash.h"

/* An entry of the cache has either the head of the table (want 0: size and minor version in .size)
 * and its slots (want: offset / 8), or the reason why the file has no usable table (want 1: the
 * reason in .size). */
#define WHAT	    "pjrt table 1" /* increase the number when results of the decoder change */
#define ENTRY_HEAD  0
#define ENTRY_WHY   1
#define ENTRY_FIRST (PJRT_HEAD_BYTES / 8)

static int pjrt_cache_slots_remember(const struct pjrt_slots *slots, struct elf_found *found)
{
	int n = 0;

	found[n++] = (struct elf_found){.want = ENTRY_HEAD,
					.size = (uint64_t)slots->minor << 32 | slots->size};
	for (size_t i = ENTRY_FIRST; i < slots->size / 8; i++)
		if (slots->offset[i])
			found[n++] = (struct elf_found){.want = i, .offset = slots->offset[i]};
	return n;
}

static int pjrt_cache_decode(const void *ctx, int fd, struct elf_found **ret)
{
	struct elf_found *found;
	struct pjrt_slots slots;
	struct elf_file *ef;
	int err = elf_file_open(&ef, fd);

	(void)ctx;
	if (err)
		return err;
	err = pjrt_decode(ef, &slots);
	elf_file_close(ef);
	if (err > -GP_TABLE_unseen && err)
		return err;
	found = calloc(PJRT_SLOTS_MAX, sizeof(*found));
	if (!found)
		return -ENOMEM;
	*ret = found;
	if (!err)
		return pjrt_cache_slots_remember(&slots, found);
	found[0] = (struct elf_found){.want = ENTRY_WHY, .size = (uint64_t)-err};
	return 1;
}

/* Checks what is read from the cache like untrusted input. */
static int pjrt_cache_slots_recall(const struct elf_found *found, int n, struct pjrt_slots *ret)
{
	struct pjrt_slots slots = {0};

	if (n == 1 && found->want == ENTRY_WHY && found->size >= GP_TABLE_unseen &&
	    found->size <= GP_TABLE_strange)
		return -(int)found->size;
	if (n < 1 || found->want != ENTRY_HEAD || (uint32_t)found->size > PJRT_SIZE_MAX)
		return -EBADMSG;
	slots.size = (uint32_t)found->size;
	slots.minor = (int32_t)(found->size >> 32);
	for (int i = 1; i < n; i++)
		if (found[i].want >= ENTRY_FIRST && found[i].want < slots.size / 8)
			slots.offset[found[i].want] = found[i].offset;
	*ret = slots;
	return 0;
}

int pjrt_decode_cached(const char *cache_dir, int fd, struct pjrt_slots *ret)
{
	uint64_t what = hash_bytes(HASH_START, WHAT, sizeof(WHAT));
	struct elf_found *found = NULL;
	int n = symbol_cache_ask(cache_dir, fd, what, PJRT_SLOTS_MAX, PJRT_SLOTS_MAX,
				 pjrt_cache_decode, NULL, &found);

	if (n >= 0)
		n = pjrt_cache_slots_recall(found, n, ret);
	free(found);
	return n;
}
