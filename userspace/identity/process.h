/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - identifies a process, from /proc. Everything read is hostile: bounded in bytes,
 * control characters replaced; of the environment only variables in an allow-list are used. */
#ifndef IDENTITY_PROCESS_H
#define IDENTITY_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

struct helper;

/* Reads the identity of a live process into *ret (flags stay 0). root: "", or the folder that
 * contains proc (--root). Returns 0; -ESRCH: no such process; -EACCES: no permission (if only its
 * environment cannot be read, its fields stay unknown). Rank, world size, local rank and job come
 * from the environment (identity/environment.h): JOBSET_NAME, else SLURM_JOB_ID, else
 * TORCHELASTIC_RUN_ID names the job. Unknown fields are -1 and "". */
int process_read(const char *root, pid_t pid, struct gp_process *ret);
/* Like process_read(), but through a helper process, because reading the command line or
 * environment blocks while the mmap lock of the process is held: then -ETIMEDOUT (base/helper.h).
 * root must be the same as when a was made. a NULL: read in this process. */
int process_read_by_helper(struct helper *a, const char *root, pid_t pid, struct gp_process *ret);
/* Reads only start, parent and name, for which no lock is needed. */
int process_read_stat(const char *root, pid_t pid, struct gp_process *ret);
/* Returns 0 if this process may read which files the other one maps, or -EPERM after one line that
 * names the missing capability. */
int process_permitted(const char *root, pid_t pid);

/* Returns true if the process belongs to gVisor (runsc): a sandbox, its helper, or a container's
 * process in one. gVisor's own kernel maps the container's files, so its libraries cannot be
 * found and no probe is hit. p: facts read before, or NULL: only the executable is checked.
 * Never blocks. */
bool process_gvisor(const char *root, pid_t pid, const struct gp_process *p);
#define PROCESS_GVISOR                                                                             \
	"runs under gVisor (runsc), which hides its libraries: no probe can be attached"
/* Returns true if the process is a gVisor sandbox; each pod or container has one. a: as in
 * process_read_by_helper(). */
bool process_gvisor_sandbox(struct helper *a, const char *root, pid_t pid);

/* Start on CLOCK_BOOTTIME from /proc/PID/stat, field 22 (in 10 ms ticks). 0: no such process. */
uint64_t process_start_ns(const char *root, pid_t pid);

/* Lists pid and its present descendants, pid first. Returns the count (*ret is malloc'd) or
 * -errno. */
int process_descendants(const char *root, pid_t pid, pid_t **ret);

#endif
