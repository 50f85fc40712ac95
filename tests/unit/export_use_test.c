/* SPDX-License-Identifier: Apache-2.0 */
/* What exports use is known before they are opened; those that would write over each other are
 * refused, by whatever name they go. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/confine.h"
#include "userspace/base/log.h"
#include "userspace/export/export.h"

static char dir[] = "/tmp/gp-bpf-clash-XXXXXX", captured[1024];

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(captured, sizeof(captured), "%s", text);
}

/* DIR stands for the folder. */
static char *spelled(const char *spec)
{
	const char *at = strstr(spec, "DIR");
	char *text = NULL;

	if (!at)
		assert_true(asprintf(&text, "%s", spec) > 0);
	else
		assert_true(asprintf(&text, "%.*s%s%s", (int)(at - spec), spec, dir, at + 3) > 0);
	return text;
}

static int clash(const char *a, const char *b)
{
	char *specs[] = {spelled(a), spelled("prometheus"), spelled(b)};
	int err;

	captured[0] = '\0';
	err = export_clash(specs, 3);
	if (err && strchr(a, '/'))
		assert_true(strstr(captured, specs[0]) && strstr(captured, specs[2]));
	assert_true(!err == !*captured);
	for (int i = 0; i < 3; i++)
		free(specs[i]);
	return err;
}

static void one_place_has_one_writer(void **state)
{
	static const char *const same[][2] = {
		{"json:DIR/new", "json:DIR/new"},
		{"json:DIR/new", "json:DIR/./new"},
		{"json:DIR/new", "trace:DIR/new,size=1M"},
		{"json:DIR/new,keep=2,size=1M", "json:DIR/new,size=none"},
		{"json:DIR/there", "json:DIR/link"},
		{"json:DIR/there", "json:DIR/loop/there"},
		{"json:DIR/loop/new", "trace:DIR/new"},
		{"csv:DIR", "csv:DIR/"},
		{"csv:DIR/tables", "csv:DIR//tables"},
		{"tensorboard:DIR/b", "tensorboard:DIR/b,interval=5s"},
		{"json", "json:-"},
		{"json:-", "trace:-,size=1M"},
		{"json:here", "json:./here"},
		{"cloud-monitoring", "cloud-monitoring"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(clash(same[i][0], same[i][1]), -EINVAL);
}

static void others_go_side_by_side(void **state)
{
	static const char *const fine[][2] = {
		{"json:DIR/a", "json:DIR/b"},
		{"json:DIR/a", "json:-"},
		{"csv:DIR", "tensorboard:DIR"},
		{"csv:DIR", "json:DIR/lines"},
		{"json:/dev/null", "json:/dev/null"},
		{"cloud-monitoring:project=a", "cloud-monitoring:project=b"},
		{"otlp:http://a:1", "otlp:http://b:1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		assert_int_equal(clash(fine[i][0], fine[i][1]), 0);
	assert_int_equal(export_clash(NULL, 0), 0);
}

static void a_secret_is_not_told(void **state)
{
	char *specs[] = {(char[]){"otlp:http://me:secret@h:1"},
			 (char[]){"otlp:http://me:secret@h:1"}};

	(void)state;
	assert_int_equal(export_clash(specs, 2), -EINVAL);
	assert_string_equal(captured,
			    "gp-bpf: --export otlp is given twice, with the same argument");
}

static void uses_are_known_from_the_row(void **state)
{
	static const struct {
		const char *spec;
		bool dry_run;
		struct export_use use;
	} cases[] = {
		{"json", false, {.prints = true}},
		{"json:-", false, {.prints = true}},
		{"json:-,size=1M", false, {.prints = true}},
		{"trace:-", false, {.prints = true}},
		{"json:lines", false, {.files = true}},
		{"csv:DIR", false, {.files = true}},
		{"csv:-", false, {.files = true}}, /* a folder of that name */
		{"tensorboard:DIR", false, {.files = true, .capabilities = CONFINE_CAP(CAP_CHOWN)}},
		{"otlp:http://a:1", false, {0}},
		{"prometheus", false, {.serves = true}},
		{"cloud-monitoring", false, {0}},
		{"cloud-monitoring:project=a", true, {.prints = true}},
		{"json:lines", true, {.files = true}},
		{"jso", true, {0}},
		{"none", true, {0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct export_use use = export_use(cases[i].spec, cases[i].dry_run);

		assert_int_equal(use.prints, cases[i].use.prints);
		assert_int_equal(use.files, cases[i].use.files);
		assert_int_equal(use.serves, cases[i].use.serves);
		assert_int_equal(use.capabilities, cases[i].use.capabilities);
	}
}

static void uses_of_several_add_up(void **state)
{
	char *specs[] = {(char[]){"prometheus"}, (char[]){"json"}, (char[]){"tensorboard:b"}};
	struct export_use use = export_uses(specs, 3, false);

	(void)state;
	assert_true(use.prints && use.serves && use.files);
	assert_int_equal(use.capabilities, CONFINE_CAP(CAP_CHOWN));
	use = export_uses(NULL, 0, true);
	assert_false(use.prints || use.serves || use.files || use.capabilities);
}

static void an_option_without_its_exporter_is_known(void **state)
{
	char *specs[] = {(char[]){"json"}, (char[]){"cloud-monitoring:project=a"}};

	(void)state;
	assert_string_equal(export_missing("gcm-project", specs, 1)->name, "cloud-monitoring");
	assert_null(export_missing("gcm-project", specs, 2));
	assert_null(export_missing("listen", specs, 1));
	assert_int_equal(export_count(export_find("json", 4), specs, 2), 1);
	assert_string_equal(export_server()->name, "prometheus");
}

static int begin(void **state)
{
	char path[64], to[64];
	int fd;

	(void)state;
	log_sink(capture, NULL);
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/there", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	snprintf(to, sizeof(to), "%s/link", dir);
	if (fd < 0 || close(fd) || symlink(path, to))
		return -1;
	snprintf(to, sizeof(to), "%s/loop", dir);
	return symlink(dir, to);
}

static int end(void **state)
{
	static const char *const names[] = {"there", "link", "loop"};
	char path[64];

	(void)state;
	log_sink(NULL, NULL);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_place_has_one_writer),
		cmocka_unit_test(others_go_side_by_side),
		cmocka_unit_test(a_secret_is_not_told),
		cmocka_unit_test(uses_are_known_from_the_row),
		cmocka_unit_test(uses_of_several_add_up),
		cmocka_unit_test(an_option_without_its_exporter_is_known),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
