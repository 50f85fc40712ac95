/* SPDX-License-Identifier: Apache-2.0 */
/* An entry of the symbol cache: raw bytes, or right in all but the entries. */
#include "loader/site/symbol_cache.c"

#include "tests/fuzz/fuzz.h"

#define WANTS	  3
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct cache_head want = {
		.magic = CACHE_MAGIC, .dev = 1, .ino = 2, .size = 1 << 20, .wants = 3};
	struct cache_head head = want;
	struct elf_found *found = NULL;
	int n;

	if (len && data[0] & 1) {
		data++;
		len--;
		head.count = len / sizeof(struct cache_entry);
		head.sum = hash_bytes(HASH_START, data, head.count * sizeof(struct cache_entry));
		fuzz_file_fill(&file, &head, sizeof(head));
		REQUIRE(pwrite(file.fd, data, len, sizeof(head)) == (ssize_t)len);
	} else {
		fuzz_file_fill(&file, data, len);
	}
	lseek(file.fd, 0, SEEK_SET);
	n = symbol_cache_entry_read(file.fd, &want, WANTS, FOUND_MAX, &found);
	REQUIRE(n <= FOUND_MAX);
	for (int i = 0; i < n; i++)
		REQUIRE(found[i].want < WANTS && found[i].offset < want.size);
	free(found);
	return 0;
}
