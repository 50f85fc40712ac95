/* SPDX-License-Identifier: Apache-2.0 */
/* elf_private.h - what the parts of elf_symbol share: where the tables of a file are, after checks.
 */
#ifndef LOADER_ELF_PRIVATE_H
#define LOADER_ELF_PRIVATE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/elf_symbol.h"

#define ELF_SEGMENTS_MAX 64

struct elf_segment { /* PT_LOAD, its part in the file */
	uint64_t vaddr, offset, size;
	bool executable, writable;
};

#define ELF_SYMBOLS_MAX                                                                            \
	(4u << 20)	  /* of one table; the largest library known has a quarter of it           \
			   */
#define ELF_NAME_MAX 1024 /* bytes of a name that are looked at */
#define ELF_READS_MAX                                                                              \
	(1u << 18) /* of one file: a second at worst; the largest known needs 2000                 \
		    */

/* A symbol table and its strings. All of it lies inside the file; count 0: there is none. */
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
	struct elf_table dynamic, full; /* .dynsym, .symtab */
	uint64_t hash;			/* file offset of DT_GNU_HASH; 0: none */
	uint32_t *reads, reads_done;	/* reads: points to reads_done, which counts also where all
					   else is const */
};

/* All of len bytes, or -EBADMSG when the file ends before, -E2BIG after too many reads, or -errno.
 */
int elf_read_exactly(const struct elf_file *ef, uint64_t offset, void *buf, size_t len);
/* Whether [offset, offset + len) lies in the file. */
bool elf_holds(const struct elf_file *ef, uint64_t offset, uint64_t len);
/* File offset of a virtual address. */
bool elf_offset_of(const struct elf_file *ef, uint64_t vaddr, bool executable, uint64_t *ret);
/* Virtual address of an offset in an executable segment. */
bool elf_address_of(const struct elf_file *ef, uint64_t offset, uint64_t *ret);

/* A function symbol that a probe could sit on: its file offset. */
bool elf_symbol_usable(const struct elf_file *ef, const Elf64_Sym *sym, uint64_t *ret_offset);

/* A usable symbol: its place in the table, and the bytes from where its name begins, which need not
 * end: at most ELF_NAME_MAX, less at the end of the strings. Not 0: the scan ends with it. */
typedef int elf_name_fn(void *ctx, uint32_t index, const char *name, size_t len);
/* All of a table, in the order of its strings, which are read in that order too. Takes 8 bytes a
 * symbol. */
int elf_names_scan(const struct elf_file *ef, const struct elf_table *table, elf_name_fn *named,
		   void *ctx);

/* Calls found(ctx, symbol) for each entry of .dynsym with this name, by DT_GNU_HASH. 0; -ENOENT: no
 * such hash table or a damaged one, so look at every symbol instead; or what found() returned. */
int elf_hash_lookup(const struct elf_file *ef, const char *name,
		    int (*found)(void *ctx, const Elf64_Sym *sym), void *ctx);
/* Symbols in .dynsym as the hash table tells, where no section header does; 0: cannot be told. */
uint64_t elf_hash_count(const struct elf_file *ef);

#endif
