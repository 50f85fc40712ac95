/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - what the environment that a process was started with says of its job:
 * /proc/PID/environ, which is hostile. Of all names only those of the tables in environment.c are
 * kept beyond the parser, and of their values numbers and what names a job. */
#ifndef IDENTITY_ENVIRONMENT_H
#define IDENTITY_ENVIRONMENT_H

#include <stdint.h>
#include <sys/types.h>

/* Numbers: -1 where it is not said; text: escaped, "" likewise. */
struct environment {
	/* Of the process, as who started it counts: the first of torchrun, Open MPI, JAX, Slurm,
	 * PMI that says a rank; its other numbers are of the same one where that says them. */
	int32_t rank, world_size, local_rank;
	/* Of the pod or host that it runs in, which may have several processes: a TPU worker over
	 * all slices, or the index of an indexed Job. */
	int32_t place_rank, place_world;
	int32_t place_index; /* 1: place_rank is that index */
	int32_t torch_restarts, slurm_restarts;
	char jobset[64], slurm_job[64], torch_run[64]; /* a run id of "none" names nothing */
};

/* 0; -ESRCH; -EACCES: not ours to read. Blocks while the process holds its address space locked
 * (base/aside.h). *ret is filled in any case: as far as it was read. */
int environment_read(const char *root, pid_t pid, struct environment *ret);

#endif
