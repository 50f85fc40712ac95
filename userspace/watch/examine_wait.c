/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/examine_wait.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "userspace/identity/blocked_call.h"

void examine_wait_calls(uint8_t call[EXAMINE_CALLS])
{
	const char *name;

	for (long i = 0; i < EXAMINE_CALLS; i++) {
		switch (syscall_kind(i, &name)) {
		case SYSCALL_READ:
		case SYSCALL_WRITE:
		case SYSCALL_SOCKET:
		case SYSCALL_IOCTL:
		case SYSCALL_FLOCK:
			call[i] = EXAMINE_CALL_FD;
			break;
		case SYSCALL_POLL:
			call[i] = EXAMINE_CALL_POLL;
			break;
		default:
			call[i] = EXAMINE_CALL_OTHER;
		}
	}
}

static bool examine_wait_begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Returns the kind of a wait for a descriptor, by the file type that the kernel side recorded. */
static enum gp_wait examine_wait_file(const struct examine_wait *w)
{
	switch (w->type) {
	case S_IFSOCK:
		return w->inet ? GP_WAIT_network : GP_WAIT_socket;
	case S_IFIFO:
		return GP_WAIT_pipe;
	case S_IFCHR:
		return GP_WAIT_device;
	case S_IFREG:
	case S_IFDIR:
	case S_IFBLK:
		return GP_WAIT_file;
	default: /* descriptors of eventfd(2), epoll(7)... have no file type */
		return GP_WAIT_events;
	}
}

/* Returns the kind of a wait for a descriptor, by the target of /proc/PID/fd/FD (link). */
static enum gp_wait examine_wait_link(const char *link, enum syscall_kind kind)
{
	if (examine_wait_begins(link, "socket:"))
		return GP_WAIT_socket;
	if (examine_wait_begins(link, "pipe:"))
		return GP_WAIT_pipe;
	if (examine_wait_begins(link, "anon_inode:"))
		return GP_WAIT_events;
	if (examine_wait_begins(link, "/dev/") && !examine_wait_begins(link, "/dev/shm/"))
		return GP_WAIT_device;
	if (*link == '/')
		return GP_WAIT_file;
	return kind == SYSCALL_SOCKET ? GP_WAIT_socket
	       : kind == SYSCALL_POLL ? GP_WAIT_events
				      : GP_WAIT_other;
}

enum gp_wait examine_wait_kind(const struct examine_wait *w, const char *link)
{
	const char *name;
	enum syscall_kind kind = syscall_kind(w->syscall, &name);

	if (w->syscall == EXAMINE_STOPPED)
		return GP_WAIT_stopped;
	if (w->syscall == -1)
		return GP_WAIT_page;
	switch (kind) {
	case SYSCALL_READ:
	case SYSCALL_WRITE:
	case SYSCALL_SOCKET:
	case SYSCALL_POLL:
		if (kind == SYSCALL_POLL && w->fd < 0)
			return GP_WAIT_events;
		return w->known ? examine_wait_file(w) : examine_wait_link(link, kind);
	case SYSCALL_IOCTL:
		return GP_WAIT_device;
	case SYSCALL_FLOCK:
	case SYSCALL_FUTEX:
		return GP_WAIT_lock;
	case SYSCALL_FILE:
	case SYSCALL_OPEN:
		return GP_WAIT_file;
	case SYSCALL_EVENTS:
		return GP_WAIT_events;
	case SYSCALL_CHILD:
		return GP_WAIT_child;
	case SYSCALL_SLEEP:
		return GP_WAIT_sleep;
	default:
		return GP_WAIT_other;
	}
}

static void examine_wait_peer(char *out, size_t len, const struct examine_wait *w)
{
	char address[INET_ADDRSTRLEN];

	*out = '\0';
	if (w->address && inet_ntop(AF_INET, &w->address, address, sizeof(address)))
		snprintf(out, len, "%s:%u", address, w->port);
	else if (w->port)
		snprintf(out, len, "port %u", w->port);
}

/* Returns true if link may be the path of the file waited for: its last component is the name that
 * the kernel side recorded. */
static bool examine_wait_same(const struct examine_wait *w, const char *link)
{
	size_t n = strnlen(w->name, sizeof(w->name));
	const char *last = strrchr(link, '/');

	if (!last)
		return false;
	last++;
	return n + 1 == sizeof(w->name) ? !strncmp(last, w->name, n)
					: strlen(last) == n && !strncmp(last, w->name, n);
}

void examine_wait_name(char *out, size_t len, const struct examine_wait *w, enum gp_wait kind,
		       const char *link)
{
	size_t n = strlen(link);

	*out = '\0';
	if (kind == GP_WAIT_network)
		examine_wait_peer(out, len, w);
	else if (w->fd < 0 || kind == GP_WAIT_events)
		return;
	else if (kind == GP_WAIT_pipe || kind == GP_WAIT_socket)
		snprintf(out, len, "%s",
			 examine_wait_link(link, SYSCALL_OTHER) == kind ? link : "");
	else if (w->known && !examine_wait_same(w, link))
		snprintf(out, len, "%.*s", (int)sizeof(w->name), w->name);
	else if (n < len)
		snprintf(out, len, "%s", link);
	else
		snprintf(out, len, "...%s", link + n - (len - 4));
}
