/* SPDX-License-Identifier: Apache-2.0 */
/* What a process reads and what its network resends, from the real /proc and from a made one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/identity/traffic.h"

#define SNMP                                                                                       \
	"Ip: Forwarding DefaultTTL\nIp: 1 64\n"                                                    \
	"Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs InErrs\nTcp: 1 -1 94093 %d %d 0\n"   \
	"Udp: InDatagrams\nUdp: 7\n"
#define DEV                                                                                        \
	"Inter-|   Receive                                                |  Transmit\n"           \
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs " \
	"drop fifo colls carrier compressed\n"                                                     \
	"    lo:    3193      29    0    0    0     0          0         0     3193      29    0 " \
	"   0    0     0       0          0\n"                                                     \
	"  eth0: 4424847432   94149    %d    %d    0     0          0         0  4622644   64937 " \
	"   2    3    0     0       0          0\n"

static char root[64];

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/traffic_test.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* Writes a file below the root, with its folders. */
static void put(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void put_network(int sent, int resent, int errors, int dropped)
{
	char text[1024];

	snprintf(text, sizeof(text), SNMP, sent, resent);
	put("proc/5/net/snmp", text);
	snprintf(text, sizeof(text), DEV, errors, dropped);
	put("proc/5/net/dev", text);
}

static void of_this_process(void **state)
{
	struct traffic_network net;
	struct traffic_reads before, after;
	struct stat st;
	char byte;
	FILE *f = fopen("/proc/self/exe", "r");

	(void)state;
	assert_non_null(f);
	assert_int_equal(traffic_reads("", getpid(), &before), 0);
	assert_int_equal(fread(&byte, 1, 1, f), 1);
	fclose(f);
	assert_int_equal(traffic_reads("", getpid(), &after), 0);
	assert_true(after.calls > before.calls);
	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	assert_true(traffic_namespace("", getpid()) == st.st_ino);
	traffic_network("", getpid(), &net);
	assert_true(net.tcp);
	assert_true(net.nlinks >= 1);
}

static void reads(void **state)
{
	struct traffic_reads r;

	(void)state;
	put("proc/5/io", "rchar: 6976\nwchar: 1\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\n"
			 "write_bytes: 0\ncancelled_write_bytes: 0\n");
	assert_int_equal(traffic_reads(root, 5, &r), 0);
	assert_int_equal(r.calls, 6976);
	assert_int_equal(r.storage, 4096);
	put("proc/5/io", "rchar: 6976\nwchar: 1\n");
	assert_true(traffic_reads(root, 5, &r) < 0);
	put("proc/5/io", "rchar: x\nread_bytes: 1\n");
	assert_true(traffic_reads(root, 5, &r) < 0);
	assert_true(traffic_reads(root, 6, &r) < 0);
}

/* TCP and interfaces; the worst link of the time between two reads is named. */
static void network(void **state)
{
	struct traffic_network before, now;
	struct gp_traffic grown = {0};

	(void)state;
	put_network(1000, 10, 0, 0);
	traffic_network(root, 5, &before);
	assert_true(before.tcp);
	assert_int_equal(before.sent, 1000);
	assert_int_equal(before.resent, 10);
	assert_int_equal(before.nlinks, 2);
	assert_string_equal(before.link[0].name, "lo");
	assert_string_equal(before.link[1].name, "eth0");
	assert_int_equal(before.link[1].errors, 2);
	assert_int_equal(before.link[1].dropped, 3);
	put_network(1970, 40, 7, 12);
	traffic_network(root, 5, &now);
	traffic_network_grown(&before, &now, &grown);
	assert_int_equal(grown.flags, GP_TRAFFIC_TCP | GP_TRAFFIC_LINKS);
	assert_int_equal(grown.sent, 970);
	assert_int_equal(grown.resent, 30);
	assert_int_equal(grown.errors, 7);
	assert_int_equal(grown.dropped, 12);
	assert_string_equal(grown.link, "eth0");
	/* counts that fall (an interface that is made again) are no traffic */
	grown = (struct gp_traffic){0};
	traffic_network_grown(&now, &before, &grown);
	assert_int_equal(grown.sent + grown.resent + grown.errors + grown.dropped, 0);
	assert_string_equal(grown.link, "");
}

static void ports(void **state)
{
	struct traffic_network before = {0}, now = {0};
	struct gp_traffic grown = {0};
	char name[80];

	(void)state;
	assert_int_equal(traffic_ports(root, before.link), 0);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name),
			 "sys/class/infiniband/mlx5_%d/ports/1/counters/port_rcv_errors", i);
		put(name, "5\n");
	}
	put("sys/class/infiniband/mlx5_1/ports/1/counters/symbol_error", "1\n");
	put("sys/class/infiniband/mlx5_1/ports/1/counters/link_downed", "1\n");
	put("sys/class/infiniband/mlx5_1/ports/1/counters/port_xmit_wait", "100\n");
	put("sys/class/infiniband/mlx5_1/ports/1/hw_counters/packet_seq_err", "not a number\n");
	before.nlinks = traffic_ports(root, before.link);
	assert_int_equal(before.nlinks, 2);
	put("sys/class/infiniband/mlx5_1/ports/1/counters/symbol_error", "4\n");
	put("sys/class/infiniband/mlx5_1/ports/1/counters/link_downed", "2\n");
	put("sys/class/infiniband/mlx5_1/ports/1/counters/port_xmit_wait", "350\n");
	put("sys/class/infiniband/mlx5_1/ports/1/hw_counters/packet_seq_err", "9\n");
	now.nlinks = traffic_ports(root, now.link);
	traffic_network_grown(&before, &now, &grown);
	assert_int_equal(grown.flags, GP_TRAFFIC_LINKS);
	assert_int_equal(grown.errors, 3);
	assert_int_equal(grown.downs, 1);
	assert_int_equal(grown.waits, 250);
	assert_int_equal(grown.rdma_resent, 9);
	assert_string_equal(grown.link, "mlx5_1/1");
}

/* Files with another content, and more of it than fits. */
static void hostile(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"Tcp: OutSegs\n",
		"\nTcp: ",
		"\nTcp: \nTcp:",
		"\nTcp: OutSegs RetransSegs\nTcp: 1\n",
		"x: 1 2 3\n",
		":::::\n",
		"\nTcp: OutSegs RetransSegs\nTcp: a b\n",
	};
	struct traffic_network net;
	struct traffic_link link[TRAFFIC_PORTS];
	char *many = calloc(200, 64), name[80];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put("proc/5/net/snmp", texts[i]);
		put("proc/5/net/dev", texts[i]);
		traffic_network(root, 5, &net);
		assert_false(net.tcp);
		assert_int_equal(net.nlinks, 0);
	}
	for (int i = 0; i < 200; i++)
		snprintf(many + strlen(many), 64, "if%d: 1 2 3 4 5 6 7 8 9 10 11 12\n", i);
	put("proc/5/net/dev", many);
	free(many);
	traffic_network(root, 5, &net);
	assert_int_equal(net.nlinks, TRAFFIC_INTERFACES);
	assert_int_equal(net.link[0].errors, 3 + 11);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "sys/class/infiniband/d%d/ports/%d/x", i % 3, i);
		put(name, "");
	}
	put("sys/class/infiniband/d1/ports/name/x", "");
	assert_int_equal(traffic_ports(root, link), TRAFFIC_PORTS);
	/* a process whose namespace is unknown is alone in it */
	assert_true(traffic_namespace(root, 5) != traffic_namespace(root, 6));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_this_process), T(reads), T(network), T(ports), T(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
