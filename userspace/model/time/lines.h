/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - at which lines of the user's own Python code the training thread spends its time, from
 * samples (gp_line), and how much more it is during a slowdown.
 *
 * Only the host's own time counts for a line: the thread runs Python code (it holds the
 * interpreter's lock) that the line has not called through a package, or the line itself sleeps.
 * Time in which the thread waits, or is in a data loader or in native code without the lock, does
 * not count: the thread may wait for the device, another rank, or input.
 *
 * The error of a share p of n samples is about sqrt(p (1 - p) / n): of 100 samples, 5 % of the time
 * for p = 50 %. A line counts as slower only if its share grew by more than 3.5 times that error,
 * and its time in each step has at least doubled. So a machine on which everything is slower has no
 * such line.
 *
 * Pure; under 24 KiB. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_LINES_H
#define MODEL_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define LINES_SAMPLES 1024 /* number of last samples that are kept */
/* number of lines that are distinguished; samples at further lines count for no line */
#define LINES_KEPT     32
#define LINES_TEXT_MAX 112 /* bytes of "train.py:31 in step()", terminator included */
#define LINES_TOP      3

/* Sums of the samples in a span of time. A sample counts as the time for which it stands. */
struct lines_sums {
	uint32_t n;
	/* time of all samples; of those in the garbage collector; of those in a data loader; of
	 * those in which the thread waits for the interpreter's lock, which a thread that saves a
	 * checkpoint has (saved_ns), or another one (locked_ns); of those in which it waits for
	 * anything else */
	uint64_t ns, collect_ns, input_ns, locked_ns, saved_ns, waits_ns;
	double squares; /* sum of the squares of the samples' times */
	uint32_t count;
	struct lines_sum {
		uint64_t line, function; /* hashes of their names */
		uint64_t ns;		 /* host's own time at the line, defined above */
		/* part of ns in which the line was not called by the code of a package */
		uint64_t outside_ns;
	} of[LINES_KEPT];
};

struct lines_slower {	     /* by how much each step grew */
	uint64_t own_ns;     /* at lines of user code whose time has certainly grown */
	uint64_t collect_ns; /* in the garbage collector; 0: not certain */
	uint64_t locked_ns;  /* waiting for the interpreter's lock; 0: not certain */
	/* waiting for that lock while a thread that saves a checkpoint has it; 0: not certain */
	uint64_t saved_ns;
	uint64_t waits_ns;	   /* waiting for anything else, not for input; 0: not certain */
	char line[LINES_TEXT_MAX]; /* line that has grown most; "" if own_ns is 0 */
};

/* Activity of a thread at a sample */
enum lines_use {
	LINES_NOT_OWN, /* none of these */
	/* runs, or sleeps in, the user's code, called by a package, such as forward() of a module
	 */
	LINES_OWN,
	LINES_OUTSIDE, /* runs, or sleeps in, the user's code that no package has called */
	LINES_COLLECT, /* runs the garbage collector */
	LINES_INPUT,   /* is in a data loader */
	LINES_LOCKED,  /* waits for the interpreter's lock; the line is that of the holder */
	LINES_SAVED,   /* the same, and the holder saves a checkpoint */
	LINES_WAITS,   /* waits for anything else */
	LINES_USE_COUNT,
};

struct lines_top {
	char line[LINES_TEXT_MAX]; /* "": unused */
	double share;		   /* share of the time at this line, 0 to 1 */
	/* Of lines_most(): the line itself did this, not the package that it had called. */
	bool own;
};

/* Where a thread was at its last sample, as text for users. */
struct lines_last {
	char text[2 * LINES_TEXT_MAX]; /* "all_reduce at train.py:88"; "": unknown */
	bool waits;
	uint64_t since_ns; /* time since which all samples were in this function */
	uint64_t at_ns;	   /* time of the last sample */
};

struct lines;
struct lines *lines_new(void); /* NULL: no memory */
void lines_free(struct lines *l);
/* Adds a sample that arrived at now_ns. Invalid samples are ignored. saves: the thread that holds
 * the interpreter's lock saves a checkpoint. */
void lines_add(struct lines *l, uint64_t now_ns, const struct gp_line *line, bool saves);
uint64_t lines_count(const struct lines *l); /* samples ever */
/* Sums the samples of a span, each weighted by the time for which it stands (gp_line.span_us).
 * evenly: all samples have the same weight, which is more exact if the steps do not change within
 * the span. */
void lines_between(const struct lines *l, uint64_t from_ns, uint64_t to_ns, bool evenly,
		   struct lines_sums *ret);
/* Compares two spans, in which a step took before_ns and after_ns. Sets *ret to 0 if there are too
 * few samples. */
void lines_slower(const struct lines *l, const struct lines_sums *before, uint64_t before_ns,
		  const struct lines_sums *after, uint64_t after_ns, struct lines_slower *ret);
/* Fills ret[LINES_TOP] with the lines of user code at which the most time was spent, the largest
 * share first. Time in which a package had called the code does not count. Entries without a line
 * are "", and all are if there are fewer than 20 samples. */
void lines_top(const struct lines *l, const struct lines_sums *s, struct lines_top *ret);
/* Finds the line at which the thread was most often in this use between from_ns and to_ns. Its
 * share is the line's part of the samples in that use. "" and 0 if the samples of the use are fewer
 * than 20. */
void lines_most(const struct lines *l, enum lines_use use, uint64_t from_ns, uint64_t to_ns,
		struct lines_top *ret);
/* Fills ret[LINES_TOP] with the lines of the user's code in which the thread was for most of a
 * span, whatever it did there or in code called from there. Entries without a line are "", and all
 * are if there are fewer than 20 samples. */
void lines_where(const struct lines *l, uint64_t from_ns, uint64_t to_ns,
		 struct lines_top ret[LINES_TOP]);
/* Samples with the same tag. */
struct lines_tagged {
	uint32_t n;
	/* part of their time in each use; the sum is 1, or 0 if there are fewer than 20 samples */
	double share[LINES_USE_COUNT];
	/* The line at which the thread was most of their time. Of fewer than 20 samples, only one
	 * with 60 % of it; of fewer than 5, none. */
	struct lines_top most;
};
/* Gives the samples of a span a tag, 1 to 255, instead of the one that they have. */
void lines_tag(struct lines *l, uint64_t from_ns, uint64_t to_ns, uint8_t tag);
void lines_tagged(const struct lines *l, uint8_t tag, struct lines_tagged *ret);
/* Returns where the thread was last; at_ns is 0 if there is no sample yet. */
const struct lines_last *lines_last(const struct lines *l);
void lines_archive(struct archive *a, struct lines **l);
void lines_sums_archive(struct archive *a, struct lines_sums *s);

#endif
