/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/proc_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/log.h"

/* flag of an exiting task (include/linux/sched.h); the kernel sets it before it calls the
 * tracepoint sched_process_exit */
#define PF_EXITING 0x4
#define STAT_BYTES 1024
/* bytes of /proc/PID/status that are read, which include the line "Tgid:" */
#define STATUS_BYTES 1024

int proc_error(int err)
{
	switch (err) {
	case ENOENT:
	case ESRCH:
		return -ESRCH;
	case EACCES:
	case EPERM:
		return -EACCES;
	default:
		return -err;
	}
}

int proc_open(const char *root, pid_t pid, const char *name, int flags)
{
	char path[PROC_PATH_MAX];
	int fd, len = snprintf(path, sizeof(path), "%s/proc/%d%s%s", root, (int)pid,
			       *name ? "/" : "", name);

	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? proc_error(errno) : fd;
}

ssize_t proc_read(int fd, void *buf, size_t len)
{
	ssize_t n;

	do {
		n = read(fd, buf, len);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? proc_error(errno) : n;
}

ssize_t proc_slurp(const char *root, pid_t pid, const char *name, char *buf, size_t cap)
{
	int fd = proc_open(root, pid, name, O_RDONLY);
	ssize_t n = 0, len = 0;

	if (fd < 0)
		return fd;
	while ((size_t)len < cap - 1) {
		n = proc_read(fd, buf + len, cap - 1 - (size_t)len);
		if (n <= 0)
			break;
		len += n;
	}
	close(fd);
	buf[len] = '\0';
	return n < 0 ? n : len;
}

/* Parses /proc/PID/stat: pid (comm) state ppid ... utime stime ... starttime, see proc(5) for the
 * fields. comm may contain ")" and newlines, later fields do not: so the last ")" ends comm. */
static int proc_file_parse_stat(char *line, struct proc_stat *ret)
{
	char *open = strchr(line, '('), *close = strrchr(line, ')'), *at, *end;
	long hz = sysconf(_SC_CLK_TCK);
	unsigned long long value = 0;
	struct proc_stat s;

	if (!open || !close || close < open || hz <= 0)
		return -EBADMSG;
	log_escape(s.comm, sizeof(s.comm), open + 1, (size_t)(close - open - 1));
	at = close + 1;
	at += strspn(at, " ");
	if (!isalpha((unsigned char)*at))
		return -EBADMSG;
	s.state = *at++;
	s.parent = 0;
	s.ticks = 0;
	s.exiting = s.state == 'Z' || s.state == 'X';
	for (int field = 4; field <= 22; field++, at = end) {
		value = strtoull(at, &end, 10);
		if (end == at)
			return -EBADMSG;
		if (field == 4)
			s.parent = (uint32_t)value;
		if (field == 9)
			s.exiting |= value & PF_EXITING;
		if (field == 14 || field == 15)
			s.ticks += value;
	}
	s.start_ns = value * (1000000000ull / (unsigned long)hz);
	*ret = s;
	return 0;
}

int proc_stat_file(const char *root, pid_t pid, const char *name, struct proc_stat *ret)
{
	char line[STAT_BYTES];
	ssize_t len = proc_slurp(root, pid, name, line, sizeof(line));

	if (len < 0)
		return (int)len;
	/* The kernel gives an empty file instead of an error if the process ended after the file
	 * was opened. */
	return len ? proc_file_parse_stat(line, ret) : -ESRCH;
}

int proc_stat(const char *root, pid_t pid, struct proc_stat *ret)
{
	return proc_stat_file(root, pid, "stat", ret);
}

pid_t proc_owner(const char *root, pid_t tid)
{
	char status[STATUS_BYTES];
	const char *at;

	if (proc_slurp(root, tid, "status", status, sizeof(status)) <= 0)
		return 0;
	/* The name in the first line cannot contain "\nTgid:", because the kernel escapes
	 * newlines. */
	at = strstr(status, "\nTgid:");
	return at ? (pid_t)strtol(at + strlen("\nTgid:"), NULL, 10) : 0;
}

int32_t proc_number(const char *text)
{
	long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	value = strtoll(text, &end, 10);
	return *end || errno || value > INT32_MAX ? -1 : (int32_t)value;
}
