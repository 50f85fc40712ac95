/* SPDX-License-Identifier: Apache-2.0 */
/* A library of somebody else: tables, hash chains, names, code at the functions found. */
#include "loader/elf/elf_symbol.h"
#include "loader/elf/prologue.h"
#include "tests/fuzz/fuzz.h"

#define FOUND_MAX 64

static struct fuzz_file file;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	fuzz_file_open(&file);
	return 0;
}

static void look_at(struct elf_file *ef, const struct elf_found *found)
{
	uint8_t code[PROLOGUE_BYTES];
	struct prologue at;
	int n = elf_file_read(ef, found->offset, code, sizeof(code));

	if (n > 0)
		prologue_choose(elf_file_machine(ef), code, (size_t)n, &at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct elf_want wants[] = {
		{"alpha", false}, {"beta", false}, {"_Z", true}, {"a", true}, {"gamma_v2", false}};
	struct elf_found *found = NULL;
	struct elf_file *ef;
	int n;

	fuzz_file_fill(&file, data, len);
	if (elf_file_open(&ef, file.fd))
		return 0;
	n = elf_symbols_find(ef, wants, sizeof(wants) / sizeof(wants[0]), FOUND_MAX, &found);
	for (int i = 0; i < n; i++) {
		REQUIRE(found[i].want < sizeof(wants) / sizeof(wants[0]));
		REQUIRE(found[i].offset < len);
		look_at(ef, &found[i]);
	}
	free(found);
	elf_file_close(ef);
	return 0;
}
