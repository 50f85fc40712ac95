/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves the machine in a bug report, and what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/command/bundle_mask.h"

typedef size_t mask_fn(struct mask *m, struct buffer *out, const char *text, size_t len);

static size_t json(struct mask *m, struct buffer *out, const char *text, size_t len)
{
	return mask_json(m, out, text, len, true);
}

static void is(mask_fn *fn, bool anonymize, const char *text, const char *expected)
{
	struct mask *m = mask_new(anonymize);
	struct buffer out = {0};

	assert_non_null(m);
	fn(m, &out, text, strlen(text));
	assert_string_equal(out.data, expected);
	buffer_free(&out);
	mask_free(m);
}

static void test_text(void **state)
{
	static const char *const lines[][2] = {
		{"steps of 3 ranks", "steps of 3 ranks"},
		{"a\nb\n", "a\nb\n"},
		{"train.py --token=S3CR --x", "train.py --token=[masked] --x"},
		{"train.py --api-key S3CR --x", "train.py --api-key [masked] --x"},
		{"llama-secret fell", "llama-secret fell"},
		{"--password 'two words' on", "--password [masked] on"},
		{"Authorization: Bearer S3CR S3CR", "Authorization: [masked]"},
		{"sent Bearer S3CRS3CR now", "sent Bearer [masked] now"},
		{"https://me:S3CR@host.example:4318/S3CR?x=S3CR end",
		 "https://[masked]@host.example:4318[masked] end"},
		{"https://host.example/S3CR", "https://host.example[masked]"},
		{"http://host:9847", "http://host:9847"},
		{"{\"password\": \"S3CR\", \"a\": 1}", "{\"password\": [masked], \"a\": 1}"},
		{"client_secret: S3CR", "client_secret: [masked]"},
		{"admin: $2y$10$S3CR/S3CR", "admin: [masked]"},
		{"AWS_SECRET_ACCESS_KEY=S3CR/x+y", "AWS_SECRET_ACCESS_KEY=[masked]"},
		{"ghp_S3CRS3CRS3CR", "[masked]"},
		{"jwt eyJhbGciOi.S3CR.S3CR", "jwt [masked]"},
		{"00112233445566778899aabbccddeeff00", "[masked]"},
		{"-----BEGIN PRIVATE KEY----- S3CR", "[masked]"},
		{"me:S3CR@host", "[masked]@host"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		is(mask_text, false, lines[i][0], lines[i][1]);
}

static void test_json(void **state)
{
	(void)state;
	is(json, false,
	   "{\"state\": \"locked\", \"n\": 12, \"command\": \"/home/me/python train.py --x=S3CR\", \"none\": null,"
	   " \"text\": \"S3CR\", \"list\": [\"S3CR\", \"a\\\"S3CR\"], \"time\": \"2026-11-23T10:00:00Z\", "
	   "\"job\": \"llama\"}",
	   "{\"state\": \"locked\", \"n\": 12, \"command\": \"python\", \"none\": null,"
	   " \"text\": \"[masked]\", \"list\": [\"[masked]\", \"[masked]\"], \"time\": "
	   "\"2026-11-23T10:00:00Z\", \"job\": \"llama\"}");
	is(json, false, "{\"state\": \"unended S3CR", "{\"state\": \"unended S3CR\"");
}

static size_t told(struct mask *m, struct buffer *out, const char *text, size_t len)
{
	return mask_json(m, out, text, len, false);
}

/* What gp-bpf says of a rank stays; files' names, and what others say of pods, do not. */
static void test_events(void **state)
{
	static const char *const texts[][2] = {
		{"slow since step 562: +48 %, backward", "slow since step 562: +48 %, backward"},
		{"hangs for 31 s: waits in a collective", "hangs for 31 s: waits in a collective"},
		{"steps found: Optimizer.step#AdamW", "steps found: Optimizer.step#AdamW"},
		{"checkpoint read: 2 files, of step 600", "checkpoint read: 2 files, of step 600"},
		{"checkpoint saved in 6.89 ms: S3CR: S3CR.pt (step 20)",
		 "checkpoint saved in 6.89 ms: [masked]"},
		{"checkpoint saved aside in 1 s", "checkpoint saved aside in 1 s"},
		{"checkpoint begun, its end was not seen: S3CR",
		 "checkpoint begun, its end was not seen: [masked]"},
		{"its pod: evicted: S3CR", "its pod: evicted: [masked]"},
		{"suspect: token=S3CR", "suspect: token=[masked]"},
		{"S3CR since step 1", "[masked]"},
		{"slow", "[masked]"},
	};
	char from[128], to[128];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(from, sizeof(from), "{\"text\":\"%s\"}", texts[i][0]);
		snprintf(to, sizeof(to), "{\"text\":\"%s\"}", texts[i][1]);
		is(told, false, from, to);
	}
	is(json, false, "{\"text\":\"slow S3CR\"}",
	   "{\"text\":\"[masked]\"}"); /* a store has people's notes */
}

static void test_metrics(void **state)
{
	(void)state;
	is(mask_metrics, false,
	   "# HELP a of \"x\"\na{job=\"llama\",kind=\"token=S3CR\",other=\"S3CR\",rank=\"0\"} 1 2\nb 3\n",
	   "# HELP a of \"x\"\na{job=\"llama\",kind=\"token=[masked]\",other=\"[masked]\",rank=\"0\"} 1 2\nb 3\n");
}

static void test_config(void **state)
{
	(void)state;
	is(mask_config, false,
	   "hooks:\n  - \"hang=/bin/page S3CR  # S3CR\"  # file\n#  - fail=https://S3CR/...  # file\nlisten: :9847  # flag\n"
	   "targets:\n  allow:\n    - \"command=*\"  # file\n#hooks: [EVENT=ACTION]\n",
	   "hooks:\n  - [masked]  # file\n#  - [masked]  # file\nlisten: :9847  # flag\n"
	   "targets:\n  allow:\n    - command=*  # file\n#hooks: [EVENT=ACTION]\n");
}

/* Whose folder a path is in is a name, too; the root's own is nobody's. */
static void test_homes(void **state)
{
	static const char text[] =
		"open /home/alice7/data/x: denied; '/mnt/home/bo' /root/y /home/ /homes/kept\n";
	struct buffer plain = {0}, told = {0};
	struct mask *m = mask_new(false), *hidden = mask_new(true);

	(void)state;
	mask_text(m, &plain, text, sizeof(text) - 1);
	assert_string_equal(plain.data, text);
	assert_int_equal(mask_text(hidden, &told, text, sizeof(text) - 1), 2);
	assert_null(strstr(told.data, "alice7"));
	assert_non_null(strstr(told.data, "open /home/anon-"));
	assert_non_null(strstr(told.data, "/data/x: denied; '/mnt/home/anon-"));
	assert_non_null(strstr(told.data, "' /root/y /home/ /homes/kept\n"));
	buffer_free(&plain);
	buffer_free(&told);
	mask_free(m);
	mask_free(hidden);
}

/* Names are one hash wherever they are, and in text too; two names are two. */
static void test_names(void **state)
{
	struct mask *m = mask_new(true), *again = mask_new(true);
	struct buffer one = {0}, two = {0};

	(void)state;
	mask_json(m, &one, "{\"job\": \"llama-7b\"}", 19, false);
	mask_text(m, &one, "job llama-7b fell", 17);
	assert_null(strstr(one.data, "llama"));
	/* {"job": "anon-0123456789"}job anon-0123456789 fell */
	assert_memory_equal(one.data + 9, one.data + 30, 15);
	mask_name(again, &two, "llama-7b", 8);
	assert_non_null(strstr(one.data, two.data));
	mask_name(again, &two, "llama-8b", 8);
	assert_int_equal(two.len, 30);
	assert_memory_not_equal(two.data, two.data + 15, 15);
	buffer_free(&one);
	buffer_free(&two);
	mask_free(m);
	mask_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	cmocka_unit_test(test_json),
		cmocka_unit_test(test_metrics), cmocka_unit_test(test_config),
		cmocka_unit_test(test_events),	cmocka_unit_test(test_names),
		cmocka_unit_test(test_homes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
