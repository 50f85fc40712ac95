/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - how much work a job does per second, the share of its accelerators' peak (MFU), and
 * the cost of accelerator time. Combines the user's figures for a step with the observed steps and
 * times.
 *
 * Two rates: over the time of steps (those whose time is certain), the speed of the program; over
 * observed time, without steps lost by restarts, the speed of the training. In both, a step that is
 * partly excluded counts by its remaining share. Pure. 0 means unknown everywhere here. */
#ifndef MODEL_PROGRAM_H
#define MODEL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"

#define PROGRAM_TAG_MAX	     64
#define PROGRAM_ACCELERATORS 1024 /* most accelerators of a rank */

struct program_config {
	double flops, samples, tokens; /* work of one step of the whole job */
	double peak_flops;	       /* FLOP/s of one accelerator */
	/* cost of one accelerator for an hour, in the user's currency */
	double price;
	/* text before the price, as written by the user; "": none */
	char currency[8];
	/* accelerators of a rank; 0: one if the process uses an accelerator runtime */
	uint32_t accelerators;
	char accelerator[32]; /* name of the accelerator */
	/* Labels of runs whose speed may be compared, and of runs that form one training; "": none.
	 */
	char perf_tag[PROGRAM_TAG_MAX], session_tag[PROGRAM_TAG_MAX];
};

/* Sets one value. Returns false when the key is not one of program_config; an invalid value changes
 * nothing. */
bool program_config_set(struct program_config *c, const char *key, const char *value);
void program_config_archive(struct archive *a, struct program_config *c);
/* Returns the accelerators of a rank; seen: its process called an accelerator runtime. */
uint32_t program_accelerators(const struct program_config *c, bool seen);

struct program_seen { /* observed data of a job */
	/* Number of steps whose time is certain, and their total time. */
	double timed_steps;
	uint64_t timed_ns;
	/* number of steps so far; number of these that were lost by restarts */
	uint64_t made, lost;
	double excluded; /* excluded shares of the other steps, added up */
	uint64_t observed_ns, goodput_ns;
	double accelerators; /* of the whole job */
};

struct program_rate {
	double samples, tokens, flops; /* per second */
	double mfu;		       /* 0 to 1 */
};

struct program_view {
	double accelerators;
	/* Rates over the time of steps, and over observed time. */
	struct program_rate steps, elapsed;
	/* runtime: goodput per observed time. program: share of the accelerators' peak used in
	 * productive time. Their product is elapsed.mfu. */
	double runtime, program;
};

void program_view(const struct program_config *c, const struct program_seen *s,
		  struct program_view *ret);
/* Returns true when the user gave a figure of the program. */
bool program_known(const struct program_config *c);
/* Returns the cost of accelerator_ns of accelerator time, in the user's currency. */
double program_cost(const struct program_config *c, double accelerator_ns);

#endif
