/* SPDX-License-Identifier: Apache-2.0 */
/* operation_test - formulas of operators, and sizes in copies of tensors' objects. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/model/signal/operation.h"

#define PLACE 2 /* as in torch 2.15: byte 56 */

static struct formula parsed(const char *text)
{
	char buf[GP_FORMULA_MAX] = "";
	struct formula f;

	strncpy(buf, text, sizeof(buf) - 1);
	assert_int_equal(formula_parse(&f, buf), 0);
	return f;
}

static void tensor(struct gp_operation *op, int which, int place, uint32_t dims,
		   const int64_t *size)
{
	__u64 *word = op->tensor[which] + place;

	word[0] = dims;
	word[12] = 1;
	for (uint32_t i = 0; i < dims; i++) {
		word[1 + i] = (__u64)size[i];
		word[12] *= (__u64)size[i];
	}
}

#define TENSOR(op, which, ...)                                                                     \
	tensor(op, which, PLACE, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),               \
	       (int64_t[]){__VA_ARGS__})

static uint64_t of(const char *text, const struct gp_operation *op)
{
	struct formula f = parsed(text);
	uint64_t n = 0;

	assert_int_equal(formula_operations(&f, op, PLACE, &n), 0);
	return n;
}

static void products(void **state)
{
	struct gp_operation op = {0};

	(void)state;
	TENSOR(&op, 0, 3, 5, 7);
	TENSOR(&op, 1, 3, 7, 11);
	assert_int_equal(of("2 a0 a1 a2 b2", &op), 2 * 3 * 5 * 7 * 11);
	assert_int_equal(of("a-1", &op), 7);
	assert_int_equal(of("a1..", &op), 35);
	assert_int_equal(of("a0.. + b0.. + 1", &op), 105 + 231 + 1);
	assert_int_equal(of(">= 2 a0", &op), 6);
	assert_true(parsed(">=2 a0").bound);
	assert_int_equal(parsed("b0 2").tensors, 2);
}

static void kinds(void **state)
{
	static const char *const bad[] = {"product: 2 a0", ": 2 a0",	 "matmul:",
					  "matmul: >=",	   "2 a0: 2 a1", "grad_mode v0",
					  "matmul : 2 a0"};
	struct gp_operation op = {0};
	char text[GP_FORMULA_MAX];
	struct formula f;

	(void)state;
	TENSOR(&op, 0, 3, 5);
	assert_int_equal(of("attention: 2 a0 a1", &op), 30);
	assert_int_equal(parsed("attention: 2 a0").kind, OPERATION_KIND_attention);
	assert_int_equal(parsed("convolution: >= 2 a0").kind, OPERATION_KIND_convolution);
	assert_int_equal(parsed("2 a0").kind, OPERATION_KIND_other);
	assert_true(parsed("grad_mode").grad_mode && !parsed("2 a0").grad_mode);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(text, 0, sizeof(text));
		strncpy(text, bad[i], sizeof(text) - 1);
		if (formula_parse(&f, text) != -EINVAL)
			fail_msg("accepted: \"%s\"", bad[i]);
	}
}

static void types(void **state)
{
	static const struct {
		uint64_t number;
		enum operation_type type;
	} known[] = {{0, OPERATION_TYPE_other},	 {1, OPERATION_TYPE_int8},
		     {5, OPERATION_TYPE_fp16},	 {6, OPERATION_TYPE_fp32},
		     {7, OPERATION_TYPE_fp64},	 {9, OPERATION_TYPE_other},
		     {15, OPERATION_TYPE_bf16},	 {24, OPERATION_TYPE_fp8},
		     {27, OPERATION_TYPE_other}, {0xffff, OPERATION_TYPE_other}};
	struct formula f = parsed("2 a0"), none = parsed("7");
	struct gp_operation op = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		op.tensor[0][PLACE + 13] = 0xabcd0000 + known[i].number; /* device after it */
		assert_int_equal(tensor_type(&f, &op, PLACE), known[i].type);
	}
	op.tensor[0][PLACE + 13] = 15;
	assert_int_equal(tensor_type(&f, &op, -1), OPERATION_TYPE_other);
	assert_int_equal(tensor_type(&f, &op, TENSOR_PLACES), OPERATION_TYPE_other);
	assert_int_equal(tensor_type(&none, &op, PLACE), OPERATION_TYPE_other);
}

static void values(void **state)
{
	struct gp_operation op = {.value = {[3] = 0x0100, [5] = 1}};
	struct formula f = parsed("3 v5");
	uint64_t n;

	(void)state;
	assert_int_equal(of("3 v5", &op), 3);
	assert_int_equal(of("3 !v5", &op), 0);
	assert_int_equal(of("3 v3.0 + 7 v3.1", &op), 7);
	assert_int_equal(of("3 v4", &op), 0);
	op.value[5] = 2;
	assert_int_equal(formula_operations(&f, &op, PLACE, &n), -EDOM); /* not a bool */
}

/* Conv2d(3, 7, (5, 3), stride=(2, 3), padding=(1, 4), dilation=(2, 1)) of 2 x 3 x 31 x 37 gives
 * 2 x 7 x 13 x 15 in torch. */
static void convolutions(void **state)
{
	static const char text[] = "2 a0 b0.. !v5 out + 2 a0 b0.. a2.. v5";
	struct gp_operation op = {.list = {[2] = {2, 3}, [3] = {1, 4}, [4] = {2, 1}}};
	struct formula f = parsed(text);
	uint64_t n;

	(void)state;
	TENSOR(&op, 0, 2, 3, 31, 37);
	TENSOR(&op, 1, 7, 3, 5, 3);
	assert_int_equal(of(text, &op), 2ull * 2 * 7 * 13 * 15 * 3 * 5 * 3);
	op.value[5] = 1; /* transposed: each point of the input counts */
	assert_int_equal(of(text, &op), 2ull * 2 * 31 * 37 * 7 * 3 * 5 * 3);
	op.value[5] = 0;
	op.list[2][1] = 0; /* a stride of 0 is a lie */
	assert_int_equal(formula_operations(&f, &op, PLACE, &n), -EDOM);
	op.list[2][1] = 3;
	op.list[4][0] = INT64_MAX;
	assert_int_equal(formula_operations(&f, &op, PLACE, &n), -EDOM);
}

static void bad_formulas(void **state)
{
	static const char *const bad[] = {"",	   " ",	    "+",   "2 +",   "+ 2",   "d0",   "a",
					  "a5",	   "a-6",   "a0.", "a0..1", "v6",    "v0.8", "!a0",
					  "2 * 3", "outer", "-1",  ">",	    "2 a0,", "a0b0"};
	char text[GP_FORMULA_MAX];
	struct formula f;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(text, 0, sizeof(text));
		strncpy(text, bad[i], sizeof(text) - 1);
		if (formula_parse(&f, text) != -EINVAL || f.count)
			fail_msg("accepted: \"%s\"", bad[i]);
	}
	memset(text, '7', sizeof(text)); /* no NUL, and too large */
	assert_int_equal(formula_parse(&f, text), -EINVAL);
	for (size_t i = 0; i + 1 < sizeof(text); i++)
		text[i] = i % 2 ? ' ' : '1';
	assert_int_equal(formula_parse(&f, text), -EINVAL); /* too many factors */
}

static void bad_tensors(void **state)
{
	struct formula f = parsed("2 a0 a1");
	struct gp_operation op = {0};
	uint64_t n;

	(void)state;
	assert_int_equal(formula_operations(&f, &op, PLACE, &n), -EDOM);
	TENSOR(&op, 0, 3);
	assert_int_equal(formula_operations(&f, &op, PLACE, &n), -EDOM); /* no a1 */
	TENSOR(&op, 0, 3, 4);
	assert_int_equal(formula_operations(&f, &op, PLACE, &n), 0);
	assert_int_equal(formula_operations(&f, &op, -1, &n), -EDOM);
	assert_int_equal(formula_operations(&f, &op, TENSOR_PLACES, &n), -EDOM);
	op.tensor[0][PLACE + 12]++;
	assert_int_equal(formula_operations(&f, &op, PLACE, &n), -EDOM);
	f = parsed("4 a0 a1");
	TENSOR(&op, 0, INT64_MAX, 1);
	assert_int_equal(formula_operations(&f, &op, PLACE, &n), -EDOM); /* 4 x it is too large */
	TENSOR(&op, 0, INT64_MAX, 4);
	assert_int_equal(formula_operations(&f, &op, PLACE, &n), -EDOM);
}

static void places(void **state)
{
	struct formula f = parsed("2 a0 a1 b1");
	struct tensor_places p = {0};
	struct gp_operation op = {0};

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(tensor_place(&p), -1);
		for (int which = 0; which < 2; which++)
			tensor(&op, which, 4, 2, (int64_t[]){3 + i, 5});
		tensor_places_learn(&p, &f, &op);
	}
	assert_int_equal(tensor_place(&p), 4);
	memset(&op, 0xff, sizeof(op)); /* several tensors that are something else */
	tensor_places_learn(&p, &f, &op);
	assert_int_equal(tensor_place(&p), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),	cmocka_unit_test(values),
		cmocka_unit_test(convolutions), cmocka_unit_test(bad_formulas),
		cmocka_unit_test(bad_tensors),	cmocka_unit_test(places),
		cmocka_unit_test(kinds),	cmocka_unit_test(types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
