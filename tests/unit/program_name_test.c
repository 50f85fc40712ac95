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
		LOOK(MLIR
		     "mhlo.num_partitions\0mhlo.num_replicas\0jit_train_step\0result[0]\0main"),
		"jit_train_step");
	assert_true(found.sure);
	assert_string_equal(LOOK(MLIR "x\0mhlo.num_replicas\0train.step-2\0jit_other"),
			    "train.step-2");
	/* no name of the module there: what looks like one */
	assert_string_equal(LOOK(MLIR "mhlo.num_replicas\0result[0]\0jit_late\0jit_later"),
			    "jit_late");
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
	assert_string_equal(
		LOOK("module @jit_train_step attributes {mhlo.num_partitions = 1 : i32} {"),
		"jit_train_step");
	assert_string_equal(LOOK("#loc1\nmodule @jit_f {"), "jit_f");
	assert_string_equal(LOOK("module {"), "");
	assert_string_equal(LOOK(""), "");
}

/* A compiled program, as JAX's cache has it: three messages around the module. */
#define MODULE	     "\x0a\x0ejit_train_step\x12\x07main.19\x1a\x90\x01\x0a\x0aregion_2.7\x12\x3d"
#define CACHED	     "\x0a\xe0\x07\x0a\xd2\x06\x0a\xb3\x05" MODULE
#define CACHED_BYTES 1000

static const char *cached(const char *code, size_t len, uint64_t bytes)
{
	char *held = malloc(len + !len); /* nothing behind it may be read */

	assert_non_null(held);
	memcpy(held, code, len);
	memset(&found, 0, sizeof(found));
	program_name_cached(&found, held, len, bytes);
	free(held);
	return found.name;
}

static void of_a_cached_one(void **state)
{
	static const char *const others[] = {
		"\x0a\x05TPUv4\x12\x04"
		"abcd\x1a\x02\x08\x01", /* texts, and no computation behind them */
		"\x0a\x05TPUv4\x10\x01\x1a\x05\x0a\x03"
		"abc",
		"\x0a\x12\x0a\x10\x0a\x0e\x0a\x0c\x0a\x05jit_f\x12\x01m\x1a\x03\x0a\x01"
		"c", /* one around too many */
		"\x0a\x05j\0t_f\x12\x01m\x1a\x03\x0a\x01"
		"c",
		"\x0a\xff\xff\xff\xff\x0f\x0a\x05jit_f\x12\x01m\x1a\x03\x0a\x01"
		"c", /* longer than all */
		"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x0a\x05jit_f\x12\x01m\x1a\x03\x0a\x01"
		"c",
		"\x0a\x05jit_f\x12\x01m\x1a\xff\xff\x7f\x0a\x01"
		"c", /* a computation longer than all */
		"\x12\x05jit_f",
		"\x7f"
		"ELF",
		"",
	};
	char code[CACHED_BYTES] = CACHED;

	(void)state;
	assert_string_equal(cached(code, sizeof(code), sizeof(code)), "jit_train_step");
	assert_true(found.sure);
	/* Its beginning is enough; of less no name is made. */
	for (size_t len = 0; len < sizeof(CACHED); len++) {
		cached(code, len, sizeof(code));
		assert_string_equal(found.name, len < sizeof(CACHED) - 3 ? "" : "jit_train_step");
		assert_true(found.sure);
	}
	/* What says that it is longer than the whole is no such message. */
	assert_string_equal(cached(code, sizeof(CACHED) - 1, 900), "");
	assert_string_equal(cached(MODULE, sizeof(MODULE) - 1, 1000), "jit_train_step");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_string_equal(cached(others[i], i == 3 ? 15 : strlen(others[i]), 64), "");
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
		assert_int_equal(strlen(look(code, sizeof(code))),
				 len < PROGRAM_NAME_MAX ? len : 0);
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
		cmocka_unit_test(in_pieces),   cmocka_unit_test(of_a_cached_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
