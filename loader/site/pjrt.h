/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt.h - the function table of a PJRT plugin: finds the functions in the plugin's file without
 * symbols.
 *
 * The file and the process that maps it are hostile: everything is read by pread, bounded and
 * checked. An inconsistent table is refused with a reason (GP_TABLE_ERRORS in gp_words.h, or
 * -errno).
 *
 * Layout of the table, struct PJRT_Api of xla/pjrt/c/pjrt_c_api.h: +0 its size; +8 extensions; +16
 * the version (+16 its size, 24; +24 extensions; +32 int major; +36 int minor); +40 pointers to
 * functions. Fields are only ever added at the end, with one exception (version 0.56). */
#ifndef LOADER_PJRT_H
#define LOADER_PJRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_file;

#define PJRT_HEAD_BYTES	  40
#define PJRT_SIZE_MIN	  500 /* version 0.28 and later */
#define PJRT_SIZE_MAX	  4096
#define PJRT_SLOTS_MAX	  (PJRT_SIZE_MAX / 8)
#define PJRT_VERSION_SIZE 24

struct pjrt_table { /* a table as found */
	uint64_t size, version_size;
	int32_t major, minor;
	uint64_t slot[PJRT_SLOTS_MAX]; /* addresses by offset / 8; 0: none, or unknown */
};

struct pjrt_slots { /* a table that was accepted */
	uint32_t size;
	int32_t minor;
	uint64_t offset[PJRT_SLOTS_MAX]; /* file offsets by offset / 8; 0: unknown */
};

/* Finds the file offset of a function at an address; false: not in this file. */
typedef bool pjrt_offset_fn(void *ctx, uint64_t address, uint64_t *ret);

/* Parses the beginning of a table; leaves the slots unchanged. Returns false when it is not one. */
bool pjrt_head_parse(const uint8_t head[PJRT_HEAD_BYTES], struct pjrt_table *ret);
/* Checks the head only. Returns 0, or the reason for refusing it. */
int pjrt_head_check(const struct pjrt_table *t);
/* Checks a table. Returns 0, or the reason for refusing it. *ret_here: number of its functions in
 * this file. */
int pjrt_table_check(const struct pjrt_table *t, pjrt_offset_fn *find_offset, void *ctx,
		     struct pjrt_slots *ret, size_t *ret_here);

/* Finds the table from the code that fills it, which a stripped x86-64 file still has
 * (pjrt_decode.c). Returns 0, -GP_TABLE_* or -errno; -ETIMEDOUT: reading the file is too slow (what
 * was read is in memory for the next try); -E2BIG: it takes too much CPU time. Slots passed to that
 * code by its caller stay unknown. */
int pjrt_decode(const struct elf_file *ef, struct pjrt_slots *ret);
/* The same, cached like symbols (symbol_cache_find()). */
int pjrt_decode_cached(const char *cache_dir, int fd, struct pjrt_slots *ret);

/* Reads the table from the memory of a process that maps the file executable at map_start
 * (pjrt_scan.c): at address `table` or, if that is 0, the only one in the file's data. Never cache
 * the result: the process controls that memory. Accepts only functions that begin there according
 * to the unwind table of the file (.eh_frame_hdr). May wait for a page of the process forever.
 * Returns 0, -GP_TABLE_* or -errno; -ESRCH: the process or its mapping is gone. */
int pjrt_scan(const struct elf_file *ef, pid_t pid, uint64_t map_start, uint64_t table,
	      struct pjrt_slots *ret);

/* Returns true when the code at this offset names itself as the function of that symbol, by the
 * type of its arguments, PJRT_X_Args (pjrt_named.c). A table in memory is used only where the file
 * confirms it like this: a process may show any table, a probe runs in every process that maps the
 * file, and a return probe on a function left by an exception kills these. */
bool pjrt_function_named(const struct elf_file *ef, uint64_t offset, const char *symbol);

#endif
