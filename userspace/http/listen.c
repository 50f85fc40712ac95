/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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
#include "userspace/base/path.h"

#define LISTEN_BACKLOG 128

/* Splits "127.0.0.1:9847", "[::1]:9847" or ":9847", which has an empty host. */
static int listen_split(const char *where, char *host, size_t host_len, char *port, size_t port_len)
{
	const char *colon = strrchr(where, ':');
	size_t len;

	if (!colon || !colon[1])
		return -EINVAL;
	len = (size_t)(colon - where);
	if (*where == '[') {
		if (where[len - 1] != ']')
			return -EINVAL;
		where++;
		len -= 2;
	} else if (memchr(where, ':', len)) {
		return -EINVAL; /* an IPv6 address needs brackets */
	}
	if ((!len && colon != where) || len >= host_len || strlen(colon + 1) >= port_len)
		return -EINVAL;
	/* getaddrinfo() accepts 99999 and keeps the lower 16 bits. */
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
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} addr = {0};
	socklen_t len = sizeof(addr);
	char host[INET6_ADDRSTRLEN], port[8];

	if (getsockname(l->fd, &addr.any, &len) ||
	    getnameinfo(&addr.any, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	if (addr.any.sa_family == AF_INET)
		l->loopback = ntohl(addr.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	else
		l->loopback = IN6_IS_ADDR_LOOPBACK(&addr.v6.sin6_addr);
	snprintf(l->text, sizeof(l->text), ai->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
		 port);
}

/* Listens at one address. host NULL: all addresses of the family; an IPv6 socket then accepts IPv4,
 * too. */
static int listen_at(struct listen_socket *l, const char *where, const char *host, const char *port,
		     int family)
{
	const struct addrinfo hints = {.ai_family = family,
				       .ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	int err, one = 1, zero = 0;

	err = getaddrinfo(host, port, &hints, &list);
	if (err) {
		log_error("--listen %s: cannot resolve the address: %s", where, gai_strerror(err));
		return -EINVAL;
	}
	l->fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = l->fd < 0 ? -errno : 0;
	if (!err) {
		setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (!host && family == AF_INET6)
			setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
		err = listen_bind(l->fd, list->ai_addr, list->ai_addrlen);
	}
	if (!err)
		listen_name(l, list);
	freeaddrinfo(list);
	return err;
}

static int listen_tcp(struct listen_socket *l, const char *where)
{
	char host[256], port[8];
	int err = listen_split(where, host, sizeof(host), port, sizeof(port));

	if (err)
		return err;
	if (*host)
		return listen_at(l, where, host, port, AF_UNSPEC);
	err = listen_at(l, where, NULL, port, AF_INET6);
	if (err != -EAFNOSUPPORT && err != -EADDRNOTAVAIL)
		return err;
	if (l->fd >= 0)
		close(l->fd);
	return listen_at(l, where, NULL, port, AF_INET); /* on a machine without IPv6 */
}

/* A socket file to be created in a folder that has been checked. The folder stays open, because its
 * path may later lead to another folder. */
struct listen_place {
	int folder;
	const char *name; /* name of the socket file in the folder */
	struct sockaddr_un addr;
};

static int listen_find(struct listen_place *p, const char *path)
{
	int n;

	p->folder = path_parent(path, &p->name);
	if (p->folder < 0)
		return p->folder;
	p->addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(p->addr.sun_path, sizeof(p->addr.sun_path), "/proc/self/fd/%d/%s", p->folder,
		     p->name);
	if (n < (int)sizeof(p->addr.sun_path))
		return 0;
	close(p->folder);
	return -ENAMETOOLONG;
}

/* Returns true if no process listens at this socket file, because the process that created it was
 * killed. */
static bool listen_stale(const struct listen_place *p)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;
	bool stale;

	if (fd < 0)
		return false;
	stale = !fstatat(p->folder, p->name, &st, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(st.st_mode) &&
		connect(fd, (const struct sockaddr *)&p->addr, sizeof(p->addr)) &&
		errno == ECONNREFUSED;
	close(fd);
	return stale;
}

/* Sets group and mode of the socket file, independent of the umask. Opens the file first, because
 * another file may get its name. */
static int listen_own(struct listen_socket *l, const struct listen_place *p, mode_t mode)
{
	char self[32];
	struct stat st;
	int err = 0, fd = openat(p->folder, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) || (S_ISSOCK(st.st_mode) && chmod(self, mode)))
		err = -errno;
	else if (!S_ISSOCK(st.st_mode))
		err = -EEXIST;
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	close(fd);
	return err;
}

static int listen_make(struct listen_socket *l, const struct listen_place *p, mode_t mode)
{
	const struct sockaddr *addr = (const struct sockaddr *)&p->addr;
	int err;

	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return -errno;
	fchmod(l->fd, mode); /* bind() gives the new file at most this mode */
	err = listen_bind(l->fd, addr, sizeof(p->addr));
	if (err == -EADDRINUSE && listen_stale(p) && !unlinkat(p->folder, p->name, 0))
		err = listen_bind(l->fd, addr, sizeof(p->addr));
	return err ? err : listen_own(l, p, mode);
}

static int listen_unix(struct listen_socket *l, const char *path, mode_t mode)
{
	struct listen_place place;
	int err;

	if (!*path || strlen(path) >= sizeof(l->path))
		return -ENAMETOOLONG;
	err = listen_find(&place, path);
	if (err)
		return err;
	err = listen_make(l, &place, mode);
	close(place.folder);
	if (err)
		return err;
	memcpy(l->path, path, strlen(path) + 1);
	snprintf(l->text, sizeof(l->text), "unix:%s", path);
	return 0;
}

int listen_check(const char *where)
{
	char host[256], port[8];

	if (!strncmp(where, "unix:", 5)) {
		if (where[5] && strlen(where + 5) <= LISTEN_PATH_MAX)
			return 0;
		log_error("--listen %s: expected a path of 1 to %zu bytes", where, LISTEN_PATH_MAX);
		return -EINVAL;
	}
	if (!listen_split(where, host, sizeof(host), port, sizeof(port)))
		return 0;
	log_error("--listen %s: expected ADDR:PORT, [V6]:PORT, :PORT or unix:PATH", where);
	return -EINVAL;
}

int listen_open(struct listen_socket *ret, const char *where)
{
	struct listen_socket l = {.fd = -1};
	int err;

	err = listen_check(where);
	if (err)
		return err;
	snprintf(l.text, sizeof(l.text), "%s", where);
	err = strncmp(where, "unix:", 5) ? listen_tcp(&l, where)
					 : listen_unix(&l, where + 5, LISTEN_UNIX_MODE);
	if (!err) {
		*ret = l;
		return 0;
	}
	if (err == -EADDRINUSE)
		log_error(
			"--listen %s: the address is in use (is another gp-bpf running?); choose another",
			where);
	else if (err != -EINVAL)
		log_error("--listen %s: %s", where, path_why(err));
	if (l.fd >= 0)
		close(l.fd);
	return err;
}

int listen_open_own(struct listen_socket *ret, const char *path)
{
	struct listen_socket l = {.fd = -1};
	int err = listen_unix(&l, path, LISTEN_OWN_MODE);

	if (!err)
		*ret = l;
	else if (l.fd >= 0)
		close(l.fd);
	return err;
}

void listen_remove(const struct listen_socket *l)
{
	const char *name;
	struct stat st;
	int folder = l->path[0] ? path_parent(l->path, &name) : -ENOENT;

	if (folder < 0)
		return;
	if (!fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == l->dev &&
	    st.st_ino == l->ino)
		unlinkat(folder, name, 0);
	close(folder);
}
