/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "loader/probe/probe_file.h"

static const char *const nothing[] = {NULL};

static void test_captures(void **state)
{
	const struct probe_row row = {
		.id = "fake.all",
		.hash = gp_probe_hash("fake.all"),
		.may_block = true,
		.captures = 3,
		.capture =
			{{.arg = 0, .arg_arm64 = 0, .width = 8},
			 {.arg = 2, .arg_arm64 = 3, .width = 4},
			 {.arg = 1, .arg_arm64 = 1, .derefs = 2, .offset = {0, -16}, .width = 2}},
		.only = {.arg = 4, .arg_arm64 = 4, .width = 1},
		.has_only = true,
		.only_value = 7,
		.keep = nothing,
	};
	struct gp_row x86, arm;

	(void)state;
	assert_int_equal(probe_row_compile_for(EM_X86_64, &row, 0, &x86), 0);
	assert_int_equal(probe_row_compile_for(EM_AARCH64, &row, 0, &arm), 0);
	assert_int_equal(x86.probe, gp_probe_hash("fake.all"));
	assert_int_equal(x86.flags, GP_ROW_MAY_BLOCK);
	assert_int_equal(x86.arg[1].source, 2);
	assert_int_equal(arm.arg[1].source, 3);
	assert_int_equal(x86.arg[1].width, 4);
	assert_int_equal(x86.arg[2].derefs, 2);
	assert_int_equal(x86.arg[2].offset[1], -16);
	assert_int_equal(x86.arg[3].source, GP_SRC_NONE);
	assert_int_equal(x86.name.source, GP_SRC_NONE);
	assert_int_equal(x86.only.source, 4);
	assert_int_equal(x86.only_value, 7);
	assert_int_equal(probe_row_compile_for(EM_S390, &row, 0, &x86), -EINVAL);
}

/* -1 keeps a place; what follows it is where it was, on either machine. */
static void test_no_argument(void **state)
{
	struct probe_row row = {.captures = 3,
				.capture = {{.arg = -1, .arg_arm64 = -1, .width = 8},
					    {.arg = 6, .arg_arm64 = -1, .width = 8},
					    {.arg = 1, .arg_arm64 = 1, .width = 4}},
				.keep = nothing};
	struct gp_row x86, arm;

	(void)state;
	assert_int_equal(probe_row_compile_for(EM_X86_64, &row, 0, &x86), 0);
	assert_int_equal(probe_row_compile_for(EM_AARCH64, &row, 0, &arm), 0);
	assert_int_equal(x86.nargs, 3);
	assert_int_equal(x86.arg[0].source, GP_SRC_NONE);
	assert_int_equal(x86.arg[1].source, GP_SRC_STACK);
	assert_int_equal(arm.arg[1].source, GP_SRC_NONE);
	assert_int_equal(x86.arg[2].source, 1);
	assert_int_equal(arm.arg[2].source, 1);
	row.capture[0].arg = -2;
	assert_int_equal(probe_row_compile_for(EM_X86_64, &row, 0, &x86), -EINVAL);
}

/* The hidden result pointer takes a register on x86-64 only. */
static void test_string(void **state)
{
	static const char *const keep[] = {"Optimizer.", "DDP", NULL};
	const struct probe_row row = {.abi = PROBE_ABI_CXX_SRET,
				      .string = PROBE_STRING_STD,
				      .text = {.width = 8},
				      .max_hz = 200,
				      .keep = keep};
	uint64_t word = 0, mask = 0;
	struct gp_row x86, arm;

	(void)state;
	assert_int_equal(probe_row_compile_for(EM_X86_64, &row, 0, &x86), 0);
	assert_int_equal(probe_row_compile_for(EM_AARCH64, &row, 0, &arm), 0);
	assert_int_equal(x86.name.source, 1);
	assert_int_equal(arm.name.source, 0);
	assert_int_equal(x86.string, 2);
	assert_int_equal(x86.max_hz, 200);
	assert_int_equal(x86.only.source, GP_SRC_NONE);
	assert_int_equal(x86.nkeep, 2);
	memcpy(&word, "Optimize", 8);
	assert_true(x86.keep[0].value == word && x86.keep[0].mask == UINT64_MAX);
	memcpy(&word, "DDP\0\0\0\0", 8);
	memset(&mask, 0xff, 3);
	assert_true(x86.keep[1].value == word && x86.keep[1].mask == mask);
}

static void test_flags(void **state)
{
	const struct probe_row counted = {.count = true, .keep = nothing};
	const struct probe_row unnamed = {.anonymous = true, .keep = nothing};
	struct gp_row out;

	(void)state;
	assert_int_equal(probe_row_compile(&counted, 0, &out), 0);
	assert_int_equal(out.flags, GP_ROW_COUNT);
	assert_int_equal(out.string, 0);
	assert_int_equal(probe_row_compile(&unnamed, 0, &out), 0);
	assert_int_equal(out.flags, GP_ROW_ANON);
}

static void test_stack_arguments(void **state)
{
	static const struct {
		int arg;
		enum probe_abi abi;
		int pushed, x86_source, x86_stack, arm_source, arm_stack;
	} cases[] = {
		{5, PROBE_ABI_C, 0, 5, 0, 5, 0},
		{5, PROBE_ABI_CXX_SRET, 0, GP_SRC_STACK, 8, 5, 0},
		{6, PROBE_ABI_C, 0, GP_SRC_STACK, 8, 6, 0},
		{6, PROBE_ABI_ITANIUM, 8, GP_SRC_STACK, 16, 6, 0},
		{8, PROBE_ABI_C, 24, GP_SRC_STACK, 48, GP_SRC_STACK, 24},
		{9, PROBE_ABI_CXX_SRET, 0, GP_SRC_STACK, 40, GP_SRC_STACK, 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct probe_row row = {.abi = cases[i].abi, .captures = 1, .keep = nothing};
		struct gp_row x86, arm;

		row.capture[0] = (struct probe_capture){
			.arg = cases[i].arg, .arg_arm64 = cases[i].arg, .width = 8};
		assert_int_equal(probe_row_compile_for(EM_X86_64, &row, cases[i].pushed, &x86), 0);
		assert_int_equal(probe_row_compile_for(EM_AARCH64, &row, cases[i].pushed, &arm), 0);
		assert_int_equal(x86.arg[0].source, cases[i].x86_source);
		assert_int_equal(x86.arg[0].stack, cases[i].x86_stack);
		assert_int_equal(arm.arg[0].source, cases[i].arm_source);
		assert_int_equal(arm.arg[0].stack, cases[i].arm_stack);
		row.capture[0].arg = row.capture[0].arg_arm64 = 500;
		assert_int_equal(probe_row_compile(&row, 0, &x86), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captures),	cmocka_unit_test(test_no_argument),
		cmocka_unit_test(test_string),		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_stack_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
