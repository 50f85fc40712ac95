/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "tests/unit/stand_in.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define LONG_MS	 60000
#define SHORT_MS 300

static struct stand_in plain, tls, other;
static struct web *w;
static struct web_reply r;

static void quiet(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	(void)text;
}

static int start(void **state)
{
	static const char *const ours[] = {
		"http_proxy", "https_proxy", "HTTPS_PROXY",    "all_proxy",	"ALL_PROXY",
		"no_proxy",   "NO_PROXY",    "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"};
	static const char *const none[] = {"--journal", "journal", NULL};
	static const char *const secure[] = {"--tls", ".", "--journal", "journal", NULL};
	static const char *const wrong[] = {"--tls", ".", "--tls-names", "DNS:example.com", NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		unsetenv(ours[i]);
	log_sink(quiet, NULL);
	return stand_in_start(&plain, "tests/servers/google.py", none) ||
	       stand_in_start(&tls, "tests/servers/google.py", secure) ||
	       stand_in_start(&other, "tests/servers/google.py", wrong);
}

static int stop(void **state)
{
	(void)state;
	stand_in_stop(&plain);
	stand_in_stop(&tls);
	stand_in_stop(&other);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return web_open(&w);
}

static int teardown(void **state)
{
	(void)state;
	web_reply_free(&r);
	web_close(w);
	w = NULL;
	return 0;
}

static char *url(const struct stand_in *s, const char *path)
{
	static char out[256];

	snprintf(out, sizeof(out), "%s%s", s->base, path);
	return out;
}

static int get(const char *address, uint64_t timeout_ms)
{
	return web_send(
		w, &(struct web_request){.method = "GET", .url = address, .timeout_ms = timeout_ms},
		&r);
}

static void fault(const char *kind)
{
	char knobs[128];

	snprintf(knobs, sizeof(knobs), "{\"faults\": {\"/echo\": \"%s\"}}", kind);
	assert_int_equal(stand_in_set(&plain, knobs), 0);
}

static int with_fault(const char *kind, uint64_t timeout_ms)
{
	int err;

	fault(kind);
	err = get(url(&plain, "/echo"), timeout_ms);
	assert_int_equal(stand_in_set(&plain, "{\"faults\": {}}"), 0);
	return err;
}

static void has(const char *text)
{
	if (!r.body.data || !strstr(r.body.data, text))
		fail_msg("no %s in %s", text, r.body.data ? r.body.data : "(nothing)");
}

static void requests(void **state)
{
	static const char *const headers[] = {"X-One: first", "Content-Type: application/json",
					      NULL};
	struct web_request rq = {.method = "POST",
				 .url = url(&plain, "/echo"),
				 .headers = headers,
				 .timeout_ms = LONG_MS};
	char *peer, port[32];

	(void)state;
	rq.body = "a\0b";
	rq.len = 3;
	assert_int_equal(web_send(w, &rq, &r), 0);
	assert_int_equal(r.status, 200);
	assert_int_equal(r.failure, WEB_NONE);
	assert_true(r.sent);
	assert_false(r.cut);
	assert_string_equal(r.type, "application/json");
	assert_string_equal(r.why, "");
	assert_int_equal(r.retry_after_ms, -1);
	assert_true(llabs(r.date_ns - clock_real_ns()) < 3600LL * 1000000000);
	has("\"method\": \"POST\"");
	has("\"X-One\": \"first\"");
	has("\"body\": \"a\\u0000b\"");
	has("\"User-Agent\": \"gp-bpf/");
	assert_null(strstr(r.body.data, "Expect"));
	peer = strstr(r.body.data, "\"peer\"");
	assert_non_null(peer);
	snprintf(port, sizeof(port), "%s", peer);
	assert_int_equal(get(url(&plain, "/echo"), LONG_MS), 0);
	has("\"method\": \"GET\"");
	has(port); /* over the same connection */
	assert_null(strstr(r.body.data, "X-One"));
	rq.body = NULL;
	assert_int_equal(web_send(w, &rq, &r), 0);
	has("\"body\": \"\"");
	rq.method = "PUT";
	rq.body = "new";
	assert_int_equal(web_send(w, &rq, &r), 0);
	has("\"method\": \"PUT\"");
	has("\"body\": \"new\"");
	assert_int_equal(get(url(&plain, "/none"), LONG_MS), 0);
	assert_int_equal(r.status, 404);
}

static void replies(void **state)
{
	(void)state;
	assert_int_equal(with_fault("huge", LONG_MS), 0);
	assert_true(r.cut);
	assert_int_equal(r.body.len, WEB_BODY_MAX);
	assert_int_equal(with_fault("empty", LONG_MS), 0);
	assert_int_equal(r.status, 200);
	assert_int_equal(r.body.len, 0);
	assert_int_equal(with_fault("redirect", LONG_MS), 0); /* not followed */
	assert_int_equal(r.status, 302);
	assert_string_equal(r.flavor, "Google");
	assert_int_equal(with_fault("503/7", LONG_MS), 0);
	assert_int_equal(r.retry_after_ms, 7000);
	assert_int_equal(with_fault("429/0", LONG_MS), 0);
	assert_int_equal(r.retry_after_ms, 0);
	assert_int_equal(with_fault("429/99999999999999999999999", LONG_MS), 0);
	assert_int_equal(r.retry_after_ms, 24 * 3600 * 1000);
	assert_int_equal(with_fault("429/Fri, 31 Dec 2999 23:59:59 GMT", LONG_MS), 0);
	assert_int_equal(r.retry_after_ms, 24 * 3600 * 1000);
	assert_int_equal(with_fault("429/Mon, 01 Jan 2001 00:00:00 GMT", LONG_MS), 0);
	assert_int_equal(r.retry_after_ms, 0);
	assert_int_equal(with_fault("429/-7", LONG_MS), 0);
	assert_int_equal(r.retry_after_ms, -1);
	assert_int_equal(with_fault("429/7 days or so", LONG_MS), 0);
	assert_int_equal(r.retry_after_ms, -1);
}

static void broken(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(with_fault(i ? "none" : "reset", LONG_MS), -EIO);
		assert_int_equal(r.failure, WEB_BROKEN);
		assert_true(r.sent);
		assert_int_equal(r.status, 0);
		assert_true(r.why[0]);
	}
	assert_int_equal(with_fault("half", LONG_MS), -EIO);
	assert_int_equal(r.failure, WEB_BROKEN);
	assert_int_equal(r.status, 200);
	has("{\"access_token\":");
	assert_int_equal(with_fault("endless-headers", LONG_MS), -EIO);
	assert_int_equal(r.failure, WEB_BROKEN);
	assert_string_equal(r.why, "the reply's headers are too long");
	assert_int_equal(with_fault("hang", SHORT_MS), -EIO);
	assert_int_equal(r.failure, WEB_TIMEOUT);
	assert_true(r.sent);
	assert_int_equal(with_fault("slow", SHORT_MS), -EIO);
	assert_int_equal(r.failure, WEB_TIMEOUT);
	assert_int_equal(r.status, 200);
}

/* An address that nobody listens at. */
static const char *closed_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(a);
	static char out[64];

	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	close(fd);
	snprintf(out, sizeof(out), "http://127.0.0.1:%d", ntohs(a.sin_port));
	return out;
}

static void nothing_sent(void **state)
{
	(void)state;
	assert_int_equal(get(closed_port(), LONG_MS), -EIO);
	assert_int_equal(r.failure, WEB_CONNECT);
	assert_false(r.sent);
	/* no label is that long, so nobody is asked */
	assert_int_equal(
		get("http://xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/",
		    LONG_MS),
		-EIO);
	assert_int_equal(r.failure, WEB_RESOLVE);
	assert_false(r.sent);
	assert_int_equal(get("file:///etc/passwd", LONG_MS), -EIO);
	assert_int_equal(r.failure, WEB_OTHER);
	assert_int_equal(get("http://user:pass@127.0.0.1/", LONG_MS), -EIO);
	assert_int_equal(r.failure, WEB_OTHER);
	assert_int_equal(get("http://127.0.0.1/a\r\nX-Injected: yes", LONG_MS), -EIO);
	assert_int_equal(r.failure, WEB_OTHER);
	assert_null(strstr(r.why, "\n"));
	assert_int_equal(get("", LONG_MS), -EIO);
	assert_int_equal(r.failure, WEB_OTHER);
}

/* One that takes connections and says nothing. */
static void silent_while_connecting(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(a);
	char address[64];

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	snprintf(address, sizeof(address), "https://127.0.0.1:%d/", ntohs(a.sin_port));
	assert_int_equal(get(address, SHORT_MS), -EIO);
	assert_int_equal(r.failure, WEB_TIMEOUT);
	assert_false(r.sent); /* but a greeting */
	assert_int_equal(get(address, 0), -EIO);
	assert_int_equal(r.failure, WEB_TIMEOUT);
	close(fd);
}

static void headers_are_lines(void **state)
{
	static const char *const headers[] = {"Authorization: Bearer x\r\nX-Injected: yes", NULL};
	static const char *const count[] = {"X-Injected", NULL};

	(void)state;
	assert_int_equal(web_send(w,
				  &(struct web_request){.method = "GET",
							.url = url(&plain, "/echo"),
							.headers = headers,
							.timeout_ms = LONG_MS},
				  &r),
			 -EIO);
	assert_int_equal(r.failure, WEB_OTHER);
	assert_false(r.sent);
	assert_null(strstr(r.why, "Bearer"));
	assert_int_equal(stand_in_count(&plain, count), 0);
}

/* A server that is there again: what was kept of the old connection is no failure. */
static void kept_connection_ends(void **state)
{
	(void)state;
	assert_int_equal(with_fault("none*1", LONG_MS), -EIO);
	assert_int_equal(get(url(&plain, "/echo"), LONG_MS), 0);
	fault("none*1"); /* over the connection that was kept */
	assert_int_equal(get(url(&plain, "/echo"), LONG_MS), 0);
	assert_int_equal(r.status, 200);
	assert_int_equal(stand_in_set(&plain, "{\"faults\": {}}"), 0);
}

static int get_secure(const struct stand_in *s, const char *name, const char *ca)
{
	static char address[128];
	int err;

	snprintf(address, sizeof(address), "https%s/echo", s->base + 4);
	web_close(w); /* the environment is read once */
	if (ca)
		setenv(name, ca, 1);
	assert_int_equal(web_open(&w), 0);
	unsetenv(name);
	err = get(address, LONG_MS);
	return err;
}

static void certificates(void **state)
{
	static const char *const seen[] = {"/echo", NULL};
	char *ca = stand_in_path(&tls, "ca.pem");

	(void)state;
	assert_int_equal(get_secure(&tls, "CURL_CA_BUNDLE", NULL), -EIO);
	assert_int_equal(r.failure, WEB_TLS);
	assert_false(r.sent);
	assert_int_equal(get_secure(&tls, "CURL_CA_BUNDLE", stand_in_path(&other, "ca.pem")), -EIO);
	assert_int_equal(r.failure, WEB_TLS);
	assert_int_equal(get_secure(&tls, "CURL_CA_BUNDLE", "/nonexistent"), -EIO);
	assert_int_equal(r.failure, WEB_TLS);
	assert_non_null(strstr(r.why, "/nonexistent"));
	assert_int_equal(stand_in_count(&tls, seen), 0);
	assert_int_equal(get_secure(&tls, "CURL_CA_BUNDLE", ca), 0);
	assert_int_equal(r.status, 200);
	assert_int_equal(get_secure(&tls, "SSL_CERT_FILE", ca), 0);
	assert_int_equal(stand_in_count(&tls, seen), 2);
	assert_int_equal(get_secure(&other, "CURL_CA_BUNDLE", stand_in_path(&other, "ca.pem")),
			 -EIO);
	assert_int_equal(r.failure, WEB_TLS); /* a certificate of another name */
	assert_false(r.sent);
	assert_int_equal(get_secure(&plain, "CURL_CA_BUNDLE", ca), -EIO);
	assert_int_equal(r.failure, WEB_TLS); /* no TLS at all */
}

static void proxies(void **state)
{
	struct web_request rq = {
		.method = "GET", .url = url(&plain, "/echo"), .timeout_ms = LONG_MS};

	(void)state;
	setenv("http_proxy", closed_port(), 1);
	assert_int_equal(web_send(w, &rq, &r), -EIO);
	assert_int_equal(r.failure, WEB_CONNECT);
	rq.direct = true;
	assert_int_equal(web_send(w, &rq, &r), 0);
	unsetenv("http_proxy");
	/* one that does not know CONNECT: what it refuses was never sent */
	setenv("https_proxy", plain.base, 1);
	assert_int_equal(get("https://monitoring.example/", LONG_MS), -EIO);
	unsetenv("https_proxy");
	assert_int_equal(r.failure, WEB_CONNECT);
	assert_false(r.sent);
	assert_int_equal(r.status, 0);
}

static void *cancel(void *ctx)
{
	static const char *const seen[] = {"\"fault\": \"hang\"", "/cancelled", NULL};

	(void)ctx;
	while (!stand_in_count(&plain, seen))
		usleep(1000);
	web_cancel(w);
	return NULL;
}

static void cancelled(void **state)
{
	pthread_t t;

	(void)state;
	assert_int_equal(stand_in_set(&plain, "{\"faults\": {\"/cancelled\": \"hang\"}}"), 0);
	assert_int_equal(pthread_create(&t, NULL, cancel, NULL), 0);
	assert_int_equal(get(url(&plain, "/cancelled"), 600000), -EIO);
	pthread_join(t, NULL);
	assert_int_equal(r.failure, WEB_CANCELLED);
	assert_true(r.sent);
	assert_int_equal(get(url(&plain, "/echo"), LONG_MS), -EIO);
	assert_int_equal(r.failure, WEB_CANCELLED);
	assert_false(r.sent);
	assert_string_equal(r.why, "cancelled");
}

static void signals_stay(void **state)
{
	sigset_t mask, pending;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGPIPE), 0);
	assert_int_equal(with_fault("reset", LONG_MS), -EIO);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGPIPE), 0);
	sigpending(&pending);
	assert_int_equal(sigismember(&pending, SIGPIPE), 0);
}

static void escapes(void **state)
{
	struct buffer b = {0};

	(void)state;
	web_escape(&b, "aZ09-._~ /+&=\xc3\xa9%");
	assert_string_equal(b.data, "aZ09-._~%20%2F%2B%26%3D%C3%A9%25");
	buffer_free(&b);
}

static void test_loopback(void **state)
{
	static const char *const own[] = {"http://127.0.0.1:80/x", "http://127.1.2.3",
					  "http://LocalHost/?a@b", "http://[::1]:8080/",
					  "https://localhost#x"};
	static const char *const others[] = {"http://127.0.0.1.example.com/",
					     "http://127.example.com",
					     "http://localhost@example.com/",
					     "http://user:127.0.0.1@x/",
					     "http://localhost.example.com",
					     "http://[::2]/",
					     "http://128.0.0.1",
					     "http://0x7f000001/",
					     "127.0.0.1",
					     "http://",
					     ""};

	(void)state;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		assert_true(web_is_loopback(own[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(web_is_loopback(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loopback),
		cmocka_unit_test_setup_teardown(requests, setup, teardown),
		cmocka_unit_test_setup_teardown(replies, setup, teardown),
		cmocka_unit_test_setup_teardown(broken, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_sent, setup, teardown),
		cmocka_unit_test_setup_teardown(silent_while_connecting, setup, teardown),
		cmocka_unit_test_setup_teardown(headers_are_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(kept_connection_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(certificates, setup, teardown),
		cmocka_unit_test_setup_teardown(proxies, setup, teardown),
		cmocka_unit_test_setup_teardown(cancelled, setup, teardown),
		cmocka_unit_test_setup_teardown(signals_stay, setup, teardown),
		cmocka_unit_test(escapes),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
