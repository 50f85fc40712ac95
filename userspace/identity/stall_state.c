/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread waits for, by its state and the system call it is in. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"
#include "userspace/identity/stall_private.h"

#define FILE_BYTES   1024
#define STATUS_BYTES 4096
#define CLOCKS_END   16 /* MAX_CLOCKS of linux/time.h */

static bool stall_begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* ---- files of one thread --------------------------------------------------------------------- */

bool look_late(const struct look *l)
{
	return clock_mono_ns() > l->deadline_ns;
}

static ssize_t stall_thread_file(const struct look *l, const char *name, char *buf, size_t cap)
{
	char path[64];

	if (look_late(l))
		return -ETIMEDOUT;
	snprintf(path, sizeof(path), "task/%d/%s", (int)l->tid, name);
	return proc_slurp(l->root, l->pid, path, buf, cap);
}

int look_stat(struct look *l)
{
	struct proc_stat stat;
	char path[64];
	int err;

	if (look_late(l))
		return -ETIMEDOUT;
	snprintf(path, sizeof(path), "task/%d/stat", (int)l->tid);
	err = proc_stat_file(l->root, l->pid, path, &stat);
	if (err)
		return err;
	l->out->state = stat.state;
	l->thread_ticks = stat.ticks;
	return 0;
}

/* "running", "-1 SP PC" outside of a call, or "NUMBER ARG... SP PC". */
static void stall_scan_syscall(struct look *l)
{
	char line[FILE_BYTES], *at, *end;
	long number;

	l->out->syscall = -1;
	if (stall_thread_file(l, "syscall", line, sizeof(line)) <= 0 ||
	    !isdigit((unsigned char)*line))
		return;
	number = strtol(line, &end, 10);
	if (number > INT32_MAX)
		return;
	for (int i = 0; i < 6; i++) {
		at = end;
		l->arg[i] = strtoull(at, &end, 16);
		if (end == at)
			return;
	}
	l->out->syscall = (__s32)number;
	memcpy(l->out->arg, l->arg, sizeof(l->out->arg));
}

void look_symbol(char *out, size_t cap, const char *text)
{
	size_t n = 0;

	while (n + 1 < cap && (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '.'))
		n++;
	memcpy(out, text, n);
	out[n] = '\0';
}

/* wchan is "0" where the kernel keeps symbols to itself; the stack's first line says the same. */
static void stall_scan_wchan(struct look *l)
{
	char text[FILE_BYTES];

	if (stall_thread_file(l, "wchan", text, sizeof(text)) > 0 && strcmp(text, "0") != 0) {
		look_symbol(l->out->wchan, sizeof(l->out->wchan), text);
		return;
	}
	if (stall_thread_file(l, "stack", text, sizeof(text)) > 0 && !strncmp(text, "[<0>] ", 6))
		look_symbol(l->out->wchan, sizeof(l->out->wchan), text + 6);
}

/* The type of the file system that a descriptor's file lies on, in a line of mountinfo: "ID ... -
 * TYPE ...". */
static bool stall_scan_file_system(const struct look *l, char *out, size_t cap)
{
	char line[STATUS_BYTES], path[64], *at;
	bool found = false;
	size_t len;
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "fdinfo/%d", (int)l->arg[0]);
	if (proc_slurp(l->root, l->pid, path, line, sizeof(line)) <= 0)
		return false;
	at = strstr(line, "mnt_id:");
	len = (size_t)snprintf(path, sizeof(path), "%d ", at ? atoi(at + strlen("mnt_id:")) : -1);
	fd = proc_open(l->root, l->pid, "mountinfo", O_RDONLY);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	while (f && !found && !look_late(l) && fgets(line, sizeof(line), f)) {
		at = strncmp(line, path, len) ? NULL : strstr(line, " - ");
		if (!at)
			continue;
		look_symbol(out, cap, at + strlen(" - "));
		found = *out;
	}
	if (f)
		fclose(f);
	return found;
}

/* What a descriptor stands for, without touching it; of a file also the type of its file system. */
static bool stall_scan_file(const struct look *l, char *out, size_t cap)
{
	char path[PROC_PATH_MAX], link[PROC_PATH_MAX], type[32];
	ssize_t n;

	if (l->arg[0] > INT32_MAX)
		return false;
	snprintf(path, sizeof(path), "%s/proc/%d/fd/%d", l->root, (int)l->pid, (int)l->arg[0]);
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return false;
	log_escape(out, cap, link, (size_t)n);
	n = (ssize_t)strlen(out);
	if (*link == '/' && !stall_begins_with(link, "/dev/") &&
	    stall_scan_file_system(l, type, sizeof(type)))
		snprintf(out + n, cap - (size_t)n, " (%s)", type);
	return true;
}

/* ---- words ----------------------------------------------------------------------------------- */

void look_say(struct look *l, enum gp_why why, const char *fmt, ...)
{
	va_list ap;

	l->out->why = (__u8)why;
	va_start(ap, fmt);
	vsnprintf(l->out->where, sizeof(l->out->where), fmt, ap);
	va_end(ap);
}

/* A path is told by its end. */
static void stall_put_file(struct look *l, enum gp_why why, const char *verb, const char *file)
{
	size_t room = sizeof(l->out->where) - strlen(verb) - 2, len = strlen(file);

	if (len <= room)
		look_say(l, why, "%s %s", verb, file);
	else
		look_say(l, why, "%s ...%s", verb, file + len - (room - 3));
}

static void stall_why_read(struct look *l, const char *name)
{
	char file[512];

	if (!stall_scan_file(l, file, sizeof(file)))
		look_say(l, GP_WHY_input, "is in %s of descriptor %d", name, (int)l->arg[0]);
	else if (stall_begins_with(file, "socket:"))
		look_say(l, GP_WHY_network, "reads a socket");
	else if (stall_begins_with(file, "pipe:"))
		look_say(l, GP_WHY_input, "reads a pipe");
	else if (stall_begins_with(file, "anon_inode:"))
		stall_put_file(l, GP_WHY_idle, "reads", file);
	else if (stall_begins_with(file, "/dev/pts/") || stall_begins_with(file, "/dev/tty"))
		stall_put_file(l, GP_WHY_idle, "reads the terminal", file);
	else
		stall_put_file(l, GP_WHY_input, "reads", file);
}

static void stall_why_write(struct look *l, const char *name)
{
	char file[512], verb[32];

	snprintf(verb, sizeof(verb), "is in %s of", name);
	if (stall_scan_file(l, file, sizeof(file)))
		stall_put_file(l, stall_begins_with(file, "socket:") ? GP_WHY_network : GP_WHY_io,
			       verb, file);
	else
		look_say(l, GP_WHY_io, "is in %s of descriptor %d", name, (int)l->arg[0]);
}

static void stall_why_ioctl(struct look *l)
{
	static const char *const drivers[] = {"/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/accel",
					      "/dev/neuron"};
	enum gp_why why = GP_WHY_io;
	char file[512];

	if (!stall_scan_file(l, file, sizeof(file))) {
		look_say(l, GP_WHY_io, "is in ioctl");
		return;
	}
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (stall_begins_with(file, drivers[i]))
			why = GP_WHY_device;
	}
	stall_put_file(l, why, "is in ioctl of", file);
}

/* A call that was interrupted (SIGSTOP and SIGCONT) is told by what it sleeps in; where the
 * kernel's compiler left no frame to name (wchan is then its entry), by its arguments, which are
 * those of the first time: of the calls that go on so (nanosleep, poll, futex with a time limit:
 * linux/restart_block.h) only a sleep has a clock where the others have an address. */
static void stall_why_restart(struct look *l)
{
	bool clock = l->arg[0] < CLOCKS_END && l->arg[1] <= TIMER_ABSTIME;

	if (strstr(l->out->wchan, "nanosleep") || (clock && !strstr(l->out->wchan, "poll")))
		look_say(l, GP_WHY_sleep, "sleeps");
	else if (stall_begins_with(l->out->wchan, "futex"))
		look_say(l, GP_WHY_lock, "waits on a futex");
	else if (strstr(l->out->wchan, "poll"))
		look_say(l, GP_WHY_network, "polls descriptors");
	else
		look_say(l, GP_WHY_unknown, "is in a system call that a signal interrupted");
}

/* What a blocked thread waits for, by the system call it is in. */
static void stall_why_syscall(struct look *l)
{
	const char *name;
	enum syscall_kind kind = syscall_kind(l->out->syscall, &name);
	bool alone = kind != SYSCALL_POLL || l->arg[1] == 1;
	char file[512];

	switch (kind) {
	case SYSCALL_READ:
		stall_why_read(l, name);
		break;
	case SYSCALL_WRITE:
		stall_why_write(l, name);
		break;
	case SYSCALL_SOCKET:
		look_say(l, GP_WHY_network, "is in %s", name);
		break;
	case SYSCALL_IOCTL:
		stall_why_ioctl(l);
		break;
	case SYSCALL_FLOCK:
		if (stall_scan_file(l, file, sizeof(file)))
			stall_put_file(l, GP_WHY_lock, "waits for a lock on", file);
		else
			look_say(l, GP_WHY_lock, "waits for a lock on a file");
		break;
	case SYSCALL_FILE:
		look_say(l, GP_WHY_io, "is in %s", name);
		break;
	case SYSCALL_OPEN:
		look_say(l, GP_WHY_input, "%s",
			 strcmp(l->out->wchan, "wait_for_partner")
				 ? "opens a file"
				 : "opens a FIFO that has no other end");
		break;
	case SYSCALL_FUTEX:
		look_say(l, GP_WHY_lock, "waits on a %s", name);
		break;
	case SYSCALL_POLL:
		look_say(l, GP_WHY_network, "polls %s", alone ? "one descriptor" : "descriptors");
		break;
	case SYSCALL_EVENTS:
		look_say(l, GP_WHY_idle, "waits in %s", name);
		break;
	case SYSCALL_CHILD:
		look_say(l, GP_WHY_child, "waits for a child in %s", name);
		break;
	case SYSCALL_SLEEP:
		look_say(l, GP_WHY_sleep, "sleeps");
		break;
	case SYSCALL_RESTART:
		stall_why_restart(l);
		break;
	case SYSCALL_OTHER:
		look_say(l, GP_WHY_unknown, "is in system call %d", l->out->syscall);
		break;
	}
}

static void stall_why_stopped(struct look *l)
{
	char status[STATUS_BYTES], comm[64] = "", name[80] = "", *at;
	int tracer = 0;

	if (stall_thread_file(l, "status", status, sizeof(status)) > 0) {
		at = strstr(status, "\nTracerPid:");
		tracer = at ? atoi(at + strlen("\nTracerPid:")) : 0;
	}
	if (tracer && proc_slurp(l->root, tracer, "comm", comm, sizeof(comm)) > 0) {
		comm[strcspn(comm, "\n")] = '\0';
		log_escape(name, sizeof(name), comm, strlen(comm));
	}
	if (tracer)
		look_say(l, GP_WHY_stopped, "is held by process %d%s%.24s%s", tracer,
			 *name ? " (" : "", name, *name ? ")" : "");
	else
		look_say(l, GP_WHY_stopped, "is stopped by a signal");
}

void look_state(struct look *l)
{
	switch (l->out->state) {
	case 'T':
	case 't':
		stall_why_stopped(l);
		break;
	case 'R':
		look_say(l, GP_WHY_busy, "runs");
		break;
	case 'D':
		stall_scan_syscall(l);
		stall_scan_wchan(l);
		if (l->out->syscall < 0)
			look_say(l, GP_WHY_io, "waits for a page of memory");
		else
			stall_why_syscall(l);
		if (l->out->why != GP_WHY_device)
			l->out->why = GP_WHY_io;
		break;
	case 'S':
		stall_scan_syscall(l);
		stall_scan_wchan(l);
		if (l->out->syscall >= 0)
			stall_why_syscall(l);
		else
			look_say(l, GP_WHY_unknown, "sleeps in the kernel");
		break;
	default:
		look_say(l, GP_WHY_unknown, "is in state %c", l->out->state);
		break;
	}
}
