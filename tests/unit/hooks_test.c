/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter behind --on: its threads, what it counts, how it ends. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/clock.h"
#include "userspace/export/exporter.h"

static char folder[] = "/tmp/gp-hooks-XXXXXX";
static char note[64], note_variables[64], stuck[64], noted[64];

static void script(char *path, size_t len, const char *name, const char *lines)
{
	FILE *f;

	snprintf(path, len, "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", lines);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
}

static int setup(void **state)
{
	char lines[160];

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0);
	snprintf(noted, sizeof(noted), "%s/noted", folder);
	fclose(fopen(noted, "w"));
	assert_int_equal(chmod(noted, 0666), 0);
	snprintf(lines, sizeof(lines), "cat >>%s", noted);
	script(note, sizeof(note), "note", lines);
	snprintf(lines, sizeof(lines),
		 "{ cat; echo \"$GP_BPF_EVENT/$GP_BPF_WHY/$GP_BPF_LINE\"; } >>%s", noted);
	script(note_variables, sizeof(note_variables), "note_variables", lines);
	script(stuck, sizeof(stuck), "stuck", "trap '' TERM\nsleep 1000\nsleep 1000");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(note);
	unlink(note_variables);
	unlink(stuck);
	unlink(noted);
	return rmdir(folder);
}

static void *opened(char *const *hooks, int n)
{
	const struct export_options opt = {.hooks = hooks, .nhooks = n};
	void *state;

	assert_int_equal(export_hooks.open(&state, NULL, &opt), 0);
	return state;
}

static void disrupted(void *state, uint64_t number, const char *job, bool over, bool told)
{
	const struct job_disruption disruption = {.number = 1, .over = over};
	const struct fact f = {.type = FACT_DISRUPTION,
			       .number = number,
			       .repeated = told,
			       .rank = -1,
			       .pid = 1,
			       .job = job,
			       .disruption = &disruption};

	export_hooks.fact(state, &f);
}

static uint64_t dropped(const struct export_view *v, const char *cause)
{
	for (uint32_t i = 0; i < v->ndropped; i++)
		if (!strcmp(v->dropped[i].cause, cause))
			return v->dropped[i].count;
	fail_msg("no cause %s", cause);
	return 0;
}

static void until_sent(void *state, uint64_t count, struct export_view *ret)
{
	uint64_t until_ns = clock_mono_ns() + 60000000000ull;

	do {
		usleep(5000);
		export_hooks.view(state, ret);
	} while (ret->sent < count && clock_mono_ns() < until_ns);
	assert_int_equal(ret->sent, count);
}

static void test_one_that_hangs_holds_up_no_other(void **state)
{
	char one[96], other[96], *hooks[] = {one, other};
	struct export_view v;
	void *hs;

	(void)state;
	snprintf(one, sizeof(one), "disruption=%s", stuck);
	snprintf(other, sizeof(other), "disruption,recovered=%s", note);
	hs = opened(hooks, 2);
	disrupted(hs, 1, "a", false, false);
	until_sent(hs, 1, &v);
	disrupted(hs, 2, "a", true, false);
	until_sent(hs, 2, &v);
	assert_string_equal(v.name, "hooks");
	assert_true(v.up && v.last_ns);
	export_hooks.end(hs, true);
	assert_int_equal(export_hooks.close(hs), 0);
}

static void test_the_last_word_is_told_at_the_end(void **state)
{
	char one[96], *hooks[] = {one}, text[4000] = "";
	struct export_view v;
	void *hs;
	FILE *f;

	(void)state;
	snprintf(one, sizeof(one), "disruption,recovered=%s", note);
	hs = opened(hooks, 1);
	disrupted(hs, 7, "told", false, true); /* by a predecessor */
	disrupted(hs, 8, "a", false, false);
	until_sent(hs, 1, &v);
	disrupted(hs, 9, "a", true, false);
	until_sent(hs, 2, &v);
	for (uint64_t i = 0; i < 3; i++)
		disrupted(hs, 10 + i, "a", false, false);
	export_hooks.view(hs, &v);
	assert_int_equal(v.waiting, 1);
	assert_int_equal(dropped(&v, "rate"), 2);
	assert_int_equal(export_hooks.close(hs), 0);
	f = fopen(noted, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	assert_null(strstr(text, "\"seq\":7,"));
	assert_non_null(strstr(text, "{\"type\":\"disruption\",\"seq\":8,"));
	assert_non_null(strstr(text, "\"hook\":{\"event\":\"recovered\""));
	assert_null(strstr(text, "\"seq\":11,"));
	assert_non_null(strstr(text, "\"seq\":12,"));
	assert_non_null(strstr(text, "\"suppressed\":2}}\n"));
}

static void test_what_fails_is_counted(void **state)
{
	char one[96], *hooks[] = {one};
	struct export_view v;
	uint64_t until_ns = clock_mono_ns() + 60000000000ull;
	void *hs;

	(void)state;
	snprintf(one, sizeof(one), "disruption=/bin/false");
	hs = opened(hooks, 1);
	disrupted(hs, 1, "a", false, false);
	for (int i = 0; i < 70; i++) {
		char job[16];

		snprintf(job, sizeof(job), "j%d", i);
		disrupted(hs, 2, job, true, false); /* nobody asked */
	}
	do {
		usleep(5000);
		export_hooks.view(hs, &v);
	} while (!dropped(&v, "failed") && clock_mono_ns() < until_ns);
	assert_int_equal(dropped(&v, "failed"), 1);
	assert_int_equal(dropped(&v, "queue"), 0);
	assert_false(v.up);
	assert_string_equal(v.trouble, "/bin/false: disruption: exit status 1");
	assert_int_equal(export_hooks.close(hs), 0);
}

static void test_what_is_wrong_opens_nothing(void **state)
{
	char *hooks[17], *bad[] = {"hang=/bin/true", "hang=/nowhere"};
	struct export_options opt = {.hooks = bad, .nhooks = 2};
	void *hs;

	(void)state;
	assert_int_equal(export_hooks.open(&hs, NULL, &opt), -EINVAL);
	for (int i = 0; i < 17; i++)
		hooks[i] = "hang=/bin/true";
	opt.hooks = hooks;
	opt.nhooks = 17;
	assert_int_equal(export_hooks.open(&hs, NULL, &opt), -EINVAL);
}

/* A hook on a slowdown or a hang gets the reason, all causes with their shares, and the line. */
static void test_a_hook_gets_the_causes(void **state)
{
	struct time_causes causes = {.lost_ns = 1000, .line = "train.py:31 in step()"};
	struct fact_health health = {.kind = "fail_slow",
				     .why = "own_code",
				     .phase = "",
				     .evidence = "",
				     .line = causes.line,
				     .ratio = 2,
				     .causes = &causes};
	const struct fact f = {
		.type = FACT_HEALTH, .number = 1, .pid = 1, .job = "a", .health = &health};
	char one[96], text[4000] = "", *hooks[] = {one};
	struct export_view v;
	void *hs;
	FILE *file;

	(void)state;
	causes.ns[TIME_CAUSE_own_code] = 750;
	causes.ns[TIME_CAUSE_disk] = 250;
	assert_int_equal(truncate(noted, 0), 0);
	snprintf(one, sizeof(one), "fail_slow,hang=%s", note_variables);
	hs = opened(hooks, 1);
	export_hooks.fact(hs, &f);
	until_sent(hs, 1, &v);
	health = (struct fact_health){.kind = "hang",
				      .why = "input",
				      .phase = "",
				      .evidence = "",
				      .line = "fetch (data.py:7)"};
	export_hooks.fact(hs, &f);
	until_sent(hs, 2, &v);
	assert_int_equal(export_hooks.close(hs), 0);
	file = fopen(noted, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	assert_non_null(strstr(
		text,
		"{\"cause\":\"own_code\",\"ns\":750,\"share\":0.75,\"line\":\"train.py:31 in step()\"}"));
	assert_non_null(strstr(text, "{\"cause\":\"disk\",\"ns\":250,\"share\":0.25}"));
	assert_non_null(strstr(text, "fail_slow/own_code/train.py:31 in step()\n"));
	assert_non_null(strstr(text, "\"line\":\"fetch (data.py:7)\""));
	assert_non_null(strstr(text, "hang/input/fetch (data.py:7)\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_that_hangs_holds_up_no_other),
		cmocka_unit_test(test_the_last_word_is_told_at_the_end),
		cmocka_unit_test(test_what_fails_is_counted),
		cmocka_unit_test(test_what_is_wrong_opens_nothing),
		cmocka_unit_test(test_a_hook_gets_the_causes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
