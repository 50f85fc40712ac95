/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - reads what a worker process of a data loader has used, and what it waits for; also how
 * long the CPUs of the machine were idle.
 *
 * Like usage.h, it reads no file that can block: only /proc/PID/stat, schedstat, wchan and
 * /proc/stat. root: "", or the folder that contains proc and sys (--root). Single-threaded. */
#ifndef IDENTITY_WORKER_H
#define IDENTITY_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum worker_rest {		 /* what a worker waits for */
		   WORKER_RUNS,	 /* nothing: the worker runs */
		   WORKER_OTHER, /* waits for work or for a lock, or the reason is unknown */
		   WORKER_DISK,	 /* waits for a file or a disk */
		   WORKER_NETWORK,
		   WORKER_SLEEP, /* waits for a time to pass */
};

struct worker_usage {
	/* CPU time of all threads; accurate to 10 ms if several threads run. */
	uint64_t cpu_ns;
	uint64_t wait_ns; /* time in which the main thread was runnable without a CPU */
	/* Time in which the main thread waited for block I/O; 0 if the kernel does not measure
	 * it. */
	uint64_t block_ns;
	pid_t parent;
	enum worker_rest rest; /* what the main thread waits for now */
};

/* Reads the usage of a worker. delays: result of usage_delays(). Returns 0; -ESRCH: no such
 * process; or another -errno. */
int worker_usage(const char *root, pid_t pid, bool delays, struct worker_usage *ret);
/* Returns the thread that copies batches to pinned memory (torch 2.3 or later); 0: there is none.
 * tid: the n threads of the process. */
pid_t worker_pin_thread(const char *root, pid_t pid, const pid_t *tid, int n);

#define WORKER_CPUS 1024
/* Writes how long each CPU was idle since the machine started (ns) to idle_ns[WORKER_CPUS]; 0:
 * there is no such CPU. May take milliseconds on a machine with hundreds of CPUs. Returns the
 * largest number of a CPU plus 1, or -errno. */
int worker_idle(const char *root, uint64_t *idle_ns);
/* Returns how many CPUs the quota of a control group allows, in hundredths of a CPU; 0: no quota,
 * or unknown. folder: struct usage_group.cpu; "": unknown. */
uint32_t worker_quota(const char *folder);

#endif
