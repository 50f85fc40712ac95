/* SPDX-License-Identifier: Apache-2.0 */
/* listen.h - a listening socket from what the user wrote. */
#ifndef EXPORT_LISTEN_H
#define EXPORT_LISTEN_H

#define LISTEN_TEXT_MAX 160

struct listen_socket {
	int fd;
	char path[108];		    /* of a unix socket, to be removed; "" otherwise */
	char text[LISTEN_TEXT_MAX]; /* where it really listens */
};

/* ADDR:PORT, [V6]:PORT or unix:PATH. 0 or -errno after one line. */
int listen_open(struct listen_socket *ret, const char *where);
/* Removes the path; the descriptor is closed by whom it was given to. */
void listen_remove(const struct listen_socket *l);

#endif
