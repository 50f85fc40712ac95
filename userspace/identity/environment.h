/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - what the environment that a process was started with says of its job:
 * /proc/PID/environ, which is hostile. Only variables in the tables of environment.c are kept
 * beyond the parser: numbers, and names of jobs. */
#ifndef IDENTITY_ENVIRONMENT_H
#define IDENTITY_ENVIRONMENT_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

/* Numbers: -1 where it is not said; text: escaped, "" likewise. */
struct environment {
	/* Numbers of the process, as its launcher counts: the first of torchrun, Open MPI, JAX,
	 * Slurm, PMI that gives a rank. The other numbers are from the same launcher if it gives
	 * them. */
	int32_t rank, world_size, local_rank;
	/* Numbers of the pod or host, which may have several processes: a TPU worker over all
	 * slices, or the index of an indexed Job. */
	int32_t place_rank, place_world;
	int32_t place_index; /* 1: place_rank is that index */
	int32_t torch_restarts, slurm_restarts;
	char jobset[GP_JOB_MAX], slurm_job[GP_JOB_MAX],
		torch_run[GP_JOB_MAX]; /* a run id of "none" names nothing */
};

/* 0; -ESRCH; -EACCES: not ours to read. Blocks while the process holds its address space locked
 * (base/aside.h). *ret is filled in any case: as far as it was read. */
int environment_read(const char *root, pid_t pid, struct environment *ret);

#endif
