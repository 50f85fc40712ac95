/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - how much work a job does per second, which share of its accelerators' peak that is
 * (MFU), and what their time costs. Combines what the user says of a step with the steps and times
 * seen.
 *
 * Two rates: over the time of its steps (whose time is certain) for the speed of the program; over
 * observed time, counting steps not lost by restarts, for the speed of the training. A step that is
 * partly excluded counts by its remaining share in both. Pure. 0 means unknown everywhere here. */
#ifndef MODEL_PROGRAM_H
#define MODEL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"

#define PROGRAM_TAG_MAX	     64
#define PROGRAM_ACCELERATORS 1024 /* of a rank, at most */

struct program_config {
	double flops, samples, tokens; /* of one step of the whole job */
	double peak_flops;	       /* per second, of one accelerator */
	double price;		       /* of one accelerator for an hour, in the user's currency */
	char currency[8];	       /* as the user writes it before the price; "": none */
	uint32_t accelerators;	       /* of a rank; 0: one where an accelerator runtime was seen */
	char accelerator[32];	       /* name of the accelerator */
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
	/* Steps whose time is certain, and that time. */
	double timed_steps;
	uint64_t timed_ns;
	uint64_t made, lost; /* steps ever; those of them lost by restarts */
	double excluded;     /* excluded shares of the other steps, added up */
	uint64_t observed_ns, goodput_ns;
	double accelerators; /* of the whole job */
};

struct program_rate {
	double samples, tokens, flops; /* per second */
	double mfu;		       /* 0 to 1 */
};

struct program_view {
	double accelerators;
	/* Over the time of steps, and over observed time. */
	struct program_rate steps, elapsed;
	/* Share of the accelerators' peak used in productive time; times runtime goodput it is
	 * elapsed.mfu. */
	double runtime, program;
};

void program_view(const struct program_config *c, const struct program_seen *s,
		  struct program_view *ret);
/* Returns true when something is known of the program, or was asked for. */
bool program_known(const struct program_config *c);
/* Returns the cost of accelerator_ns of accelerator time, in the user's currency. */
double program_cost(const struct program_config *c, double accelerator_ns);

#endif
