/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/gp_abi.h"
#include "loader/elf/elf_private.h"
#include "loader/site/pjrt.h"

#define PATIENCE 100

/* The stand-ins of tests/fake; what the dynamic linker and GetPjrtApi() make of them is the
 * truth. */

static char plugins[PATH_MAX], root[] = "/tmp/gp-pjrt-XXXXXX";

static void plugin_path(const char *how, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/pjrt_c_api_%s_plugin.so", plugins, how);

	assert_in_range(n, 1, PATH_MAX - 1);
}

struct opened {
	struct elf_file *ef;
	char path[PATH_MAX];
	int fd;
};

static void plugin_open(const char *how, struct opened *o)
{
	plugin_path(how, o->path);
	o->fd = open(o->path, O_RDONLY | O_CLOEXEC);
	assert_true(o->fd >= 0);
	assert_int_equal(elf_file_open(&o->ef, o->fd), 0);
}

static void plugin_close(struct opened *o)
{
	elf_file_close(o->ef);
	close(o->fd);
}

/* ---- what is true: the table of this process, as file offsets -------------------------------- */

struct truth {
	uint64_t size, map_start, offset[PJRT_SLOTS_MAX];
	int32_t minor;
};

static uint64_t map_offset(const char *path, uint64_t address, uint64_t *ret_start)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t from, to, offset, found = 0;
	char line[PATH_MAX + 128];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, path) &&
		    sscanf(line, "%lx-%lx r-xp %lx", &from, &to, &offset) == 3 &&
		    ((address >= from && address < to) || !address)) {
			found = offset + (address - from);
			*ret_start = from;
		}
	fclose(maps);
	return found;
}

static const uint64_t *api_of(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
	const uint64_t *(*get)(void);

	if (!handle)
		return NULL;
	symbol = dlsym(handle, "GetPjrtApi");
	memcpy(&get, &symbol, sizeof(get));
	return symbol ? get() : NULL;
}

static void truth_of(const char *path, struct truth *ret)
{
	const uint64_t *api = api_of(path);

	assert_non_null(api);
	*ret = (struct truth){.size = api[0], .minor = ((const int32_t *)api)[9]};
	for (size_t i = PJRT_HEAD_BYTES / 8; i < api[0] / 8; i++) {
		ret->offset[i] = map_offset(path, api[i], &ret->map_start);
		assert_int_not_equal(ret->offset[i], 0);
	}
}

/* Slots that differ from the truth, those not known left out. */
static size_t wrong(const struct truth *t, const struct pjrt_slots *s, size_t *ret_known)
{
	size_t n = 0, known = 0;

	for (size_t i = PJRT_HEAD_BYTES / 8; i < PJRT_SLOTS_MAX; i++) {
		known += s->offset[i] != 0;
		n += s->offset[i] && s->offset[i] != t->offset[i];
	}
	*ret_known = known;
	return n;
}

/* ---- the code that fills the table ----------------------------------------------------------- */

static void test_decode(void **state)
{
	static const char *const plain[] = {"gxx-O0", "clang-O2", "v28", "v55", "v81", "v116"};
	struct pjrt_slots slots;
	struct truth truth;
	struct opened o;
	size_t known;

	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		plugin_open(plain[i], &o);
		truth_of(o.path, &truth);
		assert_int_equal(pjrt_decode(o.ef, &slots), 0);
		assert_int_equal(slots.size, truth.size);
		assert_int_equal(slots.minor, truth.minor);
		assert_int_equal(wrong(&truth, &slots, &known), 0);
		/* Those that the plugin hands over are five; the last two came with 0.35 and
		 * later. */
		assert_int_equal(known,
				 (truth.size - PJRT_HEAD_BYTES) / 8 - (truth.size > 824 ? 5 : 4));
		assert_int_equal(slots.offset[120 / 8], 0);
		assert_int_equal(slots.offset[480 / 8], truth.offset[480 / 8]);
		plugin_close(&o);
	}
}

/* Filled in another way: no answer. A version that nobody may read: that is the answer. */
static void test_no_decode(void **state)
{
	static const struct {
		const char *how;
		int why;
	} of[] = {{"gxx-O2", GP_TABLE_unseen},
		  {"clang-lto", GP_TABLE_unseen},
		  {"named", GP_TABLE_unseen},
		  {"v56", GP_TABLE_breach}};
	struct pjrt_slots slots;
	struct opened o;

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		plugin_open(of[i].how, &o);
		assert_int_equal(pjrt_decode(o.ef, &slots), -of[i].why);
		plugin_close(&o);
	}
}

static void test_function_begins(void **state)
{
	struct truth truth;
	struct opened o;

	(void)state;
	plugin_open("clang-lto", &o);
	truth_of(o.path, &truth);
	for (size_t i = PJRT_HEAD_BYTES / 8; i < truth.size / 8; i++) {
		assert_int_equal(elf_function_at(o.ef, truth.offset[i]), 0);
		assert_int_equal(elf_function_at(o.ef, truth.offset[i] + 1), -ENOENT);
	}
	assert_int_equal(elf_function_at(o.ef, 0), -ENOENT);
	assert_int_equal(elf_function_at(o.ef, UINT64_MAX), -ENOENT);
	plugin_close(&o);
}

/* ---- what is a table ------------------------------------------------------------------------- */

static bool place_all(void *ctx, uint64_t address, uint64_t *ret)
{
	(void)ctx;
	*ret = address;
	return address < 1 << 20;
}

static void test_judge(void **state)
{
	static const struct {
		uint64_t size, version_size;
		int32_t major, minor;
		int why;
	} of[] = {
		{1120, 24, 0, 104, 0},
		{1144, 24, 0, 116, 0},
		{1144, 24, 0, 300, 0},
		{2000, 24, 0, 300, 0},
		{840, 24, 0, 55, 0},
		{760, 24, 0, 28, 0},
		{848, 24, 0, 56, GP_TABLE_breach},
		{760, 24, 0, 27, GP_TABLE_old},
		{760, 24, 0, -1, GP_TABLE_old},
		{1120, 24, 1, 104, GP_TABLE_major},
		{1120, 24, -1, 104, GP_TABLE_major},
		{1120, 32, 0, 104, GP_TABLE_garbage},
		{1112, 24, 0, 104, GP_TABLE_size},
		{1121, 24, 0, 104, GP_TABLE_size},
		{1152, 24, 0, 104, GP_TABLE_size},
		{4104, 24, 0, 300, GP_TABLE_size},
		{UINT64_MAX, 24, 0, 300, GP_TABLE_size},
		{0, 24, 0, 28, GP_TABLE_size},
	};
	struct pjrt_slots slots;
	struct pjrt_table t;
	size_t here;

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		t = (struct pjrt_table){
			of[i].size, of[i].version_size, of[i].major, of[i].minor, {0}};
		for (size_t s = 0; s < PJRT_SLOTS_MAX; s++)
			t.slot[s] = s + 1;
		assert_int_equal(pjrt_table_check(&t, place_all, NULL, &slots, &here), -of[i].why);
		for (size_t s = 65; s < PJRT_SLOTS_MAX; s++) /* 60 are left */
			t.slot[s] = 1ull << 40;
		assert_int_equal(pjrt_table_check(&t, place_all, NULL, &slots, &here),
				 of[i].why ? -of[i].why : -GP_TABLE_garbage);
	}
}

/* ---- the memory of a process ----------------------------------------------------------------- */

struct child {
	pid_t pid;
	uint64_t map_start, table;
};

/* The program again, so that it maps nothing else: maps the plugin, asks it for its table unless
 * told not to, and writes where both are. */
static int child_main(const char *path, const char *spoil)
{
	uint64_t said[2] = {0};

	alarm(60);
	setenv("FAKE_PJRT_TABLE", spoil, 1);
	if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
		return 1;
	if (strcmp(spoil, "unasked") != 0)
		said[1] = (uintptr_t)api_of(path);
	map_offset(path, 0, &said[0]);
	if (write(STDOUT_FILENO, said, sizeof(said)) == sizeof(said))
		pause();
	return 1;
}

static void child_start(const char *how, const char *spoil, struct child *ret)
{
	char path[PATH_MAX];
	uint64_t said[2];
	int pair[2];

	plugin_path(how, path);
	assert_int_equal(pipe(pair), 0);
	ret->pid = fork();
	assert_true(ret->pid >= 0);
	if (!ret->pid) {
		dup2(pair[1], STDOUT_FILENO);
		execl("/proc/self/exe", "loader_pjrt_test", path, spoil, NULL);
		_exit(1);
	}
	close(pair[1]);
	assert_int_equal(read(pair[0], said, sizeof(said)), sizeof(said));
	close(pair[0]);
	ret->map_start = said[0];
	ret->table = said[1];
}

static void child_end(const struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

static void test_scan(void **state)
{
	static const char *const all[] = {"gxx-O2", "gxx-O0", "clang-O2", "clang-lto", "v28",
					  "v55",    "v81",    "v116",	  "named"};
	struct pjrt_slots slots;
	struct truth truth;
	struct child child;
	struct opened o;
	size_t known;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		child_start(all[i], "", &child);
		plugin_open(all[i], &o);
		truth_of(o.path, &truth);
		for (int by_address = 0; by_address < 2; by_address++) {
			memset(&slots, 0, sizeof(slots));
			assert_int_equal(pjrt_scan(o.ef, child.pid, child.map_start,
						   by_address ? child.table : 0, &slots),
					 0);
			assert_int_equal(slots.size, truth.size);
			assert_int_equal(wrong(&truth, &slots, &known), 0);
			assert_int_equal(known, (truth.size - PJRT_HEAD_BYTES) / 8);
		}
		child_end(&child);
		plugin_close(&o);
	}
}

/* On a busy machine the thread that rewrites the table may rest while it is read. */
static int scan_patient(const struct opened *o, const struct child *child, uint64_t table)
{
	struct pjrt_slots slots;
	int err = 0;

	for (int i = 0; i < PATIENCE && !err; i++)
		err = pjrt_scan(o->ef, child->pid, child->map_start, table, &slots);
	return err;
}

static void test_spoilt(void **state)
{
	static const struct {
		const char *spoil;
		int why, why_at; /* looked for; at its address */
	} of[] = {
		{"unasked", GP_TABLE_unseen, 0},
		{"size", GP_TABLE_size, GP_TABLE_size},
		{"short", GP_TABLE_size, GP_TABLE_size},
		{"garbage", GP_TABLE_garbage, GP_TABLE_garbage},
		{"minor:56", GP_TABLE_breach, GP_TABLE_breach},
		{"minor:27", GP_TABLE_old, GP_TABLE_old},
		{"major", GP_TABLE_major, GP_TABLE_major},
		{"two", GP_TABLE_two, 0},
		{"turning", GP_TABLE_changed, GP_TABLE_changed},
	};
	struct child child;
	struct opened o;

	(void)state;
	plugin_open("clang-lto", &o);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		child_start("clang-lto", of[i].spoil, &child);
		assert_int_equal(scan_patient(&o, &child, 0), -of[i].why);
		if (child.table)
			assert_int_equal(scan_patient(&o, &child, child.table), -of[i].why_at);
		child_end(&child);
	}
	plugin_close(&o);
}

static void test_elsewhere(void **state)
{
	struct pjrt_slots slots;
	struct child child, other;
	struct opened o;

	(void)state;
	plugin_open("gxx-O2", &o);
	child_start("gxx-O2", "", &child);
	child_start("v81", "", &other);
	/* No address, one that cannot be read, one of no table, one that is not aligned, another
	 * library's. */
	assert_int_equal(pjrt_scan(o.ef, child.pid, child.map_start, 8, &slots), -GP_TABLE_unseen);
	assert_int_equal(pjrt_scan(o.ef, child.pid, child.map_start, UINT64_MAX - 7, &slots),
			 -GP_TABLE_unseen);
	assert_int_equal(pjrt_scan(o.ef, child.pid, child.map_start, child.map_start, &slots),
			 -GP_TABLE_unseen);
	assert_int_equal(pjrt_scan(o.ef, child.pid, child.map_start, child.table + 1, &slots),
			 -GP_TABLE_garbage);
	assert_int_equal(pjrt_scan(o.ef, other.pid, child.map_start, 0, &slots), -ESRCH);
	assert_int_equal(pjrt_scan(o.ef, child.pid, child.map_start + 4096, 0, &slots), -ESRCH);
	child_end(&child);
	assert_int_equal(pjrt_scan(o.ef, child.pid, child.map_start, 0, &slots), -ESRCH);
	child_end(&other);
	plugin_close(&o);
}

/* ---- the cache ------------------------------------------------------------------------------- */

static void cache_entry(const char *dir, char path[PATH_MAX])
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(d);
	while ((entry = readdir(d)))
		if (strstr(entry->d_name, ".sym")) {
			snprintf(path, PATH_MAX, "%s/%s", dir, entry->d_name);
			n++;
		}
	closedir(d);
	assert_int_equal(n, 1);
}

/* Through this descriptor nothing can be read: an answer is a remembered one. */
static int recall(const char *how, const char *dir, struct pjrt_slots *ret)
{
	char path[PATH_MAX];
	int fd, err;

	plugin_path(how, path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	err = pjrt_decode_cached(dir, fd, ret);
	close(fd);
	return err;
}

static void test_cache(void **state)
{
	static const struct {
		const char *how;
		int err;
	} of[] = {{"clang-O2", 0}, {"clang-lto", -GP_TABLE_unseen}, {"v56", -GP_TABLE_breach}};
	struct pjrt_slots slots, again;
	char dir[64], path[PATH_MAX], byte;
	struct opened o;
	int fd;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/cache", root);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		memset(&slots, 0, sizeof(slots));
		memset(&again, 0, sizeof(again));
		plugin_open(of[i].how, &o);
		assert_int_equal(recall(of[i].how, dir, &again), -EBADF);
		assert_int_equal(pjrt_decode_cached(dir, o.fd, &slots), of[i].err);
		assert_int_equal(recall(of[i].how, dir, &again), of[i].err);
		assert_memory_equal(&slots, &again, sizeof(slots));
		cache_entry(dir, path);
		fd = open(path, O_RDWR | O_CLOEXEC);
		assert_true(fd >= 0 && pread(fd, &byte, 1, 100) == 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, 100), 1);
		close(fd);
		assert_int_equal(recall(of[i].how, dir, &again), -EBADF);
		assert_int_equal(unlink(path), 0);
		plugin_close(&o);
	}
	assert_int_equal(rmdir(dir), 0);
}

static int setup(void **state)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	if (n <= 0 || !mkdtemp(root))
		return -1;
	self[n] = 0;
	*strrchr(self, '/') = 0;
	return snprintf(plugins, sizeof(plugins), "%s/../fake/pjrt", self) >=
		       (int)sizeof(plugins) ||
	       !realpath(plugins, self) || !strcpy(plugins, self);
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(root);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),	  cmocka_unit_test(test_no_decode),
		cmocka_unit_test(test_judge),	  cmocka_unit_test(test_function_begins),
		cmocka_unit_test(test_scan),	  cmocka_unit_test(test_spoilt),
		cmocka_unit_test(test_elsewhere), cmocka_unit_test(test_cache),
	};

	if (argc == 3)
		return child_main(argv[1], argv[2]);
	return cmocka_run_group_tests(tests, setup, teardown);
}
