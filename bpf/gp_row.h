/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_row.h - what user space tells the programs: struct gp_row what one probe captures, struct
 * gp_watch who is watched. Part of gp_abi.h, whose rules it keeps, and included by nothing else. */
#ifndef GP_ROW_H
#define GP_ROW_H

/* One captured scalar. Registers are numbered as the architecture passes C arguments (x86-64: rdi
 * rsi rdx rcx r8 r9; arm64: x0-x7); the loader has turned C positions and ABI into them. */
struct gp_capture {
	__u8 source;		     /* GP_SRC_* or register number */
	__u8 derefs;		     /* 0: the value itself; n: follow that many pointers */
	__u8 width;		     /* bytes of the final value: 1, 2, 4, 8 */
	__u8 flags;		     /* GP_CAPTURE_* */
	__s16 stack;		     /* byte offset from sp when source is GP_SRC_STACK */
	__s16 offset[GP_DEREFS_MAX]; /* added before the dereference of this number */
};
#define GP_CAPTURE_LATE 1 /* of a call: the pointers are followed when it returns */
#define GP_SRC_NONE	0xff
#define GP_SRC_STACK	0xfe

struct gp_keep { /* a name whose first 8 bytes & mask == value is exempt from max_hz */
	__u64 value, mask;
};

struct gp_row {
	__u32 probe; /* hash of the stable id, copied into records */
	__u32 gen;   /* a hit counts only when the cookie's generation is this one */
	__u32 next;  /* generation of links that are taking the place of others just now; 0: none */
	__u32 max_hz; /* records a second and process beyond which hits are counted only; 0: no
			 bound */
	__u8 flags;   /* GP_ROW_* */
	__u8 hot;     /* index of the hot counter when GP_ROW_COUNT */
	__u8 nkeep;
	__u8 string;	/* 1: the pointer is the text; 2: it points to the pointer (std::string) */
	__u8 unless_of; /* what of a call decides that it is not told: GP_UNLESS_*, ... */
	__u8 nunless;	/* ... when it is one of so many values */
	__u8 nargs;
	__u8 reserved;
	__s32 unless[GP_UNLESS];
	struct gp_capture name; /* where the string is; source GP_SRC_NONE: none */
	struct gp_capture arg[GP_ARGS];
	struct gp_capture only; /* hit is ignored unless this value ... */
	__u64 only_value;	/* ... equals this; source GP_SRC_NONE: no condition */
	struct gp_keep keep[GP_KEEP];
};
#define GP_ROW_COUNT	 1 /* count, do not send */
#define GP_ROW_MAY_BLOCK 2 /* visible in gp_open_calls while it runs */
#define GP_ROW_ANON	 4 /* range without a name */
#define GP_ROW_UNSENT	 8 /* over the budget: hits are counted as those over a bound are, for now */
#define GP_ROW_WAKE	 16 /* user space is to read the record at once */
#define GP_ROW_KEPT_ONLY 32 /* texts that begin with none of keep[] are not told */
#define GP_ROW_ONCE                                                                                \
	64 /* only the first hit on a thread after each hit of a GP_ROW_ARMS row is sent */
#define GP_ROW_ARMS 128

#define GP_UNLESS_NONE	 0
#define GP_UNLESS_RETURN 1 /* the return value, or ... */
#define GP_UNLESS_ARG	 2 /* ... GP_UNLESS_ARG + i: captured value i; the low 32 bits of either */

/* Cookie of a link: row in the low half, generation in the high half. */
#define GP_COOKIE(row, gen) ((__u64)(gen) << 32 | (row))

struct gp_watch {	/* value of gp_watched, key: tgid */
	__u64 start_ns; /* start_boottime; 0: not known yet */
	__u32 slot;
	__u32 flags;
	__u64 mapped_ns;  /* when the last gp_map was sent */
	__u64 signal_ns;  /* when the second began that counts ... */
	__u32 signals[2]; /* ... signals with a handler, and others */
	__u64 file_ns;	  /* when the second began that counts ... */
	__u32 files[2];	  /* ... records of files, GP_FILE_KNOWN or not */
	__u64 written_ns; /* it wrote the last of them */
};

#define GP_SILENT_NS 60000000000ull /* nobody reads for so long: the kernel side stops to tell */

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
