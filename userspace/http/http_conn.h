/* SPDX-License-Identifier: Apache-2.0 */
/* http_conn.h - the open connections. libmicrohttpd closes a silent connection, but a client that
 * sends or reads a byte now and then would occupy a connection for hours. Therefore each request is
 * limited to HTTP_REQUEST_S seconds. */
#ifndef HTTP_HTTP_CONN_H
#define HTTP_HTTP_CONN_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "userspace/http/http_tls.h"

struct http_conn {
	struct http_conn *next, **place;
	int fd;
	bool spoke;	   /* TLS only: the client has sent its first byte */
	uint64_t since_ns; /* start of the connection, or end of the previous answer */
	/* client's address by http_conn_address(), to count wrong passwords */
	uint64_t address;
	struct http_tls *tls; /* NULL: none */
};

struct http_conns {
	pthread_mutex_t lock;
	struct http_conn *first;
};

/* Returns a number for a client's address: the IPv4 address, also if mapped to IPv6; the first half
 * of an IPv6 address; 0 for a unix socket. */
uint64_t http_conn_address(const struct sockaddr *addr);
void http_conns_init(struct http_conns *all);
/* Call on the server's thread. Returns NULL without memory, or if TLS cannot be set up: then the
 * connection must not be used. */
struct http_conn *http_conn_open(struct http_conns *all, struct MHD_Connection *c,
				 struct http_tls *tls);
void http_conn_answered(struct http_conns *all, struct http_conn *conn);
void http_conn_close(struct http_conns *all, struct http_conn *conn); /* conn may be NULL */
/* Ends connections whose request takes longer than limit_ns. Call from any thread. */
void http_conns_tick(struct http_conns *all, uint64_t limit_ns);

#endif
