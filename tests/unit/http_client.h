/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.h - a client of HTTP on 127.0.0.1, or on any descriptor, that sends what it is
 * told. */
#ifndef TESTS_UNIT_HTTP_CLIENT_H
#define TESTS_UNIT_HTTP_CLIENT_H

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "userspace/base/buffer.h"

/* A connection; what is never answered ends after 20 s. */
static inline int http_dial(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct timeval limit = {.tv_sec = 20};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static inline void http_ask(int fd, const char *method, const char *path, const char *headers)
{
	char text[4096];
	int n = snprintf(text, sizeof(text),
			 "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", method,
			 path, headers);

	assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
}

/* All that comes, until the end; closes fd. */
static inline char *http_answered(int fd)
{
	struct buffer b = {0};
	ssize_t n;

	for (char *to; (to = buffer_reserve(&b, 65536)); b.len += (size_t)n) {
		n = recv(fd, to, 65536, 0);
		if (n <= 0) {
			to[0] = '\0';
			break;
		}
	}
	close(fd);
	return b.data;
}

#endif
