/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "userspace/base/log.h"

#define LISTEN_BACKLOG 128

/* Splits "127.0.0.1:9847" or "[::1]:9847". */
static int listen_split(const char *where, char *host, size_t host_len, char *port, size_t port_len)
{
	const char *colon = strrchr(where, ':');
	size_t len;

	if (!colon || colon == where || !colon[1])
		return -EINVAL;
	len = (size_t)(colon - where);
	if (*where == '[') {
		if (where[len - 1] != ']')
			return -EINVAL;
		where++;
		len -= 2;
	} else if (memchr(where, ':', len)) {
		return -EINVAL; /* ::1:9847 could be read in two ways */
	}
	if (!len || len >= host_len || strlen(colon + 1) >= port_len)
		return -EINVAL;
	/* getaddrinfo() takes 99999 and keeps its low half. */
	if (strspn(colon + 1, "0123456789") != strlen(colon + 1) || atoi(colon + 1) > 65535)
		return -EINVAL;
	memcpy(host, where, len);
	host[len] = '\0';
	snprintf(port, port_len, "%s", colon + 1);
	return 0;
}

static int listen_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (bind(fd, addr, len) || listen(fd, LISTEN_BACKLOG))
		return -errno;
	return 0;
}

static void listen_name(struct listen_socket *l, const struct addrinfo *ai)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	char host[INET6_ADDRSTRLEN], port[8];

	if (getsockname(l->fd, (struct sockaddr *)&addr, &len) ||
	    getnameinfo((struct sockaddr *)&addr, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	snprintf(l->text, sizeof(l->text), ai->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static int listen_tcp(struct listen_socket *l, const char *where)
{
	static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
					      .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	char host[256], port[8];
	int err, one = 1;

	if (listen_split(where, host, sizeof(host), port, sizeof(port))) {
		log_error("--listen %s: expected ADDR:PORT, [V6]:PORT or unix:PATH", where);
		return -EINVAL;
	}
	err = getaddrinfo(host, port, &hints, &list);
	if (err) {
		log_error("--listen %s: %s", where, gai_strerror(err));
		return -EINVAL;
	}
	l->fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = l->fd < 0 ? -errno : 0;
	if (!err) {
		setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		err = listen_bind(l->fd, list->ai_addr, list->ai_addrlen);
	}
	if (!err)
		listen_name(l, list);
	freeaddrinfo(list);
	return err;
}

/* A socket file that nobody answers on is left over from a run that was killed. */
static bool listen_stale(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;
	bool stale;

	if (fd < 0)
		return false;
	stale = !lstat(addr->sun_path, &st) && S_ISSOCK(st.st_mode) &&
		connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) && errno == ECONNREFUSED;
	close(fd);
	return stale;
}

static int listen_unix(struct listen_socket *l, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int err;

	if (!*path || strlen(path) >= sizeof(addr.sun_path)) {
		log_error("--listen unix:%s: a path of 1 to %zu bytes is needed", path,
			  sizeof(addr.sun_path) - 1);
		return -EINVAL;
	}
	memcpy(addr.sun_path, path, strlen(path) + 1);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return -errno;
	err = listen_bind(l->fd, (struct sockaddr *)&addr, sizeof(addr));
	if (err == -EADDRINUSE && listen_stale(&addr) && !unlink(path))
		err = listen_bind(l->fd, (struct sockaddr *)&addr, sizeof(addr));
	if (err)
		return err;
	memcpy(l->path, path, strlen(path) + 1);
	snprintf(l->text, sizeof(l->text), "unix:%s", path);
	return 0;
}

int listen_open(struct listen_socket *ret, const char *where)
{
	struct listen_socket l = {.fd = -1};
	int err;

	snprintf(l.text, sizeof(l.text), "%s", where);
	err = strncmp(where, "unix:", 5) ? listen_tcp(&l, where) : listen_unix(&l, where + 5);
	if (!err) {
		*ret = l;
		return 0;
	}
	if (err == -EADDRINUSE)
		log_error("--listen %s: the address is in use (is another gp-bpf running?); choose another",
			  where);
	else if (err != -EINVAL)
		log_error("--listen %s: %s", where, strerror(-err));
	if (l.fd >= 0)
		close(l.fd);
	return err;
}

void listen_remove(const struct listen_socket *l)
{
	if (l->path[0])
		unlink(l->path);
}
