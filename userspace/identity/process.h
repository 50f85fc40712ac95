/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - who a process is, from /proc. Everything read is hostile: bounded in bytes, control
 * characters replaced; of the environment only the names in the allow-list are looked at. */
#ifndef IDENTITY_PROCESS_H
#define IDENTITY_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

struct aside;

/* Fills *ret (flags left 0) for a live process. root: "" or where /proc is looked for (--root).
 * -ESRCH: no such process; -EACCES: not ours to read (where only its environment is not, what that
 * would tell stays unknown). Rank, world size, local rank and job from the environment
 * (identity/environment.h): JOBSET_NAME, else SLURM_JOB_ID, else TORCHELASTIC_RUN_ID names the job.
 * -1 and "" where unknown. */
int process_read(const char *root, pid_t pid, struct gp_process *ret);
/* The same for a process that may hold its address space locked, and whoever reads its command line
 * or environment with that: -ETIMEDOUT (base/aside.h). root must not have changed since a was made.
 * a NULL: read here. */
int process_read_aside(struct aside *a, const char *root, pid_t pid, struct gp_process *ret);
/* Reads the fields that need none of those: start, parent, name. */
int process_read_stat(const char *root, pid_t pid, struct gp_process *ret);
/* Whether we may know what the process maps: 0, or -EPERM after one line that names the
 * capability. */
int process_permitted(const char *root, pid_t pid);

/* Whether it is a process of gVisor (runsc): a sandbox, its helper, or a container's process in
 * one. What a container maps there is mapped by gVisor's own kernel, so no library of it is found
 * and no probe is hit. p: what was read of it, or NULL: only its executable is checked. Never
 * blocks. */
bool process_gvisor(const char *root, pid_t pid, const struct gp_process *p);
#define PROCESS_GVISOR "runs under gVisor (runsc), which hides its libraries: nothing is attached"
/* Whether it is a sandbox of gVisor: one for each pod or container. a: as process_read_aside(). */
bool process_gvisor_sandbox(struct aside *a, const char *root, pid_t pid);

/* CLOCK_BOOTTIME start from /proc/PID/stat field 22 (in 10 ms ticks). 0: no such process. */
uint64_t process_start_ns(const char *root, pid_t pid);

/* The processes that descend from pid now, pid itself first. Returns the count (malloc'd) or
 * -errno. */
int process_descendants(const char *root, pid_t pid, pid_t **ret);

#endif
