/* SPDX-License-Identifier: Apache-2.0 */
/* signal.h - what a process's records say about training, one step up from bytes: ranges are
 * paired, names classified, nesting known. Made by marker.c, read by step.c and phase.c. */
#ifndef MODEL_SIGNAL_H
#define MODEL_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

enum signal_kind {
	SIGNAL_UPDATE_BEGIN, /* an optimizer's step range opened */
	SIGNAL_UPDATE,	     /* ... and closed: begin_ns..ts_ns */
	SIGNAL_ZERO_GRAD_BEGIN,
	SIGNAL_ZERO_GRAD,   /* begin_ns..ts_ns */
	SIGNAL_FETCH_BEGIN, /* the loader was asked for a batch */
	SIGNAL_FETCH,	    /* ... and answered (or said that the epoch is over) */
	SIGNAL_BACKWARD, /* a backward pass starts; outer tells whether it is the outermost of its
			    thread */
	SIGNAL_REDUCER,
	SIGNAL_UPDATE_OP,  /* a fused optimizer kernel; ident */
	SIGNAL_LIST_OP,	   /* a multi-tensor op; ident; of use inside an update only */
	SIGNAL_AMP,	   /* gradient scaler update */
	SIGNAL_ANON_RANGE, /* a range whose name this runtime does not tell opened */
	SIGNAL_SAVE_BEGIN, /* text: path or "" */
	SIGNAL_SAVE,	   /* begin_ns..ts_ns of one writer */
	SIGNAL_RESTORE,	   /* a reader opened */
	SIGNAL_RANGE,	   /* another named range closed: text, begin_ns..ts_ns */
	SIGNAL_FORWARD,	   /* a DDP or FSDP forward range opened: phases only */
	SIGNAL_EXECUTE,	   /* a compiled program was run, begin_ns..ts_ns the call; ident: which */
	SIGNAL_SYNC,	   /* the host was blocked on the device: begin_ns..ts_ns; tainted: the call
			      failed */
	SIGNAL_LAUNCH,	   /* count: work items since the last such signal (sampled) */
	SIGNAL_COLLECTIVE, /* begin_ns..ts_ns the call; ident: communicator; count: bytes, 0:
			      unknown */
	SIGNAL_LOSS,	   /* records of this process may have been lost before ts_ns: count */
	SIGNAL_GAP,  /* nobody watched: begin_ns..ts_ns; what was open has been closed before it,
			tainted */
	SIGNAL_TICK, /* a second passed */
	SIGNAL_EXIT, /* the process ended: nothing more comes */
	SIGNAL_RANGE_BEGIN, /* another named range opened: text */
	/* A device (ident 0) or communicator (1) was made: begin_ns..ts_ns; tainted: not. Of the
	   latter, count: ranks in it, 0: unknown; number: which one this is */
	SIGNAL_INIT,
	SIGNAL_GROUP_BEGIN,   /* a process group, or its store, is about to be made */
	SIGNAL_GROUP,	      /* ... and is whole */
	SIGNAL_COMPILE_BEGIN, /* a program is about to be built; size: bytes of its code, 0: unknown
			       */
	SIGNAL_COMPILE, /* begin_ns..ts_ns: it was; ident: which (0: unknown), text: its name, size;
			   count: it was taken for that one so far (0: for none) */
	SIGNAL_DONE,	/* at begin_ns, on the device: the execution `number`; tainted: it failed */
	SIGNAL_COPY,	/* begin_ns..ts_ns the call; count: bytes; ident: enum copy_direction */
	/* A call failed; ident: code, 0: a communicator is torn down; text: what that is,
	   "CUDA_ERROR_ILLEGAL_ADDRESS"; fault, origin; count: bytes that were asked for, 0: unknown
	 */
	SIGNAL_ERROR,
	SIGNAL_PROBE, /* the probe that the user chose was hit: begin_ns..ts_ns */
};

struct signal {
	enum signal_kind kind;
	uint32_t tid;
	uint64_t ts_ns;
	uint64_t begin_ns; /* where the comment says so, else ts_ns */
	uint32_t name;	/* optimizer class (of update, zero_grad), interned per process from 1; 0:
			   none */
	uint32_t depth; /* update: step ranges open around it on its thread (0: not nested) */
	uint64_t ident;
	uint64_t count;
	uint64_t number; /* execute, done: of the process's executions, from 1; 0: nobody will tell
			    its end */
	uint64_t size;	 /* compile, execute: bytes of the program's code; 0: unknown */
	uint64_t from;	 /* execute: the program whose first output is its first input; 0: none or
			    unknown */
	uint32_t inputs; /* execute: arguments of the program; 0: unknown */
	uint32_t layer;	 /* execute, compile: of the runtime; what a higher one shows a lower one
			    shows again */
	bool cached;  /* execute, compile: of a program that was not compiled, but came from a cache
		       */
	bool made;    /* compile: there is a program now, which was not told yet */
	bool traced;  /* execute: from is known */
	bool unseen;  /* execute: it is not, as nobody told what the host wrote to */
	bool outer;   /* backward */
	bool tainted; /* its begin or its neighbours may be missing */
	unsigned fault; /* error: enum fault_kind */
	const char *
		origin; /* error, collective, sync: id of the probe, "nccl.all_reduce"; else NULL */
	const char *text; /* valid during the call; escaped; the optimizer class for
			     update/zero_grad; of a program its name, "": unknown */
};

enum copy_direction { COPY_UNKNOWN, COPY_IN, COPY_OUT, COPY_ON_DEVICE };

#endif
