/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the code of programs, and of programs that lie in memory as objects. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/identity/program_name.h"
#include "userspace/identity/program_object.h"

#define MLIR "ML\xefR\rMLIR23.0.0"

/* With the terminator that the compiler puts behind it. */
#define LOOK(code) look(code, sizeof(code))

static struct program_name found;

static const char *look(const char *code, size_t len)
{
	memset(&found, 0, sizeof(found));
	program_name_scan(&found, code, len, true);
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
		program_name_scan(&found, code, cut, true);
		program_name_scan(&found, code + cut - PROGRAM_NAME_OVERLAP,
				  sizeof(code) - cut + PROGRAM_NAME_OVERLAP, false);
		assert_string_equal(found.name, "jit_train_step");
		assert_true(found.sure);
	}
}

struct code {
	const char *begin, *end; /* its first and last bytes; zeros are between */
	size_t nbegin, nend, present;
	uint64_t bytes;
};

static size_t code_read(void *ctx, uint64_t address, void *to, size_t bytes)
{
	const struct code *c = ctx;
	uint64_t end = c->bytes - c->nend;

	bytes = address >= c->present	       ? 0
		: bytes < c->present - address ? bytes
					       : c->present - address;
	memset(to, 0, bytes);
	for (size_t i = 0; i < bytes && address + i < c->nbegin; i++)
		((char *)to)[i] = c->begin[address + i];
	for (size_t i = address < end ? end - address : 0; i < bytes; i++)
		((char *)to)[i] = c->end[address + i - end];
	return bytes;
}

static void read_code(const char *begin, size_t nbegin, const char *end, size_t nend,
		      uint64_t bytes, size_t present)
{
	struct code c = {begin, end, nbegin, nend, present, bytes};

	assert_int_equal(program_code_scan(code_read, &c, 0, bytes, false, &found), 0);
	assert_string_equal(found.name, "jit_f");
}

/* Of a program that is longer than what is read, no gradient found is not that there is none. */
static void of_long_code(void **state)
{
	static const char head[] = MLIR "num_replicas\0jit_f\0jit(f)/mul",
			  grad[] = "jit(f)/transpose(jvp(f))/mul";
	const uint64_t most = PROGRAM_CODE_MAX, three = 3 * PROGRAM_CODE_PIECE;

	(void)state;
	read_code(head, sizeof(head), "", 1, three, three);
	assert_true(found.ops_named && !found.gradient);
	read_code(head, sizeof(head), "", 1, three, three - 1); /* the rest cannot be read */
	assert_false(found.ops_named || found.gradient);
	read_code(head, sizeof(head), grad, sizeof(grad), three, three);
	assert_true(found.ops_named && found.gradient);
	read_code(head, sizeof(head), grad, sizeof(grad), most, most);
	assert_true(found.ops_named && found.gradient);
	read_code(head, sizeof(head), grad, sizeof(grad), most + 4096, most + 4096);
	assert_false(found.ops_named || found.gradient);
}

/* Names of operations, also where one lies over the end of a piece. */
static void of_operations(void **state)
{
	static const char code[] = MLIR
		"num_replicas\0jit_f\0jit(f)/jit(main)/transpose(jvp(f))/mul\0";

	(void)state;
	LOOK(MLIR "num_replicas\0jit_f\0jit(f)/jit(main)/jvp(f)/mul");
	assert_true(found.ops_named && !found.gradient);
	LOOK(MLIR "num_replicas\0jit_f\0mul");
	assert_false(found.ops_named || found.gradient);
	assert_string_equal(LOOK(code), "jit_f");
	assert_true(found.ops_named && found.gradient);
	LOOK("\x0a\x05jit_f\x12 gradient_tape/model/dense");
	assert_true(found.ops_named && found.gradient);
}

/* ---- objects --------------------------------------------------------------------------------- */

#define MEMORY 0x100000ull

static uint64_t memory[4096];

static size_t memory_read(void *ctx, uint64_t address, void *to, size_t bytes)
{
	uint64_t end = MEMORY + sizeof(memory);

	(void)ctx;
	if (address < MEMORY || address >= end)
		return 0;
	bytes = bytes < end - address ? bytes : (size_t)(end - address);
	memcpy(to, (char *)memory + (address - MEMORY), bytes);
	return bytes;
}

static uint64_t address(size_t word)
{
	return MEMORY + 8 * word;
}

static void text_put(size_t word, const char *text)
{
	memcpy(&memory[word], text, strlen(text) + 1);
}

/* An object at a word, whose table, type_info and name lie at another. */
static void object_put(size_t word, size_t type, const char *name)
{
	memory[word] = address(type + 1);
	memory[type] = address(type + 2);
	memory[type + 3] = address(type + 4);
	text_put(type + 4, name);
}

static void vector_put(size_t word, size_t begin, size_t count)
{
	memory[word] = address(begin);
	memory[word + 1] = memory[word + 2] = address(begin + count);
}

/* As jaxlib 0.10.2 lays them out, with less between: executables, a module, two computations of an
 * instruction. */
static void objects_put(const char *operation)
{
	memset(memory, 0, sizeof(memory));
	object_put(100, 1000, "N3xla4ifrt20PjRtLoadedExecutableE");
	memory[102] = address(200);
	object_put(200, 1020, "N3xla23PjRtCpuLoadedExecutableE");
	memory[203] = address(300);
	object_put(300, 1040, "N3xla17PjRtCpuExecutableE");
	memory[310] = address(400);
	object_put(400, 1060, "N3xla3cpu13CpuExecutableE");
	memory[401] = address(450);
	object_put(450, 1080, "N3xla9HloModuleE");
	memory[451] = address(480);
	memory[452] = 6;
	text_put(480, "jit_go");
	vector_put(458, 500, 2);
	memory[500] = address(510);
	memory[501] = address(530);
	vector_put(514, 550, 4);
	vector_put(534, 560, 2);
	memory[553] = address(600);
	memory[561] = address(700);
	object_put(600, 1100, "N3xla14HloInstructionE");
	object_put(700, 1120, "N3xla17HloDotInstructionE");
	memory[621] = address(650);
	memory[721] = address(750);
	object_put(650, 1140, "N3xla10OpMetadataE");
	memory[750] = memory[650];
	memory[657] = address(660) | 3;
	memory[660] = address(664);
	memory[661] = 10;
	text_put(664, "jit(go)/mu");
	memory[757] = address(760);
	memory[760] = address(764);
	memory[761] = strlen(operation);
	text_put(764, operation);
}

static int objects_look(void)
{
	return program_object_scan(memory_read, NULL, address(100), &found);
}

static void of_objects(void **state)
{
	(void)state;
	objects_put("jit(go)/transpose(jvp())/dot_general");
	assert_int_equal(objects_look(), 0);
	assert_string_equal(found.name, "jit_go");
	assert_true(found.ops_named && found.gradient);
	objects_put("jit(go)/jvp()/dot_general");
	assert_int_equal(objects_look(), 0);
	assert_true(found.ops_named && !found.gradient);
	memory[452] = 1ull << 40; /* no text of such a length */
	assert_int_equal(objects_look(), -ENOENT);
	objects_put("x");
	memory[310] = address(5000); /* the chain ends */
	assert_int_equal(objects_look(), -ENOENT);
}

/* Whatever is in one of the words, nothing but a bounded number of reads comes of it. */
static void of_spoilt_objects(void **state)
{
	static const uint64_t values[] = {
		0, 8, MEMORY, ~0ull, 1ull << 46, MEMORY + 8 * 450, MEMORY + 8 * 4095};

	(void)state;
	for (size_t word = 100; word < 1160; word++) {
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			objects_put("jit(go)/transpose(jvp())/dot_general");
			memory[word] = values[i];
			if (!objects_look())
				assert_in_range(strlen(found.name), 1, PROGRAM_NAME_MAX - 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_bytecode),	 cmocka_unit_test(of_a_protocol_buffer),
		cmocka_unit_test(of_text),	 cmocka_unit_test(of_any_length),
		cmocka_unit_test(in_pieces),	 cmocka_unit_test(of_a_cached_one),
		cmocka_unit_test(of_operations), cmocka_unit_test(of_long_code),
		cmocka_unit_test(of_objects),	 cmocka_unit_test(of_spoilt_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
