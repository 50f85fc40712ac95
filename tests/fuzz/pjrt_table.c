/* SPDX-License-Identifier: Apache-2.0 */
/* A table of functions in the memory of a process. */
#include "loader/site/pjrt.h"
#include "tests/fuzz/fuzz.h"

#define CODE_START 0x10000
#define CODE_BYTES 0x10000
#define CODE_AT	   0x1000 /* in the file */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

static bool place(void *ctx, uint64_t address, uint64_t *ret)
{
	(void)ctx;
	if (address < CODE_START || address - CODE_START >= CODE_BYTES)
		return false;
	*ret = address - CODE_START + CODE_AT;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct pjrt_slots slots;
	struct pjrt_table t = {0};
	size_t here = 0, known = 0;

	if (len < PJRT_HEAD_BYTES)
		return 0;
	memcpy(t.slot, data, len < sizeof(t.slot) ? len : sizeof(t.slot));
	if (!pjrt_head_parse(data, &t))
		REQUIRE(pjrt_head_check(&t));
	if (pjrt_table_check(&t, place, NULL, &slots, &here))
		return 0;
	REQUIRE(!pjrt_head_check(&t));
	REQUIRE(slots.size == t.size && slots.size >= PJRT_SIZE_MIN &&
		slots.size <= PJRT_SIZE_MAX && slots.size % 8 == 0);
	REQUIRE(slots.minor == t.minor && here > 60 && here <= slots.size / 8);
	for (size_t i = 0; i < PJRT_SLOTS_MAX; i++) {
		known += slots.offset[i] != 0;
		REQUIRE(!slots.offset[i] || (i >= PJRT_HEAD_BYTES / 8 && i < slots.size / 8 &&
					     slots.offset[i] == t.slot[i] - CODE_START + CODE_AT));
	}
	REQUIRE(known == here);
	return 0;
}
