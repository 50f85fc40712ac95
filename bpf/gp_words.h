/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_words.h - the words that records and probe files use: their numbers and names. The numbers are
 * on disk, so new words are appended, and none is renumbered. */
#ifndef GP_WORDS_H
#define GP_WORDS_H

/* Roles: what a hit of a probe means to the model. A new runtime needs only a YAML file whose rows
 * use these roles. */
#define GP_ROLE_DEVICE 1 /* attribute of a role: a process that makes such a call uses a device */
#define GP_ROLES(X)	 /* id, name, attributes */                                                \
	X(0, none, 0)	 /* only shown by `gp-bpf check`; the model ignores it */                  \
	X(1, range_begin, 0) /* a named range opens on this thread */                              \
	X(2, range_end, 0)   /* the range opened last on this thread closes */                     \
	X(3, backward, 0)    /* a backward pass begins; a nested one has a lower sp */             \
	X(4, reducer, 0)     /* gradients of one synchronised backward pass are reduced */         \
	X(5, update_op,                                                                            \
	  0) /* a multi-tensor kernel of an optimizer; arg0 identifies the parameter list */       \
	X(6, list_op,                                                                              \
	  0) /* a multi-tensor operation of optimizers and other code (arg0: parameter list) */    \
	X(7, amp_update, 0)   /* the gradient scaler applies or skips a step */                    \
	X(8, save_begin, 0)   /* a writer of checkpoints is opened (name: path, if it has one) */  \
	X(9, save_end, 0)     /* a writer of checkpoints has finished */                           \
	X(10, restore, 0)     /* a reader of checkpoints is opened */                              \
	X(11, device_init, 0) /* the accelerator is initialised */                                 \
	X(12, compile, GP_ROLE_DEVICE)	    /* a program for the device is built or loaded */      \
	X(13, launch, GP_ROLE_DEVICE)	    /* work is queued on a stream */                       \
	X(14, graph_launch, GP_ROLE_DEVICE) /* a recorded graph of work is queued on a stream */   \
	X(15, execute, GP_ROLE_DEVICE)	    /* a compiled program is run (arg0: the program) */    \
	X(16, sync, GP_ROLE_DEVICE)	    /* the host waits for the device */                    \
	X(17, copy,                                                                                \
	  GP_ROLE_DEVICE) /* copy between host and device (arg0: bytes, arg1: direction) */        \
	X(18, collective, GP_ROLE_DEVICE) /* a collective is queued (arg0 count, arg1 type, arg2   \
					     comm, arg3 peer) */                                   \
	X(19, comm_init, GP_ROLE_DEVICE)  /* a communicator is created (arg0 nranks, arg1 rank) */ \
	X(20, comm_abort, 0)	/* a communicator is aborted, because of an error or at the end */ \
	X(21, error, 0)		/* the call reports a fault; its return value is the fault */      \
	X(22, group_init, 0)	/* the creation of a process group, or of its store, begins */     \
	X(23, group_ready, 0)	/* the group whose creation began last on this thread is ready */  \
	X(24, compile_begin, 0) /* building a program begins on this thread (name; or arg0: its    \
				   code, arg1: bytes of code) */                                   \
	X(25, compile_end, 0)	/* the compilation is complete (arg0: the program) */              \
	X(26, on_ready, 0) /* a callback is registered for an event (arg0: event, arg1: token) */  \
	X(27, completion,                                                                          \
	  0) /* an event is ready (arg0: 0 or an error, arg1: the token of the callback) */        \
	X(28, monitor, 0) /* the job logs an event for its own monitoring (torch.monitor) */       \
	X(29, alloc, GP_ROLE_DEVICE)	/* device memory is allocated (arg0: bytes) */             \
	X(30, copy_in, GP_ROLE_DEVICE)	/* copy from host to device (arg0: bytes; 0: unknown) */   \
	X(31, copy_out, GP_ROLE_DEVICE) /* copy from device to host (arg0: bytes; 0: unknown) */   \
	X(32, capture, GP_ROLE_DEVICE) /* recording of work, instead of running it, begins or ends \
					  (arg0: stream) */                                        \
	X(33, suspend, 0)     /* device state of another process is suspended (arg0: pid) */       \
	X(34, resume, 0)      /* device state of another process is resumed (arg0: pid) */         \
	X(35, comm_end, 0)    /* a communicator (arg0) is destroyed normally */                    \
	X(36, comm_error, 0)  /* a communicator has failed (arg0: communicator, arg1: error) */    \
	X(37, table, 0)	      /* only on tapes of older versions */                                \
	X(38, program_end, 0) /* a program (arg0) is destroyed; another one may get its number */  \
	X(39, buffer_in, 0)   /* the host copies data into a buffer (arg0) */                      \
	X(40, cached, 0)   /* at a return: a program was loaded from a cache (arg0: the program;   \
			      arg1: bytes); at an entry: loading a program from a cache begins on  \
			      this thread (arg0: its code, arg1: bytes of code; or its name) */    \
	X(41, param_op, 0) /* a parameter (arg0) is updated, by an optimizer or other code */      \
	X(42, optimizer_new, 0) /* an optimizer is created */                                      \
	X(43, grad_on,                                                                             \
	  0) /* recording of gradients is switched on (arg0 is not 0) or off, for this thread */   \
	X(44, save_call,                                                                           \
	  0) /* a function that saves a checkpoint is called (name; its last part begins with      \
		"save", or with "async_save" when it returns before the files are complete) */     \
	X(45, operation, 0) /* an operator whose floating-point operations are counted */

enum gp_role {
#define X(id, name, attributes) GP_ROLE_##name = id,
	GP_ROLES(X)
#undef X
};

#define GP_GROUPS(X)                                                                               \
	X(0, marker)  /* finds steps; the budget never removes these probes */                     \
	X(1, confirm) /* shows if the steps found by the marker are right */                       \
	X(2, bulk) /* frequent calls: only counted, and removed first if the budget is exceeded */ \
	X(3, fault)   /* errors, checkpoints, life of processes: rare, never removed */            \
	X(4, measure) /* attached only for a short time, while a figure is measured */

enum gp_group {
#define X(id, name) GP_GROUP_##name = id,
	GP_GROUPS(X)
#undef X
};

/* How to read the return value of a call. */
#define GP_RETURNS(X)                                                                              \
	X(0, unknown)  /* there is none, or it cannot be interpreted */                            \
	X(1, signed)   /* a signed code in the low 32 bits */                                      \
	X(2, unsigned) /* an unsigned code in the low 32 bits */                                   \
	X(3, error)    /* a pointer to an error; NULL: no error */                                 \
	X(4, object)   /* a pointer to a new object; NULL: failure */

enum gp_returns {
#define X(id, name) GP_RETURNS_##name = id,
	GP_RETURNS(X)
#undef X
};

/* Part that has failed, according to an error code. */
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

/* Attributes of causes of loss. DATA: measured data is missing. MARKER: markers of steps may be
 * missing, too. */
#define GP_LOSS_DATA   1
#define GP_LOSS_MARKER 2

#define GP_LOSS_CAUSES(                                                                            \
	X) /* id, name, attributes; ids are on disk: append new rows, never renumber */            \
	X(0, ring_call, GP_LOSS_DATA | GP_LOSS_MARKER) /* the ring of calls was full */            \
	X(1, ring_life, GP_LOSS_DATA)		       /* the ring of process life was full */     \
	X(2, watch_full,                                                                           \
	  GP_LOSS_DATA) /* a child process is not watched, because the table was full */           \
	X(3, slots_full,                                                                           \
	  GP_LOSS_DATA) /* hot calls were counted in slot 0: no other slot was free */             \
	X(4, open_full,                                                                            \
	  GP_LOSS_DATA)	  /* an open call could not be stored: its return has no record */         \
	X(5, unpaired, 0) /* a call returned, or a range ended, without a known begin */           \
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
	  GP_LOSS_DATA |                                                                           \
		  GP_LOSS_MARKER) /* too many open ranges on a thread, or threads with them */     \
	X(12, names_full, 0) /* the table of names was full: a name's own rate was not limited */  \
	X(13, file_limited,                                                                        \
	  0) /* records of possible checkpoint files over a rate limit were not sent */

enum gp_loss_cause {
#define X(id, name, attributes) GP_LOSS_##name = id,
	GP_LOSS_CAUSES(X)
#undef X
		GP_LOSS_CAUSE_COUNT
};

/* Error of a probe: neither gp-bpf nor the user of the process may read the library's
 * file. Like the errors below, it is larger than any errno and stored negated in struct
 * gp_attach. */
#define GP_ERROR_CLOSED 4096
/* Error of a probe that is absent: the library may be linked into the program, but the
 * program lacks the symbol. */
#define GP_ERROR_LINKED 4095

/* Errors of a probe on a function without a symbol, which is searched for by the texts that the
 * function uses: why the function was not found. */
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

/* How the kernel executes the probed instruction, the cheapest way first. In a VM a hit
 * costs 0.2 us (nop5), 0.5 us (emulated) or 16 to 28 us (stepped). */
#define GP_INSNS(X)                                                                                \
	X(0, unknown)                                                                              \
	X(1, nop5)     /* since Linux 6.18 the kernel replaces it by a call: no trap */            \
	X(2, emulated) /* push, nop, jmp and call: a trap, then the kernel emulates it */          \
	X(3, stepped)  /* other instructions: a trap, then a single step of a copy */

enum gp_insn {
#define X(id, name) GP_INSN_##name = id,
	GP_INSNS(X)
#undef X
};

#define GP_ATTACH_STATES(X)                                                                        \
	X(0, absent) /* the library does not have the symbol */                                    \
	X(1, attached)                                                                             \
	X(2, failed)   /* see error */                                                             \
	X(3, refused)  /* not attached: too costly, or not allowed at the return of C++ code */    \
	X(4, detached) /* watched processes do not use the library any more */                     \
	X(5, counted)  /* over the overhead budget: hits are counted, not sent */                  \
	X(6, given_up) /* over the overhead budget: detached for now */                            \
	X(7, idle)     /* detached: a probe of GP_GROUP_measure while nothing is measured */

enum gp_attach_state {
#define X(id, name) GP_ATTACH_##name = id,
	GP_ATTACH_STATES(X)
#undef X
};

#endif
