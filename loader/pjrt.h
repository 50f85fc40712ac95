/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt.h - the table of functions of a PJRT plugin: where each function lies in the plugin's file,
 * without its symbol. The file and the process that maps it are hostile: everything is read by
 * pread, bounded and checked, and a table that does not hold together is refused with a reason
 * (gp_words.h, GP_TABLE_ERRORS; on top of -errno).
 *
 * The table, struct PJRT_Api of xla/pjrt/c/pjrt_c_api.h: +0 its size; +8 extensions; +16 the
 * version: its size, 24; +24 extensions; +32 int major; +36 int minor; +40 pointers to functions.
 * Fields are only ever added at the end, with one breach (0.56). */
#ifndef LOADER_PJRT_H
#define LOADER_PJRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_file;

#define PJRT_HEAD_BYTES	  40
#define PJRT_SIZE_MIN	  500 /* of 0.28 and later */
#define PJRT_SIZE_MAX	  4096
#define PJRT_SLOTS_MAX	  (PJRT_SIZE_MAX / 8)
#define PJRT_VERSION_SIZE 24

struct pjrt_table { /* as it was found */
	uint64_t size, version_size;
	int32_t major, minor;
	uint64_t slot[PJRT_SLOTS_MAX]; /* by offset / 8: an address; 0: none, or not known */
};

struct pjrt_slots { /* ... and was found good */
	uint32_t size;
	int32_t minor;
	uint64_t offset[PJRT_SLOTS_MAX]; /* by offset / 8, in the file; 0: not known */
};

/* File offset of a function at an address; false: none of this file. */
typedef bool pjrt_place_fn(void *ctx, uint64_t address, uint64_t *ret);

/* What lies at the beginning of a table; slots are left alone. false: no table's head. */
bool pjrt_head_parse(const uint8_t head[PJRT_HEAD_BYTES], struct pjrt_table *ret);
/* The head alone: 0, or why a table with it is refused. */
int pjrt_head_judge(const struct pjrt_table *t);
/* 0, or why it is refused. *ret_here: how many of its functions are in this file. */
int pjrt_table_judge(const struct pjrt_table *t, pjrt_place_fn *place, void *ctx,
		     struct pjrt_slots *ret, size_t *ret_here);

/* From the code that fills the table, which a stripped x86-64 file still has (pjrt_decode.c). 0,
 * -GP_TABLE_* or -errno; -ETIMEDOUT: the file is read too slowly, and what was read is in memory
 * when it is tried again; -E2BIG: it takes too much of a CPU. Slots that are handed to that code by
 * its caller stay unknown. */
int pjrt_decode(const struct elf_file *ef, struct pjrt_slots *ret);
/* The same, remembered like symbols (symbol_cache_find()). */
int pjrt_decode_cached(const char *cache_dir, int fd, struct pjrt_slots *ret);

/* From the memory of a process that maps the file, executable at map_start (pjrt_scan.c): the table
 * at this address or, where that is 0, the only one in the file's data. Never to be cached: the
 * process may write there what it likes. Only what is the start of a function by the file's own
 * unwind table (.eh_frame_hdr) counts. May wait for a page of the process, for ever. 0,
 * -GP_TABLE_*, or -errno; -ESRCH: the process or its mapping is gone. */
int pjrt_scan(const struct elf_file *ef, pid_t pid, uint64_t map_start, uint64_t table,
	      struct pjrt_slots *ret);

/* Whether the code at this offset names itself as the function of that symbol, which ends in the
 * type of its arguments, PJRT_X_Args (pjrt_named.c). What a process shows is its own word, a probe
 * is in every process that maps the file, and a return probe on a function that an exception leaves
 * ends them: so a table in memory is believed where the file itself says the same. */
bool pjrt_function_named(const struct elf_file *ef, uint64_t offset, const char *symbol);

#endif
