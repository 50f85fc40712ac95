/* SPDX-License-Identifier: Apache-2.0 */
/* Code of programs: nothing behind it is read, a name is a short text of few characters, and it
 * does not matter how the code is cut. */
#include <assert.h>

#include "tests/fuzz/fuzz.h"
#include "userspace/identity/program_name.h"
#include "userspace/identity/program_object.h"

#define MEMORY 0x100000ull /* the same bytes, as the memory of a process */

struct memory {
	const uint8_t *data;
	size_t size;
};

static size_t memory_read(void *ctx, uint64_t address, void *to, size_t bytes)
{
	const struct memory *m = ctx;
	uint64_t at = address - MEMORY;

	if (address < MEMORY || at >= m->size)
		return 0;
	bytes = bytes < m->size - at ? bytes : (size_t)(m->size - at);
	memcpy(to, m->data + at, bytes);
	return bytes;
}

static void name_check(const struct program_name *n)
{
	size_t len = strnlen(n->name, sizeof(n->name));

	assert(len < sizeof(n->name));
	for (size_t i = 0; i < len; i++)
		assert(n->name[i] > ' ' && n->name[i] < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct program_name whole = {0}, cut = {0};
	char *code = malloc(size + !size);
	size_t at;

	assert(code);
	memcpy(code, data, size);
	program_name_scan(&whole, code, size, true);
	name_check(&whole);
	at = size / 2;
	if (size >= 4 && at > PROGRAM_NAME_OVERLAP && !memcmp(code, "ML\xefR", 4)) {
		program_name_scan(&cut, code, at, true);
		program_name_scan(&cut, code + at - PROGRAM_NAME_OVERLAP,
				  size - at + PROGRAM_NAME_OVERLAP, false);
		name_check(&cut);
		assert(!whole.sure || (cut.sure && !strcmp(whole.name, cut.name)));
	}
	for (int more = 0; more < 2; more++) { /* it is longer than what is here, by much */
		struct program_name cached = {0};

		program_name_cached(&cached, code, size, more ? size + (1ull << 40) : size);
		name_check(&cached);
		assert(cached.sure);
	}
	free(code);
	if (!program_object_scan(memory_read, &(struct memory){data, size}, MEMORY, &whole))
		name_check(&whole);
	return 0;
}
