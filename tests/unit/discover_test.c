/* SPDX-License-Identifier: Apache-2.0 */
/* Who is found on a node, in a /proc of our own; who is watched is kept here, in place of the
 * loader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/base/helper.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/watch/discover.c"
#include "userspace/watch/maps_scan.h"
#include "userspace/watch/watch_process.h"

#define PIDS	2048
#define FIRST	5000
#define MS	1000000ull
#define LIBRARY "/opt/lib/libgpt.so.1"
#define MAPPING "7f0000000000-7f0000001000 r-xp 00000000 08:01 42                         "
#define MANY	20000 /* mappings */

static char root[] = "/tmp/gp-discover-XXXXXX";
static struct helper *helper;
static bool watched[PIDS], told;

struct helper *loader_helper(struct loader *l)
{
	(void)l;
	return helper;
}

bool loader_reports_unwatched(const struct loader *l)
{
	(void)l;
	return told;
}

bool loader_watched(const struct loader *l, pid_t pid)
{
	(void)l;
	return pid >= FIRST && pid < FIRST + PIDS && watched[pid - FIRST];
}

int processes_found(struct processes *ps, pid_t pid)
{
	(void)ps;
	assert_in_range(pid, FIRST, FIRST + PIDS - 1);
	watched[pid - FIRST] = true;
	return 0;
}

/* ---- a /proc --------------------------------------------------------------------------------- */

static const char *path_of(pid_t pid, const char *name)
{
	static char path[320];

	snprintf(path, sizeof(path), "%s/proc/%d/%s", root, pid, name);
	return path;
}

static void put(pid_t pid, const char *name, const char *text, size_t len)
{
	FILE *f = fopen(path_of(pid, name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
}

static void put_text(pid_t pid, const char *name, const char *text)
{
	put(pid, name, text, strlen(text));
}

/* One that maps nothing of ours. */
static void born(pid_t pid, const char *command)
{
	char text[256];

	mkdir(path_of(pid, ""), 0755);
	mkdir(path_of(pid, "task"), 0755);
	snprintf(text, sizeof(text), "task/%d", pid);
	mkdir(path_of(pid, text), 0755);
	snprintf(text, sizeof(text),
		 "%d (python3) S 1 0 0 0 0 0 0 0 0 0 1 1 0 0 20 0 1 0 1234 0 0\n", pid);
	put_text(pid, "stat", text);
	put(pid, "cmdline", command, strlen(command) + 1);
	put_text(pid, "environ", "");
	put_text(pid, "cgroup", "0::/job\n");
	put_text(pid, "status", "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\n");
	put_text(pid, "maps", MAPPING "/usr/lib/libc.so.6\n");
}

static void maps_library(pid_t pid)
{
	put_text(pid, "maps", MAPPING "/usr/lib/libc.so.6\n" MAPPING LIBRARY "\n");
}

/* One file for all that have so many mappings, with the library behind them. */
static void maps_many(pid_t pid)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/many", root);
	if (access(path, F_OK)) {
		f = fopen(path, "w");
		assert_non_null(f);
		for (int i = 0; i < MANY; i++)
			fputs(MAPPING "/srv/a file of which there are many\n", f);
		fputs(MAPPING LIBRARY "\n", f);
		fclose(f);
	}
	unlink(path_of(pid, "maps"));
	assert_int_equal(symlink(path, path_of(pid, "maps")), 0);
}

/* ---- the module ------------------------------------------------------------------------------ */

static const struct probe_table *table(void)
{
	static struct probe_table *t;
	char dir[] = "/tmp/gp-discover-probes-XXXXXX", path[64];
	FILE *f;

	if (t)
		return t;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.yaml", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("runtime: test\nlibraries: [libgpt.so*]\nprobes:\n"
	      "  - {id: a, symbol: hit, group: fault, why: w}\n",
	      f);
	fclose(f);
	assert_int_equal(probe_table_load(&t, dir), 0);
	remove(path);
	remove(dir);
	return t;
}

static struct discover *begun(bool tells, const char *deny)
{
	struct discover_config cfg = {.probes = table(), .root = root};
	char *denies[] = {(char *)(uintptr_t)deny};
	struct discover *d;
	struct filter *f;
	char path[64];

	told = tells;
	log_setup(LOG_ERROR, LOG_TEXT);
	memset(watched, 0, sizeof(watched));
	strcpy(root + sizeof(root) - 7, "XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/proc", root);
	mkdir(path, 0755);
	assert_int_equal(helper_new(&helper, 1 << 16), 0);
	assert_int_equal(discover_new(&d, &cfg), 0);
	if (deny) {
		assert_int_equal(filter_new(&f, NULL, 0, denies, 1), 0);
		discover_rules(d, f);
	}
	return d;
}

static void over(struct discover *d)
{
	char command[128];

	discover_free(d);
	helper_free(helper);
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	assert_int_equal(system(command), 0);
}

static struct node_view seen(const struct discover *d)
{
	struct node_view v = {0};

	discover_get_view(d, &v);
	return v;
}

static void sweep_now(struct discover *d)
{
	discover_sweep(d);
	while (discover_sweeping(d))
		discover_due(d, clock_mono_ns());
}

static bool is_watched(pid_t pid)
{
	return watched[pid - FIRST];
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void only_what_is_run_counts(void **state)
{
	static const struct {
		const char *maps;
		enum maps_answer answer;
	} all[] = {
		{MAPPING LIBRARY "\n", MAPS_OURS},
		{MAPPING LIBRARY " (deleted)\n", MAPS_OURS},
		{MAPPING "/a b/c (deleted)/libgpt.so\n", MAPS_OURS},
		{"7f00-7f01 r--p 00000000 08:01 42 " LIBRARY "\n", MAPS_OTHER},
		{MAPPING "libgpt.so.1\n", MAPS_OTHER},
		{MAPPING "/opt/libgpt.so.1/other\n", MAPS_OTHER},
		{MAPPING "/opt/xlibgpt.so.1\n", MAPS_OTHER},
		{MAPPING "/opt/\n", MAPS_OTHER},
		{MAPPING LIBRARY, MAPS_OTHER}, /* not a whole line */
		{"r-xp\n\n \n7f00-7f01 r-x\n", MAPS_OTHER},
		{"", MAPS_OTHER},
	};
	struct discover *d = begun(true, NULL);
	struct probe_names *names;

	(void)state;
	assert_int_equal(probe_names_new(&names, table()), 0);
	born(FIRST, "python3");
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		put_text(FIRST, "maps", all[i].maps);
		assert_int_equal(maps_read(names, root, FIRST), all[i].answer);
	}
	maps_many(FIRST);
	assert_int_equal(maps_read(names, root, FIRST), MAPS_OURS);
	assert_int_equal(maps_read(names, root, FIRST + 1), MAPS_OTHER);
	probe_names_free(names);
	over(d);
}

static void a_question_is_answered_as_far_as_its_time_goes(void **state)
{
	struct discover *d = begun(true, NULL);
	enum maps_answer answer[MAPS_BATCH];
	struct probe_names *names;
	pid_t pids[MAPS_BATCH];
	size_t at = 0, n, questions = 0;

	(void)state;
	assert_int_equal(probe_names_new(&names, table()), 0);
	for (int i = 0; i < MAPS_BATCH; i++) {
		pids[i] = FIRST + i;
		born(pids[i], "python3");
		maps_many(pids[i]);
	}
	for (; at < MAPS_BATCH; at += n, questions++) {
		n = maps_scan(helper, names, root, pids + at, MAPS_BATCH - at, answer);
		assert_in_range(n, 1, MAPS_BATCH - at);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(answer[i], MAPS_OURS);
	}
	assert_true(questions > 1);
	probe_names_free(names);
	over(d);
}

/* ---- who is found ---------------------------------------------------------------------------- */

static void a_look_at_all_finds_those_of_ours_and_their_children(void **state)
{
	struct discover *d = begun(true, NULL);
	char name[64];

	(void)state;
	for (pid_t pid = FIRST; pid < FIRST + 200; pid++)
		born(pid, "python3 train.py");
	maps_library(FIRST + 150);
	snprintf(name, sizeof(name), "task/%d/children", FIRST + 150);
	put_text(FIRST + 150, name, "5160 5161 ");
	sweep_now(d);
	for (pid_t pid = FIRST; pid < FIRST + 200; pid++)
		assert_int_equal(is_watched(pid), pid == FIRST + 150 || pid == 5160 || pid == 5161);
	assert_int_equal(seen(d).found, 1);
	assert_int_equal(seen(d).sweep_saw, 200);
	over(d);
}

static void one_that_is_met_is_looked_at_twice(void **state)
{
	struct discover *d = begun(true, NULL);

	(void)state;
	born(FIRST, "python3");
	born(FIRST + 1, "python3");
	discover_mapped(d, FIRST, 1000 * MS);
	discover_mapped(d, FIRST, 1001 * MS);
	discover_mapped(d, FIRST + 1, 1000 * MS);
	discover_mapped(d, FIRST + 2, 1000 * MS); /* gone */
	maps_library(FIRST);
	discover_due(d, 1004 * MS); /* too soon */
	assert_int_equal(seen(d).waiting, 3);
	discover_due(d, 1005 * MS);
	assert_true(is_watched(FIRST));
	assert_int_equal(seen(d).waiting, 1);
	maps_library(FIRST + 1); /* what was told of is there only now */
	discover_due(d, 1404 * MS);
	assert_false(is_watched(FIRST + 1));
	discover_due(d, 1405 * MS);
	assert_true(is_watched(FIRST + 1));
	assert_int_equal(seen(d).waiting, 0);
	over(d);
}

/* A look would not come back. */
static void what_a_denied_one_maps_is_not_looked_at(void **state)
{
	struct discover *d = begun(true, "command=*hostile*");

	(void)state;
	born(FIRST, "hostile maps 1000000");
	unlink(path_of(FIRST, "maps"));
	assert_int_equal(mkfifo(path_of(FIRST, "maps"), 0600), 0);
	for (uint64_t i = 0; i < 100; i++) {
		discover_mapped(d, FIRST, i * 100 * MS);
		discover_due(d, i * 100 * MS + 5 * MS);
		assert_int_equal(seen(d).waiting, 0);
	}
	assert_int_equal(seen(d).denied, 1);
	assert_string_equal(seen(d).denied_last[0].why, "deny command=*hostile*");
	assert_false(is_watched(FIRST));
	over(d);
}

static void one_that_is_locked_is_left_for_later(void **state)
{
	struct discover *d = begun(true, NULL);

	(void)state;
	born(FIRST, "python3");
	born(FIRST + 1, "python3");
	maps_library(FIRST + 1);
	unlink(path_of(FIRST, "maps"));
	assert_int_equal(mkfifo(path_of(FIRST, "maps"), 0600), 0);
	sweep_now(d);
	assert_true(is_watched(FIRST + 1));
	assert_int_equal(seen(d).waiting, 1);
	unlink(path_of(FIRST, "maps"));
	maps_library(FIRST);
	discover_due(d, UINT64_MAX / 2);
	assert_true(is_watched(FIRST));
	over(d);
}

/* ---- what is bounded ------------------------------------------------------------------------- */

static void looks_have_a_share_of_a_cpu(void **state)
{
	struct discover *d = begun(true, NULL);
	const uint64_t n = 600;
	uint64_t now_ns = 1000 * MS, found;

	(void)state;
	for (pid_t pid = FIRST; pid < FIRST + (pid_t)n; pid++) {
		born(pid, "python3");
		maps_many(pid);
		discover_mapped(d, pid, now_ns);
	}
	now_ns += 10 * MS;
	for (int i = 0; i < 1000; i++)
		discover_due(d, now_ns);
	found = seen(d).found;
	assert_in_range(found, 1, n - 1);
	assert_int_equal(seen(d).waiting, n - found); /* nobody is forgotten */
	for (int i = 0; i < 1000 && seen(d).found < n; i++)
		discover_due(d, now_ns += 1000 * MS);
	assert_int_equal(seen(d).found, n);
	assert_int_equal(seen(d).waiting, 0);
	over(d);
}

static void too_many_at_once_are_found_by_a_look_at_all(void **state)
{
	struct discover *d = begun(true, NULL);

	(void)state;
	for (pid_t pid = FIRST; pid < FIRST + 64; pid++) {
		born(pid, "python3");
		maps_many(pid);
	}
	for (pid_t pid = 10000; pid < 11100; pid++)
		discover_mapped(d, pid, clock_mono_ns());
	assert_true(discover_sweeping(d));
	while (discover_sweeping(d))
		discover_due(d, clock_mono_ns());
	assert_int_equal(seen(d).found, 64);
	/* The next one is not at once: that one took its time. */
	memset(watched, 0, sizeof(watched));
	discover_sweep(d);
	assert_false(discover_sweeping(d));
	discover_tick(d, clock_mono_ns());
	assert_int_equal(seen(d).sweeps, 1);
	over(d);
}

static void where_the_kernel_does_not_tell_all_are_looked_at(void **state)
{
	struct discover *d = begun(false, NULL);
	uint64_t later_ns = UINT64_MAX / 2;

	(void)state;
	born(FIRST, "python3");
	sweep_now(d);
	maps_library(FIRST);
	discover_tick(d, later_ns);
	assert_true(discover_sweeping(d));
	while (discover_sweeping(d))
		discover_due(d, clock_mono_ns());
	assert_true(is_watched(FIRST));
	assert_false(seen(d).kernel_reports);
	over(d);
}

/* As ps shows them: a sandbox, its helper, and a process of a container. */
static void sandboxes_of_gvisor_are_counted_and_never_watched(void **state)
{
	static const char *const commands[] = {
		"runsc-sandbox --root=/run/runsc boot --bundle=/b c1",
		"runsc-gofer --root=/run/runsc gofer --bundle=/b",
		"runsc-sandbox --root=/run/runsc boot --bundle=/b c1"};
	struct discover *d = begun(true, NULL);

	(void)state;
	for (pid_t pid = FIRST; pid < FIRST + 3; pid++) {
		born(pid, commands[pid - FIRST]);
		assert_int_equal(symlink("/usr/local/bin/runsc", path_of(pid, "exe")), 0);
		maps_library(pid);
	}
	put_text(FIRST + 2, "stat",
		 "5002 (exe) S 5000 0 0 0 0 0 0 0 0 0 1 1 0 0 20 0 1 0 1234 0 0\n");
	born(FIRST + 3, "/opt/runsc-like");
	assert_int_equal(symlink("/opt/runsc-like", path_of(FIRST + 3, "exe")), 0);
	maps_library(FIRST + 3);
	sweep_now(d);
	do
		discover_tick(d, clock_mono_ns());
	while (d->gvisor);
	assert_int_equal(seen(d).gvisor, 1);
	assert_int_equal(seen(d).found, 1);
	assert_true(is_watched(FIRST + 3));
	assert_int_equal(seen(d).denied, 3);
	assert_non_null(strstr(seen(d).denied_last[0].why, "gVisor"));
	over(d);
}

static void a_count_of_sandboxes_waits_for_one_locked_process_at_a_time(void **state)
{
	struct discover *d = begun(true, NULL);

	(void)state;
	for (pid_t pid = FIRST; pid < FIRST + 2; pid++) {
		born(pid, "runsc-sandbox");
		assert_int_equal(symlink("/usr/local/bin/runsc", path_of(pid, "exe")), 0);
		unlink(path_of(pid, "cmdline"));
		assert_int_equal(mkfifo(path_of(pid, "cmdline"), 0600), 0);
	}
	discover_tick(d, clock_mono_ns());
	assert_non_null(d->gvisor); /* the other one waits for the next second */
	do
		discover_tick(d, clock_mono_ns());
	while (d->gvisor);
	assert_int_equal(seen(d).gvisor, 0);
	over(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_run_counts),
		cmocka_unit_test(a_question_is_answered_as_far_as_its_time_goes),
		cmocka_unit_test(a_look_at_all_finds_those_of_ours_and_their_children),
		cmocka_unit_test(one_that_is_met_is_looked_at_twice),
		cmocka_unit_test(what_a_denied_one_maps_is_not_looked_at),
		cmocka_unit_test(one_that_is_locked_is_left_for_later),
		cmocka_unit_test(looks_have_a_share_of_a_cpu),
		cmocka_unit_test(too_many_at_once_are_found_by_a_look_at_all),
		cmocka_unit_test(where_the_kernel_does_not_tell_all_are_looked_at),
		cmocka_unit_test(sandboxes_of_gvisor_are_counted_and_never_watched),
		cmocka_unit_test(a_count_of_sandboxes_waits_for_one_locked_process_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
