/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - reads the identity of a process from /proc. All data read is untrusted: it is limited
 * in bytes, control characters are replaced, and of the environment only variables in an allow-list
 * are used. */
#ifndef IDENTITY_PROCESS_H
#define IDENTITY_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

struct helper;

/* Reads the identity of a live process into *ret (flags stay 0). root: "", or the folder that
 * contains proc (--root). Returns 0; -ESRCH: no such process; -EACCES: no permission. If only the
 * environment cannot be read, the fields from it stay unknown.
 *
 * Rank, world size, local rank and job come from the environment (identity/environment.h). The job
 * is named by JOBSET_NAME, else by SLURM_JOB_ID, else by TORCHELASTIC_RUN_ID. Unknown fields are -1
 * and "". */
int process_read(const char *root, pid_t pid, struct gp_process *ret);
/* Like process_read(), but through helper process a. Returns -ETIMEDOUT (base/helper.h) while the
 * mmap lock of the process is held, as reading its command line or environment would block. root
 * must be the same as when a was made. a NULL: reads in this process. */
int process_read_by_helper(struct helper *a, const char *root, pid_t pid, struct gp_process *ret);
/* Reads only start, parent and name of a process, for which no lock is needed. */
int process_read_stat(const char *root, pid_t pid, struct gp_process *ret);
/* Returns 0 if gp-bpf may read which files the process maps, or -EPERM after logging which
 * capability is missing. */
int process_permitted(const char *root, pid_t pid);

/* Returns true if the process belongs to gVisor (runsc): a sandbox, its helper, or a process of a
 * container in a sandbox. No probe can be hit in such a process: gVisor's own kernel maps the
 * container's files, so its libraries cannot be found. p: facts read before, or NULL: only the
 * executable is checked. Never blocks. */
bool process_gvisor(const char *root, pid_t pid, const struct gp_process *p);
#define PROCESS_GVISOR                                                                             \
	"runs under gVisor (runsc), which hides its libraries: no probe can be attached"
/* Returns true if the process is a gVisor sandbox; each pod or container has one. a: as in
 * process_read_by_helper(). */
bool process_gvisor_sandbox(struct helper *a, const char *root, pid_t pid);

/* Returns the start of the process on CLOCK_BOOTTIME from /proc/PID/stat, field 22 (in ticks of 10
 * ms); 0: no such process. */
uint64_t process_start_ns(const char *root, pid_t pid);

/* Lists pid and its present descendants, pid first. Returns their number, or -errno. The caller
 * frees *ret. */
int process_descendants(const char *root, pid_t pid, pid_t **ret);

#endif
