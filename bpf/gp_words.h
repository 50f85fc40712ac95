/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_words.h - the vocabulary of gp_abi.h: numbers and their names. Entries are appended and never
 * renumbered, as they are stored on disk. */
#ifndef GP_WORDS_H
#define GP_WORDS_H

/* Meaning of a probe for the model. A new runtime is a YAML file whose rows use these words. */
#define GP_ROLE_DEVICE 1     /* a process that makes this call uses a device */
#define GP_ROLES(X)	     /* id, name, attributes */                                            \
	X(0, none, 0)	     /* shown by `check`; not used by the model */                         \
	X(1, range_begin, 0) /* a named range opens on this thread */                              \
	X(2, range_end, 0)   /* the range opened last on this thread closes */                     \
	X(3, backward, 0)    /* a backward pass begins; nested ones have a lower sp */             \
	X(4, reducer, 0)     /* gradients of one synchronised step are reduced */                  \
	X(5, update_op,                                                                            \
	  0) /* a multi-tensor kernel of an optimizer; arg0 identifies the parameter list */       \
	X(6, list_op,                                                                              \
	  0) /* a multi-tensor operation that optimizers and others use; arg0 likewise */          \
	X(7, amp_update, 0)   /* the gradient scaler decides: once for each attempted step */      \
	X(8, save_begin, 0)   /* a checkpoint writer opens (name: path, if it has one) */          \
	X(9, save_end, 0)     /* a checkpoint writer finished */                                   \
	X(10, restore, 0)     /* a checkpoint reader opens */                                      \
	X(11, device_init, 0) /* the accelerator is initialised */                                 \
	X(12, compile, GP_ROLE_DEVICE)	    /* a program for the device is built or loaded */      \
	X(13, launch, GP_ROLE_DEVICE)	    /* work is queued on a stream */                       \
	X(14, graph_launch, GP_ROLE_DEVICE) /* a recorded graph of work is queued on a stream */   \
	X(15, execute, GP_ROLE_DEVICE)	    /* a compiled program is run (arg0: which) */          \
	X(16, sync, GP_ROLE_DEVICE)	    /* the host waits for the device */                    \
	X(17, copy,                                                                                \
	  GP_ROLE_DEVICE) /* copy between host and device (arg0: bytes, arg1: direction) */        \
	X(18, collective, GP_ROLE_DEVICE) /* a collective is queued (arg0 count, arg1 type, arg2   \
					     comm, arg3 peer) */                                   \
	X(19, comm_init, GP_ROLE_DEVICE)  /* a communicator is created (arg0 nranks, arg1 rank) */ \
	X(20, comm_abort, 0)		  /* a communicator is aborted because of an error */      \
	X(21, error, 0)			  /* a call that reports faults; ret is the fault */       \
	X(22, group_init, 0)	/* creation of a process group, or of the store it uses, begins */ \
	X(23, group_ready, 0)	/* creation of the group begun last on this thread is complete */  \
	X(24, compile_begin, 0) /* building a program begins on this thread (name; or arg0: its    \
				   code, arg1: bytes of code) */                                   \
	X(25, compile_end, 0)	/* building the program is complete (arg0: which) */               \
	X(26, on_ready, 0)	/* a callback is registered for event arg0 (arg1: its token) */    \
	X(27, completion,                                                                          \
	  0)		  /* the event of a token is ready (arg0: 0, or an error; arg1: token) */  \
	X(28, monitor, 0) /* an event of the job's own monitoring */                               \
	X(29, alloc, GP_ROLE_DEVICE)	/* device memory is allocated (arg0: bytes) */             \
	X(30, copy_in, GP_ROLE_DEVICE)	/* copy from host to device (arg0: bytes; 0: unknown) */   \
	X(31, copy_out, GP_ROLE_DEVICE) /* copy from device to host (arg0: bytes; 0: unknown) */   \
	X(32, capture, GP_ROLE_DEVICE) /* recording of work, instead of running it, begins or ends \
					  (arg0: stream) */                                        \
	X(33, suspend, 0)     /* device state of another process is suspended (arg0: pid) */       \
	X(34, resume, 0)      /* device state of another process is resumed (arg0: pid) */         \
	X(35, comm_end, 0)    /* a communicator is destroyed normally (arg0) */                    \
	X(36, comm_error, 0)  /* a communicator failed (arg0: which; arg1: error) */               \
	X(37, table, 0)	      /* of older tapes */                                                 \
	X(38, program_end, 0) /* a program (arg0) is destroyed: its number may be reused */        \
	X(39, buffer_in, 0)   /* copy from host into a new buffer (arg0) */                        \
	X(40, cached, 0) /* at a return: a program came from a cache of compiled programs (arg0:   \
			    which; arg1: bytes); at an entry: it is about to, on this thread       \
			    (arg0: its code, arg1; or its name) */                                 \
	X(41, param_op,                                                                            \
	  0) /* an operation by which optimizers, and others, update a parameter (arg0) */         \
	X(42, optimizer_new, 0) /* an optimizer is created */                                      \
	X(43, grad_on,                                                                             \
	  0) /* recording of gradients is switched on this thread (arg0: not 0: on) */             \
	X(44, save_call,                                                                           \
	  0) /* a function that saves a checkpoint is called (name; its last part begins with      \
		"save", or with "async_save" when it returns before the files are complete) */

enum gp_role {
#define X(id, name, attributes) GP_ROLE_##name = id,
	GP_ROLES(X)
#undef X
};

#define GP_GROUPS(X)                                                                               \
	X(0, marker)  /* finds steps; never removed */                                             \
	X(1, confirm) /* confirms the marker or contradicts it */                                  \
	X(2, bulk)    /* frequent calls: counted, removed first */                                 \
	X(3, fault)   /* errors, checkpoints, life cycle: rare, never removed */

enum gp_group {
#define X(id, name) GP_GROUP_##name = id,
	GP_GROUPS(X)
#undef X
};

/* Meaning of a return value. */
#define GP_RETURNS(X)                                                                              \
	X(0, unknown)  /* no value, or one that cannot be interpreted */                           \
	X(1, signed)   /* a signed code in the low 32 bits */                                      \
	X(2, unsigned) /* an unsigned code in the low 32 bits */                                   \
	X(3, error)    /* a pointer to an error; NULL: no error */                                 \
	X(4, object)   /* a pointer to a new object; NULL: failure */

enum gp_returns {
#define X(id, name) GP_RETURNS_##name = id,
	GP_RETURNS(X)
#undef X
};

/* Cause named by an error code. */
#define GP_FAULTS(X)                                                                               \
	X(0, device)	   /* the device or its driver */                                          \
	X(1, communicator) /* the communicator between ranks */                                    \
	X(2, memory)	   /* memory of the device */

enum gp_fault_kind {
#define X(id, name) GP_FAULT_##name = id,
	GP_FAULTS(X)
#undef X
		GP_FAULT_COUNT
};

/* Attributes of causes. DATA: measured data is missing. MARKER: it may include markers of steps. */
#define GP_LOSS_DATA   1
#define GP_LOSS_MARKER 2

#define GP_LOSS_CAUSES(X) /* id, name, attributes: append, never renumber */                       \
	X(0, ring_call, GP_LOSS_DATA | GP_LOSS_MARKER) /* the ring of calls was full */            \
	X(1, ring_life, GP_LOSS_DATA)		       /* the ring of process life was full */     \
	X(2, watch_full,                                                                           \
	  GP_LOSS_DATA) /* a child process could not be watched: the table was full */             \
	X(3, slots_full,                                                                           \
	  GP_LOSS_DATA)		      /* hot calls of a process were counted in the shared slot */ \
	X(4, open_full, GP_LOSS_DATA) /* an entry could not be stored until its return */          \
	X(5, unpaired, 0)	      /* a return, or end of a range, without its begin */         \
	X(6, read_fault,                                                                           \
	  GP_LOSS_DATA | GP_LOSS_MARKER) /* a string or word could not be read from the process */ \
	X(7, rate_limited, 0) /* records over a rate limit (names chosen by users, signals, kernel \
				 log) were not sent */                                             \
	X(8, late,                                                                                 \
	  GP_LOSS_DATA | GP_LOSS_MARKER) /* a record arrived after later ones were processed */    \
	X(9, malformed,                                                                            \
	  GP_LOSS_DATA | GP_LOSS_MARKER) /* a record had a wrong length or an unknown kind */      \
	X(10, tape, GP_LOSS_DATA | GP_LOSS_MARKER) /* the tape could not be written */             \
	X(11, stack_full,                                                                          \
	  GP_LOSS_DATA | GP_LOSS_MARKER) /* ranges of a thread could not be followed */            \
	X(12, names_full, 0) /* no limit for a single name: only the limit of its row applies */   \
	X(13, file_limited,                                                                        \
	  0) /* records of possible checkpoint files over a rate limit were not sent */

enum gp_loss_cause {
#define X(id, name, attributes) GP_LOSS_##name = id,
	GP_LOSS_CAUSES(X)
#undef X
		GP_LOSS_CAUSE_COUNT
};

/* Error of a probe (negated in struct gp_attach; the number is larger than any errno): neither
 * gp-bpf nor the user of the process that maps the library may read its file. */
#define GP_ERROR_CLOSED 4096
/* Error of an absent probe: its library may be linked into the program, but the program does not
 * have the symbol. */
#define GP_ERROR_LINKED 4095

/* Reasons why a function without a symbol is not found by its texts. The negated number is the
 * error of a probe (struct gp_attach); it is larger than any errno. */
#define GP_TABLE_ERRORS(X)                                                                            \
	X(4097, unseen,                                                                               \
	  "its file has no symbol for it, and no function that names itself by the texts of its row") \
	X(4104, two, "more than one function of its file names itself by the texts of its row")       \
	X(4106, slow, "its file is read too slowly to find functions without symbols")

enum gp_table_error {
#define X(id, name, text) GP_TABLE_##name = id,
	GP_TABLE_ERRORS(X)
#undef X
};

/* How the kernel runs the probed instruction, cheapest first (measured in a VM: 0.2, 0.5, 16-28
 * us). */
#define GP_INSNS(X)                                                                                \
	X(0, unknown)                                                                              \
	X(1, nop5)     /* rewritten into a call since Linux 6.18: no trap */                       \
	X(2, emulated) /* push, nop, jmp, call: a trap, then emulated */                           \
	X(3, stepped)  /* others: a trap, then single-stepped out of line */

enum gp_insn {
#define X(id, name) GP_INSN_##name = id,
	GP_INSNS(X)
#undef X
};

#define GP_ATTACH_STATES(X)                                                                        \
	X(0, absent) /* the library does not have the symbol */                                    \
	X(1, attached)                                                                             \
	X(2, failed)   /* see error */                                                             \
	X(3, refused)  /* forbidden by a rule: cost, or return probe on C++ */                     \
	X(4, detached) /* no watched process uses the library any more */                          \
	X(5, counted)  /* over the overhead budget: hits are counted, not sent */                  \
	X(6, given_up) /* over the overhead budget: detached for now */

enum gp_attach_state {
#define X(id, name) GP_ATTACH_##name = id,
	GP_ATTACH_STATES(X)
#undef X
};

#endif
