/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/otlp/otlp_send.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/export/otlp/otlp_text.h"

#define NS_PER_MS    1000000ull
#define LOG_AGAIN_MS 3600000 /* least time between two warnings about one signal, in ms */
#define REJECTED_MAX 1e15
#define GZIP_WINDOW  (15 + 16) /* zlib's windowBits: largest window (15), gzip header (16) */

static uint64_t otlp_send_now_ms(void)
{
	return clock_mono_ns() / NS_PER_MS;
}

#define TEXT_MAX 400

/* Keeps the error as s->trouble, and logs it at most once an hour. again: the request will be
 * retried. */
static void otlp_send_report(struct otlp_sender *s, enum otlp_signal signal, const char *what,
			     bool again)
{
	uint64_t now = otlp_send_now_ms();

	snprintf(s->trouble, sizeof(s->trouble), "%s: %.180s", otlp_signal_name[signal], what);
	if (s->signal[signal].logged_ms && now - s->signal[signal].logged_ms < LOG_AGAIN_MS)
		return;
	s->signal[signal].logged_ms = now;
	log_warn("--export otlp: %s: %s%s", otlp_signal_name[signal], what,
		 again ? "; will be retried" : "");
}

/* Returns how many bytes of the address may be logged: not its path, unless it is the default one,
 * because it may be a secret. */
static int otlp_send_shown_len(const struct otlp_endpoint *w, enum otlp_signal signal)
{
	size_t host = web_public_len(w->url), len = host;
	char usual[24];

	snprintf(usual, sizeof(usual), "/v1/%s", otlp_signal_name[signal]);
	if (!strcmp(w->url + host, usual))
		len = strlen(w->url);
	return len < 100 ? (int)len : 100;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Reads {"partialSuccess": {"rejectedSpans": "3", "errorMessage": "..."}}. Returns false if the
 * reply is not OTLP. */
static bool otlp_send_answer_read(const struct web_reply *r, enum otlp_signal signal,
				  uint64_t *ret_rejected, char why[120])
{
	static const char *const key[OTLP_SIGNALS] = {
		[OTLP_TRACES] = "rejectedSpans", [OTLP_METRICS] = "rejectedDataPoints"};
	const cJSON *part, *count, *message;
	cJSON *answer;
	double rejected = 0;
	bool object;

	*ret_rejected = 0;
	*why = '\0';
	if (!r->body.len)
		return true;
	answer = cJSON_ParseWithLength(r->body.data, r->body.len);
	part = cJSON_GetObjectItemCaseSensitive(answer, "partialSuccess");
	count = cJSON_GetObjectItemCaseSensitive(part, key[signal]);
	message = cJSON_GetObjectItemCaseSensitive(part, "errorMessage");
	if (cJSON_IsNumber(count))
		rejected = count->valuedouble;
	else if (cJSON_IsString(count))
		rejected = strtod(count->valuestring, NULL);
	if (rejected >= 1 && rejected <= REJECTED_MAX)
		*ret_rejected = (uint64_t)rejected;
	if (cJSON_IsString(message))
		log_escape(why, 120, message->valuestring, strlen(message->valuestring));
	object = cJSON_IsObject(answer);
	cJSON_Delete(answer);
	return object && !r->cut;
}

static bool otlp_send_may_retry(long status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

static void otlp_send_wait_longer(struct otlp_sender *s, enum otlp_signal signal,
				  int64_t retry_after_ms)
{
	static const struct backoff_rule rule = {
		.first_ns = 1000000000, .most_ns = 60000000000, .least_ns = 500000000};

	s->signal[signal].next_ms = (clock_mono_ns() + backoff_next(&s->signal[signal].backoff,
								    &rule, retry_after_ms,
								    backoff_random())) /
				    NS_PER_MS;
}

static enum otlp_fate otlp_send_accepted(struct otlp_sender *s, enum otlp_signal signal,
					 const struct web_reply *r, uint64_t *ret_rejected)
{
	char why[120], text[TEXT_MAX];

	s->signal[signal].backoff.failures = 0;
	s->signal[signal].next_ms = 0;
	if (!otlp_send_answer_read(r, signal, ret_rejected, why)) {
		snprintf(text, sizeof(text), "%.*s answered HTTP %ld with a body that is not OTLP",
			 otlp_send_shown_len(&s->endpoint[signal], signal), s->endpoint[signal].url,
			 r->status);
		otlp_send_report(s, signal, text, false);
		return OTLP_REFUSED;
	}
	s->signal[signal].up = true;
	if (*ret_rejected || *why) {
		snprintf(text, sizeof(text), "the server rejected %llu of the items: %.120s",
			 (unsigned long long)*ret_rejected, why);
		otlp_send_report(s, signal, text, false);
	} else {
		s->trouble[0] = '\0';
	}
	return OTLP_TAKEN;
}

static enum otlp_fate otlp_send_refused(struct otlp_sender *s, enum otlp_signal signal,
					const struct web_reply *r)
{
	int len = otlp_send_shown_len(&s->endpoint[signal], signal);
	char text[TEXT_MAX];

	s->signal[signal].backoff.failures = 0;
	if (r->status)
		snprintf(text, sizeof(text), "%.*s answered HTTP %ld%s", len,
			 s->endpoint[signal].url, r->status,
			 r->status == 401 || r->status == 403
				 ? ": set credentials in OTEL_EXPORTER_OTLP_HEADERS"
			 : r->status >= 300 && r->status < 400 ? ": redirects are not followed"
							       : "");
	else
		snprintf(text, sizeof(text), "%.*s: %s", len, s->endpoint[signal].url, r->why);
	otlp_send_report(s, signal, text, false);
	return OTLP_REFUSED;
}

static enum otlp_fate otlp_send_failed(struct otlp_sender *s, enum otlp_signal signal,
				       const struct web_reply *r)
{
	int len = otlp_send_shown_len(&s->endpoint[signal], signal);
	char text[TEXT_MAX];

	if (r->failure == WEB_CANCELLED)
		return OTLP_AGAIN;
	otlp_send_wait_longer(s, signal, r->status ? r->retry_after_ms : BACKOFF_UNASKED);
	/* If the status is not one of those to retry, the request failed because the body of the
	 * answer was incomplete. */
	if (otlp_send_may_retry(r->status))
		snprintf(text, sizeof(text), "%.*s answered HTTP %ld", len, s->endpoint[signal].url,
			 r->status);
	else
		snprintf(text, sizeof(text), "%.*s: %s", len, s->endpoint[signal].url, r->why);
	otlp_send_report(s, signal, text, true);
	return OTLP_AGAIN;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int otlp_send_gzip(struct buffer *out, const struct buffer *body)
{
	z_stream z = {.next_in = (Bytef *)body->data, .avail_in = (uInt)body->len};
	uLong room;
	int err;

	buffer_clear(out);
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	room = deflateBound(&z, (uLong)body->len);
	z.next_out = (Bytef *)buffer_reserve(out, room);
	z.avail_out = (uInt)room;
	err = z.next_out && deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -ENOMEM;
	if (!err)
		out->len += z.total_out;
	deflateEnd(&z);
	return err;
}

enum otlp_fate otlp_send(struct otlp_sender *s, enum otlp_signal signal, const struct buffer *body,
			 uint64_t deadline_ms, uint64_t *ret_rejected)
{
	const struct otlp_endpoint *w = &s->endpoint[signal];
	const char *headers[OTLP_HEADERS + 4];
	struct web_reply reply = {0};
	struct web_request rq = {.method = "POST", .url = w->url, .headers = headers};
	uint64_t now = otlp_send_now_ms(), left = deadline_ms > now ? deadline_ms - now : 1;
	enum otlp_fate fate;
	size_t n = 0;
	bool packed = w->gzip && !otlp_send_gzip(&s->packed, body);

	*ret_rejected = 0;
	for (; w->headers[n]; n++)
		headers[n] = w->headers[n];
	if (packed)
		headers[n++] = "Content-Encoding: gzip";
	headers[n] = NULL;
	rq.body = packed ? s->packed.data : body->data;
	rq.len = packed ? s->packed.len : body->len;
	rq.timeout_ms = w->timeout_ms < left ? w->timeout_ms : left;
	s->signal[signal].up = false;
	if (web_send(s->web, &rq, &reply))
		fate = reply.failure == WEB_OTHER ? otlp_send_refused(s, signal, &reply)
						  : otlp_send_failed(s, signal, &reply);
	else if (reply.status >= 200 && reply.status < 300)
		fate = otlp_send_accepted(s, signal, &reply, ret_rejected);
	else if (otlp_send_may_retry(reply.status))
		fate = otlp_send_failed(s, signal, &reply);
	else
		fate = otlp_send_refused(s, signal, &reply);
	web_reply_free(&reply);
	return fate;
}

void otlp_sender_free(struct otlp_sender *s)
{
	buffer_free(&s->packed);
}
