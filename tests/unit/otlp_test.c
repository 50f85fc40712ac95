/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of OpenTelemetry: how values are written, who has which identifier, what a queue holds,
 * which steps are told, and what the environment may say. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "tests/unit/otlp_feed.h"
#include "userspace/base/log.h"
#include "userspace/export/otlp/otlp_config.h"
#include "userspace/export/otlp/otlp_text.h"

static char captured[4096];

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(captured + strlen(captured), sizeof(captured) - strlen(captured), "%s\n", text);
}

static int begin(void **state)
{
	static const char *const names[] = {"ENDPOINT",	   "TRACES_ENDPOINT", "METRICS_ENDPOINT",
					    "HEADERS",	   "TRACES_HEADERS",  "METRICS_HEADERS",
					    "TIMEOUT",	   "TRACES_TIMEOUT",  "METRICS_TIMEOUT",
					    "COMPRESSION", "PROTOCOL",	      "METRICS_PROTOCOL"};
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s", names[i]);
		unsetenv(name);
	}
	unsetenv("OTEL_RESOURCE_ATTRIBUTES");
	unsetenv("OTEL_SERVICE_NAME");
	captured[0] = '\0';
	log_sink(capture, NULL);
	return 0;
}

static int end(void **state)
{
	(void)state;
	log_sink(NULL, NULL);
	return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void values_are_those_of_the_json_form(void **state)
{
	static const char *const names[] = {"a", "b", "c"};
	static const uint64_t trace[2] = {0xab, 1};
	struct buffer b = {0};

	(void)state;
	otlp_text(&b, "text", "say \"hi\"\n");
	otlp_text(&b, "none", "");
	otlp_text(&b, "none", NULL);
	otlp_int(&b, "least", INT64_MIN);
	otlp_real(&b, "real", 0.5);
	otlp_real(&b, "none", (double)INFINITY);
	otlp_bool(&b, "yes", true);
	otlp_bits(&b, "bits", 5, names, 3);
	otlp_bits(&b, "none", 0, names, 3);
	assert_string_equal(
		b.data,
		"{\"key\":\"text\",\"value\":{\"stringValue\":\"say \\\"hi\\\"\\u000a\"}},"
		"{\"key\":\"least\",\"value\":{\"intValue\":\"-9223372036854775808\"}},"
		"{\"key\":\"real\",\"value\":{\"doubleValue\":0.5}},"
		"{\"key\":\"yes\",\"value\":{\"boolValue\":true}},"
		"{\"key\":\"bits\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"a\"},"
		"{\"stringValue\":\"c\"}]}}}");
	buffer_clear(&b);
	otlp_uint64(&b, "most", UINT64_MAX);
	otlp_trace_id(&b, "trace", trace);
	otlp_span_id(&b, "span", 0xfeedull);
	assert_string_equal(b.data, "\"most\":\"18446744073709551615\","
				    "\"trace\":\"00000000000000ab0000000000000001\","
				    "\"span\":\"000000000000feed\"");
	buffer_free(&b);
}

/* ---- the queue ------------------------------------------------------------------------------- */

static void a_queue_holds_the_newest(void **state)
{
	struct otlp_queue *q = otlp_queue_new(4, 10);
	struct otlp_queue_view look;
	struct buffer b = {0};

	(void)state;
	for (int i = 0; i < 7; i++)
		otlp_queue_put(q, &"abcdefg"[i], 1);
	otlp_queue_view(q, &look);
	assert_int_equal(look.spans, 4);
	assert_int_equal(look.dropped, 3);
	otlp_queue_put(q, "0123456789x", 11); /* longer than all of it */
	otlp_queue_put(q, "12345678", 8);     /* two give way to its bytes */
	otlp_queue_view(q, &look);
	assert_int_equal(look.spans, 3);
	assert_int_equal(look.bytes, 10);
	assert_int_equal(look.dropped, 6);
	assert_int_equal(otlp_queue_take(q, 2, 100, &b), 2);
	assert_string_equal(b.data, "f,g");
	buffer_clear(&b);
	assert_int_equal(otlp_queue_take(q, 2, 1, &b), 1); /* one at least */
	assert_string_equal(b.data, "12345678");
	assert_int_equal(otlp_queue_take(q, 2, 1, &b), 0);
	buffer_free(&b);
	otlp_queue_put(q, "left", 4);
	otlp_queue_free(q);
}

/* ---- spans ----------------------------------------------------------------------------------- */

static void of_many_steps_the_odd_ones_are_told(void **state)
{
	static const char *const told[] = {"1", "11", "17", "20", "30"};
	struct otlp_tree *t = tree(10);
	cJSON *all;

	(void)state;
	for (uint64_t i = 1; i <= 30; i++)
		step(t, i, i * S, i == 17 ? 151 * MS : 100 * MS, i == 20 ? STEP_tainted : 0);
	step(t, 31, 31 * S, 100 * MS, STEP_ambiguous);
	all = taken();
	for (int i = 0; i < 5; i++)
		assert_string_equal(
			attribute(find(all, "training_single_iteration", i), "current_iteration"),
			told[i]);
	assert_null(find(all, "training_single_iteration", 5));
	assert_string_equal(
		attribute(find(all, "training_single_iteration", 1), "gpbpf.left_out_before"), "9");
	assert_non_null(attribute(find(all, "training_single_iteration", 2), "gpbpf.slow"));
	drop(t, all);
}

/* A successor that has seen nothing of the beginning has the same trace, loop and root. */
static void who_goes_on_goes_on_with_the_trace(void **state)
{
	char trace[40], parent[20], id[20];
	struct otlp_tree *t = tree(1);
	const cJSON *s;
	cJSON *all;

	(void)state;
	step(t, 1, 2 * S, S, 0);
	all = taken();
	s = find(all, "training_single_iteration", 0);
	snprintf(trace, sizeof(trace), "%s", field(s, "traceId"));
	snprintf(parent, sizeof(parent), "%s", field(s, "parentSpanId"));
	snprintf(id, sizeof(id), "%s", field(s, "spanId"));
	assert_int_equal(strlen(trace), 32);
	assert_int_equal(strlen(parent), 16);
	drop(t, all);
	t = tree(1);
	step(t, 2, 3 * S, S, 0);
	over(t, 5 * S);
	all = taken();
	s = find(all, "application", 0);
	assert_string_equal(field(find(all, "training_loop", 0), "spanId"), parent);
	assert_string_equal(field(s, "traceId"), trace);
	assert_string_not_equal(field(find(all, "training_single_iteration", 0), "spanId"), id);
	assert_null(field(s, "parentSpanId"));
	assert_string_equal(field(s, "startTimeUnixNano"), "1700000001000000000");
	assert_string_equal(field(s, "endTimeUnixNano"), "1700000005000000000");
	assert_string_equal(attribute(s, "rank"), "3");
	drop(t, all);
}

static void what_goes_on_at_the_end_says_so(void **state)
{
	struct otlp_tree *t = tree(1);
	cJSON *all;

	(void)state;
	step(t, 1, 2 * S, S, 0);
	over(t, 5 * S);
	all = taken();
	assert_non_null(attribute(find(all, "application", 0), "gpbpf.unfinished"));
	assert_non_null(attribute(find(all, "training_loop", 0), "gpbpf.unfinished"));
	drop(t, all);
	t = tree(1);
	step(t, 1, 2 * S, S, 0);
	life.alive = false;
	life.status = 9; /* killed */
	over(t, 5 * S);
	all = taken();
	assert_null(attribute(find(all, "application", 0), "gpbpf.unfinished"));
	assert_string_equal(
		field(cJSON_GetObjectItem(find(all, "application", 0), "status"), "message"),
		"ended by signal 9");
	drop(t, all);
}

static void slowdowns_are_events(void **state)
{
	struct otlp_tree *t = tree(1);
	struct time_causes causes = {
		.lost_ns = 10 * MS,
		.ns = {[TIME_CAUSE_disk] = 8 * MS, [TIME_CAUSE_unknown] = 2 * MS}};
	struct fact_health health = {.kind = "fail_slow",
				     .why = "disk",
				     .evidence = "steps take 20 ms instead of 10 ms",
				     .onset_ns = 3 * S,
				     .ratio = 2,
				     .causes = &causes};
	struct fact f = fact_of(FACT_HEALTH, 4 * S);
	const cJSON *event;
	cJSON *all;

	(void)state;
	f.health = &health;
	step(t, 1, 2 * S, S, 0);
	otlp_tree_fact(t, &f);
	over(t, 5 * S);
	all = taken();
	event = find(cJSON_GetObjectItem(find(all, "application", 0), "events"), "gpbpf.slowdown",
		     0);
	assert_non_null(event);
	assert_string_equal(attribute(event, "gpbpf.why"), "disk");
	assert_non_null(attribute(event, "gpbpf.cause.disk"));
	assert_null(attribute(event, "gpbpf.cause.network"));
	assert_string_equal(field(event, "timeUnixNano"), "1700000003000000000");
	drop(t, all);
}

/* A save between steps lies in the loop; one before the first step, or behind the last, in the
 * application. */
static void parents_hold_their_children(void **state)
{
	struct fact_checkpoint c = {
		.closed = true, .start_ns = 2 * S, .end_ns = 3 * S, .file = "/srv/a.pt"};
	struct fact f = fact_of(FACT_CHECKPOINT, 3 * S);
	struct otlp_tree *t = tree(1);
	const char *root, *loop;
	cJSON *all;

	(void)state;
	f.checkpoint = &c;
	otlp_tree_fact(t, &f);
	step(t, 1, 4 * S, S, 0);
	c.start_ns = 5 * S;
	c.end_ns = f.mono_ns = 6 * S;
	otlp_tree_fact(t, &f);
	step(t, 2, 6 * S, S, 0);
	c.start_ns = 7 * S;
	c.end_ns = f.mono_ns = 8 * S;
	otlp_tree_fact(t, &f);
	over(t, 9 * S);
	all = taken();
	root = field(find(all, "application", 0), "spanId");
	loop = field(find(all, "training_loop", 0), "spanId");
	assert_string_equal(field(find(all, "checkpoint_save_sync", 0), "parentSpanId"), root);
	assert_string_equal(field(find(all, "checkpoint_save_sync", 1), "parentSpanId"), loop);
	assert_string_equal(field(find(all, "checkpoint_save_sync", 2), "parentSpanId"), root);
	assert_string_equal(field(find(all, "training_loop", 0), "parentSpanId"), root);
	drop(t, all);
}

/* However long a loop is, it has OTLP_EVENTS averages at most, and they hold all of its steps. */
static void averages_are_bounded(void **state)
{
	struct otlp_tree *t = tree(2);
	int64_t sum = 0;
	const cJSON *e;
	int count = 0;
	cJSON *all;

	(void)state;
	for (uint64_t i = 1; i <= 1000; i++)
		step(t, i, i * S, S, 0);
	over(t, 2000 * S);
	all = taken();
	cJSON_ArrayForEach(e, cJSON_GetObjectItem(find(all, "training_loop", 0), "events"))
	{
		if (strcmp(field(e, "name"), "training_metrics_update") != 0)
			continue;
		sum += strtoll(attribute(e, "num_iterations"), NULL, 10);
		count++;
	}
	assert_int_equal(sum, 1000);
	assert_in_range(count, OTLP_EVENTS / 2, OTLP_EVENTS);
	drop(t, all);
}

/* What a predecessor has told counts, and is not sent again. */
static void what_was_told_is_not_sent_again(void **state)
{
	struct otlp_tree *t = tree(1);
	struct fact f = step_of(1, 2 * S, S, 0);
	cJSON *all;

	(void)state;
	f.repeated = true;
	otlp_tree_fact(t, &f);
	step(t, 2, 3 * S, S, 0);
	over(t, 5 * S);
	all = taken();
	assert_null(find(all, "training_single_iteration", 1));
	assert_string_equal(attribute(find(all, "training_loop", 0), "gpbpf.steps"), "2");
	drop(t, all);
}

/* ---- the environment ------------------------------------------------------------------------- */

static void the_environment_counts_as_it_is_specified(void **state)
{
	struct otlp_config c;

	(void)state;
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1/base/", 1);
	setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:2/mine", 1);
	setenv("OTEL_EXPORTER_OTLP_HEADERS", " a=1 , b=x%2Cy%20z,", 1);
	setenv("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "c=3", 1);
	setenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "250", 1);
	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", 1);
	setenv("OTEL_RESOURCE_ATTRIBUTES", "zone=a%3Db,service.name=theirs", 1);
	assert_int_equal(otlp_config_read(&c, ",sample=7"), 0);
	assert_string_equal(c.endpoint[OTLP_TRACES].url, "http://127.0.0.1:2/mine");
	assert_string_equal(c.endpoint[OTLP_METRICS].url, "http://127.0.0.1:1/base/v1/metrics");
	assert_string_equal(c.endpoint[OTLP_TRACES].headers[1], "a: 1");
	assert_string_equal(c.endpoint[OTLP_TRACES].headers[2], "b: x,y z");
	assert_null(c.endpoint[OTLP_TRACES].headers[3]);
	assert_string_equal(c.endpoint[OTLP_METRICS].headers[1], "c: 3");
	assert_int_equal(c.endpoint[OTLP_TRACES].timeout_ms, 250);
	assert_int_equal(c.endpoint[OTLP_METRICS].timeout_ms, 10000);
	assert_non_null(strstr(captured, "OTEL_EXPORTER_OTLP_TIMEOUT is ignored"));
	assert_int_equal(c.sample, 7);
	assert_string_equal(c.attributes[0].value, "theirs");
	assert_string_equal(c.attributes[c.nattributes - 1].value, "a=b");
	otlp_config_free(&c);
	setenv("OTEL_SERVICE_NAME", "mine", 1);
	setenv("OTEL_RESOURCE_ATTRIBUTES", "zone=a,broken", 1); /* none of them counts */
	unsetenv("OTEL_EXPORTER_OTLP_TIMEOUT");
	assert_int_equal(otlp_config_read(&c, "https://host:9/x,interval=3s,compression=gzip"), 0);
	assert_string_equal(c.endpoint[OTLP_TRACES].url, "https://host:9/x/v1/traces");
	assert_string_equal(c.attributes[0].value, "mine");
	assert_true(c.nattributes <= 2);
	assert_true(c.endpoint[OTLP_TRACES].gzip);
	assert_int_equal(c.interval_ns, 3 * S);
	otlp_config_free(&c);
}

static void another_form_is_told_once(void **state)
{
	static const char *const forms[] = {"http/json", "http/protobuf", "grpc"};
	struct otlp_config c;

	(void)state;
	for (int i = 0; i < 3; i++) {
		captured[0] = '\0';
		setenv("OTEL_EXPORTER_OTLP_PROTOCOL", forms[i], 1);
		assert_int_equal(otlp_config_read(&c, ""), 0);
		otlp_config_free(&c);
		assert_int_equal(!i, !strstr(captured, forms[i]));
		assert_true(!i || !strchr(captured, '\n')[1]); /* one line for both signals */
	}
}

static void secrets_are_never_told(void **state)
{
	static const char *const bad[] = {"s3cr3t", "a=s3cr3t%0d%0ax: y", "a b=s3cr3t",
					  "a=1,=s3cr3t", "a=s3cr3t%00"};
	struct otlp_config c;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		captured[0] = '\0';
		setenv("OTEL_EXPORTER_OTLP_HEADERS", bad[i], 1);
		assert_int_equal(otlp_config_read(&c, NULL), -EINVAL);
		otlp_config_free(&c);
		assert_non_null(strstr(captured, "OTEL_EXPORTER_OTLP_HEADERS"));
		assert_null(strstr(captured, "s3cr3t"));
	}
	captured[0] = '\0';
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "a=s3cr3t", 1);
	assert_int_equal(otlp_config_read(&c, "http://example.com"), 0);
	otlp_config_free(&c);
	assert_non_null(strstr(captured, "unencrypted"));
	assert_int_equal(otlp_config_read(&c, "https://me:s3cr3t@host"), -EINVAL);
	otlp_config_free(&c);
	assert_null(strstr(captured, "s3cr3t"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_those_of_the_json_form),
		cmocka_unit_test(a_queue_holds_the_newest),
		cmocka_unit_test(of_many_steps_the_odd_ones_are_told),
		cmocka_unit_test(who_goes_on_goes_on_with_the_trace),
		cmocka_unit_test(what_goes_on_at_the_end_says_so),
		cmocka_unit_test(slowdowns_are_events),
		cmocka_unit_test(parents_hold_their_children),
		cmocka_unit_test(averages_are_bounded),
		cmocka_unit_test(what_was_told_is_not_sent_again),
		cmocka_unit_test_setup_teardown(the_environment_counts_as_it_is_specified, begin,
						end),
		cmocka_unit_test_setup_teardown(another_form_is_told_once, begin, end),
		cmocka_unit_test_setup_teardown(secrets_are_never_told, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
