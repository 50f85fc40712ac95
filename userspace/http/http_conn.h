/* SPDX-License-Identifier: Apache-2.0 */
/* http_conn.h - the connections that are open. libmicrohttpd closes one that is silent; one that
 * sends or reads a byte now and then would keep its place for hours: it has HTTP_REQUEST_S seconds
 * for each request. */
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
	bool spoke;	      /* over TLS: its first byte was seen */
	uint64_t since_ns;    /* the connection, or the answer before */
	uint64_t address;     /* whom to count it for, as http_conn_address() */
	struct http_tls *tls; /* NULL: none */
};

struct http_conns {
	pthread_mutex_t lock;
	struct http_conn *first;
};

/* IPv4, also where IPv6 carries it; the first half of IPv6. 0: a unix socket. */
uint64_t http_conn_address(const struct sockaddr *addr);
void http_conns_init(struct http_conns *all);
/* On the server's thread. NULL: no memory, or no TLS as it should be: the connection is of no
 * use. */
struct http_conn *http_conn_open(struct http_conns *all, struct MHD_Connection *c,
				 struct http_tls *tls);
void http_conn_answered(struct http_conns *all, struct http_conn *conn);
void http_conn_close(struct http_conns *all, struct http_conn *conn); /* NULL is fine */
/* From any thread: ends those that take too long. */
void http_conns_tick(struct http_conns *all, uint64_t limit_ns);

#endif
