/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt_named.c - recognises a function of the PJRT table by its code.
 *
 * Each of these functions begins by checking the size of its arguments, and passes the name of
 * their type to the check (XLA's pjrt_c_api_helpers.h, ActualStructSizeIsGreaterOrEqual()):
 *
 * 	mov (%rdi), %rcx; lea "PJRT_Client_Compile_Args"(%rip), %rdi
 *
 * Some lack "_Args". In released plugins, 0.58 to 0.116, this is within the first 42 bytes. */
#include <elf.h>
#include <string.h>

#include "loader/elf/elf_private.h"
#include "loader/site/pjrt.h"

#define CODE_BYTES 96
#define NAME_BYTES 96
#define LEA_BYTES  7
#define TYPE_END   "_Args"

/* Finds the name of the function in its symbol. Returns its length; 0: no such symbol. */
static size_t pjrt_named_name(const char *symbol, const char **ret)
{
	const char *name = NULL;
	size_t len;

	for (const char *at = symbol; (at = strstr(at, "PJRT_")); at++)
		name = at;
	len = name ? strlen(name) : 0;
	if (len <= strlen(TYPE_END) || len >= NAME_BYTES ||
	    strcmp(name + len - strlen(TYPE_END), TYPE_END))
		return 0;
	*ret = name;
	return len - strlen(TYPE_END);
}

static bool pjrt_named_name_text_is(const struct elf_file *ef, uint64_t address, const char *name,
				    size_t len)
{
	char text[NAME_BYTES + sizeof(TYPE_END)];
	uint64_t offset;

	if (!elf_offset_of(ef, address, false, &offset) ||
	    elf_read_exactly(ef, offset, text, len + sizeof(TYPE_END)))
		return false;
	return !memcmp(text, name, len) &&
	       (!text[len] || !memcmp(text + len, TYPE_END, strlen(TYPE_END)));
}

/* Returns the address that the instruction at i loads; 0: none. */
static uint64_t pjrt_named_taken_x86(const uint8_t *code, size_t i, size_t len, uint64_t address)
{
	int32_t disp;

	if (len - i < LEA_BYTES || (code[i] & 0xfb) != 0x48 || code[i + 1] != 0x8d ||
	    (code[i + 2] & 0xc7) != 0x05)
		return 0;
	memcpy(&disp, code + i + 3, sizeof(disp));
	return address + i + LEA_BYTES + (uint64_t)(int64_t)disp;
}

/* The same on arm64: adrp xN, page; ... add xM, xN, low. */
static uint64_t pjrt_named_taken_arm64(const uint8_t *code, size_t i, size_t len, uint64_t address)
{
	uint32_t adrp, add;
	int64_t pages;

	if (i % 4 || len - i < 2 * sizeof(adrp))
		return 0;
	memcpy(&adrp, code + i, sizeof(adrp));
	if ((adrp & 0x9f000000) != 0x90000000)
		return 0;
	for (size_t j = i + 4; j + sizeof(add) <= len; j += 4) {
		memcpy(&add, code + j, sizeof(add));
		if ((add & 0xffc00000) != 0x91000000 || (add >> 5 & 31) != (adrp & 31))
			continue;
		pages = (int32_t)((adrp >> 5 & 0x7ffff) << 13 | (adrp >> 29 & 3) << 11) >> 11;
		return ((address + i) & ~0xfffull) + (uint64_t)pages * 4096 + (add >> 10 & 0xfff);
	}
	return 0;
}

/* Returns true when another function begins within len bytes: a name after that belongs to it. */
static bool pjrt_named_begins_within(const struct elf_file *ef, uint64_t offset, size_t len)
{
	for (size_t i = 1; i <= len; i++)
		if (!elf_function_at(ef, offset + i))
			return true;
	return false;
}

bool pjrt_function_named(const struct elf_file *ef, uint64_t offset, const char *symbol)
{
	uint8_t code[CODE_BYTES];
	uint64_t address = 0, taken;
	const char *name;
	size_t len = pjrt_named_name(symbol, &name);
	int n = elf_file_read(ef, offset, code, sizeof(code));

	if (!len || n <= 0 || !elf_address_of(ef, offset, &address))
		return false;
	for (size_t i = 0; i < (size_t)n; i++) {
		taken = ef->machine == EM_X86_64 ? pjrt_named_taken_x86(code, i, (size_t)n, address)
			: ef->machine == EM_AARCH64
				? pjrt_named_taken_arm64(code, i, (size_t)n, address)
				: 0;
		if (taken && pjrt_named_name_text_is(ef, taken, name, len))
			return !pjrt_named_begins_within(ef, offset, i);
	}
	return false;
}
