/* SPDX-License-Identifier: Apache-2.0 */
/* blocked_call_state.c - explains from its state and its system call why a thread is blocked. */
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
#include "userspace/identity/blocked_call_private.h"

#define FILE_BYTES   1024
#define STATUS_BYTES 4096
/* The kernel's clock IDs are below this number: MAX_CLOCKS in linux/time.h. */
#define CLOCKS_END 16

static bool blocked_call_begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* ---- files of one thread --------------------------------------------------------------------- */

bool blocked_scan_late(const struct blocked_scan *l)
{
	return clock_mono_ns() > l->deadline_ns;
}

static ssize_t blocked_call_thread_file(const struct blocked_scan *l, const char *name, char *buf,
					size_t cap)
{
	char path[64];

	if (blocked_scan_late(l))
		return -ETIMEDOUT;
	snprintf(path, sizeof(path), "task/%d/%s", (int)l->tid, name);
	return proc_slurp(l->root, l->pid, path, buf, cap);
}

int blocked_scan_stat(struct blocked_scan *l)
{
	struct proc_stat stat;
	char path[64];
	int err;

	if (blocked_scan_late(l))
		return -ETIMEDOUT;
	snprintf(path, sizeof(path), "task/%d/stat", (int)l->tid);
	err = proc_stat_file(l->root, l->pid, path, &stat);
	if (err)
		return err;
	l->out->state = stat.state;
	l->thread_ticks = stat.ticks;
	return 0;
}

/* Reads the system call of the thread from /proc/PID/task/TID/syscall: "running", "-1 SP PC"
 * outside of a call, or "NUMBER ARG... SP PC". */
static void blocked_call_scan_syscall(struct blocked_scan *l)
{
	char line[FILE_BYTES], *at, *end;
	long number;

	l->out->syscall = -1;
	if (blocked_call_thread_file(l, "syscall", line, sizeof(line)) <= 0 ||
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

void blocked_scan_symbol(char *out, size_t cap, const char *text)
{
	size_t n = 0;

	while (n + 1 < cap && (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '.'))
		n++;
	memcpy(out, text, n);
	out[n] = '\0';
}

/* Reads the kernel function in which the thread sleeps: from wchan or, if the kernel hides symbols
 * there ("0"), from the first line of the stack. */
static void blocked_call_scan_wchan(struct blocked_scan *l)
{
	char text[FILE_BYTES];

	if (blocked_call_thread_file(l, "wchan", text, sizeof(text)) > 0 &&
	    strcmp(text, "0") != 0) {
		blocked_scan_symbol(l->out->wchan, sizeof(l->out->wchan), text);
		return;
	}
	if (blocked_call_thread_file(l, "stack", text, sizeof(text)) > 0 &&
	    !strncmp(text, "[<0>] ", 6))
		blocked_scan_symbol(l->out->wchan, sizeof(l->out->wchan), text + 6);
}

/* Finds the file system type of a descriptor's file, in a line of mountinfo: "ID ... - TYPE ...".
 */
static bool blocked_call_scan_file_system(const struct blocked_scan *l, char *out, size_t cap)
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
	while (f && !found && !blocked_scan_late(l) && fgets(line, sizeof(line), f)) {
		at = strncmp(line, path, len) ? NULL : strstr(line, " - ");
		if (!at)
			continue;
		blocked_scan_symbol(out, cap, at + strlen(" - "));
		found = *out;
	}
	if (f)
		fclose(f);
	return found;
}

/* Describes the file of a descriptor without touching the file; for a regular file, also its file
 * system type. */
static bool blocked_call_scan_file(const struct blocked_scan *l, char *out, size_t cap)
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
	if (*link == '/' && !blocked_call_begins_with(link, "/dev/") &&
	    blocked_call_scan_file_system(l, type, sizeof(type)))
		snprintf(out + n, cap - (size_t)n, " (%s)", type);
	return true;
}

/* ---- texts ----------------------------------------------------------------------------------- */

void blocked_scan_explain(struct blocked_scan *l, enum gp_why why, const char *fmt, ...)
{
	va_list ap;

	l->out->why = (__u8)why;
	va_start(ap, fmt);
	vsnprintf(l->out->where, sizeof(l->out->where), fmt, ap);
	va_end(ap);
}

/* Explains a system call by the file it is on. If the path is too long, its beginning is cut
 * off. */
static void blocked_call_put_file(struct blocked_scan *l, enum gp_why why, const char *verb,
				  const char *file)
{
	size_t room = sizeof(l->out->where) - strlen(verb) - 2, len = strlen(file);

	if (len <= room)
		blocked_scan_explain(l, why, "%s %s", verb, file);
	else
		blocked_scan_explain(l, why, "%s ...%s", verb, file + len - (room - 3));
}

static void blocked_call_why_read(struct blocked_scan *l, const char *name)
{
	char file[512];

	if (!blocked_call_scan_file(l, file, sizeof(file)))
		blocked_scan_explain(l, GP_WHY_input, "is in %s of descriptor %d", name,
				     (int)l->arg[0]);
	else if (blocked_call_begins_with(file, "socket:"))
		blocked_scan_explain(l, GP_WHY_network, "reads a socket");
	else if (blocked_call_begins_with(file, "pipe:"))
		blocked_scan_explain(l, GP_WHY_input, "reads a pipe");
	else if (blocked_call_begins_with(file, "anon_inode:"))
		blocked_call_put_file(l, GP_WHY_idle, "reads", file);
	else if (blocked_call_begins_with(file, "/dev/pts/") ||
		 blocked_call_begins_with(file, "/dev/tty"))
		blocked_call_put_file(l, GP_WHY_idle, "reads the terminal", file);
	else
		blocked_call_put_file(l, GP_WHY_input, "reads", file);
}

static void blocked_call_why_write(struct blocked_scan *l, const char *name)
{
	char file[512], verb[32];

	snprintf(verb, sizeof(verb), "is in %s of", name);
	if (blocked_call_scan_file(l, file, sizeof(file)))
		blocked_call_put_file(
			l, blocked_call_begins_with(file, "socket:") ? GP_WHY_network : GP_WHY_io,
			verb, file);
	else
		blocked_scan_explain(l, GP_WHY_io, "is in %s of descriptor %d", name,
				     (int)l->arg[0]);
}

static void blocked_call_why_ioctl(struct blocked_scan *l)
{
	enum gp_why why = GP_WHY_io;
	char file[512];

	if (!blocked_call_scan_file(l, file, sizeof(file))) {
		blocked_scan_explain(l, GP_WHY_io, "is in ioctl");
		return;
	}
	for (const char *const *device = l->words->devices; *device; device++) {
		if (blocked_call_begins_with(file, *device))
			why = GP_WHY_device;
	}
	blocked_call_put_file(l, why, "is in ioctl of", file);
}

/* Explains a call that was interrupted (SIGSTOP, SIGCONT) and resumed, by the kernel function in
 * which it sleeps. If wchan names only the entry point of the call, the first arguments decide: of
 * the calls that resume this way (nanosleep, poll, futex with a time limit: linux/restart_block.h),
 * only a sleep has a clock ID there; the others have an address. */
static void blocked_call_why_restart(struct blocked_scan *l)
{
	bool clock = l->arg[0] < CLOCKS_END && l->arg[1] <= TIMER_ABSTIME;

	if (strstr(l->out->wchan, "nanosleep") || (clock && !strstr(l->out->wchan, "poll")))
		blocked_scan_explain(l, GP_WHY_sleep, "sleeps");
	else if (blocked_call_begins_with(l->out->wchan, "futex"))
		blocked_scan_explain(l, GP_WHY_lock, "waits on a futex");
	else if (strstr(l->out->wchan, "poll"))
		blocked_scan_explain(l, GP_WHY_network, "polls descriptors");
	else
		blocked_scan_explain(l, GP_WHY_unknown,
				     "is in a system call that a signal interrupted");
}

/* Explains a blocked thread by the system call it is in. */
static void blocked_call_why_syscall(struct blocked_scan *l)
{
	const char *name;
	enum syscall_kind kind = syscall_kind(l->out->syscall, &name);
	bool alone = kind != SYSCALL_POLL || l->arg[1] == 1;
	char file[512];

	switch (kind) {
	case SYSCALL_READ:
		blocked_call_why_read(l, name);
		break;
	case SYSCALL_WRITE:
		blocked_call_why_write(l, name);
		break;
	case SYSCALL_SOCKET:
		blocked_scan_explain(l, GP_WHY_network, "is in %s", name);
		break;
	case SYSCALL_IOCTL:
		blocked_call_why_ioctl(l);
		break;
	case SYSCALL_FLOCK:
		if (blocked_call_scan_file(l, file, sizeof(file)))
			blocked_call_put_file(l, GP_WHY_io, "waits for a lock on", file);
		else
			blocked_scan_explain(l, GP_WHY_io, "waits for a lock on a file");
		break;
	case SYSCALL_FILE:
		blocked_scan_explain(l, GP_WHY_io, "is in %s", name);
		break;
	case SYSCALL_OPEN:
		blocked_scan_explain(l, GP_WHY_input, "%s",
				     strcmp(l->out->wchan, "wait_for_partner")
					     ? "opens a file"
					     : "opens a FIFO that has no other end");
		break;
	case SYSCALL_FUTEX:
		blocked_scan_explain(l, GP_WHY_lock, "waits on a %s", name);
		break;
	case SYSCALL_POLL:
		blocked_scan_explain(l, GP_WHY_network, "polls %s",
				     alone ? "one descriptor" : "descriptors");
		break;
	case SYSCALL_EVENTS:
		blocked_scan_explain(l, GP_WHY_idle, "waits in %s", name);
		break;
	case SYSCALL_CHILD:
		blocked_scan_explain(l, GP_WHY_child, "waits for a child in %s", name);
		break;
	case SYSCALL_SLEEP:
		blocked_scan_explain(l, GP_WHY_sleep, "sleeps");
		break;
	case SYSCALL_RESTART:
		blocked_call_why_restart(l);
		break;
	case SYSCALL_OTHER:
		blocked_scan_explain(l, GP_WHY_unknown, "is in system call %d", l->out->syscall);
		break;
	}
}

static void blocked_call_why_stopped(struct blocked_scan *l)
{
	char status[STATUS_BYTES], comm[64] = "", name[80] = "", *at;
	int tracer = 0;

	if (blocked_call_thread_file(l, "status", status, sizeof(status)) > 0) {
		at = strstr(status, "\nTracerPid:");
		tracer = at ? atoi(at + strlen("\nTracerPid:")) : 0;
	}
	if (tracer && proc_slurp(l->root, tracer, "comm", comm, sizeof(comm)) > 0) {
		comm[strcspn(comm, "\n")] = '\0';
		log_escape(name, sizeof(name), comm, strlen(comm));
	}
	if (tracer)
		blocked_scan_explain(l, GP_WHY_stopped, "is stopped by process %d%s%.24s%s", tracer,
				     *name ? " (" : "", name, *name ? ")" : "");
	else
		blocked_scan_explain(l, GP_WHY_stopped, "is stopped by a signal");
}

void blocked_scan_state(struct blocked_scan *l)
{
	switch (l->out->state) {
	case 'T':
	case 't':
		blocked_call_why_stopped(l);
		break;
	case 'R':
		blocked_scan_explain(l, GP_WHY_busy, "runs");
		break;
	case 'D':
		blocked_call_scan_syscall(l);
		blocked_call_scan_wchan(l);
		if (l->out->syscall < 0)
			blocked_scan_explain(l, GP_WHY_io, "waits for a page of memory");
		else
			blocked_call_why_syscall(l);
		if (l->out->why != GP_WHY_device)
			l->out->why = GP_WHY_io;
		break;
	case 'S':
		blocked_call_scan_syscall(l);
		blocked_call_scan_wchan(l);
		if (l->out->syscall >= 0)
			blocked_call_why_syscall(l);
		else
			blocked_scan_explain(l, GP_WHY_unknown, "sleeps in the kernel");
		break;
	default:
		blocked_scan_explain(l, GP_WHY_unknown, "is in state %c", l->out->state);
		break;
	}
}
