/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_private.h - definitions shared by loader/ and the BPF programs only: sizes and values of maps,
 * and the output of the mapping iterator. Nothing here reaches a record or the tape. */
#ifndef GP_PRIVATE_H
#define GP_PRIVATE_H

#include "bpf/gp_abi.h"

#define GP_WATCH_MAX   8192  /* processes watched at once */
#define GP_THREADS_MAX 16384 /* threads whose open ranges are tracked */
#define GP_OPEN_MAX    16384 /* (thread, row probed at entry and return) pairs */
#define GP_RATES_MAX   4096  /* (process, row with max_hz) pairs */
#define GP_NAMES_MAX   4096  /* (process, row with max_hz, name that is not exempt) triples */
#define GP_SWAPS_MAX   4096  /* (thread, row) pairs that hit while links are being replaced */
/* Entries of each of the two tables that find processes and threads without hashing. */
#define GP_FAST_MAX  4096
#define GP_FILES_MAX 4096 /* (process, descriptor) pairs of files being written or read */
#define GP_KNOWN_MAX 8192 /* files written by watched processes */
/* Rows probed at entry and return, whose open calls are deleted when their thread ends. */
#define GP_RETURN_ROWS_MAX 128
#define GP_PREFIXES_MAX	   64	/* prefixes of library names */
#define GP_UNWATCHED_MAX   1024 /* unwatched processes reported recently */
/* Copies of the hot counters, chosen by CPU, so that CPUs rarely share a cache line. */
#define GP_LANES	 16
#define GP_LANE_COUNTERS (GP_SLOTS * GP_HOT_ROWS)
#define GP_SECOND_NS	 1000000000ull /* window of all rate limits */

/* Value of gp_watched_fast at tgid % GP_FAST_MAX; 0: no process. Processes whose entry is taken by
 * another one are found in gp_watched, which contains all. */
#define GP_FAST(tgid, slot) ((__u64)(slot) << 32 | (tgid))

/* Open ranges of a thread: value of gp_threads (key: tid), or of gp_threads_fast at tid %
 * GP_FAST_MAX for the one thread that owns the entry. */
struct gp_thread {
	__u64 sent; /* bit d: the begin of the range at depth d was sent, so its end will be sent */
	__u64 claims; /* fast entry: number of threads that tried to take it; the thread that
			 changed it to 1 owns it */
	__u32 depth;
	__u32 tid;   /* fast entry: thread that owns it; 0: free, or unusable because two threads
			tried to take it at once */
	__u64 epoch; /* epoch of the process (gp_epochs) for which `once` is valid */
	__u64 once;  /* bit row % 64: the row's first hit in this epoch was sent */
};

/* The only value of gp_meta. The BPF programs read heartbeat_ns and may set silent; the other
 * fields let a successor check whether it can take over. */
struct gp_meta {
	__u64 heartbeat_ns; /* CLOCK_MONOTONIC of the last loader_heartbeat() */
	__u64 silent; /* 1: no heartbeat for GP_SILENT_NS; hits are ignored until this is 0 again */
	__u64 abi;    /* hash of everything that both sides must agree on */
	__u64 probes; /* hash of the probe rows */
	__u64 programs; /* hash of the programs that the links run */
	__u64 losses_saved[16];
	__u32 complete; /* everything is pinned, so a successor may take over */
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

struct gp_rate {
	__u64 start_ns; /* start of the current second */
	__u64 count;	/* records sent in that second */
	__u64 unsent; /* total of hits that were not sent: over the limit, or of a row that is only
			 counted */
};

/* A range name chosen by users, by its hash. Names with the same hash share one limit. */
struct gp_name_key {
	__u64 hash;
	__u32 row, tgid;
};

struct gp_name {
	__u64 start_ns; /* start of the row's second to which count belongs */
	__u64 count;
};

/* Once half of a row's limit is used up, one name may use 1/GP_NAME_PART of the limit: a loop over
 * one name leaves room for rare names. */
#define GP_NAME_PART 8

/* Value of gp_files, key: tgid << 32 | descriptor. */
struct gp_file_open {
	__u64 since_ns;
	__u64 dev, ino;
	__u32 writes;
	__u32 flags; /* GP_FILE_* */
};

struct gp_file_key { /* key of gp_known */
	__u64 dev, ino;
};

/* Prefix of a file name, as in memory; a mask of zeros ends the list. probe_names
 * (loader/probe/probe_file.h) chooses them and also checks the rest of a name. */
#define GP_PREFIX_BYTES 16
struct gp_prefix {
	__u64 text[2], mask[2];
};

struct gp_vma {	   /* output of gp_vma.h for each executable file mapping of one process */
	__u64 dev; /* kernel's dev_t (major << 20 | minor), not that of stat(2) */
	__u64 ino;
	__u64 start, end;
	/* Distinguishes the file from an earlier one with the same inode number. */
	__u32 generation;
	__u32 name; /* hash of the name, differs between two names of one file; 0: unknown */
	__u64 page; /* page of the file that is mapped at start */
};

#endif
