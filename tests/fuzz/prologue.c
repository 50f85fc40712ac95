/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a function: where a probe may sit. */
#include <elf.h>

#include "loader/elf/prologue.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const int machines[] = {EM_X86_64, EM_AARCH64, EM_RISCV};
	struct prologue at;

	if (!len)
		return 0;
	prologue_choose(machines[data[0] % 3], data + 1, len - 1, &at);
	REQUIRE(at.skip < PROLOGUE_BYTES && (!at.skip || at.skip < len - 1));
	REQUIRE(at.insn <= GP_INSN_stepped && at.insn_at_entry <= GP_INSN_stepped);
	REQUIRE(fuzz_printable(at.text, strnlen(at.text, sizeof(at.text)), false));
	return 0;
}
