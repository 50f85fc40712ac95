/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/http/http_conn.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "userspace/base/clock.h"

void http_conns_init(struct http_conns *all)
{
	pthread_mutex_init(&all->lock, NULL);
	all->first = NULL;
}

uint64_t http_conn_address(const struct sockaddr *addr)
{
	const struct in6_addr *in6;
	uint64_t key = 0;

	if (addr && addr->sa_family == AF_INET)
		memcpy(&key, &((const struct sockaddr_in *)(const void *)addr)->sin_addr, 4);
	if (!addr || addr->sa_family != AF_INET6)
		return key;
	in6 = &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr;
	if (IN6_IS_ADDR_V4MAPPED(in6))
		memcpy(&key, in6->s6_addr + 12, 4);
	else
		memcpy(&key, in6, 8);
	return key;
}

/* Reads from the socket of a TLS session. A first byte that is a letter means that the client uses
 * plain HTTP: it gets an explanation, with the same text as from other exporters, instead of a TLS
 * error. */
static ssize_t conn_pull(gnutls_transport_ptr_t ptr, void *data, size_t len)
{
	static const char answer[] =
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
		"Connection: close\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
	struct http_conn *conn = ptr;
	ssize_t n = recv(conn->fd, data, len, 0);
	char rest[4096];

	if (n <= 0 || conn->spoke)
		return n;
	conn->spoke = true;
	if (*(const char *)data < 'A' || *(const char *)data > 'Z')
		return n;
	/* Read the rest: unread bytes would make close() reset the connection, and lose the
	 * answer. */
	for (int i = 0; i < 4 && recv(conn->fd, rest, sizeof(rest), MSG_DONTWAIT) > 0; i++)
		;
	send(conn->fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	return 0;
}

struct http_conn *http_conn_open(struct http_conns *all, struct MHD_Connection *c,
				 struct http_tls *tls)
{
	const union MHD_ConnectionInfo *fd = MHD_get_connection_info(
					       c, MHD_CONNECTION_INFO_CONNECTION_FD),
				       *addr = MHD_get_connection_info(
					       c, MHD_CONNECTION_INFO_CLIENT_ADDRESS),
				       *session = MHD_get_connection_info(
					       c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	struct http_conn *conn = calloc(1, sizeof(*conn));

	if (!conn || !fd || (tls && (!session || http_tls_session(tls, session->tls_session)))) {
		free(conn);
		return NULL;
	}
	conn->fd = fd->connect_fd;
	conn->tls = tls;
	if (tls) {
		gnutls_transport_set_ptr2(session->tls_session, conn,
					  (gnutls_transport_ptr_t)(intptr_t)conn->fd);
		gnutls_transport_set_pull_function(session->tls_session, conn_pull);
	}
	conn->address = http_conn_address(addr ? addr->client_addr : NULL);
	conn->since_ns = clock_mono_ns();
	pthread_mutex_lock(&all->lock);
	conn->next = all->first;
	conn->place = &all->first;
	if (conn->next)
		conn->next->place = &conn->next;
	all->first = conn;
	pthread_mutex_unlock(&all->lock);
	return conn;
}

void http_conn_answered(struct http_conns *all, struct http_conn *conn)
{
	pthread_mutex_lock(&all->lock);
	conn->since_ns = clock_mono_ns();
	pthread_mutex_unlock(&all->lock);
}

void http_conn_close(struct http_conns *all, struct http_conn *conn)
{
	if (!conn)
		return;
	pthread_mutex_lock(&all->lock);
	*conn->place = conn->next;
	if (conn->next)
		conn->next->place = conn->place;
	pthread_mutex_unlock(&all->lock);
	http_tls_unref(conn->tls);
	free(conn);
}

/* Shuts down slow connections. Their descriptors are still open, because the server closes a
 * descriptor only after http_conn_close(). */
void http_conns_tick(struct http_conns *all, uint64_t limit_ns)
{
	uint64_t now_ns = clock_mono_ns();

	pthread_mutex_lock(&all->lock);
	for (struct http_conn *conn = all->first; conn; conn = conn->next)
		if (now_ns - conn->since_ns > limit_ns)
			shutdown(conn->fd, SHUT_RDWR);
	pthread_mutex_unlock(&all->lock);
}
