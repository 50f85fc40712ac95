/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_words.h - the vocabularies of the wire (gp_abi.h): numbers and their names. They are on disk:
 * appended, never renumbered. */
#ifndef GP_WORDS_H
#define GP_WORDS_H

/* What a probe means to the model. A new runtime is a YAML file whose rows use these words. */
#define GP_ROLES(X)	  /* id, name */                                                           \
	X(0, none)	  /* shown by `check`, not used by the model */                            \
	X(1, range_begin) /* a named span opens on this thread */                                  \
	X(2, range_end)	  /* the span opened last on this thread closes */                         \
	X(3, backward)	  /* a backward pass starts; nested ones have a lower sp */                \
	X(4, reducer)	  /* gradients of one synchronised step are reduced */                     \
	X(5, update_op)	 /* a multi-tensor optimizer kernel; arg0 identifies the parameter list */ \
	X(6, list_op)	 /* a multi-tensor op that optimizers use; arg0 likewise, hint only */     \
	X(7, amp_update) /* the gradient scaler decided: one per attempted step */                 \
	X(8, save_begin) /* a checkpoint writer opened (name: path, when it has one) */            \
	X(9, save_end)	 /* ... and finished */                                                    \
	X(10, restore)	 /* a checkpoint reader opened */                                          \
	X(11, device_init)  /* accelerator initialisation */                                       \
	X(12, compile)	    /* a program for the device is built or loaded */                      \
	X(13, launch)	    /* work enters a stream */                                             \
	X(14, graph_launch) /* a recorded graph of work enters a stream */                         \
	X(15, execute)	    /* a whole compiled program is run (arg0: which) */                    \
	X(16, sync)	    /* the host is blocked on the device */                                \
	X(17, copy)	    /* host-device copy (arg0: bytes, arg1: direction) */                  \
	X(18,                                                                                      \
	  collective) /* a collective is enqueued (arg0 count, arg1 type, arg2 comm, arg3 peer) */ \
	X(19, comm_init)  /* a communicator is made (arg0 nranks, arg1 rank) */                    \
	X(20, comm_abort) /* a communicator is torn down because of an error */                    \
	X(21, error)	  /* a call that reports faults; ret says which */                         \
	X(22,                                                                                      \
	  group_init) /* a process group, or the store it meets through, is about to be made */    \
	X(23, group_ready)   /* the group begun last on this thread is whole */                    \
	X(24, compile_begin) /* a program is about to be built on this thread (name; or arg0 its   \
				code, arg1 bytes of it) */                                         \
	X(25, compile_end)   /* ... and is whole (arg0: which) */                                  \
	X(26,                                                                                      \
	  on_ready) /* somebody wants to know when arg0, an event, is ready (arg1: its token) */   \
	X(27,                                                                                      \
	  completion)  /* the event behind a token is ready (arg0: 0, or an error; arg1: token) */ \
	X(28, monitor) /* an event of the job's own monitoring */                                  \
	X(29, alloc)   /* device memory is allocated (arg0: bytes) */                              \
	X(30, copy_in) /* copy from host to device (arg0: bytes; 0: not known) */                  \
	X(31, copy_out) /* copy from device to host (arg0: bytes; 0: not known) */                 \
	X(32,                                                                                      \
	  capture) /* work is recorded from here on, or no more, instead of run (arg0: stream) */  \
	X(33, suspend)	  /* another process's device state is taken away (arg0: pid) */           \
	X(34, resume)	  /* ... and is back (arg0: pid) */                                        \
	X(35, comm_end)	  /* a communicator is destroyed in order (arg0) */                        \
	X(36, comm_error) /* a communicator failed (arg0: which; arg1: the error) */               \
	X(37, table) /* returns a table of functions: of use to the loader, not to the model */    \
	X(38, program_end) /* a program (arg0) is destroyed: its number may be another's from here \
			      on */                                                                \
	X(39, buffer_in)   /* copy from host into a buffer (arg0) that is made for it */           \
	X(40, cached) /* a program comes from a cache of compiled ones (arg0: which; arg1: bytes); \
			 of a call's entry: is about to, on this thread (arg0 its code; arg1) or   \
			 its name */

enum gp_role {
#define X(id, name) GP_ROLE_##name = id,
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

#define GP_LOSS_CAUSES(X)                                                                          \
	X(0, ring_call)	 /* no room in the ring of calls */                                        \
	X(1, ring_life)	 /* no room in the ring of process life */                                 \
	X(2, watch_full) /* a child could not be watched */                                        \
	X(3, slots_full) /* hot calls of a process counted into the shared slot */                 \
	X(4, open_full)	 /* an entry could not be remembered until its return */                   \
	X(5, unpaired)	 /* a return or range end whose start was not seen; not a loss of data */  \
	X(6, read_fault) /* a string or word of the process could not be read */                   \
	X(7, rate_limited)  /* names that users choose, signals, kernel log, over their bound: not \
			       told */                                                             \
	X(8, late)	    /* came after its place in the order was passed */                     \
	X(9, malformed)	    /* a record of wrong length or unknown kind */                         \
	X(10, tape)	    /* the tape could not be written */                                    \
	X(11, stack_full)   /* no room to follow a thread's ranges */                              \
	X(12, names_full)   /* no room to bound a name of its own: its row's bound holds */        \
	X(13, file_limited) /* files that may be checkpoints, over their bound: not sent */

enum gp_loss_cause {
#define X(id, name) GP_LOSS_##name = id,
	GP_LOSS_CAUSES(X)
#undef X
		GP_LOSS_CAUSE_COUNT
};

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
