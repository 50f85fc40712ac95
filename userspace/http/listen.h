/* SPDX-License-Identifier: Apache-2.0 */
/* listen.h - opens listening sockets at addresses written by the user. */
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#define LISTEN_TEXT_MAX	 160
#define LISTEN_UNIX_MODE 0660 /* unix socket of --listen: root and its group can connect */
#define LISTEN_OWN_MODE	 0600
#define LISTEN_PATH_MAX	 (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

struct listen_socket {
	int fd;
	char path[108]; /* path of the unix socket, to be removed; "": TCP */
	/* device and inode of the file at path, so that only the file of this process is removed */
	dev_t dev;
	ino_t ino;
	bool loopback;		    /* only this machine can connect */
	char text[LISTEN_TEXT_MAX]; /* the address in use */
};

/* Opens a listening socket. where: ADDR:PORT, [V6]:PORT, :PORT (all addresses, with IPv6 where the
 * machine has it) or unix:PATH. A socket file at which no process listens is replaced; anything
 * else at PATH, also a symbolic link, is left alone (-EADDRINUSE). Returns 0, or -errno after
 * logging one line. */
int listen_open(struct listen_socket *ret, const char *where);
/* Checks the syntax without opening anything. Returns 0, or -EINVAL after logging one line. */
int listen_check(const char *where);
/* Opens a unix socket for this user only. The caller logs the error: -ENAMETOOLONG,
 * -EADDRINUSE... */
int listen_open_own(struct listen_socket *ret, const char *path);
/* Removes the socket file if this process created it; does not close the descriptor. */
void listen_remove(const struct listen_socket *l);

#endif
