/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/elf_private.h"

#define BATCH	     1024 /* symbols read at once */
#define WINDOW_BYTES 8192 /* of the strings; compilers write names in the order of symbols, mostly */

struct finder {
	const struct elf_file *ef;
	const struct elf_want *wants;
	size_t n, max;
	bool *pending; /* wants to look for in the table at hand */
	bool *have;
	size_t *lengths;
	struct elf_found *found;
	size_t count, room;
	size_t want; /* the one a hash lookup is for */
};

/* A piece of a string table, moved as names ask for it. */
struct window {
	const struct elf_file *ef;
	const struct elf_table *table;
	uint64_t at;
	size_t len;
	char bytes[WINDOW_BYTES];
};

bool elf_symbol_usable(const struct elf_file *ef, const Elf64_Sym *sym, uint64_t *ret_offset)
{
	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || !sym->st_value || sym->st_shndx == SHN_UNDEF ||
	    sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return false;
	return elf_offset_of(ef, sym->st_value, true, ret_offset);
}

static int finder_add(struct finder *f, size_t want, const Elf64_Sym *sym)
{
	struct elf_found *bigger;
	uint64_t offset;
	size_t room;

	if (!elf_symbol_usable(f->ef, sym, &offset))
		return 0;
	for (size_t i = 0; i < f->count; i++)
		if (f->found[i].want == want && f->found[i].offset == offset)
			return 0;
	if (f->count == f->max)
		return -E2BIG;
	if (f->count == f->room) {
		room = f->room ? f->room * 2 : 16;
		bigger = reallocarray(f->found, room, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		f->found = bigger;
		f->room = room;
	}
	f->found[f->count++] = (struct elf_found){.want = want, .offset = offset, .size = sym->st_size};
	f->have[want] = true;
	return 0;
}

static int finder_add_hashed(void *ctx, const Elf64_Sym *sym)
{
	struct finder *f = ctx;

	return finder_add(f, f->want, sym);
}

/* The name at index and how many bytes of it are at hand (at most ELF_NAME_MAX, less at the table's
 * end); NULL: the index lies. */
static const char *window_name(struct window *w, uint64_t index, size_t *ret_len)
{
	uint64_t size = w->table->strings_size, len;

	if (index >= size)
		return NULL;
	len = size - index < ELF_NAME_MAX ? size - index : ELF_NAME_MAX;
	if (index < w->at || index - w->at > w->len || len > w->len - (index - w->at)) {
		w->at = index;
		w->len = size - index < WINDOW_BYTES ? (size_t)(size - index) : WINDOW_BYTES;
		if (elf_read_exactly(w->ef, w->table->strings + index, w->bytes, w->len)) {
			w->len = 0;
			return NULL;
		}
	}
	*ret_len = (size_t)len;
	return w->bytes + (index - w->at);
}

/* Mangled names have no dot of their own: foo.cold, foo.part.0 and foo.isra.0 are pieces and rewritten
 * copies of foo, with other entries and arguments. Behind an @ stands a version. */
static bool rest_matches(const char *rest, size_t len, bool prefix)
{
	size_t end = strnlen(rest, len);
	const char *version = memchr(rest, '@', end);

	if (version)
		end = (size_t)(version - rest);
	return prefix ? !memchr(rest, '.', end) : !end && len;
}

static int scan_symbol(struct finder *f, struct window *w, const Elf64_Sym *sym)
{
	uint64_t unused;
	const char *name;
	size_t len;
	int err = 0;

	if (!elf_symbol_usable(f->ef, sym, &unused))
		return 0;
	name = window_name(w, sym->st_name, &len);
	for (size_t i = 0; name && i < f->n && !err; i++) {
		size_t want = f->lengths[i];

		if (f->pending[i] && want <= len && !memcmp(name, f->wants[i].name, want) &&
		    rest_matches(name + want, len - want, f->wants[i].prefix))
			err = finder_add(f, i, sym);
	}
	return err;
}

static int scan_table(struct finder *f, const struct elf_table *t)
{
	struct window *w = malloc(sizeof(*w));
	Elf64_Sym *batch = malloc(BATCH * sizeof(*batch));
	int err = w && batch ? 0 : -ENOMEM;
	size_t n;

	if (w)
		*w = (struct window){.ef = f->ef, .table = t};
	for (uint64_t i = 0; i < t->count && !err; i += n) {
		n = t->count - i < BATCH ? (size_t)(t->count - i) : BATCH;
		err = elf_read_exactly(f->ef, t->symbols + i * sizeof(*batch), batch, n * sizeof(*batch));
		for (size_t j = 0; j < n && !err; j++)
			err = scan_symbol(f, w, &batch[j]);
	}
	free(batch);
	free(w);
	return err;
}

/* Exact names by hash; what a scan is left for stays pending. */
static int find_hashed(struct finder *f, size_t *ret_pending)
{
	size_t pending = 0;
	int err;

	for (size_t i = 0; i < f->n; i++) {
		f->want = i;
		err = f->wants[i].prefix ? -ENOENT
					 : elf_hash_lookup(f->ef, f->wants[i].name, finder_add_hashed, f);
		if (err && err != -ENOENT)
			return err;
		f->pending[i] = err;
		pending += f->pending[i];
	}
	*ret_pending = pending;
	return 0;
}

static int find_all(struct finder *f)
{
	size_t pending = 0;
	int err = find_hashed(f, &pending);

	if (!err && pending)
		err = scan_table(f, &f->ef->dynamic);
	if (err)
		return err;
	pending = 0;
	for (size_t i = 0; i < f->n; i++) {
		f->pending[i] = !f->have[i];
		pending += f->pending[i];
	}
	return pending ? scan_table(f, &f->ef->full) : 0;
}

static int found_compare(const void *a, const void *b)
{
	const struct elf_found *x = a, *y = b;

	if (x->want != y->want)
		return x->want < y->want ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

int elf_symbols_find(struct elf_file *ef, const struct elf_want *wants, size_t n, size_t max_found,
		     struct elf_found **ret)
{
	struct finder f = {.ef = ef, .wants = wants, .n = n, .max = max_found};
	int err = 0;

	f.pending = calloc(n + 1, sizeof(*f.pending));
	f.have = calloc(n + 1, sizeof(*f.have));
	f.lengths = calloc(n + 1, sizeof(*f.lengths));
	if (!f.pending || !f.have || !f.lengths)
		err = -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		f.lengths[i] = strlen(wants[i].name);
		if (!f.lengths[i] || f.lengths[i] >= ELF_NAME_MAX)
			err = -EINVAL;
	}
	if (!err)
		err = find_all(&f);
	free(f.pending);
	free(f.have);
	free(f.lengths);
	if (err) {
		free(f.found);
		return err;
	}
	if (f.count)
		qsort(f.found, f.count, sizeof(*f.found), found_compare);
	*ret = f.found;
	return (int)f.count;
}
