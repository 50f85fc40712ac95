/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/elf/elf_private.h"

#define HEADS_BITS 12

/* Hash table of the names to find, by some of their last bytes. A lookup finds the few names that a
 * symbol's name may match. */
struct heads {
	/* Position and number of the bytes that are hashed: the last ones within the shortest
	 * name */
	size_t at, len;
	uint32_t first[1 << HEADS_BITS]; /* first name with this hash: index in wants, + 1; 0: none
					  */
	uint32_t *next;			 /* next name with the same hash: index in wants, + 1 */
};

/* A symbol with one of the names to find */
struct match {
	struct elf_found found;
	/* Index of the symbol. If several symbols have the same offset, the size of the first is
	 * used. */
	uint64_t index;
};

/* State of one elf_symbols_find() */
struct finder {
	const struct elf_file *ef;
	const struct elf_want *wants;
	size_t n, max;
	bool *pending; /* for each of wants: not yet found in the current table */
	bool *have;
	size_t *lengths;
	struct match *matches;
	size_t count, room;
	size_t want;		       /* index of the name that is being looked up by hash */
	const struct elf_table *table; /* table being scanned */
	struct heads heads;
};

static int elf_symbol_finder_add(struct finder *f, size_t want, const Elf64_Sym *sym,
				 uint64_t index)
{
	struct match *bigger;
	uint64_t offset;
	size_t room;

	if (!elf_symbol_usable(f->ef, sym, &offset))
		return 0;
	for (size_t i = 0; i < f->count; i++) {
		struct match *m = &f->matches[i];

		if (m->found.want != want || m->found.offset != offset)
			continue;
		if (index < m->index)
			*m = (struct match){{want, offset, sym->st_size}, index};
		return 0;
	}
	if (f->count == f->max)
		return -E2BIG;
	if (f->count == f->room) {
		room = f->room ? f->room * 2 : 16;
		bigger = reallocarray(f->matches, room, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		f->matches = bigger;
		f->room = room;
	}
	f->matches[f->count++] = (struct match){{want, offset, sym->st_size}, index};
	f->have[want] = true;
	return 0;
}

static int elf_symbol_finder_add_hashed(void *ctx, const Elf64_Sym *sym)
{
	struct finder *f = ctx;

	return elf_symbol_finder_add(f, f->want, sym, 0);
}

/* ---- a table without hashes ------------------------------------------------------------------ */

static uint32_t *elf_symbol_heads_slot(struct heads *h, const char *name)
{
	uint64_t head = 0;

	if (h->len == sizeof(head))
		memcpy(&head, name + h->at, sizeof(head));
	else
		memcpy(&head, name + h->at, h->len);
	return &h->first[head * 0x9e3779b97f4a7c15 >> (64 - HEADS_BITS)];
}

static void elf_symbol_heads_make(struct finder *f)
{
	struct heads *h = &f->heads;
	size_t shortest = ELF_NAME_MAX;
	uint32_t *slot;

	memset(h->first, 0, sizeof(h->first));
	for (size_t i = 0; i < f->n; i++)
		if (f->pending[i] && f->lengths[i] < shortest)
			shortest = f->lengths[i];
	h->len = shortest < sizeof(uint64_t) ? shortest : sizeof(uint64_t);
	h->at = shortest - h->len;
	for (size_t i = f->n; i-- > 0;) {
		if (!f->pending[i])
			continue;
		slot = elf_symbol_heads_slot(h, f->wants[i].name);
		h->next[i] = *slot;
		*slot = (uint32_t)i + 1;
	}
}

/* Returns true if the rest of a symbol's name, after the name to find, is allowed. Mangled names
 * contain no dot: foo.cold, foo.part.0 and foo.isra.0 are parts and rewritten copies of foo, with
 * other entries and arguments. A version follows an @. */
static bool elf_symbol_rest_matches(const char *rest, size_t len, bool prefix)
{
	size_t end = strnlen(rest, len);
	const char *version = memchr(rest, '@', end);

	if (version)
		end = (size_t)(version - rest);
	return prefix ? !memchr(rest, '.', end) : !end && len;
}

static int symbol_match(struct finder *f, size_t want, uint32_t index)
{
	Elf64_Sym sym;
	int err = elf_read_exactly(f->ef, f->table->symbols + index * sizeof(sym), &sym,
				   sizeof(sym));

	return err ? err : elf_symbol_finder_add(f, want, &sym, index);
}

static int elf_symbol_scan_name(void *ctx, uint32_t index, const char *name, size_t len)
{
	struct finder *f = ctx;
	int err = 0;

	if (len < f->heads.at + f->heads.len)
		return 0;
	for (uint32_t next = *elf_symbol_heads_slot(&f->heads, name); next && !err;
	     next = f->heads.next[next - 1]) {
		const struct elf_want *want = &f->wants[next - 1];
		size_t n = f->lengths[next - 1];

		if (n <= len && !memcmp(name, want->name, n) &&
		    elf_symbol_rest_matches(name + n, len - n, want->prefix))
			err = symbol_match(f, next - 1, index);
	}
	return err;
}

static int elf_symbol_scan_table(struct finder *f, const struct elf_table *t)
{
	elf_symbol_heads_make(f);
	f->table = t;
	return elf_names_scan(f->ef, t, elf_symbol_scan_name, f);
}

/* ---- all tables ------------------------------------------------------------------------------ */

/* Finds exact names by hash. The others, which need a scan of the symbol table, stay pending. */
static int elf_symbol_find_hashed(struct finder *f, size_t *ret_pending)
{
	size_t pending = 0;
	int err;

	for (size_t i = 0; i < f->n; i++) {
		f->want = i;
		err = f->wants[i].prefix ? -ENOENT
					 : elf_hash_lookup(f->ef, f->wants[i].name,
							   elf_symbol_finder_add_hashed, f);
		if (err && err != -ENOENT)
			return err;
		f->pending[i] = err;
		pending += f->pending[i];
	}
	*ret_pending = pending;
	return 0;
}

static int elf_symbol_find_all(struct finder *f)
{
	size_t pending = 0;
	int err = elf_symbol_find_hashed(f, &pending);

	if (!err && pending)
		err = elf_symbol_scan_table(f, &f->ef->dynamic);
	if (err)
		return err;
	pending = 0;
	for (size_t i = 0; i < f->n; i++) {
		f->pending[i] = !f->have[i];
		pending += f->pending[i];
	}
	return pending ? elf_symbol_scan_table(f, &f->ef->full) : 0;
}

static int elf_symbol_match_compare(const void *a, const void *b)
{
	const struct elf_found *x = &((const struct match *)a)->found,
			       *y = &((const struct match *)b)->found;

	if (x->want != y->want)
		return x->want < y->want ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int elf_symbol_matches_give(const struct finder *f, struct elf_found **ret)
{
	struct elf_found *found = f->count ? calloc(f->count, sizeof(*found)) : NULL;

	if (f->count && !found)
		return -ENOMEM;
	if (f->count)
		qsort(f->matches, f->count, sizeof(*f->matches), elf_symbol_match_compare);
	for (size_t i = 0; i < f->count; i++)
		found[i] = f->matches[i].found;
	*ret = found;
	return (int)f->count;
}

int elf_symbols_find(struct elf_file *ef, const struct elf_want *wants, size_t n, size_t max_found,
		     struct elf_found **ret)
{
	struct finder *f = n < UINT32_MAX ? calloc(1, sizeof(*f)) : NULL;
	int err = 0;

	if (!f)
		return -ENOMEM;
	*f = (struct finder){.ef = ef, .wants = wants, .n = n, .max = max_found};
	f->pending = calloc(n + 1, sizeof(*f->pending));
	f->have = calloc(n + 1, sizeof(*f->have));
	f->lengths = calloc(n + 1, sizeof(*f->lengths));
	f->heads.next = calloc(n + 1, sizeof(*f->heads.next));
	if (!f->pending || !f->have || !f->lengths || !f->heads.next)
		err = -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		f->lengths[i] = strlen(wants[i].name);
		if (!f->lengths[i] || f->lengths[i] >= ELF_NAME_MAX)
			err = -EINVAL;
	}
	if (!err)
		err = elf_symbol_find_all(f);
	if (!err)
		err = elf_symbol_matches_give(f, ret);
	free(f->pending);
	free(f->have);
	free(f->lengths);
	free(f->heads.next);
	free(f->matches);
	free(f);
	return err;
}
