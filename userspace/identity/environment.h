/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - reads facts about the job of a process from its initial environment
 * (/proc/PID/environ, which is untrusted). Only the variables in the tables of environment.c are
 * kept: numbers, and names of jobs. */
#ifndef IDENTITY_ENVIRONMENT_H
#define IDENTITY_ENVIRONMENT_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

#define ENVIRONMENT_VISIBLE 4 /* number of variables that restrict the devices of a runtime */

/* Facts from one environment. Numbers are -1, and texts are "", if not given. Texts are escaped. */
struct environment {
	/* Numbers of the process, as counted by its launcher: the first of torchrun, Open MPI, JAX,
	 * Slurm and PMI that gives a rank. If this launcher does not give one of the other numbers,
	 * another launcher's is used. */
	int32_t rank, world_size, local_rank;
	int32_t local_size; /* number of processes of the job on this node */
	/* place_rank: number of the pod or host, which may run several processes: of the TPU worker
	 * among the workers of all slices, or of the pod in an indexed Job. place_world: number of
	 * such pods or hosts */
	int32_t place_rank, place_world;
	int32_t place_index; /* 1: place_rank is the index of an indexed Job */
	int32_t torch_restarts, slurm_restarts;
	char jobset[GP_JOB_MAX], slurm_job[GP_JOB_MAX],
		torch_run[GP_JOB_MAX]; /* "none" counts as not given */
	/* Lists of devices to which runtimes are restricted, such as "2,3" or "GPU-8f6b..."; "?":
	 * the list is too long. */
	char visible[ENVIRONMENT_VISIBLE][768];
};

/* Reads the environment of a process. Returns 0; -ESRCH; -EACCES: no permission. *ret is always
 * filled with what could be read. Blocks while the mmap lock of the process is held (see
 * base/helper.h). */
int environment_read(const char *root, pid_t pid, struct environment *ret);

#endif
