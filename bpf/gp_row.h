/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_row.h - structures that user space passes to the BPF programs: gp_row, what a probe captures;
 * gp_watch, which processes are watched. Part of gp_abi.h, whose rules apply, and included only
 * there. */
#ifndef GP_ROW_H
#define GP_ROW_H

/* A captured scalar. Registers are numbered in the order in which the architecture passes C
 * arguments (x86-64: rdi rsi rdx rcx r8 r9; arm64: x0-x7). The loader translates C positions and
 * the ABI into them. */
struct gp_capture {
	__u8 source;		     /* GP_SRC_* or register number */
	__u8 derefs;		     /* number of pointers to follow; 0: the value itself */
	__u8 width;		     /* bytes of the final value: 1, 2, 4 or 8 */
	__u8 flags;		     /* GP_CAPTURE_* */
	__s16 stack;		     /* with GP_SRC_STACK: byte offset from sp */
	__s16 offset[GP_DEREFS_MAX]; /* added before the dereference with this index */
};
#define GP_CAPTURE_LATE 1 /* follow the pointers when the call returns */
#define GP_SRC_NONE	0xff
#define GP_SRC_STACK	0xfe

struct gp_keep { /* names with (first 8 bytes & mask) == value are exempt from max_hz */
	__u64 value, mask;
};

struct gp_row {
	__u32 probe;  /* hash of the stable id; copied into records */
	__u32 gen;    /* generation: hits whose cookie has another generation are ignored */
	__u32 next;   /* generation of the links that are replacing others now; 0: none */
	__u32 max_hz; /* limit of records per second and process; hits beyond it are only counted;
			 0: no limit */
	__u8 flags;   /* GP_ROW_* */
	__u8 hot;     /* with GP_ROW_COUNT: index of the hot counter */
	__u8 nkeep;
	__u8 string;	/* 1: pointer to the text; 2: pointer to that pointer (std::string) */
	__u8 unless_of; /* GP_UNLESS_*: the value of a call that is compared with unless[] */
	__u8 nunless;	/* number of values in unless[]: a call with one of them is not sent */
	__u8 nargs;
	__u8 reserved;
	__s32 unless[GP_UNLESS];
	struct gp_capture name; /* how to find the string; source GP_SRC_NONE: no string */
	struct gp_capture arg[GP_ARGS];
	struct gp_capture only; /* hits are ignored unless this value equals only_value; source
				   GP_SRC_NONE: no condition */
	__u64 only_value;
	struct gp_keep keep[GP_KEEP];
};
#define GP_ROW_COUNT	 1  /* count hits, do not send them */
#define GP_ROW_MAY_BLOCK 2  /* a call of this row may block for long: see gp_open_calls */
#define GP_ROW_ANON	 4  /* the range has no name */
#define GP_ROW_UNSENT	 8  /* over the overhead budget: count hits for now, do not send them */
#define GP_ROW_WAKE	 16 /* wake user space to read the record at once */
#define GP_ROW_KEPT_ONLY 32 /* send only texts that begin with an entry of keep[] */
/* Send only the first hit on a thread after each hit of a row with GP_ROW_ARMS. */
#define GP_ROW_ONCE 64
#define GP_ROW_ARMS 128

#define GP_UNLESS_NONE	 0
#define GP_UNLESS_RETURN 1 /* the return value */
/* GP_UNLESS_ARG + i: captured value i, of which the low 32 bits are compared. */
#define GP_UNLESS_ARG 2

/* Cookie of a link: row in the low half, generation in the high half. */
#define GP_COOKIE(row, gen) ((__u64)(gen) << 32 | (row))

struct gp_watch {	/* value of gp_watched, key: tgid */
	__u64 start_ns; /* start_boottime of the process; 0: not yet known */
	__u32 slot;
	__u32 flags;
	__u64 mapped_ns;  /* when the last gp_map was sent */
	__u64 signal_ns;  /* start of the second of the rate limit below */
	__u32 signals[2]; /* records sent since signal_ns: of signals with a handler, of others */
	__u64 file_ns;	  /* start of the second of the rate limit below */
	__u32 files[2];	  /* records sent since file_ns: with GP_FILE_KNOWN, others */
	__u64 written_ns; /* when the process last wrote a file */
};

/* The kernel side stops sending when no process has read the rings for this time. */
#define GP_SILENT_NS 60000000000ull

struct gp_open_call { /* value of gp_open_calls, key: tid << 32 | row */
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
