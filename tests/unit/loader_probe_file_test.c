/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>

#include "bpf/gp_private.h"
#include "tests/unit/probe_files.h"
#include "userspace/ingest/tape_probe.h"

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
	assert_int_equal(row->capture[2].offset[1], -16);
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

/* A second folder: its rows are added, or take the place of those of their id. */
static void test_more(void **state)
{
	struct probe_table *t = NULL;
	char more[160];

	(void)state;
	assert_int_equal(load_one(FILE_HEAD ROW("a") ROW("b"), &t), 0);
	snprintf(more, sizeof(more), "%s/more", dir);
	assert_int_equal(mkdir(more, 0700), 0);
	write_file("more/a.yaml", FILE_HEAD
		   "  - id: b\n    symbol: other\n    group: fault\n    why: x\n" ROW("c"));
	assert_int_equal(probe_table_add(t, more), 0);
	assert_int_equal(probe_table_count(t), 3);
	assert_string_equal(probe_table_row(t, 0)->symbol, "fake_a");
	assert_false(probe_table_row(t, 0)->replaces);
	assert_string_equal(probe_table_row(t, 1)->symbol, "other");
	assert_true(probe_table_row(t, 1)->replaces);
	assert_string_equal(probe_table_row(t, 2)->id, "fake.c");
	/* In one folder an id is taken once. */
	write_file("more/b.yaml", FILE_HEAD ROW("c"));
	assert_int_equal(probe_table_add(t, more), -EINVAL);
	probe_table_free(t);
	remove_file("more/a.yaml");
	remove_file("more/b.yaml");
	remove_file("more");
}

/* What calls return, of the file and of a row, and names of codes as they are returned. */
static void test_results(void **state)
{
	static const char text[] =
		"runtime: made\nlibraries: [libmade.so*]\n"
		"result: {is: signed, ok: [0, 2..4, -7]}\n"
		"codes:\n  - {code: 0x80070057, name: MADE_INVALID, fault: device}\n"
		"  - {code: -5, name: MADE_IO, fault: communicator}\n"
		"probes:\n" ROW("a") ROW("b") "    result: {is: object}\n" ROW(
			"c") "    result: {is: unsigned, ok: [0xfffffffb]}\n";
	const struct probe_row *row;
	struct probe_table *t;

	(void)state;
	assert_int_equal(load_one(text, &t), 0);
	row = probe_table_row(t, 0);
	assert_int_equal(row->result, GP_RETURNS_signed);
	assert_int_equal(row->noks, 3);
	assert_true(row->ok[1][0] == 2 && row->ok[1][1] == 4 && row->ok[2][0] == -7);
	row = probe_table_row(t, 1);
	assert_int_equal(row->result, GP_RETURNS_object);
	assert_int_equal(row->noks, 0);
	row = probe_table_row(t, 2);
	assert_true(row->ok[0][0] == 0xfffffffb);
	assert_int_equal(probe_table_codes(t), 2);
	assert_true(probe_table_code(t, 0)->code == (int32_t)0x80070057);
	assert_string_equal(probe_table_code(t, 0)->runtime, "made");
	assert_string_equal(probe_table_code(t, 1)->name, "MADE_IO");
	assert_int_equal(probe_table_code(t, 1)->kind, GP_FAULT_communicator);
	probe_table_free(t);
}

/* What the model is told of a row. */
static void test_record(void **state)
{
	static const char text[] =
		"runtime: made\nlibraries: [libmade.so*]\nbetween_ranks: true\n"
		"threads: [made_sum]\ndevices: [/dev/made, /dev/mode]\n"
		"result: {is: unsigned, ok: [0, 2..4]}\nprobes:\n" ROW("a") "    role: collective\n    pair: true\n    return: true\n" ROW(
			"b") "    role: execute\n    object: xla_executable\n    texts: [fake_b_text]\n"
			     "    captures: [{name: program, arg: 0}, {name: n, arg: 1}, {name: input, arg: 2}]\n"
			     "    status: verified\n";
	struct probe_table *t;
	struct gp_probe p;

	(void)state;
	assert_int_equal(load_one(text, &t), 0);
	probe_row_record(probe_table_row(t, 0), &p);
	assert_string_equal(p.id, "made.a");
	assert_string_equal(p.runtime, "made");
	assert_int_equal(p.role, GP_ROLE_collective);
	assert_int_equal(p.flags, GP_PROBE_WHOLE | GP_PROBE_RANKS | GP_PROBE_PAIR |
					  GP_PROBE_RETURNS | GP_PROBE_UNVERIFIED);
	assert_int_equal(p.returns, GP_RETURNS_unsigned);
	assert_int_equal(p.noks, 2);
	assert_true(p.ok[1][0] == 2 && p.ok[1][1] == 4);
	probe_row_record(probe_table_row(t, 1), &p);
	assert_int_equal(p.flags,
			 GP_PROBE_WHOLE | GP_PROBE_RANKS | GP_PROBE_OBJECT | GP_PROBE_TABLE);
	assert_string_equal(probe_table_threads(t)[0], "made_sum");
	assert_null(probe_table_threads(t)[1]);
	assert_string_equal(probe_table_devices(t)[1], "/dev/mode");
	assert_null(probe_table_devices(t)[2]);
	probe_table_free(t);
}

static char logged[512];
static void log_keep(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(logged, sizeof(logged), "%s", text);
}

/* A user's copy of a row from before a key is warned of. */
static void test_replaced_lacks_a_key(void **state)
{
	struct probe_table *t = NULL;
	char more[160];

	(void)state;
	assert_int_equal(load_one(FILE_HEAD ROW("a") "    role: collective\n    pair: true\n", &t),
			 0);
	snprintf(more, sizeof(more), "%s/more", dir);
	mkdir(more, 0700);
	write_file("more/a.yaml", FILE_HEAD ROW("a") "    role: collective\n");
	log_sink(log_keep, NULL);
	assert_int_equal(probe_table_add(t, more), 0);
	assert_non_null(strstr(logged, "fake.a: replaces a row of "));
	assert_non_null(strstr(logged, " that has pair: add it here, too"));
	logged[0] = '\0';
	write_file("more/a.yaml", FILE_HEAD ROW("a") "    role: collective\n    pair: true\n");
	assert_int_equal(probe_table_add(t, more), 0);
	assert_string_equal(logged, "");
	log_sink(NULL, NULL);
	probe_table_free(t);
	remove_file("more/a.yaml");
	assert_int_equal(rmdir(more), 0);
}

/* Probes on older tapes, which lack some flags, mean what the shipped files say of them. */
static void test_older_tape(void **state)
{
	const unsigned told = GP_PROBE_COUNTED | GP_PROBE_RETURNS | GP_PROBE_UNVERIFIED |
			      GP_PROBE_ANON_RANGE;
	struct probe_table *t;
	struct gp_probe p, old;
	unsigned flags;

	(void)state;
	if (access("probes/torch.yaml", R_OK))
		skip();
	assert_int_equal(probe_table_load(&t, "probes"), 0);
	for (size_t i = 0; i < probe_table_count(t); i++) {
		probe_row_record(probe_table_row(t, i), &p);
		old = p;
		old.flags &= told;
		tape_probe_complete(&old);
		/* Each flag where the model asks for it. */
		flags = p.role == GP_ROLE_execute      ? GP_PROBE_TABLE | GP_PROBE_OBJECT
			: p.role == GP_ROLE_collective ? GP_PROBE_PAIR | GP_PROBE_RANKS
			: p.role == GP_ROLE_compile || p.role == GP_ROLE_cached ||
					p.role == GP_ROLE_compile_end ||
					p.role == GP_ROLE_program_end
				? GP_PROBE_TABLE
				: GP_PROBE_RANKS;
		if ((old.flags & flags) != (p.flags & flags))
			fail_msg("%s: flags %x, of an older tape %x", p.id, p.flags, old.flags);
		old = p;
		tape_probe_complete(&old);
		assert_memory_equal(&old, &p, sizeof(p));
	}
	probe_table_free(t);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key),    cmocka_unit_test(test_keep),
		cmocka_unit_test(test_alphabetical), cmocka_unit_test(test_more),
		cmocka_unit_test(test_results),	     cmocka_unit_test(test_shipped),
		cmocka_unit_test(test_record),	     cmocka_unit_test(test_replaced_lacks_a_key),
		cmocka_unit_test(test_older_tape),
	};

	return cmocka_run_group_tests(tests, probe_files_setup, probe_files_teardown);
}
