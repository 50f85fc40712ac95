/* SPDX-License-Identifier: Apache-2.0 */
/* Probe files that are wrong: each is told by one line. */
#include <errno.h>
#include <sys/stat.h>

#include "bpf/gp_private.h"
#include "tests/unit/probe_files.h"

#define BAD(id, rest) FILE_HEAD "  - id: " id "\n    group: fault\n    why: a test\n" rest

static const struct {
	const char *text, *error;
} bad[] = {
	{"", "a.yaml:1: file: is empty\n"},
	{"[1, 2]", "a.yaml:1: file: expected a mapping\n"},
	{"runtime: x\n  bad: [\n", "a.yaml:2: mapping values are not allowed in this context\n"},
	{"runtime: x\nprobes: [\n", "a.yaml:3: did not find expected node content\n"},
	{FILE_HEAD ROW("a") "  - *x\n", "a.yaml:8: aliases are not supported\n"},
	{FILE_HEAD ROW("a") "---\n{}\n", "a.yaml:9: file: has more than one document\n"},
	{"? [a]\n: b\n", "a.yaml:1: file: a key is a mapping or a list\n"},
	{"runtime: [a]\n", "a.yaml:1: runtime: expected one value\n"},
	{"runtime: x\nresult: signed\n", "a.yaml:2: result: expected a mapping\n"},
	{"runtime: x\nlibraries: [a.so]\n", "a.yaml:1: probes: is missing\n"},
	{"runtime: x\nlibraries: []\nprobes: []\n",
	 "a.yaml:2: libraries: a list has 1 to 16 entries\n"},
	{"runtime: Torch\nlibraries: [a.so]\nprobes:\n" ROW("a"),
	 "a.yaml:1: runtime: must consist of [a-z0-9_] and be shorter than 16 characters\n"},
	{"runtime: a123456789012345\nlibraries: [a.so]\nprobes:\n" ROW("a"),
	 "a.yaml:1: runtime: must consist of [a-z0-9_] and be shorter than 16 characters\n"},
	{BAD("a", "    symbol: fake_a\n    result: {is: signed, ok: [5..1]}\n"),
	 "a.yaml:8: result: ok must be 32-bit codes, A or A..B, and is: signed or unsigned\n"},
	{BAD("a", "    symbol: fake_a\n    result: {is: object, ok: [1]}\n"),
	 "a.yaml:8: result: ok must be 32-bit codes, A or A..B, and is: signed or unsigned\n"},
	{"runtime: x\nlibraries: [a.so]\ncodes:\n  - {code: five, name: FIVE, fault: device}\nprobes:\n" ROW(
		 "a"),
	 "a.yaml:3: codes: a code must have 32 bits and a name shorter than 48 characters\n"},
	{BAD("a", "    symbol: fake_a\n    role: sync\n    pair: true\n"),
	 "a.yaml:9: pair: allowed only with role: collective\n"},
	{BAD("a", "    symbol: fake_a\n    role: sync\n    object: xla_executable\n"),
	 "a.yaml:9: object: allowed only with role: execute or compile_end\n"},
	{BAD("a", "    symbol: fake_a\n    role: execute\n    object: xla_executable\n"),
	 "a.yaml:9: object: needs captures, the first of which is the object\n"},
	{BAD("a",
	     "    symbol: fake_a\n    role: execute\n    object: xla_executable\n    captures: [{name: executable, arg: 0}]\n"),
	 "a.yaml:10: captures: object needs three: the executable, any, the first input\n"},
	{BAD("a", "    symbol: fake_a\n    role: execute\n    object: elephant\n"),
	 "a.yaml:9: object: elephant is not a value of this key\n"},
	{"runtime: x\nlibraries: [a.so]\ndevices: [/tmp/x]\nprobes:\n" ROW("a"),
	 "a.yaml:3: devices: must begin with /dev/\n"},
	{"runtime: x\nlibraries: [a.so]\nbetween_ranks: often\nprobes:\n" ROW("a"),
	 "a.yaml:3: between_ranks: often is not a value of this key\n"},
	{BAD("a", "    symbol: fake_a\n    bogus: 3\n"), "a.yaml:8: bogus: unknown key\n"},
	{BAD("a", "    symbol: fake_a\n    string: {arg: 0, how: chars}\n"),
	 "a.yaml:8: how: unknown key\n"},
	{BAD("a", "    symbol: fake_a\n    symbol: fake_b\n"), "a.yaml:8: symbol: given twice\n"},
	{FILE_HEAD "  - id: a\n    symbol: fake_a\n    group: fault\n",
	 "a.yaml:4: why: is missing\n"},
	{FILE_HEAD "  - id: a\n    symbol: fake_a\n    why: x\n", "a.yaml:4: group: is missing\n"},
	{BAD("a", "    follow: {probe: nobody, capture: x, join: y}\n"),
	 "a.yaml:7: follow: join needs with, and with needs join\n"},
	{FILE_HEAD ROW("a") "  - symbol: fake_a\n    group: fault\n    why: x\n",
	 "a.yaml:8: id: is missing\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{arg: 0}]\n"),
	 "a.yaml:8: name: is missing\n"},
	{BAD("a", ""), "a.yaml:4: symbol: give exactly one of symbol, prefix and follow\n"},
	{BAD("a", "    symbol: fake_a\n    prefix: fake_b\n"),
	 "a.yaml:8: prefix: give exactly one of symbol, prefix and follow\n"},
	{BAD("a", "    symbol: \"\"\n"), "a.yaml:7: symbol: a text has 1 to 1024 bytes\n"},
	{BAD("a", "    symbol: f\n"), "a.yaml:7: symbol: is too short to identify one function\n"},
	{BAD("a", "    symbol: fake_a@@V1\n"),
	 "a.yaml:7: symbol: contains a version or a pattern; give the plain name\n"},
	{BAD("A", "    symbol: fake_a\n"),
	 "a.yaml:4: id: must consist of [a-z0-9_], and with the runtime be shorter than 48 characters\n"},
	{BAD("a2345678901234567890123456789012345678901234", "    symbol: fake_a\n"),
	 "a.yaml:4: id: must consist of [a-z0-9_], and with the runtime be shorter than 48 characters\n"},
	{FILE_HEAD ROW("a") ROW("b") ROW("a"),
	 "a.yaml:12: id: is taken by fake.a at DIR/a.yaml:4\n"},
	{FILE_HEAD ROW("a") "  - id: b\n    symbol: fake_a\n    group: marker\n    why: w\n",
	 "a.yaml:8: symbol: fake.a at DIR/a.yaml:4 probes the same function; to replace that row, give its id\n"},
	{FILE_HEAD "  - {id: a, prefix: fake_, group: fault, libraries: [libfake.so.1], why: w}\n"
		   "  - {id: b, prefix: fake_, group: fault, why: w}\n",
	 "a.yaml:5: prefix: fake.a at DIR/a.yaml:4 probes the same function; to replace that row, give its id\n"},
	{BAD("a", "    symbol: fake_a\n    role: nonsense\n"),
	 "a.yaml:8: role: nonsense is not a value of this key\n"},
	{BAD("a", "    symbol: fake_a\n    role: 3\n"),
	 "a.yaml:8: role: 3 is not a value of this key\n"},
	{BAD("a", "    symbol: fake_a\n    return: maybe\n"),
	 "a.yaml:8: return: maybe is not a value of this key\n"},
	{BAD("a", "    symbol: fake_a\n    max_hz: -1\n"),
	 "a.yaml:8: max_hz: -1 is not a number in range\n"},
	{BAD("a", "    symbol: fake_a\n    max_hz: 4294967296\n"),
	 "a.yaml:8: max_hz: 4294967296 is not a number in range\n"},
	{BAD("a", "    symbol: fake_a\n    max_hz: 9Hz\n"),
	 "a.yaml:8: max_hz: 9Hz is not a number in range\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: 3000000000}]\n"),
	 "a.yaml:8: arg: 3000000000 is not a number in range\n"},
	{BAD("a", "    symbol: fake_a\n    only: {arg: 0, equals: 18446744073709551616}\n"),
	 "a.yaml:8: equals: 18446744073709551616 is not a number in range\n"},
	{BAD("a", "    symbol: fake_a\n    max_hz: 1000001\n"),
	 "a.yaml:8: max_hz: is more than 1000000\n"},
	{BAD("a", "    symbol: fake_a\n    variants: _v2\n"),
	 "a.yaml:8: variants: expected a list\n"},
	{BAD("a", "    prefix: fake_a\n    variants: [_v2]\n"),
	 "a.yaml:8: variants: allowed only with an exact symbol\n"},
	{BAD("a", "    symbol: fake_a\n    libraries: [/usr/lib/liba.so]\n"),
	 "a.yaml:8: libraries: contains '/', but only file names are compared\n"},
	{BAD("a", "    symbol: fake_a\n    libraries: [\"lib*\"]\n"),
	 "a.yaml:8: libraries: matches a library that every process maps\n"},
	{BAD("a", "    symbol: _ZN4fakeEv\n    abi: itanium\n    return: true\n"),
	 "a.yaml:9: return: not allowed on a C++ function: an exception that passes it would end the job\n"},
	{BAD("a", "    symbol: fake_a\n    abi: cxx_sret\n    return: true\n"),
	 "a.yaml:9: return: not allowed on a C++ function: an exception that passes it would end the job\n"},
	{BAD("a", "    symbol: _ZN4fakeEv\n"),
	 "a.yaml:4: abi: must be itanium or cxx_sret for a C++ symbol\n"},
	{BAD("a", "    symbol: fake_a\n    may_block: true\n"),
	 "a.yaml:8: may_block: needs return: true\n"},
	{BAD("a", "    symbol: fake_a\n    role: range_begin\n"),
	 "a.yaml:4: string: role: range_begin needs either a string or anonymous: true\n"},
	{BAD("a", "    symbol: fake_a\n    anonymous: true\n"),
	 "a.yaml:8: anonymous: allowed only with role: range_begin\n"},
	{BAD("a", "    symbol: fake_a\n    keep: [x]\n"),
	 "a.yaml:8: keep: allowed only with role: range_begin and a string\n"},
	{BAD("a", "    symbol: fake_a\n    emit: count\n    return: true\n"),
	 "a.yaml:9: return: not allowed with emit: count\n"},
	{BAD("a", "    symbol: fake_a\n    emit: count\n    captures: [{name: x, arg: 0}]\n"),
	 "a.yaml:9: captures: not allowed with emit: count\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: 0, width: 3}]\n"),
	 "a.yaml:8: captures: width must be 1, 2, 4 or 8 bytes\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: 0, deref: 4}]\n"),
	 "a.yaml:8: captures: deref is more than 3\n"},
	{BAD("a",
	     "    symbol: fake_a\n    captures: [{name: x, arg: 0, deref: 1, offset: 40000}]\n"),
	 "a.yaml:8: captures: offset is out of range\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: 0, offset: 8}]\n"),
	 "a.yaml:8: captures: offset has no effect without deref\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: -2}]\n"),
	 "a.yaml:8: captures: arg is out of reach\n"},
	{BAD("a", "    symbol: fake_a\n    only: {arg: 99, equals: 1}\n"),
	 "a.yaml:8: only: arg is out of reach\n"},
	{BAD("a",
	     "    symbol: fake_a\n    captures: [{name: x, arg: 0}, {name: y, arg: 1}, {name: z, arg: 2}]\n"),
	 "a.yaml:8: captures: more than 2 need return: true\n"},
	{BAD("a",
	     "    symbol: fake_a\n    return: true\n    captures: [{name: a, arg: 0}, {name: b, arg: 0}, "
	     "{name: c, arg: 0}, {name: d, arg: 0}, {name: e, arg: 0}, {name: f, arg: 0}, {name: g, arg: 0}]\n"),
	 "a.yaml:9: captures: a list has 1 to 6 entries\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: 0, deref: 1, path: [8]}]\n"),
	 "a.yaml:8: captures: path replaces deref and offset; give only one of them\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: 0, path: [8, 40000]}]\n"),
	 "a.yaml:8: captures: offset is out of range\n"},
	{BAD("a", "    symbol: fake_a\n    captures: [{name: x, arg: 0, path: [8], late: true}]\n"),
	 "a.yaml:8: captures: late needs return: true\n"},
	{BAD("a", "    symbol: fake_a\n    unless: {of: return, is: [0]}\n"),
	 "a.yaml:8: unless: needs return: true\n"},
	{BAD("a", "    symbol: fake_a\n    return: true\n    unless: {of: nobody, is: [0]}\n"),
	 "a.yaml:9: unless: `of` must be return or the name of a capture\n"},
	{BAD("a", "    symbol: fake_a\n    emit: count\n    wake: true\n"),
	 "a.yaml:9: wake: not allowed with emit: count or role: range_begin\n"},
	{BAD("a", "    prefix: fake_a\n    linked: true\n"),
	 "a.yaml:8: linked: allowed only with the exact symbol of a C function\n"},
	{BAD("a", "    symbol: fake_a\n    once: yes\n    emit: count\n"),
	 "a.yaml:8: once: not allowed with emit: count, return, string or role: range_begin\n"},
	{BAD("a", "    symbol: fake_a\n    only_names: [x]\n"),
	 "a.yaml:8: only_names: needs a string, and a role other than range_begin\n"},
	{BAD("a", "    symbol: _ZN1aE\n    texts: [fake_a_text, short]\n"),
	 "a.yaml:8: texts: each must have 8 to 95 bytes\n"},
	{BAD("a", "    symbol: _ZN1aE\n    abi: itanium\n    texts: [fake_a_text]\n"),
	 "a.yaml:8: abi: must be c for a function that is found by its texts\n"},
	{BAD("a", "    symbol: fake_a\n    role: monitor\n    max_hz: 9\n"),
	 "a.yaml:4: captures: role: monitor needs exactly one, the argument that is the event\n"},
	{BAD("a",
	     "    symbol: fake_a\n    role: monitor\n    captures: [{name: x, arg: 0, deref: 1}]\n"),
	 "a.yaml:9: captures: role: monitor needs exactly one, the argument that is the event\n"},
	{BAD("a", "    symbol: fake_a\n    role: monitor\n    captures: [{name: x, arg: 0}]\n"),
	 "a.yaml:4: max_hz: required with role: monitor, as the job decides how often it calls\n"},
	{BAD("a",
	     "    symbol: fake_a\n    role: monitor\n    captures: [{name: x, arg: 0}]\n    return: true\n"),
	 "a.yaml:10: return: not allowed with role: monitor\n"},
	{BAD("a",
	     "    symbol: fake_a\n    role: monitor\n    captures: [{name: x, arg: 0}]\n    wake: true\n"),
	 "a.yaml:10: wake: not allowed with role: monitor\n"},
	{BAD("a", "    symbol: fake_a\n    follow: {probe: a, capture: x}\n"),
	 "a.yaml:8: follow: give exactly one of symbol, prefix and follow\n"},
	{BAD("a", "    follow: {probe: a, capture: x}\n    return: true\n"),
	 "a.yaml:8: return: not allowed with follow: an exception through it would end the job\n"},
	{BAD("a", "    follow: {probe: a, capture: x}\n    texts: [fake_a_text]\n"),
	 "a.yaml:8: texts: not allowed with follow\n"},
	{BAD("a", "    follow: {probe: nobody, capture: x}\n"),
	 "a.yaml:7: follow: no row above has this name and capture\n"},
	{FILE_HEAD ROW(
		 "b") "  - id: a\n    group: fault\n    why: a test\n    follow: {probe: b, capture: x}\n",
	 "a.yaml:11: follow: no row above has this name and capture\n"},
};

static void test_wrong_files(void **state)
{
	struct probe_table *t;
	char expected[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *mark = strstr(bad[i].error, "DIR");

		snprintf(expected, sizeof(expected), "%.*s%s%s",
			 (int)(mark ? mark - bad[i].error : (ptrdiff_t)strlen(bad[i].error)),
			 bad[i].error, mark ? dir : "", mark ? mark + 3 : "");
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
		{GP_HOT_ROWS,
		 "  - {id: r%1$d, symbol: fake_r%1$d, group: bulk, emit: count, why: x}\n",
		 "emit: more than 32 rows have emit: count\n"},
		{GP_RETURN_ROWS_MAX,
		 "  - {id: r%1$d, symbol: fake_r%1$d, group: fault, return: true, why: x}\n",
		 "return: more than 128 rows have return: true\n"},
		{GP_ROWS_MAX, "  - {id: r%1$d, symbol: fake_r%1$d, group: fault, why: x}\n",
		 "probes: a list has 1 to 512 entries\n"},
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
	assert_string_equal(what_was_said(), "fifo.yaml: cannot be read: not a regular file\n");
	remove_file("fifo.yaml");

	huge = malloc((1 << 20) + 2);
	assert_non_null(huge);
	memset(huge, '#', (1 << 20) + 1);
	huge[(1 << 20) + 1] = 0;
	assert_int_equal(load_one(huge, &t), -EINVAL);
	assert_string_equal(what_was_said(), "a.yaml: cannot be read: File too large\n");
	free(huge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_files),
		cmocka_unit_test(test_each_file_is_told),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_files_that_are_none),
	};

	return cmocka_run_group_tests(tests, probe_files_setup, probe_files_teardown);
}
