/* SPDX-License-Identifier: Apache-2.0 */
/* signal.h - what a process's records say about training, one step up from bytes: ranges are paired,
 * names classified, nesting known. Made by marker.c, read by step.c and phase.c. */
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
	SIGNAL_BACKWARD, /* a backward pass starts; outer tells whether it is the outermost of its thread */
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
	SIGNAL_EXECUTE,	   /* a compiled program ran; ident: which */
	SIGNAL_SYNC,	   /* the host was blocked on the device: begin_ns..ts_ns */
	SIGNAL_LAUNCH,	   /* count: work items since the last such signal (sampled) */
	SIGNAL_COLLECTIVE,
	SIGNAL_LOSS, /* records of this process may have been lost before ts_ns: count */
	SIGNAL_GAP,  /* nobody watched: begin_ns..ts_ns; what was open has been closed before it, tainted */
	SIGNAL_TICK, /* a second passed */
	SIGNAL_EXIT, /* the process ended: nothing more comes */
	SIGNAL_RANGE_BEGIN, /* another named range opened: text */
	SIGNAL_INIT, /* a device (ident 0) or communicator (1) was made: begin_ns..ts_ns; tainted: not */
	SIGNAL_GROUP_BEGIN, /* a process group, or its store, is about to be made */
	SIGNAL_GROUP,	    /* ... and is whole */
};

struct signal {
	enum signal_kind kind;
	uint32_t tid;
	uint64_t ts_ns;
	uint64_t begin_ns; /* where the comment says so, else ts_ns */
	uint32_t name;	   /* optimizer class (of update, zero_grad), interned per process from 1; 0: none */
	uint32_t depth;	   /* update: step ranges open around it on its thread (0: not nested) */
	uint64_t ident;
	uint64_t count;
	bool outer;	  /* backward */
	bool tainted;	  /* its begin or its neighbours may be missing */
	const char *text; /* valid during the call; escaped; the optimizer class for update/zero_grad */
};

#endif
