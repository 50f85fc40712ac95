/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_abi.h - the format of the records that the BPF programs and user space write, and of which a
 * tape consists. The structures that user space passes to the BPF programs are in gp_row.h, which
 * this header includes.
 *
 * Every record begins with struct gp_rec and has the length sizeof(gp_rec) + sizeof(payload). BPF
 * programs write records of kinds 1 to 63 and 100 into a ring; user space writes the others onto
 * the tape. Readers of a tape treat both in the same way. Text that is marked as hostile comes from
 * a watched process, which may have put anything there.
 *
 * This header is compiled by clang -target bpf, gcc and clang. So it uses only types of fixed
 * width, natural alignment of at most 8, and no implicit padding. Kinds, roles and causes are on
 * disk: new ones are appended, and none is renumbered. */
#ifndef GP_ABI_H
#define GP_ABI_H

#include <linux/types.h>

#include "bpf/gp_words.h"

#define GP_ABI_VERSION 4

#define GP_NAME_MAX 72	/* size of a range's name with its NUL */
#define GP_JOB_MAX  256 /* size of a job's name with its NUL; see userspace/base/job_name.h */
#define GP_PATH_MAX 192 /* size of a path with its NUL */
#define GP_OKS	    4	/* maximum number of ranges of return codes that mean success, per row */
/* size of a command name, as TASK_COMM_LEN in the kernel's include/linux/sched.h */
#define GP_COMM_MAX 16
#define GP_ROWS_MAX 512 /* maximum number of rows in all probe files */
#define GP_HOT_ROWS 32	/* maximum number of rows whose hits are only counted ("hot") */
/* Number of slots: each watched process has one for counting hot calls. Further processes share
 * slot 0. */
#define GP_SLOTS     512
#define GP_SLOT_NONE 0xffffffffu
#define GP_ARGS	     6 /* maximum number of values captured from one call */
/* maximum number of pointers that a capture follows; the programs unroll this loop */
#define GP_DEREFS_MAX	3
#define GP_UNLESS	4  /* maximum number of values in gp_row.unless */
#define GP_TENSORS	3  /* maximum number of tensors captured from one call */
#define GP_TENSOR_AT	40 /* first byte of a tensor's object that is sent */
#define GP_TENSOR_WORDS 18
#define GP_LIST_WORDS	3
#define GP_FORMULA_MAX	160 /* size of a formula with its NUL */
#define GP_MONITOR_MAX	16  /* maximum number of entries of a torch.monitor event that are sent */
/* maximum number of name prefixes of a row that are exempt from its rate limit */
#define GP_KEEP 8
/* size of the text of a gp_carry: the history of a job for another node */
#define GP_CARRY_MAX   1216
#define GP_RAS_MAX     200 /* size of a text from NCCL's RAS service, with its NUL */
#define GP_STACK_MAX   200 /* size of a stack as text, with its NUL */
#define GP_RANGE_DEPTH 64  /* maximum nesting depth of ranges on a thread */

#define GP_TIME_END_NS (1ull << 62) /* larger times (ns) are rejected as invalid */

/* Every record begins with this header. */
struct gp_rec {
	__u64 ts_ns; /* time at which the record was written, CLOCK_MONOTONIC */
	/* process (tgid) in the initial pid namespace; 0: the record is not about a process */
	__u32 pid;
	__u32 tid;   /* thread in the initial pid namespace; 0 in records that user space writes */
	__u16 len;   /* size in bytes of header and payload */
	__u16 kind;  /* enum gp_kind */
	__u32 probe; /* gp_probe_hash() of the probe's id; 0: the record is not from a probe */
};

/* ---- records of the kernel side (ring "call") ------------------------------------------------ */

/* A probed function was entered. sp is the stack pointer, which shows how calls nest on a thread: a
 * nested call has a lower one. */
struct gp_hit {
	/* Stack pointer; in rows of the roles on_ready and execute, the third captured value if
	 * the row has one */
	__u64 sp;
	__u64 arg[2];
};

/* A range with a name opened on this thread. depth: number of ranges that were open on the thread
 * before, including those not sent. A range_end belongs to the range_begin with the same tid and
 * depth, even if records in between were lost. */
struct gp_range_begin {
	__u16 depth;
	__u16 flags; /* GP_RANGE_* */
	__u32 reserved;
	char name[GP_NAME_MAX]; /* NUL-terminated, as the process wrote it; hostile */
};
#define GP_RANGE_ANONYMOUS 1 /* ranges of this runtime have no names */

/* The range opened last on this thread was closed. */
struct gp_range_end {
	__u16 depth; /* depth in the range's range_begin */
	__u16 flags;
	__u32 reserved;
};

/* A probed function was entered, and one of its arguments is a string, usually a path. */
struct gp_named {
	__u64 arg[2];
	char name[GP_PATH_MAX]; /* NUL-terminated, hostile */
};

/* A probed C function returned at ts_ns. It was entered at ts_ns - dur_ns. */
struct gp_call {
	__u64 dur_ns;
	/* the return register, unchanged: the reader must sign-extend it by the function's type */
	__s64 ret;
	__u64 arg[GP_ARGS];
};

/* One entry of an event that the job logged for its own monitoring (torch.monitor). A thread sends
 * the entries of an event as one record each, in order. An event without entries is one record of
 * type GP_MONITOR_NONE. All content is hostile. */
struct gp_monitor {
	__s64 wall_ns; /* time that the job gave, ns since 1970; 0: none */
	__u16 index;   /* 0, 1, 2... */
	__u16 count;   /* number of entries of the event, including entries that are not sent */
	__u8 type;     /* GP_MONITOR_* */
	__u8 reserved[11];
	__u64 value; /* the value as bits; 0 for a text */
	char event[48];
	char key[64];
	char text[64]; /* only for a text */
};
#define GP_MONITOR_NONE	  0
#define GP_MONITOR_TEXT	  1
#define GP_MONITOR_DOUBLE 2
#define GP_MONITOR_INT	  3
#define GP_MONITOR_BOOL	  4

/* An operator of a tensor library was entered. The probe's row says whether value[i] is the address
 * of a tensor's object, that of a list, or a number. tensor and list are copies of the memory
 * there, 0 if it could not be read. All content is hostile. */
struct gp_operation {
	__u64 value[GP_ARGS];
	/* words of the object from byte GP_TENSOR_AT on, of captures 0 to 2 */
	__u64 tensor[GP_TENSORS][GP_TENSOR_WORDS];
	__u64 list[GP_ARGS][GP_LIST_WORDS]; /* first words of each list */
};

/* ---- records of the kernel side (ring "life") ------------------------------------------------ */

/* A watched process (pid) forked. Written before the child runs. */
struct gp_fork {
	__u64 start_ns; /* start of the child, CLOCK_BOOTTIME */
	__u32 child;
	__u32 slot; /* slot of the child, for counting hot calls */
};

/* A watched process (pid) runs another program. It keeps its identity. */
struct gp_exec {
	__u64 start_ns;
	char comm[GP_COMM_MAX];
};

/* A watched process (pid) ended. Written once, when its last thread has ended. */
struct gp_exit {
	__u64 start_ns;
	__s32 status; /* status as wait(2) reports it */
	__u32 slot;   /* may be given to another process after this record was read */
};

/* A signal was sent to a watched process (pid), of a kind that ends a process by default. */
struct gp_signal {
	__u32 signal;
	__u32 sender;		/* process that sent it; 0: the kernel */
	char comm[GP_COMM_MAX]; /* comm of the sender */
	__s32 code;		/* si_code of the signal; 0: unknown */
	__u32 reserved;
};

/* The kernel's out-of-memory killer chose process pid. */
struct gp_oom {
	__u64 reserved;
};

/* Process pid is about to map a file executable. User space scans its mappings a moment later. */
struct gp_map {
	__u64 reserved;
};

/* A watched process opened or closed a regular file that may be a checkpoint, because of its name
 * or its size, or because a watched process wrote it before. bytes, mtime_ns and path were read
 * when the record was written. */
struct gp_file {
	__u64 dev, ino; /* numbers of the kernel: dev is major << 20 | minor */
	__u64 bytes;	/* size of the file */
	__u64 mtime_ns; /* since 1970 */
	/* Time when the file was opened. If the open call truncated the file: time when that call
	 * began. */
	__u64 since_ns;
	__u64 born_ns; /* start time of the thread that opened or closed the file */
	/* Generation of the inode: differs between two files that had the same inode number at
	 * different times. */
	__u32 generation;
	__u16 op;    /* enum gp_file_op */
	__u16 flags; /* GP_FILE_* */
	/* Last components of the path. It begins with "/" if it is complete up to the root of its
	 * mount. Hostile. */
	char path[GP_PATH_MAX];
};
enum gp_file_op {
	GP_FILE_OPENED = 1, /* opened for reading */
	GP_FILE_READ = 2,   /* closed after it was opened for reading */
	GP_FILE_WRITTEN = 3 /* opened for writing; close(2) has returned */
};
#define GP_FILE_NAMED 1 /* the name is typical of a checkpoint */
#define GP_FILE_KNOWN 2 /* a watched process wrote the file during this session */

/* A watched process renamed a file. The paths are those passed to the system call: hostile, and
 * possibly relative. */
struct gp_renamed {
	char from[GP_PATH_MAX], to[GP_PATH_MAX];
};

/* A process that is not watched (pid) is about to map a file executable, and the file's name begins
 * like that of a library in a probe file. The node service finds jobs by this record. */
struct gp_unwatched {
	__u64 start_ns; /* start of the process, CLOCK_BOOTTIME */
};

/* ---- records of user space ------------------------------------------------------------------- */

/* First record of every tape. ts_ns: time when gp-bpf began to watch. */
struct gp_session {
	__u32 abi;   /* GP_ABI_VERSION of the gp-bpf that wrote the tape */
	__u32 flags; /* GP_SESSION_* */
	char boot_id[40];
	char version[24];  /* version of gp-bpf */
	char kernel[64];   /* release and machine, as uname(2) gives them */
	char command[256]; /* command line of gp-bpf */
};
#define GP_SESSION_RUN 1 /* gp-bpf has started the watched processes */

/* Describes the probe whose hash is in the header (gp_rec.probe). Written before the first record
 * of that probe. */
struct gp_probe {
	__u16 role;  /* enum gp_role */
	__u16 group; /* enum gp_group */
	__u32 flags; /* GP_PROBE_* */
	char id[48];
	char runtime[16];
	__u8 returns; /* enum gp_returns */
	__u8 noks;
	__u8 reserved[6];
	/* Ranges of return codes that mean success; both ends are included. If noks is 0, only 0
	 * means success. */
	__s64 ok[GP_OKS][2];
};
#define GP_PROBE_COUNTED    1 /* sends gp_counter */
#define GP_PROBE_RETURNS    2 /* sends gp_call */
#define GP_PROBE_UNVERIFIED 4 /* the row was never tested with the real library */
#define GP_PROBE_ANON_RANGE 8 /* ranges of this probe have no name */
/* Set by every gp-bpf version that knows the flags below. If a tape does not have this flag, the
 * values of the flags below are unknown. */
#define GP_PROBE_WHOLE 16
/* the probe is on a function that was found in a runtime's table of functions */
#define GP_PROBE_TABLE	32
#define GP_PROBE_OBJECT 64  /* arg0 is an object from which the name of a program is read */
#define GP_PROBE_PAIR	128 /* a send or a receive, in which two ranks take part */
#define GP_PROBE_RANKS	256 /* the library connects ranks with each other */

/* How many operations a call of the probe with this hash has; see docs/operations.md. Written
 * before the first record of that probe. */
struct gp_formula {
	char text[GP_FORMULA_MAX];
};

/* Written once a second, so that time passes even if nothing else is recorded. */
struct gp_tick {
	__u64 reserved;
};

/* All records with a ts_ns before upto_ns are before this one on the tape, unless they were
 * lost. */
struct gp_drain {
	__u64 upto_ns;
};

/* Records were lost. pid is 0 if it is not known which process they were about. */
struct gp_loss {
	__u32 cause; /* enum gp_loss_cause */
	__u32 reserved;
	__u64 count; /* number of records lost since the last gp_loss with this cause */
	__u64 total; /* total of the cause so far in BPF programs; 0: user space found the loss */
};

/* Number of calls of a probe in a process (pid) since the last gp_counter of this probe and
 * process. */
struct gp_counter {
	__u64 count;
	__u64 total; /* present value of the counter, from which the next gp-bpf continues */
	/* Slot of the counter. GP_SLOT_NONE: `count` and `total` are the numbers of hits that were
	 * not sent. */
	__u32 slot;
	__u32 row; /* only with GP_SLOT_NONE: row of the hits that were not sent */
};

/* Identity of a process that is watched from now on. */
struct gp_process {
	/* Start of the process, CLOCK_BOOTTIME. With pid and boot id it identifies the process. */
	__u64 start_ns;
	__u64 start_mono_ns; /* start_ns converted to CLOCK_MONOTONIC, approximately */
	__u32 parent;
	__u32 flags;		/* GP_PROCESS_* */
	__s32 rank, world_size; /* -1: unknown */
	__s32 local_rank;
	__u32 reserved;
	char comm[GP_COMM_MAX];
	char job[GP_JOB_MAX];
	char command[160]; /* arguments joined by spaces; cut; control characters are replaced */
};
/* Watched since before its first instruction, because gp-bpf started it or its parent was
 * watched. */
#define GP_PROCESS_FROM_START 1
#define GP_PROCESS_TARGET     2 /* the user named this process; gp-bpf did not find it as a child */

/* UTC at ts_ns. Written every minute, and after the clock was set or the machine was suspended. */
struct gp_clock {
	__s64 real_ns;	    /* since 1970, UTC */
	__u64 suspended_ns; /* CLOCK_BOOTTIME minus CLOCK_MONOTONIC */
};

/* State of one probe at one site: a function in a library, which is identified by dev and inode. */
struct gp_attach {
	__u64 dev, ino;
	__u64 offset; /* offset of the probed instruction in the file */
	/* cost of an empty hit, measured on this host at start; 0: not measured */
	__u32 hit_cost_ns;
	__s32 error; /* 0, -errno, or a negated enum gp_table_error */
	__u8 insn;   /* enum gp_insn */
	__u8 state;  /* state of the probe, enum gp_attach_state */
	__u16 reserved[3];
	char library[96]; /* base name; hostile */
};

/* A setting that the model uses, as "key=value". */
struct gp_config {
	char text[192];
};

/* No process was watched from from_ns until the time of this record (ts_ns). */
struct gp_gap {
	__u64 from_ns;
	__u32 cause; /* enum gp_gap_cause */
	__u32 reserved;
};

/* A thread makes no progress. Written every second as long as this is so. */
struct gp_blocked {
	/* time when the call was entered, or when the thread was first seen blocked */
	__u64 since_ns;
	__u64 arg[2];  /* arguments of the system call or probed call */
	__s32 syscall; /* number of the system call that the thread is in; -1: none, or unknown */
	__u16 source;  /* how the thread was found: enum gp_blocked_source */
	char state;    /* state letter in /proc/PID/stat: R, S, D, T, t or Z; 0: unknown */
	/* enum gp_why; 0 with GP_BLOCKED_CALL, because the probe's role gives the reason */
	__u8 why;
	char wchan[32]; /* kernel function in which the thread sleeps, or "" */
	char where[96]; /* file, peer or library that the thread waits for, or ""; hostile */
};
/* Reasons why a thread makes no progress. The names are used as values of labels. */
#define GP_WHYS(X)                                                                                 \
	X(0, unknown)                                                                              \
	X(1, stopped)	 /* stopped by a signal or a debugger */                                   \
	X(2, collective) /* waits for other ranks; only the model finds this out */                \
	X(3, input)	 /* reads a file, a pipe or a FIFO */                                      \
	X(4, device)	 /* is in the driver of the accelerator */                                 \
	X(5, io)	 /* is in uninterruptible sleep, writes, or waits for a lock on a file */  \
	X(6, lock)	 /* waits for a lock in memory (a futex) that another thread has */        \
	X(7, network)	 /* waits for a socket */                                                  \
	X(8, child)	 /* waits for a child process to end */                                    \
	X(9, sleep)	 /* sleeps for a time */                                                   \
	X(10, idle)	 /* waits for events, or for input at a terminal */                        \
	X(11, busy)	 /* runs on a CPU, but makes no step */

enum gp_why {
#define X(id, name) GP_WHY_##name = id,
	GP_WHYS(X)
#undef X
		GP_WHY_COUNT
};
#define GP_BLOCKED_CALL 1 /* the thread has entered the probed call and not returned */
#define GP_BLOCKED_SCAN 2 /* a scan of /proc found the thread blocked */

/* History of a job from another node, as text (userspace/model/job/carry.h); hostile. Written
 * before the job begins another run on this node. */
struct gp_carry {
	__u32 len; /* number of bytes in text, which has no NUL */
	__u32 reserved;
	char text[GP_CARRY_MAX];
};

/* Name and content of a compiled program, as user space read them from its code in memory. pid and
 * tid are those of the record that reported the code. */
struct gp_program {
	__u64 code;	/* address of the program's code; see also GP_PROGRAM_LOADED */
	__u64 bytes;	/* bytes of code */
	char name[128]; /* such as "jit_train_step", or "" if it could not be read; hostile */
	__u32 flags;	/* GP_PROGRAM_* */
	__u32 reserved;
};
#define GP_PROGRAM_READ	    1 /* the names of all operations of the program were read */
#define GP_PROGRAM_GRADIENT 2 /* the program computes a gradient; set only with GP_PROGRAM_READ */
/* The program was read when it ran, not when it was compiled. `code` is then not an address, but
 * the number of the program in the record of the run. */
#define GP_PROGRAM_LOADED 4

/* Name of a return code of a runtime, and the kind of fault that the code reports. Written before
 * the first record with that code. */
struct gp_code {
	__s64 code;
	__u8 kind; /* enum gp_fault_kind */
	__u8 reserved[7];
	char runtime[16];
	char name[48];
};

/* The kernel log reported a fault of a device. pid: the process that the log names, or 0. */
struct gp_fault {
	__s64 code;	 /* fault number of the driver (Xid for NVRM); -1: none */
	char driver[16]; /* "NVRM" */
	char device[32]; /* such as "PCI:0000:3b:00", or "" if the log does not name a device */
	char text[176];	 /* text of the log line; cut */
};

/* Workload location of a watched process, and the name of its job there
 * (userspace/identity/place.h). Written after the process's gp_process; a later gp_place replaces
 * an earlier one. Times are UTC ns; 0: unknown. Numbers: -1 is unknown. Texts are escaped and cut;
 * "" is unknown. `job` takes precedence over gp_process.job. */
struct gp_place {
	__u8 job_from;	/* enum gp_job_from */
	__u8 container; /* enum gp_container */
	__u8 later;	/* 1: rank is not known, except that it is not 0 */
	/* 1: `attempt` counts restarts of the local group of workers, not of the job. */
	__u8 local_attempt;
	/* Number of the attempt, from 0, as counted by the controller that restarts the job. */
	__s32 attempt;
	__s32 rank, world_size;
	/* When the pod was created, when it was bound to its node, and when its container
	 * started. */
	__s64 created_ns, scheduled_ns, started_ns;
	char job[GP_JOB_MAX], job_uid[40];
	char namespace[64], pod[128], pod_uid[40];
	/* container_id has only the first characters of the id */
	char container_name[64], container_id[16];
	char node[64];
	char owner[24]; /* kind of the job's owner: "JobSet", "Job", "RayJob", "PyTorchJob"... */
};
#define GP_JOB_FROM(X) /* where the name of a job comes from, the most trusted source first */     \
	X(0, none)                                                                                 \
	X(1, option)                                                                               \
	X(2, jobset)                                                                               \
	X(3, controller) /* a Job or its owner, such as RayJob or PyTorchJob */                    \
	X(4, slurm)                                                                                \
	X(5, torchelastic)                                                                         \
	X(6, pod)                                                                                  \
	X(7, cgroup) /* name of a container or a service */

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
	X(5, unknown) /* another kind of container */

enum gp_container {
#define X(id, name) GP_CONTAINER_##name = id,
	GP_CONTAINERS(X)
#undef X
		GP_CONTAINER_COUNT
};

/* An event of a pod on this node, or of the node itself, that may end processes. It can become the
 * cause of a disruption. */
struct gp_notice {
	__s64 at_ns; /* time of the event as reported, UTC; 0: unknown */
	__u8 what;   /* enum gp_notice_kind */
	__u8 over;   /* 1: the condition of the node has ended */
	__u8 reserved[6];
	char pod_uid[40]; /* uid of the pod, or "": the event is about the node */
	char text[160];	  /* text that Kubernetes or the node gave for the event; hostile */
};
#define GP_NOTICES(X)                                                                              \
	X(1, evicted)                                                                              \
	X(2, preempted)                                                                            \
	X(3, maintenance)                                                                          \
	X(4, deleted) /* a pod was deleted through the API */                                      \
	X(5, oom)     /* a container ran out of memory, as its runtime reports */                  \
	X(6, node)    /* a condition or taint of the node */

enum gp_notice_kind {
#define X(id, name) GP_NOTICE_##name = id,
	GP_NOTICES(X)
#undef X
		GP_NOTICE_COUNT
};

/* Resources that a thread (tid) of a training process has used and waited for since it began; all
 * figures only grow. Written once a second for the busiest threads if something changed. A
 * gp_pressure of the process follows. */
struct gp_usage {
	__u64 cpu_ns; /* on a CPU */
	/* ready to run, but without a CPU: others run, or the CPU quota is used up */
	__u64 wait_ns;
	__u64 block_ns;	    /* waiting for block I/O; known only with GP_USAGE_BLOCK */
	__u64 major_faults; /* number of page faults that read from a disk */
	__u32 flags;	    /* GP_USAGE_* */
	/* frequency of the CPU on which the training thread ran last; 0: unknown */
	__u32 mhz;
	/* With GP_USAGE_SYSTEM: part of cpu_ns in the kernel, in units of 10 ms; number of page
	 * faults that read nothing from a disk */
	__u64 system_ns, minor_faults;
};
#define GP_USAGE_FIRST	1 /* the thread was not sampled one second before */
#define GP_USAGE_BLOCK	2
#define GP_USAGE_SYSTEM 4

/* How long the control group of a process, or the machine, lacked resources; all figures only grow.
 * stall_ns: time in which at least one thread lacked the resource ("some" in the kernel's
 * Documentation/accounting/psi.rst). The figures are of the control group if the kernel measures
 * it, otherwise of the machine. */
struct gp_pressure {
	/* Time without a CPU because the CPU quota of the control group was used up. */
	__u64 throttled_ns;
	__u64 stall_ns[3]; /* GP_STALL_* */
	__u32 flags;	   /* GP_PRESSURE_* */
	/* How often the control group, or one that contains it, exceeded memory.high; with
	 * GP_PRESSURE_HIGH. */
	__u32 high;
};
#define GP_STALL_CPU	     0
#define GP_STALL_MEMORY	     1
#define GP_STALL_IO	     2
#define GP_STALL_COUNT	     3
#define GP_PRESSURE_THROTTLE 1 /* throttled_ns is known */
#define GP_PRESSURE_STALL    2 /* stall_ns is known */
#define GP_PRESSURE_GROUP    4 /* stall_ns is of the control group, not of the machine */
#define GP_PRESSURE_HIGH     8 /* memory.high is set, so that `high` is known */

/* Python stack of a thread (tid) that makes no progress, innermost call first, such as "wait
 * (threading.py:324) < fetch (loader.py:31)". The names in it are hostile. */
struct gp_stack {
	__u32 frames; /* number of frames of the stack; the text may contain fewer */
	__u32 reserved;
	char text[GP_STACK_MAX]; /* NUL-terminated, printable UTF-8 */
};

/* Claim of NCCL's RAS service about the job of a process that makes no progress: which ranks do not
 * answer, or have launched fewer collectives than others. Untrusted: any program may listen on the
 * service's port. */
struct gp_ras {
	char text[GP_RAS_MAX]; /* NUL-terminated */
};

/* Use of resources by the worker processes of a data loader. Written once a second while training
 * waits for the data loader. Times are since the previous record. The reason why a worker does not
 * run was read once since the previous record. */
struct gp_input {
	__u64 span_ns;			  /* time since the previous record; 0: there is none */
	__u64 cpu_ns, wait_ns, block_ns;  /* sums over all workers; see gp_usage */
	__u64 top_cpu_ns, top_wait_ns;	  /* times of the worker that worked and waited most */
	__u64 top_block_ns;		  /* of that worker */
	__u64 main_cpu_ns, main_block_ns; /* of the training thread */
	__u64 pin_cpu_ns;		  /* of the thread that pins memory; 0: none, or idle */
	__u64 idle_ns;	/* CPU time that nothing used, of the CPUs that the process may use */
	__u32 top;	/* process id of the worker that worked most; 0: no worker */
	__u32 cores;	/* CPUs that the process may use, in hundredths; 0: unknown */
	__u16 workers;	/* worker processes */
	__u16 busy;	/* workers that were on a CPU, or waited for one, for 90 % of the second */
	__u16 disk;	/* workers that wait for a file or a disk */
	__u16 network;	/* workers that wait for a socket */
	__u16 sleeping; /* workers that sleep for a time */
	__u16 reserved;
	__u32 flags; /* GP_INPUT_* */
};
#define GP_INPUT_BLOCK 1 /* block_ns, top_block_ns and main_block_ns are known */
#define GP_INPUT_IDLE  2 /* idle_ns is known */

/* The Python line at which a thread (tid) of a training process was at a random instant. Times of
 * several samples add up: each stands for span_us. Names are hostile. */
struct gp_line {
	__u64 at_ns;	   /* instant of the sample, CLOCK_MONOTONIC */
	__u32 span_us;	   /* time of the thread for which the sample stands */
	__u32 line;	   /* line in the user's own code; 0: unknown */
	__u32 inner_line;  /* line of the innermost call; 0: unknown */
	__u16 state;	   /* enum gp_line_state */
	__u16 flags;	   /* GP_LINE_* */
	char file[48];	   /* base name of the innermost file of the user's own code */
	char function[48]; /* function in that file */
	char inner_file[48], inner_function[48]; /* of the innermost call of any code */
	/* With GP_LINE_LOCKED: the thread that holds the interpreter's lock, and its line in the
	 * user's own code; 0: unknown */
	__u32 holder, holder_line;
	char holder_file[48], holder_function[48];
};
/* Activity of the thread of a gp_line */
enum gp_line_state {
	GP_LINE_UNKNOWN = 0,
	GP_LINE_RUNS = 1,   /* on a CPU, or ready to run */
	GP_LINE_SLEEPS = 2, /* in a system call that ends after a time */
	GP_LINE_WAITS = 3,  /* waits for anything else */
};
#define GP_LINE_GIL 1 /* the thread holds the global interpreter lock */
#define GP_LINE_OWN 2 /* the innermost call is that of the user's own code */
#define GP_LINE_PACKAGE                                                                            \
	4 /* the user's own code has called a package, not only the standard library */
#define GP_LINE_CALLED	8  /* a package has called the user's own code */
#define GP_LINE_INPUT	16 /* the thread is in a data loader */
#define GP_LINE_COLLECT 32 /* the garbage collector runs; only with GP_LINE_GIL */
#define GP_LINE_LOCKED	64 /* the thread waits for the global interpreter lock */

/* An examination of a thread (tid): what it waited for in some seconds. Records gp_waited (its
 * longest waits) and gp_instead (processes that ran while it had no CPU) follow. Names are
 * hostile. */
struct gp_examined {
	__u64 from_ns, to_ns;
	__u64 runnable_ns; /* time ready to run, but without a CPU; see gp_instead */
	__u64 wait_ns[16]; /* time asleep, by enum gp_wait */
	__u64 block_ns;	   /* part of wait_ns: for block I/O, as the kernel counts it */
	__u64 cost_ns;	   /* time in the programs of the examination, on the busiest CPU */
	__s32 error;	   /* 0, or -errno: nothing was examined */
	__u32 flags;	   /* GP_EXAMINED_* */
	struct gp_examined_device { /* block devices of the machine, most time first */
		char name[16];	    /* "nvme0n1"; "": none */
		__u64 ns, worst_ns; /* sum and largest of the times of its requests */
		__u64 count, slow;  /* number of requests; number of those of at least 10 ms */
	} device[5];
};
#define GP_EXAMINED_DEAR   1 /* the examination exceeded the overhead budget and ended early */
#define GP_EXAMINED_BLOCKS 2 /* block devices were examined */
#define GP_EXAMINED_ASKED  4 /* the examination was made for gp-bpf explain */

#define GP_WAIT_TYPES(X) /* id, name: what a thread sleeps for */                                  \
	X(0, other)                                                                                \
	X(1, lock)   /* a lock, or another thread */                                               \
	X(2, sleep)  /* a time */                                                                  \
	X(3, events) /* several descriptors, or events of a device */                              \
	X(4, pipe)                                                                                 \
	X(5, socket)   /* a local socket, or one of unknown family */                              \
	X(6, network)  /* a socket of IPv4 or IPv6 */                                              \
	X(7, file)     /* a file or folder */                                                      \
	X(8, page)     /* a page of memory */                                                      \
	X(9, device)   /* a character device */                                                    \
	X(10, child)   /* a child process */                                                       \
	X(11, stopped) /* it was stopped by a signal or a debugger */

enum gp_wait {
#define X(id, name) GP_WAIT_##name = id,
	GP_WAIT_TYPES(X)
#undef X
		GP_WAIT_COUNT
};

/* A reason for which an examined thread (tid) slept. */
struct gp_waited {
	__u64 ns, worst_ns; /* sum and largest of the sleeps */
	__u32 count, slow;  /* number of sleeps; number of those of at least 10 ms */
	__s32 syscall;	    /* -1: none */
	__u8 wait;	    /* enum gp_wait */
	__u8 reserved[3];
	char name[128]; /* file: path, "pipe:[123]", "127.0.0.1:80"; "": none */
};

/* A process that ran on the CPU on which an examined thread (tid) waited to run. */
struct gp_instead {
	__u64 ns;
	__u32 other; /* process that ran; 0: the CPU was idle, or a quota was used up */
	__u32 reserved;
	char comm[GP_COMM_MAX];
	char group[96]; /* end of the path of its control group; "": unknown */
};

/* The accelerator of a training process, as its driver describes it. Figures that are 0 are
 * unknown, except those with a bit in flags. Names are hostile. */
struct gp_device {
	__u64 at_ns;			 /* when the figures were read, CLOCK_MONOTONIC */
	__u64 memory_used, memory_total; /* bytes, of all processes */
	/* Uncorrected memory errors (ECC) since the driver was loaded; with GP_DEVICE_ERRORS. */
	__u64 errors;
	__u32 clock_mhz, clock_max_mhz; /* clock of its processors: present, highest */
	__u32 power_mw;
	__u32 reasons; /* why the clock is not the highest: bits 1 << enum gp_device_reason */
	__u16 celsius;
	__u16 busy;    /* percent of the last second in which it worked; with GP_DEVICE_BUSY */
	__u32 flags;   /* GP_DEVICE_* */
	char name[24]; /* "GPU 3", "card1" */
};
#define GP_DEVICE_REASON 1 /* reasons is known */
#define GP_DEVICE_BUSY	 2
#define GP_DEVICE_ERRORS 4

#define GP_DEVICE_REASONS(X) /* id, name: reasons for a lower clock, the same for all vendors */   \
	X(0, idle)	     /* it has no work */                                                  \
	X(1, settings)	     /* a user set a lower clock */                                        \
	X(2, power)	     /* it would exceed its power limit */                                 \
	X(3, thermal)	     /* it is too hot */                                                   \
	X(4, hardware)	     /* the hardware slows it down: heat, power brake or power draw */     \
	X(5, power_brake)    /* the machine's power supply demands it */                           \
	X(6, sync_boost)     /* other devices of its group run more slowly */                      \
	X(7, current)	     /* the current of its supply is at a limit */                         \
	X(8, other)

enum gp_device_reason {
#define X(id, name) GP_DEVICE_##name = id,
	GP_DEVICE_REASONS(X)
#undef X
		GP_DEVICE_REASON_COUNT
};

/* Bytes that a training process and the workers of its data loader read, and failures of the
 * network, in the last second. All figures are since the previous record. TCP and interfaces are
 * those of the network namespace of the process, InfiniBand ports those of the machine, so both
 * include the traffic of other processes. Names are hostile. */
struct gp_traffic {
	__u64 at_ns;   /* when the figures were read, CLOCK_MONOTONIC */
	__u64 span_ns; /* time since they were read before */
	/* Bytes read by the process: from storage; by calls like read(2), which also read the page
	 * cache, pipes and sockets. With GP_TRAFFIC_READ. */
	__u64 storage, calls;
	/* The same, sums over all workers; with GP_TRAFFIC_WORKERS */
	__u64 worker_storage, worker_calls;
	/* TCP segments: sent the first time, sent again; with GP_TRAFFIC_TCP */
	__u64 sent, resent;
	/* Interfaces and InfiniBand ports: packets that were dropped or damaged; with
	 * GP_TRAFFIC_LINKS */
	__u64 dropped, errors;
	/* InfiniBand ports: how often the link failed; packets sent again; ticks in which data
	 * waited to be sent, of a length that depends on the port. */
	__u64 downs, rdma_resent, waits;
	__u32 workers; /* worker processes with known figures */
	__u32 flags;   /* GP_TRAFFIC_* */
	/* Interface ("eth0") or port ("mlx5_0/1") that had most failures of all kinds; "": none */
	char link[24];
};
#define GP_TRAFFIC_READ	   1
#define GP_TRAFFIC_WORKERS 2
#define GP_TRAFFIC_TCP	   4
#define GP_TRAFFIC_LINKS   8

/* Last record of a tape that was closed in order. */
struct gp_end {
	__u32 reason; /* enum gp_end_reason */
	/* status of the command that gp-bpf started, as wait(2) reports it; -1: none */
	__s32 status;
};

#define GP_KINDS(X) /* id, name, payload; the ids are on disk: append new rows, never renumber */  \
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
	X(85, stack, struct gp_stack)                                                              \
	X(86, line, struct gp_line)                                                                \
	X(88, examined, struct gp_examined)                                                        \
	X(89, waited, struct gp_waited)                                                            \
	X(90, instead, struct gp_instead)                                                          \
	X(91, input, struct gp_input)                                                              \
	X(94, ras, struct gp_ras)                                                                  \
	X(95, device, struct gp_device)                                                            \
	X(96, traffic, struct gp_traffic)                                                          \
	X(100, operation, struct gp_operation)                                                     \
	X(101, formula, struct gp_formula)

#define GP_KIND_USER 64 /* kinds from here on, except 100, are written by user space */
#define GP_KIND_MAX  128

enum gp_kind {
#define X(id, name, payload) GP_KIND_##name = id,
	GP_KINDS(X)
#undef X
};

/* Why no process was watched during a gap */
enum gp_gap_cause {
	/* gp-bpf was not running, or did not read the rings for GP_SILENT_NS, so that the BPF
	 * programs stopped sending. */
	GP_GAP_AWAY = 1,
	/* Another version of gp-bpf ran before, and its state could not be continued. */
	GP_GAP_CHANGED = 2,
};

/* Why gp-bpf ended */
enum gp_end_reason {
	GP_END_TARGETS_GONE = 0, /* all watched processes have ended */
	GP_END_USER = 1,	 /* the user ended gp-bpf: q, ^C, SIGTERM */
	GP_END_TIME = 2,	 /* time limit of --for */
	GP_END_ERROR = 3,
	GP_END_HANDOVER = 4, /* all probes stay attached for the next gp-bpf */
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
_Static_assert(sizeof(struct gp_operation) == 624, "ABI");
_Static_assert(sizeof(struct gp_formula) == GP_FORMULA_MAX, "ABI");
_Static_assert(sizeof(struct gp_program) == 152, "ABI");
_Static_assert(sizeof(struct gp_fault) == 232, "ABI");
_Static_assert(sizeof(struct gp_place) == 736, "ABI");
_Static_assert(sizeof(struct gp_notice) == 216, "ABI");
_Static_assert(sizeof(struct gp_code) == 80, "ABI");
_Static_assert(sizeof(struct gp_usage) == 56, "ABI");
_Static_assert(sizeof(struct gp_pressure) == 40, "ABI");
_Static_assert(sizeof(struct gp_stack) == 208, "ABI");
_Static_assert(sizeof(struct gp_input) == 112, "ABI");
_Static_assert(sizeof(struct gp_ras) == 200, "ABI");
_Static_assert(sizeof(struct gp_line) == 320, "ABI");
_Static_assert(sizeof(struct gp_examined) == 416, "ABI");
_Static_assert(sizeof(struct gp_waited) == 160, "ABI");
_Static_assert(sizeof(struct gp_instead) == 128, "ABI");
_Static_assert(sizeof(struct gp_device) == 80, "ABI");
_Static_assert(sizeof(struct gp_traffic) == 136, "ABI");

/* Returns the next record in memory, or NULL at the end and at a record that is cut off or shorter
 * than its header. Each record is padded to 8 bytes. Payloads are not checked. Usage:
 *
 *         for (unsigned long at = 0; (rec = gp_rec_next(data, len, &at));) */
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

/* Returns the hash of a probe's id for records and cookies; never 0. It is FNV-1a by Fowler, Noll
 * and Vo, with their offset basis and prime. The loader refuses two ids with the same hash. */
static inline __u32 gp_probe_hash(const char *id)
{
	__u32 h = 2166136261u;

	while (*id)
		h = (h ^ (unsigned char)*id++) * 16777619u;
	return h ? h : 1;
}
#endif

#endif
