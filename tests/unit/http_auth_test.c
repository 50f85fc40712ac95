/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics server with users and TLS: who is let in, who has to wait, many at once. */
#include <crypt.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "tests/unit/http_client.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/http/http.h"
#include "userspace/http/http_auth.h"
#include "userspace/http/http_conn.h"
#include "userspace/http/http_web.h"

#define RIGHT	 "Authorization: Basic cHJvbTpyaWdodA==\r\n" /* prom:right */
#define WRONG	 "Authorization: Basic cHJvbTp3cm9uZw==\r\n" /* prom:wrong */
#define OTHER	 "Authorization: Basic bm9ib2R5OnJpZ2h0\r\n" /* nobody:right */
#define NUL	 "Authorization: Basic cHJvbTpyaWdodAB4\r\n" /* prom:right\0x */
#define NO_COLON "Authorization: Basic cHJvbXJpZ2h0\r\n"

static char folder[] = "/tmp/gp-bpf-auth-XXXXXX", file[64], captured[4096];
static pthread_mutex_t captured_lock = PTHREAD_MUTEX_INITIALIZER;

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	pthread_mutex_lock(&captured_lock);
	snprintf(captured + strlen(captured), sizeof(captured) - strlen(captured), "%s\n", text);
	pthread_mutex_unlock(&captured_lock);
}

static uint64_t one_version(void *ctx)
{
	(void)ctx;
	return 1;
}

static void one_page(void *ctx, struct buffer *out, enum prometheus_format format)
{
	(void)ctx;
	(void)format;
	for (int i = 0; i < 1000; i++)
		buffer_printf(out, "x{i=\"%d\"} 1\n", i);
}

static void write_file(const char *name, const void *data, size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fwrite(data, 1, len, f);
	fclose(f);
}

/* A key, and a certificate that it signed itself. */
static void make_certificate(void)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	unsigned char text[4096];
	size_t len = sizeof(text);

	assert_int_equal(gnutls_x509_privkey_init(&key), 0);
	assert_int_equal(
		gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
					     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
		0);
	assert_int_equal(gnutls_x509_crt_init(&crt), 0);
	gnutls_x509_crt_set_version(crt, 3);
	gnutls_x509_crt_set_serial(crt, "\1", 1);
	gnutls_x509_crt_set_activation_time(crt, time(NULL) - 60);
	gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 3600);
	gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, "localhost", 9);
	gnutls_x509_crt_set_key(crt, key);
	assert_int_equal(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
	assert_int_equal(gnutls_x509_crt_export(crt, GNUTLS_X509_FMT_PEM, text, &len), 0);
	write_file("a.crt", text, len);
	len = sizeof(text);
	assert_int_equal(gnutls_x509_privkey_export(key, GNUTLS_X509_FMT_PEM, text, &len), 0);
	write_file("a.key", text, len);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(key);
}

static struct http_server *serve(const char *tls, int cost)
{
	static const struct http_source source = {NULL, one_version, one_page, NULL, 0, NULL};
	char setting[CRYPT_GENSALT_OUTPUT_SIZE], text[512];
	struct http_server *h;
	int n;

	assert_non_null(crypt_gensalt_rn("$2b$", (unsigned long)cost, "0123456789abcdef", 16,
					 setting, sizeof(setting)));
	n = snprintf(text, sizeof(text), "%sbasic_auth_users:\n  prom: %s\n", tls,
		     crypt("right", setting));
	write_file("web.yml", text, (size_t)n);
	assert_int_equal(http_open(&h, "127.0.0.1:0", file, &source), 0);
	return h;
}

static int port_of(const struct http_server *h)
{
	return atoi(strrchr(http_address(h), ':') + 1);
}

static int status_of(int port, const char *headers)
{
	int fd = http_dial(port), status;
	char *text;

	http_ask(fd, "GET", "/metrics", headers);
	text = http_answered(fd);
	status = strlen(text) > 12 ? atoi(text + 9) : 0;
	if (status == 200)
		assert_non_null(strstr(text, "x{i=\"999\"} 1\n"));
	free(text);
	return status;
}

static void who_is_let_in(void **state)
{
	struct http_server *h = serve("", 4);
	int port = port_of(h);
	char long_one[3000] = "Authorization: Basic ";

	(void)state;
	assert_string_equal(http_protection(h), "basic auth without TLS");
	assert_int_equal(status_of(port, ""), 401);
	assert_int_equal(status_of(port, WRONG), 401);
	assert_int_equal(status_of(port, OTHER), 401);
	assert_int_equal(status_of(port, RIGHT), 200);
	assert_int_equal(status_of(port, RIGHT), 200); /* as it is remembered */
	assert_int_equal(status_of(port, WRONG), 401);
	assert_int_equal(status_of(port, NUL), 401);
	assert_int_equal(status_of(port, NO_COLON), 401);
	assert_int_equal(status_of(port, "Authorization: Basic \r\n"), 401);
	assert_int_equal(status_of(port, "Authorization: Basic ====\r\n"), 401);
	assert_int_equal(status_of(port, "Authorization: basic cHJvbTpyaWdodA==\r\n"), 200);
	memset(long_one + strlen(long_one), 'Q', 2048);
	strcat(long_one, "\r\n");
	assert_int_equal(status_of(port, long_one), 401);
	http_close(h);
}

/* Wrong passwords without an end, at a price that lets nobody through: who is known is answered all
 * the same, and the server ends at once, whoever waits. */
static void a_flood_starves_nobody(void **state)
{
	struct http_server *h = serve("", 10);
	int port = port_of(h), fd[60], busy = 0, waiting = 0;
	char header[128];

	(void)state;
	assert_int_equal(status_of(port, RIGHT), 200);
	for (int i = 0; i < 60; i++) {
		/* prom: and three characters that differ */
		snprintf(header, sizeof(header), "Authorization: Basic cHJvbTpB%c%c%c=\r\n",
			 'A' + i % 26, 'a' + i / 26, 'U');
		http_ask(fd[i] = http_dial(port), "GET", "/metrics", header);
	}
	for (int i = 0; i < 20; i++)
		assert_int_equal(status_of(port, RIGHT), 200);
	http_close(h);
	for (int i = 0; i < 60; i++) {
		char *text = http_answered(fd[i]);

		busy += strlen(text) > 12 && atoi(text + 9) == 429;
		waiting += strlen(text) > 12 && atoi(text + 9) != 429;
		free(text);
	}
	assert_true(busy >= 60 - 2 * HTTP_AUTH_ADDRESS - 20);
	assert_true(waiting <= 20);
}

/* ---- many addresses: questions of whom nobody is there to ask over HTTP */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t there;
	int answers;
} got = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void answered(struct http_auth_ask *q)
{
	pthread_mutex_lock(&got.lock);
	*(int *)q->ctx = ++got.answers;
	pthread_cond_signal(&got.there);
	pthread_mutex_unlock(&got.lock);
}

/* With place: that of its answer among all. */
static void ask(struct http_auth *a, const struct web_config *c, struct http_auth_ask *q,
		int *place, uint64_t address, const char *header)
{
	*q = (struct http_auth_ask){.ctx = place, .address = address, .done = answered};
	*place = 0;
	q->answer = http_auth_ask(a, c, header, q);
	assert_int_equal(q->answer, HTTP_AUTH_LATER);
	http_auth_wait(a, q);
}

static int answers_so_far(int least)
{
	int n;

	pthread_mutex_lock(&got.lock);
	while (got.answers < least)
		pthread_cond_wait(&got.there, &got.lock);
	n = got.answers;
	pthread_mutex_unlock(&got.lock);
	return n;
}

/* Every place is taken by those who try; a right password from elsewhere is looked at all the same,
 * and it is not the last. */
static void a_flood_of_many_addresses_leaves_room(void **state)
{
	static struct http_auth_ask q[HTTP_AUTH_WAITING], right, again;
	int place[HTTP_AUTH_WAITING], its, before;
	struct web_config c = {.users = 1, .user = {{.name = (char *)"prom"}}};
	struct http_auth *a;
	char header[64];

	(void)state;
	strcpy(c.user[0].hash, crypt("right", "$2b$06$0123456789abcdefghijku"));
	/* Addresses of which each asks often; then more of them, each of which has been wrong
	 * before. */
	for (int each = HTTP_AUTH_ADDRESS; each > 0; each -= HTTP_AUTH_ADDRESS - 1) {
		assert_int_equal(http_auth_open(&a), 0);
		got.answers = 0;
		for (int round = each == 1 ? 0 : 1; round < 2; round++) {
			for (int i = 0; i < HTTP_AUTH_WAITING; i++) {
				snprintf(header, sizeof(header), "Basic cHJvbTpB%c%cU=", 'A' + i,
					 'a' + round);
				ask(a, &c, &q[i], &place[i], (uint64_t)(1 + i / each), header);
			}
			if (!round)
				answers_so_far(HTTP_AUTH_WAITING);
		}
		ask(a, &c, &right, &its, 1000, "Basic cHJvbTpyaWdodA==");
		before = answers_so_far(0);
		answers_so_far(HTTP_AUTH_WAITING * (each == 1 ? 2 : 1) + 1);
		assert_int_equal(right.answer, HTTP_AUTH_YES);
		/* The one that is being looked at comes before it, who is refused, and who asks
		 * first. */
		assert_true(its - before <= 2 + HTTP_AUTH_WAITING / HTTP_AUTH_ADDRESS);
		again = (struct http_auth_ask){0};
		assert_int_equal(http_auth_ask(a, &c, "Basic cHJvbTpyaWdodA==", &again),
				 HTTP_AUTH_YES);
		c.user[1] = c.user[0];
		c.users = 2;
		c.user[0].name =
			(char *)"new"; /* the file was read again, with one more before it */
		assert_int_equal(http_auth_ask(a, &c, "Basic cHJvbTpyaWdodA==", &again),
				 HTTP_AUTH_YES);
		c.user[0] = c.user[1];
		c.users = 1;
		http_auth_close(a);
	}
}

struct client {
	int port, done;
	pthread_t thread;
};

/* One request over TLS. */
static int tls_status(int port)
{
	char text[65536];
	gnutls_certificate_credentials_t cred;
	gnutls_session_t session;
	int fd = http_dial(port), err, status = 0;
	size_t len = 0;
	ssize_t n;

	gnutls_certificate_allocate_credentials(&cred);
	gnutls_init(&session, GNUTLS_CLIENT);
	gnutls_set_default_priority(session);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, cred);
	gnutls_transport_set_int(session, fd);
	do
		err = gnutls_handshake(session);
	while (err < 0 && !gnutls_error_is_fatal(err));
	if (!err) {
		snprintf(text, sizeof(text),
			 "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" RIGHT "\r\n");
		gnutls_record_send(session, text, strlen(text));
		while (len < sizeof(text) - 1 &&
		       (n = gnutls_record_recv(session, text + len, sizeof(text) - 1 - len)) > 0)
			len += (size_t)n;
		text[len] = '\0';
		status = len > 12 ? atoi(text + 9) : 0;
		if (status == 200 && !strstr(text, "x{i=\"999\"} 1\n"))
			status = -1;
	}
	gnutls_deinit(session);
	gnutls_certificate_free_credentials(cred);
	close(fd);
	return status;
}

static void *tls_client(void *arg)
{
	struct client *c = arg;

	for (int i = 0; i < 10; i++)
		c->done += tls_status(c->port) == 200;
	return NULL;
}

static void many_over_tls(void **state)
{
	struct http_server *h = serve("tls_server_config: {cert_file: a.crt, key_file: a.key}\n",
				      4);
	struct client client[8];
	int done = 0, fd;
	char *text;

	(void)state;
	assert_string_equal(http_protection(h), "TLS and basic auth");
	assert_int_equal(tls_status(port_of(h)), 200); /* the password is known from here on */
	fd = http_dial(
		port_of(h)); /* who speaks HTTP is told what is wrong, and what is neither is not */
	http_ask(fd, "GET", "/metrics", RIGHT);
	text = http_answered(fd);
	assert_memory_equal(text, "HTTP/1.1 400 ", 13);
	assert_non_null(strstr(text, "\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"));
	free(text);
	fd = http_dial(port_of(h));
	assert_int_equal(send(fd, "\n\r12345678", 10, MSG_NOSIGNAL), 10);
	text = http_answered(fd);
	assert_null(strstr(text, "HTTP"));
	free(text);
	for (size_t i = 0; i < 8; i++) {
		client[i] = (struct client){.port = port_of(h)};
		assert_int_equal(pthread_create(&client[i].thread, NULL, tls_client, &client[i]),
				 0);
	}
	for (size_t i = 0; i < 8; i++) {
		http_tick(h);
		pthread_join(client[i].thread, NULL);
		done += client[i].done;
	}
	assert_int_equal(done, 80);
	http_close(h);
}

/* Whoever sends a byte now and then is not silent, and is ended all the same. */
static void slow_ones_are_ended(void **state)
{
	struct http_conns all;
	struct http_conn slow = {0}, quick = {0};
	int pair[2], other[2];
	char c;

	(void)state;
	http_conns_init(&all);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	slow.fd = pair[0];
	quick.fd = other[0];
	all.first = &slow;
	slow.next = &quick;
	slow.since_ns = 1;
	quick.since_ns = clock_mono_ns();
	http_conns_tick(&all, HTTP_REQUEST_S * 1000000000ull < quick.since_ns
				      ? HTTP_REQUEST_S * 1000000000ull
				      : quick.since_ns / 2);
	assert_int_equal(recv(pair[1], &c, 1, MSG_DONTWAIT), 0);
	assert_int_equal(recv(other[1], &c, 1, MSG_DONTWAIT), -1);
	for (int i = 0; i < 2; i++) {
		close(pair[i]);
		close(other[i]);
	}
}

/* ---- its files, while it runs */

/* Once a second it looks, and says what it makes of another file. */
static void look_until_said(struct http_web *w, bool expected)
{
	bool changed;

	captured[0] = '\0';
	do {
		usleep(10000);
		changed = http_web_reload(w);
	} while (!captured[0]);
	assert_int_equal(changed, expected);
}

static const char users[] = "basic_auth_users:\n  prom: "
			    "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG\n";
static const char http2[] = "http_server_config: {http2: true}\n";

/* What is written over is empty for a moment, and may be a pipe that nobody writes to. */
static void what_is_no_config_changes_nothing(void **state)
{
	struct http_web *w;

	(void)state;
	write_file("web.yml", users, strlen(users));
	assert_int_equal(http_web_open(&w, file), 0);
	write_file("web.yml", "", 0);
	look_until_said(w, false);
	assert_non_null(strstr(captured, "basic_auth_users was removed: not applied"));
	assert_true(web_config_protects(http_web_config(w)));
	unlink(file);
	assert_int_equal(mkfifo(file, 0600), 0);
	look_until_said(w, false);
	assert_non_null(strstr(captured, "not a regular file"));
	assert_true(web_config_protects(http_web_config(w)));
	unlink(file);
	http_web_close(w);
}

/* Between reading it and being done with it. */
static void write_meanwhile(void *ctx, enum log_level level, const char *text)
{
	capture(ctx, level, text);
	if (strstr(text, "only HTTP/1.1 is served"))
		write_file("web.yml", users, strlen(users));
}

static void what_is_written_meanwhile_is_seen(void **state)
{
	struct http_web *w;

	(void)state;
	write_file("web.yml", http2, strlen(http2));
	log_sink(write_meanwhile, NULL);
	assert_int_equal(http_web_open(&w, file), 0);
	log_sink(capture, NULL);
	look_until_said(w, true);
	assert_true(web_config_protects(http_web_config(w)));
	http_web_close(w);
}

static void addresses_are_counted_alike(void **state)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6}, other = {.sin6_family = AF_INET6};

	(void)state;
	inet_pton(AF_INET, "192.0.2.1", &v4.sin_addr);
	inet_pton(AF_INET6, "::ffff:192.0.2.1", &v6.sin6_addr);
	inet_pton(AF_INET6, "::ffff:192.0.2.2", &other.sin6_addr);
	assert_true(http_conn_address((struct sockaddr *)&v4));
	assert_true(http_conn_address((struct sockaddr *)&v4) ==
		    http_conn_address((struct sockaddr *)&v6));
	assert_false(http_conn_address((struct sockaddr *)&v6) ==
		     http_conn_address((struct sockaddr *)&other));
	inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr);
	inet_pton(AF_INET6, "2001:db8::2", &other.sin6_addr); /* whoever has one has them all */
	assert_true(http_conn_address((struct sockaddr *)&v6) ==
		    http_conn_address((struct sockaddr *)&other));
	assert_int_equal(http_conn_address(NULL), 0);
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/web.yml", folder);
	log_sink(capture, NULL);
	make_certificate();
	return 0;
}

static int teardown(void **state)
{
	static const char *const name[] = {"web.yml", "a.crt", "a.key"};
	char path[128];

	(void)state;
	log_sink(NULL, NULL);
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, name[i]);
		unlink(path);
	}
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_let_in),
		cmocka_unit_test(a_flood_starves_nobody),
		cmocka_unit_test(a_flood_of_many_addresses_leaves_room),
		cmocka_unit_test(many_over_tls),
		cmocka_unit_test(slow_ones_are_ended),
		cmocka_unit_test(what_is_no_config_changes_nothing),
		cmocka_unit_test(what_is_written_meanwhile_is_seen),
		cmocka_unit_test(addresses_are_counted_alike),
	};

	return cmocka_run_group_tests_name("http_auth", tests, setup, teardown);
}
