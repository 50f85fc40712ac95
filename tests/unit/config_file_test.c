/* SPDX-License-Identifier: Apache-2.0 */
/* YAML texts as dotted keys. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/base/config_file.h"
#include "userspace/base/yaml_stream.h"

static char seen[1024];

static int on_value(void *ctx, const char *file, int line, const char *key, const char *value)
{
	size_t len = strlen(seen);

	(void)ctx;
	assert_string_equal(file, "x");
	snprintf(seen + len, sizeof(seen) - len, "%d %s=%s|", line, key, value);
	return strcmp(value, "stop") ? 0 : -ECANCELED;
}

static int read_text(const char *text)
{
	seen[0] = '\0';
	return config_read_text("x", text, strlen(text), on_value, NULL);
}

static void test_keys(void **state)
{
	(void)state;
	assert_int_equal(read_text("a: 1\nb:\n  c: 2\n  d: {e: [3, 4]}\nf: &g 5\n"), 0);
	assert_string_equal(seen, "1 a=1|3 b.c=2|4 b.d.e=3|4 b.d.e=4|5 f=5|");
	assert_int_equal(read_text("a:\n  - {b: 1, c: 2}\n  - {b: 3}\nd: ''\n"), 0);
	assert_string_equal(seen, "2 a.b=1|2 a.c=2|3 a.b=3|4 d=|");
	assert_int_equal(read_text(""), 0);
	assert_string_equal(seen, "");
	assert_int_equal(read_text("a: 1\nb: stop\nc: 2\n"), -ECANCELED);
	assert_string_equal(seen, "1 a=1|2 b=stop|");
}

static void test_refused(void **state)
{
	char text[2 * YAML_DEPTH_MAX + 160], key[130] = "";

	(void)state;
	assert_int_equal(read_text("a"), -EINVAL);
	assert_int_equal(read_text("a: 1\nb: [\n"), -EINVAL);
	assert_string_equal(seen, "1 a=1|");
	assert_int_equal(read_text("a: &b 1\nc: *b\nd: 2\n"), -EINVAL);
	assert_string_equal(seen, "1 a=1|");
	for (int depth = YAML_DEPTH_MAX; depth <= YAML_DEPTH_MAX + 1; depth++) {
		snprintf(text, sizeof(text), "a: %.*s1%.*s", depth - 1, "[[[[[[[[[[[[", depth - 1,
			 "]]]]]]]]]]]]");
		assert_int_equal(read_text(text), depth > YAML_DEPTH_MAX ? -EINVAL : 0);
		assert_string_equal(seen, depth > YAML_DEPTH_MAX ? "" : "1 a=1|");
	}
	memset(key, 'k', sizeof(key) - 1);
	snprintf(text, sizeof(text), "%s: 1", key);
	assert_int_equal(read_text(text), -EINVAL);
	assert_string_equal(seen, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
