/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/proc_file.h"

#define TICK_NS	     10000000ull /* unit of times in /proc/PID/stat: USER_HZ is 100 */
#define US_NS	     1000ull
#define CGROUP_BYTES 8192
#define CGROUPS	     "/sys/fs/cgroup"

/* Positions of fields in /proc/PID/stat (proc_pid_stat(5)), counted from the state, which is field
 * 3 in the manual. */
#define STAT_MINOR_FAULTS 7
#define STAT_MAJOR_FAULTS 9
#define STAT_SYSTEM_TICKS 12
#define STAT_CPU	  36
#define STAT_BLOCK_TICKS  39

static const char *usage_field(const char *text, int field)
{
	while (text && field-- > 0) {
		text = strchr(text, ' ');
		text = text ? text + 1 : NULL;
	}
	return text;
}

static int usage_number(const char *text, __u64 *ret)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return -EBADMSG;
	*ret = strtoull(text, &end, 10);
	return 0;
}

int usage_scheduled(const char *root, pid_t pid, pid_t tid, struct gp_usage *ret)
{
	char name[64], text[128];
	ssize_t n;

	*ret = (struct gp_usage){0};
	snprintf(name, sizeof(name), "task/%d/schedstat", (int)tid);
	n = proc_slurp(root, pid, name, text, sizeof(text));
	if (n < 0)
		return (int)n;
	if (usage_number(text, &ret->cpu_ns) || usage_number(usage_field(text, 1), &ret->wait_ns))
		return -EBADMSG;
	return 0;
}

static ssize_t usage_slurp(const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = proc_read(fd, buf, cap - 1);
	n = n < 0 ? -errno : n;
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

/* Returns the frequency of a CPU in MHz; 0: unknown. */
static uint32_t usage_mhz(const char *root, __u64 cpu)
{
	char path[PROC_PATH_MAX], text[24] = "";
	__u64 khz;

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%llu/cpufreq/scaling_cur_freq",
		 root, (unsigned long long)cpu);
	if (usage_slurp(path, text, sizeof(text)) <= 0 || usage_number(text, &khz) ||
	    khz > UINT32_MAX)
		return 0;
	return (uint32_t)(khz / 1000);
}

int usage_thread(const char *root, pid_t pid, pid_t tid, bool delays, struct gp_usage *ret)
{
	int err = usage_scheduled(root, pid, tid, ret);
	char name[64], text[1024];
	__u64 ticks = 0, cpu = 0, system = 0;
	const char *at;
	ssize_t n;

	if (err)
		return err;
	snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
	n = proc_slurp(root, pid, name, text, sizeof(text));
	if (n < 0)
		return (int)n;
	/* search from the end: the name of the thread may contain any character */
	at = strrchr(text, ')');
	if (!at || at[1] != ' ')
		return -EBADMSG;
	at += 2;
	if (usage_number(usage_field(at, STAT_MAJOR_FAULTS), &ret->major_faults) ||
	    usage_number(usage_field(at, STAT_BLOCK_TICKS), &ticks))
		return -EBADMSG;
	ret->block_ns = ticks * TICK_NS;
	ret->flags = delays || ticks ? GP_USAGE_BLOCK : 0;
	if (!usage_number(usage_field(at, STAT_MINOR_FAULTS), &ret->minor_faults) &&
	    !usage_number(usage_field(at, STAT_SYSTEM_TICKS), &system))
		ret->flags |= GP_USAGE_SYSTEM;
	ret->system_ns = system * TICK_NS;
	if (!usage_number(usage_field(at, STAT_CPU), &cpu))
		ret->mhz = usage_mhz(root, cpu);
	return 0;
}

bool usage_delays(const char *root)
{
	char path[PROC_PATH_MAX], text[16] = "";

	snprintf(path, sizeof(path), "%s/proc/sys/kernel/task_delayacct", root);
	return usage_slurp(path, text, sizeof(text)) > 0 && *text == '1';
}

/* ---- control groups -------------------------------------------------------------------------- */

/* Returns true if the list of controllers, separated by commas, contains this one. */
static bool usage_has_controller(const char *list, size_t len, const char *name)
{
	size_t n = strlen(name);

	while (len) {
		const char *comma = memchr(list, ',', len);
		size_t one = comma ? (size_t)(comma - list) : len;

		if (one == n && !memcmp(list, name, n))
			return true;
		len -= comma ? one + 1 : one;
		list += comma ? one + 1 : one;
	}
	return false;
}

/* Sets out to the folder ROOT/sys/fs/cgroup/MOUNT/PATH if the folder contains the file; otherwise
 * to "". */
static void usage_folder(char *out, size_t cap, const char *root, const char *mount,
			 const char *path, const char *file)
{
	char whole[PROC_PATH_MAX];
	int n = snprintf(out, cap, "%s" CGROUPS "%s%s", root, mount, strcmp(path, "/") ? path : "");

	if (n < 0 || (size_t)n >= cap) {
		*out = '\0';
		return;
	}
	snprintf(whole, sizeof(whole), "%s/%s", out, file);
	if (access(whole, R_OK))
		*out = '\0';
}

/* Sets out to the folder of the innermost group with a limit memory.high, from the group PATH
 * outwards; otherwise to "". Reclaim slows down threads that exceed it, whichever of these groups
 * has the limit. */
static void usage_high_folder(char *out, size_t cap, const char *root, const char *path)
{
	char group[256], file[PROC_PATH_MAX], limit[24] = "";
	char *slash;

	snprintf(group, sizeof(group), "%s", path);
	while (strlen(path) < sizeof(group) && (slash = strrchr(group, '/')) && slash[1]) {
		usage_folder(out, cap, root, "", group, "memory.high");
		snprintf(file, sizeof(file), "%s/memory.high", out);
		if (*out && usage_slurp(file, limit, sizeof(limit)) > 0 && *limit >= '0' &&
		    *limit <= '9')
			return;
		*slash = '\0';
	}
	*out = '\0';
}

/* Parses a line of /proc/PID/cgroup: NUMBER:CONTROLLERS:PATH. */
static void usage_group_line(const char *root, const char *line, struct usage_group *ret)
{
	const char *list = strchr(line, ':'), *path;

	path = list ? strchr(list + 1, ':') : NULL;
	/* A group outside the control group namespace of gp-bpf is not visible in gp-bpf's
	 * /sys/fs/cgroup. */
	if (!path || path[1] != '/' || strstr(path, "/../") || !strcmp(path + 1, "/.."))
		return;
	list++;
	if (path == list) { /* control groups version 2 */
		usage_folder(ret->pressure, sizeof(ret->pressure), root, "", path + 1,
			     "cpu.pressure");
		if (!*ret->pressure)
			usage_folder(ret->pressure, sizeof(ret->pressure), root, "/unified",
				     path + 1, "cpu.pressure");
		if (!*ret->cpu)
			usage_folder(ret->cpu, sizeof(ret->cpu), root, "", path + 1, "cpu.stat");
		usage_high_folder(ret->high, sizeof(ret->high), root, path + 1);
		/* the pressure of the root group is that of the whole machine */
		ret->own = *ret->pressure && strcmp(path + 1, "/") != 0;
	} else if (usage_has_controller(list, (size_t)(path - list), "cpu")) {
		usage_folder(ret->cpu, sizeof(ret->cpu), root, "/cpu", path + 1, "cpu.stat");
	}
}

int usage_group_find(const char *root, pid_t pid, struct usage_group *ret)
{
	char text[CGROUP_BYTES], *next;
	ssize_t n;

	*ret = (struct usage_group){.own = false};
	n = proc_slurp(root, pid, "cgroup", text, sizeof(text));
	for (char *line = text; n > 0 && *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		usage_group_line(root, line, ret);
	}
	if (!*ret->pressure)
		snprintf(ret->pressure, sizeof(ret->pressure), "%s/proc/pressure", root);
	return n < 0 ? (int)n : 0;
}

static bool usage_throttled(const char *folder, __u64 *ret_ns)
{
	static const struct {
		const char *key;
		uint64_t unit_ns;
	} keys[] = {{"throttled_usec ", US_NS}, {"throttled_time ", 1}};
	char path[PROC_PATH_MAX], text[2048] = "";

	snprintf(path, sizeof(path), "%s/cpu.stat", folder);
	if (usage_slurp(path, text, sizeof(text)) <= 0)
		return false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *at = strstr(text, keys[i].key);

		if (!at || usage_number(at + strlen(keys[i].key), ret_ns))
			continue;
		*ret_ns *= keys[i].unit_ns;
		return true;
	}
	return false;
}

static bool usage_high(const char *folder, __u32 *ret)
{
	char path[PROC_PATH_MAX], text[512] = "";
	const char *at;
	__u64 times;

	snprintf(path, sizeof(path), "%s/memory.events", folder);
	if (usage_slurp(path, text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, "\nhigh ");
	if (usage_number(at ? at + strlen("\nhigh ") : NULL, &times))
		return false;
	*ret = (__u32)times;
	return true;
}

void usage_pressure(const struct usage_group *g, struct gp_pressure *ret)
{
	static const char *const names[GP_STALL_COUNT] = {"cpu", "memory", "io"};
	const char *suffix = strstr(g->pressure, CGROUPS) ? ".pressure" : "";
	char path[PROC_PATH_MAX], text[256] = "";
	int known = 0;

	*ret = (struct gp_pressure){0};
	if (*g->cpu && usage_throttled(g->cpu, &ret->throttled_ns))
		ret->flags |= GP_PRESSURE_THROTTLE;
	if (*g->high && usage_high(g->high, &ret->high))
		ret->flags |= GP_PRESSURE_HIGH;
	for (int i = 0; i < GP_STALL_COUNT; i++) {
		const char *at;

		snprintf(path, sizeof(path), "%s/%s%s", g->pressure, names[i], suffix);
		if (usage_slurp(path, text, sizeof(text)) <= 0 || strncmp(text, "some ", 5) != 0)
			continue;
		at = strstr(text, " total=");
		if (!at || usage_number(at + strlen(" total="), &ret->stall_ns[i]))
			continue;
		ret->stall_ns[i] *= US_NS;
		known++;
	}
	if (known < GP_STALL_COUNT)
		return;
	ret->flags |= GP_PRESSURE_STALL | (g->own ? GP_PRESSURE_GROUP : 0);
}

int usage_threads(const char *root, pid_t pid, pid_t *tid, int max)
{
	int fd = proc_open(root, pid, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
	struct dirent *e;
	DIR *d;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	while (n < max && (e = readdir(d))) {
		int32_t number = proc_number(e->d_name);

		if (number > 0)
			tid[n++] = number;
	}
	closedir(d);
	return n;
}
