/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - reads what a worker process of a data loader has used, and what it waits for; and how
 * long the CPUs of the machine had nothing to do.
 *
 * Like usage.h, it reads no file that can block: /proc/PID/stat, schedstat, wchan and /proc/stat.
 * root: "", or the folder that contains proc and sys (--root). Single-threaded. */
#ifndef IDENTITY_WORKER_H
#define IDENTITY_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum worker_rest {		 /* why a worker does not run */
		   WORKER_RUNS,	 /* it does */
		   WORKER_OTHER, /* for work, for a lock, or unknown */
		   WORKER_DISK,	 /* for a file or a disk */
		   WORKER_NETWORK,
		   WORKER_SLEEP, /* for a time to pass */
};

struct worker_usage {
	uint64_t cpu_ns;   /* of all threads; to 10 ms where several threads run */
	uint64_t wait_ns;  /* main thread: runnable without a CPU */
	uint64_t block_ns; /* main thread: for block I/O; 0 unless the kernel measures it */
	pid_t parent;
	enum worker_rest rest; /* of the main thread now */
};

/* delays: as usage_delays(). Returns 0; -ESRCH: no such process; or another -errno. */
int worker_usage(const char *root, pid_t pid, bool delays, struct worker_usage *ret);
/* Returns the thread of a process that copies batches to pinned memory, of torch 2.3 or later; 0:
 * none. tid: its n threads. */
pid_t worker_pin_thread(const char *root, pid_t pid, const pid_t *tid, int n);

#define WORKER_CPUS 1024
/* Writes how long each CPU was idle since the machine started (ns) to idle_ns[WORKER_CPUS]; 0:
 * there is no such CPU. Takes up to milliseconds on a machine of hundreds of CPUs. Returns the
 * largest number of a CPU plus 1, or -errno. */
int worker_idle(const char *root, uint64_t *idle_ns);
/* Returns how many CPUs the quota of a control group gives, in hundredths; 0: no quota, or unknown.
 * folder: of the cpu controller (struct usage_group); "": unknown. */
uint32_t worker_quota(const char *folder);

#endif
