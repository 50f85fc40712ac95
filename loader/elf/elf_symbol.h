/* SPDX-License-Identifier: Apache-2.0 */
/* elf_symbol.h - finds file offsets of functions by name in an ELF file. The file may be hostile,
 * so it is read by pread() only and never mapped, every size is checked against the file and a
 * limit, and the time is linear in the size of the file. */
#ifndef LOADER_ELF_SYMBOL_H
#define LOADER_ELF_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file; /* an open file: headers, segments, positions of its tables */

/* Opens an ELF file. fd belongs to the caller and must outlive the result. Returns 0; -ENOEXEC: not
 * an ELF64 file of this byte order; -EBADMSG: inconsistent. */
int elf_file_open(struct elf_file **ret, int fd);
void elf_file_close(struct elf_file *ef);
int elf_file_machine(const struct elf_file *ef); /* EM_X86_64, EM_AARCH64... */

/* Reads the soname of the file (DT_SONAME). Returns 0; -ENOENT: it has none, or the name does not
 * fit; -errno. */
int elf_file_soname(const struct elf_file *ef, char *ret, size_t cap);

/* A function name to find, or the prefix of names */
struct elf_want {
	const char *name;
	bool prefix;
};
/* A function with one of the names to find */
struct elf_found {
	size_t want;	 /* index of the matching name in the array of names */
	uint64_t offset; /* file offset */
	uint64_t size;	 /* st_size, 0 when unknown */
};

/* Finds every defined function with one of n names or prefixes, in .dynsym (exact names by
 * DT_GNU_HASH, prefixes by one pass) and, for names that are still missing, in .symtab. Ignores
 * IFUNC, undefined and zero-valued symbols. Reports each pair of name and offset once. Returns the
 * number found (*ret is malloc'd, the caller frees it) or -errno; -E2BIG: more than max_found. */
int elf_symbols_find(struct elf_file *ef, const struct elf_want *wants, size_t n, size_t max_found,
		     struct elf_found **ret);

/* Returns 0 when a function begins at this file offset according to the unwind table of the file;
 * -ENOENT: none does; -ENODATA: there is no such table; -errno. */
int elf_function_at(const struct elf_file *ef, uint64_t offset);
/* Finds the begin of the function that contains this file offset: the last begin at or before the
 * offset in the unwind table. Returns as elf_function_at(). */
int elf_function_of(const struct elf_file *ef, uint64_t offset, uint64_t *ret);

/* Reads up to len bytes at a file offset in an executable segment. Returns the bytes read, or
 * -errno. */
int elf_file_read(const struct elf_file *ef, uint64_t offset, void *buf, size_t len);

/* Like elf_symbols_find(), with a cache on disk. The key of an entry is device, inode, size, mtime
 * and ctime of the file, and a hash of the names. dir is made (0700) if it is missing, but its
 * parent is not. A damaged entry is ignored, and so is a directory that others can write to. dir
 * NULL: no cache. */
int symbol_cache_find(const char *dir, int fd, const struct elf_want *wants, size_t n,
		      size_t max_found, struct elf_found **ret);
/* Like symbol_cache_find(), for other results that depend on a file alone. what: identifies the
 * kind of result. answer(): computes the result if it is not in the cache, and returns the count
 * and a malloc'd array, or -errno, which is not cached. In each result, want must be less than n,
 * and offset must lie in the file. */
typedef int symbol_cache_fn(const void *ctx, int fd, struct elf_found **ret);
int symbol_cache_ask(const char *dir, int fd, uint64_t what, size_t n, size_t max_found,
		     symbol_cache_fn *answer, const void *ctx, struct elf_found **ret);

#endif
