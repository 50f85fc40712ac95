/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the code of programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/identity/program_name.h"

#define MLIR "ML\xefR\rMLIR23.0.0"

/* With the terminator that the compiler puts behind it. */
#define LOOK(code) look(code, sizeof(code))

static struct program_name found;

static const char *look(const char *code, size_t len)
{
	memset(&found, 0, sizeof(found));
	program_name_look(&found, code, len, true);
	return found.name;
}

static void of_bytecode(void **state)
{
	(void)state;
	assert_string_equal(
		LOOK(MLIR "mhlo.num_partitions\0mhlo.num_replicas\0jit_train_step\0result[0]\0main"),
		"jit_train_step");
	assert_true(found.sure);
	assert_string_equal(LOOK(MLIR "x\0mhlo.num_replicas\0train.step-2\0jit_other"), "train.step-2");
	/* no name of the module there: what looks like one */
	assert_string_equal(LOOK(MLIR "mhlo.num_replicas\0result[0]\0jit_late\0jit_later"), "jit_late");
	assert_false(found.sure);
	assert_string_equal(LOOK(MLIR "mhlo.num_replicas\0main\0p\0"), "");
	assert_string_equal(LOOK(MLIR "a\0pjit_f\0"), "pjit_f");
	assert_string_equal(LOOK(MLIR "a jit_f\0"), ""); /* no string of its own */
	assert_string_equal(LOOK(MLIR "a\0jit_\033[2J\0"), "");
}

static void of_a_protocol_buffer(void **state)
{
	(void)state;
	assert_string_equal(LOOK("\x0a\x0ejit_train_step\x12\x06main.2"), "jit_train_step");
	assert_string_equal(LOOK("\x0a\x15SyncTensorsGraph.2990\x12"), "SyncTensorsGraph.2990");
	/* with its configuration: the module is a field of its own */
	assert_string_equal(LOOK("\x0a\x90\x01\x0a\x05jit_f\x12\x06main.2"), "jit_f");
	assert_string_equal(LOOK("\x0a\x05jit_f\x12"), "jit_f");
	assert_string_equal(LOOK("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01 0123456789"), "");
	assert_string_equal(LOOK("\x0a\x05j\0t_f\x12"), "");
	assert_string_equal(LOOK("\x0a"), "");
	assert_string_equal(LOOK("\x0a\x7fjit_short"), "");
}

static void of_text(void **state)
{
	(void)state;
	assert_string_equal(LOOK("module @jit_train_step attributes {mhlo.num_partitions = 1 : i32} {"),
			    "jit_train_step");
	assert_string_equal(LOOK("#loc1\nmodule @jit_f {"), "jit_f");
	assert_string_equal(LOOK("module {"), "");
	assert_string_equal(LOOK(""), "");
}

/* A name of 127 bytes is one, a longer one is not. */
static void of_any_length(void **state)
{
	char code[512], name[PROGRAM_NAME_MAX + 1];
	size_t head = sizeof(MLIR "num_replicas");

	(void)state;
	memset(name, 'n', sizeof(name));
	memcpy(code, MLIR "num_replicas", head);
	for (size_t len = 1; len <= PROGRAM_NAME_MAX; len++) {
		memset(code + head, 0, sizeof(code) - head);
		memcpy(code + head, name, len);
		assert_int_equal(strlen(look(code, sizeof(code))), len < PROGRAM_NAME_MAX ? len : 0);
	}
}

/* In pieces, wherever they are cut, it is the same. */
static void in_pieces(void **state)
{
	static const char head[] = MLIR, tail[] = "jit_not\0num_replicas\0jit_train_step\0rest";
	char code[700] = "";

	(void)state;
	memcpy(code, head, sizeof(head));
	memcpy(code + 400, tail, sizeof(tail));
	for (size_t cut = PROGRAM_NAME_OVERLAP; cut < sizeof(code); cut++) {
		memset(&found, 0, sizeof(found));
		program_name_look(&found, code, cut, true);
		program_name_look(&found, code + cut - PROGRAM_NAME_OVERLAP,
				  sizeof(code) - cut + PROGRAM_NAME_OVERLAP, false);
		assert_string_equal(found.name, "jit_train_step");
		assert_true(found.sure);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_bytecode), cmocka_unit_test(of_a_protocol_buffer),
		cmocka_unit_test(of_text),     cmocka_unit_test(of_any_length),
		cmocka_unit_test(in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
