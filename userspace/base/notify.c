/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "userspace/base/log.h"

#define TEXT_MAX 1024

struct notify {
	int fd;
	struct sockaddr_un to;
	socklen_t to_len;
	uint64_t watchdog_ns;
	bool failure_logged; /* a failure to send was logged; further ones are not */
};

/* Sets the address of the service manager's socket. name: a path, or '@' and the name of an
 * abstract socket. */
static int notify_address(struct notify *n, const char *name)
{
	size_t len = strlen(name);

	if ((*name != '/' && *name != '@') || len < 2 || len >= sizeof(n->to.sun_path))
		return -EINVAL;
	n->to.sun_family = AF_UNIX;
	memcpy(n->to.sun_path, name, len);
	if (*name == '@')
		n->to.sun_path[0] = '\0';
	n->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (*name == '/'));
	return 0;
}

static uint64_t notify_watchdog_interval_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	unsigned long long us;
	char *end;

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	errno = 0;
	us = strtoull(usec, &end, 10);
	return errno || *end || !us || us > UINT64_MAX / 1000 ? 0 : us * 1000 / 2;
}

int notify_open(struct notify **ret)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct notify *n;
	int err;

	*ret = NULL;
	if (!name || !*name)
		return 0;
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->fd = -1;
	err = notify_address(n, name);
	if (!err) {
		n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		err = n->fd < 0 ? -errno : 0;
	}
	if (err) {
		log_error("NOTIFY_SOCKET=%s: cannot connect to the service manager: %s", name,
			  strerror(-err));
		notify_close(n);
		return err;
	}
	n->watchdog_ns = notify_watchdog_interval_ns();
	unsetenv("NOTIFY_SOCKET");
	*ret = n;
	return 0;
}

void notify_close(struct notify *n)
{
	if (!n)
		return;
	if (n->fd >= 0)
		close(n->fd);
	free(n);
}

void notify_send(struct notify *n, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list args;
	ssize_t sent;
	int len;

	if (!n)
		return;
	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0)
		return;
	if ((size_t)len >= sizeof(text))
		len = sizeof(text) - 1;
	sent = sendto(n->fd, text, (size_t)len, MSG_NOSIGNAL, (const struct sockaddr *)&n->to,
		      n->to_len);
	if (sent < 0 && !n->failure_logged && errno != EAGAIN) {
		log_warn("cannot report the state to the service manager: %s", strerror(errno));
		n->failure_logged = true;
	}
}

uint64_t notify_watchdog_ns(const struct notify *n)
{
	return n ? n->watchdog_ns : 0;
}
