/* SPDX-License-Identifier: Apache-2.0 */
/* The short way of a step's record against the long one: a million lines, right, nearly right, and
 * broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/ingest/goodput_entry.h"
#include "userspace/ingest/goodput_frame.h"
#include "userspace/ingest/goodput_step_line.h"

#define LINES 1000000

static uint64_t seed = 0x9e3779b97f4a7c15ull;

/* xorshift64 (Marsaglia, 2003) */
static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static const char *blanks(void)
{
	static const char *const of[] = {"", "", "", " ", " ", "  ", "\t"};

	return of[draw(7)];
}

static const char *pick_name(void)
{
	static const char *const of[] = {"job",	    "other job", "", "a\\\"b", "\xc3\xa9t\xc3\xa9",
					 "\\u0041", "\x01"};

	return of[draw(7)];
}

static void write_number(char *out, size_t size)
{
	int digits = (int)draw(18);

	switch (draw(8)) {
	case 0:
		snprintf(out, size, "%0*llu", digits, (unsigned long long)draw(1000000));
		break;
	case 1:
		snprintf(out, size, "%g", (double)draw(1000000) / 8 - 100);
		break;
	default:
		snprintf(out, size, "%llu", (unsigned long long)(seed >> draw(64)));
		break;
	}
}

static void write_time(char *out, size_t size)
{
	uint64_t s = draw(8) ? 1700000000 + draw(100000000) : draw(6000000000);

	switch (draw(10)) {
	case 0:
		snprintf(out, size, "%llu.%0*llu", (unsigned long long)s, (int)draw(9),
			 (unsigned long long)draw(1000000));
		break;
	case 1:
		snprintf(out, size, "%.17g", (double)s + (double)draw(1000000) / 1e6);
		break;
	case 2:
		write_number(out, size);
		break;
	default:
		snprintf(out, size, "%llu.%06llu", (unsigned long long)s,
			 (unsigned long long)draw(1000000));
		break;
	}
}

static size_t write_line(char *out, size_t size)
{
	char count[64], time[64];
	int len;

	write_number(count, sizeof(count));
	write_time(time, sizeof(time));
	len = snprintf(out, size,
		       "{\"job_name\":%s\"%s\",%s\"step_count\":%s%s,%s\"step_start_time\":%s%s}",
		       blanks(), pick_name(), blanks(), blanks(), count, blanks(), blanks(), time);
	if (!draw(8)) /* a byte of it is another */
		out[draw((uint64_t)len)] = " \"{}[],.:0e\\-\n"[draw(14)];
	return (size_t)len;
}

/* Length of the entry, 0: it is none, or no record. */
static size_t long_way(struct goodput_parser *parser, const char *text, size_t len,
		       struct goodput_entry *ret)
{
	char reason[GOODPUT_REASON_MAX];
	struct goodput_frame frame;
	const char *why;
	size_t entry_len;

	goodput_frame_start(&frame);
	goodput_frame_feed(&frame, text, text + len);
	if (!goodput_frame_begin(&frame) || frame.at != text)
		return 0;
	if (goodput_frame_scan(&frame, &entry_len, &why) != FRAME_ENTRY)
		return 0;
	return goodput_entry_parse(parser, text, entry_len, ret, reason) == 1 ? entry_len : 0;
}

static void equal_records(const struct goodput_record *a, const struct goodput_record *b)
{
	assert_int_equal(a->write_us, b->write_us);
	assert_int_equal(a->time_us, b->time_us);
	assert_int_equal(a->number, b->number);
	assert_int_equal(a->duration_us, b->duration_us);
	assert_int_equal(a->job, b->job);
	assert_int_equal(a->name, b->name);
	assert_int_equal(a->active | a->total | a->available, b->active | b->total | b->available);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->persistent, b->persistent);
	assert_int_equal(a->written, b->written);
}

static void same_records(void **state)
{
	struct goodput_names *names = goodput_names_new();
	struct goodput_parser *parser = goodput_parser_new(names);
	struct goodput_entry slow = {.record.write_us = GOODPUT_UNKNOWN};
	struct goodput_record fast;
	unsigned int quick = 0, records = 0;
	char line[256];
	size_t len, used;

	(void)state;
	assert_non_null(parser);
	for (int i = 0; i < LINES; i++) {
		len = write_line(line, sizeof(line));
		used = goodput_step_line(line, len, names, &fast);
		records += long_way(parser, line, len, &slow) > 0;
		if (!used)
			continue;
		quick++;
		if (long_way(parser, line, used, &slow) != used)
			fail_msg("one record, and none: %.*s", (int)len, line);
		equal_records(&fast, &slow.record);
	}
	/* Both sorts are there. */
	assert_true(quick > LINES / 8);
	assert_true(records > quick + LINES / 8);
	goodput_parser_free(parser);
	goodput_names_free(names);
}

static void bounds(void **state)
{
	static const char text[] =
		"{\"job_name\": \"job\", \"step_count\": 12, \"step_start_time\": 1735725600.5}";
	struct goodput_names *names = goodput_names_new();
	struct goodput_record r;
	char *part;

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		part = malloc(len + !len);
		memcpy(part, text, len);
		assert_int_equal(goodput_step_line(part, len, names, &r),
				 len == sizeof(text) - 1 ? len : 0);
		free(part);
	}
	assert_int_equal(r.time_us, 1735725600500000);
	assert_int_equal(r.number, 12);
	assert_string_equal(goodput_name(names, r.job), "job");
	goodput_names_free(names);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds),
		cmocka_unit_test(same_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
