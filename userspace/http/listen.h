/* SPDX-License-Identifier: Apache-2.0 */
/* listen.h - a listening socket from what the user wrote. */
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#define LISTEN_TEXT_MAX	 160
#define LISTEN_UNIX_MODE 0660 /* of a unix socket: root and its group */
#define LISTEN_OWN_MODE	 0600
#define LISTEN_PATH_MAX	 (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

struct listen_socket {
	int fd;
	char path[108]; /* of a unix socket, to be removed; "" otherwise */
	dev_t dev;	/* of that path, so that no other's is removed */
	ino_t ino;
	bool loopback;		    /* nobody from outside can connect */
	char text[LISTEN_TEXT_MAX]; /* where it really listens */
};

/* ADDR:PORT, [V6]:PORT, :PORT (all addresses, of IPv6 too where there is such) or unix:PATH. A
 * socket file that nobody answers on is replaced; anything else at PATH is left alone, a symbolic
 * link too (-EADDRINUSE). 0 or -errno after one line. */
int listen_open(struct listen_socket *ret, const char *where);
/* What can be said of it before it is opened: -EINVAL after one line. */
int listen_check(const char *where);
/* A unix socket for this user alone. The caller logs the error: -ENAMETOOLONG, -EADDRINUSE... */
int listen_open_own(struct listen_socket *ret, const char *path);
/* Removes the path, if it is still ours; the descriptor is closed by whom it was given to. */
void listen_remove(const struct listen_socket *l);

#endif
