/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a plugin in a file that is read slowly, and the names that its functions have in
 * them. Time and disk are the test's own: a piece of the file takes a second the first time, and is
 * in memory from then on. */
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
#include "loader/site/pjrt.h"

#define PAD_BYTES   (20u << 20)
#define PIECE_BYTES (1u << 20)
#define PIECES	    64
#define PIECE_S	    1

static struct {
	bool slow;
	bool warm[PIECES];
	int cpu_s; /* of a piece, in memory or not */
	time_t disk_s, used_s;
} disk;

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	size_t piece = (size_t)at / PIECE_BYTES;

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

static int plugin_open(const char *how)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/pjrt_c_api_%s_plugin.so", plugins, how), fd;

	assert_in_range(n, 1, PATH_MAX - 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* A copy with much more code, which is nothing but zeros: a header that nobody needs becomes that
 * of a segment. */
static int large_make(const char *how)
{
	int from = plugin_open(how), fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
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

static void disk_set(bool slow, int cpu_s)
{
	memset(&disk, 0, sizeof(disk));
	disk.slow = slow;
	disk.cpu_s = cpu_s;
}

/* Each try reads some seconds of the disk further, and there is an answer once all of it is in
 * memory. */
static void test_slow(void **state)
{
	int fd = large_make("clang-O2"), tries = 0, err;
	struct pjrt_slots slots, fast;
	struct elf_file *ef;

	(void)state;
	memset(&slots, 0, sizeof(slots));
	memset(&fast, 0, sizeof(fast));
	disk_set(false, 0);
	assert_int_equal(elf_file_open(&ef, fd), 0);
	assert_int_equal(pjrt_decode(ef, &fast), 0);
	disk_set(true, 0);
	while ((err = pjrt_decode(ef, &slots)) == -ETIMEDOUT && tries < 10)
		tries++;
	assert_int_equal(err, 0);
	assert_in_range(tries, 2, 4);
	assert_memory_equal(&slots, &fast, sizeof(slots));
	elf_file_close(ef);
	close(fd);
}

/* What takes the CPU and not the disk is not tried again. */
static void test_busy(void **state)
{
	int fd = large_make("clang-O2");
	struct pjrt_slots slots;
	struct elf_file *ef;

	(void)state;
	disk_set(true, 1);
	memset(disk.warm, true, sizeof(disk.warm));
	assert_int_equal(elf_file_open(&ef, fd), 0);
	assert_int_equal(pjrt_decode(ef, &slots), -E2BIG);
	disk_set(false, 0);
	elf_file_close(ef);
	close(fd);
}

/* The same code, wherever the pieces that are read end: its segment begins in a hole before it. */
static void test_edges(void **state)
{
	static const uint8_t anchor[] = {0x10, PJRT_VERSION_SIZE, 0, 0, 0};
	int from = plugin_open("clang-O2"), fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	size_t size = (size_t)lseek(from, 0, SEEK_END), seg = 0;
	uint8_t *bytes = malloc(size), *at = bytes;
	struct pjrt_slots slots, whole;
	struct elf_segment *code;
	struct elf_file *ef;
	uint64_t end;

	(void)state;
	assert_non_null(bytes);
	assert_int_equal(pread(from, bytes, size, 0), size);
	assert_int_equal(pwrite(fd, bytes, size, PIECE_BYTES), size);
	assert_int_equal(elf_file_open(&ef, from), 0);
	ef->fd = fd;
	ef->size += PIECE_BYTES;
	for (size_t i = 0; i < ef->segments_count; i++) {
		ef->segments[i].offset += PIECE_BYTES;
		ef->segments[i].vaddr += PIECE_BYTES;
		seg = ef->segments[i].executable ? i : seg;
	}
	assert_int_equal(pjrt_decode(ef, &whole), 0);
	code = &ef->segments[seg];
	end = code->offset + code->size;
	while ((at = memmem(at, size - (size_t)(at - bytes), anchor, sizeof(anchor)))) {
		for (uint64_t before = 0; before < 200; before++) {
			uint64_t start = (uint64_t)(at - bytes) + before;

			code->vaddr -= code->offset - start;
			code->offset = start;
			code->size = end - start;
			ef->reads_done = 0;
			assert_int_equal(pjrt_decode(ef, &slots), 0);
			assert_memory_equal(&slots, &whole, sizeof(slots));
		}
		at++;
	}
	elf_file_close(ef);
	free(bytes);
	close(from);
	close(fd);
}

static void test_named(void **state)
{
	static const char execute[] =
		"_ZN4pjrt29PJRT_LoadedExecutable_ExecuteEP34PJRT_LoadedExecutable_Execute_Args";
	static const char compile[] = "_ZN4pjrt12PJRT_CompileEP17PJRT_Compile_Args";
	static const char *const none[] = {"GetPjrtApi",
					   "",
					   "PJRT_",
					   "PJRT_LoadedExecutable_Execute",
					   "_Args",
					   "PJRT_LoadedExecutable_Execut_Args",
					   "PJRT_LoadedExecutable_Executed_Args"};
	struct pjrt_slots slots;
	struct elf_file *ef;
	int fd = plugin_open("v116");
	uint64_t at;

	(void)state;
	assert_int_equal(elf_file_open(&ef, fd), 0);
	assert_int_equal(pjrt_decode(ef, &slots), 0);
	at = slots.offset[480 / 8];
	assert_true(pjrt_function_named(ef, at, execute));
	assert_true(pjrt_function_named(ef, slots.offset[752 / 8], compile));
	assert_false(pjrt_function_named(ef, slots.offset[752 / 8], execute));
	assert_false(pjrt_function_named(ef, at, compile));
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(pjrt_function_named(ef, at, none[i]));
	/* The end of the one before: its own name is not this one's. */
	for (uint64_t back = 1; back < 64; back++)
		assert_false(pjrt_function_named(ef, at - back, execute));
	assert_false(pjrt_function_named(ef, 0, execute));
	assert_false(pjrt_function_named(ef, UINT64_MAX, execute));
	elf_file_close(ef);
	close(fd);
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
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
