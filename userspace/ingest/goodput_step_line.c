/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/goodput_step_line.h"

#include <string.h>

#define US_PER_S 1000000ll
/* limit of digits of a step number: it is then below 2^53, and exact as a double */
#define COUNT_DIGITS 15

/* Times from this number of seconds on are parsed by goodput_entry_parse(). Below it, a double
 * multiplied by 1e6 gives the exact microseconds of a decimal number with six places (half an ulp
 * is 0.24 us). */
#define EXACT_MAX_S (1ll << 32)

struct cursor {
	const char *at, *end;
};

static bool line_take(struct cursor *c, const char *text, size_t len)
{
	if ((size_t)(c->end - c->at) < len || memcmp(c->at, text, len) != 0)
		return false;
	c->at += len;
	return true;
}
#define TAKE(c, text) line_take(c, text, sizeof(text) - 1)

static void line_take_blanks(struct cursor *c)
{
	while (c->at < c->end && *c->at == ' ')
		c->at++;
}

/* Reads a number. Returns the number of its digits; 0: there is no number, or it has more digits
 * than max. */
static size_t line_take_digits(struct cursor *c, size_t max, int64_t *ret)
{
	const char *start = c->at;
	int64_t v = 0;
	size_t n;

	while (c->at < c->end && *c->at >= '0' && *c->at <= '9' && (size_t)(c->at - start) <= max)
		v = v * 10 + (*c->at++ - '0');
	n = (size_t)(c->at - start);
	*ret = v;
	return n > max ? 0 : n;
}

/* Reads a string without escapes that is short enough for a name. Returns its length; c->at is then
 * after the closing quote. */
static size_t line_take_name(struct cursor *c)
{
	const char *start = c->at;

	for (; c->at < c->end && c->at - start < GOODPUT_NAME_MAX; c->at++) {
		if (*c->at == '"')
			return (size_t)(c->at++ - start);
		if (*c->at == '\\' || (unsigned char)*c->at < ' ')
			break;
	}
	return GOODPUT_NAME_MAX;
}

static bool line_take_time(struct cursor *c, int64_t *ret_us)
{
	int64_t s, fraction = 0;
	size_t digits;

	if (!line_take_digits(c, 10, &s) || s >= EXACT_MAX_S)
		return false;
	if (TAKE(c, ".")) {
		digits = line_take_digits(c, 6, &fraction);
		if (!digits)
			return false;
		for (; digits < 6; digits++)
			fraction *= 10;
	}
	*ret_us = s * US_PER_S + fraction;
	return true;
}

size_t goodput_step_line(const char *at, size_t len, struct goodput_names *names,
			 struct goodput_record *ret)
{
	struct cursor c = {at, at + len};
	int64_t count, time_us;
	const char *name;
	size_t name_len;

	if (!TAKE(&c, "{\"job_name\":"))
		return 0;
	line_take_blanks(&c);
	if (!TAKE(&c, "\""))
		return 0;
	name = c.at;
	name_len = line_take_name(&c);
	if (name_len >= GOODPUT_NAME_MAX || !TAKE(&c, ","))
		return 0;
	line_take_blanks(&c);
	if (!TAKE(&c, "\"step_count\":"))
		return 0;
	line_take_blanks(&c);
	if (!line_take_digits(&c, COUNT_DIGITS, &count) || !TAKE(&c, ","))
		return 0;
	line_take_blanks(&c);
	if (!TAKE(&c, "\"step_start_time\":"))
		return 0;
	line_take_blanks(&c);
	if (!line_take_time(&c, &time_us) || !TAKE(&c, "}"))
		return 0;
	*ret = (struct goodput_record){
		.write_us = time_us,
		.time_us = time_us,
		.number = count,
		.duration_us = GOODPUT_UNKNOWN,
		.job = goodput_names_put(names, name, name_len),
		.kind = GOODPUT_STEP,
	};
	return (size_t)(c.at - at);
}
