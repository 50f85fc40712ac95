/* SPDX-License-Identifier: Apache-2.0 */
/* sender_request.c - sends one request, and handles the answer: what happens to each point, and
 * when the next request is sent. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/export/gcm/answer.h"
#include "userspace/export/gcm/sender_private.h"

/* Pause between requests after a 429: doubled by each further 429, and reduced by a quarter after
 * each success until it is shorter than PACE_GONE_MS. */
#define PACE_FIRST_MS 1000
#define PACE_MOST_MS  60000
#define PACE_GONE_MS  500
#define ALONE_MAX     3		       /* limit of retries if other points were refused */
#define LOG_AGAIN_MS  (3600 * 1000)    /* time between log lines about one cause of drops */
#define SKEW_NS	      (120 * NS_PER_S) /* a smaller difference of clocks is not logged */

void sender_trouble(struct sender *s, const char *why)
{
	snprintf(s->stats.trouble, sizeof(s->stats.trouble), "%s", why);
}

const char *const sender_drop_name[SENDER_DROP_COUNT] = {
#define X(name) [SENDER_DROP_##name] = #name,
	SENDER_DROPS(X)
#undef X
};

static bool sender_request_is_quiet(enum sender_drop cause)
{
	return cause == SENDER_DROP_older || cause == SENDER_DROP_frequent ||
	       cause == SENDER_DROP_aged || cause == SENDER_DROP_superseded ||
	       cause == SENDER_DROP_closing;
}

void sender_count(struct sender *s, enum sender_drop cause, uint64_t points, const char *why)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx);

	if (!points)
		return;
	s->stats.dropped[cause] += points;
	if (sender_request_is_quiet(cause)) {
		log_debug("cloud-monitoring: %" PRIu64 " points dropped as %s%s%s", points,
			  sender_drop_name[cause], *why ? ": " : "", why);
		return;
	}
	if (s->logged_ms[cause] && now_ms - (s->logged_ms[cause] - 1) < LOG_AGAIN_MS)
		return;
	s->logged_ms[cause] = now_ms + 1;
	log_warn(
		"cloud-monitoring: %" PRIu64
		" points were not written (%s)%s%s; further losses are counted, and logged once an hour",
		points, sender_drop_name[cause], *why ? ": " : "", why);
}

void sender_backoff(struct sender *s, int64_t retry_ms, bool quota)
{
	/* Quotas are per minute, so the delay that gp-bpf chooses is at most one minute. The
	 * service may ask for up to ten minutes. */
	static const struct backoff_rule rule = {.first_ns = 2 * NS_PER_S,
						 .most_ns = 60 * NS_PER_S,
						 .least_ns = NS_PER_S,
						 .asked_most_ns = 600 * NS_PER_S};
	uint64_t wait_ns = backoff_next(&s->backoff, &rule, retry_ms, s->env.random(s->env.ctx));

	s->quota = quota;
	if (quota) {
		s->pace_ms = s->pace_ms ? 2 * s->pace_ms : PACE_FIRST_MS;
		s->pace_ms = s->pace_ms < PACE_MOST_MS ? s->pace_ms : PACE_MOST_MS;
	}
	s->next_ms = s->env.mono_ms(s->env.ctx) + wait_ns / NS_PER_MS;
}

static int sender_request_post_once(struct sender *s, const struct buffer *body,
				    uint64_t timeout_ms, struct web_reply *ret, char *why,
				    size_t len)
{
	char quota[160];
	const char *headers[4] = {NULL, "Content-Type: application/json"}, *project;
	struct web_request rq = {.method = "POST", .headers = headers, .timeout_ms = timeout_ms};
	int err;

	buffer_clear(&s->header);
	err = s->env.token(s->env.ctx, &s->header, why, len);
	if (err)
		return err == -EACCES ? -EACCES : -EAGAIN;
	headers[0] = s->header.data;
	project = s->env.quota(s->env.ctx);
	if (*project) {
		snprintf(quota, sizeof(quota), "x-goog-user-project: %s", project);
		headers[2] = quota;
	}
	rq.url = s->url.data;
	rq.body = body->data;
	rq.len = body->len;
	s->stats.requests++;
	return s->env.send(s->env.ctx, &rq, ret) ? -EIO : 0;
}

int sender_post(struct sender *s, const char *path, const struct buffer *body, uint64_t timeout_ms,
		struct web_reply *ret, char *why, size_t len)
{
	int err;

	snprintf(why, len, "no memory");
	buffer_clear(&s->url);
	buffer_printf(&s->url, "%s%s", s->opt.endpoint, path);
	if (s->url.failed || body->failed)
		return -EAGAIN;
	err = sender_request_post_once(s, body, timeout_ms, ret, why, len);
	if (err || ret->status != 401)
		return err;
	s->env.refused(s->env.ctx);
	s->stats.retries++;
	return sender_request_post_once(s, body, timeout_ms, ret, why, len);
}

struct sum {
	uint64_t written, again, alone;
	uint64_t arrived; /* points that an earlier request had written */
	/* most points in each part of a request that is divided; 0: the request is not divided */
	uint8_t most;
	bool found; /* the request has one point, which made larger requests fail */
	uint64_t dropped[SENDER_DROP_COUNT];
};

/* Marks a point that was not written as finished, and counts its cause. */
static void request_drop_point(struct sender *s, struct batch_point *p, enum sender_drop cause,
			       bool start, struct sum *sum)
{
	p->gone = true;
	/* The service refuses a point that it already has: an earlier request had written it. */
	if (p->maybe && (cause == SENDER_DROP_older || cause == SENDER_DROP_frequent)) {
		sum->arrived++;
		return;
	}
	if (start && cause == SENDER_DROP_older && p->cumulative)
		tracks_restart(s->tracks, p->key);
	sum->dropped[cause]++;
}

/* Returns true if a refused request may be divided: at most HALVES_MAX times for a set of points.
 * If no half was accepted, the points are not the reason, so no request is divided for
 * TRACKS_REFUSED_MS. */
static bool sender_request_may_halve(struct sender *s)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx);

	if (now_ms < s->halves_ms)
		return false;
	if (s->halves) {
		s->halves--;
		return true;
	}
	if (!s->half_taken)
		s->halves_ms = now_ms + TRACKS_REFUSED_MS;
	return false;
}

static void request_settle(struct sender *s, const struct answer *a, struct batch_point *p,
			   uint32_t i, struct sum *sum)
{
	switch ((enum fate)a->fate[i]) {
	case FATE_WRITTEN:
		s->half_taken |= p->most;
		p->gone = true;
		sum->written++;
		break;
	case FATE_DROPPED:
		if (sum->found)
			tracks_refused(s->tracks, p->key, TRACK_UNFIT, s->env.mono_ms(s->env.ctx));
		/* The project has too many series: each request with this series would get a
		 * 429. */
		if (a->cause[i] == SENDER_DROP_quota)
			tracks_refused(s->tracks, p->key, TRACK_ROOM, s->env.mono_ms(s->env.ctx));
		request_drop_point(s, p, a->cause[i], a->start, sum);
		break;
	case FATE_AGAIN:
		p->maybe |= a->maybe;
		p->cause = a->cause[i];
		sum->again++;
		break;
	case FATE_HALF:
		if (!sum->most) {
			request_drop_point(s, p, SENDER_DROP_invalid, false, sum);
			break;
		}
		p->most = sum->most;
		p->maybe = true;
		sum->alone++;
		break;
	case FATE_ALONE:
		if (p->alone++ == ALONE_MAX) {
			request_drop_point(s, p, SENDER_DROP_invalid, false, sum);
			break;
		}
		p->maybe = true;
		sum->alone++;
		break;
	}
}

static void sender_request_count_all(struct sender *s, const struct answer *a, struct sum *sum)
{
	for (int c = 0; c < SENDER_DROP_COUNT; c++) {
		uint64_t blind = a->blind[c] < sum->written ? a->blind[c] : sum->written;

		sum->written -= blind;
		sender_count(s, (enum sender_drop)c, sum->dropped[c] + blind, a->why);
	}
	s->stats.written += sum->written + sum->arrived;
}

/* After a refusal, adds a note to the reason if this machine's clock differs from the service's. */
static void sender_request_blame_clock(const struct sender *s, const struct web_reply *reply,
				       struct answer *a)
{
	int64_t ahead = reply->date_ns ? s->env.real_ns(s->env.ctx) - reply->date_ns : 0;
	size_t len = strlen(a->why);

	if (a->kind != ANSWER_REFUSED && a->kind != ANSWER_PARTIAL)
		return;
	if (ahead < SKEW_NS && ahead > -SKEW_NS)
		return;
	len = len < sizeof(a->why) - 72 ? len : sizeof(a->why) - 72;
	snprintf(a->why + len, sizeof(a->why) - len,
		 " (this machine's clock is %" PRId64 " s %s the service's)",
		 (int64_t)((ahead < 0 ? -ahead : ahead) / NS_PER_S),
		 ahead < 0 ? "behind" : "ahead of");
}

/* Updates statistics and the time of the next request. Returns true if the next request may be sent
 * at once. */
static bool request_conclude(struct sender *s, const struct answer *a, const struct sum *sum)
{
	uint64_t lost = sum->again + sum->alone;

	for (int c = 0; c < SENDER_DROP_COUNT; c++)
		lost += sum->dropped[c] + a->blind[c];
	s->stats.up = a->kind == ANSWER_TAKEN || a->kind == ANSWER_PARTIAL || sum->arrived;
	if (sum->written + sum->arrived)
		s->stats.last_ns = s->env.real_ns(s->env.ctx);
	sender_trouble(s, lost ? a->why : "");
	if (sum->again || a->quota || a->kind == ANSWER_CANCELLED) {
		sender_backoff(s, a->retry_ms, a->quota);
		return false;
	}
	s->backoff.failures = 0;
	s->quota = false;
	s->pace_ms = s->pace_ms * 3 / 4 < PACE_GONE_MS ? 0 : s->pace_ms * 3 / 4;
	s->next_ms = s->pace_ms ? s->env.mono_ms(s->env.ctx) + s->pace_ms : 0;
	return !s->pace_ms;
}

/* Handles a request for which no access token was obtained. err -EAGAIN: the request's points are
 * kept for a retry; other errors: they are dropped. Returns true if the next request may be
 * tried. */
static bool sender_request_without_token(struct sender *s, struct batch *p, const uint32_t *item,
					 uint32_t n, int err, const char *why)
{
	sender_trouble(s, why);
	s->stats.up = false;
	if (err == -EAGAIN) {
		for (uint32_t i = 0; i < n; i++)
			p->item[item[i]].cause = SENDER_DROP_unavailable;
		sender_backoff(s, -1, false);
		return false;
	}
	for (uint32_t i = 0; i < n; i++)
		p->item[item[i]].gone = true;
	sender_count(s, SENDER_DROP_denied, n, why);
	return true;
}

void sender_begin(struct sender *s)
{
	char why[200] = "";
	int err;

	buffer_clear(&s->header);
	err = s->env.token(s->env.ctx, &s->header, why, sizeof(why));
	if (!err)
		return;
	sender_trouble(s, why);
	if (err != -EACCES)
		return; /* a later request for a token may succeed */
	log_warn("cloud-monitoring: nothing can be written: %s", why);
	/* This warning counts as the first of the hourly warnings about denied points. */
	s->logged_ms[SENDER_DROP_denied] = s->env.mono_ms(s->env.ctx) + 1;
}

bool sender_deliver(struct sender *s, struct batch *p, uint32_t *at, uint64_t timeout_ms)
{
	uint32_t item[REQUEST_SERIES], n = batch_body(p, at, false, &s->body, item);
	struct web_reply reply = {.retry_after_ms = -1};
	struct sum sum = {0};
	struct answer a;
	char why[200] = "";
	bool tried = false, more;
	uint64_t now_ms;
	int err;

	if (!n)
		return false;
	err = sender_post(s, s->path.data, &s->body, timeout_ms, &reply, why, sizeof(why));
	if (err == -EAGAIN || err == -EACCES) {
		web_reply_free(&reply);
		return sender_request_without_token(s, p, item, n, err, why);
	}
	answer_read(&a, err, &reply, n);
	sender_request_blame_clock(s, &reply, &a);
	now_ms = s->env.mono_ms(s->env.ctx);
	if (a.fate[0] == FATE_HALF && sender_request_may_halve(s))
		sum.most = (uint8_t)((n + 1) / 2);
	sum.found = n == 1 && p->item[item[0]].most && a.cause[0] == SENDER_DROP_invalid;
	for (uint32_t i = 0; i < n; i++) {
		struct batch_point *point = &p->item[item[i]];

		tried |= point->tried;
		request_settle(s, &a, point, i, &sum);
		point->tried = true;
		tracks_sent(s->tracks, point->key, now_ms);
	}
	/* The service will refuse the token for the remaining points, too. */
	for (uint32_t i = 0; a.kind == ANSWER_TOKEN && i < p->count; i++) {
		if (!p->item[i].gone)
			request_drop_point(s, &p->item[i], SENDER_DROP_denied, false, &sum);
	}
	s->stats.retries += tried;
	sender_request_count_all(s, &a, &sum);
	more = request_conclude(s, &a, &sum);
	if (sum.alone)
		*at = item[0];
	web_reply_free(&reply);
	return more;
}
