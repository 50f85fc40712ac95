/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt_table FILE: the table of a real plugin as its code has it against the one that the plugin
 * itself hands out, in a process of its own. Status 0: each function is where it is, but those that
 * the plugin adds, which are not known; one line says what was found. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/elf/elf_symbol.h"
#include "loader/site/pjrt.h"

#define LINE_BYTES 4352

/* Plugin_Initialize, Plugin_Attributes, Client_Create, TopologyDescription_Create,
 * ExecuteContext_Create */
static const size_t given[] = {64, 72, 120, 696, 824};

static bool slot_given(size_t i)
{
	for (size_t g = 0; g < sizeof(given) / sizeof(given[0]); g++)
		if (given[g] == i * 8)
			return true;
	return false;
}

static uint64_t offset_of(const char *path, uint64_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long from, to, offset;
	char line[LINE_BYTES];
	uint64_t found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, path) &&
		    sscanf(line, "%lx-%lx r-xp %lx", &from, &to, &offset) == 3 && address >= from &&
		    address < to)
			found = offset + (address - from);
	if (maps)
		fclose(maps);
	return found;
}

static int truth_tell(const char *path, int fd)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *symbol = handle ? dlsym(handle, "GetPjrtApi") : NULL;
	struct pjrt_slots slots = {0};
	const uint64_t *(*get)(void);
	const uint64_t *api;

	if (!symbol) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	memcpy(&get, &symbol, sizeof(get));
	api = get();
	if (!api || api[0] > PJRT_SIZE_MAX)
		return 1;
	slots.size = (uint32_t)api[0];
	slots.minor = ((const int32_t *)api)[9];
	for (size_t i = PJRT_HEAD_BYTES / 8; i < slots.size / 8; i++)
		slots.offset[i] = offset_of(path, api[i]);
	return write(fd, &slots, sizeof(slots)) != sizeof(slots);
}

static bool truth_of(const char *path, struct pjrt_slots *ret)
{
	int pair[2];
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	if (pipe(pair))
		return false;
	pid = fork();
	if (!pid)
		_exit(truth_tell(path, pair[1]));
	close(pair[1]);
	while ((got = read(pair[0], (char *)ret + n, sizeof(*ret) - n)) > 0)
		n += (size_t)got;
	close(pair[0]);
	waitpid(pid, NULL, 0);
	return n == sizeof(*ret);
}

static int decode(const char *path, struct pjrt_slots *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0, tries = 0;
	struct elf_file *ef;

	if (!err)
		err = elf_file_open(&ef, fd);
	if (err)
		return err;
	do
		err = pjrt_decode(ef, ret);
	while (err == -ETIMEDOUT && ++tries < 12);
	elf_file_close(ef);
	close(fd);
	return err;
}

static int compare(const struct pjrt_slots *is, const struct pjrt_slots *truth)
{
	size_t known = 0, wrong = 0;

	for (size_t i = PJRT_HEAD_BYTES / 8; i < truth->size / 8; i++) {
		known += is->offset[i] != 0;
		if (is->offset[i] == (slot_given(i) ? 0 : truth->offset[i]))
			continue;
		wrong++;
		printf("+%zu: %#lx in the code, %#lx in the table\n", i * 8, is->offset[i],
		       truth->offset[i]);
	}
	printf("version 0.%d, %u bytes, %zu functions known, %zu wrong\n", (int)is->minor, is->size,
	       known, wrong);
	return wrong || is->size != truth->size || is->minor != truth->minor;
}

int main(int argc, char **argv)
{
	struct pjrt_slots is = {0}, truth = {0};
	int err;

	if (argc != 2)
		return 2;
	if (!truth_of(argv[1], &truth)) {
		printf("the plugin hands out no table\n");
		return 1;
	}
	err = decode(argv[1], &is);
	if (err) {
		printf("no table in the code: %d\n", err);
		return 1;
	}
	return compare(&is, &truth);
}
