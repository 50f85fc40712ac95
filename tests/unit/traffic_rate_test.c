/* SPDX-License-Identifier: Apache-2.0 */
/* Texts about what a process reads and resends, and records that are impossible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/model/time/traffic_rate.h"

#define S  1000000000ull
#define MB 1000000ull

static struct {
	struct traffic_rate *rate;
	uint64_t now_ns;
} w;

static int setup(void **state)
{
	(void)state;
	w.rate = traffic_rate_new();
	w.now_ns = 100 * S;
	return w.rate ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	traffic_rate_free(w.rate);
	return 0;
}

/* Adds n such seconds. Returns their sums. */
static struct traffic_sums seconds(unsigned n, struct gp_traffic g)
{
	uint64_t from_ns = w.now_ns;
	struct traffic_sums s;

	for (unsigned i = 0; i < n; i++) {
		w.now_ns += S;
		g.at_ns = w.now_ns - S / 10;
		g.span_ns = S;
		traffic_rate_take(w.rate, w.now_ns, &g);
	}
	traffic_rate_between(w.rate, from_ns, w.now_ns, &s);
	return s;
}

static void bytes(void **state)
{
	struct traffic_sums before = seconds(10, (struct gp_traffic){.flags = GP_TRAFFIC_READ,
								     .storage = 80 * MB,
								     .calls = 80 * MB});
	struct traffic_sums since = seconds(
		10, (struct gp_traffic){.flags = GP_TRAFFIC_READ | GP_TRAFFIC_WORKERS,
					.storage = 12 * MB,
					.calls = 52 * MB,
					.worker_storage = 3 * MB,
					.worker_calls = 2 * MB});
	struct traffic_sums none = {0};
	char text[TRAFFIC_TEXT];

	(void)state;
	assert_string_equal(
		traffic_reads_text(text, sizeof(text), &before, &since, false),
		"it reads 12.0 MB/s from storage (80.0 MB/s before) and 40.0 MB/s from the page "
		"cache, FUSE, pipes or sockets");
	assert_string_equal(traffic_reads_text(text, sizeof(text), NULL, &before, false),
			    "it reads 80.0 MB/s from storage");
	/* the workers were not read before */
	assert_string_equal(traffic_reads_text(text, sizeof(text), &before, &since, true),
			    "its loader workers read 3.0 MB/s from storage");
	assert_string_equal(traffic_reads_text(text, sizeof(text), &before, &none, false), "");
	none.read_ns = S;
	assert_string_equal(traffic_reads_text(text, sizeof(text), NULL, &none, false), "");
	assert_string_equal(traffic_reads_text(text, sizeof(text), &before, &none, false),
			    "it reads 0.0 MB/s from storage (80.0 MB/s before)");
}

static void failures(void **state)
{
	const unsigned known = GP_TRAFFIC_TCP | GP_TRAFFIC_LINKS;
	struct traffic_sums before = seconds(10, (struct gp_traffic){.flags = known,
								     .sent = 9990,
								     .resent = 10,
								     .dropped = 1,
								     .waits = 100,
								     .link = "eth\033"});
	struct traffic_sums since = seconds(10, (struct gp_traffic){.flags = known,
								    .sent = 970,
								    .resent = 30,
								    .dropped = 2,
								    .errors = 1,
								    .downs = 1,
								    .rdma_resent = 4,
								    .waits = 520,
								    .link = "mlx5_0/1"});
	struct traffic_sums little = {.tcp_ns = S, .sent = 10, .resent = 2}, none = {0};
	char text[TRAFFIC_TEXT * 2], small[24];

	(void)state;
	assert_string_equal(
		traffic_network_text(text, sizeof(text), &before, &since),
		"its network namespace resent 3.0 % of its TCP segments (0.1 % before), its links "
		"dropped 20 packets, its links damaged 10 packets, RDMA resent 40 packets, a link "
		"failed 10 times (most: mlx5_0/1), ports waited to send 5.2 times as long as "
		"before");
	assert_string_equal(traffic_network_text(small, sizeof(small), &before, &since),
			    "its network namespace r");
	/* the usual failures are no evidence, nor are a few, nor none */
	assert_string_equal(traffic_network_text(text, sizeof(text), &before, &before), "");
	assert_string_equal(traffic_network_text(text, sizeof(text), NULL, &little), "");
	assert_string_equal(traffic_network_text(text, sizeof(text), NULL, &none), "");
	assert_string_equal(before.link, "eth?");
}

/* Impossible times, and numbers of any size. */
static void hostile(void **state)
{
	struct gp_traffic g = {.flags = ~0u};
	struct traffic_sums s = seconds(3, (struct gp_traffic){.flags = GP_TRAFFIC_READ});
	char text[TRAFFIC_TEXT];

	(void)state;
	for (int i = 0; i < 5; i++) {
		g.at_ns = (uint64_t[]){w.now_ns + 1, w.now_ns, w.now_ns, 0, w.now_ns - S}[i];
		g.span_ns = (uint64_t[]){S, 0, 2 * S, S, S}[i];
		traffic_rate_take(w.rate, w.now_ns, &g);
	}
	traffic_rate_between(w.rate, 0, UINT64_MAX, &s);
	assert_int_equal(s.read_ns, 3 * S);
	assert_int_equal(s.tcp_ns, 0);
	memset(&g, 0xff, sizeof(g));
	s = seconds(400, g);
	assert_int_equal(s.read_ns, 180 * S);
	traffic_reads_text(text, sizeof(text), &s, &s, true);
	traffic_network_text(text, sizeof(text), NULL, &s);
	assert_true(strlen(text) < sizeof(text));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {T(bytes), T(failures), T(hostile)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
