/* SPDX-License-Identifier: Apache-2.0 */
/* The files of /proc of a hostile process: stat, cmdline, environ, children, a line of maps. */
#include <sys/stat.h>

#include "loader/mapping.h"
#include "tests/fuzz/fuzz.h"
#include "userspace/identity/process.h"

#define PID 7

enum { STAT, CMDLINE, ENVIRON, CHILDREN, FILES };
static const char *const names[FILES] = {"stat", "cmdline", "environ", "task/7/children"};
static struct fuzz_file files[FILES];
static const char *root;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const folders[] = {"", "/7", "/7/task", "/7/task/7"};
	char path[96];

	(void)argc;
	(void)argv;
	fuzz_quiet();
	root = fuzz_folder();
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/proc%s", root, folders[i]);
		REQUIRE(!mkdir(path, 0700));
	}
	for (int i = 0; i < FILES; i++) {
		fuzz_file_open(&files[i]);
		snprintf(path, sizeof(path), "%s/proc/7/%s", root, names[i]);
		REQUIRE(!symlink(files[i].path, path));
	}
	return 0;
}

static void read_maps(struct input in)
{
	struct gp_vma vma;
	char line[512];
	size_t n = input_left(&in) < sizeof(line) - 1 ? input_left(&in) : sizeof(line) - 1;

	memcpy(line, in.at, n);
	line[n] = 0;
	mapping_parse(line, &vma);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {data, data + len}, piece;
	struct gp_process p;
	pid_t *pids = NULL;

	for (int i = 0; i < FILES; i++) {
		piece = input_piece(&in);
		fuzz_file_fill(&files[i], piece.at, input_left(&piece));
	}
	read_maps(in);
	if (!process_read(root, PID, &p)) {
		REQUIRE(fuzz_printable(p.comm, strnlen(p.comm, sizeof(p.comm)), false));
		REQUIRE(fuzz_printable(p.command, strnlen(p.command, sizeof(p.command)), false));
		REQUIRE(fuzz_printable(p.job, strnlen(p.job, sizeof(p.job)), false));
		REQUIRE(p.rank >= -1 && p.world_size >= -1 && p.local_rank >= -1);
	}
	if (process_descendants(root, PID, &pids) > 0)
		REQUIRE(pids[0] == PID);
	free(pids);
	return 0;
}
