/* SPDX-License-Identifier: Apache-2.0 */
/* job_member.h - a process as its job sees it: the data of a rank that jobs read and write.
 * Embedded in struct rank, which the job_*.c files do not know. The rank owns all data behind the
 * pointers. A job may outlive the rank; it points to a member only between job_join() and
 * job_left(). Times in ns, CLOCK_MONOTONIC. */
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
	/* The fields from here on are set by the rank. */
	struct model_env *env;
	uint32_t pid;
	/* The shell that started the process's part of the process tree, and the first process of
	 * that part; 0: none. */
	uint32_t shell_pid, branch_pid;
	struct gp_process process; /* texts escaped; rank and world size as far as known */
	struct gp_place *place;	   /* texts escaped; NULL: unknown */
	/* Start of the program if that was seen, else of the process. */
	uint64_t start_ns;
	uint64_t observed_ns; /* start of observation */
	/* The start of the program was seen: earlier activity of the process belongs to another
	 * rank. */
	bool begun;
	bool accelerated; /* the process called an accelerator runtime */
	/* the process entered a collective other than a send or a receive */
	bool collects;
	uint64_t seen;			 /* bit per signal_kind seen */
	struct checkpoint_resume resume; /* files read before the first step */
	struct ledger *ledger;		 /* NULL: the process never showed a marker */
	struct window *window;		 /* windows of the ledger's time */

	/* The fields from here on are set by the job; job_key also by the model, while the process
	 * is not in a job. */
	/* key of the job that the process belongs to if it trains */
	uint64_t job_key;
	struct job *job;	    /* the job, while the process is a rank of it */
	uint32_t run;		    /* number of the rank's run */
	uint64_t step_base;	    /* number of steps of earlier runs */
	enum job_standing standing; /* as counted by its job */
	/* observed_ns in UTC, by the clock when training began; 0: unknown. */
	int64_t since_real_ns;
};

#endif
