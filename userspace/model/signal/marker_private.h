/* SPDX-License-Identifier: Apache-2.0 */
/* marker_private.h - types and functions shared by the marker*.c files; marker.h is for all
 * others.
 *
 *   marker.c               records to signals: threads and ranges
 *   marker_call.c          arguments and signals of one call
 *   marker_device.c        waits, copies, collectives, initialization and errors of devices
 *   marker_compile.c       compilation of programs
 *   marker_program.c       runs of programs
 *   marker_program_name.c  which handles are the same program
 *   marker_name.c          classes of range names, role of a call
 *   marker_save.c          state as bytes */
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
	/* An operator inside the range ran deeper in the stack than the running backward pass. */
	bool deep;
	uint32_t name; /* number of the optimizer class; RANGE_STEP and RANGE_ZERO_GRAD only */
	uint64_t ident;
	char text[GP_NAME_MAX];
};

#define PROGRAM_NAME_MAX 96

struct compile { /* the last compilation begun on a thread */
	uint64_t begin_ns, code, bytes;
	/* open: the call has not returned; ended: a compile_end gave the program's name. */
	bool open, ended;
	bool cached;	  /* the program is loaded from a cache instead of compiled */
	uint32_t content; /* enum program_content */
	char name[PROGRAM_NAME_MAX];
};

struct thread {
	uint32_t tid; /* 0: this entry is free */
	uint32_t open;
	uint32_t steps; /* open ranges of class RANGE_STEP */
	uint64_t seen_ns;
	/* Stack pointer of the last outermost backward pass; 0: no pass that may still run. */
	uint64_t outer_sp;
	uint16_t outer_depth; /* number of ranges open when that pass started */
	/* Nested backward passes inside that pass, and the most inside any earlier one. */
	uint32_t nested, nested_most;
	bool saving;
	uint64_t save_ns;
	struct range *ranges; /* at most GP_RANGE_DEPTH */
	uint32_t ranges_cap;
	char save[GP_PATH_MAX];
	struct compile *compile; /* NULL: no compilation so far */
};

/* A compiled program, identified by its handle, or by its name if the handle is 0. Programs with
 * the same name are one program, unless the name is generic and they take different numbers of
 * arguments. */
struct program {
	uint64_t handle, ident;
	/* Identity and size of the code from which the program was compiled; 0: unknown. */
	uint64_t code, bytes;
	uint64_t seen; /* number of the last record that showed the program */
	uint32_t tid;  /* thread that compiled it */
	uint32_t layer;
	uint32_t inputs;  /* number of arguments of its runs; 0: unknown */
	bool cached;	  /* loaded from a cache instead of compiled by this process */
	uint32_t content; /* enum program_content */
	/* First argument of the last run; 0: unknown. */
	uint64_t input;
	char name[PROGRAM_NAME_MAX]; /* "": unknown */
};

/* Layers of a runtime. A lower layer repeats the programs of a higher one, and is ignored once a
 * higher one was seen. LAYER_CLIENT includes calls that are built on the table. */
enum { LAYER_GRAPH = 1, LAYER_CLIENT, LAYER_TABLE };

/* An execution whose completion is awaited. */
struct pending {
	uint64_t event, token; /* token 0: no notification was requested yet */
	uint64_t number;
};

#define PROGRAM_OUTPUTS 32 /* size of the ring of first outputs */
/* Size of the ring of completions that came before the call asking for them returned. */
#define PROGRAM_EARLY 32

struct programs {
	uint32_t layer; /* the highest layer seen */
	uint64_t seen, idents, executions;
	uint32_t count, cap;
	struct program *item; /* at most MARKER_PROGRAMS */
	uint32_t npending, pending_cap;
	struct pending *pending;   /* at most MARKER_PENDING, oldest first */
	uint32_t noutputs, nearly; /* number of entries written to the two rings below so far */
	struct {
		uint64_t buffer, ident;
	} outputs[PROGRAM_OUTPUTS];
	struct {
		uint64_t token, ts_ns;
		bool failed;
	} early[PROGRAM_EARLY];
};

/* State of one marker_feed() call. */
struct call {
	struct marker *m;
	const struct event *ev;
	const struct gp_probe *probe;
	struct marker_signals *out;
	/* Thread and time of the signals that the call gives. */
	uint32_t tid;
	uint64_t ts_ns;
};

struct marker {
	struct thread **threads; /* at most MARKER_THREADS */
	uint32_t nthreads, threads_cap;
	/* thread of the last record: most records are of the same thread */
	struct thread *last;
	uint32_t nnames, names_cap;
	char **names;		   /* at most MARKER_NAMES */
	struct programs *programs; /* NULL: no program seen */
};

/* marker_call.c */
/* Adds *s to the signals of the call, with its thread and time; fills begin_ns and text where they
 * are unset. *s->text must stay until the next call of the marker. */
void call_emit(struct call *c, struct signal *s);
/* Emits a signal without further fields. */
void call_simple(struct call *c, enum signal_kind kind, uint64_t ident, uint64_t count);

/* Returns when the call was entered (ns, CLOCK_MONOTONIC); the time of the record if it has no
 * duration. */
uint64_t call_begin_ns(const struct call *c);
/* Returns the i-th value that the probe captured; 0: not captured. */
uint64_t call_arg(const struct call *c, unsigned i);

/* marker_device.c */
/* Handles waits, copies, collectives, and the making of devices and communicators. Returns false
 * for other roles. */
bool marker_device(struct call *c, uint32_t role);
/* Emits an error if the return value of the call is a fault code. */
void marker_fault(struct call *c, uint32_t role);
/* marker_program.c */
/* Handles runs of programs. Returns false for other roles. */
bool marker_program(struct call *c, uint32_t role);
void programs_free(struct programs *ps);
/* Drops the pending executions after a gap in observation, in which completions may have been
 * missed. */
void programs_gap(struct programs *ps);
/* Returns the table of programs, created if missing; NULL when there is no memory. */
struct programs *call_programs(struct call *c);
/* Returns the layer of the runtime that the call belongs to. */
uint32_t call_layer(const struct call *c);
/* Writes the name in the call's record to out; "" when there is none. */
void call_name(const struct call *c, char *out, size_t len);
/* Returns the program with this handle, NULL when unknown. */
struct program *program_by_handle(struct programs *ps, uint32_t layer, uint64_t handle);
/* Returns the program with this handle, created if missing; NULL when there is no memory. */
struct program *program_of_handle(struct programs *ps, uint32_t layer, uint64_t handle);
/* marker_compile.c */
/* Handles compilations of programs. Returns false for other roles. */
bool marker_compile(struct call *c, uint32_t role);
/* Handles a record of GP_KIND_program. */
void marker_program_named(struct call *c);
/* marker_program_name.c */
/* Copies text to out, cut to PROGRAM_NAME_MAX bytes with its terminator. */
void program_text(char *out, const char *text);
/* Returns the first program of that name, NULL when there is none. */
struct program *program_by_name(struct programs *ps, const char *name);
/* Gives p its name and thereby the identity of an equal program. Returns the identity that p had so
 * far; 0 when it stays the same. */
uint64_t program_name(struct programs *ps, struct program *p, const char *name);
/* Sets the content of p (enum program_content), which may show that it is a different program of
 * the same name. */
void program_content(struct programs *ps, struct program *p, uint32_t content);
/* Sets the number of arguments of p, which may show that it is a different program of the same
 * name. */
void program_takes(struct programs *ps, struct program *p, uint32_t inputs);
/* Writes the name of the function that a TensorFlow program runs to out (PROGRAM_NAME_MAX bytes).
 */
void program_function_name(char *out, const char *text);
/* Returns true for the name of a TensorFlow function, false for that of an operator. */
bool program_is_function(const char *name);

/* marker_name.c */
/* Sets the class of r from its text, which for optimizer ranges is replaced by the optimizer's
 * class. */
void marker_classify(struct marker *m, struct range *r);
/* Returns the role of the call: that of its probe, or of the operator if the call runs an operator
 * by name. */
uint32_t marker_role(const struct call *c);

#endif
