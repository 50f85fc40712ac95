/* SPDX-License-Identifier: Apache-2.0 */
/* marker_private.h - types and functions shared by the marker*.c files; other files use marker.h.
 *
 *   marker.c               records to signals: threads and ranges
 *   marker_call.c          arguments and signals of one call
 *   marker_device.c        waits, copies, collectives, initialization and errors of devices
 *   marker_compile.c       compilation of programs
 *   marker_program.c       runs of programs
 *   marker_program_name.c  decides which handles are the same program
 *   marker_name.c          class of a range, by its name; role of a call
 *   marker_save.c          saves and restores a marker */
#ifndef MODEL_MARKER_PRIVATE_H
#define MODEL_MARKER_PRIVATE_H

#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"
#include "userspace/model/signal/marker.h"

enum range_class { RANGE_OTHER, RANGE_STEP, RANGE_ZERO_GRAD, RANGE_FETCH, RANGE_FORWARD };

/* An open range of a thread. */
struct range {
	uint64_t begin_ns;
	uint16_t depth;
	uint8_t class;
	/* An operator in this range ran below the stack frame of the present backward pass: the
	 * range is part of that pass, as in a hook. */
	bool deep;
	uint32_t name; /* number of the optimizer's class, for RANGE_STEP and RANGE_ZERO_GRAD */
	uint64_t ident;
	char text[GP_NAME_MAX];
};

#define PROGRAM_NAME_MAX 96

/* The last compilation that a thread began. */
struct compile {
	uint64_t begin_ns, code, bytes;
	/* open: the compiling call has not returned. ended: a SIGNAL_COMPILE was emitted for its
	 * end. */
	bool open, ended;
	bool cached;	  /* the program is loaded from a cache, not compiled */
	uint32_t content; /* what the program's operations show: enum program_content */
	char name[PROGRAM_NAME_MAX];
};

struct thread {
	uint32_t tid; /* 0: this entry is free */
	uint32_t open;
	uint32_t steps; /* number of open ranges of class RANGE_STEP */
	uint64_t seen_ns;
	/* Stack pointer of the thread's last outermost backward pass; 0: it has ended. */
	uint64_t outer_sp;
	uint16_t outer_depth; /* number of ranges that were open when the pass of outer_sp began */
	/* Number of nested backward passes within the pass of outer_sp, and the largest such number
	 * of any earlier pass. */
	uint32_t nested, nested_most;
	bool saving;
	uint64_t save_ns;
	struct range *ranges; /* at most GP_RANGE_DEPTH */
	uint32_t ranges_cap;
	char save[GP_PATH_MAX];
	struct compile *compile; /* the last compilation; NULL: there was none */
};

/* A compiled program. A run identifies it by its handle, or by its name if the handle is 0.
 * Programs with the same name are the same program, unless their contents differ (enum
 * program_content), or the name is generic and they take different numbers of arguments. */
struct program {
	uint64_t handle, ident;
	/* Address and size of the code from which the program was compiled; 0: unknown. */
	uint64_t code, bytes;
	uint64_t seen; /* number of the last record about the program */
	uint32_t tid;  /* thread that compiled the program */
	uint32_t layer;
	uint32_t inputs;  /* number of arguments of a run; 0: unknown */
	bool cached;	  /* loaded from a cache, not compiled by this process */
	uint32_t content; /* what the program's operations show: enum program_content */
	/* First argument of the last run; 0: unknown. */
	uint64_t input;
	char name[PROGRAM_NAME_MAX]; /* "": unknown */
};

/* Layers of a runtime, the one closest to the device last. Each layer reports the programs of the
 * next one again, so only the last layer that was seen counts. LAYER_TABLE: the function table of a
 * device plugin. LAYER_CLIENT: calls that are built on the table. */
enum { LAYER_GRAPH = 1, LAYER_CLIENT, LAYER_TABLE };

/* An execution whose completion on the device is expected. */
struct pending {
	uint64_t event, token; /* token 0: the process has not asked to be notified yet */
	uint64_t number;
};

/* Number of last runs whose first output is remembered, to find the program that made an input. */
#define PROGRAM_OUTPUTS 32
/* A completion may be reported before the call that asks for it returns. This many such completions
 * are remembered. */
#define PROGRAM_EARLY 32

struct programs {
	uint32_t layer; /* layer closest to the device of those that have reported programs */
	uint64_t seen, idents, executions;
	uint32_t count, cap;
	struct program *item; /* at most MARKER_PROGRAMS */
	uint32_t npending, pending_cap;
	struct pending *pending; /* at most MARKER_PENDING, oldest first */
	/* numbers of entries that were written to `outputs` and to `early` since the start */
	uint32_t noutputs, nearly;
	struct {
		uint64_t buffer, ident;
	} outputs[PROGRAM_OUTPUTS];
	struct {
		uint64_t token, ts_ns;
		bool failed;
	} early[PROGRAM_EARLY];
};

/* Data of one call of marker_feed(). */
struct call {
	struct marker *m;
	const struct event *ev;
	const struct gp_probe *probe;
	struct marker_signals *out;
	/* Thread and time that signals of this call get. */
	uint32_t tid;
	uint64_t ts_ns;
};

struct marker {
	struct thread **threads; /* at most MARKER_THREADS */
	uint32_t nthreads, threads_cap;
	/* Thread of the last record: usually the next record is of the same thread. */
	struct thread *last;
	uint32_t nnames, names_cap;
	char **names;		   /* at most MARKER_NAMES */
	struct programs *programs; /* programs that ran or were compiled; NULL: none */
};

/* marker_call.c */
/* Adds *s to the signals of the call, with the call's thread and time. Sets begin_ns and text if
 * they are not set. *s->text must be valid until the next call for this marker. */
void call_emit(struct call *c, struct signal *s);
/* Adds a signal with this kind, ident and count, and no other fields. */
void call_simple(struct call *c, enum signal_kind kind, uint64_t ident, uint64_t count);

/* Returns when the call was entered (ns, CLOCK_MONOTONIC), or the time of the record if the
 * duration of the call is unknown. */
uint64_t call_begin_ns(const struct call *c);
/* Returns the i-th value that the probe captured, or 0 if it was not captured. */
uint64_t call_arg(const struct call *c, unsigned i);

/* marker_device.c */
/* Handles calls that wait, copy, enter collectives, make devices or communicators, or report
 * errors. Returns false for other roles. */
bool marker_device(struct call *c, uint32_t role);
/* Adds a SIGNAL_ERROR if the return value of the call is an error code. */
void marker_fault(struct call *c, uint32_t role);
/* marker_program.c */
/* Handles calls that run programs or report their completion. Returns false for other roles. */
bool marker_program(struct call *c, uint32_t role);
void programs_free(struct programs *ps);
/* After a gap in the observation: drops the executions whose completion is expected, because the
 * completion may have been missed. */
void programs_gap(struct programs *ps);
/* Returns the table of programs, and creates it if it does not exist. Returns NULL if there is no
 * memory. */
struct programs *call_programs(struct call *c);
/* Returns the layer of the runtime to which the call belongs (LAYER_GRAPH...). */
uint32_t call_layer(const struct call *c);
/* Writes the name in the call's record to out, or "". */
void call_name(const struct call *c, char *out, size_t len);
/* Returns the program with this handle in this layer, or NULL. */
struct program *program_by_handle(struct programs *ps, uint32_t layer, uint64_t handle);
/* Returns the program with this handle in this layer, and adds it if it is not known. Returns NULL
 * if there is no memory. */
struct program *program_of_handle(struct programs *ps, uint32_t layer, uint64_t handle);
/* marker_compile.c */
/* Handles calls that compile programs. Returns false for other roles. */
bool marker_compile(struct call *c, uint32_t role);
/* Handles a GP_KIND_program record: the name of a program, as user space read it. */
void marker_program_named(struct call *c);
/* defined in marker_program_name.c */
/* Copies text to out, which has PROGRAM_NAME_MAX bytes. A longer text is cut. */
void program_text(char *out, const char *text);
/* Returns the first program with this name, or NULL. */
struct program *program_by_name(struct programs *ps, const char *name);
/* Sets the name of p. If a program with this name is known that may be the same one, p gets its
 * identity. Returns the former identity of p, or 0 if it did not change. */
uint64_t program_name(struct programs *ps, struct program *p, const char *name);
/* Sets the content of p (enum program_content). This may show that p is a different program with
 * the same name. */
void program_content(struct programs *ps, struct program *p, uint32_t content);
/* Sets the number of arguments of p. This may show that p is a different program with the same
 * name. */
void program_takes(struct programs *ps, struct program *p, uint32_t inputs);
/* Writes the name of the function that a TensorFlow program runs to out, which has PROGRAM_NAME_MAX
 * bytes. */
void program_function_name(char *out, const char *text);
/* Returns true if this is the name of a TensorFlow function, false if it is the name of an
 * operator. */
bool program_is_function(const char *name);

/* marker_name.c */
/* Sets the class of range r from its text. For a range of an optimizer, the text becomes the
 * optimizer's class. */
void marker_classify(struct marker *m, struct range *r);
/* Returns the role of the call: the one of its probe, or, if the call runs an operator by name, the
 * one of the operator. */
uint32_t marker_role(const struct call *c);

#endif
