/* SPDX-License-Identifier: Apache-2.0 */
/* Replies that are handed on as they come, and whose certificates a request believes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/stand_in.h"
#include "userspace/base/log.h"

#define LONG_MS 60000
#define HUGE	10000000 /* bytes of the stand-in's fault of that name */

static struct stand_in plain, tls;
static struct web *w;
static struct web_reply r;
static size_t taken, begun, enough;

static void quiet(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	(void)text;
}

static int start(void **state)
{
	static const char *const none[] = {"--journal", "journal", NULL};
	static const char *const secure[] = {"--tls", ".", NULL};

	(void)state;
	log_sink(quiet, NULL);
	unsetenv("CURL_CA_BUNDLE");
	return stand_in_start(&plain, "tests/servers/google.py", none) ||
	       stand_in_start(&tls, "tests/servers/google.py", secure);
}

static int stop(void **state)
{
	(void)state;
	stand_in_stop(&plain);
	stand_in_stop(&tls);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	taken = begun = 0;
	enough = SIZE_MAX;
	return web_open(&w);
}

static int teardown(void **state)
{
	(void)state;
	web_reply_free(&r);
	web_close(w);
	return 0;
}

static bool take(void *ctx, const char *data, size_t len)
{
	assert_ptr_equal(ctx, &taken);
	assert_non_null(data);
	begun += !len;
	taken += len;
	if (taken >= enough && enough == 1)
		web_cancel(w);
	return enough == 1 || taken < enough;
}

static int get(const struct stand_in *s, const char *fault, struct web_request rq)
{
	char knobs[128], address[128];

	snprintf(knobs, sizeof(knobs), "{\"faults\": {\"/taken\": \"%s\"}}",
		 fault ? fault : "none");
	if (fault)
		assert_int_equal(stand_in_set(s, knobs), 0);
	snprintf(address, sizeof(address), fault ? "%s/taken" : "https%s/echo",
		 s->base + (fault ? 0 : 4));
	rq.method = "GET";
	rq.url = address;
	rq.direct = true;
	rq.timeout_ms = LONG_MS;
	return web_send(w, &rq, &r);
}

#define TAKE                                                                                       \
	(struct web_request)                                                                       \
	{                                                                                          \
		.take = take, .ctx = &taken                                                        \
	}

static void of_any_length(void **state)
{
	(void)state;
	assert_int_equal(get(&plain, "huge", TAKE), 0);
	assert_int_equal(taken, HUGE);
	assert_int_equal(begun, 1);
	assert_int_equal(r.body.len, 0);
	assert_false(r.cut);
}

static void until_enough(void **state)
{
	(void)state;
	enough = 100000;
	assert_int_equal(get(&plain, "huge", TAKE), 0);
	assert_true(taken >= enough && taken < HUGE);
	assert_true(r.cut);
	taken = enough = 0; /* at once, by the headers */
	assert_int_equal(get(&plain, "huge", TAKE), 0);
	assert_int_equal(taken, 0);
	assert_true(r.cut);
}

static void others_are_kept(void **state)
{
	(void)state;
	assert_int_equal(get(&plain, "503/2", TAKE), 0);
	assert_int_equal(r.status, 503);
	assert_int_equal(r.retry_after_ms, 2000);
	assert_int_equal(begun + taken, 0);
	assert_string_equal(r.body.data, "{}");
	assert_int_equal(get(&plain, "half", TAKE), -EIO);
	assert_int_equal(r.failure, WEB_BROKEN);
	assert_true(taken > 0 && begun == 1);
}

/* In the middle of one that goes on for ever. */
static void cancelled(void **state)
{
	(void)state;
	enough = 1;
	assert_int_equal(get(&plain, "slow", TAKE), -EIO);
	assert_int_equal(r.failure, WEB_CANCELLED);
}

static void certificates(void **state)
{
	char *ca = stand_in_path(&tls, "ca.pem");

	(void)state;
	assert_int_equal(get(&tls, NULL, (struct web_request){0}), -EIO);
	assert_int_equal(r.failure, WEB_TLS);
	assert_int_equal(get(&tls, NULL, (struct web_request){.ca_file = ca}), 0);
	assert_int_equal(get(&tls, NULL, (struct web_request){.ca_file = "/nonexistent"}), -EIO);
	assert_int_equal(r.failure, WEB_TLS);
	assert_int_equal(get(&tls, NULL, (struct web_request){.unverified = true}), 0);
	assert_int_equal(r.status, 200);
	assert_int_equal(get(&tls, NULL, (struct web_request){0}), -EIO); /* nothing of it stays */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(of_any_length, setup, teardown),
		cmocka_unit_test_setup_teardown(until_enough, setup, teardown),
		cmocka_unit_test_setup_teardown(others_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(cancelled, setup, teardown),
		cmocka_unit_test_setup_teardown(certificates, setup, teardown),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
