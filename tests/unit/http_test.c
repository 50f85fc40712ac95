/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server of metrics: paths, formats, clients that wait or flood, sockets. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include <zlib.h>

#include "tests/unit/fixture.h"
#include "tests/unit/http_client.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/export/export.h"
#include "userspace/http/http.h"

static struct fixture fx;
static char captured[4096];

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(captured + strlen(captured), sizeof(captured) - strlen(captured), "%s\n", text);
}

static int setup(void **state)
{
	(void)state;
	captured[0] = '\0';
	log_sink(capture, NULL);
	fixture_init(&fx);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_sink(NULL, NULL);
	return 0;
}

static struct export_set *serve(const char *listen)
{
	struct export_set *set;

	assert_int_equal(export_set_new(&set, &(struct export_options){.listen = listen}), 0);
	assert_int_equal(export_set_add(set, "prometheus"), 0);
	return set;
}

static int port_of(void)
{
	const char *at = strstr(captured, "127.0.0.1:");

	assert_non_null(at);
	return atoi(at + strlen("127.0.0.1:"));
}

static void expect(int port, const char *method, const char *path, const char *status,
		   const char *body)
{
	char *text;
	int fd = http_dial(port);

	http_ask(fd, method, path, "");
	text = http_answered(fd);
	if (strncmp(text + 9, status, 3) || (body && !strstr(text, body)))
		fail_msg("%s %s: %s", method, path, text);
	free(text);
}

static char *http_text(int port, const char *text)
{
	int fd = http_dial(port);

	send(fd, text, strlen(text), MSG_NOSIGNAL);
	return http_answered(fd);
}

static void paths(void **state)
{
	struct export_set *set = serve("127.0.0.1:0");
	int port = port_of();

	(void)state;
	expect(port, "GET", "/healthz", "200", "ok");
	expect(port, "GET", "/readyz", "503", NULL);
	expect(port, "GET", "/metrics", "200", "gpbpf_up 1");
	fixture_trainer(&fx, 4242, 0, 2);
	export_set_snapshot(set, &fx.s);
	expect(port, "GET", "/readyz", "200", NULL);
	expect(port, "GET", "/metrics", "200", "text/plain; version=0.0.4");
	expect(port, "GET", "/metrics?x=1", "200", "gpbpf_steps_total{");
	expect(port, "HEAD", "/metrics", "200", NULL);
	expect(port, "GET", "/", "200", "href=\"metrics\"");
	expect(port, "GET", "/other", "404", NULL);
	expect(port, "GET", "/metrics/../etc/passwd", "404", NULL);
	expect(port, "POST", "/metrics", "405", "Allow: GET, HEAD");
	fx.s.number++;
	fx.loops[0].state.steps = 2001;
	export_set_snapshot(set, &fx.s);
	expect(port, "GET", "/metrics", "200", "rank=\"0\"} 2001");
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(fx.s.references, 1 << 20);
}

/* 64 readers and 20 that ask and never read: all readers get whole pages, while snapshots go on
 * coming. */
static void many_clients(void **state)
{
	struct export_set *set = serve("127.0.0.1:0");
	int port = port_of(), stuck[20], reader[64];
	char *text, *end;

	(void)state;
	for (uint32_t i = 0; i < 400; i++)
		fixture_trainer(&fx, 1000 + i, (int)i, 400);
	export_set_snapshot(set, &fx.s);
	for (size_t i = 0; i < 20; i++)
		http_ask(stuck[i] = http_dial(port), "GET", "/metrics", "");
	for (size_t i = 0; i < 64; i++)
		http_ask(reader[i] = http_dial(port), "GET", "/metrics", "");
	for (size_t i = 0; i < 64; i++) {
		export_set_snapshot(set, &fx.s);
		text = http_answered(reader[i]);
		assert_memory_equal(text + 9, "200", 3);
		end = strstr(
			text,
			"# TYPE gpbpf_ledger_violations_total counter\ngpbpf_ledger_violations_total 0\n");
		assert_non_null(end);
		free(text);
	}
	assert_int_equal(export_set_close(set), 0); /* those who do not read do not hold it up */
	for (size_t i = 0; i < 20; i++)
		close(stuck[i]);
	assert_int_equal(fx.s.references, 1 << 20);
}

struct counted {
	uint64_t version;
	int renders;
};

static uint64_t counted_version(void *ctx)
{
	return __atomic_load_n(&((struct counted *)ctx)->version, __ATOMIC_SEQ_CST);
}

static void counted_render(void *ctx, struct buffer *out, enum prometheus_format format)
{
	(void)format;
	__atomic_add_fetch(&((struct counted *)ctx)->renders, 1, __ATOMIC_SEQ_CST);
	buffer_printf(out, "x 1\n");
}

static void one_rendering_per_snapshot(void **state)
{
	struct counted c = {.version = 1};
	struct http_server *h;
	int port;

	(void)state;
	assert_int_equal(http_open(&h, "127.0.0.1:0", NULL,
				   &(struct http_source){&c, counted_version, counted_render, NULL,
							 0, NULL}),
			 0);
	port = atoi(strrchr(http_address(h), ':') + 1);
	for (int i = 0; i < 64; i++)
		expect(port, "GET", "/metrics", "200", "x 1");
	assert_int_equal(__atomic_load_n(&c.renders, __ATOMIC_SEQ_CST), 1);
	__atomic_store_n(&c.version, 2, __ATOMIC_SEQ_CST);
	expect(port, "GET", "/metrics", "200", "x 1");
	assert_int_equal(__atomic_load_n(&c.renders, __ATOMIC_SEQ_CST), 2);
	/* Before there is a version each page is as it is then. */
	__atomic_store_n(&c.version, 0, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++)
		expect(port, "GET", "/metrics", "200", "x 1");
	assert_int_equal(__atomic_load_n(&c.renders, __ATOMIC_SEQ_CST), 4);
	http_close(h);
}

/* Who is to tick does not: Kubernetes, which asks, is told so, until it ticks again. */
static void who_is_stuck_is_not_healthy(void **state)
{
	struct counted c = {.version = 1};
	struct http_source source = {&c, counted_version, counted_render, NULL, 1, NULL};
	struct http_server *h;
	uint64_t from_ns = clock_mono_ns();
	int port;

	(void)state;
	assert_int_equal(http_open(&h, "127.0.0.1:0", NULL, &source), 0);
	port = atoi(strrchr(http_address(h), ':') + 1);
	while (clock_mono_ns() < from_ns + 1100 * MS)
		usleep(10000);
	expect(port, "GET", "/healthz", "503", "stuck");
	expect(port, "GET", "/readyz", "503", "stuck");
	expect(port, "GET", "/metrics", "200", "x 1");
	http_tick(h);
	expect(port, "GET", "/healthz", "200", "ok");
	expect(port, "GET", "/readyz", "200", "ready");
	http_close(h);
}

static void garbage_is_refused(void **state)
{
	struct export_set *set = serve("127.0.0.1:0");
	int port = port_of(), fd = http_dial(port);
	char big[65536];

	(void)state;
	memset(big, 'A', sizeof(big));
	send(fd, big, sizeof(big), MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	free(http_answered(fd));
	expect(port, "GET", "/healthz", "200", "ok");
	assert_int_equal(export_set_close(set), 0);
}

static void addresses(void **state)
{
	static const char *const bad[] = {"",	       "9847",		 "[]:9847",
					  "127.0.0.1", "127.0.0.1:",	 "::1:9847",
					  "[::1:9847", "127.0.0.1:http", "127.0.0.1:99999",
					  "unix:",     "256.1.1.1:1"};
	struct export_set *set = serve("127.0.0.1:0"), *second;
	char taken[32];

	(void)state;
	snprintf(taken, sizeof(taken), "127.0.0.1:%d", port_of());
	captured[0] = '\0';
	assert_int_equal(export_set_new(&second, &(struct export_options){.listen = taken}), 0);
	assert_int_equal(export_set_add(second, "prometheus"), -EADDRINUSE);
	assert_non_null(strstr(captured, "in use"));
	assert_ptr_equal(strchr(captured, '\n'), captured + strlen(captured) - 1);
	export_set_close(second);
	export_set_close(set);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		captured[0] = '\0';
		assert_int_equal(
			export_set_new(&second, &(struct export_options){.listen = bad[i]}), 0);
		assert_int_equal(export_set_add(second, "prometheus"), -EINVAL);
		assert_non_null(strstr(captured, "--listen"));
		export_set_close(second);
	}
}

/* The answer to a GET with these headers. */
static char *get(int port, const char *path, const char *headers)
{
	int fd = http_dial(port);

	http_ask(fd, "GET", path, headers);
	return http_answered(fd);
}

static void formats(void **state)
{
	struct export_set *set = serve("127.0.0.1:0");
	int port = port_of();
	char *text, *body, *plain;
	z_stream z = {0};

	(void)state;
	fixture_trainer(&fx, 4242, 0, 2);
	export_set_snapshot(set, &fx.s);
	text = get(port, "/metrics",
		   "Accept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n");
	assert_non_null(strstr(
		text, "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8"));
	assert_non_null(strstr(text, "\n# EOF\n"));
	assert_non_null(strstr(text, "Vary: Accept, Accept-Encoding\r\n"));
	assert_non_null(strstr(text, "X-Content-Type-Options: nosniff\r\n"));
	assert_null(strstr(text, "Content-Encoding"));
	free(text);
	plain = get(port, "/metrics", "");
	text = get(port, "/metrics", "Accept-Encoding: gzip\r\n");
	assert_non_null(strstr(text, "Content-Encoding: gzip\r\n"));
	assert_non_null(strstr(text, "text/plain; version=0.0.4"));
	body = strstr(text, "\r\n\r\n") + 4;
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (Bytef *)body;
	z.avail_in = (uInt)atoi(strstr(text, "Content-Length: ") + 16);
	body = calloc(1, 1 << 20);
	z.next_out = (Bytef *)body;
	z.avail_out = 1 << 20;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	assert_string_equal(body, strstr(plain, "\r\n\r\n") + 4);
	free(body);
	free(text);
	free(plain);
	assert_int_equal(export_set_close(set), 0);
}

static void state_json(struct buffer *out, const struct snapshot *s)
{
	buffer_printf(out, "{\"number\":%llu}\n", (unsigned long long)s->number);
}

/* Of all that is known only who may see it is told. */
static void state_is_for_us(void **state)
{
	const struct export_options open = {.listen = "0.0.0.0:0", .state_json = state_json},
				    local = {.listen = "127.0.0.1:0", .state_json = state_json};
	struct export_set *set;
	char *text;
	int port;

	(void)state;
	fx.s.number = 77;
	assert_int_equal(export_set_new(&set, &local), 0);
	assert_int_equal(export_set_add(set, "prometheus"), 0);
	port = port_of();
	expect(port, "GET", "/debug/state", "503", NULL);
	export_set_snapshot(set, &fx.s);
	text = get(port, "/debug/state", "");
	assert_non_null(strstr(text, "Content-Type: application/json"));
	assert_non_null(strstr(text, "{\"number\":77}\n"));
	free(text);
	text = http_text(
		port,
		"GET /debug/state HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
	assert_memory_equal(text + 9, "403", 3); /* a name that somebody else pointed here */
	free(text);
	export_set_close(set);
	assert_null(strstr(captured, "anyone who"));
	captured[0] = '\0';
	assert_int_equal(export_set_new(&set, &open), 0);
	assert_int_equal(export_set_add(set, "prometheus"), 0);
	assert_non_null(strstr(captured, "--listen 0.0.0.0:0: anyone who can reach the port"));
	export_set_snapshot(set, &fx.s);
	port = atoi(strstr(captured, "0.0.0.0:") + strlen("0.0.0.0:"));
	expect(port, "GET", "/debug/state", "403",
	       "/debug/state is served only at a loopback address");
	expect(port, "GET", "/metrics", "200", NULL);
	export_set_close(set);
}

/* ":PORT": IPv4, and IPv6 where there is such. */
static void all_addresses(void **state)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct export_set *set = serve(":0");
	int port, fd = socket(AF_INET6, SOCK_STREAM, 0);
	char *text = strstr(captured, "metrics at ");

	(void)state;
	assert_non_null(text);
	assert_non_null(strstr(captured, "--listen :0: anyone who can reach the port"));
	port = atoi(strrchr(strtok(text, ","), ':') + 1);
	expect(port, "GET", "/healthz", "200", NULL);
	a.sin6_port = htons((uint16_t)port);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		http_ask(fd, "GET", "/healthz", "");
		text = http_answered(fd);
		assert_memory_equal(text + 9, "200", 3);
		free(text);
	} else {
		print_message("no IPv6 here: %s\n", strerror(errno));
		close(fd);
	}
	assert_int_equal(export_set_close(set), 0);
}

static void long_headers(void **state)
{
	struct export_set *set = serve("127.0.0.1:0");
	char *head = malloc(70000), *text;
	int port = port_of();

	(void)state;
	for (size_t n = 4096; n <= 65536; n *= 2) {
		int at = sprintf(head,
				 "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nA: ");

		memset(head + at, 'a', n);
		strcpy(head + at + n, "\r\n\r\n");
		text = http_text(port, head);
		/* What does not fit is told so, or cut off; never taken. */
		if (n < HTTP_MEMORY / 2)
			assert_memory_equal(text + 9, "200", 3);
		else if (n >= HTTP_MEMORY && *text)
			assert_memory_equal(text + 9, "431", 3);
		free(text);
	}
	free(head);
	expect(port, "GET", "/healthz", "200", "ok");
	export_set_close(set);
}

static void not_served(const char *listen)
{
	struct export_set *set;

	assert_int_equal(export_set_new(&set, &(struct export_options){.listen = listen}), 0);
	assert_int_equal(export_set_add(set, "prometheus"), -EADDRINUSE);
	export_set_close(set);
}

static void unix_socket(void **state)
{
	char dir[] = "/tmp/gp-bpf-http-XXXXXX", listen[64];
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct export_set *set;
	struct stat st;
	char *text;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/s", dir);
	snprintf(listen, sizeof(listen), "unix:%s", a.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd); /* left over: nobody answers there */
	umask(077);
	set = serve(listen);
	umask(022);
	assert_int_equal(stat(a.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	http_ask(fd, "GET", "/healthz", "");
	text = http_answered(fd);
	assert_memory_equal(text + 9, "200", 3);
	free(text);
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(access(a.sun_path, F_OK), -1);
	/* What is there and is no socket left over stays: a link, a file, another's socket. */
	assert_int_equal(symlink("elsewhere", a.sun_path), 0);
	not_served(listen);
	unlink(a.sun_path);
	close(open(a.sun_path, O_CREAT | O_WRONLY, 0600));
	not_served(listen);
	unlink(a.sun_path);
	set = serve(listen);
	not_served(listen);
	unlink(a.sun_path);
	close(open(a.sun_path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(unlink(a.sun_path), 0); /* it was not ours any more */
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(paths, setup, teardown),
		cmocka_unit_test_setup_teardown(many_clients, setup, teardown),
		cmocka_unit_test_setup_teardown(one_rendering_per_snapshot, setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_stuck_is_not_healthy, setup, teardown),
		cmocka_unit_test_setup_teardown(garbage_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(unix_socket, setup, teardown),
		cmocka_unit_test_setup_teardown(formats, setup, teardown),
		cmocka_unit_test_setup_teardown(state_is_for_us, setup, teardown),
		cmocka_unit_test_setup_teardown(all_addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(long_headers, setup, teardown),
	};

	return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
