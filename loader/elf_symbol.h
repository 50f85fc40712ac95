/* SPDX-License-Identifier: Apache-2.0 */
/* elf_symbol.h - names to file offsets in an ELF file of somebody else. The file is hostile: read
 * by pread only, never mapped, every size checked against the file and against a bound; time is
 * linear. */
#ifndef LOADER_ELF_SYMBOL_H
#define LOADER_ELF_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file; /* one open file: headers, segments, where its tables are */

/* fd stays the caller's and must outlive the result. -ENOEXEC: no ELF64 of this byte order,
 * -EBADMSG: lies about itself. */
int elf_file_open(struct elf_file **ret, int fd);
void elf_file_close(struct elf_file *ef);
int elf_file_machine(const struct elf_file *ef); /* EM_X86_64, EM_AARCH64... */

struct elf_want {
	const char *name;
	bool prefix;
};
struct elf_found {
	size_t want;	 /* index of the want that matched */
	uint64_t offset; /* in the file */
	uint64_t size;	 /* st_size, 0 when the table does not say */
};

/* Every defined function that matches a want, in .dynsym (exact names by DT_GNU_HASH, prefixes by
 * one streaming pass) and, for what is still missing, .symtab. IFUNC, undefined and zero-valued
 * symbols are skipped; one (want, offset) is reported once. Returns the count (array is malloc'd,
 * caller frees) or -errno. max_found bounds it (-E2BIG). */
int elf_symbols_find(struct elf_file *ef, const struct elf_want *wants, size_t n, size_t max_found,
		     struct elf_found **ret);

/* 0: a function begins at this file offset, as the file's table for unwinding has it; -ENOENT: none
 * does, -ENODATA: there is no such table; -errno. */
int elf_function_at(const struct elf_file *ef, uint64_t offset);

/* Reads up to len bytes at a file offset of an executable segment. Bytes read, or -errno. */
int elf_file_read(const struct elf_file *ef, uint64_t offset, void *buf, size_t len);

/* Cache of elf_symbols_find() results on disk, keyed by (device, inode, size, mtime, ctime) of the
 * file and a hash of the wants. dir is made (0700) when missing, its parent is not. A damaged entry
 * is a miss, and a directory that others can write to is not used. dir NULL: no cache. */
int symbol_cache_find(const char *dir, int fd, const struct elf_want *wants, size_t n,
		      size_t max_found, struct elf_found **ret);
/* The same for what else a file alone tells: `what` names the question, look() answers it where no
 * answer is remembered (count, array by malloc; -errno is not remembered). In answers want is below
 * n and offset is in the file. */
typedef int symbol_cache_fn(const void *ctx, int fd, struct elf_found **ret);
int symbol_cache_ask(const char *dir, int fd, uint64_t what, size_t n, size_t max_found,
		     symbol_cache_fn *look, const void *ctx, struct elf_found **ret);

#endif
