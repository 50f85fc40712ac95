/* SPDX-License-Identifier: Apache-2.0 */
/* site_text.c - finds functions of a file without symbols by a text in them that contains their
 * name.
 *
 * Near its begin such a function loads the address of a constant text, for example (XLA's
 * pjrt_c_api_helpers.h, ActualStructSizeIsGreaterOrEqual()):
 *
 * mov (%rdi), %rcx; lea "PJRT_Client_Compile_Args"(%rip), %rdi
 *
 * So the file is scanned for the texts, and its code for instructions that load their addresses;
 * the unwind table gives the function. In all released PJRT plugins, one function has each text
 * within its first 101 bytes. The file is hostile: everything is bounded. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/gp_abi.h"
#include "loader/elf/elf_private.h"
#include "loader/site/site_private.h"
#include "loader/site/site_text.h"
#include "userspace/base/clock.h"
#include "userspace/base/hash.h"

#define WHAT "site text 1" /* increase the number when results of the search change */
/* Limit of the distance (bytes) from the begin of a function to the instruction that loads a text's
 * address. */
#define NEAR_BYTES    128
#define TEXT_BYTES    96 /* limit of bytes of a text, with its terminator */
#define CHUNK_BYTES   (1u << 20)
#define OVERLAP	      128
#define ADDRESSES_MAX 256  /* limit of addresses in the file at which texts are found */
#define LOADS_MAX     4096 /* limit of instructions that load such an address */
#define LEA_BYTES     7
/* Limit of the time of one search, less than the 8 s that a reader process may take. If the file is
 * not in the page cache, several searches may be needed. */
#define TRY_NS 5000000000ull
/* Limit of CPU time, for hostile files. Real files take one second on a slow CPU. */
#define CPU_NS 4000000000ull

struct text_address {
	uint64_t address;
	size_t want;
};

/* State of one search in a file */
struct text_search {
	const struct elf_file *ef;
	const struct site_want *want;
	size_t wants;
	struct elf_found *found; /* by index in want: the function that was found */
	bool *twice;		 /* by index in want: several functions load one of the texts */
	char prefix[TEXT_BYTES]; /* the beginning that all texts share */
	size_t prefix_len;
	struct text_address at[ADDRESSES_MAX];
	size_t addresses, loads;
	uint64_t lowest, highest; /* lowest and highest address of a text */
	uint8_t *chunk;
	uint64_t start_ns, cpu_ns;
};

typedef int text_chunk_fn(struct text_search *s, const struct elf_segment *seg, uint64_t done,
			  size_t len);

static int text_time_check(const struct text_search *s)
{
	if (clock_thread_ns() - s->cpu_ns > CPU_NS)
		return -E2BIG;
	return clock_mono_ns() - s->start_ns > TRY_NS ? -ETIMEDOUT : 0;
}

/* Calls fn for each chunk of a segment. Chunks overlap: a text or code that begins in the last
 * OVERLAP bytes of a chunk is complete in the next one. */
static int text_segment_scan(struct text_search *s, const struct elf_segment *seg,
			     text_chunk_fn *fn)
{
	uint64_t done = 0;
	size_t n;
	int err = 0;

	while (!err && done < seg->size) {
		n = seg->size - done < CHUNK_BYTES ? (size_t)(seg->size - done) : CHUNK_BYTES;
		err = elf_read_exactly(s->ef, seg->offset + done, s->chunk, n);
		err = err ? err : fn(s, seg, done, n);
		if (done + n == seg->size)
			break;
		done += n - OVERLAP;
		err = err ? err : text_time_check(s);
	}
	return err;
}

/* ---- the texts ------------------------------------------------------------------------------- */

static int text_address_add(struct text_search *s, size_t want, uint64_t address)
{
	for (size_t i = 0; i < s->addresses; i++)
		if (s->at[i].address == address && s->at[i].want == want)
			return 0;
	if (s->addresses == ADDRESSES_MAX)
		return -E2BIG;
	s->lowest = !s->addresses || address < s->lowest ? address : s->lowest;
	s->highest = address > s->highest ? address : s->highest;
	s->at[s->addresses++] = (struct text_address){address, want};
	return 0;
}

static int text_chunk_texts(struct text_search *s, const struct elf_segment *seg, uint64_t done,
			    size_t len)
{
	const char *chunk = (const char *)s->chunk, *at = chunk, *end = chunk + len;
	int err = 0;

	for (; !err && (at = memmem(at, (size_t)(end - at), s->prefix, s->prefix_len)); at++) {
		for (size_t i = 0; i < s->wants; i++)
			for (size_t k = 0; !err && s->want[i].texts[k]; k++) {
				size_t n = strlen(s->want[i].texts[k]) + 1;

				if (n <= (size_t)(end - at) && !memcmp(at, s->want[i].texts[k], n))
					err = text_address_add(
						s, i, seg->vaddr + done + (uint64_t)(at - chunk));
			}
	}
	return err;
}

/* ---- the code that loads their addresses ----------------------------------------------------- */

static int text_load_found(struct text_search *s, const struct elf_segment *seg, uint64_t at,
			   uint64_t address)
{
	uint64_t begin;
	int err;

	for (size_t i = 0; i < s->addresses; i++) {
		struct elf_found *f = &s->found[s->at[i].want];

		if (s->at[i].address != address)
			continue;
		if (s->loads++ == LOADS_MAX)
			return -E2BIG;
		err = elf_function_of(s->ef, seg->offset + at, &begin);
		if (err && err != -ENOENT)
			return err;
		if (err || seg->offset + at - begin >= NEAR_BYTES)
			continue;
		s->twice[s->at[i].want] |= f->offset && f->offset != begin;
		f->offset = begin;
	}
	return 0;
}

static bool text_may_be(const struct text_search *s, uint64_t address)
{
	return address >= s->lowest && address <= s->highest;
}

static int text_chunk_x86(struct text_search *s, const struct elf_segment *seg, uint64_t done,
			  size_t len)
{
	const uint8_t *at = s->chunk + 1, *end = s->chunk + len;
	int err = 0;

	for (; !err && end - at >= LEA_BYTES - 1; at++) {
		uint64_t from, address;
		int32_t disp;

		at = memchr(at, 0x8d, (size_t)(end - at) - (LEA_BYTES - 2));
		if (!at)
			break;
		if ((at[-1] & 0xfb) != 0x48 || (at[1] & 0xc7) != 0x05)
			continue;
		memcpy(&disp, at + 2, sizeof(disp));
		from = done + (uint64_t)(at - 1 - s->chunk);
		address = seg->vaddr + from + LEA_BYTES + (uint64_t)(int64_t)disp;
		if (text_may_be(s, address))
			err = text_load_found(s, seg, from, address);
	}
	return err;
}

/* Finds loads of addresses in arm64 code: adrp xN, page; ... add xM, xN, low. */
static int text_chunk_arm64(struct text_search *s, const struct elf_segment *seg, uint64_t done,
			    size_t len)
{
	uint64_t page, address;
	uint32_t adrp, add;
	int err = 0;

	for (size_t i = 0; !err && i + sizeof(adrp) <= len; i += sizeof(adrp)) {
		memcpy(&adrp, s->chunk + i, sizeof(adrp));
		if ((adrp & 0x9f000000) != 0x90000000)
			continue;
		page = ((seg->vaddr + done + i) & ~0xfffull) +
		       (uint64_t)(int64_t)((int32_t)((adrp >> 5 & 0x7ffff) << 13 | (adrp >> 29 & 3)
											   << 11) >>
					   11) *
			       4096;
		if (!text_may_be(s, page) && !text_may_be(s, page + 0xfff) &&
		    !(page <= s->lowest && s->highest <= page + 0xfff))
			continue;
		for (size_t j = i + 4; !err && j + sizeof(add) <= len && j < i + OVERLAP; j += 4) {
			memcpy(&add, s->chunk + j, sizeof(add));
			if ((add & 0xffc00000) != 0x91000000 || (add >> 5 & 31) != (adrp & 31))
				continue;
			address = page + (add >> 10 & 0xfff);
			if (text_may_be(s, address))
				err = text_load_found(s, seg, done + i, address);
			break;
		}
	}
	return err;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* Finds the beginning that all texts share: one scan for it is faster than a scan for each text. */
static void text_prefix(struct text_search *s)
{
	const char *first = s->want[0].texts[0], *other;

	s->prefix_len = strnlen(first, sizeof(s->prefix));
	for (size_t i = 0; i < s->wants; i++)
		for (size_t k = 0; (other = s->want[i].texts[k]); k++)
			while (strncmp(first, other, s->prefix_len))
				s->prefix_len--;
	memcpy(s->prefix, first, s->prefix_len);
}

static int text_search(struct text_search *s)
{
	text_chunk_fn *code = s->ef->machine == EM_X86_64    ? text_chunk_x86
			      : s->ef->machine == EM_AARCH64 ? text_chunk_arm64
							     : NULL;
	int err = 0;

	text_prefix(s);
	if (!code || !s->prefix_len)
		return 0;
	for (size_t i = 0; !err && i < s->ef->segments_count; i++)
		if (!s->ef->segments[i].writable)
			err = text_segment_scan(s, &s->ef->segments[i], text_chunk_texts);
	for (size_t i = 0; !err && s->addresses && i < s->ef->segments_count; i++)
		if (s->ef->segments[i].executable)
			err = text_segment_scan(s, &s->ef->segments[i], code);
	return err;
}

struct text_ask {
	const struct site_want *want;
	size_t n;
};

/* Searches the file, and makes the entries for the cache. Entry .want = i has the offset of the
 * function for ask->want[i]. Entry .want = i + n means that several functions have its texts. */
static int text_answer(const void *ctx, int fd, struct elf_found **ret)
{
	const struct text_ask *ask = ctx;
	struct text_search *s = calloc(1, sizeof(*s));
	struct elf_file *ef = NULL;
	int count = 0, err = s ? elf_file_open(&ef, fd) : -ENOMEM;

	if (!err) {
		*s = (struct text_search){.ef = ef,
					  .want = ask->want,
					  .wants = ask->n,
					  .found = calloc(ask->n, sizeof(*s->found)),
					  .twice = calloc(ask->n, sizeof(*s->twice)),
					  .chunk = malloc(CHUNK_BYTES),
					  .start_ns = clock_mono_ns(),
					  .cpu_ns = clock_thread_ns()};
		err = s->found && s->twice && s->chunk ? text_search(s) : -ENOMEM;
	}
	for (size_t i = 0; !err && i < ask->n; i++)
		if (s->found[i].offset)
			s->found[count++] = (struct elf_found){.want = i +
								       (s->twice[i] ? ask->n : 0),
							       .offset = s->found[i].offset};
	if (!err)
		*ret = s->found;
	else if (s)
		free(s->found);
	if (s) {
		free(s->twice);
		free(s->chunk);
	}
	free(s);
	elf_file_close(ef);
	return err ? err : count;
}

int site_texts_find(const char *cache_dir, int fd, const struct site_want *want, size_t n,
		    uint64_t *ret)
{
	uint64_t what = hash_bytes(HASH_START, WHAT, sizeof(WHAT));
	const struct text_ask ask = {want, n};
	struct elf_found *found = NULL;
	int count;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; want[i].texts[k]; k++)
			what = hash_bytes(what, want[i].texts[k], strlen(want[i].texts[k]) + 1);
	count = symbol_cache_ask(cache_dir, fd, what, 2 * n, n, text_answer, &ask, &found);
	memset(ret, 0, n * sizeof(*ret));
	for (int i = 0; i < count; i++)
		ret[found[i].want % n] = found[i].want < n ? found[i].offset : SITE_TEXT_TWICE;
	free(found);
	return count < 0 ? count : 0;
}

/* ---- sites of rows --------------------------------------------------------------------------- */

static void text_choose(struct elf_file *ef, const struct probe_row *row, uint64_t offset, int err,
			struct site *site)
{
	struct elf_found found = {.offset = offset};

	site->state = GP_ATTACH_absent;
	if (err == -ETIMEDOUT) {
		site->error = -GP_TABLE_slow;
	} else if (err || !offset) {
		site->error = -GP_TABLE_unseen;
	} else if (offset == SITE_TEXT_TWICE) {
		site->state = GP_ATTACH_refused;
		site->error = -GP_TABLE_two;
	} else {
		site_choose(ef, row, &found, site);
	}
}

static bool text_row_found(const struct site *sites, int count, size_t row)
{
	for (int i = 0; i < count; i++)
		if (sites[i].row == row)
			return true;
	return false;
}

int sites_add_texts(const struct probe_table *probes, const size_t *rows, size_t n,
		    const char *cache_dir, int fd, struct elf_file *ef, struct site *sites,
		    int count)
{
	struct site_want *want = calloc(n + 1, sizeof(*want));
	uint64_t *offset = calloc(n + 1, sizeof(*offset));
	size_t missing = 0, *of = calloc(n + 1, sizeof(*of));
	bool named = false;
	int err = want && offset && of ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < n; i++) {
		const struct probe_row *row = probe_table_row(probes, rows[i]);

		if (!row->texts[0])
			continue;
		named |= text_row_found(sites, count, rows[i]);
		want[missing].texts = row->texts;
		of[missing++] = rows[i];
	}
	/* Search only if the file has symbols for none of the functions. A file with symbols for
	 * some of them does not contain the others. */
	if (missing && !named && !err)
		err = site_texts_find(cache_dir, fd, want, missing, offset);
	for (size_t i = 0; !named && i < missing; i++) {
		struct site site = {.row = of[i]};

		text_choose(ef, probe_table_row(probes, of[i]), offset[i], err, &site);
		if (site_first(probes, sites, (size_t)count, &site))
			sites[count++] = site;
	}
	free(want);
	free(offset);
	free(of);
	return count;
}
