/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <unistd.h>

#include "loader/elf/elf_symbol.h"

/* A real library: what the dynamic linker says is the truth. */

static uint64_t offset_of_address(uint64_t address, char *path)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t from, to, offset;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &from, &to, &offset, path) == 4 &&
		    address >= from && address < to) {
			fclose(maps);
			return offset + (address - from);
		}
	fclose(maps);
	fail_msg("no mapping of %lx", address);
	return 0;
}

static void test_real_library(void **state)
{
	static const char *const names[] = {"qsort", "fopen", "getenv", "strtol"};
	struct elf_want want = {.prefix = false};
	struct elf_found *found;
	struct elf_file *ef;
	char path[256];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t offset = offset_of_address((uint64_t)dlsym(RTLD_NEXT, names[i]), path);
		int fd = open(path, O_RDONLY | O_CLOEXEC), n;
		bool same = false;

		assert_true(fd >= 0);
		assert_int_equal(elf_file_open(&ef, fd), 0);
		want.name = names[i];
		n = elf_symbols_find(ef, &want, 1, 10, &found);
		assert_true(n >= 1);
		for (int j = 0; j < n; j++)
			same = same || found[j].offset == offset;
		assert_true(same);
		free(found);
		want.name = "no_such_function_anywhere";
		assert_int_equal(elf_symbols_find(ef, &want, 1, 10, &found), 0);
		elf_file_close(ef);
		close(fd);
	}
}

/* Functions of this program, found through .symtab, among them one that nothing exports. */
static __attribute__((noinline)) int private_function(int n)
{
	asm volatile("" : "+r"(n));
	return n;
}

static void test_this_program(void **state)
{
	static const struct elf_want want = {.name = "private_function"};
	struct elf_found *found;
	struct elf_file *ef;
	char path[256];
	uint64_t offset;
	int fd;

	(void)state;
	assert_int_equal(private_function(3), 3);
	offset = offset_of_address((uint64_t)private_function, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(&ef, fd), 0);
	assert_int_equal(elf_symbols_find(ef, &want, 1, 10, &found), 1);
	assert_int_equal(found[0].offset, offset);
	assert_int_not_equal(found[0].size, 0);
	free(found);
	elf_file_close(ef);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_library),
		cmocka_unit_test(test_this_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
