/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of many symbols, whose names lie anywhere in strings of more than one piece. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/elf/elf_private.h"

#define SYMBOLS 20011
#define STRIDE                                                                                     \
	61 /* bytes from name to name: some lie across the edge of a piece, wherever it is         \
	    */
#define STRINGS	 (SYMBOLS * STRIDE)
#define FUNC	 ELF64_ST_INFO(STB_LOCAL, STT_FUNC)
#define CODE	 0x1000
#define READS_OK 40 /* a read a name would be 20000 */

struct library {
	struct elf_file ef;
	Elf64_Sym symbols[SYMBOLS];
	char strings[STRINGS];
	int named[SYMBOLS]; /* how often */
};

static char *name_at(struct library *lib, uint32_t index)
{
	return lib->strings + lib->symbols[index].st_name;
}

/* The first symbol's name is the last. */
static struct library *library_make(void)
{
	struct library *lib = calloc(1, sizeof(*lib));

	assert_non_null(lib);
	for (uint32_t i = 0; i < SYMBOLS; i++) {
		lib->symbols[i] = (Elf64_Sym){.st_name = (SYMBOLS - 1 - i) * STRIDE,
					      .st_info = FUNC,
					      .st_shndx = 1,
					      .st_value = CODE + i,
					      .st_size = i + 1};
		snprintf(name_at(lib, i), STRIDE,
			 "_ZN4lots2of9functions%06uEvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv", i);
	}
	lib->ef.segments[0] = (struct elf_segment){
		.vaddr = CODE, .size = SYMBOLS, .executable = true};
	lib->ef.segments_count = 1;
	lib->ef.full = (struct elf_table){.symbols = 0,
					  .count = SYMBOLS,
					  .strings = sizeof(lib->symbols),
					  .strings_size = sizeof(lib->strings)};
	lib->ef.reads = &lib->ef.reads_done;
	lib->ef.size = sizeof(lib->symbols) + sizeof(lib->strings);
	lib->ef.fd = memfd_create("library", MFD_CLOEXEC);
	assert_true(lib->ef.fd >= 0);
	return lib;
}

static void library_write(struct library *lib)
{
	assert_int_equal(pwrite(lib->ef.fd, lib->symbols, sizeof(lib->symbols), 0),
			 sizeof(lib->symbols));
	assert_int_equal(
		pwrite(lib->ef.fd, lib->strings, sizeof(lib->strings), sizeof(lib->symbols)),
		sizeof(lib->strings));
}

static void library_free(struct library *lib)
{
	close(lib->ef.fd);
	free(lib);
}

static int name_check(void *ctx, uint32_t index, const char *name, size_t len)
{
	struct library *lib = ctx;
	size_t left = STRINGS - lib->symbols[index].st_name;

	assert_true(index < SYMBOLS);
	assert_int_equal(len, left < ELF_NAME_MAX ? left : ELF_NAME_MAX);
	assert_memory_equal(name, name_at(lib, index), len);
	lib->named[index]++;
	return 0;
}

static void test_each_once(void **state)
{
	struct library *lib = library_make();

	(void)state;
	library_write(lib);
	assert_int_equal(elf_names_scan(&lib->ef, &lib->ef.full, name_check, lib), 0);
	for (uint32_t i = 0; i < SYMBOLS; i++)
		assert_int_equal(lib->named[i], 1);
	assert_true(lib->ef.reads_done < READS_OK);
	library_free(lib);
}

static void test_some_are_none(void **state)
{
	struct library *lib = library_make();

	(void)state;
	lib->symbols[1].st_shndx = SHN_UNDEF;
	lib->symbols[2].st_value = 0;
	lib->symbols[3].st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
	lib->symbols[4].st_value = CODE + SYMBOLS; /* no code */
	lib->symbols[5].st_name = STRINGS;	   /* no name */
	lib->symbols[6].st_name = UINT32_MAX;
	lib->symbols[7].st_name = STRINGS - 1;
	library_write(lib);
	assert_int_equal(elf_names_scan(&lib->ef, &lib->ef.full, name_check, lib), 0);
	for (uint32_t i = 0; i < SYMBOLS; i++)
		assert_int_equal(lib->named[i], i == 0 || i > 6);
	library_free(lib);
}

static int name_third(void *ctx, uint32_t index, const char *name, size_t len)
{
	int *calls = ctx;

	(void)index;
	(void)name;
	(void)len;
	return ++*calls == 3 ? -E2BIG : 0;
}

static void test_ends_early(void **state)
{
	struct library *lib = library_make();
	int calls = 0;

	(void)state;
	library_write(lib);
	assert_int_equal(elf_names_scan(&lib->ef, &lib->ef.full, name_third, &calls), -E2BIG);
	assert_int_equal(calls, 3);
	assert_int_equal(ftruncate(lib->ef.fd, sizeof(lib->symbols) + STRINGS / 2), 0);
	assert_int_equal(elf_names_scan(&lib->ef, &lib->ef.full, name_check, lib), -EBADMSG);
	assert_int_equal(ftruncate(lib->ef.fd, 100), 0);
	assert_int_equal(elf_names_scan(&lib->ef, &lib->ef.full, name_check, lib), -EBADMSG);
	library_free(lib);
}

/* ---- what is found --------------------------------------------------------------------------- */

static int find(struct library *lib, const struct elf_want *wants, size_t n, struct elf_found **ret)
{
	int count = elf_symbols_find(&lib->ef, wants, n, 64, ret);

	assert_true(lib->ef.reads_done < 2 * READS_OK);
	lib->ef.reads_done = 0;
	return count;
}

/* Names of one length have the same 8 bytes there, or others; a short one makes them few. */
static void test_wants(void **state)
{
	static const struct elf_want wants[] = {
		{"_ZN4lots2of9functions000000Evvvvvvvvvvvvvvvvvvvvvvvvvvvvvv", false},
		{"_ZN4lots2of9functions01234", true},
		{"_ZN4lots2of9functions020010Evvvvvvvvvvvvvvvvvvvvvvvvvvvvvv", false},
		{"_ZN4lots2of9functions02001", false}, /* only a part of one */
		{"_Z", false},
		{"x", false},
	};
	struct library *lib = library_make();
	struct elf_found *found;

	(void)state;
	strcpy(name_at(lib, 77), "x");
	strcpy(name_at(lib, 78), "_Z@@V2");
	library_write(lib);
	for (size_t n = 4; n <= 6; n++) {
		assert_int_equal(find(lib, wants, n, &found), 8 + n);
		assert_int_equal(found[0].want, 0);
		assert_int_equal(found[0].offset, 0);
		for (size_t i = 0; i < 10; i++) {
			assert_int_equal(found[1 + i].want, 1);
			assert_int_equal(found[1 + i].offset, 12340 + i);
			assert_int_equal(found[1 + i].size, 12341 + i);
		}
		assert_int_equal(found[11].want, 2);
		assert_int_equal(found[11].offset, 20010);
		if (n > 4)
			assert_int_equal(found[12].offset, 78);
		if (n > 5)
			assert_int_equal(found[13].offset, 77);
		free(found);
	}
	library_free(lib);
}

/* Of symbols that say the same the first one's size is told, wherever its name lies. */
static void test_same_twice(void **state)
{
	static const struct elf_want want = {"twice", false};
	struct library *lib = library_make();
	struct elf_found *found;

	(void)state;
	for (uint32_t i = 100; i < SYMBOLS; i += 6000) {
		strcpy(name_at(lib, i), "twice");
		lib->symbols[i].st_value = CODE + 5;
	}
	library_write(lib);
	assert_int_equal(find(lib, &want, 1, &found), 1);
	assert_int_equal(found->offset, 5);
	assert_int_equal(found->size, 101);
	free(found);
	library_free(lib);
}

/* ---- a file that does not hold still --------------------------------------------------------- */

struct writer {
	struct library *lib;
	atomic_bool over;
};

static void *write_on(void *arg)
{
	struct writer *w = arg;
	Elf64_Sym *other = malloc(sizeof(w->lib->symbols));

	assert_non_null(other);
	memcpy(other, w->lib->symbols, sizeof(w->lib->symbols));
	for (uint32_t round = 0; !w->over; round++) {
		for (uint32_t i = 0; i < SYMBOLS; i++)
			other[i].st_name = round % 2 ? i % 50 : STRINGS - 1 - i % 50;
		(void)!pwrite(w->lib->ef.fd, other, sizeof(w->lib->symbols), 0);
	}
	free(other);
	return NULL;
}

static int name_read(void *ctx, uint32_t index, const char *name, size_t len)
{
	size_t *sum = ctx;

	assert_true(index < SYMBOLS && len && len <= ELF_NAME_MAX);
	*sum += (size_t)(name[0] + name[len - 1]);
	return 0;
}

static void test_changes_meanwhile(void **state)
{
	struct library *lib = library_make();
	struct writer w = {.lib = lib};
	pthread_t thread;
	size_t sum = 0;

	(void)state;
	library_write(lib);
	assert_int_equal(pthread_create(&thread, NULL, write_on, &w), 0);
	for (int i = 0; i < 300; i++) {
		int err = elf_names_scan(&lib->ef, &lib->ef.full, name_read, &sum);

		assert_true(!err || err == -EBADMSG);
	}
	w.over = true;
	pthread_join(thread, NULL);
	library_free(lib);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),  cmocka_unit_test(test_some_are_none),
		cmocka_unit_test(test_ends_early), cmocka_unit_test(test_wants),
		cmocka_unit_test(test_same_twice), cmocka_unit_test(test_changes_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
