/* SPDX-License-Identifier: Apache-2.0 */
/* probe_file.h - probe rows from YAML (format: probes/README.md), read once, immutable afterwards.
 * The text is ours or the administrator's, yet treated as hostile: bounded, and every error is one
 * line "FILE:LINE: FIELD: what is wrong". */
#ifndef LOADER_PROBE_FILE_H
#define LOADER_PROBE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

enum probe_abi { PROBE_ABI_C, PROBE_ABI_ITANIUM, PROBE_ABI_CXX_SRET };
#define PROBE_ARG_NONE                                                                             \
	-1 /* a capture that reads nothing: it keeps the place of those behind it                  \
	    */
enum probe_string { PROBE_STRING_NONE, PROBE_STRING_CHARS, PROBE_STRING_STD };

struct probe_capture {
	const char *name;  /* shown by `probes`; the model knows it by position */
	int arg;	   /* C position, hidden result pointer not counted; or PROBE_ARG_NONE */
	int arg_arm64;	   /* the same on arm64 when the ABI makes them differ, else equal to arg */
	int derefs, width; /* pointers followed, bytes of the value */
	int offset[GP_DEREFS_MAX]; /* added before the dereference of this number */
	bool late;		   /* of a call: followed when it returns */
};

struct probe_row {
	const char *id;		      /* stable, "runtime.name", < 48 bytes */
	const char *runtime;	      /* torch, cuda... */
	const char *const *libraries; /* file-name globs, NULL-terminated ("libtorch_cpu.so*") */
	const char *symbol;	      /* exact name or prefix; "": */
	const char
		*follow; /* the function is where a capture of this row of the runtime says ... */
	const char *follow_capture;   /* ... namely this one; NULL: it has a symbol */
	const char *join, *join_with; /* ... if this capture of that row is what it is of this one,
					 just before; NULL: in any case */
	const char *const
		*variants; /* suffixes also tried on an exact symbol ("_ptsz"), NULL-terminated */
	const char *const *keep; /* name prefixes exempt from max_hz, NULL-terminated; with
			    only_names: all that are told */
	const char *versions;	 /* of the runtime this row is for, text */
	const char *why;
	const char *file; /* where it stands */
	int line;
	int folder;    /* of those given, from 1 */
	uint32_t hash; /* gp_probe_hash(id) */
	uint32_t max_hz;
	enum probe_abi abi;
	enum gp_group group;
	enum gp_role role;
	enum probe_string string;
	struct probe_capture text; /* where the string is */
	struct probe_capture capture[GP_ARGS];
	struct probe_capture only; /* hits whose value differs are ignored in the kernel */
	uint64_t only_value;
	int captures;
	bool has_only;
	bool prefix;  /* symbol is a prefix: attach to every match */
	bool count;   /* emit: count (else record) */
	bool returns; /* entry + return; C only */
	bool may_block;
	bool anonymous;	 /* range_begin without a name */
	bool wake;	 /* user space reads its records at once */
	bool only_names; /* texts that begin with none of keep are not told */
	int unless_of;	 /* GP_UNLESS_* */
	int unless[GP_UNLESS], unless_count;
	unsigned slot; /* byte offset in the runtime's table of functions; 0: in none. C, whatever
			* its symbol
			*/
	bool verified;
	bool replaces; /* one of a folder before */
};

struct probe_table; /* opaque: rows plus the memory they live in */

/* Reads every *.yaml of dir in alphabetical order. 0, -EINVAL after logging the first error of each
 * file, -ENOENT. Row index = position = low half of the cookie. */
int probe_table_load(struct probe_table **ret, const char *dir);
/* The same of another folder: a row whose id is known takes the place of the one that has it. After
 * an error the table is good for nothing but probe_table_free(). */
int probe_table_add(struct probe_table *t, const char *dir);
/* Ranges whose names begin with prefix (its first 8 bytes) are exempt from the bounds of all rows
 * that tell names of ranges. 0, -ENOMEM, -ENOSPC: a row is full of such. */
int probe_table_keep(struct probe_table *t, const char *prefix);
void probe_table_free(struct probe_table *t);
size_t probe_table_count(const struct probe_table *t);
const struct probe_row *probe_table_row(const struct probe_table *t,
					size_t i); /* NULL: there is none */
/* Of the row with this hash; the table's count when there is none. */
size_t probe_table_index(const struct probe_table *t, uint32_t hash);

/* The row of a runtime with this name, and which of its captures has that one; the table's count:
 * there is no such. */
size_t probe_table_capture(const struct probe_table *t, const char *runtime, const char *name,
			   const char *capture, int *ret_capture);

/* Names of files that rows are for, told quickly from all others. Immutable; t must outlive it. */
struct probe_names;
int probe_names_new(struct probe_names **ret, const struct probe_table *t); /* 0 or -ENOMEM */
void probe_names_free(struct probe_names *n);
bool probe_names_have(const struct probe_names *n, const char *name); /* no folder */

/* Fills the kernel's view of a row for this architecture; pushed_bytes: how far sp moved before the
 * probed instruction (prologue.h). -EINVAL: an argument cannot be reached. */
int probe_row_compile(const struct probe_row *row, int pushed_bytes, struct gp_row *ret);
/* The same for another machine (EM_X86_64, EM_AARCH64). */
int probe_row_compile_for(int machine, const struct probe_row *row, int pushed_bytes,
			  struct gp_row *ret);

#endif
