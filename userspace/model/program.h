/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - how much a job gets done in a second, what share that is of what its accelerators can
 * do (MFU), and what their time is worth: from what its user says of a step, and what is seen of
 * steps and time.
 *
 * Two rates: over the time of its steps (those whose time is certain), so how fast the program is;
 * and over observed time, of the steps that count (not those that a restart disproved), so how fast
 * the training is. Of a step a part of whose time is left out the rest counts, as that share of a
 * step, in both. Pure. 0: unknown, everywhere here. */
#ifndef MODEL_PROGRAM_H
#define MODEL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"

#define PROGRAM_TAG_MAX	     64
#define PROGRAM_ACCELERATORS 1024 /* of a rank, at most */

struct program_config {
	double flops, samples, tokens; /* of one step, of the whole job */
	double peak_flops;	       /* per second, of one accelerator */
	double price;		       /* of one accelerator for an hour, in the user's currency */
	char currency[8];	       /* as the user writes it before the price; "" */
	uint32_t accelerators;	       /* of a rank; 0: one where the runtime of one was seen */
	char accelerator[32];	       /* its name */
	/* Of runs whose speed may be compared, and of those that add up to one training; "": none.
	 */
	char perf_tag[PROGRAM_TAG_MAX], session_tag[PROGRAM_TAG_MAX];
};

/* false: the key is none of ours. What is no such value changes nothing. */
bool program_config_set(struct program_config *c, const char *key, const char *value);
void program_config_archive(struct archive *a, struct program_config *c);
/* Of a rank; seen: its process called an accelerator's runtime. */
uint32_t program_accelerators(const struct program_config *c, bool seen);

struct program_seen { /* of a job */
	double timed_steps;
	uint64_t timed_ns;
	uint64_t made, lost; /* steps, ever; of them those that a restart disproved */
	double away;	     /* of the others, the shares that are left out */
	uint64_t observed_ns, goodput_ns;
	double accelerators; /* of the whole job */
};

struct program_rate {
	double samples, tokens, flops; /* per second */
	double mfu;		       /* of 1 */
};

struct program_view {
	double accelerators;
	struct program_rate steps, elapsed;
	/* Share of the accelerators' peak that was used in productive time: times the runtime
	 * goodput it is elapsed.mfu. */
	double runtime, program;
};

void program_view(const struct program_config *c, const struct program_seen *s,
		  struct program_view *ret);
/* Something is known of it, or was asked for. */
bool program_known(const struct program_config *c);
/* What so much time of accelerators costs. */
double program_cost(const struct program_config *c, double accelerator_ns);

#endif
