/* SPDX-License-Identifier: Apache-2.0 */
/* gcm_fake.h - a service of our own for the sender's tests, with its own time: it holds series to
 * the rules of intervals, order and spacing, and fails as it is told to. */
#ifndef TESTS_UNIT_GCM_FAKE_H
#define TESTS_UNIT_GCM_FAKE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <cjson/cJSON.h>
#include <time.h>
#include <unistd.h>

#include "userspace/base/hash.h"
#include "userspace/base/log.h"
#include "userspace/export/gcm/sender_private.h"

#define FAKE_EPOCH_NS (1800000000 * NS_PER_S)
#define FAKE_LOG      4096

struct fake_series {
	int64_t start_ns, end_ns;
	double value;
	uint64_t points, resets;
};

struct fake_answer { /* what the next requests get instead of a verdict */
	enum web_failure failure;
	long status;
	const char *body;
	int64_t retry_ms;
	bool store; /* all the same */
	int times;
};

struct fake {
	struct sender_env env;
	struct sender_options opt;
	struct sender *s;
	uint64_t ms; /* since it began */
	struct fake_answer next;
	long descriptor_status; /* 0: 200 */
	const char
		*poison[3]; /* a request with one of these is refused, and nobody says for what */
	int token_err;
	uint64_t token_ms; /* that asking for one takes */
	unsigned requests, descriptors, refused_tokens, tokens;
	uint64_t at_ms[FAKE_LOG]; /* of requests with series */
	unsigned series[FAKE_LOG];
	struct table *known;	 /* struct fake_series by what it is */
	uint64_t written, wrong; /* points; wrong: refused by the rules */
	bool lenient;		 /* about wrong ones */
	char why[256];		 /* of the last wrong one */
	char warned[8][512];
	unsigned warnings;
};

static inline int64_t fake_time(const char *text)
{
	struct tm tm = {0};
	int ns = 0;

	assert_int_equal(sscanf(text, "%d-%d-%dT%d:%d:%d.%9dZ", &tm.tm_year, &tm.tm_mon,
				&tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ns),
			 7);
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return (int64_t)timegm(&tm) * NS_PER_S + ns;
}

static inline int64_t fake_now_ns(const struct fake *f)
{
	return FAKE_EPOCH_NS + (int64_t)f->ms * NS_PER_MS;
}

static inline double fake_value(const cJSON *point)
{
	const cJSON *v = cJSON_GetObjectItem(point, "value")->child;

	if (cJSON_IsObject(v))
		v = cJSON_GetObjectItem(v, "count");
	return cJSON_IsString(v) ? strtod(v->valuestring, NULL) : v->valuedouble;
}

/* NULL: taken; else what the service says. */
static inline const char *fake_judge(const struct fake *f, struct fake_series *k, int64_t start_ns,
				     int64_t end_ns, double value, bool cumulative)
{
	if (end_ns > fake_now_ns(f) + 300 * NS_PER_S)
		return "Field end_time is in the future";
	if (end_ns < fake_now_ns(f) - 25 * 3600 * NS_PER_S)
		return "Data points cannot be written more than 24h in the past.";
	if (!cumulative ? start_ns != 0 : start_ns >= end_ns)
		return "The start time must be before the end time";
	if (k->points && end_ns <= k->end_ns)
		return "Points must be written in order. One or more of the points specified had an older end "
		       "time than the most recent point.";
	if (k->points && end_ns < k->end_ns + 5 * NS_PER_S)
		return "One or more points were written more frequently than the maximum sampling period "
		       "configured for the metric.";
	if (cumulative && k->points && start_ns != k->start_ns && start_ns < k->end_ns + NS_PER_MS)
		return "Points must be written in order. One or more of the points specified had an older start "
		       "time than the most recent point.";
	if (cumulative && k->points && start_ns == k->start_ns && value < k->value)
		return "a cumulative value fell";
	return NULL;
}

static inline const char *fake_take(struct fake *f, const cJSON *series)
{
	const cJSON *point = cJSON_GetObjectItem(series, "points")->child;
	const cJSON *interval = cJSON_GetObjectItem(point, "interval");
	const cJSON *start = cJSON_GetObjectItem(interval, "startTime"),
		    *kind = cJSON_GetObjectItem(series, "metricKind");
	char *metric = cJSON_PrintUnformatted(cJSON_GetObjectItem(series, "metric"));
	uint64_t key = hash_bytes(HASH_START, metric, strlen(metric));
	struct fake_series *k = table_get(f->known, key);
	bool cumulative = kind && !strcmp(kind->valuestring, "CUMULATIVE");
	int64_t start_ns = start ? fake_time(start->valuestring) : 0;
	int64_t end_ns = fake_time(cJSON_GetObjectItem(interval, "endTime")->valuestring);
	const char *why;

	if (!k) {
		k = calloc(1, sizeof(*k));
		assert_int_equal(table_put(f->known, key, k), 0);
	}
	why = fake_judge(f, k, start_ns, end_ns, fake_value(point), cumulative);
	if (why) {
		snprintf(f->why, sizeof(f->why), "%s: %.150s", metric, why);
	} else {
		k->resets += k->points && cumulative && start_ns != k->start_ns;
		*k = (struct fake_series){start_ns, end_ns, fake_value(point), k->points + 1,
					  k->resets};
		f->written++;
	}
	free(metric);
	return why;
}

static inline void fake_summary(struct fake *f, struct web_reply *ret, unsigned total, unsigned bad,
				const struct buffer *texts)
{
	f->wrong += bad;
	ret->status = bad ? 400 : 200;
	if (!bad) {
		buffer_printf(&ret->body, "{}\n");
		return;
	}
	buffer_printf(
		&ret->body,
		"{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\"message\":\"One or more TimeSeries "
		"could not be written: %s\",\"details\":[{\"@type\":\"type.googleapis.com/"
		"google.monitoring.v3.CreateTimeSeriesSummary\",\"totalPointCount\":%u,"
		"\"successPointCount\":%u}]}}",
		texts->data, total, total - bad);
}

static inline void fake_series(struct fake *f, const struct web_request *rq, struct web_reply *ret)
{
	cJSON *root = cJSON_ParseWithLength(rq->body, rq->len),
	      *list = cJSON_GetObjectItem(root, "timeSeries"), *e;
	struct buffer texts = {0};
	unsigned n = 0, bad = 0;
	const char *why;

	assert_non_null(root);
	assert_true(rq->len <= REQUEST_BYTES);
	assert_in_range(cJSON_GetArraySize(list), 1, REQUEST_SERIES);
	cJSON_ArrayForEach(e, list)
	{
		why = fake_take(f, e);
		if (why)
			buffer_printf(&texts, "%s%s: timeSeries[%u]", bad++ ? "; " : "", why, n);
		n++;
	}
	fake_summary(f, ret, n, bad, &texts);
	buffer_free(&texts);
	cJSON_Delete(root);
}

static inline int fake_send(void *ctx, const struct web_request *rq, struct web_reply *ret)
{
	struct fake *f = ctx;
	cJSON *root;

	web_reply_free(ret);
	*ret = (struct web_reply){.retry_after_ms = -1, .sent = true};
	f->ms += 20;
	if (strstr(rq->url, "/metricDescriptors")) {
		f->descriptors++;
		ret->status = f->descriptor_status ? f->descriptor_status : 200;
		buffer_printf(&ret->body, "{}");
		ret->failure = f->next.times && f->next.failure ? f->next.failure : WEB_NONE;
		return ret->failure ? -EIO : 0;
	}
	assert_non_null(strstr(rq->url, "/v3/projects/proj/timeSeries"));
	root = cJSON_ParseWithLength(rq->body, rq->len);
	f->at_ms[f->requests % FAKE_LOG] = f->ms;
	f->series[f->requests++ % FAKE_LOG] = (unsigned)cJSON_GetArraySize(
		cJSON_GetObjectItem(root, "timeSeries"));
	cJSON_Delete(root);
	for (int i = 0; i < 3 && f->poison[i]; i++) {
		if (!strstr(rq->body, f->poison[i]))
			continue;
		ret->status = 400;
		buffer_printf(&ret->body,
			      "{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\","
			      "\"message\":\"Request contains an invalid argument.\"}}");
		return 0;
	}
	if (!f->next.times) {
		fake_series(f, rq, ret);
		return 0;
	}
	f->next.times--;
	if (f->next.store)
		fake_series(f, rq, ret);
	buffer_clear(&ret->body);
	buffer_printf(&ret->body, "%s", f->next.body ? f->next.body : "");
	ret->status = f->next.status;
	ret->retry_after_ms = f->next.retry_ms ? f->next.retry_ms : -1;
	ret->failure = f->next.failure;
	if (f->next.failure)
		snprintf(ret->why, sizeof(ret->why), "it failed");
	return f->next.failure ? -EIO : 0;
}

static inline int fake_token(void *ctx, struct buffer *ret, char *why, size_t len)
{
	struct fake *f = ctx;

	f->tokens++;
	f->ms += f->token_ms;
	if (f->token_err)
		snprintf(why, len, "no credentials");
	buffer_printf(ret, "Authorization: Bearer x");
	return f->token_err;
}

static inline void fake_refused(void *ctx)
{
	((struct fake *)ctx)->refused_tokens++;
}

static inline const char *fake_quota(void *ctx)
{
	(void)ctx;
	return "";
}

static inline uint64_t fake_mono_ms(void *ctx)
{
	return ((struct fake *)ctx)->ms + 1000;
}

static inline int64_t fake_real_ns(void *ctx)
{
	return fake_now_ns(ctx);
}

static inline void fake_sleep_ms(void *ctx, uint64_t ms)
{
	((struct fake *)ctx)->ms += ms;
}

static inline double fake_random(void *ctx)
{
	static uint32_t x = 1;

	(void)ctx;
	x = x * 1664525 + 1013904223;
	return (double)x / 4294967296.0;
}

static inline void fake_log(void *ctx, enum log_level level, const char *line)
{
	struct fake *f = ctx;

	if (level <= LOG_WARN)
		snprintf(f->warned[f->warnings++ % 8], sizeof(f->warned[0]), "%s", line);
}

static inline void fake_begin(struct fake *f, const char *disk_queue)
{
	*f = (struct fake){.env = {f, fake_send, fake_token, fake_refused, fake_quota, fake_mono_ms,
				   fake_real_ns, fake_sleep_ms, fake_random}};
	f->known = table_new();
	f->opt = (struct sender_options){.project = "proj", .disk_queue = disk_queue};
	log_sink(fake_log, f);
	assert_int_equal(sender_open_with(&f->s, &f->opt, &f->env), 0);
}

static inline void fake_end(struct fake *f)
{
	sender_close(f->s);
	log_sink(NULL, NULL);
	table_free(f->known, free);
}

__attribute__((unused)) static const struct series_row fake_steps = {
	.name = "step_count",
	.kind = SERIES_CUMULATIVE,
	.value = SERIES_INT64,
	.unit = "1",
	.title = "Steps",
	.help = "steps",
	.label = {{"job_id", "job", false}}};
__attribute__((unused)) static const struct series_row fake_speed = {
	.name = "speed",
	.kind = SERIES_GAUGE,
	.value = SERIES_DOUBLE,
	.unit = "s",
	.title = "Speed",
	.help = "speed",
	.label = {{"job_id", "job", false}}};
__attribute__((unused)) static const struct series_row fake_library = {.name = "goodput_time",
								       .kind = SERIES_GAUGE,
								       .value = SERIES_DOUBLE,
								       .unit = "",
								       .library = true};

/* Of n jobs: steps (cumulative, from start_ns) and, where there is one, the speed. */
static inline void fake_set(struct series_set *set, unsigned n, int64_t start_ns, int64_t end_ns,
			    int64_t steps, bool speed)
{
	static const char *const names[] = {"project_id", "instance_id", NULL};
	static const char *const values[] = {"proj", "1"};
	struct series *p;
	uint32_t resource;
	char job[16];

	series_set_init(set);
	resource = series_resource(set, "gce_instance", names, values);
	for (unsigned i = 0; i < n * (1u + speed); i++) {
		p = series_put(set, i < n ? &fake_steps : &fake_speed, resource, end_ns);
		assert_non_null(p);
		if (i < n) {
			p->start_ns = start_ns;
			p->value.i64 = steps;
		} else {
			p->value.real = 0.5;
		}
		snprintf(job, sizeof(job), "job%u", i % n);
		series_label(set, "job_id", job);
	}
}

/* A tick: what there is now is sent. */
static inline void fake_tick(struct fake *f, unsigned n, int64_t steps, bool speed, bool last)
{
	struct series_set set;

	fake_set(&set, n, FAKE_EPOCH_NS - NS_PER_S, fake_now_ns(f), steps, speed);
	sender_send(f->s, &set, fake_now_ns(f), fake_mono_ms(f) + 10000, last);
	series_set_free(&set);
}

static inline struct sender_stats fake_stats(const struct fake *f)
{
	struct sender_stats st;

	sender_stats(f->s, &st);
	return st;
}

#endif
