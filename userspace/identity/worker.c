/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/number.h"
#include "userspace/base/proc_file.h"
#include "userspace/identity/usage.h"

#define TICK_NS	  10000000ull /* unit of times in /proc (USER_HZ is 100) */
#define STAT_LINE 1024

/* Beginnings of the names of kernel functions in which a thread waits. A kernel may append
 * ".constprop.0" and the like. */
static const struct {
	const char *begins;
	enum worker_rest rest;
} worker_places[] = {
	{"folio_wait", WORKER_DISK},
	{"wait_on_page", WORKER_DISK},
	{"io_schedule", WORKER_DISK},
	{"request_wait_answer", WORKER_DISK}, /* FUSE */
	{"fuse_", WORKER_DISK},
	{"rpc_wait", WORKER_DISK}, /* NFS */
	{"nfs_", WORKER_DISK},
	{"p9_client", WORKER_DISK},
	{"cifs_", WORKER_DISK},
	{"wait_for_response", WORKER_DISK}, /* SMB */
	{"ceph_", WORKER_DISK},
	{"blk_mq", WORKER_DISK},
	{"wait_woken", WORKER_NETWORK},
	{"sk_wait_data", WORKER_NETWORK},
	{"tcp_recvmsg", WORKER_NETWORK},
	{"inet_stream_connect", WORKER_NETWORK},
	{"inet_wait_for", WORKER_NETWORK},
	{"sk_stream_wait", WORKER_NETWORK},
	{"hrtimer_nanosleep", WORKER_SLEEP},
	{"common_nsleep", WORKER_SLEEP},
	{"do_nanosleep", WORKER_SLEEP},
};

static enum worker_rest worker_rest(const char *root, pid_t pid, char state)
{
	char text[64];

	if (state == 'R')
		return WORKER_RUNS;
	if (state == 'D')
		return WORKER_DISK;
	if (state != 'S' || proc_slurp(root, pid, "wchan", text, sizeof(text)) <= 0)
		return WORKER_OTHER;
	for (size_t i = 0; i < sizeof(worker_places) / sizeof(worker_places[0]); i++) {
		if (!strncmp(text, worker_places[i].begins, strlen(worker_places[i].begins)))
			return worker_places[i].rest;
	}
	return WORKER_OTHER;
}

int worker_usage(const char *root, pid_t pid, bool delays, struct worker_usage *ret)
{
	struct proc_stat stat;
	struct gp_usage own;
	int err = proc_stat(root, pid, &stat);

	*ret = (struct worker_usage){0};
	if (!err)
		err = delays ? usage_thread(root, pid, pid, true, &own)
			     : usage_scheduled(root, pid, pid, &own);
	if (err)
		return err;
	if (stat.exiting)
		return -ESRCH;
	/* the CPU time of all threads is only known in ticks */
	ret->cpu_ns = stat.ticks * TICK_NS > own.cpu_ns + 2 * TICK_NS ? stat.ticks * TICK_NS
								      : own.cpu_ns;
	ret->wait_ns = own.wait_ns;
	ret->block_ns = own.block_ns;
	ret->parent = (pid_t)stat.parent;
	ret->rest = worker_rest(root, pid, stat.state);
	return 0;
}

pid_t worker_pin_thread(const char *root, pid_t pid, const pid_t *tid, int n)
{
	char name[64], text[32];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "task/%d/comm", (int)tid[i]);
		if (proc_slurp(root, pid, name, text, sizeof(text)) > 0 &&
		    !strcmp(text, "pt_data_pin\n"))
			return tid[i];
	}
	return 0;
}

int worker_idle(const char *root, uint64_t *idle_ns)
{
	char path[PROC_PATH_MAX], line[STAT_LINE];
	int cpus = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/stat", root);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	memset(idle_ns, 0, WORKER_CPUS * sizeof(*idle_ns));
	while (fgets(line, sizeof(line), f) && !strncmp(line, "cpu", 3)) {
		uint64_t idle, disk;
		unsigned cpu;

		/* skip the first line, which is the sum over all CPUs */
		if (line[3] == ' ' ||
		    sscanf(line, "cpu%u %*u %*u %*u %" SCNu64 " %" SCNu64, &cpu, &idle, &disk) !=
			    3 ||
		    cpu >= WORKER_CPUS)
			continue;
		idle_ns[cpu] = (idle + disk) * TICK_NS;
		cpus = (int)cpu + 1 > cpus ? (int)cpu + 1 : cpus;
	}
	fclose(f);
	return cpus ? cpus : -EBADMSG;
}

/* Reads the first one or two numbers of a file. Returns how many were read. */
static int worker_numbers(const char *folder, const char *name, uint64_t ret[2])
{
	char path[PROC_PATH_MAX], line[64] = "";
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fgets(line, sizeof(line), f))
		n = sscanf(line, "%" SCNu64 " %" SCNu64, &ret[0], &ret[1]);
	fclose(f);
	return n;
}

uint32_t worker_quota(const char *folder)
{
	uint64_t v2[2] = {0}, quota[2], period[2];

	if (!*folder)
		return 0;
	if (worker_numbers(folder, "cpu.max", v2) != 2 &&
	    worker_numbers(folder, "cpu.cfs_quota_us", quota) == 1 &&
	    worker_numbers(folder, "cpu.cfs_period_us", period) == 1) {
		v2[0] = quota[0];
		v2[1] = period[0];
	}
	/* No quota (-1 in version 1), or an invalid one. */
	if (!v2[0] || !v2[1] || v2[0] / v2[1] >= WORKER_CPUS)
		return 0;
	return (uint32_t)(v2[0] * 100 / v2[1]);
}
