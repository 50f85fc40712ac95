/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_row.h - structures that user space passes to the BPF programs: gp_row says what a probe
 * captures, and gp_watch which processes are watched. This is a part of gp_abi.h: its rules apply,
 * and only gp_abi.h includes this header. */
#ifndef GP_ROW_H
#define GP_ROW_H

/* How to capture one value of a call. Registers are numbered in the order in which the architecture
 * passes C arguments (x86-64: rdi rsi rdx rcx r8 r9; arm64: x0 to x7). The loader finds the
 * register for an argument by the function's ABI. */
struct gp_capture {
	__u8 source; /* GP_SRC_*, or the number of a register */
	__u8 derefs; /* number of pointers to follow; 0: the captured value itself is the result */
	__u8 width;  /* size of the result in bytes: 1, 2, 4 or 8 */
	__u8 flags;  /* GP_CAPTURE_* */
	__s16 stack; /* with GP_SRC_STACK: byte offset from sp */
	__s16 offset[GP_DEREFS_MAX]; /* added to the address before pointer i is followed */
};
#define GP_CAPTURE_LATE	  1 /* the pointers are followed when the call returns */
#define GP_CAPTURE_TENSOR 2 /* the value is the address of a tensor's object, which is copied */
#define GP_CAPTURE_LIST	  4 /* the value is the address of a list, of which a part is copied */
#define GP_SRC_NONE	  0xff
#define GP_SRC_STACK	  0xfe

/* Names that are exempt from max_hz: those with (first 8 bytes & mask) == value. */
struct gp_keep {
	__u64 value, mask;
};

/* A row of the probe files: what a hit of its probe records, and when */
struct gp_row {
	__u32 probe; /* hash of the probe's id, which is copied into records */
	/* Generation of the links in use: hits whose cookie contains another generation are
	 * ignored. */
	__u32 gen;
	__u32 next; /* generation of the links that are replacing others at present; 0: none */
	/* Limit of records per second and process; 0: no limit. Hits over the limit are only
	 * counted. */
	__u32 max_hz;
	__u8 flags; /* GP_ROW_* */
	__u8 hot;   /* with GP_ROW_COUNT: index of the row's counter */
	__u8 nkeep;
	/* how the captured value leads to the text: 1: pointer; 2: pointer to a pointer
	 * (std::string) */
	__u8 string;
	__u8 unless_of; /* GP_UNLESS_*: which value of a call is compared with unless[] */
	__u8 nunless;	/* number of values in unless[]; a call that has one of them is not sent */
	__u8 nargs;
	__u8 reserved;
	__s32 unless[GP_UNLESS];
	struct gp_capture name; /* where the string is; source GP_SRC_NONE: there is none */
	struct gp_capture arg[GP_ARGS];
	/* Condition: hits count only if this value equals only_value. Source GP_SRC_NONE: no
	 * condition. */
	struct gp_capture only;
	__u64 only_value;
	struct gp_keep keep[GP_KEEP];
};
#define GP_ROW_COUNT	 1  /* only count hits */
#define GP_ROW_MAY_BLOCK 2  /* a call may block for long, so it is reported while it is open */
#define GP_ROW_ANON	 4  /* ranges of this row have no name */
#define GP_ROW_UNSENT	 8  /* over the overhead budget: hits are only counted for now */
#define GP_ROW_WAKE	 16 /* wake user space, so that it reads the record at once */
#define GP_ROW_KEPT_ONLY 32 /* send only names that begin with an entry of keep[] */
/* After each hit of a row with GP_ROW_ARMS in the process, send only the first hit of this row on
 * each thread. */
#define GP_ROW_ONCE 64
#define GP_ROW_ARMS 128

#define GP_UNLESS_NONE	 0
#define GP_UNLESS_RETURN 1 /* the return value */
/* GP_UNLESS_ARG + i: the low 32 bits of captured value i */
#define GP_UNLESS_ARG 2

/* Cookie of a link: the lower half is the row's index, the upper half the generation. */
#define GP_COOKIE(row, gen) ((__u64)(gen) << 32 | (row))

/* A watched process. Value of gp_watched; the key is the tgid. */
struct gp_watch {
	__u64 start_ns; /* start of the process, CLOCK_BOOTTIME; 0: not known yet */
	__u32 slot;
	__u32 flags;
	__u64 mapped_ns; /* time of the last gp_map record */
	__u64 signal_ns; /* start of the second in which signals[] are counted */
	/* number of signal records since signal_ns: with a handler, without one */
	__u32 signals[2];
	__u64 file_ns;	  /* start of the second in which files[] are counted */
	__u32 files[2];	  /* number of file records since file_ns: with GP_FILE_KNOWN, others */
	__u64 written_ns; /* time when the process last wrote a file */
};

/* The BPF programs stop sending if no process has read the rings for this time (ns). */
#define GP_SILENT_NS 60000000000ull

/* A call that was entered and has not returned. Value of gp_open_calls; the key is tid << 32 |
 * row. */
struct gp_open_call {
	__u64 ts_ns;
	__u32 pid;
	__u32 probe;
	__u64 arg[GP_ARGS];
};

#ifndef __bpf__
_Static_assert(sizeof(struct gp_capture) == 12, "ABI");
_Static_assert(sizeof(struct gp_row) % 8 == 0, "ABI");
#endif

#endif
