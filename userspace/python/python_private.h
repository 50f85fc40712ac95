/* SPDX-License-Identifier: Apache-2.0 */
/* python_private.h - shared by the files of this folder: where CPython keeps what is read
 * (python_offsets.c), where it is in a process (python_find.c), its code objects (python_code.c),
 * its line tables and texts (python_decode.c), its threads' numbers (python_tid.c). */
#ifndef PYTHON_PYTHON_PRIVATE_H
#define PYTHON_PYTHON_PRIVATE_H

#include "userspace/python/python_stack.h"

#define PYTHON_VERSION(major, minor) ((uint32_t)(major) << 24 | (uint32_t)(minor) << 16)
#define PYTHON_FRAME_BYTES	     128 /* of a frame, as much as is read */
#define PYTHON_CODE_BYTES	     256 /* of a code object */
/* Bytes from frame to frame, up to which they are read as one piece. */
#define PYTHON_FRAME_SPAN 512
#define PYTHON_CHAIN_MAX  (2 * PYTHON_FRAMES_MAX) /* frames with those of C between them */

/* Reading the memory of a process: n ranges, in this order, with as little time between them as
 * possible. Returns true when every byte was read. */
struct python_range {
	uint64_t address;
	void *to;
	size_t bytes;
};
typedef bool python_read_fn(void *ctx, const struct python_range *ranges, size_t n);
#define PYTHON_RANGES_MAX (PYTHON_CHAIN_MAX + 3)
/* By process_vm_readv(2). ctx: pointer to the pid_t. n: PYTHON_RANGES_MAX at most. */
bool python_memory_read(void *ctx, const struct python_range *ranges, size_t n);

enum python_lines {		      /* formats of line tables */
		    PYTHON_LNOTAB,    /* 3.8, 3.9: Objects/lnotab_notes.txt */
		    PYTHON_LINETABLE, /* 3.10: the same file, as of 3.10 */
		    PYTHON_LOCATIONS, /* from 3.11 on: Objects/locations.md */
};

struct python_offsets { /* in bytes, each from the beginning of the structure in its name */
	uint32_t runtime_interpreters; /* _PyRuntimeState.interpreters.head */
	uint32_t runtime_holder;       /* .gilstate.tstate_current; 0: see interpreter_gil */
	uint32_t interpreter_next, interpreter_threads; /* PyInterpreterState: next, threads.head */
	uint32_t interpreter_gil;			/* .ceval.gil, a pointer */
	uint32_t gil_holder, gil_locked; /* struct _gil_runtime_state: last_holder, locked (int) */
	uint32_t thread_next, thread_interpreter; /* PyThreadState: next, interp */
	uint32_t thread_pthread, thread_native;	  /* thread_id; native_thread_id, 0: none */
	uint32_t thread_frame; /* frame, cframe (a pointer to it) or current_frame */
	uint32_t cframe_frame; /* _PyCFrame.current_frame, where thread_has_cframe */
	/* PyFrameObject: f_back, f_code, f_lasti (int); _PyInterpreterFrame: previous, f_code or
	 * f_executable, prev_instr or instr_ptr (a pointer), owner (char) */
	uint32_t frame_previous, frame_code, frame_last, frame_owner;
	/* PyCodeObject: co_qualname or co_name, co_filename, co_firstlineno (int), co_lnotab or
	 * co_linetable, co_code_adaptive (0: frame_last is a number) */
	uint32_t code_function, code_file, code_first, code_lines, code_instructions;
	uint32_t text_ascii, text_compact; /* sizeof PyASCIIObject, PyCompactUnicodeObject */
	uint8_t owner_c; /* from this value of frame_owner on it is a frame of C; 0: there are none
			  */
	uint8_t last_unit; /* bytes of code that frame_last counts in */
	bool thread_has_cframe;
	enum python_lines lines;
};

/* Takes the offsets of a version: for 3.8 to 3.12 from a table, later from _Py_DebugOffsets at the
 * beginning of _PyRuntime, which is read. version: PY_VERSION_HEX; replaced by what
 * _Py_DebugOffsets says; 0: unknown. Returns 0; -ENOTSUP with the reason in why. */
int python_offsets(python_read_fn *read, void *ctx, uint64_t runtime, uint32_t *version,
		   struct python_offsets *ret, char why[PYTHON_WHY_MAX]);
/* Returns true when _Py_DebugOffsets begins with these bytes. */
bool python_offsets_begin(const uint8_t *bytes, size_t len);

struct python_place {		       /* where CPython is in a process; 0: unknown */
	uint64_t runtime;	       /* address of _PyRuntime */
	uint64_t code_type, text_type; /* of PyCode_Type, PyUnicode_Type */
	uint32_t version;
};
/* Finds _PyRuntime in the executable or in libpython, as they lie in memory: no file is opened.
 * Returns as python_open(). */
int python_find(pid_t pid, python_read_fn *read, void *ctx, struct python_place *ret,
		char why[PYTHON_WHY_MAX]);
/* The same in the object whose first page is at `base` and whose file is `path`. Returns 0;
 * -ENOENT: it does not contain CPython. */
int python_find_in(python_read_fn *read, void *ctx, uint64_t base, const char *path,
		   struct python_place *ret);

/* Line of the instruction at byte `at` of the code, at < 0: not begun. first: co_firstlineno.
 * Returns 0 when the table has no line for it. */
int python_line(enum python_lines format, const uint8_t *table, size_t size, int first, int64_t at);
/* Converts `count` characters of kind 1, 2 or 4 bytes to UTF-8; what may not reach a terminal
 * becomes '?'. Cuts at a whole character. */
void python_text(char *ret, size_t cap, const void *units, unsigned int kind, size_t count);

struct python_frame_link { /* what is taken of a frame */
	uint64_t previous, code, last;
	uint8_t owner; /* as frame_owner has it */
};
struct python_chain {
	size_t n;
	bool cut;
	uint64_t cframe, address[PYTHON_CHAIN_MAX];
	struct python_frame_link link[PYTHON_CHAIN_MAX];
};

struct python_process {
	pid_t pid;
	python_read_fn *read;
	void *ctx;
	uint32_t reads; /* ranges read in this dump */
	struct python_place place;
	struct python_offsets at;
	size_t frame_bytes, code_bytes; /* of them, as much as is read */
	struct table *codes;		/* address -> struct python_code */
	struct table *tids; /* number in its own namespace -> in ours; NULL: they are the same */
	bool tids_fresh;
	struct python_chain now, again;
	size_t raw_at[PYTHON_CHAIN_MAX]; /* where a frame is in raw */
	uint8_t raw[PYTHON_CHAIN_MAX * PYTHON_FRAME_SPAN];
	uint8_t heads[PYTHON_FRAMES_MAX][PYTHON_CODE_BYTES];
	uint8_t *lines; /* a line table; PYTHON_LINES_MAX bytes */
};

/* Makes a python_process of what is known. Returns as python_offsets(), or -ENOMEM. */
int python_attach(pid_t pid, python_read_fn *read, void *ctx, const struct python_place *place,
		  struct python_process **ret, char why[PYTHON_WHY_MAX]);
/* Reads n ranges; false also when this dump has read too much. */
bool python_read(struct python_process *p, const struct python_range *ranges, size_t n);
bool python_read_one(struct python_process *p, uint64_t address, void *to, size_t bytes);

/* Learns whether the process has a namespace of its own for its threads' numbers. 0 or -ENOMEM. */
int python_tids_open(struct python_process *p);
void python_tids_free(struct python_process *p);
/* Sets tid and pthread of the thread whose PyThreadState is at that address. */
void python_thread_identify(struct python_process *p, uint64_t state, struct python_thread *ret);

#define PYTHON_CODES_MAX 4096	    /* code objects that are remembered between dumps */
#define PYTHON_LINES_MAX (1u << 18) /* bytes of a line table that are read */

/* Forgets code objects if there are too many. Invalidates the texts given before. 0 or -ENOMEM. */
int python_codes_trim(struct python_process *p);
void python_codes_free(struct python_process *p);
/* Names of n frames, from their links. Returns false if something was not a code object: then its
 * texts are "?". */
bool python_codes_name(struct python_process *p, const struct python_frame_link *const *links,
		       struct python_frame *frames, size_t n);

#endif
