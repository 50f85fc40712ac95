/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/base/archive.h"

#define MAGIC "test-one"

struct part {
	uint32_t number;
	char text[16];
};

struct whole {
	bool yes, no;
	uint8_t byte;
	uint16_t word;
	uint32_t number;
	uint64_t large;
	int32_t below;
	int64_t far_below;
	double real;
	uint32_t kind; /* 0..4 */
	uint64_t several[3];
	char text[16];
	unsigned char raw[5];
	struct part *there, *absent;
	uint32_t count; /* at most 8 */
	struct part parts[8];
};

static void part_archive(struct archive *a, struct part *p)
{
	archive_fields(a, p, number, text);
}

static void optional_archive(struct archive *a, struct part **at)
{
	struct part *p = *at = archive_object(a, *at, sizeof(*p));

	if (p)
		part_archive(a, p);
}

static void whole_archive(struct archive *a, struct whole *w)
{
	archive_struct(a, sizeof(*w));
	archive_fields(a, w, yes, no, byte, word, number, large, below, far_below, real);
	archive_below(a, &w->kind, 5);
	archive_fields(a, w, several, text);
	archive_bytes(a, w->raw, sizeof(w->raw));
	optional_archive(a, &w->there);
	optional_archive(a, &w->absent);
	archive_count(a, &w->count, 8, sizeof(*w->parts));
	for (uint32_t i = 0; i < w->count; i++)
		part_archive(a, &w->parts[i]);
}

static int whole_write(struct whole *w, struct buffer *out)
{
	struct archive a;

	archive_write(&a, out, MAGIC, 3);
	whole_archive(&a, w);
	return archive_end(&a);
}

static int whole_read(struct whole *w, const char *data, size_t len)
{
	struct archive a;
	int err;

	memset(w, 0, sizeof(*w));
	archive_read(&a, data, len, MAGIC, 3);
	whole_archive(&a, w);
	err = archive_end(&a);
	if (err) {
		free(w->there);
		free(w->absent);
	}
	return err;
}

static void make(struct whole *w, struct part *p)
{
	*p = (struct part){7, "part"};
	*w = (struct whole){.yes = true,
			    .byte = 255,
			    .word = 65535,
			    .number = UINT32_MAX,
			    .large = UINT64_MAX,
			    .below = INT32_MIN,
			    .far_below = INT64_MIN,
			    .real = -0.1,
			    .kind = 4,
			    .several = {0, 127, 128},
			    .text = "fifteen letters",
			    .raw = {0, 10, 27, 127, 255},
			    .there = p,
			    .count = 2,
			    .parts = {{1, "one"}, {2, ""}}};
}

static void test_round(void **state)
{
	struct buffer out = {0}, again = {0};
	struct whole w, r;
	struct part p;

	(void)state;
	make(&w, &p);
	assert_int_equal(whole_write(&w, &out), 0);
	assert_int_equal(whole_read(&r, out.data, out.len), 0);
	assert_true(r.yes && !r.no);
	assert_int_equal(r.byte, 255);
	assert_int_equal(r.word, 65535);
	assert_int_equal(r.number, UINT32_MAX);
	assert_int_equal(r.large, UINT64_MAX);
	assert_int_equal(r.below, INT32_MIN);
	assert_true(r.far_below == INT64_MIN);
	assert_true(r.real == -0.1);
	assert_int_equal(r.kind, 4);
	assert_memory_equal(r.several, w.several, sizeof(w.several));
	assert_string_equal(r.text, w.text);
	assert_memory_equal(r.raw, w.raw, sizeof(w.raw));
	assert_non_null(r.there);
	assert_int_equal(r.there->number, 7);
	assert_string_equal(r.there->text, "part");
	assert_null(r.absent);
	assert_int_equal(r.count, 2);
	assert_string_equal(r.parts[0].text, "one");
	assert_int_equal(r.parts[1].number, 2);
	assert_int_equal(whole_write(&r, &again), 0);
	assert_int_equal(again.len, out.len);
	assert_memory_equal(again.data, out.data, out.len);
	free(r.there);
	buffer_free(&out);
	buffer_free(&again);
}

static void test_signs(void **state)
{
	static const int64_t values[] = {0,   1,	 -1,	    63,	       -64,	 64,
					 -65, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct buffer out = {0};
		int64_t value = values[i];
		int32_t small = 1;
		struct archive a;

		archive_write(&a, &out, MAGIC, 1);
		archive_field(&a, value);
		assert_int_equal(archive_end(&a), 0);
		value = 77;
		archive_read(&a, out.data, out.len, MAGIC, 1);
		archive_field(&a, value);
		assert_int_equal(archive_end(&a), 0);
		assert_true(value == values[i]);
		archive_read(&a, out.data, out.len, MAGIC, 1);
		archive_field(&a, small);
		assert_int_equal(archive_end(&a), values[i] == (int32_t)values[i] ? 0 : -EBADMSG);
		assert_true(small == (values[i] == (int32_t)values[i] ? values[i] : 0));
		buffer_free(&out);
	}
}

static void test_behind_others(void **state)
{
	struct buffer out = {0};
	struct whole w, r;
	struct part p;

	(void)state;
	make(&w, &p);
	buffer_add(&out, "before", 6);
	assert_int_equal(whole_write(&w, &out), 0);
	assert_memory_equal(out.data, "before", 6);
	assert_int_equal(whole_read(&r, out.data + 6, out.len - 6), 0);
	free(r.there);
	/* What cannot be read back is not written. */
	out.len = 6;
	w.kind = 5;
	assert_int_equal(whole_write(&w, &out), -EBADMSG);
	assert_int_equal(w.kind, 5);
	assert_int_equal(out.len, 6);
	buffer_free(&out);
}

static void test_damage(void **state)
{
	struct buffer out = {0};
	struct whole w, r;
	struct part p;

	(void)state;
	make(&w, &p);
	assert_int_equal(whole_write(&w, &out), 0);
	for (size_t len = 0; len < out.len; len++)
		assert_int_equal(whole_read(&r, out.data, len), -EBADMSG);
	for (size_t bit = 0; bit < 8 * out.len; bit++) {
		out.data[bit / 8] = (char)(out.data[bit / 8] ^ 1 << bit % 8);
		assert_int_equal(whole_read(&r, out.data, out.len), -EBADMSG);
		out.data[bit / 8] = (char)(out.data[bit / 8] ^ 1 << bit % 8);
	}
	buffer_add(&out, "", 1);
	assert_int_equal(whole_read(&r, out.data, out.len), -EBADMSG);
	buffer_free(&out);
}

static void test_versions(void **state)
{
	struct buffer out = {0};
	struct archive a;
	struct part p = {1, "x"};

	(void)state;
	archive_write(&a, &out, MAGIC, 3);
	archive_struct(&a, sizeof(p));
	part_archive(&a, &p);
	assert_int_equal(archive_end(&a), 0);
	archive_read(&a, out.data, out.len, MAGIC, 4);
	assert_int_equal(archive_end(&a), -EPROTO);
	archive_read(&a, out.data, out.len, "test-two", 3);
	assert_int_equal(archive_end(&a), -EBADMSG);
	archive_read(&a, out.data, out.len, MAGIC, 3);
	archive_struct(&a, sizeof(p) + 8);
	part_archive(&a, &p);
	assert_int_equal(p.number, 0);
	assert_string_equal(p.text, "");
	assert_int_equal(archive_end(&a), -EPROTO);
	/* Something is left. */
	archive_read(&a, out.data, out.len, MAGIC, 3);
	archive_struct(&a, sizeof(p));
	assert_int_equal(archive_end(&a), -EBADMSG);
	buffer_free(&out);
}

/* What is written as one thing and read as another, with a checksum that is right. */
static void test_limits(void **state)
{
	struct buffer out = {0};
	struct archive a;
	uint64_t many = 200, wild = 300;
	uint32_t count = 9;
	uint8_t byte = 1;
	bool flag = true;
	char text[16] = "fine", small[3];

	(void)state;
	archive_write(&a, &out, MAGIC, 1);
	archive_field(&a, many);
	archive_field(&a, wild);
	archive_count(&a, &count, 9, 4);
	archive_field(&a, text);
	assert_int_equal(archive_end(&a), 0);

	archive_read(&a, out.data, out.len, MAGIC, 1);
	archive_field(&a, flag);
	assert_int_equal(a.error, -EBADMSG);
	assert_false(flag);
	archive_read(&a, out.data, out.len, MAGIC, 1);
	archive_field(&a, byte);
	assert_int_equal(a.error, 0);
	archive_field(&a, byte);
	assert_int_equal(a.error, -EBADMSG);
	assert_int_equal(byte, 0);
	archive_read(&a, out.data, out.len, MAGIC, 1);
	archive_below(&a, &many, 200);
	assert_int_equal(a.error, -EBADMSG);
	assert_int_equal(many, 0);
	archive_read(&a, out.data, out.len, MAGIC, 1);
	archive_field(&a, many);
	archive_field(&a, many);
	archive_count(&a, &count, 8, 4);
	assert_int_equal(a.error, -EBADMSG);
	assert_int_equal(count, 0);
	/* 9 items cannot be in the 5 bytes that follow. */
	archive_read(&a, out.data, out.len, MAGIC, 1);
	archive_field(&a, many);
	archive_field(&a, many);
	archive_count(&a, &count, 9, 4);
	assert_int_equal(a.error, -EBADMSG);
	assert_int_equal(count, 0);
	buffer_free(&out);

	archive_write(&a, &out, MAGIC, 1);
	archive_field(&a, text);
	assert_int_equal(archive_end(&a), 0);
	archive_read(&a, out.data, out.len, MAGIC, 1);
	archive_field(&a, small);
	assert_int_equal(archive_end(&a), -EBADMSG);
	buffer_clear(&out);
	archive_write(&a, &out, MAGIC, 1);
	archive_field(&a, "\033[2J");
	assert_int_equal(archive_end(&a), 0);
	archive_read(&a, out.data, out.len, MAGIC, 1);
	archive_field(&a, text);
	assert_int_equal(archive_end(&a), -EBADMSG);
	buffer_free(&out);
}

static void test_memory(void **state)
{
	struct buffer out = {0};
	struct archive a;
	size_t most;
	void *p;

	(void)state;
	archive_write(&a, &out, MAGIC, 1);
	assert_int_equal(archive_end(&a), 0);
	most = out.len * ARCHIVE_GROWTH + ARCHIVE_SLACK;
	archive_read(&a, out.data, out.len, MAGIC, 1);
	assert_null(archive_alloc(&a, most + 1, 1));
	assert_int_equal(archive_end(&a), -EBADMSG);
	archive_read(&a, out.data, out.len, MAGIC, 1);
	assert_null(archive_alloc(&a, SIZE_MAX / 2, 8));
	archive_read(&a, out.data, out.len, MAGIC, 1);
	p = archive_alloc(&a, most - 8, 1);
	assert_non_null(p);
	free(p);
	assert_null(archive_object(&a, NULL, 9));
	assert_null(archive_alloc(&a, 9, 1));
	assert_int_equal(archive_end(&a), -EBADMSG);
	buffer_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),	      cmocka_unit_test(test_signs),
		cmocka_unit_test(test_behind_others), cmocka_unit_test(test_damage),
		cmocka_unit_test(test_versions),      cmocka_unit_test(test_limits),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
