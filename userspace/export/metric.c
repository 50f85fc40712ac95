/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/metric.h"

#include <math.h>
#include <string.h>

#include "userspace/base/utf8.h"

#define NS_PER_S 1000000000ull

static void metric_text(struct buffer *out, const char *s)
{
	buffer_add(out, s, strlen(s));
}

/* A page has tens of thousands of numbers; printf would be most of its price. A number is put
 * together in text of METRIC_NUMBER bytes, from the end: returns where it begins. */
#define METRIC_NUMBER 40

static char *number_digits(char *at, uint64_t value, int least)
{
	for (; value || least > 0; least--) {
		*--at = (char)('0' + value % 10);
		value /= 10;
	}
	return at;
}

/* units of 10^-decimals; without zeros behind, but so many decimals at least. */
static char *number_fixed(char *at, uint64_t units, int decimals, int least)
{
	uint64_t one = 1, part;

	for (int i = 0; i < decimals; i++)
		one *= 10;
	part = units % one;
	if (!part)
		decimals = least;
	for (; decimals > least && part % 10 == 0; decimals--)
		part /= 10;
	if (decimals) {
		at = number_digits(at, part, decimals);
		*--at = '.';
	}
	return number_digits(at, units / one, 1);
}

static void number_add(struct buffer *out, const char *at, const char *end)
{
	buffer_add(out, at, (size_t)(end - at));
}

static void metric_label_open(struct buffer *out, const char *name)
{
	if (out->len && out->data[out->len - 1] != '{')
		buffer_add(out, ",", 1);
	metric_text(out, name);
	buffer_add(out, "=\"", 2);
}

/* Bytes that are told as they are and are no part of a longer character. */
static size_t plain_bytes(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] >= ' ' && text[n] <= '~' && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

void metric_label(struct buffer *out, const char *name, const char *value)
{
	size_t len = strlen(value), plain = 0, n;
	uint32_t c;

	metric_label_open(out, name);
	for (size_t i = plain_bytes(value, len); i < len; i += n) {
		n = utf8_decode(value + i, len - i, &c);
		if (n && utf8_columns(c) >= 0 && c != '"' && c != '\\')
			continue;
		buffer_add(out, value + plain, i - plain);
		if (!n || (c != '\n' && utf8_columns(c) < 0))
			buffer_add(out, "?", 1);
		else
			metric_text(out, c == '\n' ? "\\n" : c == '"' ? "\\\"" : "\\\\");
		n = n ? n : 1;
		plain = i + n;
	}
	buffer_add(out, value + plain, len - plain);
	buffer_add(out, "\"", 1);
}

void metric_label_uint(struct buffer *out, const char *name, uint64_t value)
{
	char text[METRIC_NUMBER], *end = text + sizeof(text), *at = end;

	metric_label_open(out, name);
	*--at = '"';
	number_add(out, number_digits(at, value, 1), end);
}

void metric_label_seconds(struct buffer *out, const char *name, uint64_t ns)
{
	char text[METRIC_NUMBER], *end = text + sizeof(text), *at = end;

	metric_label_open(out, name);
	*--at = '"';
	number_add(out, number_fixed(at, ns, 9, 1), end);
}

void metric_uint(struct buffer *out, uint64_t value)
{
	char text[METRIC_NUMBER], *end = text + sizeof(text), *at = end;

	*--at = '\n';
	number_add(out, number_digits(at, value, 1), end);
}

void metric_name(struct buffer *out, const char *name)
{
	metric_text(out, name);
}

static void value_fixed(struct buffer *out, uint64_t units, int decimals)
{
	char text[METRIC_NUMBER], *end = text + sizeof(text), *at = end;

	*--at = '\n';
	at = number_fixed(at, units, decimals, 0);
	*--at = ' ';
	*--at = '}';
	number_add(out, at, end);
}

void metric_value_uint(struct buffer *out, uint64_t value)
{
	value_fixed(out, value, 0);
}

void metric_value_ns(struct buffer *out, uint64_t ns)
{
	value_fixed(out, ns, 9);
}

/* Decimals that hold six digits and more, and what has fewer exactly; beyond them printf. */
void metric_value_real(struct buffer *out, double value)
{
	if (value == 0 || (value >= 1e-3 && value < 1e6))
		value_fixed(out, (uint64_t)llround(value * 1e9), 9);
	else if (value >= 1e-6 && value < 1e-3)
		value_fixed(out, (uint64_t)llround(value * 1e12), 12);
	else
		buffer_printf(out, "} %.9g\n", isfinite(value) ? value : 0.0);
}
