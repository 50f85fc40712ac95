/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/gp_private.h"
#include "loader/probe_file.h"
#include "userspace/base/log.h"

/* ---- a directory of probe files, and what is said about them */

static char dir[] = "/tmp/gp-probes-XXXXXX";
static char said[4096];

static void hear(void *ctx, enum log_level level, const char *line)
{
	size_t len = strlen(said);

	(void)ctx;
	(void)level;
	snprintf(said + len, sizeof(said) - len, "%s\n", line);
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

static void remove_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(remove(path), 0);
}

static int load_one(const char *text, struct probe_table **ret)
{
	int err;

	write_file("a.yaml", text);
	said[0] = 0;
	err = probe_table_load(ret, dir);
	remove_file("a.yaml");
	return err;
}

/* What is said, without the directory. */
static const char *what_was_said(void)
{
	const char *at = strstr(said, dir);

	assert_non_null(at);
	return at + strlen(dir) + 1;
}

#define FILE_HEAD "runtime: fake\nlibraries: [libfake.so*]\nprobes:\n"
#define ROW(id)	  "  - id: " id "\n    symbol: fake_" id "\n    group: fault\n    why: a test\n"

/* ---- right files */

static const char whole[] = FILE_HEAD
	"  - id: all\n"
	"    symbol: fake_all\n"
	"    variants: [_ptsz, _v2]\n"
	"    abi: c\n"
	"    group: confirm\n"
	"    role: sync\n"
	"    emit: record\n"
	"    return: true\n"
	"    may_block: yes\n"
	"    captures: [{name: stream, arg: 0}, {name: rank, arg: 2, arm64: 3, width: 4},\n"
	"               {name: deep, arg: 1, deref: 2, offset: -16, width: 2}]\n"
	"    only: {arg: 4, width: 1, equals: 0x7}\n"
	"    libraries: [libother.so.*, libmore.so]\n"
	"    versions: 1 to 3\n"
	"    status: verified\n"
	"    why: because\n"
	"  - id: named\n"
	"    prefix: _ZN4fake5named\n"
	"    abi: cxx_sret\n"
	"    group: marker\n"
	"    role: range_begin\n"
	"    string: {arg: 0, as: std_string}\n"
	"    max_hz: 200\n"
	"    keep: [Optimizer., DDP]\n"
	"    why: >-\n"
	"      two\n"
	"      lines\n"
	"  - {id: counted, symbol: fake_launch, group: bulk, role: launch, emit: count, why: hot}\n";

static void check_first(const struct probe_row *row)
{
	assert_string_equal(row->id, "fake.all");
	assert_string_equal(row->runtime, "fake");
	assert_int_equal(row->hash, gp_probe_hash("fake.all"));
	assert_string_equal(row->symbol, "fake_all");
	assert_false(row->prefix);
	assert_string_equal(row->variants[0], "_ptsz");
	assert_string_equal(row->variants[1], "_v2");
	assert_null(row->variants[2]);
	assert_string_equal(row->libraries[1], "libmore.so");
	assert_null(row->libraries[2]);
	assert_int_equal(row->abi, PROBE_ABI_C);
	assert_int_equal(row->group, GP_GROUP_confirm);
	assert_int_equal(row->role, GP_ROLE_sync);
	assert_true(row->returns && row->may_block && row->verified && row->has_only);
	assert_false(row->count || row->anonymous);
	assert_int_equal(row->captures, 3);
	assert_string_equal(row->capture[1].name, "rank");
	assert_int_equal(row->capture[0].width, 8);
	assert_int_equal(row->capture[0].arg_arm64, 0);
	assert_int_equal(row->capture[1].arg, 2);
	assert_int_equal(row->capture[1].arg_arm64, 3);
	assert_int_equal(row->capture[2].derefs, 2);
	assert_int_equal(row->capture[2].offset, -16);
	assert_int_equal(row->only.arg, 4);
	assert_int_equal(row->only_value, 7);
	assert_string_equal(row->versions, "1 to 3");
	assert_string_equal(row->why, "because");
	assert_int_equal(row->line, 4);
	assert_null(row->keep[0]);
}

/* Names that the user asks for join those of the row. */
static void test_keep(void **state)
{
	struct probe_table *t;
	char name[16];

	(void)state;
	assert_int_equal(load_one(whole, &t), 0);
	assert_int_equal(probe_table_keep(t, "validation"), 0);
	assert_int_equal(probe_table_keep(t, "validations too"), 0);
	assert_string_equal(probe_table_row(t, 1)->keep[0], "Optimizer.");
	assert_string_equal(probe_table_row(t, 1)->keep[2], "validation");
	assert_null(probe_table_row(t, 1)->keep[3]);
	assert_null(probe_table_row(t, 0)->keep[0]);
	for (int i = 3; i < GP_KEEP; i++) {
		snprintf(name, sizeof(name), "name%d", i);
		assert_int_equal(probe_table_keep(t, name), 0);
	}
	assert_int_equal(probe_table_keep(t, "one more"), -ENOSPC);
	assert_int_equal(probe_table_keep(t, "name4"), 0);
	assert_null(probe_table_row(t, 1)->keep[GP_KEEP]);
	probe_table_free(t);
}

static void test_every_key(void **state)
{
	const struct probe_row *row;
	struct probe_table *t;

	(void)state;
	assert_int_equal(load_one(whole, &t), 0);
	assert_string_equal(said, "");
	assert_int_equal(probe_table_count(t), 3);
	check_first(probe_table_row(t, 0));
	row = probe_table_row(t, 1);
	assert_true(row->prefix);
	assert_int_equal(row->string, PROBE_STRING_STD);
	assert_string_equal(row->keep[1], "DDP");
	assert_string_equal(row->libraries[0], "libfake.so*");
	assert_string_equal(row->why, "two lines");
	assert_int_equal(row->line, 20);
	assert_false(row->verified);
	assert_string_equal(row->versions, "");
	row = probe_table_row(t, 2);
	assert_true(row->count);
	assert_int_equal(row->line, 31);
	assert_null(probe_table_row(t, 3));
	probe_table_free(t);
}

static void test_alphabetical(void **state)
{
	struct probe_table *t;

	(void)state;
	write_file("b.yaml", "runtime: bb\nlibraries: [libb.so]\nprobes:\n" ROW("one"));
	write_file("ignored.yml", "not: ours\n");
	write_file(".hidden.yaml", "not: ours\n");
	assert_int_equal(load_one(FILE_HEAD ROW("one") ROW("two"), &t), 0);
	assert_int_equal(probe_table_count(t), 3);
	assert_string_equal(probe_table_row(t, 1)->id, "fake.two");
	assert_string_equal(probe_table_row(t, 2)->id, "bb.one");
	probe_table_free(t);
	remove_file("b.yaml");
	remove_file("ignored.yml");
	remove_file(".hidden.yaml");
}

/* ---- wrong files: each is told by one line */

#define BAD(id, rest) FILE_HEAD "  - id: " id "\n    group: fault\n    why: a test\n" rest

static const struct {
	const char *text, *error;
} bad[] = {
	{"", "a.yaml:1: file: is empty\n"},
	{"[1, 2]", "a.yaml:1: file: Expecting MAPPING, got event: SEQUENCE_START\n"},
	{"runtime: x\n  bad: [\n", "a.yaml:2: file: mapping values are not allowed in this context\n"},
	{"runtime: x\nprobes: [\n", "a.yaml:3: file: did not find expected node content\n"},
	{FILE_HEAD "  - &x {id: a}\n  - *x\n", "a.yaml:4: file: anchors and aliases are not allowed\n"},
	{"a: [[[[[[[[[[1]]]]]]]]]]\n", "a.yaml:1: file: nested too deeply\n"},
	{"runtime: x\nlibraries: [a.so]\n", "a.yaml:2: probes: is missing\n"},
	{"runtime: x\nlibraries: []\nprobes: []\n",
	 "a.yaml:2: libraries: Insufficient entries (0 of 1 min) in sequence.\n"},
	{"runtime: Torch\nlibraries: [a.so]\nprobes:\n" ROW("a"),
	 "a.yaml:1: runtime: is [a-z0-9_] and shorter than 16\n"},
	{"runtime: a123456789012345\nlibraries: [a.so]\nprobes:\n" ROW("a"),
	 "a.yaml:1: runtime: is [a-z0-9_] and shorter than 16\n"},
	{BAD("a", "    symbol: fake_a\n    bogus: 3\n"), "a.yaml:8: bogus: unknown key\n"},
	{BAD("a", "    symbol: fake_a\n    string: {arg: 0, how: chars}\n"), "a.yaml:8: how: unknown key\n"},
	{BAD("a", "    symbol: fake_a\n    symbol: fake_b\n"),
	 "a.yaml:7: symbol: Mapping field already seen: symbol\n"},
	{FILE_HEAD "  - id: a\n    symbol: fake_a\n    group: fault\n", "a.yaml:4: why: is missing\n"},
	{FILE_HEAD "  - id: a\n    symbol: fake_a\n    why: x\n", "a.yaml:4: group: is missing\n"},
	{FILE_HEAD ROW("a") "  - symbol: fake_a\n    group: fault\n    why: x\n",
	 "a.yaml:8: id: is missing\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{arg: 0}]\n"), "a.yaml:8: name: is missing\n"},
	{BAD("a", ""), "a.yaml:4: symbol: give one of symbol and prefix\n"},
	{BAD("a", "    symbol: fake_a\n    prefix: fake_b\n"),
	 "a.yaml:8: prefix: give one of symbol and prefix\n"},
	{BAD("a", "    symbol: \"\"\n"), "a.yaml:7: symbol: STRING length < 1: \n"},
	{BAD("a", "    symbol: f\n"), "a.yaml:7: symbol: is too short to mean one function\n"},
	{BAD("a", "    symbol: fake_a@@V1\n"), "a.yaml:7: symbol: is a plain name: no version, no pattern\n"},
	{BAD("A", "    symbol: fake_a\n"),
	 "a.yaml:4: id: is [a-z0-9_], and with the runtime before it shorter than 48\n"},
	{BAD("a2345678901234567890123456789012345678901234", "    symbol: fake_a\n"),
	 "a.yaml:4: id: is [a-z0-9_], and with the runtime before it shorter than 48\n"},
	{FILE_HEAD ROW("a") ROW("b") ROW("a"), "a.yaml:12: id: is taken by fake.a at DIR/a.yaml:4\n"},
	{BAD("a", "    symbol: fake_a\n    role: nonsense\n"),
	 "a.yaml:8: role: Invalid ENUM value: nonsense\n"},
	{BAD("a", "    symbol: fake_a\n    role: 3\n"), "a.yaml:8: role: Invalid ENUM value: 3\n"},
	{BAD("a", "    symbol: fake_a\n    return: maybe\n"),
	 "a.yaml:8: return: Invalid ENUM value: maybe\n"},
	{BAD("a", "    symbol: fake_a\n    max_hz: -1\n"), "a.yaml:8: max_hz: Invalid UINT value: '-1'\n"},
	{BAD("a", "    symbol: fake_a\n    max_hz: 1000001\n"), "a.yaml:8: max_hz: is over 1000000\n"},
	{BAD("a", "    symbol: fake_a\n    variants: _v2\n"),
	 "a.yaml:8: variants: Expecting SEQUENCE, got event: SCALAR\n"},
	{BAD("a", "    prefix: fake_a\n    variants: [_v2]\n"),
	 "a.yaml:8: variants: go with an exact symbol only\n"},
	{BAD("a", "    symbol: fake_a\n    libraries: [/usr/lib/liba.so]\n"),
	 "a.yaml:8: libraries: is matched against file names, not paths\n"},
	{BAD("a", "    symbol: fake_a\n    libraries: [\"lib*\"]\n"),
	 "a.yaml:8: libraries: matches a library that every process maps\n"},
	{BAD("a", "    symbol: _ZN4fakeEv\n    abi: itanium\n    return: true\n"),
	 "a.yaml:9: return: is refused on C++: an exception through it would end the job\n"},
	{BAD("a", "    symbol: fake_a\n    abi: cxx_sret\n    return: true\n"),
	 "a.yaml:9: return: is refused on C++: an exception through it would end the job\n"},
	{BAD("a", "    symbol: _ZN4fakeEv\n"),
	 "a.yaml:4: abi: must be itanium or cxx_sret for a C++ symbol\n"},
	{BAD("a", "    symbol: fake_a\n    may_block: true\n"), "a.yaml:8: may_block: needs return: true\n"},
	{BAD("a", "    symbol: fake_a\n    role: range_begin\n"),
	 "a.yaml:4: string: a range has either a name or anonymous: true\n"},
	{BAD("a", "    symbol: fake_a\n    anonymous: true\n"),
	 "a.yaml:8: anonymous: goes with role: range_begin only\n"},
	{BAD("a", "    symbol: fake_a\n    keep: [x]\n"), "a.yaml:8: keep: goes with named ranges only\n"},
	{BAD("a", "    symbol: fake_a\n    emit: count\n    return: true\n"),
	 "a.yaml:9: return: a counted probe has none\n"},
	{BAD("a", "    symbol: fake_a\n    emit: count\n    captures: [{name: x, arg: 0}]\n"),
	 "a.yaml:9: captures: a counted probe sends none\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: 0, width: 3}]\n"),
	 "a.yaml:8: captures: width is 1, 2, 4 or 8 bytes\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: 0, deref: 4}]\n"),
	 "a.yaml:8: captures: deref is at most 3\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: 0, deref: 1, offset: 40000}]\n"),
	 "a.yaml:8: captures: offset is out of range\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: 0, offset: 8}]\n"),
	 "a.yaml:8: captures: offset means nothing without deref\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: -1}]\n"),
	 "a.yaml:8: captures: arg is out of reach\n"},
	{BAD("a", "    symbol: fake_a\n    only: {arg: 99, equals: 1}\n"),
	 "a.yaml:8: only: arg is out of reach\n"},
	{BAD("a",
	     "    symbol: fake_a\n    captures: [{name: x, arg: 0}, {name: y, arg: 1}, {name: z, arg: 2}]\n"),
	 "a.yaml:8: captures: are at most 2 without return: true\n"},
	{BAD("a",
	     "    symbol: fake_a\n    return: true\n    captures: [{name: a, arg: 0}, {name: b, arg: 0}, "
	     "{name: c, arg: 0}, {name: d, arg: 0}, {name: e, arg: 0}]\n"),
	 "a.yaml:9: captures: Excessive entries (4 max) in sequence.\n"},
};

static void test_wrong_files(void **state)
{
	struct probe_table *t;
	char expected[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *mark = strstr(bad[i].error, "DIR");

		snprintf(expected, sizeof(expected), "%.*s%s%s",
			 (int)(mark ? mark - bad[i].error : (ptrdiff_t)strlen(bad[i].error)), bad[i].error,
			 mark ? dir : "", mark ? mark + 3 : "");
		t = NULL;
		assert_int_equal(load_one(bad[i].text, &t), -EINVAL);
		assert_string_equal(what_was_said(), expected);
		assert_null(t);
	}
}

static void test_each_file_is_told(void **state)
{
	struct probe_table *t = NULL;

	(void)state;
	write_file("b.yaml", "runtime: b\n");
	assert_int_equal(load_one("nonsense: 1\n", &t), -EINVAL);
	assert_non_null(strstr(said, "/a.yaml:1: nonsense: unknown key\n"));
	assert_non_null(strstr(said, "/b.yaml:1: libraries: is missing\n"));
	remove_file("b.yaml");
}

/* Rows beyond what the kernel side has room for. */
static void test_bounds(void **state)
{
	static const struct {
		int fits;
		const char *row, *error;
	} cases[] = {
		{GP_HOT_ROWS, "  - {id: r%d, symbol: fake_r, group: bulk, emit: count, why: x}\n",
		 "emit: no more than 32 rows can be counted\n"},
		{GP_RETURN_ROWS_MAX, "  - {id: r%d, symbol: fake_r, group: fault, return: true, why: x}\n",
		 "return: no more than 128 rows can have it\n"},
		{GP_ROWS_MAX, "  - {id: r%d, symbol: fake_r, group: fault, why: x}\n",
		 "probes: Excessive entries (512 max) in sequence.\n"},
	};
	char *text = malloc(1 << 17);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct probe_table *t = NULL;
		int len = sprintf(text, FILE_HEAD);

		for (int r = 0; r < cases[i].fits; r++) {
			_Pragma("GCC diagnostic push")
				_Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")
					len += sprintf(text + len, cases[i].row, r);
			_Pragma("GCC diagnostic pop")
		}
		assert_int_equal(load_one(text, &t), 0);
		assert_int_equal(probe_table_count(t), cases[i].fits);
		probe_table_free(t);
		sprintf(text + len, cases[i].row, cases[i].fits);
		assert_int_equal(load_one(text, &t), -EINVAL);
		assert_non_null(strstr(said, cases[i].error));
	}
	free(text);
}

static void test_files_that_are_none(void **state)
{
	struct probe_table *t = NULL;
	char path[128], *huge;

	(void)state;
	said[0] = 0;
	assert_int_equal(probe_table_load(&t, dir), -ENOENT);
	assert_non_null(strstr(said, "has no probe file"));
	assert_int_equal(probe_table_load(&t, "/nonexistent/probes"), -ENOENT);

	snprintf(path, sizeof(path), "%s/fifo.yaml", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	said[0] = 0;
	assert_int_equal(probe_table_load(&t, dir), -EINVAL);
	assert_string_equal(what_was_said(), "fifo.yaml:1: file: is no regular file\n");
	remove_file("fifo.yaml");

	huge = malloc((1 << 20) + 2);
	assert_non_null(huge);
	memset(huge, '#', (1 << 20) + 1);
	huge[(1 << 20) + 1] = 0;
	assert_int_equal(load_one(huge, &t), -EINVAL);
	assert_string_equal(what_was_said(), "a.yaml:1: file: File too large\n");
	free(huge);
}

/* The files that are shipped. */
static void test_shipped(void **state)
{
	struct probe_table *t;

	(void)state;
	if (access("probes/torch.yaml", R_OK)) {
		print_message("not run from the top of the tree\n");
		skip();
	}
	said[0] = 0;
	assert_int_equal(probe_table_load(&t, "probes"), 0);
	assert_string_equal(said, "");
	assert_in_range(probe_table_count(t), 40, GP_ROWS_MAX);
	for (size_t i = 0; i < probe_table_count(t); i++) {
		const struct probe_row *row = probe_table_row(t, i);
		struct gp_row out;

		assert_int_equal(probe_row_compile(row, 0, &out), 0);
		/* A process' libraries go by their real file names: libcuda.so.1 is a link. */
		for (size_t j = 0; row->libraries[j]; j++)
			assert_non_null(strchr(row->libraries[j], '*'));
	}
	probe_table_free(t);
}

static int setup(void **state)
{
	(void)state;
	log_sink(hear, NULL);
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key),	    cmocka_unit_test(test_keep),
		cmocka_unit_test(test_alphabetical),	    cmocka_unit_test(test_wrong_files),
		cmocka_unit_test(test_each_file_is_told),   cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_files_that_are_none), cmocka_unit_test(test_shipped),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
