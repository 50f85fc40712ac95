/* SPDX-License-Identifier: Apache-2.0 */
/* program_test - what people say of a step and of their accelerators, and what follows from it. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/identity/accelerator.h"
#include "userspace/model/time/accelerator_peak.h"
#include "userspace/model/time/program.h"
#include "userspace/option/option.h"
#include "userspace/report/report_program.h"

#define S 1000000000ull

static void near(double found, double expected, double apart)
{
	if (fabs(found - expected) > apart)
		fail_msg("%.17g is not %.17g", found, expected);
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		double value;
	} good[] = {{"1", 1},	      {"4096", 4096}, {"3.2e15", 3.2e15},
		    {"1.5P", 1.5e15}, {"32k", 32000}, {"32K", 32000},
		    {"2M", 2e6},      {"7G", 7e9},    {"989.4T", 989.4e12},
		    {"1E", 1e18},     {".5", 0.5},    {"1e3k", 1e6}};
	static const char *const bad[] = {"",	   "0",	    "-1",  "nan",  "inf",
					  "1.5Q",  "1.5PP", "P",   "0x10", "1 k",
					  "1e999", "k1",    "1,5", " 1",   "+1"};
	double v = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(option_real(good[i].text, &v), 0);
		near(v / good[i].value, 1, 1e-12);
	}
	v = 42;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (option_real(bad[i], &v) != -EINVAL)
			fail_msg("'%s' is a number", bad[i]);
		assert_true(v == 42);
	}
}

static void prices(void **state)
{
	static const char *const bad[] = {"",  "$",	   "free",  "$-1",	"2.5$",
					  "0", "\x1b[1m2", "\3772", "abcdefgh2"};
	char currency[OPTION_CURRENCY_MAX] = "?";
	double v;

	(void)state;
	assert_int_equal(option_price("2.50", currency, &v), 0);
	assert_true(v == 2.5);
	assert_string_equal(currency, "");
	assert_int_equal(option_price("$2.50", currency, &v), 0);
	assert_true(v == 2.5);
	assert_string_equal(currency, "$");
	assert_int_equal(option_price("€ 3", currency, &v), 0);
	assert_true(v == 3);
	assert_string_equal(currency, "€ ");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (option_price(bad[i], currency, &v) != -EINVAL)
			fail_msg("'%s' is a price", bad[i]);
}

static void peaks(void **state)
{
	static const struct {
		const char *name, *found;
	} names[] = {{"H100-SXM", "H100-SXM"},
		     {"h100_sxm", "H100-SXM"},
		     {"NVIDIA H100 80GB HBM3", "H100-SXM"},
		     {"NVIDIA H100 PCIe", "H100-PCIe"},
		     {"NVIDIA H200", "H200-SXM"},
		     {"NVIDIA A100-SXM4-80GB", "A100"},
		     {"Tesla V100-SXM2-16GB", "V100-SXM2"},
		     {"NVIDIA GeForce RTX 4090", "RTX-4090"},
		     {"NVIDIA A10", "A10"},
		     {"NVIDIA A10G", NULL}, /* not an A10 */
		     {"NVIDIA", NULL},
		     {"", NULL},
		     {"H100-SXM-and-more", NULL}};
	const struct accelerator_peak *p;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		p = accelerator_peak_find(names[i].name);
		if (!p != !names[i].found || (p && strcmp(p->name, names[i].found) != 0))
			fail_msg("'%s' is %s", names[i].name, p ? p->name : "unknown");
	}
	p = accelerator_peak_find("H100-SXM");
	assert_true(accelerator_peak_flops(p) == 989.4e12);
	assert_true(p->rate[OPERATION_TYPE_tf32] == 494.7e12);
	assert_true(accelerator_peak_flops(accelerator_peak_find("T4")) == 65e12); /* no bf16 */
	for (size_t i = 0; (p = accelerator_peak_at(i)); i++) {
		assert_ptr_equal(accelerator_peak_find(p->name), p); /* each is there once */
		assert_true(accelerator_peak_flops(p) > 5e13 && accelerator_peak_flops(p) < 1e16);
		/* smaller types are never slower */
		assert_true(p->rate[OPERATION_TYPE_fp64] <= p->rate[OPERATION_TYPE_fp32]);
		assert_true(p->rate[OPERATION_TYPE_fp32] < accelerator_peak_flops(p));
		if (p->rate[OPERATION_TYPE_tf32] > 0)
			assert_true(p->rate[OPERATION_TYPE_tf32] >= p->rate[OPERATION_TYPE_fp32]);
		if (p->rate[OPERATION_TYPE_fp8] > 0)
			assert_true(p->rate[OPERATION_TYPE_fp8] >= accelerator_peak_flops(p));
	}
}

static void formulas(void **state)
{
	struct program_config c = {0};
	struct program_seen s = {.timed_steps = 90,
				 .timed_ns = 180 * S, /* 2 s a step */
				 .made = 100,
				 .lost = 20,
				 .observed_ns = 400 * S,
				 .goodput_ns = 200 * S,
				 .accelerators = 8};
	struct program_view v;

	(void)state;
	program_view(&c, &s, &v);
	assert_false(program_known(&c));
	assert_true(v.steps.flops == 0 && v.steps.mfu == 0 && v.program == 0);
	near(v.runtime, 0.5, 1e-12);
	c = (struct program_config){.flops = 4e15, .samples = 64, .tokens = 1e6, .price = 3};
	program_view(&c, &s, &v);
	assert_true(program_known(&c));
	assert_true(v.steps.mfu == 0 && v.elapsed.mfu == 0 && v.program == 0); /* no peak */
	c.peak_flops = 1e15;
	program_view(&c, &s, &v);
	near(v.steps.samples, 32, 1e-9);
	near(v.steps.tokens, 5e5, 1e-3);
	near(v.steps.flops / 2e15, 1, 1e-12);
	near(v.steps.mfu, 0.25, 1e-12);
	near(v.elapsed.samples, 64 * 80 / 400.0, 1e-9);
	near(v.elapsed.mfu, 4e15 * 80 / 400 / 8e15, 1e-12);
	near(v.program * v.runtime, v.elapsed.mfu, 1e-12);
	s.accelerators = 0;
	program_view(&c, &s, &v);
	assert_true(v.steps.flops > 0 && v.steps.mfu == 0);
	near(program_cost(&c, 2.5 * 3600e9), 7.5, 1e-12);
	assert_int_equal(program_accelerators(&c, false), 0);
	assert_int_equal(program_accelerators(&c, true), 1);
	c.accelerators = 4;
	assert_int_equal(program_accelerators(&c, false), 4);
}

/* What the user stated goes before what was measured. */
static void sources(void **state)
{
	struct program_seen s = {.timed_steps = 90, .timed_ns = 180 * S, .accelerators = 8};
	struct program_config c = {.peak_flops = 1e15};
	struct program_view v;

	(void)state;
	program_view(&c, &s, &v);
	assert_int_equal(v.source, PROGRAM_none);
	s.operations.type[OPERATION_TYPE_bf16] = 8e15;
	program_view(&c, &s, &v);
	assert_int_equal(v.source, PROGRAM_measured);
	near(v.steps.flops / 4e15, 1, 1e-12);
	near(v.steps.mfu, 0.5, 1e-12);
	s.uncounted = UNCOUNTED_RANKS;
	program_view(&c, &s, &v);
	assert_string_equal(program_source_name[v.source], "lower_bound");
	c.flops = 4e15;
	program_view(&c, &s, &v);
	assert_int_equal(v.source, PROGRAM_configured);
	near(v.steps.mfu, 0.25, 1e-12);
}

/* Each type has its own peak; if that of one is unknown, there is no MFU. */
static void types(void **state)
{
	struct program_seen s = {.timed_steps = 90, .timed_ns = 180 * S, .accelerators = 8};
	struct program_config c = {.peak_flops = 1e15};
	struct program_view v;

	(void)state;
	s.operations.type[OPERATION_TYPE_bf16] = 6e15;
	s.operations.type[OPERATION_TYPE_fp32] = 1e15;
	c.peaks[OPERATION_TYPE_bf16] = 1e15;
	program_view(&c, &s, &v);
	near(v.steps.flops / 3.5e15, 1, 1e-12);
	assert_true(v.steps.mfu == 0 && v.program == 0);
	c.peaks[OPERATION_TYPE_fp32] = 5e13;
	assert_int_equal(program_peak_type(&c, OPERATION_TYPE_fp32), OPERATION_TYPE_fp32);
	program_view(&c, &s, &v);
	near(v.steps.mfu, (6 + 20) / 8.0 / 2, 1e-12);
	c.peaks[OPERATION_TYPE_tf32] = 5e14;
	assert_int_equal(program_peak_type(&c, OPERATION_TYPE_fp32), OPERATION_TYPE_tf32);
	program_view(&c, &s, &v);
	near(v.steps.mfu, (6 + 2) / 8.0 / 2, 1e-12);
	s.operations.again[OPERATION_TYPE_fp32] = 1e15;
	program_view(&c, &s, &v);
	near(v.steps.mfu, 6 / 8.0 / 2, 1e-12);
	near(v.steps.hfu, (6 + 2) / 8.0 / 2, 1e-12);
	s.operations.again_unknown = 1;
	program_view(&c, &s, &v);
	assert_true(v.steps.mfu == 0 && v.steps.hfu > 0.49);
	c.flops = 4e15; /* the user's operations have no type */
	program_view(&c, &s, &v);
	near(v.steps.mfu, 4 / 8.0 / 2, 1e-12);
	assert_true(v.steps.hfu == 0);
	assert_true(operations_sum(&v.operations) == 0);
}

/* The peak of an accelerator by type is on the tape, unless the user sets a peak. */
static void collect(void *ctx, const char *key, const char *value)
{
	assert_true(program_config_set(ctx, key, value));
}

static void said(void **state)
{
	struct options o = {.accelerator = (char *)"A100"};
	struct program_config c = {0};

	(void)state;
	options_program_say(&o, NULL, collect, &c);
	assert_true(c.peak_flops == 312e12 && program_peak(&c, OPERATION_TYPE_bf16) == 312e12);
	assert_true(program_peak(&c, OPERATION_TYPE_fp32) == 156e12);
	assert_true(program_peak(&c, OPERATION_TYPE_fp8) == 0);
	o.peak_tflops = 100;
	options_program_say(&o, NULL, collect, &c);
	assert_true(program_peak(&c, OPERATION_TYPE_fp8) == 1e14);
	assert_true(program_peak(&c, OPERATION_TYPE_bf16) == 1e14);
}

static void settings(void **state)
{
	struct program_config c = {0};

	(void)state;
	assert_false(program_config_set(&c, "marker", "sync"));
	assert_true(program_config_set(&c, "flops", "1e15"));
	assert_true(program_config_set(&c, "flops", "-1"));
	assert_true(program_config_set(&c, "flops", "nan"));
	assert_true(program_config_set(&c, "flops", "inf"));
	assert_true(c.flops == 1e15);
	assert_true(program_config_set(&c, "accelerators", "8"));
	assert_true(program_config_set(&c, "accelerators", "99999999"));
	assert_int_equal(c.accelerators, 8);
	assert_true(program_config_set(&c, "perf_tag", "llama-8b, 64 x H100"));
	assert_string_equal(c.perf_tag, "llama-8b, 64 x H100");
}

static void words(void **state)
{
	static const struct {
		double v;
		const char *text;
	} si[] = {{0, "unknown"},    {0.5, "0.5"},	{1024, "1024"},	     {9999, "9999"},
		  {12345, "12.3 k"}, {2.1e6, "2.10 M"}, {412.3e12, "412 T"}, {1.5e15, "1.50 P"}};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(si) / sizeof(si[0]); i++)
		assert_string_equal(report_si(text, si[i].v), si[i].text);
}

static void gpu_make(const char *root, const char *id, const char *info)
{
	char path[512];
	FILE *f;

	static const char *const folders[] = {"/proc", "/proc/driver", "/proc/driver/nvidia",
					      "/proc/driver/nvidia/gpus"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%s", root, id);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%s/information", root, id);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(info, f);
	fclose(f);
}

static void models(void **state)
{
	char root[] = "/tmp/gp-bpf-gpus-XXXXXX", out[64] = "", command[128];

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(accelerator_model(root, out, sizeof(out)), -ENOENT);
	gpu_make(root, "0000:01:00.0", "IRQ: 5\n");
	assert_int_equal(accelerator_model(root, out, sizeof(out)), -ENOENT);
	gpu_make(root, "0000:02:00.0", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t 77\n");
	gpu_make(root, "0000:03:00.0", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t 78\n");
	assert_int_equal(accelerator_model(root, out, sizeof(out)), 0);
	assert_string_equal(out, "NVIDIA H100 80GB HBM3");
	gpu_make(root, "0000:04:00.0", "Model: \t\t NVIDIA L4\nIRQ:   \t 79\n");
	assert_int_equal(accelerator_model(root, out, sizeof(out)), -EMEDIUMTYPE);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),  cmocka_unit_test(prices),	cmocka_unit_test(peaks),
		cmocka_unit_test(formulas), cmocka_unit_test(settings), cmocka_unit_test(words),
		cmocka_unit_test(models),   cmocka_unit_test(sources),	cmocka_unit_test(types),
		cmocka_unit_test(said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
