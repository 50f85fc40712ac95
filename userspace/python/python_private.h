/* SPDX-License-Identifier: Apache-2.0 */
/* python_private.h - shared by the files of this folder: offsets in CPython's structures
 * (python_offsets.c), where CPython is in a process (python_find.c), code objects (python_code.c),
 * line tables and texts (python_decode.c), ids of threads (python_tid.c). */
#ifndef PYTHON_PYTHON_PRIVATE_H
#define PYTHON_PYTHON_PRIVATE_H

#include "userspace/python/python_stack.h"

#define PYTHON_VERSION(major, minor) ((uint32_t)(major) << 24 | (uint32_t)(minor) << 16)
#define PYTHON_FRAME_BYTES	     128 /* bytes read of a frame */
#define PYTHON_CODE_BYTES	     256 /* bytes read of a code object */
/* Frames that are at most this many bytes apart are read in one piece. */
#define PYTHON_FRAME_SPAN 512
/* Limit of frames in a chain: there may be frames of C between those of Python */
#define PYTHON_CHAIN_MAX (2 * PYTHON_FRAMES_MAX)

/* A python_read_fn reads memory of a process: n ranges, in this order, with as little time between
 * them as possible. Returns true when every byte was read. */
struct python_range {
	uint64_t address;
	void *to;
	size_t bytes;
};
typedef bool python_read_fn(void *ctx, const struct python_range *ranges, size_t n);
#define PYTHON_RANGES_MAX (PYTHON_CHAIN_MAX + 3)
/* A python_read_fn by process_vm_readv(2). ctx: pointer to the pid_t. n: PYTHON_RANGES_MAX at
 * most. */
bool python_memory_read(void *ctx, const struct python_range *ranges, size_t n);

/* Formats of line tables */
enum python_lines {
	PYTHON_LNOTAB,	  /* Python 3.8 and 3.9; described in Objects/lnotab_notes.txt */
	PYTHON_LINETABLE, /* Python 3.10; described in its Objects/lnotab_notes.txt */
	PYTHON_LOCATIONS, /* Python 3.11 and later; described in Objects/locations.md */
};

struct python_offsets { /* offsets in bytes, from the beginning of the structure in the name */
	uint32_t runtime_interpreters; /* offset of interpreters.head in _PyRuntimeState */
	/* Offset of gilstate.tstate_current in _PyRuntimeState; 0: use interpreter_gil. */
	uint32_t runtime_holder;
	/* Offsets of next and threads.head in PyInterpreterState. */
	uint32_t interpreter_next, interpreter_threads;
	uint32_t interpreter_gil; /* offset of ceval.gil (a pointer) in PyInterpreterState */
	/* Offsets of last_holder and locked (int) in struct _gil_runtime_state. */
	uint32_t gil_holder, gil_locked;
	/* Offset of gc.collecting (int) in PyInterpreterState, or in _PyRuntimeState (3.8); 0: this
	 * struct does not contain it. */
	uint32_t interpreter_collecting, runtime_collecting;
	uint32_t thread_next, thread_interpreter; /* offsets of next and interp in PyThreadState */
	/* Offsets of thread_id and native_thread_id in PyThreadState; 0: this version has none. */
	uint32_t thread_pthread, thread_native;
	/* Offset in PyThreadState of frame, cframe (a pointer to _PyCFrame) or current_frame,
	 * depending on the version. */
	uint32_t thread_frame;
	uint32_t cframe_frame; /* offset of current_frame in _PyCFrame, if thread_has_cframe */
	/* Offsets in PyFrameObject: f_back, f_code, f_lasti (int). Or in _PyInterpreterFrame:
	 * previous, f_code or f_executable, prev_instr or instr_ptr (a pointer), owner (char). */
	uint32_t frame_previous, frame_code, frame_last, frame_owner;
	/* Offsets in PyCodeObject: co_qualname or co_name, co_filename, co_firstlineno (int),
	 * co_lnotab or co_linetable, co_code_adaptive (0: frame_last is an index, not a
	 * pointer). */
	uint32_t code_function, code_file, code_first, code_lines, code_instructions;
	uint32_t text_ascii, text_compact; /* sizes of PyASCIIObject and PyCompactUnicodeObject */
	/* A frame whose owner has at least this value is a frame of C; 0: this version has no
	 * frames of C */
	uint8_t owner_c;
	uint8_t last_unit; /* unit of frame_last in bytes of code */
	bool thread_has_cframe;
	enum python_lines lines;
};

/* Gets the offsets for a version of CPython: for 3.8 to 3.12 from a table, for later ones from
 * _Py_DebugOffsets at the beginning of _PyRuntime. version: PY_VERSION_HEX, 0: unknown; replaced by
 * the version in _Py_DebugOffsets. Returns 0; -ENOTSUP with the reason in why. */
int python_offsets(python_read_fn *read, void *ctx, uint64_t runtime, uint32_t *version,
		   struct python_offsets *ret, char why[PYTHON_WHY_MAX]);
/* Returns true when _Py_DebugOffsets begins with these bytes. */
bool python_offsets_begin(const uint8_t *bytes, size_t len);

struct python_place {		       /* where CPython is in a process; 0: unknown */
	uint64_t runtime;	       /* address of _PyRuntime */
	uint64_t code_type, text_type; /* addresses of PyCode_Type, PyUnicode_Type */
	uint32_t version;
};
/* Finds _PyRuntime in the memory of the executable or of libpython; opens no file. Returns the same
 * as python_open(). */
int python_find(pid_t pid, python_read_fn *read, void *ctx, struct python_place *ret,
		char why[PYTHON_WHY_MAX]);
/* Like python_find(), but only in the object whose first page is at `base` and whose file is
 * `path`. Returns 0; -ENOENT: it does not contain CPython. */
int python_find_in(python_read_fn *read, void *ctx, uint64_t base, const char *path,
		   struct python_place *ret);

/* Returns the line of the instruction at byte `at` of the code; at < 0: the code has not begun.
 * first: co_firstlineno. 0: the table has no line for the instruction. */
int python_line(enum python_lines format, const uint8_t *table, size_t size, int first, int64_t at);
/* Converts `count` characters of kind 1, 2 or 4 bytes to UTF-8; characters that a terminal could
 * act on become '?'. Cuts at a whole character. */
void python_text(char *ret, size_t cap, const void *units, unsigned int kind, size_t count);

struct python_frame_link { /* the members of a frame that are used */
	uint64_t previous, code, last;
	uint8_t owner; /* value of the owner member */
};
/* The frames of a thread, innermost first */
struct python_chain {
	size_t n;
	bool cut;
	uint64_t cframe, address[PYTHON_CHAIN_MAX];
	struct python_frame_link link[PYTHON_CHAIN_MAX];
};

struct python_known { /* the thread that python_dump_thread() read last */
	pid_t tid;    /* 0: none */
	uint64_t state, interpreter, pthread, native;
};

/* State for reading the Python stacks of one process */
struct python_process {
	pid_t pid;
	python_read_fn *read;
	void *ctx;
	uint32_t reads; /* number of memory ranges read in this dump */
	struct python_place place;
	struct python_offsets at;
	size_t frame_bytes, code_bytes; /* bytes read of each frame and code object */
	struct table *codes;		/* address -> struct python_code */
	/* Thread id in the process's pid namespace -> id in ours; NULL: the namespace is ours */
	struct table *tids;
	bool tids_fresh;
	struct python_known known;
	struct python_chain now, again;
	size_t raw_at[PYTHON_CHAIN_MAX]; /* position of each frame in raw */
	uint8_t raw[PYTHON_CHAIN_MAX * PYTHON_FRAME_SPAN];
	uint8_t heads[PYTHON_FRAMES_MAX][PYTHON_CODE_BYTES];
	uint8_t *lines; /* a line table; PYTHON_LINES_MAX bytes */
};

/* Makes a python_process for a process whose CPython was found. Returns the same as
 * python_offsets(), or -ENOMEM. */
int python_attach(pid_t pid, python_read_fn *read, void *ctx, const struct python_place *place,
		  struct python_process **ret, char why[PYTHON_WHY_MAX]);
/* Reads n ranges. Returns false if one cannot be read, or if this dump has read too much. */
bool python_read(struct python_process *p, const struct python_range *ranges, size_t n);
bool python_read_one(struct python_process *p, uint64_t address, void *to, size_t bytes);

/* Checks whether the process is in a pid namespace other than ours, where its threads have other
 * ids. Returns 0 or -ENOMEM. */
int python_tids_open(struct python_process *p);
void python_tids_free(struct python_process *p);
/* Sets tid and pthread of the thread whose PyThreadState is at address `state`. */
void python_thread_identify(struct python_process *p, uint64_t state, struct python_thread *ret);

#define PYTHON_CODES_MAX 4096	    /* code objects that are remembered between dumps */
#define PYTHON_LINES_MAX (1u << 18) /* limit of bytes read of a line table */

/* Forgets code objects if there are too many. Invalidates texts returned before. Returns 0 or
 * -ENOMEM. */
int python_codes_trim(struct python_process *p);
void python_codes_free(struct python_process *p);
/* Sets the names and lines of n frames, from their links. Returns false if a link does not point to
 * a code object: the texts of that frame are then "?". */
bool python_codes_name(struct python_process *p, const struct python_frame_link *const *links,
		       struct python_frame *frames, size_t n);

#endif
