/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/fixture.h"
#include "userspace/base/log.h"
#include "userspace/export/export.h"
#include "userspace/export/http.h"
#include "userspace/export/prometheus_text.h"

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

static char *page(void)
{
	struct buffer b = {0};

	prometheus_text(&b, &fx.s);
	assert_false(b.failed);
	return b.data;
}

static void has(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at != text && at[-1] != '\n'))
		fail_msg("no line: %s", line);
}

static void values(void **state)
{
	struct loop_view *l;
	char *text;

	(void)state;
	fixture_trainer(&fx, 4242, 0, 2);
	fx.s.lost[GP_LOSS_late] = 3;
	text = page();
	has(text, "gpbpf_up 1\n");
	has(text, "gpbpf_build_info{version=\"0.1.0\"} 1\n");
	has(text, "# TYPE gpbpf_steps_total counter\n");
	has(text, "gpbpf_steps_total{job_id=\"mnist\",rank=\"0\",pid=\"4242\",loop=\"0\"} 2000\n");
	has(text,
	    "gpbpf_rank_state{job_id=\"mnist\",rank=\"0\",pid=\"4242\",loop=\"0\",state=\"locked\"} 1\n");
	has(text,
	    "gpbpf_rank_state{job_id=\"mnist\",rank=\"0\",pid=\"4242\",loop=\"0\",state=\"suspect\"} 0\n");
	has(text, "gpbpf_step_seconds{job_id=\"mnist\",rank=\"0\",pid=\"4242\",loop=\"0\",quantile=\"0.5\"} "
		  "0.031200000\n");
	has(text, "gpbpf_step_seconds_count{job_id=\"mnist\",rank=\"0\",pid=\"4242\",loop=\"0\"} 2000\n");
	has(text,
	    "gpbpf_time_seconds{job_id=\"mnist\",rank=\"0\",pid=\"4242\",bucket=\"GOODPUT\"} 72.400000000\n");
	has(text, "gpbpf_elapsed_seconds{job_id=\"mnist\",rank=\"0\",pid=\"4242\"} 100.000000000\n");
	has(text, "gpbpf_goodput_ratio{job_id=\"mnist\",rank=\"0\",pid=\"4242\"} 0.724\n");
	has(text, "gpbpf_checkpoints_total{job_id=\"mnist\",rank=\"0\",pid=\"4242\",op=\"save\"} 4\n");
	has(text, "gpbpf_records_lost_total{cause=\"late\"} 3\n");
	free(text);
	l = fx.ranks[0].loops;
	l->state.confidence = 0.69; /* unknown: no sample, and no family without one */
	text = page();
	assert_null(strstr(text, "gpbpf_step_seconds"));
	assert_null(strstr(text, "gpbpf_step_ideal_seconds"));
	assert_non_null(strstr(text, "gpbpf_steps_total{"));
	free(text);
}

static void hangs(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	char *text;

	(void)state;
	fixture_process(&fx, 4100); /* one that does not train cannot hang */
	text = page();
	has(text, "gpbpf_rank_hung{job_id=\"mnist\",rank=\"0\",pid=\"4242\",why=\"\"} 0\n");
	assert_null(strstr(text, "gpbpf_rank_hung{job_id=\"\""));
	free(text);
	fixture_hang(r, GP_WHY_collective, false, "");
	text = page();
	has(text, "gpbpf_rank_hung{job_id=\"mnist\",rank=\"0\",pid=\"4242\",why=\"collective\"} 1\n");
	has(text, "gpbpf_hangs_total{job_id=\"mnist\",rank=\"0\",pid=\"4242\"} 1\n");
	has(text, "gpbpf_hang_seconds_total{job_id=\"mnist\",rank=\"0\",pid=\"4242\"} 42.000000000\n");
	free(text);
	fixture_hang(r, GP_WHY_collective, true, "");
	text = page();
	has(text, "gpbpf_rank_hung{job_id=\"mnist\",rank=\"0\",pid=\"4242\",why=\"\"} 0\n");
	has(text, "gpbpf_hang_seconds_total{job_id=\"mnist\",rank=\"0\",pid=\"4242\"} 42.000000000\n");
	free(text);
}

static void nothing_known(void **state)
{
	struct buffer b = {0};

	(void)state;
	prometheus_text(&b, NULL);
	has(b.data, "gpbpf_up 1\n");
	assert_null(strstr(b.data, "gpbpf_events_total"));
	buffer_free(&b);
	fixture_process(&fx, 7);
	b.data = page();
	assert_null(strstr(b.data, "nan"));
	assert_null(strstr(b.data, "gpbpf_goodput_ratio"));
	free(b.data);
}

static void labels_are_escaped(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, -1, -1);
	char *text;

	(void)state;
	snprintf(r->job, sizeof(r->job), "a\"b\\c\nd\x1b[0m\xff");
	text = page();
	assert_non_null(strstr(text, "job_id=\"a\\\"b\\\\c\\nd?[0m?\",rank=\"\",pid=\"4242\""));
	assert_null(strchr(text, '\x1b'));
	free(text);
}

static int line_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* No series twice, families not interleaved, header before samples: checked over the whole page. */
static void no_series_twice(void **state)
{
	static char *names[200000];
	char *text, *save = NULL, *space;
	size_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		fixture_trainer(&fx, 4242, (int)i % 2, 2); /* one pid four times */
	fx.ranks[2].start_mono_ns += 5;
	fixture_attach(&fx, "torch.a", "libtorch_cpu.so", GP_ATTACH_attached, 5);
	fixture_attach(&fx, "torch.b", "libtorch_cpu.so", GP_ATTACH_failed, 0);
	fixture_attach(&fx, "torch.a", "libtorch_cpu.so", GP_ATTACH_failed, 5);
	fixture_attach(&fx, "torch.a", "libtorch.so", GP_ATTACH_absent, 5);
	text = page();
	has(text, "gpbpf_probe_hits_total{probe=\"torch.a\"} 5\n");
	has(text, "gpbpf_probe_attached{probe=\"torch.a\",library=\"libtorch_cpu.so\"} 1\n");
	has(text, "gpbpf_probe_attached{probe=\"torch.b\",library=\"libtorch_cpu.so\"} 0\n");
	assert_null(strstr(text, "library=\"libtorch.so\""));
	for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		if (*at == '#')
			continue;
		space = strrchr(at, ' ');
		assert_non_null(space);
		*space = '\0';
		names[n++] = at;
	}
	assert_true(n > 30);
	qsort(names, n, sizeof(*names), line_order);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(names[i - 1], names[i]))
			fail_msg("twice: %s", names[i]);
	free(text);
}

static void promtool_is_content(void **state)
{
	FILE *tool;
	char *text;

	(void)state;
	if (system("command -v promtool >/dev/null 2>&1")) {
		print_message("promtool is not installed\n");
		skip();
	}
	fixture_trainer(&fx, 4242, 0, 2);
	fixture_attach(&fx, "torch.a", "libtorch_cpu.so", GP_ATTACH_attached, 5);
	text = page();
	tool = popen("promtool check metrics 2>&1", "w");
	assert_non_null(tool);
	fputs(text, tool);
	assert_int_equal(pclose(tool), 0);
	free(text);
}

static void size_is_bounded(void **state)
{
	struct buffer b = {0};

	(void)state;
	for (uint32_t i = 0; i < FIXTURE_RANKS; i++)
		fixture_trainer(&fx, 1000 + i, (int)(i % 8), 8);
	prometheus_text(&b, &fx.s);
	assert_false(b.failed);
	assert_true(b.len < 3u << 20);
	assert_null(strstr(b.data, "pid=\"1599\""));
	buffer_free(&b);
}

/* ---- over HTTP ------------------------------------------------------------------------------------ */

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

static int dial(int port)
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

static void ask(int fd, const char *method, const char *path)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", method,
			 path);

	assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
}

static char *answer(int fd)
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

static void expect(int port, const char *method, const char *path, const char *status, const char *body)
{
	char *text;
	int fd = dial(port);

	ask(fd, method, path);
	text = answer(fd);
	if (strncmp(text + 9, status, 3) || (body && !strstr(text, body)))
		fail_msg("%s %s: %s", method, path, text);
	free(text);
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
	expect(port, "GET", "/", "404", NULL);
	expect(port, "GET", "/metrics/../etc/passwd", "404", NULL);
	expect(port, "POST", "/metrics", "405", "Allow: GET, HEAD");
	fx.s.number++;
	fx.loops[0].state.steps = 2001;
	export_set_snapshot(set, &fx.s);
	expect(port, "GET", "/metrics", "200", "loop=\"0\"} 2001");
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(fx.s.references, 1 << 20);
}

/* 64 readers and 20 that ask and never read: all readers get whole pages, while snapshots go on coming. */
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
		ask(stuck[i] = dial(port), "GET", "/metrics");
	for (size_t i = 0; i < 64; i++)
		ask(reader[i] = dial(port), "GET", "/metrics");
	for (size_t i = 0; i < 64; i++) {
		export_set_snapshot(set, &fx.s);
		text = answer(reader[i]);
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

static void counted_render(void *ctx, struct buffer *out)
{
	__atomic_add_fetch(&((struct counted *)ctx)->renders, 1, __ATOMIC_SEQ_CST);
	buffer_printf(out, "x 1\n");
}

static void one_rendering_per_snapshot(void **state)
{
	struct counted c = {.version = 1};
	struct http_server *h;
	int port;

	(void)state;
	assert_int_equal(http_open(&h, "127.0.0.1:0",
				   &(struct http_source){&c, "text/plain", counted_version, counted_render}),
			 0);
	port = atoi(strrchr(http_address(h), ':') + 1);
	for (int i = 0; i < 64; i++)
		expect(port, "GET", "/metrics", "200", "x 1");
	assert_int_equal(__atomic_load_n(&c.renders, __ATOMIC_SEQ_CST), 1);
	__atomic_store_n(&c.version, 2, __ATOMIC_SEQ_CST);
	expect(port, "GET", "/metrics", "200", "x 1");
	assert_int_equal(__atomic_load_n(&c.renders, __ATOMIC_SEQ_CST), 2);
	http_close(h);
}

static void garbage_is_refused(void **state)
{
	struct export_set *set = serve("127.0.0.1:0");
	int port = port_of(), fd = dial(port);
	char big[65536];

	(void)state;
	memset(big, 'A', sizeof(big));
	send(fd, big, sizeof(big), MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	free(answer(fd));
	expect(port, "GET", "/healthz", "200", "ok");
	assert_int_equal(export_set_close(set), 0);
}

static void addresses(void **state)
{
	static const char *const bad[] = {
		"",	     "9847",	       ":9847",		  "127.0.0.1", "127.0.0.1:", "::1:9847",
		"[::1:9847", "127.0.0.1:http", "127.0.0.1:99999", "unix:",     "256.1.1.1:1"};
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
		assert_int_equal(export_set_new(&second, &(struct export_options){.listen = bad[i]}), 0);
		assert_int_equal(export_set_add(second, "prometheus"), -EINVAL);
		assert_non_null(strstr(captured, "--listen"));
		export_set_close(second);
	}
}

static void unix_socket(void **state)
{
	char dir[] = "/tmp/gp-bpf-http-XXXXXX", listen[64];
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct export_set *set;
	char *text;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/s", dir);
	snprintf(listen, sizeof(listen), "unix:%s", a.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd); /* left over: nobody answers there */
	set = serve(listen);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ask(fd, "GET", "/healthz");
	text = answer(fd);
	assert_memory_equal(text + 9, "200", 3);
	free(text);
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(access(a.sun_path, F_OK), -1);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(values, setup, teardown),
		cmocka_unit_test_setup_teardown(hangs, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_known, setup, teardown),
		cmocka_unit_test_setup_teardown(labels_are_escaped, setup, teardown),
		cmocka_unit_test_setup_teardown(no_series_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(promtool_is_content, setup, teardown),
		cmocka_unit_test_setup_teardown(size_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(paths, setup, teardown),
		cmocka_unit_test_setup_teardown(many_clients, setup, teardown),
		cmocka_unit_test_setup_teardown(one_rendering_per_snapshot, setup, teardown),
		cmocka_unit_test_setup_teardown(garbage_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(unix_socket, setup, teardown),
	};

	return cmocka_run_group_tests_name("prometheus", tests, NULL, NULL);
}
