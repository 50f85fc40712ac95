/* SPDX-License-Identifier: Apache-2.0 */
/* signal.h - signals: the activities of a process that matter for training; the output of the
 * marker (marker.h) and the input of the step finder and the phases. A signal is made from one or
 * more records: ranges are paired, names classified, nesting is known. */
#ifndef MODEL_SIGNAL_H
#define MODEL_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of signals. "begin_ns..ts_ns" means that both fields are set; else begin_ns equals ts_ns.
 */
enum signal_kind {
	SIGNAL_UPDATE_BEGIN, /* the range of an optimizer's step() opened */
	SIGNAL_UPDATE,	     /* the range of an optimizer's step() closed: begin_ns..ts_ns */
	SIGNAL_ZERO_GRAD_BEGIN,
	SIGNAL_ZERO_GRAD,   /* begin_ns..ts_ns */
	SIGNAL_FETCH_BEGIN, /* the data loader was asked for a batch */
	SIGNAL_FETCH,	    /* the data loader returned a batch, or the end of the epoch */
	SIGNAL_BACKWARD,    /* a backward pass starts; outer: outermost of its thread */
	SIGNAL_REDUCER,
	SIGNAL_UPDATE_OP,  /* fused optimizer kernel; ident */
	SIGNAL_LIST_OP,	   /* multi-tensor operator; ident; used inside an update only */
	SIGNAL_AMP,	   /* gradient scaler update */
	SIGNAL_ANON_RANGE, /* a range without a name opened */
	SIGNAL_SAVE_BEGIN, /* text: path or "" */
	SIGNAL_SAVE,	   /* begin_ns..ts_ns of one writer */
	SIGNAL_RESTORE,	   /* a checkpoint reader opened */
	SIGNAL_RANGE,	   /* another named range closed: text, begin_ns..ts_ns */
	SIGNAL_FORWARD,	   /* a DDP or FSDP forward range opened; used for phases only */
	/* a compiled program ran; begin_ns..ts_ns: the call; ident: program */
	SIGNAL_EXECUTE,
	SIGNAL_SYNC, /* the host waited for the device: begin_ns..ts_ns; tainted: the call failed */
	SIGNAL_LAUNCH, /* count: work items since the last such signal (sampled) */
	/* A collective call: begin_ns..ts_ns; ident: communicator; pair. */
	SIGNAL_COLLECTIVE,
	SIGNAL_LOSS, /* up to `count` records of this process may have been lost before ts_ns */
	/* Not observed: begin_ns..ts_ns. Open ranges were closed before this signal, tainted. */
	SIGNAL_GAP,
	SIGNAL_TICK,	    /* one second passed */
	SIGNAL_EXIT,	    /* the process ended; the last signal */
	SIGNAL_RANGE_BEGIN, /* another named range opened: text */
	/* A device (ident 0) or a communicator (ident 1) was made: begin_ns..ts_ns; tainted: the
	 * call failed. Communicator only: count: ranks in it, 0: unknown; number: rank of this
	 * process in it. */
	SIGNAL_INIT,
	SIGNAL_GROUP_BEGIN,   /* a process group, or its store, is being made */
	SIGNAL_GROUP,	      /* the process group is complete */
	SIGNAL_COMPILE_BEGIN, /* compilation starts; size: bytes of code, 0: unknown */
	/* Compilation ended: begin_ns..ts_ns; ident: program, 0: unknown; text: name of the
	 * program; size; count: former identity of the program, 0: the same. */
	SIGNAL_COMPILE,
	/* The device finished the execution `number` at begin_ns; tainted: it failed. */
	SIGNAL_DONE,
	SIGNAL_COPY, /* begin_ns..ts_ns the call; count: bytes; ident: enum copy_direction */
	/* A call failed. ident: code, 0: a communicator was aborted; text: name of the code,
	 * "CUDA_ERROR_ILLEGAL_ADDRESS"; fault, origin; count: bytes requested, 0: unknown. */
	SIGNAL_ERROR,
	/* An operation that optimizers use, as well as other code; ident: parameter. */
	SIGNAL_PARAM_OP,
	SIGNAL_OPTIMIZER, /* an optimizer object was made */
	/* Gradients are recorded again on this thread: code without gradients has ended. */
	SIGNAL_GRAD_ON,
	SIGNAL_PROBE, /* hit of the probe chosen by the user: begin_ns..ts_ns */
	/* A checkpoint is about to be saved; count 1: the call returns before the checkpoint is
	 * written. */
	SIGNAL_SAVE_CALL,
	SIGNAL_COUNT
};

struct signal {
	enum signal_kind kind;
	uint32_t tid;
	uint64_t ts_ns;
	uint64_t begin_ns; /* equals ts_ns unless the kind says otherwise */
	/* update, zero_grad: class of the optimizer, numbered per process from 1; 0: none. */
	uint32_t name;
	/* update: number of step ranges of its thread that are open around it. */
	uint32_t depth;
	uint64_t ident;
	uint64_t count;
	/* execute, done: number of the execution in its process, from 1; 0: its completion will not
	 * be seen. */
	uint64_t number;
	uint64_t size; /* compile, execute: bytes of code; 0: unknown */
	/* execute: program whose first output is the first input of this execution; 0: none or
	 * unknown. */
	uint64_t from;
	uint32_t inputs; /* execute: number of arguments; 0: unknown */
	/* execute, compile: layer of the runtime; a lower layer repeats the programs of a higher
	 * one. */
	uint32_t layer;
	/* execute, compile: the program was loaded from a cache instead of compiled */
	bool cached;
	bool made;   /* compile: the program was not reported before */
	bool traced; /* execute: `from` is known */
	bool unseen; /* execute: `from` is unknown because host writes to buffers are not seen */
	/* execute: the first input differs from that of the program's last run */
	bool changes;
	bool readable;	  /* execute: the job learns at once when its results are complete */
	uint32_t content; /* execute, compile: enum program_content */
	bool pair;	  /* collective: a send or a receive, between two ranks only */
	bool outer;	  /* backward: the outermost one of its thread */
	bool tainted;	  /* the begin of the range, or records next to it, may be missing */
	unsigned fault;	  /* error: enum fault_kind */
	/* error, collective, sync: id of the probe, "nccl.all_reduce"; else NULL. */
	const char *origin;
	/* Escaped; valid during the call. Class of the optimizer for update and zero_grad; name of
	 * a program, "" when unknown. */
	const char *text;
};

/* Result of reading a program's operations. */
enum program_content {
	CONTENT_UNKNOWN,
	CONTENT_NONE,	  /* computes no gradient */
	CONTENT_GRADIENT, /* computes a gradient */
	CONTENT_COUNT
};
/* COPY_IN to COPY_ON_DEVICE are the numbers of cudaMemcpyKind and hipMemcpyKind. */
enum copy_direction { COPY_UNKNOWN, COPY_IN, COPY_OUT, COPY_ON_DEVICE };

#endif
