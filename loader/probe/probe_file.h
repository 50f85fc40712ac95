/* SPDX-License-Identifier: Apache-2.0 */
/* probe_file.h - the probe table: rows read from YAML files (format: probes/README.md), immutable
 * after loading. The files come from gp-bpf or the administrator, but are parsed like hostile
 * input: their size is limited. Each error is logged as one line "FILE:LINE: FIELD: what is
 * wrong". */
#ifndef LOADER_PROBE_FILE_H
#define LOADER_PROBE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

enum probe_abi { PROBE_ABI_C, PROBE_ABI_ITANIUM, PROBE_ABI_CXX_SRET };
/* Value of probe_capture.arg for a capture that reads nothing. Such a capture is a placeholder, so
 * that later captures keep their positions. */
#define PROBE_ARG_NONE -1
/* Type of a capture. All but the first need role operation. */
enum probe_as { PROBE_AS_VALUE, PROBE_AS_TENSOR, PROBE_AS_LIST };
enum probe_string { PROBE_STRING_NONE, PROBE_STRING_CHARS, PROBE_STRING_STD };

/* A value that a hit reads from the arguments of the call */
struct probe_capture {
	const char *name; /* shown by `gp-bpf probes`; the model finds a capture by its position,
			     not by its name */
	/* Position among the C arguments, without the hidden result pointer; or PROBE_ARG_NONE. */
	int arg;
	/* Position on arm64: differs from arg where the two ABIs differ. */
	int arg_arm64;
	int derefs, width;	   /* number of pointers followed; bytes of the value */
	int offset[GP_DEREFS_MAX]; /* offset[i] is added before dereference i */
	enum probe_as as;
	bool late; /* read when the call returns, not when it is entered */
};

/* One probe of a probe file */
struct probe_row {
	const char *id;	     /* stable, "runtime.name", less than 48 bytes */
	const char *runtime; /* torch, cuda... */
	/* Globs of file names, NULL-terminated ("libtorch_cpu.so*"). */
	const char *const *libraries;
	const char *symbol; /* exact name or prefix; "": no symbol, see follow */
	/* Name of a row of the same runtime whose calls give the address of the function. */
	const char *follow;
	/* Name of the capture of row `follow` that is the address. NULL: this row has a symbol. */
	const char *follow_capture;
	/* A call of row `follow` counts only if its capture `join` equals a value that row
	 * `join_with` recently had in its capture `join`, in the same process. NULL: every call
	 * counts. */
	const char *join, *join_with;
	/* Suffixes of symbol that are probed, too ("_ptsz"), NULL-terminated. */
	const char *const *variants;
	/* Prefixes of names, NULL-terminated. Hits with such a name are sent beyond max_hz, too; if
	 * only_names is set, other hits are not sent. */
	const char *const *keep;
	const char *versions; /* versions of the runtime that this row is for, text */
	const char *why;
	const char *operations; /* formula of role operation (docs/operations.md), or NULL */
	const char *file;	/* file and line of the row */
	int line;
	int folder;    /* number of the folder with the row's file, from 1 */
	uint32_t hash; /* gp_probe_hash(id) */
	uint32_t max_hz;
	enum probe_abi abi;
	enum gp_group group;
	enum gp_role role;
	enum probe_string string;
	struct probe_capture text; /* how to find the string among the arguments */
	struct probe_capture capture[GP_ARGS];
	struct probe_capture only; /* hits with another value are ignored in the kernel */
	uint64_t only_value;
	int captures;
	bool has_only;
	bool prefix;  /* symbol is a prefix: all functions whose names begin with it are probed */
	bool count;   /* hits are counted instead of sent */
	bool returns; /* probed at entry and return; only for ABI C */
	bool may_block;
	bool anonymous; /* beginning of a range without a name */
	bool wake;	/* user space reads the records of this row at once */
	bool linked;	/* also searched in programs that the library may be linked into */
	bool pair;	/* a transfer between two ranks only (send, receive) */
	/* The first capture is an executable of XLA, in whose memory the program's name is. */
	bool object;
	bool between_ranks; /* the library of the row connects ranks with each other */
	/* Only the first hit after each backward pass, and after each range with a name in keep, is
	 * sent. */
	bool once;
	bool only_names; /* only names that begin with a prefix in keep are sent */
	int unless_of;	 /* which value of a call is compared with `unless`: GP_UNLESS_* */
	int unless[GP_UNLESS], unless_count;
	/* Texts by which the function is found in a file without symbols: its code loads their
	 * addresses near its begin. NULL-terminated. Rows with texts have ABI C, also if their
	 * symbol is mangled. */
	const char *const *texts;
	/* Meaning of the return value; ok: codes that are not failures. */
	enum gp_returns result;
	int64_t ok[GP_OKS][2];
	int noks;
	bool verified;
	bool replaces; /* replaces a row of an earlier folder */
};

struct probe_table; /* opaque: rows and their memory */

/* Reads every *.yaml of dir in alphabetical order. Returns 0, -ENOENT, or -EINVAL after logging the
 * first error of each file. */
int probe_table_load(struct probe_table **ret, const char *dir);
/* Adds the files of another folder. Their rows replace rows with the same id. Returns as
 * probe_table_load(); after an error the table may only be freed. */
int probe_table_add(struct probe_table *t, const char *dir);
/* Sends all ranges whose names begin with prefix (its first 8 bytes): limits of rows do not apply
 * to them. Returns 0, -ENOMEM, or -ENOSPC: a row has no room for another prefix. */
int probe_table_keep(struct probe_table *t, const char *prefix);
void probe_table_free(struct probe_table *t);
size_t probe_table_count(const struct probe_table *t);
/* Returns row i; NULL: there is no such row. */
const struct probe_row *probe_table_row(const struct probe_table *t, size_t i);
/* Returns the index of the row with this hash; the number of rows if there is none. */
size_t probe_table_index(const struct probe_table *t, uint32_t hash);

/* Return the number of return codes that the probe files describe, and the code with index i. */
size_t probe_table_codes(const struct probe_table *t);
const struct gp_code *probe_table_code(const struct probe_table *t, size_t i);

/* Return parts of the names of threads that run collectives, and beginnings of paths of device
 * files, from all probe files. Each list ends with NULL and is valid as long as the table. */
const char *const *probe_table_threads(const struct probe_table *t);
const char *const *probe_table_devices(const struct probe_table *t);

/* Returns the index of the row with this name of a runtime, and the index of one of its captures in
 * *ret_capture. Returns the number of rows when there is no such row or capture. */
size_t probe_table_capture(const struct probe_table *t, const char *runtime, const char *name,
			   const char *capture, int *ret_capture);

/* A quick test whether any row is for a file of a given name. Immutable; t must outlive the test.
 */
struct probe_names;
int probe_names_new(struct probe_names **ret, const struct probe_table *t); /* 0 or -ENOMEM */
void probe_names_free(struct probe_names *n);
bool probe_names_have(const struct probe_names *n, const char *name); /* name: without folder */

/* Fills the kernel's view of a row for this architecture. pushed_bytes: how far sp has moved before
 * the probed instruction (prologue.h). Returns 0, or -EINVAL: an argument cannot be read. */
int probe_row_compile(const struct probe_row *row, int pushed_bytes, struct gp_row *ret);
/* Like probe_row_compile(), but for the given machine (EM_X86_64, EM_AARCH64). */
int probe_row_compile_for(int machine, const struct probe_row *row, int pushed_bytes,
			  struct gp_row *ret);
/* Fills *ret with the part of a row that is recorded on the tape for the model. */
void probe_row_record(const struct probe_row *row, struct gp_probe *ret);
/* Fills *ret with the formula of a row that has one. */
void probe_row_formula(const struct probe_row *row, struct gp_formula *ret);
/* Writes the indexes of the rows for a file of this name (without folder) to rows. Returns their
 * number; 0 for files that every process maps. Rows with `follow` are not included, because their
 * file is unknown until an address is reported. */
size_t probe_rows_for(const struct probe_table *probes, const char *name, size_t rows[GP_ROWS_MAX]);

#endif
