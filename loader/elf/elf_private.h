/* SPDX-License-Identifier: Apache-2.0 */
/* elf_private.h - shared by the elf_*.c files: an open ELF file with the checked positions of its
 * tables. */
#ifndef LOADER_ELF_PRIVATE_H
#define LOADER_ELF_PRIVATE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/elf/elf_symbol.h"

#define ELF_SEGMENTS_MAX 64

struct elf_segment { /* the part of a PT_LOAD segment that is in the file */
	uint64_t vaddr, offset, size;
	bool executable, writable;
};

/* Limit of symbols in one table: four times as many as in the largest known library. */
#define ELF_SYMBOLS_MAX (4u << 20)
#define ELF_NAME_MAX	1024 /* limit of bytes of a symbol name; the rest is ignored */
/* Limit of read calls for one file, which take about a second. The largest known library needs
 * 2,000. */
#define ELF_READS_MAX (1u << 18)

/* A symbol table and its strings, all within the file; count 0: there is none. */
struct elf_table {
	uint64_t symbols, count;
	uint64_t strings, strings_size;
};

struct elf_file {
	int fd;
	uint64_t size;
	uint16_t machine;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t segments_count;
	struct elf_table dynamic, full; /* `dynamic` is .dynsym, `full` is .symtab */
	uint64_t hash;			/* file offset of DT_GNU_HASH; 0: none */
	/* File offset of the file's soname (0: none), and number of bytes from there to the end of
	 * the string table. */
	uint64_t soname, soname_room;
	/* Number of read calls. Most functions get the file as const, so they count through the
	 * pointer `reads`, which points to reads_done. */
	uint32_t *reads, reads_done;
};

/* Reads exactly len bytes. Returns 0; -EBADMSG: the file ends before; -E2BIG: too many reads; or
 * -errno. */
int elf_read_exactly(const struct elf_file *ef, uint64_t offset, void *buf, size_t len);
/* Returns true when [offset, offset + len) lies in the file. */
bool elf_holds(const struct elf_file *ef, uint64_t offset, uint64_t len);
/* Finds the file offset of a virtual address; false: none. */
bool elf_offset_of(const struct elf_file *ef, uint64_t vaddr, bool executable, uint64_t *ret);
/* Finds the virtual address of a file offset in an executable segment; false: none. */
bool elf_address_of(const struct elf_file *ef, uint64_t offset, uint64_t *ret);

/* Returns true for a function symbol that can be probed; *ret_offset: its file offset. */
bool elf_symbol_usable(const struct elf_file *ef, const Elf64_Sym *sym, uint64_t *ret_offset);

/* Receives a usable symbol: its index in the table, and len bytes from the beginning of its name.
 * len is at most ELF_NAME_MAX, and the name may lack a terminator. A return value other than 0 ends
 * the scan. */
typedef int elf_name_fn(void *ctx, uint32_t index, const char *name, size_t len);
/* Scans a table, reading the strings in their order. Takes 8 bytes of memory for each symbol.
 * Returns 0, the value returned by named(), or -errno. */
int elf_names_scan(const struct elf_file *ef, const struct elf_table *table, elf_name_fn *named,
		   void *ctx);

/* Calls found(ctx, symbol) for each entry of .dynsym with this name, by DT_GNU_HASH. Returns 0;
 * what found() returned; or -ENOENT: the hash table is missing or damaged, so scan all symbols
 * instead. */
int elf_hash_lookup(const struct elf_file *ef, const char *name,
		    int (*found)(void *ctx, const Elf64_Sym *sym), void *ctx);
/* Returns the number of symbols in .dynsym according to the hash table, for files without section
 * headers; 0: unknown. */
uint64_t elf_hash_count(const struct elf_file *ef);

#endif
