/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_abi.h - the records that the kernel side and user space write; they are the content of a tape.
 * The structures that user space passes to the BPF programs are in gp_row.h, which this header
 * includes.
 *
 * Every record starts with struct gp_rec and is exactly sizeof(gp_rec) + sizeof(payload) long. BPF
 * programs write kinds 1-63 into a ring; user space writes kinds 64-127 onto the tape. Readers of a
 * tape treat both alike.
 *
 * Compiled by clang -target bpf, gcc and clang: fixed-width types only, no implicit padding,
 * natural alignment 8. Kinds, roles and causes are appended and never renumbered, as they are
 * stored on disk. */
#ifndef GP_ABI_H
#define GP_ABI_H

#include <linux/types.h>

#include "bpf/gp_words.h"

#define GP_ABI_VERSION 4

#define GP_NAME_MAX 72	/* bytes of a range's name, terminator included */
#define GP_JOB_MAX  256 /* bytes of a job's name, terminator included: userspace/base/job_name.h */
#define GP_PATH_MAX 192 /* bytes of a path, terminator included */
#define GP_OKS	    4	/* ranges of return codes that mean success */
#define GP_COMM_MAX 16	/* TASK_COMM_LEN, include/linux/sched.h */
#define GP_ROWS_MAX 512 /* rows of all probe files together */
#define GP_HOT_ROWS 32	/* rows that are counted, not sent */
/* Processes whose hot calls are counted at once; slot 0 is shared by all others. */
#define GP_SLOTS       512
#define GP_SLOT_NONE   0xffffffffu
#define GP_ARGS	       6    /* scalars captured from one call */
#define GP_DEREFS_MAX  3    /* pointers that one capture follows; the programs unroll this loop */
#define GP_UNLESS      4    /* values of a call for which no record is sent */
#define GP_MONITOR_MAX 16   /* entries of one monitor event that are sent */
#define GP_KEEP	       8    /* name prefixes of one row that are exempt from its rate limit */
#define GP_CARRY_MAX   1216 /* bytes of the state of a job that is sent from node to node */
#define GP_STACK_MAX   200  /* bytes of a stack as text, terminator included */
#define GP_RANGE_DEPTH 64   /* supported nesting depth of ranges on one thread */

#define GP_TIME_END_NS (1ull << 62) /* larger times are rejected as invalid, ns */

/* Header of every record. */
struct gp_rec {
	__u64 ts_ns; /* CLOCK_MONOTONIC when written; struct gp_call also has a duration */
	__u32 pid;   /* process (tgid) in the initial pid namespace; 0: not about a process */
	__u32 tid;   /* thread in the initial pid namespace; 0 in records of user space */
	__u16 len;   /* header + payload, bytes */
	__u16 kind;  /* enum gp_kind */
	__u32 probe; /* gp_probe_hash() of the probe's stable id; 0: not from a probe */
};

/* ---- records of the kernel side (ring "call") ------------------------------------------------ */

/* A probed function was entered. sp shows how calls nest on one thread: a nested call has a lower
 * sp. */
struct gp_hit {
	__u64 sp; /* for roles on_ready and execute: the third captured value, if there is one */
	__u64 arg[2];
};

/* A named range opened on this thread. depth: number of ranges that were open on the thread before,
 * sent or not. A range_end belongs to the range_begin of the same tid and depth, even when records
 * between them were lost. */
struct gp_range_begin {
	__u16 depth;
	__u16 flags; /* GP_RANGE_* */
	__u32 reserved;
	char name[GP_NAME_MAX]; /* NUL-terminated, as the process had it; hostile */
};
#define GP_RANGE_ANONYMOUS 1 /* the runtime's ranges have no names */

struct gp_range_end {
	__u16 depth; /* depth of its range_begin */
	__u16 flags;
	__u32 reserved;
};

/* A probed function was entered, and one of its arguments is a string, usually a path. */
struct gp_named {
	__u64 arg[2];
	char name[GP_PATH_MAX]; /* NUL-terminated, hostile */
};

/* A probed C function returned. ts_ns is the time of its return, ts_ns - dur_ns of its entry. */
struct gp_call {
	__u64 dur_ns;
	__s64 ret; /* the return register, unchanged: sign-extend it by the type of the function */
	__u64 arg[GP_ARGS];
};

/* An entry of an event of the job's own monitoring. An event is sent as one record for each entry,
 * in order, by one thread; an event without entries as one record of type GP_MONITOR_NONE. All
 * content is hostile. */
struct gp_monitor {
	__s64 wall_ns; /* time given by the job, since 1970; 0: none */
	__u16 index;   /* 0, 1, 2... */
	__u16 count;   /* number of entries of the event, including those not sent */
	__u8 type;     /* GP_MONITOR_* */
	__u8 reserved[11];
	__u64 value; /* bits of the value; 0 for a text */
	char event[48];
	char key[64];
	char text[64]; /* only for a text */
};
#define GP_MONITOR_NONE	  0
#define GP_MONITOR_TEXT	  1
#define GP_MONITOR_DOUBLE 2
#define GP_MONITOR_INT	  3
#define GP_MONITOR_BOOL	  4

/* ---- records of the kernel side (ring "life") ------------------------------------------------ */

struct gp_fork {	/* pid: the parent; written before the child runs */
	__u64 start_ns; /* child's start_boottime */
	__u32 child;
	__u32 slot; /* child's slot of hot counters */
};

struct gp_exec { /* pid: the process, which keeps its identity */
	__u64 start_ns;
	char comm[GP_COMM_MAX];
};

struct gp_exit { /* pid: the process; written once, when its last thread has ended */
	__u64 start_ns;
	__s32 status; /* as wait(2) reports it */
	__u32 slot;   /* may be reused after this record was read */
};

struct gp_signal { /* a signal that ends a process by default was sent to a watched process (pid) */
	__u32 signal;
	__u32 sender;		/* tgid of the sender; 0: the kernel */
	char comm[GP_COMM_MAX]; /* comm of the sender */
	__s32 code;		/* si_code; 0 when unknown */
	__u32 reserved;
};

struct gp_oom { /* the OOM killer chose process pid */
	__u64 reserved;
};

struct gp_map { /* pid is about to map a file executable: scan its mappings a moment later */
	__u64 reserved;
};

/* A regular file that may be a checkpoint: by its name, by its size, or because a watched process
 * wrote it before. bytes, mtime_ns and path are those at the time of the record. */
struct gp_file {
	__u64 dev, ino; /* kernel's numbers: dev is major << 20 | minor */
	__u64 bytes;	/* size of the file */
	__u64 mtime_ns; /* since 1970 */
	__u64 since_ns; /* when the file was opened; when the open call began if it truncated the
			   file */
	__u64 born_ns;	/* start time of the thread that this record is about */
	/* Distinguishes the file from an earlier one with the same inode number. */
	__u32 generation;
	__u16 op;		/* enum gp_file_op */
	__u16 flags;		/* GP_FILE_* */
	char path[GP_PATH_MAX]; /* last components of the path; starts with "/" when complete up to
				   the root of its mount; hostile */
};
enum gp_file_op {
	GP_FILE_OPENED = 1, /* opened for reading */
	GP_FILE_READ = 2,   /* closed after reading */
	GP_FILE_WRITTEN = 3 /* opened for writing, and close(2) has returned */
};
#define GP_FILE_NAMED 1 /* the name is typical of checkpoints */
#define GP_FILE_KNOWN 2 /* a watched process wrote it during this session */

/* A watched process renamed a file. The names are as in the system call: hostile, possibly
 * relative. */
struct gp_renamed {
	char from[GP_PATH_MAX], to[GP_PATH_MAX];
};

/* An unwatched process (pid) is about to map a file executable whose name begins like that of a
 * library in a probe file. Used by the node service. */
struct gp_unwatched {
	__u64 start_ns; /* CLOCK_BOOTTIME start of the process */
};

/* ---- records of user space ------------------------------------------------------------------- */

struct gp_session {  /* first record of every tape; ts_ns: when gp-bpf began to watch */
	__u32 abi;   /* GP_ABI_VERSION of the writer */
	__u32 flags; /* GP_SESSION_* */
	char boot_id[40];
	char version[24];  /* version of gp-bpf */
	char kernel[64];   /* uname release and machine */
	char command[256]; /* command line of gp-bpf */
};
#define GP_SESSION_RUN 1 /* gp-bpf started the watched processes */

struct gp_probe {    /* describes a probe hash; precedes the first record of that probe */
	__u16 role;  /* enum gp_role */
	__u16 group; /* enum gp_group */
	__u32 flags; /* GP_PROBE_* */
	char id[48];
	char runtime[16];
	__u8 returns; /* enum gp_returns */
	__u8 noks;
	__u8 reserved[6];
	/* Ranges of return codes that are not failures, both ends included; noks 0: all codes but 0
	 * are failures. */
	__s64 ok[GP_OKS][2];
};
#define GP_PROBE_COUNTED    1 /* sends gp_counter */
#define GP_PROBE_RETURNS    2 /* sends gp_call */
#define GP_PROBE_UNVERIFIED 4 /* the row was never verified with the real library */
#define GP_PROBE_ANON_RANGE 8 /* ranges of this probe have no name */
/* The flags below are known; a tape without this flag is older than they are. */
#define GP_PROBE_WHOLE	16
#define GP_PROBE_TABLE	32  /* the probe is on a function in a runtime's table of functions */
#define GP_PROBE_OBJECT 64  /* arg0 is an object from which a program's name is read */
#define GP_PROBE_PAIR	128 /* a collective of two ranks: send, receive */
#define GP_PROBE_RANKS	256 /* the library of the probe connects ranks with each other */

struct gp_tick { /* written once a second, so that time passes without other records */
	__u64 reserved;
};

struct gp_drain { /* all records with ts_ns before upto_ns that were not lost precede this one on
		     the tape */
	__u64 upto_ns;
};

struct gp_loss {     /* pid 0: the affected process is unknown */
	__u32 cause; /* enum gp_loss_cause */
	__u32 reserved;
	__u64 count; /* since the last such record */
	__u64 total; /* total of the kernel side so far; 0: user space counted the loss */
};

struct gp_counter { /* number of calls of probe by pid since the last such record */
	__u64 count;
	__u64 total; /* value of the slot's counter, from which a successor continues */
	__u32 slot;  /* GP_SLOT_NONE: the record counts hits that were not sent, and total is their
			total */
	__u32 row;   /* row of the hits that were not sent; only with GP_SLOT_NONE */
};

struct gp_process {	/* identity of a process that is now watched */
	__u64 start_ns; /* start on CLOCK_BOOTTIME; identifies the process together with pid and
			   boot id */
	__u64 start_mono_ns; /* start_ns on CLOCK_MONOTONIC, approximately */
	__u32 parent;
	__u32 flags;		/* GP_PROCESS_* */
	__s32 rank, world_size; /* -1: unknown */
	__s32 local_rank;
	__u32 reserved;
	char comm[GP_COMM_MAX];
	char job[GP_JOB_MAX];
	char command[160]; /* argv joined by spaces, cut, control bytes replaced */
};
/* Watched since before its first instruction, itself or through its parent. */
#define GP_PROCESS_FROM_START 1
#define GP_PROCESS_TARGET     2 /* named by the user, not found as a child */

struct gp_clock {      /* wall clock at ts_ns; written again after the clock was set or a suspend */
	__s64 real_ns; /* since 1970, UTC */
	__u64 suspended_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
};

struct gp_attach { /* state of one probe in one library (kernel inode) */
	__u64 dev, ino;
	__u64 offset;	   /* file offset of the probe */
	__u32 hit_cost_ns; /* cost of one hit, measured on this host at start; 0: not measured */
	__s32 error;	   /* 0, -errno, or minus an enum gp_table_error */
	__u8 insn;	   /* enum gp_insn */
	__u8 state;	   /* enum gp_attach_state */
	__u16 reserved[3];
	char library[96]; /* base name; hostile */
};

struct gp_config { /* a setting that affects the model, as key=value */
	char text[192];
};

struct gp_gap { /* nothing was watched from from_ns until ts_ns; events of that time are unknown */
	__u64 from_ns;
	__u32 cause; /* enum gp_gap_cause */
	__u32 reserved;
};

/* A thread that makes no progress. Sent again every second while that lasts. */
struct gp_blocked {
	__u64 since_ns; /* when the call was entered, or when the thread was first seen blocked */
	__u64 arg[2];	/* arguments of the call */
	__s32 syscall;	/* number of the system call in which the thread is; -1: none or unknown */
	__u16 source;	/* enum gp_blocked_source */
	char state;	/* state in /proc/PID/stat: R S D T t Z; 0: unknown */
	__u8 why; /* enum gp_why; 0 for GP_BLOCKED_CALL, where the role of the probe says it */
	char wchan[32]; /* kernel function in which the thread sleeps; empty: unknown */
	char where[96]; /* file, peer or library that the thread waits for, if known; hostile */
};
/* Reasons why a thread makes no progress; the names are values of labels. */
#define GP_WHYS(X)                                                                                 \
	X(0, unknown)                                                                              \
	X(1, stopped)	 /* stopped by a signal or a debugger */                                   \
	X(2, collective) /* waits for other ranks: derived by the model, never recorded */         \
	X(3, input)	 /* reads a file, a pipe or a FIFO */                                      \
	X(4, device)	 /* in the driver of the accelerator */                                    \
	X(5, io)	 /* in uninterruptible sleep, or writes */                                 \
	X(6, lock)    /* waits for a futex or a file lock: another thread or process holds it */   \
	X(7, network) /* waits for a socket */                                                     \
	X(8, child)   /* waits for a child process to end */                                       \
	X(9, sleep)   /* sleeps for a time */                                                      \
	X(10, idle)   /* waits for events, or for input at a terminal */                           \
	X(11, busy)   /* runs on a CPU, but completes no step */

enum gp_why {
#define X(id, name) GP_WHY_##name = id,
	GP_WHYS(X)
#undef X
		GP_WHY_COUNT
};
#define GP_BLOCKED_CALL 1 /* inside the call that probe names: entered and not returned */
#define GP_BLOCKED_SCAN 2 /* found by a scan of /proc */

/* State of a job on another node, as text; hostile (userspace/model/job/carry.h). Written before
 * the job begins another run on this node. */
struct gp_carry {
	__u32 len; /* bytes of text, which has no terminator */
	__u32 reserved;
	char text[GP_CARRY_MAX];
};

/* Content of the code of a compiled program, read from the memory of the process. pid and tid are
 * those of the record that reported the code. */
struct gp_program {
	__u64 code;	/* address of the code, as in the record that reported it */
	__u64 bytes;	/* bytes of code */
	char name[128]; /* "jit_train_step" for example; "" when it could not be read; hostile */
	__u32 flags;	/* GP_PROGRAM_* */
	__u32 reserved;
};
#define GP_PROGRAM_READ	    1 /* the names of all its operations were read */
#define GP_PROGRAM_GRADIENT 2 /* the program computes a gradient; only with GP_PROGRAM_READ */
/* Read when the program ran: code is the number by which the probe of the run identifies it. */
#define GP_PROGRAM_LOADED 4

/* Name of a return code of this runtime. Written before the first record with that code. */
struct gp_code {
	__s64 code;
	__u8 kind; /* enum gp_fault_kind */
	__u8 reserved[7];
	char runtime[16];
	char name[48];
};

/* The kernel log reports a fault of a device. pid: the process named there, or 0. */
struct gp_fault {
	__s64 code;	 /* fault number of the driver (NVRM: Xid); -1: none */
	char driver[16]; /* "NVRM" */
	char device[32]; /* for example "PCI:0000:3b:00"; "" when the log names no device */
	char text[176];	 /* text of the log line, cut to this size */
};

/* Workload location of a watched process and the name of its job there
 * (userspace/identity/place.h). Follows its gp_process record; a later gp_place replaces an earlier
 * one. Times are UTC since 1970, 0: unknown; numbers -1: unknown; text is escaped and cut, "":
 * unknown. job has precedence over gp_process.job. */
struct gp_place {
	__u8 job_from;	    /* enum gp_job_from */
	__u8 container;	    /* enum gp_container */
	__u8 later;	    /* 1: rank is unknown, but it is not 0 */
	__u8 local_attempt; /* 1: attempt counts restarts of the local group of workers, not of the
			       job */
	__s32 attempt; /* number of the attempt, as counted by the controller that restarts the job:
			  0, 1... */
	__s32 rank, world_size;
	__s64 created_ns, scheduled_ns, started_ns; /* when the pod was created, when it was bound
						       to its node, when its container started */
	char job[GP_JOB_MAX], job_uid[40];
	char namespace[64], pod[128], pod_uid[40];
	char container_name[64], container_id[16]; /* first characters of the id */
	char node[64];
	char owner[24]; /* "JobSet", "Job", "RayJob", "PyTorchJob"... */
};
#define GP_JOB_FROM(X) /* source of the job's name, in order of precedence */                      \
	X(0, none)                                                                                 \
	X(1, option)                                                                               \
	X(2, jobset)                                                                               \
	X(3, controller) /* a Job or its owner: RayJob, PyTorchJob... */                           \
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

/* An event of a pod of this node, or of the node itself, that may end processes. It may become the
 * cause of a disruption. */
struct gp_notice {
	__s64 at_ns; /* UTC, as reported; 0: not reported */
	__u8 what;   /* enum gp_notice_kind */
	__u8 over;   /* 1: the condition has ended */
	__u8 reserved[6];
	char pod_uid[40]; /* "": the event is about the node */
	char text[160];	  /* text of the event as reported by Kubernetes or the node; hostile */
};
#define GP_NOTICES(X)                                                                              \
	X(1, evicted)                                                                              \
	X(2, preempted)                                                                            \
	X(3, maintenance)                                                                          \
	X(4, deleted) /* a pod was deleted through the API */                                      \
	X(5, oom)     /* a container, reported by its runtime */                                   \
	X(6, node)    /* a condition or taint of the node */

enum gp_notice_kind {
#define X(id, name) GP_NOTICE_##name = id,
	GP_NOTICES(X)
#undef X
		GP_NOTICE_COUNT
};

/* Resources that a thread (tid) of a training process has used and waited for since the thread
 * began. All figures only grow. Written once a second for the busiest threads, if something has
 * changed; then a gp_pressure of the process follows. */
struct gp_usage {
	__u64 cpu_ns;	    /* on a CPU */
	__u64 wait_ns;	    /* runnable without a CPU: others run there, or the quota is used up */
	__u64 block_ns;	    /* waiting for block I/O; only with GP_USAGE_BLOCK */
	__u64 major_faults; /* page faults that read from a disk */
	__u32 flags;	    /* GP_USAGE_* */
	__u32 reserved;
};
#define GP_USAGE_FIRST 1 /* the thread was not sampled a second ago */
#define GP_USAGE_BLOCK 2

/* How long the control group of a process, and the machine, lacked resources. All figures only
 * grow. stall_ns: time in which at least one thread lacked it ("some" of
 * Documentation/accounting/psi.rst), of the control group where the kernel knows that, else of the
 * machine. */
struct gp_pressure {
	__u64 throttled_ns; /* time without CPU because the quota of the control group was used up
			     */
	__u64 stall_ns[3];  /* GP_STALL_* */
	__u32 flags;	    /* GP_PRESSURE_* */
	__u32 reserved;
};
#define GP_STALL_CPU	     0
#define GP_STALL_MEMORY	     1
#define GP_STALL_IO	     2
#define GP_STALL_COUNT	     3
#define GP_PRESSURE_THROTTLE 1 /* throttled_ns is known */
#define GP_PRESSURE_STALL    2 /* stall_ns is known */
#define GP_PRESSURE_GROUP    4 /* stall_ns is of the control group */

/* Python stack of a thread (tid) that makes no progress, innermost call first: "wait
 * (threading.py:324) < fetch (loader.py:31)". Its names are hostile. */
struct gp_stack {
	__u32 frames; /* of the stack; the text may hold fewer */
	__u32 reserved;
	char text[GP_STACK_MAX]; /* NUL-terminated, printable UTF-8 */
};

struct gp_end {	      /* last record of a tape that was closed properly */
	__u32 reason; /* enum gp_end_reason */
	__s32 status; /* status of CMD, as wait(2) reports it; -1: none */
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
	X(82, code, struct gp_code)                                                                \
	X(83, usage, struct gp_usage)                                                              \
	X(84, pressure, struct gp_pressure)                                                        \
	X(85, stack, struct gp_stack)

#define GP_KIND_USER 64 /* first kind written by user space */
#define GP_KIND_MAX  128

enum gp_kind {
#define X(id, name, payload) GP_KIND_##name = id,
	GP_KINDS(X)
#undef X
};

enum gp_gap_cause {
	GP_GAP_AWAY = 1,    /* gp-bpf was not running, or did not read the rings until the
			       kernel side stopped sending (GP_SILENT_NS) */
	GP_GAP_CHANGED = 2, /* another version ran before, and its state could not be taken over */
};

enum gp_end_reason {
	GP_END_TARGETS_GONE = 0, /* every watched process ended */
	GP_END_USER = 1,	 /* ended by the user: q, ^C, SIGTERM */
	GP_END_TIME = 2,	 /* time limit of --for */
	GP_END_ERROR = 3,
	GP_END_HANDOVER = 4, /* all probes stay attached for a successor */
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
_Static_assert(sizeof(struct gp_usage) == 40, "ABI");
_Static_assert(sizeof(struct gp_pressure) == 40, "ABI");
_Static_assert(sizeof(struct gp_stack) == 208, "ABI");

/* Iterates over records in memory, each padded to 8 bytes:
 *
 * 	for (unsigned long at = 0; (rec = gp_rec_next(data, len, &at));) ...
 *
 * Returns NULL at the end, and at a record that is cut off or shorter than its header. Does not
 * check payloads. */
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

/* Returns the hash of a stable id for records and cookies: FNV-1a (Fowler, Noll, Vo; offset basis
 * and prime as published). Never 0. The loader refuses two ids with the same hash. */
static inline __u32 gp_probe_hash(const char *id)
{
	__u32 h = 2166136261u;

	while (*id)
		h = (h ^ (unsigned char)*id++) * 16777619u;
	return h ? h : 1;
}
#endif

#endif
