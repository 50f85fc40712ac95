/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt FILE SYMBOL CACHE: how long a function of a plugin takes to find, each way by itself, one
 * "WAY milliseconds functions" a line, or "WAY - error". CACHE: a folder for what is remembered.
 * With cold before FILE, what the kernel has of the file is dropped first, and only its texts are
 * looked at. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/elf/elf_symbol.h"
#include "loader/site/site_text.h"
#include "userspace/base/clock.h"

static void told(const char *way, uint64_t start_ns, int err, size_t functions)
{
	if (err)
		printf("%s - %d\n", way, err);
	else
		printf("%s %.3f %zu\n", way, (double)(clock_mono_ns() - start_ns) / 1e6, functions);
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

static const char *const texts[] = {"PJRT_LoadedExecutable_Execute_Args",
				    "PJRT_LoadedExecutable_Execute", NULL};
static const struct site_want want = {texts};

static int by_text(const char *way, int fd)
{
	uint64_t start_ns = clock_mono_ns(), found;
	int err = site_texts_find(NULL, fd, &want, 1, &found);

	told(way, start_ns, err, found != 0);
	return err;
}

static void by_cache(int fd, const char *cache)
{
	uint64_t start_ns, found;
	int err = site_texts_find(cache, fd, &want, 1, &found);

	start_ns = clock_mono_ns();
	if (!err)
		err = site_texts_find(cache, fd, &want, 1, &found);
	told("cached", start_ns, err, found != 0);
}

int main(int argc, char **argv)
{
	bool cold = argc == 3 && !strcmp(argv[1], "cold");
	int fd = argc > 2 ? open(argv[cold ? 2 : 1], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0) {
		perror("pjrt [cold] FILE SYMBOL CACHE");
		return 2;
	}
	if (cold) {
		fsync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		for (int i = 0; i < 12 && by_text("cold", fd) == -ETIMEDOUT; i++)
			;
	} else if (argc == 4) {
		by_symbol(fd, argv[2]);
		by_text("text", fd);
		by_cache(fd, argv[3]);
	}
	close(fd);
	return 0;
}
