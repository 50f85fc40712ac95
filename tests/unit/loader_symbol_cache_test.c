/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/elf/elf_symbol.h"

/* This program is the library; a copy of it, as it is to be touched. */
void symbol_cache_test_one(void);
void symbol_cache_test_two(void);

__attribute__((noinline)) void symbol_cache_test_one(void)
{
	asm volatile("");
}

__attribute__((noinline)) void symbol_cache_test_two(void)
{
	asm volatile("nop");
}

static char root[] = "/tmp/gp-cache-XXXXXX";
static char dir[64], library[64];

static const struct elf_want wants[] = {{"symbol_cache_test_one", false},
					{"symbol_cache_test_", true},
					{"symbol_cache_test_none", false}};
#define WANTS (sizeof(wants) / sizeof(wants[0]))

static int find(int flags, size_t n, size_t max, struct elf_found **ret)
{
	int fd = open(library, flags | O_CLOEXEC), count;

	assert_true(fd >= 0);
	*ret = NULL;
	count = symbol_cache_find(dir, fd, wants, n, max, ret);
	close(fd);
	return count;
}

/* Nothing can be read through such a descriptor, so an answer can only be a remembered one. */
static int find_remembered(size_t n, size_t max, struct elf_found **ret)
{
	return find(O_WRONLY, n, max, ret);
}

static bool is_remembered(void)
{
	struct elf_found *found;
	int n = find_remembered(WANTS, 10, &found);

	free(found);
	return n == 3;
}

static void remember(void)
{
	struct elf_found *found;

	assert_int_equal(find(O_RDONLY, WANTS, 10, &found), 3);
	free(found);
}

static size_t entries(char *ret_last, size_t len)
{
	struct dirent *entry;
	DIR *d = opendir(dir);
	size_t count = 0;

	assert_non_null(d);
	while ((entry = readdir(d))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(ret_last, len, "%s/%s", dir, entry->d_name);
		count++;
	}
	closedir(d);
	return count;
}

static void empty(void)
{
	char path[512];

	while (entries(path, sizeof(path)))
		assert_int_equal(unlink(path), 0);
}

static void test_same_answer(void **state)
{
	struct elf_found *first, *second;
	char path[512];
	struct stat st;

	(void)state;
	assert_int_equal(find_remembered(WANTS, 10, &first), -EBADF);
	assert_int_equal(find(O_RDONLY, WANTS, 10, &first), 3);
	assert_int_equal(find_remembered(WANTS, 10, &second), 3);
	assert_memory_equal(first, second, 3 * sizeof(*first));
	assert_int_equal(first[0].want, 0);
	assert_int_equal(first[1].want, 1);
	assert_int_not_equal(first[1].offset, first[2].offset);
	free(first);
	free(second);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(entries(path, sizeof(path)), 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	empty();
}

static void test_nothing_found_is_an_answer(void **state)
{
	const struct elf_want none = {.name = "symbol_cache_test_none"};
	struct elf_found *found = NULL;
	int fd = open(library, O_RDONLY | O_CLOEXEC), blind = open(library, O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(symbol_cache_find(dir, fd, &none, 1, 10, &found), 0);
	free(found);
	assert_int_equal(symbol_cache_find(dir, blind, &none, 1, 10, &found), 0);
	free(found);
	close(fd);
	close(blind);
	empty();
}

static void test_key(void **state)
{
	struct elf_found *found;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};

	(void)state;
	remember();
	assert_true(is_remembered());
	assert_int_equal(find_remembered(WANTS - 1, 10, &found), -EBADF); /* other wants */
	assert_int_equal(find_remembered(WANTS, 2, &found),
			 -EBADF); /* more than there is room for */
	assert_int_equal(utimensat(AT_FDCWD, library, times, 0), 0);
	assert_false(is_remembered());
	remember();
	assert_int_equal(truncate(library, 1 << 24), 0);
	assert_false(is_remembered());
	empty();
}

/* One byte changed anywhere, or the end missing: a miss, never another answer. */
static void test_damaged(void **state)
{
	char path[512], bytes[1024], byte;
	ssize_t len;
	int fd;

	(void)state;
	remember();
	assert_int_equal(entries(path, sizeof(path)), 1);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	len = pread(fd, bytes, sizeof(bytes), 0);
	assert_in_range(len, 64, sizeof(bytes) - 1);
	for (ssize_t i = 0; i < len; i++) {
		byte = (char)(bytes[i] ^ 0x41);
		assert_int_equal(pwrite(fd, &byte, 1, i), 1);
		assert_false(is_remembered());
		assert_int_equal(pwrite(fd, &bytes[i], 1, i), 1);
	}
	assert_true(is_remembered());
	for (ssize_t i = len - 1; i >= 0; i -= 7) {
		assert_int_equal(ftruncate(fd, i), 0);
		assert_false(is_remembered());
	}
	assert_int_equal(pwrite(fd, bytes, (size_t)len, 0), len);
	assert_true(is_remembered());
	assert_int_equal(pwrite(fd, "x", 1, len), 1);
	assert_false(is_remembered());
	close(fd);
	remember(); /* written anew, over the damaged one */
	assert_true(is_remembered());
	empty();
}

static void test_directory_not_ours(void **state)
{
	char moved[80];

	(void)state;
	remember();
	assert_int_equal(chmod(dir, 0770), 0);
	assert_false(is_remembered());
	assert_int_equal(chmod(dir, 0700), 0);
	assert_true(is_remembered());
	snprintf(moved, sizeof(moved), "%s.moved", dir);
	assert_int_equal(rename(dir, moved), 0);
	assert_int_equal(symlink(moved, dir), 0);
	assert_false(is_remembered());
	assert_int_equal(unlink(dir), 0);
	assert_int_equal(rename(moved, dir), 0);
	empty();
}

static void test_bounded(void **state)
{
	char path[512];

	(void)state;
	for (int i = 0; i < 600; i++) {
		snprintf(path, sizeof(path), "%s/%016x.sym", dir, i);
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	remember();
	assert_true(is_remembered());
	assert_int_equal(entries(path, sizeof(path)), 1);
	empty();
}

static void test_no_directory(void **state)
{
	int fd = open(library, O_RDONLY | O_CLOEXEC);
	struct elf_found *found;

	(void)state;
	assert_int_equal(symbol_cache_find(NULL, fd, wants, WANTS, 10, &found), 3);
	free(found);
	assert_int_equal(symbol_cache_find("/nonexistent/cache", fd, wants, WANTS, 10, &found), 3);
	free(found);
	assert_int_equal(symbol_cache_find(NULL, -1, wants, WANTS, 10, &found), -EBADF);
	close(fd);
}

/* Not /proc/self/exe: where the dynamic loader is told to run a program, as for another
 * architecture under an emulator, that is the loader. */
static void copy_self(void)
{
	int from = open(program_invocation_name, O_RDONLY | O_CLOEXEC);
	int to = open(library, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	char buf[65536];
	ssize_t n;

	assert_true(from >= 0 && to >= 0);
	while ((n = read(from, buf, sizeof(buf))) > 0)
		assert_int_equal(write(to, buf, (size_t)n), n);
	close(from);
	close(to);
}

static int setup(void **state)
{
	(void)state;
	symbol_cache_test_one();
	symbol_cache_test_two();
	if (!mkdtemp(root))
		return -1;
	snprintf(dir, sizeof(dir), "%s/cache", root);
	snprintf(library, sizeof(library), "%s/library", root);
	copy_self();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(library) || rmdir(dir) || rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_answer),
		cmocka_unit_test(test_nothing_found_is_an_answer),
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_directory_not_ours),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_no_directory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
