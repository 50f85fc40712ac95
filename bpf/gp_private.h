/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_private.h - what only loader/ and the BPF programs share: sizes and values of maps, and the
 * output of the mapping iterator. Nothing here is part of a record or a tape. */
#ifndef GP_PRIVATE_H
#define GP_PRIVATE_H

#include "bpf/gp_abi.h"

/* Sizes of maps. GP_WATCH_MAX: watched processes. GP_THREADS_MAX: threads with open ranges.
 * GP_OPEN_MAX: pairs of a thread and a row that is probed at entry and return. GP_RATES_MAX: pairs
 * of a process and a row with max_hz; GP_NAMES_MAX: such pairs, with a name that is not exempt from
 * the limit. GP_SWAPS_MAX: pairs of a thread and a row that hit while links are being replaced. */
#define GP_WATCH_MAX   8192
#define GP_THREADS_MAX 16384
#define GP_OPEN_MAX    16384
#define GP_RATES_MAX   4096
#define GP_NAMES_MAX   4096
#define GP_SWAPS_MAX   4096
/* Number of entries in gp_watched_fast and in gp_threads_fast, which find a process or thread by
 * index instead of by hash. */
#define GP_FAST_MAX 4096
/* Maximum number of files that are being written or read: pairs of a process and a descriptor. */
#define GP_FILES_MAX 4096
/* Maximum number of files known to have been written by watched processes. */
#define GP_KNOWN_MAX 8192
/* Maximum number of rows that are probed at entry and return. When a thread ends, its open calls of
 * these rows are deleted. */
#define GP_RETURN_ROWS_MAX 128
/* Maximum number of prefixes of library names. */
#define GP_PREFIXES_MAX 64
/* Maximum number of unwatched processes of which the last report is remembered. */
#define GP_UNWATCHED_MAX 1024
/* Number of copies ("lanes") of the counters of hot calls. A CPU chooses one by its number, so that
 * CPUs rarely share a cache line. */
#define GP_LANES	 16
#define GP_LANE_COUNTERS (GP_SLOTS * GP_HOT_ROWS)
#define GP_SECOND_NS	 1000000000ull /* all rate limits are per second */

/* Value of gp_watched_fast at index tgid % GP_FAST_MAX; 0: no process. If several processes have
 * the same index, all but one of them are only in gp_watched, which contains all watched
 * processes. */
#define GP_FAST(tgid, slot) ((__u64)(slot) << 32 | (tgid))

/* Open ranges of a thread. It is the value of gp_threads (key: tid), or of gp_threads_fast at index
 * tid % GP_FAST_MAX for the thread that owns this entry. */
struct gp_thread {
	/* bit d: the begin of the range with depth d was sent, so its end must be sent */
	__u64 sent;
	/* In gp_threads_fast: number of threads that tried to take the entry. The thread that
	 * changed it to 1 owns the entry. */
	__u64 claims;
	__u32 depth;
	/* In gp_threads_fast: thread that owns the entry. 0: it is free, or unusable because two
	 * threads tried to take it at the same time. */
	__u32 tid;
	__u64 epoch; /* epoch of the process (gp_epochs) for which `once` is valid */
	__u64 once;  /* bit (row % 64): a hit of the row was sent in this epoch */
};

/* The only value of the map gp_meta. The BPF programs read heartbeat_ns and may set silent. By the
 * other fields the next gp-bpf decides whether it can continue with these maps and links. */
struct gp_meta {
	__u64 heartbeat_ns; /* time of the last loader_heartbeat(), CLOCK_MONOTONIC */
	/* 1: there was no heartbeat for GP_SILENT_NS. Hits are ignored until this is 0 again. */
	__u64 silent;
	__u64 abi;	/* hash of all formats that user space and the BPF programs must agree on */
	__u64 probes;	/* hash of all rows of the probe files */
	__u64 programs; /* hash of the BPF programs that the links run */
	__u64 losses_saved[16];
	__u32 complete; /* everything is pinned, so the next gp-bpf can take over */
	__u32 owner;	/* process that reads the rings, or read them last */
	char boot_id[40];
	char state_dir[256];
};
_Static_assert(GP_LOSS_CAUSE_COUNT <= 16, "losses_saved");

struct gp_rate_key {
	__u32 row, tgid;
};

struct gp_swap_key {
	__u32 tid, row;
};

/* Counts of a row in one process, for its rate limit */
struct gp_rate {
	__u64 start_ns; /* start of the present second */
	__u64 count;	/* number of records sent in the present second */
	/* Total of hits that were not sent, because they exceeded the limit or the row is only
	 * counted. */
	__u64 unsent;
};

/* A range name from the user's code, as its hash. Names with the same hash share one limit. */
struct gp_name_key {
	__u64 hash;
	__u32 row, tgid;
};

/* Number of records with one name in one second */
struct gp_name {
	__u64 start_ns; /* start of the second to which `count` belongs */
	__u64 count;
};

/* When half of a row's rate limit is used up, one name may use only 1/GP_NAME_PART of the limit. So
 * rare names are still recorded if a loop uses one name very often. */
#define GP_NAME_PART 8

/* A file that a process has open. Value of gp_files; the key is tgid << 32 | descriptor. */
struct gp_file_open {
	__u64 since_ns;
	__u64 dev, ino;
	__u32 writes;
	__u32 flags; /* GP_FILE_* */
};

struct gp_file_key { /* key of gp_known */
	__u64 dev, ino;
};

/* First bytes of a file name. A mask of zeros ends the list. probe_names
 * (loader/probe/probe_file.h) makes the list, and also checks the rest of each name. */
#define GP_PREFIX_BYTES 16
struct gp_prefix {
	__u64 text[2], mask[2];
};

/* Output of gp_vma.h for each file that a process has mapped executable. */
struct gp_vma {
	/* dev_t of the kernel (major << 20 | minor), which differs from that of stat(2) */
	__u64 dev;
	__u64 ino;
	__u64 start, end;
	/* Generation of the inode: differs between two files that had the same inode number at
	 * different times. */
	__u32 generation;
	__u32 name; /* hash of the file name, differs between two links to one file; 0: unknown */
	__u64 page; /* page of the file that is mapped at `start` */
};

/* ---- examinations: the threads to examine, and the sums kept by examine.bpf.c ---------------- */

#define GP_EXAM_THREADS 16   /* threads examined at once */
#define GP_EXAM_CALLS	512  /* system calls below this number are reported separately */
#define GP_EXAM_WAITS	1024 /* pairs that are kept: a thread, and a reason of its waits */
/* pairs that are kept: a thread that waits for a CPU, and a process that runs there */
#define GP_EXAM_RAN	 1024
#define GP_EXAM_DEVICES	 64
#define GP_EXAM_SLOW_NS	 10000000ull /* a wait or request of this length counts as slow */
#define GP_EXAM_NAME_MAX 40
#define GP_EXAM_TIMED	 64 /* only one of this many runs of a program is timed */
/* Most time (ns) that a timed run counts: a longer one was interrupted, or its CPU was taken by the
 * host of a virtual machine. */
#define GP_EXAM_TIMED_MAX 10000

/* The threads to examine. Each program reads this at each run, so it is small. */
struct gp_exam_scan {
	__u64 from_ns;	/* when the examination began */
	__u64 until_ns; /* the programs do nothing after this time */
	__u32 count;	/* threads that are examined */
	__u32 reserved;
	__u32 tid[GP_EXAM_THREADS];
	/* CPU + 1 on which the thread waits to run; 0: it runs or sleeps */
	__u32 waits_on[GP_EXAM_THREADS];
	__u8 call[GP_EXAM_CALLS]; /* enum gp_exam_call of each system call */
};

/* Kinds of system calls, by the argument that shows what they wait for */
enum gp_exam_call {
	GP_EXAM_CALL_OTHER,
	GP_EXAM_CALL_FD,   /* its first argument is a descriptor */
	GP_EXAM_CALL_POLL, /* waits for many descriptors, like poll(2) */
};

struct gp_exam_key {   /* reason of a wait */
	__u32 thread;  /* index in gp_exam_scan.tid */
	__s32 syscall; /* -1: none, as in a page fault; or GP_EXAM_BEFORE */
	__u64 ino;
	__u32 dev;
	__s32 fd;    /* -1: the call has none */
	__u16 type;  /* type of the descriptor's file: i_mode >> 12; 0: none, or unknown */
	__u16 flags; /* GP_EXAM_* */
	__u32 reserved;
};
#define GP_EXAM_BEFORE (-2) /* the thread slept already when the examination began */
#define GP_EXAM_IO     1    /* the kernel counts the wait as one for block I/O */
#define GP_EXAM_INET   2    /* the file is a socket of IPv4 or IPv6 */
#define GP_EXAM_KNOWN  4    /* the kernel's struct file was read: type, dev and ino are valid */

/* Sum of the sleeps for one reason (gp_exam_key) */
struct gp_exam_wait {
	__u64 ns, worst_ns;
	__u32 count, slow;
	__u32 address; /* IPv4 address of the peer, in network order; 0: unknown */
	__u16 port;    /* port of the peer, in network order */
	__u16 reserved;
	char name[GP_EXAM_NAME_MAX]; /* last component of the file's path; may contain any bytes */
};

/* State of an examined thread */
struct gp_exam_thread {
	__u64 left_ns;	/* when the thread left its CPU; 0: it runs */
	__u64 woken_ns; /* when the thread became runnable after left_ns; 0: it sleeps */
	__u64 runnable_ns;
	__u64 seen;		/* 1: the thread left a CPU, came to one, or was woken */
	struct gp_exam_key key; /* reason of the present or last sleep */
};

struct gp_exam_pair {
	__u32 thread;
	__u32 pid; /* process that ran while the thread was runnable; 0: none did */
};

struct gp_exam_ran {
	__u64 ns;
	__u64 comm[2]; /* name of the process, 16 bytes of any value */
};

struct gp_exam_device {
	__u64 count, slow, ns, worst_ns;
};

/* State of one CPU in an examination */
struct gp_exam_cpu {
	__u64 since_ns; /* time of the last switch on this CPU */
	__u64 runs;	/* number of runs of BPF programs */
	__u64 cost_ns;	/* time (ns) in the BPF programs, estimated from the runs that are timed */
};

#endif
