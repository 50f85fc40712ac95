/* SPDX-License-Identifier: Apache-2.0 */
/* marker_internal.h - what marker.c (records to signals) and marker_save.c (its state as bytes)
 * share. */
#ifndef MODEL_MARKER_INTERNAL_H
#define MODEL_MARKER_INTERNAL_H

#include "userspace/base/grow.h"
#include "userspace/model/marker.h"

enum range_class { RANGE_OTHER, RANGE_STEP, RANGE_ZERO_GRAD, RANGE_FETCH, RANGE_FORWARD };

struct range {
	uint64_t begin_ns;
	uint16_t depth;
	uint8_t class;
	bool deep;     /* an operator inside it ran below the live backward */
	uint32_t name; /* of RANGE_STEP and RANGE_ZERO_GRAD */
	uint64_t ident;
	char text[GP_NAME_MAX];
};

#define PROGRAM_NAME_MAX 96

struct compile { /* the last one that was begun on a thread */
	uint64_t begin_ns, code, bytes;
	bool open, ended; /* it has not returned; its program was told by a compile_end */
	bool cached;	  /* it compiles nothing: the program comes from a cache of compiled ones */
	char name[PROGRAM_NAME_MAX];
};

struct thread {
	uint32_t tid; /* 0: free */
	uint32_t open;
	uint32_t steps; /* RANGE_STEP among the open ones */
	uint64_t seen_ns;
	uint64_t outer_sp;    /* of the last outermost backward; 0: none that may still run */
	uint16_t outer_depth; /* ranges open when it started */
	uint32_t nested, nested_most; /* backwards below it; below any before */
	bool saving;
	uint64_t save_ns;
	struct range *ranges; /* GP_RANGE_DEPTH at most */
	uint32_t ranges_cap;
	char save[GP_PATH_MAX];
	struct compile *compile; /* NULL: none */
};

/* A program as its handle or, where that is 0, its name tells it. Those of one name are one
 * program, unless that name is nobody's own and they take different numbers of arguments. */
struct program {
	uint64_t handle, ident;
	uint64_t code, bytes; /* of what it was compiled from; 0: unknown */
	uint64_t seen;	      /* number of the record that showed it last */
	uint32_t tid;	      /* that compiled it */
	uint32_t layer;
	uint32_t inputs;	     /* arguments of its runs; 0: unknown */
	bool cached;		     /* it was not compiled here, but came from a cache */
	char name[PROGRAM_NAME_MAX]; /* "": unknown */
};

enum {
	LAYER_GRAPH = 1,
	LAYER_CLIENT,
	LAYER_TABLE
}; /* LAYER_CLIENT: what is built on the table, too */

struct pending {	       /* an execution whose completion is waited for */
	uint64_t event, token; /* token 0: nobody asked to be told yet */
	uint64_t number;
};

#define PROGRAM_OUTPUTS 32 /* first outputs of the last executions */
#define PROGRAM_EARLY	32 /* completions that came before the call that asked for them returned */

struct programs {
	uint32_t layer; /* the highest that was seen */
	uint64_t seen, idents, executions;
	uint32_t count, cap;
	struct program *item; /* MARKER_PROGRAMS at most */
	uint32_t npending, pending_cap;
	struct pending *pending;   /* MARKER_PENDING at most, oldest first */
	uint32_t noutputs, nearly; /* ever, of rings */
	struct {
		uint64_t buffer, ident;
	} outputs[PROGRAM_OUTPUTS];
	struct {
		uint64_t token, ts_ns;
		bool failed;
	} early[PROGRAM_EARLY];
};

struct call { /* what one marker_feed() carries along */
	struct marker *m;
	const struct event *ev;
	const struct gp_probe *probe;
	signal_fn *emit;
	void *ctx;
	uint32_t tid;	/* of the signals that it makes */
	uint64_t ts_ns; /* ... and when */
	int made;
};

struct marker {
	struct thread **threads; /* MARKER_THREADS at most */
	uint32_t nthreads, threads_cap;
	struct thread *last; /* most records are of the thread before */
	uint32_t nnames, names_cap;
	char **names;		   /* MARKER_NAMES at most */
	struct programs *programs; /* NULL: none was seen */
};

void call_emit(struct call *c, struct signal *s);
void call_simple(struct call *c, enum signal_kind kind, uint64_t ident, uint64_t count);

uint64_t
call_begin_ns(const struct call *c); /* of a call that was entered and left; else when it was */
uint64_t call_arg(const struct call *c,
		  unsigned i); /* value that its probe read; 0: it read no such one */

/* marker_device.c: waits, copies, collectives, devices and communicators made, errors. false: none
 * of these.
 */
bool marker_device(struct call *c, uint32_t role);
void marker_fault(struct call *c, uint32_t role); /* what a call returned, if that names a fault */
/* marker_program.c: programs that are compiled and run. false: none of these. */
bool marker_program(struct call *c, uint32_t role);
struct programs *call_programs(struct call *c); /* NULL: no memory */
uint32_t call_layer(const struct call *c);
void call_name(const struct call *c, char *out, size_t len); /* "": it has none */
struct program *program_of_handle(struct programs *ps, uint32_t layer,
				  uint64_t handle); /* NULL: no memory */
/* marker_compile.c */
void marker_compile(struct call *c, uint32_t role);
void marker_program_named(struct call *c); /* GP_KIND_program */
/* marker_program_name.c */
void program_text(char *out, const char *text); /* PROGRAM_NAME_MAX bytes */
struct program *program_by_name(struct programs *ps, const char *name);
/* It is called so: of all that are, it is one. Returns what it was taken for so far; 0: for nothing
 * else. */
uint64_t program_name(struct programs *ps, struct program *p, const char *name);
/* It runs with so many arguments: of one name it may be another one after all. */
void program_takes(struct programs *ps, struct program *p, uint32_t inputs);
void program_function_name(char *out, const char *text); /* PROGRAM_NAME_MAX bytes */
bool program_is_function(const char *name);		 /* of TensorFlow, and no operator */
void programs_free(struct programs *ps);
/* Nobody watched: completions may have been missed. */
void programs_gap(struct programs *ps);

/* marker_name.c: what the range is, by its text, which becomes the class of an optimizer's. */
void marker_classify(struct marker *m, struct range *r);
/* What the call does: its probe's role, but of an operator that is run by name its own. */
uint32_t marker_role(const struct call *c);

#endif
