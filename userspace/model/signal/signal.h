/* SPDX-License-Identifier: Apache-2.0 */
/* signal.h - signals: what a process does that matters for training. The marker (marker.h) makes
 * them from records: ranges are paired, names are classified, and nesting is known. They are the
 * input of the step finder (step/step.h) and of phases (phase/phase.h). */
#ifndef MODEL_SIGNAL_H
#define MODEL_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of signals, with the fields of struct signal that they use. "begin_ns..ts_ns" means that
 * begin_ns is set to the start; otherwise it equals ts_ns. */
enum signal_kind {
	SIGNAL_UPDATE_BEGIN, /* the range of an optimizer's step() opened */
	SIGNAL_UPDATE,	     /* the range of an optimizer's step() closed: begin_ns..ts_ns */
	SIGNAL_ZERO_GRAD_BEGIN,
	SIGNAL_ZERO_GRAD,   /* begin_ns..ts_ns */
	SIGNAL_FETCH_BEGIN, /* the data loader was asked for a batch */
	SIGNAL_FETCH,	    /* the data loader returned a batch, or the end of the epoch */
	SIGNAL_BACKWARD,    /* a backward pass starts; outer: outermost of its thread */
	SIGNAL_REDUCER,
	SIGNAL_UPDATE_OP, /* fused optimizer kernel ran; ident: parameter */
	/* multi-tensor operator ran; ident: parameter; ignored outside of updates */
	SIGNAL_LIST_OP,
	SIGNAL_AMP,	   /* the gradient scaler decided about an update */
	SIGNAL_ANON_RANGE, /* a range without a name opened */
	SIGNAL_SAVE_BEGIN, /* text: path or "" */
	SIGNAL_SAVE,	   /* one writer of a checkpoint ended: begin_ns..ts_ns */
	SIGNAL_RESTORE,	   /* the process opened a reader of checkpoints */
	/* a range with another name closed; text: name of the range; begin_ns..ts_ns */
	SIGNAL_RANGE,
	SIGNAL_FORWARD, /* a range of DDP's or FSDP's forward pass opened; used for phases only */
	/* A compiled program was run; begin_ns..ts_ns: time of the call; ident: program. */
	SIGNAL_EXECUTE,
	SIGNAL_SYNC, /* the host waited for the device: begin_ns..ts_ns; tainted: the call failed */
	/* work for the device was queued; count: work items since the last such signal */
	SIGNAL_LAUNCH,
	/* A collective was called: begin_ns..ts_ns; ident: communicator; pair: whether it is a send
	 * or a receive. */
	SIGNAL_COLLECTIVE,
	SIGNAL_LOSS, /* up to `count` records of this process were lost before ts_ns */
	/* The process was not observed from begin_ns to ts_ns. Before this signal, each open range
	 * is closed with `tainted` set. */
	SIGNAL_GAP,
	SIGNAL_TICK,	    /* one second passed */
	SIGNAL_EXIT,	    /* the process ended; this is its last signal */
	SIGNAL_RANGE_BEGIN, /* a range with another name opened; text: name of the range */
	/* A device (ident 0) or a communicator (ident 1) was made: begin_ns..ts_ns. tainted: the
	 * call failed. For a communicator, count is its number of ranks (0: unknown) and number is
	 * the rank of this process. */
	SIGNAL_INIT,
	SIGNAL_GROUP_BEGIN, /* a process group, or the store that it uses, is being made */
	SIGNAL_GROUP,	    /* the process group is complete */
	/* the compilation of a program begins; size: bytes of code, 0: unknown */
	SIGNAL_COMPILE_BEGIN,
	/* A compilation ended: begin_ns..ts_ns; ident: program, 0: unknown; text: name of the
	 * program; size: bytes of code; count: former identity of the program, 0: unchanged. */
	SIGNAL_COMPILE,
	/* The device completed execution `number` at begin_ns; tainted: with an error. */
	SIGNAL_DONE,
	/* data was copied; begin_ns..ts_ns: time of the call; count: bytes; ident:
	 * copy_direction */
	SIGNAL_COPY,
	/* A call failed, or a communicator was aborted (ident 0). ident: code; text: name of the
	 * code, such as "CUDA_ERROR_ILLEGAL_ADDRESS"; count: bytes requested, 0: unknown; `fault`
	 * and `origin` are set. */
	SIGNAL_ERROR,
	/* An operator ran that optimizers use, as well as other code; ident: parameter. */
	SIGNAL_PARAM_OP,
	SIGNAL_OPTIMIZER, /* an optimizer object was made */
	/* The thread records gradients again: code that ran without gradients has ended. */
	SIGNAL_GRAD_ON,
	SIGNAL_PROBE, /* the probe that the user named was hit: begin_ns..ts_ns */
	/* A checkpoint is about to be saved. count 1: the call returns before the checkpoint is
	 * written. */
	SIGNAL_SAVE_CALL,
	SIGNAL_COUNT
};

struct signal {
	enum signal_kind kind;
	uint32_t tid;
	uint64_t ts_ns;
	uint64_t begin_ns; /* start; equals ts_ns unless the signal's kind says otherwise */
	/* update, zero_grad: number of the optimizer's class in this process, from 1; 0: none */
	uint32_t name;
	/* update: number of step ranges of the same thread that are open around this one */
	uint32_t depth;
	uint64_t ident;
	uint64_t count;
	/* execute, done: number of the execution in its process, from 1; 0: its completion is not
	 * seen */
	uint64_t number;
	uint64_t size; /* compile, execute: bytes of code; 0: unknown */
	/* execute: the program whose first output is the first input of this execution; 0: none,
	 * or unknown */
	uint64_t from;
	uint32_t inputs; /* execute: number of arguments; 0: unknown */
	/* execute, compile: layer of the runtime that was called (LAYER_*); a program is reported
	 * by several layers, of which the one closest to the device counts */
	uint32_t layer;
	/* execute, compile: the program was loaded from a cache, not compiled */
	bool cached;
	bool made;   /* compile: this is the first report of the program */
	bool traced; /* `from` is known */
	/* execute: `from` is unknown, because writes of the host to buffers are not seen */
	bool unseen;
	/* execute: the first input differs from that of the program's last run */
	bool changes;
	bool readable; /* execute: the program's operations can be read from memory at this run */
	/* execute, compile: what the program's operations show: enum program_content */
	uint32_t content;
	bool pair;  /* collective: a send or a receive, between two ranks only */
	bool outer; /* backward: the outermost one of its thread */
	/* the begin of the range, or records shortly before or after, may be missing */
	bool tainted;
	unsigned fault; /* error: kind of the fault, enum fault_kind */
	/* error, collective, sync: id of the probe, such as "nccl.all_reduce"; else NULL */
	const char *origin;
	/* Class of the optimizer (update, zero_grad), name of the program (execute, compile), or
	 * what the comment on the kind says; "" if unknown. Escaped; valid during the call only. */
	const char *text;
};

/* Content of a program: the result of reading its operations. */
enum program_content {
	CONTENT_UNKNOWN,
	CONTENT_NONE,	  /* computes no gradient */
	CONTENT_GRADIENT, /* computes a gradient */
	CONTENT_COUNT
};
/* COPY_IN, COPY_OUT and COPY_ON_DEVICE have the numbers of cudaMemcpyKind and hipMemcpyKind. */
enum copy_direction { COPY_UNKNOWN, COPY_IN, COPY_OUT, COPY_ON_DEVICE };

#endif
