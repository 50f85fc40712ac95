/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"

/* This program is the library that is planned for, under another name. */
int gp_plan_test_function(int n);

__attribute__((noinline)) int gp_plan_test_function(int n)
{
	asm volatile("" : "+r"(n));
	return n;
}

static const char rows[] =
	"runtime: fake\n"
	"libraries: [gp-plan-library.so.1*]\n"
	"probes:\n"
	"  - {id: here, symbol: gp_plan_test_function, group: fault, why: x}\n"
	"  - {id: gone, symbol: gp_plan_test_no_function, group: fault, why: x}\n"
	"  - {id: other, symbol: gp_plan_test_function, group: fault, why: x,\n"
	"     libraries: [gp-plan-other.so]}\n";

static char root[] = "/tmp/gp-plan-XXXXXX";
static char library[64], link_to_it[64], probe_file[64];
static struct probe_table *table;

struct told {
	int here, gone, others;
	struct gp_attach attach; /* of `here` */
};

static void hear(void *ctx, const char *probe_id, const struct gp_attach *a)
{
	struct told *told = ctx;

	if (!strcmp(probe_id, "fake.here")) {
		told->here++;
		told->attach = *a;
	} else if (!strcmp(probe_id, "fake.gone") && a->state == GP_ATTACH_absent) {
		told->gone++;
	} else {
		told->others++;
	}
}

static void test_plan(void **state)
{
	const char *const paths[] = {library, link_to_it};

	(void)state;
	assert_int_equal(gp_plan_test_function(3), 3);
	for (size_t i = 0; i < 2; i++) { /* a link is followed: processes map what it points to */
		struct told told = {0};

		assert_int_equal(loader_plan(table, paths[i], hear, &told), 0);
		assert_int_equal(told.here, 1);
		assert_int_equal(told.gone, 1);
		assert_int_equal(told.others, 0);
		assert_int_equal(told.attach.state, GP_ATTACH_attached);
		assert_int_equal(told.attach.error, 0);
		assert_int_not_equal(told.attach.offset, 0);
		assert_int_not_equal(told.attach.insn, GP_INSN_unknown);
		assert_string_equal(told.attach.library, "gp-plan-library.so.1.2");
	}
}

static void test_not_ours(void **state)
{
	struct told told = {0};

	(void)state;
	assert_int_equal(loader_plan(table, program_invocation_name, hear, &told), 0);
	assert_int_equal(loader_plan(table, "/nonexistent", hear, &told), -ENOENT);
	assert_int_equal(loader_plan(table, root, hear, &told), -EINVAL);
	assert_int_equal(told.here + told.gone + told.others, 0);
}

static void test_no_elf(void **state)
{
	struct told told = {0};

	(void)state;
	assert_int_equal(truncate(library, 10), 0);
	assert_int_equal(loader_plan(table, library, hear, &told), -ENOEXEC);
	assert_int_equal(told.here + told.gone + told.others, 0);
}

/* See copy_self() of loader_symbol_cache_test.c. */
static void copy_self(void)
{
	int from = open(program_invocation_name, O_RDONLY | O_CLOEXEC);
	int to = open(library, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	char buf[65536];
	ssize_t n;

	assert_true(from >= 0 && to >= 0);
	while ((n = read(from, buf, sizeof(buf))) > 0)
		assert_int_equal(write(to, buf, (size_t)n), n);
	close(from);
	close(to);
}

static int setup(void **state)
{
	FILE *f;

	(void)state;
	if (!mkdtemp(root))
		return -1;
	snprintf(library, sizeof(library), "%s/gp-plan-library.so.1.2", root);
	snprintf(link_to_it, sizeof(link_to_it), "%s/plain.so", root);
	snprintf(probe_file, sizeof(probe_file), "%s/fake.yaml", root);
	copy_self();
	f = fopen(probe_file, "w");
	if (!f || fputs(rows, f) < 0 || fclose(f) || symlink(library, link_to_it))
		return -1;
	return probe_table_load(&table, root);
}

static int teardown(void **state)
{
	(void)state;
	probe_table_free(table);
	return unlink(library) || unlink(link_to_it) || unlink(probe_file) || rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_no_elf),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
