/* SPDX-License-Identifier: Apache-2.0 */
/* elf_scan.c - finds many symbols of a file in one pass over its symbol table.
 *
 * Linkers sort names by their ends to share these, so the names of consecutive symbols are far
 * apart in the strings, and reading each separately would take a million reads. Instead symbols are
 * sorted by the piece of the strings in which their names begin, and each piece is read once, in
 * file order. */
#include <errno.h>
#include <stdlib.h>

#include "loader/elf/elf_private.h"

#define BATCH 8192 /* symbols read at once */
/* Bytes of strings in one piece: fits the cache of a core while names are compared. */
#define PIECE_BYTES (256u << 10)

struct ref {
	uint32_t name, index;
};

/* References to the symbols of one piece, as indexes in scan.refs: [start, limit) is reserved for
 * the piece, and [start, end) is filled so far. */
struct piece {
	uint32_t start, end, limit;
};

struct scan {
	const struct elf_file *ef;
	const struct elf_table *table;
	Elf64_Sym *batch;
	struct piece *pieces;
	size_t pieces_count;
	struct ref *refs;
	char *bytes;
};

typedef int ref_fn(struct scan *s, uint32_t name, uint32_t index);

bool elf_symbol_usable(const struct elf_file *ef, const Elf64_Sym *sym, uint64_t *ret_offset)
{
	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || !sym->st_value ||
	    sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return false;
	return elf_offset_of(ef, sym->st_value, true, ret_offset);
}

/* Calls fn for each symbol that can be probed and has a name. */
static int elf_scan_refs_read(struct scan *s, ref_fn *fn)
{
	const struct elf_table *t = s->table;
	const Elf64_Sym *sym;
	uint64_t unused;
	size_t n;
	int err = 0;

	for (uint64_t i = 0; i < t->count && !err; i += n) {
		n = t->count - i < BATCH ? (size_t)(t->count - i) : BATCH;
		err = elf_read_exactly(s->ef, t->symbols + i * sizeof(*sym), s->batch,
				       n * sizeof(*sym));
		for (size_t j = 0; j < n && !err; j++) {
			sym = &s->batch[j];
			if (sym->st_name < t->strings_size &&
			    elf_symbol_usable(s->ef, sym, &unused))
				err = fn(s, sym->st_name, (uint32_t)(i + j));
		}
	}
	return err;
}

static int elf_scan_ref_count(struct scan *s, uint32_t name, uint32_t index)
{
	(void)index;
	s->pieces[name / PIECE_BYTES].limit++;
	return 0;
}

/* Adds a symbol to its piece. Returns -EBADMSG if the piece is full: the file has changed since its
 * symbols were counted. */
static int elf_scan_ref_put(struct scan *s, uint32_t name, uint32_t index)
{
	struct piece *p = &s->pieces[name / PIECE_BYTES];

	if (p->end == p->limit)
		return -EBADMSG;
	s->refs[p->end++] = (struct ref){name, index};
	return 0;
}

static int elf_scan_refs_sort(struct scan *s)
{
	uint32_t count = 0;
	int err = elf_scan_refs_read(s, elf_scan_ref_count);

	if (err)
		return err;
	for (size_t i = 0; i < s->pieces_count; i++) {
		struct piece *p = &s->pieces[i];

		p->start = p->end = count;
		count += p->limit;
		p->limit = count;
	}
	s->refs = malloc((count + 1ul) * sizeof(*s->refs));
	return s->refs ? elf_scan_refs_read(s, elf_scan_ref_put) : -ENOMEM;
}

/* Reads a piece of the string table, and up to ELF_NAME_MAX bytes after it, because a name that
 * begins in the piece may end there. */
static int elf_scan_piece_read(struct scan *s, size_t piece, elf_name_fn *named, void *ctx)
{
	const struct piece *p = &s->pieces[piece];
	uint64_t at = (uint64_t)piece * PIECE_BYTES, left = s->table->strings_size - at;
	size_t len = left < PIECE_BYTES + ELF_NAME_MAX ? (size_t)left : PIECE_BYTES + ELF_NAME_MAX;
	int err;

	if (p->start == p->end)
		return 0;
	err = elf_read_exactly(s->ef, s->table->strings + at, s->bytes, len);
	for (uint32_t i = p->start; i < p->end && !err; i++) {
		size_t from = s->refs[i].name % PIECE_BYTES;
		size_t room = len - from < ELF_NAME_MAX ? len - from : ELF_NAME_MAX;

		err = named(ctx, s->refs[i].index, s->bytes + from, room);
	}
	return err;
}

int elf_names_scan(const struct elf_file *ef, const struct elf_table *table, elf_name_fn *named,
		   void *ctx)
{
	uint64_t names = table->strings_size < UINT32_MAX ? table->strings_size
							  : UINT32_MAX; /* st_name */
	struct scan s = {
		.ef = ef, .table = table, .pieces_count = (size_t)(names / PIECE_BYTES) + 1};
	int err = -ENOMEM;

	s.batch = malloc(BATCH * sizeof(*s.batch));
	s.pieces = calloc(s.pieces_count, sizeof(*s.pieces));
	s.bytes = malloc(PIECE_BYTES + ELF_NAME_MAX);
	if (s.batch && s.pieces && s.bytes)
		err = elf_scan_refs_sort(&s);
	for (size_t i = 0; i < s.pieces_count && !err; i++)
		err = elf_scan_piece_read(&s, i, named, ctx);
	free(s.batch);
	free(s.pieces);
	free(s.refs);
	free(s.bytes);
	return err;
}
