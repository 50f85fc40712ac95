/* SPDX-License-Identifier: Apache-2.0 */
/* Records of event files: published CRCs, bytes by hand, and what may come in as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/export/tensorboard/tensorboard_folder.h"
#include "userspace/export/tensorboard/tensorboard_record.h"

/* RFC 3720, B.4. */
static void test_crc(void **state)
{
	uint8_t bytes[32];

	(void)state;
	assert_int_equal(tb_crc32c("", 0), 0);
	assert_int_equal(tb_crc32c("123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(tb_crc32c(bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(tb_crc32c(bytes, sizeof(bytes)), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(tb_crc32c(bytes, sizeof(bytes)), 0x46dd794e);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)(31 - i);
	assert_int_equal(tb_crc32c(bytes, sizeof(bytes)), 0x113fdb5c);
}

/* As the goodput library's own writer begins a file, and goes on (recorded). */
static const uint8_t recorded[] = {
	0x18, 0,    0,	  0,	0,    0,    0,	  0,	0xa3, 0x7f, 0x4b, 0x22, 0x09, 0x51, 0x7e,
	0x8b, 0x3a, 0x59, 0xc0, 0xda, 0x41, 0x1a, 0x0d, 'b',  'r',  'a',  'i',	'n',  '.',  'E',
	'v',  'e',  'n',  't',	':',  '2',  0x0d, 0x8f, 0xfe, 0x59, 0x30, 0,	0,    0,    0,
	0,    0,    0,	  0x95, 0xf5, 0xd0, 0x5f, 0x09, 0,    0,    0x40, 0x48, 0x45, 0xdd, 0xd9,
	0x41, 0x10, 0x31, 0x2a, 0x23, 0x0a, 0x21, 0x0a, 0x0f, 'g',  'o',  'o',	'd',  'p',  'u',
	't',  '/',  'g',  'o',	'o',  'd',  'p',  'u',	't',  0x15, 0xb7, 0xaf, 0x6c, 0x42, 0x4a,
	0x09, 0x12, 0x07, 'g',	'o',  'o',  'd',  'p',	'u',  't',  0x77, 0xc8, 0x26, 0x3a,
};

static void test_recorded(void **state)
{
	const struct tb_scalar s = {
		.tag = "goodput/goodput",
		.display = "goodput",
		.step = 49,
		.wall_s = 1735726369,
		.value = 59.17159652709961,
	};
	struct buffer out = {0};
	uint64_t count;
	double wall_s;

	(void)state;
	memcpy(&wall_s, recorded + 13, sizeof(wall_s));
	tb_record_version(&out, wall_s);
	tb_record_scalar(&out, &s);
	assert_false(out.failed);
	assert_int_equal(out.len, sizeof(recorded));
	assert_memory_equal(out.data, recorded, sizeof(recorded));
	/* Whole records, wherever it is cut. */
	assert_int_equal(tb_record_whole(out.data, out.len, &count), out.len);
	assert_int_equal(count, 2);
	for (size_t len = 0; len < out.len; len++) {
		assert_int_equal(tb_record_whole(out.data, len, &count), len < 40 ? 0 : 40);
		assert_int_equal(count, len >= 40);
	}
	buffer_free(&out);
}

/* A length that is none, as a torn file may have. */
static void test_length(void **state)
{
	char wrong[64];
	uint64_t count;

	(void)state;
	memset(wrong, 0xff, sizeof(wrong));
	assert_int_equal(tb_record_whole(wrong, sizeof(wrong), &count), 0);
	assert_int_equal(count, 0);
}

/* Readers take no text that is not UTF-8, and nothing that comes after it. */
static void test_hostile(void **state)
{
	char tag[1000];
	struct tb_scalar s = {.tag = "badput/\xff\x1b[2J\xc3\xa9", .display = "\x80", .wall_s = 1};
	struct buffer out = {0};

	(void)state;
	tb_record_scalar(&out, &s);
	assert_non_null(memmem(out.data, out.len, "badput/??[2J\xc3\xa9", 14));
	assert_null(memchr(out.data + 12, 0x80, out.len - 16));
	buffer_clear(&out);
	memset(tag, 'x', sizeof(tag) - 1);
	tag[sizeof(tag) - 1] = '\0';
	s.tag = tag;
	tb_record_scalar(&out, &s);
	assert_false(out.failed);
	assert_in_range(out.len, TB_TAG_MAX, TB_TAG_MAX + 64);
	buffer_free(&out);
}

static void test_names(void **state)
{
	static const char *const wrong[] = {"",	   "..",   ".hidden", "a/b",
					    "a b", "\xff", "/etc",    "a\n"};
	char out[TB_NAME_MAX], other[TB_NAME_MAX], lengthy[300];

	(void)state;
	tb_folder_name(out, "llama-3.1_70b");
	assert_string_equal(out, "llama-3.1_70b");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		tb_folder_name(out, wrong[i]);
		assert_null(strchr(out, '/'));
		assert_int_not_equal(out[0], '.');
		assert_int_equal(out[strlen(out) - 9], '-');
	}
	tb_folder_name(out, "a/b");
	tb_folder_name(other, "a:b");
	assert_string_not_equal(out, other);
	memset(lengthy, 'x', sizeof(lengthy) - 1);
	lengthy[sizeof(lengthy) - 1] = '\0';
	tb_folder_name(out, lengthy);
	assert_in_range(strlen(out), 60, TB_NAME_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc),    cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_length), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
