/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/fixture.h"
#include "userspace/base/csv_text.h"
#include "userspace/base/log.h"
#include "userspace/export/export.h"

static char captured[4096];

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(captured + strlen(captured), sizeof(captured) - strlen(captured), "%s\n", text);
}

static void cells(void **state)
{
	static const struct {
		const char *in, *out;
	} texts[] = {
		{"plain", "\"plain\""},
		{NULL, ""},
		{"", ""},
		{"a\"b\"\"", "\"a\"\"b\"\"\"\"\""},
		{"a,b", "\"a,b\""},
		{"=1+1", "\"'=1+1\""},
		{"+1", "\"'+1\""},
		{"-1", "\"'-1\""},
		{"@x", "\"'@x\""},
		{" =1", "\"' =1\""},
		{"\t=1", "\"?=1\""},
		{"a\r\nb", "\"a??b\""},
		{"\xff", "\"?\""},
		{"\xc3\xa9", "\"\xc3\xa9\""},
	};
	struct buffer b = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		buffer_clear(&b);
		csv_text(&b, texts[i].in);
		assert_string_equal(b.data ? b.data : "", texts[i].out);
	}
	buffer_clear(&b);
	csv_uint(&b, UINT64_MAX);
	csv_int(&b, -7);
	csv_none(&b);
	csv_nonzero(&b, 0);
	csv_nonzero(&b, 10);
	csv_bool(&b, true);
	csv_real(&b, 0.5);
	csv_real(&b, 0.0 / 0.0);
	csv_time(&b, 0);
	csv_time(&b, 1795262400ll * (int64_t)S + 1);
	csv_row(&b);
	csv_uint(&b, 0);
	assert_string_equal(
		b.data,
		"18446744073709551615,-7,,,10,true,0.5,,,2026-11-21T12:00:00.000000001Z\r\n0");
	buffer_free(&b);
}

struct test {
	char dir[40], spec[64];
	struct export_options opt;
	struct export_set *set;
};

static int open_set(struct test *t)
{
	assert_int_equal(export_set_new(&t->set, &t->opt), 0);
	return export_set_add(t->set, t->spec);
}

static void begin(struct test *t)
{
	memset(t, 0, sizeof(*t));
	captured[0] = '\0';
	log_sink(capture, NULL);
	snprintf(t->dir, sizeof(t->dir), "/tmp/gp-bpf-csv-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	snprintf(t->spec, sizeof(t->spec), "csv:%s", t->dir);
	assert_int_equal(open_set(t), 0);
}

static char *text_of(const struct test *t, const char *file)
{
	static char text[16384];
	char path[128];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", t->dir, file);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void end(struct test *t)
{
	static const char *const files[] = {"steps.csv", "checkpoints.csv", "disruptions.csv"};
	char path[128];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", t->dir, files[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(t->dir), 0);
	log_sink(NULL, NULL);
}

static void step_of(struct test *t, uint64_t number)
{
	struct fact_step fs = {.step = {.number = number,
					.start_ns = 1 * S,
					.end_ns = 3 * S,
					.updates = 1,
					.tier = TIER_B,
					.flags = STEP_tainted | STEP_hung}};
	struct fact f = {.type = FACT_STEP,
			 .number = number,
			 .mono_ns = 4,
			 .pid = 7,
			 .rank = -1,
			 .job = "=cmd",
			 .step = &fs};

	export_set_fact(t->set, &f);
}

static void rows(void **state)
{
	struct fact_checkpoint c = {.start_ns = 5, .files = 2, .file = "a,\"b"};
	struct job_disruption disruption = {
		.number = 1,
		.over = true,
		.why = {.cause = CAUSE_killed, .exit_code = -1, .signal = 9},
		.d = {.at_ns = 6,
		      .step = 41,
		      .resumed_step = DISRUPTION_NO_STEP,
		      .wasted_ns = 3,
		      .recovery_ns = 2,
		      .down_ns = 1},
		.split_ns = {[BUCKET_OTHER] = 2},
		.scheduling = {.known = true, .ns = {4, 3, 2, 1}}};
	struct fact f = {
		.number = 2, .mono_ns = 4, .pid = 7, .rank = 3, .job = "", .checkpoint = &c};
	struct test t;

	(void)state;
	begin(&t);
	step_of(&t, 1);
	f.type = FACT_CHECKPOINT;
	export_set_fact(t.set, &f);
	f.type = FACT_DISRUPTION;
	f.disruption = &disruption;
	export_set_fact(t.set, &f);
	disruption.scheduling.known = false;
	f = (struct fact){.type = f.type,
			  .number = 3,
			  .mono_ns = 4,
			  .rank = -1,
			  .job = "",
			  .disruption = &disruption};
	export_set_fact(t.set, &f); /* another node's: no process */
	assert_int_equal(export_set_close(t.set), 0);
	assert_string_equal(
		strchr(text_of(&t, "steps.csv"), '\n') + 1,
		"1,,4,\"'=cmd\",,7,0,1,0,1000000000,3000000000,2000000000,\"B\",,\"host\",0,1,"
		"\"tainted hung\",,,,,,,,,,,\r\n");
	assert_string_equal(strchr(text_of(&t, "checkpoints.csv"), '\n') + 1,
			    "2,,4,,3,7,\"save\",\"sync\",5,,,,2,,,\"a,\"\"b\",,,,false\r\n");
	assert_string_equal(
		strchr(text_of(&t, "disruptions.csv"), '\n') + 1,
		"2,,4,,3,7,1,true,\"killed\",,false,,9,,,,6,41,0,,,3,2,1,\"{\"\"OTHER\"\":2}\","
		"\"{\"\"create\"\":4,\"\"schedule\"\":3,\"\"image\"\":2,\"\"start\"\":1}\",false,\r\n"
		"3,,4,,,,1,true,\"killed\",,false,,9,,,,6,41,0,,,3,2,1,\"{\"\"OTHER\"\":2}\",,false,\r\n");
	end(&t);
}

static void a_successor_goes_on(void **state)
{
	struct test t;
	char path[128];
	const char *at;
	int n = 0;

	(void)state;
	begin(&t);
	for (uint64_t i = 1; i <= 3; i++)
		step_of(&t, i);
	assert_int_equal(export_set_close(t.set), 0);
	snprintf(path, sizeof(path), "%s/steps.csv", t.dir);
	assert_int_equal(truncate(path, (off_t)strlen(text_of(&t, "steps.csv")) - 5), 0); /* torn */
	t.opt.resume = true;
	assert_int_equal(open_set(&t), 0);
	assert_int_equal(export_set_last_written(t.set), 2);
	for (uint64_t i = 1; i <= 4; i++)
		step_of(&t, i);
	assert_int_equal(export_set_close(t.set), 0);
	for (at = text_of(&t, "steps.csv"); (at = strchr(at, '\n')); at++, n++)
		if (n < 4)
			assert_int_equal(strtol(at + 1, NULL, 10), n + 1);
	assert_int_equal(n, 5);
	t.opt.resume = false; /* another watch: emptied */
	assert_int_equal(open_set(&t), 0);
	assert_int_equal(export_set_close(t.set), 0);
	assert_string_equal(strchr(text_of(&t, "steps.csv"), '\n'), "\n");
	end(&t);
}

/* Of a gp-bpf with fewer columns: set aside, and what is in it is not told again. */
static void another_version(void **state)
{
	char path[128], helper[160];
	struct test t;
	FILE *f;

	(void)state;
	begin(&t);
	assert_int_equal(export_set_close(t.set), 0);
	snprintf(path, sizeof(path), "%s/steps.csv", t.dir);
	snprintf(helper, sizeof(helper), "%s.1", path);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "seq,time,mono_ns,job,rank,pid,loop,step\n2,,0,,,1,1,2\n");
	fclose(f);
	t.opt.resume = true;
	captured[0] = '\0';
	assert_int_equal(open_set(&t), 0);
	assert_non_null(strstr(
		captured,
		"steps.csv: the file has the columns of another version; renamed to steps.csv.1"));
	for (uint64_t i = 1; i <= 3; i++)
		step_of(&t, i);
	assert_int_equal(export_set_close(t.set), 0);
	assert_int_equal(strncmp(text_of(&t, "steps.csv"),
				 "seq,time,mono_ns,job,rank,pid,loop,step,run_step,", 49),
			 0);
	assert_int_equal(strtol(strchr(text_of(&t, "steps.csv"), '\n') + 1, NULL, 10), 3);
	assert_non_null(strstr(text_of(&t, "steps.csv.1"), "\n2,,0,,,1,1,2\n"));
	assert_int_equal(unlink(helper), 0);
	end(&t);
}

static void what_cannot_be_written(void **state)
{
	static struct fixture fx;
	struct test t;
	char path[128];

	(void)state;
	begin(&t);
	assert_int_equal(export_set_close(t.set), 0);
	snprintf(path, sizeof(path), "%s/steps.csv", t.dir);
	unlink(path);
	assert_int_equal(symlink("/dev/full", path), 0);
	fixture_init(&fx);
	assert_int_equal(open_set(&t), 0);
	for (uint64_t i = 1; i <= 3; i++) {
		step_of(&t, i);
		export_set_snapshot(t.set, &fx.s);
	}
	export_set_view(t.set, &fx.s);
	assert_string_equal(fx.s.exports[0].name, "csv");
	assert_false(fx.s.exports[0].up);
	assert_int_equal(fx.s.exports[0].dropped[1].count, 4); /* the header too */
	assert_non_null(strstr(fx.s.exports[0].trouble, "steps.csv: No space"));
	assert_int_equal(export_set_close(t.set), -ENOSPC);
	/* When it begins, and at the end how much it was. */
	assert_non_null(strstr(captured, " lines were not written: No space left on device\n"));
	assert_ptr_equal(strchr(strchr(captured, '\n') + 1, '\n'), captured + strlen(captured) - 1);
	end(&t);
	log_sink(capture, NULL);
	assert_int_equal(export_set_new(&t.set, &t.opt), 0);
	assert_int_equal(export_set_add(t.set, "csv"), -EINVAL);
	assert_int_equal(export_set_add(t.set, "csv:"), -EINVAL);
	assert_int_equal(export_set_add(t.set, "csv:/nonexistent/x"), -ENOENT);
	assert_int_equal(export_set_add(t.set, "csv:/dev/null"), -ENOTDIR);
	assert_int_equal(export_set_close(t.set), 0);
	log_sink(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells),
		cmocka_unit_test(rows),
		cmocka_unit_test(a_successor_goes_on),
		cmocka_unit_test(another_version),
		cmocka_unit_test(what_cannot_be_written),
	};

	return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
