/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of stripped plugins, found by the texts that they name themselves by, also in a file
 * that is read slowly. Time and disk are the test's own: a piece of the file takes a second the
 * first time, and is in memory from then on. What the dynamic linker and GetPjrtApi() make of the
 * stand-ins of tests/fake is the truth. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bpf/gp_abi.h"
#include "loader/elf/elf_private.h"
#include "loader/site/site_text.h"

#define PAD_BYTES   (20u << 20)
#define PIECE_BYTES (1u << 20)
#define PIECES	    64
#define PIECE_S	    1

static struct {
	bool slow;
	bool warm[PIECES];
	int cpu_s; /* of a piece, in memory or not */
	time_t disk_s, used_s;
	unsigned pieces; /* that were read */
} disk;

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	size_t piece = (size_t)at / PIECE_BYTES;

	disk.pieces += len > PIECE_BYTES / 2;
	if (disk.slow && len > PIECE_BYTES / 2) {
		disk.used_s += disk.cpu_s;
		disk.disk_s += piece < PIECES && !disk.warm[piece] ? PIECE_S : 0;
		disk.warm[piece % PIECES] = true;
	}
	return (ssize_t)syscall(SYS_pread64, fd, buf, len, at);
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
	long err = syscall(SYS_clock_gettime, id, ret);

	ret->tv_sec += disk.used_s + (id == CLOCK_MONOTONIC ? disk.disk_s : 0);
	return (int)err;
}

static char plugins[PATH_MAX];

static int plugin_open(const char *how, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/pjrt_c_api_%s_plugin.so", plugins, how), fd;

	assert_in_range(n, 1, PATH_MAX - 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static const char *const execute[] = {"PJRT_LoadedExecutable_Execute_Args",
				      "PJRT_LoadedExecutable_Execute", NULL},
			 *const compile[] = {"PJRT_Client_Compile_Args", "PJRT_Client_Compile",
					     NULL},
			 *const create[] = {"PJRT_Client_Create_Args", "PJRT_Client_Create", NULL},
			 *const ready[] = {"PJRT_Event_OnReady_Args", "PJRT_Event_OnReady", NULL},
			 *const none[] = {"PJRT_Client_Compil_Args", "PJRT_lient_Compile_Args",
					  NULL},
			 *const both[] = {"PJRT_Client_Compile_Args", "PJRT_Event_OnReady_Args",
					  "PJRT_Event_OnReady", NULL};
static const struct site_want wants[] = {{execute}, {compile}, {create}, {ready}, {none}, {both}};
#define WANTS (sizeof(wants) / sizeof(wants[0]))
static const size_t slot[] = {480, 200, 120, 112}; /* of the table (pjrt_c_api.h) */

/* The file offset of code of this process. */
static uint64_t map_offset(const char *path, uint64_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t from, to, offset, found = 0;
	char line[PATH_MAX + 128];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, path) &&
		    sscanf(line, "%lx-%lx r-xp %lx", &from, &to, &offset) == 3 && address >= from &&
		    address < to)
			found = offset + (address - from);
	fclose(maps);
	assert_int_not_equal(found, 0);
	return found;
}

static const uint64_t *api_of(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
	const uint64_t *(*get)(void);

	assert_non_null(handle);
	symbol = dlsym(handle, "GetPjrtApi");
	memcpy(&get, &symbol, sizeof(get));
	assert_non_null(get);
	return get();
}

static void disk_set(bool slow, int cpu_s)
{
	memset(&disk, 0, sizeof(disk));
	disk.slow = slow;
	disk.cpu_s = cpu_s;
}

/* Whatever compiler made them. */
static void functions_are_found(void **state)
{
	static const char *const all[] = {"gxx-O0", "gxx-O2", "clang-O2", "clang-lto", "v28",
					  "v55",    "v56",    "v81",	  "v116",      "named"};
	char path[PATH_MAX], real[PATH_MAX];
	uint64_t found[WANTS];
	const uint64_t *api;
	int fd;

	(void)state;
	disk_set(false, 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		fd = plugin_open(all[i], path);
		assert_non_null(realpath(path, real));
		api = api_of(real);
		assert_int_equal(site_texts_find(NULL, fd, wants, WANTS, found), 0);
		for (size_t k = 0; k < sizeof(slot) / sizeof(slot[0]); k++)
			assert_int_equal(found[k], map_offset(real, api[slot[k] / 8]));
		assert_int_equal(found[4], 0);
		assert_true(found[5] == SITE_TEXT_TWICE);
		close(fd);
	}
}

static void function_begins(void **state)
{
	char path[PATH_MAX];
	int fd = plugin_open("clang-lto", path);
	uint64_t found[WANTS], begin;
	struct elf_file *ef;

	(void)state;
	disk_set(false, 0);
	assert_int_equal(elf_file_open(&ef, fd), 0);
	assert_int_equal(site_texts_find(NULL, fd, wants, WANTS, found), 0);
	for (size_t i = 0; i < sizeof(slot) / sizeof(slot[0]); i++) {
		assert_int_equal(elf_function_at(ef, found[i]), 0);
		assert_int_equal(elf_function_at(ef, found[i] + 1), -ENOENT);
		assert_int_equal(elf_function_of(ef, found[i] + 1, &begin), 0);
		assert_int_equal(begin, found[i]);
		assert_int_equal(elf_function_of(ef, found[i] - 1, &begin), 0);
		assert_true(begin < found[i]);
	}
	assert_int_equal(elf_function_at(ef, 0), -ENOENT);
	assert_int_equal(elf_function_of(ef, UINT64_MAX, &begin), -ENOENT);
	elf_file_close(ef);
	close(fd);
}

/* A copy with much more code, which is nothing but zeros: a header that nobody needs becomes that
 * of a segment. */
static int large_make(const char *how)
{
	char path[PATH_MAX];
	int from = plugin_open(how, path), fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	off_t size = lseek(from, 0, SEEK_END), at = 0;
	Elf64_Ehdr header;
	Elf64_Phdr ph;

	assert_true(fd >= 0 && size > 0);
	assert_int_equal(sendfile(fd, from, &at, (size_t)size), size);
	assert_int_equal(ftruncate(fd, size + PAD_BYTES), 0);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	for (size_t i = 0; i < header.e_phnum; i++) {
		off_t where = (off_t)(header.e_phoff + i * sizeof(ph));

		assert_int_equal(pread(fd, &ph, sizeof(ph), where), sizeof(ph));
		if (ph.p_type != PT_GNU_STACK)
			continue;
		ph = (Elf64_Phdr){.p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_offset = (uint64_t)size,
				  .p_vaddr = 1ull << 32,
				  .p_filesz = PAD_BYTES,
				  .p_memsz = PAD_BYTES};
		assert_int_equal(pwrite(fd, &ph, sizeof(ph), where), sizeof(ph));
		close(from);
		return fd;
	}
	fail();
	return -1;
}

/* Each try reads some seconds of the disk further, and there is an answer once all of it is in
 * memory. */
static void a_slow_file_is_read_further_each_time(void **state)
{
	int fd = large_make("clang-O2"), tries = 0, err;
	uint64_t fast[WANTS], found[WANTS];

	(void)state;
	disk_set(false, 0);
	assert_int_equal(site_texts_find(NULL, fd, wants, WANTS, fast), 0);
	disk_set(true, 0);
	while ((err = site_texts_find(NULL, fd, wants, WANTS, found)) == -ETIMEDOUT && tries < 10)
		tries++;
	assert_int_equal(err, 0);
	assert_in_range(tries, 2, 4);
	assert_memory_equal(found, fast, sizeof(fast));
	close(fd);
}

/* What takes the CPU and not the disk is not tried again. */
static void a_file_that_takes_the_cpu_is_given_up(void **state)
{
	int fd = large_make("clang-O2");
	uint64_t found[WANTS];

	(void)state;
	disk_set(true, 1);
	memset(disk.warm, true, sizeof(disk.warm));
	assert_int_equal(site_texts_find(NULL, fd, wants, WANTS, found), -E2BIG);
	disk_set(false, 0);
	close(fd);
}

static void what_was_found_is_remembered(void **state)
{
	char dir[] = "/tmp/gp-text-XXXXXX", path[PATH_MAX], command[64];
	uint64_t found[WANTS], again[WANTS];
	int fd = plugin_open("gxx-O2", path);

	(void)state;
	assert_non_null(mkdtemp(dir));
	close(fd);
	fd = large_make("gxx-O2");
	disk_set(false, 0);
	assert_int_equal(site_texts_find(dir, fd, wants, WANTS, found), 0);
	assert_true(disk.pieces > 0);
	disk_set(false, 0);
	assert_int_equal(site_texts_find(dir, fd, wants, WANTS, again), 0);
	assert_int_equal(disk.pieces, 0);
	assert_memory_equal(again, found, sizeof(found));
	/* Other texts are another question. */
	assert_int_equal(site_texts_find(dir, fd, wants + 1, 2, again), 0);
	assert_true(disk.pieces > 0);
	assert_int_equal(again[0], found[1]);
	close(fd);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	if (n <= 0)
		return -1;
	self[n] = 0;
	*strrchr(self, '/') = 0;
	n = snprintf(plugins, sizeof(plugins), "%s/../fake/pjrt", self);
	return n >= (ssize_t)sizeof(plugins);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found),
		cmocka_unit_test(function_begins),
		cmocka_unit_test(a_slow_file_is_read_further_each_time),
		cmocka_unit_test(a_file_that_takes_the_cpu_is_given_up),
		cmocka_unit_test(what_was_found_is_remembered),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
