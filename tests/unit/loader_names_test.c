/* SPDX-License-Identifier: Apache-2.0 */
/* Names of libraries, told from others by their first letters; and by the kernel. The latter needs
 * root. */
#include <sys/mman.h>

#define PROBE_ROWS                                                                                          \
	"  - {id: a, symbol: gpt_hit, group: fault, why: w, libraries: [gpt_library.so*, gpt_library-*]}\n" \
	"  - {id: b, symbol: gpt_hit, group: fault, why: w, libraries: [gpt_.*.so, \"lib*.so\"]}\n"         \
	"  - {id: c, symbol: gpt_hit, group: fault, why: w, libraries: [gpt_a_name_that_is_long.so.?]}\n"
#include "tests/unit/probed.h"

#include "loader/probe/probe_names.h"
#include "userspace/base/log.h"

static char said[1024];

static void hear(void *ctx, enum log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	snprintf(said, sizeof(said), "%s", line);
}

static struct probe_names *names_open(struct probe_table **ret)
{
	char dir[] = "/tmp/gp-names-XXXXXX", path[64];
	struct probe_names *names;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.yaml", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(probe_file, f);
	fclose(f);
	assert_int_equal(probe_table_load(ret, dir), 0);
	remove(path);
	remove(dir);
	*said = '\0';
	log_sink(hear, NULL);
	assert_int_equal(probe_names_new(&names, *ret), 0);
	log_sink(NULL, NULL);
	return names;
}

static void names_are_told_by_their_rows(void **state)
{
	static const char *const ours[] = {"gpt_library.so", "gpt_library.so.1",
					   "gpt_library-12.so", "gpt_.x.so",
					   "gpt_a_name_that_is_long.so.1"},
				 *const not [] = {"",
						  "g",
						  "gpt_",
						  "gpt_library",
						  "gpt_library_2.so",
						  "gpt_.x",
						  "gpt_a_name_that_is",
						  "gpt_a_name_that_is_long.so.12",
						  "xgpt_library.so",
						  "libc.so.6"};
	struct probe_table *table;
	struct probe_names *names = names_open(&table);

	(void)state;
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		assert_true(probe_names_have(names, ours[i]));
	for (size_t i = 0; i < sizeof(not ) / sizeof(*not ); i++)
		assert_false(probe_names_have(names, not [i]));
	probe_names_free(names);
	probe_table_free(table);
}

static void what_much_begins_with_is_left_out_and_said(void **state)
{
	const struct gp_prefix *prefix;
	struct probe_table *table;
	struct probe_names *names = names_open(&table);
	size_t n = probe_names_prefixes(names, &prefix);

	(void)state;
	assert_true(strstr(said, "'lib*.so'"));
	assert_false(probe_names_have(names, "libsomething.so"));
	assert_true(n >= 4);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(prefix[i].mask[0] & 0xffffffff, 0xffffffff);
	probe_names_free(names);
	probe_table_free(table);
}

static void a_prefix_is_what_comes_before_the_first_wildcard(void **state)
{
	struct gp_prefix p;

	(void)state;
	probe_prefix("abcde*x", &p);
	assert_memory_equal(p.text, "abcde\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_memory_equal(p.mask, "\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0", 16);
	probe_prefix("0123456789abcdefgh.so", &p);
	assert_memory_equal(p.text, "0123456789abcdef", 16);
	assert_true(p.mask[0] == UINT64_MAX && p.mask[1] == UINT64_MAX);
	probe_prefix("ab[cd]", &p);
	assert_memory_equal(p.text, "ab\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	probe_prefix("*", &p);
	assert_true(!p.mask[0] && !p.mask[1]);
}

/* ---- by the kernel --------------------------------------------------------------------------- */

static char folder[] = "/tmp/gp-maps-XXXXXX";

static void map_file(const char *name, int prot)
{
	char path[96], page[4096] = "";
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	if (fd < 0 || write(fd, page, sizeof(page)) != sizeof(page))
		_exit(1);
	at = mmap(NULL, sizeof(page), prot, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		_exit(2);
	munmap(at, sizeof(page));
	close(fd);
	unlink(path);
}

static pid_t mapper(const char *name, int prot, int times)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		while (times--)
			map_file(name, prot);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return pid;
}

static struct watch *reporting_open(bool unwatched)
{
	struct watch *w = test_calloc(1, sizeof(*w));
	struct loader_config cfg = {.unwatched = unwatched};
	const struct loader_ring *rings;

	log_sink(hear, NULL);
	assert_int_equal(probe_table_load(&w->probes, probe_folder), 0);
	cfg.probes = w->probes;
	assert_int_equal(loader_open(&w->loader, &cfg), 0);
	assert_int_equal(loader_rings(w->loader, &rings), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ring_open(&w->rings[i], rings[i].fd, rings[i].bytes), 0);
	log_sink(NULL, NULL);
	return w;
}

static void mapping_a_library_of_ours_is_reported_once_in_a_while(void **state)
{
	static const char *const strange[] = {"gpt_librar", "xgpt_library.so", "libc.so.6"};
	const int run = PROT_READ | PROT_EXEC;
	pid_t first, second, other[4];
	struct event ev;
	struct watch *w;
	size_t pos = 0;

	(void)state;
	need_root();
	assert_non_null(mkdtemp(folder));
	w = reporting_open(true);
	assert_true(loader_reports_unwatched(w->loader));
	first = mapper("gpt_library.so.7", run, 5);
	second = mapper("gpt_a_name_that_is_long.so.1", run, 1);
	for (int i = 0; i < 3; i++)
		other[i] = mapper(strange[i], run, 1);
	other[3] = mapper("gpt_library.so.7", PROT_READ, 1);
	watch_collect(w);
	assert_int_equal(records_count(w, GP_KIND_unwatched, NULL, first), 1);
	assert_int_equal(records_count(w, GP_KIND_unwatched, NULL, second), 1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(records_count(w, GP_KIND_unwatched, NULL, other[i]), 0);
	while (record_next(w, &pos, GP_KIND_unwatched, &ev))
		assert_true(ev.unwatched->start_ns);
	watch_close(w);
	rmdir(folder);
}

static void no_process_is_reported_unless_requested(void **state)
{
	struct watch *w;
	pid_t pid;

	(void)state;
	need_root();
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	assert_non_null(mkdtemp(folder));
	w = reporting_open(false);
	assert_false(loader_reports_unwatched(w->loader));
	pid = mapper("gpt_library.so.7", PROT_READ | PROT_EXEC, 1);
	watch_collect(w);
	assert_int_equal(records_count(w, GP_KIND_unwatched, NULL, pid), 0);
	watch_close(w);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_told_by_their_rows),
		cmocka_unit_test(what_much_begins_with_is_left_out_and_said),
		cmocka_unit_test(a_prefix_is_what_comes_before_the_first_wildcard),
		cmocka_unit_test(mapping_a_library_of_ours_is_reported_once_in_a_while),
		cmocka_unit_test(no_process_is_reported_unless_requested),
	};

	if (probed_setup())
		return 1;

	return cmocka_run_group_tests(tests, NULL, NULL);
}
