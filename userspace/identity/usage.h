/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - reads CPU time and waiting time of threads, from schedstat and stat in
 * /proc/PID/task/TID, and the frequency of its CPU. Also reads how much a control group lacked CPU,
 * memory or I/O, from cpu.stat, *.pressure and memory.events files (of version 2, or of the cpu
 * controller of version 1).
 *
 * Nothing here blocks: no file is read for which the kernel takes the mmap lock of the process, and
 * none that a process could choose. Bounded in bytes. root: "", or the folder that contains proc
 * and sys (--root). Single-threaded. */
#ifndef IDENTITY_USAGE_H
#define IDENTITY_USAGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

/* Folders with the files of a process's control group; "": unknown, or missing. */
struct usage_group {
	char cpu[256];	    /* holds cpu.stat */
	char pressure[256]; /* contains cpu.pressure, memory.pressure, io.pressure */
	/* Holds memory.events of the innermost group with a limit memory.high; "": there is none.
	 */
	char high[256];
	/* The pressure is that of the process's control group; false: that of the machine. */
	bool own;
};

/* Fills cpu_ns and wait_ns of *ret, and sets the rest to 0. Returns 0; -ESRCH: no such thread; or
 * another -errno, also if the kernel has no schedstat. */
int usage_scheduled(const char *root, pid_t pid, pid_t tid, struct gp_usage *ret);
/* Fills *ret except GP_USAGE_FIRST. mhz is from cpufreq in sysfs, which virtual machines lack.
 * delays: result of usage_delays(). Returns the same as usage_scheduled(). */
int usage_thread(const char *root, pid_t pid, pid_t tid, bool delays, struct gp_usage *ret);
/* Returns true if the kernel measures waits for block I/O (sysctl kernel.task_delayacct). */
bool usage_delays(const char *root);

/* Finds the folders of a process's control group. Returns 0, or -errno if /proc/PID/cgroup cannot
 * be read; ret->pressure is then that of the machine. */
int usage_group_find(const char *root, pid_t pid, struct usage_group *ret);
/* Reads throttling and pressure of the group g. Sets a bit in ret->flags for each figure that could
 * be read. */
void usage_pressure(const struct usage_group *g, struct gp_pressure *ret);

/* Writes the thread ids of a process to tid, at most max. Returns their number, or -errno. */
int usage_threads(const char *root, pid_t pid, pid_t *tid, int max);

#endif
