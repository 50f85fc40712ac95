/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_abi.h - the records that the kernel side and user space write: what is on the tape. The other
 * wire, what user space tells the programs, is in gp_row.h, which comes with this one.
 *
 * Every record starts with struct gp_rec and is exactly sizeof(gp_rec) + sizeof(payload) long.
 * Kinds 1-63 are written by BPF programs into a ring, kinds 64-127 by user space straight onto the
 * tape; a reader of the tape cannot tell (and must not care) which side made a fact.
 *
 * Shared by clang -target bpf, gcc and clang: fixed-width types only, no implicit padding, natural
 * alignment 8. Kinds, roles and causes are appended, never renumbered: they are on disk. */
#ifndef GP_ABI_H
#define GP_ABI_H

#include <linux/types.h>

#include "bpf/gp_words.h"

#define GP_ABI_VERSION 4

#define GP_NAME_MAX 72	/* bytes of a range's name kept, terminator included */
#define GP_JOB_MAX  256 /* bytes of a job's name, terminator included: userspace/base/job_name.h */
#define GP_PATH_MAX 192 /* bytes of a path kept, terminator included */
#define GP_OKS	    4	/* ranges of codes that a call returns when it succeeds */
#define GP_COMM_MAX 16	/* TASK_COMM_LEN, include/linux/sched.h */
#define GP_ROWS_MAX 512 /* rows of all probe files together */
#define GP_HOT_ROWS 32	/* rows that are counted, not sent */
#define GP_SLOTS                                                                                   \
	512 /* processes whose hot calls are counted at once; slot 0 is shared by the rest */
#define GP_SLOT_NONE   0xffffffffu
#define GP_ARGS	       6    /* captured scalars of one call */
#define GP_DEREFS_MAX  3    /* pointers that one capture follows: the programs unroll them */
#define GP_UNLESS      4    /* values of a call that are not told */
#define GP_MONITOR_MAX 16   /* entries of one monitor event that are told */
#define GP_KEEP	       8    /* name prefixes of one row that are exempt from its rate bound */
#define GP_CARRY_MAX   1216 /* bytes of what goes with a job from node to node */
#define GP_RANGE_DEPTH 64   /* nesting of ranges on one thread that can be told apart */

#define GP_TIME_END_NS (1ull << 62) /* no machine is up for 146 years: such a time is a lie */

/* Header of every record. */
struct gp_rec {
	__u64 ts_ns; /* CLOCK_MONOTONIC when emitted; a call's length stands beside it */
	__u32 pid;   /* process (tgid) in the initial pid namespace; 0: the record is about no
		      * process */
	__u32 tid;   /* thread in the initial pid namespace; 0 in records of user space */
	__u16 len;   /* header + payload, bytes */
	__u16 kind;  /* enum gp_kind */
	__u32 probe; /* gp_probe_hash() of the probe's stable id; 0: no probe */
};

/* ---- what the kernel side writes (ring "call") ----------------------------------------------- */

/* A probed function was entered. sp tells nesting of calls on one thread (a deeper frame is
 * lower). */
struct gp_hit {
	__u64 sp; /* of role on_ready or execute: the third captured value, if there is one */
	__u64 arg[2];
};

/* A named range opened on this thread. depth: ranges already open on the thread (sent or not), so a
 * range_end pairs with the range_begin of the same (tid, depth) even when records were lost. */
struct gp_range_begin {
	__u16 depth;
	__u16 flags; /* GP_RANGE_* */
	__u32 reserved;
	char name[GP_NAME_MAX]; /* NUL-terminated, bytes as the process had them: hostile */
};
#define GP_RANGE_ANONYMOUS 1 /* this runtime announces ranges but not their names */

struct gp_range_end {
	__u16 depth; /* that of its range_begin */
	__u16 flags;
	__u32 reserved;
};

/* A probed function was entered and one of its arguments is a string (a path, as a rule). */
struct gp_named {
	__u64 arg[2];
	char name[GP_PATH_MAX]; /* NUL-terminated, hostile */
};

/* A probed C function returned; ts_ns is the return, ts_ns - dur_ns the entry. */
struct gp_call {
	__u64 dur_ns;
	__s64 ret; /* the return register as it was: sign-extend by the callee's type */
	__u64 arg[GP_ARGS];
};

/* One entry of an event of the job's own monitoring; an event is as many records as it has entries
 * (one with type GP_MONITOR_NONE when it has none), one behind the other on its thread. All of it
 * is hostile. */
struct gp_monitor {
	__s64 wall_ns; /* as the job has it, since 1970; 0: none */
	__u16 index;   /* 0, 1, 2... */
	__u16 count;   /* entries of the event, those not told included */
	__u8 type;     /* GP_MONITOR_* */
	__u8 reserved[11];
	__u64 value; /* the bits of it, of a text 0 */
	char event[48];
	char key[64];
	char text[64]; /* of a text */
};
#define GP_MONITOR_NONE	  0
#define GP_MONITOR_TEXT	  1
#define GP_MONITOR_DOUBLE 2
#define GP_MONITOR_INT	  3
#define GP_MONITOR_BOOL	  4

/* ---- what the kernel side writes (ring "life") ----------------------------------------------- */

struct gp_fork {	/* pid: the parent; written before the child runs */
	__u64 start_ns; /* child's start_boottime */
	__u32 child;
	__u32 slot; /* child's slot of hot counters */
};

struct gp_exec { /* pid: the process, whose identity goes on */
	__u64 start_ns;
	char comm[GP_COMM_MAX];
};

struct gp_exit { /* once per process, when its last thread is gone */
	__u64 start_ns;
	__s32 status; /* as wait(2) reports it */
	__u32 slot;   /* may be reused once this record was read */
};

struct gp_signal { /* a signal whose default action is fatal was sent to a watched process (pid) */
	__u32 signal;
	__u32 sender;		/* tgid that sent it; 0: the kernel */
	char comm[GP_COMM_MAX]; /* of the sender */
	__s32 code;		/* si_code; 0 when unknown */
	__u32 reserved;
};

struct gp_oom { /* pid was chosen by the OOM killer */
	__u64 reserved;
};

struct gp_map { /* pid is about to map a file executable: look for libraries a moment later */
	__u64 reserved;
};

/* A file that may be a checkpoint: of such a name, large, or one that a watched process wrote
 * before. Regular files only; of bytes, mtime_ns and path each is as the kernel had it when the
 * record was made. */
struct gp_file {
	__u64 dev, ino;		/* as the kernel numbers them: dev is major << 20 | minor */
	__u64 bytes;		/* size of the file */
	__u64 mtime_ns;		/* since 1970 */
	__u64 since_ns;		/* it was opened; of one that was emptied so, was to be */
	__u64 born_ns;		/* the thread began that the record is of */
	__u32 generation;	/* tells a reused inode number from the file it named before */
	__u16 op;		/* enum gp_file_op */
	__u16 flags;		/* GP_FILE_* */
	char path[GP_PATH_MAX]; /* its last parts; from "/" on: the root of its mount. Hostile */
};
enum gp_file_op {
	GP_FILE_OPENED = 1, /* to be read */
	GP_FILE_READ = 2,   /* ... and closed */
	GP_FILE_WRITTEN = 3 /* it was open for writing, and close(2) has returned */
};
#define GP_FILE_NAMED 1 /* its name is one that checkpoints have */
#define GP_FILE_KNOWN 2 /* a watched process wrote it while we watched */

/* A watched process renamed something: names as it gave them, hostile, perhaps relative. */
struct gp_renamed {
	char from[GP_PATH_MAX], to[GP_PATH_MAX];
};

/* A process that nobody watches is about to map a file executable whose name begins as a library of
 * ours does: pid (the node service). */
struct gp_unwatched {
	__u64 start_ns; /* CLOCK_BOOTTIME start of the process */
};

/* ---- what user space appends to the tape ----------------------------------------------------- */

struct gp_session {  /* first record of every tape; ts_ns: when gp-bpf started to watch */
	__u32 abi;   /* GP_ABI_VERSION of the writer */
	__u32 flags; /* GP_SESSION_* */
	char boot_id[40];
	char version[24];  /* of gp-bpf */
	char kernel[64];   /* uname release and machine */
	char command[256]; /* what the user asked for */
};
#define GP_SESSION_RUN 1 /* the watched processes were started by us */

struct gp_probe {    /* what a probe hash means; precedes the probe's first record */
	__u16 role;  /* enum gp_role */
	__u16 group; /* enum gp_group */
	__u32 flags; /* GP_PROBE_* */
	char id[48];
	char runtime[16];
	__u8 returns; /* enum gp_returns */
	__u8 noks;
	__u8 reserved[6];
	__s64 ok[GP_OKS][2]; /* of codes: those that are no failure, both ends included; none: 0 */
};
#define GP_PROBE_COUNTED    1 /* arrives as gp_counter */
#define GP_PROBE_RETURNS    2 /* arrives as gp_call */
#define GP_PROBE_UNVERIFIED 4 /* row never seen working on the real library */
#define GP_PROBE_ANON_RANGE 8 /* ranges of this probe carry no name */

struct gp_tick { /* once a second: silence counts too */
	__u64 reserved;
};

struct gp_drain { /* every record stamped before upto_ns and not lost is on the tape before this
		   * one */
	__u64 upto_ns;
};

struct gp_loss {     /* pid 0: cannot be told whose */
	__u32 cause; /* enum gp_loss_cause */
	__u32 reserved;
	__u64 count; /* since the last such record */
	__u64 total; /* what the kernel side had counted by then; 0: user space noticed it */
};

struct gp_counter { /* pid called probe this often since the last such record */
	__u64 count;
	__u64 total; /* what the slot's counter stood at: where a successor goes on */
	__u32 slot;  /* GP_SLOT_NONE: hits that were not sent, and total is of those */
	__u32 row;   /* of hits that were not sent */
};

struct gp_process {	/* identity: what is known of a process that is now watched */
	__u64 start_ns; /* CLOCK_BOOTTIME start, key of the process together with pid and boot id */
	__u64 start_mono_ns; /* the same instant on CLOCK_MONOTONIC, as well as can be told */
	__u32 parent;
	__u32 flags;		/* GP_PROCESS_* */
	__s32 rank, world_size; /* -1: unknown */
	__s32 local_rank;
	__u32 reserved;
	char comm[GP_COMM_MAX];
	char job[GP_JOB_MAX];
	char command[160]; /* argv joined by spaces, cut, control bytes replaced */
};
#define GP_PROCESS_FROM_START                                                                      \
	1		    /* watched since before its first instruction (or its parent was)      \
			     */
#define GP_PROCESS_TARGET 2 /* named by the user, not found by descent */

struct gp_clock {	    /* wall clock at ts_ns; also after a step of the clock or a suspend */
	__s64 real_ns;	    /* since 1970, UTC */
	__u64 suspended_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
};

struct gp_attach { /* state of one probe in one library (kernel inode) */
	__u64 dev, ino;
	__u64 offset;	/* in the file, where the probe sits */
	__u32 price_ns; /* of one hit, measured on this host at start; 0: not measured */
	__s32 error;	/* 0, -errno, or minus an enum gp_table_error */
	__u8 insn;	/* enum gp_insn */
	__u8 state;	/* enum gp_attach_state */
	__u16 reserved[3];
	char library[96]; /* base name; hostile */
};

struct gp_config { /* a setting that changes what the model computes, as key=value */
	char text[192];
};

struct gp_gap { /* nobody watched from from_ns until ts_ns: what happened then is not known */
	__u64 from_ns;
	__u32 cause; /* enum gp_gap_cause */
	__u32 reserved;
};

/* A thread that does not get on. Told again every second while it lasts. */
struct gp_blocked {
	__u64 since_ns; /* the call was entered; or when the thread was first seen not to move */
	__u64 arg[2];	/* of the call */
	__s32 syscall;	/* number of the system call it is in; -1: none or unknown */
	__u16 source;	/* enum gp_blocked_source */
	char state;	/* as /proc/PID/stat says: R S D T t Z; 0: unknown */
	__u8 why;	/* enum gp_why; a call's is its role's business: 0 */
	char wchan[32]; /* kernel function it sleeps in; empty: unknown */
	char where[96]; /* file, peer or library that explains it, as far as known; hostile */
};
/* Why a thread does not get on, as far as can be told; words of labels. */
#define GP_WHYS(X)                                                                                 \
	X(0, unknown)                                                                              \
	X(1, stopped)	 /* by a signal, or held by a debugger */                                  \
	X(2, collective) /* for other ranks: concluded by the model, never recorded */             \
	X(3, input)	 /* reads a file, a pipe, a FIFO */                                        \
	X(4, device)	 /* in the accelerator's driver */                                         \
	X(5, io)	 /* uninterruptible, or it writes */                                       \
	X(6, lock)	 /* a futex, or a lock on a file: another thread or process */             \
	X(7, network)	 /* a socket */                                                            \
	X(8, child)	 /* waits for a process of its own to end */                               \
	X(9, sleep)	 /* asked to be woken later */                                             \
	X(10, idle)	 /* waits for events of any kind, or for a person at a terminal */         \
	X(11, busy)	 /* runs, but no step ends */

enum gp_why {
#define X(id, name) GP_WHY_##name = id,
	GP_WHYS(X)
#undef X
		GP_WHY_COUNT
};
#define GP_BLOCKED_CALL 1 /* probe names the call, which was entered and has not returned */
#define GP_BLOCKED_SCAN 2 /* seen by looking at /proc */

/* What another node knew of a job, as it was read: text, hostile (userspace/model/job/carry.h).
 * Before the job begins another run here. */
struct gp_carry {
	__u32 len; /* of the text, which has no terminator */
	__u32 reserved;
	char text[GP_CARRY_MAX];
};

/* What the code of a program that a process compiles says of itself, read from the process's
 * memory: pid and tid are those of the record that told of it. */
struct gp_program {
	__u64 code;	/* where it lay: joins it to that record */
	__u64 bytes;	/* of it */
	char name[128]; /* "jit_train_step"; "" when it could not be read; hostile */
	__u32 flags;	/* GP_PROGRAM_* */
	__u32 reserved;
};
#define GP_PROGRAM_READ	    1 /* the names of its operations were read, all of them */
#define GP_PROGRAM_GRADIENT 2 /* ... and it computes a gradient */
#define GP_PROGRAM_LOADED                                                                          \
	4 /* read when it ran: code is what the probe, which runs it, calls it                     \
	   */

/* What a code is called that calls of this runtime return: told before the first of them. */
struct gp_code {
	__s64 code;
	__u8 kind; /* enum gp_fault_kind */
	__u8 reserved[7];
	char runtime[16];
	char name[48];
};

/* The kernel's log speaks of a device; pid: of the process that it names, or 0. */
struct gp_fault {
	__s64 code;	 /* number of the fault, as the driver counts (NVRM: Xid); -1: none */
	char driver[16]; /* "NVRM" */
	char device[32]; /* "PCI:0000:3b:00"; "" when it is not told */
	char text[176];	 /* of the line, cut */
};

/* Where a watched process runs, and what whoever runs it calls its job
 * (userspace/identity/place.h). After its gp_process; a later one takes its place. Instants are UTC
 * since 1970, 0: unknown; numbers -1: unknown; text is escaped and cut, "": unknown. What names the
 * job here outranks gp_process.job. */
struct gp_place {
	__u8 job_from;	    /* enum gp_job_from */
	__u8 container;	    /* enum gp_container */
	__u8 later;	    /* rank is unknown, but it is not 0 */
	__u8 local_attempt; /* attempt counts restarts of its group of local workers, not of the
			     * job */
	__s32 attempt;	    /* at the job, as who restarts it counts: 0, 1... */
	__s32 rank, world_size;
	__s64 created_ns, scheduled_ns, started_ns; /* the pod; bound to its node; its container */
	char job[GP_JOB_MAX], job_uid[40];
	char namespace[64], pod[128], pod_uid[40];
	char container_name[64], container_id[16]; /* of the id the beginning */
	char node[64];
	char owner[24]; /* "JobSet", "Job", "RayJob", "PyTorchJob"... */
};
#define GP_JOB_FROM(X) /* who names the job, the most trusted first */                             \
	X(0, none)                                                                                 \
	X(1, option)                                                                               \
	X(2, jobset)                                                                               \
	X(3, controller) /* a Job, or what stands above it: RayJob, PyTorchJob... */               \
	X(4, slurm)                                                                                \
	X(5, torchelastic)                                                                         \
	X(6, pod)                                                                                  \
	X(7, cgroup) /* a container or a service */

enum gp_job_from {
#define X(id, name) GP_JOB_FROM_##name = id,
	GP_JOB_FROM(X)
#undef X
		GP_JOB_FROM_COUNT
};
#define GP_CONTAINERS(X)                                                                           \
	X(0, none)                                                                                 \
	X(1, containerd)                                                                           \
	X(2, crio)                                                                                 \
	X(3, docker)                                                                               \
	X(4, podman)                                                                               \
	X(5, unknown) /* a container of some kind */

enum gp_container {
#define X(id, name) GP_CONTAINER_##name = id,
	GP_CONTAINERS(X)
#undef X
		GP_CONTAINER_COUNT
};

/* An event of a pod of this node, or of the node, that may end its processes: it may become the
 * cause of a disruption. */
struct gp_notice {
	__s64 at_ns; /* UTC, as it was told; 0: not told */
	__u8 what;   /* enum gp_notice_kind */
	__u8 over;   /* it is no more */
	__u8 reserved[6];
	char pod_uid[40]; /* "": the node */
	char text[160];	  /* as the source says it; hostile */
};
#define GP_NOTICES(X)                                                                              \
	X(1, evicted)                                                                              \
	X(2, preempted)                                                                            \
	X(3, maintenance)                                                                          \
	X(4, deleted) /* a pod, by whoever may */                                                  \
	X(5, oom)     /* a container, as its runtime says */                                       \
	X(6, node)    /* its condition, or a taint */

enum gp_notice_kind {
#define X(id, name) GP_NOTICE_##name = id,
	GP_NOTICES(X)
#undef X
		GP_NOTICE_COUNT
};

struct gp_end {	      /* last record of a tape that was closed in order */
	__u32 reason; /* enum gp_end_reason */
	__s32 status; /* of CMD, as wait(2) reports it, or -1 */
};

#define GP_KINDS(X) /* id, name, payload: append, never renumber */                                \
	X(1, hit, struct gp_hit)                                                                   \
	X(2, range_begin, struct gp_range_begin)                                                   \
	X(3, range_end, struct gp_range_end)                                                       \
	X(4, named, struct gp_named)                                                               \
	X(5, call, struct gp_call)                                                                 \
	X(6, monitor, struct gp_monitor)                                                           \
	X(16, fork, struct gp_fork)                                                                \
	X(17, exec, struct gp_exec)                                                                \
	X(18, exit, struct gp_exit)                                                                \
	X(19, signal, struct gp_signal)                                                            \
	X(20, oom, struct gp_oom)                                                                  \
	X(21, map, struct gp_map)                                                                  \
	X(22, file, struct gp_file)                                                                \
	X(23, renamed, struct gp_renamed)                                                          \
	X(24, unwatched, struct gp_unwatched)                                                      \
	X(64, session, struct gp_session)                                                          \
	X(65, probe, struct gp_probe)                                                              \
	X(66, tick, struct gp_tick)                                                                \
	X(67, drain, struct gp_drain)                                                              \
	X(68, loss, struct gp_loss)                                                                \
	X(69, counter, struct gp_counter)                                                          \
	X(70, process, struct gp_process)                                                          \
	X(71, clock, struct gp_clock)                                                              \
	X(72, attach, struct gp_attach)                                                            \
	X(73, config, struct gp_config)                                                            \
	X(74, end, struct gp_end)                                                                  \
	X(75, gap, struct gp_gap)                                                                  \
	X(76, blocked, struct gp_blocked)                                                          \
	X(77, carry, struct gp_carry)                                                              \
	X(78, program, struct gp_program)                                                          \
	X(79, fault, struct gp_fault)                                                              \
	X(80, place, struct gp_place)                                                              \
	X(81, notice, struct gp_notice)                                                            \
	X(82, code, struct gp_code)

#define GP_KIND_USER 64 /* first kind of user space */
#define GP_KIND_MAX  128

enum gp_kind {
#define X(id, name, payload) GP_KIND_##name = id,
	GP_KINDS(X)
#undef X
};

enum gp_gap_cause {
	GP_GAP_AWAY = 1, /* gp-bpf was not running, or so long without reading that the kernel side
			    fell silent */
	GP_GAP_CHANGED = 2, /* another version ran before, whose state could not be taken over */
};

enum gp_end_reason {
	GP_END_TARGETS_GONE = 0, /* every watched process ended */
	GP_END_USER = 1,	 /* q, ^C, SIGTERM */
	GP_END_TIME = 2,	 /* --for */
	GP_END_ERROR = 3,
	GP_END_HANDOVER = 4, /* everything stays attached for a successor */
};

#include "bpf/gp_row.h"

#ifndef __bpf__
_Static_assert(sizeof(struct gp_rec) == 24, "record header is ABI");
_Static_assert(sizeof(struct gp_hit) == 24, "ABI");
_Static_assert(sizeof(struct gp_range_begin) == 8 + GP_NAME_MAX, "ABI");
_Static_assert(sizeof(struct gp_range_end) == 8, "ABI");
_Static_assert(sizeof(struct gp_named) == 16 + GP_PATH_MAX, "ABI");
_Static_assert(sizeof(struct gp_call) == 16 + 8 * GP_ARGS, "ABI");
_Static_assert(sizeof(struct gp_signal) == 32, "ABI");
_Static_assert(sizeof(struct gp_session) == 392, "ABI");
_Static_assert(sizeof(struct gp_probe) == 144, "ABI");
_Static_assert(sizeof(struct gp_process) == 472, "ABI");
_Static_assert(sizeof(struct gp_attach) == 136, "ABI");
_Static_assert(sizeof(struct gp_blocked) == 160, "ABI");
_Static_assert(sizeof(struct gp_file) == 56 + GP_PATH_MAX, "ABI");
_Static_assert(sizeof(struct gp_renamed) == 2 * GP_PATH_MAX, "ABI");
_Static_assert(sizeof(struct gp_monitor) == 208, "ABI");
_Static_assert(sizeof(struct gp_program) == 152, "ABI");
_Static_assert(sizeof(struct gp_fault) == 232, "ABI");
_Static_assert(sizeof(struct gp_place) == 736, "ABI");
_Static_assert(sizeof(struct gp_notice) == 216, "ABI");
_Static_assert(sizeof(struct gp_code) == 80, "ABI");

/* Records lie one behind the other, each padded to 8 bytes:
 *	for (unsigned long at = 0; (rec = gp_rec_next(data, len, &at));) ...
 * NULL at the end, and at one that is cut off or shorter than its header. Its content is not
 * checked. */
static inline const struct gp_rec *gp_rec_next(const void *data, unsigned long len,
					       unsigned long *at)
{
	const struct gp_rec *rec = (const struct gp_rec *)((const char *)data + *at);

	if (*at > len || len - *at < sizeof(*rec) || rec->len < sizeof(*rec) ||
	    rec->len > len - *at)
		return 0;
	*at += (rec->len + 7ul) & ~7ul;
	return rec;
}

/* Stable id -> the 32 bits that records and cookies carry: FNV-1a (Fowler, Noll, Vo; offset basis
 * and prime as published). Never 0. The loader refuses two ids with one hash. */
static inline __u32 gp_probe_hash(const char *id)
{
	__u32 h = 2166136261u;

	while (*id)
		h = (h ^ (unsigned char)*id++) * 16777619u;
	return h ? h : 1;
}
#endif

#endif
