/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_words.h - the vocabularies of the wire (gp_abi.h): numbers and their names. They are on disk: appended,
 * never renumbered. */
#ifndef GP_WORDS_H
#define GP_WORDS_H

/* What a probe means to the model. A new runtime is a YAML file whose rows use these words. */
#define GP_ROLES(X)	    /* id, name */                                                                   \
	X(0, none)	    /* shown by `check`, not used by the model */                                    \
	X(1, range_begin)   /* a named span opens on this thread */                                          \
	X(2, range_end)	    /* the span opened last on this thread closes */                                 \
	X(3, backward)	    /* a backward pass starts; nested ones have a lower sp */                        \
	X(4, reducer)	    /* gradients of one synchronised step are reduced */                             \
	X(5, update_op)	    /* a multi-tensor optimizer kernel; arg0 identifies the parameter list */        \
	X(6, list_op)	    /* a multi-tensor op that optimizers use; arg0 likewise, hint only */            \
	X(7, amp_update)    /* the gradient scaler decided: one per attempted step */                        \
	X(8, save_begin)    /* a checkpoint writer opened (name: path, when it has one) */                   \
	X(9, save_end)	    /* ... and finished */                                                           \
	X(10, restore)	    /* a checkpoint reader opened */                                                 \
	X(11, device_init)  /* accelerator initialisation */                                                 \
	X(12, compile)	    /* a program for the device is built or loaded */                                \
	X(13, launch)	    /* work enters a stream */                                                       \
	X(14, graph_launch) /* a recorded graph of work enters a stream */                                   \
	X(15, execute)	    /* a whole compiled program is run (arg0: which) */                              \
	X(16, sync)	    /* the host is blocked on the device */                                          \
	X(17, copy)	    /* host-device copy (arg0: bytes, arg1: direction) */                            \
	X(18, collective)   /* a collective is enqueued (arg0 count, arg1 type, arg2 comm) */                \
	X(19, comm_init)    /* a communicator is made (arg0 nranks, arg1 rank) */                            \
	X(20, comm_abort)   /* a communicator is torn down because of an error */                            \
	X(21, error)	    /* a call that reports faults; ret says which */                                 \
	X(22, group_init)   /* a process group, or the store it meets through, is about to be made */        \
	X(23, group_ready)  /* the group begun last on this thread is whole */

enum gp_role {
#define X(id, name) GP_ROLE_##name = id,
	GP_ROLES(X)
#undef X
};

#define GP_GROUPS(X)                                                                                         \
	X(0, marker)  /* finds steps; the last thing to be given up */                                       \
	X(1, confirm) /* agrees or disagrees with the marker */                                              \
	X(2, bulk)    /* hot; counted, first to be given up */                                               \
	X(3, fault)   /* errors, checkpoints, life cycle: rare, kept on */

enum gp_group {
#define X(id, name) GP_GROUP_##name = id,
	GP_GROUPS(X)
#undef X
};

#define GP_LOSS_CAUSES(X)                                                                                    \
	X(0, ring_call)	    /* no room in the ring of calls */                                               \
	X(1, ring_life)	    /* no room in the ring of process life */                                        \
	X(2, watch_full)    /* a child could not be watched */                                               \
	X(3, slots_full)    /* hot calls of a process counted into the shared slot */                        \
	X(4, open_full)	    /* an entry could not be remembered until its return */                          \
	X(5, unpaired)	    /* a return or range end whose start was not seen; not a loss of data */         \
	X(6, read_fault)    /* a string or word of the process could not be read */                          \
	X(7, rate_limited)  /* names that users choose, and signals, over their bound: not sent */           \
	X(8, late)	    /* came after its place in the order was passed */                               \
	X(9, malformed)	    /* a record of wrong length or unknown kind */                                   \
	X(10, tape)	    /* the tape could not be written */                                              \
	X(11, stack_full)   /* no room to follow a thread's ranges */                                        \
	X(12, names_full)   /* no room to bound a name of its own: its row's bound holds */                  \
	X(13, file_limited) /* files that may be checkpoints, over their bound: not sent */

enum gp_loss_cause {
#define X(id, name) GP_LOSS_##name = id,
	GP_LOSS_CAUSES(X)
#undef X
		GP_LOSS_CAUSE_COUNT
};

/* How the kernel runs the probed instruction, cheapest first (measured: 0.2, 0.5, 16-28 us in a VM). */
#define GP_INSNS(X)                                                                                          \
	X(0, unknown)                                                                                        \
	X(1, nop5)     /* rewritten into a call since kernel 6.18: no trap */                                \
	X(2, emulated) /* push, nop, jmp, call: trap, then emulated */                                       \
	X(3, stepped)  /* anything else: single-stepped out of line */

enum gp_insn {
#define X(id, name) GP_INSN_##name = id,
	GP_INSNS(X)
#undef X
};

#define GP_ATTACH_STATES(X)                                                                                  \
	X(0, absent) /* the library has no such symbol */                                                    \
	X(1, attached)                                                                                       \
	X(2, failed)   /* error says why */                                                                  \
	X(3, refused)  /* a rule of ours forbids it (price, C++ return probe) */                             \
	X(4, detached) /* its last user is gone */                                                           \
	X(5, counted)  /* over the budget of overhead: hits are counted, not sent */                         \
	X(6, given_up) /* over the budget: detached, for now */

enum gp_attach_state {
#define X(id, name) GP_ATTACH_##name = id,
	GP_ATTACH_STATES(X)
#undef X
};

#endif
