/* SPDX-License-Identifier: Apache-2.0 */
/* What each answer of the service means for each point: the table of replies, and every form in
 * which a failure names its points. */
#include "tests/unit/gcm_fake.h"
#include "userspace/export/gcm/answer.h"

#define ORDER                                                                                              \
	"Points must be written in order. One or more of the points specified had an older end time than " \
	"the "                                                                                             \
	"most recent point."
#define OFTEN                                                                                              \
	"One or more points were written more frequently than the maximum sampling period configured for " \
	"the "                                                                                             \
	"metric."
#define SUMMARY "{\"@type\":\"type.googleapis.com/google.monitoring.v3.CreateTimeSeriesSummary\","
#define ERROR(message, details)                                                                    \
	"{\"error\":{\"code\":1,\"message\":\"" message "\",\"details\":[" details "]}}"

/* fates: a letter for each point. w written, g again for unavailability, q again for quota, a
 * alone; dropped: o older, f frequent, d aged, i invalid, x denied, m missing, Q quota, B
 * garbage. */
static const struct row {
	long status;
	const char *body, *fates;
	enum answer_kind kind;
	int64_t retry_ms;
	uint32_t blind[2]; /* older, invalid */
} rows[] = {
	{200, "{}", "www", ANSWER_TAKEN, -1, {0}},
	{200, "{}\n", "w", ANSWER_TAKEN, -1, {0}},
	{200, "", "BB", ANSWER_GARBAGE, -1, {0}},
	{200, "<html>", "BB", ANSWER_GARBAGE, -1, {0}},
	{200, "{} {", "BB", ANSWER_GARBAGE, -1, {0}},
	{200, "[1]", "B", ANSWER_GARBAGE, -1, {0}},
	{302, "", "gg", ANSWER_AWAY, -1, {0}},
	{400, "", "hh", ANSWER_REFUSED, -1, {0}},
	{401,
	 "{\"error\":{\"code\":401,\"status\":\"UNAUTHENTICATED\"}}",
	 "xx",
	 ANSWER_TOKEN,
	 -1,
	 {0}},
	{403, "<html>no</html>", "xx", ANSWER_REFUSED, -1, {0}},
	{404, ERROR("no such project", ""), "m", ANSWER_REFUSED, -1, {0}},
	{408, "", "g", ANSWER_AWAY, -1, {0}},
	{429, "", "qq", ANSWER_QUOTA, -1, {0}},
	{429,
	 ERROR("slow",
	       "{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"7.5s\"}"),
	 "q",
	 ANSWER_QUOTA,
	 7500,
	 {0}},
	{429,
	 ERROR("slow",
	       "{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"1e99s\"}"),
	 "q",
	 ANSWER_QUOTA,
	 86400000,
	 {0}},
	{500, "boom", "gg", ANSWER_AWAY, -1, {0}},
	{500,
	 ERROR("An internal error occurred.: timeSeries[0]", ""),
	 "gw",
	 ANSWER_PARTIAL,
	 -1,
	 {0}},
	{501, "", "i", ANSWER_REFUSED, -1, {0}},
	{503, "", "g", ANSWER_AWAY, -1, {0}},
	{504, "", "g", ANSWER_AWAY, -1, {0}},
	{400, ERROR(ORDER, ""), "oo", ANSWER_REFUSED, -1, {0}},
	{400, ERROR(OFTEN, ""), "f", ANSWER_REFUSED, -1, {0}},
	{400,
	 ERROR("One or more TimeSeries could not be written: " OFTEN ": timeSeries[1]", ""),
	 "wfw",
	 ANSWER_PARTIAL,
	 -1,
	 {0}},
	{400,
	 ERROR("One or more TimeSeries could not be written: " OFTEN ": timeSeries[0]; " ORDER
	       ": timeSeries[2-3,5]; Unknown metric: timeSeries[4]",
	       ""),
	 "fwooio",
	 ANSWER_PARTIAL,
	 -1,
	 {0}},
	{400,
	 ERROR("Field timeSeries[1].points[0].interval.start_time had an invalid value of \\\"x\\\": The start "
	       "time must be before the end time",
	       ""),
	 "aia",
	 ANSWER_REFUSED,
	 -1,
	 {0}},
	{400,
	 ERROR("Field timeSeries[0].points[0].interval.end_time had an invalid value of \\\"x\\\": Data points "
	       "cannot be written more than 24h in the past.",
	       ""),
	 "da",
	 ANSWER_REFUSED,
	 -1,
	 {0}},
	{400,
	 ERROR("One or more TimeSeries could not be written: Field "
	       "timeSeries[1].points[0].interval.start_time had an invalid value",
	       ""),
	 "wiw",
	 ANSWER_PARTIAL,
	 -1,
	 {0}},
	{400,
	 ERROR("Field timeSeries had an invalid value: A maximum of 200 TimeSeries can be written in a single request.",
	       ""),
	 "hhh",
	 ANSWER_REFUSED,
	 -1,
	 {0}},
	{400,
	 ERROR("Invalid JSON payload received. Unknown name \\\"x\\\" at 'time_series[2]': Cannot find field.",
	       ""),
	 "aai",
	 ANSWER_REFUSED,
	 -1,
	 {0}},
	{400,
	 ERROR("The new labels would cause the metric to have over 10 labels.: timeSeries[0]", ""),
	 "iw",
	 ANSWER_PARTIAL,
	 -1,
	 {0}},
	{429,
	 ERROR("timeSeries[0-1]: write for resource=k8s_cluster{a,b} failed with: Monitored resource has too many "
	       "time series (custom metrics).",
	       ""),
	 "QQw",
	 ANSWER_PARTIAL,
	 -1,
	 {0}},
	/* by the summary alone */
	{400,
	 ERROR("One or more TimeSeries could not be written",
	       SUMMARY "\"totalPointCount\":4,\"successPointCount\":"
		       "1,\"errors\":[{\"status\":{\"code\":9,\"message\":\"" ORDER
		       "\"},\"pointCount\":2}]}"),
	 "wwww",
	 ANSWER_PARTIAL,
	 -1,
	 {2, 1}},
	{400,
	 ERROR("no", SUMMARY
	       "\"totalPointCount\":2,\"errors\":[{\"status\":{\"code\":9,\"message\":\"" ORDER
	       "\"},\"pointCount\":2}]}"),
	 "oo",
	 ANSWER_REFUSED,
	 -1,
	 {0}},
	{400,
	 ERROR("no", SUMMARY
	       "\"totalPointCount\":\"3\",\"successPointCount\":\"2\",\"errors\":[{\"status\":{"
	       "\"code\":14},\"pointCount\":1}]}"),
	 "ggg",
	 ANSWER_REFUSED,
	 -1,
	 {0}},
	{400,
	 ERROR("One or more TimeSeries could not be written: " ORDER ": timeSeries[0]", SUMMARY
	       "\"totalPointCount\":3,\"successPointCount\":1,\"errors\":[{\"status\":{\"code\":9,\"message\":\"" ORDER
	       "\"},\"pointCount\":1},{\"status\":{\"code\":3},\"pointCount\":1}]}"),
	 "oww",
	 ANSWER_PARTIAL,
	 -1,
	 {0, 1}},
	{400,
	 ERROR("One or more TimeSeries could not be written", SUMMARY
	       "\"totalPointCount\":3,\"successPointCount\":"
	       "2,\"errors\":[{\"status\":{\"code\":8,\"message\":\"x: timeSeries[1]\"},\"pointCount\":1}]}"),
	 "wqw",
	 ANSWER_PARTIAL,
	 -1,
	 {0}},
	/* not of this request */
	{400,
	 ERROR("x", SUMMARY "\"totalPointCount\":9,\"successPointCount\":9}"),
	 "hh",
	 ANSWER_REFUSED,
	 -1,
	 {0}},
	{400,
	 ERROR("x", SUMMARY "\"totalPointCount\":2,\"successPointCount\":-1}"),
	 "hh",
	 ANSWER_REFUSED,
	 -1,
	 {0}},
	/* nonsense in names */
	{400,
	 ERROR("could not be written: timeSeries[7] timeSeries[] timeSeries[1", ""),
	 "hh",
	 ANSWER_REFUSED,
	 -1,
	 {0}},
	{400, ERROR("x: timeSeries[0-18446744073709551615999]", ""), "ii", ANSWER_REFUSED, -1, {0}},
	{400, ERROR("x: timeSeries[5-2]", ""), "hh", ANSWER_REFUSED, -1, {0}},
};

static char letter(enum fate fate, enum sender_drop cause)
{
	static const char dropped[SENDER_DROP_COUNT + 1] = "of-d-ixmQgB--";

	if (fate == FATE_WRITTEN)
		return 'w';
	if (fate == FATE_AGAIN)
		return cause == SENDER_DROP_quota ? 'q' : 'g';
	if (fate == FATE_HALF)
		return 'h';
	return fate == FATE_ALONE ? 'a' : dropped[cause];
}

static void each_reply_has_its_verdict(void **state)
{
	char fates[16] = "";
	struct answer a;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct web_reply reply = {.status = rows[i].status, .retry_after_ms = -1};
		size_t n = strlen(rows[i].fates);

		buffer_printf(&reply.body, "%s", rows[i].body);
		answer_read(&a, 0, &reply, (uint32_t)n);
		for (size_t k = 0; k < n; k++)
			fates[k] = letter(a.fate[k], a.cause[k]);
		fates[n] = '\0';
		if (strcmp(fates, rows[i].fates) || a.kind != rows[i].kind ||
		    a.retry_ms != rows[i].retry_ms ||
		    a.blind[SENDER_DROP_older] != rows[i].blind[0] ||
		    a.blind[SENDER_DROP_invalid] != rows[i].blind[1])
			fail_msg("row %zu, %ld %s: %s kind %d retry %ld blind %u %u", i,
				 rows[i].status, rows[i].body, fates, a.kind, (long)a.retry_ms,
				 a.blind[SENDER_DROP_older], a.blind[SENDER_DROP_invalid]);
		web_reply_free(&reply);
	}
}

static void a_failed_connection_is_tried_again(void **state)
{
	struct web_reply reply = {.failure = WEB_CONNECT, .retry_after_ms = -1};
	struct answer a;

	(void)state;
	snprintf(reply.why, sizeof(reply.why), "no\033way");
	answer_read(&a, -EIO, &reply, 2);
	assert_int_equal(a.kind, ANSWER_AWAY);
	assert_false(a.maybe);
	assert_int_equal(a.fate[1], FATE_AGAIN);
	assert_string_equal(a.why, "no?way");
	reply.failure = WEB_TIMEOUT;
	reply.sent = true;
	answer_read(&a, -EIO, &reply, 2);
	assert_true(a.maybe);
	reply.failure = WEB_CANCELLED;
	answer_read(&a, -EIO, &reply, 2);
	assert_int_equal(a.kind, ANSWER_CANCELLED);
}

static void retry_after_wins_over_nothing(void **state)
{
	struct web_reply reply = {.status = 429, .retry_after_ms = 3000};
	struct answer a;

	(void)state;
	answer_read(&a, 0, &reply, 1);
	assert_int_equal(a.retry_ms, 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reply_has_its_verdict),
		cmocka_unit_test(a_failed_connection_is_tried_again),
		cmocka_unit_test(retry_after_wins_over_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
