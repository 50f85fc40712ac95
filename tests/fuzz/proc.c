/* SPDX-License-Identifier: Apache-2.0 */
/* The files of /proc of a hostile process: stat, cmdline, environ, children, a line of maps; those
 * of a thread. */
#include <sys/stat.h>

#include "loader/reader/mapping.h"
#include "tests/fuzz/fuzz.h"
#include "userspace/identity/process.h"
#include "userspace/identity/blocked_call.h"

#define PID 7

static const char *const names[] = {
	"stat",		  "cmdline",	  "environ",	  "task/7/children", "task/7/stat",
	"task/7/syscall", "task/7/wchan", "task/7/stack", "task/7/status",   "task/7/comm"};
#define FILES (int)(sizeof(names) / sizeof(names[0]))
static struct fuzz_file files[FILES];
static struct blocked_calls *blocked_calls;
static const char *root;
static const struct blocked_words words = {
	.threads = (const char *const[]){"gloo", NULL},
	.devices = (const char *const[]){"/dev/nvidia", NULL},
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const folders[] = {"", "/7", "/7/task", "/7/task/7"};
	char path[96];

	(void)argc;
	(void)argv;
	fuzz_quiet();
	root = fuzz_folder();
	blocked_calls = blocked_calls_new(&words);
	REQUIRE(blocked_calls);
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

static void look(void)
{
	static uint64_t now_ns;
	struct gp_blocked b;

	now_ns += 1000000000;
	if (blocked_calls_scan(blocked_calls, root, PID, PID, now_ns, &b) != PID)
		return;
	REQUIRE(b.why < GP_WHY_COUNT && b.source == GP_BLOCKED_SCAN && b.syscall >= -1);
	REQUIRE(fuzz_printable(b.where, strnlen(b.where, sizeof(b.where)), false));
	REQUIRE(fuzz_printable(b.wchan, strnlen(b.wchan, sizeof(b.wchan)), false));
	REQUIRE(!b.where[sizeof(b.where) - 1] && !b.wchan[sizeof(b.wchan) - 1]);
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
	look();
	if (process_descendants(root, PID, &pids) > 0)
		REQUIRE(pids[0] == PID);
	free(pids);
	return 0;
}
