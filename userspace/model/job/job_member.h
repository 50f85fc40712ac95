/* SPDX-License-Identifier: Apache-2.0 */
/* job_member.h - a rank as its job sees it: the data that jobs read and write. Each struct rank
 * contains one; the job_*.c files do not know struct rank. The rank owns everything to which the
 * pointers point. A job may exist longer than its ranks, and refers to a member only between
 * job_join() and job_left(). Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_JOB_MEMBER_H
#define MODEL_JOB_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/job/checkpoint.h"
#include "userspace/model/job/job.h"

struct ledger;
struct model_env;
struct window;

struct job_member {
	/* The rank sets the fields up to `window`. */
	struct model_env *env;
	uint32_t pid;
	/* The shell that started this branch of the process tree, and the first process of the
	 * branch; 0: none. */
	uint32_t shell_pid, branch_pid;
	struct gp_process process; /* data of the process, texts escaped; -1 for unknown numbers */
	struct gp_place *place;	   /* workload location, texts escaped; NULL: unknown */
	/* Start of the program if it was seen, else start of the process. */
	uint64_t start_ns;
	uint64_t observed_ns; /* time at which gp-bpf began to observe the process */
	/* The start of the program was seen. Earlier activity of the process belongs to another
	 * rank. */
	bool begun;
	bool accelerated; /* the process called the runtime of an accelerator */
	/* The process entered a collective in which more than two ranks can take part, not only
	 * sends and receives. */
	bool collects;
	uint64_t seen; /* bit set of the kinds of signals seen (enum signal_kind) */
	struct checkpoint_resume resume; /* files that were read before the first step */
	struct ledger *ledger; /* time by bucket; NULL: the process shows no sign of training */
	struct window *window; /* time by bucket and clock, for the last hour, day and week */

	/* Floating-point operations of a step (NULL: unknown), and the number of steps that were
	 * measured. */
	struct operations *operations;
	uint32_t operations_steps;
	/* Hash of the probe whose operations are not in the figure, or UNCOUNTED_*; 0: the figure
	 * is exact. */
	uint32_t uncounted;

	/* The job sets the fields from here on. While the process is not in a job, the model sets
	 * job_key. */
	/* Key of the job of which the process is, or would be, a rank. */
	uint64_t job_key;
	/* The job, as long as the process is a rank of it, or NULL. */
	struct job *job;
	uint32_t run;	    /* run of the job to which the rank belongs */
	uint64_t step_base; /* number of steps of earlier runs, added to those of the rank */
	/* The element of job.standing in which this rank is counted. */
	enum job_standing standing;
	/* observed_ns in UTC, converted when training began; 0: unknown. */
	int64_t since_real_ns;
};

#endif
