/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_private.h - what only loader/ and the kernel side know of each other: sizes and values of
 * maps, and the lines of the mapping iterator. Nothing here reaches a record or the tape. */
#ifndef GP_PRIVATE_H
#define GP_PRIVATE_H

#include "bpf/gp_abi.h"

#define GP_WATCH_MAX   8192  /* processes watched at once */
#define GP_THREADS_MAX 16384 /* threads whose ranges are followed */
#define GP_OPEN_MAX    16384 /* (thread, entry+return row) pairs */
#define GP_RATES_MAX   4096  /* (process, row with max_hz) pairs */
#define GP_NAMES_MAX   4096  /* (process, row with max_hz, name that is not exempt) triples */
#define GP_SWAPS_MAX   4096  /* (thread, row) pairs that hit while links are being replaced */
#define GP_FAST_MAX                                                                                \
	4096 /* places for processes, and for threads, that are found without hashing              \
	      */
#define GP_FILES_MAX                                                                               \
	4096 /* (process, descriptor) pairs of files that are being written or read                \
	      */
#define GP_KNOWN_MAX	   8192 /* files that were written */
#define GP_RETURN_ROWS_MAX 128	/* entry+return rows whose open calls die with their thread */
#define GP_PREFIXES_MAX	   64	/* beginnings of names of libraries */
#define GP_UNWATCHED_MAX   1024 /* unwatched processes reported recently */
#define GP_LANES                                                                                   \
	16 /* copies of the hot counters, chosen by CPU, so that cores rarely share a line */
#define GP_LANE_COUNTERS (GP_SLOTS * GP_HOT_ROWS)
#define GP_SECOND_NS	 1000000000ull /* in which every bound of a rate counts */

/* Value of gp_watched_fast at tgid % GP_FAST_MAX; 0: no process. A process whose place is taken by
 * another one is looked up in gp_watched, which has all. */
#define GP_FAST(tgid, slot) ((__u64)(slot) << 32 | (tgid))

/* A thread's open ranges: value of gp_threads (key: tid), or of gp_threads_fast at tid %
 * GP_FAST_MAX for the one thread that has that place. */
struct gp_thread {
	__u64 sent;   /* bit d: the begin of the range at depth d was sent, so its end will be */
	__u64 claims; /* of the fast place; whoever made it 1 has it */
	__u32 depth;
	__u32 tid;   /* of the fast place; 0: free, or claimed by two at once and left alone */
	__u64 epoch; /* of its process (gp_epochs) that sent is of */
	__u64 once;  /* bit row % 64: the row's first hit of this epoch was sent */
};

/* The one value of gp_meta. The kernel side reads the heartbeat and may set silent; all else is for
 * a successor, who must find a kernel side that it understands. */
struct gp_meta {
	__u64 heartbeat_ns; /* CLOCK_MONOTONIC when somebody last read the rings */
	__u64 silent;	/* nobody did for GP_SILENT_NS: hits are ignored until this is 0 again */
	__u64 abi;	/* hash of everything both sides must agree on */
	__u64 probes;	/* hash of the probe rows */
	__u64 programs; /* hash of the programs that the links run */
	__u64 losses_saved[16];
	__u32 complete; /* everything below is pinned: may be adopted */
	__u32 owner;	/* process that reads, or read last */
	char boot_id[40];
	char state_dir[256];
};
_Static_assert(GP_LOSS_CAUSE_COUNT <= 16, "losses_told");

struct gp_rate_key {
	__u32 row, tgid;
};

struct gp_swap_key {
	__u32 tid, row;
};

struct gp_rate {
	__u64 start_ns; /* of this second */
	__u64 count;	/* sent in it */
	__u64 unsent;	/* hits ever that were not sent: over the bound, or of a row that is counted
			   only */
};

/* A name that users chose, by its hash. A name that shares it with another shares its part. */
struct gp_name_key {
	__u64 hash;
	__u32 row, tgid;
};

struct gp_name {
	__u64 start_ns; /* of the row's second that count is of */
	__u64 count;
};

/* What one name may have of its row's bound once half of that is used up: a loop over one name
 * leaves room for the rare ones, and eight such loops are needed to take it all. */
#define GP_NAME_PART 8

/* Value of gp_files, key: tgid << 32 | descriptor. */
struct gp_file_open {
	__u64 since_ns;
	__u64 dev, ino;
	__u32 writes;
	__u32 flags; /* GP_FILE_* */
};

struct gp_file_key { /* of gp_known */
	__u64 dev, ino;
};

/* The beginning of a file's name, as it lies in memory; a mask of zeros ends the list. Which names
 * those are is decided by probe_names (loader/probe/probe_file.h), which knows what comes behind
 * too. */
#define GP_PREFIX_BYTES 16
struct gp_prefix {
	__u64 text[2], mask[2];
};

struct gp_vma {	   /* what gp_vma.h writes for each executable file mapping of one process */
	__u64 dev; /* kernel's dev_t (major << 20 | minor), not stat's */
	__u64 ino;
	__u64 start, end;
	__u32 generation; /* tells a reused inode number from the file it named before */
	__u32 name;	  /* differs between two names of one file; 0: unknown */
	__u64 page;	  /* of the file, at start */
};

#endif
