/* SPDX-License-Identifier: Apache-2.0 */
/* ras_ask: an answer, a service that lies, floods, says nothing or is not there, an environment
 * that points elsewhere, and what the process that asks keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/watch/ras_ask.h"

#define TRUTH                                                                                      \
	"SERVER PROTOCOL 2\nOK\nERROR: Unknown command SET FORMAT json\n"                          \
	"Warnings\n========\n\n#0-0 (27a) MISMATCH\n"                                              \
	"  Communicator ranks have different AllReduce operation counts\n"                         \
	"  3 ranks have launched up to operation 42\n"                                             \
	"  Rank 1 has launched up to operation 41 -- GPU 1 managed by process 7 on node 10.0.0.1\n"
#define CLAIM                                                                                      \
	"rank 1 (process 7 on 10.0.0.1) has launched 41 AllReduce, 3 of 4 ranks 42 (communicator 27a)"

static char folder[] = "/tmp/gp-bpf-ras-XXXXXX";
static char path[128];
static pid_t server, service;
static int asks;

/* ---- a service ------------------------------------------------------------------------------- */

static void serve_truth(int fd)
{
	char text[256];

	if (recv(fd, text, sizeof(text), 0) > 0)
		send(fd, TRUTH, strlen(TRUTH), MSG_NOSIGNAL);
}

static void serve_garbage(int fd)
{
	static char text[65536];

	srand(7);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)rand();
	send(fd, text, sizeof(text), MSG_NOSIGNAL);
}

static void serve_endless(int fd)
{
	static const char line[] = "#0-0 (27a) MISMATCH\n  Rank 1 has launched up to operation\n";

	while (send(fd, line, strlen(line), MSG_NOSIGNAL) > 0)
		;
}

static void serve_nothing(int fd)
{
	(void)fd;
	pause();
}

/* Starts a service, or, without fn, takes a port at which nothing listens. Returns the port. */
static unsigned service_start(void (*fn)(int fd))
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one;

	assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof(a)) &&
		    !getsockname(fd, (struct sockaddr *)&a, &len));
	service = 0;
	if (fn && !listen(fd, 4)) {
		service = fork();
		while (!service) {
			one = accept(fd, NULL, NULL);
			fn(one);
			close(one);
		}
	}
	close(fd);
	return ntohs(a.sin_port);
}

static void service_stop(void)
{
	if (!service)
		return;
	kill(service, SIGKILL);
	waitpid(service, NULL, 0);
}

/* ---- a process to be asked ------------------------------------------------------------------- */

static void put(const char *name, const char *text, size_t len)
{
	char file[256];
	int fd;

	snprintf(file, sizeof(file), "%s/%s", path, name);
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

static void environment(const char *format, unsigned port)
{
	char text[256] = "LANG=C";
	size_t len = strlen(text) + 1;

	len += (size_t)snprintf(text + len, sizeof(text) - len, format, port) + 1;
	put("environ", text, len);
}

static int set_up(void **state)
{
	char file[256];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/proc", folder);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/proc/71", folder);
	mkdir(path, 0700);
	snprintf(file, sizeof(file), "%s/ns", path);
	mkdir(file, 0700);
	snprintf(file, sizeof(file), "%s/ns/net", path);
	assert_int_equal(symlink("/proc/self/ns/net", file), 0);
	put("status", "Name:\tpython\nNSpid:\t71\t7\n", 25);
	asks = ras_server_start(folder, &server);
	assert_true(asks >= 0);
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	close(asks);
	assert_int_equal(waitpid(server, NULL, 0), server);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static struct ras_answer ask(uint32_t pid)
{
	static uint32_t id;
	struct ras_request q = {.id = ++id, .pid = pid};
	struct ras_answer a = {0};
	struct pollfd p = {.fd = asks, .events = POLLIN};

	assert_int_equal(send(asks, &q, sizeof(q), 0), sizeof(q));
	assert_int_equal(poll(&p, 1, RAS_ANSWER_NS / 1000000), 1);
	assert_int_equal(recv(asks, &a, sizeof(a), 0), sizeof(a));
	assert_int_equal(a.id, id);
	return a;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_services(void **state)
{
	static const struct {
		void (*fn)(int fd);
		const char *environment, *claim;
		int result;
	} rows[] = {
		{serve_truth, "NCCL_RAS_ADDR=127.0.0.1:%u", CLAIM, sizeof(CLAIM) - 1},
		{serve_truth, "NCCL_RAS_ADDR=localhost:%u", CLAIM, sizeof(CLAIM) - 1},
		{serve_garbage, "NCCL_RAS_ADDR=127.0.0.1:%u", "", 0},
		{serve_endless, "NCCL_RAS_ADDR=127.0.0.1:%u", "", 0},
		{serve_nothing, "NCCL_RAS_ADDR=127.0.0.1:%u", "", -ETIMEDOUT},
		{NULL, "NCCL_RAS_ADDR=127.0.0.1:%u", "", -ECONNREFUSED},
		/* not of this machine (TEST-NET-1): no packet leaves it */
		{serve_truth, "NCCL_RAS_ADDR=192.0.2.1:%u", "", -EADDRNOTAVAIL},
		{serve_truth, "NCCL_RAS_ADDR=example.com:%u", "", -EADDRNOTAVAIL},
		{serve_truth, "NCCL_RAS_ENABLE=0", "", -ENOENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ras_answer a;

		environment(rows[i].environment, service_start(rows[i].fn));
		a = ask(71);
		service_stop();
		if (a.result != rows[i].result)
			fail_msg("row %zu: %d %s", i, a.result, a.text);
		assert_string_equal(a.text, rows[i].claim);
	}
	assert_int_equal(ask(72).result, -ENOENT); /* no such process */
}

/* A request ends the one before. */
static void test_next(void **state)
{
	struct ras_request q = {.id = 1000, .pid = 71};
	pid_t first;

	(void)state;
	environment("NCCL_RAS_ADDR=127.0.0.1:%u", service_start(serve_nothing));
	assert_int_equal(send(asks, &q, sizeof(q), 0), sizeof(q));
	poll(NULL, 0, 100);
	first = service;
	environment("NCCL_RAS_ADDR=127.0.0.1:%u", service_start(serve_truth));
	assert_string_equal(ask(71).text, CLAIM);
	service_stop();
	service = first;
	service_stop();
}

/* Returns the number in a line of /proc/PID/status. */
static unsigned long long status_of(pid_t pid, const char *name)
{
	char file[64], line[256];
	unsigned long long n = ~0ull;
	FILE *f;

	snprintf(file, sizeof(file), "/proc/%d/status", pid);
	f = fopen(file, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			n = strtoull(line + strlen(name) + 1, NULL, 16);
	fclose(f);
	return n;
}

static void test_privileges(void **state)
{
	struct ras_request q = {.id = 2000, .pid = 71};
	char file[64], text[64] = "";
	pid_t child;
	FILE *f;

	(void)state;
	environment("NCCL_RAS_ADDR=127.0.0.1:%u", service_start(serve_nothing));
	assert_int_equal(send(asks, &q, sizeof(q), 0), sizeof(q));
	poll(NULL, 0, 500);
	/* linux/capability.h: DAC_READ_SEARCH, SYS_PTRACE, SYS_ADMIN */
	assert_int_equal(status_of(server, "CapPrm") & ~(1ull << 2 | 1ull << 19 | 1ull << 21), 0);
	assert_int_equal(status_of(server, "NoNewPrivs"), 1);
	snprintf(file, sizeof(file), "/proc/%d/task/%d/children", server, server);
	f = fopen(file, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	child = (pid_t)strtol(text, NULL, 10);
	assert_int_equal(status_of(child, "CapPrm"), 0);
	assert_int_equal(status_of(child, "CapEff"), 0);
	assert_int_equal(status_of(child, "Seccomp"), 2);
	service_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_privileges),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
