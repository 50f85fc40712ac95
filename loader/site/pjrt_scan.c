/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt_scan.c - finds the PJRT table of a plugin in the memory of a process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "bpf/gp_abi.h"
#include "loader/elf/elf_private.h"
#include "loader/site/pjrt.h"

#define REGIONS_MAX 64
#define LINES_MAX   (1 << 17) /* limit of mappings read */
#define SCAN_BYTES  (64u << 20)
#define CHUNK_BYTES (256u << 10)
#define MAJOR_MAX   15 /* bounds of a plausible version */
#define MINOR_MIN   20
#define MINOR_MAX   400
#define AGAIN_NS    1000000 /* ns between two reads of a table */

struct region {
	uint64_t start, end, offset; /* offset: file offset, of code only */
};

struct scan {
	const struct elf_file *ef;
	int mem;
	struct region code[REGIONS_MAX], data[REGIONS_MAX];
	size_t codes, datas;
	uint8_t *chunk;
	uint64_t left; /* bytes that may still be read */
	size_t found;
	uint64_t at; /* address of the table found */
	struct pjrt_slots slots;
	uint8_t bytes[PJRT_SIZE_MAX];
	int why;
};

/* ---- mappings -------------------------------------------------------------------------------- */

struct line {
	unsigned long start, end, offset, ino;
	unsigned int major, minor;
	char perms[5], name[16];
};

static bool pjrt_scan_line_parse(const char *text, struct line *ret)
{
	ret->name[0] = 0;
	return sscanf(text, "%lx-%lx %4s %lx %x:%x %lu %15s", &ret->start, &ret->end, ret->perms,
		      &ret->offset, &ret->major, &ret->minor, &ret->ino, ret->name) >= 7 &&
	       strlen(ret->perms) == 4 && ret->start < ret->end;
}

static bool pjrt_scan_line_same(const struct line *a, const struct line *b)
{
	return a->ino && a->ino == b->ino && a->major == b->major && a->minor == b->minor;
}

/* Returns true for data of the file, also read-only data: after relocation such pages may have
 * become read-only (RELRO) and contain the table. */
static bool pjrt_scan_line_data(const struct scan *s, const struct line *l)
{
	if (l->perms[0] != 'r' || l->perms[2] == 'x')
		return false;
	if (l->perms[1] == 'w')
		return true;
	for (size_t i = 0; i < s->ef->segments_count; i++) {
		const struct elf_segment *seg = &s->ef->segments[i];

		if (seg->writable && l->offset < seg->offset + seg->size &&
		    seg->offset < l->offset + (l->end - l->start))
			return true;
	}
	return false;
}

static bool pjrt_scan_line_anonymous(const struct line *l)
{
	return !l->ino && (!l->name[0] || !strncmp(l->name, "[anon", 5)) &&
	       !strncmp(l->perms, "rw", 2);
}

static void pjrt_scan_region_add(struct region *to, size_t *count, const struct line *l)
{
	if (*count < REGIONS_MAX)
		to[(*count)++] = (struct region){l->start, l->end, l->offset};
}

static FILE *pjrt_scan_maps_open(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	return fopen(path, "re");
}

/* Finds the line of the file, by map_start. Its device and inode are as shown in this file,
 * whatever the kernel uses. */
static int pjrt_scan_own_find(FILE *f, uint64_t map_start, struct line *ret)
{
	char *text = NULL;
	size_t room = 0;
	int err = -ESRCH;

	for (int i = 0; err && i < LINES_MAX && getline(&text, &room, f) > 0; i++)
		if (pjrt_scan_line_parse(text, ret) && ret->start == map_start && ret->ino)
			err = 0;
	free(text);
	return err;
}

static void pjrt_scan_regions_read(struct scan *s, FILE *f, const struct line *own)
{
	bool data = false; /* the line before was data, and ended at end */
	uint64_t end = 0;
	char *text = NULL;
	size_t room = 0;
	struct line l;

	for (int i = 0; i < LINES_MAX && getline(&text, &room, f) > 0; i++) {
		if (!pjrt_scan_line_parse(text, &l)) {
			data = false;
		} else if (!pjrt_scan_line_same(&l, own)) {
			data = data && l.start == end && pjrt_scan_line_anonymous(&l);
			if (data)
				pjrt_scan_region_add(s->data, &s->datas, &l);
			data = false; /* only one anonymous mapping after data (.bss) */
		} else {
			data = pjrt_scan_line_data(s, &l);
			end = l.end;
			if (data)
				pjrt_scan_region_add(s->data, &s->datas, &l);
			else if (l.perms[2] == 'x')
				pjrt_scan_region_add(s->code, &s->codes, &l);
		}
	}
	free(text);
}

static int pjrt_scan_regions_find(struct scan *s, pid_t pid, uint64_t map_start)
{
	FILE *f = pjrt_scan_maps_open(pid);
	struct line own;
	int err;

	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	err = pjrt_scan_own_find(f, map_start, &own);
	if (!err) {
		rewind(f);
		pjrt_scan_regions_read(s, f, &own);
	}
	fclose(f);
	return err ? err : s->codes ? 0 : -ESRCH;
}

/* ---- a table --------------------------------------------------------------------------------- */

static bool pjrt_scan_offset(void *ctx, uint64_t address, uint64_t *ret)
{
	const struct scan *s = ctx;

	for (size_t i = 0; i < s->codes; i++) {
		const struct region *r = &s->code[i];
		uint64_t offset = r->offset + (address - r->start);

		if (address < r->start || address >= r->end)
			continue;
		for (size_t j = 0; j < s->ef->segments_count; j++) {
			const struct elf_segment *seg = &s->ef->segments[j];

			if (!seg->executable || offset < seg->offset ||
			    offset - seg->offset >= seg->size)
				continue;
			*ret = offset;
			return true;
		}
	}
	return false;
}

static bool pjrt_scan_memory_read(const struct scan *s, uint64_t at, void *buf, size_t len)
{
	return at <= INT64_MAX && pread(s->mem, buf, len, (off_t)at) == (ssize_t)len;
}

/* Reads and checks the table at an address. Returns 0 or the reason for refusing it. *ret_here:
 * number of its functions in this file. */
static int pjrt_scan_table_read(const struct scan *s, uint64_t at, uint8_t bytes[PJRT_SIZE_MAX],
				struct pjrt_slots *ret, size_t *ret_here)
{
	struct pjrt_table t = {0};
	int err;

	*ret_here = 0;
	if (at % 8 || !pjrt_scan_memory_read(s, at, bytes, PJRT_HEAD_BYTES))
		return -GP_TABLE_garbage;
	pjrt_head_parse(bytes, &t);
	err = pjrt_head_check(&t);
	if (err)
		return err;
	if (!pjrt_scan_memory_read(s, at, bytes, t.size))
		return -GP_TABLE_size;
	pjrt_head_parse(bytes, &t);
	if (pjrt_head_check(&t))
		return -GP_TABLE_changed;
	memcpy(t.slot, bytes, t.size);
	return pjrt_table_check(&t, pjrt_scan_offset, (void *)s, ret, ret_here);
}

/* Checks that the table does not change: a real one is filled before its address is known, and
 * never written again. */
static int pjrt_scan_table_settled(struct scan *s, uint64_t at)
{
	uint8_t again[PJRT_SIZE_MAX];

	nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
	if (!pjrt_scan_memory_read(s, at, again, s->slots.size) ||
	    memcmp(again, s->bytes, s->slots.size) != 0)
		return -GP_TABLE_changed;
	return 0;
}

/* ---- scanning for it ------------------------------------------------------------------------- */

/* Accepts a wide range of versions, so that an unsupported table is reported and not skipped. */
static bool pjrt_scan_head_likely(const uint8_t *head)
{
	struct pjrt_table t;

	return pjrt_head_parse(head, &t) && t.size >= PJRT_SIZE_MIN && t.size <= PJRT_SIZE_MAX &&
	       t.size % 8 == 0 && t.major >= 0 && t.major <= MAJOR_MAX && t.minor >= MINOR_MIN &&
	       t.minor <= MINOR_MAX;
}

static void pjrt_scan_head_follow(struct scan *s, uint64_t at)
{
	uint8_t bytes[PJRT_SIZE_MAX];
	struct pjrt_slots slots;
	size_t here;
	int err = pjrt_scan_table_read(s, at, bytes, &slots, &here);

	if (err && !s->why)
		s->why = err;
	if (err || s->found++)
		return;
	s->at = at;
	s->slots = slots;
	memcpy(s->bytes, bytes, slots.size);
}

static void pjrt_scan_region_scan(struct scan *s, const struct region *r)
{
	uint64_t at = r->start;

	while (at + PJRT_HEAD_BYTES <= r->end && s->left) {
		uint64_t want = r->end - at;
		ssize_t n;

		want = want < CHUNK_BYTES ? want : CHUNK_BYTES;
		want = want < s->left ? want : s->left;
		n = pread(s->mem, s->chunk, want, (off_t)at);
		if (n < PJRT_HEAD_BYTES)
			return;
		s->left -= (uint64_t)n;
		for (size_t i = 0; i + PJRT_HEAD_BYTES <= (size_t)n; i += 8)
			if (s->chunk[i + 16] == PJRT_VERSION_SIZE &&
			    pjrt_scan_head_likely(s->chunk + i))
				pjrt_scan_head_follow(s, at + i);
		if ((uint64_t)n == r->end - at)
			return;
		at += ((uint64_t)n & ~7ull) -
		      (PJRT_HEAD_BYTES - 8); /* complete heads were checked up to here */
	}
}

static int scan_data(struct scan *s)
{
	s->left = SCAN_BYTES;
	for (size_t i = 0; i < s->datas; i++)
		pjrt_scan_region_scan(s, &s->data[i]);
	if (s->found > 1)
		return -GP_TABLE_two;
	if (!s->found)
		return s->why ? s->why : -GP_TABLE_unseen;
	return pjrt_scan_table_settled(s, s->at);
}

static bool pjrt_scan_address_ours(const struct scan *s, uint64_t at)
{
	for (size_t i = 0; i < s->datas; i++)
		if (at >= s->data[i].start && at < s->data[i].end)
			return true;
	return false;
}

/* Reads the table at an address that a call returned. Errors of a table outside this file's data
 * are not reported, as it belongs to another library. */
static int scan_address(struct scan *s, uint64_t table)
{
	size_t here;
	int err = pjrt_scan_table_read(s, table, s->bytes, &s->slots, &here);

	if (err)
		return pjrt_scan_address_ours(s, table) ? err : -GP_TABLE_unseen;
	return pjrt_scan_table_settled(s, table);
}

int pjrt_scan(const struct elf_file *ef, pid_t pid, uint64_t map_start, uint64_t table,
	      struct pjrt_slots *ret)
{
	struct scan *s = calloc(1, sizeof(*s));
	char path[64];
	int err;

	if (!s)
		return -ENOMEM;
	s->ef = ef;
	s->chunk = malloc(CHUNK_BYTES);
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	s->mem = open(path, O_RDONLY | O_CLOEXEC);
	err = !s->chunk ? -ENOMEM : s->mem < 0 ? (errno == ENOENT ? -ESRCH : -errno) : 0;
	if (!err)
		err = pjrt_scan_regions_find(s, pid, map_start);
	if (!err)
		err = table ? scan_address(s, table) : scan_data(s);
	if (!err)
		*ret = s->slots;
	if (s->mem >= 0)
		close(s->mem);
	free(s->chunk);
	free(s);
	return err;
}
