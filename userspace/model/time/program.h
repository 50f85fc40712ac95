/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - how much work a job does per second, the share of its accelerators' peak (MFU), and
 * the cost of accelerator time. The user states the work of a step; number and time of steps are
 * observed.
 *
 * Two rates: divided by the time of the steps (those whose time is certain) it is the speed of the
 * program; divided by observed time, without steps lost by restarts, it is the speed of the
 * training. Of a step that is partly excluded, only the rest counts. Pure. 0 means unknown
 * everywhere here. */
#ifndef MODEL_PROGRAM_H
#define MODEL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/signal/operation.h"

#define PROGRAM_TAG_MAX 64
/* upper limit of accelerators of one rank that the user may set */
#define PROGRAM_ACCELERATORS 1024

struct program_config {
	double flops, samples, tokens; /* work of one step of the whole job */
	double peak_flops;	       /* FLOP/s of one accelerator */
	/* The same by the type of the operands; all 0: peak_flops is the peak of all types.
	 * Setting peak_flops clears them. */
	double peaks[OPERATION_TYPE_COUNT];
	/* cost of one accelerator for an hour, in the user's currency */
	double price;
	/* text before the price, as written by the user; "": none */
	char currency[8];
	/* accelerators of a rank; 0: one if the process uses an accelerator runtime */
	uint32_t accelerators;
	char accelerator[32]; /* name of the accelerator */
	/* perf_tag: label of runs whose speed may be compared; session_tag: label of runs that form
	 * one training; "": none */
	char perf_tag[PROGRAM_TAG_MAX], session_tag[PROGRAM_TAG_MAX];
};

/* Sets one value. Returns false when the key is not one of program_config; an invalid value changes
 * nothing. */
bool program_config_set(struct program_config *c, const char *key, const char *value);
void program_config_archive(struct archive *a, struct program_config *c);
/* Returns the accelerators of a rank; seen: its process called an accelerator runtime. */
uint32_t program_accelerators(const struct program_config *c, bool seen);

struct program_seen { /* observed figures of a job */
	/* Number of steps whose time is certain, and their total time. */
	double timed_steps;
	uint64_t timed_ns;
	/* number of steps so far; number of those that restarts lost */
	uint64_t made, lost;
	/* sum, over the steps that were not lost, of the share of each step that is excluded */
	double excluded;
	uint64_t observed_ns, goodput_ns;
	double accelerators;	      /* of the whole job */
	struct operations operations; /* of one step of the whole job, as measured; 0: unknown */
	uint32_t flops_steps; /* number of steps that were measured in each process, the least */
	/* Hash of the probe whose operations are not in flops, or UNCOUNTED_*; 0: flops is exact */
	uint32_t uncounted;
};

/* Reasons for a lower bound that are not a probe */
#define UNCOUNTED_ACCELERATOR 1u /* kernels on an accelerator are not all seen */
#define UNCOUNTED_RANKS	      2u /* a rank was not measured */

/* Where the work of a step is from: the user, or it was measured, perhaps not completely. */
#define PROGRAM_SOURCES(X) X(none) X(configured) X(measured) X(lower_bound)
enum program_source {
#define X(name) PROGRAM_##name,
	PROGRAM_SOURCES(X)
#undef X
};
extern const char *const program_source_name[];

struct program_rate {
	double samples, tokens, flops; /* per second */
	/* 0 to 1: share of the peak that is used, without operations that are computed again; and
	 * with them */
	double mfu, hfu;
};

struct program_view {
	double accelerators;
	double flops; /* operations of one step: as the user stated, else as measured */
	enum program_source source; /* of flops */
	uint32_t flops_steps;	    /* number of steps that were measured; 0: flops was stated */
	/* the measured operations of one step; 0: flops was stated */
	struct operations operations;
	/* The id of the probe whose operations flops lacks (or that prevented a figure),
	 * "accelerator", "ranks", or "": nothing is missing. */
	char uncounted[48];
	/* steps: work per second of the time in steps. elapsed: work per second of observed
	 * time. */
	struct program_rate steps, elapsed;
	/* runtime: goodput / observed time. program: share of the accelerators' peak that is used
	 * in productive time. Their product is elapsed.mfu. */
	double runtime, program;
};

/* Returns the type whose peak is assumed for operands of a type: tf32 for fp32 if the accelerator
 * has it, because whether a process uses it is not visible from outside. */
enum operation_type program_peak_type(const struct program_config *c, enum operation_type type);
/* Returns true when peaks are known by type. */
bool program_peaks_differ(const struct program_config *c);
/* Returns the peak of one accelerator, in FLOP/s, for operands of a type; 0: unknown. */
double program_peak(const struct program_config *c, enum operation_type type);

void program_view(const struct program_config *c, const struct program_seen *s,
		  struct program_view *ret);
/* Returns true when the user stated the work of a step (FLOP, samples or tokens). */
bool program_known(const struct program_config *c);
/* Returns the cost of accelerator_ns of accelerator time, in the user's currency. */
double program_cost(const struct program_config *c, double accelerator_ns);

#endif
