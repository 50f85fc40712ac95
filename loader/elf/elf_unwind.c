/* SPDX-License-Identifier: Apache-2.0 */
/* elf_unwind.c - finds the beginnings of functions in the table for unwinding exceptions, which
 * stripped files have too. Linux Standard Base 5.0, 10.6.2 (.eh_frame_hdr) and 10.5.1 (DWARF
 * exception header encoding). */
#include <errno.h>

#include "loader/elf/elf_private.h"

#define VERSION	     1
#define OMITTED	     0xff
#define COUNT_UDATA4 0x03
/* Encoding of the table that every linker writes: signed 4-byte offsets from the header */
#define TABLE_SDATA4 0x3b
#define HEADERS_MAX  1024

struct entry {
	int32_t begin, record;
};

static int elf_unwind_header_find(const struct elf_file *ef, Elf64_Phdr *ret)
{
	Elf64_Ehdr header;
	int err = elf_read_exactly(ef, 0, &header, sizeof(header));

	if (err || header.e_phentsize != sizeof(*ret) || header.e_phnum > HEADERS_MAX)
		return err ? err : -EBADMSG;
	for (size_t i = 0; i < header.e_phnum; i++) {
		err = elf_read_exactly(ef, header.e_phoff + i * sizeof(*ret), ret, sizeof(*ret));
		if (err || ret->p_type == PT_GNU_EH_FRAME)
			return err;
	}
	return -ENODATA;
}

/* Returns the number of bytes of a pointer with this encoding; -1: linkers do not use this encoding
 * in the table. */
static int elf_unwind_pointer_bytes(uint8_t encoding)
{
	if (encoding == OMITTED)
		return 0;
	switch (encoding & 0x0f) {
	case 0x03:
	case 0x0b:
		return 4;
	case 0x04:
	case 0x0c:
		return 8;
	default:
		return -1;
	}
}

bool elf_address_of(const struct elf_file *ef, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < ef->segments_count; i++) {
		const struct elf_segment *s = &ef->segments[i];

		if (!s->executable || offset < s->offset || offset - s->offset >= s->size)
			continue;
		*ret = s->vaddr + (offset - s->offset);
		return true;
	}
	return false;
}

/* Finds the last entry whose address is at most `begin`. */
static int elf_unwind_table_search(const struct elf_file *ef, uint64_t table, uint32_t count,
				   int64_t begin, int64_t *ret)
{
	uint32_t low = 0, high = count;
	struct entry entry;
	int err, found = -ENOENT;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		err = elf_read_exactly(ef, table + (uint64_t)middle * sizeof(entry), &entry,
				       sizeof(entry));
		if (err)
			return err;
		if (entry.begin > begin) {
			high = middle;
			continue;
		}
		*ret = entry.begin;
		found = 0;
		low = middle + 1;
	}
	return found;
}

int elf_function_of(const struct elf_file *ef, uint64_t offset, uint64_t *ret)
{
	uint64_t address, at;
	int64_t begin;
	uint8_t head[4];
	uint32_t count;
	Elf64_Phdr ph;
	int err = elf_unwind_header_find(ef, &ph), skip;

	if (!err)
		err = elf_read_exactly(ef, ph.p_offset, head, sizeof(head));
	if (err)
		return err;
	skip = elf_unwind_pointer_bytes(head[1]);
	if (head[0] != VERSION || head[2] != COUNT_UDATA4 || head[3] != TABLE_SDATA4 || skip < 0)
		return -ENODATA;
	at = ph.p_offset + sizeof(head) + (uint64_t)skip;
	err = elf_read_exactly(ef, at, &count, sizeof(count));
	if (err)
		return err;
	if (!elf_address_of(ef, offset, &address))
		return -ENOENT;
	err = elf_unwind_table_search(ef, at + sizeof(count), count,
				      (int64_t)(address - ph.p_vaddr), &begin);
	if (err)
		return err;
	return elf_offset_of(ef, ph.p_vaddr + (uint64_t)begin, true, ret) ? 0 : -ENOENT;
}

int elf_function_at(const struct elf_file *ef, uint64_t offset)
{
	uint64_t begin;
	int err = elf_function_of(ef, offset, &begin);

	return err ? err : begin == offset ? 0 : -ENOENT;
}
