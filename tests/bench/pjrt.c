/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt FILE SYMBOL CACHE [PID MAP-START]: how long the functions of a plugin's table take to find,
 * each way by itself, one "WAY milliseconds functions" a line, or "WAY - error". CACHE: a folder
 * for what is remembered. With cold before FILE, what the kernel has of the file is dropped first,
 * and only the code is looked at. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/elf/elf_symbol.h"
#include "loader/site/pjrt.h"
#include "userspace/base/clock.h"

static void told(const char *way, uint64_t start_ns, int err, size_t functions)
{
	if (err)
		printf("%s - %d\n", way, err);
	else
		printf("%s %.3f %zu\n", way, (double)(clock_mono_ns() - start_ns) / 1e6, functions);
}

static size_t functions_of(const struct pjrt_slots *slots)
{
	size_t n = 0;

	for (size_t i = 0; i < PJRT_SLOTS_MAX; i++)
		n += slots->offset[i] != 0;
	return n;
}

static void by_symbol(int fd, const char *symbol)
{
	const struct elf_want want = {symbol, false};
	uint64_t start_ns = clock_mono_ns();
	struct elf_found *found = NULL;
	struct elf_file *ef;
	int n = elf_file_open(&ef, fd);

	if (!n) {
		n = elf_symbols_find(ef, &want, 1, 64, &found);
		elf_file_close(ef);
	}
	told("symbol", start_ns, n < 0 ? n : n ? 0 : -ENOENT, (size_t)n);
	free(found);
}

static int by_code(const char *way, int fd)
{
	uint64_t start_ns = clock_mono_ns();
	struct pjrt_slots slots = {0};
	struct elf_file *ef;
	int err = elf_file_open(&ef, fd);

	if (!err) {
		err = pjrt_decode(ef, &slots);
		elf_file_close(ef);
	}
	told(way, start_ns, err, functions_of(&slots));
	return err;
}

static void by_cache(int fd, const char *cache)
{
	struct pjrt_slots slots = {0};
	uint64_t start_ns;
	int err = pjrt_decode_cached(cache, fd, &slots);

	start_ns = clock_mono_ns();
	if (!err)
		err = pjrt_decode_cached(cache, fd, &slots);
	told("cached", start_ns, err, functions_of(&slots));
}

static void by_memory(int fd, pid_t pid, uint64_t map_start)
{
	uint64_t start_ns = clock_mono_ns();
	struct pjrt_slots slots = {0};
	struct elf_file *ef;
	int err = elf_file_open(&ef, fd);

	if (!err) {
		err = pjrt_scan(ef, pid, map_start, 0, &slots);
		elf_file_close(ef);
	}
	told("memory", start_ns, err, functions_of(&slots));
}

int main(int argc, char **argv)
{
	bool cold = argc == 3 && !strcmp(argv[1], "cold");
	int fd = argc > 2 ? open(argv[cold ? 2 : 1], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0) {
		perror("pjrt [cold] FILE SYMBOL CACHE [PID MAP-START]");
		return 2;
	}
	if (cold) {
		fsync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		for (int i = 0; i < 12 && by_code("cold", fd) == -ETIMEDOUT; i++)
			;
	} else if (argc == 6) {
		by_memory(fd, (pid_t)atol(argv[4]), strtoull(argv[5], NULL, 16));
	} else if (argc == 4) {
		by_symbol(fd, argv[2]);
		by_code("code", fd);
		by_cache(fd, argv[3]);
	}
	close(fd);
	return 0;
}
