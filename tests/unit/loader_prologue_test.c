/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "loader/elf/prologue.h"

#define CODE(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define ENDBR64	  0xf3, 0x0f, 0x1e, 0xfa

static const struct {
	const char *what;
	uint8_t code[48];
	size_t len;
	uint16_t skip;
	enum gp_insn insn, at_entry;
	const char *text; /* how it begins */
} x86_cases[] = {
	{"push rbp first", CODE(0x55, 0x48, 0x89, 0xe5), 0, GP_INSN_emulated, GP_INSN_emulated,
	 "push rbp"},
	{"push r15, with REX", CODE(0x41, 0x57, 0x41, 0x56), 0, GP_INSN_emulated, GP_INSN_emulated,
	 "push r15"},
	{"push of memory is stepped", CODE(0xff, 0x74, 0x24, 0x08, 0xc3), 0, GP_INSN_stepped,
	 GP_INSN_stepped, "push"},
	{"push of a constant is stepped", CODE(0x6a, 0x01, 0xc3), 0, GP_INSN_stepped,
	 GP_INSN_stepped, "push"},
	{"endbr64, then push", CODE(ENDBR64, 0x55, 0x48, 0x89, 0xe5), 4, GP_INSN_emulated,
	 GP_INSN_stepped, "push rbp"},
	{"endbr64, then push r12", CODE(ENDBR64, 0x41, 0x54, 0x55), 4, GP_INSN_emulated,
	 GP_INSN_stepped, "push r12"},
	{"endbr64, then nop5", CODE(ENDBR64, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3), 4, GP_INSN_nop5,
	 GP_INSN_stepped, "nop"},
	{"nop5 first", CODE(0x0f, 0x1f, 0x44, 0x00, 0x00, 0x55), 0, GP_INSN_nop5, GP_INSN_nop5,
	 "nop"},
	{"one-byte nop", CODE(0x90, 0x55), 0, GP_INSN_emulated, GP_INSN_emulated, "nop"},
	{"two-byte nop", CODE(0x66, 0x90, 0x55), 0, GP_INSN_emulated, GP_INSN_emulated, "nop"},
	{"another long nop is passed over", CODE(0x0f, 0x1f, 0x40, 0x00, 0x55), 4, GP_INSN_emulated,
	 GP_INSN_stepped, "push rbp"},
	{"ocl-icd clFinish: mov rax,mem; test; jne",
	 CODE(0x48, 0x8b, 0x05, 1, 2, 3, 0, 0x48, 0x85, 0xc0, 0x75, 0x14, 0x48, 0x85, 0xff, 0xc3),
	 10, GP_INSN_emulated, GP_INSN_stepped, "jne"},
	{"endbr64; mov rax,mem; test; je",
	 CODE(ENDBR64, 0x48, 0x8b, 0x05, 1, 2, 3, 0, 0x48, 0x85, 0xc0, 0x74, 0x10, 0xc3), 14,
	 GP_INSN_emulated, GP_INSN_stepped, "je"},
	{"ocl-icd clEnqueue: mov rax,mem; push",
	 CODE(0x48, 0x8b, 0x05, 1, 2, 3, 0, 0x53, 0x48, 0x83, 0xec, 0x08), 7, GP_INSN_emulated,
	 GP_INSN_stepped, "push rbx"},
	{"ncclCommInitRankConfig: movabs r10; push",
	 CODE(0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, 0x55, 0x48, 0x89, 0xe5), 10, GP_INSN_emulated,
	 GP_INSN_stepped, "push rbp"},
	{"sub rsp stays", CODE(0x48, 0x83, 0xec, 0x18, 0x55), 0, GP_INSN_stepped, GP_INSN_stepped,
	 "sub rsp, 0x18"},
	{"endbr64; sub rsp stays", CODE(ENDBR64, 0x48, 0x83, 0xec, 0x18, 0x55), 0, GP_INSN_stepped,
	 GP_INSN_stepped, "endbr64"},
	{"an argument is overwritten: xor edi,edi", CODE(0x31, 0xff, 0x55), 0, GP_INSN_stepped,
	 GP_INSN_stepped, "xor edi, edi"},
	{"part of one is: mov dl,1", CODE(0xb2, 0x01, 0x55), 0, GP_INSN_stepped, GP_INSN_stepped,
	 "mov dl"},
	{"r9d is an argument", CODE(0x45, 0x31, 0xc9, 0x55), 0, GP_INSN_stepped, GP_INSN_stepped,
	 "xor r9d, r9d"},
	{"implicitly: cdq", CODE(0x99, 0x55), 0, GP_INSN_stepped, GP_INSN_stepped, "cdq"},
	{"rax is free: xor eax,eax", CODE(0x31, 0xc0, 0x55), 2, GP_INSN_emulated, GP_INSN_stepped,
	 "push rbp"},
	{"an argument is copied: mov rax,rdi", CODE(0x48, 0x89, 0xf8, 0x53), 3, GP_INSN_emulated,
	 GP_INSN_stepped, "push rbx"},
	{"a store may be to the red zone", CODE(0x48, 0x89, 0x7c, 0x24, 0xf8, 0x55), 0,
	 GP_INSN_stepped, GP_INSN_stepped, "mov qword"},
	{"rep stos", CODE(0xf3, 0x48, 0xab, 0x55), 0, GP_INSN_stepped, GP_INSN_stepped,
	 "rep stosq"},
	{"syscall", CODE(0x0f, 0x05, 0x55), 0, GP_INSN_stepped, GP_INSN_stepped, "syscall"},
	{"ret ends the function", CODE(0x31, 0xc0, 0xc3, 0x55), 0, GP_INSN_stepped, GP_INSN_stepped,
	 "xor"},
	{"jmp first, as a thunk", CODE(0xe9, 1, 0, 0, 0), 0, GP_INSN_emulated, GP_INSN_emulated,
	 "jmp"},
	{"short jmp behind endbr64", CODE(ENDBR64, 0xeb, 0x10), 4, GP_INSN_emulated,
	 GP_INSN_stepped, "jmp"},
	{"indirect jmp is stepped", CODE(ENDBR64, 0xff, 0x25, 1, 2, 3, 0), 0, GP_INSN_stepped,
	 GP_INSN_stepped, "endbr64"},
	{"long jcc", CODE(0x48, 0x85, 0xc0, 0x0f, 0x84, 1, 2, 0, 0, 0xc3), 3, GP_INSN_emulated,
	 GP_INSN_stepped, "je"},
	{"call first", CODE(0xe8, 1, 0, 0, 0, 0xc3), 0, GP_INSN_emulated, GP_INSN_emulated, "call"},
	{"call later is not chosen", CODE(0x31, 0xc0, 0xe8, 1, 0, 0, 0, 0xc3), 0, GP_INSN_stepped,
	 GP_INSN_stepped, "xor eax, eax"},
	{"callw is not emulated", CODE(0x66, 0xe8, 1, 0, 0, 0, 0xc3), 0, GP_INSN_stepped,
	 GP_INSN_stepped, ""},
	/* 0: mov eax,1  5: push rbx  6: dec ecx  8: jne 5 -- a loop to the push */
	{"a branch to the place", CODE(0xb8, 1, 0, 0, 0, 0x53, 0xff, 0xc9, 0x75, 0xfb, 0xc3), 0,
	 GP_INSN_stepped, GP_INSN_stepped, "mov eax, 1"},
	/* 0: xor eax,eax  2: inc eax  4: push rbx  5: jmp 2 */
	{"a branch into what is skipped", CODE(0x31, 0xc0, 0xff, 0xc0, 0x53, 0xeb, 0xfb), 0,
	 GP_INSN_stepped, GP_INSN_stepped, "xor eax, eax"},
	/* 0: xor eax,eax  2: push rbx  3: jmp 0 */
	{"a branch to the entry is fine", CODE(0x31, 0xc0, 0x53, 0xeb, 0xfb), 2, GP_INSN_emulated,
	 GP_INSN_stepped, "push rbx"},
	/* the same far away */
	{"a long branch back", CODE(0x31, 0xc0, 0x53, 0x90, 0x90, 0xe9, 0xf8, 0xff, 0xff, 0xff), 0,
	 GP_INSN_stepped, GP_INSN_stepped, "xor eax, eax"},
	{"undecodable", CODE(0x06, 0x55), 0, GP_INSN_stepped, GP_INSN_stepped, ""},
	{"cut in the first instruction", CODE(0x48, 0x8b), 0, GP_INSN_stepped, GP_INSN_stepped, ""},
	{"cut behind harmless ones", CODE(0x31, 0xc0, 0x48), 0, GP_INSN_stepped, GP_INSN_stepped,
	 "xor"},
};

static void test_x86(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(x86_cases) / sizeof(x86_cases[0]); i++) {
		struct prologue at;

		prologue_choose(EM_X86_64, x86_cases[i].code, x86_cases[i].len, &at);
		if (at.skip != x86_cases[i].skip || at.insn != x86_cases[i].insn ||
		    at.insn_at_entry != x86_cases[i].at_entry || at.pushed ||
		    strncmp(at.text, x86_cases[i].text, strlen(x86_cases[i].text)))
			fail_msg("%s: +%d class %d, at entry %d, \"%s\"", x86_cases[i].what,
				 at.skip, at.insn, at.insn_at_entry, at.text);
	}
}

static void test_arm64(void **state)
{
	static const struct {
		uint32_t word;
		enum gp_insn insn;
	} cases[] = {
		{0xa9bf7bfd, GP_INSN_stepped},	/* stp x29, x30, [sp, #-16]! */
		{0xd503245f, GP_INSN_stepped},	/* bti c */
		{0x14000010, GP_INSN_emulated}, /* b */
		{0x54000080, GP_INSN_emulated}, /* b.eq */
	};
	struct prologue at;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		prologue_choose(EM_AARCH64, (const uint8_t *)&cases[i].word, 4, &at);
		assert_int_equal(at.skip, 0);
		assert_int_equal(at.insn, cases[i].insn);
		assert_int_equal(at.insn_at_entry, cases[i].insn);
	}
}

static void test_nothing_to_read(void **state)
{
	static const uint8_t push[] = {0x55};
	struct prologue at;

	(void)state;
	prologue_choose(EM_X86_64, push, 0, &at);
	assert_int_equal(at.skip, 0);
	assert_int_equal(at.insn, GP_INSN_stepped);
	prologue_choose(EM_S390, push, 1, &at);
	assert_int_equal(at.insn, GP_INSN_stepped);
	assert_string_equal(at.text, "");
}

/* Whatever the bytes, the place is inside them and an instruction's start that is not merely a
 * guess: decoding from there must give the class that was promised. */
static void test_random_bytes(void **state)
{
	uint8_t code[PROLOGUE_BYTES];
	struct prologue at, again;

	(void)state;
	srand(7);
	for (int round = 0; round < 3000; round++) {
		size_t len = (size_t)rand() % (sizeof(code) + 1);

		for (size_t i = 0; i < len; i++)
			code[i] = (uint8_t)rand();
		prologue_choose(round % 4 ? EM_X86_64 : EM_AARCH64, code, len, &at);
		assert_true(at.skip == 0 || at.skip < len);
		assert_int_equal(at.pushed, 0);
		if (!at.skip)
			continue;
		prologue_choose(EM_X86_64, code + at.skip, len - at.skip, &again);
		assert_int_equal(again.insn_at_entry, at.insn);
		assert_int_not_equal(at.insn, GP_INSN_stepped);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_nothing_to_read),
		cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
