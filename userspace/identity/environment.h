/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - reads the initial environment of a process (/proc/PID/environ, which is hostile)
 * for facts about its job. Only the variables in the tables of environment.c are kept: numbers, and
 * names of jobs. */
#ifndef IDENTITY_ENVIRONMENT_H
#define IDENTITY_ENVIRONMENT_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

#define ENVIRONMENT_VISIBLE 4 /* variables that restrict the devices of a runtime */

/* Numbers: -1 if not given; texts: escaped, "" if not given. */
struct environment {
	/* Process numbers as counted by the launcher: the first of torchrun, Open MPI, JAX, Slurm
	 * and PMI that gives a rank. The other numbers come from the same launcher if it gives
	 * them. */
	int32_t rank, world_size, local_rank;
	int32_t local_size; /* number of processes of the job on this node */
	/* Numbers of the pod or host, which may have several processes: a TPU worker over all
	 * slices, or the index of an indexed Job. */
	int32_t place_rank, place_world;
	int32_t place_index; /* 1: place_rank is the index of an indexed Job */
	int32_t torch_restarts, slurm_restarts;
	char jobset[GP_JOB_MAX], slurm_job[GP_JOB_MAX],
		torch_run[GP_JOB_MAX]; /* "none" counts as not given */
	/* Lists of devices to which runtimes are restricted: "2,3", "GPU-8f6b..."; one that is too
	 * long is "?". */
	char visible[ENVIRONMENT_VISIBLE][768];
};

/* Returns 0; -ESRCH; -EACCES: no permission. *ret is always filled, with what could be read. Blocks
 * while the mmap lock of the process is held (base/helper.h). */
int environment_read(const char *root, pid_t pid, struct environment *ret);

#endif
