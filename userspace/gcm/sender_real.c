/* SPDX-License-Identifier: Apache-2.0 */
/* The real web and the real time. */
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/gcm/sender_private.h"

#define SLEEP_PART_MS 100 /* so late is a cancellation noticed */

static int real_send(void *ctx, const struct web_request *rq, struct web_reply *ret)
{
	const struct sender *s = ctx;

	return web_send(s->web, rq, ret);
}

static int real_token(void *ctx, struct buffer *ret_header, char *why, size_t len)
{
	const struct sender *s = ctx;

	return google_token(s->google, ret_header, why, len);
}

static void real_refused(void *ctx)
{
	const struct sender *s = ctx;

	google_token_refused(s->google);
}

static const char *real_quota(void *ctx)
{
	const struct sender *s = ctx;

	return google_quota_project(s->google);
}

static uint64_t real_mono_ms(void *ctx)
{
	(void)ctx;
	return clock_mono_ns() / NS_PER_MS;
}

static int64_t real_real_ns(void *ctx)
{
	(void)ctx;
	return clock_real_ns();
}

static void real_sleep_ms(void *ctx, uint64_t ms)
{
	const struct sender *s = ctx;
	uint64_t part_ms;

	for (; ms && !web_is_cancelled(s->web); ms -= part_ms) {
		part_ms = ms < SLEEP_PART_MS ? ms : SLEEP_PART_MS;
		nanosleep(&(struct timespec){0, (long)(part_ms * NS_PER_MS)}, NULL);
	}
}

static uint32_t real_random(void *ctx)
{
	uint32_t value;

	(void)ctx;
	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value))
		value = (uint32_t)clock_mono_ns();
	return value;
}

int sender_open(struct sender **ret, const struct sender_options *o, struct web *web,
		struct google *google)
{
	const struct sender_env env = {.send = real_send,
				       .token = real_token,
				       .refused = real_refused,
				       .quota = real_quota,
				       .mono_ms = real_mono_ms,
				       .real_ns = real_real_ns,
				       .sleep_ms = real_sleep_ms,
				       .random = real_random};
	int err = sender_open_with(ret, o, &env);

	if (err) {
		log_error("cloud-monitoring: %s", strerror(-err));
		return err;
	}
	(*ret)->web = web;
	(*ret)->google = google;
	(*ret)->env.ctx = *ret;
	return 0;
}
