/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_words.h - the vocabularies of the wire (gp_abi.h): numbers and their names. They are on disk:
 * appended, never renumbered. */
#ifndef GP_WORDS_H
#define GP_WORDS_H

/* What a probe means to the model. A new runtime is a YAML file whose rows use these words. */
#define GP_ROLE_DEVICE 1     /* a process that makes such a call uses a device */
#define GP_ROLES(X)	     /* id, name, attributes */                                            \
	X(0, none, 0)	     /* shown by `check`, not used by the model */                         \
	X(1, range_begin, 0) /* a named span opens on this thread */                               \
	X(2, range_end, 0)   /* the span opened last on this thread closes */                      \
	X(3, backward, 0)    /* a backward pass starts; nested ones have a lower sp */             \
	X(4, reducer, 0)     /* gradients of one synchronised step are reduced */                  \
	X(5, update_op,                                                                            \
	  0)		 /* a multi-tensor optimizer kernel; arg0 identifies the parameter list */ \
	X(6, list_op, 0) /* a multi-tensor op that optimizers use; arg0 likewise, hint only */     \
	X(7, amp_update, 0)   /* the gradient scaler decided: one per attempted step */            \
	X(8, save_begin, 0)   /* a checkpoint writer opened (name: path, when it has one) */       \
	X(9, save_end, 0)     /* ... and finished */                                               \
	X(10, restore, 0)     /* a checkpoint reader opened */                                     \
	X(11, device_init, 0) /* accelerator initialisation */                                     \
	X(12, compile, GP_ROLE_DEVICE)	    /* a program for the device is built or loaded */      \
	X(13, launch, GP_ROLE_DEVICE)	    /* work enters a stream */                             \
	X(14, graph_launch, GP_ROLE_DEVICE) /* a recorded graph of work enters a stream */         \
	X(15, execute, GP_ROLE_DEVICE)	    /* a whole compiled program is run (arg0: which) */    \
	X(16, sync, GP_ROLE_DEVICE)	    /* the host is blocked on the device */                \
	X(17, copy, GP_ROLE_DEVICE)	    /* host-device copy (arg0: bytes, arg1: direction) */  \
	X(18, collective, GP_ROLE_DEVICE) /* a collective is enqueued (arg0 count, arg1 type, arg2 \
					     comm, arg3 peer) */                                   \
	X(19, comm_init, GP_ROLE_DEVICE)  /* a communicator is made (arg0 nranks, arg1 rank) */    \
	X(20, comm_abort, 0)		  /* a communicator is torn down because of an error */    \
	X(21, error, 0)			  /* a call that reports faults; ret says which */         \
	X(22, group_init,                                                                          \
	  0) /* a process group, or the store it meets through, is about to be made */             \
	X(23, group_ready, 0)	/* the group begun last on this thread is whole */                 \
	X(24, compile_begin, 0) /* a program is about to be built on this thread (name; or arg0    \
				its code, arg1 bytes of it) */                                     \
	X(25, compile_end, 0)	/* ... and is whole (arg0: which) */                               \
	X(26, on_ready,                                                                            \
	  0) /* somebody wants to know when arg0, an event, is ready (arg1: its token) */          \
	X(27, completion,                                                                          \
	  0) /* the event behind a token is ready (arg0: 0, or an error; arg1: token) */           \
	X(28, monitor, 0)		/* an event of the job's own monitoring */                 \
	X(29, alloc, GP_ROLE_DEVICE)	/* device memory is allocated (arg0: bytes) */             \
	X(30, copy_in, GP_ROLE_DEVICE)	/* copy from host to device (arg0: bytes; 0: not known) */ \
	X(31, copy_out, GP_ROLE_DEVICE) /* copy from device to host (arg0: bytes; 0: not known) */ \
	X(32, capture, GP_ROLE_DEVICE)	/* work is recorded from here on, or no more, instead of   \
					   run (arg0: stream) */                                   \
	X(33, suspend, 0)    /* another process's device state is taken away (arg0: pid) */        \
	X(34, resume, 0)     /* ... and is back (arg0: pid) */                                     \
	X(35, comm_end, 0)   /* a communicator is destroyed in order (arg0) */                     \
	X(36, comm_error, 0) /* a communicator failed (arg0: which; arg1: the error) */            \
	X(37, table, 0) /* returns a table of functions: of use to the loader, not to the model */ \
	X(38, program_end,                                                                         \
	  0) /* a program (arg0) is destroyed: its number may be another's from here on */         \
	X(39, buffer_in, 0) /* copy from host into a buffer (arg0) that is made for it */          \
	X(40, cached,                                                                              \
	  0) /* a program comes from a cache of compiled ones (arg0: which; arg1: bytes); of a     \
	call's entry: is about to, on this thread (arg0 its code; arg1) or its name */             \
	X(41, param_op,                                                                            \
	  0) /* an operation that optimizers update a parameter (arg0) with; others may */         \
	X(42, optimizer_new, 0) /* an optimizer is made */                                         \
	X(43, grad_on, 0)	/* gradients are recorded again on this thread (arg0: not 0) */    \
	X(44, save_call,                                                                           \
	  0) /* a function that saves a checkpoint is called (name; its last part begins           \
	     with save, or with async_save where it returns before the files are whole) */

enum gp_role {
#define X(id, name, attributes) GP_ROLE_##name = id,
	GP_ROLES(X)
#undef X
};

#define GP_GROUPS(X)                                                                               \
	X(0, marker)  /* finds steps; the last thing to be given up */                             \
	X(1, confirm) /* agrees or disagrees with the marker */                                    \
	X(2, bulk)    /* hot; counted, first to be given up */                                     \
	X(3, fault)   /* errors, checkpoints, life cycle: rare, kept on */

enum gp_group {
#define X(id, name) GP_GROUP_##name = id,
	GP_GROUPS(X)
#undef X
};

/* What a call's return says. */
#define GP_RETURNS(X)                                                                              \
	X(0, unknown)  /* nothing, or nothing that can be read */                                  \
	X(1, signed)   /* a code: its low 32 bits */                                               \
	X(2, unsigned) /* likewise */                                                              \
	X(3, error)    /* a pointer to an error, NULL: there is none */                            \
	X(4, object)   /* a pointer to what was made, NULL: it was not */

enum gp_returns {
#define X(id, name) GP_RETURNS_##name = id,
	GP_RETURNS(X)
#undef X
};

/* What an error code says is wrong. */
#define GP_FAULTS(X)                                                                               \
	X(0, device)	   /* the device, or its driver */                                         \
	X(1, communicator) /* what ranks reach each other through */                               \
	X(2, memory)	   /* of the device */

enum gp_fault_kind {
#define X(id, name) GP_FAULT_##name = id,
	GP_FAULTS(X)
#undef X
		GP_FAULT_COUNT
};

/* Attributes of causes: whether something that was measured is missing; whether that may be a
 * marker of a step. */
#define GP_LOSS_DATA   1
#define GP_LOSS_MARKER 2

#define GP_LOSS_CAUSES(X) /* id, name, attributes: append, never renumber */                       \
	X(0, ring_call, GP_LOSS_DATA | GP_LOSS_MARKER) /* no room in the ring of calls */          \
	X(1, ring_life, GP_LOSS_DATA)		       /* no room in the ring of process life */   \
	X(2, watch_full, GP_LOSS_DATA)		       /* a child could not be watched */          \
	X(3, slots_full, GP_LOSS_DATA) /* hot calls of a process counted into the shared slot */   \
	X(4, open_full, GP_LOSS_DATA)  /* an entry could not be remembered until its return */     \
	X(5, unpaired, 0)	       /* a return or range end whose start was not seen */        \
	X(6, read_fault,                                                                           \
	  GP_LOSS_DATA | GP_LOSS_MARKER) /* a string or word of the process could not be read */   \
	X(7, rate_limited,                                                                         \
	  0) /* names that users choose, signals, kernel log, over their bound: not told */        \
	X(8, late,                                                                                 \
	  GP_LOSS_DATA | GP_LOSS_MARKER) /* came after its place in the order was passed */        \
	X(9, malformed,                                                                            \
	  GP_LOSS_DATA | GP_LOSS_MARKER)	   /* a record of wrong length or unknown kind */  \
	X(10, tape, GP_LOSS_DATA | GP_LOSS_MARKER) /* the tape could not be written */             \
	X(11, stack_full, GP_LOSS_DATA | GP_LOSS_MARKER) /* no room to follow a thread's ranges */ \
	X(12, names_full, 0)   /* no room to bound a name of its own: its row's bound holds */     \
	X(13, file_limited, 0) /* files that may be checkpoints, over their bound: not sent */

enum gp_loss_cause {
#define X(id, name, attributes) GP_LOSS_##name = id,
	GP_LOSS_CAUSES(X)
#undef X
		GP_LOSS_CAUSE_COUNT
};

/* Error of a probe (struct gp_attach), negated and behind the last errno: neither gp-bpf nor the
 * user of the process that maps the library may read its file. */
#define GP_ERROR_CLOSED 4096
/* ... of one that is absent: its library may be linked into the program, and its symbol is not
 * there. */
#define GP_ERROR_LINKED 4095

/* Why a runtime's table of functions is of no use: minus the number is the error of a probe (struct
 * gp_attach), which is behind the last errno. */
#define GP_TABLE_ERRORS(X)                                                                               \
	X(4097, unseen,                                                                                  \
	  "its table of functions is not in the file as symbols or (of x86-64 only) as code; a process " \
	  "that uses it shows it")                                                                       \
	X(4098, garbage,                                                                                 \
	  "its table of functions is not usable: what it holds are no functions of this library")        \
	X(4099, size, "its table of functions is not usable: its size is not that of its version")       \
	X(4100, breach,                                                                                  \
	  "its table of functions is not usable: version 0.56 has its functions elsewhere")              \
	X(4101, old, "its table of functions is not usable: older than version 0.28")                    \
	X(4102, major, "its table of functions is not usable: its major version is not 0")               \
	X(4103, changed, "its table of functions is not usable: it changes while it is read")            \
	X(4104, two, "its table of functions is not usable: there is more than one")                     \
	X(4105, strange,                                                                                 \
	  "its table of functions is not usable: no function of the library begins there")               \
	X(4106, slow, "its table of functions is not found: the file is read too slowly")                \
	X(4107, nameless, "a process shows it, but the function there does not name itself so")

enum gp_table_error {
#define X(id, name, text) GP_TABLE_##name = id,
	GP_TABLE_ERRORS(X)
#undef X
};

/* How the kernel runs the probed instruction, cheapest first (measured: 0.2, 0.5, 16-28 us in a
 * VM). */
#define GP_INSNS(X)                                                                                \
	X(0, unknown)                                                                              \
	X(1, nop5)     /* rewritten into a call since kernel 6.18: no trap */                      \
	X(2, emulated) /* push, nop, jmp, call: trap, then emulated */                             \
	X(3, stepped)  /* anything else: single-stepped out of line */

enum gp_insn {
#define X(id, name) GP_INSN_##name = id,
	GP_INSNS(X)
#undef X
};

#define GP_ATTACH_STATES(X)                                                                        \
	X(0, absent) /* the library has no such symbol */                                          \
	X(1, attached)                                                                             \
	X(2, failed)   /* error says why */                                                        \
	X(3, refused)  /* a rule of ours forbids it (price, C++ return probe) */                   \
	X(4, detached) /* its last user is gone */                                                 \
	X(5, counted)  /* over the budget of overhead: hits are counted, not sent */               \
	X(6, given_up) /* over the budget: detached, for now */

enum gp_attach_state {
#define X(id, name) GP_ATTACH_##name = id,
	GP_ATTACH_STATES(X)
#undef X
};

#endif
