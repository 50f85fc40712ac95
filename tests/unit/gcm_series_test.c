/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/export/gcm/request.h"

#define NOON 1795262400000000000ll /* 2026-11-21T12:00:00Z */
#define SEC  1000000000ll

static const char *const node[] = {"location", "namespace", "node_id", NULL};
static const char *const here[] = {"global", "gp-bpf", "n1"};
static const double bounds[] = {0.001, 0.01, 0.1};

static const struct series_row steps = {
	"step_count",
	SERIES_CUMULATIVE,
	SERIES_INT64,
	"1",
	"Training steps",
	"Training steps observed.",
	{{"job_id", "Name of the job.", false}, {"rank", "Rank in the job.", true}},
	false,
};
static const struct series_row times = {
	"step_time",
	SERIES_CUMULATIVE,
	SERIES_DISTRIBUTION,
	"s",
	"Step time",
	"Time of a step.",
	{{"job_id", "Name of the job.", false}},
	false,
};
static const struct series_row hung = {
	"hung",
	SERIES_GAUGE,
	SERIES_BOOL,
	"",
	"Hung",
	"No step is made.",
	{{"job_id", "Job.", false}},
	false,
};
static const struct series_row share = {
	"share", SERIES_GAUGE, SERIES_DOUBLE, "1", "Share", "A share.", {{0}}, false,
};
static const struct series_row library = {
	"goodput_time", SERIES_GAUGE, SERIES_DOUBLE, "s", "", "", {{"goodput_source", "", false}},
	true,
};

static struct series_set set;

static int setup(void **state)
{
	(void)state;
	series_set_init(&set);
	assert_int_equal(series_resource(&set, "generic_node", node, here), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	series_set_free(&set);
	return 0;
}

static struct series *add(const struct series_row *row)
{
	struct series *p = series_put(&set, row, 0, NOON + 30 * SEC);

	assert_non_null(p);
	if (row->kind == SERIES_CUMULATIVE)
		p->start_ns = NOON;
	return p;
}

static struct series *add_steps(const char *job, const char *rank, int64_t count)
{
	struct series *p = add(&steps);

	p->value.i64 = count;
	series_label(&set, "job_id", job);
	series_label(&set, "rank", rank);
	return p;
}

static uint64_t key(uint32_t i)
{
	return series_key(&set, &set.item[i], SERIES_OWN_PREFIX);
}

static void test_integers_and_times_are_text(void **state)
{
	struct buffer body = {0};
	uint32_t at = 0, n = 0;

	(void)state;
	add_steps("llama", "0", INT64_MAX);
	assert_true(request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, NULL, &n));
	assert_string_equal(
		body.data,
		"{\"timeSeries\":[{\"metric\":{\"type\":\"custom.googleapis.com/gp_bpf/"
		"step_count\",\"labels\":"
		"{\"job_id\":\"llama\",\"rank\":\"0\"}},\"resource\":{\"type\":\"generic_node\",\"labels\":"
		"{\"location\":\"global\",\"namespace\":\"gp-bpf\",\"node_id\":\"n1\"}},\"metricKind\":"
		"\"CUMULATIVE\",\"valueType\":\"INT64\",\"unit\":\"1\",\"points\":[{\"interval\":{\"startTime\":"
		"\"2026-11-21T12:00:00.000000000Z\",\"endTime\":\"2026-11-21T12:00:30.000000000Z\"},"
		"\"value\":{\"int64Value\":\"9223372036854775807\"}}]}]}");
	assert_int_equal(n, 1);
	assert_false(request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, NULL, &n));
	assert_false(body.failed);
	buffer_free(&body);
}

static void test_the_librarys_series_say_no_kind_and_no_start(void **state)
{
	struct buffer body = {0};
	uint32_t at = 0, n = 0;

	(void)state;
	add(&library)->value.real = 0.1;
	series_label(&set, "goodput_source", "TOTAL");
	assert_true(request_next(&set, SERIES_WORK_PREFIX, NULL, &at, &body, NULL, &n));
	assert_non_null(
		strstr(body.data, "\"type\":\"compute.googleapis.com/workload/goodput_time\""));
	assert_non_null(strstr(body.data,
			       "\"points\":[{\"interval\":{\"endTime\":\"2026-11-21T12:00:30.0"));
	assert_non_null(strstr(body.data, "{\"doubleValue\":0.1}"));
	assert_null(strstr(body.data, "metricKind"));
	assert_null(strstr(body.data, "valueType"));
	assert_null(strstr(body.data, "unit"));
	buffer_free(&body);
}

static void test_a_distribution_has_its_buckets(void **state)
{
	const uint64_t buckets[] = {1, 0, 2, 0};
	struct series_distribution d = {
		.count = 3, .mean = 0.05, .bounds = bounds, .buckets = buckets, .nbounds = 3};
	struct buffer body = {0};
	uint32_t at = 0, n = 0;

	(void)state;
	add(&times);
	series_distribution(&set, &d);
	assert_true(request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, NULL, &n));
	assert_non_null(strstr(
		body.data,
		"\"value\":{\"distributionValue\":{\"count\":\"3\",\"mean\":0.05,\"bucketOptions\":{"
		"\"explicitBuckets\":{\"bounds\":[0.001,0.01,0.1]}},\"bucketCounts\":"
		"[\"1\",\"0\",\"2\",\"0\"]}}"));
	buffer_free(&body);
}

static void test_what_cannot_be_written_is_not_fit(void **state)
{
	const uint64_t buckets[] = {1, 0, 2, 0};
	struct series_distribution d = {
		.count = 4, .mean = 0.05, .bounds = bounds, .buckets = buckets, .nbounds = 3};
	struct buffer body = {0};
	uint32_t at = 0, n = 0;

	(void)state;
	add(&share)->value.real = NAN;
	add(&share)->value.real = INFINITY;
	add(&share)->start_ns = NOON; /* a gauge has none */
	add(&steps)->start_ns = 0;
	add(&steps)->start_ns = NOON + 30 * SEC;
	add(&steps)->value.i64 = -1;
	add(&share)->end_ns = 0;
	add(&times); /* no distribution at all */
	series_distribution(&set,
			    &(struct series_distribution){.bounds = bounds, .buckets = buckets});
	add(&times);
	series_distribution(&set, &d);
	add(&share);
	series_label(&set, "no_such_label", "x");
	for (uint32_t i = 0; i < set.count; i++) {
		if (series_fit(&set, &set.item[i]))
			fail_msg("series %u is fit", i);
	}
	assert_false(request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, NULL, &n));
	add(&hung)->value.yes = true;
	at = 0;
	assert_true(request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, NULL, &n));
	assert_int_equal(n, 1);
	assert_non_null(strstr(body.data, "{\"boolValue\":true}"));
	buffer_free(&body);
}

static void test_labels_are_bounded_and_utf8(void **state)
{
	char text[2000];
	const char *kept;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text + 1022, "\342\202\254", 3); /* a character across the bound */
	text[1999] = '\0';
	add_steps(text, "\377b", 1);
	kept = series_text(&set, set.item[0].label[0]);
	assert_int_equal(strlen(kept), 1022);
	assert_string_equal(series_text(&set, set.item[0].label[1]), "\357\277\275b");
	add_steps("", "1", 1);
	assert_int_equal(set.item[1].label[0], 0);
	assert_true(series_fit(&set, &set.item[1]));
}

static void test_a_key_is_type_labels_and_resource(void **state)
{
	static const char *const there[] = {"global", "gp-bpf", "n2"};
	struct series *p;

	(void)state;
	add_steps("a", "bc", 1);
	add_steps("a", "bc", 2)->end_ns += SEC;
	add_steps("ab", "c", 1);
	add_steps("a", "", 1);
	add_steps("", "a", 1);
	assert_int_equal(key(0), key(1));
	for (uint32_t i = 1; i < 5; i++) {
		for (uint32_t k = i + 1; k < 5; k++)
			assert_int_not_equal(key(i), key(k));
	}
	assert_int_not_equal(key(0), series_key(&set, &set.item[0], SERIES_WORK_PREFIX));
	assert_int_equal(series_resource(&set, "generic_node", node, here), 0);
	assert_int_equal(series_resource(&set, "generic_node", node, there), 1);
	p = series_put(&set, &steps, 1, NOON);
	series_label(&set, "job_id", "a");
	series_label(&set, "rank", "bc");
	assert_int_not_equal(series_key(&set, p, SERIES_OWN_PREFIX), key(0));
	/* It stays over versions: what is on disk is told by it. */
	assert_int_equal(key(0), 0xf92a88b2823bfa08ull);
}

static void test_requests_hold_200_and_what_is_asked_for(void **state)
{
	struct request_item items[REQUEST_SERIES];
	struct buffer body = {0};
	uint32_t at = 0, n = 0;
	bool keep[450] = {0};
	char rank[12];

	(void)state;
	for (int i = 0; i < 450; i++) {
		snprintf(rank, sizeof(rank), "%d", i);
		add_steps("llama", rank, i);
	}
	assert_true(request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, items, &n));
	assert_int_equal(n, 200);
	assert_true(request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, items, &n));
	assert_int_equal(n, 200);
	assert_int_equal(items[199].series, 399);
	assert_true(request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, items, &n));
	assert_int_equal(n, 50);
	assert_false(request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, items, &n));
	keep[7] = keep[449] = true;
	at = 0;
	assert_true(request_next(&set, SERIES_OWN_PREFIX, keep, &at, &body, items, &n));
	assert_int_equal(n, 2);
	assert_int_equal(items[0].series, 7);
	assert_int_equal(items[1].series, 449);
	buffer_free(&body);
}

/* Each in one request, whole, and no request above the bound. */
static void test_requests_are_bounded_in_bytes(void **state)
{
	struct buffer body = {0};
	uint32_t at = 0, n, sum = 0, requests = 0;
	char job[SERIES_LABEL_MAX + 1];

	(void)state;
	for (int i = 0; i < 199; i++) {
		memset(job, '\1', sizeof(job)); /* six bytes each as JSON */
		snprintf(job, 12, "%d", i);
		job[strlen(job)] = '-';
		job[SERIES_LABEL_MAX] = '\0';
		add_steps(job, "0", i);
	}
	while (request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, NULL, &n)) {
		assert_true(body.len <= REQUEST_BYTES);
		assert_string_equal(body.data + body.len - 6, "}}]}]}");
		sum += n;
		requests++;
	}
	assert_int_equal(sum, 199);
	assert_true(requests > 1);
	buffer_free(&body);
}

static void test_a_set_is_bounded(void **state)
{
	(void)state;
	for (int i = 0; i < SERIES_SET_MAX; i++)
		assert_non_null(series_put(&set, &share, 0, NOON));
	assert_null(series_put(&set, &share, 0, NOON));
	assert_null(series_put(&set, &share, UINT32_MAX, NOON));
	assert_int_equal(set.unkept, 2);
}

static void test_a_descriptor_says_all(void **state)
{
	struct buffer out = {0}, path = {0};

	(void)state;
	request_descriptor(&out, &steps, SERIES_OWN_PREFIX, "demo");
	assert_string_equal(
		out.data,
		"{\"name\":\"projects/demo/metricDescriptors/custom.googleapis.com/gp_bpf/"
		"step_count\",\"type\":"
		"\"custom.googleapis.com/gp_bpf/"
		"step_count\",\"labels\":[{\"key\":\"job_id\",\"valueType\":\"STRING\","
		"\"description\":\"Name of the "
		"job.\"},{\"key\":\"rank\",\"valueType\":\"INT64\",\"description\":"
		"\"Rank in the job.\"}],\"metricKind\":\"CUMULATIVE\",\"valueType\":\"INT64\",\"unit\":\"1\","
		"\"description\":\"Training steps observed.\",\"displayName\":\"Training steps\"}");
	request_path(&path, "demo");
	buffer_clear(&out);
	request_line(&out, path.data, &(struct buffer){.data = (char *)"{}", .len = 2});
	assert_string_equal(out.data, "{\"path\":\"/v3/projects/demo/timeSeries\",\"body\":{}}\n");
	buffer_free(&path);
	buffer_free(&out);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(integers_and_times_are_text),
		TEST(the_librarys_series_say_no_kind_and_no_start),
		TEST(a_distribution_has_its_buckets),
		TEST(what_cannot_be_written_is_not_fit),
		TEST(labels_are_bounded_and_utf8),
		TEST(a_key_is_type_labels_and_resource),
		TEST(requests_hold_200_and_what_is_asked_for),
		TEST(requests_are_bounded_in_bytes),
		TEST(a_set_is_bounded),
		TEST(a_descriptor_says_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
